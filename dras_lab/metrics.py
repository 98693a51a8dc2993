"""Measures of a schedule. No single one tells the truth; `compare` shows several side by side.

Waits and responses are seconds; refused jobs count in none of the measures but their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .jobs import DrasLabError
from .results import HOWS, Result

FloatArray = npt.NDArray[np.float64]
Results = Result | Mapping[str, Result] | Iterable[Result]
TAU = 10.0

# Upper bounds of the size classes as shares of the machine, so that machines can be compared.
SIZE_CLASSES = (0.01, 0.05, 0.25, 1.0)


def bounded_slowdown(result: Result, tau: float = TAU) -> FloatArray:
    """Bounded slowdown of each job that ran: ``max(1, (wait + run) / max(run, tau))``.

    Feitelson, "Metrics for parallel job scheduling and their convergence", JSSPP 2001. The
    bound `tau`, in seconds, keeps very short jobs from dominating the mean.

    Raises
    ------
    DrasLabError
        If `tau` is not positive.
    """
    if not tau > 0:
        raise DrasLabError(f"tau: {tau!r} must be a positive number of seconds")
    wait, run = _waits_and_runs(result)
    slowdown: FloatArray = np.maximum(1.0, (wait + run) / np.maximum(run, tau))
    return slowdown


def response_time(result: Result) -> npt.NDArray[np.int64]:
    """Seconds from submission to end of each job that ran."""
    wait, run = _waits_and_runs(result)
    return wait + run


def makespan(result: Result) -> int:
    """Seconds from the first submission to the last end; refused jobs do not count."""
    ran = result.ran
    return int(result.end[ran].max() - result.submit[ran].min()) if ran.any() else 0


def utilisation(result: Result) -> float:
    """Share of the node-seconds between the first submission and the last end that were used."""
    span = makespan(result)
    ran = result.ran
    used = int((result.size[ran] * result.run_time[ran]).sum())
    return used / (result.nodes * span) if span else 0.0


def utilisation_over_time(result: Result, step: int = 3600) -> pd.Series[float]:
    """Mean utilisation in each interval of `step` seconds, indexed by the interval's start.

    Raises
    ------
    DrasLabError
        If `step` is not positive.
    """
    if not step > 0:
        raise DrasLabError(f"step: {step!r} must be a positive number of seconds")
    ran = result.ran
    if not ran.any():
        return pd.Series(dtype=float)
    first, last = int(result.submit[ran].min()), int(result.end[ran].max())
    edges = np.arange(first, last + step, step, dtype=np.int64)
    used = _node_seconds_before(result, edges)
    return pd.Series(
        np.diff(used) / (result.nodes * float(step)),
        index=pd.Index(edges[:-1], name="time"),
        name="utilisation",
    )


def nodes_in_use(result: Result) -> pd.Series[int]:
    """Nodes in use as a step function: the value at a time holds until the next time."""
    ran = result.ran
    times = np.concatenate([result.start[ran], result.end[ran]])
    change = np.concatenate([result.size[ran], -result.size[ran]])
    return pd.Series(change, index=times).groupby(level=0).sum().cumsum().rename("nodes")


def queue_length(result: Result) -> pd.Series[int]:
    """Waiting jobs as a step function: the value at a time holds until the next time."""
    ran = result.ran
    times = np.concatenate([result.submit[ran], result.start[ran]])
    change = np.repeat([1, -1], int(ran.sum()))
    return pd.Series(change, index=times).groupby(level=0).sum().cumsum().rename("jobs")


def summary(result: Result, tau: float = TAU) -> dict[str, Any]:
    """The measures of one result, JSON-ready; the keys of ``dras-lab simulate --json``.

    Waits in seconds, throughput in jobs an hour, utilisation as a share of the span from the
    first submission to the last end.
    """
    wait, run = _waits_and_runs(result)
    slowdown = bounded_slowdown(result, tau)
    span = makespan(result)
    some = len(wait) > 0
    return {
        "policy": result.policy,
        "trace": result.trace_name,
        "nodes": result.nodes,
        "jobs": len(wait),
        "refused": int((~result.ran).sum()),
        "mean_wait_s": float(wait.mean()) if some else None,
        "median_wait_s": float(np.median(wait)) if some else None,
        "max_wait_s": int(wait.max()) if some else None,
        "jobs_that_waited": int((wait > 0).sum()),
        "mean_response_s": float((wait + run).mean()) if some else None,
        "mean_bounded_slowdown": float(slowdown.mean()) if some else None,
        "max_bounded_slowdown": float(slowdown.max()) if some else None,
        "tau_s": float(tau),
        "utilisation": utilisation(result),
        "makespan_s": span,
        "throughput_per_h": len(wait) * 3600 / span if span else None,
    }


def compare(results: Results, tau: float = TAU, baseline: str | None = None) -> pd.DataFrame:
    """One row a result, mean and maximum side by side.

    Columns: ``mean_wait_h``, ``median_wait_h``, ``max_wait_h`` (hours), ``mean_bounded_slowdown``,
    ``utilisation`` (a share), ``makespan_d`` (days), ``jobs``, ``refused``, and with a baseline
    ``mean_wait_ratio`` and ``max_wait_ratio``.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    tau : float
        Bound of the bounded slowdown, in seconds.
    baseline : str, optional
        Adds each row's mean and maximum wait as a ratio to this one's.

    Raises
    ------
    DrasLabError
        If two results have one name, or there is none with the baseline's.
    """
    by_name = named(results)
    rows = []
    for name, result in by_name.items():
        s = summary(result, tau)
        hours = {
            f"{key}_wait_h": np.nan if s[f"{key}_wait_s"] is None else s[f"{key}_wait_s"] / 3600
            for key in ("mean", "median", "max")
        }
        rows.append(
            {
                "policy": name,
                **hours,
                "mean_bounded_slowdown": s["mean_bounded_slowdown"],
                "utilisation": s["utilisation"],
                "makespan_d": s["makespan_s"] / 86400,
                "jobs": s["jobs"],
                "refused": s["refused"],
            }
        )
    table = pd.DataFrame(rows).set_index("policy")
    if baseline is not None:
        if baseline not in table.index:
            raise DrasLabError(f"baseline {baseline!r} is not among {', '.join(by_name)}")
        for key in ("mean", "max"):
            column = table[f"{key}_wait_h"]
            table[f"{key}_wait_ratio"] = column / column[baseline]
    return table


def named(results: Results) -> dict[str, Result]:
    """Results by name: a mapping's own names, else those of their policies.

    Raises
    ------
    DrasLabError
        If there are none, or two have one name.
    """
    if isinstance(results, Result):
        results = [results]
    if isinstance(results, Mapping):
        pairs = list(results.items())
    else:
        pairs = [(result.policy, result) for result in results]
    names = [name for name, _ in pairs]
    if not names:
        raise DrasLabError("there are no results to compare")
    if len(set(names)) < len(names):
        raise DrasLabError(f"two results have one name ({', '.join(names)}); pass a mapping")
    return dict(pairs)


def size_classes(
    result: Result, shares: tuple[float, ...] = SIZE_CLASSES
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The labels of the size classes (nodes, as ``"1-43"``), and the class of each job.

    Returns
    -------
    list of str, int64 array of shape ``[jobs]``
        An index into the labels; -1 for a refused job.
    """
    # On a small machine several bounds may be one number of nodes: one class then.
    bounds = sorted({max(int(result.nodes * share), 1) for share in shares[:-1]} | {result.nodes})
    lower = [1, *(bound + 1 for bound in bounds[:-1])]
    labels = [f"{a}-{b}" if a < b else str(b) for a, b in zip(lower, bounds, strict=True)]
    which = np.searchsorted(bounds, result.size, side="left")
    return labels, np.where(result.ran, which, -1)


def by_class(
    result: Result, shares: tuple[float, ...] = SIZE_CLASSES, tau: float = TAU
) -> pd.DataFrame:
    """Measures by size class, as shares of the machine; times in seconds.

    Parameters
    ----------
    result : Result
        The schedule.
    shares : tuple of float
        Upper bounds of the classes as shares of the machine, ascending, the last one 1; a job
        belongs to the first class whose bound it does not exceed.
    tau : float
        Bound of the bounded slowdown, in seconds.
    """
    labels, which = size_classes(result, shares)
    keys = [labels[k] for k in which[result.ran]]
    return _grouped(result, keys, labels, tau).rename_axis("size")


def by_how(result: Result, tau: float = TAU) -> pd.DataFrame:
    """Measures by how the jobs came to run: ready, reserved, backfilled; times in seconds."""
    how = [HOWS[k].value for k in result.how[result.ran].tolist()]
    return _grouped(result, how, [h.value for h in HOWS[:3]], tau).rename_axis("how")


def _grouped(result: Result, keys: list[str], order: list[str], tau: float) -> pd.DataFrame:
    wait, run = _waits_and_runs(result)
    table = pd.DataFrame(
        {
            "key": keys,
            "wait": wait,
            "slowdown": bounded_slowdown(result, tau),
            "node_hours": result.size[result.ran] * run / 3600,
        }
    )
    groups = table.groupby("key")
    out = pd.DataFrame(
        {
            "jobs": groups.size(),
            "node_hours": groups["node_hours"].sum(),
            "mean_wait_s": groups["wait"].mean(),
            "max_wait_s": groups["wait"].max(),
            "mean_bounded_slowdown": groups["slowdown"].mean(),
        }
    ).reindex(order)
    for column in ("jobs", "node_hours"):
        out[column] = out[column].fillna(0)
        total = out[column].sum()
        out[f"share_of_{column}"] = out[column] / total if total else 0.0
    return out.astype({"jobs": int})


def _waits_and_runs(result: Result) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    ran = result.ran
    return (result.start - result.submit)[ran], result.run_time[ran]


def _node_seconds_before(result: Result, edges: npt.NDArray[np.int64]) -> FloatArray:
    """Node-seconds used before each edge: the integral of the step function of nodes in use."""
    steps = nodes_in_use(result)
    times = steps.index.to_numpy(np.int64)
    levels = steps.to_numpy(np.float64)
    area = np.concatenate([[0.0], np.cumsum(levels[:-1] * np.diff(times))])
    k = np.searchsorted(times, edges, side="right") - 1
    inside = np.where(k >= 0, area[k] + levels[k] * (edges - times[np.maximum(k, 0)]), 0.0)
    return np.asarray(inside, dtype=np.float64)


def wait_ratios(result: Result, baseline: Result) -> tuple[float, float]:
    """Mean and maximum wait as ratios to another run's of the same trace.

    Raises
    ------
    DrasLabError
        If nobody waited in the other run: there is nothing to compare with.
    """
    waits, others = _waits_and_runs(result)[0], _waits_and_runs(baseline)[0]
    if not others.any():
        raise DrasLabError(
            f"{baseline.trace_name}: no job waits under {baseline.policy}, so there is nothing to "
            "improve on; take more jobs, a smaller machine or a higher load"
        )
    return float(waits.mean() / others.mean()), float(waits.max() / others.max())


def balance(mean_ratio: float, max_ratio: float, limit: float = 1.1, price: float = 2.0) -> float:
    """One number for a mean and a maximum wait, smaller is better: no mean by starving jobs.

    ``mean_ratio + price * max(0, max_ratio - limit)``: the mean alone counts as long as the
    maximum is at most `limit` times the baseline's; beyond it a hundredth of the maximum costs
    as much as `price` hundredths of the mean. Ours; this is how checkpoints and rules are chosen.
    """
    return mean_ratio + price * max(0.0, max_ratio - limit)
