"""Experiments: a grid of traces, policies or learners, rewards and seeds, as plain values.

An `Experiment` says what is to be run and nothing of where: `sweeps.sweep` runs it, on one
machine or on many. It is declared in Python or in a small TOML file::

    traces = ["theta-like"]
    policies = ["fcfs", "sjf"]    # names, or checkpoint files
    recipes = ["dras-pg", "best"] # ways of training that were measured, by name
    agents = ["pg"]               # trained as [training] says, once a reward
    rewards = ["capability", "waits"]
    seeds = 5                     # 0 to 4; or a list

    [log]
    coarsen = 16

    [training]
    episodes = 40
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fields import LOG, SIMULATION, TRAINING, check_keys, check_names, check_table, near, whole
from .jobs import DrasLabError
from .policies import NAMES

if TYPE_CHECKING:
    from .agents import Update
    from .training import Plan

Values = Mapping[str, Any]


_LISTS = ("traces", "policies", "recipes", "agents", "rewards")
_TABLES = {"log": LOG, "simulation": SIMULATION, "training": TRAINING}
_KEYS = (*_LISTS, "seeds", "schedules", *_TABLES)


@dataclass(frozen=True)
class Run:
    """One run of an experiment.

    Attributes
    ----------
    name : str
        The name of its folder.
    config : dict
        All that decides what comes out, as plain values; two runs are the same if these are.
    base : str
        The folder that relative names of logs and agents start from.
    """

    name: str
    config: dict[str, Any]
    base: str

    def located(self, name: str) -> str:
        """A log's or an agent's file; a name that is no file there stands for a shipped one."""
        path = str(Path(self.base, name))
        return path if os.path.exists(path) or Path(name).suffix else name  # noqa: PTH110


@dataclass(frozen=True)
class Experiment:
    """A grid of runs: every trace under every policy, recipe and agent, once a seed.

    A policy that draws no random numbers runs once, with the first seed; an agent from a file
    is one. Where something is trained, it learns from the first 60 % of a log, is validated on
    the next 15 %, and all runs are measured on the last 25 %, if `log` does not say otherwise.

    Attributes
    ----------
    traces : sequence of str
        Files, or names of shipped logs.
    policies : sequence of str
        Names of heuristics, checkpoint files, names of shipped agents.
    recipes : sequence of str
        Names of `recipes.RECIPES`; they bring their rewards.
    agents : sequence of str
        ``"pg"``, ``"dql"``, ``"decima"``: each is trained under each of `rewards`.
    rewards : sequence of str
    seeds : sequence of int
    log : mapping
        ``nodes``, ``coarsen``, ``jobs``, ``part``, ``extra_columns``: as the options of
        ``dras-lab compare``.
    simulation : mapping
        ``window``, ``backfill``, ``overrun``, ``reservation``, ``tau``: the same.
    training : mapping
        For `agents`: ``network`` and ``update`` as in `make_agent`; ``settings``, what is other
        than in the update; ``episodes`` (as in `even_plan`) or ``phases``, ``jobs``, ``load``,
        ``limit``, ``patience`` as in `Plan`. For recipes too: ``tensorboard``.
    schedules : bool
        Whether each run keeps its schedule, a row a job.
    base : path
        The folder that relative names of files start from.

    Raises
    ------
    DrasLabError
        If a name or a value is unknown or cannot be, or there is nothing to run.
    """

    traces: Sequence[str]
    policies: Sequence[str] = ()
    recipes: Sequence[str] = ()
    agents: Sequence[str] = ()
    rewards: Sequence[str] = ()
    seeds: Sequence[int] = (0,)
    log: Values = field(default_factory=dict)
    simulation: Values = field(default_factory=dict)
    training: Values = field(default_factory=dict)
    schedules: bool = True
    base: str | Path = "."

    def __post_init__(self) -> None:
        """Refuse what cannot be, before anything runs."""
        for key in _LISTS:
            check_names(key, getattr(self, key))
        seeds: Any = self.seeds
        if not isinstance(seeds, list | tuple | range) or not seeds:
            raise DrasLabError("seeds: give a number of seeds, or a list of them")
        if not all(whole(0)[1](seed) for seed in seeds) or len(set(seeds)) < len(seeds):
            raise DrasLabError(f"seeds: {list(seeds)} are not different whole numbers from 0 up")
        for table, keys in _TABLES.items():
            check_table(table, getattr(self, table), keys)
        if not self.traces:
            raise DrasLabError("traces: name at least one")
        if not (self.policies or self.recipes or self.agents):
            raise DrasLabError("nothing to run: name some policies, recipes or agents")
        self._check_learning()
        for name in self.policies:
            if name not in NAMES and not name.endswith(".pt"):
                from .runners import shipped_agents

                known = (*NAMES, *shipped_agents())
                if name not in known:
                    raise DrasLabError(
                        f"policies: there is no {name!r}{near(name, known)}; the policies are "
                        f"{', '.join(known)}, or a checkpoint file (.pt)"
                    )
        self.runs()  # names that would share a folder are found here

    @property
    def learns(self) -> bool:
        """Whether anything is trained."""
        return bool(self.recipes or self.agents)

    def _check_learning(self) -> None:
        said = set(self.training) - {"tensorboard"}
        if said and not self.agents:
            raise DrasLabError(
                f"training: {sorted(said)[0]!r} is for agents, and none is named; recipes bring "
                "their own"
            )
        if self.training and not self.learns:
            raise DrasLabError("training: nothing is trained; name some agents or recipes")
        if self.rewards and not self.agents:
            raise DrasLabError("rewards: they are for agents, and none is named")
        if not self.learns:
            return
        if self.simulation.get("window") == "all":
            raise DrasLabError("simulation: an agent looks at a window of jobs; give a number")
        if self.log.get("part", "test") in ("train", "all"):
            raise DrasLabError(
                "log: part: what is trained has seen these jobs; measure on the test part"
            )
        from .runners import need_torch

        need_torch()
        from .agents import AGENTS
        from .recipes import RECIPES
        from .rewards import make_reward

        for key, known in (("agents", tuple(AGENTS)), ("recipes", tuple(RECIPES))):
            for name in getattr(self, key):
                if name not in known:
                    raise DrasLabError(
                        f"{key}: there is no {name!r}{near(name, known)}; there are "
                        f"{', '.join(known)}"
                    )
        for name in self.rewards:
            make_reward(name)
        plan_of(self.training, seed=0)
        update_of(self.training)

    def runs(self) -> list[Run]:
        """All runs, in the order of the grid."""
        labels = _labels(self.traces)
        part = self.log.get("part", "test" if self.learns else "all")
        log = {"nodes": None, "coarsen": 1, "jobs": None, "extra_columns": "refuse"} | {**self.log}
        simulation = {"window": 50, "backfill": "easy", "overrun": "kill"} | {
            "reservation": "held",
            "tau": 10.0,
            **self.simulation,
        }
        found: dict[str, Run] = {}
        for trace in self.traces:
            for kind, name, reward, seeds in self._drivers():
                training = dict(self.training) if kind != "policy" else {}
                if kind == "recipe":
                    training = {k: v for k, v in training.items() if k == "tensorboard"}
                for seed in seeds:
                    config = {
                        "trace": trace,
                        "log": log | {"part": part},
                        "simulation": simulation,
                        "kind": kind,
                        "name": name,
                        "reward": reward,
                        "seed": seed,
                        "training": training,
                        "schedule": self.schedules,
                    }
                    what = name.removesuffix(".pt") if kind == "policy" else f"{kind}-{name}"
                    words = [labels[trace], what, *([reward] if reward else []), f"seed-{seed}"]
                    folder = "--".join(map(_slug, words))
                    if folder in found:
                        raise DrasLabError(
                            f"two runs would have the folder {folder}; rename {trace} or {name}"
                        )
                    found[folder] = Run(folder, config, str(Path(self.base).resolve()))
        return list(found.values())

    def _drivers(self) -> Iterable[tuple[str, str, str | None, Sequence[int]]]:
        """Kind, name, reward and seeds of all that is to drive a run."""
        for name in self.policies:
            yield "policy", name, None, self.seeds if name == "random" else self.seeds[:1]
        for name in self.recipes:
            yield "recipe", name, None, self.seeds
        for name in self.agents:
            for reward in self.rewards or ("capability",):
                yield "agent", name, reward, self.seeds


def read_experiment(path: str | Path) -> Experiment:
    """An experiment from a TOML file; relative names in it start from the file's folder.

    Raises
    ------
    DrasLabError
        If there is no such file, it is not TOML, has an unknown key, or a value cannot be.
    """
    try:
        told = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DrasLabError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # of TOML and of UTF-8
        raise DrasLabError(f"{path}: is not TOML ({str(error).splitlines()[0]})") from error
    try:
        check_keys(told, _KEYS)
        if "traces" not in told:
            raise DrasLabError("traces: name at least one")
        if isinstance(told.get("seeds"), int):
            if not whole(1)[1](told["seeds"]):
                raise DrasLabError(f"seeds: {told['seeds']!r} is not a number of seeds above 0")
            told["seeds"] = list(range(told["seeds"]))
        if not isinstance(told.get("schedules", True), bool):
            raise DrasLabError(f"schedules: {told['schedules']!r} is not true or false")
        return Experiment(**told, base=Path(path).parent)
    except DrasLabError as error:
        raise DrasLabError(f"{path}: {error}") from error


def plan_of(training: Values, seed: int) -> Plan:
    """The plan that a table `training` asks for."""
    from .training import Plan, even_plan

    told = {k: training[k] for k in ("jobs", "load", "limit", "patience") if k in training}
    if "phases" in training:
        if "episodes" in training:
            raise DrasLabError("training: give episodes or phases, not both")
        return Plan(phases=tuple(map(tuple, training["phases"])), seed=seed, **told)
    if "episodes" in training:
        return even_plan(training["episodes"], seed=seed, **told)
    return Plan(seed=seed, **told)


def update_of(training: Values) -> Update:
    """The update that a table `training` asks for."""
    from .agents import make_update

    try:
        return make_update(training.get("update", "ours"), **training.get("settings", {}))
    except TypeError as error:  # a text where a number must be
        raise DrasLabError("training: settings: a value is of the wrong kind") from error


# -- names ----------------------------------------------------------------------------------


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.") or "x"


def _labels(traces: Sequence[str]) -> dict[str, str]:
    """What folders and tables call each log: its name without folders, if that tells them apart."""
    bare = {name: name.removesuffix(".gz").removesuffix(".swf") for name in traces}
    short = {name: Path(label).name or label for name, label in bare.items()}
    told = list(short.values())
    return {name: short[name] if told.count(short[name]) == 1 else bare[name] for name in traces}
