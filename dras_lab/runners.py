"""What commands do before and after they show anything: read, choose policies, run, write."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import check_target, write_all
from .jobs import DrasLabError
from .screen import refused_on_reading

if TYPE_CHECKING:
    from .results import Result
    from .traces import Trace

PARTS = {"train": 0.60, "validation": 0.15, "test": 0.25}


# -- logs -------------------------------------------------------------------------------------


def read(arguments: argparse.Namespace, **options: Any) -> Trace:
    """The log that the arguments name."""
    from .traces import read_swf

    return read_swf(arguments.trace, extra_columns=arguments.extra_columns, **options)


def prepared(arguments: argparse.Namespace) -> Trace:
    """The log as the options want it: the first jobs of it, coarsened."""
    trace = read(arguments)
    report, refused = trace.report, refused_on_reading(trace)
    if refused and report is not None:
        print(
            f"{trace.name}: {refused} of {report.read} jobs refused on reading "
            f"(why: dras-lab inspect {arguments.trace})",
            file=sys.stderr,
        )
    if arguments.nodes is not None and arguments.coarsen != 1:
        print("(--nodes is the size after --coarsen)", file=sys.stderr)
    if arguments.jobs is not None:
        trace = trace[: arguments.jobs]
    if arguments.coarsen != 1:
        trace = trace.coarsen(arguments.coarsen)
    if getattr(arguments, "part", None) is not None:
        trace = parts(trace)[arguments.part]
    trace.report = report
    return trace


def parts(trace: Trace) -> dict[str, Trace]:
    """The first 60 % of the jobs to train on, the next 15 % to validate, the rest to test."""
    return dict(zip(PARTS, trace.split(*PARTS.values()), strict=True))


# -- policies ---------------------------------------------------------------------------------


@dataclass
class Driver:
    """A policy by name: a heuristic, or an agent from its file."""

    label: str  # in tables
    name: str  # as given
    policy: Any

    @property
    def is_agent(self) -> bool:
        """Whether it has learnt what it does."""
        return hasattr(self.policy, "brain")


def shipped_agents() -> list[str]:
    """Names of the agents that come with the package; torch is not needed to know them."""
    return sorted(path.stem for path in (Path(__file__).parent / "checkpoints").glob("*.pt"))


def need_torch() -> None:
    """Load torch, or say how to get it.

    One thread: the networks are so small that a second one costs more than it does.
    """
    try:
        import torch
    except ImportError as error:
        raise DrasLabError(
            "agents need torch, which is not installed; pip install 'dras-lab[agents]'"
        ) from error
    torch.set_num_threads(1)


def drivers(names: Sequence[str], arguments: argparse.Namespace) -> list[Driver]:
    """The policies of these names.

    Agents go by their file's name without its folder, or, if two have the same, as given.

    Raises
    ------
    DrasLabError
        If there is no such policy, a file is no agent, or cannot be had for these options.
    """
    from .policies import NAMES, make_policy

    chosen = []
    for name in names:
        if name in NAMES:
            chosen.append(Driver(name, name, make_policy(name, arguments.seed)))
            continue
        shipped = shipped_agents()
        there = os.path.exists(name)  # noqa: PTH110  (a name that no file can have is no fault)
        if not (there or name in shipped or name.endswith(".pt")):
            raise DrasLabError(
                f"there is no policy {name!r}; the policies are {', '.join((*NAMES, *shipped))}, "
                "or a checkpoint file"
            )
        chosen.append(Driver(Path(name).name, name, _load(name, arguments, arguments.nodes)))
    labels = [driver.label for driver in chosen]
    for driver in chosen:
        if labels.count(driver.label) > 1:
            driver.label = driver.name
    return chosen


def _load(name: str, arguments: argparse.Namespace, nodes: int | None) -> Any:
    need_torch()
    from .agents.checkpoints import load

    if arguments.window is None:
        raise DrasLabError(f"{name}: an agent looks at a window of jobs; give --window a number")
    try:
        with warnings.catch_warnings(action="ignore"):  # torch on what it finds in the file
            return load(name, nodes=nodes, window=arguments.window, seed=arguments.seed)
    except (IndexError, AttributeError, TypeError) as error:  # torch's, of files that are no agents
        raise DrasLabError(
            f"{name}: is no checkpoint of dras-lab, or is damaged; nothing in it was run"
        ) from error


def fit(driver: Driver, trace: Trace, arguments: argparse.Namespace) -> None:
    """Make an agent ready for the machine, which is known once the log is read.

    Raises
    ------
    DrasLabError
        If its network is for another one.
    """
    nodes = arguments.nodes or trace.nodes
    if not driver.is_agent or driver.policy.brain.nodes == nodes:
        return
    brain = driver.policy.brain
    if brain.kind == "scorer":
        driver.policy = _load(driver.name, arguments, nodes)
        return
    whole = nodes * arguments.coarsen
    divisor = round(whole / brain.nodes)
    fits = arguments.nodes is None and divisor > 1 and -(-whole // divisor) == brain.nodes
    raise DrasLabError(
        f"{driver.name}: was trained for a machine of {brain.nodes} nodes, and this one has "
        f"{nodes}; " + (f"give --coarsen {divisor}" if fits else "its network has no other size")
    )


# -- runs -------------------------------------------------------------------------------------


def run(trace: Trace, label: str, policy: Callable[..., Any], options: Mapping[str, Any]) -> Result:
    """Run a trace under a policy, with a bar where somebody sees it.

    Raises
    ------
    DrasLabError
        If no job ran.
    """
    from tqdm import tqdm

    from .simulator import simulate

    # disable=None: no bar where standard error is not a terminal.
    with tqdm(total=len(trace), desc=label, unit="job", leave=False, disable=None) as bar:
        result = simulate(
            trace,
            policy,
            progress=None if bar.disable else lambda ended: bar.update(ended - bar.n),
            log=False,
            **options,
        )
    result.policy = label
    if not result.ran.any():
        raise DrasLabError(
            f"{trace.name}: all {len(trace)} jobs are wider than the machine of {result.nodes} "
            "nodes; give a larger one with --nodes"
            if len(trace)
            else f"{trace.name}: there are no jobs to run"
        )
    return result


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What of the arguments `simulate` takes."""
    names = ("nodes", "backfill", "window", "overrun", "reservation")
    return {name: getattr(arguments, name) for name in names}


# -- files ------------------------------------------------------------------------------------


def write(files: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Write files whose content is there already: an interrupt comes before all or after all."""
    if threading.current_thread() is not threading.main_thread():
        return write_all(files)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        write_all(files)
    finally:
        signal.signal(signal.SIGINT, before)


def targets(source: str, *paths: str | None, agents: Sequence[str] = ()) -> None:
    """Check what is going to be written before the work begins.

    Raises
    ------
    DrasLabError
        If it cannot be, is named twice, or is the log or an agent that is read.
    """
    given = [path for path in paths if path is not None]
    for path in given:
        if not path:
            raise DrasLabError("--out, --plot, --save: an empty name; name a file")
        target = check_target(path)
        for what, other in (("log", source), *(("agent", name) for name in agents)):
            if target.is_file() and Path(other).is_file() and target.samefile(other):
                raise DrasLabError(f"{path}: is the {what} that is read; name another file")
    if len({os.path.realpath(path) for path in given}) < len(given):
        raise DrasLabError(f"{given[0]}: is named twice; name a file for each")


def folder_for(path: str) -> Path:
    """A folder that exists or can be made, checked before the work begins.

    Raises
    ------
    DrasLabError
        If it can not.
    """
    if not path:
        raise DrasLabError("--out: an empty name; name a folder")
    folder = Path(path)
    there = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise DrasLabError(f"{there}: is no folder; name another with --out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise DrasLabError(f"{there}: may not be written to; name another with --out")
    return folder
