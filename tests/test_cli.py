"""The command line: what it prints and what it writes."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from commands import SMALL, refuses, run

from dras_lab import demo


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_simulate(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    out = tmp_path / "schedule.csv"
    code, text, _ = run(capsys, "simulate", small, "--policy", "fcfs", "--out", out, "--json")
    assert code == 0
    measures = json.loads(text)
    assert measures["jobs"] == 3
    assert measures["refused"] == 1
    assert measures["mean_wait_s"] == round(100 / 3, 3)
    assert measures["max_wait_s"] == 100
    # Job 2 waited 100 s and ran 100 s: slowdown 2; the others 1.
    assert measures["mean_bounded_slowdown"] == round(4 / 3, 4)
    assert measures["makespan_s"] == 200
    assert measures["utilisation"] == 0.8  # (600 + 800 + 200) / 2000
    assert (measures["policy"], measures["nodes"]) == ("fcfs", 10)
    assert out.read_text(encoding="utf-8").split("\n") == [
        "job_id,submit,start,end,wait,size,requested_time,run_time,how,nodes",
        "1,0,0,100,0,6,100,100,ready,0-5",
        "2,0,100,200,100,8,100,100,reserved,0-7",
        "3,0,0,50,0,4,50,50,backfilled,6-9",
        "4,5,,,,11,50,,refused,",
        "",
    ]


def test_simulate_in_words(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    code, out, _ = run(capsys, "simulate", small, "--policy", "fcfs")
    assert code == 0
    assert "mean_wait_s" in out
    assert "33.333" in out


def test_options_reach_the_engine(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    def waits(*options: object) -> tuple[int, int, int]:
        _, out, _ = run(capsys, "simulate", small, "--policy", "fcfs", "--json", *options)
        measures = json.loads(out)
        return measures["jobs"], measures["refused"], measures["max_wait_s"]

    assert waits() == (3, 1, 100)
    assert waits("--backfill", "none") == (3, 1, 200)
    # On 20 nodes 6 + 8 + 4 run at once; job 4 (11 nodes, from 5) fits when two of them end at 100.
    assert waits("--nodes", 20) == (4, 0, 95)
    assert waits("--jobs", 2) == (2, 0, 100)
    # Halved: 5 nodes; sizes 3, 4, 2 and 6.
    assert waits("--coarsen", 2) == (3, 1, 100)
    _, out, _ = run(
        capsys, *("simulate", small, "--policy", "fcfs", "--json", "--window", "all"),
        *("--overrun", "keep", "--reservation", "renewed"),
    )  # fmt: skip
    measures = json.loads(out)
    assert measures["window"] is None
    assert (measures["overrun"], measures["reservation"]) == ("keep", "renewed")


def test_seed(capsys: pytest.CaptureFixture[str]) -> None:
    def once(seed: int) -> str:
        words = ("simulate", "lublin-256", "--policy", "random", "--jobs", 300, "--json")
        return run(capsys, *words, "--seed", seed)[1]

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_compare(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    table, figure = tmp_path / "table.csv", tmp_path / "kiviat.png"
    words = ("compare", small, "--policies", "fcfs,sjf", "--out", table, "--plot", figure)
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["policy"] for row in rows] == ["fcfs", "sjf"]
    # Shortest first: job 3 at 0, job 1 at 0, job 2 at 100: the same starts.
    assert [row["mean_wait_s"] for row in rows] == [33.333, 33.333]
    assert pd.read_csv(table)["policy"].tolist() == ["fcfs", "sjf"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    code, out, _ = run(capsys, "compare", small, "--policies", "fcfs,sjf")
    assert code == 0
    assert "bounded slowdown with tau = 10 s" in out
    # 33.333 s are 0.01 h, 200 s are 0.0 days; a job is refused, so that has a column.
    assert out.splitlines()[2].split() == [
        "fcfs",
        "0.01",
        "0.00",
        "0.0",
        "1.3",
        "0.800",
        "0.0",
        "1",
    ]


def test_inspect(capsys: pytest.CaptureFixture[str], small: Path) -> None:
    code, out, _ = run(capsys, "inspect", small, "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["nodes"], told["report"]["read"], told["report"]["kept"]) == (10, 4, 4)
    assert told["summary"]["jobs"] == 4
    code, out, _ = run(capsys, "inspect", "theta-like")
    assert code == 0
    assert "4360" in out.replace(",", "")


def test_inspect_options(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "inspect", small)
    assert code == 0
    assert out.startswith("4 jobs read, 4 kept, 0 refused")
    assert "wider_than_machine" in out
    told = json.loads(run(capsys, "inspect", small, "--nodes", 20, "--json")[1])
    assert told["nodes"] == 20
    assert "wider_than_machine" not in told["report"]["noted"]
    assert "line 6" in refuses(capsys, "inspect", small, "--strict")


def test_the_figure_has_its_text_inside(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    for kind in ("png", "svg", "pdf"):
        path = tmp_path / f"kiviat.{kind}"
        words = ("compare", small, "--policies", "fcfs,ljf", "--plot", path)
        assert run(capsys, *words)[0] == 0
        assert b"Kiviat chart" in path.read_bytes() or kind == "pdf"
    assert b"ljf" in (tmp_path / "kiviat.png").read_bytes()  # all policies, not the first only


def test_generate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = tmp_path / "a.swf", tmp_path / "b.swf.gz"
    for path in (first, second):
        words = ("generate", "lublin", "--jobs", 200, "--load", 0.9, "--seed", 3, "--out", path)
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert "200 jobs" in out
    assert gzip.decompress(second.read_bytes()) == first.read_bytes()


def test_like_a_log_with_a_field_too_many(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = [f"{k} {60 * k} -1 50 1 -1 -1 1 90 -1 1 1 1 -1 -1 -1 -1 -1 7\n" for k in range(1, 41)]
    log = tmp_path / "nineteen.swf"
    log.write_text("; MaxProcs: 4\n" + "".join(lines), encoding="utf-8")
    words = ("generate", log, "--jobs", 30, "--out", tmp_path / "like.swf")
    assert "--extra-columns ignore" in refuses(capsys, *words)
    assert run(capsys, *words, "--extra-columns", "ignore")[0] == 0


def test_all_commands_speak_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "x.swf"
    words = ("generate", "lublin", "--jobs", 20, "--out", out, "--json")
    told = json.loads(run(capsys, *words)[1])
    assert (told["file"], told["nodes"], told["summary"]["jobs"]) == (str(out), 256, 20)
    rows = json.loads(run(capsys, "compare", out, "--policies", "fcfs,laf", "--json")[1])
    assert [(row["backfill"], row["window"], row["overrun"]) for row in rows] == [
        ("easy", 50, "kill")
    ] * 2


def test_a_machine_too_small_for_any_job(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    for words in (("simulate", small, "--policy", "fcfs"), ("compare", small)):
        error = refuses(capsys, *words, "--nodes", 3)
        assert "all 4 jobs are wider than the machine of 3 nodes" in error


def test_a_single_job(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "one.swf"
    assert run(capsys, "generate", "lublin", "--jobs", 1, "--out", path)[0] == 0
    for words in (("inspect", path), ("compare", path, "--plot", tmp_path / "one.png")):
        code, _, err = run(capsys, *words)
        assert code == 0, err


HEURISTICS = ["fcfs", "sjf", "saf", "wfp3", "f1", "binpacking", "random"]


def test_demo_without_torch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    folder = tmp_path / "new" / "folder"
    code, out, err = run(capsys, "demo", "--out", folder)
    assert code == 0
    assert "pip install 'dras-lab[agents]'" in err
    table = pd.read_csv(folder / "table.csv", index_col="policy")
    assert table.loc["fcfs", "mean_wait_ratio"] == 1
    assert list(table.index) == HEURISTICS
    assert set(table["jobs"]) == {4000}
    assert (folder / "policies.png").stat().st_size > 20_000
    assert not (folder / "learning-curve.png").exists()
    assert f"{table['mean_wait_h'].idxmin()} has the shortest mean wait" in out


def test_demo(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(demo, "EPISODES", 1)  # tests/test_readme.py has all of them
    monkeypatch.setattr(demo, "RULES", 2)
    code, out, err = run(capsys, "demo", "--out", tmp_path)
    assert code == 0, err
    table = pd.read_csv(tmp_path / "table.csv", index_col="policy")
    assert list(table.index) == ["fcfs", "dras-pg", "rule", *HEURISTICS[1:]]
    assert set(table["jobs"]) == {1000}  # the last quarter of 4,000
    for name in ("policies.png", "learning-curve.png"):
        assert (tmp_path / name).stat().st_size > 20_000
    assert "dras-pg is the agent" in out
    rows = json.loads(run(capsys, "demo", "--out", tmp_path, "--json")[1])
    assert [row["policy"] for row in rows] == list(table.index)
    assert rows[1]["mean_wait_s"] / 3600 == pytest.approx(table.loc["dras-pg", "mean_wait_h"])


@pytest.mark.parametrize("name", ["inspect", "simulate", "compare", "train", "generate", "demo"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert "example:\n  dras-lab " + name in out
    assert "%%" not in out


@pytest.mark.parametrize("name", ["inspect", "simulate", "compare", "generate"])
def test_the_example_works(
    capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, out, _ = run(capsys, name, "--help")
    example = out.split("example:\n  dras-lab ")[1].split("\n")[0]
    code, _, err = run(capsys, *example.split())
    assert code == 0, err


def test_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[:2] == (0, "dras-lab 0.1.0\n")
    assert "COMMAND" in refuses(capsys)
