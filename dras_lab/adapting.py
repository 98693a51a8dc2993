"""Online adaptation: an agent that goes on learning while it schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents import Agent

STRETCH = 200  # scheduling instances; on Theta, about two days


@contextmanager
def adapting(agent: Agent, every: int | None = None) -> Iterator[Agent]:
    """Let an agent learn from what it does inside the ``with``; afterwards it stands as before.

    DRAS keeps learning when it is at work, to follow a workload that changes (abstract of Fan
    et al., arXiv 2102.06243). There each job comes once, so the agent learns from stretches of
    the one run, where training may have learnt from several runs of the same jobs; at the
    learning rate that training ended with, and, if it takes random choices, as few as it ever
    took.

    Parameters
    ----------
    agent : Agent
        Its weights change.
    every : int, optional
        Scheduling instances a stretch; by default what it was trained with if that was in
        stretches, else 200.

    Raises
    ------
    DrasLabError
        While it learns: if the reward or the loss is no finite number.
    """
    update = agent.update
    if every is None:
        every = update.every if update.runs == 1 else STRETCH
    agent.forget()
    agent.update = replace(update, runs=1, every=every)
    agent.anneal(1.0)
    if hasattr(agent, "epsilon"):
        agent.epsilon = update.floor
    agent.learning = True
    try:
        yield agent
        agent.end_run()
    except BaseException:
        agent.forget()
        raise
    finally:
        agent.learning = False
        agent.update = update
