"""Views of a decision, by hand, and within their bounds on random runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from deciding import SMALL, decision_at, small_decision
from hypothesis import given, settings
from runs import trace_of
from strategies import Chooser, Workload, choosers, workloads

from dras_lab.jobs import DrasLabError
from dras_lab.mdp import Encoder, Features
from dras_lab.observations import OBSERVATIONS, Schedgym, make_observation
from dras_lab.simulator import Simulation
from dras_lab.traces import Trace


def test_ours_are_those_of_mdp() -> None:
    _, decision = small_decision()
    jobs, machine = Features(8, 3)(decision)
    compact = make_observation("compact", 8, 3)(decision)
    assert compact.tolist() == [*jobs.ravel().tolist(), *machine.tolist()]
    rows = make_observation("rows", 8, 3)
    assert (rows(decision) == Encoder(8, 3).pg(decision)).all()
    assert rows.high[0].tolist() == [1, pytest.approx(Encoder(8).high)]


def test_the_vector_of_rlscheduler_by_hand() -> None:
    _, decision = small_decision()
    slots = make_observation("rlscheduler", 8, 3)(decision).reshape(3, 8)
    most, half_day = 1 - 1e-5, 43_200
    assert slots == pytest.approx(
        np.array(
            [
                # queued, request, size; no memory, user, group, executable; fits
                [540 / half_day, most, 4 / 8, 1, 1, 1, 1, 1e-5],
                [480 / half_day, 60 / 7200, 1 / 8, 1, 1, 1, 1, most],
                [0, 1, 1, 1, 1, 1, 1, 0],
            ]
        )
    )


def test_users_and_long_waits_in_the_vector_of_rlscheduler() -> None:
    table = pd.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_time": [0, 0, 50_000],
            "size": [2, 2, 2],
            "requested_time": [60_000, 60, 60],
            "run_time": [60_000, 60, 60],
            "user_id": [3, 6, -1],
        }
    )
    simulation = Simulation(Trace.from_table(table, 2), backfill="none")
    assert simulation.next_decision() is not None
    simulation.apply(0)
    decision = simulation.next_decision()  # job 2 cannot start, and job 3 comes
    while decision is not None and decision.time < 50_000:
        simulation.apply(None)
        decision = simulation.next_decision()
    assert decision is not None
    slots = make_observation("rlscheduler", 2, 3)(decision).reshape(3, 8)
    most = pytest.approx(1 - 1e-5)
    assert slots[:, 0].tolist() == [most, 0, 0]  # 50,000 s are more than 12 h
    assert slots[:, 4].tolist() == [most, 1, 1]  # user 6 of 6; unknown; empty
    assert slots[0, 2] == most  # the whole machine


def test_the_state_of_schedgym_by_hand() -> None:
    _, decision = small_decision()
    state = make_observation("schedgym", 8, 3)(decision)
    month = 30 * 86_400
    usage, slots, rest = state[:40].reshape(20, 2), state[40:61].reshape(3, 7), state[61:]
    # 3 of 8 nodes are free; job 1 gives back 5 in 50 minutes, before the second hour begins.
    assert usage.tolist() == [[3 / 8, 5 / 8]] + [[1, 0]] * 19
    t, w = month + 1, month * month * 8 + 1
    assert slots == pytest.approx(
        np.array(
            [
                [61 / t, 7201 / t, 0, 5 / 9, 1 / t, 1 / w, 4 / 9],
                [121 / t, 61 / t, 0, 2 / 9, 2 / t, (4 * 7200 + 1) / w, 4 / 9],
                [0] * 7,
            ]
        )
    )
    left = 3000 * 5 / (month * 8)
    expected = [0, 3000 / month, 5 / 8, 1, left, 0, 2 / month, 1 - 600 / month]
    assert rest.tolist() == pytest.approx(expected)


def test_an_empty_machine_and_a_backlog_in_the_state_of_schedgym() -> None:
    jobs = [(k, 0, 1, 60, 60) for k in range(1, 6)]
    _, decision = decision_at(0, jobs, 4, window=2)
    state = Schedgym(4, 2, steps=1)(decision)
    assert state[:2].tolist() == [1, 0]
    assert state[16] == pytest.approx(3 / 60)  # five wait, two are shown
    assert state[17:20].tolist() == [0, 0, 1]  # nothing runs


def test_nodes_given_back_on_the_hour_are_free_in_it() -> None:
    simulation, _ = decision_at(0, [(1, 0, 3, 3600, 3600), (2, 0, 4, 60, 60)], 4)
    simulation.apply(0)
    decision = simulation.next_decision()
    assert decision is not None
    assert Schedgym(4, 2, steps=2)(decision)[:4].tolist() == [1 / 4, 3 / 4, 1, 0]


@settings(max_examples=100, deadline=None)
@given(workloads(), choosers())
def test_views_stay_in_their_bounds(workload: Workload, chooser: Chooser) -> None:
    views = [make_observation(name, workload.nodes, 5) for name in OBSERVATIONS]
    simulation = Simulation(trace_of(workload.jobs, workload.nodes), window=5, overrun="keep")
    while (decision := simulation.next_decision()) is not None:
        for view in views:
            shown = view(decision)
            assert shown.dtype == np.float32
            assert shown.shape == view.high.shape
            assert (shown >= 0).all()
            assert (shown <= view.high).all()
            assert (view(decision) == shown).all()
        rows = [(j.job_id, j.submit_time, j.size, j.requested_time) for j in decision.candidates]
        simulation.apply(chooser.pick(decision.level.value, decision.time, rows))


def test_views_refuse_another_machine_or_window() -> None:
    _, decision = decision_at(600, SMALL, 8, backfill="none")
    for name in OBSERVATIONS:
        with pytest.raises(DrasLabError, match="a machine of 9 nodes, and the run is on 8"):
            make_observation(name, 9, 3)(decision)
        with pytest.raises(DrasLabError, match="offers 2 jobs, and this is made for a window of 1"):
            make_observation(name, 8, 1)(decision)
    with pytest.raises(DrasLabError, match="there is no observation 'all'; they are compact, rows"):
        make_observation("all", 8, 3)
