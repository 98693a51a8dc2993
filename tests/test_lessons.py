"""The exercises' checks: they take what is right, and say of what is wrong in which way it is.

That the solutions pass is seen where their notebooks are run. Here are wrong answers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("IPython")

from dras_lab import DrasLabError, Trace, fcfs, lessons, make_policy, simulate
from dras_lab.lessons import backfilling, events, heuristics, jobsets, logs
from dras_lab.lessons.exercises import Exercise, Wrong, ask, need_number, need_same

ALL = [one for room in (logs, jobsets, events, backfilling, heuristics) for one in room.EXERCISES]


def verdict(number: str, answer: Any) -> str:
    return lessons.exercise(number).verdict(answer)


# ---------------------------------------------------------------------------------------------
# The frame


def test_no_answer_is_not_a_wrong_one() -> None:
    for one in ALL:
        for nothing in (None, ...):
            assert one.verdict(nothing) == f"Not answered yet. hint({one.number!r}) helps."
    for number in ("1.2", "3.3", "4.2", "5.2"):  # functions as the exercises have them
        assert verdict(number, lambda *_: None).startswith("Not answered yet")


def test_every_exercise_has_a_number_of_its_own_and_hints(capsys: Any) -> None:
    assert len({one.number for one in ALL}) == len(ALL)
    for one in ALL:
        assert lessons.exercise(one.number) is one
        lessons.hint(one.number)
        lessons.hint(one.number, len(one.hints))
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2 * len(ALL)
    with pytest.raises(DrasLabError, match=r"no exercise '9\.9'; there are 1\.1, "):
        lessons.check("9.9", 1)


def test_hints_go_from_the_first_to_the_last() -> None:
    one = Exercise("7.7", lambda _: None, ("look", "look again"))
    assert one.hint(1) == "Hint 1 of 2: look (More: hint('7.7', 2).)"
    assert one.hint(2) == one.hint(9) == "Hint 2 of 2: look again"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7200, "right but for the unit"),  # seconds for hours
        (200, "right but for the unit"),  # per cent
        (-2, "wrong sign"),
        (2.2, "too large"),
        (1.8, "too small"),
        (math.nan, "not a finite number"),
        ("two", "is not a number"),
    ],
)
def test_what_is_wrong_with_a_number(given: Any, said: str) -> None:
    with pytest.raises(Wrong, match=said):
        need_number(given, 2.0, within=0.1)
    need_number(2.05, 2.0, within=0.1)
    need_number(np.float32(2), 2.0, within=0)


def test_what_is_wrong_with_a_sequence() -> None:
    need_same((1, 2), [1, 2], "start")
    with pytest.raises(Wrong, match="the start in place 2, 3, is not right"):
        need_same([1, 3], [1, 2], "start")
    with pytest.raises(Wrong, match="not as many"):
        need_same([1], [1, 2], "start")
    with pytest.raises(Wrong, match="a sequence is asked for"):
        need_same(1, [1, 2], "start")


def test_a_function_that_fails_is_told_where() -> None:
    def broken(x: int) -> float:
        return 1 / x

    with pytest.raises(Wrong, match=r"line \d+ of its cell, stops on zero with ZeroDivisionError"):
        ask(broken, 0, case="zero")
    with pytest.raises(Wrong, match="to be a function, and this is 3"):
        ask(3)


# ---------------------------------------------------------------------------------------------
# Wrong answers, and what is said of them


def wide_by_jobs(trace: Trace, nodes: int) -> float:
    return float((trace.table["size"] >= nodes).mean())


def wide_uncut(trace: Trace, nodes: int) -> float:
    work = trace.table["size"] * trace.table["run_time"]
    return float(work[trace.table["size"] >= nodes].sum() / work.sum())


def load_of_days_with_jobs(trace: Trace) -> Any:
    jobs = trace.table
    day = (jobs["submit_time"] - jobs["submit_time"].iloc[0]) // 86_400
    work = jobs["size"] * jobs[["run_time", "requested_time"]].min(axis=1)
    return work.groupby(day).sum().to_numpy() / (trace.nodes * 86_400)


def load_from_midnight(trace: Trace) -> Any:
    jobs = trace.table
    work = jobs["size"] * jobs[["run_time", "requested_time"]].min(axis=1)
    day = jobs["submit_time"] // 86_400
    return np.bincount(day, weights=work) / (trace.nodes * 86_400)


def regular(jobs: int, gap: float, rng: np.random.Generator) -> Any:
    return np.arange(jobs) * gap + rng.random()


def seeded(jobs: int, gap: float, rng: np.random.Generator) -> Any:
    return np.random.default_rng(0).exponential(gap, jobs).cumsum()


def gaps_only(jobs: int, gap: float, rng: np.random.Generator) -> Any:
    return rng.exponential(gap, jobs)


def merged_unsorted_sizes(first: Trace, second: Trace) -> Trace:
    columns = ["submit_time", "size", "run_time"]  # the requests are forgotten
    return Trace.from_table(
        pd.concat([first.table[columns], second.table[columns]], ignore_index=True), first.nodes
    )


def backfilled(trace: Trace, key: Any = None) -> dict[int, int]:
    result = simulate(trace, make_policy("sjf"), window=None)
    return dict(zip(result.job_id.tolist(), result.start.tolist(), strict=True))


def unbounded(trace: Trace, starts: dict[int, int]) -> float:
    return float(
        np.mean(
            [(starts[j.job_id] - j.submit_time + j.run_time) / max(j.run_time, 10) for j in trace]
        )
    )


def first_end_that_does(running: Any, free: int, need: int) -> tuple[int, int]:
    for nodes, end in sorted(running, key=lambda job: job[1]):
        free += nodes
        if free >= need:
            return end, free - need
    raise AssertionError


def in_time_only(job: Any, now: int, free: int, start: int, extra: int) -> bool:
    return job.size <= free and now + job.requested_time <= start


def strictly_in_time(job: Any, now: int, free: int, start: int, extra: int) -> bool:
    return job.size <= free and (now + job.requested_time < start or job.size <= extra)


def the_jobs_number(decision: Any) -> int:
    return int(decision.candidates[0].job_id)


@pytest.mark.parametrize(
    ("number", "answer", "said"),
    [
        ("1.1", 0.085, "right but for the unit"),
        ("1.1", 21.85, "just six hours"),
        ("1.2", wide_by_jobs, "a share of jobs, not of work"),
        ("1.2", wide_uncut, "when does a job end"),
        ("1.3", load_of_days_with_jobs, "a day on which nobody submits"),
        ("1.3", load_from_midnight, "submitted later"),
        ("1.4", lambda accounts, nodes: accounts, "a Trace is asked for"),
        ("2.1", 0.9, "too small"),
        ("2.2", lambda trace: np.diff(trace.table["submit_time"]).std(), "gaps of 0, 0 and 30 s"),
        ("2.3", regular, "vary as much as their mean"),
        ("2.3", seeded, "drawn from `rng`"),
        ("2.3", gaps_only, "not in order"),
        ("2.4", merged_unsorted_sizes, "requested_time in place 1"),
        ("3.1", [0, 50, 20, 150, 160], "jump the queue"),
        ("3.2", unbounded, "a slowdown below 1 counts as 1"),
        ("3.3", backfilled, "start at another time"),
        ("3.4", backfilled, "start at another time"),
        ("4.1", (60, 0), "How many nodes are free"),
        ("4.1", (100, 2), "too large"),
        ("4.1", 60, "two numbers"),
        ("4.2", first_end_that_does, "end in the same second"),
        ("4.3", in_time_only, "a long job on no more nodes than can be spared is kept out"),
        ("4.3", strictly_in_time, "just at the reserved start is kept out"),
        ("4.4", fcfs, "another is due"),
        ("4.4", the_jobs_number, "looks like a job's number"),
        ("5.2", make_policy("sjf"), "another is due"),
        ("5.3", make_policy("sjf"), "longer than anybody, and is not picked"),
        ("5.3", fcfs, "nobody has waited for a day"),
        ("5.4", fcfs, "no better than 0.9"),
    ],
)  # fmt: skip
def test_a_wrong_answer(number: str, answer: Any, said: str) -> None:
    told = verdict(number, answer)
    assert told.startswith("Not yet: ")
    assert said in told
    assert "\n" not in told


def test_a_right_answer() -> None:
    assert verdict("3.1", [0, 50, 50, 150, 160]).startswith("Passes the public checks.")
    assert verdict("4.1", (60, 2)).startswith("Passes the public checks.")


def test_the_hand_made_log_is_what_its_table_says() -> None:
    trace = logs.hand_made()
    held = trace.table[["run_time", "requested_time"]].min(axis=1) * trace.table["size"]
    assert held.tolist() == [100, 100, 800, 2000]


# ---------------------------------------------------------------------------------------------
# The leaderboard


def test_the_leaderboard_puts_the_best_first_and_the_failed_last() -> None:
    def broken(decision: Any) -> int:
        raise RuntimeError("no idea")

    board = lessons.leaderboard({"again": fcfs, "broken": broken}, word="a test")
    assert board.index[-1] == "broken"
    assert board["note"]["broken"] == "RuntimeError: no idea"
    assert board["score"].iloc[:-1].is_monotonic_increasing
    assert board["score"]["fcfs"] == board["score"]["again"] == 1  # against itself
    for _, row in board.iloc[:-1].iterrows():
        price = 2 * max(0, row["max_wait_ratio"] - 1.1)
        assert row["score"] == pytest.approx(row["mean_wait_ratio"] + price)


def test_the_jobs_come_from_the_word_alone() -> None:
    one, again, other = (lessons.secret_jobs(word, jobs=50) for word in ("a", "a", "b"))
    assert one.digest() == again.digest() != other.digest()
    assert one.nodes == 273


def test_a_name_that_is_taken() -> None:
    with pytest.raises(DrasLabError, match="'sjf' is the name of a rule"):
        lessons.leaderboard({"sjf": fcfs})


# ---------------------------------------------------------------------------------------------
# Pictures


def test_a_picture_has_its_text_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot as plt

    from dras_lab.gantt import gantt

    shown: list[tuple[dict[str, str], Any]] = []
    monkeypatch.setattr(
        "IPython.display.display",
        lambda data, raw, metadata=None: shown.append((data, metadata)),
    )
    before = plt.get_fignums()
    lessons.show(gantt(simulate(events.paper_jobs(), fcfs)))
    assert plt.get_fignums() == before
    (data, metadata), (words, _) = shown
    assert "Gantt chart of fcfs" in words["text/html"]
    assert words["text/plain"] == data["text/plain"]
    assert data["text/plain"].startswith("Gantt chart of fcfs")
    assert metadata == {"image/png": {"alt": data["text/plain"]}}
    assert data["image/png"].startswith("iVBOR")  # a PNG file's first bytes, in base 64
