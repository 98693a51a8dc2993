"""A sweep: the runs of an experiment in one folder, those that are not there yet, and a table.

The folder has a folder a run (see `trials`), ``sweep.json`` (which runs there are),
``runs.csv`` (a row a run) and ``table.csv`` (a row a measure of runs that differ in their seed).
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .crews import cluster, processes, serial
from .experiments import Experiment, Run
from .files import write_all, write_whole
from .jobs import DrasLabError
from .runners import folder_for
from .spreads import spread
from .traces import shipped
from .trials import Outcome, result_of

SWEEP, RUNS, TABLE, LOCK = "sweep.json", "runs.csv", "table.csv", "lock"
GROUP = ("trace", "kind", "policy", "reward")
MEASURES = (
    *("mean_wait_h", "median_wait_h", "max_wait_h", "mean_wait_ratio", "max_wait_ratio"),
    *("mean_bounded_slowdown", "utilisation", "makespan_d"),
)
_VISIBLE = 5.0  # seconds that a shared file system has to show a file written elsewhere
Say = Callable[[str], object]


@dataclass(frozen=True)
class Sweep:
    """What came of a sweep.

    Attributes
    ----------
    runs : DataFrame
        A row a finished run: ``run``, ``trace``, ``kind``, ``policy``, ``reward``, ``seed``,
        ``jobs``, ``refused``, and the columns of `metrics.compare`; ratios where the grid has
        ``fcfs``.
    table : DataFrame
        `spreads.spread` of it by trace, kind, policy and reward.
    failed : dict
        Why, by the name of the run.
    skipped : int
        Runs that were finished before.
    """

    runs: pd.DataFrame
    table: pd.DataFrame
    failed: dict[str, str]
    skipped: int


def sweep(
    experiment: Experiment,
    out: str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    say: Say | None = None,
) -> Sweep:
    """Do the runs of an experiment that are not finished in a folder yet.

    Parameters
    ----------
    experiment : Experiment
    out : path
        The folder. It may hold a part of this sweep, or one with fewer runs.
    workers : int
        Processes on this machine; 1 is this one.
    scheduler : str, optional
        Address of a Dask scheduler instead. All its workers must see `out` and the logs under
        the same names.
    say : callable, optional
        Called with a line of text when a run has ended.

    Raises
    ------
    DrasLabError
        If a log does not exist, another sweep runs in the folder or another's runs are there,
        it cannot be written to, or no scheduler answers. A run that fails raises nothing: it is
        in `failed`, and done again the next time.
    KeyboardInterrupt
        If it is broken off; finished runs are kept.
    """
    if workers < 1:
        raise DrasLabError(f"workers: {workers} cannot be; give 1 or more")
    if scheduler is not None and workers != 1:
        raise DrasLabError("give --workers or --scheduler, not both")
    runs = experiment.runs()
    _need_logs(runs)
    folder = folder_for(str(out)).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DrasLabError(f"{folder}: cannot be made ({error.strerror})") from error
    with _alone(folder):
        _claim(folder, runs)
        todo = [run for run in runs if result_of(run, folder) is None]
        failed: dict[str, str] = {}
        if todo:
            outcomes = (
                cluster(todo, folder, scheduler)
                if scheduler is not None
                else serial(todo, folder)
                if workers == 1
                else processes(todo, folder, min(workers, len(todo)))
            )
            failed = _follow(outcomes, todo, folder, say)
        table = _rows(runs, folder)
        spreads = spread(table, GROUP, [m for m in MEASURES if m in table]) if len(table) else table
        write_all(
            {
                folder / RUNS: table.to_csv(index=False, lineterminator="\n"),
                folder / TABLE: spreads.to_csv(index=False, lineterminator="\n"),
            }
        )
    return Sweep(table, spreads, failed, len(runs) - len(todo))


def _need_logs(runs: Sequence[Run]) -> None:
    for run in runs:
        name = run.config["trace"]
        if run.located(name) == name and name not in shipped():
            raise DrasLabError(
                f"traces: {name!r}: no such file, and no shipped log of that name "
                f"(shipped: {', '.join(sorted(shipped()))})"
            )


def _follow(
    outcomes: Iterator[Outcome], runs: Sequence[Run], folder: Path, say: Say | None
) -> dict[str, str]:
    """Wait for the outcomes; why runs failed, by their names."""
    by_name = {run.name: run for run in runs}
    failed: dict[str, str] = {}
    for count, outcome in enumerate(outcomes, 1):
        error = outcome.error
        if error is None:
            end = time.monotonic() + _VISIBLE
            while result_of(by_name[outcome.name], folder) is None:
                if time.monotonic() > end:
                    error = (
                        f"its result cannot be seen in {folder}; the folder must be one that this "
                        "machine and all workers share"
                    )
                    break
                time.sleep(0.2)
        if error is not None:
            failed[outcome.name] = error
        if say is not None:
            say(f"{count} of {len(runs)}: {outcome.name}" + (f": {error}" if error else ""))
    return failed


def _rows(runs: Sequence[Run], folder: Path) -> pd.DataFrame:
    """A row a finished run, in the order of the grid.

    Raises
    ------
    DrasLabError
        If a log has changed between two runs.
    """
    rows: list[dict[str, Any]] = []
    digests: dict[str, tuple[str, str]] = {}
    baselines: dict[str, dict[str, Any]] = {}
    for run in runs:
        result = result_of(run, folder)
        if result is None:
            continue
        config, found = run.config, result["measures"]
        first, digest = digests.setdefault(config["trace"], (run.name, result["trace_digest"]))
        if digest != result["trace_digest"]:
            raise DrasLabError(
                f"{config['trace']}: was another log when {first} ran than when {run.name} did; "
                f"delete the folder of one of them in {folder}, or begin in another"
            )
        hours = {
            f"{key}_wait_h": found[f"{key}_wait_s"] / 3600 for key in ("mean", "median", "max")
        }
        row = {
            "run": run.name,
            "trace": config["trace"],
            "kind": config["kind"],
            "policy": config["name"],
            "reward": config["reward"] or "",
            "seed": config["seed"],
            "jobs": found["jobs"],
            "refused": found["refused"],
            **hours,
            "mean_bounded_slowdown": found["mean_bounded_slowdown"],
            "utilisation": found["utilisation"],
            "makespan_d": found["makespan_s"] / 86400,
        }
        rows.append(row)
        if (config["kind"], config["name"]) == ("policy", "fcfs"):
            baselines[config["trace"]] = row
    for row in rows:
        base = baselines.get(row["trace"])
        for key in ("mean", "max") if base is not None else ():
            below = base[f"{key}_wait_h"] if base is not None else 0.0
            row[f"{key}_wait_ratio"] = row[f"{key}_wait_h"] / below if below else float("nan")
    return pd.DataFrame(rows)


# -- the folder -------------------------------------------------------------------------------


def _claim(folder: Path, runs: Sequence[Run]) -> None:
    """Note which runs are this folder's; refuse one that has others."""
    path = folder / SWEEP
    mine = {run.name: run.config for run in runs}
    if path.exists():
        try:
            theirs = json.loads(path.read_text(encoding="utf-8"))["runs"]
            other = next((name for name in theirs if mine.get(name) != theirs[name]), None)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DrasLabError(f"{path}: is damaged; name another folder with --out") from error
        if other is not None:
            what = "is not in this one" if other not in mine else "has other settings there"
            raise DrasLabError(
                f"{folder}: holds another sweep (its run {other} {what}); name another folder "
                "with --out"
            )
    write_whole(path, json.dumps({"runs": mine}, indent=1) + "\n")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other sweeps out of a folder; the lock ends with this process, however it ends."""
    path = folder / LOCK
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise DrasLabError(f"{path}: cannot be written ({error.strerror})") from error
    with file:
        try:
            _lock(file.fileno())
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise DrasLabError(
                    f"{folder}: another sweep is running in it; wait for it, or name another "
                    "folder with --out"
                ) from error
            # Some file systems of clusters know no locks: the sweep goes on without.
        yield


def _lock(handle: int) -> None:
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
