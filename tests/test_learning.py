"""That the agents learn: from nothing to the known best of a small task, and only for its reward.

The task is that of `lessons`. Each agent must make the best of all six orders of the queue, for
three seeds; with the reward turned round it must make the worst of them, so that what it reaches is
what it was paid for, and no accident of its first weights.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from lessons import (  # noqa: E402
    BEST_WAIT,
    MEAN_WAIT,
    WORST_WAIT,
    jobs_of,
    mean_wait,
    orders,
    practise,
    two_classes,
)
from runs import trace_of  # noqa: E402

from dras_lab.agents import make_agent, make_update  # noqa: E402
from dras_lab.decisions import Decision  # noqa: E402
from dras_lab.policies import make_policy  # noqa: E402
from dras_lab.rewards import Capacity, Reward  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402

SLOWDOWN = Capacity(unit=360)


@dataclass(frozen=True)
class Opposite:
    """A reward turned round."""

    reward: Any
    name: str = "opposite"

    @property
    def rate(self) -> bool:
        return bool(self.reward.rate)

    def __call__(self, decision: Decision, index: int | None) -> float:
        return -float(self.reward(decision, index))


def wait_of(lengths: tuple[int, ...]) -> float:
    """Mean wait, in hours, of jobs that run one after the other."""
    return sum(itertools.accumulate(lengths[:-1])) / len(lengths) / 3600


def test_the_task_is_what_it_says() -> None:
    # All that can be done with a batch is one of its orders: the best and the worst of the six.
    assert min(map(wait_of, orders())) == pytest.approx(BEST_WAIT)
    assert max(map(wait_of, orders())) == pytest.approx(WORST_WAIT)
    trace = two_classes()
    assert mean_wait(simulate(trace, make_policy("sjf"))) == pytest.approx(BEST_WAIT)
    assert mean_wait(simulate(trace, make_policy("ljf"))) == pytest.approx(WORST_WAIT)
    # First come, first served takes each order as it comes: their mean, near three times the best.
    average = sum(map(wait_of, orders())) / 6
    assert mean_wait(simulate(trace, make_policy("fcfs"))) == pytest.approx(average)
    assert average > 2.8 * BEST_WAIT
    assert len(jobs_of(trace)) == 24


# Kind, network, update, what is changed of it, reward, episodes. Runs are short here and steps few,
# so steps are larger than for logs of thousands of jobs: DRAS-PG's of fewer decisions each (its
# network has to learn for each place of the window what it is to be), DRAS-DQL's not, whose targets
# are noisier.
FEW: dict[str, Any] = {"learning_rate": 1e-2, "batch": 32}
QUICK: dict[str, Any] = {"learning_rate": 1e-2, "decay": 0.99, "floor": 0.01}
LESSONS: list[tuple[str, str, str, dict[str, Any], Reward, int]] = [
    ("pg", "dras", "ours", FEW, MEAN_WAIT, 60),
    ("pg", "scorer", "ours", {}, MEAN_WAIT, 10),
    ("dql", "dras", "ours", QUICK, MEAN_WAIT, 40),
    ("dql", "scorer", "ours", QUICK, MEAN_WAIT, 40),
    ("pg", "scorer", "published", {}, SLOWDOWN, 60),
    ("dql", "dras", "published", {}, SLOWDOWN, 50),
    ("dql", "dras", "published", {"target": "bootstrap"}, SLOWDOWN, 50),
]
NAMES = [
    " ".join(lesson[:3]) + (" bootstrap" if "target" in lesson[3] else "") for lesson in LESSONS
]


def learnt(lesson: tuple[Any, ...], seed: int, opposite: bool = False) -> float:
    """The mean wait, in hours, of an agent that has practised."""
    kind, network, update, changes, reward, episodes = lesson
    agent = make_agent(
        kind,
        1,
        4,
        network=network,
        hidden=(32, 16),
        reward=Opposite(reward) if opposite else reward,
        update=make_update(update, **changes),
        seed=seed,
    )
    practise(agent, two_classes(), episodes)
    return mean_wait(simulate(two_classes(), agent, window=4))


@pytest.mark.learning
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_it_learns_the_best_there_is(lesson: tuple[Any, ...], seed: int) -> None:
    assert learnt(lesson, seed) == pytest.approx(BEST_WAIT)


@pytest.mark.learning
@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_paid_for_the_opposite_it_learns_the_worst(lesson: tuple[Any, ...]) -> None:
    assert learnt(lesson, 1, opposite=True) == pytest.approx(WORST_WAIT)


@pytest.mark.learning
def test_what_it_has_learnt_holds_for_jobs_it_has_not_seen() -> None:
    # Practised on jobs of six minutes and of ten hours; asked about four lengths between.
    agent = make_agent("pg", 1, 4, network="scorer", reward=MEAN_WAIT, seed=5)
    practise(agent, two_classes(), 10)
    lengths = [5400, 900, 30_000, 2700]
    trace = trace_of([(k, 0, 1, length, length) for k, length in enumerate(lengths)], 1)
    assert mean_wait(simulate(trace, agent, window=4)) == pytest.approx(
        wait_of((900, 2700, 5400, 30_000))
    )
