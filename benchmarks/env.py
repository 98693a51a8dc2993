"""How many steps a second the gymnasium environment takes under a random policy.

    python benchmarks/env.py [TRACE] [--window W] [--runs N]

Episodes on the trace coarsened 16-fold (theta-like: 273 nodes); the policy draws uniformly from
the mask, passes among them, and that counts too. The best run is what the machine can do, the
median what it did; both in processor seconds of the steps alone, without making the environment
and without reset. `simulate` is the same policy on the simulator, with nobody looking.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import gymnasium

import dras_lab.env
from dras_lab import Simulation, Trace, read_swf


def bare(trace: Trace, window: int) -> float:
    """The simulator alone; returns seconds a decision."""
    simulation = Simulation(trace, window=window, log=False)
    draw, steps = random.Random(1).random, 0
    begin = time.process_time()
    while (decision := simulation.next_decision()) is not None:
        count = len(decision.rows)
        k = int(draw() * (count + (decision.free < trace.nodes)))
        simulation.apply(k if k < count else None)
        steps += 1
    return (time.process_time() - begin) / steps


def through(trace: Trace, window: int, **options: str) -> float:
    """The environment, as `gymnasium.make` gives it; returns seconds a step."""
    env = gymnasium.make(dras_lab.env.ID, trace=trace, window=window, **options)
    draw, steps, ended = random.Random(1).random, 0, False
    _, info = env.reset(seed=1)
    begin = time.process_time()
    while not ended:
        legal = info["action_mask"].nonzero()[0]
        _, _, ended, _, info = env.step(legal[int(draw() * len(legal))])
        steps += 1
    return (time.process_time() - begin) / steps


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="?", default="theta-like")
    parser.add_argument("--window", type=int, default=50)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    trace, window = read_swf(arguments.trace).coarsen(16), arguments.window
    rows: dict[str, Callable[[], float]] = {"simulate": lambda: bare(trace, window)}
    for view in ("compact", "rows", "rlscheduler", "schedgym"):
        rows[view] = lambda view=view: through(trace, window, observation=view)  # type: ignore[misc]
    rows["compact, EASY fills"] = lambda: through(trace, window, backfill_by="easy")
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(arguments.runs):  # in turn, so that a busy moment touches all alike
        for name, run in rows.items():
            spent[name].append(run())
    print(f"{trace.name}: {trace.nodes} nodes, window {window}, {arguments.runs} runs")
    print(f"{'':<22}{'best /s':>10}{'median /s':>11}{'best us':>9}")
    for name, times in spent.items():
        best, usual = min(times), statistics.median(times)
        print(f"{name:<22}{1 / best:>10,.0f}{1 / usual:>11,.0f}{best * 1e6:>9.1f}")


if __name__ == "__main__":
    main()
