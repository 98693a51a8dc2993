"""One reservation and the holes before it: EASY backfilling, with DRAS's two levels.

Level 1 (select) asks which job of the window is next, until one does not fit the free nodes:
that job gets the reservation. Level 2 (backfill) asks which of the jobs that would not delay
it should fill the hole. With first come, first served at both levels this is EASY (Lifka,
JSSPP 1995). Without backfilling there is no level 2, and no reservation either.
"""

from __future__ import annotations

from .cluster import earliest_start, sooner_start
from .decisions import Decision
from .engine import Engine, Steps, picked
from .holes import Holes
from .jobs import Level
from .log import BLOCKED, PASSED, STARTED, WAITS
from .results import BACKFILLED, READY, RESERVED

_GLANCE = 4  # jobs of the queue looked at one by one before all are searched


def reserve_one(engine: Engine, easy: bool, renew: bool) -> Steps:
    """The scheduling passes of a run, yielding its decisions.

    Parameters
    ----------
    engine : Engine
        A run at its beginning.
    easy : bool
        False for no backfilling: a pick that does not fit ends the pass.
    renew : bool
        Whether each pass forgets the reservation and asks afresh.
    """
    board, log = engine.board, engine.log
    size, request, start, following = board.size, board.request, board.start, board.next
    submit = board.submit
    ends, widths, bits = board.ends, board.widths, board.bits
    jobs = len(size)
    window = engine.window
    first_of_queue = (window,)
    select, backfill = Level.SELECT, Level.BACKFILL
    first_one = 0  # the int itself, which is one object; anything else is checked in `picked`
    holes = Holes(size, request, start, board.moves)
    indexed = 0  # rows before it are in `holes` if they wait
    reserved, shadow, extra, promised = -1, 0, 0, 0
    keep = not engine.kill
    quiet = False  # a reservation stands, and nothing that waits can start before it
    # No waiting row before `calm` fitted a hole of so many free nodes, seconds and extra nodes.
    calm, calm_free, calm_limit, calm_extra = 0, 0, 0, 0

    while True:
        if quiet and engine.skip_misfits(shadow, extra) and engine.free:
            # They came later than the others were looked at, so less time was left.
            calm, calm_limit = engine.tail, shadow - submit[engine.tail - 1]
        if not engine.advance():
            break
        now, quiet = engine.now, False
        fresh = False
        held = -1
        if reserved >= 0:
            if renew:
                held, reserved = reserved, -1
            elif size[reserved] <= engine.free:
                engine.begin(reserved, RESERVED)
                if reserved < indexed:
                    holes.remove(reserved)
                reserved = -1

        # Level 1: which job of the window is next?
        while reserved < 0 and following[jobs] != jobs:
            free = engine.free
            board.current = decision = Decision(
                board, select, now, free, board.queue, first_of_queue
            )
            choice = yield decision
            if choice is None:
                if log is not None:
                    log.record(decision, None, -1, PASSED)
                break
            # The first candidate is known without listing the window.
            row = following[jobs] if choice is first_one else picked(decision, choice)
            if size[row] <= free:
                if log is not None:
                    log.record(decision, choice, row, STARTED)
                engine.begin(row, RESERVED if row == held else READY)
                if row < indexed:
                    holes.remove(row)
            elif easy:
                if log is not None:
                    log.record(decision, choice, row, WAITS)
                reserved, fresh = row, True
            else:
                if log is not None:
                    log.record(decision, choice, row, BLOCKED)
                break
        if reserved < 0:
            continue

        # Level 2: which job fills the hole before the reservation?
        if fresh or (keep and (engine.freed or board.outlived(now))):
            shadow, extra = earliest_start(size[reserved], engine.free, now, ends, widths, bits)
            if fresh and reserved != held:
                promised = shadow
        elif engine.freed:
            need = size[reserved]
            shadow, extra = sooner_start(need, engine.free, now, ends, widths, bits, shadow)
        limit, tail = shadow - now, engine.tail
        cursor = following[jobs]  # no job ahead of it in the queue fits the hole
        while free := engine.free:
            first = -1
            if free <= calm_free and limit <= calm_limit and extra <= calm_extra:
                # The hole is no larger than one that nothing fitted: new jobs alone can.
                for row in range(calm, tail) if calm < tail else ():
                    width = size[row]
                    if (
                        width <= free
                        and (request[row] <= limit or width <= extra)
                        and start[row] < 0
                    ):
                        first = row
                        break
            else:
                # One of the next few often does; only then is the whole queue searched.
                row, ahead = cursor, _GLANCE
                while row != jobs and ahead:
                    width = size[row]
                    if width <= free and (request[row] <= limit or width <= extra):
                        first = row
                        break
                    row = following[row]
                    ahead -= 1
                if not ahead:
                    while indexed < tail:
                        if start[indexed] < 0:
                            holes.add(indexed)
                        indexed += 1
                    first = holes.first(free, limit, extra)
            if first < 0:
                calm, calm_free, calm_limit, calm_extra = tail, free, limit, extra
                quiet = not (renew or keep)
                break
            board.current = decision = Decision(
                board,
                backfill,
                now,
                free,
                holes.window,
                (first, tail, free, limit, extra, window),
                (reserved, shadow, extra, promised),
            )
            choice = yield decision
            if choice is None:
                if log is not None:
                    log.record(decision, None, -1, PASSED)
                break
            row = first if choice is first_one else picked(decision, choice)
            if log is not None:
                log.record(decision, choice, row, STARTED)
            engine.begin(row, BACKFILLED)
            cursor = following[row] if row == first else first
            if row < indexed:
                holes.remove(row)
            if request[row] > limit:
                extra -= size[row]
        else:
            quiet = not (renew or keep)  # no nodes, no hole
    engine.check_nothing_waits()
