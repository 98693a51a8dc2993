"""A tuned linear rule as what a network begins with."""

from __future__ import annotations

import math

from .features import Features
from .jobs import DrasLabError
from .rules import LinearRule
from .scaling import LN_DAY

SHARPNESS = 3.0


def prior_of(rule: LinearRule, nodes: int, sharpness: float = SHARPNESS) -> list[float]:
    """The weights of `JobScorer`'s linear term that make it prefer what the rule picks.

    ``logit = -sharpness * (size * ln(nodes) + request * ln(minutes) - queued * (h / hours)**p)``
    in the scalings of `Features`; the rule picks the smallest sum, the network the greatest
    logit. The features have ``ln(1 + minutes)`` and queued times of at most 30 days, so jobs of
    a few minutes, or queued for longer, may be ordered in another way.

    Parameters
    ----------
    rule : LinearRule
        With power 1 or 2.
    nodes : int
        N, the machine that the features are made for.
    sharpness : float
        The greater, the more certain the first policy is of the rule's choice.

    Returns
    -------
    list of float
        One a feature of `Features.job_names`.

    Raises
    ------
    DrasLabError
        If no feature has the rule's power of the queued time.
    """
    queued = {1.0: "queued_days", 2.0: "queued_days_squared"}.get(rule.power)
    if queued is None:
        raise DrasLabError(
            f"a rule with power {rule.power:g} is no prior: the features know the queued time and "
            "its square; tune it with powers=(1, 2)"
        )
    weights = {
        "ln_size": -rule.size * math.log(nodes + 1),
        "ln_request": -rule.request * LN_DAY,
        queued: rule.queued * (24 / rule.hours) ** rule.power,
    }
    return [sharpness * weights.get(name, 0.0) for name in Features.job_names]
