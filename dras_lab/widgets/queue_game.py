"""The queue game: schedule a small trace by hand, then see how the rules did."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ..decisions import Policy
from ..game import Game, small_trace, verdict
from ..gantt import gantt
from ..jobs import DrasLabError, Level
from ..metrics import compare
from ..plotting import bars
from ..replay import Replay
from ..traces import Trace
from .moment import picture, reach_of
from .shell import Shell, blank, clock, number, span, table, unit_for

MOST = 12  # candidates, each with a button of its own


class QueueGame(Shell):
    """Schedule a small trace by hand against FCFS, EASY backfilling and, if given, an agent.

    Parameters
    ----------
    trace : Trace, optional
        A dozen jobs; by default `game.small_trace`.
    agent : callable, optional
        A policy to play against, a trained agent for example.
    window : int
        How many jobs are offered at most; each has a button, so no more than 12.
    **options
        `simulate`'s options, as `backfill`.

    Raises
    ------
    DrasLabError
        For an option that cannot be, or an agent that cannot play: of another machine or window.
    """

    def __init__(
        self,
        trace: Trace | None = None,
        agent: Policy | None = None,
        *,
        window: int = MOST,
        **options: Any,
    ) -> None:
        super().__init__()
        if window > MOST:
            raise DrasLabError(f"window: the game offers at most {MOST} jobs, and not {window}")
        trace = small_trace() if trace is None else trace
        self.game = Game(trace, agent, window=window, **options)
        self._compose(*self._controls())

    def __repr__(self) -> str:
        game = self.game
        state = "over" if game.over else f"{len(game.choices)} choices made"
        return f"QueueGame({game.trace.name}, {len(game.trace)} jobs, {state})"

    # -- playing ----------------------------------------------------------------------------

    def choose(self, choice: int | None) -> None:
        """Choose a candidate by index, or None to leave all waiting.

        Raises
        ------
        DrasLabError
            If that cannot be chosen; the question stays open.
        """
        self.game.choose(choice)
        self.draw()

    def back(self) -> None:
        """Take the last choice back.

        Raises
        ------
        DrasLabError
            If there is none.
        """
        if not self.game.back():
            raise DrasLabError("there is no choice to take back")
        self.draw()

    def restart(self) -> None:
        """Play from the beginning."""
        self.game.start()
        self.draw()

    # -- what is shown ----------------------------------------------------------------------

    def _figure(self) -> Figure:
        game = self.game
        if not len(game.trace):
            return blank("there are no jobs to schedule")
        if not game.over:
            replay = Replay(game.preview())
            return picture(replay, len(game.choices), {}, reach_of(replay), False)
        results = game.results()
        if not results["you"].ran.any():
            return blank("every job is wider than the machine, and was refused")
        figure = Figure(figsize=(10.5, 4.3), dpi=90)
        gantt(results["you"], ax=figure.add_axes((0.065, 0.16, 0.38, 0.74)))
        scores = compare(results)
        length, unit = unit_for(3600 * float(scores["max_wait_h"].max()))
        for place, column, what in ((0.62, "mean_wait_h", "mean"), (0.16, "max_wait_h", "longest")):
            shown = scores[[column]] * (3600 / length)
            bars(shown, column, f"{what} wait ({unit})", figure.add_axes((0.67, place, 0.27, 0.30)))
        return figure

    def _text(self) -> str:
        game, decision = self.game, self.game.decision
        if decision is None:
            results = game.results()
            some = results["you"].ran.any() if "you" in results else False
            return f"The game is over. {verdict(results)}" if some else "There is nothing to play."
        if decision.level is Level.SELECT:
            question = (
                "Which job is next? One that does not fit the free nodes gets the reservation."
            )
        else:
            held = decision.reservation
            assert held is not None
            question = (
                f"Job {held.job.job_id} has the reservation, in {span(held.start - decision.time)}."
                " Which job fills the hole before it?"
            )
        return (
            f"{clock(decision.time - decision.origin)}: {decision.free} of {decision.nodes} nodes "
            f"are free, {number(len(decision.queue), 'job')} waiting. {question}"
        )

    def _html(self) -> str:
        game = self.game
        if not game.over or not len(game.trace):
            return ""
        scores = game.score()
        lines = [
            (
                str(name),
                span(row["mean_wait_h"] * 3600),
                span(row["max_wait_h"] * 3600),
                f"{row['mean_bounded_slowdown']:.3g}",
                f"{row['utilisation']:.1%}",
                span(row["makespan_d"] * 86400),
            )
            for name, row in scores.dropna().iterrows()
        ]
        header = ("who", "mean wait", "longest wait", "bounded slowdown", "utilisation", "makespan")
        return table(header, lines, "The score")

    def _controls(self) -> list[Any]:
        if self.kit is None:
            return []
        self._buttons = [
            self._button("", "choose this job", partial(self.choose, index))
            for index in range(MOST)
        ]
        self._pass = self._button(
            "Leave all waiting", "choose nobody now", lambda: self.choose(None)
        )
        play = self._row(
            self._pass,
            self._button("Take back", "take the last choice back", self.back, "undo"),
            self._button("Start again", "play from the beginning", self.restart, "refresh"),
        )
        return [self._row(*self._buttons), play]

    def _sync(self) -> None:
        if self.view is None:
            return
        decision = self.game.decision
        jobs = [] if decision is None else list(decision.candidates)
        for index, button in enumerate(self._buttons):
            button.layout.display = None if index < len(jobs) else "none"
            if index < len(jobs):
                job = jobs[index]
                assert decision is not None
                fits = "starts" if job.size <= decision.free else "reserves"
                button.description = (
                    f"job {job.job_id}: {job.size} nodes, {span(job.requested_time)} ({fits})"
                )
        self._pass.disabled = decision is None
