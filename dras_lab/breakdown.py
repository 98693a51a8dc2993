"""How the work divides: a number by class of jobs, shares by how the jobs came to run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from .classes import BY, MEASURES, check_name, classes_of, same_labels
from .metrics import Results, by_class, by_how, named
from .plotting import (
    EDGE,
    HATCHES,
    HOW_COLOURS,
    HOW_HATCHES,
    PALETTE,
    axes_for,
    legend_beside,
    plain,
    say,
    set_alt,
    time_axis,
)
from .results import HOWS

BARS = {
    "mean_wait_s": "mean wait",
    "max_wait_s": "maximum wait",
    "mean_bounded_slowdown": MEASURES["slowdown"].replace("bounded", "mean bounded"),
}
SHARES = {"jobs": "jobs", "node_hours": "node-hours"}


def class_bars(
    results: Results,
    measure: str = "mean_wait_s",
    *,
    by: str = "size",
    ax: Axes | None = None,
) -> Axes:
    """One number a class of jobs, as bars: a group a class, a bar a result.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    measure : {"mean_wait_s", "max_wait_s", "mean_bounded_slowdown"}
        A column of `metrics.by_class`. Waits are drawn in a unit that fits.
    by : {"size", "how"}
        What the classes are; one without jobs has no bar.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        As `boxes`.
    """
    check_name("measure", measure, BARS)
    check_name("by", by, BY)
    runs = named(results)
    labels = same_labels([classes_of(run, by)[0] for run in runs.values()])
    table = pd.DataFrame(
        {name: (by_class if by == "size" else by_how)(run)[measure] for name, run in runs.items()}
    ).reindex(labels)
    ax = axes_for(ax)
    if table.isna().all(axis=None):
        return say(ax, "no job ran")
    label = BARS[measure]
    if measure.endswith("_s"):
        unit = time_axis(0, float(np.nanmax(table.to_numpy(float))))
        table, label = table / unit.seconds, f"{label} ({unit.unit})"
    width = 0.8 / len(runs)
    for k, name in enumerate(runs):
        at = np.arange(len(table)) + (k - (len(runs) - 1) / 2) * width
        drawn = ax.bar(
            at,
            table[name],
            width,
            label=plain(name),
            color=PALETTE[k % len(PALETTE)],
            edgecolor="white",
            hatch=HATCHES[k % len(HATCHES)],
        )
        ax.bar_label(
            drawn,
            ["" if np.isnan(value) else f"{value:,.3g}" for value in table[name]],
            fontsize=7,
            padding=1,
            rotation=90 if len(runs) > 3 else 0,
        )
    ax.set_xticks(range(len(table)), table.index.tolist())
    ax.set_xlim(-0.5, len(table) - 0.5)
    ax.set_xlabel(BY[by])
    ax.set_ylabel(label)
    ax.margins(y=0.12)
    ax.grid(visible=False, axis="x")
    legend_beside(ax)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{key} {value:,.3g}" for key, value in table[name].items())
        for name in runs
    ).replace("nan", "no jobs")
    set_alt(ax, f"Bars of {label} by {BY[by]}. {told}.")
    return ax


def how_shares(results: Results, of: str = "jobs", *, ax: Axes | None = None) -> Axes:
    """Shares of the jobs, or of the node-hours, that ran ready, reserved and backfilled.

    One stacked bar a result, the first on top; its total stands beside it.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    of : {"jobs", "node_hours"}
        What is shared out; a job's node-hours are its size times its run time.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If `of` is neither, there are no results, or two have one name.
    """
    check_name("of", of, SHARES)
    runs = named(results)
    tables = {name: by_how(run) for name, run in runs.items()}
    ax = axes_for(ax, (8.0, 1.4 + 0.4 * len(runs)))
    if not any(run.ran.any() for run in runs.values()):
        return say(ax, "no job ran")
    names = [plain(name) for name in runs]
    left = np.zeros(len(names))
    shares = 100 * np.array([t[f"share_of_{of}"].to_numpy(float) for t in tables.values()])
    for how, percent in zip(HOWS[:3], shares.T, strict=True):
        drawn = ax.barh(
            names,
            percent,
            left=left,
            label=how.value,
            color=HOW_COLOURS[how],
            hatch=HOW_HATCHES[how],
            edgecolor=EDGE,
            linewidth=0.4,
        )
        # A share too small for its number has it in the text alternative only.
        shown = [f"{value:.0f} %" if value >= 6 else "" for value in percent]
        for text in ax.bar_label(drawn, shown, label_type="center", fontsize=8):
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
            text.set_visible(bool(text.get_text()))
        left += percent
    for row, table in enumerate(tables.values()):
        ax.annotate(
            f" {table[of].sum():,.0f}", (100, row), va="center", fontsize=8, annotation_clip=False
        )
    ax.set_xlim(0, 100)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"share of the {SHARES[of]} (%); beside: {SHARES[of]} in all")
    legend_beside(ax, bbox_to_anchor=(1.1, 1.0))
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{how} {share:.0%}" for how, share in table[f"share_of_{of}"].items())
        for name, table in tables.items()
    )
    set_alt(ax, f"Shares of the {SHARES[of]} by how they ran. {told}.")
    return ax
