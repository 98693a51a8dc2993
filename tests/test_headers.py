"""The comments of a job log: what is a field, how large the machine is, what clock it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dras_lab import headers
from dras_lab.jobs import DrasLabError


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b" MaxProcs: 128", ("MaxProcs", "128")),
        (b"MaxProcs:128", ("MaxProcs", "128")),
        (b"MaxProcs:  128 \t", ("MaxProcs", "128")),
        (b" Queue:  1 DSI      ", ("Queue", "1 DSI")),
        (b" MaxNodes : 12", ("MaxNodes", "12")),
        (b" Note:", ("Note", "")),
        (
            b" Information: http://www.tc.cornell.edu/",
            ("Information", "http://www.tc.cornell.edu/"),
        ),
        (
            b"              http://www.cs.huji.ac.il/",
            ("", "              http://www.cs.huji.ac.il/"),
        ),
        (b"\tunlimited timelimit: removed", ("", "\tunlimited timelimit: removed")),
        (b" JOBLOG Repository Data:", ("", " JOBLOG Repository Data:")),
        (b"", ("", "")),
        (b"  ", ("", "")),
        (b" Note: \xc3\xb6", ("Note", "\u00f6")),  # UTF-8
        (b" Note: \xf6", ("Note", "\u00f6")),  # Latin-1
    ],
)
def test_comments(raw, field):
    assert headers.read_comment(raw) == field


@given(st.binary().filter(lambda raw: not set(raw) & set(b"\n\r\0")))
def test_every_comment_can_be_written_again(raw):
    field = headers.read_comment(raw)
    line = headers.write_comment(*field)
    assert line[0] == ";"
    assert headers.read_comment(line[1:].encode()) == field


@pytest.mark.parametrize(
    "field",
    [
        ("Max Procs", "1"),
        ("9", "1"),
        ("Note", "two\nlines"),
        ("Note", "re\rturn"),
        ("", "\0"),
        ("Note", " blank"),
        ("", "blank "),
        ("", " Note: it is a field"),
        ("Note", "\ud800"),
    ],
)
def test_what_no_comment_can_say(field):
    with pytest.raises(DrasLabError, match=r"cannot be written; a key is one word") as caught:
        headers.write_comment(*field)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ((), None),
        ((("MaxNodes", "338 (batch partition; 512 total)"), ("MaxProcs", "338")), 338),
        ((("MaxNodes", "338 (batch partition; 512 total)"),), 338),
        ((("MaxNodes", "144"), ("MaxProcs", "1152")), 1152),
        ((("MaxNodes", "144"), ("MaxProcs", "-1")), 144),
        ((("MaxNodes", "144"), ("MaxProcs", "0")), 144),
        ((("MaxNodes", "144"), ("MaxProcs", "many")), 144),
        ((("MaxProcs", "unknown"), ("MaxProcs", "12")), 12),
        ((("MaxProcs", "1,152 in all"),), 1152),
        ((("MaxProcs", "12, 14 from May"),), 12),
        ((("maxprocs", "7"),), 7),
        ((("MaxProcs", "9" * 30),), None),
        ((("", "MaxProcs: 5"),), None),
    ],
)
def test_size_of_the_machine(header, size):
    assert headers.machine_size(header) == size


@pytest.mark.parametrize(
    ("header", "offset", "name"),
    [
        ((), 0, "UTC, as if the log began in 1970"),
        ((("UnixStartTime", "0"),), 0, "UTC"),
        ((("UnixStartTime", "1000"), ("TimeZone", "-28800")), -27800, "UTC-8 h"),
        ((("UnixStartTime", "1000"), ("TimeZone", "+19800")), 20800, "UTC+5.5 h"),
        ((("UnixStartTime", "-1"),), 0, "UTC, as if the log began in 1970"),
        ((("TimeZone", "3600"),), 3600, "UTC+1 h, as if the log began in 1970"),
        ((("UnixStartTime", "5"), ("TimeZone", "US/Pacific")), 5, "UTC"),
    ],
)  # fmt: skip
def test_clock(header, offset, name):
    assert headers.clock(header) == (offset, name)


def test_a_header_is_corrected_only_where_it_is_wrong():
    header = (("MaxJobs", "9"), ("", " free"), ("MaxRecords", "8"), ("MaxProcs", "16 or so"))
    right = (("MaxJobs", "3"), ("", " free"), ("MaxRecords", "3"), ("MaxProcs", "16 or so"))
    assert headers.corrected(header, jobs=3, nodes=16) == right
    assert headers.corrected(header, jobs=3, nodes=4)[3] == ("MaxProcs", "4")
    assert headers.corrected((), 3, 4) == (("MaxProcs", "4"),)
    assert headers.corrected((("MaxNodes", "9"),), 3, 4) == (("MaxNodes", "4"),)
    both = (("MaxNodes", "9"), ("MaxProcs", "-1"))
    assert headers.corrected(both, 3, 4) == (("MaxNodes", "9"), ("MaxProcs", "4"))


keys = st.sampled_from(["MaxProcs", "MaxNodes", "MaxJobs", "maxprocs", "Note", ""])
values = st.sampled_from(["-1", "0", "12", "12 nodes", "x", "1,024"])


@given(st.lists(st.tuples(keys, values)), st.integers(1, 10**9), st.integers(1, 10**9))
def test_a_corrected_header_says_what_it_should(header, jobs, nodes):
    right = headers.corrected(tuple(header), jobs, nodes)
    assert headers.machine_size(right) == nodes
    assert headers.corrected(right, jobs, nodes) == right
