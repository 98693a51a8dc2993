"""What a policy is shown: all a scheduler can know, in words and numbers, and no run time."""

from __future__ import annotations

import gc
import random
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import fcfs, runs_of, trace_of
from strategies import Workload, backfills, overruns, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import Level
from dras_lab.simulator import Simulation, simulate

# Job 1 holds 6 of 10 nodes until 100 by its request (and 90 really), job 2 wants 8.
JOBS = [
    (1, 0, 6, 100, 90),
    (2, 10, 8, 50, 40),
    (3, 20, 3, 500, 499),  # fits, too long, and more than the 2 extra nodes
    (4, 20, 5, 10, 9),  # too wide for the 4 free nodes
    (5, 20, 2, 500, 499),  # just the extra nodes
    (6, 20, 1, 80, 79),  # ends exactly at the reserved start
    (7, 20, 1, 70, 69),  # fits too
]


def first_backfill(window: int | None = 50, passed: int = 0) -> tuple[Simulation, Decision]:
    """The first level-2 decision with all of JOBS in the queue."""
    simulation = Simulation(trace_of(JOBS, 10), window=window)
    while (decision := simulation.next_decision()) is not None:
        if decision.level is Level.BACKFILL:
            return simulation, decision
        simulation.apply(0)
    raise AssertionError("no backfilling?")


def test_a_backfill_decision_by_hand() -> None:
    _, decision = first_backfill()
    assert (decision.time, decision.free, decision.nodes) == (20, 4, 10)
    assert [job.job_id for job in decision.candidates] == [5, 6, 7]
    assert decision.sizes.tolist() == [2, 1, 1]
    assert decision.requested_times.tolist() == [500, 80, 70]
    assert decision.queued_times.tolist() == [0, 0, 0]
    assert decision.submit_times.tolist() == [20, 20, 20]
    assert [job.job_id for job in decision.queue] == [2, 3, 4, 5, 6, 7]
    reservation = decision.reservation
    assert reservation is not None
    assert (reservation.job.job_id, reservation.start, reservation.extra) == (2, 100, 2)
    assert reservation.promised == 100
    assert [(job.job_id, job.size, job.start, job.planned_end) for job in decision.running] == [
        (1, 6, 0, 100)
    ]
    assert decision.release_times().tolist() == [100] * 6 + [20] * 4


def test_why_not_in_words() -> None:
    _, decision = first_backfill(window=2)
    assert [job.job_id for job in decision.candidates] == [5, 6]
    assert decision.why_not() == {
        2: "it holds the reservation, and is planned to start at 100 s",
        3: "it could run until 520 s, past the reserved start at 100 s, and needs 3 nodes "
        "where 2 can be spared",
        4: "it needs 5 nodes and 4 are free",
        7: "it is beyond the window",
    }


def test_candidates_are_a_sequence() -> None:
    _, decision = first_backfill()
    candidates = decision.candidates
    assert len(candidates) == 3
    assert candidates[-1].job_id == 7
    assert [job.job_id for job in candidates[1:]] == [6, 7]
    assert repr(candidates) == "Jobs([5, 6, 7])"
    assert repr(decision) == "Decision(backfill, time=20, free=4)"


def test_arrays_of_the_machine_and_the_queue_by_hand() -> None:
    _, decision = first_backfill()
    number, left = decision.holders()
    assert left[number].tolist() == [80] * 6 + [0] * 4
    assert number[6:].tolist() == [0] * 4
    ends, sizes = decision.releases()
    assert (ends.tolist(), sizes.tolist()) == ([100], [6])
    waiting = decision.waiting
    assert waiting.queued_times.tolist() == [10, 0, 0, 0, 0, 0]
    assert waiting.sizes.tolist() == [8, 3, 5, 2, 1, 1]
    assert waiting.requested_times.tolist() == [50, 500, 10, 500, 80, 70]


@settings(max_examples=150, deadline=None)
@given(workloads(), backfills, overruns, st.integers(0, 99), st.sampled_from([0.1, 0.5, 1]))
def test_arrays_that_are_kept_up_to_date_catch_up(
    workload: Workload, backfill: str, overrun: str, seed: int, often: float
) -> None:
    """Looked at now and then, they say what the lists say that are made anew."""
    simulation = Simulation(
        trace_of(workload.jobs, workload.nodes), backfill=backfill, overrun=overrun
    )
    rng = random.Random(seed)
    while (decision := simulation.next_decision()) is not None:
        now = decision.time
        if rng.random() < often:
            number, left = decision.holders()
            assert (now + left[number]).tolist() == decision.release_times().tolist()
            assert (number == 0).sum() == decision.free
            assert len(set(number.tolist()) - {0}) == len(decision.running)
        if rng.random() < often:
            waiting = decision.waiting
            columns = (waiting.queued_times, waiting.sizes, waiting.requested_times)
            assert [tuple(row) for row in np.stack(columns, axis=1).tolist()] == [
                (now - job.submit_time, job.size, job.requested_time) for job in decision.queue
            ]
            assert len(waiting) == len(decision.queue)
            ends, sizes = decision.releases()
            assert list(zip(ends.tolist(), sizes.tolist(), strict=True)) == [
                (job.planned_end, job.size) for job in decision.running
            ]
        simulation.apply(rng.randrange(len(decision.candidates)))


def test_many_jobs_at_once_have_a_number_each() -> None:
    # 40 single nodes, more than there are numbers to begin with; then every second one ends.
    jobs = [(k, 0, 1, 100 * k, 100 if k % 2 else 100 * k) for k in range(1, 41)]
    jobs.append((50, 100, 30, 10, 10))
    simulation = Simulation(trace_of(jobs, 40))
    seen = 0
    while (decision := simulation.next_decision()) is not None:
        number, left = decision.holders()
        assert (decision.time + left[number]).tolist() == decision.release_times().tolist()
        assert len(set(number.tolist()) - {0}) == len(decision.running)
        seen += 1
        simulation.apply(0)
    assert seen == 41


def test_planned_starts_in_words() -> None:
    reasons: list[dict[int, str]] = []

    def policy(decision: Decision) -> int:
        reasons.append(decision.why_not())
        return 0

    # Job 2 must wait for job 1 until 100; at 10 job 3 is planned, and job 2 has its plan.
    trace = trace_of([(1, 0, 6, 100, 100), (2, 0, 8, 50, 50), (3, 10, 8, 5, 5)], 10)
    simulate(trace, policy, backfill="conservative")
    assert {2: "it is planned to start at 100 s"} in reasons


# -- no road to the run times -----------------------------------------------------------------


def test_asking_for_the_run_time_is_an_error() -> None:
    _, decision = first_backfill()
    for job in (decision.candidates[0], decision.running[0], decision.queue[0]):
        with pytest.raises(AttributeError, match="cannot know the run time"):
            _ = job.run_time
    assert not [name for name in dir(decision) if "run_time" in name or "duration" in name]


@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
def test_nothing_a_decision_holds_leads_to_a_run_time(backfill: str) -> None:
    """Walk everything reachable from a decision: no trace, no engine, no list of run times."""
    # Run times are whole thousands of seconds, and nothing else is: submissions are 1 to 49,
    # requests end in 500, so that no time or difference a scheduler may know is a thousand.
    rng = np.random.default_rng(1)
    jobs = [
        (
            k,
            int(rng.integers(1, 50)),
            int(rng.integers(1, 9)),
            200_500 + 1000 * k,
            70_000 + 1000 * k,
        )
        for k in range(1, 60)
    ]
    secrets = {70_000 + 1000 * k for k in range(1, 60)}
    checked = 0

    def policy(decision: Decision) -> int:
        nonlocal checked
        _ = decision.candidates, decision.queue, decision.running, decision.reservation
        _ = decision.waiting, decision.holders(), decision.releases()
        decision.release_times()
        decision.why_not()
        found = reachable(decision)
        assert not [thing for thing in found if type(thing).__module__.startswith("pandas")]
        numbers = {thing for thing in found if type(thing) is int}
        for thing in found:
            if isinstance(thing, np.ndarray):
                numbers |= set(thing.ravel().tolist())
        assert not numbers & secrets
        assert not {type(thing).__name__ for thing in found} & {"Engine", "Simulation", "Trace"}
        checked += 1
        return 0

    simulate(trace_of(jobs, 10), policy, backfill=backfill)
    assert checked > 20


def reachable(root: Any) -> list[Any]:
    """All objects that references lead to, but for code and classes."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
    seen: dict[int, Any] = {}
    todo = [root]
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen[id(thing)] = thing
        todo += gc.get_referents(thing)
    return list(seen.values())


def test_run_times_change_nothing_before_the_first_job_ends() -> None:
    """Two logs that differ only in run times: every decision is the same until one can tell."""

    def decisions(run_time: int) -> list[Any]:
        jobs = [(k, k, 1 + k % 5, 1000, run_time) for k in range(1, 40)]
        log = simulate(trace_of(jobs, 10), fcfs).log
        assert log is not None
        return [choice for choice in log if choice.time < 500]

    assert decisions(500) == decisions(1000) != []


def test_nodes_are_the_lowest_free_ones() -> None:
    # 0-3, then 4-5; job 1 ends and leaves 0-3, of which job 3 takes 0-1.
    trace = trace_of(
        [(1, 0, 4, 10, 10), (2, 0, 2, 50, 50), (3, 10, 2, 10, 10), (4, 10, 5, 9, 9)], 9
    )
    runs = runs_of(simulate(trace, fcfs))
    assert runs[1].nodes == (0, 1, 2, 3)
    assert runs[2].nodes == (4, 5)
    assert runs[3].nodes == (0, 1)
    assert runs[4].nodes == (2, 3, 6, 7, 8)


def test_a_job_past_its_request_is_planned_to_end_in_a_second() -> None:
    seen: list[tuple[int, list[int], int]] = []

    def policy(decision: Decision) -> int:
        planned = [job.planned_end for job in decision.running]
        seen.append((decision.time, planned, int(decision.release_times()[0])))
        return 0

    # Job 1 asks for 10 s and runs for 100; job 2 comes at 60.
    trace = trace_of([(1, 0, 6, 10, 100), (2, 60, 2, 5, 5)], 10)
    simulate(trace, policy, overrun="keep")
    assert seen == [(0, [], 0), (60, [61], 61)]
