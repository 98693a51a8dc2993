"""The clock and the queue: what happens between decisions, whoever makes them.

The order is total: time, then completions before submissions, then submit time and job id.
Two runs of the same inputs are the same, whatever hash seed Python runs with.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Generator
from heapq import heappop, heappush

from .decisions import Board, Decision
from .jobs import DrasLabError
from .log import DecisionLog
from .results import REFUSED
from .traces import Trace

_NEVER = 1 << 100  # later than any event

Steps = Generator[Decision, "int | None", None]


class Engine:
    """The state of a run. The run times live here, where no policy can see them.

    Parameters
    ----------
    trace : Trace
        The jobs.
    nodes : int
        Size of the machine.
    window : int or None
        How many jobs a decision offers at most.
    kill : bool
        Whether a job ends at its requested time.
    log : bool
        Whether to keep a log of decisions.
    """

    def __init__(self, trace: Trace, nodes: int, window: int | None, kill: bool, log: bool) -> None:
        table = trace.table
        self.nodes = nodes
        self.window = max(len(table), 1) if window is None else window
        self.board = board = Board(
            nodes,
            table["job_id"].tolist(),
            table["submit_time"].tolist(),
            table["size"].tolist(),
            table["requested_time"].tolist(),
            table["user_id"].tolist(),
        )
        run_time = table["run_time"]
        if kill:
            run_time = run_time.clip(upper=table["requested_time"])
        self.duration: list[int] = run_time.tolist()  # seconds each job will hold its nodes
        self.how = [REFUSED] * len(table)
        self.log = DecisionLog(board, self.window) if log else None
        self.now = board.submit[0] if board.submit else 0
        self.free = nodes
        self.tail = 0  # rows before it have been submitted
        self.ended = 0  # jobs that have ended or been refused
        self.freed = False  # whether any job ended this instant
        self.early: list[int] = []  # rows that ended before their planned end, this instant
        # Events are numbers, time * jobs + row: in order of time, then of the queue.
        self._jobs = jobs = len(table)
        self._submissions = [t * jobs + row for row, t in enumerate(board.submit)]
        self._submissions.append(_NEVER)
        self._completions = [_NEVER]  # a heap

    def advance(self, wake: int = _NEVER) -> bool:
        """Go to the next instant (at the latest `wake`) and let everything happen that happens.

        All completions first, then all submissions. False when nothing is left to happen.
        """
        jobs, tail, heap = self._jobs, self.tail, self._completions
        submissions = self._submissions
        event = heap[0]
        if submissions[tail] < event:
            event = submissions[tail]
        if event == _NEVER:
            if wake == _NEVER:
                return False
            now = wake
        else:
            now = event // jobs
            if wake < now:
                now = wake
        self.now = now
        after = (now + 1) * jobs  # events before it are of this instant

        self.freed = heap[0] < after
        if self.freed:
            board, early = self.board, self.early
            ends, running, start, request = board.ends, board.running, board.start, board.request
            early.clear()
            while heap[0] < after:
                row = heappop(heap) % jobs
                planned = start[row] + request[row]
                k = bisect_left(ends, planned)
                while running[k] != row:
                    k += 1
                del ends[k], running[k]
                board.moves.append(~row)
                self.free += board.size[row]
                self.ended += 1
                if planned > now:
                    early.append(row)

        if submissions[tail] < after:
            following, before, size = self.board.next, self.board.last, self.board.size
            while submissions[tail] < after:
                if size[tail] > self.nodes:
                    self.ended += 1  # refused: `how` says so from the beginning
                else:
                    last = before[jobs]
                    following[last] = before[jobs] = tail
                    before[tail], following[tail] = last, jobs
                tail += 1
            self.tail = tail
        return True

    def begin(self, row: int, how: int) -> None:
        """Start a job now."""
        board, now = self.board, self.now
        following, before = board.next, board.last
        left, right = before[row], following[row]
        following[left], before[right] = right, left
        board.start[row] = now
        self.how[row] = how
        self.free -= board.size[row]
        heappush(self._completions, (now + self.duration[row]) * self._jobs + row)
        planned = now + board.request[row]
        k = bisect_right(board.ends, planned)
        board.ends.insert(k, planned)
        board.running.insert(k, row)
        board.moves.append(row)

    def check_nothing_waits(self) -> None:
        """At the end of a run: a job that still waits was passed over for ever."""
        waiting = self.board.queue()
        if waiting:
            raise DrasLabError(
                f"the policy passed on all {len(waiting)} waiting jobs at {self.now} s and "
                "nothing is left to happen; a policy must choose a job sooner or later"
            )


def picked(decision: Decision, choice: int) -> int:
    """The row a policy picked.

    Raises
    ------
    DrasLabError
        If the answer is not an index into the candidates.
    """
    rows = decision.rows
    try:
        k = operator.index(choice)
    except TypeError:
        k = -1
    if not 0 <= k < len(rows):
        raise DrasLabError(
            f"the policy answered {choice!r} where there are {len(rows)} candidates; "
            "answer with an index into decision.candidates, or None to pass"
        )
    return rows[k]
