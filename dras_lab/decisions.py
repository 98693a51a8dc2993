"""What a policy is shown when the engine asks it to choose: everything a scheduler can know.

A `Decision` holds no run time and no road to one: the engine keeps those to itself. It is
valid until the choice is made; what should outlive it is in the log of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from .cluster import NodeMap, Ranges
from .jobs import Level, Reservation, RunningJob, WaitingJob

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
        self._arrays: tuple[IntArray, ...] | None = None
        self.current: Decision | None = None

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
        for move in self.moves[self._moved :]:
            if move >= 0:
                self._held[move] = self._placed[move] = self._map.take(self.size[move])
            else:
                self._map.give(self._held.pop(~move))
        self._moved = len(self.moves)
        return self._held

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


class Decision:
    """One question to a policy: which of these jobs is it to be.

    The answer is an index into `candidates`, or None to pass.

    Attributes
    ----------
    level : Level
        ``"select"`` (which job of the window is next; one that does not fit gets the
        reservation) or ``"backfill"`` (which job fills the hole before the reservation).
    time : int
        Now, in seconds.
    free : int
        Free nodes.
    scores : sequence of float or None
        A policy that ranks may leave its scores or probabilities here, one a candidate; they
        go to the log.
    """

    __slots__ = (
        "_board",
        "_index",
        "_look",
        "_rows",
        "_shadow",
        "_where",
        "free",
        "level",
        "scores",
        "time",
    )

    def __init__(
        self,
        board: Board,
        level: Level,
        time: int,
        free: int,
        look: Callable[..., list[int]],
        where: tuple[int, ...],
        shadow: tuple[int, int, int, int] | None = None,
    ) -> None:
        self._board = board
        self.level = level
        self.time = time
        self.free = free
        self._look, self._where = look, where  # how to list the candidates, if somebody looks
        self._rows: tuple[int, ...] | None = None
        self._index: IntArray | None = None
        self._shadow = shadow  # reserved row, planned start, extra nodes, start first promised
        self.scores: Sequence[float] | None = None

    @property
    def rows(self) -> tuple[int, ...]:
        """Positions of the candidates in the trace."""
        if self._rows is None:
            self._still_open()
            self._rows = tuple(self._look(*self._where))
        return self._rows

    @property
    def candidates(self) -> Jobs:
        """The jobs to choose from, in queue order, at most a window of them."""
        return Jobs(self._board, self.rows)

    @property
    def queue(self) -> Jobs:
        """All waiting jobs in queue order, the one with the reservation among them."""
        self._still_open()
        return Jobs(self._board, self._board.queue())

    @property
    def submit_times(self) -> IntArray:
        """Submit time of each candidate, in seconds."""
        return self._take(0)

    @property
    def sizes(self) -> IntArray:
        """Nodes each candidate asks for."""
        return self._take(1)

    @property
    def requested_times(self) -> IntArray:
        """Requested time of each candidate, in seconds."""
        return self._take(2)

    @property
    def queued_times(self) -> IntArray:
        """How long each candidate has waited so far, in seconds."""
        return self.time - self.submit_times

    @property
    def origin(self) -> int:
        """The first submission of the trace, in seconds: where scores that use time count from."""
        return self._board.submit[0]

    @property
    def nodes(self) -> int:
        """Size of the machine."""
        return self._board.nodes

    @property
    def reservation(self) -> Reservation | None:
        """The standing reservation, if there is one."""
        if self._shadow is None:
            return None
        row, start, extra, promised = self._shadow
        return Reservation(self._board.waiting_job(row), start, extra, promised)

    @property
    def running(self) -> list[RunningJob]:
        """Running jobs by planned end."""
        self._still_open()
        board = self._board
        return [
            RunningJob(
                board.job_id[row], board.size[row], board.start[row], max(end, self.time + 1)
            )
            for end, row in board.running()
        ]

    def release_times(self) -> IntArray:
        """When each node is planned to be free, in seconds, shape ``[nodes]``; now if it is."""
        self._still_open()
        board = self._board
        times = np.full(board.nodes, self.time, dtype=np.int64)
        held = board.held()
        for end, row in board.running():
            for first, last in held[row]:
                times[first:last] = max(end, self.time + 1)
        return times

    def why_not(self) -> dict[int, str]:
        """Why each waiting job that is not a candidate is not one, in words, by job id."""
        self._still_open()
        board, chosen = self._board, set(self.rows)
        return {board.job_id[row]: self._reason(row) for row in board.queue() if row not in chosen}

    def _take(self, column: int) -> IntArray:
        if self._index is None:
            self._index = np.array(self.rows, dtype=np.int64)
        return self._board.arrays()[column].take(self._index)

    def _reason(self, row: int) -> str:
        board, beyond = self._board, "it is beyond the window"
        if self._shadow is None:
            if row in board.plan:
                return f"it is planned to start at {board.plan[row]} s"
            return beyond
        reserved, shadow, extra, _ = self._shadow
        size, end = board.size[row], self.time + board.request[row]
        if row == reserved:
            return f"it holds the reservation, and is planned to start at {shadow} s"
        if size > self.free:
            return f"it needs {size} nodes and {self.free} are free"
        if end > shadow and size > extra:
            return (
                f"it could run until {end} s, past the reserved start at {shadow} s, "
                f"and needs {size} nodes where {extra} can be spared"
            )
        return beyond

    def _still_open(self) -> None:
        if self._board.current is not self:
            raise RuntimeError(
                "this decision has been made, and the state has moved on; "
                "read the log of decisions (result.log) instead"
            )

    def __repr__(self) -> str:
        return f"Decision({self.level.value}, time={self.time}, free={self.free})"


Policy = Callable[[Decision], int | None]
