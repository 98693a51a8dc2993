"""The rewards, worked out by hand on one small decision, and what is said of a bad one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from deciding import SMALL, decision_at, small_decision
from hypothesis import given, settings
from runs import trace_of
from strategies import Workload, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.rewards import (
    REWARDS,
    Capability,
    Capacity,
    Waits,
    capability,
    capacity,
    earned,
    job_values,
    make_reward,
    reward_name,
    waits,
)
from dras_lab.simulator import Simulation

# Jobs 3 (4 nodes, queued 540 s, does not fit) and 4 (1 node, queued 480 s, fits); 5 of 8 nodes
# are in use. Nobody has waited for 6 h, so that 21,600 s stands for the longest.


def test_capability_by_hand() -> None:
    _, decision = small_decision()
    does_not_fit = (540 / 21600 + 4 / 8 + 5 / 8) / 3
    fits = (480 / 21600 + 1 / 8 + (5 + 1) / 8) / 3
    assert capability(decision, 0) == pytest.approx(does_not_fit) == pytest.approx(0.383333333)
    assert capability(decision, 1) == pytest.approx(fits)
    assert capability(decision, None) == pytest.approx(5 / 8 / 3)


def test_capability_once_somebody_has_waited_for_long() -> None:
    # The same two jobs wait on until job 1 ends early: at 30,000 they have waited 29,940 and
    # 29,880 s. Job 3 fits now.
    jobs = [(1, 0, 8, 40_000, 30_000), *SMALL[2:]]
    _, decision = decision_at(30_000, jobs, 8, backfill="none")
    assert capability(decision, 0) == pytest.approx((1 + 4 / 8 + 4 / 8) / 3)
    assert capability(decision, 1) == pytest.approx((29_880 / 29_940 + 1 / 8 + 1 / 8) / 3)


def test_capability_with_other_weights() -> None:
    _, decision = small_decision()
    assert Capability(1, 0, 0)(decision, 0) == pytest.approx(540 / 21600)
    assert Capability(0, 1, 0)(decision, 0) == pytest.approx(4 / 8)
    assert Capability(0, 0, 1)(decision, 1) == pytest.approx(6 / 8)
    assert Capability(1, 0, 0, floor=1)(decision, 1) == pytest.approx(480 / 540)


def test_capability_of_the_window_alone() -> None:
    # The longest wait is that of the candidates: a window of the backfilled ones only. Job 2 has
    # the reservation and has waited longest.
    jobs = [(1, 0, 6, 90_000, 90_000), (2, 1, 8, 50, 50), (3, 50_001, 1, 50, 50)]
    _, decision = decision_at(50_001, jobs, 10, level=Level.BACKFILL)
    assert [job.job_id for job in decision.candidates] == [3]
    assert capability(decision, 0) == pytest.approx((0 + 1 / 10 + 7 / 10) / 3)


@pytest.mark.parametrize("window", [1, 2, 50])
def test_capacity_by_hand_is_over_all_that_wait(window: int) -> None:
    _, decision = small_decision(window=window)
    assert capacity(decision, 0) == pytest.approx(-(1 / 7200 + 1 / 60))
    assert capacity(decision, None) == capacity(decision, 0)
    assert Capacity(unit=60)(decision, 0) == pytest.approx(-(60 / 7200 + 1))


def test_capacity_counts_the_reserved_job_and_not_what_started_or_was_refused() -> None:
    jobs = [(1, 0, 6, 100, 90), (2, 10, 8, 50, 40), (3, 20, 1, 70, 69), (4, 20, 11, 10, 9)]
    _, decision = decision_at(20, jobs, 10, level=Level.BACKFILL)
    assert capacity(decision, 0) == pytest.approx(-(1 / 50 + 1 / 70))


def test_waits_by_hand_is_over_all_that_wait() -> None:
    # Jobs 3 and 4 have waited 540 and 480 s.
    _, decision = small_decision(window=1)
    days = 540 / 86_400, 480 / 86_400
    assert Waits(late=0, unit=1)(decision, 0) == -2  # each costs 1 an hour: the mean wait
    assert Waits(late=1, days=0.5, power=1, unit=1)(decision, 0) == pytest.approx(
        -(days[0] + days[1]) / 0.5
    )
    one = [0.7 + 0.3 * (day / 2) ** 2 for day in days]
    assert waits(decision, 0) == pytest.approx(-sum(one) / 20)
    assert waits(decision, None) == waits(decision, 0)
    _, decision = small_decision()
    assert job_values(waits, decision).tolist() == pytest.approx([x / 20 for x in one])


def test_waits_of_a_job_as_old_as_its_days_costs_one_whatever_late_is() -> None:
    jobs = [(1, 0, 8, 400_000, 400_000), (2, 0, 8, 10, 10), (3, 172_800, 1, 10, 10)]
    for late in (0, 0.3, 1):
        _, decision = decision_at(172_800, jobs, 8, backfill="none")
        reward = Waits(late=late, days=2, power=3, unit=1)
        assert reward(decision, 0) == pytest.approx(-1 - (1 - late))  # job 3 has just come


def test_what_is_a_rate_says_so() -> None:
    assert [bool(getattr(r, "rate", False)) for r in (capability, capacity, waits)] == [
        *(False, True, True)
    ]


def test_worths_by_hand() -> None:
    _, decision = small_decision()
    expected = [(540 / 21600 + 4 / 8 + 4 / 8) / 3, (480 / 21600 + 1 / 8 + 1 / 8) / 3]
    assert job_values(capability, decision).tolist() == pytest.approx(expected)
    assert job_values(capacity, decision).tolist() == pytest.approx([1 / 7200, 1 / 60])


def test_worths_under_any_callable_are_gains_over_a_pass() -> None:
    _, decision = small_decision()

    def reward(decision: Decision, index: int | None) -> float:
        return 7.0 if index is None else 7.0 + 10.0 * index

    assert job_values(reward, decision).tolist() == [0, 10]


@settings(max_examples=40, deadline=None)
@given(workloads())
def test_capability_is_a_share_and_its_worths_are_gains(workload: Workload) -> None:
    simulation = Simulation(trace_of(workload.jobs, workload.nodes))
    while (decision := simulation.next_decision()) is not None:
        count = len(decision.candidates)
        rewards = [capability(decision, k) for k in range(count)]
        assert all(0 <= reward <= 1 for reward in rewards)
        gains = np.array(rewards) - capability(decision, None)
        fits = decision.sizes <= decision.free
        assert job_values(capability, decision)[fits] == pytest.approx(gains[fits])
        assert capacity(decision, 0) == pytest.approx(
            -sum(1 / job.requested_time for job in decision.queue)
        )
        simulation.apply(count - 1)


# -- names and bad ones -----------------------------------------------------------------------


def test_rewards_by_name() -> None:
    assert make_reward("capability") is capability
    assert make_reward("capacity") is capacity
    assert make_reward(len) is len  # type: ignore[comparison-overlap, arg-type]
    assert [reward_name(reward) for reward in REWARDS.values()] == [
        "capability",
        "capacity",
        "waits",
    ]
    with pytest.raises(DrasLabError, match="no reward 'speed'; the rewards are capability, cap"):
        make_reward("speed")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "much", np.float32("nan")])
def test_a_reward_that_is_no_number_is_named(value: Any) -> None:
    _, decision = small_decision()

    def mine(decision: Decision, index: int | None) -> Any:
        return value

    with pytest.raises(DrasLabError, match=r"the reward mine is .* at 600 s, for the choice 1 of"):
        earned(mine, decision, 1)


def test_a_good_reward_is_let_through_as_a_float() -> None:
    _, decision = small_decision()
    value = earned(lambda decision, index: np.float32(0.5), decision, 0)
    assert (value, type(value)) == (0.5, float)
