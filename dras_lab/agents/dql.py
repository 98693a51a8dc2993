"""DRAS-DQL: learn what each choice is worth, and make the best one (deep Q-learning).

The network gives each job of the window a value ``q(s, a)``: what is expected to be earned from
here on if this job is chosen. It is drawn towards what was earned,

    loss  =  mean over decisions of  (q(s_k, a_k) - y_k) ** 2

with ``y_k`` the discounted return ``G_k = r_k + gamma * G_(k+1)``, or bootstrapped:
``y_k = r_k + gamma * max over a of q(s_(k+1), a)`` (Watkins 1989; DRAS, Fan et al., arXiv
2102.06243, in the authors' code and our reading). While it learns, a share `epsilon` of the
choices is made at random; it begins at 1 and shrinks by a factor a choice to a floor.

In our update ``y_k`` is what was earned from the decision on less what other runs of the same
jobs earned from that moment on (`experience.less_the_others`), so that the network need not
learn how much waiting lies ahead whatever is chosen, which is nearly all of a return.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..decisions import Decision
from ..networks import LEVELS
from ..rewards import Reward, earned, make_reward
from .brains import Brain
from .experience import (
    FloatArray,
    Memory,
    joined,
    less_the_others,
    returns,
    standardised,
    worth_by_the_hour,
)
from .steps import reward_config, rng_from, rng_state, take_step, tally
from .updates import OURS, Update


class DrasDQL:
    """DRAS-DQL, a policy that also learns.

    Parameters
    ----------
    brain : Brain
        Its networks, with one value a job.
    reward, update, seed
        As for `DrasPG`.

    Attributes
    ----------
    learning : bool
        Whether it learns from what it does now.
    epsilon : float
        The share of choices made at random while it learns.
    """

    kind = "dql"
    name = "dras-dql"

    def __init__(
        self,
        brain: Brain,
        reward: str | Reward = "capability",
        update: Update = OURS,
        seed: int = 0,
    ) -> None:
        self.brain, self.update = brain, update
        self.reward = make_reward(reward)
        self.rate = bool(getattr(self.reward, "rate", False))
        self.rng = np.random.default_rng(seed)
        self.parameters = list(brain.networks.parameters())
        self.optimiser = torch.optim.Adam(self.parameters, lr=update.learning_rate)
        self.learning = False
        self.epsilon = update.epsilon
        self._memory = Memory()
        self._runs: list[Memory] = []  # finished runs of the same jobs
        self._instances, self._time = 0, -1
        self._figures: list[dict[str, float]] = []

    # -- choosing -------------------------------------------------------------------------

    def __call__(self, decision: Decision) -> int:
        """The index of a job."""
        if self.learning and decision.time != self._time:
            self._next_instance(decision.time)
        count = len(decision.rows)
        if count == 1 and not self.learning:
            return 0
        seen = self.brain.see(decision)
        values = self.brain.ask(decision.level, seen, count)
        decision.scores = values  # type: ignore[assignment]
        index = int(values.argmax())
        if not self.learning:
            return index
        best = float(values[index])
        if self.rng.random() < self.epsilon:
            index = int(self.rng.integers(count))
        self.epsilon = max(self.epsilon * self.update.decay, self.update.floor)
        mask = np.arange(self.brain.window) < count
        reward = earned(self.reward, decision, index)
        self._memory.add(decision.level, seen, mask, index, best, reward, decision.time)
        return index

    # -- learning -------------------------------------------------------------------------

    def _next_instance(self, time: int) -> None:
        """A new scheduling instance begins: the published update learns every so many."""
        self._time = time
        self._instances += 1
        if self.update.runs == 1 and self._instances > self.update.every:
            self._learn([self._memory])
            self._memory, self._instances = Memory(), 1

    def end_run(self) -> None:
        """Call it when a run has ended: the agent learns from what it has not learnt from yet."""
        if self.learning:
            self._runs.append(self._memory)
            if len(self._runs) >= self.update.runs:
                self._learn(self._runs)
                self._runs = []
        self._memory, self._instances, self._time = Memory(), 0, -1

    def forget(self) -> None:
        """Forget what has not been learnt from, as after a run that was broken off."""
        self._runs, self._memory, self._instances, self._time = [], Memory(), 0, -1
        self._figures.clear()

    def targets(self, runs: list[Memory]) -> FloatArray:
        """What the value of each choice is drawn to, all runs in one array."""
        update = self.update
        if update.target == "bootstrap":
            # The best value of the decision that follows, as it was when that was made.
            after = [np.append(run.note[1:], 0.0) for run in runs]
            return np.concatenate(
                [
                    np.asarray(run.rewards) + update.gamma * a
                    for run, a in zip(runs, after, strict=True)
                ]
            )
        if update.horizon is None:
            worth = [returns(run.rewards, update.gamma) for run in runs]
        else:
            worth = [worth_by_the_hour(run, update.horizon, self.rate) for run in runs]
        if len(runs) == 1:
            return worth[0]
        return standardised(np.concatenate(less_the_others(runs, worth, update.horizon, self.rate)))

    def _learn(self, runs: list[Memory]) -> None:
        """Some steps of the optimiser."""
        memory = joined(runs)
        if not len(memory):
            return
        targets = self.targets(runs)
        rewards = float(np.sum(memory.rewards)) / len(runs)
        for _ in range(self.update.epochs):
            order = self.rng.permutation(len(memory))
            for chunk in np.array_split(order, math.ceil(len(order) / self.update.batch)):
                loss = self._loss(memory, chunk, targets[chunk])
                take_step(self.optimiser, self.parameters, loss, self.update.max_norm)
                self._figures.append({"loss": float(loss.detach())})
        self._figures.append({"reward": rewards, "decisions": float(len(memory))})

    def _loss(self, memory: Memory, chunk: np.ndarray[Any, Any], targets: FloatArray) -> Tensor:
        """The loss at the head of this file."""
        errors = []
        for level in LEVELS:
            here = [i for i, k in enumerate(chunk) if memory.levels[k] == level]
            if not here:
                continue
            rows = [int(k) for k in chunk[here]]
            seen, mask = memory.part(rows)
            values = self.brain.chosen(level, seen, mask, [memory.chosen[k] for k in rows])
            errors.append(values - torch.from_numpy(targets[here].astype(np.float32)))
        return torch.cat(errors).square().mean()

    # -- keeping --------------------------------------------------------------------------

    def figures(self) -> dict[str, float]:
        """Decisions and reward (of one run) and the mean loss since last asked; epsilon."""
        return tally(self._figures, ("loss",)) | {"epsilon": self.epsilon}

    def anneal(self, done: float) -> None:
        """Lower the learning rate in a straight line; `done` is the share of training done."""
        if self.update.anneal:
            rate = self.update.learning_rate * max(1 - done, 0.05)
            for group in self.optimiser.param_groups:
                group["lr"] = rate

    def learned(self) -> None:
        """Past its first learning: of what it does now, only the floor is left to chance."""
        self.epsilon = self.update.floor

    def config(self) -> dict[str, Any]:
        """What makes this agent, but for its weights."""
        return {
            "agent": self.kind,
            "brain": self.brain.config(),
            "reward": reward_config(self.reward),
            "update": self.update.to_dict(),
        }

    def state(self) -> dict[str, Any]:
        """All that training goes on from, but for the weights: plain values and tensors."""
        return {
            "optimiser": self.optimiser.state_dict(),
            "rng": rng_state(self.rng),
            "epsilon": self.epsilon,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a `state`."""
        self.optimiser.load_state_dict(state["optimiser"])
        self.rng = rng_from(state["rng"])
        self.epsilon = float(state["epsilon"])
        self.forget()

    def __repr__(self) -> str:
        brain = self.brain
        return f"{type(self).__name__}({brain.kind}, {brain.nodes} nodes, window {brain.window})"
