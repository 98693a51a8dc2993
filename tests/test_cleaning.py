"""Cleaning: every rule on jobs written by hand, its count, and what strict reading says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import cleaned, line, written

from dras_lab.cleaning import ACTIONS, COLUMNS, RULES, CleaningReport
from dras_lab.jobs import DrasLabError
from dras_lab.swf import FIELDS
from dras_lab.traces import read_swf

GOOD = line()


def column(trace, name):
    return trace.table[name].tolist()


def found(report):
    """Every rule that found something, with its count."""
    return report.refused | report.repaired | report.noted


# ---------------------------------------------------------------------------------------------
# The rules, one by one. GOOD is job 1: 4 processors, ran 60 s of the 100 s asked for.


def test_a_log_without_faults():
    trace, report = cleaned(GOOD, line(job_id=2, wait_time=3))
    assert found(report) == {}
    assert (report.read, report.kept) == (2, 2)
    assert report.notes == ()
    assert trace.nodes == 64


@pytest.mark.parametrize(
    ("run", "status", "ids"), [("-1", "5", [1, 3]), ("-7", "1", [1, 3]), ("-0.5", "1", [1, 3])]
)
def test_no_run_time(run, status, ids):
    trace, report = cleaned(GOOD, line(job_id=2, run_time=run, status=status), line(job_id=3))
    assert report.refused == {"no_run_time": 1}
    assert column(trace, "job_id") == ids
    assert report.examples["no_run_time"] == [(2, 3)]


def test_negative_submit():
    trace, report = cleaned(GOOD, line(job_id=2, submit_time=-1))
    assert report.refused == {"negative_submit": 1}
    assert column(trace, "job_id") == [1]


def test_size_is_what_was_requested_else_what_was_allocated():
    trace, report = cleaned(
        line(job_id=1, requested_procs=4, allocated_procs=8),
        line(job_id=2, requested_procs=-1, allocated_procs=8),
        line(job_id=3, requested_procs=0, allocated_procs=2),
        line(job_id=4, requested_procs=-1, allocated_procs=-1),
        line(job_id=5, requested_procs=0, allocated_procs=0),
    )
    assert column(trace, "size") == [4, 8, 2]
    assert column(trace, "allocated_procs") == [8, 8, 2]
    assert report.repaired == {"size_from_allocated": 2}
    assert report.refused == {"no_size": 2}
    assert report.examples["no_size"] == [(4, 5), (5, 6)]


def test_request_is_what_was_requested_else_the_run_time_else_a_second():
    trace, report = cleaned(
        line(job_id=1, requested_time=100),
        line(job_id=2, requested_time=-1),
        line(job_id=3, requested_time=0, run_time=7),
        line(job_id=4, requested_time=-1, run_time=0),
    )
    assert column(trace, "requested_time") == [100, 60, 7, 1]
    assert report.repaired == {"request_from_run_time": 3}


def test_a_job_of_no_time_is_kept():
    trace, report = cleaned(GOOD, line(job_id=2, run_time=0))
    assert column(trace, "run_time") == [60, 0]
    assert report.noted == {"zero_run_time": 1}


def test_times_are_cut_to_whole_seconds():
    trace, report = cleaned(
        line(submit_time=10.9, wait_time=2.5, run_time="59.99", requested_time="100.7"),
        line(job_id=2, submit_time=11, requested_time=0.3, run_time=0.2, think_time=1.5),
        line(job_id=3, submit_time=12, wait_time=-0.5, average_cpu_time=0.25, run_time="60.00"),
    )
    assert column(trace, "submit_time") == [10, 11, 12]
    assert column(trace, "wait_time") == [2, -1, -1]
    assert column(trace, "run_time") == [59, 0, 60]
    assert column(trace, "requested_time") == [100, 1, 100]
    assert column(trace, "think_time") == [-1, 1, -1]
    assert column(trace, "average_cpu_time") == [-1, -1, 0.25]
    assert report.repaired == {"fractional_time": 3}
    assert report.noted == {"zero_run_time": 1}


def test_out_of_order():
    trace, report = cleaned(
        line(job_id=1, submit_time=50),
        line(job_id=2, submit_time=70),
        line(job_id=3, submit_time=60),
        line(job_id=4, submit_time=20),
        line(job_id=5, submit_time=70),
    )
    assert column(trace, "job_id") == [4, 1, 3, 2, 5]
    assert report.repaired == {"out_of_order": 2}
    assert report.examples["out_of_order"] == [(3, 4), (4, 5)]


def test_jobs_of_one_second_go_by_their_ids():
    trace, report = cleaned(*(line(job_id=n, submit_time=9) for n in (7, 3, 5, 1)))
    assert column(trace, "job_id") == [1, 3, 5, 7]
    assert report.repaired == {}
    assert report.noted == {"same_second_order": 2}


def test_a_refused_job_does_not_disturb_the_order():
    _, report = cleaned(line(submit_time=90, run_time=-1), line(job_id=2, submit_time=10))
    assert "out_of_order" not in report.repaired


def test_a_copied_line_is_refused_and_a_repeated_id_is_not():
    trace, report = cleaned(
        line(job_id=5),
        line(job_id=5),
        line(job_id=5, user_id=3),
        line(job_id=9),
        line(job_id=5, user_id=3),
    )
    assert report.refused == {"copied_line": 2}
    assert report.examples["copied_line"] == [(5, 3), (5, 6)]
    assert column(trace, "job_id") == [5, 9, 10]  # past the largest, which was 9
    assert column(trace, "user_id") == [-1, -1, 3]
    assert report.repaired == {"new_job_id": 1}


def test_parts_of_an_execution_are_refused():
    trace, report = cleaned(
        line(job_id=1, run_time=90, status=1),
        line(job_id=1, run_time=40, status=2),
        line(job_id=1, run_time=50, status=3),
        line(job_id=2, run_time=10, status=2),  # nothing above tells of it as a whole
        line(job_id=2, run_time=11, status=4),
        line(job_id=1, run_time=33, status=0),  # another job
    )
    assert report.refused == {"partial_execution": 3}
    assert report.repaired == {"new_job_id": 1}
    assert column(trace, "run_time") == [90, 10, 33]
    assert column(trace, "job_id") == [1, 2, 3]


def test_ids_below_zero():
    trace, report = cleaned(*(line(job_id=-1, user_id=n) for n in (7, 8)), line(job_id=0))
    assert report.repaired == {"new_job_id": 2}
    assert column(trace, "job_id") == [0, 1, 2]
    assert column(trace, "user_id") == [-1, 7, 8]


def test_ids_that_are_all_below_zero_count_from_one():
    trace, _ = cleaned(*(line(job_id=-9, user_id=n) for n in (7, 8)))
    assert column(trace, "job_id") == [1, 2]


def test_wider_than_the_machine_is_kept_and_noted():
    trace, report = cleaned(line(requested_procs=64), line(job_id=2, requested_procs=65))
    assert column(trace, "size") == [64, 65]
    assert report.noted == {"wider_than_machine": 1}
    _, report = cleaned(line(requested_procs=64), line(job_id=2, requested_procs=65), nodes=63)
    assert report.noted == {"wider_than_machine": 2}


def test_past_the_request_is_kept_and_noted():
    trace, report = cleaned(line(run_time=100), line(job_id=2, run_time=101))
    assert column(trace, "run_time") == [100, 101]
    assert report.noted == {"past_request": 1}


def test_busier_than_it_ran():
    _, report = cleaned(line(average_cpu_time=61), line(job_id=2, average_cpu_time=61.5))
    assert report.noted == {"cpu_past_run_time": 1}
    assert not any("order of the format" in note for note in report.notes)
    _, report = cleaned(line(average_cpu_time=99), line(job_id=2, average_cpu_time=99), GOOD)
    assert any("order of the format" in note for note in report.notes)


def test_statuses_are_not_filtered_unless_asked_for():
    lines = [line(job_id=n, status=s) for n, s in enumerate((-1, 0, 1, 2, 3, 4, 5), 1)]
    assert cleaned(*lines)[1].kept == 7
    trace, report = cleaned(*lines, statuses={0, 1})
    assert report.refused == {"status_filter": 5}
    assert column(trace, "job_id") == [2, 3]


def test_extra_fields_are_counted():
    _, report = cleaned(GOOD, line(job_id=2) + " 0", extra_columns="ignore")
    assert report.repaired == {"extra_fields": 1}
    assert report.examples["extra_fields"] == [(2, 3)]


def test_a_refused_job_is_counted_once_and_repaired_never():
    _, report = cleaned(GOOD, line(job_id=1, run_time=-1, requested_time=-1, requested_procs=0))
    assert found(report) == {"no_run_time": 1}


def test_no_job_left():
    with pytest.raises(DrasLabError) as caught:
        cleaned(line(run_time=-1), line(job_id=2, requested_procs=-1), line(job_id=3, run_time=-1))
    assert str(caught.value) == (
        "small.swf: none of its 3 jobs can be used (no_run_time 2, no_size 1)"
    )


# ---------------------------------------------------------------------------------------------
# Notes


@pytest.mark.parametrize(
    ("header", "options", "nodes", "noted"),
    [
        ("; MaxProcs: 64\n; MaxNodes: 8\n", {}, 64, False),
        ("; MaxNodes: 8 (in two racks)\n", {}, 8, False),
        ("; MaxNodes: -1\n", {}, 12, True),
        ("", {}, 12, True),
        ("", {"nodes": 5}, 5, False),
        ("; MaxProcs: 64\n", {"nodes": 5}, 5, False),
    ],
)
def test_the_size_of_the_machine(header, options, nodes, noted):
    lines = line(requested_procs=12), line(job_id=2, requested_procs=99, run_time=-1)
    trace, report = cleaned(*lines, header=header, **options)
    assert trace.nodes == nodes
    note = "machine size not in the header: taken from the widest job (12); give nodes= / --nodes"
    assert (note in report.notes) == noted


def test_notes_on_what_the_log_does_not_tell():
    _, report = cleaned(line(requested_time=-1), line(job_id=2, requested_time=-1, wait_time=0))
    assert [note.split(":")[0] for note in report.notes] == [
        "no job has a requested time of its own"
    ]
    _, report = cleaned(line(requested_time=-1), line(job_id=2))
    assert [note.split(":")[0] for note in report.notes] == ["no wait times"]


@pytest.mark.parametrize(
    ("header", "noted"),
    [
        ("; MaxProcs: 4\n; MaxJobs: 9\n; MaxRecords: 2\n", False),
        ("; MaxProcs: 4\n; MaxJobs: 2\n; MaxRecords: 9\n", True),
        ("; MaxProcs: 4\n; MaxJobs: 9\n", True),
        ("; MaxProcs: 4\n; MaxJobs: -1\n", False),
        ("; MaxProcs: 4\n; MaxJobs: 0\n", False),
    ],
)
def test_a_header_that_promises_other_numbers(header, noted):
    _, report = cleaned(GOOD, line(job_id=2, run_time=-1), header=header)
    note = "the header speaks of 9 jobs, the file holds 2: cut, cleaned or edited since"
    assert [text for text in report.notes if "header" in text] == [note] * noted


# ---------------------------------------------------------------------------------------------
# Strict reading

# What is wrong with the second job, on line 3; the field that must be named; the rule.
STRICT = {
    "fraction": (line(job_id=2, wait_time=1.5), 3, "wait_time", "1.5", "fractional_time"),
    "submit": (line(job_id=2, submit_time=-1), 2, "submit_time", "-1", "negative_submit"),
    "run": (line(job_id=2, run_time=-1), 4, "run_time", "-1", "no_run_time"),
    "size": (line(job_id=2, requested_procs=0), 8, "requested_procs", "0", "no_size"),
    "allocated": (
        line(job_id=2, requested_procs=-1, allocated_procs=3),
        8, "requested_procs", "-1", "size_from_allocated",
    ),
    "request": (
        line(job_id=2, requested_time=-1),
        9, "requested_time", "-1", "request_from_run_time",
    ),
    "id": (line(job_id=-5), 1, "job_id", "-5", "new_job_id"),
    "repeated": (line(job_id=1, user_id=2), 1, "job_id", "1", "new_job_id"),
    "copied": (GOOD, 1, "job_id", "1", "copied_line"),
    "part": (line(status=3), 11, "status", "3", "partial_execution"),
    "wide": (line(job_id=2, requested_procs=65), 8, "requested_procs", "65", "wider_than_machine"),
}  # fmt: skip


@pytest.mark.parametrize("kind", STRICT)
def test_strict_reading_stops_at(kind):
    bad, number, field, value, rule = STRICT[kind]
    cleaned(GOOD, bad)  # and reading that is not strict does not
    with pytest.raises(DrasLabError) as caught:
        cleaned(GOOD, bad, line(job_id=9, run_time=-1), strict=True)
    message = str(caught.value)
    assert message.startswith(f"small.swf: line 3, field {number} ({field}): {value}: {rule}: ")
    assert "\n" not in message


def test_strict_reading_stops_at_what_is_out_of_order():
    with pytest.raises(DrasLabError, match=r"line 3, field 2 \(submit_time\): 7: out_of_order"):
        cleaned(line(submit_time=8), line(job_id=2, submit_time=7), strict=True)


def test_strict_reading_stops_at_the_first_line_whatever_the_rule():
    lines = [line(job_id=2, requested_procs=65), line(job_id=3, run_time=-1)]
    with pytest.raises(DrasLabError, match=r"line 3, .*wider_than_machine"):
        cleaned(GOOD, *lines, strict=True)
    with pytest.raises(DrasLabError, match=r"line 3, .*no_run_time"):
        cleaned(GOOD, *reversed(lines), strict=True)


def test_strict_reading_names_the_first_of_two_rules():
    with pytest.raises(DrasLabError, match=r"field 3 \(wait_time\): 1.5: fractional_time"):
        cleaned(line(wait_time=1.5, requested_time=-1), strict=True)


def test_strict_reading_lets_what_is_just_noted_or_asked_for_pass():
    trace, report = cleaned(
        line(run_time=0) + " 5",
        line(job_id=3, run_time=101),
        line(job_id=2, average_cpu_time=99),
        line(job_id=4, status=5),
        strict=True, extra_columns="ignore", statuses=[1],
    )  # fmt: skip
    assert column(trace, "job_id") == [1, 2, 3]
    assert found(report) == {
        "extra_fields": 1, "status_filter": 1, "same_second_order": 1,
        "zero_run_time": 1, "past_request": 1, "cpu_past_run_time": 1,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------
# The report


def test_the_rules_are_named_and_described():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule.action in ACTIONS
        assert rule.text.endswith(".")
        assert "\n" not in rule.text
        assert set(rule.fields) <= set(FIELDS)


def test_the_report_for_people_and_for_machines():
    lines = [line(job_id=n, run_time=-1) for n in range(2, 7)]
    _, report = cleaned(GOOD, *lines, line(job_id=8, wait_time=0.5))
    text = str(report).splitlines()
    assert text[0] == "7 jobs read, 2 kept, 5 refused"
    assert text[1].split()[:3] == ["refused", "5", "no_run_time"]
    assert text[2].strip() == "e.g. job 2 (line 3), job 3 (line 4), job 4 (line 5), ..."
    assert text[3].split()[:3] == ["repaired", "1", "fractional_time"]
    assert text[4].strip() == "e.g. job 8 (line 8)"
    assert len(text) == 5
    assert json.loads(json.dumps(report.to_dict())) == {
        "read": 7,
        "kept": 2,
        "refused": {"no_run_time": 5},
        "repaired": {"fractional_time": 1},
        "noted": {},
        "notes": [],
        "examples": {
            "no_run_time": [{"job_id": n, "line": n + 1} for n in (2, 3, 4)],
            "fractional_time": [{"job_id": 8, "line": 8}],
        },
    }


def test_notes_are_in_the_report():
    _, report = cleaned(line(requested_time=-1))
    assert "note: no wait times" in str(report)
    assert report.to_dict()["notes"] == list(report.notes)


def test_a_report_must_add_up():
    with pytest.raises(ValueError, match="7 jobs read are not 3 kept and 3 refused"):
        CleaningReport(7, 3, {"no_size": 1, "no_run_time": 2})


# ---------------------------------------------------------------------------------------------
# Whatever comes

few = st.integers(-2, 6)
ROWS = st.fixed_dictionaries(
    {
        "job_id": few,
        "submit_time": st.one_of(few, st.sampled_from(["2.5", "-0.5"])),
        "run_time": st.one_of(few, st.sampled_from(["0.5", "-0.25"])),
        "requested_procs": few,
        "allocated_procs": few,
        "requested_time": st.one_of(few, st.sampled_from(["0.5"])),
        "status": few,
    }
)


@given(st.lists(ROWS, min_size=1, max_size=8), st.sampled_from([None, [0, 1], [2, 3]]))
def test_no_job_goes_missing_and_the_table_holds_its_promises(rows, statuses):
    lines = [line(**row, user_id=k) for k, row in enumerate(rows)]
    try:
        trace, report = cleaned(*lines, statuses=statuses)
    except DrasLabError:
        with pytest.raises(DrasLabError, match=f"none of its {len(rows)} jobs can be used"):
            cleaned(*lines, statuses=statuses)
        return
    table = trace.table
    assert report.read == len(rows)
    assert report.kept == len(table) == len(rows) - sum(report.refused.values())
    assert tuple(table.columns) == COLUMNS
    assert (table["size"] >= 1).all()
    assert (table["requested_time"] >= 1).all()
    assert (table["run_time"] >= 0).all()
    assert (table["submit_time"] >= 0).all()
    assert (table["job_id"] >= 0).all()
    assert table["job_id"].is_unique
    keys = list(zip(table["submit_time"], table["job_id"], strict=True))
    assert keys == sorted(keys)
    # Each is one of the jobs of the file, by the user that marks it, with what it asked for.
    assert table["user_id"].is_unique
    for job in table.itertuples():
        row = rows[job.user_id]
        sizes = [row[name] for name in ("requested_procs", "allocated_procs")]
        assert job.size == next(size for size in sizes if size > 0)
    # Strict reading stops just where something was repaired or refused.
    faults = {rule.name for rule in RULES if rule.fault} & set(found(report))
    if faults:
        with pytest.raises(DrasLabError, match="strict reading stops here"):
            cleaned(*lines, statuses=statuses, strict=True)
    else:
        assert cleaned(*lines, statuses=statuses, strict=True)[0].digest() == trace.digest()


def test_the_options_of_read_swf_reach_the_rules(tmp_path):
    path = written(tmp_path, GOOD, line(job_id=2, status=5, requested_procs=9))
    trace = read_swf(path, nodes=8, statuses=[5])
    assert (trace.nodes, column(trace, "job_id")) == (8, [2])
    assert found(trace.report) == {"status_filter": 1, "wider_than_machine": 1}
    with pytest.raises(DrasLabError, match="wider_than_machine"):
        read_swf(path, nodes=8, strict=True)
