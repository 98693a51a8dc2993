"""What agents draw and pick, what they see as every policy does, and when they learn."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from deciding import decision_at, small_decision
from hypothesis import given, settings
from runs import runs_of, trace_of
from strategies import Workload, workloads

torch = pytest.importorskip("torch")

from lessons import MEAN_WAIT, TableBrain, jobs_of, picks, practise, two_classes  # noqa: E402

from dras_lab.agents import (  # noqa: E402
    AGENTS,
    OURS,
    PUBLISHED,
    DecimaPG,
    DrasDQL,
    DrasPG,
    Update,
    make_agent,
    make_update,
)
from dras_lab.decisions import Decision  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.networks import masked  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402
from dras_lab.workloads import sample_jobs  # noqa: E402

LN = [math.log(1), math.log(2), math.log(5)]  # probabilities 1/8, 2/8 and 5/8


def test_epsilon_shrinks_by_a_factor_a_choice_to_its_floor() -> None:
    _, decision = small_decision()
    update = Update(epsilon=0.8, decay=0.5, floor=0.15, runs=2)
    agent = DrasDQL(TableBrain([0.0, 1.0], 8), update=update)
    agent(decision)
    assert agent.epsilon == 0.8  # not while it does not learn
    agent.learning = True
    found = []
    for _ in range(5):
        agent(decision)
        found.append(agent.epsilon)
    assert found == pytest.approx([0.4, 0.2, 0.15, 0.15, 0.15])
    assert agent.figures()["epsilon"] == pytest.approx(0.15)


def within(count: int, n: int, p: float) -> bool:
    """Whether a count is within four standard deviations of what is expected."""
    return abs(count - n * p) <= 4 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_is_the_share_of_random_choices(epsilon: float) -> None:
    _, decision = decision_at(0, jobs_of(two_classes()), 1, window=4)
    update = Update(epsilon=epsilon, decay=1, floor=0, runs=2)
    agent = DrasDQL(TableBrain([0.0, 1.0, 9.0, 3.0]), update=update, seed=5)
    agent.learning = True
    n = 2000
    drawn = [agent(decision) for _ in range(n)]
    # A random choice is the best one by chance, too.
    for index in range(4):
        assert within(drawn.count(index), n, epsilon / 4 + (1 - epsilon) * (index == 2))
    assert agent._memory.note == [9.0] * n  # the best value, whatever was chosen
    agent.learning = False
    assert {agent(decision) for _ in range(20)} == {2}


# -- choosing ---------------------------------------------------------------------------------


def test_while_it_learns_it_draws_by_its_probabilities() -> None:
    _, decision = decision_at(0, jobs_of(two_classes()), 1, window=4)
    # 1, 2, 5 and 8 of 16
    agent = DrasPG(TableBrain([*LN, math.log(8)]), update=Update(runs=2), seed=3)
    agent.learning = True
    n = 4000
    drawn = [agent(decision) for _ in range(n)]
    for index, share in enumerate((1, 2, 5, 8)):
        assert within(drawn.count(index), n, share / 16)
    assert decision.scores == pytest.approx([1 / 16, 2 / 16, 5 / 16, 8 / 16])
    notes = agent._memory.note
    assert notes == pytest.approx([math.log((1, 2, 5, 8)[k] / 16) for k in drawn])


@pytest.mark.parametrize("kind", [DrasPG, DrasDQL])
def test_while_it_does_not_learn_it_picks_the_best_and_remembers_nothing(kind: Any) -> None:
    _, decision = decision_at(0, jobs_of(two_classes()), 1, window=4)
    agent = kind(TableBrain([0.0, 2.0, 1.9, 1.0]))
    state = agent.state()
    assert {agent(decision) for _ in range(50)} == {1}
    assert agent.state() == state  # nothing drawn either
    assert len(agent._memory) == 0


def test_decima_picks_only_what_fits() -> None:
    # Of jobs 3 and 4 only the second fits, and the table is all for the first.
    _, decision = small_decision()
    agent = DecimaPG(TableBrain([30.0, 0.0], 8), update=Update(runs=2))
    assert agent(decision) == 1
    agent.learning = True
    assert {agent(decision) for _ in range(50)} == {1}
    assert decision.scores == pytest.approx([0, 1])
    assert decision.scores[0] == 0
    assert agent._memory.masks[0].tolist() == [False, True]
    assert DrasPG(TableBrain([30.0, 0.0], 8))(decision) == 0


@pytest.mark.parametrize("learning", [False, True])
def test_decima_passes_where_nothing_fits(learning: bool) -> None:
    # Job 1 holds the machine when the next two come.
    jobs = [(1, 0, 8, 100, 100), (2, 10, 1, 10, 10), (3, 10, 2, 10, 10)]
    _, decision = decision_at(10, jobs, 8)
    agent = DecimaPG(TableBrain([0.0, 0.0], 8))
    agent.learning = learning
    assert agent(decision) is None
    assert len(agent._memory) == 0
    _, decision = decision_at(10, jobs[:2], 8)
    assert agent(decision) is None  # one candidate


def test_a_draw_at_the_very_end_is_no_job_that_does_not_fit() -> None:
    # Ten jobs that fit, equally likely, and a wide one last. Ten tenths add up to less than 1 in
    # floating point, and the draw lies between.
    jobs = [(k, 0, 1, 10, 10) for k in range(2, 12)] + [(12, 0, 8, 10, 10)]
    _, decision = decision_at(0, [(1, 0, 1, 99, 99), *jobs], 9, window=12)

    class Greatest:
        def random(self) -> float:
            return 1 - 2**-53

    agent = DecimaPG(TableBrain([0.0] * 12, 9), update=Update(runs=2))
    agent.learning = True
    # Job 1 is a candidate too: mask it by hand, so that there are ten.
    agent.allowed = lambda decision: np.arange(12) % 12 < 10  # type: ignore[method-assign]
    agent.rng = Greatest()  # type: ignore[assignment]
    index = agent(decision)
    assert np.cumsum(decision.scores)[-1] <= 1 - 2**-53
    assert index == 9


# -- what breaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DrasPG, DrasDQL])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_reward_that_is_no_number_stops_the_run(kind: Any, value: float) -> None:
    def spoilt(decision: Decision, index: int | None) -> float:
        return value

    _, decision = small_decision()
    agent = kind(TableBrain([0.0, 1.0], 8), spoilt)
    assert agent(decision) == 1  # it needs none while it does not learn
    agent.learning = True
    with pytest.raises(DrasLabError, match=r"the reward spoilt is (nan|inf) at 600 s"):
        agent(decision)
    assert len(agent._memory) == 0


# -- agents are policies ----------------------------------------------------------------------

THIRTY = sample_jobs(
    trace_of([(k, 60 * k, 1 + k % 5, 600 * (1 + k % 7), 500) for k in range(1, 40)], 6),
    60,
    seed=4,
    load=1.2,
)


@pytest.mark.parametrize("network", ["dras", "scorer"])
@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("learning", [False, True])
def test_the_engine_cannot_tell_an_agent_from_a_function(
    kind: str, network: str, learning: bool
) -> None:
    agent = make_agent(kind, 6, 8, network=network, seed=2)
    agent.learning = learning
    answers = picks(agent, THIRTY, window=8)
    again = iter(answers)
    replayed = simulate(THIRTY, lambda decision: next(again)[2], window=8)
    fresh = make_agent(kind, 6, 8, network=network, seed=2)
    fresh.learning = learning
    assert runs_of(simulate(THIRTY, fresh, window=8)) == runs_of(replayed)
    assert len({index for _, _, index in answers}) > 2  # it does choose


@settings(max_examples=25, deadline=None)
@given(workloads())
def test_decima_never_reserves_nor_backfills(workload: Workload) -> None:
    agent = make_agent("decima", workload.nodes, 5, network="scorer")
    agent.learning = True

    def asked(decision: Decision) -> int | None:
        index = agent(decision)
        assert index is None or decision.sizes[index] <= decision.free
        assert (index is None) == (decision.sizes > decision.free).all()
        return index

    result = simulate(trace_of(workload.jobs, workload.nodes), asked, window=5)
    assert {run.how for run in runs_of(result).values()} <= {"ready", "refused"}


@pytest.mark.parametrize("network", ["dras", "scorer"])
def test_what_was_noted_while_it_ran_is_what_torch_says(network: str) -> None:
    pg = make_agent("pg", 6, 8, network=network, update=Update(runs=2), seed=1)
    dql = make_agent("dql", 6, 8, network=network, update=Update(runs=2), seed=1)
    for agent in (pg, dql):
        with torch.no_grad():  # first weights choose almost alike
            for network_ in agent.brain.networks.networks:
                network_.output.weight.mul_(100)
        agent.learning = True
        simulate(THIRTY, agent, window=8)
    levels = set()
    for agent in (pg, dql):
        memory = agent._memory
        for level in ("select", "backfill"):
            rows = [
                k
                for k, seen in enumerate(memory.seen)
                if seen is not None and memory.levels[k] == level
            ]
            levels.add((level, len(rows) > 5))
            seen, mask = memory.part(rows)
            chosen = [memory.chosen[k] for k in rows]
            noted = [memory.note[k] for k in rows]
            out = masked(agent.brain.batch(level, seen, mask), mask).detach()
            if agent is pg:
                log_p = torch.log_softmax(out, -1)
                assert log_p.exp()[~mask].abs().max() == 0  # padding has no chance at all
                found = log_p.gather(1, torch.tensor(chosen)[:, None]).squeeze(1)
            else:
                found = out.max(-1).values
                column = out.gather(1, torch.tensor(chosen)[:, None]).squeeze(1)
                one = agent.brain.chosen(level, seen, mask, chosen).detach()
                assert one.tolist() == pytest.approx(column.tolist(), abs=1e-5)
            assert found.tolist() == pytest.approx(noted, abs=1e-5)
            assert np.std(noted) > 1e-3
    assert levels == {("select", True), ("backfill", True)}


@pytest.mark.parametrize("network", ["dras", "scorer"])
@pytest.mark.parametrize("kind", ["pg", "dql"])
def test_each_level_learns_in_its_own_network_or_both_in_one(kind: str, network: str) -> None:
    # One node: nothing is ever backfilled, so that only level 1 learns.
    for shared in (False, True):
        agent = make_agent(kind, 1, 4, network=network, reward=MEAN_WAIT, shared=shared)
        networks = agent.brain.networks
        before = [p.detach().clone() for p in networks.at("backfill").parameters()]
        first = [p.detach().clone() for p in networks.at("select").parameters()]
        practise(agent, two_classes(), 1)
        same = [
            torch.equal(a, b)
            for a, b in zip(before, networks.at("backfill").parameters(), strict=True)
        ]
        moved = [
            not torch.equal(a, b)
            for a, b in zip(first, networks.at("select").parameters(), strict=True)
        ]
        assert all(moved)
        assert all(same) is not shared


def test_what_they_are_called() -> None:
    agent = make_agent("dql", 6, 8)
    assert repr(agent) == "DrasDQL(dras, 6 nodes, window 8)"
    assert [kind.name for kind in AGENTS.values()] == ["dras-pg", "dras-dql", "decima-pg"]


# -- when they learn --------------------------------------------------------------------------


def steps(agent: DrasPG | DrasDQL, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many choices each call of `_learn` has, appended as it happens."""
    sizes: list[int] = []
    learn = agent._learn

    def noted(runs: list[Any]) -> None:
        sizes.append(sum(len(run) for run in runs))
        learn(runs)

    monkeypatch.setattr(agent, "_learn", noted)
    return sizes


@pytest.mark.parametrize("kind", ["pg", "dql"])
def test_the_published_update_learns_every_ten_instances(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (PUBLISHED.every, PUBLISHED.runs) == (10, 1)
    agent = make_agent(kind, 1, 4, reward=MEAN_WAIT, update="published")
    sizes = steps(agent, monkeypatch)
    agent.learning = True
    for _ in range(2):  # of two runs each begins anew
        answers = picks(agent, two_classes(), window=4)
        agent.end_run()
        moments = [time for time, _, _ in answers]
        instances = sorted(set(moments))
        # Four jobs make four choices: two at once, one when the first ends, one when the second.
        assert (len(moments), len(instances)) == (24, 18)
        tenth = sum(moment < instances[10] for moment in moments)
        assert sizes == [tenth, 24 - tenth]
        sizes.clear()


@pytest.mark.parametrize("kind", ["pg", "dql"])
def test_our_update_learns_after_four_runs_of_the_same_jobs(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OURS.runs == 4
    agent = make_agent(kind, 1, 4, reward=MEAN_WAIT)
    sizes = steps(agent, monkeypatch)
    agent.learning = True
    for run in range(1, 9):
        simulate(two_classes(), agent, window=4)
        agent.end_run()
        assert sizes == [4 * 24] * (run // 4)


def test_a_run_that_was_broken_off_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make_agent("pg", 1, 4, reward=MEAN_WAIT, update="published")
    agent.learning = True
    simulate(two_classes(), agent, window=4)
    agent.forget()
    sizes = steps(agent, monkeypatch)
    agent.end_run()
    assert sizes == [0]
    assert math.isnan(agent.figures()["loss"])  # nor is it in the next figures


def test_the_learning_rate_falls_in_a_straight_line() -> None:
    for kind in ("pg", "dql"):
        agent = make_agent(kind, 1, 4, update=make_update("ours", learning_rate=0.1))
        found = []
        for done in (0, 0.25, 0.9, 0.99, 1):
            agent.anneal(done)
            found.append(agent.optimiser.param_groups[0]["lr"])
        assert found == pytest.approx([0.1, 0.075, 0.01, 0.005, 0.005])
        agent = make_agent(kind, 1, 4, update="published")
        agent.anneal(0.9)
        assert agent.optimiser.param_groups[0]["lr"] == PUBLISHED.learning_rate


@pytest.mark.parametrize("network", ["dras", "scorer"])
@pytest.mark.parametrize("kind", ["pg", "dql", "decima"])
@pytest.mark.parametrize("way", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_learns_on_as_the_agent_itself(kind: str, network: str, way: Any) -> None:
    """Its twins look at its own networks: two that do the same stay the same, choice by choice."""
    trace = trace_of(
        [(k, 20 * k, 1 + k % 3, 60 * (1 + k % 7), 55 * (1 + k % 7)) for k in range(80)], 4
    )
    agent = make_agent(kind, 4, 8, network=network, update="published", seed=2)
    other = way(agent)
    for one in (agent, other):
        one.learning = True
    schedules = [simulate(trace, one, window=8).start.tolist() for one in (agent, other)]
    assert schedules[0] == schedules[1]
    for mine, its in zip(agent.parameters, other.parameters, strict=True):
        assert torch.equal(mine, its)
    before = make_agent(kind, 4, 8, network=network, update="published", seed=2)
    assert any(
        not torch.equal(a, b) for a, b in zip(before.parameters, other.parameters, strict=True)
    )
