"""Each job by a few numbers, and the machine by a few more: for scorers of single jobs (ours)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate
from struct import pack_into

import numpy as np

from .board import Board
from .decisions import Decision
from .jobs import DrasLabError, Level
from .scaling import DAY, LN_DAY, LONGEST, Floats, scale_times


class Features:
    """Describes each job by a few numbers, and the machine by a few more (ours).

    For networks that score each job of the window alike. All are pure numbers of about the
    size of 1 on any machine, so that what was learnt on one can be tried on another. Like an
    encoder, this keeps what it knows of a run from one decision to the next.

    Parameters
    ----------
    nodes, window : int
        N and W, as for `Encoder`.

    Attributes
    ----------
    job_names : tuple of str
        The F features of a job: ``ln(size) / ln(N + 1)``; ``ln(requested time)`` as
        `scale_times` has it; its share of the machine; days queued (beyond 30 as 30), their
        square, and the share of the window's longest queued time; whether it fits the free
        nodes; the share of the free nodes that it would take, 1 if it does not fit; and how
        long, by plan, until enough nodes are free for it, as `scale_times` has it, 0 if there
        are.
    machine_names : tuple of str
        The G features of the machine: whether holes are being filled; the share of nodes that
        is free; ``ln(1 + waiting jobs) / ln(1 + W)``; the window's longest queued time in
        days (at most 30); ``ln(1 + days of the whole machine that waiting jobs ask for)``;
        time to the reserved start as `scale_times` has it, and the share of nodes that the
        reservation can spare, both 0 without a reservation.
    job_high, machine_high : array of float32, shapes ``[F]`` and ``[G]``
        No feature is greater; none is smaller than 0.
    """

    job_names = (
        "ln_size",
        "ln_request",
        "share_of_machine",
        "queued_days",
        "queued_days_squared",
        "queued_share",
        "fits",
        "share_of_free",
        "until_free",
    )
    machine_names = (
        "backfilling",
        "free_share",
        "ln_waiting",
        "longest_queued_days",
        "ln_waiting_work",
        "until_reserved",
        "spare_share",
    )
    longest_days = 30.0
    most_waiting = 10**9  # jobs, and days of the whole machine; more counts as this

    def __init__(self, nodes: int, window: int = 50) -> None:
        if nodes < 1 or window < 1:
            raise DrasLabError(f"nodes and window must be at least 1, not {nodes} and {window}")
        self.nodes, self.window = nodes, window
        count, longest = len(self.job_names), self.longest_days
        time = float(scale_times(LONGEST))
        most = math.log1p(self.most_waiting)
        self._ln_window = math.log1p(window)
        self.job_high = np.array([1, time, 1, longest, longest**2, 1, 1, 1, time], np.float32)
        self.machine_high = np.array(
            [1, 1, most / self._ln_window, longest, most, time, 1], np.float32
        )
        self._split = window * count  # where in the vector the machine begins
        self.size = self._split + len(self.machine_names)
        self._machine = f"{len(self.machine_names)}f"
        self._board: Board | None = None  # the run that what follows is about
        self._known: list[tuple[float, float, float, int, int]]  # of every job what stays
        self._submitted = self._moved = 0  # rows and moves that the next two know of
        self._waiting = self._area = 0  # jobs that wait, and the node seconds they ask for

    def __call__(self, decision: Decision) -> tuple[Floats, Floats]:
        """The features, shapes ``[W, F]`` and ``[G]``; rows beyond the candidates are zero."""
        vector, split = self.vector(decision), self._split
        return vector[:split].reshape(self.window, -1), vector[split:]

    def vector(self, decision: Decision) -> Floats:
        """The same as one vector, shape ``[W F + G]``: job after job, then the machine."""
        board = self._follow(decision)
        now, free, rows = decision.time, decision.free, decision.rows
        known = self._known
        longest = now - board.submit[rows[0]]  # the queue is in order of submission
        per_day, per_longest, per_free = 1 / DAY, 1 / max(longest, 1), 1 / max(free, 1)
        most = self.longest_days
        # Plain Python: for the few jobs of a window, arrays cost more than sums.
        jobs: list[float] = []
        given: list[int] = []  # free nodes after each planned end
        for row in rows:
            ln_n, ln_r, part, submitted, width = known[row]
            queued = now - submitted
            days = queued * per_day
            if days > most:
                days = most
            fits, of_free, until = 1.0, width * per_free, 0.0
            if width > free:
                given = given or list(accumulate(board.widths, initial=free))
                end = board.ends[bisect_left(given, width) - 1] >> board.bits
                fits, of_free, until = 0.0, 1.0, _scaled(max(end - now, 1))
            jobs += (ln_n, ln_r, part, days, days * days)
            jobs += (queued * per_longest, fits, of_free, until)
        vector = np.zeros(self.size, dtype=np.float32)
        pack_into(f"{len(jobs)}f", vector.data, 0, *jobs)

        until_reserved = spare = 0.0
        if decision._shadow is not None:
            _, start, extra, _ = decision._shadow
            until_reserved = _scaled(start - now)
            spare = extra / self.nodes
        work = self._area / (self.nodes * DAY)
        pack_into(
            self._machine,
            vector.data,
            4 * self._split,
            decision.level is Level.BACKFILL,
            free / self.nodes,
            math.log1p(min(self._waiting, self.most_waiting)) / self._ln_window,
            min(longest / DAY, self.longest_days),
            math.log1p(min(work, self.most_waiting)),
            until_reserved,
            spare,
        )
        return vector

    def _follow(self, decision: Decision) -> Board:
        """Get to know the decision's run, and refuse one of another machine or window."""
        board = decision._board
        if board is not self._board:
            check_machine(decision, self.nodes)
            _, size, request = board.arrays()
            ln_size = np.log(size) / math.log(self.nodes + 1)
            lists = [x.tolist() for x in (ln_size, scale_times(request), size / self.nodes)]
            self._known = list(zip(*lists, board.submit, board.size, strict=True))
            self._submitted = self._moved = self._waiting = self._area = 0
            self._board = board
        decision._still_open()  # what waits is followed move by move
        check_window(decision, self.window)
        size_of, request_of, submit_of = board.size, board.request, board.submit
        tail = bisect_right(submit_of, decision.time, self._submitted)
        for row in range(self._submitted, tail):
            if size_of[row] <= self.nodes:  # wider ones have been refused
                self._waiting += 1
                self._area += size_of[row] * request_of[row]
        for row in board.moves[self._moved :]:
            if row >= 0:
                self._waiting -= 1
                self._area -= size_of[row] * request_of[row]
        self._submitted, self._moved = tail, len(board.moves)
        return board


def _scaled(seconds: int) -> float:
    """`scale_times` of one time."""
    return math.log1p(min(seconds, LONGEST) * (1 / 60)) * (1 / LN_DAY)


def check_machine(decision: Decision, nodes: int) -> None:
    """Refuse a decision of a run on another machine."""
    if decision.nodes != nodes:
        raise DrasLabError(
            f"this is made for a machine of {nodes} nodes, and the run is on {decision.nodes}; "
            f"run with nodes={nodes}, or coarsen the trace"
        )


def check_window(decision: Decision, window: int) -> None:
    """Refuse a decision that offers more jobs than that."""
    if len(decision.rows) > window:
        raise DrasLabError(
            f"a decision offers {len(decision.rows)} jobs, and this is made for a window of "
            f"{window}; run with window={window}"
        )
