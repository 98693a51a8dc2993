"""Exercises of lesson 01, job logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..traces import Trace, read_swf
from .exercises import Exercise, Wrong, ask, need_number


def hand_made() -> Trace:
    """Four jobs on 10 nodes over three days; small enough to do on paper.

    | job | submitted | nodes | asked for | ran | node-seconds |
    |---|---:|---:|---:|---:|---:|
    | 1 | 0 | 1 | 100 | 100 | 100 |
    | 2 | 1,000 | 2 | 100 | 50 | 100 |
    | 3 | 86,400 | 8 | 100 | 500, cut at 100 | 800 |
    | 4 | 172,900 | 10 | 500 | 200 | 2,000 |
    """
    table = pd.DataFrame(
        {
            "submit_time": [0, 1000, 86_400, 172_900],
            "size": [1, 2, 8, 10],
            "requested_time": [100, 100, 100, 500],
            "run_time": [100, 50, 500, 200],
        }
    )
    return Trace.from_table(table, 10, name="hand-made")


def _long_requests(answer: Any) -> None:
    asked = [job.requested_time for job in read_swf("theta-like")]
    share = sum(seconds > 6 * 3600 for seconds in asked) / len(asked)
    not_less = sum(seconds >= 6 * 3600 for seconds in asked) / len(asked)
    if isinstance(answer, (int, float)) and abs(answer - 100 * not_less) < 0.05:
        raise Wrong("that counts those who ask for just six hours, too.")
    need_number(answer, 100 * share, within=0.05)


def _wide_share(answer: Any) -> None:
    trace = hand_made()
    for nodes, right, counted, uncut in (
        (8, 2800 / 3000, 2 / 4, 6000 / 6200),
        (2, 2900 / 3000, 3 / 4, 6100 / 6200),
        (1, 1.0, 1.0, 1.0),
        (11, 0.0, 0.0, 0.0),
    ):
        case = f"the hand-made log and {nodes} nodes"
        share = ask(answer, trace, nodes, case=case)
        if isinstance(share, (int, float, np.number)) and 0 < right < 1:
            if abs(share - counted) < 1e-9:
                raise Wrong(f"{share:.3f} for {case} is a share of jobs, not of work.")
            if abs(share - uncut) < 1e-9:
                raise Wrong(
                    f"{share:.3f} for {case}: when does a job end that outruns its request?"
                )
        need_number(share, right, within=1e-6, case=case)


def _load_by_day(answer: Any) -> None:
    trace, case = hand_made(), "the hand-made log"
    loads = np.asarray(ask(answer, trace, case=case), dtype=float).ravel()
    if len(loads) != 3:
        raise Wrong(f"{case} spans three days, and there are {len(loads)} numbers.")
    for day, (load, held) in enumerate(zip(loads, (200, 800, 2000), strict=True), 1):
        need_number(load, held / (10 * 86_400), within=1e-9, case=f"day {day} of {case}")
    later = Trace.from_table(
        trace.table[["submit_time", "size", "requested_time", "run_time"]].assign(
            submit_time=lambda jobs: jobs["submit_time"] + 1_000_000
        ),
        10,
    )
    moved = np.asarray(ask(answer, later, case="the same jobs, submitted later"), dtype=float)
    if moved.shape != loads.shape or not np.allclose(moved, loads):
        raise Wrong("the same jobs, all submitted later by as much, give another answer.")
    gap = Trace.from_table(trace.table.iloc[[0, 3]].assign(job_id=[1, 2]), 10)
    quiet = np.asarray(ask(answer, gap, case="a log with a day without jobs"), dtype=float)
    if len(quiet) != 3 or quiet[1] != 0:
        raise Wrong("a day on which nobody submits is left out, or has a load that is not zero.")


_ACCOUNTS = pd.DataFrame(
    {
        "queued": ["2024-05-01 08:00:00", "2024-05-01 07:00:00", "2024-05-01 09:30:00"],
        "started": ["2024-05-01 08:10:00", "2024-05-01 07:00:00", None],
        "ended": ["2024-05-01 09:10:00", "2024-05-01 07:00:30", None],
        "nodes": [4, 1, 16],
        "limit_min": [120, 5, 30],
    }
)


def _from_accounts(answer: Any) -> None:
    trace = ask(answer, _ACCOUNTS.copy(), 16, case="a table of three jobs")
    if not isinstance(trace, Trace):
        raise Wrong(f"a Trace is asked for, and this is a {type(trace).__name__}.")
    if trace.nodes != 16:
        raise Wrong(f"the machine has 16 nodes and not {trace.nodes}.")
    if len(trace) != 2:
        raise Wrong(f"of the three jobs, one never started; the trace has {len(trace)}.")
    table = trace.table
    for column, right in (
        ("size", (1, 4)),
        ("run_time", (30, 3600)),
        ("requested_time", (300, 7200)),
    ):
        for place, (mine, due) in enumerate(zip(table[column], right, strict=True), 1):
            need_number(mine, due, within=0, case=f"{column} of job {place} in order of submission")
    gap = int(table["submit_time"].iloc[1] - table["submit_time"].iloc[0])
    need_number(gap, 3600, within=0, case="the time between the two submissions, in seconds,")


EXERCISES = (
    Exercise(
        "1.1",
        _long_requests,
        (
            "The column is `requested_time`, in seconds.",
            "`(column > limit).mean()` is the share of the rows that are above a limit.",
        ),
    ),
    Exercise(
        "1.2",
        _wide_share,
        (
            "Work out what each job holds first: nodes times the time it holds them.",
            "A job holds its nodes until it ends, or until its request is over.",
            '`table[["run_time", "requested_time"]].min(axis=1)` has the smaller of both.',
        ),
    ),
    Exercise(
        "1.3",
        _load_by_day,
        (
            "Whole division by 86,400 turns seconds into days; count from the first submission.",
            "`numpy.bincount(day, weights=work)` adds up by day; a day without has a 0.",
        ),
    ),
    Exercise(
        "1.4",
        _from_accounts,
        (
            "`pandas.to_datetime` reads times; differences have `.dt.total_seconds()`.",
            "A job that never started has no run time: leave it out before anything else.",
            "`Trace.from_table` wants whole numbers: `.astype(int)`.",
        ),
    ),
)
