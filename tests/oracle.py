"""A brute-force simulator written from the definitions, sharing no code with the library.

It looks at every second in turn and recomputes whatever it needs from the list of running jobs.
It is slow on purpose: what it has to be is obviously right.

Rules, in whole seconds, intervals half-open:

* At an instant with an event: all completions, then all submissions (by submit time and id; a job
  wider than the machine is refused), then one scheduling pass. A job of run time 0 started in that
  pass ends at once: completions and a pass follow again, still at the same instant.
* Plans use requests. A running job is planned to end at start + estimate, or one second from now if
  that is not in the future. "kill" ends a job at its estimate, "keep" lets it run on.
* Nodes: each job takes the lowest free numbers when it starts.

Random workloads, and checks that any schedule must pass, are in `strategies.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Job(NamedTuple):
    """A job as the machine knows it: the run time is in here."""

    id: int
    submit: int
    size: int
    estimate: int
    runtime: int


class Request(NamedTuple):
    """A job as a chooser may see it: no run time."""

    id: int
    submit: int
    size: int
    estimate: int


class Context(NamedTuple):
    """What a chooser is told besides the candidates; `queue` is all who wait, the reserved too."""

    time: int
    free: int
    queue: tuple[Request, ...]


class Placed(NamedTuple):
    """When, how and where a job ran; a refused job has no times and no nodes.

    `how`: ready, reserved, backfilled, refused, or waiting for a job that no pass ever started.
    """

    start: int | None
    end: int | None
    how: str
    nodes: tuple[int, ...]


class Note(NamedTuple):
    """One line of the log: what happened when to which job, and a time or count with it."""

    what: str
    time: int
    job: int
    value: int


Choose = Callable[[str, Sequence[Request], Context], "int | None"]
AnyJob = Mapping[str, int] | Sequence[int]


def as_job(record: AnyJob) -> Job:
    """A `Job` from a mapping with the fields' names, or from the values in their order."""
    if isinstance(record, Mapping):
        return Job(*(int(record[name]) for name in Job._fields))
    return Job(*(int(value) for value in record))


def first_come(level: str, candidates: Sequence[Request], context: Context) -> int | None:
    """The default chooser: whoever came first."""
    return 0


class Oracle:
    """One simulation; `run` plays it to its end, `log` tells afterwards what happened."""

    def __init__(
        self,
        jobs: Iterable[AnyJob],
        nodes: int,
        backfill: str,
        overrun: str,
        choose: Choose | None = None,
        window: int | None = None,
        reservation: str = "held",
    ) -> None:
        assert backfill in ("none", "easy", "conservative"), backfill
        assert overrun in ("kill", "keep"), overrun
        assert reservation in ("held", "renewed"), reservation
        self.jobs = {
            job.id: job for job in sorted(map(as_job, jobs), key=lambda j: (j.submit, j.id))
        }
        self.nodes = nodes
        self.backfill = backfill
        self.overrun = overrun
        self.choose = choose or first_come
        self.window = window
        self.reservation = reservation
        self.now = 0
        self.coming = list(self.jobs)  # ids in the order (submit, id), like every list of ids here
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.placed: dict[int, Placed] = {}
        self.reserved: int | None = None
        self.plans: dict[int, int] = {}  # conservative: id -> planned start
        self.made_to_wait: set[int] = set()  # conservative: ids that once held a plan in the future
        self.not_an_event: int | None = None
        self.log: list[Note] = []

    # ---------------------------------------------------------------- the clock

    def run(self) -> dict[int, Placed]:
        """Play every second from the first submission on."""
        if self.coming:
            self.now = self.jobs[self.coming[0]].submit
        while self.coming or self.running or self.plans:
            if self.is_event():
                self.round()
                while self.ending():  # run times of zero
                    self.round()
            self.now += 1
        for job_id in self.waiting:
            self.placed[job_id] = Placed(None, None, "waiting", ())
        return {job_id: self.placed[job_id] for job_id in self.jobs}

    def is_event(self) -> bool:
        submitted = any(self.jobs[i].submit == self.now for i in self.coming[:1])
        planned = self.now in self.plans.values() and self.now != self.not_an_event
        return submitted or planned or bool(self.ending())

    def ending(self) -> list[int]:
        return [i for i in self.running if self.placed[i].end == self.now]

    def round(self) -> None:
        """Completions, submissions, one pass."""
        for job_id in self.ending():
            self.running.remove(job_id)
        while self.coming and self.jobs[self.coming[0]].submit == self.now:
            job_id = self.coming.pop(0)
            if self.jobs[job_id].size > self.nodes:
                self.placed[job_id] = Placed(None, None, "refused", ())
            else:
                self.waiting.append(job_id)
        if self.backfill == "none":
            self.pass_none()
        elif self.backfill == "easy":
            self.pass_easy()
        else:
            self.pass_conservative()

    # ---------------------------------------------------------------- the machine

    def free(self) -> int:
        return self.nodes - sum(self.jobs[i].size for i in self.running)

    def planned_end(self, job_id: int) -> int:
        start = self.placed[job_id].start
        assert start is not None
        return max(start + self.jobs[job_id].estimate, self.now + 1)

    def past_request(self) -> bool:
        return any(
            (self.placed[i].start or 0) + self.jobs[i].estimate <= self.now for i in self.running
        )

    def start(self, job_id: int, how: str) -> None:
        job = self.jobs[job_id]
        held = {node for i in self.running for node in self.placed[i].nodes}
        lowest = tuple(node for node in range(self.nodes) if node not in held)[: job.size]
        assert len(lowest) == job.size, f"job {job_id} started without enough nodes"
        length = job.runtime if self.overrun == "keep" else min(job.runtime, job.estimate)
        self.placed[job_id] = Placed(self.now, self.now + length, how, lowest)
        self.waiting.remove(job_id)
        self.running.append(job_id)
        self.log.append(Note(how, self.now, job_id, job.size))

    # ---------------------------------------------------------------- asking

    def ask(self, level: str, ids: list[int]) -> int | None:
        """The id picked out of the first W of `ids`; None for a pass, or if nobody is there."""
        ids = ids[: self.window]
        if not ids:
            return None
        queue = tuple(Request(*self.jobs[i][:4]) for i in self.waiting)
        candidates = tuple(Request(*self.jobs[i][:4]) for i in ids)
        pick = self.choose(level, candidates, Context(self.now, self.free(), queue))
        if pick is None:
            return None
        assert 0 <= pick < len(ids), f"{pick} is no candidate"
        return ids[pick]

    # ---------------------------------------------------------------- no backfilling

    def pass_none(self) -> None:
        while (pick := self.ask("select", self.waiting)) is not None:
            if self.jobs[pick].size > self.free():
                return
            self.start(pick, "ready")

    # ---------------------------------------------------------------- EASY

    def shadow(self, job_id: int, beside: int | None = None) -> tuple[int, int]:
        """When the job can start by the planned ends, and the nodes left over then.

        `beside` is a waiting job taken as started now.
        """
        busy = [(self.planned_end(i), self.jobs[i].size) for i in self.running]
        if beside is not None:
            busy.append((self.now + self.jobs[beside].estimate, self.jobs[beside].size))
        for time in sorted({self.now} | {end for end, _ in busy}):
            left = self.nodes - sum(size for end, size in busy if end > time)
            if left >= self.jobs[job_id].size:
                return time, left - self.jobs[job_id].size
        raise AssertionError("a job that is not wider than the machine fits once all have ended")

    def harmless(self, reserved: int) -> list[int]:
        """Waiting jobs that fit now and, started now, leave the reserved job's planned start be."""
        shadow, extra = self.shadow(reserved)
        found = []
        for job_id in self.waiting:
            job = self.jobs[job_id]
            if job_id == reserved or job.size > self.free():
                continue
            ok = self.shadow(reserved, beside=job_id)[0] <= shadow
            # The usual way to put it must say the same.
            assert ok == (self.now + job.estimate <= shadow or job.size <= extra)
            if ok:
                found.append(job_id)
        return found

    def pass_easy(self) -> None:
        before = self.reserved
        if self.reservation == "renewed":
            self.reserved = None
        if self.reserved is not None and self.jobs[self.reserved].size <= self.free():
            self.start(self.reserved, "reserved")
            self.reserved = None
        while self.reserved is None:
            pick = self.ask("select", self.waiting)
            if pick is None:
                return
            if self.jobs[pick].size <= self.free():
                renewed = self.reservation == "renewed" and pick == before
                self.start(pick, "reserved" if renewed else "ready")
            else:
                self.reserved = pick
        shadow, extra = self.shadow(self.reserved)
        self.log.append(Note("promise", self.now, self.reserved, shadow))
        while (pick := self.ask("backfill", self.harmless(self.reserved))) is not None:
            if self.now + self.jobs[pick].estimate > shadow:
                self.log.append(Note("extra", self.now, pick, extra))
            self.start(pick, "backfilled")

    # ---------------------------------------------------------------- conservative

    def usage(self, without: int | None = None) -> dict[int, int]:
        """Nodes in use in each second from now on, by running jobs and plans (but for one's)."""
        spans = [(self.now, self.planned_end(i), self.jobs[i].size) for i in self.running]
        for i, plan in self.plans.items():
            if i != without:
                spans.append((plan, plan + self.jobs[i].estimate, self.jobs[i].size))
        used: dict[int, int] = {}
        for begin, end, size in spans:
            for second in range(max(begin, self.now), end):
                used[second] = used.get(second, 0) + size
        return used

    def earliest(self, job_id: int) -> int:
        job = self.jobs[job_id]
        used = self.usage(without=job_id)
        time = self.now
        while any(used.get(s, 0) + job.size > self.nodes for s in range(time, time + job.estimate)):
            time += 1
        return time

    def pass_conservative(self) -> None:
        broken = any(plan < self.now for plan in self.plans.values()) or any(
            used > self.nodes for used in self.usage().values()
        )
        if broken:
            assert self.overrun == "keep", "under kill every plan can be kept"
            self.log.append(Note("replan", self.now, -1, len(self.plans)))
            self.plans.clear()
        todo, asking = list(self.waiting), True
        while todo:
            # The chooser says in which order plans are made; after a pass it is the queue's.
            job_id = self.ask("select", todo) if asking else None
            asking = job_id is not None
            if job_id is None:
                job_id = todo[0]
            todo.remove(job_id)
            time = self.earliest(job_id)
            old = self.plans.get(job_id)
            if old is None or time < old:
                self.plans[job_id] = time
                if time > self.now:
                    self.log.append(
                        Note("promise" if old is None else "moved", self.now, job_id, time)
                    )
            if self.plans[job_id] == self.now:
                del self.plans[job_id]
                if job_id in self.made_to_wait:
                    how = "reserved"
                else:
                    how = "ready" if self.waiting[0] == job_id else "backfilled"
                self.start(job_id, how)
            else:
                self.made_to_wait.add(job_id)
        # A job past its request is planned to end one second from now for as long as it runs: a
        # plan that leans on that would make a pass every second.
        self.not_an_event = self.now + 1 if self.past_request() else None


def simulate(
    jobs: Iterable[AnyJob],
    nodes: int,
    backfill: str,
    overrun: str,
    choose: Choose | None = None,
    window: int | None = None,
    reservation: str = "held",
) -> dict[int, Placed]:
    """The schedule of `jobs` on `nodes` nodes: job id -> `Placed`, in the order (submit, id)."""
    return Oracle(jobs, nodes, backfill, overrun, choose, window, reservation).run()
