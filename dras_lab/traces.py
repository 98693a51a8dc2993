"""A `Trace`: the jobs of a log, cleaned, and the machine they ran on."""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import math
import operator
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from . import headers, swf
from .cleaning import COLUMNS, CleaningReport, clean, typed
from .files import check_target, write_whole
from .headers import Header
from .jobs import DrasLabError, Job
from .summaries import as_text, describe
from .swf import LIMIT, REALS, Array

# Where the shipped logs are: in the installed package, or in the checkout beside it.
_SHELVES = (Path(__file__).parent / "_traces", Path(__file__).parent.parent / "traces")
_ENDING = ".swf.gz"
_LEAST = {"submit_time": 0, "size": 1, "run_time": 0, "requested_time": 1, "job_id": 0}


def read_swf(
    source: str | os.PathLike[str],
    *,
    strict: bool = False,
    nodes: int | None = None,
    extra_columns: Literal["refuse", "ignore"] = "refuse",
    statuses: Collection[int] | None = None,
) -> Trace:
    """Read and clean a job log in the Standard Workload Format.

    Parameters
    ----------
    source : path or str
        A file, packed with gzip or not, or the name of a shipped log (``"theta-like"``), which
        is found from any folder. A file of that name comes first.
    strict : bool
        Raise at the first job that would be repaired or refused, or is wider than the machine.
    nodes : int, optional
        Size of the machine. By default ``MaxProcs`` of the header, else ``MaxNodes``, else the
        widest job.
    extra_columns : {"refuse", "ignore"}
        Whether a line with more than 18 fields is an error, or is read without the rest.
    statuses : collection of int, optional
        Keep only jobs with one of these; by default all (1 completed, 0 failed, 5 cancelled).

    Returns
    -------
    Trace
        What was repaired and refused on the way is in its `report`.

    Raises
    ------
    DrasLabError
        If there is no such log, its text is not in the format, no job can be used, or `strict`
        finds a fault; with the file, the line and the field.
    """
    nodes = None if nodes is None else _count(nodes, "nodes")
    if statuses is not None:
        statuses = [_count(status, "a status", least=-1) for status in statuses]
    path, file, name = _located(source)
    log = swf.parse(swf.load(path, file), file, extra_columns)
    table, size, report = clean(log, nodes, statuses, strict)
    return Trace(table, size, name, log.header, report)


def shipped() -> dict[str, Path]:
    """The logs that come with the project, by name."""
    found = [p for shelf in reversed(_SHELVES) for p in sorted(shelf.glob(f"*{_ENDING}"))]
    return {path.name.removesuffix(_ENDING): path for path in found}


def _located(source: str | os.PathLike[str]) -> tuple[Path, str, str]:
    """Where a log is, what messages call it, and the name of its trace."""
    path, logs = Path(source), shipped()
    try:
        there = path.exists() and not (str(source) in logs and path.is_dir())
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if there:
        return path, str(path), path.name.removesuffix(".gz").removesuffix(".swf")
    if str(source) in logs:
        return logs[str(source)], str(source), str(source)
    raise DrasLabError(
        f"{source}: no such file, and no shipped log of that name "
        f"(shipped: {', '.join(sorted(logs)) or 'none in this installation'})"
    )


@dataclass(eq=False, repr=False)
class Trace:
    """The jobs of a log and the machine they ran on.

    Attributes
    ----------
    table : DataFrame
        A row a job, sorted by (submit_time, job_id), with the columns of the Standard Workload
        Format in their order; ``size`` stands in place of the requested processors. Times are
        seconds, -1 is what is not known. All int64, but for ``average_cpu_time``,
        ``used_memory`` and ``requested_memory`` (float64). ``size`` and ``requested_time`` are
        at least 1, ``submit_time`` and ``run_time`` at least 0, ``job_id`` is unique.
    nodes : int
        Size of the machine, in the unit that sizes are given in.
    name : str
        For titles.
    header : tuple of (str, str)
        The comments of the log in file order; free text has the key "".
    report : CleaningReport or None
        What became of the jobs of the file; None for a trace that was not just read.
    """

    table: pd.DataFrame
    nodes: int
    name: str = "trace"
    header: Header = ()
    report: CleaningReport | None = None

    def __post_init__(self) -> None:
        self.nodes = _count(self.nodes, "nodes")
        if tuple(self.table.columns) != COLUMNS:
            raise DrasLabError("these are not the columns of a trace; use Trace.from_table")

    @classmethod
    def from_table(
        cls, df: pd.DataFrame, nodes: int, name: str = "trace", header: Header = ()
    ) -> Trace:
        """A trace of your own jobs.

        The table needs ``submit_time``, ``run_time`` (seconds) and ``size``. By default
        ``requested_time`` is the run time (at least 1 s), ``job_id`` counts from 1 in order of
        submission, and all else is not known (-1).

        Raises
        ------
        DrasLabError
            If a column is missing or unknown, or a value cannot be.
        """
        for column in ("submit_time", "size", "run_time"):
            if column not in df:
                raise DrasLabError(f"a trace needs the column {column!r}; the table has none")
        for column in df.columns:
            if column not in COLUMNS:
                raise DrasLabError(f"a trace has no column {column!r}; there are {list(COLUMNS)}")
        given = {column: _checked(df[column], column) for column in df.columns}
        columns = {c: typed(np.full(len(df), -1), c) for c in COLUMNS} | given
        if "requested_time" not in given:
            columns["requested_time"] = np.maximum(columns["run_time"], 1)
        if "job_id" not in given:
            order = np.argsort(columns["submit_time"], kind="stable")
            columns["job_id"][order] = np.arange(1, len(df) + 1)
        for column, least in _LEAST.items():
            _need(columns[column] >= least, column, columns[column], f"must be at least {least}")
        twice = pd.Series(columns["job_id"]).duplicated().to_numpy()
        _need(~twice, "job_id", columns["job_id"], "stands there twice")
        return cls(_sorted(pd.DataFrame({c: columns[c] for c in COLUMNS})), nodes, name, header)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self)} jobs, {self.nodes} nodes)"

    def jobs(self) -> Iterator[Job]:
        """The jobs, in order of submission."""
        names = ("job_id", "submit_time", "size", "requested_time", "run_time", "user_id")
        return map(Job, *(self.table[name].tolist() for name in names))

    __iter__ = jobs

    @overload
    def __getitem__(self, key: slice) -> Trace: ...
    @overload
    def __getitem__(self, key: int) -> Job: ...
    def __getitem__(self, key: slice | int) -> Trace | Job:
        """``trace[10:20]`` is a trace of these jobs, ``trace[3]`` the fourth job."""
        if not isinstance(key, slice):
            row = range(len(self))[key]
            return next(self._part(slice(row, row + 1), "").jobs())
        start, stop, step = key.indices(len(self))
        if step < 0:
            raise DrasLabError("the jobs of a trace stand in order of submission: no negative step")
        return self._part(key, f"[{start}:{stop}{f':{step}' * (step > 1)}]")

    def head(self, n: int) -> Trace:
        """The first `n` jobs."""
        return self[: _count(n, "the number of jobs", least=0)]

    def between(self, t0: float, t1: float) -> Trace:
        """The jobs submitted at t0 or later and before t1, in the log's own seconds."""
        if not t0 <= t1:
            raise DrasLabError(f"between({t0}, {t1}): the times are in the wrong order")
        start, stop = np.searchsorted(self.table["submit_time"].to_numpy(), [t0, t1])
        return self._part(slice(int(start), int(stop)), f"[{t0:.15g}s:{t1:.15g}s]")

    def split(self, *fractions: float) -> list[Trace]:
        """Parts one after the other, with these shares of the jobs: ``split(0.6, 0.15, 0.25)``.

        Raises
        ------
        DrasLabError
            If the shares do not add up to one, or a part would have no job.
        """
        if not fractions or abs(math.fsum(fractions) - 1) > 1e-9:
            raise DrasLabError(f"split{fractions}: the shares must add up to 1")
        shares = (math.fsum(fractions[:k]) for k in range(len(fractions) + 1))
        cuts = [math.floor(share * len(self) + 0.5) for share in shares]
        if any(start >= stop for start, stop in itertools.pairwise(cuts)):
            raise DrasLabError(f"split{fractions} of {len(self)} jobs: a part would have no job")
        return [
            self._part(slice(*ends), f"-part-{k}-of-{len(fractions)}")
            for k, ends in enumerate(itertools.pairwise(cuts), 1)
        ]

    def coarsen(self, k: int) -> Trace:
        """Machine and sizes divided by `k`, each rounded up: 4360 nodes by 16 are 273."""
        k = _count(k, "the divisor of the machine")
        known = self.table["allocated_procs"].clip(lower=0)
        table = self.table.assign(
            size=-(-self.table["size"] // k),
            allocated_procs=self.table["allocated_procs"].where(known == 0, -(-known // k)),
        )
        return replace(
            self, table=table, nodes=-(-self.nodes // k), name=f"{self.name}-by-{k}", report=None
        )

    def scale_load(self, x: float) -> Trace:
        """Gaps between arrivals divided by `x`, so that the offered load becomes `x` times it.

        The first submission stays; each other time is rounded to whole seconds by itself, so that
        nothing adds up. Recorded waits stay as they are, and no longer mean much.

        Raises
        ------
        DrasLabError
            If `x` is not above zero.
        """
        if not (x > 0 and math.isfinite(x)):
            raise DrasLabError(f"the load cannot be scaled by {x}; give a number above 0")
        submit = self.table["submit_time"].to_numpy()
        start = int(submit[0]) if len(self) else 0
        later = np.rint((submit - start) / x)
        if len(self) and not start + later[-1] < LIMIT:
            raise DrasLabError(f"the load cannot be scaled by {x}: the times become too large")
        # Jobs that now come in the same second go by their ids.
        table = _sorted(self.table.assign(submit_time=start + later.astype(np.int64)))
        return replace(self, table=table, name=f"{self.name}-load-x{x:g}", report=None)

    def write_swf(self, path: str | os.PathLike[str]) -> None:
        """Write the log, packed where the name ends in ``.gz``; `read_swf` gives the same trace.

        The header is corrected where it no longer fits (number of jobs, size of the machine). The
        same trace gives the same bytes.

        Raises
        ------
        DrasLabError
            If the folder does not exist, there are no jobs, or the header cannot be written.
        """
        target = check_target(path)
        if not len(self):
            raise DrasLabError(f"{path}: a log without jobs is not written")
        columns = zip(swf.FIELDS, (self.table[name].to_numpy() for name in COLUMNS), strict=True)
        data = swf.dump(dict(columns), headers.corrected(self.header, len(self), self.nodes))
        if target.suffix == ".gz":
            packed = io.BytesIO()
            with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
                file.write(data)
            data = packed.getvalue()
        write_whole(target, data)

    def digest(self) -> str:
        """SHA-256 of the table and the size of the machine, as hex; the same on all machines."""
        whole = hashlib.sha256(f"{self.nodes} {len(self)} {' '.join(COLUMNS)}\n".encode())
        for name in COLUMNS:
            values = self.table[name].to_numpy().astype("<f8" if name in REALS else "<i8")
            whole.update((values + 0).tobytes())  # + 0: no negative zeros
        return whole.hexdigest()

    def _part(self, rows: slice, suffix: str) -> Trace:
        table = self.table.iloc[rows].reset_index(drop=True)
        return replace(self, table=table, name=f"{self.name}{suffix}", report=None)

    def summary(self) -> dict[str, Any]:
        """What kind of log it is, for JSON; `summaries.describe` says what each number is.

        ``offered_load`` is the sum of size * min(run time, requested time), over the size of the
        machine times the span from the first submission to the last; None when that is no time.
        """
        return {"name": self.name} | describe(self.table, self.nodes, self.header)

    def format_summary(self) -> str:
        """The summary as text."""
        return as_text(self.summary(), self.name)


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values(["submit_time", "job_id"], ignore_index=True)


def _count(value: int, what: str, least: int = 1) -> int:
    try:
        count = LIMIT if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = LIMIT
    if not least <= count < LIMIT:
        raise DrasLabError(f"{what}: {value!r} is not a whole number from {least} up")
    return count


def _need(fine: Array, column: str, values: Array, what: str) -> None:
    """Raise for the first row that is not fine."""
    if not fine.all():
        row = int(fine.argmin())
        raise DrasLabError(f"column {column!r}, row {row}: {values[row]} {what}")


def _checked(series: pd.Series[Any], column: str) -> Array:
    """A column of somebody's table as numbers of the right type, without loss."""
    values = series.to_numpy() if len(series) else np.zeros(0, dtype=np.int64)
    if values.dtype.kind not in "iuf":
        raise DrasLabError(f"column {column!r} holds {series.dtype}, not numbers")
    _need((values > -LIMIT) & (values < LIMIT), column, values, "is not a number below 2**53")
    if column not in REALS:
        _need(values % 1 == 0, column, values, "is not a whole number")
    return typed(values, column).copy()
