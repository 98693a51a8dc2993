"""Small job logs for the tests, written line by line."""

from __future__ import annotations

from pathlib import Path

from dras_lab import swf
from dras_lab.cleaning import CleaningReport, clean
from dras_lab.swf import FIELDS
from dras_lab.traces import Trace

PLAIN = dict.fromkeys(FIELDS, "-1") | {
    "job_id": "1",
    "submit_time": "0",
    "run_time": "60",
    "requested_procs": "4",
    "requested_time": "100",
    "status": "1",
}


def line(**fields: object) -> str:
    """One line of 18 fields: job 1, 4 processors, ran 60 s of the 100 s asked for."""
    assert set(fields) <= set(FIELDS), fields
    return " ".join(str(value) for value in (PLAIN | fields).values())


def log(*lines: str, header: str = "; MaxProcs: 64\n") -> bytes:
    """The text of a log; the first job stands on line 2."""
    return (header + "\n".join(lines) + "\n").encode()


def cleaned(
    *lines: str, header: str = "; MaxProcs: 64\n", **options
) -> tuple[Trace, CleaningReport]:
    """The jobs of such a log after cleaning, and the report."""
    extra = options.pop("extra_columns", "refuse")
    parsed = swf.parse(log(*lines, header=header), "small.swf", extra)
    table, nodes, report = clean(parsed, **options)
    return Trace(table, nodes), report


def written(folder: Path, *lines: str, name: str = "small.swf", header: str = "; MaxProcs: 64\n"):
    """Such a log as a file."""
    path = folder / name
    path.write_bytes(log(*lines, header=header))
    return path
