"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dras_lab.files import check_target, write_all, write_whole
from dras_lab.jobs import DrasLabError


def test_text_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    write_whole(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("step", ["fdopen", "replace"])
def test_when_it_fails_the_old_file_stays_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def full(*words: object, **names: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(DrasLabError, match=r"a\.txt: cannot be written \(No space left"):
        write_whole(path, "new")
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_interrupt_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="rights are another thing there")
def test_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "x")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_targets_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DrasLabError, match=r"there is no folder .*none; make it first"):
        check_target(tmp_path / "none" / "a.txt")
    with pytest.raises(DrasLabError, match="is a folder; name a file in it"):
        write_whole(tmp_path, "x")


def test_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_all({tmp_path / "a": "1", tmp_path / "b": b"2"})
    assert sorted(p.read_text(encoding="utf-8") for p in tmp_path.iterdir()) == ["1", "2"]
    with pytest.raises(DrasLabError, match="there is no folder"):
        write_all({tmp_path / "a": "new", tmp_path / "none" / "b": "new"})
    assert (tmp_path / "a").read_text(encoding="utf-8") == "1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.skipif(os.name == "nt", reason="links and devices are another thing there")
def test_links_stay_links_and_devices_stay_devices(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
