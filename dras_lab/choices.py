"""One decision of a policy as a figure: what it thought of each candidate, and which it took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from .jobs import DrasLabError, Level
from .log import Choice
from .plotting import EDGE, PALETTE, axes_for, legend_beside, say, set_alt, time_axis
from .results import Result

_LEVELS = {Level.SELECT: "level 1 (select)", Level.BACKFILL: "level 2 (backfill)"}
# How a candidate is drawn: in words, colour, hatch.
_LOOKS = (
    ("chosen", PALETTE[3], ""),
    ("fits the free nodes", PALETTE[4], ""),
    ("does not fit now", "#dddddd", "///"),
    ("candidate", PALETTE[4], ""),
)
CHOSEN, FITS, WIDE, CANDIDATE = range(4)
FEW = 12  # bars up to which each has its number above it


def choice_bars(
    choice: Choice,
    result: Result | None = None,
    *,
    scores: Sequence[float] | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The probability (or score) of each candidate as bars in queue order, the chosen one marked.

    Parameters
    ----------
    choice : Choice
        One decision, ``result.log[k]``.
    result : Result, optional
        The schedule it is of: tells size and request of each job, and which fitted the free nodes.
    scores : sequence of float, optional
        What to draw instead of the policy's own, say another policy's; one a candidate. What is
        not a finite number has no bar.
    label : str, optional
        The axis label; by default "probability" for numbers from 0 to 1 that add up to 1, else
        "score of the policy".
    ax : Axes, optional
        Where to draw. Where there are no scores the figure says so.

    Raises
    ------
    DrasLabError
        If it is another number of scores than of candidates, or a candidate is not a job of
        `result`.
    """
    values = np.array(choice.scores if scores is None else scores, dtype=np.float64)
    jobs = choice.candidates
    labels, wide = _about(choice, result)
    if len(values) not in (0, len(jobs)):
        raise DrasLabError(f"there are {len(values)} scores for {len(jobs)} candidates")
    few = len(jobs) <= FEW
    ax = axes_for(ax, (max(5.5, 2.5 + (0.5 if few else 0.22) * len(jobs)), 4.0))
    if not len(values):
        return say(ax, f"the policy left no scores for this decision (candidates: {len(jobs)})")
    if label is None:
        share = bool((values >= 0).all()) and abs(float(values.sum()) - 1) < 1e-3
        label = "probability" if share else "score of the policy"
    kind = np.full(len(jobs), CANDIDATE if result is None else FITS)
    kind[wide] = WIDE
    if choice.chosen is not None:
        kind[choice.chosen] = CHOSEN
    known = np.where(np.isfinite(values), values, np.nan)
    bars = ax.bar(range(len(jobs)), known, edgecolor=EDGE, linewidth=0.5)
    for bar, look in zip(bars, kind, strict=True):
        bar.set(facecolor=_LOOKS[look][1], hatch=_LOOKS[look][2])
    if choice.chosen is not None and choice.chosen in wide:
        bars[choice.chosen].set_hatch(_LOOKS[WIDE][2])
    shown = [_number(value) if few and np.isfinite(value) else "" for value in known]
    if choice.chosen is None:
        ax.text(0.5, 0.97, "passed: none chosen", transform=ax.transAxes, ha="center", va="top")
    else:
        shown[choice.chosen] = f"▼\n{shown[choice.chosen]}".strip()
    ax.bar_label(bars, shown, fontsize=7, padding=1)
    ax.set_xticks(range(len(jobs)), labels, rotation=90, fontsize=8 if len(jobs) <= 30 else 6)
    ax.set_xlim(-0.7, len(jobs) - 0.3)
    ax.margins(y=0.18)
    ax.grid(visible=False, axis="x")
    told_jobs = "job" if result is None else "job: nodes, hours requested"
    ax.set_xlabel(f"candidates in queue order ({told_jobs})")
    ax.set_ylabel(label)
    about = f"{_LEVELS[choice.level]}, free nodes: {choice.free:,}, {_when(choice, result)}"
    ax.set_title(about, fontsize=9, loc="left")
    legend_beside(
        ax,
        handles=[
            Patch(
                facecolor=colour,
                hatch=hatch,
                edgecolor=EDGE,
                label=f"{name}: {choice.outcome}" if look == CHOSEN else name,
            )
            for look, (name, colour, hatch) in enumerate(_LOOKS)
            if (kind == look).any()
        ],
    )
    took = "none" if choice.job_id is None else f"job {choice.job_id} ({choice.outcome})"
    largest = np.argsort(-np.nan_to_num(known, nan=-np.inf), kind="stable")[:5].tolist()
    told = ", ".join(f"job {jobs[k]} {_number(values[k])}" for k in largest)
    set_alt(
        ax,
        f"Bars of the {label} of {len(jobs)} candidates, {about}. Largest: {told}. Chosen: {took}.",
    )
    return ax


def _about(choice: Choice, result: Result | None) -> tuple[list[str], list[int]]:
    """A label a candidate, and the positions of those wider than the free nodes."""
    if result is None:
        return [str(job) for job in choice.candidates], []
    order = np.argsort(result.job_id)
    at = np.searchsorted(result.job_id, choice.candidates, sorter=order)
    rows = order[np.minimum(at, len(order) - 1)] if len(order) else order
    if not np.array_equal(result.job_id[rows], choice.candidates):
        raise DrasLabError("the decision has a candidate that is no job of this result")
    size, request = result.size[rows], result.requested_time[rows]
    labels = [
        f"{job}: {nodes:,} n, {hours:.3g} h"
        for job, nodes, hours in zip(choice.candidates, size, request / 3600, strict=True)
    ]
    return labels, np.flatnonzero(size > choice.free).tolist()


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _when(choice: Choice, result: Result | None) -> str:
    if result is None:
        return f"at {choice.time:,} s"
    since = choice.time - int(result.submit.min())
    axis = time_axis(0, since)
    return f"{since / axis.seconds:,.4g} {axis.unit} after the first submission"
