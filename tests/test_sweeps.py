"""Sweeps on one machine: what they leave, what goes on after a break, what fails alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from commands import SMALL, refuses, run
from small_training import busy, log_in

from dras_lab import sweeps
from dras_lab.crews import serial
from dras_lab.experiments import Experiment
from dras_lab.jobs import DrasLabError
from dras_lab.sweeps import Sweep, sweep
from dras_lab.trials import STARTED, Outcome

LEARNING = {"network": "scorer", "phases": [["real", 3]], "jobs": 20}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.swf").write_text(SMALL, encoding="utf-8")
    return tmp_path


def learners(folder: Path, **changes: object) -> Experiment:
    """One heuristic, and an agent under two rewards with two seeds: five runs."""
    pytest.importorskip("torch")
    log_in(folder)
    options = {"training": LEARNING, **changes}
    return Experiment(
        ["busy.swf"],
        ["fcfs"],
        agents=["pg"],
        rewards=["waits", "capability"],
        seeds=[0, 1],
        base=folder,
        **options,  # type: ignore[arg-type]
    )


def everything(folder: Path) -> dict[str, object]:
    """What runs left that must not depend on who did them, by file."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name in ("result.json", "schedule.csv", "runs.csv", "table.csv", "sweep.json"):
            found[name] = path.read_bytes()
        elif path.name == "log.csv":  # but for how long each episode took
            found[name] = pd.read_csv(path).drop(columns="seconds").to_csv()
        elif path.name == "best.pt":
            from dras_lab.agents.checkpoints import read

            weights = read(path)["weights"]
            found[name] = {key: tensor.numpy().tobytes() for key, tensor in weights.items()}
    return found


def test_what_a_sweep_leaves(small: Path) -> None:
    """Under EASY the waits of the three jobs that run are 0, 100 and 0; under none 0, 100, 200."""
    experiment = Experiment(["small.swf"], ["fcfs", "sjf"], base=small)
    told: list[str] = []
    done = sweep(experiment, small / "out", say=told.append)
    assert told == ["1 of 2: small--fcfs--seed-0", "2 of 2: small--sjf--seed-0"]
    assert (done.failed, done.skipped) == ({}, 0)
    row = done.runs.iloc[0]
    assert (row["trace"], row["kind"], row["policy"], row["seed"]) == (
        "small.swf",
        "policy",
        "fcfs",
        0,
    )
    assert (row["jobs"], row["refused"]) == (3, 1)
    assert row["mean_wait_h"] == pytest.approx(100 / 3 / 3600)
    assert row["max_wait_h"] == pytest.approx(100 / 3600)
    assert (row["mean_wait_ratio"], row["max_wait_ratio"]) == (1.0, 1.0)
    table = done.table.set_index(["policy", "measure"])
    assert table.loc[("sjf", "max_wait_h"), "median"] == pytest.approx(100 / 3600)
    pd.testing.assert_frame_equal(
        pd.read_csv(small / "out" / "runs.csv", keep_default_na=False), done.runs, check_dtype=False
    )
    folder = small / "out" / "small--fcfs--seed-0"
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "versions.json", "result.json", "schedule.csv"}
    assert json.loads((folder / "config.json").read_text())["seed"] == 0
    assert json.loads((folder / "versions.json").read_text())["packages"]["numpy"]
    assert (folder / "schedule.csv").read_text().splitlines()[2].startswith("2,0,100,200,100,8")

    without = Experiment(
        ["small.swf"], ["fcfs"], base=small, simulation={"backfill": "none"}, schedules=False
    )
    done = sweep(without, small / "none")
    assert done.runs["max_wait_h"].tolist() == [pytest.approx(200 / 3600)]
    assert not (small / "none" / "small--fcfs--seed-0" / "schedule.csv").exists()


def test_a_trained_run_is_what_training_alone_gives(tmp_path: Path) -> None:
    """The first 60 of 100 jobs to learn from, the next 15 to validate, the last 25 measured."""
    experiment = learners(tmp_path)
    from dras_lab.agents import make_agent
    from dras_lab.metrics import summary
    from dras_lab.simulator import simulate
    from dras_lab.training import Plan, train

    sweep(experiment, tmp_path / "out")
    trace = busy()
    agent = make_agent("pg", 8, 50, network="scorer", reward="waits", seed=1)
    plan = Plan(phases=(("real", 3),), jobs=20, seed=1)
    training = train(agent, trace[:60], trace[60:75], plan)
    alone = summary(simulate(trace[75:], agent, window=50))
    folder = tmp_path / "out" / "busy--agent-pg--waits--seed-1"
    result = json.loads((folder / "result.json").read_text())
    for key in ("jobs", "mean_wait_s", "max_wait_s", "mean_bounded_slowdown", "utilisation"):
        assert result["measures"][key] == alone[key]
    assert result["measures"]["jobs"] == 25
    assert result["training"]["episodes"] == 3
    assert result["training"]["best"]["score"] == training.best["score"]
    assert sorted(p.name for p in (folder / "training").iterdir()) == [
        "best.pt",
        "config.json",
        "log.csv",
    ]


def test_finished_runs_are_not_done_again(small: Path) -> None:
    out = small / "out"
    first = sweep(Experiment(["small.swf"], ["fcfs"], base=small), out)
    mark = out / "small--fcfs--seed-0" / "versions.json"
    mark.write_text("{}", encoding="utf-8")
    told: list[str] = []
    # One that has more runs goes on in the same folder.
    more = sweep(Experiment(["small.swf"], ["fcfs", "ljf"], base=small), out, say=told.append)
    assert told == ["1 of 1: small--ljf--seed-0"]
    assert (first.skipped, more.skipped, len(more.runs)) == (0, 1, 2)
    assert mark.read_text() == "{}"
    # Half a result is none.
    (out / "small--ljf--seed-0" / "result.json").write_text('{"config": ', encoding="utf-8")
    again = sweep(Experiment(["small.swf"], ["fcfs", "ljf"], base=small), out)
    assert again.skipped == 1
    assert again.runs.equals(more.runs)


def test_a_folder_with_another_sweep_is_refused(small: Path) -> None:
    out = small / "out"
    sweep(Experiment(["small.swf"], ["fcfs", "sjf"], base=small), out)
    with pytest.raises(DrasLabError, match=r"its run small--sjf--seed-0 is not in this one"):
        sweep(Experiment(["small.swf"], ["fcfs"], base=small), out)
    other = Experiment(["small.swf"], ["fcfs", "sjf"], base=small, log={"nodes": 20})
    with pytest.raises(DrasLabError, match="has other settings there"):
        sweep(other, out)
    (out / "sweep.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DrasLabError, match=r"sweep\.json: is damaged"):
        sweep(other, out)


def test_two_sweeps_in_one_folder_do_not_meet(small: Path) -> None:
    """Also of one process; and a lock that was left behind by a dead one locks nothing."""
    experiment = Experiment(["small.swf"], ["fcfs"], base=small)
    with sweeps._alone(small), pytest.raises(DrasLabError, match="another sweep is running in it"):
        sweep(experiment, small)
    holds = "import sys, time; from pathlib import Path; from dras_lab import sweeps\n"
    holds += "with sweeps._alone(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", holds, str(small)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DrasLabError, match="another sweep is running in it"):
            sweep(experiment, small)
        other.kill()
        other.wait()
    assert len(sweep(experiment, small).runs) == 1


def test_a_log_that_changed_is_seen(small: Path) -> None:
    experiment = Experiment(["small.swf"], ["fcfs"], base=small)
    sweep(experiment, small / "out")
    text = (small / "small.swf").read_text().replace("100 6", "99 6")
    (small / "small.swf").write_text(text, encoding="utf-8")
    more = Experiment(["small.swf"], ["fcfs", "sjf"], base=small)
    with pytest.raises(DrasLabError, match=r"small\.swf: was another log when small--fcfs"):
        sweep(more, small / "out")


def test_a_run_that_fails_fails_alone(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (small / "bad.swf").write_text("this is no log\n", encoding="utf-8")
    (small / "bad.pt").write_bytes(b"no agent")
    text = 'traces = ["bad.swf", "small.swf"]\npolicies = ["fcfs", "sjf"]\n'
    (small / "e.toml").write_text(text, encoding="utf-8")
    words = ("sweep", small / "e.toml", "--out", small / "out")
    code, out, err = run(capsys, *words)
    assert code == 1
    failed = [line for line in err.splitlines() if line.startswith("dras-lab: failed: ")]
    assert [line.split(": ")[2] for line in failed] == ["bad--fcfs--seed-0", "bad--sjf--seed-0"]
    assert all("bad.swf" in line and "line 1" in line for line in failed)
    assert "2 runs, 0 of them from before" in out
    assert "Traceback" in (small / "out" / "bad--fcfs--seed-0" / "error.txt").read_text()
    # Put right, the failed runs are done, and their errors are gone.
    (small / "bad.swf").write_text(SMALL, encoding="utf-8")
    code, out, err = run(capsys, *words, "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["finished"], told["skipped"], told["failed"]) == (4, 2, {})
    assert not (small / "out" / "bad--fcfs--seed-0" / "error.txt").exists()


def test_a_damaged_agent_fails_alone(small: Path) -> None:
    pytest.importorskip("torch")
    (small / "bad.pt").write_bytes(b"no agent")
    done = sweep(Experiment(["small.swf"], ["bad.pt", "fcfs"], base=small), small / "out")
    assert list(done.failed) == ["small--bad--seed-0"]
    assert "is no checkpoint of dras-lab" in done.failed["small--bad--seed-0"]
    assert done.runs["policy"].tolist() == ["fcfs"]


def test_on_the_command_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small / "e.toml"
    assert "cannot be read" in refuses(capsys, "sweep", path, "--out", small / "o")
    path.write_text('traces = ["none.swf"]\npolicies = ["fcfs"]\n', encoding="utf-8")
    # A file that is missing is a failure of the run: a worker may have it.
    code, _, err = run(capsys, "sweep", path, "--out", small / "o")
    assert code == 1
    assert "none.swf: no such file" in err
    path.write_text('traces = ["none"]\npolicies = ["fcfs"]\n', encoding="utf-8")
    assert "no shipped log" in refuses(capsys, "sweep", path, "--out", small / "o")
    path.write_text('traces = ["small.swf"]\npolicies = ["fcfs", "random"]\nseeds = 2\n')
    assert "is no folder" in refuses(capsys, "sweep", path, "--out", path)
    refuses(capsys, "sweep", path, "--out", small / "p", "--workers", 2, "--scheduler", "tcp://x:1")
    code, out, _ = run(capsys, "sweep", path, "--out", small / "p")
    assert code == 0
    lines = out.splitlines()
    assert lines[1].split() == ["fcfs", "1", "0.01", "0.0", "1.00", "1.00"]
    assert lines[2].split()[:2] == ["random", "2"]


def test_a_break_keeps_what_is_finished(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(runs: list[object], out: Path) -> object:
        yield from serial(runs[:1], out)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    path = small / "e.toml"
    path.write_text('traces = ["small.swf"]\npolicies = ["fcfs", "sjf"]\n', encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sweeps, "serial", broken)
        code, _, err = run(capsys, "sweep", path, "--out", small / "o")
    assert code == 130
    assert "the same command goes on" in err
    code, out, _ = run(capsys, "sweep", path, "--out", small / "o", "--json")
    assert (code, json.loads(out)["skipped"]) == (0, 1)


def test_a_training_that_was_broken_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second episode; the first is not trained again, and nothing differs."""
    experiment = learners(tmp_path)
    import dras_lab.training as training

    sweep(experiment, tmp_path / "whole")
    episode, seen = training._episode, []

    def stops(*words: object) -> object:
        seen.append(words[3])
        if seen.count(2) == 1 and words[3] == 2:
            raise KeyboardInterrupt
        return episode(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "_episode", stops)
    with pytest.raises(KeyboardInterrupt):
        sweep(experiment, tmp_path / "broken")
    assert not (tmp_path / "broken" / "busy--agent-pg--waits--seed-0" / "result.json").exists()
    seen_before = list(seen)
    sweep(experiment, tmp_path / "broken")
    assert seen_before == [1, 2]
    assert seen[2:4] == [2, 3]
    assert everything(tmp_path / "broken") == everything(tmp_path / "whole")


def test_a_training_by_another_version_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state may mean something else there: half of one and half of another is neither."""
    experiment = learners(tmp_path)
    import dras_lab.training as training

    episode, seen = training._episode, []

    def stops(*words: object) -> object:
        seen.append(words[3])
        if seen == [1, 2]:
            raise KeyboardInterrupt
        return episode(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "_episode", stops)
    with pytest.raises(KeyboardInterrupt):
        sweep(experiment, tmp_path / "out")
    path = tmp_path / "out" / "busy--agent-pg--waits--seed-0" / "versions.json"
    told = json.loads(path.read_text())
    told["packages"]["torch"] = "1.0"
    path.write_text(json.dumps(told), encoding="utf-8")
    sweep(experiment, tmp_path / "out")
    assert seen[2:5] == [1, 2, 3]


def test_a_result_that_cannot_be_seen_here_is_a_failure(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a worker with a folder of its own under the same name."""
    monkeypatch.setattr(sweeps, "serial", lambda runs, out: iter([Outcome(runs[0].name)]))
    monkeypatch.setattr(sweeps, "_VISIBLE", 0.0)
    done = sweep(Experiment(["small.swf"], ["fcfs"], base=small), small / "out")
    assert "all workers share" in done.failed["small--fcfs--seed-0"]
    assert len(done.runs) == 0


def test_what_cannot_be_asked_for(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment(["small.swf"], ["fcfs", "sjf"], base=small)
    with pytest.raises(DrasLabError, match="workers: 0 cannot be"):
        sweep(experiment, small / "out", workers=0)
    for name, options in (("joblib", {"workers": 2}), ("distributed", {"scheduler": "tcp://x:1"})):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(DrasLabError, match="pip install"):
            sweep(experiment, small / "out", **options)  # type: ignore[arg-type]


# -- processes --------------------------------------------------------------------------------


def kill_in_the_middle(out: Path, killed: list[int], times: int = 1) -> threading.Thread:
    """Kill the process that trains the first run of an agent, after it has begun."""
    deadline = time.monotonic() + 120

    def wait() -> None:
        folder = out / "busy--agent-pg--waits--seed-0"
        while len(killed) < times and time.monotonic() < deadline:
            try:
                pid = int((folder / STARTED).read_text())
            except (OSError, ValueError):
                pid = 0
            # Not before an episode is kept: it must be seen to go on there, too.
            if pid and pid not in killed and (folder / "training" / "state.pt").exists():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.005)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def compared(done: Sweep, tmp_path: Path, experiment: Experiment) -> None:
    alone = sweep(experiment, tmp_path / "serial")
    assert (done.failed, alone.failed) == ({}, {})
    assert len(done.runs) == 5
    assert everything(tmp_path / "many") == everything(tmp_path / "serial")


LONG = LEARNING | {"phases": [["real", 12]]}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kills with a signal")
def test_processes_give_what_one_gives_though_one_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    experiment = learners(tmp_path, training=LONG)
    killed: list[int] = []
    thread = kill_in_the_middle(tmp_path / "many", killed)
    done = sweep(experiment, tmp_path / "many", workers=2)
    thread.join(timeout=5)
    assert len(killed) == 1
    assert killed[0] != os.getpid()
    compared(done, tmp_path, experiment)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kills with a signal")
def test_a_run_that_kills_its_process_twice_fails_alone(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    killed: list[int] = []
    thread = kill_in_the_middle(tmp_path / "many", killed, times=2)
    done = sweep(learners(tmp_path, training=LONG), tmp_path / "many", workers=2)
    thread.join(timeout=5)
    assert len(killed) == 2
    assert list(done.failed) == ["busy--agent-pg--waits--seed-0"]
    assert "died twice" in done.failed["busy--agent-pg--waits--seed-0"]
    assert len(done.runs) == 4
