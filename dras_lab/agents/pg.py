"""DRAS-PG: learn which choice to make, by policy gradient (REINFORCE).

The network gives each job of the window a logit; a softmax over them is the policy, pi. A
choice `a` in state `s` that turned out better than expected is made likelier:

    gradient of  J  =  mean over decisions of  A_k * grad log pi(a_k | s_k)
    A_k = (G_k - b_k) / std,     G_k = r_k + gamma * G_(k+1)

(Williams 1992; DRAS, Fan et al., arXiv 2102.06243, in the authors' code and our reading.) The
published update learns every ten scheduling instances with `b` the mean of the stretch. Ours
learns from several runs of the same jobs, `b_k` being what the others earned from that moment
on (`experience.less_the_others`), and takes several steps, held back as in PPO (Schulman et
al. 2017): ``min(q * A, clip(q, 1 - c, 1 + c) * A)`` with `q` the new probability over the old.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..decisions import Decision
from ..networks import LEVELS, masked
from ..rewards import Reward, earned, make_reward
from ..twins import softmax
from .brains import Brain
from .experience import (
    BoolArray,
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


class DrasPG:
    """DRAS-PG, a policy that also learns.

    It is called with a decision and returns an index, as every policy. While it does not learn
    it picks the likeliest job; while it learns it draws one from its probabilities.

    Parameters
    ----------
    brain : Brain
        Its networks, with one logit a job.
    reward : str or callable
    update : Update
    seed : int
        Of the choices drawn while learning.

    Attributes
    ----------
    learning : bool
        Whether it learns from what it does now.
    """

    kind = "pg"
    name = "dras-pg"

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
        self._memory = Memory()
        self._runs: list[Memory] = []  # finished runs of the same jobs
        self._instances, self._time = 0, -1
        self._figures: list[dict[str, float]] = []

    # -- choosing -------------------------------------------------------------------------

    def __call__(self, decision: Decision) -> int | None:
        """The index of a job; None only where `allowed` leaves none."""
        if self.learning and decision.time != self._time:
            self._next_instance(decision.time)
        allowed = self.allowed(decision)
        count = len(decision.rows)
        if allowed is not None and not allowed.any():
            return None
        if count == 1:
            if self.learning:
                reward = earned(self.reward, decision, 0)
                self._memory.add(decision.level, None, None, 0, 0.0, reward, decision.time)
            return 0
        seen = self.brain.see(decision)
        logits = self.brain.ask(decision.level, seen, count)
        if allowed is not None:
            logits = np.where(allowed, logits, -np.inf)
        p = softmax(logits)
        decision.scores = p  # type: ignore[assignment]
        if not self.learning:
            return int(p.argmax())
        # By the sum as it is, which rounding may have left under 1: a draw past it would be the
        # last choice's, even of no probability.
        sums = p.cumsum()
        drawn = int(sums.searchsorted(self.rng.random() * sums[-1], side="right"))
        index = min(drawn, count - 1)  # of weights that are no numbers: learning will say so
        mask = np.zeros(self.brain.window, dtype=np.bool_)
        mask[:count] = True if allowed is None else allowed
        reward = earned(self.reward, decision, index)
        log_p = math.log(max(p[index], 1e-30))
        self._memory.add(decision.level, seen, mask, index, log_p, reward, decision.time)
        return index

    def allowed(self, decision: Decision) -> BoolArray | None:
        """Which candidates may be chosen, shape ``[candidates]``; None for all."""
        return None

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

    def advantages(self, runs: list[Memory]) -> FloatArray:
        """How much better each choice was than expected, all runs in one array."""
        update = self.update
        if update.horizon is None:
            worth = [returns(run.rewards, update.gamma) for run in runs]
        else:
            worth = [worth_by_the_hour(run, update.horizon, self.rate) for run in runs]
        if len(runs) > 1:
            worth = less_the_others(runs, worth, update.horizon, self.rate)
        return standardised(np.concatenate(worth))

    def _learn(self, runs: list[Memory]) -> None:
        """Some steps of the optimiser. Where there was one choice only, nothing is learnt."""
        advantages = self.advantages(runs)
        memory = joined(runs)
        rewards = float(np.sum(memory.rewards)) / len(runs)
        self._figures.append({"reward": rewards, "decisions": float(len(memory))})
        there = [k for k, seen in enumerate(memory.seen) if seen is not None]
        if not there:
            return
        for _ in range(self.update.epochs):
            order = self.rng.permutation(there)
            for chunk in np.array_split(order, math.ceil(len(order) / self.update.batch)):
                loss, entropy = self._loss(memory, chunk, advantages[chunk])
                take_step(self.optimiser, self.parameters, loss, self.update.max_norm)
                self._figures.append({"loss": float(loss.detach()), "entropy": entropy})

    def _loss(
        self, memory: Memory, chunk: np.ndarray[Any, Any], advantages: FloatArray
    ) -> tuple[Tensor, float]:
        """Minus the objective at the head of this file, and the policy's mean entropy."""
        terms, entropies = [], []
        for level in LEVELS:
            here = [i for i, k in enumerate(chunk) if memory.levels[k] == level]
            if not here:
                continue
            rows = [int(k) for k in chunk[here]]
            seen, mask = memory.part(rows)
            logits = masked(self.brain.batch(level, seen, mask), mask)
            log_pi = torch.log_softmax(logits, -1)
            chosen = torch.tensor([memory.chosen[k] for k in rows])
            before = torch.tensor([memory.note[k] for k in rows])
            gain = torch.from_numpy(advantages[here].astype(np.float32))
            ratio = (log_pi.gather(1, chosen[:, None]).squeeze(1) - before).exp()
            held = ratio.clamp(1 - self.update.clip, 1 + self.update.clip)
            terms.append(torch.minimum(ratio * gain, held * gain))
            entropies.append(-(log_pi.exp() * log_pi).sum(-1))
        entropy = torch.cat(entropies).mean()
        loss = -torch.cat(terms).mean() - self.update.entropy * entropy
        return loss, float(entropy.detach())

    # -- keeping --------------------------------------------------------------------------

    def figures(self) -> dict[str, float]:
        """Decisions and reward (of one run), means of loss and entropy, since last asked."""
        return tally(self._figures, ("loss", "entropy"))

    def anneal(self, done: float) -> None:
        """Lower the learning rate in a straight line; `done` is the share of training done."""
        if self.update.anneal:
            rate = self.update.learning_rate * max(1 - done, 0.05)
            for group in self.optimiser.param_groups:
                group["lr"] = rate

    def learned(self) -> None:
        """Past its first learning: nothing changes, since it draws from what it has learnt."""

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
        return {"optimiser": self.optimiser.state_dict(), "rng": rng_state(self.rng)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a `state`."""
        self.optimiser.load_state_dict(state["optimiser"])
        self.rng = rng_from(state["rng"])
        self.forget()

    def __repr__(self) -> str:
        brain = self.brain
        return f"{type(self).__name__}({brain.kind}, {brain.nodes} nodes, window {brain.window})"
