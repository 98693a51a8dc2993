"""The measures, each worked out by hand on a schedule of four jobs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from runs import fcfs, trace_of

from dras_lab import metrics
from dras_lab.jobs import DrasLabError
from dras_lab.policies import make_policy
from dras_lab.results import Result
from dras_lab.simulator import simulate
from dras_lab.traces import Trace


@pytest.fixture
def result() -> Result:
    """Ten nodes under EASY.

    Job 1: 6 nodes, 0 to 100 (ready). Job 2: 8 nodes, asked at 10, runs 100 to 104 (reserved).
    Job 3: 4 nodes, asked at 10, runs 10 to 60 (backfilled). Job 4 is wider than the machine.
    """
    return simulate(result_trace(), fcfs)


def result_trace() -> Trace:
    jobs = [(1, 0, 6, 100, 100), (2, 10, 8, 20, 4), (3, 10, 4, 50, 50), (4, 20, 11, 5, 5)]
    return trace_of(jobs, 10)


def test_by_job(result: Result) -> None:
    assert result.wait.tolist() == [0, 90, 0, -1]
    assert metrics.response_time(result).tolist() == [100, 94, 50]
    # (90 + 4) / max(4, 10) = 9.4; with tau = 1 it is 94 / 4 = 23.5.
    assert metrics.bounded_slowdown(result).tolist() == pytest.approx([1, 9.4, 1])
    assert metrics.bounded_slowdown(result, tau=1).tolist() == pytest.approx([1, 23.5, 1])


def test_summary(result: Result) -> None:
    assert metrics.summary(result) == {
        "policy": "fcfs",
        "trace": result.trace_name,
        "nodes": 10,
        "jobs": 3,
        "refused": 1,
        "mean_wait_s": 30.0,
        "median_wait_s": 0.0,
        "max_wait_s": 90,
        "jobs_that_waited": 1,
        "mean_response_s": pytest.approx(244 / 3),
        "mean_bounded_slowdown": pytest.approx(3.8),
        "max_bounded_slowdown": 9.4,
        "tau_s": 10.0,
        # 6 * 100 + 8 * 4 + 4 * 50 = 832 node-seconds of 10 * 104
        "utilisation": 0.8,
        "makespan_s": 104,
        "throughput_per_h": pytest.approx(3 * 3600 / 104),
    }


def test_over_time(result: Result) -> None:
    assert metrics.nodes_in_use(result).to_dict() == {0: 6, 10: 10, 60: 6, 100: 8, 104: 0}
    assert metrics.queue_length(result).to_dict() == {0: 0, 10: 1, 100: 0}
    # [0, 50): 10 * 6 + 40 * 10 = 460 of 500; [50, 100): 10 * 10 + 40 * 6 = 340; [100, 150): 32.
    over = metrics.utilisation_over_time(result, step=50)
    assert over.index.tolist() == [0, 50, 100]
    assert over.tolist() == pytest.approx([0.92, 0.68, 0.064])
    # What the steps add up to is what the span says.
    assert over.sum() * 50 / 104 == pytest.approx(metrics.utilisation(result))


def test_by_how(result: Result) -> None:
    table = metrics.by_how(result)
    assert table.index.tolist() == ["ready", "reserved", "backfilled"]
    assert table["jobs"].tolist() == [1, 1, 1]
    assert table["mean_wait_s"].tolist() == [0, 90, 0]
    assert table["share_of_node_hours"].tolist() == pytest.approx([600 / 832, 32 / 832, 200 / 832])


def test_by_class(result: Result) -> None:
    table = metrics.by_class(result, shares=(0.5, 1.0))
    assert table.index.tolist() == ["1-5", "6-10"]
    assert table["jobs"].tolist() == [1, 2]
    assert table["mean_wait_s"].tolist() == [0, 45]
    assert table["max_wait_s"].tolist() == [0, 90]
    # A job as wide as a bound belongs below it: 4 nodes (job 3) in the class up to 0.4 of ten.
    assert metrics.by_class(result, shares=(0.4, 0.6, 1.0))["jobs"].tolist() == [1, 1, 1]
    # A class without jobs has no waits; bounds that are one number of nodes are one class.
    table = metrics.by_class(result)
    assert table.index.tolist() == ["1", "2", "3-10"]
    assert table["jobs"].tolist() == [0, 0, 3]
    assert math.isnan(table.loc["1", "mean_wait_s"])


def test_size_classes(result: Result) -> None:
    labels, which = metrics.size_classes(result, shares=(0.4, 0.6, 1.0))
    assert labels == ["1-4", "5-6", "7-10"]
    assert which.tolist() == [1, 2, 0, -1]  # job 4 is wider than the machine


def test_named(result: Result) -> None:
    assert metrics.named(result) == metrics.named([result]) == {"fcfs": result}
    assert list(metrics.named({"b": result, "a": result})) == ["b", "a"]


def test_compare(result: Result) -> None:
    other = simulate(
        trace_of([(1, 0, 6, 100, 100), (2, 10, 8, 20, 4), (3, 10, 4, 50, 50)], 10),
        fcfs,
        backfill="none",
    )
    # Without backfilling job 3 waits for job 2 until 104: waits 0, 90, 94.
    table = metrics.compare({"easy": result, "none": other}, baseline="easy")
    assert table.index.tolist() == ["easy", "none"]
    assert table["mean_wait_h"].tolist() == pytest.approx([30 / 3600, 184 / 3 / 3600])
    assert table["max_wait_h"].tolist() == pytest.approx([90 / 3600, 94 / 3600])
    assert table["mean_wait_ratio"].tolist() == pytest.approx([1, 184 / 90])
    assert table["max_wait_ratio"].tolist() == pytest.approx([1, 94 / 90])
    assert table["refused"].tolist() == [1, 0]
    assert metrics.compare([result]).index.tolist() == ["fcfs"]
    with pytest.raises(ValueError, match="no results to compare"):
        metrics.compare({})
    with pytest.raises(ValueError, match="two results have one name"):
        metrics.compare([result, other])
    with pytest.raises(ValueError, match="'sjf' is not among easy, none"):
        metrics.compare({"easy": result, "none": other}, baseline="sjf")


def test_when_nothing_ran() -> None:
    nothing = simulate(trace_of([(1, 0, 4, 5, 5)], 2), fcfs)
    summary = metrics.summary(nothing)
    assert (summary["jobs"], summary["refused"], summary["mean_wait_s"]) == (0, 1, None)
    assert metrics.utilisation_over_time(nothing).empty
    assert metrics.by_how(nothing)["jobs"].tolist() == [0, 0, 0]
    assert np.isnan(metrics.compare([nothing]).loc["fcfs", "mean_wait_h"])


def test_jobs_of_no_length() -> None:
    instant = simulate(trace_of([(1, 7, 2, 5, 0)], 2), fcfs)
    summary = metrics.summary(instant)
    assert (summary["makespan_s"], summary["utilisation"]) == (0, 0.0)
    assert summary["mean_bounded_slowdown"] == 1.0
    assert summary["throughput_per_h"] is None


@pytest.mark.parametrize("tau", [0, -1, float("nan")])
def test_a_bound_that_is_none(result: Result, tau: float) -> None:
    with pytest.raises(ValueError, match="tau"):
        metrics.bounded_slowdown(result, tau)
    with pytest.raises(ValueError, match="step"):
        metrics.utilisation_over_time(result, step=int(tau) if tau == tau else 0)


def test_schedule_table(result: Result) -> None:
    table = result.table
    assert table.columns.tolist() == [
        *("job_id", "submit", "start", "end", "wait"),
        *("size", "requested_time", "run_time", "how", "nodes"),
    ]
    assert table["how"].tolist() == ["ready", "reserved", "backfilled", "refused"]
    assert table["nodes"].tolist() == ["0-5", "0-7", "6-9", ""]
    assert table["run_time"].tolist()[:3] == [100, 4, 50]
    assert table.loc[3, ["start", "end", "wait", "run_time"]].isna().all()


def test_schedule_csv(result: Result, tmp_path: object) -> None:
    path = f"{tmp_path}/schedule.csv"
    result.write_csv(path)
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        lines = file.read().split("\n")
    assert lines == [
        "job_id,submit,start,end,wait,size,requested_time,run_time,how,nodes",
        "1,0,0,100,0,6,100,100,ready,0-5",
        "2,10,100,104,90,8,20,4,reserved,0-7",
        "3,10,10,60,0,4,50,50,backfilled,6-9",
        "4,20,,,,11,5,,refused,",
        "",
    ]


def test_schedule_is_in_order_of_job_ids() -> None:
    # Submitted in the order 9, 2; split nodes: job 5 takes 0-1 and 4.
    jobs = [(9, 0, 2, 5, 5), (2, 1, 2, 50, 50), (5, 5, 3, 9, 9)]
    table = simulate(trace_of(jobs, 5), make_policy("fcfs")).table
    assert table["job_id"].tolist() == [2, 5, 9]
    assert table["nodes"].tolist() == ["2-3", "0-1,4", "0-1"]
    assert pd.api.types.is_integer_dtype(table["start"])


# -- two numbers for a trade-off --------------------------------------------------------------


def test_wait_ratios_by_hand(result: Result) -> None:
    # First come, first served: waits of 0, 90 and 0 s. Without backfilling job 3 waits as well:
    # job 2 holds 8 of 10 nodes until 104, and job 3 asks for 4: 94 s.
    slow = simulate(result_trace(), fcfs, backfill="none")
    assert slow.wait.tolist() == [0, 90, 94, -1]
    assert metrics.wait_ratios(slow, result) == pytest.approx((184 / 90, 94 / 90))
    assert metrics.wait_ratios(result, result) == (1, 1)


def test_there_is_no_ratio_to_no_wait() -> None:
    idle = simulate(trace_of([(1, 0, 2, 5, 5), (2, 9, 2, 5, 5)], 4), fcfs)
    with pytest.raises(DrasLabError, match="no job waits under fcfs, so there is nothing to impr"):
        metrics.wait_ratios(idle, idle)


def test_balance_by_hand() -> None:
    assert metrics.balance(0.5, 1.1) == 0.5  # the maximum is in its limit
    assert metrics.balance(0.5, 0.2) == 0.5
    assert metrics.balance(0.5, 1.4) == pytest.approx(0.5 + 2 * 0.3)
    assert metrics.balance(0.5, 1.4, limit=1.3, price=10) == pytest.approx(0.5 + 10 * 0.1)
    # A little more of the mean is no match for starving a job.
    assert metrics.balance(0.8, 1.1) < metrics.balance(0.3, 2)
