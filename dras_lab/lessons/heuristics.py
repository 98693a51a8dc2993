"""Exercises of lesson 05, heuristic baselines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions import Decision
from ..metrics import balance, compare, wait_ratios
from ..policies import make_policy
from ..simulator import simulate
from ..traces import read_swf
from .backfilling import need_policy
from .exercises import Exercise, Wrong, ask, need_number
from .leaderboard import secret_jobs


def _trap(answer: Any) -> None:
    trace = read_swf("lublin-256")
    runs = {name: simulate(trace, make_policy(name), log=False) for name in ("fcfs", "sjf")}
    table = compare(runs, baseline="fcfs")
    median = table["median_wait_h"]["sjf"] / table["median_wait_h"]["fcfs"]
    if isinstance(answer, (int, float)) and abs(answer - 1 / median) < 0.01:
        raise Wrong("that is the ratio upside down.")
    need_number(answer, table["max_wait_ratio"].to_dict()["sjf"], within=0.01)


def _area(answer: Any) -> None:
    def right(decision: Decision) -> int:
        return min(
            range(len(decision.rows)),
            key=lambda k: decision.candidates[k].size * decision.candidates[k].requested_time,
        )

    need_policy(answer, right, read_swf("theta-like").coarsen(16).head(300))


def _aging(answer: Any) -> None:
    """Six decisions of which the answer is plain, and then the maximum wait of a run."""
    trace = read_swf("theta-like").coarsen(16).head(1500)
    seen = {"old": 0, "young": 0}

    def watched(decision: Decision) -> int:
        chosen = ask(answer, decision, case="a question")
        waited = decision.queued_times
        if waited.max() >= 86_400:
            seen["old"] += 1
            oldest = int(waited.argmax())
            if chosen != oldest:
                raise Wrong(
                    f"at {decision.time} s job {decision.candidates[oldest].job_id} has waited for "
                    f"{waited.max() / 3600:.1f} h, longer than anybody, and is not picked."
                )
        else:
            seen["young"] += 1
            if chosen != int(np.argmin(decision.requested_times)):
                raise Wrong(
                    f"at {decision.time} s nobody has waited for a day, and the job picked is not "
                    "the first with the shortest request."
                )
        return int(chosen)

    simulate(trace, watched, log=False)
    assert min(seen.values()) > 10, "the log has too few old jobs to tell"


def _better(answer: Any) -> None:
    scores = []
    for word in ("a", "b", "c"):
        trace = secret_jobs(f"exercise 5.4 {word}", jobs=800)
        base = simulate(trace, make_policy("fcfs"), log=False)
        run = simulate(trace, lambda decision: ask(answer, decision), log=False)
        scores.append(balance(*wait_ratios(run, base)))
    if np.mean(scores) > 0.9:
        raise Wrong(
            f"on three sets of jobs its scores are {', '.join(f'{s:.2f}' for s in scores)}, in the "
            "mean no better than 0.9 (first come, first served has 1)."
        )


EXERCISES = (
    Exercise(
        "5.1",
        _trap,
        (
            '`compare(runs, baseline="fcfs")` has a column `max_wait_ratio`.',
            "`lublin-256`, with EASY backfilling, as `simulate` does by itself.",
        ),
    ),
    Exercise(
        "5.2",
        _area,
        (
            "`decision.sizes` and `decision.requested_times` are arrays, one entry a candidate.",
            "`numpy.argmin` gives the index of the smallest, the first of equal ones.",
        ),
    ),
    Exercise(
        "5.3",
        _aging,
        (
            "`decision.queued_times` says how long each candidate has waited, in seconds.",
            "Candidates stand in queue order: which of them has waited longest?",
        ),
    ),
    Exercise(
        "5.4",
        _better,
        (
            "A sum of logarithms of size and request, less something that grows with the wait.",
            "If a long wait counts by its square or cube, it wins in the end, whatever the job.",
            "`dras_lab.rules.tune` searches for such sums; how many trials do you allow yourself?",
        ),
    ),
)
