"""What the widgets' pictures and tables show, against hand calculations."""

from __future__ import annotations

import re

import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from runs import fcfs, trace_of

from dras_lab.replay import Replay
from dras_lab.simulator import simulate
from dras_lab.widgets import PolicyPlayground, QueueGame, ScheduleExplorer, WhatIf
from dras_lab.widgets.moment import machine

pytest.importorskip("ipywidgets", reason="no ipywidgets: pip install ipywidgets")

# On 10 nodes, first come first served. Job 1 runs 0-100 on 6 nodes; job 2 gets the reservation
# for 100 at decision 1 (time 20); job 3 (3 nodes, 30 s) fills the hole at 20, job 4 at 50. The
# waits are 0, 80, 0 and 30 s.
FEW = [(1, 0, 6, 100, 100), (2, 20, 8, 50, 50), (3, 20, 3, 30, 30), (4, 20, 4, 10, 10)]
# At 10 job 11 holds nodes 0-1 until 50 and job 12 nodes 2-4 until 100; 5 are free.
TWO = [(11, 0, 2, 50, 50), (12, 0, 3, 100, 100), (13, 10, 1, 30, 30)]
BLUE, RED = "#0072b2", "#d55e00"


def cells(html: str) -> list[list[str]]:
    """The rows of all tables, cell by cell."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def grey(colour: str) -> float:
    """Luma of a colour as in ITU-R BT.601, from 0 for black to 1."""
    red, green, blue = to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def boxes(ax: object) -> dict[tuple[float, ...], str]:
    """Colour of each block of the machine, by its left, bottom, width and height."""
    found = {}
    for collection in ax.collections:  # type: ignore[attr-defined]
        colours = collection.get_facecolor()
        for place, path in enumerate(collection.get_paths()):
            colour = to_hex(colours[place % len(colours)])
            found[tuple(path.get_extents().bounds)] = colour
    return found


def test_blocks_to_come_are_the_darker_the_later_they_end_and_bear_their_ids() -> None:
    replay = Replay(simulate(trace_of(TWO, 10), fcfs))
    ax = machine(replay, 2, 100.0, Figure().add_subplot())
    found = boxes(ax)
    soon, late = found[0, 0, 40, 2], found[0, 2, 90, 3]
    assert sum(to_rgb(late)) < sum(to_rgb(soon))
    # In grey print: even the darkest block to come is much lighter than a ready job's.
    assert grey(late) - grey("#56B4E9") > 0.1
    assert {(t.get_text(), t.get_position()[1]) for t in ax.texts} == {("11", 1.0), ("12", 3.5)}
    # A line that is told from the one at now without colour.
    _, reserved = machine(Replay(simulate(trace_of(FEW, 10), fcfs)), 2, 50.0, ax).lines
    assert (reserved.get_linestyle(), to_hex(reserved.get_color())) == ("--", "#000000")
    bars = ScheduleExplorer(replay.result, k=2)._figure().axes[1]
    (line,) = bars.lines
    assert list(line.get_xdata()) == [5, 5]  # the free nodes
    assert [bar.get_width() for bar in bars.patches] == [1]


def test_blocks_of_the_past_have_the_colour_of_how_they_ran() -> None:
    """At 110: job 1 ran at once; 2 runs after its reservation; 3 and 4 filled holes."""
    replay = Replay(simulate(trace_of([*FEW, (5, 110, 2, 40, 40)], 10), fcfs))
    ax = machine(replay, 4, 200.0, Figure().add_subplot())
    found = boxes(ax)
    named = {t.get_text(): h for t, h in zip(
        ax.get_legend().get_texts(), ax.get_legend().get_patches(), strict=True)}  # fmt: skip
    ready, reserved, backfilled = (
        to_hex(named[name].get_facecolor()) for name in ("ready", "reserved", "backfilled")
    )
    assert len({ready, reserved, backfilled}) == 3
    hatches = [named[name].get_hatch() for name in ("ready", "reserved", "backfilled")]
    assert len(set(hatches)) == 3
    used = {to_hex(c.get_facecolor()[0]): c.get_hatch() for c in ax.collections if c.get_paths()}
    assert used[reserved] == hatches[1]
    assert used[backfilled] == hatches[2]
    assert found[-110, 0, 100, 6] == ready
    assert found[-10, 0, 10, 8] == reserved
    assert found[-90, 6, 30, 3] == backfilled
    assert found[-60, 6, 10, 4] == backfilled


def test_the_queue_shows_requests_and_waits() -> None:
    """At 50 only job 2 and job 4 wait, since 20; they ask for 50 s and 10 s."""
    explorer = ScheduleExplorer(simulate(trace_of(FEW, 10), fcfs), k=3)
    header, *rows = cells(explorer._html())
    assert header[:5] == ["job", "window", "nodes", "requested", "waited"]
    assert [row[:1] + row[2:5] for row in rows] == [
        ["2", "8", "50 s", "30 s"],
        ["4", "4", "10 s", "30 s"],
    ]


def test_the_queue_says_who_fits_and_when_the_others_may() -> None:
    """At 20: 4 of 10 nodes are free. Job 6 (9 nodes) and, once job 2 has the reservation for 100,
    which leaves 2 nodes to spare, job 5 (3 nodes, until 20 + 200) fit no hole."""
    trace = trace_of([*FEW, (5, 20, 3, 200, 200), (6, 20, 9, 10, 10)], 10)
    explorer = ScheduleExplorer(simulate(trace, fcfs, window=None), k=1)
    states = {row[0]: row[-1] for row in cells(explorer._html())}
    assert states["2"].startswith("chosen: it does not fit")
    assert states["3"] == "candidate: it fits the 4 free"
    assert states["6"] == "candidate: it does not fit, 4 are free"
    assert "(5 jobs waiting; no window)" in explorer._html()
    explorer.step()
    states = {row[0]: row[-1] for row in cells(explorer._html())}
    assert states["4"] == "candidate: it fits the hole"
    assert states["2"] == (
        "not started: it holds the reservation, and is planned to start 80 s from now"
    )
    assert states["5"] == (
        "not started: it could run until 3.33 min from now, past the reserved start 80 s from "
        "now, and needs 3 nodes where 2 can be spared"
    )
    assert states["6"] == "not started: it needs 9 nodes and 4 are free"


def test_what_if_in_colours_and_numbers() -> None:
    """At decision 2 (20 s) job 4 instead of 3: it starts at 20 and no more at 50, 3 at 30."""
    trace = trace_of(FEW, 10)
    other = WhatIf(simulate(trace, fcfs), trace, fcfs, k=2)
    above, below, changes = other._figure().axes
    for ax in (above, below):
        assert ax.get_xlabel() == "" or "(seconds)" in ax.get_xlabel()
        assert [list(line.get_xdata()) for line in ax.lines] == [pytest.approx([20, 20])]
    assert [(bar.get_width(), to_hex(bar.get_facecolor())) for bar in changes.patches] == [
        (-30, BLUE),
        (10, RED),
    ]
    assert [bool(bar.get_hatch()) for bar in changes.patches] == [False, True]
    assert [text.get_text() for text in changes.get_yticklabels()] == ["job 4", "job 3"]
    assert changes.get_title() == "sooner ◂   ▸ later"
    rows = cells(other._html())
    assert rows[0][:3] == ["measure", "as it was", "changed"]
    assert rows[1][:3] == ["mean wait", "27.5 s", "22.5 s"]  # 110 / 4, 90 / 4
    assert rows[2][:3] == ["longest wait", "80 s", "80 s"]
    assert ["4", "4", "30 s", "0 s", "-30 s"] in rows
    assert ["3", "3", "0 s", "10 s", "10 s"] in rows


def test_the_playground_compares_two_rules() -> None:
    trace = trace_of(FEW, 10)
    playground = PolicyPlayground(trace, size=2.0, request=0.0, queued=0.0)
    # Smallest first: at 20 jobs 3 (3 of 4 free nodes), then 4 waits; FCFS as above.
    mean, longest, radar, _ = playground._figure().axes
    labels = [line.get_label() for line in radar.lines if not line.get_label().startswith("_")]
    assert labels == ["linear", "fcfs"]
    assert [text.get_text() for text in radar.get_legend().get_texts()] == ["linear", "fcfs"]
    assert mean.patches[1].get_width() == pytest.approx(27.5 / 3600)
    assert longest.patches[1].get_width() == pytest.approx(80 / 3600)


def test_the_score_of_the_game_by_hand() -> None:
    """Always the first is EASY: 0, 80, 0, 30. Without backfilling 3 and 4 wait for job 2, and
    start at 150: 0, 80, 130, 130, a mean of 85."""
    game = QueueGame(trace_of(FEW, 10))
    game.choose(0)
    game.choose(0)
    rows = {row[0]: row[1:3] for row in cells(game._html())}
    assert rows == {
        "who": ["mean wait", "longest wait"],
        "you": ["27.5 s", "80 s"],
        "FCFS": ["85 s", "2.17 min"],
        "EASY": ["27.5 s", "80 s"],
    }


def test_the_difference_is_that_of_the_numbers_beside_it() -> None:
    trace = trace_of(FEW, 10)
    other = WhatIf(simulate(trace, fcfs), trace, fcfs, k=2)
    rows = {row[0]: row[1:] for row in cells(other._html())}
    assert rows["mean wait"] == ["27.5 s", "22.5 s", "-5 s"]
    assert rows["longest wait"][2] == "0 s"
    # Job 3 fills the hole after 4 and all ends at 150 either way: nothing else changes.
    assert rows["makespan"][2] == "0 s"
    assert rows["utilisation"][2] == "0"
    # A pass instead: jobs 3 and 4 start at 150, (0 + 80 + 130 + 130) / 4 = 85 s.
    other.pick(None)
    rows = {row[0]: row[1:] for row in cells(other._html())}
    assert rows["mean wait"] == ["27.5 s", "85 s", "+57.5 s"]
