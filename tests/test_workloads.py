"""Generators of jobs, against published parameters and logs whose facts are known by hand."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import statistics

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, shared

from dras_lab.facts import clock_start, octave
from dras_lab.jobs import DrasLabError
from dras_lab.models import ROUND_MINUTES, daily_cycle
from dras_lab.traces import Trace, read_swf
from dras_lab.workloads import (
    Facts,
    fit,
    generate,
    like,
    lublin,
    sample_jobs,
    slices,
    theta_facts,
)

HOUR, DAY, WEEK = 3600, 86_400, 604_800


def within(measured: float, expected: float, error: float) -> bool:
    """Within four standard errors: 6 of 100,000 right answers fail, and the seeds are fixed."""
    return abs(measured - expected) < 4 * error


def share_is(measured: np.ndarray, expected: float) -> bool:
    """The share of true values, with the standard error of a share."""
    return within(measured.mean(), expected, math.sqrt(expected * (1 - expected) / len(measured)))


def same(one: Trace, other: Trace) -> bool:
    return one.table.equals(other.table) and one.nodes == other.nodes


def column(trace: Trace, name: str) -> np.ndarray:
    return trace.table[name].to_numpy()


def load_of(trace: Trace) -> float:
    """Offered load from its definition."""
    t = trace.table
    held = sum(
        size * min(run, request)
        for size, run, request in zip(t["size"], t["run_time"], t["requested_time"], strict=True)
    )
    return held / (trace.nodes * int(t["submit_time"].max() - t["submit_time"].min()))


def make_trace(submit, size, request, run, nodes=100, header=()) -> Trace:
    size, request, run = (np.broadcast_to(x, len(submit)) for x in (size, request, run))
    table = pd.DataFrame(
        {"submit_time": submit, "size": size, "requested_time": request, "run_time": run}
    )
    return Trace.from_table(table, nodes, name="hand-made", header=header)


# ---------------------------------------------------------------------------------------------
# The model of Lublin and Feitelson. The numbers below are those published with the model, for
# batch and interactive jobs together; on 256 processors the sizes' upper ends are 5.5 and 8.

N = 100_000


@pytest.fixture(scope="module")
def model() -> Trace:
    return lublin(N, seed=0)


def cdf_log_size(x: float) -> float:
    """Of the two-stage uniform distribution of log2(size): 0.86 in [0.8, 5.5], else up to 8."""
    return 0.86 * np.clip((x - 0.8) / 4.7, 0, 1) + 0.14 * np.clip((x - 5.5) / 2.5, 0, 1)


def gamma_density(x: np.ndarray, shape: float, scale: float) -> np.ndarray:
    return np.exp((shape - 1) * np.log(x / scale) - x / scale - math.lgamma(shape)) / scale


def gamma_share(low: float, high: float, shape: float, scale: float) -> float:
    """Probability of (low, high), by the trapezoidal rule."""
    x = np.linspace(max(low, 1e-9), high, 20_001)
    return float(np.trapezoid(gamma_density(x, shape, scale), x))


@pytest.mark.parametrize("k", range(9))
def test_lublin_sizes_that_are_powers_of_two(model, k):
    size = 2**k
    rounded = cdf_log_size(k + 0.5) - cdf_log_size(k - 0.5)
    any_size = cdf_log_size(math.log2(size + 0.5)) - cdf_log_size(math.log2(size - 0.5))
    expected = 0.576 * rounded + 0.18 * any_size + (0.244 if k == 0 else 0)
    assert share_is(column(model, "size") == size, expected)


def test_lublin_other_sizes(model):
    """From the 18 % of any size: what rounds to a size that is no power of two."""
    size = column(model, "size")
    assert size.min() == 1
    assert size.max() == 256
    for low, high in ((3, 3), (5, 7), (9, 15), (33, 63), (129, 255)):
        expected = 0.18 * (cdf_log_size(math.log2(high + 0.5)) - cdf_log_size(math.log2(low - 0.5)))
        assert share_is((size >= low) & (size <= high), expected)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (8, 8), (64, 64), (128, 256)])
@pytest.mark.parametrize("seconds", [5, 50, 500, 5000, 20_000])
def test_lublin_run_times_by_size(model, low, high, seconds):
    """Of ln(run time): gamma(4.2, 0.94) with probability 0.78 - 0.0054 size, else (312, 0.03)."""
    size, run = column(model, "size"), column(model, "run_time")
    rows = (size >= low) & (size <= high)
    p = np.clip(0.78 - 0.0054 * size[rows], 0, 1).mean()
    longer = [
        gamma_share(math.log(seconds), 12, *law) / gamma_share(0, 12, *law)
        for law in ((4.2, 0.94), (312, 0.03))
    ]
    assert share_is(run[rows] >= seconds, p * longer[0] + (1 - p) * longer[1])
    assert run.max() < math.exp(12)  # 162,755 s, where the model cuts
    assert run.min() >= 1


def gap_moments() -> tuple[float, float]:
    """Mean and variance of a gap, exp(gamma(10.2303 * 1.0225, 0.4871)) cut at exp(13)."""
    x = np.linspace(1e-9, 13, 200_001)
    density = gamma_density(x, 10.2303 * 1.0225, 0.4871)
    whole = np.trapezoid(density, x)
    mean = np.trapezoid(np.exp(x) * density, x) / whole
    return mean, np.trapezoid(np.exp(2 * x) * density, x) / whole - mean**2


def test_lublin_gaps(model):
    mean, variance = gap_moments()
    span = column(model, "submit_time")[-1]
    assert within(span / N, mean, math.sqrt(variance / N) + DAY / N)  # it ends at some hour


def test_lublin_daily_cycle(model):
    """The half hours from 5:30 on follow a gamma(8.1737, 3.9631), wrapped round the day."""
    edges = [(i - 0.5, i + 0.5) for i in range(11, 59)]
    expected = np.empty(48)
    expected[(np.arange(11, 59) - 1) % 48] = [gamma_share(*e, 8.1737, 3.9631) for e in edges]
    expected *= 48 / expected.sum()
    assert daily_cycle() == pytest.approx(expected, rel=1e-6)
    assert 13 <= daily_cycle().argmax() / 2 <= 15  # the published peak: early in the afternoon
    counts = np.bincount(column(model, "submit_time") // 1800 % 48, minlength=48)
    mean, variance = gap_moments()
    # Arrivals of a renewal process: their number varies by the gaps' variance over mean squared.
    errors = np.sqrt(counts.mean() * expected * variance / mean**2)
    assert (abs(counts - counts.mean() * expected) < 4 * errors).all()


def test_lublin_gaps_are_cut(model):
    """No gap above exp(13) s = 5 days, on the clock that runs as fast as jobs come."""
    clock = np.append(0, daily_cycle().cumsum()) * 1800
    days, rest = np.divmod(column(model, "submit_time"), DAY)
    gaps = np.diff(days * DAY + np.interp(rest, np.arange(49) * 1800, clock))
    assert math.exp(12) < gaps.max() < math.exp(13) + 4  # times are whole seconds


def test_lublin_is_of_the_size_of_the_authors_own_sample():
    """53 jobs that the authors' program made: too few for more than an order of magnitude."""
    path = shared("odd", "lublin-extra-float-column.swf")
    sample = read_swf(path, extra_columns="ignore")
    made = lublin(N, seed=0)
    for name in ("size", "run_time"):
        ratio = column(made, name).mean() / column(sample, name).mean()
        assert 0.5 < ratio < 2


def test_lublin_requests_are_round_and_never_too_short(model):
    run, request = column(model, "run_time"), column(model, "requested_time")
    assert (request >= run).all()
    assert set(np.unique(request)) == {60 * minutes for minutes in ROUND_MINUTES}
    exact = lublin(1000, seed=3, over_estimate=False)
    assert (column(exact, "requested_time") == column(exact, "run_time")).all()


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_lublin_accuracy(model, steps):
    """The request is at most v where run / accuracy is: 0.15 + 0.85 P(uniform >= run / v)."""
    run, request = column(model, "run_time"), column(model, "requested_time")
    values = 60 * np.array(ROUND_MINUTES)
    next_value = np.searchsorted(values, run)
    rows = next_value + steps < len(values) - 1  # below 48 hours, where all that is longer ends
    limit = values[next_value[rows] + steps]
    assert share_is(request[rows] <= limit, 0.15 + 0.85 * (1 - (run[rows] / limit).mean()))


@pytest.mark.parametrize("nodes", [16, 100, 1024])
def test_lublin_on_other_machines(nodes):
    trace = lublin(5000, nodes=nodes, seed=1)
    size = column(trace, "size")
    assert trace.nodes == nodes
    assert size.max() <= nodes
    assert share_is(size == 1, 0.244)  # no parallel job rounds to 1: 2**0.8 is 1.74
    # Powers of two of the model and none above the machine: 64 of 100 is the last.
    assert (size & (size - 1) == 0).mean() > 0.82 - 4 * math.sqrt(0.82 * 0.18 / 5000)


# ---------------------------------------------------------------------------------------------
# What holds for every generator


def busy_log() -> Trace:
    """2,000 jobs of a made-up log with some of everything."""
    rng = np.random.default_rng(5)
    submit = rng.integers(0, 30 * DAY, 2000)
    request = rng.choice([1800, 3600, 7200], 2000)
    run = np.minimum(request + 60, rng.integers(1, 7300, 2000))
    return make_trace(submit, rng.choice([1, 2, 8, 64], 2000), request, run)


GENERATORS = {
    "lublin": lambda jobs, seed, load=None: lublin(jobs, seed=seed, load=load),
    "like": lambda jobs, seed, load=None: like(busy_log(), jobs, seed=seed, load=load),
    "theta": lambda jobs, seed, load=None: like(theta_facts(), jobs, seed=seed, load=load),
    "sample": lambda jobs, seed, load=None: sample_jobs(busy_log(), jobs, seed=seed, load=load),
}
each_generator = pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)


@each_generator
def test_one_seed_one_log(make):
    one = make(500, 3)
    np.random.seed(99)  # noqa: NPY002  the global state must not matter
    np.random.random(10)  # noqa: NPY002
    assert same(one, make(500, 3))
    assert not one.table["run_time"].equals(make(500, 4).table["run_time"])
    assert not one.table["submit_time"].equals(make(500, 4).table["submit_time"])


@each_generator
@pytest.mark.parametrize("load", [0.2, 0.9, 1.5])
def test_the_load_is_what_was_asked_for(make, load):
    """Submissions are whole seconds: the span is right to a second or two."""
    trace = make(2000, 1, load)
    span = column(trace, "submit_time")[-1] - column(trace, "submit_time")[0]
    assert load_of(trace) == pytest.approx(load, rel=3 / span)
    assert trace.summary()["offered_load"] == pytest.approx(load, rel=3 / span)


@each_generator
def test_the_load_changes_arrivals_and_nothing_else(make):
    slow, fast = make(1000, 7, 0.5), make(1000, 7, 1.0)

    def jobs(trace: Trace) -> list[tuple[int, ...]]:
        return sorted(
            zip(*(column(trace, c) for c in ("size", "run_time", "requested_time")), strict=True)
        )

    assert jobs(slow) == jobs(fast)


@each_generator
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_few_jobs(make, jobs):
    assert len(make(jobs, 0)) == jobs


@each_generator
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((0, 1), "jobs: 0 is not a whole number of 1 or more"),
        ((-5, 1), "jobs: -5"),
        ((2.5, 1), "jobs: 2.5"),
        ((10_000_001, 1), "jobs: 10000001 is more than 10,000,000"),
        ((10, -1), "seed: -1 is not a whole number of 0 or more"),
        ((10, 1, 0.0), "load: 0.0 is not a number above 0"),
        ((10, 1, -0.5), "load: -0.5"),
        ((10, 1, math.nan), "load: nan"),
        ((10, 1, math.inf), "load: inf"),
        ((10, 1, 1e-12), "load: at 1e-12 the jobs would take over"),
    ],
)
def test_arguments_out_of_range(make, arguments, complaint):
    with pytest.raises(DrasLabError) as raised:
        make(*arguments)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_machine_too_small_for_the_model():
    with pytest.raises(DrasLabError, match="nodes: 15 is not a whole number of 16 or more"):
        lublin(10, nodes=15, seed=0)
    with pytest.raises(DrasLabError, match="nodes: 0"):
        like(theta_facts(), 10, seed=0, nodes=0)


def test_headers_say_how_a_log_was_made():
    for trace in (lublin(50, seed=4, load=0.8), like(theta_facts(), 50, seed=4, load=0.8)):
        header = dict(trace.header)
        assert header["Version"] == "2.2"
        assert header["Installation"] == "synthetic, dras_lab"
        assert header["MaxNodes"] == header["MaxProcs"] == str(trace.nodes)
        assert header["Note"] == "Made with seed 4; offered load 0.800"
        assert pd.Timestamp(int(header["UnixStartTime"]), unit="s") == pd.Timestamp("2022-01-03")
        assert pd.Timestamp("2022-01-03").day_name() == "Monday"


# ---------------------------------------------------------------------------------------------
# Learning from logs whose facts are known


def test_even_arrivals():
    """A job every hour on the hour, four weeks from a Monday on: every hour and day alike."""
    facts = fit(make_trace(np.arange(4 * 168) * HOUR, 4, 3600, 1800, nodes=10, header=MONDAY))
    assert facts.hours == [1.0] * 24
    assert facts.weekdays == [1.0] * 7
    assert (facts.day_spread, facts.day_memory) == (0.0, 0.0)
    assert facts.mean_gap == 3600
    assert facts.burst_sizes == [[1, 1, 672]]
    assert facts.load == pytest.approx(4 * 1800 * 672 / (10 * 671 * HOUR), rel=1e-3)
    assert facts.gap_shape == 10.0  # as regular as it gets
    assert (facts.nodes, facts.jobs, facts.name) == (10, 672, "hand-made")


MONDAY = (("UnixStartTime", "1641168000"),)


def office_hours(weeks: int, minutes: int = 10) -> np.ndarray:
    """A submission every few minutes, Monday to Friday, from 9 to 17; second 0 is a Monday."""
    seconds = np.arange(0, weeks * WEEK, 60 * minutes)
    working = (seconds // DAY % 7 < 5) & (seconds // HOUR % 24 >= 9) & (seconds // HOUR % 24 < 17)
    return seconds[working]


def test_office_hours():
    """The rate is 24/8 of the mean in 8 hours and 7/5 on 5 days.

    The log begins on Monday at 9 and ends on Friday at 17. It covers Monday from 9 to 24 (15 hours)
    once less, and so on: with 52 weeks that is within a hundredth.
    """
    trace = make_trace(office_hours(52), 1, 600, 300, header=MONDAY)
    facts = fit(trace)
    assert facts.hours == pytest.approx([0] * 9 + [3] * 8 + [0] * 7, rel=0.01)
    assert facts.weekdays == pytest.approx([1.4] * 5 + [0, 0], rel=0.01)
    made = like(facts, 5000, seed=1)
    clock = column(made, "submit_time")
    inside = (clock // DAY % 7 < 5) & (clock // HOUR % 24 >= 9) & (clock // HOUR % 24 < 17)
    # A burst may end after 17; none begins outside.
    assert inside.mean() > 0.99
    assert made.summary()["arrivals_by_weekday"][5:] == [0, 0]


def test_the_header_says_when_a_log_begins():
    submit = np.arange(40) * WEEK + 30 * 60  # half past midnight, on the same weekday each week
    for header, hour, weekday in (
        ((), 0, 3),  # 1 January 1970 was a Thursday
        ((("UnixStartTime", "1641168000"),), 0, 0),
        ((("UnixStartTime", "1641168000"), ("TimeZone", "-3600")), 23, 6),
        ((("UnixStartTime", "1641168000"), ("TimeZone", "7200")), 2, 0),
    ):
        trace = make_trace(submit, 1, 600, 300, header=header)
        facts = fit(trace)
        assert int(np.argmax(facts.hours)) == hour
        assert int(np.argmax(facts.weekdays)) == weekday
        assert int(np.argmax(trace.summary()["arrivals_by_hour"])) == hour  # as summary has it
    assert clock_start(make_trace(submit, 1, 1, 1, header=(("UnixStartTime", "n/a"),))) == 0


def test_bursts():
    """Bursts of three jobs 5 s apart, every two hours."""
    submit = (np.arange(300)[:, None] * 2 * HOUR + [0, 5, 10]).ravel()
    facts = fit(make_trace(submit, 1, 600, 300))
    assert facts.burst_sizes == [[3, 3, 300]]
    assert set(facts.burst_gaps) == {5.0}
    gaps = np.diff(column(like(facts, 3000, seed=2), "submit_time"))
    assert ((gaps >= 4) & (gaps <= 6)).mean() > 0.6  # two of three gaps, but bursts may overlap


@pytest.mark.parametrize(("gap", "sizes"), [(60, [[2, 2, 200]]), (61, [[1, 1, 400]])])
def test_a_burst_ends_after_a_minute(gap, sizes):
    submit = (np.arange(200)[:, None] * 3 * HOUR + [0, gap]).ravel()
    assert fit(make_trace(submit, 1, 600, 300)).burst_sizes == sizes


def test_gaps_between_bursts():
    """A Poisson process, thinned to gaps of over a minute: exponential above it (shape 1)."""
    rng = np.random.default_rng(6)
    submit = (60 + rng.exponential(1500, 5000)).cumsum().astype(int)
    facts = fit(make_trace(submit, 1, 600, 300))
    # The standard error of var / mean**2 of n exponentials is sqrt(8 / n).
    assert within(1 / facts.gap_shape, 1, math.sqrt(8 / 5000))
    flat = dataclasses.replace(facts, hours=[1.0] * 24, weekdays=[1.0] * 7, day_spread=0.0)
    gaps = np.diff(column(like(flat, 5000, seed=1), "submit_time"))
    assert gaps.min() in (60, 61)
    assert within(gaps.mean(), facts.mean_gap, 1500 / math.sqrt(5000))


def test_days_differ_by_more_than_chance():
    """Days of 10 and of 40 jobs by turns of five: the level's spread and memory by hand.

    A day's count over the mean is 0.4 or 1.6, its variance 0.36. Chance (a Poisson process) would
    give 1 / 25 = 0.04, so 0.32 is the days' own: ln 1.32 = 0.2776, and its root is 0.527. Of two
    neighbouring days 4 of 5 pairs are alike: covariance 0.36 * (4 - 1) / 5 = 0.216, and
    ln 1.216 / ln 1.32 = 0.704. The ends of the log move both a little.
    """
    counts = np.tile(np.repeat([10, 40], 5), 7)  # 70 days: ten whole weeks
    submit = np.concatenate([DAY * day + np.arange(n) * DAY // n for day, n in enumerate(counts)])
    facts = fit(make_trace(submit, 1, 600, 300))
    assert facts.day_spread == pytest.approx(0.527, abs=0.04)
    assert facts.day_memory == pytest.approx(0.704, abs=0.06)
    # Days of the same number of jobs do not differ at all, nor do those of a Poisson process.
    even = fit(make_trace(np.arange(70 * 25) * DAY // 25, 1, 600, 300))
    assert even.day_spread == 0
    submit = np.random.default_rng(8).integers(0, 700 * DAY, 700 * 25)
    assert fit(make_trace(submit, 1, 600, 300)).day_spread < 0.1


def test_generated_days_differ_as_much():
    """Learning from what was made of facts gives the facts back."""
    facts = dataclasses.replace(
        fit(make_trace(np.arange(400) * 1800, 1, 600, 300)),
        hours=[1.0] * 24, weekdays=[1.0] * 7, gap_shape=1.0, day_spread=0.6, day_memory=0.7,
    )  # fmt: skip
    made = like(facts, 48 * 2000, seed=1)
    again = fit(made)
    assert again.day_spread == pytest.approx(0.6, abs=0.05)
    assert again.day_memory == pytest.approx(0.7, abs=0.07)
    # 2,000 days, of which 350 or so tell on their own: the mean rate is right within 4 * 0.035.
    assert again.mean_gap == pytest.approx(facts.mean_gap, rel=0.14)


def test_requests_go_with_sizes():
    rng = np.random.default_rng(1)
    size = rng.choice([4, 64], 1000, p=[0.75, 0.25])
    request = np.where(size == 4, 600, rng.choice([3600, 7200], 1000))
    facts = fit(make_trace(np.arange(1000) * 700, size, request, 300))
    small = int((size == 4).sum())
    assert facts.sizes == [[4, 4, small], [64, 64, 1000 - small]]
    assert facts.unit == 60
    hours = int((request == 3600).sum())
    assert facts.requests == {
        "2": [[10, 10, small]],  # 4 is the top of octave 2, and 600 s are 10 minutes
        "6": [[60, 60, hours], [120, 120, 1000 - small - hours]],
    }
    made = like(facts, 4000, seed=1)
    pairs = set(zip(column(made, "size"), column(made, "requested_time"), strict=True))
    assert pairs == {(4, 600), (64, 3600), (64, 7200)}
    assert share_is(column(made, "size") == 4, small / 1000)


def test_rare_values_are_pooled():
    """100 jobs of 8 nodes, 10 of 12, 9 of 13, one each of 33 to 36: the last are not told apart."""
    size = np.repeat([8, 12, 13, 33, 34, 35, 36], [100, 10, 9, 1, 1, 1, 1])
    facts = fit(make_trace(np.arange(len(size)) * 900, size, 600, 300))
    assert facts.sizes == [[8, 8, 100], [12, 12, 10], [9, 16, 9], [33, 36, 4]]
    made = column(like(facts, 3000, seed=1), "size")
    assert set(np.unique(made)) == {8, *range(9, 17), 33, 34, 35, 36}


def test_no_more_than_sixty_values_are_told_apart():
    size = np.repeat(np.arange(1, 101), np.where(np.arange(1, 101) <= 40, 30, 11))
    facts = fit(make_trace(np.arange(len(size)) * 900, size, 600, 300, nodes=128))
    exact = [low for low, high, _ in facts.sizes if low == high]
    assert exact == list(range(1, 41))  # the other sixty are all as common: none of them
    assert sum(weight for *_, weight in facts.sizes) == len(size)


def test_how_long_jobs_run():
    """Half of the jobs run half their request, a quarter just as long, a quarter 30 s longer."""
    rng = np.random.default_rng(2)
    run = rng.choice([1800, 3600, 3630], 4000, p=[0.5, 0.25, 0.25])
    facts = fit(make_trace(np.arange(4000) * 700, 1, 3600, run))
    past = (run > 3600).mean()
    assert facts.runs["*/*"]["past"] == pytest.approx(past, abs=1e-4)
    under = facts.runs["*/*"]["under"]
    assert under[0] == 0.5
    assert under[-1] == 1.0
    assert set(facts.runs["*/*"]["over"]) == {30.0}
    assert facts.longest_run == 2 * HOUR
    made = column(like(facts, 20_000, seed=3), "run_time")
    assert share_is(made > 3600, past)
    assert set(made[made > 3600]) == {3630}
    # Between two of 40 quantiles run times are interpolated: 1 in 40 of those below the request.
    assert (made == 1800).mean() == pytest.approx((run == 1800).mean(), abs=0.03)
    assert (made == 3600).mean() == pytest.approx((run == 3600).mean(), abs=0.03)


def test_a_wild_request_makes_no_wild_run_time():
    """One job asked for twelve days and ran for a minute; all others ran as long as they asked."""
    request = np.append(np.full(200, 3600), 1_000_800)
    run = np.append(np.full(200, 3600), 60)
    facts = fit(make_trace(np.arange(201) * 900, 1, request, run))
    made = like(facts, 5000, seed=1)
    assert column(made, "requested_time").max() > 500_000
    assert column(made, "run_time").max() == 3600


def test_run_times_go_with_size_and_request():
    """Small jobs use a tenth of their request, large ones nine tenths."""
    size = np.tile([2, 64], 500)
    run = np.where(size == 2, 360, 3240)
    facts = fit(make_trace(np.arange(1000) * 900, size, 3600, run))
    made = like(facts, 2000, seed=1).table
    assert set(made["run_time"][made["size"] == 2]) == {360}
    assert set(made["run_time"][made["size"] == 64]) == {3240}


def test_jobs_repeat_those_before_them():
    """Blocks of ten alike in bursts, of 40 shapes that are as common: nine of ten repeat."""
    rng = np.random.default_rng(3)
    shape = np.repeat(rng.permuted(np.tile(np.arange(40), 20)), 10)
    submit = (np.arange(800)[:, None] * 2 * HOUR + np.arange(10) * 5).ravel()
    trace = make_trace(submit, 1 + shape, 600, 300)
    facts = fit(trace)
    # In a block job k can repeat any of the k - 1 before it; the first repeats no more than chance.
    assert sum(facts.repeat_next) > 0.95
    assert facts.repeat_next[0] == max(facts.repeat_next)
    assert sum(facts.repeat_first) < 0.2
    made = column(like(facts, 8000, seed=1), "size")
    alike = made[1:] == made[:-1]
    assert alike.mean() == pytest.approx(0.9, abs=0.05)
    apart = fit(make_trace(submit, 1 + rng.integers(40, size=8000), 600, 300))
    assert sum(apart.repeat_next) < 0.1


def test_repeated_jobs_keep_the_rank_of_their_run_times():
    rng = np.random.default_rng(4)
    submit = (np.arange(400)[:, None] * 2 * HOUR + np.arange(5) * 5).ravel()
    size = np.repeat(rng.choice([1, 2, 4, 8], 400), 5)
    level = np.repeat(rng.random(400), 5)
    facts = fit(make_trace(submit, size, 3600, (3600 * level).astype(int)))
    assert facts.keep_rank > 0.98
    made = like(facts, 2000, seed=1).table
    same_size = made["size"].to_numpy()[1:] == made["size"].to_numpy()[:-1]
    run = made["run_time"].to_numpy()
    assert np.corrcoef(run[1:][same_size], run[:-1][same_size])[0, 1] > 0.6
    alone = (3600 * rng.random(2000)).astype(int)
    assert fit(make_trace(submit, size, 3600, alone)).keep_rank < 0.1


def test_another_machine_scales_the_sizes():
    large = like(theta_facts(), 500, seed=1)
    small = like(theta_facts(), 500, seed=1, nodes=273)
    assert (large.nodes, small.nodes) == (4360, 273)

    def jobs(trace: Trace) -> list[tuple[int, int]]:
        return sorted(zip(column(trace, "run_time"), column(trace, "size"), strict=True))

    scaled = sorted((run, -(-size * 273 // 4360)) for run, size in jobs(large))
    assert jobs(small) == scaled


@pytest.mark.parametrize(
    ("submit", "complaint"),
    [(np.arange(19) * 100, "19 jobs are too few"), (np.full(30, 7), "do not all come at once")],
)
def test_a_log_too_short_to_learn_from(submit, complaint):
    with pytest.raises(DrasLabError, match=complaint):
        fit(make_trace(submit, 1, 600, 300))


def test_facts_survive_json():
    facts = fit(busy_log())
    assert Facts.from_dict(json.loads(facts.to_json())) == facts
    assert same(
        like(facts, 300, seed=1),
        like(Facts.from_dict(json.loads(facts.to_json())), 300, seed=1),
    )
    cut = dataclasses.asdict(facts)
    del cut["hours"]
    with pytest.raises(DrasLabError, match="no hours; fit the log again"):
        Facts.from_dict(cut)


def test_octaves():
    assert octave([1, 2, 3, 4, 5, 128, 129, 256, 2**40, 2**40 + 1]).tolist() == [
        0, 1, 2, 2, 3, 7, 8, 8, 40, 41,
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Sampled and real job sets


def test_a_sampled_set_holds_jobs_of_the_log_only():
    log = busy_log()
    what = ["size", "requested_time", "run_time"]
    drawn = sample_jobs(log, 3000, seed=1, load=0.7)
    source = set(map(tuple, log.table[what].to_numpy()))
    assert set(map(tuple, drawn.table[what].to_numpy())) <= source
    assert (column(drawn, "job_id") == np.arange(1, 3001)).all()
    assert len(drawn) == 3000
    assert drawn.nodes == log.nodes
    # Each is as likely as any other. 3,000 draws of 2,000 leave out each with probability
    # exp(-1.5); the number of those drawn has a standard deviation below sqrt(2000 / 4).
    apart = make_trace(np.arange(2000) * 900, 1, 3000, 1 + np.arange(2000))
    found = np.unique(column(sample_jobs(apart, 3000, seed=1), "run_time"))
    assert within(len(found), 2000 * (1 - math.exp(-1.5)), math.sqrt(2000 / 4))
    assert within(found.mean(), 1000.5, 2000 / math.sqrt(12 * len(found)))


def test_a_sampled_set_arrives_as_a_poisson_process():
    gaps = np.diff(column(sample_jobs(busy_log(), 20_000, seed=2, load=0.7), "submit_time"))
    mean = gaps.mean()
    # Of exponential gaps the share over x means is exp(-x), and the standard deviation the mean.
    for x in (0.5, 1, 2):
        assert share_is(gaps > x * mean, math.exp(-x))
    assert gaps.std() / mean == pytest.approx(1, abs=0.04)
    # No memory: neighbouring gaps are not correlated (standard error 1 / sqrt(n)).
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 4 / math.sqrt(len(gaps))


def test_a_sampled_set_has_the_load_of_its_log_by_default():
    log = busy_log()
    assert load_of(sample_jobs(log, 5000, seed=1)) == pytest.approx(load_of(log), rel=1e-4)


def test_what_cannot_be_sampled():
    at_once = make_trace(np.full(30, 5), 1, 600, 300)
    with pytest.raises(DrasLabError, match="has no offered load of its own"):
        sample_jobs(at_once, 10, seed=1)
    assert load_of(sample_jobs(at_once, 1000, seed=1, load=0.5)) == pytest.approx(0.5, rel=1e-3)


def test_slices_are_the_log():
    log = busy_log()
    parts = slices(log, 300)
    assert [len(part) for part in parts] == [300] * 6 + [200]
    assert pd.concat([part.table for part in parts], ignore_index=True).equals(log.table)
    assert {part.nodes for part in parts} == {log.nodes}
    with pytest.raises(DrasLabError, match="jobs: 0"):
        slices(log, 0)


# ---------------------------------------------------------------------------------------------
# By name


def test_models_by_name(tmp_path):
    assert same(generate("lublin", 100, seed=1, load=0.8), lublin(100, seed=1, load=0.8))
    assert same(generate("theta-like", 100, seed=1), like(theta_facts(), 100, seed=1))
    path = tmp_path / "mine.swf"
    busy_log().write_swf(path)
    made = generate(str(path), 100, seed=1)
    assert same(made, like(busy_log(), 100, seed=1))
    assert made.name == "mine-like"
    assert len(generate("lublin-256", 50, seed=0)) == 50  # a shipped log, to imitate


def test_a_model_that_does_not_exist(tmp_path):
    with pytest.raises(DrasLabError) as raised:
        generate("lubiln", 10, seed=0)
    message = "'lubiln': no such model; give lublin, theta-like, or the file or name of a log"
    assert str(raised.value) == message
    junk = tmp_path / "junk.swf"
    junk.write_bytes(b"\x00\x01\x02")
    with pytest.raises(DrasLabError, match=r"junk\.swf") as raised:
        generate(str(junk), 10, seed=0)
    assert "no such model" not in str(raised.value)
    with pytest.raises(DrasLabError, match="jobs: 0"):
        generate("nothing", 0, seed=0)


# ---------------------------------------------------------------------------------------------
# What is shipped


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "make_traces", ROOT / "scripts" / "make_traces.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "jobs", "nodes"), [("lublin-256", 5000, 256), ("theta-like", 4000, 4360)]
)
def test_shipped_logs_are_what_the_script_makes(script, name, jobs, nodes):
    path = ROOT / "traces" / f"{name}.swf.gz"
    stored, made = read_swf(path), script.MAKERS[name]()
    assert (len(stored), stored.nodes) == (jobs, nodes)
    assert same(stored, made)
    assert stored.header == made.header
    assert path.stat().st_size < 300_000
    assert stored.report.to_dict()["read"] == jobs
    assert path.read_bytes()[4:8] == b"\0\0\0\0"  # gzip's own time stamp


def test_the_check_of_shipped_logs_can_fail(script, capsys, tmp_path, monkeypatch):
    assert script.main(["--check"]) == 0
    assert capsys.readouterr().out.count("as made") == 2
    monkeypatch.setattr(script, "TRACES", tmp_path)
    for name in script.MAKERS:
        lublin(5, seed=0).write_swf(tmp_path / f"{name}.swf.gz")
    assert script.main(["--check"]) == 1
    assert capsys.readouterr().out.count("DIFFERENT") == 2


def test_the_script_writes_the_same_bytes(script, tmp_path, monkeypatch, capsys):
    (tmp_path / "traces").mkdir()
    monkeypatch.setattr(script, "TRACES", tmp_path / "traces")
    assert script.main([]) == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "traces").iterdir()}
    assert script.main([]) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "traces").iterdir()} == first
    assert script.main(["--fit", str(tmp_path / "no.swf")]) == 2
    assert "no.swf" in capsys.readouterr().err


def test_theta_facts_are_small_and_hold_no_rare_value():
    text = (ROOT / "dras_lab" / "theta_facts.json").read_text(encoding="utf-8")
    assert len(text) < 40_000
    facts = theta_facts()
    assert (facts.nodes, facts.jobs) == (4360, 23_911)
    for choices in (facts.sizes, facts.burst_sizes, *facts.requests.values()):
        assert all(weight >= 10 for low, high, weight in choices if low == high)
    assert all(len(table["under"]) in (0, 40) for table in facts.runs.values())


def test_theta_facts_are_those_of_the_real_log():
    """Against the log itself, by other means than `fit`'s."""
    log, facts = read_swf(shared("traces", "ALCF-Theta-2022.swf.gz")), theta_facts()
    assert fit(log).to_json() == facts.to_json()
    assert facts.load == pytest.approx(load_of(log), rel=1e-3)
    common = statistics.multimode(column(log, "size").tolist())
    assert max(facts.sizes, key=lambda choice: choice[2])[0] == common[0]
    gaps = np.diff(column(log, "submit_time"))
    bursts = [weight for *_, weight in facts.burst_sizes]
    assert sum(bursts) == 1 + (gaps > 60).sum()


def test_theta_like_waits_are_hours_not_seconds(script):
    assert 3 < script.fcfs_wait_h(read_swf("theta-like")) < 40
    assert 3 < script.fcfs_wait_h(read_swf("lublin-256")) < 40


@pytest.mark.slow
def test_the_shipped_seed_is_neither_lucky_nor_unlucky(script):
    """`theta-like` has the median wait of the seeds 0 to 20."""
    facts = theta_facts()
    waits = [script.fcfs_wait_h(like(facts, 4000, seed=s, load=facts.load)) for s in range(21)]
    assert statistics.median(waits) == script.fcfs_wait_h(script.MAKERS["theta-like"]())


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_tables_of_the_readme(script):
    """Those of the generated logs are made anew; those of the real log where it is at hand."""
    readme = (ROOT / "traces" / "README.md").read_text(encoding="utf-8")
    assert script.shipped_table() in readme
    rows = {cells(line)[0]: cells(line)[1:] for line in readme.splitlines() if line[:1] == "|"}
    for line in script.theta_table(None).splitlines()[2:]:
        name, of_log, *generated = cells(line)
        assert of_log == "?"
        assert rows[name][1:] == generated


def test_the_real_side_of_the_readme(script):
    readme = (ROOT / "traces" / "README.md").read_text(encoding="utf-8")
    rows = {cells(line)[0]: cells(line)[1:] for line in readme.splitlines() if line[:1] == "|"}
    real = script.statistics(read_swf(shared("traces", "ALCF-Theta-2022.swf.gz")))
    assert len(real) > 30
    for name, value in real.items():
        assert rows[name][0] == script.number(value)
    # The wait is that of the independent reference, 43817.656 s.
    references = json.loads(shared("cases", "reference_results.json").read_text(encoding="utf-8"))
    wait = references["results"][0]["mean_wait_s"] / 3600
    assert rows["FCFS + EASY, mean wait (h)"][0] == script.number(wait)
