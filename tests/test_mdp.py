"""What agents see: rows and features by hand, and against a plain construction on random runs."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from deciding import SMALL, decision_at, small_decision
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import trace_of
from strategies import Workload, backfills, overruns, workloads

from dras_lab import mdp
from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.mdp import DAY, Encoder, Features, Scaling, scale_times
from dras_lab.simulator import Simulation

LN_DAY = math.log(1441)


def test_scaled_times_by_hand() -> None:
    seconds = [0, 60, 540, DAY, 1000 * DAY]
    logs = [0, math.log(2) / LN_DAY, math.log(10) / LN_DAY, 1, math.log(1_440_001) / LN_DAY]
    assert scale_times(seconds).tolist() == pytest.approx(logs)
    assert scale_times(seconds, "linear").tolist() == pytest.approx([0, 1 / 1440, 1 / 160, 1, 1000])
    # The stated bounds.
    assert scale_times(10**12) == scale_times(1000 * DAY) < 1.96
    assert scale_times(10**12, "linear") == 1000
    assert scale_times(seconds).dtype == np.float32


SHOWN: dict[Scaling, list[tuple[float, float]]] = {
    "log": [
        (4 / 8, math.log(121) / LN_DAY),
        (0, math.log(10) / LN_DAY),  # queued 9 min
        (1 / 8, math.log(2) / LN_DAY),
        (0, math.log(9) / LN_DAY),  # queued 8 min
        (0, math.log(51) / LN_DAY),  # nodes free in 50 min by the request, not in 40
    ],
    "linear": [(4 / 8, 1 / 12), (0, 1 / 160), (1 / 8, 1 / 1440), (0, 1 / 180), (0, 50 / 1440)],
}


@pytest.mark.parametrize("scaling", SHOWN)
def test_the_input_of_pg_by_hand(scaling: Scaling) -> None:
    _, decision = small_decision()
    encoder = Encoder(8, window=3, scaling=scaling)
    *jobs, held = SHOWN[scaling]
    expected = [*jobs, (0, 0), (0, 0), *[held] * 5, *[(1, 0)] * 3]
    shown = encoder.pg(decision)
    assert shown.shape == encoder.pg_shape == (2 * 3 + 8, 2)
    assert shown.dtype == np.float32
    assert shown == pytest.approx(np.array(expected))


@pytest.mark.parametrize("scaling", SHOWN)
def test_the_inputs_of_dql_by_hand(scaling: Scaling) -> None:
    _, decision = small_decision()
    encoder = Encoder(8, window=3, scaling=scaling)
    a, b, c, d, held = SHOWN[scaling]
    nodes = [*[held] * 5, *[(1, 0)] * 3]
    shown = encoder.dql(decision)
    assert shown.shape == (2, *encoder.dql_shape) == (2, 2 + 8, 2)
    assert shown.dtype == np.float32
    assert shown == pytest.approx(np.array([[a, b, *nodes], [c, d, *nodes]]))


def test_masks_by_hand() -> None:
    _, decision = small_decision()
    encoder = Encoder(8, window=3)
    assert encoder.mask(decision).tolist() == [True, True, False]
    assert encoder.fits(decision).tolist() == [False, True, False]  # 3 nodes are free
    assert encoder.mask(decision).dtype == np.bool_


def test_a_priority_can_be_given() -> None:
    _, decision = small_decision()

    def by_size(decision: Decision) -> list[float]:
        return [float(size >= 4) for size in decision.sizes]

    assert Encoder(8, 3, priority=by_size).pg(decision)[:6, 0].tolist() == [0.5, 1, 0.125, 0, 0, 0]


def test_a_job_past_its_request_is_expected_to_end_in_a_second() -> None:
    # Job 1 asked for 100 s and runs for 500; job 2 comes at 300.
    jobs = [(1, 0, 3, 100, 500), (2, 300, 1, 50, 50)]
    _, decision = decision_at(300, jobs, 4, overrun="keep")
    second = math.log(61 / 60) / LN_DAY
    rows = Encoder(4, 1).node_rows(decision)
    assert rows == pytest.approx(np.array([(0, second)] * 3 + [(1, 0)]), rel=1e-5)


def plainly(decision: Decision, window: int, scaling: Scaling) -> list[list[float]]:
    """The input of PG from what anyone can read of a decision, job by job and node by node."""

    def scaled(seconds: int) -> float:
        seconds = min(seconds, 1000 * DAY)
        return math.log(1 + seconds / 60) / LN_DAY if scaling == "log" else seconds / DAY

    rows: list[list[float]] = []
    for job in decision.candidates:
        rows += [
            [job.size / decision.nodes, scaled(job.requested_time)],
            [0, scaled(decision.time - job.submit_time)],
        ]
    rows += [[0, 0]] * (2 * window - len(rows))
    for release in decision.release_times().tolist():
        rows.append([0, scaled(release - decision.time)] if release > decision.time else [1, 0])
    return rows


@settings(max_examples=120, deadline=None)
@given(
    workloads(),
    backfills,
    overruns,
    st.sampled_from(["log", "linear"]),
    st.integers(0, 99),
    st.sampled_from([0.2, 0.6, 1]),
)
def test_inputs_are_those_of_a_plain_construction(
    workload: Workload, backfill: str, overrun: str, scaling: Scaling, seed: int, often: float
) -> None:
    """Asked at some decisions only, so that what is kept up to date must catch up."""
    encoder = Encoder(workload.nodes, 14, scaling)
    rng = random.Random(seed)
    for _ in range(2):  # one encoder for one run after the other
        simulation = Simulation(
            trace_of(workload.jobs, workload.nodes), window=14, backfill=backfill, overrun=overrun
        )
        while (decision := simulation.next_decision()) is not None:
            count = len(decision.candidates)
            if rng.random() < often:
                expected = np.array(plainly(decision, 14, scaling))
                shown = encoder.pg(decision)
                assert shown == pytest.approx(expected, rel=1e-6)
                assert shown.min() >= 0
                assert shown.max() <= encoder.high
                each = encoder.dql(decision)
                assert len(each) == count
                for k in range(count):
                    assert (each[k, :2] == shown[2 * k : 2 * k + 2]).all()
                    assert (each[k, 2:] == shown[28:]).all()
                jobs, machine = Features(workload.nodes, 14)(decision)
                assert np.isfinite(jobs).all()
                assert np.isfinite(machine).all()
                assert not jobs[count:].any()
            simulation.apply(rng.randrange(count))


def test_one_encoder_between_two_runs() -> None:
    encoder = Encoder(8, 3)
    _, one = small_decision()
    _, other = decision_at(120, SMALL, 8, backfill="none")
    for decision in (one, other, one, other):
        assert encoder.pg(decision) == pytest.approx(np.array(plainly(decision, 3, "log")))


def test_writing_into_an_array_of_the_callers() -> None:
    _, decision = small_decision()
    encoder = Encoder(8, 3)
    store = np.full((2, *encoder.pg_shape), 9, dtype=np.float32)
    assert encoder.pg(decision, store[1]) is not None
    assert (store[1] == encoder.pg(decision)).all()
    assert (store[0] == 9).all()
    for wrong in (store[0, :-1], store[0].astype(np.float64), np.asfortranarray(store[0])):
        with pytest.raises(DrasLabError, match=r"out must be a contiguous float32 array of shape"):
            encoder.pg(decision, wrong)


def test_an_input_is_not_changed_by_what_follows() -> None:
    simulation, decision = small_decision()
    encoder = Encoder(8, 3)
    first = encoder.pg(decision)
    kept = first.copy()
    simulation.apply(1)
    later = simulation.next_decision()
    assert later is not None
    second = encoder.pg(later)
    assert (first == kept).all()
    assert (second != kept).any()


def test_a_decision_that_was_made_cannot_be_shown() -> None:
    simulation, decision = small_decision()
    seen = Encoder(8, 3)
    seen.pg(decision)
    simulation.apply(1)
    assert simulation.next_decision() is not None
    for show in (
        Encoder(8, 3).pg,
        Encoder(8, 3).node_rows,
        seen.pg,
        seen.node_rows,
        Features(8, 3),
    ):
        with pytest.raises(RuntimeError, match="this decision has been made"):
            show(decision)  # type: ignore[operator]


# -- features ---------------------------------------------------------------------------------


def test_features_by_hand() -> None:
    _, decision = small_decision()
    features = Features(8, window=3)
    jobs, machine = features(decision)
    assert jobs.shape == (3, len(features.job_names))
    assert jobs.dtype == machine.dtype == np.float32
    expected = {
        "ln_size": [math.log(4) / math.log(9), 0],
        "ln_request": [math.log(121) / LN_DAY, math.log(2) / LN_DAY],
        "share_of_machine": [4 / 8, 1 / 8],
        "queued_days": [540 / DAY, 480 / DAY],
        "queued_days_squared": [(540 / DAY) ** 2, (480 / DAY) ** 2],
        "queued_share": [1, 480 / 540],
        "fits": [0, 1],
        "share_of_free": [1, 1 / 3],
        "until_free": [math.log(51) / LN_DAY, 0],  # one node more, when job 1 should end
    }
    assert tuple(expected) == features.job_names
    for k, name in enumerate(features.job_names):
        assert jobs[:, k].tolist() == pytest.approx([*expected[name], 0]), name
    of_machine = {
        "backfilling": 0,
        "free_share": 3 / 8,
        "ln_waiting": math.log(3) / math.log(4),
        "longest_queued_days": 540 / DAY,
        "ln_waiting_work": math.log1p((4 * 7200 + 1 * 60) / (8 * DAY)),
        "until_reserved": 0,
        "spare_share": 0,
    }
    assert tuple(of_machine) == features.machine_names
    assert machine.tolist() == pytest.approx(list(of_machine.values()))


def test_features_while_holes_are_filled() -> None:
    # Job 2 has the reservation for 100, with 2 nodes to spare; job 3 fits the hole.
    jobs = [(1, 0, 6, 100, 90), (2, 10, 8, 50, 40), (3, 20, 1, 70, 69)]
    _, decision = decision_at(20, jobs, 10, level=Level.BACKFILL)
    features = Features(10, 4)
    machine = dict(zip(features.machine_names, features(decision)[1].tolist(), strict=True))
    assert machine["backfilling"] == 1
    assert machine["until_reserved"] == pytest.approx(math.log(1 + 80 / 60) / LN_DAY)
    assert machine["spare_share"] == pytest.approx(2 / 10)
    assert machine["ln_waiting"] == pytest.approx(math.log(3) / math.log(5))  # jobs 2 and 3


def test_when_enough_nodes_will_be_free() -> None:
    # 10 nodes: 3 until 60, 2 until 120, 4 until 180, one is free. Jobs of 1 to 10 nodes wait.
    jobs = [(1, 0, 3, 60, 60), (2, 0, 2, 120, 120), (3, 0, 4, 180, 180)]
    jobs += [(10 + size, 0, size, 10, 10) for size in range(10, 0, -1)]
    simulation = Simulation(trace_of(jobs, 10), backfill="none")
    for _ in range(3):
        assert simulation.next_decision() is not None
        simulation.apply(0)
    decision = simulation.next_decision()
    assert decision is not None
    features = Features(10)
    shown = features(decision)[0][: len(decision.candidates)]
    until = shown[:, features.job_names.index("until_free")]
    minutes = {1: 0, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 3}
    expected = [math.log1p(minutes[size]) / LN_DAY for size in decision.sizes.tolist()]
    assert until.tolist() == pytest.approx(expected)


def features_plainly(decision: Decision, window: int) -> tuple[list[list[float]], list[float]]:
    """The features from what anyone can read of a decision, job by job."""

    def scaled(seconds: int) -> float:
        return math.log1p(min(seconds, 1000 * DAY) / 60) / LN_DAY

    nodes, free, now = decision.nodes, decision.free, decision.time
    queued = [now - job.submit_time for job in decision.candidates]
    releases = sorted(decision.release_times().tolist())
    rows = []
    for job, waited in zip(decision.candidates, queued, strict=True):
        days = min(waited / DAY, 30)
        rows.append(
            [
                math.log(job.size) / math.log(nodes + 1),
                scaled(job.requested_time),
                job.size / nodes,
                days,
                days**2,
                waited / max(*queued, 1),
                job.size <= free,
                min(job.size / max(free, 1), 1),
                scaled(releases[job.size - 1] - now),  # so many nodes are free then
            ]
        )
    rows += [[0] * 9] * (window - len(rows))
    work = sum(job.size * job.requested_time for job in decision.queue) / nodes / DAY
    held = decision.reservation
    return rows, [
        decision.level is Level.BACKFILL,
        free / nodes,
        math.log1p(len(decision.queue)) / math.log1p(window),
        min(max(queued) / DAY, 30),
        math.log1p(work),
        scaled(held.start - now) if held else 0,
        held.extra / nodes if held else 0,
    ]


@settings(max_examples=120, deadline=None)
@given(workloads(), backfills, overruns, st.integers(0, 99), st.sampled_from([0.2, 0.6, 1]))
def test_features_are_those_of_a_plain_construction(
    workload: Workload, backfill: str, overrun: str, seed: int, often: float
) -> None:
    """Asked at some decisions only, so that what is kept up to date must catch up."""
    features = Features(workload.nodes, 14)
    rng = random.Random(seed)
    for _ in range(2):
        simulation = Simulation(
            trace_of(workload.jobs, workload.nodes), window=14, backfill=backfill, overrun=overrun
        )
        while (decision := simulation.next_decision()) is not None:
            if rng.random() < often:
                expected = features_plainly(decision, 14)
                for shown, plain in zip(features(decision), expected, strict=True):
                    assert shown == pytest.approx(np.array(plain, dtype=float), rel=1e-6)
                assert (features(decision)[0] <= features.job_high).all()
                assert (features(decision)[1] <= features.machine_high).all()
            simulation.apply(rng.randrange(len(decision.candidates)))


def test_features_stay_in_their_bounds() -> None:
    """A wait of 40 days, requests beyond 1000 days, more work than counts."""
    far = 10**13
    jobs = [(1, 0, 8, far, far), *[(k, 0, 8, far, 5) for k in range(2, 102)]]
    _, decision = decision_at(
        40 * DAY, [*jobs, (200, 40 * DAY, 8, far, 5)], 8, backfill="none", window=4
    )
    features = Features(8, 4)
    shown, machine = features(decision)
    high = dict(zip(features.job_names, features.job_high.tolist(), strict=True))
    assert high["queued_days"] == 30
    assert high["queued_days_squared"] == 900
    for name in ("ln_request", "queued_days", "queued_days_squared", "until_free"):
        k = features.job_names.index(name)
        assert shown[0, k] == features.job_high[k], name
    # 102 jobs of 10**13 s are 1.2e10 days of the machine.
    k = features.machine_names.index("ln_waiting_work")
    assert machine[k] == features.machine_high[k] == pytest.approx(math.log1p(10**9))
    assert (machine <= features.machine_high).all()
    assert features.vector(decision).tolist() == [*shown.ravel().tolist(), *machine.tolist()]


# -- what does not go together -----------------------------------------------------------------


def test_another_machine_or_window_is_refused() -> None:
    _, decision = small_decision()
    with pytest.raises(DrasLabError, match="a machine of 273 nodes, and the run is on 8"):
        Encoder(273).pg(decision)
    with pytest.raises(DrasLabError, match="a machine of 273 nodes, and the run is on 8"):
        Features(273)(decision)
    for show in (Encoder(8, 1).pg, Encoder(8, 1).dql, Encoder(8, 1).mask, Features(8, 1)):
        with pytest.raises(DrasLabError, match="offers 2 jobs, and this is made for a window of 1"):
            show(decision)  # type: ignore[operator]
    with pytest.raises(DrasLabError, match="scaling: 'sqrt' is not one of log, linear"):
        Encoder(8, scaling="sqrt")  # type: ignore[arg-type]
    for make in (Encoder, Features):
        with pytest.raises(DrasLabError, match="must be at least 1, not 0 and 50"):
            make(0)


def test_rewards_are_found_here_too() -> None:
    assert mdp.make_reward("capacity") is mdp.capacity
