"""What agents remember of a run, and what each choice turned out to be worth.

Two clocks. In *decisions* (DRAS): the k-th choice is worth ``G_k = r_k + gamma * G_(k+1)``.
In *hours* (ours): between two decisions time passes, from none at all to days; what happens
`h` hours later counts ``exp(-h / horizon)``, and a reward that is a rate (`rewards`: a cost an
hour of waiting) counts for the hours until the next decision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from ..jobs import DrasLabError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Seen = tuple[npt.NDArray[np.float32], ...]


@dataclass
class Memory:
    """The choices of one run, one entry each in the order made.

    Attributes
    ----------
    levels : list of str
        ``"select"`` or ``"backfill"``.
    seen : list
        What the brain saw; None where there was one job only, and nothing to learn.
    masks : list of array of bool, shape ``[W]``
        Which choices there were; None with `seen`.
    chosen : list of int
        Which was made.
    note : list of float
        What else the agent needs of it: the logarithm of its probability (DRAS-PG), the
        greatest value there was (DRAS-DQL).
    rewards : list of float
    hours : list of float
        When, in hours.
    """

    levels: list[str] = field(default_factory=list)
    seen: list[Seen | None] = field(default_factory=list)
    masks: list[BoolArray | None] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    note: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    hours: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.chosen)

    def add(
        self,
        level: str,
        seen: Seen | None,
        mask: BoolArray | None,
        chosen: int,
        note: float,
        reward: float,
        time: int,
    ) -> None:
        """Remember one choice; `time` in seconds."""
        self.levels.append(level)
        self.seen.append(seen)
        self.masks.append(mask)
        self.chosen.append(chosen)
        self.note.append(note)
        self.rewards.append(reward)
        self.hours.append(time / 3600)

    def part(self, entries: list[int]) -> tuple[list[Seen], torch.Tensor]:
        """What was seen at these entries, and the masks, shape ``[entries, W]``."""
        seen = [seen for k in entries if (seen := self.seen[k]) is not None]
        masks = [mask for k in entries if (mask := self.masks[k]) is not None]
        return seen, torch.from_numpy(np.stack(masks))


def returns(
    rewards: npt.ArrayLike, discounts: npt.ArrayLike | float, after: float = 0.0
) -> FloatArray:
    """``G_k = r_k + d_k * G_(k+1)``, and `after` for what comes past the last.

    Parameters
    ----------
    rewards : array, shape ``[n]``
    discounts : float or array, shape ``[n]``
        From each decision to the next.
    after : float

    Returns
    -------
    array of float64, shape ``[n]``
    """
    r = np.asarray(rewards, dtype=np.float64)
    d = np.broadcast_to(np.asarray(discounts, dtype=np.float64), r.shape).tolist()
    worth = np.empty(len(r))
    total = after
    for k, reward in zip(range(len(r) - 1, -1, -1), r[::-1].tolist(), strict=True):
        total = reward + d[k] * total
        worth[k] = total
    return worth


def worth_by_the_hour(memory: Memory, horizon: float, rate: bool) -> FloatArray:
    """Returns where what happens `h` hours later counts ``exp(-h / horizon)``.

    A rate `r` that holds for `h` hours is worth ``r * horizon * (1 - exp(-h / horizon))``, the
    integral of what it is worth at each moment.
    """
    kept = np.exp(-np.diff(memory.hours, append=memory.hours[-1:]) / horizon)
    rewards = np.asarray(memory.rewards)
    return returns(rewards * horizon * (1 - kept) if rate else rewards, kept)


def less_the_others(
    runs: list[Memory], worth: list[FloatArray], horizon: float | None, rate: bool
) -> list[FloatArray]:
    """What each choice was worth less what the other runs made of the same moment.

    Several runs of the same jobs differ only by the choices made. How much is earned from some
    moment on depends mostly on the jobs that come, and hardly on one choice; what the others
    earned from that moment on takes just that out. (The idea of an input-dependent baseline:
    Mao et al., "Variance reduction for reinforcement learning in input-driven environments",
    ICLR 2019.)

    Parameters
    ----------
    runs : list of Memory
        Runs of the same jobs.
    worth : list of array
        Returns of each.
    horizon : float or None
        Of the discount in hours; None for a clock of decisions.
    rate : bool
        Whether the reward is a rate.
    """
    out = []
    for me, mine in enumerate(runs):
        now = np.asarray(mine.hours)
        total = np.zeros(len(now))
        for other, theirs in enumerate(runs):
            if other != me and len(theirs):
                total += _worth_at(now, theirs, worth[other], horizon, rate)
        out.append(worth[me] - total / max(len(runs) - 1, 1))
    return out


def _worth_at(
    now: FloatArray, memory: Memory, worth: FloatArray, horizon: float | None, rate: bool
) -> FloatArray:
    """What a run is worth from any moment on: 0 once all its decisions are past."""
    hours = np.asarray(memory.hours)
    k = hours.searchsorted(now)  # its next decision
    past = k == len(hours)
    k = np.minimum(k, len(hours) - 1)
    if horizon is None:
        return np.where(past, 0.0, worth[k])
    kept = np.exp(-np.maximum(hours[k] - now, 0) / horizon)
    found = worth[k] * kept
    if rate:  # and until then, what it cost an hour since its last decision
        held = np.asarray(memory.rewards)[np.maximum(k - 1, 0)]
        found += np.where(k > 0, held * horizon * (1 - kept), 0.0)
    return np.where(past, 0.0, found)


def standardised(values: FloatArray) -> FloatArray:
    """Mean 0 and standard deviation 1; all 0 where they are all alike, or only one.

    Raises
    ------
    DrasLabError
        If one is not a finite number, or they are too large to tell.
    """
    if not len(values):
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(values.std())
    if not math.isfinite(spread):
        raise DrasLabError(
            "learning has broken down: what the choices were worth is not a finite number; look at "
            "the reward, its size and the update's horizon"
        )
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values)


def joined(runs: list[Memory]) -> Memory:
    """Several runs in one memory, one after the other."""
    whole = Memory()
    for run in runs:
        for name, values in vars(whole).items():
            values.extend(getattr(run, name))
    return whole
