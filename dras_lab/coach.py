"""The command ``dras-lab train``: an agent from a log, in a folder."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .jobs import DrasLabError
from .runners import folder_for, need_torch, parts, prepared
from .scalars import TensorBoard
from .screen import columns_of, print_json

if TYPE_CHECKING:
    from .recipes import Recipe
    from .rules import LinearRule
    from .traces import Trace
    from .training import Training

RULES = 60  # linear rules that a scorer's prior is the best of
EPISODES = 40
_SHARES = {"sampled": 1, "real": 2, "synthetic": 1}


def train(arguments: argparse.Namespace) -> int:
    """Train an agent as the arguments say; 0, or 130 after Ctrl-C."""
    recipe = _recipe(arguments)
    from .recipes import plan_of

    plan = plan_of(recipe, arguments.seed)
    folder = _free(arguments)
    board = TensorBoard(folder / "tensorboard") if arguments.tensorboard else None
    trace = prepared(arguments)
    if arguments.nodes is not None:
        trace = replace(trace, nodes=arguments.nodes)
    part = parts(trace)
    jobs = part["train"]
    if len(jobs) < plan.jobs:
        raise DrasLabError(
            f"{trace.name}: its first 60 % are {len(jobs)} jobs, fewer than a job set of "
            f"{plan.jobs}; give --set-jobs a smaller number"
        )
    said = shlex.join(word for word in arguments.words if word not in ("--force", "--resume"))
    finished: list[int] = []
    try:
        rule = _rule(recipe, jobs, part["validation"], folder, arguments)
        words = (folder, arguments, finished, board)
        training = _train(recipe, jobs, part["validation"], rule, *words)
    except KeyboardInterrupt:
        print(
            f"dras-lab: interrupted before an episode ended; {folder} holds nothing new",
            file=sys.stderr,
        )
        return 130
    except DrasLabError as error:
        if not finished:
            raise
        what = f"{len(finished)} finished episodes stay in {folder}"
        raise DrasLabError(f"{error} ({what})") from error
    finally:
        if board is not None:
            board.close()
    _report(training, trace, folder, arguments)
    if training.why != "interrupted":
        return 0
    print(
        f"dras-lab: interrupted; {len(training.log)} of {plan.episodes} episodes are kept; "
        f"go on with: dras-lab {said} --resume",
        file=sys.stderr,
    )
    return 130


def _recipe(arguments: argparse.Namespace) -> Recipe:
    """How to train: by the recipe that is named and what else is said, or by what is said alone."""
    need_torch()
    from .recipes import Recipe, find
    from .training import shared_out

    given = {name: value for name, value in vars(arguments).items() if value is not None}
    numbers = {"jobs": "set_jobs"} | {n: n for n in ("load", "limit", "patience", "rules")}
    changes = {field: given[name] for field, name in numbers.items() if name in given}
    if arguments.recipe is not None:
        twice = [n for n in ("agent", "network", "reward", "update", "phases") if n in given]
        if twice:
            raise DrasLabError(f"--{twice[0]}: the recipe has its own; leave out one of them")
        recipe = find(arguments.recipe)
        shares = dict(recipe.phases)
    else:
        scorer = given.get("network") == "scorer"
        recipe = Recipe(
            about="as said",
            agent=given.get("agent", "pg"),
            network=given.get("network", "dras"),
            reward=given.get("reward", "capability"),
            settings=given.get("update", "ours"),
            jobs=1500,
            rules=RULES if scorer else 0,
            powers=(1, 2),
        )
        shares = _shares(given.get("phases", "sampled,real,synthetic"))
    recipe = replace(recipe, **changes)
    if recipe.rules and recipe.network != "scorer":
        raise DrasLabError("--rules: only --network scorer can begin with a rule")
    if arguments.recipe is None or arguments.episodes is not None:
        recipe = replace(recipe, phases=shared_out(given.get("episodes", EPISODES), shares))
    return recipe


def _shares(phases: str) -> dict[str, int]:
    """Which kinds of job sets, in the order wanted, and their shares as in `even_plan`."""
    names = [name.strip() for name in phases.split(",") if name.strip()]
    unknown = [name for name in names if name not in _SHARES]
    if unknown or not names or len(set(names)) < len(names):
        what = f"there is no {unknown[0]!r}; " if unknown else ""
        raise DrasLabError(f"--phases: {what}name some of {', '.join(_SHARES)}, each once")
    return {name: _SHARES[name] for name in names}


def _free(arguments: argparse.Namespace) -> Path:
    """The folder, if it holds what it should; said before minutes are spent on a rule."""
    from .runs import check_folder

    folder = folder_for(arguments.out)
    if arguments.resume and arguments.force:
        raise DrasLabError("--resume goes on and --force starts anew; give one of them")
    check_folder(folder, arguments.resume, arguments.force)
    return folder


def _rule(
    recipe: Recipe, jobs: Trace, validation: Trace, folder: Path, arguments: argparse.Namespace
) -> LinearRule | None:
    """The linear rule that a scorer begins with; when training goes on, the one it began with."""
    from .recipes import rule_for
    from .rules import LinearRule
    from .runs import CONFIG

    if not recipe.rules:
        return None
    if arguments.resume:
        try:
            text = (folder / CONFIG).read_text(encoding="utf-8")
            return LinearRule(**json.loads(text)["about"]["rule"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DrasLabError(
                f"{folder / CONFIG}: does not say which rule the agent began with, or is damaged; "
                "give the same arguments, or start anew with --force"
            ) from error
    print(f"trying {recipe.rules} linear rules to begin with ...", file=sys.stderr)
    return rule_for(recipe, jobs, validation, seed=arguments.seed, window=arguments.window)


def _train(
    recipe: Recipe,
    jobs: Trace,
    validation: Trace,
    rule: LinearRule | None,
    folder: Path,
    arguments: argparse.Namespace,
    finished: list[int],
    board: TensorBoard | None,
) -> Training:
    from . import training
    from .recipes import agent_of, plan_of

    plan = plan_of(recipe, arguments.seed)
    try:
        agent = agent_of(
            recipe, jobs.nodes, seed=arguments.seed, window=arguments.window, rule=rule
        )
    except (MemoryError, RuntimeError) as error:
        raise DrasLabError(
            f"there is no memory for a network of {jobs.nodes} nodes and a window of "
            f"{arguments.window}; give --coarsen, or a smaller --window"
        ) from error
    terminal = sys.stderr is not None and sys.stderr.isatty()

    def say(row: dict[str, Any]) -> None:
        finished.append(row["episode"])
        if board is not None:
            board(row)
        if terminal:
            return
        print(
            f"episode {row['episode']} of {plan.episodes}, {row['phase']}: "
            f"mean {row['mean_wait_ratio']:.2f} max {row['max_wait_ratio']:.2f} of fcfs",
            file=sys.stderr,
            flush=True,
        )

    return training.train(
        agent,
        jobs,
        [validation, jobs] if recipe.both else [validation],
        plan,
        out=folder,
        resume=arguments.resume,
        force=arguments.force,
        progress=terminal,
        callback=say,
        about={
            "seed": arguments.seed,
            "recipe": arguments.recipe,
            "rules": recipe.rules,
            "rule": None if rule is None else asdict(rule),
        },
    )


def _report(training: Training, trace: Trace, folder: Path, arguments: argparse.Namespace) -> None:
    """The best episode and the last, the files, and how to test on jobs never seen."""
    ends = {"train": 0, "validation": 0, "test": 0}
    seen = 0
    for name, part in parts(trace).items():
        seen += len(part)
        ends[name] = seen
    same = [f"--{name} {value}" for name in ("nodes", "jobs") if (value := vars(arguments)[name])]
    same += [f"--coarsen {arguments.coarsen}"] * (arguments.coarsen != 1)
    same += [f"--window {arguments.window}"] * (arguments.window != 50)
    same += ["--extra-columns ignore"] * (arguments.extra_columns == "ignore")
    names = shlex.quote(f"fcfs,sjf,wfp3,{folder / 'best.pt'}")
    what = " ".join([shlex.quote(arguments.trace), *same])
    test = f"dras-lab compare {what} --part test --policies {names}"
    last = training.log.to_dict("records")[-1]
    files = ["best.pt", "log.csv", "config.json", "state.pt"]
    files += sorted(path.name for path in folder.glob("episode-*.pt"))
    if arguments.json:
        print_json(
            {
                "folder": str(folder),
                "files": files,
                "why": training.why,
                "episodes": len(training.log),
                "best": _plain(training.best),
                "last": _plain(last),
                "test": test,
            }
        )
        return
    print(
        f"{trace.name}: trained on jobs 1 to {ends['train']}, validated on the next "
        f"{ends['validation'] - ends['train']}; the last {len(trace) - ends['validation']} were "
        "not touched"
    )
    rows = [["validation", "episode", "phase", "mean wait", "max", "mean/fcfs", "max/fcfs"]]
    for name, row in (("best", training.best), ("last", last)):
        cells = (f"{row['mean_wait_h']:.2f}", f"{row['max_wait_h']:.1f}")
        ratios = (f"{row['mean_wait_ratio']:.2f}", f"{row['max_wait_ratio']:.2f}")
        rows.append([name, str(row["episode"]), str(row["phase"]), *cells, *ratios])
    print(columns_of(rows))
    print(f"(waits in hours; {training.why} after {len(training.log)} episodes)\n")
    print(f"written to {folder}: best.pt (the agent), log.csv (a row an episode), a checkpoint an")
    print("episode, config.json (what was trained on what), state.pt (for --resume)")
    print(f"test it on the jobs not touched:\n  {test}")


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row for JSON, which has no NaN and no NumPy numbers."""
    values = {k: v.item() if hasattr(v, "item") else v for k, v in row.items()}
    return {
        k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()
    }
