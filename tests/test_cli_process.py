"""The command line as a process: signals, pipes, terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import SMALL, process, run

from dras_lab import cli


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(SMALL, encoding="utf-8")
    return path


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
