"""PPO with masked actions in one file, in the manner of CleanRL, on the scheduling environment.

    pip install -e ".[gym,agents]"
    python examples/cleanrl_ppo.py [--steps N] [--seed S]

It learns on 500 jobs and is shown on them and on 500 that it has never seen, beside first come,
first served and shortest job first (all with EASY backfilling). One small network scores every
job of the window alike, so what it learns of a job holds wherever the job stands in the queue.

Where this differs from PPO as CleanRL has it: one environment; logits of illegal actions are
minus infinity; a truncated episode is continued in the value of its last state, a terminated
one is not; no clipping of the value loss.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

import dras_lab.env
from dras_lab import Features, Trace, compare, make_policy, read_swf, simulate
from dras_lab.rewards import Capacity


@dataclass(frozen=True)
class Settings:
    """All there is to tune."""

    steps: int = 12_288
    rollout: int = 512  # steps between two updates
    epochs: int = 4
    minibatch: int = 128
    learning_rate: float = 2e-3  # falls linearly to zero
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.005
    value: float = 0.5
    max_norm: float = 0.5
    window: int = 10
    seed: int = 1


class Agent(nn.Module):
    """A score a job, from its features and the machine's; a value from the mean over the jobs."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window, self.jobs = window, len(Features.job_names)
        both = self.jobs + len(Features.machine_names)
        self.actor = nn.Sequential(nn.Linear(both, 32), nn.Tanh(), nn.Linear(32, 1))
        self.critic = nn.Sequential(nn.Linear(both, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, seen: Tensor, mask: Tensor) -> tuple[torch.distributions.Categorical, Tensor]:
        """The choices and the value of each state; `seen` is ``[B, W F + G]``."""
        split = self.window * self.jobs
        jobs = seen[:, :split].reshape(-1, self.window, self.jobs)
        machine = seen[:, split:]
        each = torch.cat((jobs, machine[:, None].expand(-1, self.window, -1)), dim=2)
        logits = self.actor(each)[:, :, 0]
        logits = torch.cat((logits, torch.zeros_like(logits[:, :1])), dim=1)  # and the pass
        logits = logits.masked_fill(~mask, -torch.inf)
        mean = jobs.sum(dim=1) / mask[:, :-1].sum(dim=1, keepdim=True).clamp(min=1)
        value = self.critic(torch.cat((mean, machine), dim=1))[:, 0]
        return torch.distributions.Categorical(logits=logits), value


def make_env(trace: Trace, window: int) -> gymnasium.Env[Any, Any]:
    """The environment: EASY fills the holes, nobody passes, jobs that wait cost by their length."""
    return gymnasium.make(
        dras_lab.env.ID,
        trace=trace,
        window=window,
        backfill_by="easy",
        passing=False,
        reward=Capacity(unit=60.0),
    )


def tensors(seen: np.ndarray, info: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """An observation and its mask, as batches of one."""
    return torch.from_numpy(seen)[None], torch.from_numpy(info["action_mask"])[None].bool()


def advantages(
    rewards: Tensor, values: Tensor, following: Tensor, ended: Tensor, cut: Tensor, own: Settings
) -> Tensor:
    """Generalised advantage estimates (Schulman et al., arXiv 1506.02438), shape ``[T]``.

    `following` is the value of the state that each step led to, of no meaning where the
    episode `ended`; `cut` is where another episode begins, ended or not.
    """
    errors = rewards + own.gamma * following * ~ended - values
    out, carried = torch.zeros_like(errors), torch.zeros(())
    for t in reversed(range(len(errors))):
        carried = errors[t] + own.gamma * own.gae_lambda * carried * ~cut[t]
        out[t] = carried
    return out


def learn(trace: Trace, own: Settings) -> Agent:
    """Train on one trace, again and again."""
    torch.manual_seed(own.seed)
    order = np.random.default_rng(own.seed)
    env, agent = make_env(trace, own.window), Agent(own.window)
    optimizer = torch.optim.Adam(agent.parameters(), lr=own.learning_rate, eps=1e-5)
    seen, mask = tensors(*env.reset(seed=own.seed))
    updates = own.steps // own.rollout
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = own.learning_rate * (1 - update / updates)
        states, masks, rows = [], [], []
        with torch.no_grad():
            for _ in range(own.rollout):
                choice, value = agent(seen, mask)
                action = choice.sample()
                states.append(seen)
                masks.append(mask)
                after, reward, ended, truncated, info = env.step(int(action))
                seen, mask = tensors(after, info)
                following = agent(seen, mask)[1]
                log_p = choice.log_prob(action)
                row = (action, log_p, value, following, reward, ended, ended or truncated)
                rows.append([float(x) for x in row])
                if ended or truncated:
                    seen, mask = tensors(*env.reset())
        state, legal = torch.cat(states), torch.cat(masks)
        action, log_p, value, following, reward, ended, cut = torch.tensor(rows).T
        scale = reward.std() + 1e-8  # rewards of traces differ by orders of magnitude
        gain = advantages(reward / scale, value, following, ended.bool(), cut.bool(), own)
        target = gain + value
        for _ in range(own.epochs):
            for part in np.array_split(
                order.permutation(own.rollout), own.rollout // own.minibatch
            ):
                choice, now = agent(state[part], legal[part])
                ratio = (choice.log_prob(action[part]) - log_p[part]).exp()
                a = gain[part]
                a = (a - a.mean()) / (a.std() + 1e-8)
                surrogate = torch.minimum(ratio * a, ratio.clamp(1 - own.clip, 1 + own.clip) * a)
                loss = (
                    -surrogate.mean()
                    + own.value * (now - target[part]).square().mean()
                    - own.entropy * choice.entropy().mean()
                )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), own.max_norm)
                optimizer.step()
    env.close()
    return agent


@torch.no_grad()
def schedule(agent: Agent, trace: Trace) -> dras_lab.env.Result:
    """What the agent makes of a trace when it takes its likeliest choice."""
    env = make_env(trace, agent.window)
    seen, info = env.reset()
    done = False
    while not done:
        choice, _ = agent(*tensors(seen, info))
        seen, _, ended, truncated, info = env.step(int(choice.probs.argmax()))
        done = ended or truncated
    return env.unwrapped.result("ppo")


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train, and print how the agent compares; the ratios of its mean wait to FCFS's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the network is too small for more
    log = read_swf("theta-like").coarsen(16)
    known, unknown = log[:500], log[1000:1500]
    own = Settings(steps=given.steps, seed=given.seed)
    agent = learn(known, own)
    ratios = {}
    for name, trace in (("trained on", known), ("never seen", unknown)):
        results = {
            rule: simulate(trace, make_policy(rule), window=own.window) for rule in ("fcfs", "sjf")
        }
        table = compare({**results, "ppo": schedule(agent, trace)}, baseline="fcfs")
        columns = ["mean_wait_h", "max_wait_h", "mean_bounded_slowdown", "mean_wait_ratio"]
        print(f"\n{name}: {len(trace)} jobs, {trace.nodes} nodes\n{table[columns].round(2)}")
        ratios[name] = float(table.loc["ppo", "mean_wait_ratio"])
    return ratios


if __name__ == "__main__":
    main()
