"""Ways to train an agent that were tried; `benchmarks/learning.py` measures them.

A recipe is all that is chosen before training: agent, network, reward, how it learns, from how
many jobs. What was chosen by looking at results was chosen on the training and validation parts
of a log.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .agents import Agent, make_agent, make_update
from .jobs import DrasLabError
from .priors import prior_of
from .rewards import Reward, Waits
from .rules import LinearRule, tune
from .traces import Trace
from .training import Plan, Training, train


@dataclass(frozen=True)
class Recipe:
    """How to train one agent.

    Attributes
    ----------
    about : str
        One line for people.
    agent, network, reward, settings
        As `kind`, `network`, `reward` and `update` in `make_agent`.
    update : dict
        What is other than in the settings.
    phases, jobs, load, limit, patience
        As in `Plan`.
    both : bool
        Whether the best episode is chosen on the validation and the training part, and not on
        the validation part alone: twice the looking, and less of a gamble.
    rules : int
        How many linear rules are tried, on the training and validation parts, for one to begin
        with (scorer alone); 0 for none.
    powers : tuple of float
        Of the queued time in those rules, 1 or 2.
    """

    about: str
    agent: str
    network: str = "dras"
    reward: str | Reward = "capability"
    settings: str = "ours"
    update: dict[str, Any] = field(default_factory=dict)
    phases: tuple[tuple[str, int], ...] = (("sampled", 10), ("real", 20), ("synthetic", 10))
    jobs: int = 1000
    load: float = 0.9
    limit: float = 1.1
    patience: int | None = None
    both: bool = False
    rules: int = 0
    powers: tuple[float, ...] = (2,)


RECIPES: dict[str, Recipe] = {
    "dras-pg": Recipe(
        "DRAS-PG, the paper's network and capability reward",
        "pg",
        update={"learning_rate": 1e-3, "horizon": 6.0, "entropy": 0.02},
        phases=(("sampled", 10), ("real", 40)),
        limit=1.05,
        both=True,
    ),
    "dras-dql": Recipe(
        "DRAS-DQL, the paper's network; a reward for short waits and no very long ones",
        "dql",
        reward="waits",
        update={"horizon": 24.0},
        limit=1.0,
    ),
    "best": Recipe(
        "a tuned linear rule, and what a small network learns beyond it",
        "pg",
        network="scorer",
        reward=Waits(late=0.8),
        phases=(("real", 30),),
        jobs=2000,
        limit=1.15,
        both=True,
        rules=60,
    ),
    "decima-pg": Recipe("Decima-PG: no reservation, no backfilling", "decima", reward="waits"),
    "dras-pg-published": Recipe(
        "DRAS-PG with the published settings of an update, times scaled linearly",
        "pg",
        settings="published",
    ),
}


def find(name: str) -> Recipe:
    """The recipe of that name.

    Raises
    ------
    DrasLabError
        If there is none.
    """
    if name not in RECIPES:
        raise DrasLabError(f"there is no recipe {name!r}; the recipes are {', '.join(RECIPES)}")
    return RECIPES[name]


def rule_for(
    recipe: Recipe, trace: Trace, validation: Trace, *, seed: int, window: int = 50
) -> LinearRule | None:
    """The linear rule to begin with: the best of `recipe.rules` on both parts; None for none."""
    if not recipe.rules:
        return None
    parts = [validation, trace]
    return tune(
        parts, recipe.rules, seed=seed, window=window, limit=recipe.limit, powers=recipe.powers
    )[0]


def agent_of(
    recipe: Recipe, nodes: int, *, seed: int, window: int = 50, rule: LinearRule | None = None
) -> Agent:
    """A new agent; `rule` is what it begins with."""
    brain: dict[str, Any] = {} if rule is None else {"prior": prior_of(rule, nodes)}
    if recipe.settings == "published" and recipe.network == "dras":
        brain["scaling"] = "linear"
    return make_agent(
        recipe.agent,
        nodes,
        window,
        network=recipe.network,
        reward=recipe.reward,
        update=make_update(recipe.settings, **recipe.update),
        seed=seed,
        **brain,
    )


def plan_of(recipe: Recipe, seed: int) -> Plan:
    """What it is trained on."""
    return Plan(
        phases=recipe.phases,
        jobs=recipe.jobs,
        load=recipe.load,
        limit=recipe.limit,
        patience=recipe.patience,
        seed=seed,
    )


def train_recipe(
    name: str,
    trace: Trace,
    validation: Trace,
    *,
    seed: int,
    window: int = 50,
    out: str | Path | None = None,
    **options: Any,
) -> tuple[Agent, Training]:
    """Train an agent by its recipe.

    Parameters
    ----------
    name : str
        One of `RECIPES`.
    trace, validation : Trace
        What it learns from; what its best episode is chosen on.
    seed : int
        Of weights, choices, job sets and rules.
    window : int
    out : path, optional
        As in `train`.
    **options
        Of `train`: `progress`, `callback`, `resume`, `force`, and those of `simulate`.

    Raises
    ------
    DrasLabError
        If there is no such recipe, and as `train` does.
    """
    recipe = find(name)
    rule = rule_for(recipe, trace, validation, seed=seed, window=window)
    agent = agent_of(recipe, trace.nodes, seed=seed, window=window, rule=rule)
    judges = [validation, trace] if recipe.both else [validation]
    about = {"recipe": name, "seed": seed, "rule": None if rule is None else asdict(rule)}
    return agent, train(
        agent, trace, judges, plan_of(recipe, seed), out=out, about=about, **options
    )
