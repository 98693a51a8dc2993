"""Run a trace through the machine: `Simulation` from decision to decision, `simulate` at once.

Everything drives the engine in this one way: heuristics, learning agents, the gymnasium
environment and the widgets. A policy chooses; what is legal is settled before it is asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .conservative import plan_all
from .decisions import Decision, Policy
from .easy import reserve_one
from .engine import Engine, picked
from .jobs import DrasLabError
from .results import REFUSED, Result
from .traces import Trace

BACKFILL = ("easy", "conservative", "none")
OVERRUN = ("kill", "keep")
RESERVATION = ("held", "renewed")


class Simulation:
    """One run of a trace through the machine, from decision to decision.

    Parameters
    ----------
    trace : Trace
        The jobs.
    nodes : int, optional
        Size of the machine; the trace's own by default. A wider job is refused when it is
        submitted: counted, reported, and never in the queue.
    backfill : {"easy", "conservative", "none"}
        ``"easy"``: a picked job that does not fit gets the one reservation, and the holes
        before it are filled (DRAS's two levels). ``"conservative"``: every waiting job has a
        planned start, which may move earlier and never later; the policy says in which order
        jobs are planned. Its time grows with the square of the queue. ``"none"``: a picked
        job that does not fit ends the pass.
    window : int or None
        How many jobs a decision offers at most, the first in queue order (DRAS's W); None for
        the whole queue.
    overrun : {"kill", "keep"}
        Whether a job ends at its requested time or goes on. One that goes on is planned to
        end one second from now.
    reservation : {"held", "renewed"}
        ``"held"`` (DRAS): a reservation stays until its job starts. ``"renewed"``: each pass
        asks afresh and protects whichever job the policy picks then.
    log : bool
        Keep a log of all decisions; without it runs are faster and need less memory.

    Raises
    ------
    DrasLabError
        For an argument that is not one of the above.

    Examples
    --------
    >>> from dras_lab import Simulation, read_swf
    >>> sim = Simulation(read_swf("lublin-256"), window=50)
    >>> while (decision := sim.next_decision()) is not None:
    ...     sim.apply(0)  # first come, first served
    >>> len(sim.result())
    5000
    """

    def __init__(
        self,
        trace: Trace,
        nodes: int | None = None,
        *,
        backfill: str = "easy",
        window: int | None = 50,
        overrun: str = "kill",
        reservation: str = "held",
        log: bool = True,
    ) -> None:
        nodes = trace.nodes if nodes is None else nodes
        _check_choice("backfill", backfill, BACKFILL)
        _check_choice("overrun", overrun, OVERRUN)
        _check_choice("reservation", reservation, RESERVATION)
        nodes = _check_count("nodes", nodes)
        window = None if window is None else _check_count("window", window)
        self.trace, self.nodes = trace, nodes
        self.options = {
            "backfill": backfill,
            "window": window,
            "overrun": overrun,
            "reservation": reservation,
        }
        self._engine = Engine(trace, nodes, window, kill=overrun == "kill", log=log)
        if backfill == "conservative":
            self._steps = plan_all(self._engine)
        else:
            self._steps = reserve_one(self._engine, backfill == "easy", reservation == "renewed")
        self._open: Decision | None = None  # asked and not answered
        self._choice: int | None = None
        self._failed = False
        self.done = False

    # -- driving it -----------------------------------------------------------------------

    def next_decision(self) -> Decision | None:
        """Run to the next decision; None when every job has ended.

        Raises
        ------
        RuntimeError
            If the last decision has not been answered with `apply`, or an error ended the run.
        DrasLabError
            If all waiting jobs were passed over and nothing is left to happen.
        """
        if self._failed:
            raise RuntimeError("an error ended this simulation; make a new one")
        if self._open is not None:
            raise RuntimeError("apply a choice to the last decision before asking for the next")
        if not self.done:
            self._open = self._step(self._choice)
        return self._open

    def apply(self, choice: int | None) -> None:
        """Answer the last decision: an index into its candidates, or None to pass.

        Raises
        ------
        RuntimeError
            If there is no decision to answer.
        DrasLabError
            If the answer is no candidate's index; the decision stays open.
        """
        if self._open is None:
            raise RuntimeError("there is no decision to answer; call next_decision first")
        if choice is not None:
            picked(self._open, choice)
        self._choice, self._open = choice, None

    def _step(self, choice: int | None) -> Decision | None:
        """Let the engine go on to its next question; None at the end."""
        try:
            # (A generator takes nothing but None before its first question.)
            return self._steps.send(choice)
        except StopIteration:
            self.done = True
            return None
        except Exception:
            self._failed = True
            raise

    def run(self, policy: Policy, progress: Callable[[int], object] | None = None) -> Result:
        """Let `policy` make all decisions that are left.

        Parameters
        ----------
        policy : callable
            Takes a `Decision`, returns an index into its candidates or None.
        progress : callable, optional
            Called now and then with the number of jobs that have ended.

        Raises
        ------
        DrasLabError
            If the policy answers with something that is no candidate's index, or passes for ever.
        """
        decision = self._open or self.next_decision()
        asked = 0
        while decision is not None:
            choice = policy(decision)
            self._open = decision = self._step(choice)
            if progress is not None:
                asked += 1
                if not asked & 1023:
                    progress(self._engine.ended)
        if progress is not None:
            progress(self._engine.ended)
        return self.result(str(getattr(policy, "name", getattr(policy, "__name__", "policy"))))

    def result(self, policy: str = "policy") -> Result:
        """The finished schedule.

        Raises
        ------
        RuntimeError
            If there are decisions left to make, or an error ended the run.
        """
        if self._failed or self._open is not None or self.next_decision() is not None:
            raise RuntimeError("the simulation has not ended; there are decisions left to make")
        board, how = self._engine.board, np.array(self._engine.how, dtype=np.int8)
        # From the board and not from the trace, which somebody may have changed since.
        submit, size, request = board.arrays()
        start = np.array(board.start, dtype=np.int64)
        end = np.where(how == REFUSED, -1, start + np.array(self._engine.duration, dtype=np.int64))
        return Result(
            trace_name=self.trace.name,
            policy=policy,
            nodes=self.nodes,
            job_id=np.array(board.job_id, dtype=np.int64),
            submit=submit,
            size=size,
            requested_time=request,
            user_id=np.array(board.user, dtype=np.int64),
            start=start,
            end=end,
            how=how,
            log=self._engine.log,
            options=self.options,
            _board=board,
        )


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise DrasLabError(f"{name}: {value!r} is not one of {', '.join(allowed)}")


def _check_count(name: str, value: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise DrasLabError(f"{name}: {value!r} is not a whole number of 1 or more")
    return count


def simulate(
    trace: Trace,
    policy: Policy,
    *,
    nodes: int | None = None,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> Result:
    """Run `trace` under `policy` and return the finished schedule.

    Parameters
    ----------
    trace : Trace
        The jobs.
    policy : callable
        Takes a `Decision`, returns an index into its candidates, or None to pass.
    nodes : int, optional
        Size of the machine; the trace's own by default.
    progress : callable, optional
        Called now and then with the number of jobs that have ended.
    **options
        `backfill`, `window`, `overrun`, `reservation` and `log`, as in `Simulation`.

    Raises
    ------
    DrasLabError
        For an option or an answer of the policy that cannot be, or a policy that passes for ever.
    """
    if not callable(policy):
        raise DrasLabError(
            f"policy: {policy!r} is not a function of a decision; "
            "make_policy('fcfs') gives the one of that name"
        )
    return Simulation(trace, nodes, **options).run(policy, progress)
