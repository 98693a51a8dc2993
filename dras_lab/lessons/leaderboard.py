"""A leaderboard: the policies of a class on jobs that none of them has seen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..decisions import Policy
from ..facts import theta_facts
from ..jobs import DrasLabError
from ..metrics import balance, compare
from ..policies import make_policy
from ..results import Result
from ..simulator import simulate
from ..traces import Trace
from ..workloads import like

RULES = ("fcfs", "sjf", "wfp3", "binpacking")
PRACTICE = "practice"
NODES, JOBS, LOAD = 273, 1500, 0.9


def secret_jobs(word: str = PRACTICE, jobs: int = JOBS) -> Trace:
    """Jobs like Theta's on 273 nodes, from a seed that only those who know the word can tell.

    The seed is made of the SHA-256 of the word.
    """
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8")).digest()[:4], "big")
    return like(theta_facts(), jobs, seed=seed, load=LOAD, nodes=NODES)


def leaderboard(entries: Mapping[str, Policy], word: str = PRACTICE) -> pd.DataFrame:
    """Policies and four well-known rules on jobs that none was made on; the best first.

    The score is `metrics.balance` of mean and maximum wait, both as ratios to first come, first
    served: a short mean that is bought with a long maximum does not win. All run with EASY
    backfilling and a window of 50.

    Parameters
    ----------
    entries : mapping from name to policy
        An entry that fails stands at the end, with the reason.
    word : str
        What the jobs are made from. The default is for practice: those who tune on it
        fool only themselves. For the ranking, think of a word when all entries are in.

    Returns
    -------
    DataFrame
        A row a policy: ``score`` (smaller is better), ``mean_wait_h``, ``max_wait_h``,
        ``mean_wait_ratio``, ``max_wait_ratio``, and a ``note`` where an entry has failed.

    Raises
    ------
    DrasLabError
        If an entry has the name of one of the rules.
    """
    if taken := set(entries) & set(RULES):
        raise DrasLabError(f"leaderboard: {min(taken)!r} is the name of a rule; choose another")
    trace = secret_jobs(word)
    runs: dict[str, Result] = {}
    notes: dict[str, str] = {}
    for name, policy in {**{rule: make_policy(rule) for rule in RULES}, **entries}.items():
        try:
            runs[name] = simulate(trace, policy, log=False)
        except Exception as error:  # whatever it is, the others are still to be ranked
            notes[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    ratios = ["mean_wait_ratio", "max_wait_ratio"]
    table = compare(runs, baseline="fcfs")[["mean_wait_h", "max_wait_h", *ratios]]
    table.insert(0, "score", [balance(*row) for row in table[ratios].itertuples(index=False)])
    table = table.sort_values("score", kind="stable").reindex([*table.index, *notes])
    table = table.sort_values("score", kind="stable", na_position="last")
    if notes:
        table["note"] = [notes.get(str(name), "") for name in table.index]
    return table.astype({"score": np.float64})
