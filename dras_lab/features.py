"""Each job by a few numbers, and the machine by a few more: for scorers of single jobs (ours)."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from .board import Board
from .decisions import Decision
from .jobs import DrasLabError, Level
from .scaling import DAY, LN_DAY, LONGEST, Floats, scale_in_place, scale_times


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
        self.size = window * count + len(self.machine_names)
        self._board: Board | None = None  # the run that what follows is about
        self._known: npt.NDArray[np.float64]  # of every job, what its features are made of
        # All features of a job but two are (known - shift) * scale, kept between 0 and a cap.
        self._shift, self._scale = np.zeros(count), np.ones(count)
        self._scale[3], self._scale[6] = -1 / DAY, -1
        self._floor, self._cap = np.zeros(count), np.full(count, np.inf)
        self._cap[3:8] = longest, longest, 1, 1, 1
        self._submitted = self._moved = 0  # rows and moves that the next two know of
        self._waiting = self._area = 0  # jobs that wait, and the node seconds they ask for

    def __call__(self, decision: Decision) -> tuple[Floats, Floats]:
        """The features, shapes ``[W, F]`` and ``[G]``; rows beyond the candidates are zero."""
        vector = self.vector(decision)
        split = self.window * len(self.job_names)
        return vector[:split].reshape(self.window, -1), vector[split:]

    def vector(self, decision: Decision) -> Floats:
        """The same as one vector, shape ``[W F + G]``: job after job, then the machine."""
        board = self._follow(decision)
        rows, now, free = decision.rows, decision.time, decision.free
        longest = now - board.submit[rows[0]]  # the queue is in order of submission
        shift, scale = self._shift, self._scale
        shift[3] = shift[5] = now
        shift[6] = free + 1
        scale[5] = -1 / max(longest, 1)
        scale[7] = 1 / max(free, 1)
        # A few operations on one small table: for so few numbers each call costs the same.
        jobs = self._known.take(decision.index, axis=0)
        until: npt.NDArray[np.float64] | float = 0.0
        if max(map(board.size.__getitem__, rows)) > free:
            until = self._until_free(decision, jobs[:, 8])
        jobs -= shift
        jobs *= scale
        np.minimum(jobs, self._cap, out=jobs)
        np.maximum(jobs, self._floor, out=jobs)
        np.multiply(jobs[:, 3], jobs[:, 3], out=jobs[:, 4])
        jobs[:, 8] = until
        vector = np.zeros(self.size, dtype=np.float32)
        vector[: jobs.size] = jobs.ravel()

        until_reserved = spare = 0.0
        if decision._shadow is not None:
            _, start, extra, _ = decision._shadow
            until_reserved = math.log1p(min(start - now, LONGEST) / 60) / LN_DAY
            spare = extra / self.nodes
        work = self._area / (self.nodes * DAY)
        vector[-len(self.machine_names) :] = (
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
            submit, size, request = board.arrays()
            self._known = known = np.zeros((len(size), len(self.job_names)))
            known[:, 0] = np.log(size) / math.log(self.nodes + 1)
            known[:, 1] = scale_times(request)
            known[:, 2] = size / self.nodes
            known[:, 3] = known[:, 5] = submit
            known[:, 6] = known[:, 7] = known[:, 8] = size
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

    @staticmethod
    def _until_free(decision: Decision, sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Until so many nodes are free if all running jobs take what they asked for, scaled."""
        now, board = decision.time, decision._board
        free = np.array(list(accumulate(board.widths, initial=decision.free)))
        left = [0, *[(end >> board.bits) - now for end in board.ends]]
        times = np.array(left, dtype=np.float64)
        np.maximum(times[1:], 1, out=times[1:])
        times = times.take(free.searchsorted(sizes))
        scale_in_place(times, "log")
        return times


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
