"""How long the figures take, drawing on the canvas included: the median of five.

The Gantt chart is to draw 10,000 jobs in less than two seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dras_lab import lublin, make_policy, simulate
from dras_lab.anatomy import anatomy
from dras_lab.breakdown import class_bars, how_shares
from dras_lab.classes import boxes, ecdf
from dras_lab.curves import queue_curve, utilisation_curve
from dras_lab.gantt import gantt, gantt_difference
from dras_lab.groups import BY
from dras_lab.results import Result


def seconds(draw: Callable[[Figure], object]) -> float:
    """Median time of five from an empty figure to its pixels."""
    took = []
    for _ in range(5):
        begin = time.perf_counter()
        figure = Figure(figsize=(9.0, 4.5), layout="constrained")
        draw(figure)
        FigureCanvasAgg(figure).draw()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def busy(jobs: int, policy: str = "fcfs") -> Result:
    """A schedule of that many jobs on 256 nodes, its nodes told."""
    result = simulate(lublin(jobs=jobs, load=0.9, seed=1), make_policy(policy))
    assert result.node_ranges
    return result


def main() -> None:
    """The table."""
    print(f"{'figure':<34} {'jobs':>7} {'blocks':>7} {'seconds':>8}")

    def row(name: str, jobs: int, blocks: int, took: float) -> None:
        print(f"{name:<34} {jobs:>7,} {blocks:>7,} {took:>8.2f}", flush=True)

    for jobs in (1_000, 10_000, 100_000):
        result = busy(jobs)
        blocks = sum(len(some) for some in result.node_ranges)
        for by in BY if jobs == 10_000 else BY[:1]:
            took = seconds(lambda f, r=result, b=by: gantt(r, by=b, ax=f.add_subplot()))
            row(f"Gantt by {by}", jobs, blocks, took)
    result, other = busy(10_000), busy(10_000, "sjf")
    blocks = sum(len(some) for some in other.node_ranges)
    took = seconds(lambda f: gantt_difference(result, other, axes=f.subplots(2)))
    row("difference of two", 10_000, blocks, took)
    middle = int(result.start[5_000])
    for hours in (12, 72):
        part = {"start": middle, "end": middle + hours * 3600}
        axes = gantt(result, **part, ax=Figure().add_subplot())
        blocks = sum(len(drawn.get_paths()) for drawn in axes.collections)
        took = seconds(lambda f, part=part: gantt(result, **part, ax=f.add_subplot()))
        row(f"{hours} hours of the 10,000 jobs", 10_000, blocks, took)
    both = {"fcfs": result, "sjf": other}
    trace = lublin(jobs=10_000, load=0.9, seed=1)
    others: dict[str, Callable[[Figure], object]] = {
        "utilisation": lambda f: utilisation_curve(both, ax=f.add_subplot()),
        "queue length": lambda f: queue_curve(both, ax=f.add_subplot()),
        "ECDF of the waits": lambda f: ecdf(result, ax=f.add_subplot()),
        "boxes of the waits": lambda f: boxes(both, ax=f.add_subplot()),
        "bars by class": lambda f: class_bars(both, ax=f.add_subplot()),
        "shares by how": lambda f: how_shares(both, ax=f.add_subplot()),
        "anatomy": lambda f: anatomy(trace, f.subplots(2, 3)),
    }
    for name, draw in others.items():
        row(name, 10_000, 0, seconds(draw))


if __name__ == "__main__":
    main()
