"""What the agents' ways of learning have in common: a step, its figures, random states."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..jobs import DrasLabError
from ..rewards import Capability, Capacity, Reward, Waits, reward_name


def take_step(
    optimiser: torch.optim.Optimizer, parameters: list[nn.Parameter], loss: Tensor, max_norm: float
) -> None:
    """One step of the optimiser.

    Raises
    ------
    DrasLabError
        If the loss or a gradient is not a finite number; no weight has changed then.
    """
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    if not (torch.isfinite(loss) and torch.isfinite(norm)):
        optimiser.zero_grad()
        raise DrasLabError(
            f"learning has broken down: the loss is {float(loss.detach()):g} and the length of its "
            f"gradient {float(norm):g}; take a smaller learning rate, or look at the reward"
        )
    optimiser.step()


def tally(figures: list[dict[str, float]], means: tuple[str, ...]) -> dict[str, float]:
    """Sums of ``reward`` and ``decisions`` and the means of others; empties the list.

    NaN is the mean of none.
    """
    found: dict[str, float] = {}
    for name in ("reward", "decisions", *means):
        values = [entry[name] for entry in figures if name in entry]
        total = float(np.sum(values))
        found[name] = total / len(values) if name in means and values else total
        if name in means and not values:
            found[name] = float("nan")
    figures.clear()
    return found


def reward_config(reward: Reward) -> dict[str, Any]:
    """A reward as plain values: its name, and its numbers if it is one of `rewards`."""
    known: Any = reward
    if type(reward) in (Capability, Capacity, Waits):
        return asdict(known)
    return {"name": reward_name(reward), "own": True}


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """A generator's state as plain values (its numbers of 128 bits as text)."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return state | {"state": {name: str(value) for name, value in state["state"].items()}}


def rng_from(state: dict[str, Any]) -> np.random.Generator:
    """The generator of a state."""
    rng = np.random.default_rng(0)
    numbers = {name: int(value) for name, value in state["state"].items()}
    rng.bit_generator.state = state | {"state": numbers}
    return rng
