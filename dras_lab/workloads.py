"""Job sets for teaching and training: workload models, and sets made from a real log.

- `lublin`: the model of Lublin and Feitelson (2003).
- `like`: a generator fitted to a log. `fit` learns `Facts` from a log, sums and shares only.
- `sample_jobs`: jobs drawn from a log, at Poisson arrivals of a load you choose.
- `slices`: consecutive pieces of a log.

The last three are the synthetic, sampled and real job sets of the DRAS curriculum.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .jobs import DrasLabError
from .traces import Trace, read_swf

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MODELS = ("lublin", "theta-like")
MOST_JOBS = 10_000_000

HOUR, DAY, WEEK = 3600, 86_400, 604_800
MONDAY = 1_641_168_000  # Monday 3 January 2022, 0:00 UTC: second 0 of every synthetic log


# -- the model of Lublin and Feitelson ---------------------------------------------------------
#
# U. Lublin, D. G. Feitelson: The workload on parallel supercomputers: modeling the
# characteristics of rigid jobs. J. Parallel Distrib. Comput. 63(11), 1105-1122, 2003.
# The parameters are those for all jobs together, batch and interactive not told apart.

SERIAL, POWER_OF_TWO = 0.244, 0.576  # shares of jobs; the rest may have any size
LOG_SIZE_LOW, LOG_SIZE_MEDIUM_BELOW_HIGH, LOG_SIZE_FIRST = 0.8, 2.5, 0.86
RUN_SHORT, RUN_LONG = (4.2, 0.94), (312.0, 0.03)  # gammas (shape, scale) of ln(seconds)
RUN_SLOPE, RUN_SHARE = -0.0054, 0.78  # share of the short gamma: slope * size + share
RUN_MOST = 12.0  # ln(seconds): larger draws are drawn again, as for the gaps
GAP, GAP_MOST = (10.2303 * 1.0225, 0.4871), 13.0  # gamma of ln(seconds)
CYCLE, CYCLE_START = (8.1737, 3.9631), 11  # gamma of the half hour of the day, starting at the 11th

# What users ask for, in minutes: round values, up to two days. Ours.
ROUND_MINUTES = np.array(
    [5, 10, 15, 20, 30, 45, 60, 90]
    + [60 * h for h in (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 24, 30, 36, 48)]
)
EXACT_SHARE = 0.15  # share of jobs whose user knew the run time (before rounding up). Ours.


def daily_cycle() -> FloatArray:
    """How many jobs arrive in each half hour of the day, from midnight; their mean is 1."""
    shape, scale = CYCLE
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half_hours = np.arange(CYCLE_START, CYCLE_START + 48)
    at = half_hours[:, None] + nodes / 2
    density = at ** (shape - 1) * np.exp(-at / scale)  # its constant falls out below
    share = np.empty(48)
    share[(half_hours - 1) % 48] = density @ weights
    return share / share.mean()


def lublin(
    jobs: int,
    *,
    nodes: int = 256,
    seed: int,
    load: float | None = None,
    over_estimate: bool = True,
) -> Trace:
    """Jobs of the Lublin-Feitelson model.

    Sizes, run times and arrivals are the model's. It has no requested times; ours follow what
    Tsafrir, Etsion and Feitelson (Modeling user runtime estimates, JSSPP 2005) saw in logs:
    round values, and an accuracy (run time by request) that is spread evenly but for a spike
    at 1. Here the accuracy is 1 for 15 % of the jobs and uniform in (0, 1] for the others, and
    the request is the run time by the accuracy, rounded up to one of 23 values from 5 minutes
    to 48 hours, the longest. No job runs past its request.

    Parameters
    ----------
    jobs : int
        How many.
    nodes : int
        Processors of the machine, 16 or more.
    seed : int
        0 or more; one seed, one trace.
    load : float, optional
        Offered load, the sum of size * run time by nodes * span of the submissions. Jobs then
        arrive more or less often by a constant factor, through the same daily cycle. By
        default the model's own rate.
    over_estimate : bool
        If False, requests are the run times.

    Raises
    ------
    DrasLabError
        If an argument is out of range.
    """
    jobs, nodes = _check(jobs, load), _whole("nodes", nodes, least=16)
    size_rng, run_rng, gap_rng, request_rng = map(np.random.default_rng, _streams(seed, 4))

    high = float(np.log2(nodes))
    medium = high - LOG_SIZE_MEDIUM_BELOW_HIGH
    kind = size_rng.random(jobs)
    first = size_rng.random(jobs) <= LOG_SIZE_FIRST
    within = size_rng.random(jobs)
    log_size = np.where(
        first,
        LOG_SIZE_LOW + within * (medium - LOG_SIZE_LOW),
        medium + within * (high - medium),
    )
    log_size = np.where(
        kind <= SERIAL + POWER_OF_TWO, np.minimum(np.rint(log_size), np.floor(high)), log_size
    )
    size = np.where(kind <= SERIAL, 1, np.rint(2.0**log_size)).astype(np.int64)

    short = run_rng.random(jobs) <= np.clip(RUN_SLOPE * size + RUN_SHARE, 0, 1)
    log_run = np.where(
        short, _gamma(run_rng, RUN_SHORT, jobs, RUN_MOST), _gamma(run_rng, RUN_LONG, jobs, RUN_MOST)
    )
    run = np.exp(log_run).astype(np.int64)

    request = run
    if over_estimate:
        accuracy = np.where(
            request_rng.random(jobs) < EXACT_SHARE, 1.0, 1.0 - request_rng.random(jobs)
        )
        most = 60 * ROUND_MINUTES[-1]
        wanted = np.minimum(np.ceil(run / accuracy), most)
        request = 60 * ROUND_MINUTES[np.searchsorted(60 * ROUND_MINUTES, wanted)]

    points = np.exp(_gamma(gap_rng, GAP, jobs, GAP_MOST)).cumsum()
    clock = np.append(0.0, daily_cycle().cumsum()) * (DAY / 48)
    half_hours = np.arange(49) * (DAY / 48)

    def when(point: FloatArray) -> FloatArray:
        days, rest = np.divmod(point, clock[-1])
        return days * DAY + np.interp(rest, clock, half_hours)

    work = float((size * run).sum())
    submit = _at_load(points, when, None if load is None else work / (nodes * load))
    notes = (
        "Workload model of Lublin and Feitelson, J. Parallel Distrib. Comput. 63(11), 2003; "
        "all jobs together",
        "Requests over-estimated: run time by accuracy, rounded up to round values"
        if over_estimate
        else "Requests are the run times",
    )
    return _trace(f"lublin-{nodes}", nodes, submit, size, run, request, notes, seed, load)


def _gamma(rng: np.random.Generator, gamma: tuple[float, float], n: int, most: float) -> FloatArray:
    """Draws of a gamma (shape, scale); those above `most` are drawn again."""
    values = rng.gamma(*gamma, n)
    while (over := values > most).any():
        values[over] = rng.gamma(*gamma, int(over.sum()))
    return values


# -- a generator fitted to a log ---------------------------------------------------------------

LAGS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256)  # upper ends of the lag classes
BURST = 60  # seconds: jobs that follow closer than this belong to one burst
FEWEST = 10  # a value is told apart only if at least this many jobs have it ...
MOST_VALUES = 60  # ... and it is one of this many commonest; the others are pooled by octave
TABLE_JOBS = 100  # a class of jobs has a run-time table of its own from this many jobs on
RANKS = (np.arange(40) + 0.5) / 40

Choices = list[list[float]]  # [low, high, weight] each: whole numbers low..high, all alike


@dataclass(frozen=True)
class Facts:
    """What `fit` learns of a log: sums, shares and quantiles, never a row. JSON-ready.

    Attributes
    ----------
    name, nodes, jobs, load
        Of the log; `load` is its offered load.
    mean_gap : float
        Seconds between submissions, on average.
    hours, weekdays : list of float
        Arrival rate by hour (24) and weekday (7, Monday first), each by its mean.
    day_spread, day_memory : float
        Standard deviation of the logarithm of a day's own rate, and how much of it the next
        day keeps (lag-1 correlation).
    burst_gap : int
        Seconds; a burst is a run of jobs with gaps no longer than this.
    burst_sizes, sizes : list of [low, high, weight]
        Jobs of a burst; nodes of a job.
    burst_gaps : list of float
        Quantiles (at 1/80, 3/80, ... 79/80) of the gaps in bursts, in seconds.
    gap_shape : float
        Shape of the gamma distribution of the gaps between bursts; 1 is a Poisson process.
    unit : int
        Seconds that requested times are multiples of.
    requests : dict of list of [low, high, weight]
        Requested times in `unit`, by octave of the size.
    repeat_first, repeat_next : list of float
        Probability that a job is like one that came 1, 2, ... jobs before it (by classes of
        the lag, `LAGS`), for the first job of a burst and for the others. The remainder is
        drawn afresh.
    keep_rank : float
        Probability that a job that repeats another also runs about as long.
    runs : dict
        By "octave of size/octave of request": the share `past` its request, quantiles `under`
        of run time by request of the others, and quantiles `over` of the seconds past it.
    """

    name: str
    nodes: int
    jobs: int
    load: float
    mean_gap: float
    hours: list[float]
    weekdays: list[float]
    day_spread: float
    day_memory: float
    burst_gap: int
    burst_sizes: Choices
    burst_gaps: list[float]
    gap_shape: float
    sizes: Choices
    unit: int
    requests: dict[str, Choices]
    repeat_first: list[float]
    repeat_next: list[float]
    keep_rank: float
    runs: dict[str, dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON knows them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Facts:
        """The facts that `to_dict` gave; `DrasLabError` if something is missing."""
        missing = [field.name for field in fields(cls) if field.name not in facts]
        if missing:
            raise DrasLabError(f"facts of a log: {', '.join(missing)} missing; fit the log again")
        return cls(**{field.name: facts[field.name] for field in fields(cls)})


def theta_facts() -> Facts:
    """What was learnt from the log of Theta, ALCF, of 2022."""
    text = files("dras_lab").joinpath("theta_facts.json").read_text(encoding="utf-8")
    return Facts.from_dict(json.loads(text))


def fit(trace: Trace) -> Facts:
    """Learn from a log what `like` needs; `DrasLabError` if it has fewer than 20 jobs."""
    table = trace.table
    n = len(table)
    submit = table["submit_time"].to_numpy(np.int64)
    size = np.minimum(table["size"].to_numpy(np.int64), trace.nodes)
    request = table["requested_time"].to_numpy(np.int64)
    run = table["run_time"].to_numpy(np.int64)
    if n < 20 or submit[-1] <= submit[0]:
        raise DrasLabError(f"{trace.name}: too short to learn from; at least 20 jobs are needed")
    span = int(submit[-1] - submit[0])
    gaps = np.diff(submit)

    # Arrivals: bursts, and a rate that has a daily and a weekly shape and a level of each day.
    clock = submit + _clock_start(trace)
    hours_open = np.arange(clock[0] // HOUR, clock[-1] // HOUR + 1)
    hours = _rate(clock // HOUR % 24, hours_open % 24, 24)
    weekdays = _rate((clock // DAY + 3) % 7, (hours_open // 24 + 3) % 7, 7)
    burst_gap = int(min(BURST, max(1, span / n / 10)))
    first = np.append(True, gaps > burst_gap)
    spread, memory, levels = _day_levels(clock[first], weekdays)
    rate = hours[hours_open % 24] * weekdays[(hours_open // 24 + 3) % 7]
    rate *= levels[hours_open // 24 - clock[0] // DAY]
    points = np.interp(
        clock[first], np.append(hours_open, hours_open[-1] + 1) * HOUR, np.append(0, rate.cumsum())
    )
    between = np.diff(points)
    shape = between.mean() ** 2 / max(between.var(), 1e-12) if len(between) > 1 else 1.0

    # Shapes (size and request) and whether they repeat; run times.
    unit = 60 if (request % 60 == 0).mean() > 0.9 else 1
    asked = -(-request // unit)
    size_class, request_class = _octave(size), _octave(asked)
    same, alike = _repeats(size * (int(asked.max()) + 1) + asked)
    key = pd.Series(size_class * 100 + request_class)
    excess = run - request
    rank = pd.DataFrame({"key": key, "run": run / request}).groupby("key")["run"].rank(pct=True)
    pairs = same & ~first
    keep = np.corrcoef(rank[pairs], rank.shift(fill_value=0.5)[pairs])[0, 1] if pairs.any() else 0.0

    runs = {"*": _run_table(run, request)}
    classes = {f"*/{r}": request_class == r for r in np.unique(request_class)}
    for code, count in key.value_counts().sort_index().items():
        if count >= TABLE_JOBS:
            classes[f"{code // 100}/{code % 100}"] = (key == code).to_numpy()
    runs |= {name: _run_table(run[rows], request[rows]) for name, rows in classes.items()}
    held = np.minimum(run, request)
    return Facts(
        name=trace.name,
        nodes=trace.nodes,
        jobs=n,
        load=_short(float((size * held).sum()) / (trace.nodes * span)),
        mean_gap=_short(span / (n - 1)),
        hours=_short(hours),
        weekdays=_short(weekdays),
        day_spread=_short(spread),
        day_memory=_short(memory),
        burst_gap=burst_gap,
        burst_sizes=_choices(np.diff(np.append(first.nonzero()[0], n))),
        burst_gaps=_short(np.quantile(gaps[~first[1:]], RANKS)) if not first.all() else [0.0] * 40,
        gap_shape=_short(float(np.clip(shape, 0.1, 10))),
        sizes=_choices(size),
        unit=unit,
        requests={str(c): _choices(asked[size_class == c]) for c in np.unique(size_class)},
        repeat_first=_short(_repeat_weights(alike[first])),
        repeat_next=_short(_repeat_weights(alike[~first])),
        keep_rank=_short(float(np.clip(np.nan_to_num(keep), 0, 1))),
        runs=runs,
    )
