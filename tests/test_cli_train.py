"""``dras-lab train``: what it writes and says, going on after a break, and how it says no."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from commands import process, refuses, run  # noqa: E402
from runs import trace_of  # noqa: E402
from small_training import NODES, QUICK, busy, log_in  # noqa: E402

from dras_lab import training  # noqa: E402
from dras_lab.agents import checkpoints  # noqa: E402

NAMES = ["best.pt", "config.json", "log.csv", "state.pt"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_in(tmp_path)


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def test_train(capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "agent"
    code, text, err = run(capsys, "train", log, *QUICK, "--out", out)
    assert code == 0, err
    episodes = [f"episode-000{k}.pt" for k in (1, 2, 3)]
    assert sorted(path.name for path in out.iterdir()) == sorted(NAMES + episodes)
    rows = pd.read_csv(out / "log.csv")
    assert rows["episode"].tolist() == [1, 2, 3]
    # 60, 15 and 25 % of 100 jobs.
    assert "jobs 1 to 60, validated on the next 15; the last 25 were not touched" in text
    best = rows.loc[rows["score"].idxmin()]
    line = next(line.split() for line in text.splitlines() if line.startswith("best"))
    assert line[1] == str(best["episode"])
    assert line[-2:] == [f"{best['mean_wait_ratio']:.2f}", f"{best['max_wait_ratio']:.2f}"]
    assert err.count("\n") == 3  # no terminal here: a line an episode
    # What it says of testing is a command that works.
    words = text.splitlines()[-1].split()
    assert words[:2] == ["dras-lab", "compare"]
    code, text, _ = run(capsys, *words[1:])
    assert code == 0
    assert "25 jobs" in text
    assert "best.pt" in text


def test_json(capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path) -> None:
    code, text, _ = run(capsys, "train", log, *QUICK, "--out", tmp_path / "a", "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["episodes"], found["why"]) == (3, "finished")
    assert set(found["files"]) == {path.name for path in (tmp_path / "a").iterdir()}
    assert found["best"]["score"] <= found["last"]["score"]
    assert found["best"]["epsilon"] is None  # DRAS-PG has none


@pytest.mark.parametrize("kind", ["pg", "dql", "decima"])
@pytest.mark.parametrize("network", ["dras", "scorer"])
def test_options_reach_the_training(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, kind: str, network: str
) -> None:
    words = ("train", log, "--agent", kind, "--network", network, "--out", tmp_path / "a")
    words += ("--reward", "waits", "--update", "published", "--window", 7, "--episodes", 4)
    words += ("--set-jobs", 25, "--load", 0.8, "--patience", 3, "--limit", 1.3, "--seed", 5)
    words += ("--coarsen", 2, "--jobs", 80, "--phases", "synthetic,real,sampled")
    words += ("--rules", 3) if network == "scorer" else ()
    code, text, err = run(capsys, *words)
    assert code == 0, err
    assert "jobs 1 to 48, validated on the next 12; the last 20" in text
    found = told(tmp_path / "a")
    agent, plan = found["agent"], found["about"]["plan"]
    assert (agent["agent"], agent["brain"]["kind"]) == (kind, network)
    assert (agent["brain"]["nodes"], agent["brain"]["window"]) == (NODES // 2, 7)
    assert (agent["reward"]["name"], agent["update"]["runs"]) == ("waits", 1)
    assert plan == {
        "phases": [["synthetic", 1], ["real", 2], ["sampled", 1]],
        "jobs": 25, "load": 0.8, "seed": 5, "limit": 1.3, "patience": 3,
    }  # fmt: skip
    assert found["about"]["seed"] == 5
    assert (found["about"]["rule"] is None) == (network == "dras")
    phases = pd.read_csv(tmp_path / "a" / "log.csv")["phase"].tolist()
    assert phases == ["synthetic", "real", "real", "sampled"][: len(phases)]
    assert "--coarsen 2 --window 7 --part test" in text.splitlines()[-1]
    assert "--jobs 80" in text.splitlines()[-1]


def test_nodes_are_the_machine_that_is_trained_for(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path
) -> None:
    words = ("train", log, *QUICK, "--nodes", 7, "--out", tmp_path / "a")
    code, text, err = run(capsys, *words)
    assert code == 0, err
    assert told(tmp_path / "a")["agent"]["brain"]["nodes"] == 7
    assert run(capsys, *text.splitlines()[-1].split()[1:])[0] == 0


@pytest.mark.parametrize(
    ("phases", "episodes", "expected"),
    [
        ("sampled,real,synthetic", 10, [["sampled", 2], ["real", 6], ["synthetic", 2]]),
        ("real,sampled", 3, [["real", 2], ["sampled", 1]]),
        ("synthetic", 2, [["synthetic", 2]]),
        ("sampled,synthetic", 3, [["sampled", 1], ["synthetic", 2]]),
        ("real,synthetic,sampled", 1, [["real", 1], ["synthetic", 0], ["sampled", 0]]),
    ],
)
def test_phases(
    capsys: pytest.CaptureFixture[str],
    log: Path,
    tmp_path: Path,
    phases: str,
    episodes: int,
    expected: list[list[Any]],
) -> None:
    words = ("train", log, "--set-jobs", 20, "--phases", phases, "--episodes", episodes)
    assert run(capsys, *words, "--out", tmp_path / "a")[0] == 0
    assert told(tmp_path / "a")["about"]["plan"]["phases"] == expected


def test_a_scorer_begins_with_a_rule_or_with_nothing(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path
) -> None:
    words = ("train", log, *QUICK, "--network", "scorer")
    code, _, err = run(capsys, *words, "--rules", 4, "--out", tmp_path / "a")
    assert code == 0
    assert "trying 4 linear rules" in err
    rule = told(tmp_path / "a")["about"]["rule"]
    assert rule["power"] in (1, 2)
    agent = checkpoints.load(tmp_path / "a" / "episode-0001.pt")
    assert agent.brain.networks.at("select").prior is not None
    assert run(capsys, *words, "--rules", 0, "--out", tmp_path / "b")[0] == 0
    assert told(tmp_path / "b")["about"]["rule"] is None
    agent = checkpoints.load(tmp_path / "b" / "episode-0001.pt")
    assert agent.brain.networks.at("select").prior is None


# -- a break, and going on --------------------------------------------------------------------


def logged(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "log.csv").drop(columns="seconds")


@pytest.mark.parametrize(
    "kind", [("--agent", "dql"), ("--agent", "pg", "--network", "scorer", "--rules", "3")]
)
def test_going_on_gives_what_an_unbroken_run_gives(
    capsys: pytest.CaptureFixture[str],
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: tuple[str, ...],
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    words = ("train", log, "--episodes", 4, "--set-jobs", 20, *kind)
    assert run(capsys, *words, "--out", whole)[0] == 0
    episode = training._episode

    def ctrl_c(*given: Any) -> Any:
        if given[3] == 3:
            raise KeyboardInterrupt
        return episode(*given)

    with monkeypatch.context() as patch:
        patch.setattr(training, "_episode", ctrl_c)
        code, text, err = run(capsys, *words, "--out", broken)
    assert code == 130
    assert "interrupted after 2 episodes" in text
    last = err.splitlines()[-1]
    assert "2 of 4 episodes are kept" in last
    assert len(logged(broken)) == 2
    checkpoints.load(broken / "best.pt")
    code, text, err = run(capsys, *last.split("go on with: dras-lab ")[1].split())
    assert code == 0, err
    pd.testing.assert_frame_equal(logged(broken), logged(whole))
    for name in ("best.pt", "episode-0004.pt"):
        one, other = (checkpoints.read(folder / name)["weights"] for folder in (whole, broken))
        assert all(torch.equal(one[key], other[key]) for key in one)


def test_ctrl_c_before_the_first_episode_has_ended(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "_episode", ctrl_c)
    code, out, err = run(capsys, "train", log, *QUICK, "--out", tmp_path / "a")
    assert (code, out, err.count("\n")) == (130, "", 1)
    assert "interrupted before an episode ended" in err


@pytest.mark.skipif(os.name == "nt", reason="signals are another thing there")
def test_a_real_ctrl_c(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    words = ("train", str(log), "--episodes", "100000", "--set-jobs", "20", "--out", str(out))
    running = process(*words, start_new_session=True)
    assert running.stderr is not None
    while "episode 3 of 100000" not in (line := running.stderr.readline()):
        assert line.startswith("episode"), line
    running.send_signal(signal.SIGINT)
    text, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert err.splitlines()[-1].endswith("--resume")
    rows = logged(out)
    assert len(rows) >= 3
    assert f"interrupted after {len(rows)} episodes" in text
    checkpoints.load(out / f"episode-{len(rows):04d}.pt")
    assert not list(out.glob(".dras-lab-*"))  # no half-written file


def test_a_folder_that_holds_a_training(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a"
    words = ("train", log, *QUICK, "--out", out)
    assert "no training to go on with" in refuses(capsys, *words, "--resume")
    assert not out.exists()
    assert run(capsys, *words)[0] == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert "holds a training; --resume" in refuses(capsys, *words)
    assert "one of them" in refuses(capsys, *words, "--resume", "--force")
    for other in (("--seed", 1), ("--window", 9), ("--agent", "dql"), ("--episodes", 4)):
        assert "the training of another" in refuses(capsys, *words, *other, "--resume")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (out / "state.pt").write_bytes(before["state.pt"][:2000])
    assert "damaged" in refuses(capsys, *words, "--resume")
    shorter = ("train", log, "--episodes", 1, "--set-jobs", 20, "--out", out, "--force")
    assert run(capsys, *shorter)[0] == 0
    assert sorted(path.name for path in out.iterdir()) == sorted([*NAMES, "episode-0001.pt"])


# -- how it says no ---------------------------------------------------------------------------


def test_logs_that_nothing_can_be_learnt_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "a"

    def error(jobs: list[tuple[int, int, int, int, int]], *words: object) -> str:
        path = log_in(tmp_path, trace_of(jobs, 4))
        return refuses(capsys, "train", path, *words, "--out", out)

    assert "a part would have no job" in error([(1, 0, 1, 60, 60)])
    few = [(k, 30 * k, 2, 60, 60) for k in range(1, 31)]
    assert "18 jobs, fewer than a job set of 1500; give --set-jobs" in error(few)
    idle = [(k, 100 * k, 2, 60, 60) for k in range(1, 31)]
    assert "no job waits under fcfs" in error(idle, "--set-jobs", 10)
    words = ("--set-jobs", 10, "--network", "scorer", "--out", out)
    code, _, err = run(capsys, "train", tmp_path / "busy.swf", *words)
    assert code == 2
    assert [line.split()[0] for line in err.splitlines()] == ["trying", "dras-lab:"]
    assert "no job waits" in err
    assert not out.exists()


def test_jobs_all_alike_and_a_window_wider_than_the_queue(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    alike = trace_of([(k, 10 * k, 3, 60, 60) for k in range(1, 61)], 4)
    path = log_in(tmp_path, alike)
    words = ("train", path, *QUICK, "--window", 400)
    for k, network in enumerate(("dras", "scorer")):
        options = ("--network", network, "--out", tmp_path / str(k))
        code, text, err = run(capsys, *words, *options)
        assert code == 0, err
        # Whoever is picked, the waits are those of fcfs in another order: the mean is 1.
        assert next(x for x in text.splitlines() if x.startswith("best")).split()[-2] == "1.00"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--agent", "ppo"), "--agent"),
        (("--network", "big"), "--network"),
        (("--reward", "money"), "--reward"),
        (("--update", "mine"), "--update"),
        (("--window", "all"), "--window"),
        (("--episodes", "0"), "--episodes"),
        (("--set-jobs", "1"), "--set-jobs"),
        (("--load", "-1"), "--load"),
        (("--patience", "0"), "--patience"),
        (("--limit", "0"), "--limit"),
        (("--seed", "99999999999999999999"), "too large"),
        (("--phases", "sampled,imagined"), "there is no 'imagined'"),
        (("--phases", "real,real"), "each once"),
        (("--phases", ","), "name some of"),
        (("--rules", "5"), "only --network scorer"),
        (
            ("--recipe", "cake"),
            "there is no recipe 'cake'; the recipes are dras-pg, dras-dql, best",
        ),
        (("--recipe", "best", "--reward", "waits"), "--reward: the recipe has its own"),
        (("--recipe", "dras-dql", "--rules", "5"), "only --network scorer"),
        (("--out", "LOG"), "is no folder"),
        (("--out", "LOG/x"), "is no folder"),
        (("--out", ""), "an empty name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_arguments(
    capsys: pytest.CaptureFixture[str],
    log: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    expected: str,
) -> None:
    given = [word.replace("LOG", str(log)) for word in words]
    base = ("train", log, "--out", tmp_path / "a", *QUICK)
    assert expected in refuses(capsys, *base, *given)
    assert sorted(tmp_path.iterdir()) == [log]


def test_a_full_disk_leaves_what_was_saved(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a"
    opened, kept = os.fdopen, {}

    def full(handle: int, *given: Any, **named: Any) -> Any:
        file = opened(handle, *given, **named)
        if (out / "episode-0002.pt").exists():
            if not kept:
                kept.update({path.name: path.read_bytes() for path in out.iterdir()})
            file.close()
            raise OSError(28, "No space left on device")
        return file

    with monkeypatch.context() as patch:
        patch.setattr("dras_lab.files.os.fdopen", full)
        code, text, err = run(capsys, "train", log, *QUICK, "--out", out)
    assert (code, text) == (2, "")
    assert "No space left on device" in err.splitlines()[-1]
    assert "2 finished episodes stay" in err.splitlines()[-1]
    left = {name: data for name, data in kept.items() if not name.startswith(".")}
    assert {path.name: path.read_bytes() for path in out.iterdir()} == left
    assert run(capsys, "train", log, *QUICK, "--out", out, "--resume")[0] == 0
    assert len(logged(out)) == 3


def test_learning_that_breaks_down(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def reward(decision: object, index: int | None) -> float:
        calls.append(index)
        return float("nan") if len(calls) > 200 else 1.0

    monkeypatch.setattr("dras_lab.agents.pg.make_reward", lambda name: reward)
    code, text, err = run(capsys, "train", log, "--set-jobs", 20, "--out", tmp_path / "a")
    assert (code, text) == (2, "")
    assert "finite" in err.splitlines()[-1] or "nan" in err.splitlines()[-1]
    assert "finished episodes stay" in err.splitlines()[-1]
    checkpoints.load(tmp_path / "a" / "best.pt")


def test_without_torch(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    error = refuses(capsys, "train", log, "--out", tmp_path / "a")
    assert "pip install 'dras-lab[agents]'" in error
    assert "pip install" in refuses(capsys, "simulate", log, "--policy", "a.pt")
    assert run(capsys, "simulate", log, "--policy", "sjf")[0] == 0


def test_the_log_is_busy() -> None:
    """What these tests lean on: somebody waits in every part."""
    from dras_lab import fcfs, simulate

    for part in busy().split(0.6, 0.15, 0.25):
        assert simulate(part, fcfs).wait.max() > 0
