"""Makes the lessons: notebooks/NAME.ipynb from notebooks/sources/NAME.py, run, outputs stored.

    python scripts/make_notebooks.py                 all that changed
    python scripts/make_notebooks.py 01_traces       one lesson, and its exercises
    python scripts/make_notebooks.py --run           run also what has not changed
    python scripts/make_notebooks.py --check         1 if a notebook is not what its source makes

A source is a Python file of cells: `# %% [markdown]` begins text, each line of it behind "# ", and
`# %%` begins code; a magic stands behind "# " too. The line `<!-- links -->` becomes the links to
the lessons before and after. A notebook is run again when its code has changed; where only words
have, the stored outputs stay.

Of sources/solutions/NAME.py two notebooks are made: solutions/NAME.ipynb, which is run, and from
that exercises/NAME.ipynb, without outputs and without what a reader is to find:

    answer = 42  # solution          becomes    answer = ...
    # solution
    anything                         becomes    ...  # your code here
    # end of solution
    # solution, without a trace      becomes    nothing
    anything
    # end of solution

Needs what `pip install -e ".[lab]"` brings.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat

from dras_lab.files import write_whole

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES, SOLUTIONS, EXERCISES = (NOTEBOOKS / name for name in ("sources", "solutions", "exercises"))
LINKS = "<!-- links -->"
VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
_LINE = re.compile(r"^( *\w[\w, ]* = ).*  # solution$", re.MULTILINE)
_BLOCK = re.compile(r"^( *)# solution\n.*?^ *# end of solution$", re.MULTILINE | re.DOTALL)
_SECRET = re.compile(
    r"^ *# solution, without a trace\n.*?^ *# end of solution\n", re.MULTILINE | re.DOTALL
)
_MAGIC = re.compile(r"^# (?=%\w)", re.MULTILINE)


# ---------------------------------------------------------------------------------------------
# From text to cells


def cells_of(text: str) -> list[tuple[str, str]]:
    """The cells of a source, in order: ("markdown" or "code", text)."""
    head, *parts = _CELL.split(text)
    if head.strip():
        raise ValueError(f"before the first cell stands {head.strip().splitlines()[0]!r}")
    cells = []
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        if not mark:
            cells.append(("code", _MAGIC.sub("", body.strip("\n"))))
            continue
        lines = body.strip("\n").split("\n")
        if wrong := [line for line in lines if line != "#" and not line.startswith("# ")]:
            raise ValueError(f'a line of text does not begin with "# ": {wrong[0]!r}')
        cells.append(("markdown", "\n".join(line[2:] for line in lines)))
    return cells


def title_of(source: Path) -> str:
    """The heading that a source begins with."""
    kind, text = cells_of(source.read_text(encoding="utf-8"))[0]
    assert kind == "markdown", source
    return text.split("\n")[0].removeprefix("# ")


def lessons() -> list[Path]:
    """The sources of the lessons, in order."""
    return sorted(SOURCES.glob("[0-9][0-9]_*.py"))


def links(source: Path) -> str:
    """The lessons before and after; of exercises, their lesson."""
    name = source.stem
    practice = (SOURCES / "solutions" / f"{name}.py").exists()
    if source.parent != SOURCES:
        shown = [f"Lesson: [{title_of(SOURCES / source.name)}](../{name}.ipynb)"]
        shown += [f"[{what}](../{what}/{name}.ipynb)" for what in ("exercises", "solutions")]
        return " | ".join(shown)
    all_of_them = lessons()
    at = all_of_them.index(source)
    shown = ["[All lessons](README.md)"]
    for what, k in (("Before", at - 1), ("After", at + 1)):
        if 0 <= k < len(all_of_them):
            shown.append(f"{what}: [{title_of(all_of_them[k])}]({all_of_them[k].stem}.ipynb)")
    if practice:
        shown += [f"[{what.title()}]({what}/{name}.ipynb)" for what in ("exercises", "solutions")]
    return " | ".join(shown)


def made_of(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source, without outputs."""
    made = []
    for number, (kind, text) in enumerate(cells_of(source.read_text(encoding="utf-8"))):
        new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        text = text.replace(LINKS, links(source)) if kind == "markdown" else text
        made.append(new(text, id=f"cell-{number:02}"))
    return nbformat.v4.new_notebook(cells=made, metadata=deepcopy(METADATA))


def stripped(solutions: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The exercises of a notebook of solutions."""
    notebook = deepcopy(solutions)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = _SECRET.sub("", cell.source)
            cell.source = _BLOCK.sub(r"\1...  # your code here", cell.source)
            cell.source = _LINE.sub(r"\1...", cell.source)
            cell.outputs, cell.execution_count = [], None
    return notebook


# ---------------------------------------------------------------------------------------------
# Outputs


def code_of(notebook: nbformat.NotebookNode) -> list[str]:
    """The code cells."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run all cells in `folder`, and keep of the outputs what is the same each time."""
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=600,
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    client.execute()
    notebook.metadata = deepcopy(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(f"cell {number} writes to stderr: {output['text']}")
            # A live widget has another name each time, and shows nothing without its kernel; the
            # still picture beside it stays.
            output.get("data", {}).pop(VIEW, None)


def with_stored_outputs(notebook: nbformat.NotebookNode, path: Path) -> bool:
    """Take over the outputs of the notebook stored at `path`; False if its code is another."""
    if not path.exists():
        return False
    old = nbformat.read(path, as_version=4)
    if code_of(old) != code_of(notebook):
        return False
    before = [cell for cell in old.cells if cell.cell_type == "code"]
    after = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for stored, cell in zip(before, after, strict=True):
        cell.outputs, cell.execution_count = stored.outputs, stored.execution_count
    return True


def as_text(notebook: nbformat.NotebookNode) -> str:
    """What is written, checked against the format."""
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def make(source: Path, again: bool) -> dict[Path, str]:
    """The notebooks of one source, by the paths they belong at."""
    folder = NOTEBOOKS / source.parent.relative_to(SOURCES)
    path = folder / f"{source.stem}.ipynb"
    notebook = made_of(source)
    if again or not with_stored_outputs(notebook, path):
        began = time.perf_counter()
        folder.mkdir(exist_ok=True)
        run(notebook, folder)
        print(f"{path.relative_to(NOTEBOOKS)}: ran in {time.perf_counter() - began:.1f} s")
    made = {path: as_text(notebook)}
    if folder == SOLUTIONS:
        made[EXERCISES / path.name] = as_text(stripped(notebook))
    return made


def stale() -> list[str]:
    """The notebooks that are not what their sources make, outputs aside; by their names."""
    found = []
    wanted = {}
    for source in all_sources():
        path = NOTEBOOKS / source.relative_to(SOURCES).with_suffix(".ipynb")
        notebook = made_of(source)
        same = with_stored_outputs(notebook, path)
        wanted[path] = as_text(notebook) if same else None
        if path.parent == SOLUTIONS:
            wanted[EXERCISES / path.name] = as_text(stripped(notebook))
    there = [path for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]
    for path in sorted({*there, *wanted}):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != wanted.get(path):
            found.append(path.relative_to(NOTEBOOKS).as_posix())
    return found


def all_sources() -> list[Path]:
    """Every source, lessons first."""
    return [*lessons(), *sorted((SOURCES / "solutions").glob("*.py"))]


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 if all went well."""
    parser = argparse.ArgumentParser(description="Make the notebooks of the lessons.")
    parser.add_argument("names", nargs="*", help="lessons, as 01_traces; all by default")
    parser.add_argument("--run", action="store_true", help="run also where no code has changed")
    parser.add_argument("--check", action="store_true", help="write nothing, and run nothing")
    given: Any = parser.parse_args(arguments)
    if given.check:
        for name in (found := stale()):
            print(f"{name}: not what its source makes; python scripts/make_notebooks.py")
        return int(bool(found))
    if unknown := set(given.names) - {source.stem for source in all_sources()}:
        parser.error(f"no source of that name: {', '.join(sorted(unknown))}")
    for source in all_sources():
        if not given.names or source.stem in given.names:
            for path, text in make(source, given.run).items():
                path.parent.mkdir(exist_ok=True)
                write_whole(path, text.encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
