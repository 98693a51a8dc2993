"""A linear rule as the first guess of a network: the same order of jobs, in other numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dras_lab.features import Features
from dras_lab.jobs import DrasLabError
from dras_lab.priors import prior_of
from dras_lab.rules import LinearRule
from dras_lab.simulator import simulate
from dras_lab.traces import read_swf

PLAIN = LinearRule(0.5, 0.9, 1.5, hours=12.0, power=1.0)
SQUARED = LinearRule(0.5, 0.9, 0.3, hours=48.0, power=2.0)


@pytest.mark.parametrize(
    ("rule", "size", "minutes", "queued_hours", "total"),
    [
        # 0.5 ln 7 + 0.9 ln 60 - 1.5 * 24 / 12
        (PLAIN, 7, 59, 24, 0.5 * math.log(7) + 0.9 * math.log(60) - 3.0),
        (PLAIN, 1, 1439, 12, 0.9 * math.log(1440) - 1.5),
        # ... - 0.3 * (24 / 48) ** 2
        (SQUARED, 7, 59, 24, 0.5 * math.log(7) + 0.9 * math.log(60) - 0.075),
        (SQUARED, 3, 119, 96, 0.5 * math.log(3) + 0.9 * math.log(120) - 1.2),
    ],
)
def test_a_logit_by_hand(
    rule: LinearRule, size: int, minutes: int, queued_hours: float, total: float
) -> None:
    row = {
        "ln_size": math.log(size) / math.log(8),  # of 7 nodes
        "ln_request": math.log(1 + minutes) / math.log(1441),
        "queued_days": queued_hours / 24,
        "queued_days_squared": (queued_hours / 24) ** 2,
    }
    features = [row.get(name, 0.7) for name in Features.job_names]  # the others do not count
    assert np.dot(prior_of(rule, 7), features) == pytest.approx(-3 * total)
    assert np.dot(prior_of(rule, 7, 1.0), features) == pytest.approx(-total)


@pytest.mark.parametrize("rule", [PLAIN, SQUARED], ids=["plain", "squared"])
def test_jobs_in_the_order_of_the_rule(rule: LinearRule) -> None:
    """On the features of a real run: the greatest logit is the rule's smallest sum."""
    trace = read_swf("theta-like").coarsen(16)[:300]
    features, weights = Features(trace.nodes), np.array(prior_of(rule, trace.nodes))
    compared = 0

    def policy(decision):  # type: ignore[no-untyped-def]
        nonlocal compared
        index = rule(decision)
        count = len(decision.rows)
        logits = features(decision)[0][:count] @ weights
        # A minute more of each request, as the features have it: by at most this it may differ.
        slack = 3 * rule.request * float(np.log1p(60 / decision.requested_times).max())
        assert logits[index] >= logits.max() - slack - 1e-3
        if count > 1 and slack < 0.05:
            compared += 1
        return index

    simulate(trace, policy)
    assert compared > 20


def test_another_power_is_no_prior() -> None:
    with pytest.raises(DrasLabError, match=r"power 3 .* powers=\(1, 2\)"):
        prior_of(LinearRule(1, 1, 1, power=3), 7)
