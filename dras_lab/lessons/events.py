"""Exercises of lesson 03, a simulator from events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..policies import make_policy
from ..simulator import simulate
from ..traces import Trace
from ..workloads import lublin
from .exercises import Exercise, Wrong, ask, need_number, need_same

COLUMNS = ("job_id", "submit_time", "size", "requested_time", "run_time")


def _trace(rows: list[tuple[int, int, int, int, int]], nodes: int) -> Trace:
    return Trace.from_table(pd.DataFrame(rows, columns=list(COLUMNS)), nodes)


def paper_jobs() -> Trace:
    """The five jobs of exercise 3.1, on 4 nodes.

    First come, first served, on paper: job 1 holds 3 nodes until 50; job 2 (2 nodes) fits only
    then, until 80, and job 3 (1 node) waits behind it, from 50 to 150; job 4 (4 nodes) has to wait
    for all of them, from 150 to 160; job 5 (1 node) is behind it, at 160.
    """
    return _trace(
        [
            (1, 0, 3, 60, 50),
            (2, 10, 2, 40, 30),
            (3, 20, 1, 100, 100),
            (4, 30, 4, 20, 10),
            (5, 40, 1, 10, 10),
        ],
        4,
    )


def _on_paper(answer: Any) -> None:
    if len(list(answer)) == 5 and list(answer)[2] == 20:
        raise Wrong("job 3 starts at 20: would it not jump the queue?")
    need_same(answer, [0, 50, 50, 150, 160], "start", "the five jobs")


def _slowdown(answer: Any) -> None:
    # Waits 0, 90 and 5; run times 100, 10 and 1 (which counts as 10):
    # 100/100 = 1, (90 + 10)/10 = 10, (5 + 1)/10 = 0.6, which counts as 1. Mean 4.
    trace = _trace([(1, 0, 1, 100, 100), (2, 10, 1, 10, 10), (3, 20, 1, 5, 1)], 4)
    starts = {1: 0, 2: 100, 3: 25}
    value = ask(answer, trace, starts, case="three jobs")
    for wrong, why in (
        (11.6 / 3, "a slowdown below 1 counts as 1"),
        (17 / 3, "a run time below 10 s counts as 10 s"),
    ):
        if isinstance(value, (int, float)) and abs(value - wrong) < 1e-6:
            raise Wrong(f"{value:.3f} for three jobs: {why}.")
    need_number(value, 4.0, within=1e-9, case="three jobs")


def _need_sjf(answer: Any, trace: Trace, case: str) -> None:
    """Starts by shortest request, without backfilling, are those of the library's simulator."""
    starts = ask(answer, trace, case=case)
    if not isinstance(starts, Mapping):
        raise Wrong(f"a dict from job id to start is asked for, and this is {starts!r}.")
    result = simulate(trace, make_policy("sjf"), backfill="none", window=None, log=False)
    due = dict(zip(result.job_id.tolist(), result.start.tolist(), strict=True))
    if missing := [job for job in due if job not in starts]:
        raise Wrong(f"of {case}, {len(missing)} never start, job {missing[0]} for one.")
    if wrong := [job for job in due if starts[job] != due[job]]:
        raise Wrong(
            f"of {case}, shortest request first, {len(wrong)} start at another time than they "
            f"should; job {wrong[0]} is the first in the queue."
        )


def _sorted_starts(answer: Any) -> None:
    def by_request(trace: Trace) -> Any:
        return ask(answer, trace, lambda job: job.requested_time)

    _need_sjf(by_request, paper_jobs(), "the five jobs of 3.1")
    _need_sjf(by_request, lublin(300, seed=5, load=0.9), "300 jobs")
    first = ask(answer, paper_jobs(), lambda job: job.job_id, case="the five jobs of 3.1")
    if [first.get(job) for job in range(1, 6)] != [0, 50, 50, 150, 160]:
        raise Wrong("with the job's number as the key it is not first come, first served.")


def _ties(answer: Any) -> None:
    # The long one has the lower number; the short one is to start, and the long one at 60.
    together = _trace([(1, 50, 4, 100, 100), (2, 50, 4, 10, 10)], 4)
    starts = ask(answer, together, case="two jobs")
    if starts != {1: 60, 2: 50}:
        raise Wrong("two jobs come to an idle machine in the same second; the long one goes first.")
    _need_sjf(answer, _by_the_hour(lublin(300, seed=5, load=0.9)), "300 jobs, handed in each hour")


def _by_the_hour(trace: Trace) -> Trace:
    table = trace.table[list(COLUMNS)]
    return Trace.from_table(
        table.assign(submit_time=table["submit_time"] // 3600 * 3600), trace.nodes
    )


EXERCISES = (
    Exercise(
        "3.1",
        _on_paper,
        (
            "Draw it: time to the right, four rows for the nodes.",
            "First come, first served, strictly: nobody starts before the one in front of him.",
        ),
    ),
    Exercise(
        "3.2",
        _slowdown,
        (
            "For each job: (wait + run time) / run time.",
            "Two bounds: the run time below counts as at least 10 s, the result as at least 1.",
        ),
    ),
    Exercise(
        "3.3",
        _sorted_starts,
        (
            "Only the choice of the next job changes: not the first in line, but the smallest.",
            "Of two jobs with the same key the one that came first goes first: `min` keeps that.",
            "If the smallest does not fit, all wait. That is what no backfilling means.",
        ),
    ),
    Exercise(
        "3.4",
        _ties,
        (
            "Two events come in the same second: what happens between the first and the second?",
            "All events of a second must be handled before anybody is started.",
            "`events[0][0] == now` says that another is due in this second.",
        ),
    ),
)
