"""The random workloads are worth their time, and the checks of a schedule can fail."""

from __future__ import annotations

from collections import Counter

import pytest
import strategies as ws
from hypothesis import given, settings
from oracle import Job, Note, Oracle, Placed


def whats(log: list[Note], prefix: str) -> set[str]:
    return {f"{prefix} {note.what}" for note in log}


def test_workloads_make_the_rules_matter() -> None:
    """The share of the random workloads in which each thing happens, with a margin."""
    seen: Counter[str] = Counter()

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(ws.workloads())
    def look(work: ws.Workload) -> None:
        easy = Oracle(work.jobs, work.nodes, "easy", "kill")
        kill = Oracle(work.jobs, work.nodes, "conservative", "kill")
        keep = Oracle(work.jobs, work.nodes, "conservative", "keep")
        placed = easy.run()
        times = {job_id: place.start for job_id, place in placed.items()}
        differ = {job_id: place.start for job_id, place in kill.run().items()} != times
        keep.run()
        first = {note.job: note.value for note in reversed(easy.log) if note.what == "promise"}
        events = {
            "any": True,
            "reserved job earlier than first promised": any(
                (times[i] or 0) < t for i, t in first.items()
            ),
            "EASY and conservative differ": differ,
            "past the request": any(job.runtime > job.estimate for job in work.jobs),
            "run time zero": any(p.start == p.end for p in placed.values() if p.how != "refused"),
            "refused": any(p.how == "refused" for p in placed.values()),
        }
        seen.update(name for name, happened in events.items() if happened)
        seen.update(whats(easy.log, "easy") | whats(kill.log, "kill") | whats(keep.log, "keep"))

    look()
    least = {
        "easy reserved": 0.75,
        "easy backfilled": 0.5,
        "easy extra": 0.25,
        "reserved job earlier than first promised": 0.5,
        "kill reserved": 0.75,
        "kill backfilled": 0.4,
        "kill moved": 0.4,
        "keep replan": 0.4,
        "EASY and conservative differ": 0.1,
        "past the request": 0.6,
        "run time zero": 0.3,
        "refused": 0.07,
    }
    shares = {name: round(seen[name] / seen["any"], 3) for name in least}
    assert {name: share for name, share in shares.items() if share < least[name]} == {}


# ---------------------------------------------------------------- the checks can fail

PAIR = [(1, 0, 2, 5, 9), (2, 1, 1, 5, 5), (3, 1, 5, 5, 5)]
GOOD = {
    1: Placed(0, 5, "ready", (0, 1)),
    2: Placed(1, 6, "ready", (2,)),
    3: Placed(None, None, "refused", ()),
}


def test_a_good_schedule_passes() -> None:
    ws.check_schedule(PAIR, 4, "kill", GOOD)
    # A job of no length hands its nodes on within the second.
    pair = [(1, 0, 2, 5, 0), (2, 0, 2, 5, 5)]
    ws.check_schedule(
        pair, 2, "kill", {1: Placed(0, 0, "ready", (0, 1)), 2: Placed(0, 5, "ready", (0, 1))}
    )


@pytest.mark.parametrize(
    "change",
    [
        {2: Placed(0, 5, "ready", (2,))},  # before its submission
        {2: Placed(1, 7, "ready", (2,))},  # too long
        {1: Placed(0, 9, "ready", (0, 1))},  # not killed
        {2: Placed(1, 6, "ready", (1,))},  # node 1 twice
        {2: Placed(1, 6, "ready", (3,))},  # not the lowest
        {2: Placed(1, 6, "ready", (4,))},  # no such node
        {2: Placed(1, 6, "ready", (2, 3))},  # too many
        {2: Placed(None, None, "waiting", ())},  # lost
        {3: Placed(6, 11, "ready", (0, 1, 2, 3, 4))},  # wider than the machine
        {4: Placed(6, 11, "ready", (0,))},  # nobody knows it
    ],
)
def test_a_bad_schedule_does_not(change: dict[int, Placed]) -> None:
    with pytest.raises(AssertionError):
        ws.check_schedule(PAIR, 4, "kill", GOOD | change)


def test_capacity_order_and_head_checks_can_fail() -> None:
    jobs = [Job(1, 0, 2, 5, 5), Job(2, 0, 1, 5, 5)]
    full = {1: Placed(0, 5, "ready", (0, 1)), 2: Placed(4, 9, "ready", (0,))}
    with pytest.raises(AssertionError, match="in use at 4"):
        ws.check_capacity(jobs, 2, full)
    with pytest.raises(AssertionError, match="job 2 fits at 0"):
        ws.check_head_starts(jobs, 3, full)
    with pytest.raises(AssertionError, match="job 2 overtakes"):
        ws.check_in_order(jobs, {1: full[2], 2: full[1]})
