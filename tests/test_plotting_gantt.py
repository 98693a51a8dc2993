"""What the Gantt charts draw: each block where the schedule has it, in the colour that says how."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import JOBS, all_refused, easy, entries, new, no_holes, no_jobs, render, says
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from runs import fcfs, trace_of

from dras_lab import gantt as charts
from dras_lab.gantt import gantt, gantt_difference
from dras_lab.jobs import DrasLabError
from dras_lab.plotting import alt_text
from dras_lab.results import Result
from dras_lab.simulator import simulate


def drawn(ax: Axes) -> dict[str, list[tuple[float, float, float, float]]]:
    """Group -> (start, end, lowest node, one past the highest) of its blocks."""
    found = {}
    for part in ax.collections:
        boxes = [path.get_extents().extents for path in part.get_paths()]
        found[str(part.get_label())] = [(x0, x1, y0, y1) for x0, y0, x1, y1 in boxes]
    return found


def test_blocks_are_where_the_schedule_has_them() -> None:
    ax = new()
    assert gantt(easy(), ax=ax) is ax
    assert drawn(ax) == {
        "ready": [(0, 100, 0, 6)],
        "reserved": [(100, 104, 0, 8)],
        "backfilled": [(10, 60, 6, 10)],
    }
    # Round the block and back, not across it.
    outline = ax.collections[2].get_paths()[0].vertices[:5].tolist()
    assert outline == [[10, 6], [10, 10], [60, 10], [60, 6], [10, 6]]
    assert ax.get_xlim() == (0, 104)
    assert ax.get_ylim() == (0, 10)  # node 0 at the bottom
    assert ax.get_xlabel() == "time since the first submission (seconds)"
    assert ax.get_ylabel() == "node number"
    assert ax.get_title() == "fcfs on trace (1 refused)"
    assert entries(ax) == ["ready (1)", "reserved (1)", "backfilled (1)"]
    assert "ready 1, reserved 1, backfilled 1; 1 refused." in alt_text(ax)
    assert "node 0 at the bottom" in alt_text(ax)


@pytest.mark.parametrize("by", ["how", "size", "wait", "user"])
def test_it_can_be_drawn(by: str) -> None:
    render(gantt(easy(), by=by, ax=new()))
    render(gantt(simulate(trace_of([(1, 0, 1, 5, 0)], 1), fcfs), by=by, ax=new()))


def test_colours_and_hatches_both_tell_the_groups_apart() -> None:
    ax = gantt(easy(), ax=new())
    assert len({to_hex(part.get_facecolor()[0]) for part in ax.collections}) == 3
    # One hatch over all blocks of a group: reserved and backfilled have one each, ready none.
    outlines = {patch.get_hatch(): patch.get_path().get_extents().extents for patch in ax.patches}
    assert sorted(tuple(box) for box in outlines.values()) == [(10, 6, 60, 10), (100, 0, 104, 8)]


def test_a_job_in_two_places_is_two_blocks() -> None:
    # Job 5 starts at 5, when job 9 gives nodes 0-1 back and job 2 holds 2-3: it gets 0-1 and 4.
    jobs = [(9, 0, 2, 5, 5), (2, 1, 2, 50, 50), (5, 5, 3, 9, 9)]
    ax = gantt(simulate(trace_of(jobs, 5), fcfs), ax=new())
    assert drawn(ax)["ready"] == [(0, 5, 0, 2), (1, 51, 2, 4), (5, 14, 0, 2), (5, 14, 4, 5)]
    assert entries(ax)[0] == "ready (3)"  # jobs, not blocks


def test_time_counts_from_the_first_submission_in_a_unit_that_fits() -> None:
    # Two days and two hours of one job, on a log that begins at 7200 s.
    ax = gantt(simulate(trace_of([(1, 7200, 1, 180_000, 180_000)], 2), fcfs), ax=new())
    assert drawn(ax)["ready"] == [(0, 50, 0, 1)]
    assert ax.get_xlabel() == "time since the first submission (hours)"
    part = gantt(
        simulate(trace_of([(1, 7200, 1, 180_000, 180_000)], 2), fcfs),
        start=7200 + 1800,
        end=7200 + 3600,
        ax=new(),
    )
    assert part.get_xlim() == (30, 60)
    assert part.get_xlabel() == "time since the first submission (minutes)"


def test_a_part_holds_the_jobs_that_overlap_it() -> None:
    # [60, 100) touches neither job 3, which ends at 60, nor job 2, which starts at 100.
    ax = gantt(easy(), start=60, end=100, ax=new())
    assert entries(ax) == ["ready (1)", "reserved (0)", "backfilled (0)"]
    ax = gantt(easy(), start=59, end=101, ax=new())
    assert entries(ax) == ["ready (1)", "reserved (1)", "backfilled (1)"]
    axis = charts.chart_axis(easy(), 59, 101)
    assert (axis.at(59), axis.at(101)) == ax.get_xlim()


def test_a_job_of_no_length_is_drawn() -> None:
    ax = gantt(simulate(trace_of([(1, 0, 2, 5, 0), (2, 0, 1, 9, 9)], 4), fcfs), ax=new())
    # Both start in one pass, so that job 2 gets the nodes that job 1 leaves.
    assert drawn(ax)["ready"] == [(0, 0, 0, 2), (0, 9, 2, 3)]


def test_by_size() -> None:
    # Size classes of ten nodes: 1, 2, 3-10.
    jobs = [(1, 0, 1, 50, 50), (2, 0, 2, 50, 50), (3, 0, 4, 50, 50), (4, 0, 3, 50, 50)]
    ax = gantt(simulate(trace_of(jobs, 10), fcfs), by="size", ax=new())
    assert drawn(ax) == {
        "1": [(0, 50, 0, 1)],
        "2": [(0, 50, 1, 3)],
        "3-10": [(0, 50, 3, 7), (0, 50, 7, 10)],
    }


def test_by_wait_from_light_to_dark() -> None:
    # One node: job k waits for those before it. Waits 0, 60, 61, 3600 and 90000 s.
    jobs = [(1, 0, 1, 60, 60), (2, 0, 1, 1, 1), (3, 0, 1, 3539, 3539), (4, 0, 1, 86400, 86400)]
    jobs.append((5, 0, 1, 9, 9))
    result = simulate(trace_of(jobs, 1), fcfs)
    assert result.wait.tolist() == [0, 60, 61, 3600, 90_000]
    ax = gantt(result, by="wait", ax=new())
    assert entries(ax) == [
        *("none (1)", "to 1 min (1)", "to 1 h (2)"),
        *("to 6 h (0)", "to 1 day (0)", "longer (1)"),
    ]
    # Grey by its weights in ITU-R BT.709: the longer the wait, the darker.
    grey = [
        float(np.dot(part.get_facecolor()[0][:3], [0.2126, 0.7152, 0.0722]))
        for part in ax.collections
    ]
    assert grey == sorted(grey, reverse=True)
    assert len(set(grey)) == len(grey)


def test_by_user() -> None:
    result = simulate(trace_of([(k, 0, 1, 10 * k, 10 * k) for k in range(1, 11)], 10), fcfs)
    # Of users 1 to 9 the seven with the longest jobs are 3 to 9; job 10 is nobody's we know.
    result.user_id[:] = [1, 2, 3, 4, 5, 6, 7, 8, 9, -1]
    ax = gantt(result, by="user", ax=new())
    assert entries(ax) == [
        *("unknown (1)", "9 (1)", "8 (1)", "7 (1)", "6 (1)", "5 (1)", "4 (1)"),
        "others (3)",
    ]
    assert drawn(ax)["9"] == [(0, 90, 8, 9)]
    assert len({to_hex(part.get_facecolor()[0]) for part in ax.collections}) == 8


def test_many_blocks_have_neither_hatch_nor_edge() -> None:
    count = charts.DETAILED + 1
    jobs = [(k, 0, 1, 9, 9) for k in range(1, count + 1)]
    ax = gantt(simulate(trace_of(jobs, count), fcfs), ax=new())
    assert len(drawn(ax)["ready"]) == count
    assert not list(ax.patches)
    legend = ax.get_legend()
    assert legend is not None
    assert not any(patch.get_hatch() for patch in legend.get_patches())


@pytest.mark.parametrize(
    ("make", "text"),
    [(no_jobs, "no jobs"), (all_refused, "no job ran: 1 in the trace, all refused")],
)
def test_nothing_to_draw_is_said(make: Callable[[], Result], text: str) -> None:
    ax = gantt(make(), ax=new())
    assert says(ax) == text
    assert alt_text(ax) == text.capitalize() + "."
    for panel in gantt_difference(make(), make(), axes=[new(), new()]):
        assert says(panel) == text


def test_an_empty_part_is_said() -> None:
    ax = gantt(easy(), start=200, end=300, ax=new())
    assert says(ax) == "no job ran between 200 and 300 seconds after the first submission"


def test_what_cannot_be_asked() -> None:
    with pytest.raises(DrasLabError, match="by: 'colour' is not one of how, size, wait, user"):
        gantt(easy(), by="colour", ax=new())
    with pytest.raises(DrasLabError, match="start 5 is not before end 5"):
        gantt(easy(), start=5, end=5, ax=new())


def test_changes_by_hand() -> None:
    table = charts.changes(easy(), no_holes())
    assert table["job_id"].tolist() == [1, 2, 3]  # job 4 ran in neither
    assert table["later_s"].tolist() == [0, 0, 94]


def test_difference() -> None:
    names = ("no holes", "EASY")
    top, below = gantt_difference(no_holes(), easy(), names=names, axes=[new(), new()])
    assert drawn(top) == {
        "earlier": [(10, 60, 6, 10)],
        "same": [(0, 100, 0, 6), (100, 104, 0, 8)],
        "later": [],
    }
    assert entries(top) == ["earlier (1; seconds:\nmean 94, most 94)", "same (2)", "later (0)"]
    points = {str(line.get_label()): line.get_xydata() for line in below.get_lines()[:3]}
    assert np.asarray(points["earlier"]).tolist() == [[10, -94]]
    assert np.asarray(points["same"]).tolist() == [[0, 0], [10, 0]]
    assert np.asarray(points["later"]).tolist() == []
    assert top.get_title() == "EASY against no holes, on trace"
    assert "(seconds)" in below.get_ylabel()
    assert below.get_xlim() == top.get_xlim() == (0, 104)
    assert "earlier 1; seconds: mean 94, most 94; same 2; later 0" in alt_text(below)


def test_difference_of_other_jobs() -> None:
    other = simulate(trace_of(JOBS[:3], 10), fcfs)
    with pytest.raises(DrasLabError, match="not of the same jobs"):
        gantt_difference(easy(), other)
    with pytest.raises(DrasLabError, match="needs 2 axes, and not 1"):
        gantt_difference(easy(), easy(), axes=new())
    assert plt.get_fignums() == []


def test_without_axes_there_is_one_new_figure() -> None:
    plt.close("all")
    ax = gantt(easy())
    assert plt.get_fignums() == [1]
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    plt.close(figure)
    assert plt.get_fignums() == []
