"""The command line: what it prints, what it writes, and how it says no."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from dras_lab import cli

# Ten nodes; under EASY: 1 at 0, 2 at 100 (reserved), 3 at 0 (backfilled), 4 refused.
SMALL = """\
; MaxNodes: 10
; MaxProcs: 10
1 0 -1 100 6 -1 -1 6 100 -1 1 1 1 -1 -1 -1 -1 -1
2 0 -1 100 8 -1 -1 8 100 -1 1 2 1 -1 -1 -1 -1 -1
3 0 -1 50 4 -1 -1 4 50 -1 1 1 1 -1 -1 -1 -1 -1
4 5 -1 50 11 -1 -1 11 50 -1 1 1 1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(SMALL, encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def refuses(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Exit code 2, one line on standard error, nothing on standard output."""
    code, out, err = run(capsys, *words)
    assert code == 2, (out, err)
    assert out == ""
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    return err


# -- what it does -----------------------------------------------------------------------------


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
    rows = json.loads(run(capsys, "demo", "--out", tmp_path, "--json")[1])
    assert [row["policy"] for row in rows][:2] == ["fcfs", "sjf"]
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


def test_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "demo", "--out", tmp_path / "new" / "folder")
    assert code == 0
    table = pd.read_csv(tmp_path / "new" / "folder" / "table.csv", index_col="policy")
    assert table.loc["fcfs", "mean_wait_ratio"] == 1
    assert len(table) == 7
    assert (tmp_path / "new" / "folder" / "policies.png").stat().st_size > 20_000
    shortest = table["mean_wait_h"].idxmin()
    assert f"{shortest} has the shortest mean wait" in out


@pytest.mark.parametrize("name", ["inspect", "simulate", "compare", "generate", "demo"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert "example:\n  dras-lab " + name in out


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


# -- how it says no ---------------------------------------------------------------------------


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "binary": (bytes(range(256)) * 20, ""),
    "cut.gz": (gzip.compress(SMALL.encode() * 50)[:60], ""),
    "17": (b"1 0 -1 100 6 -1 -1 6 100 -1 1 1 1 -1 -1 -1 -1\n", "line 1"),
    "19": (b"1 0 -1 100 6 -1 -1 6 100 -1 1 1 1 -1 -1 -1 -1 -1 7\n", "line 1"),
    "letters": (b"1 0 -1 1x0 6 -1 -1 6 100 -1 1 1 1 -1 -1 -1 -1 -1\n", "line 1"),
    "csv": (b"jobid,submit,runtime\n1,2,3\n", ""),
    "python": (b"import os\n\nprint(os.getcwd())\n", ""),
    "html": (b"<!DOCTYPE html><html><body>404</body></html>\n", ""),
}


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("command", ["inspect", "simulate", "compare"])
def test_bad_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, command: str
) -> None:
    content, expected = BAD_FILES[kind]
    path = tmp_path / f"bad-{kind}.swf"
    path.write_bytes(content)
    out = tmp_path / "out.csv"
    words: list[object] = [command, path]
    if command == "simulate":
        words += ["--policy", "fcfs", "--out", out]
    if command == "compare":
        words += ["--policies", "fcfs", "--out", out]
    error = refuses(capsys, *words)
    assert path.name in error
    assert expected in error
    assert sorted(tmp_path.iterdir()) == [path]  # no file is left behind


def test_the_log_and_other_outputs_are_not_overwritten(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    for words in (
        ("simulate", small, "--policy", "fcfs", "--out", small),
        ("compare", small, "--out", small),
        ("generate", small, "--jobs", 9, "--out", small),
    ):
        assert "is the log that is read" in refuses(capsys, *words)
    both = tmp_path / "both.svg"
    error = refuses(capsys, "compare", small, "--out", both, "--plot", both)
    assert "is named twice" in error
    assert "an empty name" in refuses(capsys, "simulate", small, "--policy", "fcfs", "--out", "")
    assert small.read_text(encoding="utf-8") == SMALL
    assert list(tmp_path.iterdir()) == [small]


def test_figures_of_one_input_are_one_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # A name that would be taken for a formula.
    odd = tmp_path / "b$x_{$.swf"
    odd.write_text(SMALL, encoding="utf-8")
    for kind in ("png", "svg", "pdf"):
        contents = set()
        for k in range(2):
            path = tmp_path / f"{k}.{kind}"
            code, _, err = run(capsys, "compare", odd, "--policies", "fcfs,ljf", "--plot", path)
            assert code == 0, err
            contents.add(path.read_bytes())
        assert len(contents) == 1, kind


def test_no_such_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = refuses(capsys, "inspect", tmp_path / "none.swf")
    assert "none.swf" in error
    assert tmp_path.name in refuses(capsys, "inspect", tmp_path)
    # A name that is nearly a shipped one: which there are is said.
    assert "theta-like" in refuses(capsys, "inspect", "theta-lik")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("simulate", "SMALL", "--policy", "fcfs", "--nodes", "0"), "--nodes"),
        (("simulate", "SMALL", "--policy", "fcfs", "--nodes", "ten"), "'ten'"),
        (("simulate", "SMALL", "--policy", "fcfs", "--window", "0"), "--window"),
        (("simulate", "SMALL", "--policy", "fcfs", "--coarsen", "0"), "--coarsen"),
        (("simulate", "SMALL", "--policy", "fcfs", "--jobs", "-1"), "--jobs"),
        (("simulate", "SMALL", "--policy", "fcfs", "--seed", "-1"), "--seed"),
        (("simulate", "SMALL", "--policy", "fcfs", "--tau", "0"), "--tau"),
        (("simulate", "SMALL", "--policy", "fcfs", "--tau", "nan"), "--tau"),
        (("simulate", "SMALL", "--policy", "fcfs", "--backfill", "eazy"), "--backfill"),
        (("simulate", "SMALL", "--policy", "fcsf"), "there is no policy 'fcsf'"),
        (("simulate", "SMALL"), "--policy"),
        (("simulate", "SMALL", "--policy", "fcfs", "--out", "none/x.csv"), "no folder"),
        (("simulate", "SMALL", "--policy", "fcfs", "--out", "FOLDER"), "is a folder"),
        (("compare", "SMALL", "--policies", "fcfs,nope"), "there is no policy 'nope'"),
        (("compare", "SMALL", "--policies", ","), "at least one policy"),
        (("compare", "SMALL", "--policies", "fcfs,fcfs"), "named twice"),
        (("compare", "SMALL", "--policies", "fcfs", "--plot", "none/x.png"), "no folder"),
        (("compare", "SMALL", "--policies", "fcfs", "--plot", "x.bmp"), ".png"),
        (("generate", "lublin", "--jobs", "0", "--out", "x.swf"), "--jobs"),
        (("generate", "lublin", "--jobs", "9", "--load", "0", "--out", "x.swf"), "--load"),
        (("generate", "lublin", "--jobs", "9", "--out", "none/x.swf"), "no folder"),
        (("generate", "lublim", "--jobs", "9", "--out", "x.swf"), "lublim"),
        (("inspect",), "TRACE"),
        (("train", "SMALL"), "invalid choice"),
        (("simulate", "SMALL", "--policy", "fcfs", "--frobnicate"), "frobnicate"),
    ],
    ids=lambda value: " ".join(value[2:]) if isinstance(value, tuple) else "",
)
def test_bad_arguments(
    capsys: pytest.CaptureFixture[str],
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    expected: str,
) -> None:
    monkeypatch.chdir(small.parent)
    swap = {"SMALL": str(small), "FOLDER": str(small.parent)}
    assert expected in refuses(capsys, *(swap.get(word, word) for word in words))
    assert sorted(small.parent.iterdir()) == [small]


def test_a_fault_of_ours_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*words: object, **names: object) -> None:
        raise ZeroDivisionError("division by zero\nand more")

    monkeypatch.setattr("dras_lab.simulator.simulate", broken)
    code, out, err = run(capsys, "simulate", small, "--policy", "fcfs")
    assert (code, out) == (1, "")
    assert err.startswith("dras-lab: failed: ZeroDivisionError: division by zero (")
    assert err.count("\n") == 1


# -- as a process -----------------------------------------------------------------------------


def process(*words: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "dras_lab.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_two_hash_seeds_one_file(tmp_path: Path) -> None:
    contents = set()
    for seed in ("0", "4242"):
        out = tmp_path / f"{seed}.csv"
        words = ("simulate", "lublin-256", "--policy", "wfp3", "--out", str(out))
        done = process(*words, env={**os.environ, "PYTHONHASHSEED": seed})
        _, err = done.communicate()
        assert done.returncode == 0, err
        contents.add(out.read_bytes())
    assert len(contents) == 1


@pytest.mark.skipif(os.name == "nt", reason="signals are another thing there")
def test_ctrl_c(tmp_path: Path) -> None:
    big = tmp_path / "big.swf"
    assert cli.main(["generate", "lublin", "--jobs", "60000", "--out", str(big)]) == 0
    words = ("compare", str(big), "--policies", "wfp3,f1,f2", "--out", str(tmp_path / "out.csv"))
    running = process(*words, start_new_session=True)
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130, (out, err)
    assert out == ""
    assert err == "dras-lab: interrupted; nothing was written\n"
    assert list(tmp_path.iterdir()) == [big]


@pytest.mark.skipif(os.name == "nt", reason="terminals are another thing there")
def test_a_terminal_gets_a_progress_bar_and_a_file_does_not(tmp_path: Path) -> None:
    import fcntl
    import pty
    import select
    import struct
    import termios

    words = ("-m", "dras_lab.cli", "simulate", "lublin-256", "--policy", "f1")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, stderr=theirs)
    assert done.returncode == 0
    ready, _, _ = select.select([ours], [], [], 5)  # while the other end is open still
    shown = os.read(ours, 100_000) if ready else b""
    os.close(theirs)
    os.close(ours)
    assert b"f1" in shown
    assert b"5000" in shown
    done = subprocess.run([sys.executable, *words], capture_output=True)
    assert done.stderr == b""


def test_nothing_is_written_if_the_figure_is_interrupted(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dras_lab.plotting.overview", interrupted)
    out, plot = tmp_path / "t.csv", tmp_path / "k.png"
    code, _, err = run(capsys, "compare", small, "--out", out, "--plot", plot)
    assert (code, err) == (130, "dras-lab: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == [small]


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m dras_lab.cli inspect theta-like | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
