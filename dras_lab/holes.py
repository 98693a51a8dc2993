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
        rows_of: dict[int, list[int]] = {}
        for row, width in enumerate(size):
            rows_of.setdefault(width, []).append(row)
        self._widths = sorted(rows_of)
        self._shortest = [_NEVER] * len(rows_of)  # the smallest request waiting, by width
        self._group: list[tuple[list[int], list[int], int]] = []
        self._place: list[tuple[int, list[int], int]] = [(0, [], 0)] * len(size)
        for g, width in enumerate(self._widths):
            rows = rows_of[width]
            leaves = 1 << (len(rows) - 1).bit_length()
            # tree[k] is the smallest request below node k; its children are 2k and 2k + 1.
            tree = [_NEVER] * (2 * leaves)
            for k, row in enumerate(rows, leaves):
                self._place[row] = g, tree, k
            self._group.append((tree, rows, leaves))
        self._oldest = [0] * len(self._group)  # lower bound of the first that waits
        self._jobs = len(size)
        self._start = start
        self._request = request
        self._sizes = np.array(size, dtype=np.int64)
        self._requests = np.array(request, dtype=np.int64)
        self._moves = moves
        self._seen = 0

    def add(self, row: int) -> None:
        """The job waits."""
        g, tree, k = self._place[row]
        request = self._request[row]
        while k and tree[k] > request:
            tree[k] = request
            k >>= 1
        self._shortest[g] = tree[1]

    def remove(self, row: int) -> None:
        """The job waits no longer."""
        g, tree, k = self._place[row]
        tree[k] = _NEVER
        k >>= 1
        while k:
            left, right = tree[2 * k], tree[2 * k + 1]
            smallest = left if left < right else right
            if tree[k] == smallest:
                break
            tree[k] = smallest
            k >>= 1
        self._shortest[g] = tree[1]

    def first(self, free: int, limit: int, extra: int) -> int:
        """The first waiting row that fits the hole, or -1.

        Parameters
        ----------
        free, extra : int
            Free nodes, and how many of them the reservation can spare.
        limit : int
            Seconds from now to the reserved start.
        """
        widths, shortest = self._widths, self._shortest
        stop = bisect_right(widths, free)
        spare = bisect_right(widths, extra, 0, stop)
        best = self._jobs
        for begin, end, longest in ((0, spare, _NEVER - 1), (spare, stop, limit)):
            if begin == end or min(shortest[begin:end]) > longest:
                continue
            for g in range(begin, end):
                if shortest[g] > longest:
                    continue
                tree, rows, leaves = self._group[g]
                # The oldest of this width often fits; if it is younger than the best, none helps.
                k = self._oldest[g]
                while self._start[rows[k]] >= 0:
                    k += 1
                self._oldest[g] = k
                row = rows[k]
                if row >= best:
                    continue
                if self._request[row] > longest:
                    k = 1
                    while k < leaves:
                        k *= 2
                        if tree[k] > longest:
                            k += 1
                    row = rows[k - leaves]
                    if row >= best:
                        continue
                best = row
        return best if best < self._jobs else -1

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
