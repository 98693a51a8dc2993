"""The queue game: choices, taking them back, forced ones, and the score."""

from __future__ import annotations

import pytest
from runs import fcfs, starts_of, trace_of

from dras_lab.decisions import Decision
from dras_lab.game import Game, small_trace, verdict
from dras_lab.jobs import DrasLabError
from dras_lab.policies import make_policy
from dras_lab.simulator import simulate
from dras_lab.widgets import QueueGame

# On 4 nodes. Job 1 holds 3 until 100. At 10 come job 2 (4 nodes, 50 s) and jobs 3 and 4 (1 node,
# 90 and 40 s).
#         id submit size request run
FEW = [(1, 0, 3, 100, 100), (2, 10, 4, 50, 50), (3, 10, 1, 90, 90), (4, 10, 1, 40, 40)]


def test_a_game_by_hand() -> None:
    game = Game(trace_of(FEW, 4))
    # Job 1 alone was no choice. Now three wait.
    assert game.choices == [0]
    assert game.decision is not None
    assert (game.decision.time, len(game.decision.candidates)) == (10, 3)
    game.choose(2)  # job 4 starts on the last node, until 50
    assert len(game.decision.candidates) == 2
    game.choose(0)  # job 2 gets the reservation for 100
    # At 50 a node is free until 100, and job 3 asks for 90 s: nobody fills the hole. At 100 job 2
    # starts, and job 3 does not fit: the reservation is the player's to give.
    assert game.decision.time == 100
    assert [job.job_id for job in game.decision.candidates] == [3]
    game.choose(0)
    assert game.over
    assert starts_of(game.result()) == {1: 0, 2: 100, 3: 150, 4: 10}
    # FCFS without backfilling: job 2 at 100, then 3 and 4 at 150. EASY: job 3 ends just at the
    # reserved start and fills the hole at 10; then job 4 at 150.
    results = game.results()
    assert starts_of(results["FCFS"]) == {1: 0, 2: 100, 3: 150, 4: 150}
    assert starts_of(results["EASY"]) == {1: 0, 2: 100, 3: 10, 4: 150}
    score = game.score()
    assert score.index.tolist() == ["you", "FCFS", "EASY"]
    waits = [(90 + 140 + 0) / 4, (90 + 140 + 140) / 4, (90 + 0 + 140) / 4]
    assert (score["mean_wait_h"] * 3600).tolist() == pytest.approx(waits)
    assert (score["max_wait_h"] * 3600).tolist() == pytest.approx([140, 140, 140])
    assert game.verdict() == (
        "Your mean wait beats FCFS and equals EASY; "
        "your longest wait beats nobody and equals FCFS, EASY."
    )


def test_taking_back() -> None:
    game = Game(trace_of(FEW, 4))
    assert game.back() is False
    for choice in (2, 0, 0):
        game.choose(choice)
    assert game.over
    assert game.back() is True
    assert game.choices == [0, 2, 0]
    assert game.back() is True
    assert game.choices == [0, 2]
    assert game.decision is not None
    assert [job.job_id for job in game.decision.candidates] == [2, 3]
    assert game.back() is True
    assert [job.job_id for job in game.decision.candidates] == [2, 3, 4]
    # Another way: job 3 first, until 100; job 2 and job 4 after it.
    for choice in (1, 0, 0):
        game.choose(choice)
    assert starts_of(game.result())[3] == 10
    game.start()
    assert game.choices == [0]


def test_without_forced_choices_the_player_makes_them_all() -> None:
    game = Game(trace_of(FEW, 4), forced=False)
    assert game.choices == []
    assert game.decision is not None
    assert len(game.decision.candidates) == 1


def test_always_the_first_is_easy_backfilling() -> None:
    game = Game(small_trace())
    while not game.over:
        game.choose(0)
    assert starts_of(game.result()) == starts_of(simulate(small_trace(), fcfs))


def test_an_agent_plays_along() -> None:
    agent = make_policy("sjf")
    game = Game(trace_of(FEW, 4), agent)
    while not game.over:
        game.choose(0)
    results = game.results()
    assert list(results) == ["you", "FCFS", "EASY", "agent"]
    assert starts_of(results["agent"]) == starts_of(simulate(trace_of(FEW, 4), agent))


def test_an_agent_that_cannot_play_is_refused_before_the_game() -> None:
    def of_another_machine(decision: Decision) -> int:
        raise DrasLabError("the agent is of a machine of 256 nodes, and not of 4")

    for make in (Game, QueueGame):
        with pytest.raises(DrasLabError, match="is of a machine of 256 nodes"):
            make(trace_of(FEW, 4), of_another_machine)


@pytest.mark.parametrize(("nodes", "window"), [(8, 12), (4, 2)])
def test_a_dras_agent_of_another_machine_or_window_is_refused(nodes: int, window: int) -> None:
    pytest.importorskip("torch", reason="no torch: pip install torch")
    from dras_lab.agents import make_agent

    trace = trace_of(FEW, 4)
    own = make_agent("dql", trace.nodes, 12)
    assert list(QueueGame(trace, own).game.results()) == ["FCFS", "EASY", "agent"]
    other = make_agent("dql", nodes, window)
    with pytest.raises(DrasLabError, match=r"nodes|window"):
        QueueGame(trace, other)


def test_what_cannot_be_leaves_the_question_open() -> None:
    game = Game(trace_of(FEW, 4))
    with pytest.raises(DrasLabError, match="where there are 3 candidates"):
        game.choose(3)
    with pytest.raises(DrasLabError, match="the game is not over"):
        game.result()
    assert list(game.results()) == ["FCFS", "EASY"]
    game.choose(None)  # job 1 runs: its end will ask again
    assert game.decision is not None
    assert game.decision.time == 100
    with pytest.raises(DrasLabError, match="choose one of the jobs"):
        game.choose(None)  # now nothing runs
    assert game.decision is not None
    assert game.choices == [0, None]
    game.choose(0)
    while not game.over:
        game.choose(0)
    with pytest.raises(DrasLabError, match="the game is over"):
        game.choose(0)


def test_verdict_names_the_beaten() -> None:
    one = simulate(trace_of(FEW, 4), fcfs, backfill="none")
    assert verdict({"you": one, "FCFS": one}) == (
        "Your mean wait beats nobody and equals FCFS; "
        "your longest wait beats nobody and equals FCFS."
    )


def test_the_own_trace_is_worth_playing() -> None:
    """First come, first served is not the best there is, and shortest first makes wide jobs wait.

    The bound by hand: the work is 104.67 node-hours, so 10 nodes need at least 10.4 h.
    """
    trace = small_trace()
    assert len(trace) == 12
    assert trace.nodes == 10
    work = int((trace.table["size"] * trace.table["run_time"]).sum())
    assert work == 18 * 3600 + 16 * 3600 + 4 * 3600 + 15 * 3600 + 1800 + 4 * 3600 + 10 * 3600 + (
        2400 + 20 * 3600 + 6 * 3600 + 3 * 3600 + 12 * 3600
    )
    easy = Game(trace).results()["EASY"]
    sjf = simulate(trace, make_policy("sjf"))
    assert sjf.wait.mean() < easy.wait.mean()
    assert sjf.wait.max() > easy.wait.max()
    with pytest.raises(DrasLabError, match="has 12 jobs"):
        small_trace(13)


def test_taking_back_takes_the_forced_choices_after_it_too() -> None:
    # On 10 nodes: job 2 gets the reservation for 100, job 3 fills the hole at 20 until 50; then
    # job 4 is alone, fits, and is no choice.
    jobs = [(1, 0, 6, 100, 100), (2, 20, 8, 50, 50), (3, 20, 3, 30, 30), (4, 20, 4, 10, 10)]
    game = Game(trace_of(jobs, 10))
    game.choose(0)
    game.choose(0)
    assert game.over
    assert game.choices == [0, 0, 0, 0]
    game.back()
    assert game.choices == [0, 0]
    assert game.decision is not None
    assert [job.job_id for job in game.decision.candidates] == [3, 4]
