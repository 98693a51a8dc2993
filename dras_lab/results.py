"""What a simulation leaves behind: the schedule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .cluster import Ranges, format_ranges
from .decisions import Board
from .files import write_whole
from .jobs import How, Job, Placement
from .log import DecisionLog

HOWS = (How.READY, How.RESERVED, How.BACKFILLED, How.REFUSED)
READY, RESERVED, BACKFILLED, REFUSED = range(4)


@dataclass(eq=False)
class Result:
    """A finished schedule: one entry a job, in queue order (submit time, job id).

    Attributes
    ----------
    trace_name, policy : str
        What was run.
    nodes : int
        Size of the machine.
    job_id, submit, size, requested_time : int64 arrays, shape ``[jobs]``
        As in the trace; times in seconds, sizes in nodes.
    start, end : int64 arrays, shape ``[jobs]``
        In seconds, [start, end); -1 for a refused job.
    how : int8 array, shape ``[jobs]``
        Index into `HOWS`.
    log : DecisionLog or None
        None where the run was made without one.
    options : dict
        The simulation's settings, as given.
    """

    trace_name: str
    policy: str
    nodes: int
    job_id: npt.NDArray[np.int64]
    submit: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    requested_time: npt.NDArray[np.int64]
    user_id: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    how: npt.NDArray[np.int8]
    log: DecisionLog | None
    options: dict[str, Any] = field(default_factory=dict)
    _board: Board | None = None

    def __len__(self) -> int:
        return len(self.job_id)

    def __repr__(self) -> str:
        return (
            f"Result({self.policy} on {self.trace_name}: {int(self.ran.sum())} jobs, "
            f"{int((~self.ran).sum())} refused, {self.nodes} nodes)"
        )

    @cached_property
    def ran(self) -> npt.NDArray[np.bool_]:
        """Which jobs ran (the others were refused)."""
        return np.asarray(self.how != REFUSED)

    @property
    def wait(self) -> npt.NDArray[np.int64]:
        """Seconds from submission to start; -1 for a refused job."""
        return np.where(self.ran, self.start - self.submit, -1)

    @property
    def run_time(self) -> npt.NDArray[np.int64]:
        """Seconds each job held its nodes (cut at the request under ``"kill"``)."""
        return self.end - self.start

    @cached_property
    def node_ranges(self) -> list[Ranges]:
        """Nodes of each job as half-open ranges, lowest free numbers first."""
        assert self._board is not None
        return self._board.placed()

    @cached_property
    def table(self) -> pd.DataFrame:
        """The schedule, a row a job in job-id order; the columns of ``schedule.csv``.

        A refused job has no times.
        """
        ran = self.ran

        def times(values: npt.NDArray[np.int64]) -> pd.Series[Any]:
            return pd.Series(values, dtype="Int64").where(pd.Series(ran))

        table = pd.DataFrame(
            {
                "job_id": self.job_id,
                "submit": self.submit,
                "start": times(self.start),
                "end": times(self.end),
                "wait": times(self.wait),
                "size": self.size,
                "requested_time": self.requested_time,
                "run_time": times(self.run_time),
                "how": [HOWS[h].value for h in self.how.tolist()],
                "nodes": [format_ranges(r) for r in self.node_ranges],
            }
        )
        return table.sort_values("job_id", kind="stable", ignore_index=True)

    def placements(self) -> Iterator[Placement]:
        """Where and when each job ran, in queue order."""
        for k, nodes in enumerate(self.node_ranges):
            ran = bool(self.ran[k])
            job = Job(
                int(self.job_id[k]),
                int(self.submit[k]),
                int(self.size[k]),
                int(self.requested_time[k]),
                int(self.end[k] - self.start[k]) if ran else -1,
                int(self.user_id[k]),
            )
            start, end = (int(self.start[k]), int(self.end[k])) if ran else (None, None)
            yield Placement(job, start, end, HOWS[self.how[k]], nodes)

    def csv(self) -> str:
        """The text of ``schedule.csv``."""
        return self.table.to_csv(index=False, lineterminator="\n")

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write ``schedule.csv``, whole or not at all.

        Raises
        ------
        DrasLabError
            If the folder does not exist or cannot be written to.
        """
        write_whole(path, self.csv())
