"""Fail if tests were skipped for want of a browser, or of real job logs that are there.

    python .ci/skipped.py REPORT.xml

REPORT.xml is what `pytest --junit-xml` writes. The logs are where `tests/conftest.py` looks:
in DRAS_LAB_SHARED, or in `shared` beside the checkout.
"""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def skipped(report: Path) -> list[tuple[str, str]]:
    """Name and reason of each skipped test."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            name = f"{case.get('classname')}.{case.get('name')}"
            found.append((name, skip.get("message", "")))
    return found


def for_want_of_logs(reason: str) -> bool:
    return any(words in reason.lower() for words in ("job log", "shared"))


def for_want_of_a_browser(reason: str) -> bool:
    return any(words in reason.lower() for words in ("no browser", "no selenium", "no jupyterlab"))


def main(report: str) -> int:
    found = skipped(Path(report))
    without = [name for name, reason in found if for_want_of_a_browser(reason)]
    for name in without:
        print(f"skipped for want of a browser (chromium, chromedriver): {name}", file=sys.stderr)
    folder = Path(os.environ.get("DRAS_LAB_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        print("no folder of real job logs: the tests that need one were not run.")
        return 1 if without else 0
    wrong = [entry for entry in found if for_want_of_logs(entry[1])]
    for name, reason in wrong:
        print(f"skipped although the logs are there: {name}: {reason}", file=sys.stderr)
    return 1 if wrong or without else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
