"""The folder of a training: its log, its checkpoints, and what it goes on from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from .agents import Agent
from .agents.checkpoints import as_bytes, contents_of, plain, read
from .files import write_all
from .jobs import DrasLabError

LOG, BEST, STATE, CONFIG = "log.csv", "best.pt", "state.pt", "config.json"


def check_folder(path: Path, resume: bool, force: bool) -> list[Path]:
    """The files of an older training in a folder, none if it is to go on.

    Raises
    ------
    DrasLabError
        If there are some and neither is asked for, or none to go on with and `resume` is.
    """
    there = [path / name for name in (STATE, LOG, BEST, CONFIG) if (path / name).exists()]
    there += sorted(path.glob("episode-*.pt"))
    whole = (path / STATE).exists()
    if resume:
        if not whole:
            what = "leave out --resume" if not there else "start anew with --force"
            raise DrasLabError(f"{path}: holds no training to go on with; {what}")
        return []
    if there and not force:
        how = "--resume goes on with it, --force starts" if whole else "--force starts"
        what = (
            "a training" if whole else f"{there[0].name}, perhaps of a training that was broken off"
        )
        raise DrasLabError(f"{path}: holds {what}; {how} anew over it")
    return there


class RunFolder:
    """Where a training keeps what it has.

    ``log.csv`` has a row an episode, ``episode-0007.pt`` is the agent after the seventh,
    ``best.pt`` the best so far, ``state.pt`` all that going on needs, ``config.json`` what was
    trained on what.

    Parameters
    ----------
    path : Path
    agent : Agent
        Its weights and its state become those of the folder, if training goes on.
    facts : dict
        Plain values: what it is trained on. Going on with others is refused.
    resume, force : bool
        Go on with the training that is there; or start anew over it.

    Raises
    ------
    DrasLabError
        If there is a training and neither is asked for, none and `resume` is, it is another
        training, or it cannot be read.
    """

    def __init__(
        self, path: Path, agent: Agent, facts: dict[str, Any], resume: bool, force: bool
    ) -> None:
        self.path = path
        config = agent.config()
        self.facts = plain(facts)
        self.rows: list[dict[str, Any]] = []
        self.best: dict[str, Tensor] = agent.brain.networks.state_dict()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DrasLabError(f"{path}: cannot be made ({error.strerror})") from error
        self._old = check_folder(path, resume, force)
        for lost in path.glob(".dras-lab-*"):  # of a save that was killed
            lost.unlink(missing_ok=True)
        if resume:
            self._go_on(agent, config)
        self._config = json.dumps({"agent": config, "about": self.facts}, indent=2) + "\n"

    def _go_on(self, agent: Agent, config: dict[str, Any]) -> None:
        contents = read(self.path / STATE)
        for name, mine, theirs in (
            ("agent", config, contents.get("config")),
            ("jobs or plan", self.facts, contents.get("about")),
        ):
            if mine != theirs:
                raise DrasLabError(
                    f"{self.path}: holds the training of another {name}; "
                    "give the same arguments, or start anew with --force"
                )
        try:
            agent.brain.networks.load_state_dict(contents["weights"])
            agent.set_state(contents["state"])
            self.rows = [dict(row) for row in contents["rows"]]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DrasLabError(
                f"{self.path / STATE}: is damaged; start anew with --force"
            ) from error
        self.best = read(self.path / BEST)["weights"]

    def keep(self, agent: Agent, rows: list[dict[str, Any]], better: bool) -> None:
        """Write what the last episode of `rows` left, all of it or none.

        Raises
        ------
        DrasLabError
            If the disk is full; what was there before stays.
        """
        row = rows[-1]
        about = self.facts | {"episode": row}
        checkpoint = as_bytes(contents_of(agent, about))
        state = contents_of(agent, self.facts) | {"state": agent.state(), "rows": rows}
        files: dict[str | os.PathLike[str], str | bytes] = {
            self.path / f"episode-{row['episode']:04d}.pt": checkpoint,
            self.path / LOG: pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"),
        }
        if better:
            files[self.path / BEST] = checkpoint
        if len(rows) == 1:
            files[self.path / CONFIG] = self._config
        # Last, since it says how far the rest has come: broken off before it, the episode is run
        # again.
        files[self.path / STATE] = as_bytes(state)
        write_all(files)
        # What --force starts anew over goes when there is something in its place.
        for old in self._old:
            if old not in files:
                old.unlink(missing_ok=True)
        self._old = []
