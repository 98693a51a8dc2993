"""What kind of log it is: the numbers that describe the jobs of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .headers import Header, clock

_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9, "max": 1.0}
_SPREADS = {
    "size": "size, nodes",
    "run_time_s": "run time, s",
    "requested_time_s": "requested time, s",
    "request_over_run": "requested / run time",
}
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def describe(table: pd.DataFrame, nodes: int, header: Header = ()) -> dict[str, Any]:
    """The numbers, ready for JSON; None is what such jobs do not tell.

    Parameters
    ----------
    table : DataFrame
        The jobs, as a `Trace` has them.
    nodes : int
        Size of the machine.
    header : tuple of (str, str)
        The comments of the log, for its clock.

    Returns
    -------
    dict
        ``jobs``, ``nodes``, ``users`` (distinct known ones); ``span_s``, from the first
        submission to the last; ``work_node_s``, the sum of size * min(run time, requested time);
        ``offered_load``, the work over nodes * span; ``size``, ``run_time_s``,
        ``requested_time_s`` and ``request_over_run`` (of jobs that ran for a second and more), each
        with min, q25, median, q75, q90, max and mean over the jobs; ``share_past_request``, the
        share of jobs that ran past their request; ``arrivals_by_hour`` from midnight and
        ``arrivals_by_weekday`` from Monday, in jobs, by the clock that ``arrivals_clock`` names.
    """
    submit, size, run, request, user = (
        table[name].to_numpy()
        for name in ("submit_time", "size", "run_time", "requested_time", "user_id")
    )
    span = int(submit[-1] - submit[0]) if len(table) else 0
    work = float((size.astype(np.float64) * np.minimum(run, request)).sum())
    offset, name = clock(header)
    local, ran = submit + offset, run > 0
    return {
        "jobs": len(table),
        "nodes": nodes,
        "users": len(np.unique(user[user >= 0])),
        "span_s": span,
        "work_node_s": work,
        "offered_load": work / (nodes * span) if span else None,
        "size": _spread(size),
        "run_time_s": _spread(run),
        "requested_time_s": _spread(request),
        "request_over_run": _spread(request[ran] / run[ran]),
        "share_past_request": float((run > request).mean()) if len(table) else None,
        "arrivals_clock": name,
        "arrivals_by_hour": np.bincount(local // 3600 % 24, minlength=24).tolist(),
        # 1 January 1970 was a Thursday.
        "arrivals_by_weekday": np.bincount((local // 86400 + 3) % 7, minlength=7).tolist(),
    }


def _spread(values: npt.NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
        return None
    quantiles = np.quantile(values, list(_QUANTILES.values()))
    return dict(zip(_QUANTILES, quantiles.tolist(), strict=True)) | {"mean": float(values.mean())}


def as_text(facts: dict[str, Any], name: str) -> str:
    """What `describe` gave, for people."""
    load, past = facts["offered_load"], facts["share_past_request"]
    lines = [
        f"{name}: {facts['jobs']} jobs of {facts['users'] or 'unknown'} users "
        f"on {facts['nodes']} nodes",
        f"{facts['span_s'] / 86400:.1f} days from first to last submission, "
        f"offered load {'unknown' if load is None else f'{load:.3f}'}, "
        f"{'no' if not past else f'{past:.1%} of the'} jobs ran past their request",
    ]
    spreads = {label: facts[key] for key, label in _SPREADS.items() if facts[key] is not None}
    if spreads:
        lines += ["", " " * 20 + "".join(f"{head:>12}" for head in (*_QUANTILES, "mean"))]
    for label, spread in spreads.items():
        cells = (f"{x:,.0f}" if x >= 1000 else f"{x:.4g}" for x in spread.values())
        lines.append(f"{label:20}" + "".join(f"{cell:>12}" for cell in cells))
    hours, days = facts["arrivals_by_hour"], facts["arrivals_by_weekday"]
    lines += [
        "",
        f"submitted by hour of the day, from midnight ({facts['arrivals_clock']}):",
        *("".join(f"{jobs:>8}" for jobs in hours[k : k + 12]) for k in (0, 12)),
        "submitted by day of the week:",
        "".join(f"{day:>8}" for day in DAYS),
        "".join(f"{jobs:>8}" for jobs in days),
    ]
    return "\n".join(lines)
