"""Agents in files: plain tensors and plain values, read without running anything in them."""

from __future__ import annotations

import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ..files import write_whole
from ..jobs import DrasLabError
from ..rewards import Capability, Capacity, Reward, Waits, make_reward
from . import AGENTS, Agent, make_agent, make_update

FORMAT = 1
_SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints"
_MOST = 10**7  # nodes, and jobs of a window: beyond any machine
_REWARDS: dict[str, Any] = {"capability": Capability, "capacity": Capacity, "waits": Waits}


def shipped() -> dict[str, Path]:
    """The trained agents that come with the package, by name."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.pt"))}


def as_bytes(contents: dict[str, Any]) -> bytes:
    """Tensors and plain values as a file."""
    buffer = io.BytesIO()
    torch.save(contents, buffer)
    return buffer.getvalue()


def plain(about: dict[str, Any]) -> dict[str, Any]:
    """The same as it is read back: tuples as lists.

    Raises
    ------
    DrasLabError
        If there is anything in it but text, numbers, None, lists and dicts.
    """
    try:
        found: dict[str, Any] = json.loads(json.dumps(about))
    except (TypeError, ValueError) as error:
        raise DrasLabError(f"about: {error}; give plain values only") from error
    return found


def contents_of(agent: Agent, about: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a checkpoint holds.

    Raises
    ------
    DrasLabError
        If `about` is not of plain values: such a file could not be read again.
    """
    weights = agent.brain.networks.state_dict()
    return {
        "format": FORMAT,
        "dras_lab": __version__,
        "torch": str(torch.__version__),
        "config": agent.config(),
        "weights": {name: tensor.clone() for name, tensor in weights.items()},
        "about": plain(about or {}),
    }


def save(agent: Agent, path: str | os.PathLike[str], about: dict[str, Any] | None = None) -> None:
    """Write an agent, whole or not at all.

    Parameters
    ----------
    agent : Agent
    path : path
        By custom it ends in ``.pt``.
    about : dict, optional
        Plain values to keep with it: seed, trace, its digest, validation figures.

    Raises
    ------
    DrasLabError
        If it cannot be written; an older file of that name is as it was.
    """
    write_whole(path, as_bytes(contents_of(agent, about)))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of a checkpoint, without making an agent; no code in it is run.

    Raises
    ------
    DrasLabError
        If there is no such file or it is no checkpoint.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DrasLabError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        with warnings.catch_warnings():  # torch's advice is of no use to whoever has such a file
            warnings.simplefilter("ignore")
            contents = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can make torch's reader fail in any way
        raise DrasLabError(
            f"{path}: is no checkpoint of dras-lab, or is damaged; nothing in it was run"
        ) from error
    if not isinstance(contents, dict) or "format" not in contents:
        raise DrasLabError(f"{path}: is no checkpoint of dras-lab")
    if contents["format"] != FORMAT:
        raise DrasLabError(
            f"{path}: is a checkpoint of format {contents['format']}, by dras-lab "
            f"{contents.get('dras_lab', '?')}; this is {__version__}, which reads format {FORMAT}"
        )
    return contents


def load(
    path: str | os.PathLike[str],
    *,
    nodes: int | None = None,
    window: int | None = None,
    reward: str | Reward | None = None,
    seed: int = 0,
) -> Agent:
    """An agent from its file, or a shipped one by name.

    Parameters
    ----------
    path : path or str
        A file, or a name of `shipped`.
    nodes, window : int, optional
        Another machine or window than it was trained for; only a scorer can change.
    reward : str or callable, optional
        To learn on with another reward, or with one of your own.
    seed : int
        Of choices drawn while it learns.

    Raises
    ------
    DrasLabError
        If there is no such file, it is no checkpoint, or cannot be had for that machine.
    """
    if not Path(path).exists() and str(path) in shipped():
        path = shipped()[str(path)]
    contents = read(path)
    try:
        config, weights = contents["config"], contents["weights"]
        brain, update = dict(config["brain"]), dict(config["update"])
        kind, trained = str(config["agent"]), (int(brain["nodes"]), int(brain["window"]))
        network = str(brain.pop("kind"))
        hidden = [int(width) for width in brain["hidden"]]
        if min(*trained, *hidden) < 1 or max(trained) > _MOST or kind not in AGENTS:
            raise ValueError("not the numbers of an agent")
        # A file that claims a network beyond its own length must not make us build it. (Tensors
        # may pretend to be longer than they are; four bytes a weight cannot.)
        claimed = hidden[0] * hidden[1]
        if brain.get("crowd"):
            claimed += hidden[0] ** 2
        if network == "dras":
            claimed += hidden[0] * trained[0]
            claimed += 0 if kind == "dql" else (2 * hidden[0] + hidden[1]) * trained[1]
        if 4 * claimed > Path(path).stat().st_size:
            raise ValueError("fewer weights than its network has")
        wanted = (trained[0] if nodes is None else nodes, trained[1] if window is None else window)
        if wanted != trained and network != "scorer":
            raise DrasLabError(
                f"{path}: was trained for {trained[0]} nodes and a window of {trained[1]}, not for "
                f"{wanted[0]} and {wanted[1]}; its network has no other size"
            )
        brain["nodes"], brain["window"] = wanted
        brain.pop("head", None)
        named = dict(config["reward"])
        agent = make_agent(
            kind,
            brain.pop("nodes"),
            brain.pop("window"),
            network=network,
            reward=_reward(named, path) if reward is None else reward,
            update=make_update("ours", **update),
            seed=seed,
            **brain,
        )
        agent.brain.networks.load_state_dict(weights)
        agent.learned()
    except DrasLabError as error:
        if str(error).startswith(f"{path}: "):
            raise
        raise DrasLabError(f"{path}: {error}") from error
    except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError, RuntimeError) as e:
        first = (str(e).splitlines() or [type(e).__name__])[0]
        raise DrasLabError(f"{path}: is a damaged checkpoint ({first})") from e
    # As they are now: a weight of 64 bits may be finite, and too large for a network of 32.
    if not all(bool(torch.isfinite(weight).all()) for weight in agent.parameters):
        raise DrasLabError(f"{path}: is a damaged checkpoint (a weight is not a finite number)")
    return agent


def _reward(config: dict[str, Any], path: str | os.PathLike[str]) -> Reward:
    """The reward of a checkpoint; one of the user's own is named, and missed when it is needed."""
    name = str(config.pop("name"))
    if name in _REWARDS and not config.pop("own", False):
        made: Reward = make_reward(_REWARDS[name](**config))
        return made

    def missing(decision: object, index: int | None) -> float:
        raise DrasLabError(
            f"{path}: learnt with a reward of your own, {name!r}; "
            "to learn on, give it to load(..., reward=...)"
        )

    missing.__name__ = name
    return missing
