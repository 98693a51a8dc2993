"""Views of a decision: each turns one into an array of float32 with known bounds.

Two are ours (features, and DRAS's rows), two are those of other environments of the
literature, so that one policy can be trained on each and compared on the same schedule. Of
those only the facts were taken from public code, and each says where it differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .board import Board
from .decisions import Decision
from .features import Features, check_machine, check_window
from .jobs import DrasLabError
from .mdp import Encoder
from .scaling import DAY, Floats


class Observation(Protocol):
    """What the environment needs of a view.

    Attributes
    ----------
    high : array of float32, of the view's shape
        No number shown is greater; none is smaller than 0.
    """

    high: Floats

    def __call__(self, decision: Decision) -> Floats:
        """A new array that shows an open decision."""
        ...


class Compact:
    """`Features` as one vector, shape ``[W F + G]``: job after job, then the machine (ours)."""

    def __init__(self, nodes: int, window: int) -> None:
        features = Features(nodes, window)
        self.high = np.concatenate((np.tile(features.job_high, window), features.machine_high))
        self._see = features.vector

    def __call__(self, decision: Decision) -> Floats:
        """The vector."""
        return self._see(decision)


class Rows:
    """The rows of DRAS-PG, shape ``[2 W + N, 2]``, as `Encoder` has them with scaled times."""

    def __init__(self, nodes: int, window: int) -> None:
        encoder = Encoder(nodes, window)
        self.high = np.full(encoder.pg_shape, (1, encoder.high), dtype=np.float32)
        self._see = encoder.pg

    def __call__(self, decision: Decision) -> Floats:
        """The rows."""
        return self._see(decision)


class RLScheduler:
    """The vector of RLScheduler (Zhang et al., SC 2020): eight numbers a job, shape ``[8 W]``.

    W is 128 there. A job is its queued time by 12 h, requested time by the longest of the
    trace, size by the machine's, memory, user, group and executable by the greatest of the
    trace, and whether it fits the free nodes; all at most ``1 - 1e-5``, and 1 where the log
    has no such field. An empty slot is ``0, 1, 1, 1, 1, 1, 1, 0``.

    Here memory, group and executable are 1, since traces do not carry them, and the jobs are
    the first W of the queue: there they are chosen by several orders when more than W wait.
    """

    longest_wait = 12 * 3600  # seconds
    most = 1 - 1e-5
    empty = (0, 1, 1, 1, 1, 1, 1, 0)

    def __init__(self, nodes: int, window: int = 128) -> None:
        self.nodes, self.window = nodes, window
        self.high = np.ones(8 * window, dtype=np.float32)
        self._board: Board | None = None
        self._known: Floats  # of every job what never changes

    def __call__(self, decision: Decision) -> Floats:
        """The vector."""
        check_machine(decision, self.nodes)
        check_window(decision, self.window)
        board = decision._board
        if board is not self._board:
            _, size, request = board.arrays()
            user = np.array(board.user)
            self._known = np.ones((len(size), 8), dtype=np.float32)
            self._known[:, 1] = np.minimum(request / max(int(request.max()), 1), self.most)
            self._known[:, 2] = np.minimum(size / self.nodes, self.most)
            by_user = np.minimum(user / max(int(user.max()), 1), self.most)
            self._known[:, 4] = np.where(user < 0, 1, by_user)
            self._board = board
        slots = np.empty((self.window, 8), dtype=np.float32)
        slots[:] = self.empty
        shown = slots[: len(decision.rows)]
        shown[:] = self._known.take(decision.index, axis=0)
        shown[:, 0] = np.minimum(decision.queued_times / self.longest_wait, self.most)
        shown[:, 7] = np.where(decision.sizes <= decision.free, self.most, 1e-5)
        return slots.reshape(-1)


class Schedgym:
    """The compact state of Cunha and Chaimowicz (arXiv 2109.03202; their code: schedgym).

    Shape ``[2 T + 7 W + 8]``, in this order: for each of the T next steps of time the shares
    of nodes that will be free and in use by plan; for each job slot seven numbers; then the
    backlog (jobs beyond the slots, by 60), the time until the next planned end, the share of
    nodes that it gives back and the share free then (``0, 0, 1`` if nothing runs), the work
    left in running jobs, its memory, the length of the queue, and the time left. A slot has
    submit time, requested time, memory, size, jobs and work ahead of it, and free nodes, each
    as ``(x + 1) / (limit + 1)``; empty slots are zero.

    Here a step is an hour; times are divided by `limit`, which there is the end of the
    episode, and anything greater counts as the limit; memory is zero, since traces do not
    carry it; jobs and work ahead and free nodes are as of now, there as of the submission.

    Parameters
    ----------
    nodes, window : int
        N, and W: their job slots (5 by default there).
    steps : int
        T, 20 there.
    limit : int
        Seconds; 30 days.
    """

    step = 3600  # seconds
    backlog = 60  # jobs

    def __init__(self, nodes: int, window: int = 5, steps: int = 20, limit: int = 30 * DAY) -> None:
        self.nodes, self.window, self.steps, self.limit = nodes, window, steps, limit
        self.high = np.ones(2 * steps + 7 * window + 8, dtype=np.float32)

    def __call__(self, decision: Decision) -> Floats:
        """The vector."""
        check_machine(decision, self.nodes)
        check_window(decision, self.window)
        nodes, limit, now, free = self.nodes, self.limit, decision.time, decision.free
        ends, widths = decision.releases()
        ends = ends - now
        given = np.concatenate(([0], widths.cumsum()))
        later = np.arange(self.steps) * self.step
        share = (free + given[ends.searchsorted(later, side="right")]) / nodes
        usage = np.stack((share, 1 - share), axis=1)

        sizes, requests, waiting = decision.sizes, decision.requested_times, decision.waiting
        work = (waiting.sizes * waiting.requested_times.astype(np.float64)).cumsum()
        place = waiting.rows.searchsorted(decision.index)
        slots = np.zeros((self.window, 7))
        shown = slots[: len(sizes)]
        whole = float(limit) * limit * nodes
        for column, value, most in (
            (0, decision.submit_times - decision.origin, limit),
            (1, requests, limit),
            (3, sizes, nodes),
            (4, place, limit),
            (5, work[place] - sizes * requests.astype(np.float64), whole),
            (6, free, nodes),
        ):
            shown[:, column] = (value + 1) / (most + 1)

        beyond = len(waiting) - len(sizes)
        left = float((ends * widths.astype(np.float64)).sum()) / (limit * nodes)
        first = (0.0, 0.0, 1.0)
        if len(ends):
            gives = int(widths[0])
            first = (int(ends[0]) / limit, gives / nodes, (free + gives) / nodes)
        time_left = 1 - (now - decision.origin) / limit
        rest = (beyond / self.backlog, *first, left, 0, len(waiting) / limit, time_left)
        whole_state = np.concatenate((usage.ravel(), slots.ravel(), rest))
        return whole_state.clip(0, 1).astype(np.float32)


OBSERVATIONS: dict[str, Callable[[int, int], Observation]] = {
    "compact": Compact,
    "rows": Rows,
    "rlscheduler": RLScheduler,
    "schedgym": Schedgym,
}


def make_observation(observation: str | Observation, nodes: int, window: int) -> Observation:
    """The view of that name; one that is made already is passed through.

    Raises
    ------
    DrasLabError
        If there is none of that name.
    """
    if not isinstance(observation, str):
        return observation
    if observation not in OBSERVATIONS:
        raise DrasLabError(
            f"there is no observation {observation!r}; they are {', '.join(OBSERVATIONS)}, "
            "and anything with `high` that is a function of a decision"
        )
    return OBSERVATIONS[observation](nodes, window)
