"""How good the agents become: trained, validated and tested on three parts of a log.

    python benchmarks/learning.py TRACE --coarsen 16 --out results.csv
    python benchmarks/learning.py --show results.csv

The first 60 % of the jobs are for training, the next 15 % for validation, the last 25 % for the
test, which is run once, at the end. Overrun "kill", a window of 50, EASY backfilling. All waits
are ratios to first come, first served with EASY backfilling on the same jobs. Each agent is
trained once a seed, on one core; `--workers` train side by side. ``rule`` is the best of
random linear rules by validation, tuned on the training and validation parts with as many
simulated jobs as the agent ``best`` took, all told. `--also` names other logs to
try the same agents on. A row a run; `--show` prints medians and ranges.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before NumPy: a run is to have one core

import pandas as pd  # noqa: E402

from dras_lab.agents import Agent  # noqa: E402
from dras_lab.files import write_whole  # noqa: E402
from dras_lab.metrics import summary, wait_ratios  # noqa: E402
from dras_lab.policies import NAMES, fcfs, make_policy  # noqa: E402
from dras_lab.recipes import RECIPES, train_recipe  # noqa: E402
from dras_lab.rules import tune  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402
from dras_lab.traces import Trace, read_swf  # noqa: E402

WINDOW = 50


def read(source: str, coarsen: int) -> Trace:
    """A log, on a machine `coarsen` times smaller."""
    return read_swf(source, extra_columns="ignore").coarsen(coarsen)


def measured(policy: Any, trace: Trace) -> dict[str, Any]:
    """Waits and slowdown of a policy as ratios to FCFS with EASY."""
    result = simulate(trace, policy, window=WINDOW, log=False)
    base = simulate(trace, fcfs, window=WINDOW, log=False)
    mean, longest = wait_ratios(result, base)
    slowdown = "mean_bounded_slowdown"
    return {
        "log": trace.name,
        "jobs": len(trace),
        "mean_wait_ratio": mean,
        "max_wait_ratio": longest,
        "slowdown_ratio": summary(result)[slowdown] / summary(base)[slowdown],
        "utilisation": summary(result)["utilisation"],
    }


def trained(
    name: str, seed: int, parts: list[Trace], others: list[Trace], keep: Path | None
) -> list[dict[str, Any]]:
    """Train one agent with one seed; its row, and one for each other log."""
    import torch

    torch.set_num_threads(1)
    train, validation, test = parts
    begin, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run" if keep is None else keep / f"{name}-{seed}"
        agent, training = train_recipe(name, train, validation, seed=seed, out=out)
    facts = {
        "policy": name,
        "seed": seed,
        "validation_mean": training.best["mean_wait_ratio"],
        "validation_max": training.best["max_wait_ratio"],
        "episode": training.best["episode"],
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "simulated_jobs": simulated(name, agent, train, validation, len(training.log)),
    }
    print(f"{name}, seed {seed}: {facts['cpu_seconds']} s", file=sys.stderr, flush=True)
    return [facts | measured(agent, trace) for trace in (test, *others)]


def simulated(name: str, agent: Agent, train: Trace, validation: Trace, episodes: int) -> int:
    """How many jobs were run through the simulator to train an agent, all told."""
    recipe = RECIPES[name]
    both = len(validation) + len(train)
    judged = both if recipe.both else len(validation)
    return recipe.rules * both + episodes * (agent.update.runs * recipe.jobs + judged)


def tuned(seed: int, parts: list[Trace], others: list[Trace], jobs: int) -> list[dict[str, Any]]:
    """The best linear rule that so many simulated jobs can find."""
    train, validation, test = parts
    trials = max(jobs // (len(train) + len(validation)), 1)
    begin, cpu = time.perf_counter(), time.process_time()
    rule, table = tune([train, validation], trials, seed=seed)
    found = table.loc[table["score"].idxmin()]
    facts = {
        "policy": "rule",
        "seed": seed,
        "validation_mean": found["mean_wait_ratio"],
        "validation_max": found["max_wait_ratio"],
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "simulated_jobs": trials * (len(train) + len(validation)),
    }
    return [facts | measured(rule, trace) for trace in (test, *others)]


def show(table: pd.DataFrame) -> str:
    """Medians, and the range over seeds, as Markdown."""
    lines = [
        "| policy | mean wait | max wait | slowdown | training, s |",
        "|---|---|---|---|---|",
    ]

    def cell(values: pd.Series[float]) -> str:
        if len(values) == 1:
            return f"{values.iloc[0]:.2f}"
        return f"{values.median():.2f} ({values.min():.2f} to {values.max():.2f})"

    for name, rows in table.groupby("policy", sort=False):
        spent = rows["cpu_seconds"].dropna()
        cells = [cell(rows[f"{kind}_ratio"]) for kind in ("mean_wait", "max_wait", "slowdown")]
        lines.append(
            f"| {name} | "
            + " | ".join(cells)
            + f" | {f'{spent.median():.0f}' if len(spent) else ''} |"
        )
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--coarsen", type=int, default=1)
    parser.add_argument("--agents", default=",".join(RECIPES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--also", nargs="*", default=[], metavar="LOG:COARSEN")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the trainings themselves")
    parser.add_argument("--out", default="learning.csv")
    parser.add_argument("--show", metavar="CSV")
    arguments = parser.parse_args()
    if arguments.show or not arguments.trace:
        table = pd.read_csv(arguments.show or arguments.out)
        for log, rows in table.groupby("log", sort=False):
            print(f"\n{log}: {rows['jobs'].iloc[0]} jobs\n\n{show(rows)}")
        return
    whole = read(arguments.trace, arguments.coarsen)
    parts = whole.split(0.6, 0.15, 0.25)
    others = [read(log, int(k or 1)) for log, _, k in (o.partition(":") for o in arguments.also)]
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        seeds = range(arguments.seeds) if name == "random" else [0]
        rows += [
            {"policy": name, "seed": s} | measured(make_policy(name, s), trace)
            for trace in (parts[2], *others)
            for s in seeds
        ]
    jobs = [(n, s) for n in arguments.agents.split(",") for s in range(arguments.seeds)]
    pool = ProcessPoolExecutor(arguments.workers, multiprocessing.get_context("spawn"))
    runs = [pool.submit(trained, name, seed, parts, others, arguments.keep) for name, seed in jobs]
    rows += [row for run in runs for row in run.result()]
    budgets = {row["seed"]: row["simulated_jobs"] for row in rows if row["policy"] == "best"}
    rules = [pool.submit(tuned, seed, parts, others, budget) for seed, budget in budgets.items()]
    rows += [row for run in rules for row in run.result()]
    table = pd.DataFrame(rows).round(4)
    write_whole(arguments.out, table.to_csv(index=False, lineterminator="\n"))
    for log, part in table.groupby("log", sort=False):
        print(f"\n{log}: {part['jobs'].iloc[0]} jobs\n\n{show(part)}")


if __name__ == "__main__":
    main()
