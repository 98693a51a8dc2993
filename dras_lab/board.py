"""The public state of a simulation: the queue, who runs where, all that a scheduler can know.

There is no run time here, and no road to one: the engine keeps those to itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from .cluster import Holders, NodeMap, Ranges
from .jobs import WaitingJob

IntArray = npt.NDArray[np.int64]


class Board:
    """The public state of a simulation, shared by all its decisions; rows are jobs in queue order.

    Lists and not arrays where the engine reads one number at a time: that is what is fast.
    """

    def __init__(
        self,
        nodes: int,
        job_id: list[int],
        submit: list[int],
        size: list[int],
        request: list[int],
        user: list[int],
    ) -> None:
        n = len(job_id)
        self.nodes = nodes
        self.job_id, self.submit, self.size, self.request, self.user = (
            job_id,
            submit,
            size,
            request,
            user,
        )
        self.start = [-1] * n  # -1 until the job has started
        # The queue is a ring of rows linked both ways; row n is where it begins and ends.
        self.next = [n] * (n + 1)
        self.last = [n] * (n + 1)
        # Running jobs by planned end, ascending: end << bits | row; and their nodes.
        self.ends: list[int] = []
        self.widths: list[int] = []
        self.bits = max(n.bit_length(), 1)
        self.plan: dict[int, int] = {}  # conservative backfilling: row -> planned start
        # Starts (row) and ends (~row) in the order they happened: who holds which nodes is
        # worked out from it when somebody asks, since no choice of the engine depends on it.
        self.moves: list[int] = []
        self._moved = 0
        self._map = NodeMap(nodes)
        self._held: dict[int, Ranges] = {}
        self._placed: list[Ranges] = [()] * n
        self._holders: Holders | None = None  # kept from when somebody first asks
        self._arrays: tuple[IntArray, ...] | None = None
        self._waits: npt.NDArray[np.bool_] | None = None  # which rows wait; the same
        self._arrived = 0  # rows and moves that `_waits` knows of
        self._left = 0
        self.current: object = None  # the decision that has not been made yet

    def queue(self, limit: int | None = None) -> list[int]:
        """Rows of the first `limit` waiting jobs (all for None), in queue order."""
        following, end = self.next, len(self.job_id)
        rows: list[int] = []
        row = following[end]
        if limit is None:
            limit = end
        while row != end and len(rows) < limit:
            rows.append(row)
            row = following[row]
        return rows

    def running(self) -> list[tuple[int, int]]:
        """Planned end and row of each running job, by planned end."""
        mask = (1 << self.bits) - 1
        return [(end >> self.bits, end & mask) for end in self.ends]

    def outlived(self, now: int) -> bool:
        """Whether a running job is past its requested time."""
        return bool(self.ends) and self.ends[0] >> self.bits <= now

    def held(self) -> dict[int, Ranges]:
        """Nodes of each running job, by row."""
        holders = self._holders
        for move in self.moves[self._moved :]:
            if move >= 0:
                ranges = self._held[move] = self._placed[move] = self._map.take(self.size[move])
                if holders is not None:
                    holders.take(ranges, self.start[move] + self.request[move])
            else:
                ranges = self._held.pop(~move)
                self._map.give(ranges)
                if holders is not None:
                    holders.give(ranges)
        self._moved = len(self.moves)
        return self._held

    def holders(self) -> Holders:
        """Who holds each node; brought up to date at each call."""
        held = self.held()
        if self._holders is None:
            self._holders = Holders(self.nodes)
            for row, ranges in held.items():
                self._holders.take(ranges, self.start[row] + self.request[row])
        return self._holders

    def placed(self) -> list[Ranges]:
        """Nodes of every job so far, by row; empty for one that has not started."""
        self.held()
        return self._placed

    def arrays(self) -> tuple[IntArray, ...]:
        """submit, size and request as arrays, made once."""
        if self._arrays is None:
            self._arrays = tuple(
                np.array(column, dtype=np.int64)
                for column in (self.submit, self.size, self.request)
            )
        return self._arrays

    def waiting_rows(self, now: int) -> IntArray:
        """Rows of all waiting jobs in queue order: `queue` as an array, brought up to date."""
        sizes = self.arrays()[1]
        if self._waits is None:
            self._waits = np.zeros(len(sizes), dtype=np.bool_)
        tail = bisect_right(self.submit, now, self._arrived)
        fresh = slice(self._arrived, tail)
        self._waits[fresh] = sizes[fresh] <= self.nodes  # wider jobs have been refused
        for move in self.moves[self._left :]:
            if move >= 0:
                self._waits[move] = False
        self._arrived, self._left = tail, len(self.moves)
        head = self.next[-1]
        return self._waits[head:tail].nonzero()[0] + head

    def waiting_job(self, row: int) -> WaitingJob:
        """The scheduler's view of one job."""
        return WaitingJob(
            self.job_id[row],
            self.submit[row],
            self.size[row],
            self.request[row],
            self.user[row],
        )


class Jobs(Sequence[WaitingJob]):
    """Waiting jobs in queue order, made into objects only as far as somebody looks."""

    __slots__ = ("_board", "_rows")

    def __init__(self, board: Board, rows: Sequence[int]) -> None:
        self._board = board
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> WaitingJob: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[WaitingJob]: ...
    def __getitem__(self, index: int | slice) -> WaitingJob | Sequence[WaitingJob]:
        if isinstance(index, slice):
            return Jobs(self._board, self._rows[index])
        return self._board.waiting_job(self._rows[index])

    def __iter__(self) -> Iterator[WaitingJob]:
        return map(self._board.waiting_job, self._rows)

    def __repr__(self) -> str:
        return f"Jobs({[self._board.job_id[row] for row in self._rows]})"


class Waiting:
    """All waiting jobs in queue order, as arrays of shape ``[queue]``."""

    __slots__ = ("_board", "_time", "rows")

    def __init__(self, board: Board, time: int) -> None:
        self._board, self._time = board, time
        self.rows = board.waiting_rows(time)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def queued_times(self) -> IntArray:
        """How long each has waited so far, in seconds."""
        return self._time - self._board.arrays()[0].take(self.rows)

    @property
    def sizes(self) -> IntArray:
        """Nodes each asks for."""
        return self._board.arrays()[1].take(self.rows)

    @property
    def requested_times(self) -> IntArray:
        """Requested time of each, in seconds."""
        return self._board.arrays()[2].take(self.rows)
