"""Training: its job sets, its validation, when it ends, and that it can be broken off anywhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from runs import trace_of

torch = pytest.importorskip("torch")


from dras_lab.agents import Agent, make_agent, make_update  # noqa: E402
from dras_lab.agents.checkpoints import load, read  # noqa: E402
from dras_lab.decisions import Decision  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.metrics import balance, wait_ratios  # noqa: E402
from dras_lab.policies import fcfs, make_policy  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402
from dras_lab.traces import Trace  # noqa: E402
from dras_lab.training import Plan, Training, Validation, even_plan, train  # noqa: E402

# A machine of 4 nodes, and more to do than it can: 60 jobs of 1 to 3 nodes in an hour.
TRACE = trace_of(
    [(k, 60 * k, 1 + k % 3, 300 * (1 + k % 5), 200 + 100 * (k % 4)) for k in range(1, 61)], 4
)
VALID = trace_of([(k, 30 * k, 1 + k % 2, 60 * (1 + k % 9), 50 * (1 + k % 9)) for k in range(20)], 4)
PLAN = Plan(phases=(("sampled", 2), ("real", 2), ("synthetic", 1)), jobs=25, seed=3)


def agent_of(kind: str = "pg", update: str = "ours", **options: Any) -> Agent:
    settings = make_update(update, decay=0.999) if kind == "dql" else make_update(update)
    options = {"network": "scorer", "hidden": (6, 4), "reward": "capability"} | options
    return make_agent(kind, 4, 8, update=settings, seed=1, **options)


def weights(agent: Agent) -> list[Any]:
    return [tensor.clone() for tensor in agent.brain.networks.state_dict().values()]


def same(one: list[Any], two: list[Any]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def without_seconds(training: Training) -> pd.DataFrame:
    return training.log.drop(columns="seconds")


# -- plans and job sets -----------------------------------------------------------------------


def jobs(trace: Trace) -> list[tuple[Any, ...]]:
    return list(trace.table.itertuples(index=False, name=None))


def test_phases_follow_each_other() -> None:
    plan = Plan(phases=(("real", 2), ("sampled", 0), ("synthetic", 1), ("real", 1)), jobs=5)
    assert plan.episodes == 4
    assert [plan.phase(k) for k in range(1, 5)] == ["real", "real", "synthetic", "real"]
    assert even_plan(10).phases == (("sampled", 2), ("real", 6), ("synthetic", 2))
    assert even_plan(1, jobs=9).phases == (("sampled", 0), ("real", 1), ("synthetic", 0))
    assert even_plan(1, jobs=9).jobs == 9


@pytest.mark.parametrize("phase", ["sampled", "real", "synthetic"])
def test_job_sets_hang_on_seed_and_episode_alone(phase: str) -> None:
    def plan(seed: int) -> Plan:
        return Plan(phases=((phase, 6),), jobs=25, seed=seed)

    sets = [jobs(plan(3).job_set(TRACE, episode)) for episode in range(1, 7)]
    assert all(len(rows) == 25 for rows in sets)
    assert len({str(rows) for rows in sets}) >= 5  # of 36 places, two may be the same
    # Asked for in another order, from another plan: the same.
    again = {episode: jobs(plan(3).job_set(TRACE, episode)) for episode in (5, 2, 6, 1, 4, 3)}
    assert [again[episode] for episode in range(1, 7)] == sets
    assert jobs(plan(4).job_set(TRACE, 1)) != sets[0]


def test_real_job_sets_are_stretches_of_the_log() -> None:
    plan = Plan(phases=(("real", 40),), jobs=55)
    log = jobs(TRACE)
    places = set()
    for episode in range(1, 41):
        rows = jobs(plan.job_set(TRACE, episode))
        place = log.index(rows[0])
        assert rows == log[place : place + 55]
        places.add(place)
    assert places == set(range(6))  # the first and the last place among them
    assert jobs(Plan(phases=(("real", 1),), jobs=60).job_set(TRACE, 1)) == log


def test_sampled_and_synthetic_job_sets_have_the_load_asked_for() -> None:
    for phase in ("sampled", "synthetic"):
        plan = Plan(phases=((phase, 1),), jobs=60, load=0.5)
        assert plan.job_set(TRACE, 1).summary()["offered_load"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"phases": (("warm", 3),)}, "no phase 'warm'; the phases are sampled, real, synthetic"),
        ({"phases": (("real", -1),)}, "phase real: -1 episodes cannot be"),
        ({"phases": ()}, "at least one episode"),
        ({"phases": (("real", 0),)}, "at least one episode"),
        ({"jobs": 1}, "a job set of 1 jobs has nothing to choose"),
        ({"load": 0}, "load and patience must be above 0"),
        ({"load": math.nan}, "load and patience must be above 0"),
        ({"patience": 0}, "load and patience must be above 0"),
    ],
)
def test_plans_that_cannot_be(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DrasLabError, match=complaint):
        Plan(**words)


# -- validation -------------------------------------------------------------------------------


def test_validation_is_a_run_compared_with_first_come_first_served() -> None:
    agent = agent_of()
    before, state = weights(agent), agent.state()
    row = Validation(VALID, 8, 1.2, nodes=4)(agent)
    assert same(before, weights(agent))
    assert str(agent.state()) == str(state)
    result = simulate(VALID, agent, window=8)
    mean, longest = wait_ratios(result, simulate(VALID, fcfs, window=8))
    assert row == {
        "mean_wait_h": pytest.approx(result.wait.mean() / 3600),
        "max_wait_h": pytest.approx(result.wait.max() / 3600),
        "mean_wait_ratio": pytest.approx(mean),
        "max_wait_ratio": pytest.approx(longest),
        "score": pytest.approx(balance(mean, longest, 1.2)),
    }
    of_fcfs = Validation(VALID, 8)(make_policy("fcfs"))  # type: ignore[arg-type]
    assert (of_fcfs["mean_wait_ratio"], of_fcfs["max_wait_ratio"]) == (1, 1)


def test_training_validates_without_learning_and_keeps_the_least_balance() -> None:
    seen: list[list[Any]] = []
    agent = agent_of()
    training = train(
        agent, TRACE, VALID, PLAN, callback=lambda row: seen.append([row, *weights(agent)])
    )
    log = training.log
    assert list(log["episode"]) == [1, 2, 3, 4, 5]
    assert list(log["phase"]) == ["sampled"] * 2 + ["real"] * 2 + ["synthetic"]
    assert training.why == "finished"
    best = min(range(5), key=lambda k: log["score"][k])
    assert training.best == seen[best][0]
    assert same(weights(agent), seen[best][1:])
    # What it has now is what was validated then.
    assert Validation(VALID, 8, nodes=4)(agent).items() <= training.best.items()
    assert not agent.learning
    assert not same(seen[0][1:], seen[1][1:])
    assert list(log["learning_rate"]) == pytest.approx([0.003 * (1 - k / 5) for k in range(5)])


def test_the_folder_holds_an_agent_an_episode_and_the_best(tmp_path: Path) -> None:
    out = tmp_path / "run"
    seen: list[list[Any]] = []
    agent = agent_of()
    training = train(
        agent,
        TRACE,
        VALID,
        PLAN,
        out=out,
        about={"note": "x"},
        callback=lambda row: seen.append(weights(agent)),
    )
    assert sorted(p.name for p in out.iterdir()) == [
        "best.pt",
        "config.json",
        *(f"episode-000{k}.pt" for k in range(1, 6)),
        "log.csv",
        "state.pt",
    ]
    for k, weights_then in enumerate(seen, 1):
        assert same(weights(load(out / f"episode-000{k}.pt")), weights_then)
    assert same(weights(load(out / "best.pt")), weights(agent))
    about = read(out / "best.pt")["about"]
    assert about["note"] == "x"
    assert about["episode"]["episode"] == training.best["episode"]
    assert about["trace_digest"] == TRACE.digest()
    table = pd.read_csv(out / "log.csv")
    pd.testing.assert_frame_equal(table, training.log, check_dtype=False, rtol=1e-12)


def test_training_ends_when_nothing_better_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.9, 0.8, 0.85, 0.8, 0.7, 0.9, 0.9, 0.9, 0.1])

    def judged(self: Validation, policy: Agent) -> dict[str, float]:
        names = ("mean_wait_h", "max_wait_h", "mean_wait_ratio", "max_wait_ratio")
        return dict.fromkeys(names, 1.0) | {"score": next(scores)}

    monkeypatch.setattr(Validation, "__call__", judged)
    plan = Plan(phases=(("sampled", 9),), jobs=10, patience=3)
    training = train(agent_of(update="published"), TRACE, VALID, plan)
    # The best is the fifth (a tie does not count); three more, and no ninth.
    assert (training.why, training.best["episode"], len(training.log)) == ("converged", 5, 8)


# -- the same again, whatever happens between -------------------------------------------------

AGENTS = [("pg", "ours"), ("pg", "published"), ("dql", "ours"), ("dql", "published")]


class Breaking:
    """A reward that is interrupted at its k-th call."""

    name = "breaking"

    def __init__(self, at: float = math.inf) -> None:
        self.at, self.calls = at, 0

    def __call__(self, decision: Decision, index: int | None) -> float:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return float(decision.sizes[index or 0]) / (1 + len(decision.waiting))


@pytest.mark.parametrize(("kind", "update"), AGENTS)
def test_the_same_seed_gives_the_same_and_so_does_going_on(
    tmp_path: Path, kind: str, update: str
) -> None:
    def unbroken(out: Path) -> tuple[Training, Agent, Breaking]:
        reward = Breaking()
        agent = agent_of(kind, update, reward=reward)
        return train(agent, TRACE, VALID, PLAN, out=out), agent, reward

    whole, agent, reward = unbroken(tmp_path / "a")
    other, _, _ = unbroken(tmp_path / "b")
    pd.testing.assert_frame_equal(without_seconds(whole), without_seconds(other))
    logs = [pd.read_csv(tmp_path / x / "log.csv").drop(columns="seconds") for x in "ab"]
    assert logs[0].to_csv() == logs[1].to_csv()

    def stop(row: dict[str, Any]) -> None:
        if row["episode"] == 2:
            raise KeyboardInterrupt

    # Broken off after the second episode and again inside the fourth; gone on with by another
    # agent each time, and the last time by one that has been at work.
    out = tmp_path / "c"
    first = train(
        agent_of(kind, update, reward=Breaking()), TRACE, VALID, PLAN, out=out, callback=stop
    )
    assert (first.why, len(first.log)) == ("interrupted", 2)
    a_fifth = reward.calls / 5
    second_agent = agent_of(kind, update, reward=Breaking(round(1.5 * a_fifth)))
    second = train(second_agent, TRACE, VALID, PLAN, out=out, resume=True)
    assert (second.why, len(second.log)) == ("interrupted", 3)
    third = train(second_agent, TRACE, VALID, PLAN, out=out, resume=True)
    assert third.why == "finished"
    pd.testing.assert_frame_equal(without_seconds(third), without_seconds(whole))
    assert third.best["episode"] == whole.best["episode"]
    assert same(weights(second_agent), weights(agent))
    for name in ("best.pt", "state.pt", "episode-0003.pt", "episode-0005.pt"):
        one, two = (read(tmp_path / x / name) for x in "ac")
        assert same(list(one["weights"].values()), list(two["weights"].values()))
    # All is done: going on changes nothing.
    idle = train(
        agent_of(kind, update, reward=Breaking()), TRACE, VALID, PLAN, out=out, resume=True
    )
    pd.testing.assert_frame_equal(idle.log, third.log)
    assert idle.best["episode"] == third.best["episode"]


def test_several_validation_logs_count_by_mean_and_worst() -> None:
    other = trace_of(
        [(k, 20 * k, 1 + k % 3, 60 * (1 + k % 7), 55 * (1 + k % 7)) for k in range(30)], 4
    )
    apart = [Validation(trace, 8)(agent_of()) for trace in (VALID, other)]
    both = Validation([VALID, other], 8)(agent_of())
    for name in ("mean_wait_ratio", "mean_wait_h"):
        assert both[name] == pytest.approx((apart[0][name] + apart[1][name]) / 2)
    for name in ("max_wait_ratio", "max_wait_h"):
        assert both[name] == max(apart[0][name], apart[1][name])


def test_jobs_of_another_machine_are_refused() -> None:
    wide = trace_of([(k, 30 * k, 1, 60, 50) for k in range(30)], 5)
    for parts in ((wide, VALID), (TRACE, wide)):
        with pytest.raises(DrasLabError, match=r"is of 5 nodes, and the agent of 4; make one for"):
            train(agent_of(), *parts, PLAN)
