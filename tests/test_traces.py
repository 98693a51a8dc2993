"""`Trace`: where logs are found, slicing, scaling, summaries, and writing them again."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import line, log, written

from dras_lab import traces
from dras_lab.cleaning import COLUMNS
from dras_lab.jobs import DrasLabError, Job
from dras_lab.swf import LIMIT
from dras_lab.traces import Trace, read_swf


def made(submits, *, nodes=10, **columns) -> Trace:
    """A trace of jobs of one node and a second that come at these times."""
    table = pd.DataFrame({"submit_time": submits, "size": 1, "run_time": 1} | columns)
    return Trace.from_table(table, nodes, "made")


def column(trace, name):
    return trace.table[name].tolist()


def complaint(call, *args, **options) -> str:
    with pytest.raises(DrasLabError) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------
# Where logs are found


@pytest.fixture
def shelves(tmp_path, monkeypatch):
    """Two shelves of shipped logs, as in a wheel and as in a checkout, and a folder to work in."""
    folders = [tmp_path / name for name in ("wheel", "checkout", "work")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(traces, "_SHELVES", tuple(folders[:2]))
    monkeypatch.chdir(folders[2])
    return folders


def ship(folder, name, user):
    (folder / f"{name}.swf.gz").write_bytes(gzip.compress(log(line(user_id=user))))


def test_shipped_logs_have_names(shelves):
    wheel, checkout, _ = shelves
    ship(wheel, "one", 1)
    ship(checkout, "one", 2)
    ship(checkout, "two", 3)
    assert column(read_swf("one"), "user_id") == [1]
    assert column(read_swf("two"), "user_id") == [3]
    assert read_swf("two").name == "two"


def test_a_file_comes_before_a_name_and_a_folder_does_not(shelves):
    wheel, _, work = shelves
    ship(wheel, "one", 1)
    (work / "one").mkdir()
    assert column(read_swf("one"), "user_id") == [1]
    (work / "one").rmdir()
    written(work, line(user_id=9), name="one")
    assert column(read_swf("one"), "user_id") == [9]


def test_an_unknown_name(shelves):
    assert complaint(read_swf, "thete") == (
        "thete: no such file, and no shipped log of that name (shipped: none in this installation)"
    )
    ship(shelves[0], "two", 1)
    ship(shelves[1], "one", 1)
    assert "(shipped: one, two)" in complaint(read_swf, "thete")
    assert "(shipped: one, two)" in complaint(read_swf, "../one")


def test_the_logs_of_the_project_are_found_from_anywhere(tmp_path):
    program = "from dras_lab import traces; print(*traces.shipped())"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    there = {path.name.removesuffix(".swf.gz") for path in (ROOT / "traces").glob("*.swf.gz")}
    assert set(run.stdout.split()) == there


@pytest.mark.parametrize(
    ("name", "called"),
    [("a-1.2.swf", "a-1.2"), ("a.swf.gz", "a"), ("a.gz", "a"), ("a.txt", "a.txt"), ("a", "a")],
)
def test_a_trace_is_called_after_its_file(tmp_path, name, called):
    assert read_swf(written(tmp_path, line(), name=name)).name == called


@pytest.mark.parametrize("nodes", [0, -3, 1.5, "8", True, 2**60])
def test_nodes_must_be_a_count(tmp_path, nodes):
    path = written(tmp_path, line())
    assert "nodes" in complaint(read_swf, path, nodes=nodes)
    assert "nodes" in complaint(made, [1], nodes=nodes)
    assert "whole number from 1 up" in complaint(read_swf, path, nodes=nodes)


@pytest.mark.parametrize("statuses", ["15", [1.5], [-2], [None]])
def test_statuses_must_be_whole_numbers(tmp_path, statuses):
    assert "a status: " in complaint(read_swf, written(tmp_path, line()), statuses=statuses)


# ---------------------------------------------------------------------------------------------
# A table of one's own


def test_from_table_fills_in_what_is_not_given():
    trace = Trace.from_table(
        pd.DataFrame({"submit_time": [30, 10, 30], "run_time": [5, 0, 7], "size": [1, 2, 3]}), 8
    )
    assert tuple(trace.table.columns) == COLUMNS
    assert column(trace, "submit_time") == [10, 30, 30]
    assert column(trace, "job_id") == [1, 2, 3]
    assert column(trace, "size") == [2, 1, 3]
    assert column(trace, "requested_time") == [1, 5, 7]
    assert column(trace, "status") == [-1, -1, -1]
    reals = {"average_cpu_time", "used_memory", "requested_memory"}
    assert {name for name in COLUMNS if trace.table[name].dtype == np.float64} == reals
    assert all(trace.table[name].dtype == np.int64 for name in set(COLUMNS) - reals)
    assert isinstance(trace.table.index, pd.RangeIndex)
    assert (trace.name, trace.header, trace.report) == ("trace", (), None)


def test_from_table_sorts_by_time_and_id():
    trace = made([5, 5, 1], job_id=[9, 4, 7], user_id=[1.0, 2.0, 3.0])
    assert column(trace, "job_id") == [7, 4, 9]
    assert column(trace, "user_id") == [3, 2, 1]


def test_from_table_leaves_the_table_given_alone():
    table = pd.DataFrame({"submit_time": [2, 1], "run_time": [1, 1], "size": [1, 1]}, index=[5, 6])
    before = table.copy()
    trace = Trace.from_table(table, 8)
    trace.table.loc[0, "size"] = 99
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize(
    ("column", "values", "parts"),
    [
        ("size", [1, 0], ["'size'", "row 1", "0", "at least 1"]),
        ("requested_time", [0, 5], ["'requested_time'", "row 0", "at least 1"]),
        ("run_time", [1, -1], ["'run_time'", "row 1", "at least 0"]),
        ("submit_time", [-5, 5], ["'submit_time'", "row 0", "-5", "at least 0"]),
        ("job_id", [3, 3], ["'job_id'", "row 1", "3", "twice"]),
        ("job_id", [3, -1], ["'job_id'", "row 1", "at least 0"]),
        ("run_time", [1.0, 2.5], ["'run_time'", "row 1", "2.5", "whole number"]),
        ("user_id", [1.0, math.nan], ["'user_id'", "row 1", "nan", "number"]),
        ("used_memory", [math.inf, 0.0], ["'used_memory'", "row 0", "inf", "number"]),
        ("wait_time", [LIMIT, 1], ["'wait_time'", "row 0", "2**53"]),
        ("status", ["1", "1"], ["'status'", "not numbers"]),
        ("status", [True, False], ["'status'", "bool", "not numbers"]),
        ("submit_time", pd.to_datetime(["2020", "2021"]), ["'submit_time'", "not numbers"]),
        ("requested_tme", [1, 1], ["'requested_tme'", "requested_time"]),
    ],
)
def test_from_table_refuses_what_cannot_be(column, values, parts):
    columns = {"submit_time": [1, 2], "run_time": 1, "size": 1, column: values}
    message = complaint(Trace.from_table, pd.DataFrame(columns), 8)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize("missing", ["submit_time", "size", "run_time"])
def test_from_table_needs_three_columns(missing):
    table = pd.DataFrame({"submit_time": [1], "size": [1], "run_time": [1]}).drop(columns=missing)
    assert f"needs the column '{missing}'" in complaint(Trace.from_table, table, 8)


def test_a_trace_needs_all_columns():
    assert "from_table" in complaint(Trace, pd.DataFrame({"size": [1]}), 8)


# ---------------------------------------------------------------------------------------------
# Parts


def test_length_name_and_jobs():
    trace = made([3, 5], size=[2, 4], user_id=[7, -1], requested_time=[9, 9])
    assert len(trace) == 2
    assert repr(trace) == "Trace('made', 2 jobs, 10 nodes)"
    jobs = [Job(1, 3, 2, 9, 1, 7), Job(2, 5, 4, 9, 1, -1)]
    assert list(trace.jobs()) == list(trace) == jobs
    assert trace[0] == jobs[0]
    assert trace[-1] == jobs[1]
    with pytest.raises(IndexError):
        trace[2]


def test_slices_by_jobs():
    trace = made(range(0, 100, 10))
    part = trace[2:4]
    assert column(part, "submit_time") == [20, 30]
    assert column(part, "job_id") == [3, 4]
    assert part.table.index.tolist() == [0, 1]
    assert (part.nodes, part.name, part.report) == (10, "made[2:4]", None)
    assert column(trace[-3:], "job_id") == [8, 9, 10]
    assert column(trace[::4], "job_id") == [1, 5, 9]
    assert column(trace.head(3), "job_id") == [1, 2, 3]
    assert len(trace.head(99)) == 10
    assert len(trace[5:5]) == 0
    assert "order of submission" in complaint(trace.__getitem__, slice(None, None, -1))
    assert "-1 is not a whole number from 0 up" in complaint(trace.head, -1)


def test_between_is_half_open():
    trace = made([10, 20, 20, 30])
    assert column(trace.between(10, 20), "job_id") == [1]
    assert column(trace.between(20, 30), "job_id") == [2, 3]
    assert column(trace.between(0, 1e9), "job_id") == [1, 2, 3, 4]
    assert len(trace.between(11, 20)) == 0
    assert trace.between(20, 30).name == "made[20s:30s]"
    assert "wrong order" in complaint(trace.between, 30, 20)
    assert "wrong order" in complaint(trace.between, math.nan, 20)


def test_split():
    parts = made(range(20)).split(0.6, 0.15, 0.25)
    assert [column(part, "job_id") for part in parts] == [
        list(range(1, 13)), list(range(13, 16)), list(range(16, 21)),
    ]  # fmt: skip
    assert [part.name for part in parts] == [f"made-part-{k}-of-3" for k in (1, 2, 3)]
    assert "add up to 1" in complaint(made(range(20)).split, 0.6, 0.3)
    assert "add up to 1" in complaint(made(range(20)).split)
    assert "no job" in complaint(made([1, 2]).split, 0.6, 0.15, 0.25)
    assert "no job" in complaint(made(range(20)).split, 1.5, -0.5)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=7), st.integers(50, 90))
def test_split_puts_every_job_in_one_part(weights, jobs):
    shares = [weight / sum(weights) for weight in weights]
    try:
        parts = made(range(jobs)).split(*shares)
    except DrasLabError:
        assert min(shares) * jobs < 1 + 1e-9
        return
    ids = [job_id for part in parts for job_id in column(part, "job_id")]
    assert ids == list(range(1, jobs + 1))
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - share * jobs) <= 1 + 1e-9


def test_coarsen():
    trace = made([1, 2, 3, 4], nodes=4360, size=[1, 16, 17, 4360], allocated_procs=[-1, 0, 33, 32])
    coarse = trace.coarsen(16)
    assert coarse.nodes == 273
    assert column(coarse, "size") == [1, 1, 2, 273]
    assert column(coarse, "allocated_procs") == [-1, 0, 3, 2]
    assert coarse.name == "made-by-16"
    assert coarse.table["size"].dtype == coarse.table["allocated_procs"].dtype == np.int64
    assert trace.coarsen(1).digest() == trace.digest()
    for k in (0, -1, 1.5):
        assert "divisor" in complaint(trace.coarsen, k)


def test_scale_load_rounds_no_gap_by_itself():
    trace = made(range(1000, 1301))  # 300 gaps of a second
    times = column(trace.scale_load(3), "submit_time")
    assert times[0] == 1000
    assert times[-1] == 1100
    assert times[1:7] == [1000, 1001, 1001, 1001, 1002, 1002]
    assert column(trace.scale_load(0.5), "submit_time") == list(range(1000, 1601, 2))
    assert trace.scale_load(1).digest() == trace.digest()
    assert trace.scale_load(1.5).name == "made-load-x1.5"


def test_scale_load_keeps_the_order_of_a_trace():
    trace = made([0, 1], job_id=[2, 1]).scale_load(10)
    assert column(trace, "submit_time") == [0, 0]
    assert column(trace, "job_id") == [1, 2]


@pytest.mark.parametrize("x", [0, -1, math.nan, math.inf, 1e-300])
def test_scale_load_by_what_is_no_load(x):
    assert "cannot be scaled" in complaint(made([0, 10]).scale_load, x)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30), st.floats(0.1, 10))
def test_scale_load_scales_the_load(gaps, x):
    trace = made(np.cumsum([*gaps, 10**6]))
    scaled = trace.scale_load(x)
    before, after = trace.summary(), scaled.summary()
    assert after["offered_load"] == pytest.approx(x * before["offered_load"], rel=1e-4)
    assert after["work_node_s"] == before["work_node_s"]


def test_nothing_changes_the_trace_it_is_called_on():
    trace = made([0, 5, 5, 9], job_id=[4, 2, 3, 1], size=[5, 6, 7, 8])
    before = trace.digest()
    for other in (trace[:2], trace.coarsen(3), trace.scale_load(9), trace.between(0, 6)):
        other.table.loc[:, "size"] = 1
    trace.summary()
    assert trace.digest() == before


def test_a_trace_without_jobs():
    empty = made([1, 2])[:0]
    assert list(empty.jobs()) == []
    assert len(empty.coarsen(2)) == len(empty.scale_load(2)) == len(empty.between(0, 9)) == 0
    assert empty.summary()["offered_load"] is None
    assert empty.summary()["size"] is None
    assert "0 jobs" in empty.format_summary()
    table = pd.DataFrame({"submit_time": [], "size": [], "run_time": []})
    assert Trace.from_table(table, 10).digest() == empty.digest()
    json.dumps(empty.summary(), allow_nan=False)


# ---------------------------------------------------------------------------------------------
# The summary


def test_summary_by_hand():
    # Tuesday 2 January 2024, 23:30 and 00:30 an hour later, as seconds since 1970 less an hour
    # for the zone of the machine; the log begins at the first.
    header = (("UnixStartTime", "1704234600"), ("TimeZone", "3600"))
    trace = Trace.from_table(
        pd.DataFrame(
            {
                "submit_time": [0, 3600, 3600, 4000],
                "size": [2, 4, 4, 10],
                "run_time": [100, 0, 300, 50],
                "requested_time": [200, 10, 150, 50],
                "user_id": [5, 5, -1, 0],
            }
        ),
        10,
        "small",
        header,
    )
    facts = trace.summary()
    assert facts["name"] == "small"
    assert (facts["jobs"], facts["nodes"], facts["users"]) == (4, 10, 2)
    assert facts["span_s"] == 4000
    assert facts["work_node_s"] == 2 * 100 + 0 + 4 * 150 + 10 * 50
    assert facts["offered_load"] == 1300 / 40000
    quantiles = {"min": 2, "q25": 3.5, "median": 4, "q75": 5.5, "q90": 8.2, "max": 10}
    assert facts["size"] == pytest.approx(quantiles | {"mean": 5})
    assert facts["run_time_s"]["median"] == 75
    assert facts["requested_time_s"]["mean"] == 102.5
    # of the three that ran: 2, 1/2, 1
    assert facts["request_over_run"]["min"] == 0.5
    assert facts["request_over_run"]["median"] == 1
    assert facts["request_over_run"]["max"] == 2
    assert facts["share_past_request"] == 0.25
    assert facts["arrivals_clock"] == "UTC+1 h"
    assert facts["arrivals_by_hour"] == [3] + [0] * 22 + [1]
    assert facts["arrivals_by_weekday"] == [0, 1, 3, 0, 0, 0, 0]
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_the_text_of_the_summary():
    trace = made([0, 86400], size=[1000, 2000], nodes=5000)
    text = trace.format_summary()
    assert "made: 2 jobs of unknown users on 5000 nodes" in text
    assert "1.0 days" in text
    assert "offered load 0.000" in text
    assert "no jobs ran past their request" in text
    (sizes,) = [row.split() for row in text.splitlines() if row.startswith("size, nodes")]
    assert sizes[2:] == ["1,000", "1,250", "1,500", "1,750", "1,900", "2,000", "1,500"]
    (ratios,) = [row.split() for row in text.splitlines() if row.startswith("requested / run")]
    assert ratios[4:] == ["1"] * 7
    past = made([5, 5], requested_time=[1, 1], run_time=[2, 1]).format_summary()
    assert "offered load unknown, 50.0% of the jobs ran past" in past


# ---------------------------------------------------------------------------------------------
# Writing


def same(one: Trace, other: Trace) -> None:
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    assert one.nodes == other.nodes
    assert one.digest() == other.digest()


HEADER = "; Computer: X\n;\n;     free text\n; Note: a\n; Note: b\n; MaxJobs: 2\n; MaxProcs: 64\n"


def test_written_and_read_again(tmp_path):
    lines = [
        line(average_cpu_time=0.1, used_memory="1e-7", requested_memory=2**52, user_id=2**53 - 1),
        line(
            job_id=0, submit_time=5, allocated_procs=-2, think_time=3, status=4, requested_procs=99
        ),
    ]
    trace = read_swf(written(tmp_path, *lines, header=HEADER))
    for name in ("again.swf", "again.swf.gz", "again"):
        trace.write_swf(tmp_path / name)
        again = read_swf(tmp_path / name)
        same(trace, again)
        assert again.header == trace.header
        assert again.report.repaired == again.report.refused == {}
    assert (tmp_path / "again.swf").read_bytes() == gzip.decompress(
        (tmp_path / "again.swf.gz").read_bytes()
    )
    assert (tmp_path / "again.swf").read_text(encoding="utf-8").startswith(HEADER)


def test_the_header_is_put_right(tmp_path):
    trace = read_swf(written(tmp_path, *(line(job_id=n) for n in range(1, 9)), header=HEADER))
    trace[:3].coarsen(4).write_swf(tmp_path / "part.swf")
    part = read_swf(tmp_path / "part.swf", strict=True)
    assert (len(part), part.nodes) == (3, 16)
    assert part.report.notes == ("no wait times: when the jobs really started is not known",)
    assert dict(part.header) | {"": ""} == {
        "Computer": "X", "": "", "Note": "b", "MaxJobs": "3", "MaxProcs": "16",
    }  # fmt: skip


def test_bytes_that_can_be_made_again(tmp_path):
    trace = made([1, 2, 3])
    for name in ("a.swf.gz", "b.swf.gz"):
        trace.write_swf(tmp_path / name)
    packed = (tmp_path / "a.swf.gz").read_bytes()
    assert packed == (tmp_path / "b.swf.gz").read_bytes()
    assert packed[3] == 0  # no flags: no name of a file
    assert packed[4:8] == bytes(4)  # no time


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    trace = made([1])
    assert "no folder" in complaint(trace.write_swf, tmp_path / "none" / "a.swf")
    assert "is a folder" in complaint(trace.write_swf, tmp_path)
    assert "without jobs" in complaint(trace[:0].write_swf, tmp_path / "a.swf")
    trace.header = (("No Key", "x"),)
    assert "'No Key'" in complaint(trace.write_swf, tmp_path / "a.swf")
    assert list(tmp_path.iterdir()) == []


whole = st.integers(-LIMIT + 1, LIMIT - 1)
VALUES = {
    "submit_time": st.integers(0, 9) | st.integers(0, LIMIT - 1),
    "size": st.integers(1, 10**6),
    "run_time": st.integers(0, LIMIT - 1),
    "requested_time": st.integers(1, LIMIT - 1),
    "status": st.integers(-1, 5),
    "wait_time": whole,
    "user_id": whole,
    "average_cpu_time": st.floats(-1, 1e15),
    "used_memory": st.floats(-1, 1),
}
TABLES = st.integers(1, 6).flatmap(
    lambda n: st.fixed_dictionaries(
        {name: st.lists(value, min_size=n, max_size=n) for name, value in VALUES.items()}
        | {"job_id": st.lists(st.integers(0, LIMIT - 1), min_size=n, max_size=n, unique=True)}
    )
)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), max_size=8)
HEADERS = st.lists(
    st.tuples(st.sampled_from(["", "Note", "MaxProcs", "MaxJobs", "MaxNodes"]), words)
)


@settings(deadline=None)
@given(TABLES, st.integers(1, 10**9), HEADERS, st.sampled_from(["a.swf", "a.swf.gz"]))
def test_any_trace_is_the_same_when_it_is_read_again(
    tmp_path_factory, columns, nodes, header, name
):
    header = tuple((key, value) for key, value in header if key or ":" not in value)
    trace = Trace.from_table(pd.DataFrame(columns), nodes, "any", header)
    path = tmp_path_factory.getbasetemp() / name
    trace.write_swf(path)
    again = read_swf(path, strict=int(trace.table["size"].max()) <= nodes)
    same(trace, again)
    assert again.header == traces.headers.corrected(header, len(trace), nodes)
    again.write_swf(path)
    assert read_swf(path).header == again.header


# ---------------------------------------------------------------------------------------------
# The digest


def test_the_digest_tells_traces_apart():
    trace = made([1, 2])
    assert len(trace.digest()) == 64
    assert trace.digest() == made([1, 2]).digest()
    others = [
        made([1, 3]),
        made([1, 2], nodes=11),
        made([1, 2], user_id=[1, -1]),
        made([1, 2], used_memory=[-1, 0.5]),
        made([1, 2])[:1],
    ]
    assert len({trace.digest(), *(other.digest() for other in others)}) == 6
    renamed = made([1, 2])
    renamed.name = "other"
    assert renamed.digest() == trace.digest()
    zeros = made([1, 2], used_memory=[0.0, -0.0]).digest()
    assert zeros == made([1, 2], used_memory=[0.0, 0.0]).digest()
