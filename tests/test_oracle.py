"""The oracle itself: against the shared cases, against schedules worked out by hand, its checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import strategies as ws
from hypothesis import HealthCheck, given, settings
from oracle import Oracle, Placed, simulate

CASES = json.loads(
    (Path(__file__).parent / "cases" / "easy_cases.json").read_text(encoding="utf-8")
)
MODES = {"fcfs": "none", "easy": "easy", "conservative": "conservative"}
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def starts(schedule: dict[int, Placed]) -> dict[int, int | None]:
    return {job_id: placed.start for job_id, placed in schedule.items()}


def hows(schedule: dict[int, Placed]) -> dict[int, str]:
    return {job_id: placed.how for job_id, placed in schedule.items()}


def shortest(level: str, candidates: Any, context: Any) -> int:
    return min(range(len(candidates)), key=lambda i: (candidates[i].estimate, i))


def rules_of(name: str) -> list[str]:
    """The overrun rules a case holds for: both, unless some job runs past its estimate."""
    return {"kill": ["kill"], "overrun": ["keep"]}.get(name.partition("__")[2], ["kill", "keep"])


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
@pytest.mark.parametrize("mode", MODES)
def test_shared_cases(case: dict[str, Any], mode: str) -> None:
    expected = {int(job_id): start for job_id, start in case["expected"][mode].items()}
    for overrun in rules_of(case["name"]):
        schedule = simulate(case["jobs"], case["procs"], MODES[mode], overrun)
        assert starts(schedule) == expected
        ws.check_schedule(case["jobs"], case["procs"], overrun, schedule)


# ------------------------------------- by hand: jobs are (id, submit, size, estimate, runtime)


def test_how_and_where_under_easy() -> None:
    # 1 leaves 6-9; 3 takes both extra nodes, 5 ends before 100. At 100 node 6 and 7 are still 3's.
    # Then 4 does not fit, so it is the next to hold a reservation: it starts as a reserved job, on
    # the lowest node.
    jobs = [(1, 0, 6, 100, 100), (2, 0, 8, 100, 100), (3, 0, 2, 1000, 1000), (4, 0, 1, 1000, 1000)]
    schedule = simulate([*jobs, (5, 0, 2, 50, 50)], 10, "easy", "kill")
    assert schedule == {
        1: Placed(0, 100, "ready", (0, 1, 2, 3, 4, 5)),
        2: Placed(100, 200, "reserved", (0, 1, 2, 3, 4, 5, 8, 9)),
        3: Placed(0, 1000, "backfilled", (6, 7)),
        4: Placed(200, 1200, "reserved", (0,)),
        5: Placed(0, 50, "backfilled", (8, 9)),
    }


def test_extra_nodes_are_spent_only_across_the_shadow_time() -> None:
    # Extra 2 at 100. Job 3 is gone by then and spends none of them, so long job 4 may have both.
    jobs = [(1, 0, 6, 100, 100), (2, 0, 8, 100, 100), (3, 0, 2, 50, 50), (4, 0, 2, 1000, 1000)]
    assert starts(simulate(jobs, 10, "easy", "kill")) == {1: 0, 2: 100, 3: 0, 4: 0}


def test_reservation_moves_with_an_early_end() -> None:
    jobs = [(1, 0, 6, 100, 20), (2, 1, 8, 50, 50), (3, 2, 4, 80, 80)]
    oracle = Oracle(jobs, 10, "easy", "kill")
    oracle.run()
    promises = [(note.time, note.job, note.value) for note in oracle.log if note.what == "promise"]
    assert promises == [(1, 2, 100), (2, 2, 100), (20, 2, 82)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("none", ["ready", "ready", "ready"]),
        ("easy", ["ready", "reserved", "reserved"]),
        ("conservative", ["ready", "reserved", "reserved"]),
    ],
)
def test_run_times_of_zero_make_new_rounds(mode: str, expected: list[str]) -> None:
    # Nobody knows that they end at once: each is planned for a second, so the next does not fit in
    # the pass that starts it, and starts in the next round of the same instant.
    schedule = simulate([(i, 3, 4, 1, 0) for i in (1, 2, 3)], 4, mode, "kill")
    assert list(schedule.values()) == [Placed(3, 3, how, (0, 1, 2, 3)) for how in expected]


@pytest.mark.parametrize("mode", MODES.values())
def test_completions_come_before_submissions_and_one_pass_after_both(mode: str) -> None:
    # At 10 the machine empties and 2 comes: it is ready, it never was in a queue.
    schedule = simulate([(1, 0, 4, 10, 10), (2, 10, 4, 5, 5)], 4, mode, "kill")
    assert schedule[2] == Placed(10, 15, "ready", (0, 1, 2, 3))


@pytest.mark.parametrize("mode", MODES.values())
def test_order_is_submission_then_id_whatever_the_order_given(mode: str) -> None:
    jobs = [(5, 1, 1, 3, 3), (9, 1, 1, 3, 3), (2, 1, 1, 3, 3), (10, 0, 1, 1, 1)]
    assert starts(simulate(jobs, 1, mode, "kill")) == {10: 0, 2: 1, 5: 4, 9: 7}


def test_lowest_free_nodes_in_the_order_of_the_starts() -> None:
    jobs = [(1, 0, 2, 3, 3), (2, 0, 1, 9, 9), (3, 0, 2, 4, 4), (4, 3, 1, 9, 9), (5, 4, 3, 9, 9)]
    schedule = simulate(jobs, 5, "none", "kill")
    assert [placed.nodes for placed in schedule.values()] == [(0, 1), (2,), (3, 4), (0,), (1, 3, 4)]


def test_a_refused_job_has_nothing_and_blocks_nobody() -> None:
    for mode in MODES.values():
        schedule = simulate([(1, 0, 5, 9, 9), (2, 0, 4, 9, 9)], 4, mode, "kill")
        assert schedule[1] == Placed(None, None, "refused", ())
        assert schedule[2] == Placed(0, 9, "ready", (0, 1, 2, 3))


# ---------------------------------------------------------------- choosers

QUEUE = [(1, 0, 4, 10, 10), (2, 1, 2, 8, 8), (3, 1, 3, 2, 2), (4, 1, 2, 9, 9)]


def test_no_backfilling_stops_at_the_first_pick_that_does_not_fit() -> None:
    # At 10 the shortest is 3 (3 of 4 nodes), then 2, which does not fit; at 12 both others start.
    assert starts(simulate(QUEUE, 4, "none", "kill", shortest)) == {1: 0, 2: 12, 3: 10, 4: 12}
    # A window of one shows only the head: 2 at 10, then 3 blocks until 18, and 4 does not fit
    # beside it.
    assert starts(simulate(QUEUE, 4, "none", "kill", shortest, 1)) == {1: 0, 2: 10, 3: 18, 4: 20}


def test_what_the_chooser_is_shown() -> None:
    # At level 2 the window is the first W of those that may start: 3 is too wide, and does not
    # use it up. The reserved job is no candidate, but it is still in the queue.
    calls = []

    def record(level: str, candidates: Any, context: Any) -> int:
        queue = [job.id for job in context.queue]
        calls.append((context.time, level, [job.id for job in candidates], context.free, queue))
        assert not hasattr(candidates[0], "runtime")
        return len(candidates) - 1

    jobs = [(1, 0, 6, 50, 50), (2, 0, 10, 5, 5), (3, 0, 5, 9, 9), (4, 0, 2, 9, 9), (5, 0, 2, 4, 4)]
    simulate(jobs, 10, "easy", "kill", record, 1)
    assert calls[:4] == [
        (0, "select", [1], 10, [1, 2, 3, 4, 5]),
        (0, "select", [2], 4, [2, 3, 4, 5]),
        (0, "backfill", [4], 4, [2, 3, 4, 5]),
        (0, "backfill", [5], 2, [2, 3, 5]),
    ]
    # Job 5 ends at 4 and 4 at 9: nobody may start then, so nobody is asked until 2 has run at 50.
    assert calls[4] == (50, "select", [3], 0, [3])


def test_held_reservation_is_kept_and_the_renewed_one_is_not() -> None:
    # 2 does not fit at 1. At 2 the shorter 3 comes: renewed, it takes the reservation over.
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 20, 20), (3, 2, 4, 5, 5)]
    held = simulate(jobs, 4, "easy", "kill", shortest, None, "held")
    assert starts(held) == {1: 0, 2: 10, 3: 30}
    assert hows(held) == {1: "ready", 2: "reserved", 3: "reserved"}
    renewed = simulate(jobs, 4, "easy", "kill", shortest, None, "renewed")
    assert starts(renewed) == {1: 0, 2: 15, 3: 10}
    assert hows(renewed) == {1: "ready", 2: "reserved", 3: "reserved"}


def test_who_overtakes_a_renewed_reservation_is_ready() -> None:
    # 4 comes at the very instant at which 2 could start, and is shorter.
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 20, 20), (4, 10, 4, 1, 1)]
    renewed = simulate(jobs, 4, "easy", "kill", shortest, None, "renewed")
    assert starts(renewed) == {1: 0, 2: 11, 4: 10}
    assert hows(renewed) == {1: "ready", 2: "reserved", 4: "ready"}
    assert starts(simulate(jobs, 4, "easy", "kill", shortest)) == {1: 0, 2: 10, 4: 30}


def test_passing() -> None:
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 1, 1, 1)]
    # At level 1: at 1 and 2 nothing is chosen, so nothing is reserved and nothing backfilled
    # either.
    late = simulate(jobs, 4, "easy", "kill", lambda level, some, c: None if 0 < c.time < 10 else 0)
    assert starts(late) == {1: 0, 2: 10, 3: 15}
    assert hows(late) == {1: "ready", 2: "ready", 3: "reserved"}
    # At level 2 only: 2 holds its reservation and 3 is not let in.
    late = simulate(
        jobs, 4, "easy", "kill", lambda level, some, c: None if level == "backfill" else 0
    )
    assert starts(late) == {1: 0, 2: 10, 3: 15}
    assert hows(late)[2] == "reserved"
    # For ever.
    assert set(hows(simulate(jobs, 4, "easy", "kill", lambda *_: None)).values()) == {"waiting"}


# ---------------------------------------------------------------- past the request


def test_past_its_request_a_job_is_planned_to_end_in_a_second() -> None:
    # 1 should end at 5 and runs to 20 on 3 of 4 nodes, 2 wants all 4. From 5 on the shadow is one
    # second ahead: 3 at 5 and 4 at 7 ask for one second and may start; 5 asks for two and waits for
    # 2.
    jobs = [(1, 0, 3, 5, 20), (2, 0, 4, 5, 5), (3, 5, 1, 1, 1), (4, 7, 1, 1, 1), (5, 7, 1, 2, 2)]
    schedule = simulate(jobs, 4, "easy", "keep")
    assert starts(schedule) == {1: 0, 2: 20, 3: 5, 4: 7, 5: 25}
    assert schedule[1].end == 20
    # Killed at 5, it makes room for 2 at once; 5 asks at 7 and gets in at 10, with 3 and 4.
    schedule = simulate(jobs, 4, "easy", "kill")
    assert starts(schedule) == {1: 0, 2: 5, 3: 10, 4: 10, 5: 10}
    assert schedule[1].end == 5


def test_conservative_plans_that_no_longer_fit_are_made_anew() -> None:
    # Plans at 0: 2 at 5, 3 at 10. At 5 job 1 runs on, so 2 at 6 and 3 at 11. 6, 7 and 8 are no
    # events. At 9 it ends, the plan of 2 lies in the past: 2 starts, 3 is planned for 14.
    oracle = Oracle([(1, 0, 3, 5, 9), (2, 0, 4, 5, 5), (3, 0, 2, 4, 4)], 4, "conservative", "keep")
    assert starts(oracle.run()) == {1: 0, 2: 9, 3: 14}
    notes = [(note.what, note.time, note.job, note.value) for note in oracle.log]
    assert [note for note in notes if note[0] in ("promise", "replan")] == [
        ("promise", 0, 2, 5),
        ("promise", 0, 3, 10),
        ("replan", 5, -1, 2),
        ("promise", 5, 2, 6),
        ("promise", 5, 3, 11),
        ("replan", 9, -1, 2),
        ("promise", 9, 3, 14),
    ]


def test_conservative_makes_no_pass_for_a_plan_one_second_away_from_an_overrun() -> None:
    # At 2 job 1 is past its request: 3 is planned for 3, 4 for 10, when 2 is to end. The next pass
    # is at 10; a pass every second would start 4 at 9, when it fits beside a job 3 planned for 10,
    # and 3 only at 20.
    jobs = [(1, 0, 2, 1, 20), (2, 0, 1, 10, 10), (3, 2, 4, 20, 20), (4, 2, 2, 20, 20)]
    schedule = simulate(jobs, 6, "conservative", "keep")
    assert starts(schedule) == {1: 0, 2: 0, 3: 10, 4: 20}
    assert hows(schedule) == {1: "ready", 2: "ready", 3: "reserved", 4: "reserved"}


def test_how_under_conservative() -> None:
    # 3 overtakes the waiting 2 in the pass that first sees it. In the case of the kept promises 4
    # starts while 3 waits, but at a time planned before: reserved.
    jobs = [(1, 0, 6, 100, 100), (2, 0, 8, 100, 100), (3, 0, 4, 50, 50)]
    schedule = simulate(jobs, 10, "conservative", "kill")
    assert hows(schedule) == {1: "ready", 2: "reserved", 3: "backfilled"}
    jobs = [(1, 0, 1, 10, 10), (2, 0, 2, 90, 10), (3, 0, 3, 30, 20), (4, 0, 2, 30, 30)]
    schedule = simulate(jobs, 4, "conservative", "kill")
    assert hows(schedule) == {1: "ready", 2: "ready", 3: "reserved", 4: "reserved"}


# ---------------------------------------------------------------- random workloads


@QUICK
@given(ws.workloads(), ws.backfills, ws.overruns, ws.choosers(), ws.windows, ws.reservations)
def test_schedules_pass_the_checks(
    work: ws.Workload, mode: str, overrun: str, chooser: ws.Chooser, window: int, kind: str
) -> None:
    schedule = simulate(work.jobs, work.nodes, mode, overrun, chooser, window, kind)
    ws.check_schedule(work.jobs, work.nodes, overrun, schedule)
    if mode != "conservative":
        schedule = simulate(work.jobs, work.nodes, mode, overrun)
        ws.check_head_starts(work.jobs, work.nodes, schedule)
    if mode == "none":
        ws.check_in_order(work.jobs, schedule)


@QUICK
@given(ws.workloads(), ws.choosers(), ws.windows)
def test_under_kill_promises_are_kept(work: ws.Workload, chooser: ws.Chooser, window: int) -> None:
    for mode in ("easy", "conservative"):
        oracle = Oracle(work.jobs, work.nodes, mode, "kill", chooser, window)
        schedule = oracle.run()
        best: dict[int, int] = {}
        for note in oracle.log:
            if note.what in ("promise", "moved"):
                assert note.value <= best.get(note.job, note.value), f"{mode}: {note} is later"
                best[note.job] = note.value
        late = {i for i, time in best.items() if (schedule[i].start or 0) > time}
        assert not late, f"{mode}: {late} start later than promised"
