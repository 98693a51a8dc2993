"""Random small workloads that stress the scheduling rules, and checks that any schedule must pass.

A schedule here is a mapping from job id to an object with `start`, `end`, `how` and `nodes` (an
iterable of node numbers), as `oracle.simulate` gives it. Each check raises AssertionError.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from oracle import AnyJob, Context, Job, Request, as_job

# ---------------------------------------------------------------- workloads


@dataclass(frozen=True)
class Workload:
    """A machine and its jobs."""

    nodes: int
    jobs: tuple[Job, ...]


# Mostly ties and short gaps, so that queues form; now and then long enough for the machine to
# empty.
GAPS = [0, 0, 0, 0, 0, 1, 1, 2, 3, 5, 8, 40]
BURST = [0, 0, 0, 0, 0, 0, 0, 1, 2, 3]
# Estimates that come back and add up to each other make planned ends meet; short ones slip into
# holes.
FEW = [1, 2, 3, 5, 10, 10, 15, 20, 25, 30]


def estimates(low: int = 1) -> st.SearchStrategy[int]:
    """Requested times from `low` to 30."""
    return st.one_of(st.sampled_from([e for e in FEW if e >= low]), st.integers(low, 30))


@st.composite
def run_times(draw: st.DrawFn, estimate: int) -> int:
    """A run time of 0 to 40: early, exact, past the estimate, or zero."""
    kind = draw(st.sampled_from(["early"] * 4 + ["exact"] * 4 + ["over"] * 3 + ["zero"]))
    if kind == "early":
        return draw(st.integers(0, estimate))
    if kind == "over":
        return draw(st.integers(estimate, 40))
    return estimate if kind == "exact" else 0


@st.composite
def mixed(draw: st.DrawFn, nodes: int) -> tuple[int, int, int, int]:
    """Gap, size, estimate, run time: of every kind, now and then wider than the machine."""
    narrow = st.integers(1, max(1, nodes // 4))
    half = st.integers(max(1, nodes // 3), max(1, nodes - nodes // 4))
    size = draw(
        st.one_of(narrow, narrow, half, half, st.integers(1, nodes), st.integers(1, nodes + 1))
    )
    estimate = draw(estimates())
    return draw(st.sampled_from(GAPS)), size, estimate, draw(run_times(estimate))


@st.composite
def burst(draw: st.DrawFn, nodes: int) -> tuple[int, int, int, int]:
    """The same for a crowd that comes together.

    Wide jobs, with long narrow ones that fight for the nodes which a reservation leaves over, and
    short ones that fit before it.
    """
    gap = draw(st.sampled_from(BURST))
    kind = draw(st.sampled_from(["wide", "wide", "wide", "narrow", "narrow", "narrow", "short"]))
    if kind == "wide":
        size = draw(st.integers(max(1, nodes // 2), max(1, nodes - nodes // 8)))
        estimate = draw(estimates(low=3))
    else:
        size = draw(st.integers(1, max(1, nodes // 3)))
        estimate = draw(estimates(low=15)) if kind == "narrow" else draw(st.integers(1, 10))
    return gap, size, estimate, draw(run_times(estimate))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A machine of 1 to 16 nodes and 1 to 14 jobs; ids do not always follow the submissions."""
    crowd = draw(st.booleans())
    nodes = draw(st.sampled_from([8, 9, 10, 12, 14, 16]) if crowd else st.integers(1, 16))
    # Lists of a fixed length: left to itself, hypothesis prefers short ones, in which nobody waits.
    count = draw(st.integers(6, 14) if crowd else st.sampled_from([*range(1, 15), 8, 10, 12, 14]))
    row = burst(nodes) if crowd else mixed(nodes)
    rows = draw(st.lists(row, min_size=count, max_size=count))
    ids = list(range(1, count + 1))
    if draw(st.sampled_from([False, False, False, True])):
        ids = draw(st.permutations(ids))
    jobs = []
    clock = draw(st.sampled_from([0, 0, 7]))
    for job_id, (gap, size, estimate, runtime) in zip(ids, rows, strict=True):
        clock += gap
        jobs.append(Job(job_id, clock, size, estimate, runtime))
    return Workload(nodes, tuple(jobs))


# ---------------------------------------------------------------- choosers


@dataclass(frozen=True)
class Chooser:
    """A chooser that depends only on what it is shown, so it can drive two simulators alike.

    `pick` takes plain rows (id, submit, size, estimate) in queue order; the oracle calls it.
    With "random" it may also pass, if `passes` is set; it then can leave jobs waiting for ever.
    """

    rule: str
    seed: int = 0
    passes: bool = False

    def pick(self, level: str, time: int, rows: Sequence[Sequence[int]]) -> int | None:
        if self.rule == "fcfs":
            return 0
        if self.rule == "random":
            text = f"{self.seed} {level} {time} {[row[0] for row in rows]}"
            low = -1 if self.passes else 0
            index = random.Random(text).randint(low, len(rows) - 1)
            return None if index < 0 else index
        keys = {
            "last": lambda row: -row[0],
            "short": lambda row: row[3],
            "long": lambda row: -row[3],
            "wide": lambda row: -row[2],
            "narrow": lambda row: row[2],
        }
        return min(range(len(rows)), key=lambda i: (keys[self.rule](rows[i]), i))

    def __call__(self, level: str, candidates: Sequence[Request], context: Context) -> int | None:
        return self.pick(level, context.time, candidates)


def choosers(passes: bool = False) -> st.SearchStrategy[Chooser]:
    """Choosers by a key or at random; with `passes` the random ones pass now and then."""
    keyed = st.sampled_from(["fcfs", "last", "short", "long", "wide", "narrow"]).map(Chooser)
    drawn = st.integers(0, 999).map(lambda seed: Chooser("random", seed, passes))
    return st.one_of(keyed, drawn)


windows = st.sampled_from([None, None, 1, 2, 3, 5])
overruns = st.sampled_from(["kill", "keep"])
backfills = st.sampled_from(["none", "easy", "conservative"])
reservations = st.sampled_from(["held", "renewed"])

# ---------------------------------------------------------------- checks of a schedule


def check_schedule(
    jobs: Iterable[AnyJob], nodes: int, overrun: str, schedule: Mapping[int, Any]
) -> None:
    """The checks that hold for every backfilling, window and chooser (that never passes)."""
    known = [as_job(job) for job in jobs]
    check_complete(known, nodes, schedule)
    check_times(known, overrun, schedule)
    check_capacity(known, nodes, schedule)
    check_nodes_apart(known, nodes, schedule)
    check_lowest_nodes(known, nodes, schedule)


def check_complete(jobs: Iterable[Job], nodes: int, schedule: Mapping[int, Any]) -> None:
    """Every job, and none besides, is finished, or refused because it is wider than the machine."""
    jobs = list(jobs)
    assert sorted(schedule) == sorted(job.id for job in jobs)
    for job in jobs:
        placed = schedule[job.id]
        if job.size > nodes:
            assert placed.how == "refused", f"job {job.id} is wider than the machine: {placed}"
            assert (placed.start, placed.end, list(placed.nodes)) == (None, None, []), f"{placed}"
        else:
            assert placed.how in ("ready", "reserved", "backfilled"), f"job {job.id}: {placed}"
            assert None not in (placed.start, placed.end), f"job {job.id}: {placed}"


def check_times(jobs: Iterable[Job], overrun: str, schedule: Mapping[int, Any]) -> None:
    """No start before the submission; the end follows from run time and overrun rule."""
    for job, placed in _started(jobs, schedule):
        assert placed.start >= job.submit, f"job {job.id} starts before its submission"
        length = min(job.runtime, job.estimate) if overrun == "kill" else job.runtime
        assert placed.end - placed.start == length, f"job {job.id} runs for another time"


def check_capacity(jobs: Iterable[Job], nodes: int, schedule: Mapping[int, Any]) -> None:
    """Never more nodes in use than exist, by the sizes alone."""
    changes: dict[int, int] = {}
    for job, placed in _started(jobs, schedule):
        changes[placed.start] = changes.get(placed.start, 0) + job.size
        changes[placed.end] = changes.get(placed.end, 0) - job.size
    used = 0
    for time in sorted(changes):
        used += changes[time]
        assert used <= nodes, f"{used} of {nodes} nodes in use at {time}"


def check_nodes_apart(jobs: Iterable[Job], nodes: int, schedule: Mapping[int, Any]) -> None:
    """Each job holds as many existing nodes as it is wide, and no node is held twice at once."""
    until: dict[int, tuple[int, int]] = {}
    # A job of no length comes before the one that takes over its nodes in the same second.
    for job, placed in sorted(_started(jobs, schedule), key=lambda row: (row[1].start, row[1].end)):
        held = list(placed.nodes)
        assert len(set(held)) == len(held) == job.size, f"job {job.id} holds {held}"
        for node in held:
            assert 0 <= node < nodes, f"job {job.id} holds node {node}"
            end, holder = until.get(node, (placed.start, 0))
            assert end <= placed.start, f"node {node}: job {job.id} starts before {holder} ends"
            until[node] = (placed.end, job.id)


def check_lowest_nodes(jobs: Iterable[Job], nodes: int, schedule: Mapping[int, Any]) -> None:
    """The starts of each instant have an order in which each takes the lowest free numbers."""
    started = list(_started(jobs, schedule))
    for now in sorted({placed.start for _, placed in started}):
        held = {n for _, p in started if p.start < now < p.end for n in p.nodes}
        free = frozenset(range(nodes)) - held
        starts = [
            (job.id, frozenset(p.nodes), p.end == now) for job, p in started if p.start == now
        ]
        ids = [row[0] for row in starts]
        assert _orderly(free, frozenset(), starts), (
            f"jobs {ids} do not hold the lowest nodes at {now}"
        )


def _orderly(
    free: frozenset[int], brief: frozenset[int], starts: list[tuple[int, Any, bool]]
) -> bool:
    """Whether `starts` can happen in some order; `brief` are nodes that jobs of no length hold."""
    if not starts:
        return True
    lowest = sorted(free)
    fitting = [row for row in starts if set(lowest[: len(row[1])]) == row[1]]
    for row in sorted(fitting, key=lambda row: not row[2]):
        rest = [other for other in starts if other is not row]
        if _orderly(free - row[1], brief | row[1] if row[2] else brief, rest):
            return True
        if not row[2]:
            break  # without jobs of no length the order is forced
    return bool(brief) and _orderly(free | brief, frozenset(), starts)


def check_in_order(jobs: Iterable[Job], schedule: Mapping[int, Any]) -> None:
    """FCFS without backfilling: starts follow the queue order, and every job is a ready one."""
    rows = sorted(_started(jobs, schedule), key=lambda row: (row[0].submit, row[0].id))
    for (_, first), (job, second) in itertools.pairwise(rows):
        assert first.start <= second.start, f"job {job.id} overtakes"
    assert all(placed.how == "ready" for _, placed in rows)


def check_head_starts(jobs: Iterable[Job], nodes: int, schedule: Mapping[int, Any]) -> None:
    """FCFS, no backfilling or EASY: the first job in the queue never waits while it fits."""
    rows = sorted(_started(jobs, schedule), key=lambda row: (row[0].submit, row[0].id))
    for now in {p.start for _, p in rows} | {p.end for _, p in rows} | {j.submit for j, _ in rows}:
        waiting = [job for job, p in rows if job.submit <= now < p.start]
        if waiting:
            busy = sum(job.size for job, p in rows if p.start <= now < p.end)
            assert waiting[0].size > nodes - busy, f"job {waiting[0].id} fits at {now} and waits"


def _started(jobs: Iterable[Job], schedule: Mapping[int, Any]) -> Iterable[tuple[Job, Any]]:
    return [(job, schedule[job.id]) for job in jobs if schedule[job.id].start is not None]
