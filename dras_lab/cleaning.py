"""Cleaning a job log: named rules, applied in a fixed order, each counted; nothing goes silently.

Each rule is one function below; its first sentence is what the report says of it. The rules are
applied from the top of this file to its end, and a job that one refuses is not shown to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import headers
from .jobs import DrasLabError
from .swf import FIELDS, REALS, TIMES, Array, SwfLog

Found: TypeAlias = npt.NDArray[np.bool_]  # which jobs a rule applies to, in file order

ACTIONS = REFUSED, REPAIRED, NOTED = "refused", "repaired", "noted"
# The columns of a trace: the fields of the format, where the size stands in place of the request.
COLUMNS = tuple("size" if name == "requested_procs" else name for name in FIELDS)
PARTIAL = (2, 3, 4)  # status of a line that tells of one part of a job's execution

_EXAMPLES = 3


def typed(column: Array, name: str) -> Array:
    """A column in the type that a trace keeps it in: int64, or float64 for `REALS`."""
    return column.astype(np.float64 if name in REALS else np.int64, copy=False)


@dataclass(frozen=True)
class Rule:
    """One rule of cleaning."""

    name: str
    action: str  # "refused", "repaired" or "noted"
    text: str  # one sentence
    fields: tuple[str, ...]  # where to look, when strict reading stops at it
    fault: bool  # whether it does
    apply: Callable[[_Jobs], Found]  # marks the jobs concerned, and makes the repair


@dataclass(frozen=True)
class CleaningReport:
    """What became of the jobs of a log.

    Attributes
    ----------
    read, kept : int
        Jobs in the file, jobs in the trace. ``read == kept + sum(refused.values())``.
    refused, repaired, noted : dict of str to int
        How many jobs each rule applied to; rules that found nothing are left out.
    notes : tuple of str
        What to know about the log as a whole.
    examples : dict of str to list of (int, int)
        For each rule the first few jobs: the id in the file, and the number of the line.

    Raises
    ------
    ValueError
        If the numbers do not add up.
    """

    read: int
    kept: int
    refused: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)
    noted: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    examples: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.read != self.kept + sum(self.refused.values()):
            raise ValueError(
                f"{self.read} jobs read are not {self.kept} kept and "
                f"{sum(self.refused.values())} refused"
            )

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        examples = {
            name: [{"job_id": job, "line": line} for job, line in found]
            for name, found in self.examples.items()
        }
        return asdict(self) | {"notes": list(self.notes), "examples": examples}

    def __str__(self) -> str:
        lines = [f"{self.read} jobs read, {self.kept} kept, {self.read - self.kept} refused"]
        for action in ACTIONS:
            for name, count in getattr(self, action).items():
                text = next((rule.text for rule in RULES if rule.name == name), "")
                lines.append(f"  {action:<8}  {count:>8}  {name:<21}  {text}")
                if found := self.examples.get(name):
                    where = ", ".join(f"job {job} (line {line})" for job, line in found)
                    lines.append(f"{'':22}e.g. {where}{', ...' * (count > len(found))}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


class _Jobs:
    """The jobs of a log while they are cleaned."""

    def __init__(self, log: SwfLog, nodes: int | None, statuses: Iterable[int] | None) -> None:
        self.log = log
        self.raw = log.columns  # as the file has them
        # As the trace will have them. A rule replaces a column, and never writes into one.
        self.new = {
            column: self.raw[name] if name in TIMES else typed(self.raw[name], name)
            for name, column in zip(FIELDS, COLUMNS, strict=True)
        }
        self.kept = np.ones(len(log), dtype=np.bool_)
        self.statuses = statuses
        self.told_nodes = nodes or headers.machine_size(log.header)

    def none(self) -> Found:
        return np.zeros(len(self.log), dtype=np.bool_)

    def nodes(self) -> int:
        """Size of the machine: as told, else the widest job that is kept."""
        return self.told_nodes or int(self.new["size"][self.kept].max(initial=1))

    def repeated_ids(self) -> Found:
        """Kept jobs whose id an earlier kept job has."""
        found = self.none()
        ids = self.raw["job_id"]
        if not (np.diff(ids) > 0).all():
            rows = self.kept.nonzero()[0]
            found[rows] = pd.Series(ids[rows]).duplicated().to_numpy()
        return found


RULES: list[Rule] = []


def _rule(action: str, *fields: str, fault: bool | None = None) -> Callable[..., Any]:
    """Put a function on the list of rules; strict reading stops at what is not just noted."""

    def register(apply: Callable[[_Jobs], Found]) -> Callable[[_Jobs], Found]:
        text = (apply.__doc__ or "").split("\n\n")[0].strip()
        stops = action != NOTED if fault is None else fault
        RULES.append(Rule(apply.__name__, action, " ".join(text.split()), fields, stops, apply))
        return apply

    return register


# -- the rules, in their order ----------------------------------------------------------------


@_rule(REPAIRED, "job_id", fault=False)
def extra_fields(jobs: _Jobs) -> Found:
    """Fields past the 18th are left out, as was asked for."""
    return jobs.none() if jobs.log.extra is None else jobs.log.extra


@_rule(REFUSED, "status", fault=False)
def status_filter(jobs: _Jobs) -> Found:
    """The status is not among those asked for."""
    wanted = jobs.statuses
    return jobs.none() if wanted is None else ~np.isin(jobs.new["status"], list(wanted))


@_rule(REFUSED, "job_id")
def copied_line(jobs: _Jobs) -> Found:
    """The line repeats an earlier one in all 18 fields."""
    found = jobs.none()
    if jobs.repeated_ids().any():
        rows = jobs.kept.nonzero()[0]
        lines = pd.DataFrame({name: jobs.raw[name][rows] for name in FIELDS})
        found[rows] = lines.duplicated().to_numpy()
    return found


@_rule(REFUSED, "status")
def partial_execution(jobs: _Jobs) -> Found:
    """The line tells of one part (status 2, 3 or 4) of a job that stands above as a whole."""
    return jobs.repeated_ids() & np.isin(jobs.new["status"], PARTIAL)


@_rule(REPAIRED, *TIMES)
def fractional_time(jobs: _Jobs) -> Found:
    """Times with decimals are cut to whole seconds (a request of less than one to one second)."""
    found = jobs.none()
    for name in TIMES:
        column = jobs.raw[name]
        if column.dtype != np.int64:
            # Rounded down below zero too, so that no unknown time becomes a time of zero.
            whole = np.floor(column)
            found |= whole != column
            if name == "requested_time":
                whole[(column > 0) & (column < 1)] = 1
            column = whole.astype(np.int64)
        jobs.new[name] = column
    return found


@_rule(REFUSED, "submit_time")
def negative_submit(jobs: _Jobs) -> Found:
    """The submit time is below zero, so it is not known when the job came."""
    return jobs.new["submit_time"] < 0


@_rule(REFUSED, "run_time")
def no_run_time(jobs: _Jobs) -> Found:
    """The run time is below zero: the job never ran, or nobody knows for how long."""
    return jobs.new["run_time"] < 0


@_rule(REFUSED, "requested_procs", "allocated_procs")
def no_size(jobs: _Jobs) -> Found:
    """Neither the requested nor the allocated processors are known."""
    return (jobs.new["size"] <= 0) & (jobs.new["allocated_procs"] <= 0)


@_rule(REPAIRED, "requested_procs")
def size_from_allocated(jobs: _Jobs) -> Found:
    """The size is taken from the allocated processors; none were requested."""
    found = jobs.new["size"] <= 0
    jobs.new["size"] = np.where(found, jobs.new["allocated_procs"], jobs.new["size"])
    return found


@_rule(REPAIRED, "requested_time")
def request_from_run_time(jobs: _Jobs) -> Found:
    """The requested time is taken from the run time (at least one second); there was none."""
    found = jobs.new["requested_time"] <= 0
    instead = np.maximum(jobs.new["run_time"], 1)
    jobs.new["requested_time"] = np.where(found, instead, jobs.new["requested_time"])
    return found


@_rule(REPAIRED, "job_id")
def new_job_id(jobs: _Jobs) -> Found:
    """The id is below zero or was used before: the job gets the next one past the largest."""
    ids = jobs.new["job_id"]
    found = (jobs.repeated_ids() | (ids < 0)) & jobs.kept
    if found.any():
        ids = ids.copy()
        ids[found] = max(int(ids.max()), 0) + 1 + np.arange(found.sum())
        jobs.new["job_id"] = ids
    return found


@_rule(REPAIRED, "submit_time")
def out_of_order(jobs: _Jobs) -> Found:
    """Submitted before a job that stands above: the trace is sorted by submit time, then id."""
    found = jobs.none()
    submit = jobs.new["submit_time"][jobs.kept]
    found[jobs.kept] = submit < np.maximum.accumulate(submit)
    return found


@_rule(NOTED, "job_id")
def same_second_order(jobs: _Jobs) -> Found:
    """Stands below a job of the same second with a larger id; the trace has them by id."""
    found = jobs.none()
    rows = jobs.kept.nonzero()[0]
    same = np.diff(jobs.new["submit_time"][rows]) == 0
    found[rows[1:]] = same & (np.diff(jobs.new["job_id"][rows]) < 0)
    return found


@_rule(NOTED, "run_time")
def zero_run_time(jobs: _Jobs) -> Found:
    """The run time is zero: kept, the job starts and ends in the same second."""
    found: Found = jobs.new["run_time"] == 0
    return found


@_rule(NOTED, "requested_procs", fault=True)
def wider_than_machine(jobs: _Jobs) -> Found:
    """Wider than the machine: kept, a simulation turns it away when it is submitted."""
    return jobs.new["size"] > jobs.nodes()


@_rule(NOTED, "run_time")
def past_request(jobs: _Jobs) -> Found:
    """Ran past its requested time: kept, the overrun rule of a simulation deals with it."""
    return jobs.new["run_time"] > jobs.new["requested_time"]


@_rule(NOTED, "average_cpu_time")
def cpu_past_run_time(jobs: _Jobs) -> Found:
    """Each processor was busy for longer than the job ran, by more than a second."""
    return jobs.new["average_cpu_time"] > jobs.new["run_time"] + 1


# -- all of them ------------------------------------------------------------------------------


def clean(
    log: SwfLog,
    nodes: int | None = None,
    statuses: Iterable[int] | None = None,
    strict: bool = False,
) -> tuple[pd.DataFrame, int, CleaningReport]:
    """Apply all rules: the table of a trace, the size of the machine, and the report.

    The arguments are those of `traces.read_swf`.

    Raises
    ------
    DrasLabError
        If no job is left; with `strict` at the first line with a fault.
    """
    jobs = _Jobs(log, nodes, statuses)
    counts: dict[str, dict[str, int]] = {action: {} for action in ACTIONS}
    examples: dict[str, list[tuple[int, int]]] = {}
    first: tuple[int, Rule] | None = None
    for rule in RULES:
        found = rule.apply(jobs) & jobs.kept
        rows = found.nonzero()[0]
        if not rows.size:
            continue
        counts[rule.action][rule.name] = int(rows.size)
        examples[rule.name] = [
            (int(log.columns["job_id"][row]), log.line(row)) for row in rows[:_EXAMPLES]
        ]
        if rule.action == REFUSED:
            jobs.kept &= ~found
        if strict and rule.fault and (first is None or rows[0] < first[0]):
            first = int(rows[0]), rule
    if first is not None:
        raise _strict_error(log, *first)
    kept = int(jobs.kept.sum())
    if not kept:
        why = ", ".join(f"{name} {count}" for name, count in counts[REFUSED].items())
        raise DrasLabError(f"{log.file}: none of its {len(log)} jobs can be used ({why})")
    notes = tuple(_notes(jobs, counts))
    report = CleaningReport(len(log), kept, **counts, notes=notes, examples=examples)
    return _table(jobs), jobs.nodes(), report


def _strict_error(log: SwfLog, row: int, rule: Rule) -> DrasLabError:
    values = {name: float(log.columns[name][row]) for name in rule.fields}
    name = next((name for name, value in values.items() if value % 1), rule.fields[0])
    fate = {REFUSED: "refuses this job", REPAIRED: "repairs this", NOTED: "keeps this job"}
    return DrasLabError(
        f"{log.file}: line {log.line(row)}, field {FIELDS.index(name) + 1} ({name}): "
        f"{values[name]:.16g}: {rule.name}: {rule.text.rstrip('.')}; strict reading stops here, "
        f"reading without it {fate[rule.action]}"
    )


def _notes(jobs: _Jobs, counts: dict[str, dict[str, int]]) -> Iterable[str]:
    header, kept = jobs.log.header, int(jobs.kept.sum())
    if jobs.told_nodes is None:
        yield (
            f"machine size not in the header: taken from the widest job ({jobs.nodes()}); "
            "give nodes= / --nodes"
        )
    promised = headers.count(header, "MaxRecords") or headers.count(header, "MaxJobs")
    if promised is not None and promised != len(jobs.log):
        yield (
            f"the header speaks of {promised} jobs, the file holds {len(jobs.log)}: "
            "cut, cleaned or edited since"
        )
    if counts[REPAIRED].get("request_from_run_time") == kept:
        yield (
            "no job has a requested time of its own: plans will be exact, "
            "which flatters backfilling"
        )
    if (jobs.new["wait_time"][jobs.kept] < 0).all():
        yield "no wait times: when the jobs really started is not known"
    if counts[NOTED].get("cpu_past_run_time", 0) > kept // 2:
        yield (
            "field 6 (average CPU time) exceeds field 4 (run time) in most jobs: "
            "are the columns in the order of the format?"
        )


def _table(jobs: _Jobs) -> pd.DataFrame:
    """The kept jobs, sorted by submit time and id."""
    rows = jobs.kept.nonzero()[0]
    submit, ids = jobs.new["submit_time"][rows], jobs.new["job_id"][rows]
    rows = rows[np.lexsort((ids, submit))]
    return pd.DataFrame({name: jobs.new[name][rows] for name in COLUMNS})
