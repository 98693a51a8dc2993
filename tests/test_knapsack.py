"""The knapsack against brute force, and the policy by hand."""

from __future__ import annotations

import itertools

import pytest
from deciding import decision_at, small_decision
from hypothesis import example, given, settings
from hypothesis import strategies as st
from runs import runs_of, trace_of
from strategies import Workload, check_schedule, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.knapsack import Knapsack, best_subset
from dras_lab.policies import make_policy
from dras_lab.simulator import Simulation, simulate


def brute_force(sizes: list[int], values: list[int], capacity: int) -> list[int]:
    """All subsets of what has a positive value, best first; then those with early items."""
    useful = [k for k, value in enumerate(values) if value > 0]
    subsets = itertools.chain.from_iterable(
        itertools.combinations(useful, r) for r in range(len(useful) + 1)
    )
    fitting = [s for s in subsets if sum(sizes[k] for k in s) <= capacity]
    return list(
        max(fitting, key=lambda s: (sum(values[k] for k in s), [k in s for k in range(len(sizes))]))
    )


items = st.lists(st.tuples(st.integers(1, 12), st.integers(-2, 9)), max_size=9)


@settings(max_examples=300, deadline=None)
@given(items, st.integers(0, 40))
@example([(1, 1), (2, 2), (3, 3)], 3)  # {3} and {1, 2} are alike
@example([(5, 5), (4, 3), (4, 3)], 8)  # the greedy pick is the wrong one
def test_best_subset_is_the_best(rows: list[tuple[int, int]], capacity: int) -> None:
    # Whole numbers, so that sums are exact and ties are ties.
    sizes, values = [size for size, _ in rows], [value for _, value in rows]
    assert best_subset(sizes, values, capacity) == brute_force(sizes, values, capacity)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.floats(0.001, 1)), max_size=9))
def test_best_subset_with_broken_values(rows: list[tuple[int, float]]) -> None:
    sizes, values = [size for size, _ in rows], [value for _, value in rows]
    chosen = best_subset(sizes, values, 20)
    assert sum(sizes[k] for k in chosen) <= 20
    best = max(
        sum(values[k] for k in subset)
        for r in range(len(rows) + 1)
        for subset in itertools.combinations(range(len(rows)), r)
        if sum(sizes[k] for k in subset) <= 20
    )
    assert sum(values[k] for k in chosen) == pytest.approx(best)


# 8 of 10 nodes become free at 50. With capacity a job is worth 1 / request: 5 nodes for 1/20, 4
# for 1/30 and 4 for 1/30. Both of 4 nodes (1/15) beat the one of 5, which is the greedy pick.
JOBS = [
    (1, 0, 8, 100, 50),
    (5, 0, 2, 500, 500),
    (2, 1, 5, 20, 20),
    (3, 1, 4, 30, 30),
    (4, 1, 4, 30, 30),
]


def test_the_first_of_the_best_set_is_started() -> None:
    _, decision = decision_at(50, JOBS, 10, backfill="none")
    assert decision.free == 8
    policy = Knapsack("capacity")
    assert policy(decision) == 1  # job 3
    assert decision.scores is not None
    assert list(decision.scores) == pytest.approx([1 / 20, 1 / 30, 1 / 30])
    runs = runs_of(simulate(trace_of(JOBS, 10), policy, backfill="none"))
    # Jobs 3 and 4 at once, and job 2 when both have ended.
    assert {k: runs[k].start for k in (2, 3, 4)} == {2: 80, 3: 50, 4: 50}


def test_capability_prefers_the_wide_and_the_old() -> None:
    # 9 of 10 nodes are of more use than 5 + 1 of 10, and all three have waited alike.
    jobs = [(1, 0, 10, 100, 50), (2, 1, 5, 20, 20), (3, 1, 9, 20, 20), (4, 1, 1, 20, 20)]
    _, decision = decision_at(50, jobs, 10, backfill="none")
    # Best is {3, 4}: all 10 nodes. The first of them is job 3.
    assert decision.candidates[Knapsack()(decision)].job_id == 3


def test_where_nothing_fits_the_most_valuable_is_reserved() -> None:
    _, decision = small_decision(window=1)
    assert Knapsack()(decision) == 0
    jobs = [(1, 0, 8, 100, 100), (2, 1, 5, 50, 50), (3, 2, 6, 20, 20), (4, 3, 5, 20, 20)]
    simulation, decision = decision_at(3, jobs, 10, backfill="none")
    assert decision.free == 2
    assert Knapsack()(decision) == 1  # 6 nodes; the second or two of waiting are nothing
    assert Knapsack("capacity")(decision) == 1  # 1/20, and before job 4
    simulation.apply(0)


def test_where_nothing_is_worth_anything_something_is_picked() -> None:
    def punish(decision: Decision, index: int | None) -> float:
        return 0.0 if index is None else -1.0 - index

    _, decision = small_decision()
    assert Knapsack(punish)(decision) == 0


def test_a_bad_reward_is_named() -> None:
    _, decision = small_decision()
    with pytest.raises(DrasLabError, match="the reward <lambda> is nan at 600 s"):
        Knapsack(lambda decision, index: float("nan"))(decision)

    class Broken:
        name = "broken"

        def __call__(self, decision: Decision, index: int | None) -> float:
            return 0.0

        def values(self, decision: Decision) -> list[float]:
            return [float("nan")] * len(decision.rows)

    with pytest.raises(DrasLabError, match=r"the reward broken gives a job .* at 600 s"):
        Knapsack(Broken())(decision)


@settings(max_examples=60, deadline=None)
@given(workloads(), st.sampled_from(["easy", "conservative", "none"]))
def test_schedules_are_sound_and_jobs_that_fit_are_never_left(
    workload: Workload, backfill: str
) -> None:
    policy = make_policy("knapsack")
    simulation = Simulation(trace_of(workload.jobs, workload.nodes), backfill=backfill)
    while (decision := simulation.next_decision()) is not None:
        choice = policy(decision)
        assert choice is not None
        fits = decision.sizes <= decision.free
        assert fits[choice] == fits.any()
        if decision.level is Level.BACKFILL:
            assert fits.all()
        simulation.apply(choice)
    check_schedule(workload.jobs, workload.nodes, "kill", runs_of(simulation.result()))
