"""Where the tests find what is not in the repository: the real job logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_dir() -> Path:
    """The folder of real logs: DRAS_LAB_SHARED, or the one beside the checkout."""
    return Path(os.environ.get("DRAS_LAB_SHARED", ROOT.parent / "shared"))


def shared(*parts: str) -> Path:
    """A file of the shared folder; the test is skipped where the folder does not exist.

    Where the folder exists, a missing file is a failure and not a skip.
    """
    if not shared_dir().is_dir():
        pytest.skip("no folder of real job logs here (set DRAS_LAB_SHARED)")
    path = shared_dir().joinpath(*parts)
    assert path.exists(), f"{path} is missing from the shared folder"
    return path
