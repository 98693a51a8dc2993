"""The decision explorer: a finished run, decision by decision, forwards and backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from ..decisions import Policy
from ..jobs import DrasLabError, Level
from ..log import Choice
from ..policies import make_policy
from ..replay import Replay
from ..results import Result
from .moment import picture, reach_of
from .shell import Shell, blank, clock, number, span, table

PAGE = 10  # jobs of the queue shown at once

_WHAT_CAME = {
    "started": "it starts now",
    "reserved": "it does not fit, so nodes are reserved for it",
    "planned": "it has a planned start",
    "blocked": "it does not fit, and without backfilling everybody waits for it",
    "passed": "nobody is chosen",
}


def rules(others: Mapping[str, Policy] | None = None) -> dict[str, Policy]:
    """What a run is compared with: FCFS, SJF and the knapsack, or what is given instead."""
    if others is not None:
        return dict(others)
    return {name.upper() if len(name) < 5 else name: make_policy(name) for name in _RULES}


_RULES = ("fcfs", "sjf", "knapsack")


def told(replay: Replay, k: int, picks: Mapping[str, int | None]) -> str:
    """A decision in words: what was asked, what was chosen, what came of it, who disagrees."""
    choice, result = replay.choice(k), replay.result
    level = "level 1, who is next" if choice.level is Level.SELECT else "level 2, fill the hole"
    since = choice.time - int(result.submit[0])
    parts = [
        f"Decision {k} of {len(replay)} ({level}) at {clock(since)}: {choice.free} of "
        f"{result.nodes} nodes are free, {number(len(replay.waiting_rows(k)), 'job')} waiting."
    ]
    if choice.reserved is not None and choice.reserved_start is not None:
        parts.append(
            f"Job {choice.reserved} holds the reservation, for "
            f"{span(choice.reserved_start - choice.time)} from now; {choice.extra} nodes can be "
            "spared beyond it."
        )
    whom = "passes" if choice.job_id is None else f"chooses job {choice.job_id}"
    parts.append(f"{result.policy} {whom}: {_WHAT_CAME[choice.outcome]}.")
    planned = replay.planned_start(k)
    if choice.outcome == "reserved" and planned is not None:
        parts.append(f"Its planned start is {span(planned[0] - choice.time)} from now.")
    would = [f"{n} {'pass' if j is None else f'job {j}'}" for n, j in picks.items()]
    if would:
        parts.append(f"Others would choose: {', '.join(would)}.")
    return " ".join(parts)


def queue_page(replay: Replay, k: int, page: int, rows: int = PAGE) -> tuple[str, int]:
    """One page of the queue as an HTML table, and how many pages there are.

    Every waiting job says whether it is a candidate, and if it is not, why it is not started.
    """
    choice, decision = replay.choice(k), replay[k]
    queue = decision.queue
    pages = max(-(-len(queue) // rows), 1)
    page = min(max(page, 0), pages - 1)
    limit = replay.result.options.get("window")
    window = len(queue) if limit is None else limit
    why = decision.why_not(lambda time: f"{span(time - choice.time)} from now")
    score = dict(zip(choice.candidates, choice.scores, strict=False))
    lines = []
    for place in range(page * rows, min((page + 1) * rows, len(queue))):
        job = queue[place]
        if job.job_id == choice.job_id:
            state = f"chosen: {_WHAT_CAME[choice.outcome]}"
        elif job.job_id in why:
            state = f"not started: {why[job.job_id]}"
        else:
            state = f"candidate: {_fits(job.size, choice)}"
        lines.append(
            (
                f"{job.job_id}",
                "in" if place < window else "beyond",
                f"{job.size}",
                span(job.requested_time),
                span(choice.time - job.submit_time),
                f"{score[job.job_id]:.4g}" if job.job_id in score else "",
                state,
            )
        )
    header = ("job", "window", "nodes", "requested", "waited", "score", "state")
    waiting = number(len(queue), "job")
    limited = "no window" if limit is None else f"window {limit}"
    caption = f"The queue, page {page + 1} of {pages} ({waiting} waiting; {limited})"
    return table(header, lines, caption), pages


def _fits(size: int, choice: Choice) -> str:
    """Whether a candidate could start now, in words."""
    if choice.level is Level.BACKFILL:
        return "it fits the hole"
    if size <= choice.free:
        return f"it fits the {choice.free} free"
    return f"it does not fit, {choice.free} are free"


class ScheduleExplorer(Shell):
    """Step through a finished run: the machine, the queue, the choice, and why others wait.

    Parameters
    ----------
    result : Result
        Run with its log of decisions.
    others : mapping from name to policy, optional
        Whose picks are shown beside the run's own; FCFS, SJF and the knapsack by default. They
        should be rules without memory: each is asked at any decision, in any order.
    k : int
        Where to begin.

    Raises
    ------
    DrasLabError
        If the result has no log of decisions.

    Examples
    --------
    >>> from dras_lab import make_policy, read_swf, simulate
    >>> run = simulate(read_swf("lublin-256").head(200), make_policy("sjf"))
    >>> ScheduleExplorer(run)
    ScheduleExplorer(sjf on lublin-256[:200], decision 0 of 200)
    """

    def __init__(
        self, result: Result, *, others: Mapping[str, Policy] | None = None, k: int = 0
    ) -> None:
        super().__init__()
        self.replay = Replay(result)
        self.others = rules(others)
        self._reach = reach_of(self.replay)
        self._drawn: Figure | None = None
        self.k = self._checked(k) if len(self.replay) else 0
        self.page = self._page_of(self.k) if len(self.replay) else 0
        if not len(self.replay):
            self._compose()
            return
        self._compose(*self._controls())

    def __repr__(self) -> str:
        result = self.replay.result
        where = f"decision {self.k} of {len(self.replay)}" if len(self.replay) else "no decisions"
        return f"ScheduleExplorer({result.policy} on {result.trace_name}, {where})"

    # -- going about ------------------------------------------------------------------------

    def _checked(self, k: int) -> int:
        if not 0 <= k < len(self.replay):
            raise DrasLabError(
                f"there is no decision {k}: the run has {len(self.replay)}, counted from 0"
            )
        return int(k)

    def go(self, k: int) -> None:
        """Show decision `k`, and the page of the queue on which its chosen job stands.

        Raises
        ------
        DrasLabError
            If there is none.
        """
        before = self.k, self.page
        self.k = self._checked(k)
        self.page = self._page_of(k)
        try:
            self.draw()
        except BaseException:
            # One of the others may fail; the picture is then still the one before.
            self.k, self.page = before
            self._sync_quietly()
            raise

    def _page_of(self, k: int) -> int:
        """The page of the queue with the chosen job; the first where nobody is chosen."""
        ids = self.replay.result.job_id[self.replay.waiting_rows(k)].tolist()
        chosen = self.replay.choice(k).job_id
        return ids.index(chosen) // PAGE if chosen in ids else 0

    def step(self) -> None:
        """Go to the next decision; stay at the last."""
        if len(self.replay):
            self.go(min(self.k + 1, len(self.replay) - 1))

    def back(self) -> None:
        """Go to the decision before; stay at the first."""
        if len(self.replay):
            self.go(max(self.k - 1, 0))

    def reset(self) -> None:
        """Go to the first decision."""
        if len(self.replay):
            self.go(0)

    def go_to_job(self, job_id: int) -> None:
        """Go to the decision that chose a job.

        Raises
        ------
        DrasLabError
            If there is no such job.
        """
        self.go(self.replay.of_job(job_id))

    def go_to_reservation(self) -> None:
        """Go to the next decision that makes a reservation.

        Raises
        ------
        DrasLabError
            If there is none after this one.
        """
        found = self.replay.next_reservation(self.k)
        if found is None:
            raise DrasLabError("no reservation is made after this decision")
        self.go(found)

    def go_to_longest_wait(self) -> None:
        """Go to the decision about the job that waited longest."""
        self.go(self.replay.longest_wait())

    def turn(self, pages: int) -> None:
        """Turn pages of the queue, forwards or back; the picture stays."""
        if not len(self.replay):
            return
        last = queue_page(self.replay, self.k, self.page)[1] - 1
        self.page = min(max(self.page + pages, 0), last)
        if self.kit is not None:
            self._details.value = self._html()

    # -- what is shown ----------------------------------------------------------------------

    def _figure(self) -> Figure:
        if not len(self.replay):
            return blank("no decisions: the run has no jobs, or all were refused")
        self._picks = self.replay.picks(self.k, self.others)
        self._drawn = picture(self.replay, self.k, self._picks, self._reach, figure=self._drawn)
        return self._drawn

    def _text(self) -> str:
        if not len(self.replay):
            return "There is nothing to step through: the run has no jobs, or all were refused."
        return told(self.replay, self.k, self._picks)

    def _html(self) -> str:
        return queue_page(self.replay, self.k, self.page)[0] if len(self.replay) else ""

    def _controls(self) -> list[Any]:
        if self.kit is None:
            return []
        last, ids = len(self.replay) - 1, self.replay.result.job_id
        self._slider = self._when_moved(
            self.kit.IntSlider(
                value=self.k, min=0, max=last, description="decision", layout={"width": "24em"},
                **self._hint("which decision is shown"),
            ),
            self.go,
        )  # fmt: skip
        self._play = self.kit.Play(
            value=self.k, min=0, max=last, interval=600, show_repeat=False,
            **self._hint("play, pause, or go back to the first decision"),
        )  # fmt: skip
        # In the browser: playing needs no thread, and a slow picture no queue of them.
        self.kit.jslink((self._play, "value"), (self._slider, "value"))
        self._job = self.kit.BoundedIntText(
            value=int(ids[0]), min=int(ids.min()), max=int(ids.max()),
            description="job", layout={"width": "12em"}, **self._hint("the id of a job to go to"),
        )  # fmt: skip
        go = self._row(
            self._button("Back", "one decision back", self.back, "step-backward"),
            self._button("Step", "one decision on", self.step, "step-forward"),
            self._play,
            self._slider,
            self._button("Reset", "to the first decision", self.reset, "refresh"),
        )
        jump = self._row(
            self._job,
            self._button(
                "Go to job", "the decision that chose it", lambda: self.go_to_job(self._job.value)
            ),
            self._button(
                "Next reservation", "the next decision that reserves", self.go_to_reservation
            ),
            self._button("Longest wait", "the job that waited longest", self.go_to_longest_wait),
            self._button("Queue: page back", "the jobs ahead", lambda: self.turn(-1)),
            self._button("Queue: next page", "the jobs behind", lambda: self.turn(1)),
        )
        return [go, jump]

    def _sync(self) -> None:
        if len(self.replay) and self.view is not None:
            self._slider.value = self.k
