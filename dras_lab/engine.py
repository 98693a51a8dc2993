"""The clock and the queue: what happens between decisions, whoever makes them.

The order is total: time, then completions before submissions, then submit time and job id.
Two runs of the same inputs are the same, whatever hash seed Python runs with.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
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
        self.kill = kill
        self.duration: list[int] = run_time.tolist()  # seconds each job will hold its nodes
        self.how = [REFUSED] * len(table)
        self.log = DecisionLog(board, self.window) if log else None
        self.now = board.submit[0] if board.submit else 0
        self.free = nodes
        self.tail = 0  # rows before it have been submitted
        self.ended = 0  # jobs that have ended or been refused
        self.freed = False  # whether any job ended this instant
        self.early: list[int] = []  # rows that ended before their planned end, this instant
        # Events are numbers, time << bits | row: in order of time, then of the queue.
        self._bits = bits = board.bits
        self._submissions = [t << bits | row for row, t in enumerate(board.submit)]
        self._submissions.append(_NEVER)
        self._completions = [_NEVER]  # a heap

    def advance(self, wake: int = _NEVER) -> bool:
        """Go to the next instant (at the latest `wake`) and let everything happen that happens.

        All completions first, then all submissions. False when nothing is left to happen.
        """
        tail, heap, submissions, bits = self.tail, self._completions, self._submissions, self._bits
        event = heap[0]
        if submissions[tail] < event:
            event = submissions[tail]
        if event == _NEVER:
            if wake == _NEVER:
                return False
            now = wake
        else:
            now = event >> bits
            if wake < now:
                now = wake
        self.now = now
        after = (now + 1) << bits  # events before it are of this instant

        self.freed = heap[0] < after
        if self.freed:
            board, early, mask = self.board, self.early, (1 << bits) - 1
            ends, widths = board.ends, board.widths
            start, request = board.start, board.request
            early.clear()
            while heap[0] < after:
                row = heappop(heap) & mask
                planned = start[row] + request[row]
                k = bisect_left(ends, planned << bits | row)
                del ends[k], widths[k]
                board.moves.append(~row)
                self.free += board.size[row]
                self.ended += 1
                if planned > now:
                    early.append(row)

        while submissions[tail] < after:
            self._enqueue(tail)
            tail += 1
        self.tail = tail
        return True

    def skip_misfits(self, shadow: int, extra: int) -> bool:
        """Queue the submissions before the next completion that do not fit a hole.

        With a reservation standing and nothing in the queue that fits the hole before it,
        nobody has anything to decide at such a submission.

        Parameters
        ----------
        shadow, extra : int
            The reserved start, in seconds, and the nodes that can be spared for longer.

        Returns
        -------
        bool
            Whether there were any.
        """
        board, free, submissions = self.board, self.free, self._submissions
        tail, completion = self.tail, self._completions[0] >> self._bits << self._bits
        while submissions[tail] < completion:
            width = board.size[tail]
            if width <= free and (
                board.submit[tail] + board.request[tail] <= shadow or width <= extra
            ):
                break
            self._enqueue(tail)
            tail += 1
        any_came = tail > self.tail
        self.tail = tail
        return any_came

    def _enqueue(self, row: int) -> None:
        """A job is submitted: to the end of the queue, or refused."""
        board = self.board
        if board.size[row] > self.nodes:
            self.ended += 1  # `how` says that it is refused from the beginning
        else:
            following, before = board.next, board.last
            end = len(before) - 1
            last = before[end]
            following[last] = before[end] = row
            before[row], following[row] = last, end

    def begin(self, row: int, how: int) -> None:
        """Start a job now."""
        board, now = self.board, self.now
        following, before = board.next, board.last
        left, right = before[row], following[row]
        following[left], before[right] = right, left
        board.start[row] = now
        self.how[row] = how
        self.free -= board.size[row]
        bits = self._bits
        heappush(self._completions, (now + self.duration[row]) << bits | row)
        end = (now + board.request[row]) << bits | row
        k = bisect_left(board.ends, end)
        board.ends.insert(k, end)
        board.widths.insert(k, board.size[row])
        board.moves.append(row)

    def check_nothing_waits(self) -> None:
        """At the end of a run: a job that still waits was passed over for ever."""
        self.board.current = None
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
        k = -1 if isinstance(choice, bool) else operator.index(choice)
    except TypeError:
        k = -1
    if not 0 <= k < len(rows):
        raise DrasLabError(
            f"the policy answered {choice!r} where there are {len(rows)} candidates; "
            "answer with an index into decision.candidates, or None to pass"
        )
    return rows[k]
