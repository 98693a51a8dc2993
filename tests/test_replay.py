"""Stepping through a finished run: each moment as the policy saw it, forwards and backwards."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import fcfs, trace_of
from strategies import backfills, choosers, overruns, reservations, windows, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError
from dras_lab.mdp import Encoder, Features
from dras_lab.policies import make_policy
from dras_lab.replay import Replay
from dras_lab.simulator import simulate
from dras_lab.traces import read_swf
from dras_lab.whatif import what_if

OTHERS = {name: make_policy(name) for name in ("fcfs", "sjf", "knapsack", "binpacking")}


def seen(decision: Decision) -> dict[str, Any]:
    """All that a decision shows, as plain values."""
    number, left = decision.holders()
    return {
        "facts": (decision.level, decision.time, decision.free, decision.nodes, decision.origin),
        "rows": decision.rows,
        "candidates": list(decision.candidates),
        "queue": list(decision.queue),
        "waiting": decision.waiting.rows.tolist(),
        "queued": decision.waiting.queued_times.tolist(),
        "running": decision.running,
        "releases": [values.tolist() for values in decision.releases()],
        "release times": decision.release_times().tolist(),
        "held for": left[number].tolist(),
        "reservation": decision.reservation,
        "why not": decision.why_not(),
        "plans": {r: t for r, t in decision._board.plan.items() if r in decision._board.queue()},
    }


class Witness:
    """Asks a policy, and keeps what it was shown and what others would have picked."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.seen: list[dict[str, Any]] = []
        self.picks: list[dict[str, int | None]] = []

    def __call__(self, decision: Decision) -> int | None:
        self.seen.append(seen(decision))
        answers = {name: other(decision) for name, other in OTHERS.items()}
        self.picks.append(
            {n: None if a is None else decision.candidates[a].job_id for n, a in answers.items()}
        )
        decision.scores = None
        return self.policy(decision)


class Choosing:
    """One of the choosers of `strategies`, as a policy."""

    def __init__(self, chooser: Any) -> None:
        self.chooser = chooser

    def __call__(self, decision: Decision) -> int | None:
        rows = [(j.job_id, j.submit_time, j.size, j.requested_time) for j in decision.candidates]
        return self.chooser.pick(decision.level.value, decision.time, rows)


@settings(max_examples=150, deadline=None)
@given(
    workload=workloads(),
    chooser=choosers(),
    window=windows,
    overrun=overruns,
    backfill=backfills,
    reservation=reservations,
    jumps=st.lists(st.integers(0, 10**6), max_size=5),
)
def test_every_moment_is_as_it_was_seen(
    workload, chooser, window, overrun, backfill, reservation, jumps
) -> None:
    witness = Witness(Choosing(chooser))
    result = simulate(
        trace_of(workload.jobs, workload.nodes),
        witness,
        window=window,
        overrun=overrun,
        backfill=backfill,
        reservation=reservation,
    )
    replay = Replay(result)
    count = len(witness.seen)
    assert len(replay) == count
    # forwards, backwards, and here and there
    order = [*range(count), *reversed(range(count)), *(j % count for j in jumps if count)]
    for k in order:
        assert seen(replay[k]) == witness.seen[k]
        assert replay.picks(k, OTHERS) == witness.picks[k]


def test_what_an_agent_sees_of_a_moment_is_what_it_saw() -> None:
    """DRAS's observation and the features of single jobs, on a real run's decisions."""
    trace = read_swf("theta-like").coarsen(16).head(300).scale_load(3)
    kept = []
    encoder, features = Encoder(trace.nodes, 50), Features(trace.nodes, 50)

    def policy(decision: Decision) -> int:
        kept.append((encoder.pg(decision).copy(), encoder.dql(decision).copy(), features(decision)))
        return 0

    replay = Replay(simulate(trace, policy))
    assert max(len(one[2][0]) for one in kept) > 10  # there is a queue
    for k in range(len(kept) - 1, -1, -7):
        pg, dql, (jobs, machine) = kept[k]
        np.testing.assert_array_equal(encoder.pg(replay[k]), pg)
        np.testing.assert_array_equal(encoder.dql(replay[k]), dql)
        again = features(replay[k])
        np.testing.assert_array_equal(again[0], jobs)
        np.testing.assert_array_equal(again[1], machine)


@pytest.mark.parametrize(("kind", "network"), [("pg", "dras"), ("dql", "dras"), ("pg", "scorer")])
def test_an_agent_would_choose_again_what_it_chose(kind: str, network: str) -> None:
    """Asked at decisions of its own run, in any order, and in a run with nothing changed."""
    pytest.importorskip("torch", reason="no torch: pip install torch")
    from dras_lab.agents import make_agent

    trace = read_swf("theta-like").coarsen(64).head(120).scale_load(3)
    agent = make_agent(kind, trace.nodes, 10, network=network, seed=3)
    result = simulate(trace, agent, window=10)
    replay = Replay(result)
    for k in [*range(len(replay) - 1, 0, -11), *range(0, len(replay), 13)]:
        choice = replay.choice(k)
        assert replay.picks(k, {"agent": agent}) == {"agent": choice.job_id}
        if len(choice.candidates) > 1:  # one alone is not scored
            assert len(choice.scores) == len(choice.candidates)
    k = len(replay) // 2
    same = what_if(result, trace, agent, k, replay.choice(k).chosen)
    np.testing.assert_array_equal(same.start, result.start)


# On 10 nodes: job 1 holds 6 until 100; job 2 (8 nodes) gets the reservation at 10 for 100, with
# 2 nodes to spare; job 3 (3 nodes until 40) fills the hole at 20; job 4 (4 nodes) does not fit.
#         id submit size request run
FEW = [(1, 0, 6, 100, 100), (2, 10, 8, 50, 50), (3, 20, 3, 20, 20), (4, 20, 4, 10, 10)]


def test_a_small_run_by_hand() -> None:
    replay = Replay(simulate(trace_of(FEW, 10), fcfs))
    facts = [
        (c.time, c.level.value, c.job_id, c.outcome) for c in map(replay.choice, range(len(replay)))
    ]
    assert facts == [
        (0, "select", 1, "started"),
        (10, "select", 2, "reserved"),
        (20, "backfill", 3, "started"),
        # job 3 ended at 40, so job 4 fits the 4 free nodes before 100
        (40, "backfill", 4, "started"),
    ]
    assert replay.planned_start(0) is None
    assert replay.planned_start(1) == (100, 2)
    assert replay.planned_start(2) == (100, 2)
    moment = replay[2]
    assert moment.why_not() == {
        2: "it holds the reservation, and is planned to start at 100 s",
    }
    assert [(r.job_id, r.planned_end) for r in moment.running] == [(1, 100)]
    assert moment.release_times().tolist() == [100] * 6 + [20] * 4
    assert [job.job_id for job in moment.candidates] == [3, 4]
    assert replay.picks(2, {"sjf": make_policy("sjf"), "fcfs": fcfs}) == {"sjf": 4, "fcfs": 3}


def test_a_reservation_keeps_its_first_promise() -> None:
    # Jobs 1 and 2 (4 nodes each) are to end at 60 and 80, and job 3 needs all 10: promised for 80.
    # Job 2 ends at 30 already, so that the start moves to 60. Job 4 fills a hole at 35.
    jobs = [(1, 0, 4, 60, 60), (2, 0, 4, 80, 30), (3, 10, 10, 5, 5), (4, 35, 2, 10, 10)]
    replay = Replay(simulate(trace_of(jobs, 10), fcfs))
    reservation = replay[3].reservation
    assert reservation is not None
    assert (replay.choice(3).time, reservation.job.job_id) == (35, 3)
    assert (reservation.start, reservation.promised, reservation.extra) == (60, 80, 0)


def test_finding_ones_way() -> None:
    replay = Replay(simulate(trace_of([*FEW, (5, 30, 99, 5, 5)], 10), fcfs))
    assert [replay.of_job(job) for job in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert replay.of_job(5) == 2  # refused at 30: the last decision before
    assert replay.next_reservation(0) == 1
    assert replay.next_reservation(1) is None
    assert replay.longest_wait() == 1  # job 2 waits from 10 to 100
    assert replay.at_level(replay.choice(2).level).tolist() == [2, 3]
    with pytest.raises(DrasLabError, match="there is no job 77 in this run"):
        replay.of_job(77)


def test_a_run_without_a_log_says_how_to_make_one() -> None:
    result = simulate(trace_of(FEW, 10), fcfs, log=False)
    with pytest.raises(DrasLabError, match=r"simulate\(trace, policy, log=True\)"):
        Replay(result)


def test_runs_with_nothing_to_decide() -> None:
    refused = Replay(simulate(trace_of([(1, 0, 99, 5, 5)], 10), fcfs))
    empty = Replay(simulate(trace_of([], 10), fcfs))
    for replay in (refused, empty):
        assert len(replay) == 0
        with pytest.raises(DrasLabError):
            replay.longest_wait()
        with pytest.raises(IndexError):
            replay[0]


def test_a_result_that_was_pickled_can_be_stepped_through() -> None:
    result = simulate(trace_of(FEW, 10), fcfs)
    again = Replay(pickle.loads(pickle.dumps(result)))
    assert [seen(again[k]) for k in range(4)] == [seen(Replay(result)[k]) for k in range(4)]


def test_moments_stay_open() -> None:
    """Unlike a live decision, one that was looked at can be looked at again later."""
    replay = Replay(simulate(trace_of(FEW, 10), fcfs))
    first = replay[1]
    replay[3].why_not()
    assert first.rows == (1,)
    assert [job.job_id for job in first.queue] == [2]
