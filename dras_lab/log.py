"""The log of decisions: small enough to keep for every run, exact enough to replay one.

A record is eleven numbers. What was on offer is not stored but worked out when somebody asks,
from the order in which jobs started and ended; a test holds it against what the policy saw.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .decisions import Board, Decision, IntArray, Policy
from .jobs import Level

OUTCOMES = ("started", "reserved", "planned", "passed", "blocked")
STARTED, WAITS, PLANNED, PASSED, BLOCKED = range(5)

# What a record holds. Rows are -1 for nobody; `moves` is how many starts and ends came before.
FACTS = (
    *("level", "time", "free", "chosen", "row", "outcome"),
    *("reserved", "reserved_start", "extra", "promised", "moves"),
)
_FACTS = len(FACTS)


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision as it was made. Times are seconds, jobs are named by their ids.

    Attributes
    ----------
    level : Level
        The question.
    time, free : int
        When it was asked, and the free nodes then.
    candidates : tuple of int
        The jobs on offer, in queue order.
    chosen : int or None
        Index into `candidates`; None for a pass.
    job_id : int or None
        The job that was chosen.
    outcome : str
        ``"started"``, ``"reserved"`` (it got the reservation), ``"planned"`` (conservative: it
        has a planned start), ``"blocked"`` (no backfilling: it must wait) or ``"passed"``.
    reserved, reserved_start, extra : int or None
        Who held the reservation while this was asked, for when, and the nodes to spare then.
    scores : tuple of float
        What the policy thought of each candidate, where it said so.
    """

    level: Level
    time: int
    free: int
    candidates: tuple[int, ...]
    chosen: int | None
    job_id: int | None
    outcome: str
    reserved: int | None
    reserved_start: int | None
    extra: int | None
    scores: tuple[float, ...]


class DecisionLog:
    """Every choice of a run; ``log[k]`` is the k-th, as a `Choice`.

    Parameters
    ----------
    board : Board
        The public state of the run.
    window : int
        How many jobs a decision offers at most.
    """

    def __init__(self, board: Board, window: int) -> None:
        self._board = board
        self._window = window
        self._facts = array("q")
        # Candidates of conservative backfilling, which nothing else tells, and scores.
        self._rows = array("q")
        self._row_stop = array("q")
        self._scores = array("d")
        self._score_stop = array("q")
        # Conservative backfilling: decisions so far, row, its new plan; row -1: all were dropped.
        self._plans = array("q")
        self._started: IntArray | None = None
        self._seen = 0

    def record(
        self,
        decision: Decision,
        chosen: int | None,
        row: int,
        outcome: int,
        rows: list[int] | None = None,
    ) -> None:
        """Keep one decision, before it is carried out. `rows`: the candidates, to be stored."""
        reserved, start, extra, promised = decision._shadow or (-1, -1, -1, -1)
        self._facts.extend(
            (
                decision.level is Level.BACKFILL,
                decision.time,
                decision.free,
                -1 if chosen is None else int(chosen),
                row,
                outcome,
                reserved,
                start,
                extra,
                promised,
                len(self._board.moves),
            )
        )
        if rows is not None:
            self._rows.extend(rows)
            self._row_stop.append(len(self._rows))
        if decision.scores is not None or self._score_stop:
            self._score_stop.extend([len(self._scores)] * (len(self) - 1 - len(self._score_stop)))
            self._scores.extend(map(float, () if decision.scores is None else decision.scores))
            self._score_stop.append(len(self._scores))

    def replan(self, row: int, start: int) -> None:
        """Keep that a waiting job is now planned for `start`; row -1: no plan holds any more."""
        self._plans.extend((len(self), row, start))

    def __len__(self) -> int:
        return len(self._facts) // _FACTS

    def __repr__(self) -> str:
        return f"DecisionLog({len(self)} decisions)"

    def __iter__(self) -> Iterator[Choice]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Choice:
        if not -len(self) <= k < len(self):
            raise IndexError(f"decision {k} of {len(self)}")
        k %= len(self)
        level, time, free, chosen, row, outcome, reserved, start, extra = self._record(k)[:9]
        job_id = self._board.job_id
        scores = self._slice(self._scores, self._score_stop, k) if self._score_stop else ()
        return Choice(
            level=Level.BACKFILL if level else Level.SELECT,
            time=time,
            free=free,
            candidates=tuple(job_id[r] for r in self.candidate_rows(k)),
            chosen=None if chosen < 0 else chosen,
            job_id=None if row < 0 else job_id[row],
            outcome=OUTCOMES[outcome],
            reserved=None if reserved < 0 else job_id[reserved],
            reserved_start=None if reserved < 0 else start,
            extra=None if reserved < 0 else extra,
            scores=tuple(scores),
        )

    def waiting_rows(self, k: int) -> list[int]:
        """Rows of all jobs that waited when decision `k` was asked, in queue order."""
        board = self._board
        submit, size, _ = board.arrays()
        time, moves = self._record(k)[1], self._record(k)[10]
        there = slice(0, int(np.searchsorted(submit, time, side="right")))
        waits = (self._start_moves()[there] >= moves) & (size[there] <= board.nodes)
        rows: list[int] = waits.nonzero()[0].tolist()
        return rows

    def candidate_rows(self, k: int) -> list[int]:
        """Rows of the jobs on offer at decision `k`, in queue order."""
        if self._row_stop:
            return list(self._slice(self._rows, self._row_stop, k))
        level, time, free, _, _, _, _, start, extra = self._record(k)[:9]
        rows = self.waiting_rows(k)
        if level:
            size, request = self._board.size, self._board.request
            rows = [
                r
                for r in rows
                if size[r] <= free and (time + request[r] <= start or size[r] <= extra)
            ]
        return rows[: self._window]

    def column(self, name: str) -> IntArray:
        """One of `FACTS` for all decisions, shape ``[decisions]``."""
        return np.array(self._facts[FACTS.index(name) :: _FACTS], dtype=np.int64)

    def plans(self, k: int) -> dict[int, int]:
        """Planned start by row when decision `k` was asked (conservative backfilling)."""
        known = np.array(self._plans, dtype=np.int64).reshape(-1, 3)
        known = known[: int(np.searchsorted(known[:, 0], k, side="right"))]
        dropped = (known[:, 1] < 0).nonzero()[0]
        if len(dropped):
            known = known[dropped[-1] + 1 :]
        latest = np.full(len(self._board.job_id), -1, dtype=np.int64)
        latest[known[:, 1]] = known[:, 2]  # of several plans of one row the last stays
        return {row: int(latest[row]) for row in self.waiting_rows(k) if latest[row] >= 0}

    def replayer(self, stop: int | None = None, then: Policy | None = None) -> Policy:
        """A policy that makes the first `stop` choices of this log again, then asks `then`.

        Raises
        ------
        RuntimeError
            (From the policy.) Where the log ends and there is no policy to go on with.
        """
        chosen = self._facts[3::_FACTS][:stop]
        made = 0

        def replay(decision: Decision) -> int | None:
            nonlocal made
            if made < len(chosen):
                made += 1
                return None if chosen[made - 1] < 0 else chosen[made - 1]
            if then is None:
                raise RuntimeError("the log of decisions ends here; give a policy to go on with")
            return then(decision)

        return replay

    def _record(self, k: int) -> array[int]:
        return self._facts[_FACTS * k : _FACTS * (k + 1)]

    def _start_moves(self) -> IntArray:
        """At which move each row started; past all moves for one that has not."""
        if self._started is None or len(self._board.moves) != self._seen:
            moves = np.array(self._board.moves, dtype=np.int64)
            self._seen = len(moves)
            self._started = np.full(len(self._board.job_id), len(moves) + 1, dtype=np.int64)
            self._started[moves[moves >= 0]] = (moves >= 0).nonzero()[0]
        return self._started

    @staticmethod
    def _slice(values: array[int] | array[float], stops: array[int], k: int) -> array:  # type: ignore[type-arg]
        if k >= len(stops):
            return values[:0]
        return values[stops[k - 1] if k else 0 : stops[k]]
