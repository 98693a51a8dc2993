"""The Standard Workload Format: the text of a job log in, and out again.

A log is read here as it stands. What is wrong with the text (a missing field, a letter among the
digits) is an error of this module; what is wrong with the jobs is for `cleaning` to settle.
The format is version 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .headers import Header, read_comment, write_comment
from .jobs import DrasLabError

Array: TypeAlias = npt.NDArray[Any]

FIELDS = (
    *("job_id", "submit_time", "wait_time", "run_time", "allocated_procs", "average_cpu_time"),
    *("used_memory", "requested_procs", "requested_time", "requested_memory", "status", "user_id"),
    *("group_id", "executable", "queue", "partition", "preceding_job", "think_time"),
)
TIMES = (
    "submit_time",
    "wait_time",
    "run_time",
    "requested_time",
    "think_time",
)  # may have decimals
REALS = ("average_cpu_time", "used_memory", "requested_memory")  # keep their decimals
LIMIT = 2**53  # from here on a double no longer holds every whole number

_WIDTH = len(FIELDS)
_WHOLE = [k for k, name in enumerate(FIELDS) if name not in TIMES + REALS]
_DIGITS = b"0123456789+-.eE \t\v\f"
_COMMENT = re.compile(rb"^[ \t\v\f]*;([^\n]*)$", re.MULTILINE)
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_OWN_LINE = "a comment needs a line of its own"
_OTHER_KINDS = {  # how other files begin
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "a bzip2 archive; unpack it first",
    b"\xfd7zXZ\x00": "an xz archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd archive; unpack it first",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"<": "a web page; download the log itself",
}
_OTHER_MARKS = {b"|": "a Slurm table (sacct)", b";": "some CSV tables", b",": "a CSV table"}
# Before pandas 3.1 the default converter is off in the last digit now and then.
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    else {}
)


@dataclass(frozen=True, eq=False)
class SwfLog:
    """A log as the file has it, before any cleaning.

    Attributes
    ----------
    file : str
        What messages call the file.
    columns : dict of str to ndarray, shape (jobs,)
        One int64 or float64 column for each of `FIELDS`, in file order. Only times and `REALS`
        may hold decimals; all values are smaller than 2**53 in magnitude, so they are exact.
    header : tuple of (str, str)
        The comments in file order: ``; Key: value`` as (key, value), anything else as ("", text).
    extra : ndarray of bool, shape (jobs,), or None
        Which lines had more than 18 fields, where those were to be ignored.
    """

    file: str
    columns: dict[str, Array]
    header: Header
    extra: npt.NDArray[np.bool_] | None = None
    _numbers: Sequence[int] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.columns["job_id"])

    def line(self, row: int) -> int:
        """The number of the line that job `row` stands on, as an editor counts."""
        return int(self._numbers[row])


def load(path: Path, file: str) -> bytes:
    """The bytes of a file, unpacked if they are gzip (told by content, not by name).

    Raises
    ------
    DrasLabError
        If it cannot be read, or the gzip data is cut short or damaged.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if path.is_dir():
            raise DrasLabError(f"{file}: is a folder; name a log in it") from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DrasLabError(f"{file}: cannot be read ({reason})") from error
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except EOFError as error:
        raise DrasLabError(
            f"{file}: the gzip file is cut short; copy or download it again"
        ) from error
    except (OSError, zlib.error) as error:
        raise DrasLabError(
            f"{file}: the gzip file is damaged ({error}); copy or download it again"
        ) from error


def parse(data: bytes, file: str, extra_columns: Literal["refuse", "ignore"] = "refuse") -> SwfLog:
    """Read the text of a log.

    Parameters
    ----------
    data : bytes
        The text. Any line ends, a UTF-8 mark, tabs, blank lines, comments between jobs and
        comments in another encoding are all fine.
    file : str
        What messages call it.
    extra_columns : {"refuse", "ignore"}
        Whether a line with more than 18 fields is an error, or is read without the rest.

    Raises
    ------
    DrasLabError
        With file, line and field of the first fault.
    """
    if extra_columns not in ("refuse", "ignore"):
        raise DrasLabError(f"extra_columns is 'refuse' or 'ignore', not {extra_columns!r}")
    text = _as_text(data, file)
    # Nearly always all comments stand first, so the long rest need not be searched for them.
    end = text.rfind(b";")
    end = (text.find(b"\n", end) + 1 or len(text)) if end >= 0 else 0
    head, body, first = text[:end], text[end:], 1
    header = tuple(read_comment(found) for found in _COMMENT.findall(head))
    head = _COMMENT.sub(b"", head)  # an empty line is left of each, so that numbers stay right
    if head.strip():
        body = head + body
    else:
        first += head.count(b"\n")
    if not body.strip():
        what = f"holds {len(header)} lines of comment and no job" if header else "holds no job"
        raise DrasLabError(f"{file}: {what}; is the file complete?")
    extra = None
    if extra_columns == "ignore":
        body, extra = _without_extra(body)
    columns, numbers = _fast(body, first) or _careful(body, first, file)
    return SwfLog(file, dict(zip(FIELDS, columns, strict=True)), header, extra, numbers)


def _as_text(data: bytes, file: str) -> bytes:
    if not data:
        raise DrasLabError(f"{file}: is empty; is the file complete?")
    for start, what in _OTHER_KINDS.items():
        if data.startswith(start):
            raise DrasLabError(f"{file}: looks like {what}")
    if b"\0" in data:
        raise DrasLabError(f"{file}: holds binary data, not the text of a job log")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        # A lone carriage return ends a line only where nothing else does.
        data = data.replace(b"\r", b" " if b"\n" in data else b"\n")
    return data


def _without_extra(body: bytes) -> tuple[bytes, npt.NDArray[np.bool_]]:
    """The lines with their first 18 fields only, and which had more."""
    lines = body.split(b"\n")
    extra = []
    for k, line in enumerate(lines):
        fields = line.split(None, _WIDTH)
        if fields:
            extra.append(len(fields) > _WIDTH)
            if extra[-1]:
                lines[k] = b" ".join(fields[:_WIDTH])
    return b"\n".join(lines), np.array(extra, dtype=np.bool_)


def _fast(body: bytes, first: int) -> tuple[list[Array], Sequence[int]] | None:
    """All jobs at once; None where anything at all is unusual."""
    try:
        frame = pd.read_csv(
            io.BytesIO(body), sep=r"\s+", header=None, engine="c", quoting=3,
            na_filter=False, low_memory=False, **_EXACT,
        )  # fmt: skip
    except ValueError:  # pandas' own errors are ValueErrors
        return None
    if frame.shape[1] != _WIDTH:
        return None
    columns = [frame[k].to_numpy() for k in range(_WIDTH)]
    for k, column in enumerate(columns):
        if column.dtype not in (np.int64, np.float64):
            return None
        if not (column.min() > -LIMIT and column.max() < LIMIT):  # NaN and inf fail, too
            return None
        if k in _WHOLE and column.dtype == np.float64 and (column % 1).any():
            return None
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if lines == len(frame):
        return columns, range(first, first + lines)
    numbers = [k for k, line in enumerate(body.split(b"\n"), first) if line.strip()]
    return (columns, numbers) if len(numbers) == len(frame) else None


def _careful(body: bytes, first: int, file: str) -> tuple[list[Array], Sequence[int]]:
    """Line by line: slower, but it can say what is wrong, and where."""
    values, numbers, bad = array("d"), array("q"), 0
    lines = body.split(b"\n")
    for number, line in enumerate(lines, first):
        fields = line.split()
        if not fields:
            continue
        # float() would also take words such as nan, and 1_000
        if len(fields) != _WIDTH or line.translate(None, _DIGITS):
            bad = number
            break
        try:
            values.extend([float(token) for token in fields])
        except ValueError:
            bad = number
            break
        numbers.append(number)
    table = np.array(values).reshape(-1, _WIDTH)  # exact: whole numbers stay below the limit
    off = ~(np.abs(table) < LIMIT)
    off[:, _WHOLE] |= np.where(off, 0, table)[:, _WHOLE] % 1 != 0
    if off.any():
        bad = numbers[int(off.any(axis=1).argmax())]
    if bad:
        fields = lines[bad - first].split()
        where = f"{file}: line {bad}"
        if len(fields) == _WIDTH:
            raise DrasLabError(_wrong_field(fields, where))
        raise DrasLabError(f"{where}: {_wrong_line(fields, bad == first + len(lines) - 1)}")
    return [column.copy() for column in table.T], numbers


def _wrong_field(fields: list[bytes], where: str) -> str:
    """The place and the fault of the first field that is no number as it should be."""
    for k, (token, name) in enumerate(zip(fields, FIELDS, strict=True)):
        value = float(token) if _NUMBER.fullmatch(token) else math.nan
        if math.isnan(value):
            if what := _other_format(fields):
                return f"{where}: {what}"
            what = "is not a number; "
            what += _OWN_LINE if b";" in token else "give -1 for what is not known"
        elif not abs(value) < LIMIT:
            what = "is too large (2**53 and more is not exact); renumber or use another unit"
        elif k in _WHOLE and value % 1:
            what = "is not a whole number; are the columns in the order of the format?"
        else:
            continue
        return f"{where}, field {k + 1} ({name}): {_shown(token)} {what}"
    raise AssertionError(f"{where}: no fault in {fields}")


def _wrong_line(fields: list[bytes], cut: bool) -> str:
    """What to say of a line that has not 18 fields; `cut`: it ends the file without a line end."""
    if what := _other_format(fields):
        return what
    found = len(fields)
    what = f"{found} field{'s' * (found > 1)} instead of {_WIDTH}"
    if found > _WIDTH and any(b";" in token for token in fields):
        return f"{what}; {_OWN_LINE}"
    if found > _WIDTH:
        return (
            f'{what}; to read the first {_WIDTH} all the same, say extra_columns="ignore", '
            "on the command line --extra-columns ignore"
        )
    what += f" (the last is {_shown(fields[-1])}); "
    if cut:
        return what + "the file ends in this line and may have been cut short; copy it again"
    return what + "give -1 for what is not known"


def _other_format(fields: list[bytes]) -> str:
    """What a line looks like that is of no job log; empty where nothing is to be seen."""
    line = b" ".join(fields)
    for mark, what in _OTHER_MARKS.items():
        if line.count(mark) >= 5:
            return (
                f"the fields are separated by {mark.decode()!r}, as in {what}; "
                f"SWF has {_WIDTH} numbers separated by blanks: convert the file first"
            )
    if any(_NUMBER.fullmatch(token) for token in fields):
        return ""
    if len(fields) >= 12:
        return (
            f"looks like a row of column names ({_shown(line)}); "
            "delete that line, or put ';' in front of it"
        )
    return f"{_shown(line)} is not a line of numbers; is this a job log in the SWF format?"


def _shown(token: bytes) -> str:
    """A piece of the file for a message: short, printable, on one line."""
    text = token[:60].decode("utf-8", "replace")
    return repr(text if len(text) <= 30 else text[:27] + "...")


def dump(columns: Mapping[str, Array], header: Header) -> bytes:
    """The text of a log, such that `parse` gives back the same columns and header.

    Raises
    ------
    DrasLabError
        If a header field cannot be written on a line of comment.
    """
    lines = [write_comment(key, value) for key, value in header]
    cells = [_written(columns[name]) for name in FIELDS]
    lines.extend(map(" ".join, zip(*cells, strict=True)))
    return ("\n".join(lines) + "\n").encode("utf-8")


def _written(column: Array) -> list[str]:
    """Numbers as short as they can be without loss: 142 and not 142.0."""
    if column.dtype != np.int64 and (column % 1).any():
        return [str(int(x)) if x.is_integer() else repr(x) for x in column.tolist()]
    return list(map(str, column.astype(np.int64, copy=False).tolist()))
