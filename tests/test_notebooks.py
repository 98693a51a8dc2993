"""The lessons: made from their sources, fit to read without a kernel, and of the same form."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("nbformat")

_SPEC = importlib.util.spec_from_file_location("maker", ROOT / "scripts" / "make_notebooks.py")
maker: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(maker)

NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
SOLUTIONS = sorted(NOTEBOOKS.glob("solutions/*.ipynb"))
EXERCISES = sorted(NOTEBOOKS.glob("exercises/*.ipynb"))
ALL = [*LESSONS, *SOLUTIONS, *EXERCISES]
MOST_BYTES = 1_500_000


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def words(path: Path) -> str:
    return "\n\n".join(text_of(c) for c in read(path)["cells"] if c["cell_type"] == "markdown")


def code(path: Path) -> str:
    return "\n\n".join(text_of(c) for c in read(path)["cells"] if c["cell_type"] == "code")


def by_name(paths: list[Path]) -> Any:
    return pytest.mark.parametrize(
        "path", paths, ids=[path.relative_to(NOTEBOOKS).as_posix() for path in paths]
    )


# ---------------------------------------------------------------------------------------------
# Made from the sources


def test_every_notebook_is_what_its_source_makes() -> None:
    assert maker.stale() == [], "run: python scripts/make_notebooks.py"


def test_a_changed_source_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in (("NOTEBOOKS", ""), ("SOURCES", "sources"), ("EXERCISES", "exercises")):
        monkeypatch.setattr(maker, name, tmp_path / folder)
    (tmp_path / "sources").mkdir()
    source = tmp_path / "sources" / "00_a.py"
    source.write_text("# %% [markdown]\n# # A\n\n# %%\n1 + 1\n", encoding="utf-8")
    assert maker.stale() == ["00_a.ipynb"]
    target = tmp_path / "00_a.ipynb"
    notebook = maker.made_of(source)
    target.write_text(maker.as_text(notebook), encoding="utf-8")
    assert maker.stale() == []
    source.write_text("# %% [markdown]\n# # B\n\n# %%\n1 + 1\n", encoding="utf-8")  # other words
    assert maker.stale() == ["00_a.ipynb"]
    source.write_text("# %% [markdown]\n# # A\n\n# %%\n1 + 2\n", encoding="utf-8")  # other code
    assert maker.stale() == ["00_a.ipynb"]


def test_cells_of_a_source() -> None:
    text = (
        "# %% [markdown]\n# # A\n#\n# b\n\n# %%\n# %matplotlib inline\nx = 1\n\n\n"
        "# %%\ndef f():\n    # y\n    pass\n"
    )
    assert maker.cells_of(text) == [
        ("markdown", "# A\n\nb"),
        ("code", "%matplotlib inline\nx = 1"),
        ("code", "def f():\n    # y\n    pass"),
    ]
    with pytest.raises(ValueError, match="does not begin"):
        maker.cells_of("# %% [markdown]\nno mark\n")


@pytest.mark.parametrize(
    ("solution", "exercise"),
    [
        ("x = 42  # solution\ny = x", "x = ...\ny = x"),
        ("a, b = 1, 2  # solution", "a, b = ..."),
        (
            "def f():\n    # solution\n    return 1\n    # end of solution\n\n\nf()",
            "def f():\n    ...  # your code here\n\n\nf()",
        ),
        ("a = 1\n# solution, without a trace\nb = 2\n# end of solution\nc = 3", "a = 1\nc = 3"),
        ("x = 1  # a solution of another kind", "x = 1  # a solution of another kind"),
    ],
)
def test_what_a_reader_is_to_find_is_taken_out(solution: str, exercise: str) -> None:
    import nbformat

    cell = nbformat.v4.new_code_cell(solution, execution_count=3)
    stripped = maker.stripped(nbformat.v4.new_notebook(cells=[cell]))
    assert stripped.cells[0].source == exercise
    assert stripped.cells[0].execution_count is None


@by_name(EXERCISES)
def test_exercises_hold_no_solution(path: Path) -> None:
    assert "solution" not in code(path)
    assert all(not c["outputs"] for c in read(path)["cells"] if c["cell_type"] == "code")
    solution = code(NOTEBOOKS / "solutions" / path.name)
    assert "# solution" in solution
    checks = re.findall(r'^check\("(\d\.\d)"', code(path), re.MULTILINE)
    assert len(checks) >= 3
    assert [number.split(".")[0] for number in checks] == [str(int(path.name[:2]))] * len(checks)


# ---------------------------------------------------------------------------------------------
# What is stored


def faults(notebook: dict[str, Any]) -> list[str]:
    """What a reader without a kernel would stumble over; as sentences."""
    found = []
    if notebook["metadata"] != maker.METADATA:
        found.append("its metadata are not those of all lessons")
    counts = [c["execution_count"] for c in notebook["cells"] if c["cell_type"] == "code"]
    if counts not in ([None] * len(counts), list(range(1, len(counts) + 1))):
        found.append("its cells were not run once each, in order")
    for number, cell in enumerate(notebook["cells"]):
        if cell["metadata"]:
            found.append(f"cell {number} has metadata")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if output["output_type"] == "error" or output.get("name") == "stderr":
                found.append(f"cell {number} has an error or a warning")
            if "Warning" in "".join(output.get("text", "")):
                found.append(f"cell {number} prints a warning")
            if maker.VIEW in data:
                found.append(f"cell {number} stores a widget, which is dead without its kernel")
            alt = output.get("metadata", {}).get("image/png", {}).get("alt", "")
            if "image/png" in data and len(alt) < 20:
                found.append(f"cell {number} has a picture without a text alternative")
            if re.search(r"<Figure size|object at 0x", "".join(data.get("text/plain", ""))):
                found.append(f"cell {number} shows how Python calls an object")
    return found


@by_name(ALL)
def test_a_notebook_reads_well_without_a_kernel(path: Path) -> None:
    assert faults(read(path)) == []
    assert path.stat().st_size < MOST_BYTES


def test_what_reads_badly_is_seen() -> None:
    cell = {"cell_type": "code", "execution_count": 7, "metadata": {"scrolled": True}}
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": ["UserWarning: x"]},
        {"output_type": "display_data", "data": {"image/png": "", maker.VIEW: {}}, "metadata": {}},
        {"output_type": "execute_result", "data": {"text/plain": ["<F object at 0x7f>"]}},
    ]
    found = " ".join(faults({"metadata": {}, "cells": [cell | {"outputs": outputs}]}))
    for part in ("its metadata", "not run once", "has metadata", "error or a warning"):
        assert part in found
    for part in ("prints a warning", "stores a widget", "without a text", "how Python calls"):
        assert part in found


# ---------------------------------------------------------------------------------------------
# Of the same form


@by_name(LESSONS)
def test_a_lesson_opens_and_closes_as_all_do(path: Path) -> None:
    text = words(path)
    first = text.split("\n## ")[0]
    assert re.match(rf"# {path.name[:2]} · \w", first)
    for part in (r"\*\*You will be able to\*\* ", r"\*\*You need\*\* "):
        assert re.search(part, first), part
    assert re.search(
        r"\*\*It takes\*\* [\w\s]+ minutes\sto\sread\sand\s[\w\s]+ seconds\sto\srun", first
    )
    last = text.split("\n## ")[-1]
    assert last.startswith("What you did\n")
    assert re.search(r"\*\*Questions\*\*\n\n1\. .*\n2\. .*\n3\. ", last, re.DOTALL)
    assert "**Read on:**" in last
    assert "guess" in text.lower()  # a prediction, before the result is shown


@by_name(LESSONS)
def test_no_cell_is_long_and_words_come_before_code(path: Path) -> None:
    cells = read(path)["cells"]
    assert cells[0]["cell_type"] == cells[-1]["cell_type"] == "markdown"
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert len(text_of(cell).split("\n")) <= 45, number


LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("path", [*ALL, NOTEBOOKS / "README.md"], ids=lambda p: p.stem)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8") if path.suffix == ".md" else words(path)
    for target in LINK.findall(text):
        if target.startswith("http"):
            continue
        assert not target.startswith("/"), target
        assert (path.parent / target.split("#")[0]).resolve().exists(), target


def test_the_map_has_every_lesson_and_no_other() -> None:
    text = (NOTEBOOKS / "README.md").read_text(encoding="utf-8")
    linked = {target for target in LINK.findall(text) if target.endswith(".ipynb")}
    assert {path.name for path in LESSONS} <= linked
    titles = [words(path).split("\n")[0].removeprefix("# ") for path in LESSONS]
    for title in titles:
        assert f"[{title}](" in text


FORBIDDEN = re.compile(r"^\s*(?:import|from) (?:torch|gymnasium)\b", re.MULTILINE)


@by_name([path for path in (*LESSONS, *SOLUTIONS) if path.name < "06"])
def test_the_first_lessons_need_no_torch(path: Path) -> None:
    assert not FORBIDDEN.search(code(path))


@pytest.mark.slow
@by_name(EXERCISES)
def test_exercises_run_unanswered(path: Path) -> None:
    """A reader who runs all cells first sees no traceback, and what is still to do."""
    nbclient = pytest.importorskip("nbclient")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": path.parent}}
    ).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert "Passes" not in printed
    checks = len(re.findall(r"^check\(", code(path), re.MULTILINE))
    assert len(re.findall(r"Not answered yet|Not yet:", printed)) == checks
