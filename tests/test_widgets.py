"""The widgets without a browser: what they say, draw and offer; and without ipywidgets."""

from __future__ import annotations

import base64
import builtins
import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from runs import fcfs, starts_of, trace_of

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError
from dras_lab.policies import linear, make_policy
from dras_lab.replay import Replay
from dras_lab.results import Result
from dras_lab.simulator import simulate
from dras_lab.traces import Trace, read_swf
from dras_lab.widgets import (
    PolicyPlayground,
    QueueGame,
    ScheduleExplorer,
    TrainingMonitor,
    WhatIf,
)
from dras_lab.widgets.explorer import queue_page
from dras_lab.widgets.moment import machine
from dras_lab.widgets.shell import Shell, clock, number, span, unit_for

ipywidgets = pytest.importorskip("ipywidgets", reason="no ipywidgets: pip install ipywidgets")

# On 10 nodes, first come first served. Job 1 runs 0-100 on 6 nodes; job 2 gets the reservation
# for 100 at decision 1 (time 20); job 3 (3 nodes, 30 s) fills the hole at 20, job 4 at 50.
FEW = [(1, 0, 6, 100, 100), (2, 20, 8, 50, 50), (3, 20, 3, 30, 30), (4, 20, 4, 10, 10)]
NOBODY = [(1, 0, 99, 5, 5)]


def few() -> tuple[Trace, Result]:
    trace = trace_of(FEW, 10)
    return trace, simulate(trace, fcfs)


def every_widget() -> list[Shell]:
    trace, result = few()
    return [
        ScheduleExplorer(result),
        WhatIf(result, trace, fcfs),
        QueueGame(trace),
        PolicyPlayground(trace),
        TrainingMonitor("practice"),
    ]


@pytest.fixture
def without_ipywidgets(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] in {"ipywidgets", "traitlets", "torch"}:
            raise ImportError(f"no {name} here")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


# ------------------------------------------------------------------------------ all of them


def test_every_widget_has_a_still_beside_it() -> None:
    for widget in every_widget():
        data, metadata = widget._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in data
        assert data["text/plain"] == repr(widget)
        content = base64.b64decode(data["image/png"])
        pixels = matplotlib.image.imread(io.BytesIO(content))
        assert pixels.shape[1] > 600
        assert pixels[..., :3].std() > 0.01  # something is drawn
        assert len(metadata["image/png"]["alt"]) > 20


def test_a_still_where_the_toolkit_has_no_bundle_or_the_view_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ipywidgets 7 has no `_repr_mimebundle_`; a view without a model has nothing to point to."""
    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_", raising=False)
    kind = "application/vnd.jupyter.widget-view+json"
    for widget in every_widget():
        data, _ = widget._repr_mimebundle_()
        model = {"version_major": 2, "version_minor": 0, "model_id": widget.view.model_id}
        assert data[kind] == model
        assert data["image/png"]
        widget.view = object()
        data, _ = widget._repr_mimebundle_()
        assert kind not in data
        assert data["image/png"]


def test_every_repr_is_stable() -> None:
    assert [repr(widget) for widget in every_widget()] == [
        "ScheduleExplorer(fcfs on trace, decision 0 of 4)",
        "WhatIf(fcfs, but job 3 at decision 1, on trace)",
        "QueueGame(trace, 4 jobs, 1 choices made)",
        "PolicyPlayground(trace, size=0.6, request=0.85, queued=0.09, load=1)",
        "TrainingMonitor(practice, 0 episodes)",
    ]


@pytest.mark.usefixtures("without_ipywidgets")
def test_without_ipywidgets_a_still_and_a_line() -> None:
    for widget in every_widget():
        data, _ = widget._repr_mimebundle_()
        assert widget.view is None
        assert not any("widget" in kind for kind in data)
        assert data["image/png"]
        assert "pip install ipywidgets" in data["text/html"]
        assert 'alt="' in data["text/html"]
        assert "pip install ipywidgets" in data["text/plain"]


@pytest.mark.usefixtures("without_ipywidgets")
def test_without_ipywidgets_they_still_go_about() -> None:
    explorer = ScheduleExplorer(few()[1])
    explorer.step()
    assert "Decision 1 of 4" in explorer.words
    game = QueueGame(trace_of(FEW, 10))
    game.choose(0)
    assert "Job 2 has the reservation" in game.words


def test_no_figure_is_left_open_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    for widget in every_widget():
        widget.draw()
    assert pyplot.get_fignums() == before
    assert capsys.readouterr() == ("", "")


def controls(view: Any) -> Iterator[Any]:
    for child in getattr(view, "children", ()):
        yield child
        yield from controls(child)


def test_every_control_has_a_name_and_a_hint() -> None:
    kinds = (ipywidgets.Button, ipywidgets.IntSlider, ipywidgets.FloatSlider, ipywidgets.Dropdown)
    for widget in every_widget():
        for control in controls(widget.view):
            if isinstance(control, (*kinds, ipywidgets.BoundedIntText)):
                hidden = control.layout.display == "none"
                assert control.description or hidden, control
                seven = "tooltip" not in control.traits()  # the sliders of ipywidgets 7
                assert control.description_tooltip if seven else control.tooltip, control


def test_one_picture_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slider that is moved draws once; one that is set because the state changed, not again."""
    drawn = []
    draw = Shell.draw
    monkeypatch.setattr(Shell, "draw", lambda self: (drawn.append(1), draw(self))[1])
    explorer = ScheduleExplorer(few()[1])
    drawn.clear()
    explorer._slider.value = 2
    explorer._slider.value = 3
    assert len(drawn) == 2
    explorer.back()
    assert len(drawn) == 3
    assert explorer._slider.value == 2
    trace, result = few()
    other = WhatIf(result, trace, fcfs)
    drawn.clear()
    other._jobs.value = 0
    assert len(drawn) == 1
    other.go(1)
    assert len(drawn) == 2


def test_a_mistake_becomes_a_line() -> None:
    explorer = ScheduleExplorer(few()[1])
    explorer._try(lambda: explorer.go_to_job(77))
    assert explorer.problem == "there is no job 77 in this run"
    assert "there is no job 77" in explorer._trouble.value
    explorer.step()
    assert explorer.problem == ""
    assert explorer._trouble.value == ""


def test_names_are_text_and_not_markup() -> None:
    trace = Trace.from_table(few()[0].table, 10, name="<b>$x$</b>")
    explorer = ScheduleExplorer(simulate(trace, type("P", (), {
        "name": "<i>me</i>", "__call__": lambda self, decision: 0})()))  # fmt: skip
    assert "&lt;i&gt;me" in explorer._status.value
    assert "<i>me" not in explorer._status.value


# ------------------------------------------------------------------------------ the explorer


def test_the_explorer_tells_what_happened() -> None:
    explorer = ScheduleExplorer(few()[1])
    explorer.go(1)
    assert explorer.words == (
        "Decision 1 of 4 (level 1, who is next) at 00:00:20: 4 of 10 nodes are free, 3 jobs "
        "waiting. fcfs chooses job 2: it does not fit, so nodes are reserved for it. Its planned "
        "start is 80 s from now. Others would choose: FCFS job 2, SJF job 4, knapsack job 4."
    )
    explorer.step()
    assert "Job 2 holds the reservation, for 80 s from now; 2 nodes can be spared" in explorer.words
    for _ in range(5):
        explorer.step()
    assert explorer.k == 3
    explorer.reset()
    explorer.back()
    assert explorer.k == 0
    explorer.go_to_job(4)
    assert explorer.k == 3
    explorer.reset()
    explorer.go_to_reservation()
    assert explorer.k == 1
    with pytest.raises(DrasLabError, match="no reservation is made after"):
        explorer.go_to_reservation()
    explorer.go_to_longest_wait()
    assert explorer.k == 1  # job 2, from 20 to 100
    with pytest.raises(DrasLabError, match="there is no decision 4"):
        explorer.go(4)


def test_going_back_shows_the_same() -> None:
    explorer = ScheduleExplorer(few()[1])
    forward = []
    for k in range(4):
        explorer.go(k)
        forward.append((explorer.words, explorer.png, explorer._html()))
    for k in reversed(range(4)):
        explorer.go(k)
        assert (explorer.words, explorer.png, explorer._html()) == forward[k]
    assert len({png for _, png, _ in forward}) == 4


def test_the_queue_has_pages() -> None:
    # One job holds the machine; 25 wait, and the window shows 12 of them.
    jobs = [(1, 0, 4, 100, 100), *((k, 1, 1 + k % 4, 10, 10) for k in range(2, 27))]
    result = simulate(trace_of(jobs, 4), fcfs, window=12)
    explorer = ScheduleExplorer(result)
    explorer.go(1)
    first, pages = queue_page(explorer.replay, 1, 0)
    assert pages == 3
    assert first.count("<tr>") == 1 + 10
    assert "(25 jobs waiting; window 12)" in first
    explorer.turn(1)
    second = explorer._html()
    # Jobs 12 and 13 are the last of the window, 14 to 21 are beyond it.
    assert second.count(">in<") == 2
    assert second.count(">beyond<") == 8
    assert second.count("not started: it is beyond the window") == 8
    explorer.go(1)  # job 2, the first of the queue, is chosen
    assert explorer.page == 0
    explorer.turn(99)
    assert explorer.page == 2
    assert explorer._html().count("<tr>") == 1 + 5
    explorer.turn(-99)
    assert explorer.page == 0


def test_a_long_queue_shows_the_chosen_job_and_what_others_pick() -> None:
    """30 wait for the whole machine; the run takes the 18th of them, others the last and the 15th.

    The queue opens at its second page, and the bars are those three and the first seven.
    """
    jobs = [(1, 0, 4, 100, 100), *((k, 1, 1, 10, 10) for k in range(2, 32))]
    result = simulate(trace_of(jobs, 4), lambda decision: min(17, len(decision.rows) - 1))
    others = {"last": lambda d: len(d.rows) - 1, "15th": lambda d: min(14, len(d.rows) - 1)}
    explorer = ScheduleExplorer(result, others=others)
    explorer.go(1)
    assert explorer.page == 1
    assert "chosen: it" in explorer._html()
    assert ">19<" in explorer._html()
    bars = explorer._figure().axes[1]
    texts = [text.get_text() for text in bars.texts]
    names = [text for text in texts if text.isdigit()]
    assert names == ["2", "3", "4", "5", "6", "7", "8", "16", "19", "31"]
    assert [text for text in texts if "◂" in text] == ["◂ 15th", "◂ chosen", "◂ last"]
    assert [bool(bar.get_hatch()) for bar in bars.patches].index(True) == names.index("19")
    assert bars.get_title() == "30 candidates, 10 shown"
    assert ScheduleExplorer(result, others=others, k=1).page == 1


def test_the_machine_as_it_is_drawn() -> None:
    """At 20 job 1 holds nodes 0-5: 20 s of it are past, 80 s to come; job 2 is reserved for 100."""
    from matplotlib.figure import Figure

    replay = Replay(few()[1])
    ax = machine(replay, 2, 50.0, Figure().add_subplot())
    boxes = [path.get_extents().bounds for c in ax.collections for path in c.get_paths()]
    assert boxes == [(-20, 0, 20, 6), (0, 0, 80, 6)]  # left, bottom, width, height
    now, reserved = ax.lines
    assert list(now.get_xdata()) == [0, 0]
    assert list(reserved.get_xdata()) == [80, 80]
    low, high = ax.get_xlim()
    assert low == -50
    assert high > 80  # the reservation is in view
    assert ax.get_ylim() == (0, 10)
    assert ax.get_xlabel().startswith("time from now (seconds)")
    # At 50 job 3 has ended: it is past, and nothing of it to come.
    ax = machine(replay, 3, 60.0, Figure().add_subplot())
    boxes = [path.get_extents().bounds for c in ax.collections for path in c.get_paths()]
    assert boxes == [(-30, 6, 30, 3), (-50, 0, 50, 6), (0, 0, 50, 6)]


def test_probabilities_and_the_picks_of_others() -> None:
    def agent(decision: Decision) -> int:
        shares = np.arange(1, len(decision.rows) + 1, dtype=float)
        decision.scores = shares / shares.sum()  # the last is the likeliest
        return len(shares) - 1

    result = simulate(trace_of(FEW, 10), agent)
    explorer = ScheduleExplorer(result, others={"first": fcfs})
    explorer.go(1)
    figure = explorer._figure()
    bars = figure.axes[1]
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert [bool(bar.get_hatch()) for bar in bars.patches] == [False, False, True]
    assert bars.get_xlabel() == "probability"
    texts = [text.get_text() for text in bars.texts]
    assert texts == [
        *("2", "0.17", "3", "0.33", "4", "0.5"),
        *("◂ first", "◂ chosen"),
    ]
    assert "0.1667" in explorer._html()


def test_values_that_are_close_together_look_different() -> None:
    """Values 100.00, 100.10 and 100.20 from 0 would be equal bars; here the last is 3.5 times as
    long as the first: the axis begins 0.4 of their range below the least, at 99.92."""

    def agent(decision: Decision) -> int:
        decision.scores = 100 + 0.1 * np.arange(len(decision.rows))
        return 0

    explorer = ScheduleExplorer(simulate(trace_of(FEW, 10), agent), others={})
    explorer.go(1)
    bars = explorer._figure().axes[1]
    low, high = bars.get_xlim()
    assert low == pytest.approx(99.92)
    assert 100.2 < high < 100.23
    assert [bar.get_x() for bar in bars.patches] == pytest.approx([99.92] * 3)
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([0.08, 0.18, 0.28])
    texts = [text.get_text() for text in bars.texts]
    assert texts == ["2", "100.000", "3", "100.100", "4", "100.200", "◂ chosen"]
    assert "not from 0" in bars.get_xlabel()
    assert len(bars.get_xticks()) == 0  # the numbers are on the bars; nothing can collide

    # Values 10 and 90 do not need it: 0 is not far from them in their range.
    def near(decision: Decision) -> int:
        decision.scores = 10.0 + 40 * np.arange(len(decision.rows))
        return 0

    bars = ScheduleExplorer(simulate(trace_of(FEW, 10), near), others={}, k=1)._figure().axes[1]
    assert bars.get_xlim()[0] == 0
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([10, 50, 90])
    # Sizes have an axis of whole nodes, from 0.
    sizes = ScheduleExplorer(few()[1], others={})
    sizes.go(1)
    ax = sizes._figure().axes[1]
    assert ax.get_xlim()[0] == 0
    assert all(tick == int(tick) for tick in ax.get_xticks())
    assert "not from 0" not in ax.get_xlabel()


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_every_decision_of_every_kind_can_be_shown(backfill: str) -> None:
    jobs = [(k, 2 * k, 1 + k * 7 % 6, 10 + k % 9, 8 + k % 5) for k in range(1, 25)]
    explorer = ScheduleExplorer(simulate(trace_of(jobs, 6), make_policy("sjf"), backfill=backfill))
    for k in range(0, len(explorer.replay), len(explorer.replay) // 5):
        explorer.go(k)
        assert f"Decision {k} of" in explorer.words


def test_nothing_to_show() -> None:
    for jobs in ([], NOBODY):
        trace = trace_of(jobs, 10)
        result = simulate(trace, fcfs)
        explorer, other = ScheduleExplorer(result), WhatIf(result, trace, fcfs)
        assert "nothing to step through" in explorer.words
        assert "no decisions" in repr(explorer)
        assert "nothing to change" in other.words
        assert "No job ran" in PolicyPlayground(trace).words
        assert QueueGame(trace).words == "There is nothing to play."
        for widget in (explorer, other):
            assert widget._repr_mimebundle_()[0]["image/png"]


def test_nothing_to_show_can_be_stepped_through() -> None:
    explorer = ScheduleExplorer(simulate(trace_of([], 10), fcfs))
    for move in (explorer.step, explorer.back, explorer.reset, lambda: explorer.turn(1)):
        move()
        assert "nothing to step through" in explorer.words


def test_what_is_no_result_or_no_policy_is_refused_in_a_line() -> None:
    trace, result = few()
    for make in (lambda: ScheduleExplorer(trace), lambda: WhatIf(trace, trace, fcfs)):  # type: ignore
        with pytest.raises(DrasLabError, match="a Trace is no result to step through; give"):
            make()
    with pytest.raises(DrasLabError, match="policy: 'fcfs' cannot be asked; give a policy"):
        WhatIf(result, trace, "fcfs")  # type: ignore[arg-type]


def test_one_of_the_others_that_fails_leaves_state_and_picture_together() -> None:
    def fails_later(decision: Decision) -> int:
        if decision.time >= 20:
            raise DrasLabError("I have no idea")
        return 0

    explorer = ScheduleExplorer(few()[1], others={"it": fails_later})
    shown = (repr(explorer), explorer.words, explorer.png, explorer.page)
    with pytest.raises(DrasLabError, match="no idea"):
        explorer.go(2)
    assert (repr(explorer), explorer.words, explorer.png, explorer.page) == shown
    explorer._slider.value = 2
    assert explorer.problem == "I have no idea"
    assert (repr(explorer), explorer.words, explorer.png, explorer.page) == shown
    assert explorer._slider.value == 0


def test_a_single_job() -> None:
    trace = trace_of(FEW[:1], 10)
    result = simulate(trace, fcfs)
    assert "Decision 0 of 1" in ScheduleExplorer(result).words
    assert "Sooner: 0 jobs; later: 0 jobs" in WhatIf(result, trace, fcfs).words
    assert "mean wait 0 s" in PolicyPlayground(trace).words
    assert "The game is over" in QueueGame(trace).words


def test_no_log_says_how_to_get_one() -> None:
    trace = trace_of(FEW, 10)
    bare = simulate(trace, fcfs, log=False)
    for make in (lambda: ScheduleExplorer(bare), lambda: WhatIf(bare, trace, fcfs)):
        with pytest.raises(DrasLabError, match=r"simulate\(trace, policy, log=True\)"):
            make()


# ------------------------------------------------------------------------------ what if


def test_what_if_by_hand() -> None:
    trace, result = few()
    other = WhatIf(result, trace, fcfs)
    # Decision 1 is the first of several candidates: job 2; instead job 3, the first other one.
    assert (other.k, other.choice) == (1, 1)
    other.go(2)
    assert (other.k, other.choice) == (2, 1)
    assert starts_of(other.changed) == {1: 0, 2: 100, 3: 30, 4: 20}
    assert other.words.endswith(
        "Instead: job 4. Sooner: 1 job; later: 1 job; all waits together change by -20 s."
    )
    assert other._jobs.options == (
        ("job 3: 3 nodes, 30 s (as it was)", 0),
        ("job 4: 4 nodes, 10 s", 1),
        ("nobody", -1),
    )
    assert other._jobs.value == 1
    above, below, changes = other._figure().axes
    assert above.get_xlim() == below.get_xlim()
    assert [bar.get_width() for bar in changes.patches] == [-30, 10]
    assert changes.get_xlabel() == "change of wait (seconds)"
    other._jobs.value = -1  # nobody, by the control
    assert starts_of(other.changed) == {1: 0, 2: 100, 3: 150, 4: 150}
    assert "mean wait" in other._html()


def test_what_if_shows_what_it_last_could() -> None:
    """Passing where nothing else will ever happen is refused; what is shown stays as it was."""
    trace = trace_of([(1, 0, 1, 5, 5)], 2)
    other = WhatIf(simulate(trace, lambda decision: 0), trace, lambda decision: None)
    before = (other.k, other.choice, other.words)
    other._try(lambda: other.pick(None))
    assert "passed on all" in other.problem
    assert (other.k, other.choice, other.words) == before
    with pytest.raises(DrasLabError, match="there is no decision 9"):
        other.go(9)


# ------------------------------------------------------------------------------ game, playground


def test_the_game_offers_a_button_a_candidate() -> None:
    game = QueueGame(trace_of(FEW, 10))
    shown = [b.description for b in game._buttons if b.layout.display is None]
    assert shown == [
        "job 2: 8 nodes, 50 s (reserves)",
        "job 3: 3 nodes, 30 s (starts)",
        "job 4: 4 nodes, 10 s (starts)",
    ]
    game._buttons[0].click()
    assert "Job 2 has the reservation, in 80 s" in game.words
    game._buttons[0].click()  # job 3; job 4 alone fits the hole at 50
    assert game.game.over
    assert game.words.startswith("The game is over. Your mean wait beats FCFS and equals EASY")
    assert game._pass.disabled
    # Waits by hand: 0, 80, 0, 30.
    assert "<td" in game._html()
    mine = game._figure().axes[1].patches[0]
    assert mine.get_width() == pytest.approx(27.5)
    game.back()
    assert not game.game.over
    game.restart()
    with pytest.raises(DrasLabError, match="no choice to take back"):
        game.back()


def test_the_game_does_not_give_away_its_own_next_choice() -> None:
    game = QueueGame(trace_of(FEW, 10))
    ax, bars = game._figure().axes
    assert len(ax.lines) == 1  # now, and no reserved start: nobody has the reservation yet
    assert not any(bar.get_hatch() for bar in bars.patches)
    assert not any("chosen" in text.get_text() for text in bars.texts)


def test_the_game_has_no_more_than_twelve_buttons() -> None:
    with pytest.raises(DrasLabError, match="at most 12"):
        QueueGame(window=13)


def test_the_playground_runs_the_rule_at_the_load() -> None:
    trace = read_swf("lublin-256").head(150)
    playground = PolicyPlayground(trace)
    playground.set(size=1.0, request=-0.5, queued=0.2, load=1.5)
    expected = simulate(trace.scale_load(1.5), linear(1.0, -0.5, 0.2))
    np.testing.assert_array_equal(playground.runs["linear"].start, expected.start)
    first = simulate(trace.scale_load(1.5), fcfs)
    np.testing.assert_array_equal(playground.runs["fcfs"].start, first.start)
    assert playground._sliders["load"].value == 1.5
    playground.reset()
    np.testing.assert_array_equal(playground.runs["linear"].start, simulate(trace, fcfs).start)
    with pytest.raises(DrasLabError, match="size: 9 is not between"):
        playground.set(size=9)
    with pytest.raises(DrasLabError, match="there is no slider colour"):
        playground.set(colour=1)
    assert playground.weights["size"] == 0


def test_linear_by_hand() -> None:
    """Ten nodes for 60 min against one node for 10 min that came an hour earlier."""
    seen = []
    rule = linear(2.0, 3.0, 5.0)

    def policy(decision: Decision) -> int:
        if len(decision.rows) == 2:
            seen.append(rule.score(decision).tolist())
        return 0

    jobs = [(1, 0, 10, 9000, 7200), (2, 3600, 1, 600, 600), (3, 7200, 10, 3600, 3600)]
    simulate(trace_of(jobs, 10), policy, backfill="none")
    old = 2 * np.log(1) + 3 * np.log(10) - 5 * 1
    new = 2 * np.log(10) + 3 * np.log(60) - 5 * 0
    assert seen[0] == pytest.approx([old, new])


# ------------------------------------------------------------------------------ the monitor

ROWS = [
    {"episode": 0, "phase": "sampled", "reward": 1.0, "mean_wait_ratio": 1.2, "seconds": 2.0},
    {"episode": 1, "phase": "sampled", "reward": 2.0, "mean_wait_ratio": None, "seconds": 3.0},
    {"episode": 2, "phase": "real", "reward": 4.0, "mean_wait_ratio": 0.8, "seconds": 4.0},
]


def test_the_monitor_takes_in_episodes() -> None:
    monitor = TrainingMonitor("practice", pause=0)
    assert monitor.words == "practice: waiting for the first episode."
    for row in ROWS:
        monitor.update(row)
    assert monitor.words == ("Episode 2 (real): reward 4, mean wait ratio 0.8. 3 episodes in 9 s.")
    rewards, waits = monitor._figure().axes
    assert rewards.lines[0].get_xydata().tolist() == [[0, 1], [1, 2], [2, 4]]
    assert waits.lines[0].get_xydata().tolist() == [[0, 1.2], [2, 0.8]]
    assert [text.get_text().strip() for text in rewards.texts] == ["sampled", "real"]
    assert rewards.get_ylabel() == "reward of the episode"


def test_the_monitor_draws_no_more_often_than_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_now = [0.0]
    monkeypatch.setattr("dras_lab.widgets.monitor.time.monotonic", lambda: clock_now[0])
    monitor = TrainingMonitor(pause=10.0)
    shown = []
    for second in (0, 1, 9, 10, 11, 25):
        clock_now[0] = float(second)
        monitor.update({"episode": len(shown), "reward": 1.0})
        shown.append(monitor.words.count(f"Episode {len(shown)}"))
    assert shown == [1, 0, 0, 1, 0, 1]


def test_the_monitor_shows_all_that_came_in_when_it_is_displayed() -> None:
    monitor = TrainingMonitor("practice", pause=1e9)
    for episode in range(5):
        monitor.update({"episode": episode, "reward": 1.0 + episode})
    assert "Episode 0" in monitor.words  # no time for another picture yet
    before = monitor.png
    data, _ = monitor._repr_mimebundle_()
    assert "Episode 4: reward 5. 5 episodes" in monitor.words
    assert base64.b64decode(data["image/png"]) == monitor.png != before


def test_the_monitor_of_a_finished_training(tmp_path: Path) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text(
        "episode,phase,reward,mean_wait_ratio,max_wait_ratio,loss,entropy,epsilon,seconds\n"
        "0,sampled,1.5,1.1,1.3,0.5,2.0,,1.0\n1,real,2.5,0.9,1.2,0.4,1.5,,1.5\n",
        encoding="utf-8",
    )
    monitor = TrainingMonitor.from_csv(path)
    assert repr(monitor) == "TrainingMonitor(episodes.csv, 2 episodes)"
    assert len(monitor._figure().axes) == 4
    assert "Episode 1 (real): reward 2.5" in monitor.words
    assert "epsilon" not in monitor.words
    assert monitor.table["loss"].tolist() == [0.5, 0.4]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a,b\n1,2\n", "needs the column 'episode'"),
        ("", "is not a CSV file"),
        ("episode,reward\n0,many\n", "is 'many', which is not a number"),
        ("episode,reward\n,1\n", "has no number"),
        (b"\xff\xfe\x00\x01", "is not a CSV file"),
    ],
)
def test_a_file_that_is_no_log_of_episodes(tmp_path: Path, content: Any, complaint: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DrasLabError, match=complaint):
        TrainingMonitor.from_csv(path)
    with pytest.raises(DrasLabError, match="cannot be read"):
        TrainingMonitor.from_csv(tmp_path / "none.csv")


def test_a_bad_row_is_not_taken_in() -> None:
    monitor = TrainingMonitor()
    for row in ({"reward": 1.0}, {"episode": 1, "loss": "low"}):
        with pytest.raises(DrasLabError):
            monitor.update(row)
    assert monitor.rows == []


# ------------------------------------------------------------------------------ words, size


def test_lengths_of_time_in_words() -> None:
    assert [span(s) for s in (27.5, 22.5, -5.0, 0.25, -0.04, 84_150.0, 82_550.0)] == [
        *("27.5 s", "22.5 s", "-5 s", "0.3 s", "0 s", "23.4 h", "22.9 h"),
    ]
    told = [span(s) for s in (0, 45, 89, 90, 720, 5400, 86400, 200_000, -30)]
    assert told == ["0 s", "45 s", "89 s", "1.5 min", "12 min", "1.5 h", "24 h", "2.3 d", "-30 s"]
    assert clock(3 * 86400 + 3661) == "day 4, 01:01:01"
    assert clock(59) == "00:00:59"
    assert (number(1, "job"), number(1200, "job")) == ("1 job", "1,200 jobs")
    assert [unit_for(s)[1] for s in (0, 179, 180, 3 * 3600, 3 * 86400)] == [
        *("seconds", "seconds", "minutes", "hours", "days"),
    ]


@pytest.mark.slow
def test_a_hundred_thousand_jobs_are_paged_and_fit_into_memory() -> None:
    """100,000 jobs, most of them waiting: under 1 GB with the run, and ten lines of the queue."""
    count = 100_000
    rng = np.random.default_rng(0)
    sizes, times = rng.integers(1, 65, count), rng.integers(60, 7200, count)
    jobs = [(k + 1, k, int(sizes[k]), int(times[k]), int(times[k])) for k in range(count)]
    trace = trace_of(jobs, 256)
    del jobs
    tracemalloc.start()
    try:
        explorer = ScheduleExplorer(simulate(trace, fcfs))
        explorer.go_to_longest_wait()
        explorer.go(len(explorer.replay) // 2)
        explorer.turn(3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e9
    assert explorer._html().count("<tr>") == 1 + 10
