"""A finished run as it was at each decision: forwards, backwards, and without running again.

`Replay` makes the very `Decision` that the policy was shown, from the log: so any policy can
be asked what it would have done, and every question a decision answers is answered here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from .board import Board, IntArray
from .cluster import Holders, Ranges, earliest_start
from .decisions import Decision, Policy
from .jobs import DrasLabError, Level
from .log import OUTCOMES, Choice, DecisionLog
from .results import Result

RESERVED = OUTCOMES.index("reserved")
PLANNED = OUTCOMES.index("planned")
NO_LOG = (
    "this result has no log of decisions to step through; "
    "run it again with simulate(trace, policy, log=True)"
)


def log_of(result: Result) -> DecisionLog:
    """The result's log of decisions.

    Raises
    ------
    DrasLabError
        If it was run without one, or is no result.
    """
    if not isinstance(result, Result):
        raise DrasLabError(
            f"a {type(result).__name__} is no result to step through; "
            "give what simulate(trace, policy) returns"
        )
    if result.log is None:
        raise DrasLabError(NO_LOG)
    return result.log


class Past(Board):
    """The board as it was at one decision. It shares the columns of the finished run's board.

    Parameters
    ----------
    board : Board
        The finished run's.
    moves : int
        How many starts and ends there had been.
    waiting : list of int
        Rows that waited, in queue order.
    running : list of int
        Rows that ran, by planned end.
    placed : list of Ranges
        Nodes of every row of the run.
    plan : dict
        Planned start by row (conservative backfilling).
    """

    def __init__(
        self,
        board: Board,
        moves: int,
        waiting: list[int],
        running: list[int],
        placed: list[Ranges],
        plan: dict[int, int],
    ) -> None:
        # Not the parent's __init__: it would make new columns for all jobs at every step.
        self.nodes, self.bits, self.plan = board.nodes, board.bits, plan
        self.job_id, self.submit, self.size = board.job_id, board.submit, board.size
        self.request, self.user, self.start = board.request, board.user, board.start
        self._columns = board.arrays()
        self.moves = board.moves[:moves]
        self._waiting, self._running = waiting, running
        self._placed = placed
        self._holders = None
        start, request, bits = board.start, board.request, board.bits
        self.ends = [(start[row] + request[row]) << bits | row for row in running]
        self.widths = [board.size[row] for row in running]
        self.current = None

    def queue(self, limit: int | None = None) -> list[int]:
        """Rows of the first `limit` waiting jobs (all for None), in queue order."""
        return self._waiting[:limit]

    def held(self) -> dict[int, Ranges]:
        """Nodes of each running job, by row."""
        return {row: self._placed[row] for row in self._running}

    def placed(self) -> list[Ranges]:
        """Nodes of every job that has started by then, by row."""
        running = set(self._running)
        return [ranges if row in running else () for row, ranges in enumerate(self._placed)]

    def holders(self) -> Holders:
        """Who holds each node."""
        if self._holders is None:
            self._holders = Holders(self.nodes)
            for row, ranges in self.held().items():
                self._holders.take(ranges, self.start[row] + self.request[row])
        return self._holders

    def arrays(self) -> tuple[IntArray, ...]:
        """submit, size and request as arrays."""
        return self._columns

    def waiting_rows(self, now: int) -> IntArray:
        """Rows of all waiting jobs in queue order, as an array."""
        return np.array(self._waiting, dtype=np.int64)


class Replay:
    """The decisions of a finished run; ``replay[k]`` is the k-th as the policy was shown it.

    Going to a decision costs a few passes over arrays of the jobs, whichever one it is and
    wherever one comes from.

    Parameters
    ----------
    result : Result
        Run with its log of decisions.

    Raises
    ------
    DrasLabError
        If the result has no log.

    Examples
    --------
    >>> from dras_lab import make_policy, read_swf, simulate
    >>> replay = Replay(simulate(read_swf("lublin-256").head(100), make_policy("fcfs")))
    >>> replay[50].time == replay.choice(50).time
    True
    """

    def __init__(self, result: Result) -> None:
        self.log = log_of(result)
        self.result = result
        assert result._board is not None
        self._board = result._board
        moves = np.array(self._board.moves, dtype=np.int64)
        # At which move each row began and ended; past all of them for one that never did.
        self._began = np.full(len(result), len(moves) + 1, dtype=np.int64)
        self._ended = self._began.copy()
        starts = moves >= 0
        self._began[moves[starts]] = starts.nonzero()[0]
        self._ended[~moves[~starts]] = (~starts).nonzero()[0]
        self._moves = self.log.column("moves")
        self.times = self.log.column("time")
        self._chosen = self.log.column("row")
        self._outcome = self.log.column("outcome")
        self._reserved = self.log.column("reserved")
        self._promised = self.log.column("promised")
        self._seen: tuple[int, Choice, list[int]] | None = None

    def __len__(self) -> int:
        return len(self.log)

    def __repr__(self) -> str:
        return f"Replay({len(self)} decisions of {self.result!r})"

    def choice(self, k: int) -> Choice:
        """What was decided at decision `k`, and what came of it."""
        return self._look_at(k)[0]

    def waiting_rows(self, k: int) -> list[int]:
        """Rows of all jobs that waited when decision `k` was asked, in queue order."""
        return self._look_at(k)[1]

    def _look_at(self, k: int) -> tuple[Choice, list[int]]:
        """A decision's choice and queue; the last that was looked at is remembered."""
        if self._seen is None or self._seen[0] != k:
            self._seen = (k, self.log[k], self.log.waiting_rows(k % len(self)))
        return self._seen[1:]

    def __getitem__(self, k: int) -> Decision:
        choice, waiting = self._look_at(k)
        k %= len(self)
        shadow = None
        if choice.reserved is not None:
            assert choice.reserved_start is not None
            assert choice.extra is not None
            promised = int(self._promised[k])
            shadow = (int(self._reserved[k]), choice.reserved_start, choice.extra, promised)
        past = Past(
            self._board,
            int(self._moves[k]),
            waiting,
            self.running_rows(k),
            self._placed,
            self.log.plans(k),
        )
        decision = Decision(
            past,
            choice.level,
            choice.time,
            choice.free,
            lambda: self.log.candidate_rows(k),
            (),
            shadow,
        )
        past.current = decision
        return decision

    @cached_property
    def _placed(self) -> list[Ranges]:
        return self.result.node_ranges

    def running_rows(self, k: int) -> list[int]:
        """Rows of the running jobs when decision `k` was asked, by planned end."""
        moves = self._moves[k]
        rows = ((self._began < moves) & (self._ended >= moves)).nonzero()[0]
        planned = self.result.start[rows] + self.result.requested_time[rows]
        order: list[int] = rows[np.lexsort((rows, planned))].tolist()
        return order

    def planned_start(self, k: int) -> tuple[int, int] | None:
        """When the reserved job is to start and the nodes to spare then, after choice `k`.

        The standing reservation's where decision `k` fills a hole before it; that of the job
        which decision `k` gave the reservation; None where there is none.
        """
        choice = self.choice(k)
        if choice.reserved_start is not None and choice.extra is not None:
            return choice.reserved_start, choice.extra
        if choice.outcome != OUTCOMES[RESERVED]:
            return None
        board = self[k]._board
        need = board.size[int(self._chosen[k])]
        return earliest_start(need, choice.free, choice.time, board.ends, board.widths, board.bits)

    # -- what others would have done --------------------------------------------------------

    def picks(self, k: int, policies: Mapping[str, Policy]) -> dict[str, int | None]:
        """Which job each policy would have chosen at decision `k`, by id; None for a pass.

        Each is asked afresh, with no memory of the run: a policy that draws random numbers or
        learns answers from the state that it is in.
        """
        found: dict[str, int | None] = {}
        for name, policy in policies.items():
            decision = self[k]
            index = policy(decision)
            found[name] = None if index is None else decision.candidates[index].job_id
        return found

    # -- finding one's way ------------------------------------------------------------------

    def of_job(self, job_id: int) -> int:
        """The decision that concerns a job most: the last that chose it.

        A job that no decision chose (one started by a plan, or refused) is shown at the last
        decision not after its start, or its submission.

        Raises
        ------
        DrasLabError
            If the run has no such job, or no decisions.
        """
        rows = (self.result.job_id == job_id).nonzero()[0]
        if not len(rows):
            raise DrasLabError(f"there is no job {job_id} in this run")
        if not len(self):
            raise DrasLabError("there is no decision in this run")
        row = int(rows[0])
        chosen = (self._chosen == row).nonzero()[0]
        if len(chosen):
            return int(chosen[-1])
        when = max(int(self.result.start[row]), int(self.result.submit[row]))
        return max(int(np.searchsorted(self.times, when, side="right")) - 1, 0)

    def next_reservation(self, k: int) -> int | None:
        """The first decision after `k` that made a reservation (or a plan); None for none."""
        later = np.isin(self._outcome[k + 1 :], (RESERVED, PLANNED)).nonzero()[0]
        return k + 1 + int(later[0]) if len(later) else None

    def longest_wait(self) -> int:
        """The decision about the job that waited longest (the first of several)."""
        if not len(self.result):
            raise DrasLabError("there is no decision in this run")
        return self.of_job(int(self.result.job_id[int(self.result.wait.argmax())]))

    def at_level(self, level: Level) -> IntArray:
        """The decisions of one level, ascending."""
        wanted = int(level is Level.BACKFILL)
        return np.asarray((self.log.column("level") == wanted).nonzero()[0], dtype=np.int64)
