"""The project itself: what it needs, what it ships, what is committed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

LIBRARY = ROOT / "dras_lab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


# ---------------------------------------------------------------------------------------------
# What is needed and what is shipped


def bounds(requirements: list[str]) -> dict[str, str]:
    """Name to range, of lines such as `numpy>=1.26`."""
    parts = [Requirement(line) for line in requirements]
    return {part.name.lower().replace("_", "-"): str(part.specifier) for part in parts}


def test_the_conda_environment_asks_for_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    listed = environment["dependencies"]
    pip = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    assert pip == [["-e ."]]
    conda = bounds([entry for entry in listed if isinstance(entry, str) and entry != "pip"])
    conda["torch"] = conda.pop("pytorch-cpu")  # a build without CUDA, under conda-forge's name
    assert conda.pop("python") == PROJECT["requires-python"]
    assert conda == bounds(PROJECT["dependencies"] + EXTRAS["agents"] + EXTRAS["lab"])
    assert environment["channels"] == ["conda-forge", "nodefaults"]


def pins() -> dict[str, Version]:
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups()
            found[name.lower().replace("_", "-")] = Version(version)
    return found


def test_every_dependency_is_pinned_inside_its_range():
    pinned = pins()
    assert len(pinned) > 20
    for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]:
        requirement = Requirement(line)
        version = pinned[requirement.name.lower().replace("_", "-")]
        assert version in requirement.specifier, f"constraints.txt has {requirement.name} {version}"
    assert pinned["torch"] == Version("2.13.0")  # the CPU build that the notebooks were run with


def test_one_version_everywhere():
    import dras_lab

    assert dras_lab.__version__ == PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(PROJECT['version'])}\]", changes, re.MULTILINE)


@pytest.mark.slow
def test_the_wheel_carries_the_logs_and_the_data(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    run = subprocess.run(build, cwd=ROOT, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    logs = {f"dras_lab/_traces/{path.name}" for path in (ROOT / "traces").glob("*.swf.gz")}
    data = {path.relative_to(ROOT).as_posix() for path in LIBRARY.rglob("*.json")}
    code = {path.relative_to(ROOT).as_posix() for path in LIBRARY.rglob("*.py")}
    assert logs, "no logs in traces/"
    assert logs | data | code <= names
    # and nothing else than these, the marker of typed packages, and the wheel's own records
    rest = {name for name in names - logs - data - code if ".dist-info/" not in name}
    assert rest <= {"dras_lab/py.typed"}

    # Unpacked elsewhere, as an installation is, the names still resolve.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import dras_lab; print(dras_lab.__file__); "
        "print(*(len(dras_lab.read_swf(name)) for name in ('theta-like', 'lublin-256')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    where, counts = run.stdout.splitlines()
    assert where.startswith(str(tmp_path))
    assert counts == "4000 5000"


# ---------------------------------------------------------------------------------------------
# Notebooks and what is committed

# Where people's and machines' files are; never in what we hand out. (This file spells its
# examples in pieces, so that it does not hold what it looks for.)
MACHINE_PATH = re.compile(r"(?<![\w.~])(?:/(?:work|farm|root|home|Users)/|[A-Z]:\\{1,2}Users)")


def notebook_faults(notebook: dict, name: str) -> list[str]:
    faults = []
    kernel = notebook.get("metadata", {}).get("kernelspec", {}).get("name")
    if kernel != "python3":
        faults.append(f"{name}: the kernel is {kernel!r}, not 'python3'")
    for number, cell in enumerate(notebook.get("cells", [])):
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                faults.append(f"{name}: cell {number} has a stored error, {output.get('ename')}")
        if found := MACHINE_PATH.search(json.dumps(cell, ensure_ascii=False)):
            faults.append(f"{name}: cell {number} has an absolute path, {found.group()}")
    return faults


def test_notebooks_are_fit_to_hand_out():
    faults = []
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            faults += notebook_faults(json.loads(path.read_text(encoding="utf-8")), path.name)
    assert not faults, "\n".join(faults)


def test_an_unfit_notebook_is_seen():
    unfit = {
        "metadata": {"kernelspec": {"name": "my-env"}},
        "cells": [
            {"outputs": [{"output_type": "error", "ename": "NameError"}]},
            {"source": ["read_swf('/" + "home/me/log.swf')"]},
        ],
    }
    assert [fault.split(": ", 1)[1] for fault in notebook_faults(unfit, "n")] == [
        "the kernel is 'my-env', not 'python3'",
        "cell 0 has a stored error, NameError",
        "cell 1 has an absolute path, /" + "home/",
    ]


def repository_files() -> list[Path]:
    """What is in git, or would be after `git add`; skipped where there is no git checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    paths = [ROOT / os.fsdecode(name) for name in listing.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def test_nothing_committed_names_a_machine():
    found = []
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" not in content:
            for number, line in enumerate(content.decode("utf-8").splitlines(), 1):
                if MACHINE_PATH.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("open('/" + "work/main/x')", True),
        ("/" + "farm/y", True),
        ("C:" + "\\Users\\me", True),
        ("https://example.org/" + "work/z", False),
        ("../" + "work/z", False),
        ("use /usr/bin/env", False),
    ],
)
def test_a_machine_path_is_seen(line, is_one):
    assert bool(MACHINE_PATH.search(line)) == is_one
