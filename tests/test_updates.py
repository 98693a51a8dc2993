"""How the agents learn, on paper: a step of each by hand, advantages, targets, what breaks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lessons import MEAN_WAIT, TableBrain  # noqa: E402

from dras_lab.agents import OURS, DrasDQL, DrasPG, Update, make_agent, make_update  # noqa: E402
from dras_lab.agents.experience import Memory, standardised  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402

LN = [math.log(1), math.log(2), math.log(5)]  # probabilities 1/8, 2/8 and 5/8
PLAIN = Update(gamma=0, max_norm=1e9, every=1000)
SEEN = (np.zeros(1, dtype=np.float32),)


def entry(run: Memory, mask: str, chosen: int, note: float, reward: float, hour: int = 0) -> None:
    """Remember a choice among those that `mask` marks with x; "" for a choice of one."""
    there = np.array([c == "x" for c in mask])
    seen = SEEN if mask else None
    run.add("select", seen, there if mask else None, chosen, note, reward, 3600 * hour)


def learn(agent: Any, run: Memory, rate: float = 0.1) -> list[float]:
    """The numbers of its table after one step of plain gradient descent."""
    agent.optimiser = torch.optim.SGD(agent.parameters, lr=rate)
    agent._learn([run])
    numbers: list[float] = agent.brain.networks.numbers.tolist()
    return numbers


# -- DRAS-PG: a step --------------------------------------------------------------------------


def two_choices() -> Memory:
    """Rewards 1 and 3, so that with gamma 0 the advantages are -1 and 1."""
    run = Memory()
    entry(run, "xxx", 2, math.log(5 / 8), 1)
    entry(run, "xx.", 0, math.log(1 / 3), 3)
    return run


# A (onehot - p): -(e2 - (1, 2, 5) / 8) and +(e0 - (1, 2, 0) / 3); their mean.
GRADIENT = [(1 / 8 + 2 / 3) / 2, (2 / 8 - 2 / 3) / 2, (5 / 8 - 1) / 2]


def test_a_step_of_reinforce_by_hand() -> None:
    agent = DrasPG(TableBrain(LN), update=PLAIN)
    after = learn(agent, two_choices())
    assert after == pytest.approx(
        [x + 0.1 * g for x, g in zip(LN, GRADIENT, strict=True)], abs=1e-6
    )


def test_the_first_step_of_adam_is_the_sign_of_the_gradient() -> None:
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, learning_rate=0.01))
    agent._learn([two_choices()])
    expected = [x + 0.01 * math.copysign(1, g) for x, g in zip(LN, GRADIENT, strict=True)]
    assert agent.brain.networks.numbers.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_long_gradient_is_cut() -> None:
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, max_norm=0.1))
    length = math.hypot(*GRADIENT)
    expected = [x + 0.1 * g * 0.1 / length for x, g in zip(LN, GRADIENT, strict=True)]
    assert learn(agent, two_choices()) == pytest.approx(expected, abs=1e-5)


def test_advantages_are_standardised_returns() -> None:
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, gamma=0.5))
    run = Memory()
    for reward in (1, 2, 3):
        entry(run, "xxx", 0, 0, reward)
    assert agent.advantages([run]) == pytest.approx(standardised(np.array([2.75, 3.5, 3])))


def test_advantages_of_two_runs_are_over_the_other_run() -> None:
    # In decisions without a discount: worth 3, 2 and 5, 4; each less the other at that hour.
    one, two = Memory(), Memory()
    for run, rewards in ((one, (1, 2)), (two, (1, 4))):
        for hour, reward in enumerate(rewards):
            entry(run, "xxx", 0, 0, reward, hour)
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, gamma=1, runs=2))
    assert agent.advantages([one, two]) == pytest.approx([-1, -1, 1, 1])
    # By the hour, and a rate: each pays its first reward for an hour.
    agent = DrasPG(TableBrain(LN), MEAN_WAIT, make_update(PLAIN, horizon=1e9, runs=2))
    two.rewards[0] = 5
    # Worth 1, 0 and 5, 0: differences -4, 0, 4, 0, standard deviation sqrt(8).
    expected = [-math.sqrt(2), 0, math.sqrt(2), 0]
    assert agent.advantages([one, two]) == pytest.approx(expected, abs=1e-6)


def test_a_choice_of_one_is_not_learnt_from_but_counts_in_what_came_before() -> None:
    run = Memory()
    entry(run, "xx.", 1, math.log(2 / 3), 0)
    entry(run, "", 0, 0, 5)
    entry(run, "xx.", 0, math.log(1 / 3), 1)
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, gamma=1))
    # Worth 6, 6, 1: mean 13/3, deviations 5/3, 5/3, -10/3, standard deviation 5 sqrt(2) / 3.
    a, b = 1 / math.sqrt(2), -2 / math.sqrt(2)
    assert agent.advantages([run]) == pytest.approx([a, a, b])
    # Two terms, not three: a (e1 - p) and b (e0 - p), p = (1, 2, 0) / 3.
    gradient = [(a * (-1 / 3) + b * (2 / 3)) / 2, (a * (1 / 3) + b * (-2 / 3)) / 2, 0]
    expected = [x + 0.1 * g for x, g in zip(LN, gradient, strict=True)]
    assert learn(agent, run) == pytest.approx(expected, abs=1e-6)
    figures = agent.figures()
    assert (figures["reward"], figures["decisions"]) == (6, 3)


def test_rewards_of_a_stretch_without_a_choice_are_reported_too() -> None:
    run = Memory()
    entry(run, "", 0, 0, 5)
    agent = DrasPG(TableBrain(LN), update=PLAIN)
    assert learn(agent, run) == pytest.approx(LN)
    figures = agent.figures()
    assert (figures["reward"], figures["decisions"]) == (5, 1)
    assert math.isnan(figures["loss"])


def test_what_is_left_out_gets_no_gradient_at_all() -> None:
    run = Memory()
    entry(run, "xx.", 0, math.log(1 / 3), 0)
    entry(run, "xx.", 1, math.log(2 / 3), 1)
    agent = DrasPG(TableBrain([0.0, math.log(2), 50.0]), update=make_update(PLAIN, entropy=1))
    loss, _ = agent._loss(run, np.arange(2), np.array([-1.0, 1.0]))
    loss.backward()
    gradient = agent.brain.networks.numbers.grad.tolist()
    assert gradient[2] == 0
    assert 0 not in gradient[:2]


# -- DRAS-PG: the objective held back ---------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "advantage", "loss", "moves"),
    [
        # The probability now is 1/2; with clip 0.2 a share may move to 0.8 or 1.2 of the old.
        (1 / 4, 3, -1.2 * 3, False),  # doubled and good: no more
        (1 / 4, -3, 2 * 3, True),  # doubled and bad: all of it counts
        (1.0, 3, -0.5 * 3, True),  # halved and good: back with it
        (1.0, -3, 0.8 * 3, False),  # halved and bad: no more
        (0.5, 3, -3, True),
    ],
)
def test_the_objective_held_back_by_hand(
    old: float, advantage: float, loss: float, moves: bool
) -> None:
    agent = DrasPG(TableBrain([0.0, 0.0]), update=make_update(PLAIN, clip=0.2))
    run = Memory()
    entry(run, "xx", 1, math.log(old), 0)
    found, entropy = agent._loss(run, np.arange(1), np.array([advantage], dtype=float))
    assert float(found.detach()) == pytest.approx(loss)
    assert entropy == pytest.approx(math.log(2))
    found.backward()
    gradient = agent.brain.networks.numbers.grad
    assert bool(gradient.abs().sum() > 0) is moves
    if moves:  # of ratio * A * log pi: ratio A (1 - 1/2), downhill in the loss
        assert gradient.tolist()[1] == pytest.approx(-0.5 / old * advantage * 0.5)


def test_the_entropy_is_paid_for() -> None:
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, entropy=0.5))
    loss, entropy = agent._loss(two_choices(), np.arange(2), np.array([-1.0, 1.0]))
    of_three = -sum(p * math.log(p) for p in (1 / 8, 2 / 8, 5 / 8))
    of_two = -sum(p * math.log(p) for p in (1 / 3, 2 / 3))
    assert entropy == pytest.approx((of_three + of_two) / 2)
    assert float(loss.detach()) == pytest.approx(-(-1 + 1) / 2 - 0.5 * entropy)


def test_each_decision_is_learnt_from_in_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = DrasPG(TableBrain(LN), update=make_update(PLAIN, epochs=3, batch=4))
    run = Memory()
    for k in range(10):
        entry(run, "xxx", k % 3, math.log(1 / 3), k)
    chunks: list[list[int]] = []
    whole = agent._loss

    def noted(memory: Memory, chunk: Any, advantages: Any) -> Any:
        assert advantages.tolist() == agent.advantages([run])[chunk].tolist()
        chunks.append(chunk.tolist())
        return whole(memory, chunk, advantages)

    monkeypatch.setattr(agent, "_loss", noted)
    agent._learn([run])
    assert [len(chunk) for chunk in chunks] == [4, 3, 3] * 3
    for epoch in range(3):
        assert sorted(k for chunk in chunks[3 * epoch : 3 * epoch + 3] for k in chunk) == list(
            range(10)
        )
    assert chunks[0] != chunks[3]  # in another order


# -- DRAS-DQL ---------------------------------------------------------------------------------


def three_values() -> Memory:
    run = Memory()
    for chosen, best, reward in ((0, 10, 1), (2, 20, 2), (0, 40, 3)):
        entry(run, "xxx", chosen, best, reward)
    return run


@pytest.mark.parametrize(
    ("target", "y"),
    [
        ("return", [2.75, 3.5, 3]),  # 3; 2 + 3 / 2; 1 + 3.5 / 2
        ("bootstrap", [1 + 20 / 2, 2 + 40 / 2, 3]),  # the best value that follows
    ],
)
def test_a_step_of_deep_q_learning_by_hand(target: str, y: list[float]) -> None:
    update = make_update(PLAIN, gamma=0.5, target=target)
    agent = DrasDQL(TableBrain([1.0, 7.0, 2.0]), update=update)
    run = three_values()
    assert agent.targets([run]).tolist() == pytest.approx(y)
    loss = agent._loss(run, np.arange(3), np.array(y))
    errors = [1 - y[0], 2 - y[1], 1 - y[2]]
    assert float(loss.detach()) == pytest.approx(sum(e * e for e in errors) / 3)
    # d loss / d q0 = 2 (errors of both choices of 0) / 3; nothing for what was not chosen.
    expected = [1 - 0.1 * 2 * (errors[0] + errors[2]) / 3, 7, 2 - 0.1 * 2 * errors[1] / 3]
    assert learn(agent, run) == pytest.approx(expected)


def test_targets_of_two_runs_are_over_the_other_run() -> None:
    one, two = Memory(), Memory()
    for run, reward in ((one, 1), (two, 4)):
        entry(run, "xxx", 0, 0, reward)
    agent = DrasDQL(TableBrain(LN), update=make_update(PLAIN, runs=2))
    assert agent.targets([one, two]).tolist() == [-1, 1]


# -- what breaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DrasPG, DrasDQL])
def test_a_loss_that_is_no_number_stops_and_changes_no_weight(kind: Any) -> None:
    agent = kind(TableBrain([*LN, 0.0]), update=make_update(PLAIN, gamma=0.5))
    with torch.no_grad():
        agent.brain.networks.numbers[3] = math.nan
    run = Memory()
    for k in range(4):
        entry(run, "xxxx", k, -1, k)
    with pytest.raises(DrasLabError, match="learning has broken down: the loss is nan"):
        agent._learn([run])
    assert agent.brain.networks.numbers.tolist()[:3] == pytest.approx(LN)
    assert agent.brain.networks.numbers.grad is None


# -- what cannot be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "options", "complaint"),
    [
        (("sarsa", 4), {}, "no agent 'sarsa'; the agents are pg, dql, decima"),
        (("pg", 4), {"network": "cnn"}, "no network 'cnn'; the networks are dras, scorer"),
        (("pg", 4), {"reward": "speed"}, "no reward 'speed'"),
        (("pg", 4), {"update": "fast"}, "no update 'fast'; the updates are published, ours"),
        (("pg", 4), {"prior": [1.0]}, "network 'dras': .*'prior'"),
        (("pg", 4), {"network": "scorer", "scaling": "log"}, "network 'scorer': .*'scaling'"),
        (("pg", 4), {"network": "scorer", "prior": [1.0]}, "prior has 1 weights for 9 features"),
        (("pg", 4), {"activation": "tanh"}, "activation: 'tanh' is not one of"),
        (("pg", 0), {}, "nodes and window must be at least 1"),
        (("pg", 4), {"hidden": 8}, "hidden: give two widths of 1 or more, not 8"),
        (("pg", 4), {"hidden": (8,)}, "hidden: give two widths"),
        (("dql", 4), {"hidden": (8, 0)}, "hidden: give two widths"),
    ],
)
def test_no_such_agent(words: Any, options: Any, complaint: str) -> None:
    with pytest.raises(DrasLabError, match=complaint) as raised:
        make_agent(*words, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": 0},
        {"learning_rate": math.nan},
        {"gamma": 1.1},
        {"horizon": 0},
        {"runs": 0},
        {"every": 0},
        {"epochs": 0},
        {"batch": 0},
        {"clip": 0},
        {"entropy": -1},
        {"max_norm": 0},
        {"epsilon": 1.5},
        {"decay": 0},
        {"floor": -0.1},
        {"target": "td"},
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any]) -> None:
    with pytest.raises(DrasLabError, match=f"update: {next(iter(change))} cannot be"):
        make_update("ours", **change)


def test_settings_with_a_change() -> None:
    changed = make_update("ours", clip=0.1)
    assert changed.to_dict() == OURS.to_dict() | {"clip": 0.1}
    with pytest.raises(DrasLabError, match="update: there is no setting 'speed'"):
        make_update("ours", speed=1)
