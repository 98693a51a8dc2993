"""Figures: every function draws on an `Axes`, returns it, and shows nothing.

The palette is Okabe and Ito's, which the colour-blind can tell apart; every axis has a unit.
Each figure has a text alternative, `alt_text(ax)`, for a notebook or a web page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
import matplotlib.rcsetup
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes

# Okabe and Ito, "Color Universal Design", 2008.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000", "#F0E442")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osD^v<>"  # lines are told apart by these too: on paper colour may be gone
_STYLE = {
    "axes.prop_cycle": mpl.rcsetup.cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "font.size": 10,
    "figure.dpi": 110,
    "savefig.dpi": 150,
    "legend.frameon": False,
}

# What a Kiviat chart shows, with its label and whether small is good.
KIVIAT = (
    ("mean_wait_h", "mean wait", True),
    ("max_wait_h", "maximum wait", True),
    ("mean_bounded_slowdown", "bounded\nslowdown", True),
    ("utilisation", "utilisation", False),
    ("makespan_d", "makespan", True),
)


@contextmanager
def use_style() -> Iterator[None]:
    """The project's figure style, inside a ``with``."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


def bars(table: pd.DataFrame, column: str, label: str, ax: Axes) -> Axes:
    """One horizontal bar a policy, the number beside it.

    Parameters
    ----------
    table : DataFrame
        From `metrics.compare`: a row a policy.
    column : str
        What to draw.
    label : str
        The axis label, with its unit.
    ax : Axes
        Where to draw.
    """
    names = [str(name) for name in table.index]
    values = table[column].to_numpy(dtype=float)
    drawn = ax.barh(names, values, color=PALETTE[0])
    ax.bar_label(drawn, labels=[f"{value:,.3g}" for value in values], padding=3, fontsize=8)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.margins(x=0.15)
    ax.set_xlabel(label)
    shown = "; ".join(f"{name} {value:,.3g}" for name, value in zip(names, values, strict=True))
    _set_alt(ax, f"Bar chart of {label} by policy: {shown}.")
    return ax


def normalised(table: pd.DataFrame) -> pd.DataFrame:
    """The measures of a Kiviat chart, each as a share of the best policy's: 1 is the best.

    ``best / value`` where small is good, ``value / best`` where large is.
    """
    out = {}
    for column, _, small in KIVIAT:
        values = table[column].astype(float)
        if small:
            best = values.min()
            # Nobody waited at all: as good as the best only if the best is zero too.
            out[column] = (best / values.where(values > 0)).fillna(1.0)
        else:
            best = values.max()
            out[column] = values / best if best else values
    return pd.DataFrame(out, index=table.index)


def kiviat(table: pd.DataFrame, ax: Axes) -> Axes:
    """Kiviat (radar) chart of `metrics.compare`'s table: outside is better.

    Each measure is divided by the best policy's, so that 1 on the rim is the best of those
    compared and says nothing about any other.

    Raises
    ------
    TypeError
        If `ax` is not polar: make it with ``subplot_kw={"projection": "polar"}``.
    """
    if not isinstance(ax, PolarAxes):
        raise TypeError('a Kiviat chart needs polar axes: subplot_kw={"projection": "polar"}')
    shares = normalised(table)
    angles = np.linspace(0, 2 * np.pi, len(KIVIAT), endpoint=False)
    closed = np.append(angles, angles[0])
    for k, (name, row) in enumerate(shares.iterrows()):
        values = row.to_numpy(dtype=float)
        ax.plot(
            closed,
            np.append(values, values[0]),
            label=str(name),
            color=PALETTE[k % len(PALETTE)],
            linestyle=_DASHES[(k + k // len(PALETTE)) % len(_DASHES)],
            marker=_MARKERS[k % len(_MARKERS)],
            markersize=4,
            linewidth=1.5,
        )
    ax.set_theta_offset(np.pi / 2)
    ax.set_theta_direction(-1)
    ax.set_xticks(angles, [label for _, label, _ in KIVIAT])
    ax.tick_params(axis="x", pad=12)
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1 = best"], fontsize=8)
    ax.legend(loc="center left", bbox_to_anchor=(1.3, 0.5))
    worst = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{label.replace(chr(10), ' ')} {row[column]:.2f}" for column, label, _ in KIVIAT
        )
        for name, row in shares.iterrows()
    )
    _set_alt(ax, f"Kiviat chart, each measure as a share of the best policy's. {worst}.")
    return ax


def alt_text(drawn: Axes | Figure) -> str:
    """The text alternative of what this module drew, for a web page or a notebook.

    In a notebook: ``display(figure, metadata={"image/png": {"alt": alt_text(figure)}})``.
    """
    if isinstance(drawn, Figure):
        return " ".join(filter(None, [drawn.get_suptitle() + ".", *map(alt_text, drawn.axes)]))
    return str(getattr(drawn, "_dras_alt_text", ""))


def _set_alt(ax: Axes, text: str) -> None:
    ax._dras_alt_text = text  # type: ignore[attr-defined]


def overview(table: pd.DataFrame, title: str) -> Figure:
    """The figure of ``dras-lab demo``: mean wait, maximum wait and a Kiviat chart."""
    with use_style():
        figure = Figure(figsize=(13, 4.6), layout="constrained")
        grid = figure.add_gridspec(1, 3, width_ratios=(1, 1, 1.25))
        bars(table, "mean_wait_h", "mean wait (hours)", figure.add_subplot(grid[0]))
        right = bars(table, "max_wait_h", "maximum wait (hours)", figure.add_subplot(grid[1]))
        right.set_yticklabels([])
        kiviat(table, figure.add_subplot(grid[2], projection="polar"))
        figure.suptitle(title, parse_math=False)
    return figure


def as_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as the content of a ``"png"``, ``"svg"`` or ``"pdf"`` file.

    Its text alternative is inside, and the same figure gives the same bytes.
    """
    content = io.BytesIO()
    about: dict[str, str | None] = {"Title": figure.get_suptitle()}
    if kind == "pdf":
        about |= {"Subject": alt_text(figure), "CreationDate": None}
    else:
        about["Description"] = alt_text(figure)
    if kind == "svg":
        about["Date"] = None
    with mpl.rc_context({"svg.hashsalt": "dras_lab"}):
        figure.savefig(content, format=kind, metadata=about)
    return content.getvalue()
