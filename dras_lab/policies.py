"""The heuristics. A policy is any callable that takes a `Decision` and returns an index.

A policy only chooses among the candidates it is shown (both levels use the same rule); the
engine has made sure that each choice is legal. Ties go to the job that is first in the queue.
Scores follow one convention: the smallest is picked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .decisions import Decision, Policy
from .jobs import DrasLabError
from .knapsack import Knapsack

FloatArray = npt.NDArray[np.float64]
Score = Callable[[Decision], npt.NDArray[np.generic]]


class Ranking:
    """Picks the candidate with the smallest score.

    Parameters
    ----------
    name : str
        What tables and files call it.
    score : callable
        Takes a `Decision`, returns one number a candidate, shape ``[candidates]``.
    doc : str
        One sentence on the rule, with its source.
    """

    def __init__(self, name: str, score: Score, doc: str) -> None:
        self.name = name
        self.score = score
        self.__doc__ = doc

    def __call__(self, decision: Decision) -> int:
        """The index of the best candidate."""
        scores = self.score(decision)
        decision.scores = scores  # type: ignore[assignment]
        return int(scores.argmin())

    def __repr__(self) -> str:
        return f"Ranking({self.name})"


def fcfs(decision: Decision) -> int:
    """First come, first served: the first of the queue."""
    return 0


def binpacking(decision: Decision) -> int | None:
    """The biggest job that fits the free nodes now; never makes a reservation.

    Fan et al. (arXiv 2102.06243) compare with bin packing; this is our reading of it. A job that
    does not fit is passed over, so that wide jobs can starve.
    """
    sizes = decision.sizes
    sizes[sizes > decision.free] = 0
    biggest = int(sizes.argmax())
    return biggest if sizes[biggest] else None


class RandomPolicy:
    """Any candidate with equal probability.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        Where its random numbers come from.
    """

    name = "random"

    def __init__(self, seed: int | np.random.Generator = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, decision: Decision) -> int:
        """An index drawn from the generator."""
        return int(self.rng.integers(len(decision.rows)))


def sjf(decision: Decision) -> npt.NDArray[np.int64]:
    """Shortest job first, by requested time."""
    return decision.requested_times


def ljf(decision: Decision) -> npt.NDArray[np.int64]:
    """Longest job first, by requested time."""
    return -decision.requested_times


def saf(decision: Decision) -> npt.NDArray[np.int64]:
    """Smallest area first: nodes times requested time."""
    return decision.sizes * decision.requested_times


def laf(decision: Decision) -> npt.NDArray[np.int64]:
    """Largest area first: nodes times requested time."""
    return -decision.sizes * decision.requested_times


def wfp3(decision: Decision) -> FloatArray:
    """WFP3: nodes times the cube of queued over requested time, largest first.

    Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P
    systems", CLUSTER 2009. Favours old, short and wide jobs.
    """
    ratio: FloatArray = decision.queued_times / decision.requested_times
    return -decision.sizes * ratio**3


def unicep(decision: Decision) -> FloatArray:
    """UNICEP: queued time over (log2 of nodes times requested time), largest first.

    Tang et al., CLUSTER 2009, as written down by Carastan-Santos and de Camargo (SC'17). The
    logarithm of one node is zero: single-node jobs come before all others, by the same ratio.
    """
    width = np.maximum(np.log2(decision.sizes), 1e-6)
    return -decision.queued_times / (width * decision.requested_times)


def _since_start(decision: Decision) -> FloatArray:
    # The formulas take a logarithm of the submit time, which the epoch would flatten: seconds
    # since the first submission of the trace, at least one.
    return np.maximum(decision.submit_times - decision.origin, 1).astype(np.float64)


def f1(decision: Decision) -> FloatArray:
    """F1 = log10(requested time) * nodes + 870 * log10(submit time), smallest first.

    Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation and
    machine learning", SC'17; so are F2, F3 and F4. Times in seconds.
    """
    age = np.log10(_since_start(decision))
    return np.asarray(np.log10(decision.requested_times) * decision.sizes + 870 * age)


def f2(decision: Decision) -> FloatArray:
    """F2 = sqrt(requested time) * nodes + 25600 * log10(submit time), smallest first (SC'17)."""
    age = np.log10(_since_start(decision))
    return np.asarray(np.sqrt(decision.requested_times) * decision.sizes + 25600 * age)


def f3(decision: Decision) -> FloatArray:
    """F3 = requested time * nodes + 6860000 * log10(submit time), smallest first (SC'17)."""
    age = np.log10(_since_start(decision))
    return np.asarray(decision.requested_times * decision.sizes + 6860000 * age)


def f4(decision: Decision) -> FloatArray:
    """F4 = requested time * sqrt(nodes) + 530000 * log10(submit time), smallest first (SC'17)."""
    age = np.log10(_since_start(decision))
    return np.asarray(decision.requested_times * np.sqrt(decision.sizes) + 530000 * age)


def linear(size: float = 0.6, request: float = 0.85, queued: float = 0.09) -> Ranking:
    """A linear priority rule, for trying out what each term does.

    ``size * ln(nodes) + request * ln(requested minutes) - queued * queued hours``, smallest first
    (ours). All zero is first come, first served; the defaults are a compromise found by hand.

    Parameters
    ----------
    size, request, queued : float
        The weights.
    """

    def score(decision: Decision) -> FloatArray:
        return np.asarray(
            size * np.log(decision.sizes)
            + request * np.log(decision.requested_times / 60)
            - queued * decision.queued_times / 3600
        )

    return Ranking(f"linear({size:g}, {request:g}, {queued:g})", score, linear.__doc__ or "")


RANKINGS: dict[str, Score] = {
    score.__name__: score for score in (sjf, ljf, saf, laf, wfp3, unicep, f1, f2, f3, f4)
}
NAMES = ("fcfs", *RANKINGS, "binpacking", "random", "knapsack")


def make_policy(name: str, seed: int = 0) -> Policy:
    """The heuristic of that name.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    seed : int
        For those that draw random numbers.

    Raises
    ------
    DrasLabError
        If there is none of that name.
    """
    if name == "fcfs":
        return fcfs
    if name == "binpacking":
        return binpacking
    if name == "random":
        return RandomPolicy(seed)
    if name == "knapsack":
        return Knapsack()
    if name in RANKINGS:
        score = RANKINGS[name]
        return Ranking(name, score, score.__doc__ or "")
    raise DrasLabError(f"there is no policy {name!r}; the policies are {', '.join(NAMES)}")
