"""Linear priority rules, and the best of many found by trial: the honest opponent of an agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from .decisions import Decision
from .jobs import DrasLabError
from .metrics import balance, wait_ratios
from .policies import fcfs
from .simulator import simulate
from .traces import Trace


@dataclass(frozen=True)
class LinearRule:
    """A policy: small, short and old jobs first, by a weighted sum. The smallest is picked.

    ``size * ln(nodes) + request * ln(requested minutes) - queued * (queued time / hours) ** power``

    Parameters
    ----------
    size, request, queued : float
        The weights.
    hours : float
        Queued time, in hours, that counts as 1.
    power : float
        1 is a plain sum; with more, old jobs are let by sooner or later, whatever they are.
    """

    size: float
    request: float
    queued: float
    hours: float = 24.0
    power: float = 1.0
    name: str = "rule"

    def __call__(self, decision: Decision) -> int:
        """The index of the candidate with the smallest sum."""
        scores = self.size * np.log(decision.sizes)
        scores += self.request * np.log(decision.requested_times * (1 / 60))
        scores -= self.queued * (decision.queued_times * (1 / (3600 * self.hours))) ** self.power
        decision.scores = scores  # type: ignore[assignment]
        return int(scores.argmin())


def draw(rng: np.random.Generator, powers: Sequence[float] = (1, 2, 3, 4)) -> LinearRule:
    """A rule at random: weights of size and request in [0, 1], of queued time in [0.03, 2]."""
    return LinearRule(
        size=float(rng.random()),
        request=float(rng.random()),
        queued=float(10 ** rng.uniform(math.log10(0.03), math.log10(2))),
        hours=float(rng.choice((12, 24, 48))),
        power=float(rng.choice(powers)),
    )


def tune(
    traces: Sequence[Trace],
    trials: int,
    *,
    seed: int,
    window: int = 50,
    limit: float = 1.1,
    powers: Sequence[float] = (1, 2, 3, 4),
) -> tuple[LinearRule, pd.DataFrame]:
    """The best of many rules drawn at random, by `metrics.balance` of their waits.

    Each trial runs all the traces once. The waits are ratios to first come, first served with
    EASY backfilling: the mean over the traces of the mean waits, the worst of the maxima.

    Parameters
    ----------
    traces : sequence of Trace
        What to tune on.
    trials : int
        How many rules.
    seed : int
    window : int
    limit : float
        As in `balance`.
    powers : sequence of float
        Which powers of the queued time are tried.

    Returns
    -------
    rule : LinearRule
    trials : DataFrame
        A row a trial in the order tried: its weights, ``mean_wait_ratio``, ``max_wait_ratio``
        and ``score``.

    Raises
    ------
    DrasLabError
        If there is no trace, trial or power, the seed is negative, or nobody waits under first
        come, first served.
    """
    if not traces or trials < 1:
        raise DrasLabError("tune: give at least one trace and one trial")
    if not powers or seed < 0:
        raise DrasLabError("tune: give at least one power, and a seed of 0 or more")
    bases = [simulate(trace, fcfs, window=window, log=False) for trace in traces]
    rng = np.random.default_rng(seed)
    rules, rows = [], []
    for _ in range(trials):
        rule = draw(rng, powers)
        ratios = [
            wait_ratios(simulate(trace, rule, window=window, log=False), base)
            for trace, base in zip(traces, bases, strict=True)
        ]
        mean = float(np.mean([ratio[0] for ratio in ratios]))
        longest = max(ratio[1] for ratio in ratios)
        rules.append(rule)
        rows.append(
            asdict(rule)
            | {
                "mean_wait_ratio": mean,
                "max_wait_ratio": longest,
                "score": balance(mean, longest, limit),
            }
        )
    table = pd.DataFrame(rows).drop(columns="name")
    return rules[int(table["score"].to_numpy().argmin())], table
