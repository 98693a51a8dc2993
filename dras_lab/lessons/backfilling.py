"""Exercises of lesson 04, reservations and backfilling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions import Decision
from ..jobs import DrasLabError, Level, WaitingJob
from ..simulator import simulate
from ..traces import Trace, read_swf
from .exercises import Exercise, Wrong, ask, need_number


def _pair(answer: Any, case: str = "") -> tuple[Any, Any]:
    try:
        start, extra = answer
    except (TypeError, ValueError):
        raise Wrong(f"two numbers are asked for, start and extra, not {answer!r}.") from None
    return start, extra


def _on_paper(answer: Any) -> None:
    start, extra = _pair(answer)
    need_number(start, 60, within=0, case="the start")
    if extra == 0:
        raise Wrong("the start is right. How many nodes are free at that second, all told?")
    need_number(extra, 2, within=0, case="the extra nodes")


def _reservation(answer: Any) -> None:
    for running, free, need, start, extra, case in (
        ([(4, 100), (3, 60)], 3, 5, 60, 1, "two running jobs"),
        ([(3, 60), (4, 100)], 3, 8, 100, 2, "a job that needs both to end"),
        ([(4, 100), (2, 60), (2, 60)], 2, 4, 60, 2, "two jobs that end in the same second"),
        ([(1, 30), (1, 20), (1, 10), (5, 40)], 0, 2, 20, 0, "jobs that end one by one"),
    ):
        given = list(running)
        mine, spare = _pair(ask(answer, given, free, need, case=case))
        if given != running:
            raise Wrong(f"your function changes the list of running jobs, in the case of {case}.")
        need_number(mine, start, within=0, case=f"the start, {case},")
        need_number(spare, extra, within=0, case=f"the extra nodes, {case},")


def _may_fill(answer: Any) -> None:
    # Now is 100, 4 nodes are free, the reservation is for 200 and can spare 2.
    for size, request, right, case in (
        (5, 10, False, "a job that is wider than the free nodes"),
        (4, 50, True, "a wide job that ends long before the reservation"),
        (4, 100, True, "a wide job that ends just at the reserved start"),
        (3, 101, False, "a job one second too long, and wider than what can be spared"),
        (2, 10_000, True, "a long job on no more nodes than can be spared"),
        (3, 10_000, False, "a long job on more nodes than can be spared"),
    ):
        job = WaitingJob(7, 0, size, request)
        said = ask(answer, job, 100, 4, 200, 2, case=case)
        if bool(said) is not right:
            raise Wrong(f"{case} is {'let in' if said else 'kept out'}.")
    if ask(answer, WaitingJob(7, 0, 2, 10_000), 100, 1, 200, 2, case="one free node"):
        raise Wrong("a job of 2 nodes is let in where 1 is free, since 2 can be spared later.")


def need_policy(answer: Any, right: Any, trace: Trace, **options: Any) -> None:
    """A policy answers each question of a run as `right` does.

    Raises
    ------
    Wrong
        At the first question where it does not.
    """

    def both(decision: Decision) -> int | None:
        mine, due = (
            ask(answer, decision, case=f"a question of level {decision.level}"),
            right(decision),
        )
        if mine == due:
            return int(due)
        if isinstance(mine, (int, np.integer)) and mine in [j.job_id for j in decision.candidates]:
            raise Wrong(f"{mine} looks like a job's number; an index into the candidates is asked.")
        raise Wrong(
            f"at {decision.time} s, level {decision.level}, with {len(decision.rows)} candidates, "
            f"your answer is {mine!r}, and another is due."
        )

    try:
        simulate(trace, both, log=False, **options)
    except DrasLabError as error:
        raise Wrong(str(error)) from error


def _short_fill(answer: Any) -> None:
    def right(decision: Decision) -> int:
        if decision.level is Level.SELECT:
            return 0
        return int(np.argmin(decision.requested_times))

    need_policy(answer, right, read_swf("theta-like").coarsen(16).head(600))


EXERCISES = (
    Exercise(
        "4.1",
        _on_paper,
        (
            "Go from end to end, in order of time, and add up the free nodes.",
            "Everything that ends at that second is free at that second.",
        ),
    ),
    Exercise(
        "4.2",
        _reservation,
        (
            "Sort the running jobs by their planned ends; do not change the list you were given.",
            "Stop at the first second at which enough nodes are free, and count all that are free.",
        ),
    ),
    Exercise(
        "4.3",
        _may_fill,
        (
            "It must fit now. And then there are two ways of doing no harm; either will do.",
            "Intervals are half-open: who ends at 200 is gone at 200.",
        ),
    ),
    Exercise(
        "4.4",
        _short_fill,
        (
            '`decision.level` is "select" or "backfill".',
            "`decision.requested_times` is an array, one entry a candidate; an index is asked for.",
        ),
    ),
)
