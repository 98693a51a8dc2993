"""What the colours of a Gantt chart can say of a job: how it ran, its size, its wait, its user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.colors import to_hex

from .jobs import DrasLabError
from .metrics import size_classes
from .plotting import HATCHES, HOW_COLOURS, HOW_HATCHES, PALETTE
from .results import HOWS, Result

IntArray = npt.NDArray[np.int64]

BY = ("how", "size", "wait", "user")
# Upper bounds of the classes of waits, in seconds; the last class has none.
WAITS = (0, 60, 3600, 6 * 3600, 86400)
WAIT_LABELS = ("none", "to 1 min", "to 1 h", "to 6 h", "to 1 day", "longer")
USERS = 7  # the busiest have a colour each


class Groups(NamedTuple):
    """What the colours of a chart mean: an index into `labels` a job, -1 for none."""

    title: str
    labels: tuple[str, ...]
    colours: tuple[str, ...]
    hatches: tuple[str, ...]
    which: IntArray


def groups_by(result: Result, by: str) -> Groups:
    """The groups of a schedule's jobs by how they came to run, size class, wait, or user.

    Raises
    ------
    DrasLabError
        If `by` is none of `BY`.
    """
    if by == "how":
        return Groups(
            "how jobs ran",
            tuple(how.value for how in HOWS[:3]),
            tuple(HOW_COLOURS[how] for how in HOWS[:3]),
            tuple(HOW_HATCHES[how] for how in HOWS[:3]),
            np.where(result.ran, result.how, -1).astype(np.int64),
        )
    if by == "size":
        labels, index = size_classes(result)
        return _ordered("size (nodes)", labels, index)
    if by == "wait":
        index = np.where(result.ran, np.searchsorted(WAITS, result.wait, side="left"), -1)
        return _ordered("wait", WAIT_LABELS, index)
    if by == "user":
        return _users(result)
    raise DrasLabError(f"by: {by!r} is not one of {', '.join(BY)}")


def _ordered(title: str, labels: Sequence[str], index: IntArray) -> Groups:
    """Classes that have an order: from light to dark, which also grey paper shows."""
    shades = mpl.colormaps["cividis_r"](np.linspace(0, 1, len(labels)))
    return Groups(title, tuple(labels), tuple(map(to_hex, shades)), ("",) * len(labels), index)


def _users(result: Result) -> Groups:
    users = pd.Series(np.where(result.ran, result.size * result.run_time, 0))
    work = users.groupby(result.user_id).sum()
    # The busiest first, and of two alike the lower number.
    busiest = work.sort_index().sort_values(ascending=False, kind="stable").index[:USERS].tolist()
    index = np.full(len(result), len(busiest), dtype=np.int64)
    for k, user in enumerate(busiest):
        index[result.user_id == user] = k
    index[~result.ran] = -1
    labels = ["unknown" if user < 0 else str(user) for user in busiest]
    colours, hatches = list(PALETTE[: len(busiest)]), list(HATCHES[: len(busiest)])
    if len(work) > len(busiest):
        labels, colours, hatches = [*labels, "others"], [*colours, "#cccccc"], [*hatches, ""]
    return Groups("user", tuple(labels), tuple(colours), tuple(hatches), index)
