"""The machine: which nodes are free, and the earliest time at which a job of a size can start.

Nothing here decides anything. `NodeMap` says which nodes a job gets (lowest free numbers first),
`earliest_start` is the one-reservation look-ahead of EASY backfilling, and `Profile` is the
whole plan of the future that conservative backfilling keeps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ranges = tuple[tuple[int, int], ...]


class NodeMap:
    """The free nodes of a machine, as sorted half-open ranges of node numbers.

    Parameters
    ----------
    nodes : int
        Size of the machine. Nodes are numbered from 0.
    """

    def __init__(self, nodes: int) -> None:
        self._starts = [0]
        self._stops = [nodes]
        self.free = nodes

    def take(self, size: int) -> Ranges:
        """Take `size` nodes, lowest free numbers first, and return their ranges."""
        starts, stops = self._starts, self._stops
        taken: list[tuple[int, int]] = []
        missing = size
        whole = 0  # leading ranges used up completely
        while missing:
            first, last = starts[whole], stops[whole]
            if last - first > missing:
                taken.append((first, first + missing))
                starts[whole] = first + missing
                break
            taken.append((first, last))
            missing -= last - first
            whole += 1
        del starts[:whole], stops[:whole]
        self.free -= size
        return tuple(taken)

    def give(self, ranges: Ranges) -> None:
        """Give nodes back; ranges that touch are joined."""
        starts, stops = self._starts, self._stops
        for first, last in ranges:
            k = bisect_left(starts, first)
            joins_left = k > 0 and stops[k - 1] == first
            joins_right = k < len(starts) and starts[k] == last
            if joins_left and joins_right:
                stops[k - 1] = stops[k]
                del starts[k], stops[k]
            elif joins_left:
                stops[k - 1] = last
            elif joins_right:
                starts[k] = first
            else:
                starts.insert(k, first)
                stops.insert(k, last)
            self.free += last - first


class Holders:
    """Who holds each node, as arrays that are kept up to date rather than made anew.

    Each running job has a number from 1 on; numbers of jobs that have ended are used again, so
    that they stay small. Number 0 is nobody.

    Parameters
    ----------
    nodes : int
        Size of the machine.

    Attributes
    ----------
    number : array of int, shape ``[nodes]``
        The number of the job that holds each node; 0 for a free node.
    end : array of int, shape ``[numbers]``
        The planned end of each number, in seconds; of no meaning for 0 and numbers not in use.
    """

    def __init__(self, nodes: int) -> None:
        self.number = np.zeros(nodes, dtype=np.int64)
        self.end: npt.NDArray[np.int64] = np.zeros(8, dtype=np.int64)
        self._spare = list(range(7, 0, -1))

    def take(self, ranges: Ranges, end: int) -> None:
        """A job begins on these nodes and is planned to end at `end`."""
        if not self._spare:
            used = len(self.end)
            self.end = np.concatenate((self.end, np.zeros(used, dtype=np.int64)))
            self._spare = list(range(2 * used - 1, used - 1, -1))
        number = self._spare.pop()
        self.end[number] = end
        for first, last in ranges:
            self.number[first:last] = number

    def give(self, ranges: Ranges) -> None:
        """The job that holds these nodes ends."""
        self._spare.append(int(self.number[ranges[0][0]]))
        for first, last in ranges:
            self.number[first:last] = 0


def format_ranges(ranges: Ranges) -> str:
    """Node ranges as people write them: ``((0, 128), (256, 257))`` is ``0-127,256``."""
    return ",".join(f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in ranges)


def earliest_start(
    need: int, free: int, now: int, ends: Sequence[int], widths: Sequence[int], bits: int
) -> tuple[int, int]:
    """When `need` nodes will be free if all goes as planned, and how many more than that.

    Parameters
    ----------
    need, free : int
        Nodes asked for and nodes free now, ``need > free``.
    now : int
        The time, in seconds. A planned end that is not after it belongs to a job that has
        outlived its request, and counts as ``now + 1``.
    ends, widths : sequences of int
        The running jobs by planned end, ascending: ``end << bits | row``, and their nodes.
    bits : int
        How many bits the row takes.

    Returns
    -------
    start, extra : int
        The *shadow time* and the *extra nodes* of EASY backfilling (Mu'alem and Feitelson,
        TPDS 2001).
    """
    start, there = now, free
    for end, width in zip(ends, widths, strict=True):
        there += width
        if there >= need:
            start = max(end >> bits, now + 1)
            break
    # Nodes of every other job planned to end in the same second are free then too.
    return start, free + sum(widths[: bisect_left(ends, (start + 1) << bits)]) - need


def sooner_start(
    need: int,
    free: int,
    now: int,
    ends: Sequence[int],
    widths: Sequence[int],
    bits: int,
    start: int,
) -> tuple[int, int]:
    """What has become of an `earliest_start` after jobs have ended in time: it is no later.

    The same, where `start` is what it was; most often it stays, and that is seen at once.
    """
    if free + sum(widths[: bisect_left(ends, start << bits)]) >= need:
        return earliest_start(need, free, now, ends, widths, bits)
    return start, free + sum(widths[: bisect_left(ends, (start + 1) << bits)]) - need


class Profile:
    """Free nodes over the future as a step function: the plan of conservative backfilling.

    ``free[k]`` nodes are free in ``[time[k], time[k + 1])``, and ``free[-1]`` from then on.

    Parameters
    ----------
    nodes : int
        Size of the machine.
    now : int
        Where the plan begins, in seconds.
    held : iterable of (start, end, size)
        What already holds nodes: running jobs and plans. `free` may become negative where
        they exceed the machine.
    """

    def __init__(self, nodes: int, now: int, held: Iterable[tuple[int, int, int]] = ()) -> None:
        change: dict[int, int] = {now: 0}
        for start, end, size in held:
            change[start] = change.get(start, 0) - size
            change[end] = change.get(end, 0) + size
        self.time = sorted(change)
        self.free: list[int] = []
        for t in self.time:
            nodes += change[t]
            self.free.append(nodes)

    def start_at(self, now: int) -> None:
        """Forget what lies before `now`."""
        k = bisect_right(self.time, now) - 1
        del self.time[:k], self.free[:k]
        self.time[0] = now

    def add(self, start: int, end: int, size: int) -> None:
        """Free `size` more nodes in [start, end); a negative size takes them."""
        if start >= end:
            return
        first, last = self._cut(start), self._cut(end)
        free = self.free
        for k in range(first, last):
            free[k] += size
        # Drop the cuts that have become seams between equal steps.
        for k in (last, first):
            if k and free[k] == free[k - 1]:
                del self.time[k], free[k]

    def _cut(self, t: int) -> int:
        """Make `t` the beginning of a step, and return which."""
        k = bisect_left(self.time, t)
        if k == len(self.time) or self.time[k] != t:
            self.time.insert(k, t)
            self.free.insert(k, self.free[k - 1])
        return k

    def earliest(self, size: int, duration: int) -> int:
        """The earliest time at which `size` nodes are free for `duration` seconds on end."""
        time, free = self.time, self.free
        steps = len(time)
        k = 0
        while True:
            while free[k] < size:
                k += 1
            start, k = time[k], k + 1
            end = start + duration
            while k < steps and time[k] < end:
                if free[k] < size:
                    break
                k += 1
            else:
                return start
