"""Linear rules on paper, and the search for the best of many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from deciding import small_decision
from runs import runs_of, trace_of

from dras_lab.jobs import DrasLabError
from dras_lab.metrics import balance, wait_ratios
from dras_lab.policies import fcfs, make_policy
from dras_lab.rules import LinearRule, draw, tune
from dras_lab.simulator import simulate

ONE = trace_of(
    [(k, 60 * k, 1 + k % 3, 300 * (1 + k % 5), 200 + 100 * (k % 4)) for k in range(1, 41)], 4
)
TWO = trace_of([(k, 30 * k, 1 + k % 2, 60 * (1 + k % 9), 50 * (1 + k % 9)) for k in range(30)], 4)
IDLE = trace_of([(k, 1000 * k, 1, 10, 10) for k in range(1, 9)], 4)


@pytest.mark.parametrize(
    ("rule", "scores"),
    [
        # Job 3 asks for 4 nodes and 120 minutes and has waited 540 s = 0.15 h, job 4 for 1 node
        # and 1 minute, 480 s = 0.1333 h.
        (LinearRule(1, 0, 0), [math.log(4), 0]),
        (LinearRule(0, 1, 0), [math.log(120), 0]),
        (LinearRule(0, 0, 1, hours=1), [-0.15, -480 / 3600]),
        (LinearRule(0, 0, 2, hours=0.1, power=2), [-2 * 1.5**2, -2 * (4 / 3) ** 2]),
        (
            LinearRule(0.6, 0.85, 0.53, hours=6),
            [0.6 * math.log(4) + 0.85 * math.log(120) - 0.53 * 0.15 / 6, -0.53 * 480 / 3600 / 6],
        ),
    ],
)
def test_a_rule_by_hand(rule: LinearRule, scores: list[float]) -> None:
    _, decision = small_decision()
    assert rule(decision) == int(scores[1] < scores[0])
    assert decision.scores == pytest.approx(scores)


@pytest.mark.parametrize(
    ("rule", "name"), [(LinearRule(0, 0, 1), "fcfs"), (LinearRule(0, 1, 0), "sjf")]
)
def test_rules_that_are_known_by_other_names(rule: LinearRule, name: str) -> None:
    for trace in (ONE, TWO):
        expected = runs_of(simulate(trace, make_policy(name)))
        assert runs_of(simulate(trace, rule)) == expected


def test_rules_are_drawn_from_their_ranges() -> None:
    rules = [draw(np.random.default_rng(seed), powers=(1, 3)) for seed in range(300)]
    for name, low, high in (("size", 0, 1), ("request", 0, 1), ("queued", 0.03, 2)):
        values = [getattr(rule, name) for rule in rules]
        assert low <= min(values) < low + 0.1 * (high - low)
        assert high >= max(values) > high - 0.1 * (high - low)
    assert {rule.hours for rule in rules} == {12, 24, 48}
    assert {rule.power for rule in rules} == {1, 3}
    assert draw(np.random.default_rng(5)) == draw(np.random.default_rng(5))


def test_the_best_of_many_has_the_least_balance() -> None:
    rule, table = tune([ONE, TWO], 12, seed=4, limit=1.05)
    assert len(table) == 12
    names = ["size", "request", "queued", "hours", "power"]
    assert list(table.columns) == [*names, "mean_wait_ratio", "max_wait_ratio", "score"]
    best = table.loc[table["score"].idxmin()]
    assert rule == LinearRule(**best[names])
    assert table["score"].nunique() > 3
    # The mean of the means and the worst of the maxima, of each.
    for _, row in table.iterrows():
        mine = LinearRule(**row[names])
        ratios = [
            wait_ratios(simulate(trace, mine, window=50), simulate(trace, fcfs, window=50))
            for trace in (ONE, TWO)
        ]
        mean, longest = (ratios[0][0] + ratios[1][0]) / 2, max(ratios[0][1], ratios[1][1])
        assert row["mean_wait_ratio"] == pytest.approx(mean)
        assert row["max_wait_ratio"] == pytest.approx(longest)
        assert row["score"] == pytest.approx(balance(mean, longest, 1.05))


def test_the_search_is_seeded_and_more_trials_go_on_from_fewer() -> None:
    rule, table = tune([ONE], 6, seed=1)
    again, same = tune([ONE], 6, seed=1)
    assert rule == again
    pd.testing.assert_frame_equal(table, same)
    _, more = tune([ONE], 9, seed=1)
    pd.testing.assert_frame_equal(more.head(6), table)
    _, other = tune([ONE], 6, seed=2)
    assert not other["size"].equals(table["size"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"traces": []}, "give at least one trace and one trial"),
        ({"trials": 0}, "give at least one trace and one trial"),
        ({"powers": ()}, "give at least one power"),
        ({"seed": -1}, "seed"),
        ({"traces": [ONE, IDLE]}, "no job waits under fcfs"),
    ],
)
def test_what_cannot_be_tuned(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DrasLabError, match=complaint):
        tune(**({"traces": [ONE], "trials": 2, "seed": 1} | words))
