"""What an agent sees: DRAS's observation rows and masks.

What is marked *authors' code* was read in the public code of the authors of DRAS (Fan et al.,
arXiv 2102.06243), *ours* is not theirs; docs/departures.md says why. The features for a
scorer of single jobs and the rewards live next door and are found here too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .decisions import Board, Decision, IntArray
from .features import Features as Features
from .features import check_machine, check_window
from .jobs import DrasLabError
from .rewards import REWARDS as REWARDS
from .rewards import Capability as Capability
from .rewards import Capacity as Capacity
from .rewards import Reward as Reward
from .rewards import capability as capability
from .rewards import capacity as capacity
from .rewards import earned as earned
from .rewards import make_reward as make_reward
from .scaling import DAY as DAY
from .scaling import LONGEST as LONGEST
from .scaling import Floats as Floats
from .scaling import Scaling as Scaling
from .scaling import scale_in_place
from .scaling import scale_times as scale_times

Mask = npt.NDArray[np.bool_]
Priority = Callable[[Decision], npt.ArrayLike]


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
        scale_in_place(times, self.scaling)
        if len(self._table) != len(left):
            self._table = np.zeros((len(left), 2), dtype=np.float32)
            self._table[0, 0] = 1
        self._queued, self._table[:, 1] = times[:jobs], times[jobs:]
        self._seen = decision

    def _follow(self, decision: Decision) -> None:
        """Get to know the decision's run, and refuse one that this encoder is not made for."""
        board = decision._board
        if board is not self._board:
            check_machine(decision, self.nodes)
            _, size, request = board.arrays()
            self._shown = np.empty((len(size), 2), dtype=np.float32)
            self._shown[:, 0] = size / self.nodes
            self._shown[:, 1] = scale_times(request, self.scaling)
            self._board = board
        check_window(decision, self.window)
