"""What an agent sees: DRAS's observation rows, masks, and features for a scorer of single jobs.

What is marked *authors' code* was read in the public code of the authors of DRAS (Fan et al.,
arXiv 2102.06243), *ours* is not theirs; docs/departures.md says why. The rewards live next
door and are found here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from .decisions import Board, Decision, IntArray
from .jobs import DrasLabError, Level
from .rewards import REWARDS as REWARDS
from .rewards import Capability as Capability
from .rewards import Capacity as Capacity
from .rewards import Reward as Reward
from .rewards import capability as capability
from .rewards import capacity as capacity
from .rewards import earned as earned
from .rewards import make_reward as make_reward

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Priority = Callable[[Decision], npt.ArrayLike]
Scaling = Literal["log", "linear"]

DAY = 86_400  # seconds; both scalings of times map it to 1
LONGEST = 1000 * DAY  # seconds; longer times count as this
_LN_DAY = float(np.log1p(DAY / 60))


def scale_times(seconds: npt.ArrayLike, scaling: Scaling = "log") -> Floats:
    """Times as a network is shown them: 0 for none, 1 for a day; float32, of the same shape.

    ``"log"``: ``ln(1 + minutes) / ln(1 + 1440)``, in [0, 1.95]. ``"linear"``: days, in
    [0, 1000]. Longer times than 1000 days count as 1000 days; none may be negative.
    (Authors' code shows plain seconds; the scaling is ours.)
    """
    times = np.array(seconds, dtype=np.float64)
    _scale(times, scaling)
    return times.astype(np.float32)


def _scale(times: npt.NDArray[np.float64], scaling: Scaling) -> None:
    """`scale_times` in place: for the few dozen times of a decision, arrays cost more than sums.

    In float64, since float32 would round times of months to tens of seconds.
    """
    np.minimum(times, LONGEST, out=times)
    if scaling == "log":
        np.multiply(times, 1 / 60, out=times)
        np.log1p(times, out=times)
        np.multiply(times, 1 / _LN_DAY, out=times)
    else:
        np.multiply(times, 1 / DAY, out=times)


class Encoder:
    """Turns decisions into the arrays that DRAS's networks take (authors' code, but scaled).

    A job is two rows, ``[size, requested time]`` and ``[priority, queued time]``; a node is one
    row, ``[1, 0]`` if it is free, else ``[0, time until it is expected to be free]`` by its
    job's request, at least a second. Sizes are shares of the machine, in [0, 1]; times are
    scaled by `scale_times`. Jobs come first, in queue order, those of a window that is not
    full followed by rows of zeros; then the nodes by number.

    An encoder keeps what it knows of a run from one decision to the next. It may be used for
    one run after the other, and should not be switched between runs at every decision.

    Parameters
    ----------
    nodes : int
        Size of the machine, N.
    window : int
        W, the most jobs that are shown. A run must not offer more.
    scaling : {"log", "linear"}
        Of times.
    priority : callable, optional
        Takes a decision, returns a number in [0, 1] a candidate. Logs have no priorities, and
        authors' code shows 0 for all; so it is here without one.

    Attributes
    ----------
    pg_shape, dql_shape : tuple of int
        ``(2 W + N, 2)`` and ``(2 + N, 2)``.
    high : float
        No number shown is greater; none is smaller than 0.
    """

    def __init__(
        self,
        nodes: int,
        window: int = 50,
        scaling: Scaling = "log",
        priority: Priority | None = None,
    ) -> None:
        if nodes < 1 or window < 1:
            raise DrasLabError(f"nodes and window must be at least 1, not {nodes} and {window}")
        if scaling not in ("log", "linear"):
            raise DrasLabError(f"scaling: {scaling!r} is not one of log, linear")
        self.nodes, self.window = nodes, window
        self.scaling: Scaling = scaling
        self.priority = priority
        self.pg_shape = (2 * window + nodes, 2)
        self.dql_shape = (2 + nodes, 2)
        self.high = float(scale_times(LONGEST, scaling))
        self._board: Board | None = None  # the run that what follows is about
        self._shown: Floats  # the first row of every job
        self._table = np.zeros((0, 2), dtype=np.float32)  # the row of a node, by holder
        self._holder: IntArray
        self._seen: Decision | None = None
        self._queued: npt.NDArray[np.float64]

    # -- the parts ------------------------------------------------------------------------

    def job_rows(self, decision: Decision) -> Floats:
        """Both rows of each candidate, shape ``[C, 2, 2]``."""
        rows = np.empty((len(decision.rows), 2, 2), dtype=np.float32)
        self._write_jobs(decision, rows)
        return rows

    def node_rows(self, decision: Decision, out: Floats | None = None) -> Floats:
        """The row of each node, shape ``[N, 2]``."""
        self._look(decision)
        if out is None:
            out = np.empty((self.nodes, 2), dtype=np.float32)
        # Jobs are few and nodes are many: one row a job that runs, then a look-up a node. Who
        # holds which node is brought up to date by the board, not worked out again.
        decision._still_open()  # `_holder` follows the machine
        self._table.take(self._holder, axis=0, out=out, mode="clip")  # "raise" would copy it twice
        return out

    # -- whole inputs ---------------------------------------------------------------------

    def pg(self, decision: Decision, out: Floats | None = None) -> Floats:
        """The input of DRAS-PG, shape ``[2 W + N, 2]``.

        Parameters
        ----------
        decision : Decision
            Before it is answered.
        out : array of float32, optional
            Where to write, instead of making a new array; C-contiguous, of this shape.
        """
        if out is None:
            out = np.empty(self.pg_shape, dtype=np.float32)
        elif out.shape != self.pg_shape or out.dtype != np.float32 or not out.flags.c_contiguous:
            raise DrasLabError(
                f"out must be a contiguous float32 array of shape {self.pg_shape}, "
                f"not {out.dtype} {out.shape}"
            )
        self._look(decision)
        count, jobs = len(decision.rows), 2 * self.window
        self._write_jobs(decision, out[: 2 * count].reshape(count, 2, 2))
        out[2 * count : jobs] = 0
        self.node_rows(decision, out[jobs:])
        return out

    def dql(self, decision: Decision) -> Floats:
        """The inputs of DRAS-DQL, one a candidate, shape ``[C, 2 + N, 2]``.

        They differ in their first two rows only. `job_rows` and `node_rows` hold the same
        without repeating the nodes, for `networks.DrasNetwork.values`.
        """
        jobs = self.job_rows(decision)
        out = np.empty((len(jobs), *self.dql_shape), dtype=np.float32)
        out[:, :2] = jobs
        out[:, 2:] = self.node_rows(decision)
        return out

    def mask(self, decision: Decision) -> Mask:
        """Which of the W choices exist, shape ``[W]``: all that may be picked."""
        self._follow(decision)
        mask = np.zeros(self.window, dtype=np.bool_)
        mask[: len(decision.rows)] = True
        return mask

    def fits(self, decision: Decision) -> Mask:
        """Which of the W choices fit the free nodes now, shape ``[W]`` (all Decima-PG picks)."""
        self._follow(decision)
        mask = np.zeros(self.window, dtype=np.bool_)
        mask[: len(decision.rows)] = decision.sizes <= decision.free
        return mask

    # -- underneath -----------------------------------------------------------------------

    def _write_jobs(self, decision: Decision, out: Floats) -> None:
        self._look(decision)
        out[:, 0] = self._shown.take(decision.index, axis=0)
        out[:, 1, 0] = 0 if self.priority is None else self.priority(decision)
        out[:, 1, 1] = self._queued

    def _look(self, decision: Decision) -> None:
        """Scale all times of a decision, once and in one go."""
        if decision is self._seen:
            return
        self._follow(decision)
        queued = decision.queued_times
        self._holder, left = decision.holders()
        jobs = len(queued)
        times = np.empty(jobs + len(left))
        times[:jobs], times[jobs:] = queued, left
        _scale(times, self.scaling)
        if len(self._table) != len(left):
            self._table = np.zeros((len(left), 2), dtype=np.float32)
            self._table[0, 0] = 1
        self._queued, self._table[:, 1] = times[:jobs], times[jobs:]
        self._seen = decision

    def _follow(self, decision: Decision) -> None:
        """Get to know the decision's run, and refuse one that this encoder is not made for."""
        board = decision._board
        if board is not self._board:
            _check_machine(decision, self.nodes)
            _, size, request = board.arrays()
            self._shown = np.empty((len(size), 2), dtype=np.float32)
            self._shown[:, 0] = size / self.nodes
            self._shown[:, 1] = scale_times(request, self.scaling)
            self._board = board
        _check_window(decision, self.window)


class Features:
    """Describes each job by a few numbers, and the machine by a few more (ours).

    For networks that score each job of the window alike. All are pure numbers of about the
    size of 1 on any machine, so that what was learnt on one can be tried on another.

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

    def __init__(self, nodes: int, window: int = 50) -> None:
        if nodes < 1 or window < 1:
            raise DrasLabError(f"nodes and window must be at least 1, not {nodes} and {window}")
        self.nodes, self.window = nodes, window
        self._board: Board | None = None  # the run that `_known` is about
        self._known: Floats  # the features of every job that never change
        self._work: npt.NDArray[np.float64]  # of every job, in days of the whole machine

    def __call__(self, decision: Decision) -> tuple[Floats, Floats]:
        """The features, shapes ``[W, F]`` and ``[G]``; rows beyond the candidates are zero."""
        self._follow(decision)
        sizes, free, queued = decision.sizes, decision.free, decision.queued_times
        longest = int(queued.max())
        jobs = np.zeros((self.window, len(self.job_names)), dtype=np.float32)
        shown = jobs[: len(sizes)]
        shown[:, :3] = self._known.take(decision.index, axis=0)
        days = np.minimum(queued * (1 / DAY), self.longest_days)
        shown[:, 3] = days
        shown[:, 4] = days * days
        shown[:, 5] = queued * (1 / max(longest, 1))
        fits = sizes <= free
        shown[:, 6] = fits
        shown[:, 7] = np.minimum(sizes * (1 / max(free, 1)), 1)
        if not fits.all():
            shown[:, 8] = scale_times(self._until_free(decision, sizes))

        waiting, reservation = decision.waiting, decision.reservation
        work = float(self._work.take(waiting.rows).sum())
        until_reserved = spare = 0.0
        if reservation is not None:
            until_reserved = float(scale_times(reservation.start - decision.time))
            spare = reservation.extra / self.nodes
        machine = (
            decision.level is Level.BACKFILL,
            free / self.nodes,
            math.log1p(len(waiting)) / math.log1p(self.window),
            min(longest / DAY, self.longest_days),
            math.log1p(work),
            until_reserved,
            spare,
        )
        return jobs, np.array(machine, dtype=np.float32)

    def _follow(self, decision: Decision) -> None:
        """Get to know the decision's run, and refuse one of another machine or window."""
        board = decision._board
        if board is not self._board:
            _check_machine(decision, self.nodes)
            _, size, request = board.arrays()
            self._known = np.empty((len(size), 3), dtype=np.float32)
            self._known[:, 0] = np.log(size) / math.log(self.nodes + 1)
            self._known[:, 1] = scale_times(request)
            self._known[:, 2] = size / self.nodes
            self._work = size * (request / (self.nodes * DAY))
            self._board = board
        _check_window(decision, self.window)

    @staticmethod
    def _until_free(decision: Decision, sizes: IntArray) -> IntArray:
        """Seconds until so many nodes are free if all running jobs take what they asked for."""
        ends, widths = decision.releases()
        free = np.zeros(len(widths) + 1, dtype=np.int64)
        widths.cumsum(out=free[1:])
        times = np.zeros(len(widths) + 1, dtype=np.int64)
        np.subtract(ends, decision.time, out=times[1:])
        return times.take(free.searchsorted(sizes - decision.free))


def _check_machine(decision: Decision, nodes: int) -> None:
    if decision.nodes != nodes:
        raise DrasLabError(
            f"this is made for a machine of {nodes} nodes, and the run is on {decision.nodes}; "
            f"run with nodes={nodes}, or coarsen the trace"
        )


def _check_window(decision: Decision, window: int) -> None:
    if len(decision.rows) > window:
        raise DrasLabError(
            f"a decision offers {len(decision.rows)} jobs, and this is made for a window of "
            f"{window}; run with window={window}"
        )
