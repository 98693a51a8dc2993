"""Rewards: what a choice is worth to an agent, and to the knapsack policy.

A reward is any callable that takes a `Decision` and the index that was chosen (None for a
pass) and returns a number, before the choice is carried out. One that tells what each hour
costs until the next decision, and not what the choice is worth by itself, says ``rate = True``;
agents whose clock runs in hours then count it by the hour. What is marked *authors' code* was
read in the public code of the authors of DRAS (Fan et al., arXiv 2102.06243); *our reading* is
of the paper, *ours* is neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .decisions import Decision
from .jobs import DrasLabError

FloatArray = npt.NDArray[np.float64]
Reward = Callable[[Decision, "int | None"], float]


@dataclass(frozen=True)
class Capability:
    """For machines of big jobs: old jobs, wide jobs, nodes in use (authors' code).

    ``queued_weight * queued / longest + size_weight * size / N + use_weight * in_use / N``,
    where `queued` and `size` are the chosen job's, `longest` is the longest queued time of
    the candidates but at least `floor`, and `in_use` counts the nodes in use after the choice:
    a job that does not fit adds nothing to it. A pass earns the last term alone. With the
    weights as they stand the reward is in [0, 1] and has no unit.

    Parameters
    ----------
    queued_weight, size_weight, use_weight : float
        A third each in the authors' code.
    floor : float
        Seconds; 6 h in the authors' code. Keeps a queued time of minutes from counting fully
        because nobody has waited longer.
    """

    queued_weight: float = 1 / 3
    size_weight: float = 1 / 3
    use_weight: float = 1 / 3
    floor: float = 6 * 3600.0
    name: str = "capability"

    def __call__(self, decision: Decision, index: int | None) -> float:
        """The reward of choosing candidate `index`."""
        used = decision.nodes - decision.free
        if index is None:
            return self.use_weight * used / decision.nodes
        board, rows, now = decision._board, decision.rows, decision.time
        row = rows[index]
        size = board.size[row]
        if size <= decision.free:
            used += size
        longest = max(now - board.submit[rows[0]], self.floor)  # the first has waited longest
        return (
            self.queued_weight * (now - board.submit[row]) / longest
            + (self.size_weight * size + self.use_weight * used) / decision.nodes
        )

    def values(self, decision: Decision) -> FloatArray:
        """What each candidate adds if it starts, shape ``[candidates]``.

        The nodes now in use count once for the whole machine and are left out; what is left
        of the third term is the job's own size, so that the values of several jobs that start
        together add up.
        """
        queued = decision.queued_times
        ages = queued / max(float(queued.max()), self.floor)
        both = self.size_weight + self.use_weight
        return np.asarray(self.queued_weight * ages + both * decision.sizes / decision.nodes)


@dataclass(frozen=True)
class Capacity:
    """For machines of many small jobs: low slowdown (our reading).

    ``-sum(unit / requested_time)`` over all jobs that wait at the decision, in the window or
    not, the chosen one among them: each second that a job waits costs its slowdown one over
    its length. This is the objective of DeepRM (Mao et al., HotNets 2016), of waiting jobs.
    The choice of the moment does not show in it, but its consequences do in what follows.

    Parameters
    ----------
    unit : float
        Seconds; the reward is in 1 / unit. 1 is the plain formula.
    """

    unit: float = 1.0
    name: str = "capacity"
    rate: ClassVar[bool] = True

    def __call__(self, decision: Decision, index: int | None) -> float:
        """The reward of the state in which the choice is made; the same for every `index`."""
        return -float((self.unit / decision.waiting.requested_times).sum())

    def values(self, decision: Decision) -> FloatArray:
        """What each candidate adds if it starts, shape ``[candidates]``: its term goes away."""
        return np.asarray(self.unit / decision.requested_times)


@dataclass(frozen=True)
class Waits:
    """For short waits and no very long ones (ours).

    Each waiting job costs ``1 - late + late * (queued time / days) ** power`` an hour: summed
    over time that is its wait, and a share that grows faster than the wait. (Agents hold the rate
    from one decision to the next, so a job that starts, or comes where nothing is decided, is
    counted up to the next decision; in a busy queue that is about a hundredth of the whole.)
    `late` moves along the trade-off between the mean wait and the maximum: 0 is the mean alone.

    Parameters
    ----------
    late : float
        In [0, 1].
    days : float
        Queued time, in days, at which the second term is as dear as the first.
    power : float
        How fast it grows.
    unit : float
        The reward is in units of so many jobs.
    """

    late: float = 0.3
    days: float = 2.0
    power: float = 2.0
    unit: float = 20.0
    name: str = "waits"
    rate: ClassVar[bool] = True

    def __call__(self, decision: Decision, index: int | None) -> float:
        """The reward of the state in which the choice is made; the same for every `index`."""
        return -float(self._costs(decision.waiting.queued_times).sum()) / self.unit

    def values(self, decision: Decision) -> FloatArray:
        """What each candidate adds if it starts, shape ``[candidates]``: its term goes away."""
        return self._costs(decision.queued_times) / self.unit

    def _costs(self, queued: npt.NDArray[np.int64]) -> FloatArray:
        aged = (queued * (1 / (self.days * 86_400))) ** self.power
        return np.asarray(1 - self.late + self.late * aged)


capability = Capability()
capacity = Capacity()
waits = Waits()
REWARDS: dict[str, Reward] = {"capability": capability, "capacity": capacity, "waits": waits}


def make_reward(reward: str | Reward) -> Reward:
    """The reward of that name; a callable is passed through.

    Raises
    ------
    DrasLabError
        If there is none of that name.
    """
    if callable(reward):
        return reward
    if reward not in REWARDS:
        raise DrasLabError(
            f"there is no reward {reward!r}; the rewards are {', '.join(REWARDS)}, "
            "and any function of a decision and the chosen index"
        )
    return REWARDS[reward]


def reward_name(reward: Reward) -> str:
    """What files and messages call a reward: its `name`, or that of the function."""
    return str(getattr(reward, "name", None) or getattr(reward, "__name__", repr(reward)))


def earned(reward: Reward, decision: Decision, index: int | None) -> float:
    """The reward of a choice, checked.

    Raises
    ------
    DrasLabError
        If it is not a finite number: one NaN would spoil every weight of a network.
    """
    value = reward(decision, index)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DrasLabError(
            f"the reward {reward_name(reward)} is {value!r} at {decision.time} s, "
            f"for the choice {index!r} of {len(decision.rows)} candidates; "
            "a reward must be a finite number"
        )
    return number


def job_values(reward: Reward, decision: Decision) -> FloatArray:
    """How much each candidate is worth by a reward, such that jobs' worths may be added.

    DRAS's rewards say so themselves (`values`). Of any other callable it is the reward for
    choosing the job less the reward for a pass.

    Returns
    -------
    array of float64, shape ``[candidates]``
    """
    values = getattr(reward, "values", None)
    if values is not None:
        return np.asarray(values(decision), dtype=np.float64)
    nothing = earned(reward, decision, None)
    gains = [earned(reward, decision, k) - nothing for k in range(len(decision.rows))]
    return np.array(gains, dtype=np.float64)
