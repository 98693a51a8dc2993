"""Decisions small enough to do on paper, for the tests of what agents see and earn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracle import AnyJob
from runs import trace_of

from dras_lab.decisions import Decision
from dras_lab.jobs import Level
from dras_lab.simulator import Simulation

# A machine of 8 nodes. Job 1 holds nodes 0-4 until 3600, job 2 held 5-6 until 600. At 600 jobs 3
# and 4 wait, for 540 and 480 s; 3 nodes are free, and job 3 asks for 4.
#        id submit size request run
SMALL = [(1, 0, 5, 3600, 3000), (2, 0, 2, 600, 600), (3, 60, 4, 7200, 60), (4, 120, 1, 60, 50)]


def decision_at(
    time: int, jobs: Sequence[AnyJob], nodes: int, level: Level = Level.SELECT, **options: Any
) -> tuple[Simulation, Decision]:
    """The first decision of that level at that time, first come, first served until then.

    The simulation comes with it: it keeps the decision open.
    """
    simulation = Simulation(trace_of(jobs, nodes), **options)
    while (decision := simulation.next_decision()) is not None:
        if decision.time == time and decision.level is level:
            return simulation, decision
        simulation.apply(0)
    raise AssertionError(f"no {level} decision at {time}?")


def small_decision(**options: Any) -> tuple[Simulation, Decision]:
    """The one that SMALL is made for: level 1 at 600 s, jobs 3 and 4 on offer."""
    return decision_at(600, SMALL, 8, backfill="none", **options)
