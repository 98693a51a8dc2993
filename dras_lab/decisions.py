"""What a policy is shown when the engine asks it to choose: everything a scheduler can know.

A `Decision` holds no run time and no road to one: the engine keeps those to itself. It is
valid until the choice is made; what should outlive it is in the log of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .board import Board as Board
from .board import IntArray as IntArray
from .board import Jobs as Jobs
from .board import Waiting as Waiting
from .jobs import Level, Reservation, RunningJob


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
    def index(self) -> IntArray:
        """`rows` as an array."""
        if self._index is None:
            self._index = np.array(self.rows, dtype=np.int64)
        return self._index

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
    def waiting(self) -> Waiting:
        """All waiting jobs in queue order as arrays; the one with the reservation among them."""
        self._still_open()
        return Waiting(self._board, self.time)

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

    def holders(self) -> tuple[IntArray, IntArray]:
        """Who holds each node and for how long by plan: `release_times` in two small steps.

        Returns
        -------
        number : array of int, shape ``[nodes]``
            A number for the job that holds each node; 0 for a free node. To be read only, and
            before the next decision: it changes with the machine.
        left : array of int, shape ``[numbers]``
            Seconds until each number is planned to end, at least 1; 0 for number 0. Entries of
            numbers that hold no node mean nothing.
        """
        self._still_open()
        holders = self._board.holders()
        left = np.maximum(holders.end - self.time, 1)
        left[0] = 0
        return holders.number, left

    def releases(self) -> tuple[IntArray, IntArray]:
        """Planned ends of the running jobs, in seconds and ascending, and the nodes they give.

        Both of shape ``[running]``; `running` as arrays.
        """
        self._still_open()
        running = self._board.running()
        ends = np.array([end for end, _ in running], dtype=np.int64)
        rows = np.array([row for _, row in running], dtype=np.int64)
        return np.maximum(ends, self.time + 1), self._board.arrays()[1].take(rows)

    def why_not(self, said: Callable[[int], str] = "at {} s".format) -> dict[int, str]:
        """Why each waiting job that is not a candidate is not one, in words, by job id.

        `said` puts a time of the log, in seconds, into words: "at 80 s", "30 min from now".
        """
        self._still_open()
        board, chosen = self._board, set(self.rows)
        rows = (row for row in board.queue() if row not in chosen)
        return {board.job_id[row]: self._reason(row, said) for row in rows}

    def _take(self, column: int) -> IntArray:
        return self._board.arrays()[column].take(self.index)

    def _reason(self, row: int, said: Callable[[int], str]) -> str:
        board, beyond = self._board, "it is beyond the window"
        if self._shadow is None:
            if row in board.plan:
                return f"it is planned to start {said(board.plan[row])}"
            return beyond
        reserved, shadow, extra, _ = self._shadow
        size, end = board.size[row], self.time + board.request[row]
        if row == reserved:
            return f"it holds the reservation, and is planned to start {said(shadow)}"
        if size > self.free:
            return f"it needs {size} nodes and {self.free} are free"
        if end > shadow and size > extra:
            return (
                f"it could run until {said(end).removeprefix('at ')}, past the reserved start "
                f"{said(shadow)}, "
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
