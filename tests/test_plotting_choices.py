"""The candidates of one decision as bars, on a decision done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deciding import SMALL
from drawing import easy, entries, heights, new, no_jobs, render, says
from matplotlib.colors import to_hex
from runs import trace_of

from dras_lab.choices import choice_bars
from dras_lab.decisions import Decision
from dras_lab.jobs import DrasLabError, Level
from dras_lab.log import Choice
from dras_lab.plotting import alt_text
from dras_lab.results import Result
from dras_lab.simulator import simulate


def small() -> Result:
    """The last of the queue first: at 120 s job 4 (1 node) is chosen before job 3 (4 nodes).

    One node is free then: jobs 1 and 2 hold 7 of 8.
    """

    def last(decision: Decision) -> int:
        ranks = np.arange(1, len(decision.candidates) + 1)
        decision.scores = (ranks / ranks.sum()).tolist()
        return len(ranks) - 1

    return simulate(trace_of(SMALL, 8), last, backfill="none")


def offer(result: Result) -> Choice:
    assert result.log is not None
    (choice,) = [some for some in result.log if some.candidates == (3, 4)]
    return choice


# Six on offer, 4 nodes free; the policy took the second, job 12, which is to wait.
SIX = Choice(
    level=Level.SELECT,
    time=90,
    free=4,
    candidates=(11, 12, 13, 14, 15, 16),
    chosen=1,
    job_id=12,
    outcome="reserved",
    reserved=None,
    reserved_start=None,
    extra=None,
    scores=(0.25, 0.5, 0.125, 0.0, 0.0625, 0.0625),
)


def test_bars_of_a_choice() -> None:
    ax = new()
    assert choice_bars(SIX, ax=ax) is ax
    assert heights(ax) == [list(SIX.scores)]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [
        "11",
        "12",
        "13",
        "14",
        "15",
        "16",
    ]
    assert ax.get_ylabel() == "probability"
    assert ax.get_xlabel() == "candidates in queue order (job)"
    assert ax.get_title(loc="left") == "level 1 (select), free nodes: 4, at 90 s"
    # The chosen one is marked by an arrow and by a colour of its own.
    assert [text.get_text() for text in ax.texts] == [
        *("0.25", "▼\n0.5", "0.125", "0", "0.0625", "0.0625"),
    ]
    colours = [to_hex(bar.get_facecolor()) for bar in ax.patches]
    assert colours.count(colours[1]) == 1
    assert entries(ax) == ["chosen: reserved", "candidate"]
    assert alt_text(ax).endswith("Chosen: job 12 (reserved).")
    assert "Largest: job 12 0.5, job 11 0.25, job 13 0.125, job 15 0.0625" in alt_text(ax)


def test_with_the_schedule_sizes_are_told_and_who_fits() -> None:
    result = small()
    ax = choice_bars(offer(result), result, ax=new())
    assert heights(ax) == [pytest.approx([1 / 3, 2 / 3])]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["3: 4 n, 2 h", "4: 1 n, 0.0167 h"]
    assert [bar.get_hatch() for bar in ax.patches] == ["///", ""]
    assert entries(ax) == ["chosen: started", "does not fit now"]
    assert ax.get_title(loc="left").endswith("nodes: 1, 120 seconds after the first submission")


def test_a_chosen_job_that_does_not_fit_is_hatched_too() -> None:
    result = small()
    choice = replace(offer(result), chosen=0, job_id=3, outcome="blocked")
    ax = choice_bars(choice, result, ax=new())
    assert [bar.get_hatch() for bar in ax.patches] == ["///", ""]
    assert entries(ax) == ["chosen: blocked", "fits the free nodes"]


def test_scores_that_are_no_probabilities() -> None:
    ax = choice_bars(SIX, scores=[-5, 1200, 3, 4, float("-inf"), float("nan")], ax=new())
    assert ax.get_ylabel() == "score of the policy"
    (drawn,) = heights(ax)
    assert drawn == pytest.approx([-5, 1200, 3, 4, np.nan, np.nan], nan_ok=True)
    assert ax.texts[1].get_text() == "▼\n1,200"
    assert choice_bars(SIX, label="value", ax=new()).get_ylabel() == "value"
    render(ax)


def test_many_candidates_have_no_numbers_but_the_mark() -> None:
    many = replace(SIX, candidates=tuple(range(100, 150)), scores=(0.02,) * 50, job_id=101)
    ax = choice_bars(many, ax=new())
    assert len(ax.patches) == 50
    assert [k for k, text in enumerate(ax.texts) if text.get_text()] == [1]
    assert ax.texts[1].get_text() == "▼"


def test_a_pass() -> None:
    ax = choice_bars(replace(SIX, chosen=None, job_id=None, outcome="passed"), ax=new())
    assert "passed: none chosen" in [text.get_text() for text in ax.texts]
    assert entries(ax) == ["candidate"]
    assert alt_text(ax).endswith("Chosen: none.")


def test_job_0_can_be_chosen() -> None:
    zero = replace(SIX, candidates=(0,), chosen=0, job_id=0, scores=(1.0,))
    assert alt_text(choice_bars(zero, ax=new())).endswith("Chosen: job 0 (reserved).")


def test_without_scores_the_figure_says_so() -> None:
    ax = choice_bars(replace(SIX, scores=()), ax=new())
    assert says(ax) == "the policy left no scores for this decision (candidates: 6)"


def test_what_does_not_belong_together() -> None:
    with pytest.raises(DrasLabError, match="2 scores for 6 candidates"):
        choice_bars(SIX, scores=[1, 2], ax=new())
    for other in (easy(), no_jobs()):
        with pytest.raises(DrasLabError, match="no job of this result"):
            choice_bars(SIX, other, ax=new())
