"""Job sets to replay and to train on, by where they come from.

- `lublin`: the model of Lublin and Feitelson (2003).
- `like`: jobs like those of a log, made from facts learnt of it (synthetic job sets).
- `sample_jobs`: jobs drawn from a log, at the load you want (sampled job sets).
- `slices`: a log in consecutive pieces (real job sets).
- `generate`: the generators by name.

Sampled, real and synthetic job sets, in our reading of the paper, are DRAS's three phases of
training.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np

from .facts import (
    HOUR,
    RANKS,
    BoolArray,
    Choices,
    Facts,
    FloatArray,
    IntArray,
    fit,
    octave,
    theta_facts,
)
from .jobs import DrasLabError
from .models import at_load, check, finished, lublin, streams, whole
from .traces import Trace, read_swf

__all__ = ["Facts", "fit", "generate", "like", "lublin", "sample_jobs", "slices", "theta_facts"]

# -- jobs like those of a log ------------------------------------------------------------------


def like(
    trace: Trace | Facts,
    jobs: int,
    *,
    seed: int,
    load: float | None = None,
    nodes: int | None = None,
) -> Trace:
    """Jobs like those of a log.

    Bursts of jobs come at a rate that follows the log's by hour and weekday, and has a level
    of its own each day. A job has the size and request of one shortly before it, or a size of
    its own and a request that goes with it; how long it runs goes with both.

    Parameters
    ----------
    trace : Trace or Facts
        The log, or what `fit` learnt of it.
    jobs : int
        How many.
    seed : int
        0 or more.
    load : float, optional
        Offered load: sum of size * min(run time, requested time) by nodes * span of the
        submissions. Bursts then come more or less often by a constant factor, at the same
        hours and on the same days of the week. By default they come as often as in the log;
        the load is then near the log's if the jobs are many, and may be far from it if few.
    nodes : int, optional
        Another size of the machine; the sizes of jobs are scaled with it, rounded up.

    Raises
    ------
    DrasLabError
        If an argument is out of range, or the log too short to learn from.
    """
    jobs = check(jobs, load)
    machine = None if nodes is None else whole("nodes", nodes)
    facts = trace if isinstance(trace, Facts) else fit(trace)
    burst_rng, shape_rng, run_rng, gap_rng, day_rng = streams(seed, 5)

    first = _bursts(facts, jobs, burst_rng)
    source = _sources(facts, first, shape_rng)
    size = _draw(facts.sizes, jobs, shape_rng)
    asked = np.ones(jobs, dtype=np.int64)
    for name, choices in facts.requests.items():
        rows = (octave(size) == int(name)).nonzero()[0]
        asked[rows] = _draw(choices, len(rows), shape_rng)
    origin = _follow(source)
    size, asked = size[origin], asked[origin]
    run, request = _run_times(facts, size, asked, source, run_rng), asked * facts.unit
    if machine is not None:
        size = -(-size * machine // facts.nodes)

    head, burst = first.nonzero()[0], first.cumsum() - 1
    gaps = np.interp(gap_rng.random(jobs), RANKS, facts.burst_gaps)
    inside = np.where(first, 0.0, gaps).cumsum()
    inside -= inside[head][burst]
    free = max(facts.mean_gap * jobs / len(head) - facts.burst_gap, 0.0)
    between = gap_rng.gamma(facts.gap_shape, free / facts.gap_shape, len(head))
    points = (facts.burst_gap + between).cumsum()
    clock = _Clock(facts, day_rng)

    def submissions(stretch: float) -> FloatArray:
        times: FloatArray = np.floor(clock.when(points * stretch)[burst] + inside)
        return times

    machine = facts.nodes if machine is None else machine
    held = float((size * np.minimum(run, request)).sum())
    submit = at_load(submissions, held / machine, load)
    notes = (f"Jobs like those of {facts.name}, made from sums and shares learnt of it",)
    return finished(f"{facts.name}-like", machine, submit, size, run, request, seed, notes)


def _draw(choices: Choices, n: int, rng: np.random.Generator) -> IntArray:
    """Numbers drawn by weight; of a range, any of its numbers."""
    low, high, weight = np.array(choices).T
    at = rng.choice(len(weight), n, p=weight / weight.sum())
    drawn: IntArray = rng.integers(low[at], high[at], endpoint=True)
    return drawn


def _bursts(facts: Facts, jobs: int, rng: np.random.Generator) -> BoolArray:
    """Which jobs are the first of a burst."""
    first = np.zeros(jobs, dtype=np.bool_)
    start = 0
    while start < jobs:
        ends = start + _draw(facts.burst_sizes, jobs // 2 + 1, rng).cumsum()
        starts = np.append(start, ends[:-1])
        first[starts[starts < jobs]] = True
        start = int(ends[-1])
    return first


def _sources(facts: Facts, first: BoolArray, rng: np.random.Generator) -> IntArray:
    """The row of the job that each one repeats; its own row if it repeats none."""
    here = np.arange(len(first))
    kind = np.empty(len(first), dtype=np.int64)
    chance = rng.random(len(first))
    for rows, weights in ((first, facts.repeat_first), (~first, facts.repeat_next)):
        kind[rows] = np.searchsorted(np.cumsum(weights), chance[rows], side="right")
    low, high = np.array([0, *facts.lags]), np.array([*facts.lags, facts.lags[-1] + 1])
    source = here - rng.integers(low[kind], high[kind]) - 1
    return np.where((kind == len(facts.lags)) | (source < 0), here, source)


def _follow(source: IntArray) -> IntArray:
    """The row where each chain of repetition begins."""
    while not np.array_equal(further := source[source], source):
        source = further
    return source


def _run_times(
    facts: Facts, size: IntArray, asked: IntArray, source: IntArray, rng: np.random.Generator
) -> IntArray:
    """Run times in seconds, by rank among those of the jobs' class."""
    here = np.arange(len(size))
    rank, kept, jitter = rng.random((3, len(size)))
    origin = _follow(np.where(kept < facts.keep_rank, source, here))
    # A kept rank moves by up to 0.02; at 0 and 1 it is turned back, so that ranks stay uniform.
    rank = np.abs(rank[origin] + np.where(origin == here, 0, (jitter - 0.5) * 0.04))
    rank = np.where(rank > 1, 2 - rank, rank)

    run = np.empty(len(size), dtype=np.int64)
    size_class, request_class = octave(size), octave(asked)
    classes = np.unique(np.column_stack((size_class, request_class)), axis=0)
    for s, r in classes.tolist():
        names = (f"{s}/{r}", f"{s}/*", f"*/{r}", "*/*")
        table = next(facts.runs[name] for name in names if name in facts.runs)
        rows = ((size_class == s) & (request_class == r)).nonzero()[0]
        request, level, within = asked[rows] * facts.unit, rank[rows], 1 - table["past"]
        seconds = request.astype(np.float64)
        if table["under"]:
            seconds *= np.interp(level / max(within, 1e-9), RANKS, table["under"])
        if table["over"]:
            over = np.interp((level - within) / max(table["past"], 1e-9), RANKS, table["over"])
            seconds = np.where(level < within, seconds, request + np.maximum(over, 1))
        run[rows] = np.rint(seconds).astype(np.int64)
    return np.minimum(run, facts.longest_run)


class _Clock:
    """Turns seconds at the mean rate into seconds of the calendar, day by day."""

    def __init__(self, facts: Facts, rng: np.random.Generator) -> None:
        week = np.array([day * hour for day in facts.weekdays for hour in facts.hours])
        self._rates = (week / week.mean()).reshape(7, 24)
        self._spread, self._memory = facts.day_spread, facts.day_memory
        self._rng = rng
        self._level = float(rng.standard_normal())
        self._passed = np.zeros(1)

    def when(self, points: FloatArray) -> FloatArray:
        """Seconds since the first midnight; days are added until all points are reached."""
        while self._passed[-1] <= points[-1]:
            days = len(self._passed) // 24
            noise = self._rng.standard_normal(max(days, 64)) * math.sqrt(1 - self._memory**2)
            levels = []
            for step in noise.tolist():
                levels.append(self._level)
                self._level = self._memory * self._level + step
            rates = np.exp(self._spread * np.array(levels) - self._spread**2 / 2)
            hourly = rates[:, None] * self._rates[np.arange(days, days + len(rates)) % 7] * HOUR
            self._passed = np.append(self._passed, self._passed[-1] + hourly.ravel().cumsum())
        hours = np.arange(len(self._passed), dtype=np.float64)
        seconds: FloatArray = np.interp(points, self._passed, hours * HOUR)
        return seconds


# -- pieces of a log ---------------------------------------------------------------------------


def sample_jobs(trace: Trace, jobs: int, *, seed: int, load: float | None = None) -> Trace:
    """Jobs drawn from a log with replacement, at Poisson arrivals (a sampled job set).

    Parameters
    ----------
    trace : Trace
        The log.
    jobs : int
        How many.
    seed : int
        0 or more.
    load : float, optional
        Offered load of the set, see `like`; that of the log by default.

    Raises
    ------
    DrasLabError
        If an argument is out of range, or the log has no load of its own.
    """
    jobs = check(jobs, load)
    if len(trace) == 0:
        raise DrasLabError(f"{trace.name}: no jobs to draw from")
    row_rng, gap_rng = streams(seed, 2)
    table = trace.table.iloc[row_rng.integers(len(trace), size=jobs)].reset_index(drop=True)
    load = trace.summary()["offered_load"] if load is None else load
    if not load:
        raise DrasLabError(f"{trace.name}: has no offered load of its own; say which you want")
    points = gap_rng.exponential(size=jobs).cumsum()
    held = table["size"] * np.minimum(table["run_time"], table["requested_time"])
    table["submit_time"] = at_load(
        lambda stretch: np.floor(points * stretch), float(held.sum()) / trace.nodes, load
    )
    table["job_id"] = np.arange(1, jobs + 1)
    # What the log says of waits and of jobs that follow on others does not hold here.
    table[["wait_time", "preceding_job", "think_time"]] = -1
    return Trace.from_table(table, trace.nodes, name=f"{trace.name}-sampled")


def slices(trace: Trace, jobs: int) -> list[Trace]:
    """A log in consecutive pieces of so many jobs (real job sets); the last may be shorter.

    Raises
    ------
    DrasLabError
        If `jobs` is not 1 or more.
    """
    jobs = whole("jobs", jobs)
    return [trace[start : start + jobs] for start in range(0, len(trace), jobs)]


# -- by name -----------------------------------------------------------------------------------


def generate(
    model: str,
    jobs: int,
    *,
    seed: int = 0,
    load: float | None = None,
    extra_columns: Literal["refuse", "ignore"] = "refuse",
) -> Trace:
    """Jobs of a model by its name: ``lublin``, ``theta-like``, or a log to imitate.

    Raises
    ------
    DrasLabError
        If there is no such model or log, or an argument is out of range.
    """
    check(jobs, load)
    if model == "lublin":
        return lublin(jobs, seed=seed, load=load)
    if model == "theta-like":
        return like(theta_facts(), jobs, seed=seed, load=load)
    try:
        trace = read_swf(model, extra_columns=extra_columns)
    except DrasLabError as error:
        if Path(model).exists():
            raise
        raise DrasLabError(
            f"{model!r}: no such model; give lublin, theta-like, or the file or name of a log"
        ) from error
    return like(trace, jobs, seed=seed, load=load)
