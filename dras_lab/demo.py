"""The command ``dras-lab demo``: the main job in small, with a table and figures."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import DEMO_POLICIES
from .jobs import DrasLabError
from .runners import need_torch, parts, run, write
from .screen import format_table, measures, picture, print_json, title

if TYPE_CHECKING:
    import pandas as pd

    from .rules import LinearRule
    from .traces import Trace
    from .training import Training

COARSEN, RULES, EPISODES, SEED, TAU = 16, 40, 12, 0, 10.0


def demo(arguments: argparse.Namespace) -> None:
    """Train a small agent and compare it with heuristics on jobs it has not seen."""
    from .metrics import compare
    from .policies import make_policy
    from .traces import read_swf, shipped

    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DrasLabError(
            f"{folder}: cannot be made ({error.strerror}); name another with --out"
        ) from error
    trace = read_swf(shipped()["theta-like"])  # whatever lies in this folder by that name
    policies: dict[str, Any] = {"fcfs": make_policy("fcfs")}
    files: dict[str | os.PathLike[str], str | bytes] = {}
    missing, learnt = "", None
    try:
        need_torch()
    except DrasLabError as error:
        missing = str(error)
    if not missing:
        part = parts(trace.coarsen(COARSEN))
        rule, agent, training = _trained(part["train"], part["validation"])
        learnt = str(agent.name)
        policies |= {learnt: agent, "rule": rule}
        files[folder / "learning-curve.png"] = _curve(training.log)
        trace = part["test"]
    policies |= {name: make_policy(name, SEED) for name in DEMO_POLICIES.split(",")}
    _say(f"Replaying {len(trace)} jobs of {trace.name} on {trace.nodes} nodes under ...")
    results = {}
    for name, policy in policies.items():
        _say(f"  {name}")
        results[name] = run(trace, name, policy, {"window": 50})
    table = compare(results, baseline="fcfs")
    heading = title(trace, results["fcfs"])
    files[folder / "policies.png"] = picture(table, heading, "policies.png")
    files[folder / "table.csv"] = table.to_csv(lineterminator="\n")
    write(files)
    if arguments.json:
        print_json([measures(result, trace, TAU) for result in results.values()])
    else:
        print(f"\n{heading}\n{format_table(table, TAU)}\n")
        print(_seen(table, learnt))
        names = ", ".join(Path(path).name for path in files)
        print(f"\nWritten to {folder}: {names}")
    if missing:
        _say(f"No agent: {missing}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _trained(jobs: Trace, validation: Trace) -> tuple[LinearRule, Any, Training]:
    """An agent that begins with the best of some rules, and has learnt for a minute."""
    from .agents import make_agent
    from .priors import prior_of
    from .rules import tune
    from .training import even_plan, train

    _say(f"Trying {RULES} linear rules on the first {len(jobs)} jobs of theta-like ...")
    rule, _ = tune([jobs], RULES, seed=SEED, powers=(1, 2))
    agent = make_agent(
        "pg",
        jobs.nodes,
        50,
        network="scorer",
        reward="waits",
        seed=SEED,
        prior=prior_of(rule, jobs.nodes),
    )
    _say(f"Training an agent that begins with the best of them, for {EPISODES} episodes ...")
    training = train(
        agent,
        jobs,
        validation,
        even_plan(EPISODES, jobs=1500, seed=SEED),
        callback=lambda row: _say(
            f"  {row['episode']:>2} {row['phase']:<9}  on {len(validation)} other jobs: mean wait "
            f"{row['mean_wait_ratio']:.2f} of fcfs, longest {row['max_wait_ratio']:.2f}"
        ),
    )
    if training.why == "interrupted":
        raise KeyboardInterrupt
    return rule, agent, training


def _curve(log: pd.DataFrame) -> bytes:
    """Mean and longest wait on the validation jobs, by episode."""
    from matplotlib.figure import Figure

    from .curves import learning_curve
    from .plotting import as_bytes, use_style

    with use_style():
        figure = Figure(figsize=(9.0, 6.0), layout="constrained")
        upper, lower = figure.subplots(2, sharex=True)
        learning_curve(log, "mean_wait_ratio", ax=upper)
        learning_curve(log.drop(columns="phase"), "max_wait_ratio", ax=lower)
        upper.set(xlabel="", ylim=(0, 1.1 * max(1.0, log["mean_wait_ratio"].max())))
        lower.set_ylim(0, 1.1 * max(1.0, log["max_wait_ratio"].max()))
        figure.suptitle("Training on theta-like: validation after each episode (baseline: fcfs)")
    return as_bytes(figure, "png")


def _seen(table: pd.DataFrame, agent: str | None) -> str:
    """What the table says, in a few lines."""
    heuristics = table.drop(index=[name for name in (agent, "rule") if name in table.index])
    best = heuristics.sort_values("mean_wait_h").iloc[0]
    text = (
        f"{best.name} has the shortest mean wait of the heuristics ({best['mean_wait_ratio']:.2f} "
        f"of fcfs), and its\nlongest wait is {best['max_wait_ratio']:.2f} times that of fcfs: a "
        "mean alone does not tell who was left waiting."
    )
    if agent is None:
        return text
    mean, longest = dict(table["mean_wait_ratio"]), dict(table["max_wait_ratio"])
    return text + (
        f"\n{agent} is the agent. It has seen none of these jobs: mean {mean[agent]:.2f} of fcfs, "
        f"longest {longest[agent]:.2f}.\nrule is the best of {RULES} linear rules, which it began "
        f"with: mean {mean['rule']:.2f}, longest {longest['rule']:.2f}."
    )
