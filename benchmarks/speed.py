"""How many jobs a second the engine replays, and what that takes in memory.

    python benchmarks/speed.py [--full]

Each row is a process of its own, so that peak memory is that row's. Times are processor seconds
of `simulate` alone, the best of a few runs; making or reading the trace is not counted. `--full`
adds a million jobs, and deep queues.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

RUNS = 5


def one(job: dict[str, object]) -> None:
    """Measure one row, in this process, and print it as JSON."""
    from dras_lab import make_policy, simulate
    from dras_lab.traces import read_swf
    from dras_lab.workloads import lublin

    if job["trace"] == "lublin":
        trace = lublin(int(str(job["jobs"])), seed=1, load=float(str(job["load"])))
    else:
        trace = read_swf(str(job["trace"]))
    best, result = float("inf"), None
    for _ in range(RUNS if len(trace) <= 100_000 else 1):
        policy = make_policy(str(job["policy"]))
        begin = time.process_time()
        result = simulate(trace, policy, log=bool(job["log"]), backfill=str(job["backfill"]))
        best = min(best, time.process_time() - begin)
    assert result is not None
    from dras_lab.metrics import queue_length

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory /= 1024**2 if sys.platform == "darwin" else 1024
    print(
        json.dumps(
            {
                "jobs": len(trace),
                "rate": len(trace) / best,
                "us": best / len(trace) * 1e6,
                "memory": memory,
                "deepest": int(queue_length(result).max()),
            }
        )
    )


def row(**job: object) -> None:
    """Measure one row in a fresh process and print it for people."""
    job = {
        "trace": "lublin",
        "load": 1.06,
        "policy": "fcfs",
        "log": False,
        "backfill": "easy",
    } | job
    done = subprocess.run(
        [sys.executable, __file__, "--one", json.dumps(job)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    out = json.loads(done.stdout)
    what = str(job["trace"]) if job["trace"] != "lublin" else f"lublin, load {job['load']}"
    print(
        f"{what:<20} {out['jobs']:>9,} {job['policy']!s:<10} {job['backfill']!s:<12} "
        f"{'on' if job['log'] else 'off':<4} {out['rate']:>9,.0f} {out['us']:>7.1f} "
        f"{out['deepest']:>8,} {out['memory']:>7,.0f}",
        flush=True,
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million jobs too")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(json.loads(arguments.one))
        return
    print(
        f"{'trace':<20} {'jobs':>9} {'policy':<10} {'backfill':<12} {'log':<4} "
        f"{'jobs/s':>9} {'us/job':>7} {'deepest':>8} {'MB':>7}"
    )
    for jobs in (10_000, 100_000, *((1_000_000,) if arguments.full else ())):
        row(jobs=jobs)
    for jobs in (10_000, 100_000):
        row(jobs=jobs, log=True)
    for jobs in (100_000, *((1_000_000,) if arguments.full else ())):
        row(jobs=jobs, load=0.9)
    row(trace="theta-like")
    for policy in ("sjf", "saf", "wfp3", "unicep", "f1", "binpacking", "random"):
        row(jobs=10_000, policy=policy)
    if arguments.full:
        for policy in ("sjf", "wfp3", "f1"):
            row(jobs=100_000, policy=policy)
    row(trace="theta-like", backfill="conservative")
    row(jobs=5_000, load=0.9, backfill="conservative")


if __name__ == "__main__":
    main()
