"""A training's folder: refused, gone on with, begun anew, and whole wherever it was broken off."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from runs import trace_of

torch = pytest.importorskip("torch")

from test_training import (  # noqa: E402
    PLAN,
    TRACE,
    VALID,
    Breaking,
    agent_of,
    same,
    weights,
    without_seconds,
)

from dras_lab.agents import make_agent  # noqa: E402
from dras_lab.agents.checkpoints import load, read  # noqa: E402
from dras_lab.decisions import Decision  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.training import Plan, train  # noqa: E402

SHORT = Plan(phases=(("sampled", 2), ("real", 1)), jobs=10, seed=3)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def run(out: Path | None, plan: Plan = SHORT, agent: Any = None, **options: Any) -> Any:
    agent = agent_of(update="published") if agent is None else agent
    return train(agent, TRACE, VALID, plan, out=out, **options)


# -- what is refused --------------------------------------------------------------------------


def test_a_folder_with_a_training_is_not_written_over(tmp_path: Path) -> None:
    run(tmp_path)
    before = files(tmp_path)
    with pytest.raises(DrasLabError, match=r"holds a training; --resume goes on .* --force"):
        run(tmp_path)
    assert files(tmp_path) == before


def test_force_begins_anew_and_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    anew = run(tmp_path, Plan(phases=(("real", 1),), jobs=10), force=True)
    assert len(anew.log) == 1
    assert sorted(files(tmp_path)) == [
        *("best.pt", "config.json", "episode-0001.pt", "log.csv", "notes.txt", "state.pt")
    ]


def test_there_must_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(DrasLabError, match="holds no training to go on with"):
        run(tmp_path / "new", resume=True)
    with pytest.raises(DrasLabError, match="name the folder"):
        run(None, resume=True)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("jobs or plan", {"plan": Plan(phases=(("sampled", 3),), jobs=10, seed=3)}),
        ("jobs or plan", {"plan": Plan(phases=SHORT.phases, jobs=10, seed=4)}),
        ("jobs or plan", {"about": {"note": "other"}}),
        ("jobs or plan", {"backfill": "none"}),
        ("agent", {"agent": ("dql", "published")}),
        ("agent", {"agent": ("pg", "ours")}),
    ],
)
def test_another_training_is_not_gone_on_with(
    tmp_path: Path, what: str, change: dict[str, Any]
) -> None:
    run(tmp_path)
    before = files(tmp_path)
    if "agent" in change:
        change = {"agent": agent_of(*change["agent"])}
    with pytest.raises(DrasLabError, match=f"holds the training of another {what}; give the same"):
        run(tmp_path, resume=True, **change)
    assert files(tmp_path) == before


def test_other_jobs_are_not_gone_on_with(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(DrasLabError, match="another jobs or plan"):
        train(agent_of(update="published"), VALID, TRACE, SHORT, out=tmp_path, resume=True)


def test_a_damaged_training_says_so(tmp_path: Path) -> None:
    run(tmp_path)
    whole = (tmp_path / "state.pt").read_bytes()
    (tmp_path / "state.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DrasLabError, match=r"state\.pt: is no checkpoint"):
        run(tmp_path, resume=True)
    contents = torch.load(tmp_path / "best.pt", weights_only=True)
    torch.save(contents, tmp_path / "state.pt")  # an agent, without what going on needs
    with pytest.raises(DrasLabError):
        run(tmp_path, resume=True)
    (tmp_path / "state.pt").write_bytes(whole)
    (tmp_path / "best.pt").unlink()
    with pytest.raises(DrasLabError, match=r"best\.pt: cannot be read"):
        run(tmp_path, resume=True)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x", encoding="utf-8")
    with pytest.raises(DrasLabError, match=r"run: cannot be made \(File exists\)"):
        run(tmp_path / "run")


def test_what_is_kept_about_it_must_be_plain(tmp_path: Path) -> None:
    with pytest.raises(DrasLabError, match=r"about: .*int64.*plain values"):
        run(tmp_path / "run", about={"tries": np.int64(3)})


def test_the_config_can_be_read_by_people(tmp_path: Path) -> None:
    run(tmp_path, about={"note": "größer"})
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["agent"]["agent"] == "pg"
    assert config["about"]["note"] == "größer"
    assert config["about"]["plan"]["phases"] == [["sampled", 2], ["real", 1]]


# -- broken off -------------------------------------------------------------------------------


def test_an_interrupt_in_the_first_episode_leaves_the_agent_as_it_was(tmp_path: Path) -> None:
    agent = agent_of(update="published", reward=Breaking(5))
    before = weights(agent)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, agent=agent)
    assert same(before, weights(agent))
    assert not agent.learning
    assert not files(tmp_path)
    assert run(tmp_path).why == "finished"  # nothing stands in the way


def test_an_interrupt_in_an_episode_keeps_the_best_finished_one(tmp_path: Path) -> None:
    agent = agent_of(update="published", reward=Breaking(25))
    training = run(tmp_path, agent=agent)
    assert (training.why, len(training.log)) == ("interrupted", 2)
    assert len(agent._memory) == 0  # nothing of the broken-off run is learnt from later
    best = f"episode-{training.best['episode']:04d}.pt"
    assert same(weights(agent), weights(load(tmp_path / best)))
    assert len(pd.read_csv(tmp_path / "log.csv")) == 2


@pytest.mark.parametrize("k", range(9))
def test_an_interrupt_while_it_saves_is_no_trouble(
    tmp_path: Path, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(tmp_path / "whole")
    calls, replace = 0, os.replace

    def interrupted(*words: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == k + 2:  # the first writes config.json
            raise KeyboardInterrupt
        replace(*words)

    monkeypatch.setattr(os, "replace", interrupted)
    out = tmp_path / "broken"
    broken = run(out)
    assert broken.why == "interrupted"
    monkeypatch.undo()
    assert not [name for name in files(out) if name.startswith(".")]
    resumable = (out / "state.pt").exists()
    on = run(out, resume=resumable, force=not resumable)
    pd.testing.assert_frame_equal(without_seconds(on), without_seconds(whole))
    one, two = (read(folder / "best.pt")["weights"] for folder in (out, tmp_path / "whole"))
    assert same(list(one.values()), list(two.values()))


def test_a_full_disk_stops_it_and_what_was_saved_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(tmp_path / "whole")
    out, fdopen = tmp_path / "run", os.fdopen
    kept: dict[str, bytes] = {}
    agent = agent_of(update="published")

    def full(handle: int, *words: Any, **names: Any) -> Any:
        if names.get("closefd", True) and (out / "episode-0002.pt").exists():
            kept.update(kept or files(out))
            os.close(handle)
            raise OSError(28, "No space left on device")
        return fdopen(handle, *words, **names)

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(DrasLabError, match=r"cannot be written \(No space left on device"):
        run(out, agent=agent)
    monkeypatch.undo()
    now = files(out)
    assert {name: data for name, data in kept.items() if not name.startswith(".")} == now
    assert len(pd.read_csv(out / "log.csv")) == 2
    assert not agent.learning
    # The agent itself has the best of all three, saved or not.
    assert same(weights(agent), weights(load(tmp_path / "whole" / "best.pt")))
    on = run(out, resume=True)
    pd.testing.assert_frame_equal(without_seconds(on), without_seconds(whole))


@pytest.mark.parametrize("broken", ["reward", "weight"])
def test_what_is_no_number_stops_it_and_what_was_saved_stays(tmp_path: Path, broken: str) -> None:
    class Spoilt(Breaking):
        def __call__(self, decision: Decision, index: int | None) -> float:
            return math.nan if super().__call__(decision, index) and self.calls > 25 else 0.0

    agent = agent_of(update="published", reward=Spoilt() if broken == "reward" else Breaking())

    def spoil(row: dict[str, Any]) -> None:
        if broken == "weight" and row["episode"] == 2:
            with torch.no_grad():
                agent.parameters[0].fill_(math.nan)

    complaint = "the reward breaking is nan" if broken == "reward" else "learning has broken down"
    with pytest.raises(DrasLabError, match=complaint):
        run(tmp_path, agent=agent, callback=spoil)
    assert len(pd.read_csv(tmp_path / "log.csv")) == 2
    best = weights(load(tmp_path / "best.pt"))
    assert same(best, weights(agent))  # the agent has the best that there was
    assert not agent.learning


# -- odd jobs ---------------------------------------------------------------------------------


def test_a_log_shorter_than_a_job_set(tmp_path: Path) -> None:
    with pytest.raises(DrasLabError, match="has 60 jobs, fewer than a job set of 61; take smaller"):
        run(tmp_path / "run", Plan(jobs=61))
    assert not (tmp_path / "run").exists()


def test_one_job_is_too_few() -> None:
    one = trace_of([(1, 0, 1, 10, 10)], 4)
    with pytest.raises(DrasLabError, match="has 1 jobs, fewer than a job set of 25"):
        train(agent_of(), one, VALID, PLAN)
    with pytest.raises(DrasLabError, match="no job waits under fcfs"):
        train(agent_of(), TRACE, one, PLAN)


def test_nobody_waits_in_the_validation_jobs(tmp_path: Path) -> None:
    idle = trace_of([(k, 1000 * k, 1, 10, 10) for k in range(1, 9)], 4)
    with pytest.raises(DrasLabError, match="no job waits under fcfs, so there is nothing to"):
        train(agent_of(), TRACE, idle, PLAN, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("kind", "update"), [("pg", "ours"), ("pg", "published"), ("dql", "ours")])
def test_jobs_all_alike_are_learnt_from_without_harm(kind: str, update: str) -> None:
    alike = trace_of([(k, 0, 2, 100, 100) for k in range(1, 31)], 4)
    agent = agent_of(kind, update)
    training = train(agent, alike, alike, Plan(phases=(("real", 1), ("sampled", 1)), jobs=20))
    # Whoever goes first, the waits are those of first come, first served.
    assert list(training.log["mean_wait_ratio"]) == [1, 1]
    assert all(torch.isfinite(tensor).all() for tensor in weights(agent))


def test_jobs_that_never_meet_teach_nothing() -> None:
    apart = trace_of([(k, 1000 * k, 1, 10, 10) for k in range(1, 31)], 4)
    agent = agent_of()
    before = weights(agent)
    training = train(agent, apart, VALID, Plan(phases=(("real", 1),), jobs=10))
    row = training.log.iloc[0]
    assert same(before, weights(agent))
    assert row["decisions"] == 4 * 10
    assert math.isnan(row["loss"])


def test_a_window_larger_than_the_queue_ever_is() -> None:
    wide = make_agent("pg", 4, 500, network="scorer", hidden=(6, 4))
    assert train(wide, TRACE, VALID, SHORT).why == "finished"


# -- what lies in the folder already ----------------------------------------------------------


@pytest.mark.parametrize("name", ["best.pt", "config.json", "episode-0003.pt", "log.csv"])
def test_a_file_of_that_name_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"dear to somebody")
    with pytest.raises(DrasLabError, match=rf"holds {name}, perhaps .* --force starts anew"):
        run(tmp_path)
    with pytest.raises(DrasLabError, match="no training to go on with; start anew with --force"):
        run(tmp_path, resume=True)
    assert files(tmp_path) == {name: b"dear to somebody"}


def test_force_keeps_the_old_until_there_is_something_new(tmp_path: Path) -> None:
    run(tmp_path)
    old = files(tmp_path)
    with pytest.raises(DrasLabError, match="nan"):
        run(tmp_path, agent=agent_of(reward=lambda decision, index: math.nan), force=True)
    assert files(tmp_path) == old


def test_what_a_killed_save_has_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".dras-lab-abc").write_bytes(b"half a file")
    run(tmp_path)
    assert not (tmp_path / ".dras-lab-abc").exists()
