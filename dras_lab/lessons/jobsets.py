"""Exercises of lesson 02, workloads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..traces import Trace, read_swf
from .exercises import Exercise, Wrong, ask, need_number, need_same


def _factor(answer: Any) -> None:
    need_number(answer, 0.9 / read_swf("theta-like").summary()["offered_load"], within=0.005)


def _arrivals(times: list[int]) -> Trace:
    return Trace.from_table(pd.DataFrame({"submit_time": times, "size": 1, "run_time": 1}), 4)


def _burstiness(answer: Any) -> None:
    # Gaps 10, 10, 10: no spread. Gaps 0, 0, 30: mean 10, deviations -10, -10, 20, so that the
    # variance is (100 + 100 + 400) / 3 = 200. The same ten times as long: the same number.
    cases: tuple[tuple[list[int], float, str], ...] = (
        ([0, 10, 20, 30], 0.0, "jobs every 10 s"),
        ([0, 0, 0, 30], math.sqrt(200) / 10, "gaps of 0, 0 and 30 s"),
        ([7, 7, 7, 307], math.sqrt(200) / 10, "gaps of 0, 0 and 300 s"),
    )
    for times, right, case in cases:
        value = ask(answer, _arrivals(times), case=case)
        sample = math.sqrt(300) / 10
        if right and isinstance(value, float) and abs(value - sample) < 1e-9:
            continue  # divided by one less than the number of gaps: as good
        need_number(value, right, within=1e-9, case=case)


def _poisson(answer: Any) -> None:
    jobs, gap = 20_000, 300.0
    times = np.asarray(ask(answer, jobs, gap, np.random.default_rng(1)), dtype=float).ravel()
    if len(times) != jobs:
        raise Wrong(f"{jobs} jobs are asked for, and there are {len(times)} times.")
    gaps = np.diff(times)
    if (gaps < 0).any():
        raise Wrong("the times are not in order: some job comes before the one before it.")
    # The mean of 20,000 exponential gaps is within 0.7 % in two runs of three; 5 % is seven times
    # that. The coefficient of variation of exponential gaps is 1.
    need_number(gaps.mean(), gap, within=0.05 * gap, case="the mean gap")
    spread = gaps.std() / gaps.mean()
    if not 0.95 < spread < 1.05:
        raise Wrong(
            f"gaps of a Poisson process vary as much as their mean; yours {spread:.2f} of it."
        )
    again = np.asarray(ask(answer, jobs, gap, np.random.default_rng(1)), dtype=float).ravel()
    other = np.asarray(ask(answer, jobs, gap, np.random.default_rng(2)), dtype=float).ravel()
    if not np.array_equal(times, again):
        raise Wrong("the same generator gives other times: are your numbers drawn from `rng`?")
    if np.array_equal(times, other):
        raise Wrong("another generator gives the same times: are your numbers drawn from `rng`?")


def _merged(answer: Any) -> None:
    columns = ["job_id", "submit_time", "size", "requested_time", "run_time"]
    first = Trace.from_table(
        pd.DataFrame([(1, 0, 1, 10, 5), (2, 100, 2, 20, 15)], columns=columns), 8
    )
    second = Trace.from_table(
        pd.DataFrame([(1, 50, 3, 30, 25), (2, 200, 8, 40, 35)], columns=columns), 8
    )
    trace = ask(answer, first, second, case="two logs of two jobs")
    if not isinstance(trace, Trace):
        raise Wrong(f"a Trace is asked for, and this is a {type(trace).__name__}.")
    if trace.nodes != 8:
        raise Wrong(f"both logs are of one machine of 8 nodes, and yours has {trace.nodes}.")
    for column, right in (
        ("submit_time", [0, 50, 100, 200]),
        ("size", [1, 3, 2, 8]),
        ("run_time", [5, 25, 15, 35]),
        ("requested_time", [10, 30, 20, 40]),
    ):
        need_same(trace.table[column].tolist(), right, column, "two logs of two jobs")
    if len(set(trace.table["job_id"])) != 4:
        raise Wrong("two jobs have the same id.")


EXERCISES = (
    Exercise(
        "2.1",
        _factor,
        (
            "`trace.summary()` knows the offered load of a log.",
            "`scale_load(x)` makes the offered load x times what it was.",
        ),
    ),
    Exercise(
        "2.2",
        _burstiness,
        (
            "`numpy.diff` of the submission times gives the gaps.",
            "The coefficient of variation is the standard deviation over the mean.",
        ),
    ),
    Exercise(
        "2.3",
        _poisson,
        (
            "In a Poisson process the gaps are exponential and have nothing to do with each other.",
            "`rng.exponential(mean, size)` draws gaps; how do gaps become times?",
        ),
    ),
    Exercise(
        "2.4",
        _merged,
        (
            "`pandas.concat` puts two tables together; `Trace.from_table` sorts.",
            "Job ids must be unique: leave the column out, and `from_table` counts anew.",
        ),
    ),
)
