"""Waits and slowdowns by class, and shares: the numbers in the figures, by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import all_refused, easy, entries, heights, new, no_holes, no_jobs, render, says
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from runs import fcfs, trace_of

from dras_lab.breakdown import class_bars, how_shares
from dras_lab.classes import boxes, ecdf
from dras_lab.jobs import DrasLabError
from dras_lab.plotting import alt_text
from dras_lab.results import Result
from dras_lab.simulator import simulate


def one_node(*run_times: int) -> Result:
    """Jobs that come together and run one after the other."""
    jobs = [(k, 0, 1, max(run, 1), run) for k, run in enumerate(run_times, 1)]
    return simulate(trace_of(jobs, 1), fcfs)


def test_ecdf_by_hand() -> None:
    # Waits 0, 100, 100 and 200: the third job takes no time.
    result = one_node(100, 0, 100, 9)
    assert result.wait.tolist() == [0, 100, 100, 200]
    ax = new()
    assert ecdf(result, ax=ax) is ax
    (line,) = ax.get_lines()
    assert np.asarray(line.get_xydata()).tolist() == [
        *([0, 0], [0, 0.25], [100, 0.75], [200, 1]),
    ]
    assert line.get_drawstyle() == "steps-post"
    assert entries(ax) == ["1 (4)"]
    assert ax.get_xlabel() == "wait (seconds)"
    assert alt_text(ax).endswith("1: half at most 100 seconds.")


def test_long_waits_have_an_axis_on_which_nought_has_a_place() -> None:
    ax = ecdf(one_node(7200, 1), ax=new())
    assert ax.get_xscale() == "symlog"
    labels = [tick.get_text() for tick in ax.get_xticklabels()]
    assert labels[:5] == ["0", "1 min", "10 min", "1 h", "6 h"]
    assert ax.get_xticks()[:5].tolist() == [0, 60, 600, 3600, 21_600]
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > 7200


def test_ecdf_by_how() -> None:
    ax = ecdf(easy(), "slowdown", by="how", ax=new())
    # Bounded slowdowns 1, (90 + 4) / 10 and 1.
    ends = {str(line.get_label()): line.get_xdata()[-1] for line in ax.get_lines()}  # type: ignore[index]
    assert ends == pytest.approx({"ready (1)": 1, "reserved (1)": 9.4, "backfilled (1)": 1})
    assert ax.get_xscale() == "log"
    assert "τ = 10 s" in ax.get_xlabel()
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len({colour for colour, _ in looks}) == len({dash for _, dash in looks}) == 3


def test_boxes_by_hand() -> None:
    # 21 jobs of 10 s, one after the other: waits 0, 10, ... 200, of which the quartiles are 50,
    # 100 and 150, the 5th and 95th percentile 10 and 190, the mean 100.
    ax = new()
    assert boxes(one_node(*[10] * 21), ax=ax) is ax
    (box,) = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    assert box.get_path().get_extents().intervaly.tolist() == [50, 150]
    ys = [np.unique(np.asarray(line.get_ydata(), float)).tolist() for line in ax.get_lines()]
    assert ys[0] == [10, 50]  # whiskers
    assert ys[1] == [150, 190]
    assert [100] in ys  # median, mean
    (cross,) = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert np.asarray(cross.get_ydata()).tolist() == [200]
    assert ax.get_ylabel() == "wait (seconds)"
    assert ax.get_xlabel() == "size class (nodes)"
    assert entries(ax) == ["fcfs", "mean", "maximum"]
    assert "median 100 seconds, mean 100 seconds, maximum 200 seconds" in alt_text(ax)


def test_boxes_of_two_stand_side_by_side() -> None:
    ax = boxes({"EASY": easy(), "none": no_holes()}, by="how", ax=new())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["ready", "reserved", "backfilled"]
    # Without backfilling the blocked jobs start as ready ones, and no class but that has a job.
    crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
    easy_at, none_at = (np.asarray(line.get_xdata()).tolist() for line in crosses)
    assert easy_at == pytest.approx([-0.2, 0.8, 1.8])
    assert none_at == pytest.approx([0.2])
    assert [np.asarray(line.get_ydata()).tolist() for line in crosses] == [[0, 90, 0], [94]]
    hatches = {patch.get_hatch() for patch in ax.patches if isinstance(patch, PathPatch)}
    assert len(hatches) == 2
    assert isinstance(crosses[0], Line2D)


def test_bars_by_class() -> None:
    ax = new()
    runs = {"EASY": easy(), "none": no_holes()}
    assert class_bars(runs, "max_wait_s", ax=ax) is ax
    # All three jobs are of the class 3-10; waits 0, 90, 0 and 0, 90, 94.
    first, second = heights(ax)
    assert np.isnan(first[:2]).all()
    assert (first[2], second[2]) == (90, 94)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "3-10"]
    assert ax.get_ylabel() == "maximum wait (seconds)"
    assert entries(ax) == ["EASY", "none"]
    assert "EASY: 1 no jobs, 2 no jobs, 3-10 90; none:" in alt_text(ax)


def test_bars_by_how() -> None:
    ax = class_bars(easy(), "mean_bounded_slowdown", by="how", ax=new())
    assert heights(ax) == [pytest.approx([1, 9.4, 1])]
    assert ax.get_ylabel() == "mean bounded slowdown (a ratio, τ = 10 s)"


def test_bars_in_a_unit_that_fits() -> None:
    ax = class_bars(one_node(36_000, 5), "max_wait_s", ax=new())
    assert heights(ax) == [[10]]
    assert ax.get_ylabel() == "maximum wait (hours)"


def test_shares_by_how() -> None:
    ax = new()
    assert how_shares({"EASY": easy(), "none": no_holes()}, "node_hours", ax=ax) is ax
    # Node-seconds: 600 ready, 32 reserved, 200 backfilled of 832; without backfilling all ready.
    drawn = [[(bar.get_x(), bar.get_width()) for bar in series] for series in ax.containers]
    ready, reserved, backfilled = drawn
    assert ready == [pytest.approx((0, 60_000 / 832)), pytest.approx((0, 100))]
    assert reserved[0] == pytest.approx((60_000 / 832, 3_200 / 832))
    assert backfilled[0] == pytest.approx((63_200 / 832, 20_000 / 832))
    assert ax.get_xlabel() == "share of the node-hours (%); beside: node-hours in all"
    assert ax.yaxis_inverted()  # the first on top
    assert entries(ax) == ["ready", "reserved", "backfilled"]
    assert len({bar.get_hatch() for series in ax.containers for bar in series}) == 3
    # 4 % is too narrow for its number.
    shown = [text.get_text() for text in ax.texts if text.get_visible()]
    assert shown == ["72 %", "100 %", "24 %", " 0", " 0"]
    assert "EASY: ready 72%, reserved 4%, backfilled 24%" in alt_text(ax)


@pytest.mark.parametrize("figure", [ecdf, boxes, class_bars, how_shares])
@pytest.mark.parametrize("make", [all_refused, no_jobs])
def test_nothing_ran(figure: Callable[..., Axes], make: Callable[[], Result]) -> None:
    assert says(figure(make(), ax=new())) == "no job ran"


def test_one_job() -> None:
    for figure in (ecdf, boxes, class_bars, how_shares):
        ax = figure(one_node(5), ax=new())
        render(ax)
        assert "1" in alt_text(ax)


def test_what_cannot_be_asked() -> None:
    for figure, name in ((ecdf, "measure"), (boxes, "measure"), (class_bars, "measure")):
        with pytest.raises(DrasLabError, match=f"{name}: 'energy' is not one of"):
            figure(easy(), "energy", ax=new())
        with pytest.raises(DrasLabError, match="by: 'user' is not one of size, how"):
            figure(easy(), by="user", ax=new())
    with pytest.raises(DrasLabError, match="of: 'watts' is not one of jobs, node_hours"):
        how_shares(easy(), "watts", ax=new())
    for figure in (boxes, class_bars):
        with pytest.raises(DrasLabError, match="machines of different sizes"):
            figure({"ten": easy(), "one": one_node(5)}, ax=new())
