"""What if another job had been chosen: one choice of a finished run changed, the rest follows."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd

from .decisions import Decision, Policy
from .jobs import DrasLabError
from .replay import log_of
from .results import Result
from .simulator import Simulation
from .traces import Trace


def what_if(
    result: Result,
    trace: Trace,
    policy: Policy,
    k: int,
    choice: int | None,
    *,
    warm: bool = False,
) -> Result:
    """Make the first `k` choices of a run again, then `choice`, then let `policy` go on.

    The policy is copied (`copy.deepcopy`) before it is asked, so that it goes on from the state
    in which it was given, each time anew, and is not changed itself. That is all that a rule
    without memory needs, or an agent that has stopped learning. For one that draws random
    numbers or learns as it goes, give it as it was before the run, and ``warm=True``.

    Parameters
    ----------
    result : Result
        The run, with its log of decisions.
    trace : Trace
        What was run.
    policy : callable
        Makes all choices after the changed one.
    k : int
        Which decision is changed.
    choice : int or None
        Index into the candidates of decision `k`; None to pass.
    warm : bool
        Ask the policy at the first `k` + 1 decisions too. Its answers to the first `k` must be
        those of the run; its answer at `k` is replaced by `choice`.

    Returns
    -------
    Result
        With a log of its own. Its `policy` says what was changed.

    Raises
    ------
    DrasLabError
        If the result has no log or is of another trace, there is no such decision or candidate,
        or (`warm`) the policy does not do again what the run did.
    """
    log = log_of(result)
    if not callable(policy):
        raise DrasLabError(
            f"policy: {policy!r} cannot be asked; give a policy, as make_policy('fcfs') makes one"
        )
    if not 0 <= k < len(log):
        raise DrasLabError(f"there is no decision {k}: the run has {len(log)}, counted from 0")
    at = log[k]
    if choice is not None and not 0 <= choice < len(at.candidates):
        raise DrasLabError(
            f"decision {k} has {len(at.candidates)} candidates; there is no {choice}"
        )
    table = trace.table
    for column, values in (
        ("job_id", result.job_id),
        ("submit_time", result.submit),
        ("size", result.size),
        ("requested_time", result.requested_time),
    ):
        if not np.array_equal(table[column].to_numpy(), values):
            raise DrasLabError(f"the result is not a run of {trace.name}; give the trace it was of")
    going_on = copy.deepcopy(policy)
    before = log.replayer(k)
    made = 0

    def changed(decision: Decision) -> int | None:
        nonlocal made
        made += 1
        if made > k + 1:
            return going_on(decision)
        answer = before(decision) if made <= k else choice
        if warm:
            own = going_on(decision)
            if made <= k and own != answer:
                raise DrasLabError(
                    f"the policy chose {own} at decision {made - 1} where the run has {answer}; "
                    "with warm=True give it as it was before the run"
                )
        return answer

    simulation = Simulation(trace, result.nodes, **result.options)
    other = simulation.run(changed)
    job = "nobody" if choice is None else f"job {at.candidates[choice]}"
    other.policy = f"{result.policy}, but {job} at decision {k}"
    return other


def moved(before: Result, after: Result) -> pd.DataFrame:
    """The jobs whose wait differs between two runs of one trace, the greatest gain first.

    Returns
    -------
    DataFrame
        ``job_id``, ``size``, ``requested_time``, ``wait_before``, ``wait_after`` and ``change``
        in seconds; a negative change is a gain. Refused jobs are left out.

    Raises
    ------
    DrasLabError
        If the two are not of the same jobs.
    """
    if not np.array_equal(before.job_id, after.job_id):
        raise DrasLabError("the two results are of different jobs; compare runs of one trace")
    table = pd.DataFrame(
        {
            "job_id": before.job_id,
            "size": before.size,
            "requested_time": before.requested_time,
            "wait_before": before.wait,
            "wait_after": after.wait,
            "change": after.wait - before.wait,
        }
    )
    table = table[before.ran & after.ran & (table["change"] != 0)]
    return table.sort_values(["change", "job_id"], ignore_index=True)
