"""Each heuristic picks what its formula says, worked out by hand, and ties go to the queue."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from runs import runs_of, trace_of

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.policies import NAMES, RANKINGS, RandomPolicy, make_policy
from dras_lab.simulator import Simulation, simulate

# A machine of 64 nodes, full until 1000 (really 900); then these three wait, submitted at 100,
# 400 and 700, so that at 900 they have waited 800, 500 and 200 s.
FULL = (1, 0, 64, 1000, 900)
#        id submit size request run
WAITING = [(2, 100, 4, 100, 100), (3, 400, 16, 50, 50), (4, 700, 2, 400, 400)]


def decision_at_900() -> Decision:
    simulation = Simulation(trace_of([FULL, *WAITING], 64), backfill="none")
    while (decision := simulation.next_decision()) is not None:
        if decision.time == 900:
            # The engine holds the decision open; keep it alive with the simulation.
            decision_at_900.simulation = simulation  # type: ignore[attr-defined]
            return decision
        simulation.apply(0)
    raise AssertionError("no decision at 900?")


EXPECTED = {
    "sjf": [100, 50, 400],
    "ljf": [-100, -50, -400],
    "saf": [400, 800, 800],
    "laf": [-400, -800, -800],
    # (wait / request)**3 * nodes: 8**3 * 4, 10**3 * 16, 0.5**3 * 2
    "wfp3": [-2048, -16000, -0.25],
    # wait / (log2(nodes) * request): 800/(2*100), 500/(4*50), 200/(1*400)
    "unicep": [-4.0, -2.5, -0.5],
    # log10(request) * nodes + 870 * log10(submit since the first, here 0)
    "f1": [
        2 * 4 + 870 * 2,
        math.log10(50) * 16 + 870 * math.log10(400),
        math.log10(400) * 2 + 870 * math.log10(700),
    ],
    "f2": [
        10 * 4 + 25600 * 2,
        math.sqrt(50) * 16 + 25600 * math.log10(400),
        20 * 2 + 25600 * math.log10(700),
    ],
    "f3": [
        100 * 4 + 6860000 * 2,
        50 * 16 + 6860000 * math.log10(400),
        400 * 2 + 6860000 * math.log10(700),
    ],
    "f4": [
        100 * 2 + 530000 * 2,
        50 * 4 + 530000 * math.log10(400),
        400 * math.sqrt(2) + 530000 * math.log10(700),
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_scores_by_hand(name: str) -> None:
    assert RANKINGS[name](decision_at_900()).tolist() == pytest.approx(EXPECTED[name])


def test_all_rankings_are_tested_by_hand() -> None:
    assert set(EXPECTED) == set(RANKINGS)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_smallest_score_is_picked_and_logged(name: str) -> None:
    decision = decision_at_900()
    policy = make_policy(name)
    scores = EXPECTED[name]
    assert policy(decision) == scores.index(min(scores))
    assert decision.scores is not None
    assert list(decision.scores) == pytest.approx(scores)


def test_fcfs_and_binpacking() -> None:
    decision = decision_at_900()
    assert make_policy("fcfs")(decision) == 0
    assert make_policy("binpacking")(decision) == 1  # 16 nodes is the biggest of 4, 16, 2


def test_binpacking_passes_over_what_does_not_fit() -> None:
    # 6 of 10 nodes are taken until 100; 8 does not fit, of 3, 4 and 4 the first 4 is taken, then
    # nothing fits any more. It never reserves: the 8 waits until the 4s (200 s) have ended.
    jobs = [(1, 0, 6, 100, 100), (2, 1, 8, 9, 9), (3, 1, 3, 9, 9), (4, 1, 4, 200, 200)]
    jobs.append((5, 1, 4, 200, 200))
    result = simulate(trace_of(jobs, 10), make_policy("binpacking"))
    runs = runs_of(result)
    assert {job: run.start for job, run in runs.items()} == {1: 0, 2: 300, 3: 201, 4: 1, 5: 100}
    assert {run.how for run in runs.values()} == {"ready"}
    assert result.log is not None
    assert {choice.level for choice in result.log} == {Level.SELECT}


def test_single_nodes_under_unicep() -> None:
    # log2(1) = 0: single nodes come first, the longer waiting of two alike, and one that has not
    # waited at all is no better than others.
    simulation = Simulation(
        trace_of([FULL, (2, 100, 4, 100, 9), (3, 400, 1, 50, 9), (4, 300, 1, 50, 9)], 64),
        backfill="none",
    )
    decision = simulation.next_decision()
    while decision is not None and decision.time < 900:
        simulation.apply(0)
        decision = simulation.next_decision()
    assert decision is not None
    order = np.argsort(RANKINGS["unicep"](decision), kind="stable")
    assert [decision.candidates[int(k)].job_id for k in order] == [4, 3, 2]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "random"])
def test_ties_go_to_the_first_of_the_queue(name: str) -> None:
    alike = [(k, 1, 3, 60, 60) for k in range(2, 8)]
    result = simulate(trace_of([(1, 0, 8, 10, 10), *alike], 8), make_policy(name))
    starts = {job: run.start for job, run in runs_of(result).items()}
    first = [starts[k] for k in range(2, 8)]
    assert first == sorted(first)  # type: ignore[type-var]
    assert first == [10, 10, 70, 70, 130, 130]


def test_random_is_seeded_and_uniform() -> None:
    alike = [(k, 0, 1, 60, 60) for k in range(1, 301)]
    trace = trace_of(alike, 1)

    def order(seed: int) -> list[int]:
        runs = runs_of(simulate(trace, make_policy("random", seed), window=4, backfill="none"))
        return sorted(runs, key=lambda job: runs[job].start or 0)

    assert order(1) == order(1)
    assert order(1) != order(2)
    np.random.seed(0)  # noqa: NPY002  (the global state must not matter)
    assert order(1) == order(1)
    decision = decision_at_900()
    picks = [RandomPolicy(seed)(decision) for seed in range(600)]
    # Three candidates, 200 each expected; five standard deviations are 58.
    assert all(abs(picks.count(k) - 200) < 58 for k in range(3))


def test_any_function_is_a_policy() -> None:
    trace = trace_of([FULL, *WAITING], 64)

    def last(decision: Decision) -> int:
        return len(decision.candidates) - 1

    result = simulate(trace, last)
    assert result.policy == "last"
    assert simulate(trace, make_policy("wfp3")).policy == "wfp3"


@pytest.mark.parametrize("name", ["", "FCFS", "fcsf", "knapsack!"])
def test_no_such_policy(name: str) -> None:
    with pytest.raises(DrasLabError, match="the policies are fcfs, sjf, ljf"):
        make_policy(name)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_sentence_and_a_name(name: str) -> None:
    policy: Any = make_policy(name)
    assert policy.__doc__
    assert simulate(trace_of([FULL], 64), policy).policy == name
