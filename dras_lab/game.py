"""The queue game: somebody schedules a small trace by hand, and is compared with the rules."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pandas as pd

from .decisions import Policy
from .jobs import DrasLabError
from .metrics import compare
from .policies import fcfs
from .results import Result
from .simulator import Simulation, simulate
from .traces import Trace


class Game:
    """A run that waits for its player, and can take choices back.

    Parameters
    ----------
    trace : Trace
        The jobs; a dozen make a lesson.
    agent : callable, optional
        A policy to play against, copied before it plays.
    forced : bool
        Make choices that are none for the player: one candidate, which fits.
    **options
        `nodes` and `simulate`'s options, for the player and the agent.

    Attributes
    ----------
    choices : list of int or None
        What was chosen so far, forced choices included.
    decision : Decision or None
        The open question; None when the game is over.

    Raises
    ------
    DrasLabError
        For an option that cannot be, or an agent that cannot play: of another machine or window.
    """

    def __init__(
        self, trace: Trace, agent: Policy | None = None, *, forced: bool = True, **options: Any
    ) -> None:
        self.trace, self.agent, self.forced, self.options = trace, agent, forced, options
        self._mine: list[int] = []  # which choices were the player's own
        self.start()
        # Before anybody plays: an agent that cannot schedule these jobs is refused here.
        self._others = self._opponents()

    def _restart(self, choices: list[int | None]) -> None:
        self._simulation = Simulation(self.trace, **self.options)
        self.choices: list[int | None] = []
        self.decision = self._simulation.next_decision()
        for choice in choices:
            self._apply(choice)

    def _apply(self, choice: int | None) -> None:
        self._simulation.apply(choice)
        self.choices.append(choice)
        self.decision = self._simulation.next_decision()

    def _play_forced(self) -> None:
        while self.forced and self.decision is not None:
            if len(self.decision.rows) > 1 or int(self.decision.sizes[0]) > self.decision.free:
                return
            self._apply(0)

    def choose(self, choice: int | None) -> None:
        """Answer the open question: an index into its candidates, or None to pass.

        Raises
        ------
        DrasLabError
            If the game is over, the index is no candidate's, or nothing would ever happen after
            this pass. The question stays open then.
        """
        if self.decision is None:
            raise DrasLabError("the game is over; take a choice back, or start again")
        before = list(self.choices)
        try:
            self._apply(choice)
        except DrasLabError:
            if len(self.choices) > len(before):  # the pass was made, and nothing can follow it
                self._restart(before)
                raise DrasLabError(
                    "nothing is running and nobody else will come: choose one of the jobs"
                ) from None
            raise
        self._mine.append(len(before))
        self._play_forced()

    def back(self) -> bool:
        """Take the player's last choice back, and the forced ones after it; False for none."""
        if not self._mine:
            return False
        self._restart(self.choices[: self._mine.pop()])
        return True

    def start(self) -> Game:
        """Play from the beginning, forced choices made."""
        self._mine.clear()
        self._restart([])
        self._play_forced()
        return self

    @property
    def over(self) -> bool:
        """Whether every job has ended."""
        return self.decision is None

    def result(self, name: str = "you") -> Result:
        """The player's schedule.

        Raises
        ------
        DrasLabError
            If the game is not over.
        """
        if not self.over:
            raise DrasLabError("the game is not over; there are choices left to make")
        return self._simulation.result(name)

    def preview(self) -> Result:
        """The choices so far, and the first candidate after them: a run to step through."""
        made = iter(self.choices)
        return simulate(self.trace, lambda _: next(made, 0), **{**self.options, "log": True})

    def results(self) -> dict[str, Result]:
        """The player's schedule (once over) beside those of the rules.

        ``"you"``, ``"FCFS"`` (no backfilling), ``"EASY"`` (FCFS with EASY backfilling) and, where
        there is one, ``"agent"``.
        """
        return {**({"you": self.result()} if self.over else {}), **self._others}

    def _opponents(self) -> dict[str, Result]:
        common = {k: v for k, v in self.options.items() if k not in ("backfill", "reservation")}
        found = {
            "FCFS": simulate(self.trace, fcfs, backfill="none", **common),
            "EASY": simulate(self.trace, fcfs, backfill="easy", **common),
        }
        if self.agent is not None:
            found["agent"] = simulate(self.trace, copy.deepcopy(self.agent), **self.options)
        return found

    def score(self) -> pd.DataFrame:
        """`metrics.compare` of `results`: a row each, mean and maximum wait side by side."""
        return compare(self.results())

    def verdict(self) -> str:
        """One sentence on how the player did, once the game is over."""
        return verdict(self.results())


def verdict(results: Mapping[str, Result]) -> str:
    """How ``"you"`` compare with the others, by mean and by maximum wait; in one sentence."""
    parts = []
    for column, what in (("mean_wait_h", "mean"), ("max_wait_h", "longest")):
        waits = compare(results)[column]
        beaten = [str(name) for name in waits.index if waits[name] > waits["you"]]
        equal = [str(n) for n in waits.index if n != "you" and waits[n] == waits["you"]]
        said = f"beats {', '.join(beaten)}" if beaten else "beats nobody"
        said += f" and equals {', '.join(equal)}" if equal else ""
        parts.append(f"your {what} wait {said}")
    return f"Y{'; '.join(parts)[1:]}."


def small_trace(jobs: int = 12) -> Trace:
    """A dozen jobs on 10 nodes in which the order matters: made by hand for the game.

    Wide jobs among short ones, arriving in bursts, so that first come, first served leaves
    nodes idle and shortest first makes the wide ones wait. Times are in seconds.

    Raises
    ------
    DrasLabError
        If there are not so many jobs.
    """
    if not 1 <= jobs <= len(_SMALL):
        raise DrasLabError(f"the game's own trace has {len(_SMALL)} jobs; ask for 1 to that many")
    columns = ("job_id", "submit_time", "size", "requested_time", "run_time")
    table = pd.DataFrame(_SMALL[:jobs], columns=list(columns))
    return Trace.from_table(table, 10, name="game")


_HOUR = 3600
_SMALL = [
    (1, 0, 6, 4 * _HOUR, 3 * _HOUR),
    (2, 600, 8, 3 * _HOUR, 2 * _HOUR),
    (3, 900, 2, 2 * _HOUR, 2 * _HOUR),
    (4, 1200, 3, 6 * _HOUR, 5 * _HOUR),
    (5, 1800, 1, 1 * _HOUR, _HOUR // 2),
    (6, 2400, 4, 2 * _HOUR, 1 * _HOUR),
    (7, 3600, 10, 2 * _HOUR, 1 * _HOUR),
    (8, 4200, 2, 1 * _HOUR, _HOUR // 3),
    (9, 5400, 5, 4 * _HOUR, 4 * _HOUR),
    (10, 9000, 1, 8 * _HOUR, 6 * _HOUR),
    (11, 10800, 3, 1 * _HOUR, 1 * _HOUR),
    (12, 12600, 6, 3 * _HOUR, 2 * _HOUR),
]
