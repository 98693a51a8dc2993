"""Gantt charts: which nodes each job held, and when; one schedule, or two as their difference.

Node 0 is at the bottom, time runs to the right. A job is drawn over [start, end) as one polygon
a contiguous block of nodes; refused jobs are not drawn, and the title counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from .groups import Groups, groups_by
from .jobs import DrasLabError
from .plotting import (
    EDGE,
    PALETTE,
    TimeAxis,
    axes_for,
    grid_for,
    legend_beside,
    plain,
    say,
    set_alt,
    time_axis,
)
from .results import Result

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# Edges and hatches are for charts whose blocks can be seen one by one; they take time to draw.
DETAILED = 1500


def gantt(
    result: Result,
    *,
    by: str = "how",
    start: float | None = None,
    end: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Gantt chart of a schedule by node, node 0 at the bottom.

    Parameters
    ----------
    result : Result
        The schedule.
    by : {"how", "size", "wait", "user"}
        What the colours say: how a job came to run, its size class, how long it waited, or whose
        it is (the seven users with the most node-seconds, and the others).
    start, end : float, optional
        The part to show, in the log's own seconds; by default from the first submission to the
        last end. The axis counts from the first submission in any case: `chart_axis` is where a
        time of the log is on it.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If `by` is none of these, or `start` is not before `end`.
    """
    groups = groups_by(result, by)
    view = _view(result, start, end)
    ax = axes_for(ax, (9.0, 4.5))
    axis = chart_axis(result, *view)
    fine, counts = _draw(ax, result, groups, view, axis)
    if not sum(counts):
        return say(ax, _nothing(result, axis, view))
    refused = int((~result.ran).sum())
    left_out = f" ({refused} refused)" if refused else ""
    ax.set_title(f"{result.policy} on {result.trace_name}{left_out}", parse_math=False)
    ax.set_xlabel(axis.label)
    _legend(ax, groups, fine, [f"{count:,}" for count in counts])
    set_alt(
        ax,
        f"Gantt chart of {result.policy} on {result.trace_name}, node 0 at the bottom: "
        f"{sum(counts)} jobs on {result.nodes} nodes, {axis.at(view[0]):,.4g} to "
        f"{axis.at(view[1]):,.4g} {axis.unit} after the first submission; {groups.title}: "
        + ", ".join(f"{name} {count}" for name, count in zip(groups.labels, counts, strict=True))
        + f"; {refused} refused.",
    )
    return ax


def chart_axis(result: Result, start: float | None = None, end: float | None = None) -> TimeAxis:
    """The time axis of `gantt` with these arguments: ``chart_axis(...).at(time)`` is its x."""
    view = _view(result, start, end)
    origin = int(result.submit.min()) if len(result) else 0
    return time_axis(origin, view[1] - view[0])


def blocks(result: Result, rows: IntArray, axis: TimeAxis) -> tuple[FloatArray, IntArray]:
    """The polygons of some jobs: a rectangle a contiguous block of nodes.

    Parameters
    ----------
    result : Result
        The schedule.
    rows : int64 array
        Which jobs, as positions in `result`.
    axis : TimeAxis
        From `chart_axis`.

    Returns
    -------
    float array of shape ``[blocks, 4, 2]``, int64 array of shape ``[blocks]``
        Corners (time on the axis, node), and the row of the job that each belongs to.
    """
    ranges = [result.node_ranges[row] for row in rows.tolist()]
    owner = np.repeat(rows, [len(some) for some in ranges])
    nodes = np.array([pair for some in ranges for pair in some], dtype=np.float64).reshape(-1, 2)
    x = np.stack([axis.at(result.start[owner]), axis.at(result.end[owner])], axis=1)
    corners = np.stack([x[:, [0, 0, 1, 1]], nodes[:, [0, 1, 1, 0]]], axis=2)
    return corners, owner


def changes(first: Result, second: Result) -> pd.DataFrame:
    """How far each job that ran in both schedules starts later in the second.

    Returns
    -------
    DataFrame
        ``job_id``, ``submit``, ``size`` and ``later_s``, the start in `second` less that in
        `first`, in seconds: below 0 is earlier. In queue order.

    Raises
    ------
    DrasLabError
        If the two are not schedules of the same jobs.
    """
    same = len(first) == len(second)
    for name in ("job_id", "submit", "size"):
        same = same and bool((getattr(first, name) == getattr(second, name)).all())
    if not same:
        raise DrasLabError(
            "the two results are not of the same jobs; run both policies on one trace"
        )
    both = first.ran & second.ran
    return pd.DataFrame(
        {
            "job_id": first.job_id[both],
            "submit": first.submit[both],
            "size": first.size[both],
            "later_s": (second.start - first.start)[both],
        },
        index=np.flatnonzero(both),
    )


def gantt_difference(
    first: Result,
    second: Result,
    *,
    names: tuple[str, str] | None = None,
    start: float | None = None,
    end: float | None = None,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Two schedules of one trace: what starts earlier, later and at the same time in the second.

    Above, the Gantt chart of `second`, coloured by that; below, under the same time axis, each
    job at its submission and at the change of its start.

    Parameters
    ----------
    first, second : Result
        Schedules of the same jobs.
    names : (str, str), optional
        What to call them; by default their policies.
    start, end : float, optional
        The part to show, in the log's own seconds; by default all of `second`.
    axes : two Axes, optional
        Where to draw.

    Returns
    -------
    array of two Axes

    Raises
    ------
    DrasLabError
        If the two are not schedules of the same jobs, or `start` is not before `end`.
    """
    table = changes(first, second)
    later = table["later_s"].to_numpy()
    index = np.full(len(second), -1, dtype=np.int64)
    index[table.index.to_numpy()] = np.sign(later) + 1
    view = _view(second, start, end)
    top, below = grid_for(
        axes, 2, 1, (9.0, 6.5), sharex=True, gridspec_kw={"height_ratios": (3, 2)}
    )[:, 0]
    axis = chart_axis(second, *view)
    old, new = names or (first.policy, second.policy)
    labels = ("earlier", "same", "later")
    colours, hatches = (PALETTE[0], "#dddddd", PALETTE[1]), ("", "", "///")
    groups = Groups(
        f"start under {plain(new)}\nagainst {plain(old)}", labels, colours, hatches, index
    )
    fine, counts = _draw(top, second, groups, view, axis)
    if not sum(counts):
        reason = _nothing(second, axis, view)
        return np.array([say(top, reason), say(below, reason)], dtype=object)
    top.set_title(f"{new} against {old}, on {second.trace_name}", parse_math=False)
    unit = time_axis(0, float(np.abs(later).max(initial=0)))
    for k, (marker, sign) in enumerate(zip("vo^", (-1, 0, 1), strict=True)):
        moved = np.sign(later) == sign
        below.plot(
            axis.at(table["submit"].to_numpy()[moved]),
            unit.at(later[moved]),
            linestyle="none",
            marker=marker,
            markersize=4,
            color=colours[k],
            markeredgecolor=EDGE,
            markeredgewidth=0.3,
            label=labels[k],
        )
    below.axhline(0, color=EDGE, linewidth=0.8)
    below.set_xlabel(axis.label)
    below.set_ylabel(f"start later by ({unit.unit}),\nat the job's submission")
    below.set_xlim(axis.at(view[0]), axis.at(view[1]))
    told = [_amount(later, sign, unit) for sign in (-1, 0, 1)]
    _legend(top, groups, fine, told)
    text = "; ".join(f"{name} {what}" for name, what in zip(labels, told, strict=True)).replace(
        "\n", " "
    )
    set_alt(top, f"Gantt chart of {new}, node 0 at the bottom, coloured by start against {old}.")
    set_alt(below, f"Change of each job's start at its submission, all jobs: {text}.")
    return np.array([top, below], dtype=object)


def _amount(later: IntArray, sign: int, unit: TimeAxis) -> str:
    """How many jobs moved that way, and how far."""
    moved = np.abs(later[np.sign(later) == sign]) / unit.seconds
    if not sign or not len(moved):
        return f"{len(moved):,}"
    return f"{len(moved):,}; {unit.unit}:\nmean {moved.mean():,.3g}, most {moved.max():,.3g}"


def _view(result: Result, start: float | None, end: float | None) -> tuple[float, float]:
    """The times to show; a schedule without length gets a second."""
    ran = result.ran
    if start is None:
        start = float(result.submit.min()) if len(result) else 0.0
    if end is None:
        end = max(float(result.end[ran].max()) if ran.any() else 0.0, start + 1)
    if not start < end:
        raise DrasLabError(f"start {start:.15g} is not before end {end:.15g}; both are log seconds")
    return start, end


def _draw(
    ax: Axes, result: Result, groups: Groups, view: tuple[float, float], axis: TimeAxis
) -> tuple[bool, list[int]]:
    """Draw what is in view, a collection a group.

    Returns whether the blocks have edges and hatches, and how many jobs of each group there are.
    """
    start, end = view
    # [start, end), and also the jobs of no length that lie inside.
    seen = (groups.which >= 0) & (result.start < end)
    seen &= (result.end > start) | ((result.end == result.start) & (result.start >= start))
    corners, owner = blocks(result, seen.nonzero()[0], axis)
    fine = len(owner) <= DETAILED
    for k, label in enumerate(groups.labels):
        mine = corners[groups.which[owner] == k]
        part = PolyCollection(
            mine,
            facecolors=groups.colours[k],
            edgecolors=EDGE if fine else "face",
            linewidths=0.4,
            label=label,
            rasterized=not fine,  # in a PDF, ten thousand polygons are slow to page through
        )
        ax.add_collection(part, autolim=False)
        if fine and groups.hatches[k] and len(mine):
            ax.add_patch(_hatching(mine, groups.hatches[k]))
    ax.set_xlim(axis.at(start), axis.at(end))
    ax.set_ylim(0, result.nodes)
    ax.set_ylabel("node number")
    ax.grid(visible=False, axis="y")
    return fine, np.bincount(groups.which[seen], minlength=len(groups.labels)).tolist()


def _hatching(corners: FloatArray, hatch: str) -> PathPatch:
    """One hatch over many blocks: a hatch for each of them takes ten times as long to draw."""
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    outline = corners[:, [0, 1, 2, 3, 0]].reshape(-1, 2)
    path = Path(outline, np.tile(np.array(codes, dtype=np.uint8), len(corners)))
    return PathPatch(path, fill=False, edgecolor=EDGE, linewidth=0, hatch=hatch)


def _legend(ax: Axes, groups: Groups, fine: bool, amounts: Sequence[str]) -> None:
    """The look as it was drawn, and how many jobs have it."""
    handles = [
        Patch(
            facecolor=colour,
            hatch=hatch if fine else "",
            edgecolor=EDGE,
            linewidth=0.4,
            label=f"{name} ({amount})",
        )
        for name, colour, hatch, amount in zip(
            groups.labels, groups.colours, groups.hatches, amounts, strict=True
        )
    ]
    legend_beside(ax, handles=handles, title=groups.title)


def _nothing(result: Result, axis: TimeAxis, view: tuple[float, float]) -> str:
    if not result.ran.any():
        return f"no job ran: {len(result)} in the trace, all refused" if len(result) else "no jobs"
    shown = f"{axis.at(view[0]):,.4g} and {axis.at(view[1]):,.4g} {axis.unit}"
    return f"no job ran between {shown} after the first submission"
