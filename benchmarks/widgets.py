"""How long the widgets take from a click to the new picture, and what 100,000 jobs need.

    python benchmarks/widgets.py [--jobs N] [--clicks N]

Wall-clock milliseconds, and those of the processor, from the click's arrival in Python to the new
picture in the widget: median and worst of the clicks. What the browser adds is not in it: it shows
a PNG file of 20 to 60 kB. The last part runs in a process of its own, whose peak memory is printed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from dras_lab.policies import fcfs, make_policy
from dras_lab.simulator import simulate
from dras_lab.traces import Trace, read_swf
from dras_lab.widgets import PolicyPlayground, QueueGame, ScheduleExplorer, WhatIf


def timed(what: str, action: Callable[[int], object], clicks: int) -> None:
    """Do it once to warm up, then so many times, and print what it took."""
    action(0)
    wall, used = [], []
    for turn in range(1, clicks + 1):
        began, busy = time.perf_counter(), time.process_time()
        action(turn)
        wall.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (time.process_time() - busy))
    print(
        f"{what:<44} median {statistics.median(wall):6.0f} ms  worst {max(wall):6.0f} ms  "
        f"(processor: median {statistics.median(used):4.0f} ms)"
    )


def clicks(count: int) -> None:
    """Every widget, on 4,000 and on 500 jobs."""
    trace = read_swf("theta-like")
    result = simulate(trace, make_policy("sjf"))
    print(f"{len(result)} jobs on {result.nodes} nodes, {len(result.log or ())} decisions")
    explorer = ScheduleExplorer(result, k=len(result.log or ()) // 3)
    timed("explorer: step", lambda _: explorer.step(), count)
    timed("explorer: back", lambda _: explorer.back(), count)
    rng = np.random.default_rng(0)
    jumps = rng.integers(0, len(explorer.replay), count + 1).tolist()
    timed("explorer: jump", lambda turn: explorer.go(jumps[turn]), count)
    timed("explorer: a page of the queue", lambda turn: explorer.turn((-1) ** turn), count)
    other = WhatIf(result, trace, make_policy("sjf"), explorer.k)
    timed("what if: another job, and all that follows", lambda turn: other.pick(turn % 2), count)
    playground = PolicyPlayground(trace.head(500))
    timed("playground: 500 jobs, a weight", lambda turn: playground.set(size=turn / 50), count)
    timed("playground: 500 jobs, the load", lambda turn: playground.set(load=1 + turn / 50), count)
    game = QueueGame()
    timed("game: a choice and back", lambda _: (game.choose(0), game.back()), count)


def many(count: int) -> None:
    """The explorer on a long log with a long queue."""
    rng = np.random.default_rng(0)
    request = rng.integers(60, 7200, count)
    table = pd.DataFrame(
        {
            "submit_time": np.arange(count) * 60,
            "size": rng.integers(1, 65, count),
            "requested_time": request,
            "run_time": request,
        }
    )
    trace = Trace.from_table(table, 256, name=f"{count} jobs")
    began = time.perf_counter()
    result = simulate(trace, fcfs)
    print(
        f"{count} jobs, {len(result.log or ())} decisions: run {time.perf_counter() - began:.1f} s"
    )
    began = time.perf_counter()
    explorer = ScheduleExplorer(result)
    print(f"explorer: made in {time.perf_counter() - began:.1f} s")
    jumps = rng.integers(0, len(explorer.replay), 21).tolist()
    timed("explorer: jump", lambda turn: explorer.go(jumps[turn]), 20)
    timed("explorer: step", lambda _: explorer.step(), 20)
    print(f"waiting then: {len(explorer.replay.log.waiting_rows(explorer.k))} jobs")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak *= 1 if sys.platform == "darwin" else 1024
    print(f"peak memory of the process: {peak / 1e6:.0f} MB")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=100_000, help="jobs of the long log")
    parser.add_argument("--clicks", type=int, default=20, help="clicks of each kind")
    parser.add_argument("--only-many", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only_many:
        many(given.jobs)
        return
    clicks(given.clicks)
    print(flush=True)
    again = [sys.executable, __file__, "--only-many", "--jobs", str(given.jobs)]
    subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
