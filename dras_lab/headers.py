"""The comments of a job log: header fields such as ``; MaxProcs: 128``, and what they tell.

A header is a tuple of (key, value) in file order, repeats kept; a comment that is no
``Key: value`` has the key "" and its text as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from .jobs import DrasLabError

Header: TypeAlias = tuple[tuple[str, str], ...]

# "Information: ..." is a field, "http://..." is not
_KEY = re.compile(r"\s*([A-Za-z]\w*)\s*:(?!//)(.*)", re.ASCII | re.DOTALL)
# 338 of "338 (batch partition; 512 total)", 1152 of "1,152"; no more digits than are exact
_WHOLE = re.compile(r"\s*([+-]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,15}))(?![0-9])")
_PROCS, _NODES = "MaxProcs", "MaxNodes"


def read_comment(raw: bytes) -> tuple[str, str]:
    """A line of comment, without its ';', as a header field."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # any byte is a letter there
    text = text.rstrip()
    match = _KEY.fullmatch(text)
    return (match[1], match[2].strip()) if match else ("", text)


def write_comment(key: str, value: str) -> str:
    """The line that `read_comment` turns into this header field, with its ';'.

    Raises
    ------
    DrasLabError
        If there is none.
    """
    line = (f"; {key}: {value}" if key else f";{value}").rstrip()
    try:
        fits = read_comment(line[1:].encode("utf-8")) == (key, value)
    except UnicodeEncodeError:
        fits = False
    if not fits or set(line) & set("\r\n\0"):
        raise DrasLabError(
            f"header field {key!r}: {value!r} cannot be written; a key is one word, "
            "a value one line without blanks at its ends"
        )
    return line


def numbers(header: Header, key: str) -> Iterator[int]:
    """The numbers that the values under `key` begin with; the case of letters does not matter."""
    for name, value in header:
        if name.lower() == key.lower() and (match := _WHOLE.match(value)):
            yield int(match[1].replace(",", ""))


def count(header: Header, key: str) -> int | None:
    """The first number above zero under `key`; -1, as everywhere, is what is not known."""
    return next((number for number in numbers(header, key) if number > 0), None)


def machine_size(header: Header) -> int | None:
    """``MaxProcs``, else ``MaxNodes``, else None."""
    return count(header, _PROCS) or count(header, _NODES)


def clock(header: Header) -> tuple[int, str]:
    """The clock of the machine: seconds to add to submit times, and its name.

    The sum counts local seconds since 1970. ``UnixStartTime`` is when the log begins,
    ``TimeZone`` how many seconds the site is ahead of UTC.
    """
    start = next((number for number in numbers(header, "UnixStartTime") if number >= 0), None)
    zone = next(numbers(header, "TimeZone"), 0)
    name = f"UTC{zone / 3600:+g} h" if zone else "UTC"
    if start is None:
        return zone, f"{name}, as if the log began in 1970"
    return start + zone, name


def corrected(header: Header, jobs: int, nodes: int) -> Header:
    """The header that tells the truth about `jobs` jobs on `nodes` nodes.

    ``MaxJobs`` and ``MaxRecords`` are corrected where they stand; the size of the machine is
    corrected or added only where the header does not say it already.
    """
    fields = [
        (key, str(jobs) if key.lower() in ("maxjobs", "maxrecords") else value)
        for key, value in header
    ]
    if machine_size(header) != nodes:
        keys = [key.lower() for key, _ in fields]
        key = _NODES if _NODES.lower() in keys and _PROCS.lower() not in keys else _PROCS
        row = keys.index(key.lower()) if key.lower() in keys else len(keys)
        fields[row : row + 1] = [(key, str(nodes))]
    return tuple(fields)
