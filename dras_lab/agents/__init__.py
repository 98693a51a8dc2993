"""The agents: policies that also learn.

An agent takes a `Decision` and returns an index, as every policy does; the engine cannot tell
it from first come, first served. Set `learning`, run, call `end_run`, and it has learnt.
"""

from __future__ import annotations

from typing import Any

import torch

from ..jobs import DrasLabError
from ..rewards import Reward
from .brains import make_brain as make_brain
from .decima import DecimaPG as DecimaPG
from .dql import DrasDQL as DrasDQL
from .pg import DrasPG as DrasPG
from .updates import OURS as OURS
from .updates import PUBLISHED as PUBLISHED
from .updates import Update as Update
from .updates import make_update as make_update

Agent = DrasPG | DrasDQL
AGENTS: dict[str, type[DrasPG] | type[DrasDQL]] = {
    agent.kind: agent for agent in (DrasPG, DrasDQL, DecimaPG)
}


def make_agent(
    kind: str,
    nodes: int,
    window: int = 50,
    *,
    network: str = "dras",
    reward: str | Reward = "capability",
    update: str | Update = "ours",
    seed: int = 0,
    **options: Any,
) -> Agent:
    """A new agent that has learnt nothing.

    Parameters
    ----------
    kind : {"pg", "dql", "decima"}
    nodes, window : int
        N and W.
    network : {"dras", "scorer"}
        The five-layer network of DRAS, or a small one that scores each job alike.
    reward : str or callable
    update : str or Update
        ``"published"``, ``"ours"``, or settings of your own.
    seed : int
        Of the first weights, and of the choices drawn while learning.
    **options
        Of the network: `shared`, `hidden`, `activation`; `scaling` (dras); `prior`, `crowd`
        (scorer).

    Raises
    ------
    DrasLabError
        If there is no such agent, network, reward, update or option.
    """
    if kind not in AGENTS:
        raise DrasLabError(f"there is no agent {kind!r}; the agents are {', '.join(AGENTS)}")
    if network == "dras":
        options["head"] = "values" if kind == "dql" else "policy"
    generator = torch.Generator().manual_seed(seed)
    brain = make_brain(network, nodes, window, generator=generator, **options)
    return AGENTS[kind](brain, reward, make_update(update), seed)
