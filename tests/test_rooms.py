"""How the parts of the library lean on each other, and the house rules of its files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

LIBRARY = ROOT / "dras_lab"

# ---------------------------------------------------------------------------------------------
# The rooms of the library. A room may import those named beside it, and nothing else of the
# library; every name beside it must stand above it, so arrows point one way. A new module needs
# a line here, below everything that it leans on.
ROOMS = {
    "jobs": "",
    "files": "jobs",
    # job logs
    "headers": "jobs",
    "swf": "jobs headers",
    "cleaning": "jobs headers swf",
    "summaries": "headers",
    "traces": "jobs files headers swf cleaning summaries",
    # workload models, and what is learnt of a log
    "facts": "jobs headers traces",
    "models": "jobs traces facts",
    "workloads": "jobs traces facts models",
    # the machine and the engine
    "cluster": "jobs",
    "holes": "jobs cluster",
    "board": "jobs cluster",
    "decisions": "jobs board",
    "log": "jobs cluster decisions",
    "results": "jobs files cluster decisions log",
    "engine": "jobs traces cluster decisions log results",
    "easy": "jobs cluster holes decisions log results engine",
    "conservative": "jobs cluster holes decisions log results engine",
    "simulator": "jobs traces cluster decisions log results engine easy conservative",
    # what drives it and what measures it
    "rewards": "jobs decisions",
    "knapsack": "jobs decisions rewards",
    "policies": "jobs decisions simulator knapsack",
    "metrics": "jobs traces cluster results simulator",
    "scaling": "",
    "features": "jobs board decisions scaling",
    "mdp": "jobs cluster decisions simulator rewards scaling features",
    "networks": "jobs",
    "scorers": "jobs networks",
    "twins": "jobs networks scorers",
    "agents": "jobs files decisions rewards mdp networks scorers twins",
    "rules": "jobs traces decisions policies simulator metrics",
    "runs": "jobs files agents",
    "priors": "jobs scaling features rules",
    "training": "jobs traces workloads simulator policies metrics agents runs",
    "recipes": "jobs traces rewards agents rules priors training",
    "replay": "jobs board cluster decisions log results",
    "whatif": "jobs traces decisions replay results simulator",
    "game": "jobs traces decisions results simulator policies metrics",
    "plotting": "jobs traces cluster results metrics",
    "groups": "jobs results metrics plotting",
    "gantt": "jobs results plotting groups",
    "curves": "jobs results metrics plotting",
    "classes": "jobs results metrics plotting",
    "breakdown": "results metrics plotting classes",
    "anatomy": "traces summaries plotting",
    "choices": "jobs log results plotting",
    "widgets": "jobs traces decisions log replay whatif game results simulator policies metrics"
    " plotting gantt",
    "observations": "jobs board decisions scaling features mdp",
    "scenes": "decisions",
    "env": "jobs traces decisions results simulator rewards scaling observations scenes",
    "lessons": "jobs traces facts workloads decisions results simulator policies metrics plotting",
    "adapting": "agents",
    # the command line: its arguments, what commands share, the longer commands, all commands
    "arguments": "policies",
    "screen": "jobs traces results metrics plotting",
    "runners": "jobs files traces policies simulator results agents screen",
    "scalars": "jobs",
    "coach": "jobs traces rules agents runs training recipes runners screen scalars",
    # experiments: what is run, one run, who does them, how far they lie apart, all of them
    "fields": "jobs",
    "experiments": "jobs fields rewards policies agents recipes training runners",
    "trials": "jobs files traces simulator metrics agents runs training recipes runners"
    " experiments scalars",
    "crews": "jobs experiments trials",
    "spreads": "",
    "sweeps": "jobs files traces runners experiments trials crews spreads",
    "demo": "jobs traces policies metrics rules priors agents training curves plotting arguments"
    " runners screen",
    "cli": "*",
    "__init__": "*",
    "__main__": "cli",
}

# The rooms that may import what is slow to load, or need not be installed.
OUTSIDE = {
    "torch": {"networks", "scorers", "twins", "agents", "runs", "runners", "scalars"},
    "ipywidgets": {"widgets"},
    "IPython": {"widgets", "lessons"},
    "traitlets": {"widgets"},
    "matplotlib": {
        *("plotting", "groups", "gantt", "curves", "classes", "breakdown", "anatomy", "choices"),
        *("widgets", "demo", "lessons"),
    },
    "gymnasium": {"env"},
    "joblib": {"crews"},
    "distributed": {"crews"},
}
# The engine asks for jobs and numbers, never for tables.
WITHOUT_PANDAS = {
    *("jobs", "cluster", "holes", "board", "decisions", "log", "engine"),
    *("easy", "conservative", "rewards", "knapsack", "policies", "mdp"),
    *("scaling", "features", "observations", "scenes"),
    *("networks", "scorers", "twins", "replay"),
}


def modules() -> list[Path]:
    found = sorted(LIBRARY.rglob("*.py"))
    assert found, "no library?"
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.Module, depth: int = 0) -> Iterator[str]:
    """Every import at any depth: `dras_lab.room` for the library's own, else the top name.

    `depth`: how many folders below the library's the file lies. What a room that is a folder
    imports from itself is its own affair.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                parts = name.name.split(".")
                yield ".".join(parts[:2]) if parts[0] == "dras_lab" else parts[0]
        elif isinstance(node, ast.ImportFrom):
            if 0 < node.level <= depth:
                continue
            parts = (node.module or "").split(".") if node.module else []
            if node.level == 0 and parts[0] != "dras_lab":
                yield parts[0]
                continue
            room = parts[1:] if node.level == 0 else parts
            if room:
                yield f"dras_lab.{room[0]}"
            else:  # `from . import jobs`, `from dras_lab import jobs`
                for name in node.names:
                    if not name.name.startswith("__"):  # `from . import __version__` is no room
                        yield f"dras_lab.{name.name}"


def wrong_imports(room: str, tree: ast.Module, depth: int = 0) -> list[str]:
    """What the table does not allow in a room, as sentences."""
    if room not in ROOMS:
        return [f"{room} is not in the table: give it a line in ROOMS of tests/test_rooms.py"]
    allowed = set(ROOMS) if ROOMS[room] == "*" else set(ROOMS[room].split())
    declared = {"numpy", "pandas", "matplotlib", "tqdm", *OUTSIDE}
    wrong = []
    for name in imports(tree, depth):
        if name.startswith("dras_lab"):
            other = name.removeprefix("dras_lab.")
            if other not in allowed:
                wrong.append(f"{room} must not import {other}")
        elif name not in sys.stdlib_module_names and name not in declared:
            wrong.append(f"{room} imports {name}, which is not a dependency")
        elif room not in OUTSIDE.get(name, {room}):
            wrong.append(f"{room} must not import {name}: only {sorted(OUTSIDE[name])} may")
        elif name == "pandas" and room in WITHOUT_PANDAS:
            wrong.append(f"{room} must not import pandas")
    return wrong


def test_rooms_lean_on_each_other_as_the_table_says():
    wrong = []
    for path in modules():
        where = path.relative_to(LIBRARY).with_suffix("").parts
        wrong += wrong_imports(where[0], parsed(path), len(where) - 1)
    assert not wrong, "\n".join(wrong)


def test_the_table_points_one_way():
    above: set[str] = set()
    for room, allowed in ROOMS.items():
        if allowed != "*":
            unknown = set(allowed.split()) - above
            assert not unknown, f"{room} may import {unknown}, which does not stand above it"
        above.add(room)


@pytest.mark.parametrize(
    ("room", "line", "complaint"),
    [
        ("jobs", "from .traces import Trace", "jobs must not import traces"),
        ("jobs", "def f():\n    from . import cli", "jobs must not import cli"),
        ("policies", "import dras_lab.metrics as m", "policies must not import metrics"),
        ("policies", "from dras_lab.cli import main", "policies must not import cli"),
        ("cluster", "import pandas as pd", "cluster must not import pandas"),
        ("cli", "from matplotlib import pyplot", "cli must not import matplotlib"),
        ("metrics", "import scipy", "not a dependency"),
        ("spare", "import os", "give it a line in ROOMS"),
    ],
)
def test_a_wrong_import_is_seen(room, line, complaint):
    assert complaint in "".join(wrong_imports(room, ast.parse(line)))


def test_a_right_import_is_let_through():
    source = (
        "import os\nimport numpy\nfrom .jobs import Job\nfrom . import __version__, simulator\n"
    )
    assert wrong_imports("policies", ast.parse(source)) == []


def test_importing_the_library_tries_for_nothing_heavy():
    """Seen by a finder that stands first in line, so also where they are not installed."""
    program = """
import sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "ipywidgets", "IPython", "matplotlib", "gymnasium"}:
            print(name)

sys.meta_path.insert(0, Watch())
import dras_lab
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == ""


# ---------------------------------------------------------------------------------------------
# The house rules


def test_no_file_of_the_library_is_long():
    lengths = {
        path.name: path.read_text(encoding="utf-8").count("\n") for path in modules()
    }  # about 350 is the aim
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def undocumented(tree: ast.Module, where: str) -> Iterator[str]:
    def is_overload(node: ast.AST) -> bool:
        names = {ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])}
        return any(n in {"overload", "typing.overload"} or n.endswith(".setter") for n in names)

    def visit(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_") or is_overload(node):
                continue
            if ast.get_docstring(node) is None:
                yield f"{prefix}{node.name} (line {node.lineno})"
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, f"{prefix}{node.name}.")

    if ast.get_docstring(tree) is None:
        yield f"{where} itself"
    yield from visit(tree.body, f"{where}: ")


def test_everything_public_has_a_docstring():
    missing = [text for path in modules() for text in undocumented(parsed(path), path.name)]
    assert not missing, "\n".join(missing)


def test_a_missing_docstring_is_seen():
    source = '"""M."""\nclass A:\n    """A."""\n    def b(self): ...\n    def _c(self): ...\n'
    assert list(undocumented(ast.parse(source), "m.py")) == ["m.py: A.b (line 4)"]


def test_no_star_imports_and_no_figure_is_shown():
    wrong = []
    for path in modules():
        for node in ast.walk(parsed(path)):
            line = f"{path.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.ImportFrom) and any(n.name == "*" for n in node.names):
                wrong.append(f"{line} imports *")
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "show"
            ):
                wrong.append(f"{line} calls show(): return the Axes and let the caller do it")
    assert not wrong, "\n".join(wrong)
