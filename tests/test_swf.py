"""The text of job logs: what is read, what is an error, and what is said of it."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from logs import PLAIN, line, log

from dras_lab import swf
from dras_lab.jobs import DrasLabError
from dras_lab.swf import FIELDS, LIMIT, parse
from dras_lab.traces import read_swf

# ---------------------------------------------------------------------------------------------
# What is read


def test_each_field_in_its_place():
    found = parse(b" ".join(b"%d" % n for n in range(101, 119)), "log")
    values = {name: column.tolist() for name, column in found.columns.items()}
    assert values == {
        "job_id": [101],
        "submit_time": [102],
        "wait_time": [103],
        "run_time": [104],
        "allocated_procs": [105],
        "average_cpu_time": [106],
        "used_memory": [107],
        "requested_procs": [108],
        "requested_time": [109],
        "requested_memory": [110],
        "status": [111],
        "user_id": [112],
        "group_id": [113],
        "executable": [114],
        "queue": [115],
        "partition": [116],
        "preceding_job": [117],
        "think_time": [118],
    }


TEXT = (
    b"; Computer: X\n"
    b"; MaxProcs: 64\n"
    b"1 10 5 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n"
    b"2 20 0 1 8 0.25 -1 8 50 -1 0 8 -1 -1 -1 -1 -1 -1\n"
)
LINES = TEXT.splitlines()
VARIANTS = {
    "as it is": TEXT,
    "no line end at the end": TEXT[:-1],
    "blank lines at the end": TEXT + b"\n \t\n\n",
    "lines end in CR LF": TEXT.replace(b"\n", b"\r\n"),
    "lines end in CR CR LF": TEXT.replace(b"\n", b"\r\r\n"),
    "lines end in CR": TEXT.replace(b"\n", b"\r"),
    "a mark of UTF-8": b"\xef\xbb\xbf" + TEXT,
    "tabs": TEXT.replace(b" ", b"\t").replace(b";\t", b"; ").replace(b":\t", b": "),
    "many blanks": TEXT.replace(b" ", b"    ").replace(b"\n", b"   \n   "),
    "a form feed": TEXT.replace(b"2 20", b"\f2 20"),
    "blank lines": b"\n\n" + TEXT.replace(b"\n", b"\n\n \n"),
    "decimals that are none": TEXT.replace(b"60", b"60.00").replace(b"50", b"5e1"),
    "plus signs and zeros": TEXT.replace(b" 60 ", b" +60 ").replace(b" 50 ", b" 0050 "),
    "a comment that is not UTF-8": TEXT.replace(b"Computer: X", b"Computer: \xd6"),
    "comments between and after": b"\n".join(
        [LINES[2], LINES[0], b"   " + LINES[1], b";", LINES[3], b";last"]
    ),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", VARIANTS)
def test_the_same_log_however_it_is_written(tmp_path, kind, packed):
    path = tmp_path / "log"  # what is packed is told by content, not by name
    path.write_bytes(gzip.compress(VARIANTS[kind]) if packed else VARIANTS[kind])
    trace = read_swf(path, strict=True)
    assert trace.nodes == 64
    assert trace.table.values.tolist() == [
        [1, 10, 5, 60, 4, -1, -1, 4, 100, -1, 1, 7, -1, -1, -1, -1, -1, -1],
        [2, 20, 0, 1, 8, 0.25, -1, 8, 50, -1, 0, 8, -1, -1, -1, -1, -1, -1],
    ]


def test_a_gz_name_without_gzip_inside_and_two_members(tmp_path):
    plain = tmp_path / "log.swf.gz"
    plain.write_bytes(TEXT)
    assert len(read_swf(plain)) == 2
    plain.write_bytes(gzip.compress(TEXT) + gzip.compress(line(job_id=3, submit_time=30).encode()))
    assert read_swf(plain).table["job_id"].tolist() == [1, 2, 3]


def test_lines_are_numbered_as_an_editor_does():
    text = b"; a\n\n;b\n" + line().encode() + b"\n\n;c\n" + line().encode() + b"\n"
    found = parse(text, "log")
    assert [found.line(row) for row in range(len(found))] == [4, 7]
    found = parse(b"; a\n" + line().encode() + b"\n\n" + line().encode(), "log")
    assert [found.line(row) for row in range(len(found))] == [2, 4]


def test_a_carriage_return_inside_a_line_is_a_blank():
    text = b";\r\r\n" + line().encode().replace(b" ", b"\r", 1) + b"\r\r\n" + b"x\n"
    with pytest.raises(DrasLabError, match="line 3: 'x' is not a line of numbers"):
        parse(text, "log")
    assert len(parse(text.removesuffix(b"x\n"), "log")) == 1


def test_large_ids_survive_beside_decimals():
    lines = [line(user_id=92605928607567, wait_time=LIMIT - 1), line(wait_time=0.5, user_id=1)]
    found = parse(log(*lines), "log")
    assert found.columns["user_id"].tolist() == [92605928607567, 1]
    assert found.columns["wait_time"].tolist() == [9007199254740991, 0.5]
    lines = [line(group_id=LIMIT - 1), line(group_id="7.0")]
    assert parse(log(*lines), "log").columns["group_id"].tolist() == [9007199254740991, 7]


# ---------------------------------------------------------------------------------------------
# What is an error


def fault(text: bytes, extra_columns: str = "refuse") -> str:
    with pytest.raises(DrasLabError) as caught:
        parse(text, "some.swf", extra_columns)
    message = str(caught.value)
    assert message.startswith("some.swf: ")
    assert "\n" not in message
    return message


NO_NUMBERS = ["abc", "nan", "NaN", "inf", "-inf", "True", "NA", "null", '"60"', "'60'", "1_000"]
NO_NUMBERS += ["0x10", "1,5", "--1", "-", ".", "1e", "6O", "４", "4&5&6", "2015-08-15", "1d5", "½"]


@pytest.mark.parametrize("k", [0, 3, 5, 17])
@pytest.mark.parametrize("token", NO_NUMBERS)
def test_what_is_not_a_number(token, k):
    name = FIELDS[k]
    message = fault(log(line(), line(**{name: token}), line(**{name: token})))
    assert f"line 3, field {k + 1} ({name}): " in message
    assert token.strip("'\"") in message
    assert "not a number" in message


@pytest.mark.parametrize("token", ["True", "inf", "nan"])
def test_a_whole_column_of_words_that_pandas_takes_for_values(token):
    message = fault(log(*[line(user_id=token)] * 3))
    assert f"line 2, field 12 (user_id): '{token}' is not a number" in message


@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize("token", [LIMIT, -LIMIT, 2**63, 2**64 - 1, 10**25, "1e300", "1e999"])
def test_numbers_that_are_too_large_to_be_exact(token, k):
    message = fault(log(line(), line(**{FIELDS[k]: token})))
    assert f"line 3, field {k + 1} ({FIELDS[k]}): '{token}' is too large" in message


@pytest.mark.parametrize(
    "name", ["job_id", "allocated_procs", "requested_procs", "status", "queue", "preceding_job"]
)
def test_decimals_where_only_whole_numbers_make_sense(name):
    message = fault(log(line(), line(**{name: "2.5"})))
    assert (
        f"line 3, field {FIELDS.index(name) + 1} ({name}): '2.5' is not a whole number" in message
    )


def test_the_first_fault_is_the_one_that_is_told():
    bad = line(run_time="x").replace(" 4 ", " y ")
    assert "line 3, field 4 (run_time): 'x'" in fault(log(line(), bad, line(job_id="z")))


SHORT = " ".join(line().split()[:17])
FAULTS = {
    "empty": (b"", ["is empty"]),
    "only blanks": (b" \n\n\t\n", ["holds no job"]),
    "only a mark": (b"\xef\xbb\xbf", ["holds no job"]),
    "only comments": (b"; MaxProcs: 5\n;\n", ["holds 2 lines of comment and no job"]),
    "binary": (b"\x7fELF\x02\x01\x01\x00\x00", ["binary"]),
    "zip": (b"PK\x03\x04abc", ["zip", "unpack"]),
    "bzip2": (b"BZh91AY", ["bzip2", "unpack"]),
    "xz": (b"\xfd7zXZ\x00\x00", ["xz", "unpack"]),
    "UTF-16": (TEXT.decode().encode("utf-16"), ["UTF-16"]),
    "a web page": (b"<!DOCTYPE html>\n<html>", ["web page"]),
    "17 fields": (log(line(), SHORT), ["line 3: 17 fields instead of 18", "'-1'", "give -1"]),
    "1 field": (log(line(), "5"), ["line 3: 1 field instead of 18"]),
    "cut in a line": (log(line(), SHORT)[:-1], ["line 3: 17 fields", "cut short"]),
    "19 fields": (
        log(line(), line() + " 0"),
        ["line 3: 19 fields instead of 18", 'extra_columns="ignore"', "--extra-columns ignore"],
    ),
    "all 19 fields": (log(line() + " 0.5", line() + " 0.5"), ["line 2: 19 fields instead of 18"]),
    "19 and 18 fields": (log(line() + " 0", line()), ["line 2: 19 fields instead of 18"]),
    "a comment behind a job": (
        log(line(), line() + " ; killed"),
        ["line 3: 20 fields", "a comment needs a line of its own"],
    ),
    "a comment sticks to a field": (
        log(line(), line(think_time="-1;killed")),
        ["line 3, field 18 (think_time): '-1;killed'", "a comment needs a line of its own"],
    ),
    "column names": (
        log(" ".join(FIELDS), line(), header=""),
        ["line 1: looks like a row of column names", "delete that line"],
    ),
    "column names, one too many": (
        log(" ".join(FIELDS) + " more", line() + " 0"),
        ["line 2: looks like a row of column names"],
    ),
    "sacct": (b"JobID|User|State|NNodes|Submit|Start\n", ["line 1", "'|'", "sacct", "blanks"]),
    "CSV": (b"1,2,3,4,5,6,7,8\n", ["line 1", "','", "CSV", "blanks"]),
    "semicolons": (b"1;2;3;4;5;6;7;8\n", ["line 1", "';'", "blanks"]),
    "prose": (b"Please see the manual.\n", ["line 1", "'Please see the manual.'", "is this a job"]),
    "noise": (b"\x80\x81\xfe\n", ["line 1", "is this a job log"]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_named(kind):
    text, parts = FAULTS[kind]
    message = fault(text)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize("kind", ["17 fields", "column names", "sacct", "semicolons", "prose"])
def test_ignoring_extra_columns_lets_nothing_else_through(kind):
    text, parts = FAULTS[kind]
    assert [part for part in parts if part not in fault(text, "ignore")] == []


def test_extra_columns_ignored():
    text = log(line(), line(job_id=2) + " x y;", "", line(job_id=3) + " 0.5")
    found = parse(text, "log", "ignore")
    assert found.columns["job_id"].tolist() == [1, 2, 3]
    assert found.extra.tolist() == [False, True, True]
    assert [found.line(row) for row in range(3)] == [2, 3, 5]
    with pytest.raises(DrasLabError, match="'refuse' or 'ignore', not 'drop'"):
        parse(text, "log", "drop")


# ---------------------------------------------------------------------------------------------
# Files


def file_fault(path) -> str:
    with pytest.raises(DrasLabError) as caught:
        read_swf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_what_is_not_there_or_cannot_be_read(tmp_path):
    assert "no such file" in file_fault(tmp_path / "none.swf")
    assert "is a folder" in file_fault(tmp_path)
    (tmp_path / "log.swf").write_bytes(TEXT)
    assert "no such file" in file_fault(tmp_path / "log.swf" / "within")
    assert "no such file" in file_fault(tmp_path / ("x" * 5000))
    assert "no such file" in file_fault(str(tmp_path / "a\0b"))


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "log.swf").write_bytes(TEXT)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert "cannot be read (Permission denied)" in file_fault(tmp_path / "log.swf")


def test_gzip_cut_short_anywhere(tmp_path):
    whole = gzip.compress(TEXT * 50)
    path = tmp_path / "log.swf.gz"
    for size in range(2, len(whole)):
        path.write_bytes(whole[:size])
        assert "cut short" in file_fault(path)


def test_gzip_damaged(tmp_path):
    whole = gzip.compress(TEXT)
    path = tmp_path / "log.swf.gz"
    for damaged in (
        whole[:-8] + bytes(4) + whole[-4:],  # another checksum
        whole + b"and more",
        whole[:10] + b"\xff" * 8 + whole[18:],
        whole[:2] + b"\x07" + whole[3:],  # another method of packing
    ):
        path.write_bytes(damaged)
        assert "damaged" in file_fault(path)


# ---------------------------------------------------------------------------------------------
# Whatever comes


def read_or_refuse(text: bytes) -> None:
    message = ""
    try:
        parse(text, "log")
    except DrasLabError as error:
        message = str(error)
    assert "\n" not in message


@given(st.binary(max_size=300))
@example(b"0" * 5000 + b"1 " + b"9" * 5000)
def test_bytes_at_random(text):
    read_or_refuse(text)


@given(st.data())
def test_a_log_with_bytes_changed_at_random(data):
    text = bytearray(TEXT)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        new = data.draw(st.sampled_from(list(b' \t\r\n;-+.,|eEx"#0123456789\f\v\x1a\xe4\xff')))
        text[at : at + data.draw(st.integers(0, 2))] = bytes([new])
    read_or_refuse(bytes(text))
    packed = bytearray(gzip.compress(TEXT))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        pass
    else:
        read_or_refuse(bytes(packed))


TOKENS = st.one_of(
    st.text("0123456789+-.eEnaifNxT_\"'#", min_size=1, max_size=6),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.sampled_from(["9007199254740993.0", "9007199254740991", "1e-400", "-0", "-0.0", "00.5"]),
)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), TOKENS), min_size=1, max_size=3))
def test_the_fast_way_reads_what_the_careful_way_reads(changes):
    rows = [line(**{name: token}) for name, token in changes] + [line()]
    body = "\n".join(rows).encode()
    fast = swf._fast(body, 1)
    if fast is not None:
        columns, numbers = swf._careful(body, 1, "log")
        assert [c.tolist() for c in fast[0]] == [c.tolist() for c in columns]
        assert list(fast[1]) == list(numbers)


def test_the_fast_way_is_taken_for_a_usual_log():
    assert swf._fast(log(line(), line(wait_time="1.5"), header=""), 1) is not None


# ---------------------------------------------------------------------------------------------
# What is written

numbers = st.integers(-LIMIT + 1, LIMIT - 1)
decimals = st.floats(-LIMIT + 1, LIMIT - 1)


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(
    *(st.lists(decimals if name in swf.TIMES + swf.REALS else numbers, min_size=n, max_size=n)
      for name in FIELDS))))  # fmt: skip
def test_what_is_written_is_read_again(rows):
    columns = {name: np.array(row) for name, row in zip(FIELDS, rows, strict=True)}
    found = parse(swf.dump(columns, ()), "log")
    for name in FIELDS:
        assert found.columns[name].tolist() == columns[name].tolist()


def test_numbers_are_written_short():
    columns = {name: np.array([float(value)]) for name, value in PLAIN.items()}
    columns["average_cpu_time"] = np.array([0.03])
    assert swf.dump(columns, (("MaxProcs", "8"), ("", "  free"))) == (
        b"; MaxProcs: 8\n;  free\n1 0 -1 60 -1 0.03 -1 4 100 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
    )
