"""One choice changed: against the independent simulator, and by hand."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import fcfs, runs_of, trace_of
from strategies import Chooser, choosers, overruns, reservations, windows, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError
from dras_lab.policies import RandomPolicy, make_policy
from dras_lab.replay import Replay
from dras_lab.simulator import simulate
from dras_lab.whatif import moved, what_if


def as_policy(chooser: Chooser):
    def policy(decision: Decision) -> int | None:
        rows = [(j.job_id, j.submit_time, j.size, j.requested_time) for j in decision.candidates]
        return chooser.pick(decision.level.value, decision.time, rows)

    return policy


@settings(max_examples=150, deadline=None)
@given(
    workload=workloads(),
    chooser=choosers(),
    window=windows,
    overrun=overruns,
    backfill=st.sampled_from(["none", "easy"]),
    reservation=reservations,
    where=st.integers(0, 10**6),
    what=st.integers(0, 10**6),
)
def test_against_the_oracle(
    workload, chooser, window, overrun, backfill, reservation, where, what
) -> None:
    trace = trace_of(workload.jobs, workload.nodes)
    options = {"window": window, "overrun": overrun, "reservation": reservation}
    result = simulate(trace, as_policy(chooser), backfill=backfill, **options)
    assert result.log is not None
    if not len(result.log):
        return
    k = where % len(result.log)
    choice = what % len(result.log[k].candidates)
    other = what_if(result, trace, as_policy(chooser), k, choice)

    asked = 0

    def changed(level, candidates, context):  # the oracle's own k-th question
        nonlocal asked
        asked += 1
        return choice if asked == k + 1 else chooser.pick(level, context.time, candidates)

    expected = oracle.simulate(
        workload.jobs, workload.nodes, backfill, overrun, changed, window, reservation
    )
    found = {job: tuple(run) for job, run in runs_of(other).items()}
    assert found == {job: tuple(placed) for job, placed in expected.items()}


# On 10 nodes, first come first served: job 1 runs 0-100 on 6; job 2 gets the reservation for
# 100 at decision 1; job 3 (3 nodes, 30 s) fills the hole at 20, job 4 (4 nodes) at 50.
#         id submit size request run
FEW = [(1, 0, 6, 100, 100), (2, 20, 8, 50, 50), (3, 20, 3, 30, 30), (4, 20, 4, 10, 10)]


def test_a_changed_choice_by_hand() -> None:
    trace = trace_of(FEW, 10)
    result = simulate(trace, fcfs)
    assert {j: r.start for j, r in runs_of(result).items()} == {1: 0, 2: 100, 3: 20, 4: 50}
    # At 20 job 4 goes first, and job 3 must wait for its nodes until 30.
    assert [c.job_id for c in Replay(result).log] == [1, 2, 3, 4]
    other = what_if(result, trace, fcfs, 2, 1)
    assert {j: r.start for j, r in runs_of(other).items()} == {1: 0, 2: 100, 3: 30, 4: 20}
    assert other.policy == "fcfs, but job 4 at decision 2"
    table = moved(result, other)
    assert table["job_id"].tolist() == [4, 3]
    assert table["wait_before"].tolist() == [30, 0]
    assert table["wait_after"].tolist() == [0, 10]
    assert table["change"].tolist() == [-30, 10]
    # A pass: nobody fills the hole at 20; the next pass is when job 1 ends.
    passed = what_if(result, trace, fcfs, 2, None)
    assert {j: r.start for j, r in runs_of(passed).items()} == {1: 0, 2: 100, 3: 150, 4: 150}
    assert passed.policy == "fcfs, but nobody at decision 2"


def test_the_same_choice_changes_nothing() -> None:
    trace = trace_of(FEW, 10)
    result = simulate(trace, fcfs)
    for k in range(4):
        same = what_if(result, trace, fcfs, k, 0)
        np.testing.assert_array_equal(same.start, result.start)
        assert len(moved(result, same)) == 0


MANY = [(k, 3 * k, 1 + k % 4, 20 + k % 7, 15 + k % 5) for k in range(1, 41)]


def test_a_random_policy_goes_on_from_a_known_state() -> None:
    trace = trace_of(MANY, 6)
    result = simulate(trace, RandomPolicy(5))
    assert result.log is not None
    k = 20
    assert len(result.log[k].candidates) > 2
    own = result.log[k].chosen
    # As it was before the run, and asked along: with its own choice the run is the same.
    fresh = RandomPolicy(5)
    same = what_if(result, trace, fresh, k, own, warm=True)
    np.testing.assert_array_equal(same.start, result.start)
    # It was copied, so a second time gives the same, and it is as it was.
    again = what_if(result, trace, fresh, k, own, warm=True)
    np.testing.assert_array_equal(again.start, result.start)
    assert fresh.rng.integers(10**9) == RandomPolicy(5).rng.integers(10**9)
    # Not asked along it draws its first numbers at k + 1: another run.
    cold = what_if(result, trace, RandomPolicy(5), k, own)
    assert (cold.start != result.start).any()
    with pytest.raises(DrasLabError, match="give it as it was before the run"):
        what_if(result, trace, RandomPolicy(6), k, own, warm=True)


def test_what_cannot_be() -> None:
    trace = trace_of(FEW, 10)
    result = simulate(trace, fcfs)
    with pytest.raises(DrasLabError, match="there is no decision 4: the run has 4"):
        what_if(result, trace, fcfs, 4, 0)
    with pytest.raises(DrasLabError, match="decision 2 has 2 candidates; there is no 2"):
        what_if(result, trace, fcfs, 2, 2)
    with pytest.raises(DrasLabError, match="give the trace it was of"):
        what_if(result, trace_of(MANY, 10), fcfs, 2, 0)
    with pytest.raises(DrasLabError, match="log=True"):
        what_if(simulate(trace, fcfs, log=False), trace, fcfs, 2, 0)
    with pytest.raises(DrasLabError, match="different jobs"):
        moved(result, simulate(trace_of(MANY, 10), fcfs))


def test_a_heuristic_by_name_goes_on() -> None:
    """The whole of another policy is the changed run from decision 0 on."""
    trace = trace_of(MANY, 6)
    result = simulate(trace, fcfs)
    sjf = make_policy("sjf")
    assert result.log is not None
    assert len(result.log[0].candidates) == 1
    other = what_if(result, trace, sjf, 0, 0)
    np.testing.assert_array_equal(other.start, simulate(trace, sjf).start)
