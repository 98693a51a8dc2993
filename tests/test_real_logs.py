"""Real job logs: right to the digit, and another simulator's schedule beside ours.

The expected figures are those of an independent stand-alone reference
(`cases/reference_results.json`), not of this engine.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, shared
from runs import fcfs

from dras_lab import cli
from dras_lab.metrics import summary
from dras_lab.simulator import simulate
from dras_lab.traces import read_swf

REFERENCE = json.loads(
    (ROOT / "tests" / "cases" / "reference_results.json").read_text(encoding="utf-8")
)["results"]


def named(reference: dict[str, Any]) -> str:
    return f"{reference['trace']}-{reference['nodes']}"


@pytest.mark.slow
@pytest.mark.parametrize("reference", REFERENCE, ids=named)
def test_fcfs_with_easy_to_the_digit(reference: dict[str, Any]) -> None:
    trace = read_swf(shared("traces", f"{reference['trace']}.swf.gz"))
    if reference["coarsen"] > 1:
        trace = trace.coarsen(reference["coarsen"])
    assert trace.nodes == reference["nodes"]
    found = summary(simulate(trace, fcfs, overrun=reference["overrun"], log=False))
    assert found["jobs"] == reference["jobs"]
    assert round(found["mean_wait_s"], 3) == reference["mean_wait_s"]
    assert found["max_wait_s"] == reference["max_wait_s"]
    assert round(found["mean_bounded_slowdown"], 4) == reference["mean_bounded_slowdown_tau10"]
    assert round(found["utilisation"], 5) == reference["utilisation"]
    assert found["makespan_s"] == reference["makespan_s"]
    assert found["jobs_that_waited"] == reference["jobs_that_waited"]


@pytest.mark.slow
def test_the_command_line_on_the_real_theta(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared("traces", "ALCF-Theta-2022.swf.gz")
    words = ["simulate", str(path), "--policy", "fcfs", "--json"]
    for reference, more in ((REFERENCE[0], []), (REFERENCE[1], ["--coarsen", "16"])):
        assert cli.main([*words, *more]) == 0
        found = json.loads(capsys.readouterr().out)
        for key in ("jobs", "nodes", "mean_wait_s", "max_wait_s", "utilisation", "makespan_s"):
            assert found[key] == reference[key], key
        assert found["mean_bounded_slowdown"] == reference["mean_bounded_slowdown_tau10"]


@pytest.mark.slow
def test_kth_as_another_simulator_has_it() -> None:
    """pyss's EASY schedule of the same log: field 3 is the wait.

    It takes submissions before completions and makes a pass after each event, so that a few
    waits must differ (the issue asks for 98 % equal and the mean within 0.1 %).
    """
    path = shared("traces", "KTH-SP2-1996-2.1-cln.pyss-EASY-output.swf.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [[int(x) for x in line.split()] for line in file if line[0] not in ";\n"]
    theirs = {row[0]: row for row in rows}
    # Their input is the log before cleaning, numbered anew; run exactly the jobs they ran.
    trace = read_swf(path)
    assert len(trace) == len(theirs)
    result = simulate(trace, fcfs, overrun="kill", log=False)
    ours = dict(zip(result.job_id.tolist(), result.wait.tolist(), strict=True))
    same = np.array([ours[job] == row[2] for job, row in theirs.items()])
    assert same.mean() >= 0.98
    mean = np.mean([row[2] for row in rows])
    assert abs(result.wait.mean() / mean - 1) <= 0.001


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "mean_h", "max_h"),
    [("binpacking", 10.76, 381.7), ("sjf", 4.23, 418.1), ("wfp3", 6.96, 260.2)],
)
def test_other_policies_are_near_what_another_program_measured(
    policy: str, mean_h: float, max_h: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prototype by other hands, which counted extra nodes a little short: near, not equal."""
    path = shared("traces", "ALCF-Theta-2022.swf.gz")
    assert cli.main(["simulate", str(path), "--policy", policy, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mean_wait_s"] / 3600 == pytest.approx(mean_h, rel=0.03)
    assert found["max_wait_s"] / 3600 == pytest.approx(max_h, rel=0.03)
