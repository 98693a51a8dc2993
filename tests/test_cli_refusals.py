"""The command line: how it says no."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from commands import SMALL, refuses, run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(SMALL, encoding="utf-8")
    return path


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
        (("train", "SMALL"), "--out"),
        (("retrain", "SMALL"), "invalid choice"),
        (("simulate", "SMALL", "--policy", "fcfs", "--part", "rest"), "--part"),
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
