"""Curves over time and of learning: the points and bands that were drawn, by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from drawing import all_refused, easy, entries, new, no_holes, no_jobs, render, says
from matplotlib.axes import Axes
from runs import fcfs, trace_of

from dras_lab.curves import learning_curve, queue_curve, utilisation_curve
from dras_lab.jobs import DrasLabError
from dras_lab.plotting import alt_text
from dras_lab.results import Result
from dras_lab.simulator import simulate


def steps(ax: Axes) -> list[tuple[list[float], list[float]]]:
    """Times and values of the step functions; a value holds to the next time."""
    lines = ax.get_lines()
    assert {line.get_drawstyle() for line in lines} == {"steps-post"}
    return [tuple(np.asarray(line.get_xydata()).T.tolist()) for line in lines]


def test_utilisation() -> None:
    ax = new()
    assert utilisation_curve(easy(), step=50, ax=ax) is ax
    # [0, 50): 10 * 6 + 40 * 10 = 460 of 500; [50, 100): 10 * 10 + 40 * 6 = 340; then 4 * 8 = 32.
    ((times, values),) = steps(ax)
    assert times == [0, 50, 100, 150]
    assert values == pytest.approx([0.92, 0.68, 0.064, 0.064])
    assert ax.get_xlabel() == "time since the first submission (seconds)"
    assert ax.get_ylabel() == "utilisation (share of nodes,\nmean of 50 seconds)"
    assert ax.get_title() == "fcfs on trace"
    # 832 node-seconds of 10 * 104
    assert alt_text(ax).endswith("fcfs 0.80 of the nodes on average.")


def test_utilisation_picks_its_interval() -> None:
    # 10 hours are 600 minutes, which is too many; of five minutes there are 120.
    ax = utilisation_curve(simulate(trace_of([(1, 5, 1, 36_000, 36_000)], 2), fcfs), ax=new())
    ((times, values),) = steps(ax)
    assert len(values) == 120 + 1
    assert times[-1] == 10  # hours
    assert set(values) == {0.5}
    assert "mean of 300 seconds" in ax.get_ylabel()


def test_queue() -> None:
    # Job 2 waits from 10 to 100; without backfilling job 3 waits too, from 10 to 104.
    ax = queue_curve({"EASY": easy(), "none": no_holes()}, ax=new())
    assert steps(ax) == [([0, 10, 100], [0, 1, 0]), ([0, 10, 100, 104], [0, 2, 1, 0])]
    assert entries(ax) == ["EASY", "none"]
    assert ax.get_ylabel() == "queue length (jobs)"
    assert alt_text(ax) == "Queue length in jobs over time: EASY at most 1; none at most 2."
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len({colour for colour, _ in looks}) == len({dash for _, dash in looks}) == 2


@pytest.mark.parametrize("curve", [utilisation_curve, queue_curve])
@pytest.mark.parametrize("make", [all_refused, no_jobs])
def test_nothing_ran(curve: Callable[..., Axes], make: Callable[[], Result]) -> None:
    assert says(curve(make(), ax=new())) == "no job ran"
    # Beside one that did, it has no steps.
    ax = curve({"some": easy(), "none": make()}, ax=new())
    assert [line.get_xdata().size > 0 for line in ax.get_lines()] == [True, False]
    with pytest.raises(DrasLabError, match="no results"):
        curve([], ax=new())


def test_one_job_of_no_length() -> None:
    instant = simulate(trace_of([(1, 7, 2, 5, 0)], 2), fcfs)
    assert steps(queue_curve(instant, ax=new())) == [([0], [0])]
    render(utilisation_curve(instant, ax=new()))


# Three seeds of four episodes; seed 2 has no number in episode 2.
LOG = pd.DataFrame(
    {
        "seed": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
        "episode": [0, 1, 2, 3] * 3,
        "phase": ["sampled", "sampled", "real", "real"] * 2 + ["sampled", "real", "real", "real"],
        "reward": [-9.0, -6.0, -3.0, 0.0, -8.0, -7.0, -2.0, -1.0, -1.0, -5.0, np.nan, -2.0],
    }
)


def test_learning_curve() -> None:
    ax = new()
    assert learning_curve(LOG, ax=ax) is ax
    median = ax.get_lines()[0]
    # Medians of (-9, -8, -1), (-6, -7, -5), (-3, -2) and (0, -1, -2).
    assert np.asarray(median.get_xydata()).tolist() == [[0, -8], [1, -6], [2, -2.5], [3, -1]]
    (band,) = ax.collections
    corners = {tuple(row) for row in band.get_paths()[0].vertices.tolist()}
    low, high = [(0, -9), (1, -7), (2, -3), (3, -2)], [(0, -1), (1, -5), (2, -2), (3, 0)]
    assert corners == {*low, *high}
    assert entries(ax) == ["median of 3 seeds", "range of the seeds"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("episode", "reward of the episode")


def test_learning_curve_marks_phases() -> None:
    ax = learning_curve(LOG, ax=new())
    # The real ones begin in episodes 2, 2 and 1: the median is 2.
    assert [line.get_xdata()[0] for line in ax.get_lines()[1:]] == [0, 2]  # type: ignore[index]
    assert [text.get_text().strip() for text in ax.texts] == ["sampled", "real"]
    assert alt_text(ax).endswith("sampled from episode 0. real from episode 2.")


def test_one_run_has_no_band() -> None:
    run = LOG[LOG["seed"] == 1].drop(columns=["seed", "phase"])
    ax = learning_curve(run, smooth=2, ax=new())
    (line,) = ax.get_lines()
    # Means over the last two of -8, -7, -2, -1.
    assert np.asarray(line.get_ydata()).tolist() == [-8, -7.5, -4.5, -1.5]
    assert not list(ax.collections)
    assert ax.get_ylabel() == "reward of the episode\n(mean of 2 episodes)"
    # A run that has only begun is a point.
    assert learning_curve(run[:1], ax=new()).get_lines()[0].get_marker() == "o"


def test_several_runs_of_ratios() -> None:
    log = LOG.rename(columns={"reward": "max_wait_ratio", "episode": "step"})
    both = {"DRAS-PG": log, "DRAS-DQL": log[log["seed"] == 0]}
    ax = learning_curve(both, "max_wait_ratio", episode="step", ax=new())
    assert entries(ax) == [
        *("DRAS-PG, median of 3 seeds", "DRAS-PG, range of the seeds", "DRAS-DQL"),
        "1: as the baseline",
    ]
    assert ax.get_ylabel() == "maximum wait / baseline's"
    assert not list(ax.texts)  # phases are marked of one log only


def test_a_log_that_has_not_begun() -> None:
    assert says(learning_curve(LOG[:0], ax=new())) == "no episodes yet"
    assert says(learning_curve(LOG.assign(loss=np.nan), "loss", ax=new())) == "no episodes yet"


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(DrasLabError, match="no column 'regret'; it has seed, episode, phase"):
        learning_curve(LOG, "regret", ax=new())
    with pytest.raises(DrasLabError, match="stands twice"):
        learning_curve(LOG, seed="worker", ax=new())
    with pytest.raises(DrasLabError, match="smooth: 0"):
        learning_curve(LOG, smooth=0, ax=new())
