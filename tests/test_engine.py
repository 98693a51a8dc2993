"""The engine gives the right schedules: known cases, the brute-force oracle, and invariants."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any
from unittest import mock

import numpy as np
import pytest
import strategies as ws
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from oracle import Oracle
from runs import fcfs, rows_of, runs_of, starts_of, trace_of

from dras_lab import easy
from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.log import DecisionLog
from dras_lab.simulator import Simulation, simulate

CASES = json.loads((ROOT / "tests" / "cases" / "easy_cases.json").read_text(encoding="utf-8"))
MODES = {"fcfs": "none", "easy": "easy", "conservative": "conservative"}

many = settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
some = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def overrun_of(case: dict[str, Any]) -> str:
    return "keep" if case["name"].endswith("__overrun") else "kill"


def policy_of(chooser: ws.Chooser) -> Any:
    def policy(decision: Decision) -> int | None:
        return chooser.pick(decision.level.value, decision.time, rows_of(decision.candidates))

    return policy


# -- schedules with known answers -------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], mode: str) -> None:
    trace = trace_of(case["jobs"], case["procs"])
    result = simulate(trace, fcfs, backfill=MODES[mode], overrun=overrun_of(case))
    expected = {int(job): start for job, start in case["expected"][mode].items()}
    assert starts_of(result) == expected, case["note"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_with_first_come_first_served_a_renewed_reservation_changes_nothing(
    case: dict[str, Any],
) -> None:
    trace = trace_of(case["jobs"], case["procs"])
    over = overrun_of(case)
    held, renewed = (
        simulate(trace, fcfs, overrun=over, reservation=kind) for kind in ("held", "renewed")
    )
    assert starts_of(held) == starts_of(renewed)


# -- the oracle -------------------------------------------------------------------------------


@pytest.mark.slow
@many
@given(ws.workloads(), ws.choosers(), ws.windows, ws.overruns, ws.reservations)
def test_easy_as_the_oracle(
    work: ws.Workload, chooser: ws.Chooser, window: int | None, overrun: str, reservation: str
) -> None:
    compare(work, chooser, window, overrun, backfill="easy", reservation=reservation)


@pytest.mark.slow
@many
@given(ws.workloads(), ws.overruns)
def test_easy_first_come_as_the_oracle(work: ws.Workload, overrun: str) -> None:
    compare(work, ws.Chooser("fcfs"), None, overrun, backfill="easy")


@some
@given(ws.workloads(), ws.choosers(), ws.windows, ws.overruns)
def test_no_backfilling_as_the_oracle(
    work: ws.Workload, chooser: ws.Chooser, window: int | None, overrun: str
) -> None:
    compare(work, chooser, window, overrun, backfill="none")


@pytest.mark.slow
@many
@given(ws.workloads(), ws.choosers().filter(lambda chooser: chooser.rule != "random"), ws.overruns)
def test_conservative_as_the_oracle(work: ws.Workload, chooser: ws.Chooser, overrun: str) -> None:
    """The oracle asks about every waiting job at every pass, the engine only where a plan could
    move: choosers by a key give both the same order, random ones and windows would not.
    """
    compare(work, chooser, None, overrun, backfill="conservative")


@some
@given(ws.workloads(), ws.choosers(passes=True), ws.windows, ws.overruns, ws.reservations)
def test_policies_that_pass_as_the_oracle(
    work: ws.Workload, chooser: ws.Chooser, window: int | None, overrun: str, reservation: str
) -> None:
    oracle = Oracle(work.jobs, work.nodes, "easy", overrun, chooser, window, reservation)
    expected = oracle.run()
    trace = trace_of(work.jobs, work.nodes)
    options: dict[str, Any] = {"window": window, "overrun": overrun, "reservation": reservation}
    if any(run.how == "waiting" for run in expected.values()):
        with pytest.raises(DrasLabError, match="must choose a job sooner or later"):
            simulate(trace, policy_of(chooser), **options)
    else:
        assert runs_of(simulate(trace, policy_of(chooser), **options)) == expected


def compare(
    work: ws.Workload, chooser: ws.Chooser, window: int | None, overrun: str, **options: str
) -> None:
    """Starts, ends, how and nodes are the oracle's, whether or not a log is kept."""
    expected = Oracle(
        work.jobs, work.nodes, overrun=overrun, choose=chooser, window=window, **options
    ).run()
    trace = trace_of(work.jobs, work.nodes)
    policy = fcfs if chooser.rule == "fcfs" else policy_of(chooser)
    for log in (True, False):
        result = simulate(trace, policy, window=window, overrun=overrun, log=log, **options)
        assert runs_of(result) == expected
    # Small workloads never make the engine search the whole queue: make it, at every pass.
    with mock.patch.object(easy, "_GLANCE", 0):
        result = simulate(trace, policy, window=window, overrun=overrun, **options)
        assert runs_of(result) == expected


def test_a_long_queue_is_searched_as_a_short_one_is() -> None:
    """The engine looks at a few jobs one by one and at more through trees: both must agree.

    Job 1 leaves 4 of 10 nodes and ends at 100; job 2 (10 nodes) is reserved for 100. Forty jobs
    of 1000 s and 2 nodes cannot start; those after them that end by 100 can, oldest first.
    """
    jobs = [(1, 0, 6, 100, 100), (2, 0, 10, 10, 10)]
    jobs += [(3 + k, 0, 2, 1000, 1000) for k in range(40)]
    jobs += [(50, 0, 3, 101, 101), (51, 0, 3, 100, 100), (52, 0, 2, 50, 50), (53, 0, 1, 99, 99)]
    for window in (None, 1, 50):
        starts = starts_of(simulate(trace_of(jobs, 10), fcfs, window=window))
        assert (starts[2], starts[51], starts[53]) == (100, 0, 0)
        assert starts[52] == starts[50] == 110 + 1000 * 8  # after forty twos on ten nodes


LONG = {
    # A deep queue of all sizes.
    "deep": (20, (0, 0, 1, 2, 9), (2, 5, 10, 30, 60, 200), (1, 1, 2, 3, 5, 8, 13, 20)),
    # Jobs nearly as wide as the machine, so that nothing can be spared, and single nodes that
    # come while the hole is too short for them and fit the next one.
    "tight": (10, (0, 5, 10, 20, 30, 40), (20, 40, 60, 80, 90, 100, 120), (1, 1, 1, 2, 7, 9, 10)),
}


def long_workload(kind: str, seed: int) -> tuple[int, list[tuple[int, int, int, int, int]]]:
    nodes, gaps, estimates, sizes = LONG[kind]
    rng = np.random.default_rng(seed)
    jobs, clock = [], 0
    for job_id in range(1, 161):
        clock += int(rng.choice(gaps))
        estimate = int(rng.choice(estimates))
        run = int(rng.integers(0, estimate + 1 + 5 * (seed % 2)))
        jobs.append((job_id, clock, int(rng.choice(sizes)), estimate, run))
    return nodes, jobs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", LONG)
def test_long_queues_under_conservative_as_the_oracle(kind: str, seed: int) -> None:
    nodes, jobs = long_workload(kind, seed)
    jobs = jobs[:70]  # the oracle's time grows with the cube of the queue
    overrun = ["kill", "kill", "keep", "keep"][seed % 4]
    expected = Oracle(jobs, nodes, "conservative", overrun).run()
    result = simulate(trace_of(jobs, nodes), fcfs, backfill="conservative", overrun=overrun)
    assert runs_of(result) == expected


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("rule", ["fcfs", "short", "random"])
@pytest.mark.parametrize("kind", LONG)
def test_long_queues_as_the_oracle(kind: str, rule: str, seed: int) -> None:
    """What the engine remembers from pass to pass, against an oracle that remembers nothing."""
    nodes, jobs = long_workload(kind, seed)
    chooser = ws.Chooser(rule, seed)
    window = [None, 4, 50][seed % 3]
    reservation = ["held", "held", "renewed"][seed // 3 % 3]
    overrun = ["kill", "kill", "keep", "keep"][seed % 4]
    expected = Oracle(jobs, nodes, "easy", overrun, chooser, window, reservation).run()
    result = simulate(
        trace_of(jobs, nodes),
        policy_of(chooser),
        window=window,
        reservation=reservation,
        overrun=overrun,
    )
    assert runs_of(result) == expected


def test_a_job_that_came_too_late_for_one_hole_fits_the_next() -> None:
    """Job 5 comes at 30, when 70 s are left of a hole of 100 s; it asks for 80.

    At 40 jobs 1 and 2 end early. Job 3 (9 nodes) starts, and job 4 (10 nodes) gets the
    reservation for 130, with no nodes to spare: the hole is smaller than the first in nodes,
    seconds and spare nodes, and yet job 5 fits it.
    """
    jobs = [(1, 0, 1, 1000, 40), (2, 0, 7, 100, 40), (3, 0, 9, 90, 90)]
    jobs += [(4, 5, 10, 10, 10), (5, 30, 1, 80, 80)]
    starts = starts_of(simulate(trace_of(jobs, 10), fcfs))
    assert starts == {1: 0, 2: 0, 3: 40, 4: 130, 5: 40}


# -- what must hold for any schedule ----------------------------------------------------------


@pytest.mark.slow
@many
@given(ws.workloads(), ws.choosers(), ws.windows, ws.overruns, ws.backfills, ws.reservations)
def test_invariants(
    work: ws.Workload,
    chooser: ws.Chooser,
    window: int | None,
    overrun: str,
    backfill: str,
    reservation: str,
) -> None:
    result = simulate(
        trace_of(work.jobs, work.nodes),
        policy_of(chooser),
        window=window,
        overrun=overrun,
        backfill=backfill,
        reservation=reservation,
    )
    ws.check_schedule(work.jobs, work.nodes, overrun, runs_of(result))
    # Work is conserved: what ran is what was asked for, cut where the rule cuts it.
    cut = {j.id: min(j.runtime, j.estimate) if overrun == "kill" else j.runtime for j in work.jobs}
    ran = {p.job.job_id: p.end - p.start for p in result.placements() if p.end is not None}
    assert sum(j.size * cut[j.id] for j in work.jobs if j.size <= work.nodes) == sum(
        j.size * ran[j.id] for j in work.jobs if j.id in ran
    )


@pytest.mark.slow
@many
@given(ws.workloads(), ws.choosers(), ws.windows)
def test_a_reserved_job_never_starts_after_the_time_first_promised(
    work: ws.Workload, chooser: ws.Chooser, window: int | None
) -> None:
    promised: dict[int, int] = {}
    planned: dict[int, int] = {}

    def policy(decision: Decision) -> int | None:
        if (reservation := decision.reservation) is not None:
            job = reservation.job.job_id
            promised.setdefault(job, reservation.promised)
            # The plan may move earlier, never later, and the promise stays what it was.
            assert reservation.promised == promised[job]
            assert reservation.start <= planned.get(job, reservation.promised)
            planned[job] = reservation.start
        return policy_of(chooser)(decision)

    result = simulate(trace_of(work.jobs, work.nodes), policy, window=window)
    starts = starts_of(result)
    for job, time in promised.items():
        start = starts[job]
        assert start is not None
        assert start <= time
        assert start <= planned[job]


@some
@given(ws.workloads())
def test_conservative_keeps_its_first_plans_where_requests_are_exact(
    work: ws.Workload,
) -> None:
    """Nothing ends early then, so that no plan can move."""
    jobs = [job._replace(runtime=job.estimate) for job in work.jobs]
    plans: dict[int, int] = {}

    def policy(decision: Decision) -> int:
        for job_id, reason in decision.why_not().items():
            if "planned to start at" in reason:
                plans.setdefault(job_id, int(reason.split()[-2]))
        return 0

    starts = starts_of(simulate(trace_of(jobs, work.nodes), policy, backfill="conservative"))
    assert all(starts[job_id] == plan for job_id, plan in plans.items())


# -- the log ----------------------------------------------------------------------------------


@some
@given(ws.workloads(), ws.choosers(), ws.windows, ws.overruns, ws.backfills, ws.reservations)
def test_the_log_tells_what_was_seen_and_replays(
    work: ws.Workload,
    chooser: ws.Chooser,
    window: int | None,
    overrun: str,
    backfill: str,
    reservation: str,
) -> None:
    options: dict[str, Any] = {
        "window": window,
        "overrun": overrun,
        "backfill": backfill,
        "reservation": reservation,
    }
    seen: list[tuple[Any, ...]] = []

    def watching(decision: Decision) -> int | None:
        choice = policy_of(chooser)(decision)
        reserved = decision.reservation
        decision.scores = [float(k) for k in range(len(decision.candidates))]
        seen.append(
            (
                decision.level,
                decision.time,
                decision.free,
                tuple(job.job_id for job in decision.candidates),
                choice,
                None if reserved is None else reserved.job.job_id,
                None if reserved is None else reserved.start,
                None if reserved is None else reserved.extra,
                tuple(decision.scores),
            )
        )
        return choice

    trace = trace_of(work.jobs, work.nodes)
    result = simulate(trace, watching, **options)
    log = result.log
    assert isinstance(log, DecisionLog)
    assert seen == [
        (
            c.level,
            c.time,
            c.free,
            c.candidates,
            c.chosen,
            c.reserved,
            c.reserved_start,
            c.extra,
            c.scores,
        )
        for c in log
    ]
    for c in log:
        assert c.job_id == (None if c.chosen is None else c.candidates[c.chosen])
    again = simulate(trace, log.replayer(), **options)
    assert runs_of(again) == runs_of(result)
    if len(log) > 1:
        # The first half from the log, the rest by the policy: the same run again.
        half = simulate(trace, log.replayer(len(log) // 2, then=policy_of(chooser)), **options)
        assert runs_of(half) == runs_of(result)


def test_a_choice_tells_its_outcome() -> None:
    # Job 1 runs, job 2 must wait for it and gets the reservation, job 3 fills the hole.
    trace = trace_of([(1, 0, 6, 100, 100), (2, 0, 8, 100, 100), (3, 0, 4, 50, 50)], 10)
    log = simulate(trace, fcfs).log
    assert log is not None
    assert [(c.level, c.job_id, c.outcome) for c in log] == [
        (Level.SELECT, 1, "started"),
        (Level.SELECT, 2, "reserved"),
        (Level.BACKFILL, 3, "started"),
    ]
    assert (log[-1].reserved, log[-1].reserved_start, log[-1].extra) == (2, 100, 2)
    with pytest.raises(IndexError, match="decision 3 of 3"):
        log[3]
    with pytest.raises(RuntimeError, match="the log of decisions ends here"):
        simulate(trace, log.replayer(stop=1))


def test_without_a_log_there_is_none() -> None:
    assert simulate(trace_of([(1, 0, 1, 1, 1)], 1), fcfs, log=False).log is None


# -- driving it -------------------------------------------------------------------------------


def test_by_hand_and_by_simulate_are_one() -> None:
    trace = trace_of([(1, 0, 6, 100, 20), (2, 1, 8, 50, 50), (3, 2, 4, 80, 80)], 10)
    simulation = Simulation(trace)
    while (decision := simulation.next_decision()) is not None:
        simulation.apply(fcfs(decision))
    assert runs_of(simulation.result()) == runs_of(simulate(trace, fcfs))


def test_decisions_are_asked_and_answered_in_turn() -> None:
    simulation = Simulation(trace_of([(1, 0, 1, 5, 5), (2, 1, 1, 5, 5)], 1))
    with pytest.raises(RuntimeError, match="no decision to answer"):
        simulation.apply(0)
    decision = simulation.next_decision()
    assert decision is not None
    with pytest.raises(RuntimeError, match="apply a choice"):
        simulation.next_decision()
    with pytest.raises(RuntimeError, match="has not ended"):
        simulation.result()
    simulation.apply(0)
    second = simulation.next_decision()
    assert second is not None
    with pytest.raises(RuntimeError, match="has been made"):
        _ = decision.queue
    assert [job.job_id for job in second.candidates] == [2]
    simulation.apply(0)
    assert simulation.next_decision() is None
    assert simulation.next_decision() is None


@pytest.mark.parametrize(
    "answer", [3, -1, "first", 1.0, 0.0, 0j, False, True, np.array([0]), np.array([]), 7]
)
def test_an_answer_that_is_no_candidate(answer: Any) -> None:
    trace = trace_of([(1, 0, 1, 5, 5), (2, 0, 1, 5, 5)], 1)
    with pytest.raises(DrasLabError, match=r"answered .* where there are 2 candidates"):
        simulate(trace, lambda decision: answer)


def test_a_name_is_no_policy() -> None:
    with pytest.raises(DrasLabError, match="is not a function of a decision; make_policy"):
        simulate(trace_of([(1, 0, 1, 5, 5)], 1), "fcfs")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backfill": "eazy"}, "backfill: 'eazy' is not one of easy, conservative, none"),
        ({"overrun": "stop"}, "overrun: 'stop' is not one of kill, keep"),
        ({"reservation": "none"}, "reservation: 'none' is not one of held, renewed"),
        ({"nodes": 0}, "nodes: 0 is not a whole number of 1 or more"),
        ({"nodes": 2.5}, "nodes: 2.5 is not"),
        ({"window": 0}, "window: 0 is not"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DrasLabError, match=message):
        simulate(trace_of([(1, 0, 1, 5, 5)], 1), fcfs, **options)


def test_a_result_can_be_copied_and_pickled() -> None:
    trace = trace_of([(1, 0, 6, 100, 100), (2, 0, 8, 100, 100), (3, 0, 4, 50, 50)], 10)
    result = simulate(trace, fcfs)
    again = pickle.loads(pickle.dumps(result))
    assert runs_of(again) == runs_of(copy.deepcopy(result)) == runs_of(result)
    assert list(again.log) == list(result.log or ())


def test_a_policy_that_changes_what_it_is_shown_changes_nothing() -> None:
    jobs = [(1, 0, 6, 100, 90), (2, 0, 8, 100, 80), (3, 0, 4, 50, 50), (4, 1, 2, 500, 10)]

    def vandal(decision: Decision) -> int:
        for array in (decision.sizes, decision.requested_times, decision.submit_times):
            array[:] = 1
        decision.release_times()[:] = 0
        decision.running.clear()
        with pytest.raises(TypeError):
            decision.rows[0] = 3  # type: ignore[index]
        return 0

    expected = runs_of(simulate(trace_of(jobs, 10), fcfs))
    assert runs_of(simulate(trace_of(jobs, 10), vandal)) == expected


@pytest.mark.parametrize("backfill", ["easy", "none", "conservative"])
def test_an_error_of_the_policy_is_never_taken_for_the_end(backfill: str) -> None:
    def first_fit(decision: Decision) -> int:
        return next(k for k, job in enumerate(decision.candidates) if job.size <= decision.free)

    # Job 1 fills the machine: nothing fits, and next() raises StopIteration.
    trace = trace_of([(1, 0, 4, 9, 9), (2, 1, 4, 9, 9), (3, 2, 4, 9, 9)], 4)
    with pytest.raises(StopIteration):
        simulate(trace, first_fit, backfill=backfill)


@pytest.mark.parametrize("backfill", ["easy", "none", "conservative"])
def test_a_wrong_answer_can_be_given_again(backfill: str) -> None:
    simulation = Simulation(trace_of([(1, 0, 1, 5, 5), (2, 0, 1, 5, 5)], 1), backfill=backfill)
    assert simulation.next_decision() is not None
    with pytest.raises(DrasLabError, match="where there are 2 candidates"):
        simulation.apply(99)
    simulation.apply(0)
    assert starts_of(simulation.run(fcfs)) == {1: 0, 2: 5}


def test_a_run_that_an_error_ended_has_no_result() -> None:
    simulation = Simulation(trace_of([(1, 0, 1, 5, 5), (2, 0, 1, 5, 5)], 1))
    with pytest.raises(DrasLabError, match="answered 99"):
        simulation.run(lambda decision: 99)
    with pytest.raises(RuntimeError):
        simulation.result()
    with pytest.raises(RuntimeError, match="an error ended this simulation"):
        simulation.next_decision()


def test_a_trace_that_changes_during_the_run_changes_nothing() -> None:
    trace = trace_of([(1, 0, 6, 100, 90), (2, 0, 8, 100, 80), (3, 0, 4, 50, 50)], 10)
    expected = runs_of(simulate(trace, fcfs))

    def vandal(decision: Decision) -> int:
        trace.table = trace.table.assign(size=1, submit_time=7, run_time=3)
        return 0

    assert runs_of(simulate(trace, vandal)) == expected


def test_progress_is_told() -> None:
    told: list[int] = []
    simulate(trace_of([(1, 0, 1, 5, 5), (2, 0, 9, 5, 5)], 1), fcfs, progress=told.append)
    assert told[-1] == 2
