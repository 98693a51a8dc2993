"""Turning the tests' small workloads into traces, and results into what the checks read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd
from oracle import AnyJob, as_job

from dras_lab.decisions import Decision
from dras_lab.results import Result
from dras_lab.traces import Trace


class Run(NamedTuple):
    """When, how and where a job ran."""

    start: int | None
    end: int | None
    how: str
    nodes: tuple[int, ...]


def trace_of(jobs: Iterable[AnyJob], nodes: int) -> Trace:
    """A trace of jobs given as (id, submit, size, estimate, runtime) or the like."""
    records = [as_job(job) for job in jobs]
    table = pd.DataFrame(
        {
            "job_id": [job.id for job in records],
            "submit_time": [job.submit for job in records],
            "size": [job.size for job in records],
            "requested_time": [job.estimate for job in records],
            "run_time": [job.runtime for job in records],
        }
    )
    return Trace.from_table(table, nodes)


def runs_of(result: Result) -> dict[int, Run]:
    """The schedule by job id."""
    return {
        p.job.job_id: Run(
            p.start, p.end, p.how.value, tuple(n for a, b in p.nodes for n in range(a, b))
        )
        for p in result.placements()
    }


def starts_of(result: Result) -> dict[int, int | None]:
    """Start by job id."""
    return {job_id: run.start for job_id, run in runs_of(result).items()}


def rows_of(jobs: Any) -> list[tuple[int, int, int, int]]:
    """Waiting jobs as (id, submit, size, estimate)."""
    return [(job.job_id, job.submit_time, job.size, job.requested_time) for job in jobs]


def fcfs(decision: Decision) -> int:
    return 0
