"""Ways of training by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_training import NODES, QUICK, busy, log_in

torch = pytest.importorskip("torch")

from dras_lab import cli  # noqa: E402
from dras_lab import recipes as room  # noqa: E402
from dras_lab.agents import AGENTS, OURS, PUBLISHED  # noqa: E402
from dras_lab.recipes import RECIPES, Recipe, agent_of, plan_of, train_recipe  # noqa: E402

SMALL = {"phases": (("real", 2),), "jobs": 20}


@pytest.mark.parametrize("name", RECIPES)
def test_an_agent_is_made_as_its_recipe_says(name: str) -> None:
    recipe = RECIPES[name]
    agent = agent_of(recipe, NODES, seed=3, window=7)
    config = agent.config()
    assert type(agent) is AGENTS[recipe.agent]
    assert (config["brain"]["kind"], config["brain"]["window"]) == (recipe.network, 7)
    base = PUBLISHED if recipe.settings == "published" else OURS
    assert config["update"] == base.to_dict() | recipe.update
    assert config["brain"].get("scaling") == (
        None if recipe.network == "scorer" else "linear" if base is PUBLISHED else "log"
    )
    assert plan_of(recipe, 3).seed == 3


def test_a_recipe_with_rules_begins_with_the_best_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recipe = Recipe("", "pg", network="scorer", reward="waits", rules=4, both=True, **SMALL)
    monkeypatch.setitem(RECIPES, "small", recipe)
    train, validation = busy(60), busy(40, 24)
    agent, training = train_recipe("small", train, validation, seed=5, out=tmp_path / "run")
    about = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["about"]
    rule, _ = room.tune([validation, train], 4, seed=5, limit=1.1, powers=(2,))
    assert about["rule"]["queued"] == rule.queued
    assert len(about["validation"]) == 2
    assert len(training.log) == 2
    assert agent.brain.config()["prior"] is not None


def test_the_command_takes_a_recipe_and_changes_to_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["train", str(log_in(tmp_path)), "--recipe", "best", "--rules", "2", "--json"]
    assert cli.main([*words, *QUICK, "--out", str(tmp_path / "run")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["episodes"], said["best"]["phase"]) == (3, "real")
    about = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))
    assert about["agent"]["reward"] == {"name": "waits"} | {
        "late": 0.8,
        "days": 2.0,
        "power": 2.0,
        "unit": 20.0,
    }
    assert (about["about"]["recipe"], about["about"]["rules"]) == ("best", 2)
