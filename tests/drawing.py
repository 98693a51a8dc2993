"""A schedule small enough to do on paper, and reading what figures drew of it."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from runs import fcfs, trace_of

from dras_lab.results import Result
from dras_lab.simulator import simulate

# Ten nodes. Under EASY job 1 holds nodes 0-5 from 0 to 100 (ready), job 2 nodes 0-7 from 100 to
# 104 (reserved), job 3 nodes 6-9 from 10 to 60 (backfilled); job 4 is wider than the machine.
# Without backfilling job 3 starts at 104. Size classes of ten nodes: 1, 2, 3-10.
JOBS = [(1, 0, 6, 100, 100), (2, 10, 8, 20, 4), (3, 10, 4, 50, 50), (4, 20, 11, 5, 5)]


def easy() -> Result:
    return simulate(trace_of(JOBS, 10), fcfs)


def no_holes() -> Result:
    return simulate(trace_of(JOBS, 10), fcfs, backfill="none")


def all_refused() -> Result:
    return simulate(trace_of([(1, 0, 4, 5, 5)], 2), fcfs)


def no_jobs() -> Result:
    return simulate(trace_of([(1, 0, 4, 5, 5)], 2).head(0), fcfs)


def new(projection: str | None = None) -> Axes:
    """Axes of a figure that nobody has to close."""
    return Figure().add_subplot(projection=projection)


def render(ax: Axes) -> None:
    """Draw the whole figure. (The canvas that a bare `Figure` has draws nothing.)"""
    figure = ax.figure.figure
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()


def entries(ax: Axes) -> list[str]:
    """The texts of the legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def heights(ax: Axes) -> list[list[float]]:
    """Of the bars, by the series they belong to."""
    return [[bar.get_height() for bar in series] for series in ax.containers]


def says(ax: Axes) -> str:
    """What a figure without anything to draw says."""
    (text,) = ax.texts
    return text.get_text()
