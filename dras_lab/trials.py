"""One run of an experiment, from its config to its result, in a folder of its own.

The same code runs on one machine and on many: it needs the run and the name of a folder, and
nothing of who called it. What it leaves:

``config.json``    what is run (the seed is in it)
``versions.json``  with what, where, how long it took, and how much memory
``training/``      where something is trained: ``log.csv``, ``best.pt``, ``config.json``
``schedule.csv``   a row a job
``result.json``    the measures; written last, so a run that has one is finished
``error.txt``      in its place, why the last attempt failed
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
import traceback
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .experiments import Run, plan_of, update_of
from .files import write_all, write_whole
from .jobs import DrasLabError
from .runners import drivers, fit, need_torch, parts

if TYPE_CHECKING:
    from .traces import Trace

CONFIG, VERSIONS, RESULT, ERROR = "config.json", "versions.json", "result.json", "error.txt"
STARTED = "started"  # is there while a run is worked on: by which process


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `error` is None, or one line."""

    name: str
    error: str | None = None


def attempt(run: Run, out: str) -> Outcome:
    """Do a run in its folder below `out`, whatever happens to it; a finished one is left alone."""
    folder = Path(out, run.name)
    try:
        if result_of(run, out) is None:
            perform(run, folder)
        return Outcome(run.name)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        one = lines[0] if isinstance(error, DrasLabError) else f"{type(error).__name__}: {lines[0]}"
        try:
            write_whole(folder / ERROR, f"{one}\n\n{traceback.format_exc()}")
            (folder / STARTED).unlink(missing_ok=True)
        except (DrasLabError, OSError):
            pass  # the disk is full, or there is no folder: the line is all there is
        return Outcome(run.name, one)


def result_of(run: Run, out: str | Path) -> dict[str, Any] | None:
    """The result of a finished run; None for one that is not, or was another."""
    found = _read(Path(out, run.name, RESULT))
    return found if found is not None and found.get("config") == run.config else None


def perform(run: Run, folder: Path) -> dict[str, Any]:
    """Do a run; a training that was broken off here goes on where it was.

    Returns
    -------
    dict
        What is in ``result.json``: ``config``, ``trace_digest``, ``measures`` (those of
        `metrics.summary`), and for what was trained ``training``. It is the same on every
        machine that computes the same; what is not is in ``versions.json``.

    Raises
    ------
    DrasLabError
        If the log cannot be read, the agent not be had, or the folder not be written to.
    KeyboardInterrupt
        If it is broken off.
    """
    from .metrics import summary
    from .simulator import simulate

    begin = time.perf_counter()
    config = run.config
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ERROR).unlink(missing_ok=True)
        (folder / STARTED).write_text(str(os.getpid()), encoding="utf-8")
    except OSError as error:
        raise DrasLabError(f"{folder}: cannot be made ({error.strerror})") from error
    versions = _versions()
    before = _read(folder / VERSIONS) or {}
    same = _read(folder / CONFIG) == config and before.get("packages") == versions["packages"]
    about: dict[Any, Any] = {folder / CONFIG: _json(config), folder / VERSIONS: _json(versions)}
    write_all(about)

    whole, measured, learnt_from = _logs(run)
    options = {k: v for k, v in config["simulation"].items() if k != "tau"}
    if options["window"] == "all":
        options["window"] = None
    found: dict[str, Any] = {"config": config, "trace_digest": whole.digest()}
    if config["kind"] == "policy":
        words = argparse.Namespace(
            nodes=config["log"]["nodes"],
            coarsen=config["log"]["coarsen"],
            window=options["window"],
            seed=config["seed"],
        )
        name = config["name"]
        (driver,) = drivers([run.located(name) if name.endswith(".pt") else name], words)
        fit(driver, whole, words)
        policy = driver.policy
    else:
        policy, found["training"] = _trained(run, folder / "training", same, learnt_from, options)
    result = simulate(measured, policy, log=False, **options)
    result.policy = config["name"]
    if not result.ran.any():
        raise DrasLabError(
            f"{measured.name}: all {len(measured)} jobs are wider than the machine of "
            f"{result.nodes} nodes"
        )
    found["measures"] = summary(result, config["simulation"]["tau"])
    versions["seconds"] = round(time.perf_counter() - begin, 2)
    versions["peak_memory_mb"] = _peak_memory()
    files: dict[Any, str | bytes] = {folder / VERSIONS: _json(versions)}
    if config["schedule"]:
        files[folder / "schedule.csv"] = result.csv()
    write_all(files)
    write_whole(folder / RESULT, _json(found))
    # What only going on needed: a checkpoint an episode is 175 MB for a machine like Theta.
    for old in (*(folder / "training").glob("episode-*.pt"), folder / "training" / "state.pt"):
        old.unlink(missing_ok=True)
    (folder / STARTED).unlink(missing_ok=True)
    return found


def _logs(run: Run) -> tuple[Trace, Trace, dict[str, Trace]]:
    """The whole log as it is wanted, the part that is measured, and its parts."""
    from .traces import read_swf

    log = run.config["log"]
    trace = read_swf(run.located(run.config["trace"]), extra_columns=log["extra_columns"])
    if log["jobs"] is not None:
        trace = trace[: log["jobs"]]
    if log["coarsen"] != 1:
        trace = trace.coarsen(log["coarsen"])
    if log["nodes"] is not None:
        trace = replace(trace, nodes=log["nodes"])
    if log["part"] == "all":
        return trace, trace, {}
    pieces = parts(trace)
    return trace, pieces[log["part"]], pieces


def _trained(
    run: Run, folder: Path, same: bool, pieces: dict[str, Trace], options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """A trained agent, and how its training went."""
    need_torch()
    from .agents import make_agent
    from .recipes import train_recipe
    from .runs import STATE
    from .training import train

    config = run.config
    training, seed = config["training"], config["seed"]
    resume = same and (folder / STATE).exists()
    rest = {k: v for k, v in options.items() if k != "window"}
    rest |= {"out": folder, "resume": resume, "force": not resume}
    board = None
    if training.get("tensorboard"):
        from .scalars import TensorBoard

        rest["callback"] = board = TensorBoard(folder / "tensorboard")
    try:
        if config["kind"] == "recipe":
            agent, done = train_recipe(
                config["name"],
                pieces["train"],
                pieces["validation"],
                seed=seed,
                window=options["window"],
                **rest,
            )
        else:
            agent = make_agent(
                config["name"],
                pieces["train"].nodes,
                options["window"],
                network=training.get("network", "dras"),
                reward=config["reward"],
                update=update_of(training),
                seed=seed,
            )
            plan = plan_of(training, seed)
            about = {"seed": seed}
            done = train(agent, pieces["train"], pieces["validation"], plan, about=about, **rest)
    finally:
        if board is not None:
            board.close()
    if done.why == "interrupted":  # training keeps what it has, but this run is not finished
        raise KeyboardInterrupt
    best = {k: v for k, v in done.best.items() if k != "seconds"}
    return agent, {"episodes": len(done.log), "why": done.why, "best": _finite(best)}


# -- files ------------------------------------------------------------------------------------


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers for JSON, which has no NaN and no NumPy numbers."""
    plain = {k: v.item() if hasattr(v, "item") else v for k, v in row.items()}
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v
            for k, v in plain.items()}  # fmt: skip


def _versions() -> dict[str, Any]:
    packages = {"dras-lab": __version__, "python": platform.python_version()}
    for name in ("numpy", "pandas", "torch"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "none"
    return {"packages": packages, "machine": platform.machine(), "host": platform.node()}


def _peak_memory() -> float | None:
    """Most memory that this process has had so far, in MB; None where nobody counts it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
