"""What a choice turned out to be worth: returns, the clock in hours, the other runs as baseline."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from dras_lab.agents.experience import (
    Memory,
    joined,
    less_the_others,
    returns,
    standardised,
    worth_by_the_hour,
)
from dras_lab.jobs import DrasLabError

numbers = st.floats(-100, 100)


def memory(*moments: tuple[float, float]) -> Memory:
    """A run of choices: (hour, reward) each."""
    run = Memory()
    for hour, reward in moments:
        run.add("select", None, None, 0, 0.0, reward, round(hour * 3600))
    return run


# -- returns ----------------------------------------------------------------------------------


def test_returns_by_hand() -> None:
    # 3; 2 + 3 / 2; 1 + 3.5 / 2
    assert returns([1, 2, 3], 0.5).tolist() == [2.75, 3.5, 3]
    assert returns([1, 2, 3], 0).tolist() == [1, 2, 3]
    assert returns([1, 2, 3], 1).tolist() == [6, 5, 3]


def test_returns_with_a_discount_for_each_step_and_something_after() -> None:
    # 3 + 0.1 * 100 = 13; 2 + 0 * 13 = 2; 1 + 0.5 * 2 = 2
    assert returns([1, 2, 3], [0.5, 0, 0.1], after=100).tolist() == pytest.approx([2, 2, 13])
    assert returns([], 0.9).tolist() == []
    assert returns([7], 0.9).tolist() == [7]


@given(st.lists(numbers, max_size=12), st.floats(0, 1), numbers)
def test_returns_are_the_discounted_sum(rewards: list[float], gamma: float, after: float) -> None:
    n = len(rewards)
    for k, worth in enumerate(returns(rewards, gamma, after)):
        terms = [r * gamma**i for i, r in enumerate(rewards[k:])]
        assert worth == pytest.approx(sum(terms) + after * gamma ** (n - k), abs=1e-9)


# -- the clock in hours -----------------------------------------------------------------------


def test_a_reward_counts_less_by_the_hour_and_not_by_the_decision() -> None:
    # Two choices at one moment, a third after 10 h: with a horizon of 10 h it counts 1 / e.
    run = memory((0, 1), (0, 2), (10, 3))
    worth = worth_by_the_hour(run, 10, rate=False)
    assert worth.tolist() == pytest.approx([1 + 2 + 3 / math.e, 2 + 3 / math.e, 3])


def test_a_rate_is_integrated_until_the_next_decision() -> None:
    # -2 an hour from 0 to 5, -1 an hour from 5 to 8, nothing is known of what follows.
    run = memory((0, -2), (5, -1), (8, -7))
    horizon = 4.0

    def area(low: float, high: float) -> float:  # of exp(-t / 4), by the midpoint rule
        steps = 200_000
        width = (high - low) / steps
        middles = low + width * (np.arange(steps) + 0.5)
        return float(np.exp(-middles / horizon).sum() * width)

    worth = worth_by_the_hour(run, horizon, rate=True)
    assert worth[0] == pytest.approx(-2 * area(0, 5) - area(5, 8), abs=1e-6)
    assert worth[1] == pytest.approx(-area(0, 3), abs=1e-6)
    assert worth[2] == 0


def test_with_a_far_horizon_a_rate_is_a_plain_sum_of_hours() -> None:
    run = memory((1, -3), (1, -2), (4.5, -1), (5, -1))
    worth = worth_by_the_hour(run, 1e7, rate=True)
    # -3 held for no time, -2 for 3.5 h, -1 for half an hour.
    assert worth.tolist() == pytest.approx([-7.5, -7.5, -0.5, 0], abs=1e-4)


@pytest.mark.parametrize("rate", [False, True])
def test_no_choices_are_worth_nothing(rate: bool) -> None:
    assert worth_by_the_hour(Memory(), 48, rate).tolist() == []
    assert worth_by_the_hour(memory((3, -5)), 48, rate).tolist() == [0 if rate else -5]


# -- less what the others made of the same moment ---------------------------------------------


def test_two_runs_by_hand_in_decisions() -> None:
    one, two = memory((0, 1), (2, 1)), memory((0, 5), (1, 7), (3, 9))
    worth = [np.array([10.0, 20.0]), np.array([1.0, 2.0, 4.0])]
    first, second = less_the_others([one, two], worth, None, rate=False)
    # At 0 the other's first; at 2 the other's next, the one at 3.
    assert first.tolist() == [10 - 1, 20 - 4]
    # At 0 its first, at 1 its second; at 3 all of its decisions are past: nothing to compare with.
    assert second.tolist() == [1 - 10, 2 - 20, 4 - 0]


def test_two_runs_by_hand_in_hours() -> None:
    one, two = memory((0, 3), (1, 2), (6, 5)), memory((0, 4), (2, 6))
    horizon = 5.0
    worth = [worth_by_the_hour(run, horizon, rate=False) for run in (one, two)]
    first, second = less_the_others([one, two], worth, horizon, rate=False)
    # Run one has earned 2 + 5 / e from hour 1 on, and 5 at hour 6. From hour 0 run two earned
    # 4 + 6 exp(-2/5); from hour 1, 6 an hour later; from hour 6, nothing.
    assert first[0] == pytest.approx(
        3 + (2 + 5 / math.e) * math.exp(-1 / 5) - (4 + 6 * math.exp(-2 / 5))
    )
    assert first[1] == pytest.approx(2 + 5 / math.e - 6 * math.exp(-1 / 5))
    assert first[2] == 5
    # From hour 2 run one earned 5 four hours later.
    assert second[1] == pytest.approx(6 - 5 * math.exp(-4 / 5))


def test_between_decisions_a_rate_runs_on() -> None:
    # Nearly without a discount: run one pays 3 an hour from 0 to 4 and 1 an hour from 4 to 6.
    one, two = memory((0, -3), (4, -1), (6, 0)), memory((1, -10), (4, -10), (5, 0), (7, 0))
    horizon = 1e8
    worth = [worth_by_the_hour(run, horizon, rate=True) for run in (one, two)]
    first, second = less_the_others([one, two], worth, horizon, rate=True)
    # From hour 1 run one pays 3 * 3 + 2, from 4 on 2, from 5 on 1, from 7 on nothing.
    assert second.tolist() == pytest.approx([-40 + 11, -10 + 2, 0 + 1, 0], abs=1e-4)
    # Before its first decision run two paid nothing; 30 from 1 to 4, 10 from 4 to 5.
    assert first.tolist() == pytest.approx([-14 + 40, -2 + 10, 0], abs=1e-4)


def test_the_discount_reaches_into_a_rate_that_runs_on() -> None:
    one, two = memory((0, -3), (4, 0)), memory((1, 0), (2, 0))
    horizon = 2.0
    worth = [worth_by_the_hour(run, horizon, rate=True) for run in (one, two)]
    _, second = less_the_others([one, two], worth, horizon, rate=True)
    # From 1 to 4: the integral of 3 exp(-t / 2) over three hours, 6 (1 - exp(-3/2)).
    assert second.tolist() == pytest.approx(
        [6 * (1 - math.exp(-3 / 2)), 6 * (1 - math.exp(-2 / 2))]
    )


def test_three_runs_are_compared_with_the_mean_of_the_other_two() -> None:
    runs = [memory((0, r)) for r in (1.0, 2.0, 6.0)]
    worth = [np.array([r]) for r in (1.0, 2.0, 6.0)]
    out = less_the_others(runs, worth, None, rate=False)
    assert [float(x[0]) for x in out] == [1 - 4, 2 - 3.5, 6 - 1.5]


def test_a_run_without_choices_is_no_trouble() -> None:
    runs = [memory((0, 4)), Memory()]
    out = less_the_others(runs, [np.array([4.0]), np.array([])], 48, rate=True)
    assert [x.tolist() for x in out] == [[4], []]


@given(st.lists(st.tuples(st.integers(0, 50), numbers), min_size=1, max_size=8), st.booleans())
def test_like_runs_have_nothing_over_each_other(
    moments: list[tuple[int, float]], rate: bool
) -> None:
    # At each moment with one choice only; of several at one moment, the first.
    hours = sorted({hour for hour, _ in moments})
    run = memory(*zip(hours, [r for _, r in moments], strict=False))
    worth = worth_by_the_hour(run, 10.0, rate)
    for out in less_the_others([run, run, run], [worth] * 3, 10.0, rate):
        assert out == pytest.approx(np.zeros(len(run)), abs=1e-9)


# -- the rest ---------------------------------------------------------------------------------


def test_standardised_by_hand() -> None:
    # Mean 4, squares of 4, 0 and 4: standard deviation sqrt(8 / 3).
    assert standardised(np.array([2.0, 4, 6])).tolist() == pytest.approx(
        [-2 / math.sqrt(8 / 3), 0, 2 / math.sqrt(8 / 3)]
    )


@pytest.mark.parametrize("values", [[], [3.0], [-7.0] * 4, [0.1] * 3])
def test_where_nothing_differs_nothing_stands_out(values: list[float]) -> None:
    assert standardised(np.array(values)).tolist() == [0.0] * len(values)


@given(st.lists(numbers, min_size=2, max_size=20))
def test_standardised_has_mean_nought_and_deviation_one(values: list[float]) -> None:
    out = standardised(np.array(values))
    assert out.mean() == pytest.approx(0, abs=1e-6)
    assert out.std() == pytest.approx(1) or not out.any()


def test_part_and_joined() -> None:
    run = Memory()
    for k, level in enumerate(("select", "backfill", "select")):
        seen = (np.full(2, k, dtype=np.float32),)
        run.add(level, seen, np.array([True, k > 0]), k, k / 10, -k, 3600 * k)
    seen_part, mask = run.part([2, 0])
    assert [s[0].tolist() for s in seen_part] == [[2, 2], [0, 0]]
    assert mask.tolist() == [[True, True], [True, False]]
    whole = joined([run, memory((5, 9)), run])
    assert len(whole) == 7
    assert whole.levels == [
        "select",
        "backfill",
        "select",
        "select",
        "select",
        "backfill",
        "select",
    ]
    assert whole.hours == [0, 1, 2, 5, 0, 1, 2]
    assert whole.rewards == [0, -1, -2, 9, 0, -1, -2]
    assert len(run) == 3  # as it was


@pytest.mark.parametrize("values", [[1, math.nan, 2], [1, math.inf], [1e308, -1e308, 1e308]])
def test_worth_that_is_no_number_is_not_taken_for_nothing(values: list[float]) -> None:
    with pytest.raises(DrasLabError, match="what the choices were worth is not a finite number"):
        standardised(np.array(values))
