"""Commands called as in a shell, and what they answer."""

from __future__ import annotations

import subprocess
import sys

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


def process(*words: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "dras_lab.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
