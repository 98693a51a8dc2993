"""The anatomy of a job log: when jobs come, how large they are, how long they run and ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from .plotting import EDGE, PALETTE, axes_for, grid_for, say, set_alt, time_axis
from .summaries import DAYS
from .traces import Trace

FloatArray = npt.NDArray[np.float64]

_BARS: dict[str, Any] = {"color": PALETTE[0], "edgecolor": "white", "linewidth": 0.5}
_TIMES = {
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3600: "1 h",
    6 * 3600: "6 h",
    86400: "1 day",
    7 * 86400: "1 week",
    60 * 86400: "60 days",
}
_EMPTY = "no jobs in the trace"


def anatomy(trace: Trace, axes: Any = None) -> npt.NDArray[Any]:
    """Six views of a trace, one an axes; each is a function of this module.

    Parameters
    ----------
    trace : Trace
        The jobs.
    axes : six Axes, optional
        Where to draw.

    Returns
    -------
    array of six Axes, shape ``[2, 3]``

    Raises
    ------
    DrasLabError
        If it is another number of axes.
    """
    grid = grid_for(axes, 2, 3, (13.0, 7.0))
    views = (
        *(arrivals_by_hour, arrivals_by_weekday, arrivals_over_time),
        *(sizes, run_times, request_accuracy),
    )
    for view, ax in zip(views, grid.flat, strict=True):
        view(trace, ax)
    if axes is None:
        grid[0, 0].figure.suptitle(
            f"{trace.name}: {len(trace):,} jobs on {trace.nodes:,} nodes", parse_math=False
        )
    return grid


def arrivals_by_hour(trace: Trace, ax: Axes | None = None) -> Axes:
    """Jobs submitted in each hour of the day, by the clock of the machine."""
    facts = trace.summary()
    hours = facts["arrivals_by_hour"]
    ax = _bars(ax, trace, np.arange(24) + 0.5, hours, 1.0)
    if len(trace):
        ax.set_xlim(0, 24)
        ax.set_xticks(range(0, 25, 6))
        ax.set_xlabel(f"hour of the day ({facts['arrivals_clock']})")
        top = int(np.argmax(hours))
        told = f"most from {top} to {top + 1} o'clock, {hours[top]}; fewest {min(hours)}"
        set_alt(ax, f"Jobs submitted by hour of the day: {told}.")
    return ax


def arrivals_by_weekday(trace: Trace, ax: Axes | None = None) -> Axes:
    """Jobs submitted on each day of the week, by the clock of the machine."""
    facts = trace.summary()
    days = facts["arrivals_by_weekday"]
    ax = _bars(ax, trace, np.arange(7), days, 0.8)
    if len(trace):
        ax.set_xticks(range(7), DAYS)
        ax.set_xlabel(f"day of the week ({facts['arrivals_clock']})")
        told = ", ".join(f"{day} {jobs}" for day, jobs in zip(DAYS, days, strict=True))
        set_alt(ax, f"Jobs submitted by day of the week: {told}.")
    return ax


def arrivals_over_time(trace: Trace, ax: Axes | None = None) -> Axes:
    """Jobs submitted in each hour, day or week of the log, whichever makes at most 120 bars."""
    submit = trace.table["submit_time"].to_numpy()
    since = submit - (submit[0] if len(submit) else 0)
    span = int(since[-1]) if len(since) else 0
    interval, name = next(
        (some for some in ((3600, "hour"), (86400, "day")) if span / some[0] < 120),
        (7 * 86400, "week"),
    )
    counts = np.bincount(since // interval)
    axis = time_axis(0, span)
    width = interval / axis.seconds
    ax = _bars(ax, trace, (np.arange(len(counts)) + 0.5) * width, counts, width)
    if len(trace):
        ax.set_xlabel(axis.label)
        ax.set_ylabel(f"jobs submitted, by {name}")
        told = f"{counts.mean():.3g} on average, at most {counts.max()}"
        set_alt(ax, f"Jobs submitted in each {name} of the log: {told}.")
    return ax


def sizes(trace: Trace, ax: Axes | None = None) -> Axes:
    """Shares of jobs and of node-hours by size, in octaves: many small jobs, few that do the work.

    Node-hours are size times run time, which is cut at the request.
    """
    if not len(trace):
        return say(axes_for(ax), _EMPTY)
    size = trace.table["size"].to_numpy()
    work = size * trace.table[["run_time", "requested_time"]].min(axis=1).to_numpy(np.float64)
    octave = np.frexp(size)[1] - 1  # 0 for 1, 1 for 2-3, 2 for 4-7; exact, as a logarithm is not
    first, last = int(octave.min()), int(octave.max())
    jobs = 100 * np.bincount(octave)[first:] / len(size)
    hours = 100 * np.bincount(octave, weights=work)[first:] / max(work.sum(), 1)
    ends = [(2**k, min(2 ** (k + 1) - 1, int(size.max()))) for k in range(first, last + 1)]
    labels = [f"{low}-{high}" if low < high else str(low) for low, high in ends]
    ax = axes_for(ax)
    at = np.arange(len(labels))
    ax.bar(at - 0.2, jobs, 0.4, label="jobs", **_BARS)
    ax.bar(
        at + 0.2,
        hours,
        0.4,
        label="node-hours",
        color=PALETTE[1],
        edgecolor="white",
        hatch="///",
        linewidth=0.5,
    )
    ax.set_xticks(at, labels, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlabel("size (nodes)")
    ax.set_ylabel("share (%)")
    ax.grid(visible=False, axis="x")
    ax.legend(fontsize=8)
    told = "; ".join(
        f"{label}: {job:.0f} % of the jobs, {hour:.0f} % of the node-hours"
        for label, job, hour in zip(labels, jobs, hours, strict=True)
    )
    set_alt(ax, f"Sizes in nodes. {told}.")
    return ax


def run_times(trace: Trace, ax: Axes | None = None) -> Axes:
    """How long jobs ran and how long they asked for, in classes of equal width on a log scale.

    What took less than a second counts as one second.
    """
    if not len(trace):
        return say(axes_for(ax), _EMPTY)
    run, request = (
        np.maximum(trace.table[name].to_numpy(np.float64), 1)
        for name in ("run_time", "requested_time")
    )
    top = float(max(run.max(), request.max()))
    edges = np.geomspace(1, top * 1.01, 31) if top > 1 else np.array([1.0, 10.0])
    ax = axes_for(ax)
    ax.hist(
        run, edges.tolist(), weights=np.full(len(run), 100 / len(run)), label="run time", **_BARS
    )
    ax.stairs(
        100 * np.histogram(request, edges)[0] / len(request),
        edges,
        color=PALETTE[3],
        linewidth=1.5,
        label="requested time",
    )
    ax.set_xscale("log")
    ticks = {at: text for at, text in _TIMES.items() if at <= edges[-1]}
    ax.set_xticks(
        list(ticks), list(ticks.values()), rotation=45, ha="right", rotation_mode="anchor"
    )
    ax.set_xticks([], minor=True)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel("time (log scale)")
    ax.set_ylabel("share of the jobs (%)")
    ax.legend(fontsize=8)
    set_alt(
        ax,
        f"Run times and requested times: half of the jobs ran for at most "
        f"{np.median(run) / 60:,.3g} minutes, half asked for at most "
        f"{np.median(request) / 60:,.3g} minutes.",
    )
    return ax


def request_accuracy(trace: Trace, ax: Axes | None = None) -> Axes:
    """How much of what they asked for jobs used: run time over requested time.

    Twenty classes up to 1, which is a job that used it all; those past it have a bar of their own.
    """
    if not len(trace):
        return say(axes_for(ax), _EMPTY)
    used = (trace.table["run_time"] / trace.table["requested_time"]).to_numpy(np.float64)
    edges = np.linspace(0, 1, 21)
    share = 100 * np.histogram(used[used <= 1], edges)[0] / len(used)
    past = 100 * float((used > 1).mean())
    ax = axes_for(ax)
    ax.bar(edges[:-1], share, 0.05, align="edge", **_BARS)
    ax.bar(1.02, past, 0.05, align="edge", color=PALETTE[3], hatch="///", edgecolor=EDGE)
    ax.text(
        *(1.0, 0.98, f"past the request: {past:.1f} %"),
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontsize=8,
    )
    ax.set_xlim(0, 1.08)
    ax.set_xlabel("run time / requested time (a ratio)")
    ax.set_ylabel("share of the jobs (%)")
    ax.margins(y=0.15)
    half = float(np.median(used))
    set_alt(
        ax,
        f"Run time over requested time: half of the jobs used at most {half:.0%} of what they "
        f"asked for, {past:.1f} % ran past it.",
    )
    return ax


def _bars(ax: Axes | None, trace: Trace, at: Any, counts: Any, width: float) -> Axes:
    """Counts of jobs as bars."""
    ax = axes_for(ax)
    if not len(trace):
        return say(ax, _EMPTY)
    ax.bar(at, counts, width, **_BARS)
    ax.grid(visible=False, axis="x")
    ax.set_ylabel("jobs submitted")
    return ax
