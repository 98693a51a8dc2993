"""The widgets in a real browser: JupyterLab and Chromium, clicked by selenium.

What the page says is compared with what was worked out by hand in the comments. Screenshots go
to `artifacts/` at the top of the checkout, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

browser = pytest.importorskip("browser", reason="no selenium: pip install selenium")
pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install jupyterlab")
pytest.importorskip("ipywidgets", reason="no ipywidgets: pip install ipywidgets")

from selenium.common.exceptions import StaleElementReferenceException, TimeoutException  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ARTIFACTS = ROOT / "artifacts"
PATIENCE = 60  # seconds for what takes one on an idle machine

# On 10 nodes, first come first served. Job 1 runs 0-100 on 6 nodes; job 2 gets the reservation
# for 100 at decision 1 (time 20); job 3 (3 nodes, 30 s) fills the hole at 20, job 4 at 50.
JOBS = """\
import pandas as pd
from dras_lab import Trace, fcfs, read_swf, simulate
from dras_lab.widgets import *
jobs = [(1, 0, 6, 100, 100), (2, 20, 8, 50, 50), (3, 20, 3, 30, 30), (4, 20, 4, 10, 10)]
columns = ["job_id", "submit_time", "size", "requested_time", "run_time"]
trace = Trace.from_table(pd.DataFrame(jobs, columns=columns), 10, name="four jobs")
result = simulate(trace, fcfs)
"""
MONITOR = """\
monitor = TrainingMonitor("practice", pause=0)
display(monitor)
for episode in range(5):
    monitor.update({"episode": episode, "phase": "real", "reward": 2.0 * episode, "seconds": 1})
"""
KERNEL_IS_IDLE = """\
const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
return Boolean(context?.isReady && context.session?.kernel?.status === "idle");
"""
CELLS = [
    JOBS,
    "ScheduleExplorer(result)",
    "WhatIf(result, trace, fcfs, k=2)",
    "PolicyPlayground(read_swf('lublin-256').head(60))",
    "QueueGame(trace)",
    MONITOR,
]
EXPLORER, WHAT_IF, PLAYGROUND, GAME, TRAINING = range(1, 6)


class Notebook:
    """The open notebook: cells by number, and what is in their outputs."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def cell(self, number: int) -> Any:
        return self.page.find_elements(By.CSS_SELECTOR, ".jp-Notebook .jp-Cell")[number]

    def all(self, number: int, selector: str) -> list[Any]:
        return self.cell(number).find_elements(By.CSS_SELECTOR, f".jp-OutputArea {selector}")

    def status(self, number: int) -> str:
        found = self.all(number, "[role=status]")
        return found[0].text if found else ""

    def button(self, number: int, text: str) -> Any:
        (found,) = [b for b in self.all(number, "button.jupyter-button") if text in b.text]
        return found

    def click(self, number: int, text: str) -> None:
        button = self.button(number, text)
        self.page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def picture(self, number: int) -> bytes:
        """The one picture of a cell, as it is on the screen."""
        (image,) = self.all(number, "img")
        self.page.execute_script("arguments[0].scrollIntoView({block: 'center'})", image)
        return image.screenshot_as_png

    def wait(self, what: Callable[[], Any], why: str) -> Any:
        def holds(_: Any) -> Any:
            try:
                return what()
            except (StaleElementReferenceException, IndexError, ValueError):
                return False  # the page is being built

        try:
            return WebDriverWait(self.page, PATIENCE, poll_frequency=0.1).until(holds)
        except TimeoutException:
            self.keep("failed")
            shown = [self.status(number) for number in range(len(CELLS))]
            raise AssertionError(f"never came: {why}\n" + "\n".join(shown)) from None

    def says(self, number: int, text: str) -> None:
        self.wait(lambda: text in self.status(number), f"{text!r} in cell {number}")

    def drawn_anew(self, number: int, before: bytes) -> bytes:
        """The picture once it is another one."""
        self.wait(lambda: self.picture(number) != before, f"a new picture in cell {number}")
        return self.picture(number)

    def keep(self, name: str, number: int = 0) -> None:
        """A screenshot for somebody to look at."""
        self.page.execute_script("arguments[0].scrollIntoView()", self.cell(number))
        ARTIFACTS.mkdir(exist_ok=True)
        (ARTIFACTS / f"{name}.png").write_bytes(self.page.get_screenshot_as_png())

    def faults(self) -> list[str]:
        """Errors in the browser's console since somebody last asked."""
        return [
            entry["message"] for entry in self.page.get_log("browser") if entry["level"] == "SEVERE"
        ]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    program, driver = browser.found(browser.BROWSERS), browser.found(browser.DRIVERS)
    if program is None or driver is None:
        pytest.skip("no browser here: install chromium and chromium-driver")
    folder: Path = tmp_path_factory.mktemp("lab")
    browser.write_notebook(folder / "widgets.ipynb", CELLS)
    with (
        browser.jupyterlab(folder) as (address, token),
        browser.chromium(program, driver, folder / "profile") as page,
    ):
        page.get(f"{address}/lab/tree/widgets.ipynb?token={token}")
        opened = Notebook(page)
        opened.wait(lambda: len(opened.all(0, "*")) >= 0 and opened.cell(5), "the notebook")
        # The command behind the menu's "Run All Cells"; without a kernel it would ask for one.
        opened.wait(lambda: page.execute_script(KERNEL_IS_IDLE), "a kernel")
        page.execute_script("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        opened.says(TRAINING, "5 episodes")
        opened.keep("training", TRAINING)
        yield opened
        assert not opened.faults()


@pytest.fixture(autouse=True)
def no_faults(notebook: Notebook) -> Iterator[None]:
    yield
    assert notebook.faults() == []


def test_every_cell_ran_and_shows_one_live_picture(notebook: Notebook) -> None:
    for number in (EXPLORER, WHAT_IF, PLAYGROUND, GAME, TRAINING):
        (image,) = notebook.all(number, "img")  # the live one, and no still beside it
        assert int(image.get_property("naturalWidth")) > 600
        assert image.get_attribute("title"), "no text alternative"
        assert not notebook.all(number, ".jp-RenderedText[data-mime-type*=stderr]")
    assert not notebook.all(0, "[data-mime-type*=error]")


def test_step_back_play_and_reset(notebook: Notebook) -> None:
    notebook.says(EXPLORER, "Decision 0 of 4 (level 1, who is next) at 00:00:00")
    first = notebook.picture(EXPLORER)
    notebook.click(EXPLORER, "Step")
    notebook.says(EXPLORER, "Decision 1 of 4")
    assert "fcfs chooses job 2: it does not fit, so nodes are reserved for it" in notebook.status(
        EXPLORER
    )
    assert "Its planned start is 80 s from now" in notebook.status(EXPLORER)
    second = notebook.drawn_anew(EXPLORER, first)
    notebook.keep("explorer_step", EXPLORER)
    notebook.click(EXPLORER, "Back")
    notebook.says(EXPLORER, "Decision 0 of 4")
    assert notebook.drawn_anew(EXPLORER, second) == first
    play = notebook.all(EXPLORER, ".widget-play button, .jupyter-widget-play button")[0]
    play.click()
    notebook.says(EXPLORER, "Decision 3 of 4 (level 2, fill the hole) at 00:00:50")
    notebook.keep("explorer_played", EXPLORER)
    notebook.click(EXPLORER, "Reset")
    notebook.says(EXPLORER, "Decision 0 of 4")
    assert len(notebook.all(EXPLORER, "img")) == 1


def test_the_queue_says_why(notebook: Notebook) -> None:
    notebook.click(EXPLORER, "Reset")
    notebook.click(EXPLORER, "Next reservation")
    notebook.says(EXPLORER, "Decision 1 of 4")
    notebook.click(EXPLORER, "Step")
    notebook.says(EXPLORER, "Decision 2 of 4")
    rows = [row.text for row in notebook.all(EXPLORER, "tbody tr")]
    assert len(rows) == 3
    assert "it holds the reservation, and is planned to start 80 s from now" in rows[0]
    assert "chosen: it starts now" in rows[1]
    assert "candidate" in rows[2]
    # The picks of others: SJF takes job 4 (10 s), FCFS job 3.
    assert "FCFS job 3, SJF job 4" in notebook.status(EXPLORER)
    notebook.click(EXPLORER, "Next reservation")
    notebook.wait(
        lambda: "no reservation is made after" in notebook.all(EXPLORER, "[role=alert]")[0].text,
        "a line that says so",
    )


def test_drag_a_slider(notebook: Notebook) -> None:
    notebook.click(EXPLORER, "Reset")
    notebook.says(EXPLORER, "Decision 0 of 4")
    handle = notebook.all(EXPLORER, ".noUi-handle")[0]
    notebook.page.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
    ActionChains(notebook.page).drag_and_drop_by_offset(handle, 400, 0).perform()
    notebook.says(EXPLORER, "Decision 3 of 4")
    # By the keyboard too: an arrow moves the slider, Enter presses a button.
    handle.send_keys(Keys.ARROW_LEFT)
    notebook.says(EXPLORER, "Decision 2 of 4")
    notebook.button(EXPLORER, "Back").send_keys(Keys.ENTER)
    notebook.says(EXPLORER, "Decision 1 of 4")
    assert len(notebook.all(EXPLORER, "img")) == 1


def test_another_job_in_what_if(notebook: Notebook) -> None:
    # At decision 2 job 4 instead of job 3: it ends at 30, and job 3 starts then. Gains 30 s,
    # loses 10 s.
    notebook.says(WHAT_IF, "Instead: job 4. Sooner: 1 job; later: 1 job;")
    changed = notebook.picture(WHAT_IF)
    tables = [row.text for row in notebook.all(WHAT_IF, "tbody tr")]
    assert "4 4 30 s 0 s -30 s" in tables
    assert "3 3 0 s 10 s 10 s" in tables
    notebook.keep("what_if", WHAT_IF)
    select = Select(notebook.all(WHAT_IF, "select")[0])
    assert [o.text for o in select.options] == [
        "job 3: 3 nodes, 30 s (as it was)",
        "job 4: 4 nodes, 10 s",
        "nobody",
    ]
    select.select_by_index(0)
    notebook.says(WHAT_IF, "Instead: job 3. Sooner: 0 jobs; later: 0 jobs;")
    notebook.drawn_anew(WHAT_IF, changed)
    # A pass: at 20 nobody fills the hole. Jobs 3 and 4 start when job 2 has ended, at 150.
    Select(notebook.all(WHAT_IF, "select")[0]).select_by_visible_text("nobody")
    notebook.says(WHAT_IF, "Instead: nobody. Sooner: 0 jobs; later: 2 jobs;")


def test_tune_a_rule(notebook: Notebook) -> None:
    before = notebook.picture(PLAYGROUND)
    notebook.click(PLAYGROUND, "All zero")
    notebook.wait(lambda: _same_waits(notebook.status(PLAYGROUND)), "the rule equal to FCFS")
    zero = notebook.drawn_anew(PLAYGROUND, before)
    handle = notebook.all(PLAYGROUND, ".noUi-handle")[1]
    notebook.page.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
    ActionChains(notebook.page).drag_and_drop_by_offset(handle, 40, 0).perform()
    notebook.drawn_anew(PLAYGROUND, zero)
    notebook.keep("playground", PLAYGROUND)
    assert len(notebook.all(PLAYGROUND, "img")) == 1


def _same_waits(text: str) -> bool:
    linear, rest = text.split("; fcfs: ")
    return linear.removeprefix("linear: ") == rest.split(". Look at both")[0]


def test_play_the_game_to_its_end(notebook: Notebook) -> None:
    # Job 1 alone was no choice; at 20 three jobs wait.
    notebook.says(GAME, "00:00:20: 4 of 10 nodes are free, 3 jobs waiting")
    notebook.keep("game", GAME)
    notebook.click(GAME, "job 2: 8 nodes, 50 s (reserves)")
    notebook.says(GAME, "Job 2 has the reservation, in 80 s")
    notebook.click(GAME, "job 3")
    # Job 4 alone fills the hole at 50: no choice.
    notebook.says(GAME, "The game is over. Your mean wait beats FCFS and equals EASY")
    notebook.keep("game_over", GAME)
    notebook.click(GAME, "Take back")
    notebook.says(GAME, "Job 2 has the reservation, in 80 s")
    notebook.click(GAME, "Start again")
    notebook.says(GAME, "3 jobs waiting")


def test_all_controls_have_names(notebook: Notebook) -> None:
    for number in (EXPLORER, WHAT_IF, PLAYGROUND, GAME):
        shown = [c for c in notebook.all(number, "button, input, select") if c.is_displayed()]
        assert len(shown) > 2 or number == PLAYGROUND
        for control in shown:
            name = control.accessible_name or _title_around(control)
            assert name, control.get_attribute("outerHTML")
        # A slider's name is the label before it: ipywidgets gives its handle none.
        for slider in notebook.all(number, ".widget-hslider, .widget-slider"):
            assert slider.find_element(By.CSS_SELECTOR, ".widget-label").text
        # The picture's is its text alternative.
        (image,) = notebook.all(number, "img")
        assert len(image.accessible_name) > 40


def _title_around(control: Any) -> str:
    around = control.find_elements(By.XPATH, "./ancestor::*[@title][1]")
    return around[0].get_attribute("title") if around else ""
