"""A log so small that training on it takes a moment, and the words that train on it."""

from __future__ import annotations

from pathlib import Path

from runs import trace_of

from dras_lab.traces import Trace

NODES = 8
QUICK = ("--episodes", "3", "--set-jobs", "20")


def busy(jobs: int = 100, gap: int = 25) -> Trace:
    """Jobs one after the other, more of them than 8 nodes can run at once."""
    rows = []
    for k in range(jobs):
        size, run = 1 + 3 * k % 7, 60 + 40 * (k * k % 5)
        rows.append((k + 1, gap * k, size, run + 30, run))
    return trace_of(rows, NODES)


def log_in(folder: Path, trace: Trace | None = None) -> Path:
    """It in a file."""
    path = folder / "busy.swf"
    (busy() if trace is None else trace).write_swf(path)
    return path
