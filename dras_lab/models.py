"""The workload model of Lublin and Feitelson, and what all generators of jobs share.

One seed, one log: random numbers come from generators made of `seed` and of nothing else.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pandas as pd

from .facts import DAY, FloatArray, IntArray
from .jobs import DrasLabError
from .traces import Trace

MOST_JOBS = 10_000_000
MOST_DAYS = 1_000_000
MONDAY = 1_641_168_000  # Monday 3 January 2022, 0:00 UTC: second 0 of every synthetic log

# -- the model of Lublin and Feitelson ---------------------------------------------------------
#
# U. Lublin, D. G. Feitelson: The workload on parallel supercomputers: modeling the
# characteristics of rigid jobs. J. Parallel Distrib. Comput. 63(11), 1105-1122, 2003.
# The parameters are those for all jobs together, batch and interactive not told apart.

SERIAL, POWER_OF_TWO = 0.244, 0.576  # shares of jobs; the rest may have any size
# log2 of the size: uniform up to 2.5 below the machine's with this share, uniform above it else
LOW, BELOW_HIGH, LOWER_SHARE = 0.8, 2.5, 0.86
RUN_SHORT, RUN_LONG, RUN_MOST = (4.2, 0.94), (312.0, 0.03), 12.0  # gammas of ln(seconds)
SHORT_SLOPE, SHORT_SHARE = -0.0054, 0.78  # share of the short gamma: slope * size + share
GAP, GAP_MOST = (10.2303 * 1.0225, 0.4871), 13.0  # gamma of ln(seconds)
CYCLE, CYCLE_START = (8.1737, 3.9631), 11  # gamma of the half hour of arrival, from the 11th on

# What users ask for, and how many know what they need. Ours, see `lublin`.
ROUND_MINUTES = (5, 10, 15, 20, 30, 45, 60, 90, *(60 * h for h in (2, 3, 4, 5, 6, 8, 10)))
ROUND_MINUTES += tuple(60 * h for h in (12, 15, 18, 20, 24, 30, 36, 48))
EXACT_SHARE = 0.15


def daily_cycle() -> FloatArray:
    """Rate of arrivals by half hour of the day, from midnight, over its mean."""
    shape, scale = CYCLE
    at, weights = np.polynomial.legendre.leggauss(8)
    half_hours = np.arange(CYCLE_START, CYCLE_START + 48)
    points = half_hours[:, None] + at / 2
    share: FloatArray = np.empty(48)
    share[(half_hours - 1) % 48] = (points ** (shape - 1) * np.exp(-points / scale)) @ weights
    share /= share.mean()
    return share


def lublin(
    jobs: int,
    *,
    nodes: int = 256,
    seed: int,
    load: float | None = None,
    over_estimate: bool = True,
) -> Trace:
    """Jobs of the Lublin-Feitelson model.

    Sizes, run times and arrivals are the model's. It says nothing of requested times. Ours
    follow what Tsafrir, Etsion and Feitelson (Modeling user runtime estimates, JSSPP 2005) saw
    in logs: few and round values, and an accuracy (run time by request) spread evenly but for
    a spike at 1. The numbers are our own: 15 % of the users know the run time, the accuracy of
    the others is uniform in (0, 1], and the request is run time by accuracy, rounded up to one
    of 23 values from 5 minutes to 48 hours. No job runs past its request.

    Parameters
    ----------
    jobs : int
        How many.
    nodes : int
        Processors of the machine, 16 or more.
    seed : int
        0 or more.
    load : float, optional
        Offered load: sum of size * run time by nodes * span of the submissions. Jobs then come
        more or less often by a constant factor, through the same daily cycle. By default they
        come as often as the model has it.
    over_estimate : bool
        If False, users request just the run time.

    Raises
    ------
    DrasLabError
        If an argument is out of range.
    """
    jobs, nodes = check(jobs, load), whole("nodes", nodes, least=16)
    size_rng, run_rng, gap_rng, request_rng = streams(seed, 4)

    kind, lower, within = size_rng.random((3, jobs))
    high = math.log2(nodes)
    medium = high - BELOW_HIGH
    in_lower = LOW + within * (medium - LOW)
    exponent = np.where(lower < LOWER_SHARE, in_lower, medium + within * BELOW_HIGH)
    power = np.minimum(np.rint(exponent), math.floor(high))
    exponent = np.where(kind < SERIAL + POWER_OF_TWO, power, exponent)
    size = np.where(kind < SERIAL, 1, np.rint(2.0**exponent)).astype(np.int64)

    share = np.clip(SHORT_SLOPE * size + SHORT_SHARE, 0, 1)
    short, long = (_gamma(run_rng, *law, RUN_MOST, jobs) for law in (RUN_SHORT, RUN_LONG))
    run = np.exp(np.where(run_rng.random(jobs) < share, short, long)).astype(np.int64)

    request = run
    if over_estimate:
        exact, accuracy = request_rng.random((2, jobs))
        accuracy = np.where(exact < EXACT_SHARE, 1.0, 1.0 - accuracy)
        values = 60 * np.array(ROUND_MINUTES)
        request = values[np.searchsorted(values, np.minimum(run / accuracy, values[-1]))]

    points = np.exp(_gamma(gap_rng, *GAP, GAP_MOST, jobs)).cumsum()
    clock = np.append(0.0, daily_cycle().cumsum()) * (DAY / 48)
    half_hours = np.arange(49) * (DAY / 48)

    def submissions(stretch: float) -> FloatArray:
        days, rest = np.divmod(points * stretch, clock[-1])
        times: FloatArray = np.floor(days * DAY + np.interp(rest, clock, half_hours))
        return times

    submit = at_load(submissions, float((size * run).sum()) / nodes, load)
    notes = (
        "Sizes, run times and arrivals: the model of Lublin and Feitelson, J. Parallel Distrib. "
        "Comput. 63(11), 2003, for all jobs together",
        "Requested times: " + ("over-estimated, round values" if over_estimate else "run times"),
    )
    return finished(f"lublin-{nodes}", nodes, submit, size, run, request, seed, notes)


def _gamma(rng: np.random.Generator, shape: float, scale: float, most: float, n: int) -> FloatArray:
    """Draws of a gamma distribution; those above `most` are drawn again."""
    values = rng.gamma(shape, scale, n)
    while (over := values > most).any():
        values[over] = rng.gamma(shape, scale, int(over.sum()))
    return values


# -- what they share ---------------------------------------------------------------------------


def whole(name: str, value: int, least: int = 1) -> int:
    """`value` as an int, or a `DrasLabError` if it is no whole number of `least` or more."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise DrasLabError(f"{name}: {value!r} is not a whole number of {least} or more")
    return number


def check(jobs: int, load: float | None) -> int:
    """`jobs` as an int, or a `DrasLabError` if it or the load is out of range."""
    if load is not None and not 0 < load < math.inf:
        raise DrasLabError(f"load: {load!r} is not a number above 0")
    if whole("jobs", jobs) > MOST_JOBS:
        raise DrasLabError(f"jobs: {jobs} is more than {MOST_JOBS:,}, the most that are made")
    return operator.index(jobs)


def streams(seed: int, n: int) -> list[np.random.Generator]:
    """Independent generators of one seed, so that what one draws does not move the others."""
    children = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(n)
    return [np.random.Generator(np.random.PCG64(child)) for child in children]


def at_load(
    submissions: Callable[[float], FloatArray], node_seconds: float, load: float | None
) -> FloatArray:
    """Submissions stretched so that their span is that of the load; `node_seconds` of work."""
    times = submissions(1.0)
    if load is None or len(times) == 1:
        return times
    wanted = node_seconds / load
    if wanted > MOST_DAYS * DAY:
        raise DrasLabError(f"load: at {load} the jobs would take over {MOST_DAYS:,} days to come")

    def span(stretch: float) -> float:
        times = submissions(stretch)
        return float(times.max() - times.min())

    low, high = 0.0, 1.0
    span_low, span_high = span(low), span(high)
    while span_high < wanted and high < 1e12:
        low, high = high, 2 * high
        span_low, span_high = span_high, span(high)
    if span_low > wanted or span_high < wanted:
        raise DrasLabError(f"load: {load} is out of reach with so few jobs; ask for more jobs")
    # The span grows with the stretch, by whole seconds: interpolate and halve in turns.
    turn = 0
    while span_high - wanted >= 1 and high - low > 1e-12 * high:
        turn += 1
        part = 0.5 if turn % 2 else (wanted - span_low) / (span_high - span_low)
        middle = low + part * (high - low)
        if (found := span(middle)) < wanted:
            low, span_low = middle, found
        else:
            high, span_high = middle, found
    return submissions(high)


def finished(
    name: str,
    nodes: int,
    submit: FloatArray,
    size: IntArray,
    run: IntArray,
    request: IntArray,
    seed: int,
    notes: tuple[str, ...],
) -> Trace:
    """The trace of jobs in any order, with its header."""
    table = pd.DataFrame(
        {
            "submit_time": submit.astype(np.int64),
            "run_time": run,
            "allocated_procs": size,
            "size": size,
            "requested_time": request,
            "status": 1,
        }
    ).sort_values("submit_time", kind="stable", ignore_index=True)
    header = [
        ("Version", "2.2"),
        ("Computer", f"none: synthetic, {nodes} nodes"),
        ("Installation", "synthetic, dras_lab"),
        ("MaxJobs", str(len(table))),
        ("MaxRecords", str(len(table))),
        ("UnixStartTime", str(MONDAY)),
        ("TimeZone", "0"),
        ("TimeZoneString", "UTC"),
        ("MaxNodes", str(nodes)),
        ("MaxProcs", str(nodes)),
        *(("Note", note) for note in notes),
    ]
    trace = Trace.from_table(table, nodes, name=name, header=tuple(header))
    load = trace.summary()["offered_load"]
    made = f"Made with seed {seed}" + (f"; offered load {load:.3f}" if load else "")
    trace.header = (*header, ("Note", made))
    return trace
