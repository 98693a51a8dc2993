"""The nouns everything else speaks of: a job, the scheduler's view of it, and where it ran.

Two views of one job are kept apart on purpose. `Job` is what the log records, with the run
time. `WaitingJob` and `RunningJob` are what a scheduler can know while it decides: they have
no run time, and asking for one is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn


class DrasLabError(ValueError):
    """Something the user can put right: a bad file, a bad argument, an impossible request.

    Its text is one line that says what is wrong, where, and what to do about it. The command
    line prints that line and ends with exit code 2.
    """


class How(StrEnum):
    """How a job came to run (Fan et al., arXiv 2102.06243, name the first three)."""

    READY = "ready"  # picked while it fitted the free nodes
    RESERVED = "reserved"  # nodes were reserved for it before it could start
    BACKFILLED = "backfilled"  # started in a hole, ahead of a reservation
    REFUSED = "refused"  # wider than the machine: turned away at submission


class Level(StrEnum):
    """The two questions the engine asks a policy."""

    SELECT = "select"  # level 1: which job of the window is next
    BACKFILL = "backfill"  # level 2: which job fills the hole before the reservation


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the log records it. Times are seconds, the size is nodes."""

    job_id: int
    submit_time: int
    size: int
    requested_time: int
    run_time: int
    user_id: int = -1


class _NoRunTime:
    """Mixin: asking a job that has not ended for its run time is an error that explains itself."""

    __slots__ = ()

    @property
    def run_time(self) -> NoReturn:
        raise AttributeError(
            "a scheduler cannot know the run time of a job that has not ended; "
            "use requested_time, the user's own estimate"
        )


@dataclass(frozen=True, slots=True)
class WaitingJob(_NoRunTime):
    """A waiting job as the scheduler sees it. Times are seconds, the size is nodes."""

    job_id: int
    submit_time: int
    size: int
    requested_time: int
    user_id: int = -1


@dataclass(frozen=True, slots=True)
class RunningJob(_NoRunTime):
    """A running job as the scheduler sees it.

    `planned_end` is the start plus the requested time; a job that has outlived its request
    (overrun ``"keep"``) is planned to end one second from now.
    """

    job_id: int
    size: int
    start: int
    planned_end: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes promised to one job.

    Attributes
    ----------
    job : WaitingJob
    start : int
        The planned start (the *shadow time* of EASY backfilling), in seconds. It may move
        earlier when jobs end early, never later while jobs end within their requests.
    extra : int
        Nodes that will be free at `start` beyond those the job needs: a backfilled job may use
        this many for as long as it likes.
    promised : int
        The start first planned when the reservation was made, in seconds.
    """

    job: WaitingJob
    start: int
    extra: int
    promised: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and when a job ran: [start, end) on `nodes`, half-open ranges of node numbers.

    A refused job has neither start nor end and no nodes.
    """

    job: Job
    start: int | None
    end: int | None
    how: How
    nodes: tuple[tuple[int, int], ...] = ()

    @property
    def wait(self) -> int | None:
        """Seconds from submission to start."""
        return None if self.start is None else self.start - self.job.submit_time
