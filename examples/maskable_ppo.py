"""MaskablePPO of sb3-contrib on the scheduling environment, in a page.

    pip install -e ".[gym,examples]"
    python examples/maskable_ppo.py [--steps N] [--seed S]

It learns on 500 jobs and is shown on them beside first come, first served and shortest job
first (all with EASY backfilling). Its network sees the whole window as one vector, and has to
learn for each place in the queue anew what a good job is; examples/cleanrl_ppo.py shares one
network over the places instead.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import dras_lab.env
from dras_lab import Decision, Trace, compare, make_policy, read_swf, simulate
from dras_lab.jobs import Level
from dras_lab.observations import Compact
from dras_lab.rewards import Capacity

WINDOW = 10
GAMMA = 0.95


def make_env(trace: Trace) -> gymnasium.Env[Any, Any]:
    """The environment: EASY fills the holes, nobody passes, jobs that wait cost by their length."""
    return gymnasium.make(
        dras_lab.env.ID,
        trace=trace,
        window=WINDOW,
        backfill_by="easy",
        passing=False,
        reward=Capacity(unit=60.0),
    )


def learn(trace: Trace, steps: int, seed: int) -> MaskablePPO:
    """Train on one trace, again and again; the masks are found by `action_masks`."""
    torch.set_num_threads(1)  # the network is too small for more
    # Rewards of traces differ by orders of magnitude.
    env = VecNormalize(DummyVecEnv([lambda: make_env(trace)]), norm_obs=False, gamma=GAMMA)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=512,
        batch_size=128,
        n_epochs=4,
        gamma=GAMMA,
        learning_rate=lambda left: 3e-3 * left,
        ent_coef=0.005,
        seed=seed,
        device="cpu",
    )
    return model.learn(steps)


def as_policy(model: MaskablePPO, trace: Trace) -> Any:
    """The model as a policy of dras_lab, for `simulate`, `compare` and the figures."""
    see = Compact(trace.nodes, WINDOW)

    def ppo(decision: Decision) -> int:
        if decision.level is Level.BACKFILL:
            return 0
        legal = [k < len(decision.candidates) for k in range(WINDOW + 1)]
        action, _ = model.predict(see(decision), action_masks=legal, deterministic=True)
        return int(action)

    return ppo


def main(arguments: list[str] | None = None) -> float:
    """Train, and print how the model compares; the ratio of its mean wait to FCFS's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=12_288)
    parser.add_argument("--seed", type=int, default=1)
    own = parser.parse_args(arguments)
    trace = read_swf("theta-like").coarsen(16)[:500]
    model = learn(trace, own.steps, own.seed)
    policies = {"fcfs": make_policy("fcfs"), "sjf": make_policy("sjf")}
    policies["ppo"] = as_policy(model, trace)
    results = {name: simulate(trace, policies[name], window=WINDOW) for name in policies}
    table = compare(results, baseline="fcfs")
    columns = ["mean_wait_h", "max_wait_h", "mean_bounded_slowdown", "mean_wait_ratio"]
    print(f"{len(trace)} jobs, {trace.nodes} nodes\n{table[columns].round(2)}")
    return float(table.loc["ppo", "mean_wait_ratio"])


if __name__ == "__main__":
    main()
