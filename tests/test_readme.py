"""The tables of the README are what the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, shared

from dras_lab import cli


def block(start: str) -> list[str]:
    """The lines of the README's code block from the line that begins with `start` on."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(start))
    return lines[first : first + lines[first:].index("```")]


@pytest.mark.slow
@pytest.mark.learning
def test_the_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is computed is the same to the digit; what is learnt is so on one machine only."""
    pytest.importorskip("torch")
    assert cli.main(["demo", "--out", str(tmp_path)]) == 0
    expected = block("theta-like-by-16-part-3-of-3: 1000 jobs")
    assert len(expected) == 12
    lines = capsys.readouterr().out.splitlines()
    first = lines.index(expected[0])
    for line, printed in zip(expected, lines[first:], strict=False):
        if not line.startswith("dras-pg"):
            assert printed.split() == line.split()
            continue
        told, found = ([float(word) for word in text.split()[1:]] for text in (line, printed))
        assert printed.startswith("dras-pg")
        assert found[3:5] == pytest.approx(told[3:5], abs=0.15)  # mean and maximum of fcfs'


@pytest.mark.slow
def test_a_real_year(capsys: pytest.CaptureFixture[str]) -> None:
    log = shared("traces", "ALCF-Theta-2022.swf.gz")
    command = block("$ dras-lab compare ALCF-Theta-2022.swf.gz")
    assert cli.main(["compare", str(log), *command[0].split()[4:]]) == 0
    assert capsys.readouterr().out.splitlines() == command[1:]


def test_the_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    """The Python blocks run one after the other, and print what stands below the first."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 4
    names: dict[str, object] = {}
    exec(blocks[0], names)
    assert capsys.readouterr().out.split() == " ".join(block("        mean_wait_h")).split()
    for part in blocks[1:]:
        exec(part, names)
    out = capsys.readouterr().out
    assert "Choice(level=" in out
    assert "ready" in out
