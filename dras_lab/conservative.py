"""Conservative backfilling that keeps its promises: a planned start for every waiting job.

Mu'alem and Feitelson (TPDS 2001) give every job a reservation; here a plan may move earlier
and never later (compression in queue order, not a new plan from scratch).
"""

from __future__ import annotations

from .cluster import Profile
from .decisions import Decision
from .engine import Engine, Steps, picked
from .jobs import Level
from .log import PASSED, PLANNED, STARTED
from .results import BACKFILLED, READY, RESERVED


def plan_all(engine: Engine) -> Steps:
    """The scheduling passes of a run, yielding its decisions: which job is planned next.

    At every pass each waiting job's plan is made again, as the earliest time at which it fits
    for its whole requested time around the running jobs and the plans that all other jobs
    hold; it takes the new time only if that is earlier. A job whose plan is now starts. A
    planned start is an event of its own.

    Parameters
    ----------
    engine : Engine
        A run at its beginning.
    """
    board, log = engine.board, engine.log
    size, request, start, plan = board.size, board.request, board.start, board.plan
    jobs = len(size)
    window = engine.window
    profile = Profile(engine.nodes, engine.now)
    was_planned = bytearray(jobs)
    settled = True  # no plan could move earlier if it were made again
    outlived = False  # a running job is past its request (overrun "keep")
    wake: int | None = None

    while engine.advance() if wake is None else engine.advance(wake):
        now = engine.now
        profile.start_at(now)
        if engine.freed:
            for row in engine.early:
                profile.add(now, start[row] + request[row], size[row])
                settled = False
        shaken, outlived = outlived, board.outlived(now)
        if outlived or shaken:
            # A job that outlives its request takes nodes others were promised: where the
            # promises cannot all be kept any more, all are made anew.
            held = [(now, max(end, now + 1), size[row]) for end, row in board.running()]
            plans = [(t, t + request[row], size[row]) for row, t in plan.items()]
            profile = Profile(engine.nodes, now, held + plans)
            if min(profile.free) < 0 or min(plan.values(), default=now) < now:
                plan.clear()
                if log is not None:
                    log.replan(-1, -1)
                profile = Profile(engine.nodes, now, held)
            settled = False

        # In queue order (or the policy's), each job's plan is made again.
        todo = board.queue()
        if settled:
            todo = [row for row in todo if plan.get(row, now) == now]
        moved, asking = False, True
        offered: list[int] = []
        while todo:
            row = todo[0]
            decision: Decision | None = None
            choice: int | None = None
            if asking:
                offered = todo[:window]
                board.current = decision = Decision(
                    board, Level.SELECT, now, engine.free, offered.copy, ()
                )
                choice = yield decision
                asking = choice is not None
                if choice is not None:
                    row = picked(decision, choice)
            width, length, old = size[row], request[row], plan.get(row)
            if old is not None:
                profile.add(old, old + length, width)
            new = profile.earliest(width, length)
            if old is not None and new >= old:
                new = old
            elif old is not None:
                moved = True
            if log is not None and decision is not None:
                if choice is None:
                    log.record(decision, None, -1, PASSED, offered)
                else:
                    log.record(decision, choice, row, STARTED if new == now else PLANNED, offered)
            profile.add(new, new + length, -width)
            if new == now:
                plan.pop(row, None)
                ahead = board.next[jobs] != row
                engine.begin(row, RESERVED if was_planned[row] else BACKFILLED if ahead else READY)
            else:
                plan[row] = new
                if log is not None and new != old:
                    log.replan(row, new)
                was_planned[row] = 1
            todo.remove(row)
        settled = not moved
        # While a job outlives its request, a start planned for its end is no event: it
        # would make a pass every second. The next real event plans again.
        due = plan.values()
        wake = min((t for t in due if not (outlived and t == now + 1)), default=None)
    engine.check_nothing_waits()
