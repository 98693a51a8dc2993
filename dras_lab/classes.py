"""Distributions of wait and slowdown by class of jobs: by size, or by how they came to run.

No mean tells what a policy does to the jobs it puts last: here are all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .jobs import DrasLabError
from .metrics import TAU, Results, bounded_slowdown, named, size_classes
from .plotting import (
    EDGE,
    HATCHES,
    PALETTE,
    axes_for,
    legend_beside,
    line_look,
    plain,
    say,
    set_alt,
    time_axis,
)
from .results import HOWS, Result

FloatArray = npt.NDArray[np.float64]

MEASURES = {"wait": "wait", "slowdown": f"bounded slowdown (a ratio, τ = {TAU:g} s)"}
BY = {"size": "size class (nodes)", "how": "how the jobs ran"}
# Where an axis of waits has its ticks. Up to a minute it is linear, so that 0 has a place on it.
_TICKS = {
    0: "0",
    60: "1 min",
    600: "10 min",
    3600: "1 h",
    6 * 3600: "6 h",
    86400: "1 day",
    7 * 86400: "1 week",
    30 * 86400: "30 days",
}
_SHORT = 600  # seconds: waits no longer than this are shown on a plain axis


def ecdf(
    result: Result, measure: str = "wait", *, by: str = "size", ax: Axes | None = None
) -> Axes:
    """Share of the jobs of each class whose wait (or slowdown) is at most so much.

    Parameters
    ----------
    result : Result
        The schedule.
    measure : {"wait", "slowdown"}
        Wait, or bounded slowdown with τ = 10 s.
    by : {"size", "how"}
        What the classes are; one without jobs has no curve.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If `measure` or `by` is none of these.
    """
    values, labels, which = _values(result, measure), *classes_of(result, by)
    ax = axes_for(ax)
    if not len(values):
        return say(ax, "no job ran")
    told = []
    for k, label in enumerate(labels):
        mine = values[which == k]
        if len(mine):
            # Not by Axes.ecdf: matplotlib 3.11 draws equal values too low with compress=True.
            steps, count = np.unique(mine, return_counts=True)
            ax.plot(
                np.append(steps[0], steps),
                np.append(0, np.cumsum(count) / len(mine)),
                drawstyle="steps-post",
                label=f"{label} ({len(mine):,})",
                **line_look(k),
            )
            told.append(f"{label}: half at most {_spoken(float(np.median(mine)), measure)}")
    _measure_axis(ax, "x", measure, float(values.max()))
    ax.set_ylabel("share of the jobs of a class")
    ax.set_ylim(0, 1.02)
    ax.set_title(f"{result.policy} on {result.trace_name}", parse_math=False)
    legend_beside(ax, title=f"{BY[by]}: jobs")
    set_alt(
        ax,
        f"Distribution of {MEASURES[measure]} under {result.policy}, by {BY[by]}: "
        f"{'; '.join(told)}.",
    )
    return ax


def boxes(
    results: Results, measure: str = "wait", *, by: str = "size", ax: Axes | None = None
) -> Axes:
    """Box plot of the wait (or slowdown) of each class, a box a result, side by side.

    The box is from quartile to quartile with the median in it, the whiskers reach to the 5th and
    the 95th percentile; a diamond is the mean, a cross the maximum.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    measure, by, ax
        As in `ecdf`.

    Raises
    ------
    DrasLabError
        If `measure` or `by` is none of these, there are no results, two have one name, or their
        machines differ in size.
    """
    runs = named(results)
    drawn = [(_values(run, measure), *classes_of(run, by)) for run in runs.values()]
    labels = same_labels([labels for _, labels, _ in drawn])
    ax = axes_for(ax)
    if not any(len(values) for values, _, _ in drawn):
        return say(ax, "no job ran")
    width, told = 0.8 / len(runs), []
    for k, (name, (values, _, which)) in enumerate(zip(runs, drawn, strict=True)):
        there = [j for j in range(len(labels)) if (which == j).any()]
        at = [j + (k - (len(runs) - 1) / 2) * width for j in there]
        stats = [cbook.boxplot_stats(values[which == j], whis=(5, 95))[0] for j in there]
        parts = ax.bxp(
            stats,
            positions=at,
            widths=0.85 * width,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.5},
        )
        for box in parts["boxes"]:
            box.set(facecolor=_pale(k), edgecolor=EDGE, hatch=HATCHES[k % len(HATCHES)])
        most = [float(values[which == j].max()) for j in there]
        ax.plot(at, [s["mean"] for s in stats], "D", color="white", markeredgecolor="black", ms=4)
        ax.plot(at, most, "x", color="black", ms=5)
        for j, some, longest in zip(there, stats, most, strict=True):
            told.append(
                f"{name}, {labels[j]}: median {_spoken(some['med'], measure)}, "
                f"mean {_spoken(some['mean'], measure)}, maximum {_spoken(longest, measure)}"
            )
    ax.set_xticks(range(len(labels)), labels)
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_xlabel(BY[by])
    ax.grid(visible=False, axis="x")
    _measure_axis(ax, "y", measure, max(float(v.max(initial=0)) for v, _, _ in drawn))
    handles: list[Patch | Line2D] = [
        Patch(
            facecolor=_pale(k), edgecolor=EDGE, hatch=HATCHES[k % len(HATCHES)], label=plain(name)
        )
        for k, name in enumerate(runs)
    ]
    mean = Line2D([], [], ls="", marker="D", color="white", markeredgecolor="black", label="mean")
    handles += [mean, Line2D([], [], ls="", marker="x", color="black", label="maximum")]
    legend_beside(ax, handles=handles, title="box: quartiles, median\nwhiskers: 5 % and 95 %")
    set_alt(ax, f"Box plot of {MEASURES[measure]} by {BY[by]}. {'; '.join(told)}.")
    return ax


def _values(result: Result, measure: str) -> FloatArray:
    check_name("measure", measure, MEASURES)
    if measure == "slowdown":
        return bounded_slowdown(result)
    return result.wait[result.ran].astype(np.float64)


def classes_of(result: Result, by: str) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The labels, and the class of each job that ran."""
    check_name("by", by, BY)
    if by == "how":
        return [how.value for how in HOWS[:3]], result.how[result.ran].astype(np.int64)
    labels, which = size_classes(result)
    return labels, which[result.ran]


def check_name(name: str, value: str, known: Collection[str]) -> None:
    """Raise a DrasLabError for a value that is not known."""
    if value not in known:
        raise DrasLabError(f"{name}: {value!r} is not one of {', '.join(known)}")


def same_labels(all_labels: Sequence[list[str]]) -> list[str]:
    """The classes of all results, which must be the same to stand side by side."""
    if any(labels != all_labels[0] for labels in all_labels):
        raise DrasLabError("machines of different sizes have different size classes; use by='how'")
    return all_labels[0]


def _pale(k: int) -> str:
    """The k-th colour, pale enough for a black line on it."""
    red, green, blue = (0.45 + 0.55 * part for part in to_rgb(PALETTE[k % len(PALETTE)]))
    return to_hex((red, green, blue))


def _measure_axis(ax: Axes, which: str, measure: str, longest: float) -> None:
    """Scale, ticks and label of the axis of waits or slowdowns."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    scale, limit = (ax.set_xscale, ax.set_xlim) if which == "x" else (ax.set_yscale, ax.set_ylim)
    if measure == "slowdown":
        scale("log")
        limit(0.95, max(2.0, 1.3 * longest))
        axis.set_label_text(MEASURES[measure])
    elif longest <= _SHORT:
        limit(-0.01 * longest if which == "x" else 0, 1.08 * longest or 1)
        axis.set_label_text("wait (seconds)")
    else:
        scale("symlog", linthresh=60, linscale=0.5)
        axis.set_ticks(list(_TICKS), list(_TICKS.values()))
        axis.set_ticks([], minor=True)
        limit(0, 1.3 * longest)
        axis.set_label_text("wait (logarithmic from 1 min on)")


def _spoken(value: float, measure: str) -> str:
    if measure == "slowdown":
        return f"{value:.3g}"
    unit = time_axis(0, value)
    return f"{value / unit.seconds:.3g} {unit.unit}"
