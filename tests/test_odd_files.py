"""Logs that people really have: files that break readers, and whole logs with known counts."""

from __future__ import annotations

import json

import pytest
from conftest import shared

from dras_lab.jobs import DrasLabError
from dras_lab.traces import Trace, read_swf


def complaint(path, **options) -> str:
    with pytest.raises(DrasLabError) as caught:
        read_swf(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def column(trace: Trace, name: str) -> list[int]:
    return trace.table[name].tolist()


# ---------------------------------------------------------------------------------------------
# Odd files, one by one


def test_no_header_and_no_line_end():
    trace = read_swf(shared("odd", "accasim-no-header-no-newline.swf"), strict=True)
    assert len(trace) == 25
    assert trace[0].size == 16
    assert trace.header == ()
    assert trace.nodes == 36  # the widest of the 25
    assert trace.table["average_cpu_time"][11] == 18.0  # "18.00" in the file
    (note,) = trace.report.notes
    assert "machine size not in the header: taken from the widest job (36)" in note


def test_column_names_then_letters_in_a_field(tmp_path):
    path = shared("odd", "alea-FIT-jaros3-namesrow.swf")
    for extra in ("refuse", "ignore"):
        message = complaint(path, extra_columns=extra)
        assert message.startswith("line 1: looks like a row of column names")
        assert "delete that line" in message
    # Following that advice, and the next, leads to what no reader can take for a number.
    rest = tmp_path / "rest.swf"
    rest.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    assert complaint(rest).startswith("line 1: 20 fields instead of 18")
    message = complaint(rest, extra_columns="ignore")
    assert message.startswith("line 7, field 17 (preceding_job): '4&5&6' is not a number")


def test_semicolons():
    message = complaint(shared("odd", "bsc-semicolon-dep.swf"))
    assert message.startswith("line 1: the fields are separated by ';'")


def test_a_column_too_many():
    path = shared("odd", "lublin-extra-float-column.swf")
    message = complaint(path)
    assert message.startswith("line 8: 19 fields instead of 18")
    assert "--extra-columns ignore" in message
    trace = read_swf(path, extra_columns="ignore")
    assert (len(trace), trace.nodes) == (53, 256)
    assert column(trace, "size")[:4] == [16, 1, 1, 128]  # allocated; none were requested
    assert column(trace, "requested_time")[:2] == [12072, 2]  # the run times
    assert trace.report.repaired == {
        "extra_fields": 53, "size_from_allocated": 53, "request_from_run_time": 53,
    }  # fmt: skip
    assert any("plans will be exact" in note for note in trace.report.notes)


def test_a_header_that_promises_more():
    trace = read_swf(shared("odd", "nasa-edited-228-jobs.swf"))
    assert (len(trace), trace.nodes) == (228, 128)
    assert "the header speaks of 42264 jobs, the file holds 228" in " ".join(trace.report.notes)


@pytest.mark.parametrize("name", ["sacct-multiline-submitline.log", "slurm-pipe-ok-fail.csv"])
def test_accounting_tables(name):
    message = complaint(shared("odd", name))
    assert message.startswith("line 1: the fields are separated by '|', as in a Slurm table")


def test_theta_with_19_fields():
    path = shared("odd", "theta-19-fields.swf")
    assert complaint(path).startswith("line 5: 19 fields instead of 18")
    trace = read_swf(path, extra_columns="ignore")
    assert (len(trace), trace.nodes) == (300, 4392)
    assert trace.report.repaired["extra_fields"] == 300
    assert trace.report.repaired["out_of_order"] > 0
    submits = column(trace, "submit_time")
    assert submits == sorted(submits)
    first = trace.table[trace.table["job_id"] == 639487].iloc[0]  # the first line
    assert [first["submit_time"], first["run_time"], first["size"], first["requested_time"]] == [
        1672529301, 3632, 8, 3600,
    ]  # fmt: skip


def test_shifted_columns_are_seen():
    trace = read_swf(shared("odd", "theta-columns-shifted.swf"))
    notes = " ".join(trace.report.notes)
    assert "are the columns in the order of the format?" in notes
    assert "plans will be exact" in notes


# ---------------------------------------------------------------------------------------------
# Whole logs: the counts are those that were recorded when the logs were gathered

# name: jobs in the file, machine, and by rule how many jobs
LOGS = {
    "ALCF-Theta-2022": (23911, 4360, {"past_request": 6264}),
    "KTH-SP2-1996-2.1-cln": (28476, 100, {"no_size": 1, "zero_run_time": 8}),
    "CTC-SP2-1996-3.1-cln": (77222, 338, {"size_from_allocated": 77222, "past_request": 7174}),
    "SDSC-SP2-1998-4-first5000lines": (4961, 128, {"no_run_time": 355}),
    "SDSC-BLUE-2000-4.2-cln": (243306, 1152, {"no_run_time": 10744}),
    "LLNL-Atlas-2006-2.1-cln": (43778, 9216, {"no_size": 4571}),
    "NASA-iPSC-1993-3.1-cln": (18239, 128, {"request_from_run_time": 18239}),
    "COARE-Saliksik-2020-cln": (19760, 1728, {}),
    "KTH-SP2-1996-2.1-cln.pyss-EASY-output": (28481, 100, {}),
}


@pytest.mark.parametrize("name", LOGS)
def test_counts_of_real_logs(name, tmp_path):
    jobs, nodes, rules = LOGS[name]
    trace = read_swf(shared("traces", f"{name}.swf.gz"))
    report = trace.report
    assert trace.name == name
    assert (report.read, trace.nodes) == (jobs, nodes)
    found = report.refused | report.repaired | report.noted
    assert {rule: found.get(rule) for rule in rules} == rules
    # Only what was recorded is refused, and nothing else.
    assert set(report.refused) == {"no_size", "no_run_time"} & set(rules)
    assert len(trace) == report.kept == jobs - sum(report.refused.values())
    json.dumps([report.to_dict(), trace.summary()], allow_nan=False)
    if jobs < 30000:
        trace.write_swf(tmp_path / "again.swf.gz")
        assert read_swf(tmp_path / "again.swf.gz").digest() == trace.digest()


@pytest.mark.parametrize("name", ["train", "validate"])
def test_logs_with_19_fields_and_no_line_end(name):
    path = shared("traces", f"CQGym-Theta-{name}.swf.gz")
    assert complaint(path).startswith("line 4: 19 fields instead of 18")
    trace = read_swf(path, extra_columns="ignore")
    jobs = {"train": 3000, "validate": 5000}[name]
    assert (len(trace), trace.nodes) == (jobs, 4360)
    assert trace.report.repaired == {"extra_fields": jobs}
    # ids of 14 digits, just as they stand in the file
    assert column(trace, "user_id")[0] == {"train": 92605928607567, "validate": -1}[name]


@pytest.mark.parametrize(
    ("name", "mark"),
    [("xdmod-pozidriv-2017.sacct.psv", "|"), ("NREL-Eagle-2019-sample1000.csv", ",")],
)
def test_logs_of_another_format(name, mark):
    message = complaint(shared("traces", f"{name}.gz"))
    assert message.startswith(f"line 1: the fields are separated by '{mark}'")


def test_theta_runs_past_its_requests():
    table = read_swf(shared("traces", "ALCF-Theta-2022.swf.gz"), strict=True).table
    assert (table["run_time"] > table["requested_time"]).sum() == 6264
    assert (table["run_time"] > table["requested_time"] + 60).sum() == 2766
    assert table["size"].min() == 128
    assert set(table["status"]) == {0}


def test_a_log_with_remarks_about_its_machine():
    trace = read_swf(shared("traces", "CTC-SP2-1996-3.1-cln.swf.gz"))
    assert ("MaxNodes", "338 (batch partition; 512 total)") in trace.header
    assert ("Queue", "1 DSI") in trace.header
    assert ("", "         user=135 and (job>=47421 and job<=50307) (2080 jobs removed)") in [
        (key, value) for key, value in trace.header
    ]


def test_the_work_of_a_log_is_what_another_simulator_found():
    """Utilisation * nodes * makespan of its schedules is the work, to the digits it gives."""
    path = shared("cases", "reference_results.json")
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    assert len(results) == 4
    for case in results:
        trace = read_swf(shared("traces", f"{case['trace']}.swf.gz")).coarsen(case["coarsen"])
        assert (len(trace), trace.nodes) == (case["jobs"], case["nodes"])
        work = case["utilisation"] * case["nodes"] * case["makespan_s"]
        assert trace.summary()["work_node_s"] == pytest.approx(work, rel=1e-5)
