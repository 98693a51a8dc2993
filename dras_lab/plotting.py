"""What all figures share: the style, the axes, the text alternative; and the comparing charts.

Every function that draws takes an `Axes` or makes one, returns it, and shows nothing. The
palette is Okabe and Ito's, which the colour-blind can tell apart; hatches, dashes and markers
say the same where colour is gone; every axis has a unit. Each figure has a text alternative,
`alt_text(ax)`, for a notebook or a web page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.rcsetup
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes

from .jobs import DrasLabError, How

# Okabe and Ito, "Color Universal Design", 2008.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000", "#F0E442")
HATCHES = ("", "///", "...", "xxx", "\\\\\\\\", "++", "oo", "**")
# How a job ran, as every figure shows it. Light, dark and lighter: three greys on paper too.
HOW_COLOURS = {How.READY: "#56B4E9", How.RESERVED: "#D55E00", How.BACKFILLED: "#F0E442"}
HOW_HATCHES = {How.READY: "", How.RESERVED: "///", How.BACKFILLED: "..."}
EDGE = "#333333"
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
    ("max_wait_h", "maximum\nwait", True),
    ("mean_bounded_slowdown", "bounded\nslowdown", True),
    ("utilisation", "utilisation", False),
    ("makespan_d", "makespan", True),
)


@contextmanager
def use_style() -> Iterator[None]:
    """The project's figure style, inside a ``with``."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


class TimeAxis(NamedTuple):
    """Times of a log as a figure shows them: since `origin`, in units of `seconds`."""

    origin: int
    seconds: int
    unit: str

    def at(self, time: Any) -> Any:
        """Where a time of the log, or an array of them, is on the axis."""
        return (time - self.origin) / self.seconds

    @property
    def label(self) -> str:
        """The label of the axis."""
        return f"time since the first submission ({self.unit})"


def time_axis(origin: int, span: float) -> TimeAxis:
    """The axis for `span` seconds: days from 4 days on, hours from 4 hours, else minutes, seconds.

    `origin`, in the log's own seconds, becomes 0.
    """
    for seconds, unit, least in ((86400, "days", 345_600), (3600, "hours", 14_400)):
        if span >= least:
            return TimeAxis(int(origin), seconds, unit)
    return TimeAxis(int(origin), *((60, "minutes") if span >= 600 else (1, "seconds")))


def axes_for(
    ax: Axes | None, figsize: tuple[float, float] = (8.0, 4.5), projection: str | None = None
) -> Axes:
    """`ax`, or that of a new figure in the project's style.

    The new figure is pyplot's, so that a notebook shows it at the end of the cell; elsewhere
    whoever asked for it closes it.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt  # only here: those who bring their axes need no pyplot

    with use_style():
        figure = plt.figure(figsize=figsize, layout="constrained")
        return figure.add_subplot(projection=projection)


def grid_for(
    axes: Any, rows: int, columns: int, figsize: tuple[float, float], **options: Any
) -> npt.NDArray[Any]:
    """`axes` as an array of shape ``[rows, columns]``, or that of a new figure.

    Raises
    ------
    DrasLabError
        If it is another number of axes.
    """
    if axes is None:
        from matplotlib import pyplot as plt

        with use_style():
            figure = plt.figure(figsize=figsize, layout="constrained")
            axes = figure.subplots(rows, columns, squeeze=False, **options)
    given = np.asarray(axes, dtype=object)
    if given.size != rows * columns:
        raise DrasLabError(f"this figure needs {rows * columns} axes, and not {given.size}")
    return given.reshape(rows, columns)


def say(ax: Axes, text: str) -> Axes:
    """A figure that says why there is nothing to draw."""
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, wrap=True)
    set_alt(ax, text[:1].upper() + text[1:] + ".")
    return ax


def plain(name: object) -> str:
    """A name as a figure can show it: "$" begins no formula, "_" does not hide it in a legend."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def legend_beside(ax: Axes, **options: Any) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    look: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    ax.legend(**{"fontsize": 8, "title_fontsize": 8, "alignment": "left"} | look | options)


def line_look(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th line; no two of the first 32 are alike."""
    turn = k // len(PALETTE)
    return {
        "color": PALETTE[k % len(PALETTE)],
        "linestyle": _DASHES[(k + turn) % len(_DASHES)],
        "linewidth": 1.5,
    }


def bars(table: pd.DataFrame, column: str, label: str, ax: Axes | None = None) -> Axes:
    """One horizontal bar a policy, the number beside it.

    Parameters
    ----------
    table : DataFrame
        From `metrics.compare`: a row a policy.
    column : str
        What to draw.
    label : str
        The axis label, with its unit.
    ax : Axes, optional
        Where to draw.
    """
    ax = axes_for(ax)
    names = [plain(name) for name in table.index]
    values = table[column].to_numpy(dtype=float)
    drawn = ax.barh(names, values, color=PALETTE[0])
    ax.bar_label(drawn, labels=[f"{value:,.3g}" for value in values], padding=3, fontsize=8)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.margins(x=0.15)
    ax.set_xlabel(label)
    shown = "; ".join(f"{name} {value:,.3g}" for name, value in zip(names, values, strict=True))
    set_alt(ax, f"Bar chart of {label} by policy: {shown}.")
    return ax


def normalised(table: pd.DataFrame) -> pd.DataFrame:
    """The measures of a Kiviat chart, each as a share of the best policy's: 1 is the best.

    ``best / value`` where small is good, ``value / best`` where large is.
    """
    out = {}
    for column, _, small in KIVIAT:
        values = table[column].astype(float)
        if small:
            # Nobody waited at all: nothing is better. (Where nothing ran there is no number.)
            out[column] = (values.min() / values.where(values > 0)).mask(values == 0, 1.0)
        else:
            best = values.max()
            out[column] = values / best if best else values
    return pd.DataFrame(out, index=table.index)


def kiviat(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Kiviat (radar) chart of `metrics.compare`'s table: outside is better.

    Each measure is divided by the best policy's, so that 1 on the rim is the best of those
    compared and says nothing about any other.

    Raises
    ------
    TypeError
        If `ax` is not polar: make it with ``subplot_kw={"projection": "polar"}``.
    """
    ax = axes_for(ax, (7.5, 4.6), "polar")
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
            label=plain(name),
            marker=_MARKERS[k % len(_MARKERS)],
            markersize=4,
            **line_look(k),
        )
    ax.set_theta_offset(np.pi / 2)
    ax.set_theta_direction(-1)
    ax.set_xticks(angles, [label for _, label, _ in KIVIAT])
    ax.tick_params(axis="x", pad=8)
    for text, angle in zip(ax.get_xticklabels(), angles, strict=True):
        side = round(float(np.sin(angle)), 6)
        text.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1 = best"], fontsize=8)
    ax.set_xlabel(
        "share of the best policy's: best / value,\nfor utilisation value / best", fontsize=8
    )
    legend_beside(ax, loc="center left", bbox_to_anchor=(1.35, 0.5))
    worst = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{label.replace(chr(10), ' ')} {row[column]:.2f}" for column, label, _ in KIVIAT
        )
        for name, row in shares.iterrows()
    )
    set_alt(ax, f"Kiviat chart, each measure as a share of the best policy's. {worst}.")
    return ax


def alt_text(drawn: Axes | Figure) -> str:
    """The text alternative of what this module drew, for a web page or a notebook.

    In a notebook: ``display(figure, metadata={"image/png": {"alt": alt_text(figure)}})``.
    """
    if isinstance(drawn, Figure):
        title = drawn.get_suptitle()
        return " ".join(filter(None, [title and f"{title}.", *map(alt_text, drawn.axes)]))
    return str(getattr(drawn, "_dras_alt_text", ""))


def set_alt(ax: Axes, text: str) -> None:
    """Give what was drawn on `ax` its text alternative."""
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
