"""A task with a known best policy, small agents, and a stub to learn with: for tests of learning.

One node. Every two days four jobs of one node come at the same moment, two of six minutes and two
of ten hours, so that the only question is their order. Each of the six orders in which they can
stand in the queue comes once. Shortest first is best, and its waits are known:

    shortest first, a batch:    0, 0.1, 0.2 and 10.2 h     10.5 h in all,  2.625 h in the mean
    longest first:              0, 10, 20 and 20.1 h       50.1 h in all, 12.525 h in the mean
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from runs import trace_of
from torch import nn

from dras_lab.agents import Agent
from dras_lab.decisions import Decision
from dras_lab.results import Result
from dras_lab.rewards import Waits
from dras_lab.simulator import simulate
from dras_lab.traces import Trace

HOUR, LONG, SHORT = 3600, 36_000, 360
BEST_WAIT, WORST_WAIT = 2.625, 12.525
MEAN_WAIT = Waits(late=0, unit=1)  # costs what the mean wait is, and nothing else


def orders() -> list[tuple[int, ...]]:
    """The six orders of two long jobs and two short ones."""
    return sorted(set(itertools.permutations((LONG, LONG, SHORT, SHORT))))


def two_classes() -> Trace:
    """The jobs of the task: 24, four each two days."""
    lengths = [(batch, length) for batch, order in enumerate(orders()) for length in order]
    return trace_of(
        [(k + 1, b * 48 * HOUR, 1, length, length) for k, (b, length) in enumerate(lengths)], 1
    )


def jobs_of(trace: Trace) -> list[tuple[int, ...]]:
    """The jobs as `trace_of` takes them."""
    columns = ["job_id", "submit_time", "size", "requested_time", "run_time"]
    return [tuple(row) for row in trace.table[columns].itertuples(index=False)]


def mean_wait(result: Result) -> float:
    """In hours."""
    return float(result.wait.mean()) / HOUR


def practise(agent: Agent, trace: Trace, episodes: int) -> Agent:
    """Let an agent learn from the same jobs again and again."""
    agent.learning = True
    for episode in range(episodes):
        agent.anneal(episode / episodes)
        for _ in range(agent.update.runs):
            simulate(trace, agent, window=agent.brain.window, log=False)
            agent.end_run()
    agent.learning = False
    return agent


def picks(agent: Any, trace: Trace, **options: Any) -> list[tuple[int, str, int | None]]:
    """What a policy answers: time, level, index."""
    answers = []

    def asked(decision: Decision) -> int | None:
        index: int | None = agent(decision)
        answers.append((decision.time, str(decision.level), index))
        return index

    simulate(trace, asked, log=False, **options)
    return answers


class Table(nn.Module):
    """A network whose outputs are its parameters, whatever it is shown."""

    def __init__(self, numbers: list[float]) -> None:
        super().__init__()
        self.numbers = nn.Parameter(torch.tensor(numbers))


class TableBrain:
    """A brain that says the same at every decision; both levels have one table."""

    kind = "table"

    def __init__(self, numbers: list[float], nodes: int = 1) -> None:
        self.nodes, self.window = nodes, len(numbers)
        self.networks = Table(numbers)

    def see(self, decision: Decision) -> tuple[np.ndarray, ...]:
        return (np.zeros(1, dtype=np.float32),)

    def ask(self, level: str, seen: object, jobs: int) -> np.ndarray:
        return self.networks.numbers.detach().numpy()[:jobs].copy()

    def batch(self, level: str, seen: list[object], mask: torch.Tensor) -> torch.Tensor:
        return self.networks.numbers.expand(len(seen), -1)

    def chosen(self, level: str, seen: object, mask: object, chosen: list[int]) -> torch.Tensor:
        return self.networks.numbers[torch.tensor(chosen)]

    def config(self) -> dict[str, Any]:
        return {"kind": self.kind, "nodes": self.nodes, "window": self.window}
