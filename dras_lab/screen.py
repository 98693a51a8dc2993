"""What commands show: titles, tables, measures, JSON and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .jobs import DrasLabError

if TYPE_CHECKING:
    import pandas as pd

    from .results import Result
    from .traces import Trace


def title(trace: Trace, result: Result) -> str:
    """The jobs, the machine and the rules of a run in one line."""
    options = result.options
    backfill = {"easy": "EASY backfilling", "conservative": "conservative backfilling"}
    window = (
        "the whole queue" if options["window"] is None else f"a window of {options['window']} jobs"
    )
    how = backfill.get(options["backfill"], "no backfilling")
    name = trace.name.encode("utf-8", "replace").decode()
    return (
        f"{name}: {len(trace)} jobs, {result.nodes} nodes; "
        f"{how}, {window}, overrun {options['overrun']}"
    )


# What a table on the screen shows, its heading and its format; files have all columns.
_COLUMNS = {
    "mean_wait_h": ("mean wait", "{:.2f}"),
    "median_wait_h": ("median", "{:.2f}"),
    "max_wait_h": ("max", "{:.1f}"),
    "mean_wait_ratio": ("mean/fcfs", "{:.2f}"),
    "max_wait_ratio": ("max/fcfs", "{:.2f}"),
    "mean_bounded_slowdown": ("slowdown", "{:.1f}"),
    "utilisation": ("utilisation", "{:.3f}"),
    "makespan_d": ("makespan", "{:.1f}"),
    "refused": ("refused", "{:.0f}"),
}


_SPREADS = ("mean_wait_h", "max_wait_h", "mean_wait_ratio", "max_wait_ratio")


def columns_of(rows: list[list[str]]) -> str:
    """Rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    )


def format_table(table: pd.DataFrame, tau: float) -> str:
    """A table of `metrics.compare` as text."""
    shown = {
        heading: [pattern.format(value) for value in table[column]]
        for column, (heading, pattern) in _COLUMNS.items()
        if column in table and (column != "refused" or table[column].any())
    }
    rows = [["", *shown], *map(list, zip(map(str, table.index), *shown.values(), strict=True))]
    note = f"waits in hours, makespan in days, bounded slowdown with tau = {tau:g} s"
    return f"{columns_of(rows)}\n{note}"


def format_spreads(table: pd.DataFrame) -> str:
    """A table of `sweeps.sweep` as text: medians over seeds, and their intervals."""
    shown = {name: _COLUMNS[name] for name in _SPREADS if name in set(table["measure"])}
    rows = [["", "runs", *(heading for heading, _ in shown.values())]]
    by_trace = table["trace"].nunique() > 1
    for (trace, kind, policy, reward), group in table.groupby(
        ["trace", "kind", "policy", "reward"], sort=False
    ):
        found = group.set_index("measure")
        words = (
            [trace] * by_trace + [kind] * (kind != "policy") + [policy] + [reward] * bool(reward)
        )
        row = [" ".join(map(str, words)), str(found["runs"].max())]
        for name, (_, pattern) in shown.items():
            median, low, high = found.loc[name, ["median", "low", "high"]].to_numpy(float)
            many = low == low  # a single run has no interval
            between = f" [{pattern.format(low)}, {pattern.format(high)}]" if many else ""
            row.append(pattern.format(median) + between)
        rows.append(row)
    note = "medians over seeds [95 % bootstrap interval]; waits in hours"
    return f"{columns_of(rows)}\n{note}"


# How many decimals are worth printing; what is computed with is never rounded.
_DECIMALS = {
    "mean_wait_s": 3,
    "mean_response_s": 3,
    "mean_bounded_slowdown": 4,
    "max_bounded_slowdown": 4,
    "utilisation": 5,
    "throughput_per_h": 3,
}


def refused_on_reading(trace: Trace) -> int:
    """How many jobs of the log were no jobs."""
    return 0 if trace.report is None else sum(trace.report.refused.values())


def measures(result: Result, trace: Trace, tau: float) -> dict[str, Any]:
    """What ``--json`` says of one run."""
    from .metrics import summary

    found = {
        key: round(value, _DECIMALS[key]) if key in _DECIMALS and value is not None else value
        for key, value in summary(result, tau).items()
    }
    return {**found, "refused_on_reading": refused_on_reading(trace), **result.options}


def print_measures(found: dict[str, Any]) -> None:
    """The same, a line each."""
    width = max(map(len, found))
    for key, value in found.items():
        print(f"{key:<{width}}  {'-' if value is None else value}")


def print_json(value: Any) -> None:
    """JSON, which knows no NaN: what is not known is None before it comes here."""
    print(json.dumps(value, indent=2, allow_nan=False))


def picture_format(path: str) -> str:
    """What kind of figure a file of that name is.

    Raises
    ------
    DrasLabError
        If it is none.
    """
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("png", "pdf", "svg"):
        raise DrasLabError(f"{path}: a figure is written as .png, .pdf or .svg; name it so")
    return kind


def picture(table: pd.DataFrame, heading: str, path: str) -> bytes:
    """Bars and a Kiviat chart of a table, as the content of that file."""
    from .plotting import as_bytes, overview

    return as_bytes(overview(table, heading), picture_format(path))
