"""The anatomy of a trace of six jobs, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from drawing import heights, new, render, says
from matplotlib import pyplot as plt
from matplotlib.patches import StepPatch

from dras_lab import anatomy as views
from dras_lab.jobs import DrasLabError
from dras_lab.plotting import alt_text
from dras_lab.traces import Trace

# The log begins on 1 January 1970, a Thursday, at 03:00 UTC.
TABLE = pd.DataFrame(
    {
        "submit_time": [10_800, 10_801, 14_400, 97_200, 97_200, 270_000],
        "size": [1, 2, 3, 8, 16, 1],
        "run_time": [0, 60, 90, 100, 600, 40],
        "requested_time": [60, 60, 60, 100, 1200, 400],
    }
)
TRACE = Trace.from_table(TABLE, 16, "six")
ALL = (
    views.arrivals_by_hour,
    views.arrivals_by_weekday,
    views.arrivals_over_time,
    views.sizes,
    views.run_times,
    views.request_accuracy,
)


def test_arrivals_by_hour() -> None:
    ax = new()
    assert views.arrivals_by_hour(TRACE, ax) is ax
    (jobs,) = heights(ax)
    # 10800 and 10801 are 3 o'clock, 14400 is 4, 97200 = 86400 + 10800 and 270000 = 3 days + 3 h.
    assert jobs == [0, 0, 0, 5, 1, *[0] * 19]
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches][3] == (3, 1)
    assert ax.get_xlabel() == "hour of the day (UTC, as if the log began in 1970)"
    assert "from 3 to 4 o'clock, 5" in alt_text(ax)


def test_arrivals_by_weekday() -> None:
    ax = views.arrivals_by_weekday(TRACE, new())
    # Three on Thursday, two on Friday, one on the fourth day, which is Sunday.
    assert heights(ax) == [[0, 0, 0, 3, 2, 0, 1]]
    assert [tick.get_text() for tick in ax.get_xticklabels()][3] == "Thu"


def test_arrivals_over_time() -> None:
    ax = views.arrivals_over_time(TRACE, new())
    # Hours since the first: 0, 0, 1, 24, 24 and 72.
    (jobs,) = heights(ax)
    assert len(jobs) == 73
    assert {k: n for k, n in enumerate(jobs) if n} == {0: 2, 1: 1, 24: 2, 72: 1}
    assert [(b.get_x(), b.get_width()) for b in ax.patches][24] == pytest.approx((24, 1))
    assert ax.get_xlabel() == "time since the first submission (hours)"
    assert ax.get_ylabel() == "jobs submitted, by hour"


def test_arrivals_of_a_long_log_by_day_and_by_week() -> None:
    for days, name, bars in ((100, "day", 101), (700, "week", 101)):
        ends = pd.DataFrame({"submit_time": [0, days * 86_400], "size": [1, 1], "run_time": [1, 1]})
        ax = views.arrivals_over_time(Trace.from_table(ends, 1), new())
        assert len(heights(ax)[0]) == bars
        assert ax.get_ylabel() == f"jobs submitted, by {name}"


def test_sizes() -> None:
    ax = views.sizes(TRACE, new())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2-3", "4-7", "8-15", "16"]
    jobs, work = heights(ax)
    assert jobs == pytest.approx([100 / 3, 100 / 3, 0, 100 / 6, 100 / 6])
    # Node-seconds: 0 + 40; 2 * 60 + 3 * 60 (cut at the request); 8 * 100; 16 * 600: 10,740.
    assert work == pytest.approx([100 * x / 10_740 for x in (40, 300, 0, 800, 9600)])
    assert {bar.get_hatch() for bar in ax.patches} == {None, "///"}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size (nodes)", "share (%)")


def test_run_times() -> None:
    ax = views.run_times(TRACE, new())
    (shares,) = heights(ax)
    assert sum(shares) == pytest.approx(100)
    assert shares[0] == pytest.approx(100 / 6)  # the job of no length counts as a second
    (outline,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    requests = np.asarray(outline.get_data().values)
    assert requests.sum() == pytest.approx(100)
    assert requests.max() == pytest.approx(50)  # three asked for 60 s
    assert ax.get_xscale() == "log"
    # (0 + 60 + 90 + 100 + 600 + 40: the middle is 75 s), (60 * 3, 100, 400, 1200: it is 80 s).
    assert "ran for at most 1.25 minutes, half asked for at most 1.33 minutes" in alt_text(ax)


def test_request_accuracy() -> None:
    ax = views.request_accuracy(TRACE, new())
    # Ratios 0, 1, 1.5, 1, 0.5 and 0.1.
    shares, (past,) = heights(ax)
    assert past == pytest.approx(100 / 6)
    filled = {k: share for k, share in enumerate(shares) if share}
    assert filled == pytest.approx({0: 100 / 6, 2: 100 / 6, 10: 100 / 6, 19: 100 / 3})
    assert ax.texts[0].get_text() == "past the request: 16.7 %"
    assert ax.get_xlabel() == "run time / requested time (a ratio)"


def test_anatomy_is_all_of_them() -> None:
    grid = views.anatomy(TRACE)
    assert grid.shape == (2, 3)
    figure = grid[0, 0].figure
    assert figure.get_suptitle() == "six: 6 jobs on 16 nodes"
    assert all(ax.get_xlabel() and ax.get_ylabel() and alt_text(ax) for ax in grid.flat)
    render(grid[0, 0])
    plt.close(figure)
    mine = [new() for _ in range(6)]
    assert views.anatomy(TRACE, mine).ravel().tolist() == mine
    with pytest.raises(DrasLabError, match="needs 6 axes, and not 2"):
        views.anatomy(TRACE, mine[:2])
    assert plt.get_fignums() == []


@pytest.mark.parametrize("view", ALL)
def test_no_jobs(view: object) -> None:
    assert says(view(TRACE.head(0), new())) == "no jobs in the trace"  # type: ignore[operator]


@pytest.mark.parametrize("jobs", [TABLE.iloc[:1], TABLE.iloc[[0, 0]]])
def test_one_job_and_jobs_of_no_length(jobs: pd.DataFrame) -> None:
    mine = [new() for _ in range(6)]
    views.anatomy(Trace.from_table(jobs.reset_index(drop=True), 16), mine)
    for ax in mine:
        render(ax)
        assert sum(bar.get_height() for bar in ax.containers[0]) > 0
