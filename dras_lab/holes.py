"""Finding the jobs that fill a hole, however long the queue.

A job fits the hole before a reservation if it fits the free nodes and either ends, by its
request, before the reserved start or does with the extra nodes. A scan of the queue answers
that, and is what makes simulators slow once thousands of jobs wait. Two structures instead:
a tree a job size finds the first such job of the queue in time that grows with the logarithm
of the log's length, and a pair of arrays lists a window of them when a policy wants to see it.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

_NEVER = 1 << 62  # more than any request; also the size of a job that is not waiting
_BLOCK = 4  # widths are looked at in blocks of 2**_BLOCK
_CHUNK = 1024  # rows looked at in one go when a window is listed


class Holes:
    """The waiting jobs, arranged for one question: which of them fit a hole.

    Rows are jobs in queue order. All are known from the start, but only those added count.

    Parameters
    ----------
    size, request : lists of int
        Nodes and requested seconds of each row.
    start : list of int
        Start of each row, negative until it has started.
    moves : list of int
        The engine's growing list of starts (the row) and ends (its complement).
    """

    def __init__(
        self, size: list[int], request: list[int], start: list[int], moves: list[int]
    ) -> None:
        jobs = len(size)
        rows_of: dict[int, list[int]] = {}
        for row, width in enumerate(size):
            rows_of.setdefault(width, []).append(row)
        self._widths = sorted(rows_of)
        groups = len(rows_of)
        self._rows = [rows_of[width] for width in self._widths]
        # A tree a width: tree[k] is the smallest request that waits below node k, whose
        # children are 2k and 2k + 1. Its leaves are the rows of that width, from `leaves` on.
        self._leaves = [1 << (len(rows) - 1).bit_length() for rows in self._rows]
        self._trees = [[_NEVER] * (2 * leaves) for leaves in self._leaves]
        self._group, self._leaf = [0] * jobs, [0] * jobs
        for g, (rows, leaves) in enumerate(zip(self._rows, self._leaves, strict=True)):
            for k, row in enumerate(rows, leaves):
                self._group[row], self._leaf[row] = g, k
        # The smallest request that waits, by width and by block of widths.
        self._shortest = [_NEVER] * groups
        self._lowest = [_NEVER] * ((groups >> _BLOCK) + 1)
        self._oldest = [0] * groups  # index of a row at or before the first that waits
        self._jobs = jobs
        self._start = start
        self._request = request
        self._sizes = np.array(size, dtype=np.int64)
        self._requests = np.array(request, dtype=np.int64)
        self._moves = moves
        self._seen = 0

    def add(self, row: int) -> None:
        """The job waits."""
        g, k, request = self._group[row], self._leaf[row], self._request[row]
        tree = self._trees[g]
        while k and tree[k] > request:
            tree[k] = request
            k >>= 1
        if not k:
            self._shortest[g] = request
            if request < self._lowest[g >> _BLOCK]:
                self._lowest[g >> _BLOCK] = request

    def remove(self, row: int) -> None:
        """The job waits no longer."""
        g, k = self._group[row], self._leaf[row]
        tree = self._trees[g]
        tree[k] = _NEVER
        k >>= 1
        while k:
            left, right = tree[2 * k], tree[2 * k + 1]
            if right < left:
                left = right
            if tree[k] == left:
                return
            tree[k] = left
            k >>= 1
        self._shortest[g] = tree[1]
        block = g >> _BLOCK
        if self._request[row] == self._lowest[block]:
            self._lowest[block] = min(self._shortest[block << _BLOCK : (block + 1) << _BLOCK])

    def first(self, free: int, limit: int, extra: int) -> int:
        """The first waiting row that fits the hole, or -1.

        Parameters
        ----------
        free, extra : int
            Free nodes, and how many of them the reservation can spare.
        limit : int
            Seconds from now to the reserved start.
        """
        shortest, lowest = self._shortest, self._lowest
        rows, oldest = self._rows, self._oldest
        stop = bisect_right(self._widths, free)
        # Widths that can be spared for as long as they like, then those that must end in time.
        spare = bisect_right(self._widths, extra, 0, stop)
        best = self._jobs
        begin, end, longest = 0, spare, _NEVER - 1
        while True:
            if begin < end:
                for block in range(begin >> _BLOCK, ((end - 1) >> _BLOCK) + 1):
                    if lowest[block] > longest:
                        continue
                    low, high = block << _BLOCK, (block + 1) << _BLOCK
                    for g in range(low if low > begin else begin, high if high < end else end):
                        if shortest[g] <= longest:
                            # A row at or before the first that waits.
                            row = rows[g][oldest[g]]
                            if row < best:
                                row = self._first_of(g, longest, best)
                                if row < best:
                                    best = row
            if end == stop:
                return best if best < self._jobs else -1
            begin, end, longest = spare, stop, limit

    def _first_of(self, g: int, longest: int, best: int) -> int:
        """The first waiting row of a width that asks for at most `longest` seconds.

        There must be one. Where it cannot come before `best`, any row not before `best`.
        """
        rows, start = self._rows[g], self._start
        # The oldest of this width often will do.
        k = self._oldest[g]
        while start[rows[k]] >= 0:
            k += 1
        self._oldest[g] = k
        row = rows[k]
        if row >= best or self._request[row] <= longest:
            return row
        tree, leaves = self._trees[g], self._leaves[g]
        k = 1
        while k < leaves:
            k *= 2
            if tree[k] > longest:
                k += 1
        return rows[k - leaves]

    def window(
        self, first: int, stop: int, free: int, limit: int, extra: int, most: int
    ) -> list[int]:
        """The first `most` waiting rows in [first, stop) that fit the hole."""
        all_sizes = self._sizes
        for row in self._moves[self._seen :]:
            if row >= 0:
                all_sizes[row] = _NEVER
        self._seen = len(self._moves)
        found: list[int] = []
        while first < stop and len(found) < most:
            end = min(first + _CHUNK, stop)
            sizes, requests = all_sizes[first:end], self._requests[first:end]
            fits = (sizes <= free) & ((requests <= limit) | (sizes <= extra))
            found += (fits.nonzero()[0] + first).tolist()
            first = end
        return found[:most]
