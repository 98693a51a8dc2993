"""The gymnasium environment: the simulator's own schedules, and gymnasium's own checks."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from deciding import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import fcfs, rows_of, runs_of, trace_of
from strategies import Chooser, Workload, choosers, overruns, workloads

from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.rewards import capability
from dras_lab.simulator import Simulation, simulate
from dras_lab.traces import Trace, read_swf

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402

from dras_lab import env as module  # noqa: E402
from dras_lab.env import ID, Observe, SchedulingEnv  # noqa: E402
from dras_lab.observations import OBSERVATIONS  # noqa: E402

VIEWS = list(OBSERVATIONS)
# Five jobs at once on 4 nodes: three fit, the fourth does not, and the fifth fits the hole.
CROWD = [(1, 0, 1, 60, 50), (2, 0, 1, 90, 90), (3, 0, 1, 90, 80), (4, 0, 4, 60, 60)]
CROWD += [(5, 0, 1, 30, 30)]


def small_env(jobs: Any = SMALL, nodes: int = 8, **options: Any) -> SchedulingEnv:
    return SchedulingEnv(trace_of(jobs, nodes), **{"window": 3, **options})


# -- the simulator's own schedules ------------------------------------------------------------


def drive(env: SchedulingEnv, policy: Any) -> list[float]:
    """One episode under a policy of the simulator's; the rewards."""
    _, info = env.reset(seed=0)
    rewards = []
    ended = False
    while not ended:
        assert env.decision is not None
        choice = policy(env.decision)
        action = env.window if choice is None else choice
        assert info["action_mask"][action] == 1
        seen, reward, ended, truncated, info = env.step(action)
        assert not truncated
        assert seen in env.observation_space
        assert info["action_mask"].any()
        rewards.append(reward)
    return rewards


@settings(max_examples=150, deadline=None)
@given(
    workloads(),
    choosers(passes=True),
    overruns,
    st.sampled_from([1, 2, 5, 14]),
    st.sampled_from(VIEWS),
    st.sampled_from(["agent", "easy"]),
)
def test_a_policy_makes_the_same_schedule_through_both(
    workload: Workload, chooser: Chooser, overrun: str, window: int, view: str, by: str
) -> None:
    trace = trace_of(workload.jobs, workload.nodes)
    rewarded: list[float] = []

    def policy(decision: Decision) -> int | None:
        if by == "easy" and decision.level is Level.BACKFILL:
            return 0
        choice = chooser.pick(decision.level.value, decision.time, rows_of(decision.candidates))
        return 0 if choice is None and not decision.running else choice

    def noted(decision: Decision) -> int | None:
        choice = policy(decision)
        if by == "agent" or decision.level is Level.SELECT:
            rewarded.append(capability(decision, choice))
        return choice

    options = {"window": window, "overrun": overrun}
    if all(job.size > workload.nodes for job in workload.jobs):
        with pytest.raises(DrasLabError, match="there is nothing to decide"):
            SchedulingEnv(trace, **options).reset()
        return
    expected = simulate(trace, noted, **options)
    env = SchedulingEnv(trace, backfill_by=by, observation=view, **options)
    for _ in range(2):  # one environment for one episode after the other
        assert drive(env, policy) == rewarded
        assert runs_of(env.result()) == runs_of(expected)


@pytest.mark.parametrize("by", ["agent", "easy"])
@pytest.mark.parametrize("view", VIEWS)
def test_first_come_first_served_on_a_shipped_log(by: str, view: str) -> None:
    trace = read_swf("theta-like").coarsen(16)[:600]
    env = SchedulingEnv(trace, backfill_by=by, observation=view, window=20)
    drive(env, fcfs)
    assert runs_of(env.result()) == runs_of(simulate(trace, fcfs, window=20))


def test_the_steps_of_a_crowd_by_hand() -> None:
    """Four picks, the fourth is reserved; then the hole, filled by the agent or by EASY."""
    env = small_env(CROWD, 4)
    _, info = env.reset()
    assert info["action_mask"].tolist() == [1, 1, 1, 0]  # an empty machine: no pass
    assert info["level"] == 1
    levels, masks = [], []
    ended, steps = False, 0
    while not ended:
        _, _, ended, _, info = env.step(0)
        levels.append(info["level"])
        masks.append(info["action_mask"].tolist())
        steps += 1
    assert levels == [1, 1, 1, 2, 1]
    # Jobs 3 to 5, then 4 and 5, are on offer; job 5 alone fits the hole; then all have ended.
    assert masks == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]]
    assert steps == 5
    easy = small_env(CROWD, 4, backfill_by="easy")
    assert len(drive(easy, fcfs)) == 4
    assert runs_of(easy.result()) == runs_of(env.result())
    assert runs_of(env.result())[5].how == "backfilled"


def test_the_pass_waits_for_what_happens_next() -> None:
    env = small_env([(1, 0, 1, 60, 50), (2, 0, 1, 60, 60)], 2)
    env.reset()
    env.step(0)
    _, reward, ended, _, _ = env.step(3)
    assert reward == pytest.approx(1 / 2 / 3)  # one of two nodes in use; see Capability
    assert not ended
    assert env.decision is not None
    assert env.decision.time == 50  # job 1 ended
    env.step(0)
    assert runs_of(env.result())[2].start == 50


def test_an_episode_is_cut_at_the_horizon() -> None:
    env = small_env(CROWD, 4, horizon=2)
    env.reset()
    assert env.step(0)[2:4] == (False, False)
    seen, _, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (False, True)
    assert seen.any()  # the state to bootstrap from
    assert info["action_mask"].tolist() == [1, 1, 1, 1]
    with pytest.raises(DrasLabError, match="the episode has ended; call reset"):
        env.step(0)
    exact = small_env(CROWD, 4, horizon=5)  # ended and not cut, where both come at once
    exact.reset()
    assert [exact.step(0)[2:4] for _ in range(5)] == [(False, False)] * 4 + [(True, False)]


# -- bad input --------------------------------------------------------------------------------


def test_an_illegal_action_is_explained_and_changes_nothing() -> None:
    env = small_env(CROWD[3:], 4)
    env.reset()
    for action, why in (
        (2, "action 2 picks job 3 of the window, and 2 are on offer; info"),
        (3, "action 3 passes, and no job runs, so nothing is sure to happen .* pick a job: 0 to 1"),
        (4, "4 is no action: 0 to 2 pick a job, 3 passes"),
        (-1, "-1 is no action"),
        (0.5, "0.5 is no action"),
        (None, "None is no action"),
    ):
        with pytest.raises(DrasLabError, match=why):
            env.step(action)
    assert env.step(np.int64(0))[2] is False
    assert drive(env, fcfs)

    never = small_env(CROWD, 4, passing=False)
    _, info = never.reset()
    never.step(np.array(0))
    with pytest.raises(DrasLabError, match="made with passing=False; pick a job: 0 to 2"):
        never.step(3)
    ended = False
    while not ended:
        _, _, ended, _, info = never.step(0)
        assert ended == bool(info["action_mask"][-1])


def test_stepping_outside_an_episode_raises() -> None:
    env = small_env()
    with pytest.raises(DrasLabError, match="no decision to make: the episode has ended; call res"):
        env.step(0)
    with pytest.raises(RuntimeError, match="there is no schedule yet"):
        env.result()
    env.reset()
    with pytest.raises(RuntimeError, match="there are decisions left to make"):
        env.result()
    env.reset()
    drive(env, fcfs)
    for _ in range(2):
        with pytest.raises(DrasLabError, match="the episode has ended"):
            env.step(0)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"window": 0}, "window: 0 is not a whole number of 1 or more"),
        ({"nodes": 2.5}, "nodes: 2.5 is not a whole number"),
        ({"horizon": 0}, "horizon: 0 is not a whole number"),
        ({"backfill_by": "me"}, "backfill_by: 'me' is not one of agent, easy"),
        ({"reward": "praise"}, "there is no reward 'praise'"),
        ({"observation": "all"}, "there is no observation 'all'; they are compact, rows, rlsch"),
        ({"render_mode": "human"}, "render_mode: 'human' is not one of ansi, rgb_array"),
        ({"trace": lambda rng: None}, r"say how large the machine is \(nodes=...\)"),
        ({"trace": 5, "nodes": 5}, "trace: 5 is not a Trace, a log's name or path, or a sampler"),
    ],
)
def test_arguments_that_cannot_be(options: dict[str, Any], why: str) -> None:
    with pytest.raises(DrasLabError, match=why):
        SchedulingEnv(**{"trace": trace_of(SMALL, 8), **options})


def test_resets_that_cannot_be() -> None:
    env = small_env()
    with pytest.raises(DrasLabError, match="reset has no option 'tracee'; the only one is trace"):
        env.reset(options={"tracee": None})
    with pytest.raises(DrasLabError, match="an episode needs a Trace, and was given 7"):
        env.reset(options={"trace": 7})
    with pytest.raises(DrasLabError, match="none of the 1 jobs fits a machine of 8 nodes, so"):
        env.reset(options={"trace": trace_of([(1, 0, 9, 5, 5)], 9)})
    with pytest.raises(DrasLabError, match="the episode has ended; call reset"):
        env.step(0)
    with pytest.raises(DrasLabError, match="an episode needs a Trace, and was given None"):
        SchedulingEnv(lambda rng: None, nodes=4).reset()
    bad = small_env(reward=lambda decision, index: math.nan)
    bad.reset()
    with pytest.raises(DrasLabError, match="the reward <lambda> is nan at 0 s"):
        bad.step(0)


# -- traces of episodes -----------------------------------------------------------------------


def sampler(rng: np.random.Generator) -> Trace:
    return trace_of([(k, 0, int(rng.integers(1, 5)), 60, 60) for k in range(1, 9)], 4)


def test_a_sampler_draws_with_the_seed_of_reset_alone() -> None:
    env = SchedulingEnv(sampler, nodes=4, window=8)
    drawn = []
    for global_seed in (1, 2):
        random.seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002
        first, _ = env.reset(seed=5)
        second, _ = env.reset()
        drawn.append((first.tolist(), second.tolist()))
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]  # another job set at each reset
    assert env.reset(seed=6)[0].tolist() != drawn[0][0]


def test_reset_brings_a_trace_for_one_episode() -> None:
    env = small_env()
    other = trace_of(CROWD, 8)
    env.reset(options={"trace": other})
    while not env.step(0)[2]:
        pass
    assert runs_of(env.result()) == runs_of(simulate(other, fcfs, window=3))
    drive(env, fcfs)
    assert runs_of(env.result()) == runs_of(simulate(trace_of(SMALL, 8), fcfs, window=3))


def test_a_log_by_name() -> None:
    env = SchedulingEnv("lublin-256")
    assert env.nodes == 256
    assert env.observation_space.shape == (50 * 9 + 7,)


# -- gymnasium's own checks -------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("options", [{}, {"backfill_by": "easy"}, {"passing": False}])
def test_gymnasium_has_nothing_to_say(view: str, options: dict[str, Any]) -> None:
    """`check_env` samples actions: `Choices.sample` draws legal ones."""
    trace = read_swf("theta-like").coarsen(16)[:100]
    env = gymnasium.make(ID, trace=trace, window=20, observation=view, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("view", VIEWS)
def test_two_environments_of_one_seed_are_the_same(view: str) -> None:
    """After the determinism rollout of gymnasium's own tests."""
    first, second = (
        gymnasium.make(ID, trace=sampler, nodes=4, window=6, observation=view) for _ in range(2)
    )
    first.action_space.seed(3)
    starts = first.reset(seed=3), second.reset(seed=3)
    assert data_equivalence(*starts, exact=True)
    for _ in range(200):
        action = first.action_space.sample()
        one, two = first.step(action), second.step(action)
        assert data_equivalence(one, two, exact=True)
        assert one[0].dtype == np.float32
        assert type(one[1]) is float
        assert one[4]["action_mask"].dtype == np.int8
        if one[2]:
            assert data_equivalence(first.reset(), second.reset(), exact=True)


def make_one() -> Any:
    return gymnasium.make("dras_lab.env:" + ID, trace=sampler, nodes=4, window=4)


@pytest.mark.parametrize(
    "kind",
    ["SyncVectorEnv", pytest.param("AsyncVectorEnv", marks=pytest.mark.slow)],
)
def test_vectors_of_environments(kind: str) -> None:
    rng = np.random.default_rng(0)
    envs = getattr(gymnasium.vector, kind)([make_one] * 2)
    try:
        seen, info = envs.reset(seed=1)
        single = make_one()
        assert (seen[1] == single.reset(seed=2)[0]).all()  # seeds are counted up
        resets = 0
        for _ in range(60):
            masks = info["action_mask"]
            assert masks.shape == (2, 5)
            assert masks.any(axis=1).all()
            actions = [int(rng.choice(mask.nonzero()[0])) for mask in masks]
            seen, _, ended, _, info = envs.step(np.array(actions))
            assert seen.dtype == np.float32
            assert seen in envs.observation_space
            resets += int(ended.sum())
        assert resets > 2
    finally:
        envs.close()


def test_a_fresh_python_finds_it_by_module_and_id() -> None:
    program = (
        "import gymnasium\n"
        f"env = gymnasium.make('dras_lab.env:{ID}', trace='lublin-256', window=5)\n"
        "print(env.reset(seed=0)[1]['action_mask'].tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "[1, 0, 0, 0, 0, 0]\n"
    assert run.stderr == ""


def test_sampled_actions_are_legal_and_all_come_up() -> None:
    env = small_env(CROWD, 4)
    space = env.action_space
    space.seed(1)
    assert {int(space.sample()) for _ in range(20)} == {0}  # no episode yet
    env.reset()
    assert {int(space.sample()) for _ in range(60)} == {0, 1, 2}
    env.step(0)
    assert {int(space.sample()) for _ in range(80)} == {0, 1, 2, 3}
    assert space.sample(mask=np.array([0, 1, 0, 0], dtype=np.int8)) == 1
    space.seed(1)  # forgets the episode, and the environment does not
    assert {int(space.sample()) for _ in range(20)} == {0}
    assert env.action_masks().tolist() == [True] * 4
    env.step(3)


# -- pictures ---------------------------------------------------------------------------------


def at_600(env: SchedulingEnv) -> None:
    """The decision that deciding.SMALL is made for: nobody picks a job before it."""
    env.reset()
    while env.decision is not None and env.decision.time < 600:
        env.step(0 if env.decision.time == 0 else 3)


def test_a_decision_as_text() -> None:
    env = small_env(render_mode="ansi")
    assert env.render() == "no decision is open"
    at_600(env)
    # At 600: job 1 holds 5 of 8 nodes, jobs 3 and 4 wait. See deciding.SMALL.
    lines = env.render().splitlines()
    assert lines[0] == "day 0 00:10:00  select  3 of 8 nodes free, 1 jobs run, 2 wait"
    assert lines[1] == "[" + "#" * 25 + "." * 15 + "]"
    assert re.fullmatch(r" +0  job 3: 4 nodes for 2.0 h, queued 0.1 h, does not fit", lines[2])
    assert re.fullmatch(r" +1  job 4: 1 nodes for 0.0 h, queued 0.1 h, fits", lines[3])
    drive(env, fcfs)
    assert env.render() == "no decision is open"
    assert small_env().render() is None


def test_a_decision_as_a_picture() -> None:
    env = small_env(render_mode="rgb_array")
    at_600(env)
    image = env.render()
    assert image.shape == (240, 480, 3)
    assert image.dtype == np.uint8
    # Nodes 0 to 4 of 8 (the upper 150 rows) are held for 50 min, of 24 h on 320 pixels: 12.
    used = (image[:, :320] != module.scenes.PAPER).any(axis=2)
    assert used.sum(axis=1).tolist() == [12] * 150 + [0] * 90
    drive(env, fcfs)
    assert (env.render() == module.scenes.PAPER).all()


def test_the_reserved_start_is_a_line() -> None:
    env = small_env(CROWD, 4, render_mode="rgb_array")
    env.reset()
    for _ in range(4):
        env.step(0)
    assert env.decision is not None
    assert env.decision.reservation is not None
    assert (env.render()[:, 0] == module.scenes.LINE).all()  # 90 s are less than a pixel


# -- other views ------------------------------------------------------------------------------


def test_an_environment_seen_in_another_way() -> None:
    plain = gymnasium.make(ID, trace=trace_of(CROWD, 4), window=3)
    env = Observe(plain, "rows")
    expected = small_env(CROWD, 4, observation="rows")
    assert env.observation_space == expected.observation_space
    seen, _ = env.reset()
    assert (seen == expected.reset()[0]).all()
    for _ in range(5):
        one, two = env.step(0), expected.step(0)
        assert (one[0] == two[0]).all()
        assert one[1:4] == two[1:4]
    with pytest.raises(DrasLabError, match="Observe wraps dras_lab/Scheduling-v0, not CartPole"):
        Observe(gymnasium.make("CartPole-v1"), "rows")


def test_no_policy_sees_a_run_time() -> None:
    """Two logs that differ in run times alone look the same until the first job ends."""
    fast = [(k, s, size, request, 1) for k, s, size, request, _ in CROWD]
    for view in VIEWS:
        seen = []
        for jobs in (CROWD, fast):
            env = small_env(jobs, 4, observation=view)
            seen.append([env.reset()[0].tolist(), *[env.step(0)[0].tolist() for _ in range(4)]])
        assert seen[0][:4] == seen[1][:4]


def test_the_simulation_is_not_changed_by_looking() -> None:
    jobs = trace_of(CROWD, 4)
    env = SchedulingEnv(jobs, window=3, render_mode="ansi")
    env.reset()
    for _ in range(5):
        env.render()
        env.action_masks()
        env.step(0)
    assert runs_of(env.result()) == runs_of(Simulation(jobs, window=3).run(fcfs))
