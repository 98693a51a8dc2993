"""Agents on the command line: as policies, learning on, and files that are none."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from commands import refuses, run  # noqa: E402
from small_training import NODES, busy, log_in  # noqa: E402

from dras_lab import runners, simulate  # noqa: E402
from dras_lab.adapting import adapting  # noqa: E402
from dras_lab.agents import make_agent  # noqa: E402
from dras_lab.agents.checkpoints import contents_of, load, read, save, shipped  # noqa: E402


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_in(tmp_path)


@pytest.fixture
def agents(tmp_path: Path) -> dict[str, Path]:
    """An untrained agent of each kind of network, in files."""
    found = {}
    for network in ("dras", "scorer"):
        found[network] = tmp_path / f"{network}.pt"
        save(make_agent("pg", NODES, 50, network=network, seed=1), found[network])
    return found


def test_an_agent_is_a_policy(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "schedule.csv"
    for path in agents.values():
        words = ("simulate", log, "--policy", path, "--out", out, "--json")
        measures = json.loads(run(capsys, *words)[1])
        assert measures["policy"] == path.name
        result = simulate(busy(), load(path), window=50)
        assert measures["mean_wait_s"] == round(float(result.wait.mean()), 3)
        assert out.read_text(encoding="utf-8") == result.csv()


def test_compare_names_agents_by_their_files(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    words = ("compare", log, "--policies", f"fcfs,{agents['dras']},{agents['scorer']}", "--json")
    rows = json.loads(run(capsys, *words)[1])
    assert [row["policy"] for row in rows] == ["fcfs", "dras.pt", "scorer.pt"]
    twin = tmp_path / "other" / "dras.pt"
    twin.parent.mkdir()
    twin.write_bytes(agents["dras"].read_bytes())
    words = ("compare", log, "--policies", f"sjf,{agents['dras']},{twin}", "--json")
    rows = json.loads(run(capsys, *words)[1])
    assert [row["policy"] for row in rows] == ["sjf", str(agents["dras"]), str(twin)]
    assert rows[1]["mean_wait_s"] == rows[2]["mean_wait_s"]


@pytest.mark.parametrize(
    ("part", "ids"), [("train", (1, 60)), ("validation", (61, 75)), ("test", (76, 100))]
)
def test_parts(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, part: str, ids: tuple[int, int]
) -> None:
    out = tmp_path / "schedule.csv"
    words = ("--part", part, "--json")
    found = json.loads(run(capsys, "simulate", log, "--policy", "sjf", "--out", out, *words)[1])
    assert pd.read_csv(out)["job_id"].tolist() == list(range(ids[0], ids[1] + 1))
    rows = json.loads(run(capsys, "compare", log, "--policies", "sjf", *words)[1])
    assert rows == [found]
    # 60, 15 and 25 % of what --jobs leaves.
    expected = {"train": 24, "validation": 6, "test": 10}[part]
    words = ("simulate", log, "--policy", "sjf", "--part", part, "--jobs", 40, "--json")
    assert json.loads(run(capsys, *words)[1])["jobs"] == expected


def test_a_part_of_too_few_jobs(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    words = ("simulate", log, "--policy", "sjf", "--jobs", 2, "--part", "validation")
    assert "a part would have no job" in refuses(capsys, *words)


# -- another machine, another window ----------------------------------------------------------


def test_another_machine(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path]
) -> None:
    for words in (("simulate", log, "--policy"), ("compare", log, "--policies")):
        error = refuses(capsys, *words, agents["dras"], "--nodes", 9)
        assert f"{NODES} nodes" in error
        error = refuses(capsys, *words, agents["dras"], "--coarsen", 2)
        assert "its network has no other size" in error
        # A scorer goes anywhere.
        for other in (("--nodes", 9), ("--coarsen", 2), ("--window", 7)):
            assert run(capsys, *words, agents["scorer"], *other)[0] == 0


def test_coarsening_that_would_do_is_named(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path
) -> None:
    path = tmp_path / "half.pt"
    save(make_agent("pg", NODES // 2, 50), path)
    assert "give --coarsen 2" in refuses(capsys, "simulate", log, "--policy", path)
    assert run(capsys, "simulate", log, "--policy", path, "--coarsen", 2)[0] == 0


def test_another_window(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path]
) -> None:
    assert "a window of 50" in refuses(
        capsys, "simulate", log, "--policy", agents["dras"], "--window", 49
    )
    error = refuses(capsys, "compare", log, "--policies", agents["scorer"], "--window", "all")
    assert "give --window a number" in error


# -- files that are no agents -----------------------------------------------------------------


class Bomb:
    """A pickle that would write a file if it were run."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.write_text, (self.target, "run")


def bad_files(folder: Path, good: Path) -> dict[str, tuple[Path, str]]:
    victim = folder / "victim"
    contents = read(good)
    weights = dict(contents["weights"])
    first = next(iter(weights))

    def made(name: str, data: Any) -> Path:
        path = folder / f"{name}.pt"
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            torch.save(data, path)
        return path

    whole = good.read_bytes()
    nan = weights | {first: torch.full_like(weights[first], float("nan"))}
    less = {name: tensor for name, tensor in weights.items() if name != first}
    return {
        "absent": (folder / "absent.pt", "cannot be read"),
        "empty": (made("empty", b""), "nothing in it was run"),
        "cut": (made("cut", whole[: len(whole) // 2]), "nothing in it was run"),
        "text": (made("text", b"a,b\n1,2\n"), "nothing in it was run"),
        "pickle": (made("pickle", pickle.dumps(Bomb(victim))), "nothing in it was run"),
        "hostile": (made("hostile", {"format": 1, "x": Bomb(victim)}), "nothing in it was run"),
        "tensor": (made("tensor", torch.zeros(3)), "no checkpoint"),
        "later": (made("later", contents | {"format": 99}), "format 99"),
        "missing": (made("missing", contents | {"weights": less}), "damaged"),
        "nan": (made("nan", contents | {"weights": nan}), "damaged"),
        "config": (made("config", contents | {"config": {}}), "damaged"),
        "folder": (folder, "cannot be read"),
    }


KINDS = ("absent", "empty", "cut", "text", "pickle", "hostile", "tensor", "later", "missing")


@pytest.mark.parametrize("kind", [*KINDS, "nan", "config", "folder"])
def test_bad_checkpoints(
    capsys: pytest.CaptureFixture[str], agents: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    path, expected = bad_files(tmp_path, agents["scorer"])[kind]
    # There is no such log: the checkpoint is looked at first.
    for words in (("simulate", "no.swf", "--policy"), ("compare", "no.swf", "--policies")):
        error = refuses(capsys, *words, path)
        assert expected in error
        assert path.name in error
    assert not (tmp_path / "victim").exists()


def test_a_bomb_does_go_off_where_it_is_run(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "victim")))
    assert (tmp_path / "victim").exists()


def test_no_such_policy(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    error = refuses(capsys, "simulate", log, "--policy", "dras-thta")
    assert "there is no policy 'dras-thta'" in error
    assert "checkpoint file" in error
    assert "there is no policy" in refuses(capsys, "simulate", log, "--policy", "x" * 5000)


def test_shipped_agents_are_known_without_torch() -> None:
    assert runners.shipped_agents() == list(shipped())


def test_a_shipped_name(
    capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent("pg", NODES, 50, network="scorer")
    save(agent, tmp_path / "my-agent.pt")
    monkeypatch.setattr(runners, "shipped_agents", lambda: ["my-agent"])
    monkeypatch.setattr("dras_lab.agents.checkpoints._SHIPPED", tmp_path)
    found = json.loads(run(capsys, "simulate", log, "--policy", "my-agent", "--json")[1])
    assert found["policy"] == "my-agent"


# -- learning on ------------------------------------------------------------------------------


def weights(agent: Any) -> list[Any]:
    return [tensor.clone() for tensor in agent.brain.networks.state_dict().values()]


def same(one: list[Any], other: list[Any]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_learn_and_save(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    kept = agents["scorer"].read_bytes()
    words = ("simulate", log, "--policy", agents["scorer"], "--learn", "--json")
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        code, text, err = run(capsys, *words, "--seed", seed, "--save", tmp_path / f"{name}.pt")
        assert code == 0, err
        assert json.loads(text)["decisions_learnt_from"] == 100  # each of 100 jobs is chosen once
    assert agents["scorer"].read_bytes() == kept
    before, a, b, c = (load(p) for p in (agents["scorer"], *(tmp_path / f"{x}.pt" for x in "abc")))
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(c))
    assert not same(weights(a), weights(before))
    assert a.config() == before.config()  # what it was trained with, not what it adapts with
    assert read(tmp_path / "a.pt")["about"]["adapted_from"] == "scorer.pt"
    code, out, err = run(capsys, *words[:-1], "--save", tmp_path / "d.pt")
    assert code == 0
    assert "decisions_learnt_from" in out
    assert f"agent written to {tmp_path / 'd.pt'}" in err


def test_learn_says_no(
    capsys: pytest.CaptureFixture[str], log: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "x.pt"
    assert "sjf does not learn" in refuses(capsys, "simulate", log, "--policy", "sjf", "--learn")
    words = ("simulate", log, "--policy", agents["dras"])
    assert "goes with --learn" in refuses(capsys, *words, "--save", out)
    error = refuses(capsys, *words, "--learn", "--save", agents["dras"])
    assert "is the agent that is read" in error
    assert "named twice" in refuses(capsys, *words, "--learn", "--save", out, "--out", out)
    assert "no folder" in refuses(capsys, *words, "--learn", "--save", tmp_path / "no" / "x.pt")
    assert not out.exists()


@pytest.mark.parametrize("kind", ["pg", "dql", "decima"])
@pytest.mark.parametrize("update", ["ours", "published"])
def test_adapting(kind: str, update: str) -> None:
    agent = make_agent(kind, NODES, 50, network="scorer", update=update)
    settings, before = agent.update, weights(agent)
    with adapting(agent):
        assert agent.learning
        assert (agent.update.runs, agent.update.every) == (1, 200 if update == "ours" else 10)
        # A twentieth, where training had lowered the rate to that; else as it was.
        rate = settings.learning_rate / (20 if update == "ours" else 1)
        assert agent.optimiser.param_groups[0]["lr"] == pytest.approx(rate)
        if kind == "dql":
            assert agent.epsilon == settings.floor
        simulate(busy(), agent, window=50)
    assert (agent.update, agent.learning) == (settings, False)
    after = weights(agent)
    assert not same(before, after)
    simulate(busy(), agent, window=50)
    assert same(weights(agent), after)


def test_adapting_that_is_broken_off() -> None:
    agent = make_agent("pg", NODES, 50, network="scorer")
    settings, before = agent.update, weights(agent)

    def broken_off() -> None:
        with adapting(agent, every=10**6):
            simulate(busy(), agent, window=50)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert (agent.update, agent.learning) == (settings, False)
    assert same(before, weights(agent))
    agent.end_run()
    assert same(before, weights(agent))


# -- what is loaded, and when -----------------------------------------------------------------


def test_heuristics_do_not_load_torch(log: Path) -> None:
    import subprocess
    import sys

    program = (
        "import os, sys\n"
        "import dras_lab.cli\n"
        "assert not {'numpy', 'pandas', 'torch'} & set(sys.modules)\n"
        f"assert dras_lab.cli.main(['simulate', {str(log)!r}, '--policy', 'sjf']) == 0\n"
        "assert os.environ['OPENBLAS_NUM_THREADS'] == os.environ['OMP_NUM_THREADS'] == '1'\n"
        "assert 'numpy' in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_contents_are_plain(agents: dict[str, Path]) -> None:
    contents = contents_of(load(agents["dras"]), {"a": 1})
    kinds = {type(value) for value in contents.values()}
    assert kinds <= {dict, int, str}
    assert np.isfinite(sum(float(tensor.sum()) for tensor in contents["weights"].values()))
