"""What is learnt from a job log, so that others like it can be made: `fit` gives `Facts`.

Facts are counts, shares and quantiles of groups of jobs; no row of the log is among them. They
say when jobs come (by hour and weekday, in bursts, more on some days than on others), how large
they are, what they ask for, how often a job is like one shortly before it, and how long jobs
run by what they ask for. `workloads.like` makes logs of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .headers import clock
from .jobs import DrasLabError
from .traces import Trace

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Choices = list[list[int]]  # [low, high, weight] each: whole numbers low..high, all alike
RunTable = dict[str, Any]

HOUR, DAY = 3600, 86_400
LAGS = (1, 2, 3, 4, 6, 8, 12, 16)  # upper ends of the classes of lags, see `_repeats`
RANKS = (np.arange(40) + 0.5) / 40  # where quantiles are taken
MOST_BURST_GAP = 60  # seconds
FEWEST = 10  # a value is told apart if at least this many jobs have it, ...
MOST_VALUES = 60  # ... and it is one of this many commonest; the others are pooled by octave
TABLE_JOBS = 100  # jobs of a class that has a run-time table of its own
FEWEST_JOBS = 20


@dataclass(frozen=True)
class Facts:
    """What `fit` learnt of a log, ready for JSON.

    Attributes
    ----------
    name : str
        Of the log.
    nodes, jobs : int
        Of the log.
    load : float
        Its offered load.
    mean_gap : float
        Mean time between submissions, in seconds.
    hours, weekdays : list of float
        Rate of arrival by hour (24) and by weekday (7, Monday first), each over its mean.
    day_spread, day_memory : float
        A day's own rate: standard deviation of its logarithm, and its lag-1 correlation.
    burst_gap : int
        A burst is a run of jobs with gaps of no more than this many seconds.
    burst_sizes, sizes : list of [low, high, weight]
        Jobs of a burst; nodes of a job.
    burst_gaps : list of float
        Quantiles, at `RANKS`, of the gaps inside bursts, in seconds.
    gap_shape : float
        Shape of the gamma distribution of what gaps between bursts have above `burst_gap`, on a
        clock that runs as fast as jobs come; 1 is a Poisson process.
    unit : int
        Requested times are multiples of this many seconds.
    requests : dict of list of [low, high, weight]
        Requested times in units, by octave of the size.
    lags : list of int
        Upper ends of the classes of lags: 1, 2, 3, 4, 5-6, 7-8, ...
    repeat_first, repeat_next : list of float
        Probability that a job has the size and request of the one that came so many jobs
        before it, by class of the lag: for the first job of a burst, and for the others.
    keep_rank : float
        Probability that a job that repeats another so also runs about as long.
    longest_run : int
        Longest run time, in seconds, rounded up to hours.
    runs : dict of RunTable
        By "octave of size/octave of request", with * for any: the share of jobs `past` their
        request, quantiles `under` of run time by request of those that are not, and quantiles
        `over` of the seconds past the request of those that are.
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
    lags: list[int]
    repeat_first: list[float]
    repeat_next: list[float]
    keep_rank: float
    longest_run: int
    runs: dict[str, RunTable]

    def to_json(self) -> str:
        """The facts as a JSON text, one fact a line."""
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in asdict(self).items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Facts:
        """Facts from what JSON gave.

        Raises
        ------
        DrasLabError
            If some are missing.
        """
        missing = [field.name for field in fields(cls) if field.name not in values]
        if missing:
            raise DrasLabError(f"facts of a log: no {', '.join(missing)}; fit the log again")
        return cls(**{field.name: values[field.name] for field in fields(cls)})


def theta_facts() -> Facts:
    """What was learnt from the log of Theta (ALCF, 4,360 nodes) of 2022."""
    text = files(__package__).joinpath("theta_facts.json").read_text(encoding="utf-8")
    return Facts.from_dict(json.loads(text))


def octave(values: npt.ArrayLike) -> IntArray:
    """The k of whole numbers in (2**(k-1), 2**k]; 0 for 1 and less. Exact."""
    below = np.maximum(np.asarray(values, dtype=np.int64) - 1, 0)
    return np.frexp(below.astype(np.float64))[1].astype(np.int64)


def clock_start(trace: Trace) -> int:
    """Local seconds since 1970 at second 0 of the log, as far as its header tells; else 0."""
    return clock(trace.header)[0]


def fit(trace: Trace) -> Facts:
    """Learn from a log what `workloads.like` needs to make others like it.

    Raises
    ------
    DrasLabError
        If the log has fewer than 20 jobs, or all come at once.
    """
    table = trace.table
    n = len(table)
    if n < FEWEST_JOBS or table["submit_time"].iloc[-1] == table["submit_time"].iloc[0]:
        raise DrasLabError(
            f"{trace.name}: {n} jobs are too few to learn from; "
            f"{FEWEST_JOBS} that do not all come at once are needed"
        )
    submit = table["submit_time"].to_numpy(np.int64)
    size = np.minimum(table["size"].to_numpy(np.int64), trace.nodes)
    request = table["requested_time"].to_numpy(np.int64)
    run = table["run_time"].to_numpy(np.int64)
    span = int(submit[-1] - submit[0])

    gaps = np.diff(submit)
    burst_gap = int(np.clip(span / n / 10, 1, MOST_BURST_GAP))
    first = np.append(True, gaps > burst_gap)
    inside = gaps[~first[1:]]

    unit = 60 if (request % 60 == 0).mean() > 0.9 else 1
    asked = -(-request // unit)
    size_class = octave(size)
    alike = _likeness(size * (int(asked.max()) + 1) + asked)
    return Facts(
        name=trace.name,
        nodes=trace.nodes,
        jobs=n,
        load=_short(trace.summary()["offered_load"]),
        mean_gap=_short(span / (n - 1)),
        **_arrivals(submit + clock_start(trace), first, burst_gap),
        burst_gap=burst_gap,
        burst_sizes=_choices(np.diff(np.append(first.nonzero()[0], n))),
        burst_gaps=_list(np.quantile(inside, RANKS) if len(inside) else np.zeros(len(RANKS))),
        sizes=_choices(size),
        unit=unit,
        requests={str(k): _choices(asked[size_class == k]) for k in np.unique(size_class)},
        lags=list(LAGS),
        repeat_first=_list(_repeats(alike[first])),
        repeat_next=_list(_repeats(alike[~first])),
        keep_rank=_kept(run / request, size_class * 100 + octave(asked), alike[:, 1] == 1, first),
        longest_run=-(-int(run.max()) // HOUR) * HOUR,
        runs=_run_tables(run, request, size_class, octave(asked)),
    )


def _arrivals(clock: IntArray, first: BoolArray, burst_gap: int) -> dict[str, Any]:
    """Hours, weekdays, the level of days, and the gaps between bursts."""
    slots = np.arange(clock[0] // HOUR, clock[-1] // HOUR + 1)  # hours that the log covers
    hour, weekday, day = slots % 24, (slots // 24 + 3) % 7, slots // 24 - slots[0] // 24
    hours = _rate(clock // HOUR % 24, hour, 24)
    weekdays = _rate((clock // DAY + 3) % 7, weekday, 7)
    rate = hours[hour] * weekdays[weekday]

    # What a day has more than its share of bursts, less what chance alone would give it.
    head = clock[first]
    bursts = np.bincount(head // DAY - slots[0] // 24, minlength=int(day[-1]) + 1)
    day_number, usual = np.arange(len(bursts)), np.bincount(day, weights=rate)
    usual *= bursts.sum() / usual.sum()
    level = bursts / np.where(usual > 0, usual, 1)
    open_days = (usual > 0) & (day_number > 0) & (day_number < day_number[-1])
    whole = level[open_days]  # the first and the last day are cut short
    spread = memory = 0.0
    if len(whole) >= 14:
        variance = max(float(whole.var() - (1 / usual[open_days]).mean()), 0.0)
        if variance > 0:
            along = float(((whole[1:] - 1) * (whole[:-1] - 1)).mean())
            spread = float(np.sqrt(np.log1p(variance)))
            memory = float(np.log1p(np.clip(along, 0, 0.95 * variance)) / np.log1p(variance))

    # Gaps between bursts on a clock that goes as fast as jobs come.
    passed = np.append(0.0, (rate * level[day]).cumsum())
    gap = np.diff(np.interp(head / HOUR, np.append(slots, slots[-1] + 1), passed)) * HOUR
    free = max(float(gap.mean()) - burst_gap, 0.0) if len(gap) else 0.0
    shape = free**2 / float(gap.var()) if len(gap) and gap.var() > 0 else 10.0
    return {
        "hours": _list(hours),
        "weekdays": _list(weekdays),
        "day_spread": _short(spread),
        "day_memory": _short(memory),
        "gap_shape": _short(min(max(shape, 0.1), 10.0)),
    }


def _rate(of_jobs: IntArray, of_slots: IntArray, classes: int) -> FloatArray:
    """Jobs a slot by class, over its mean; 1 for classes that the log does not cover."""
    slots = np.bincount(of_slots, minlength=classes)
    jobs = np.bincount(of_jobs, minlength=classes)
    rate: FloatArray = np.where(slots > 0, jobs / np.maximum(slots, 1), jobs.sum() / slots.sum())
    rate /= rate.mean()
    return rate


def _choices(values: IntArray) -> Choices:
    """Common values with their counts; the others by octave, between its bounds."""
    found, counts = np.unique(values, return_counts=True)
    least = FEWEST
    if len(found) > MOST_VALUES:
        least = max(least, int(np.sort(counts)[-MOST_VALUES - 1]) + 1)
    choices = [[int(v), int(v), int(c)] for v, c in zip(found, counts, strict=True) if c >= least]
    rare, weights = found[counts < least], counts[counts < least]
    for k in np.unique(octave(rare)):
        low, high = (2 ** (int(k) - 1) + 1 if k else 1), min(2 ** int(k), int(found[-1]))
        choices.append([low, high, int(weights[octave(rare) == k].sum())])
    return choices


def _likeness(shape: IntArray) -> FloatArray:
    """Of each job: how common its shape is, then the share of jobs by class of lag alike."""
    _, at, counts = np.unique(shape, return_inverse=True, return_counts=True)
    columns = [counts[at] / len(shape)]
    for low, high in zip((0, *LAGS[:-1]), LAGS, strict=True):
        alike = np.zeros(len(shape))
        for lag in range(low + 1, min(high, len(shape) - 1) + 1):
            alike[lag:] += shape[lag:] == shape[:-lag]
        columns.append(alike / (high - low))
    return np.column_stack(columns)


def _repeats(alike: FloatArray) -> FloatArray:
    """Weights of the lags, by expectation-maximisation.

    A job repeats the one at a lag or is drawn afresh: a mixture transition distribution
    (A. E. Raftery: A model for high-order Markov chains, J. R. Stat. Soc. B 47, 1985).
    """
    weights = np.full(alike.shape[1], 1 / alike.shape[1])
    if not len(alike):
        return np.zeros(alike.shape[1] - 1)
    for _ in range(200):
        part = alike * weights
        weights = (part / part.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights[1:]


def _kept(ratio: FloatArray, key: IntArray, same: BoolArray, first: BoolArray) -> float:
    """Correlation of the ranks of run times, in their class, of neighbours alike in a burst."""
    rank = pd.Series(ratio).groupby(key).rank(pct=True).to_numpy()
    pairs = (same & ~first).nonzero()[0]
    if len(pairs) < FEWEST or rank[pairs].std() == 0 or rank[pairs - 1].std() == 0:
        return 0.0
    return _short(float(np.clip(np.corrcoef(rank[pairs], rank[pairs - 1])[0, 1], 0, 1)))


def _run_tables(
    run: IntArray, request: IntArray, size_class: IntArray, request_class: IntArray
) -> dict[str, RunTable]:
    """Tables for all classes that have enough jobs, and one for all jobs together."""
    classes: dict[str, BoolArray] = {"*/*": np.ones(len(run), dtype=np.bool_)}
    for asked in np.unique(request_class):
        classes[f"*/{asked}"] = request_class == asked
    for size in np.unique(size_class):
        classes[f"{size}/*"] = size_class == size
        for asked in np.unique(request_class):
            classes[f"{size}/{asked}"] = (size_class == size) & (request_class == asked)
    tables = {}
    for name, rows in classes.items():
        if name != "*/*" and rows.sum() < TABLE_JOBS:
            continue
        past = rows & (run > request)
        under = rows & ~past
        tables[name] = {
            "past": _short(float(past.sum() / rows.sum())),
            "under": _list(np.quantile(run[under] / request[under], RANKS)) if under.any() else [],
            "over": _list(np.quantile((run - request)[past], RANKS)) if past.any() else [],
        }
    return tables


def _short(value: float) -> float:
    """Four digits: enough to draw from."""
    return float(f"{value:.4g}")


def _list(values: FloatArray) -> list[float]:
    return [_short(float(value)) for value in values]
