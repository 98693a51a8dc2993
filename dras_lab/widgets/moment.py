"""The picture of one decision: the machine around now, and the candidates."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

from ..log import Choice
from ..plotting import EDGE, HATCHES, HOW_COLOURS, HOW_HATCHES, PALETTE, TimeAxis, set_alt
from ..replay import Replay
from ..results import HOWS
from .shell import clock, number, span

MOST_BARS = 10  # candidates shown at once
MOST_LABELS = 12  # widest running jobs, which are named inside their blocks
_UNITS = ((86400, "days", 4 * 86400), (3600, "hours", 2 * 3600), (60, "minutes", 300))


def picture(
    replay: Replay,
    k: int,
    picks: Mapping[str, int | None],
    reach: float,
    mark: bool = True,
    figure: Figure | None = None,
) -> Figure:
    """The figure of decision `k`.

    Parameters
    ----------
    replay : Replay
        The run.
    k : int
        Which decision.
    picks : mapping
        What others would choose, job ids by name; marked beside the candidates.
    reach : float
        How far the view reaches to both sides of now, in seconds; farther to the right where
        the reservation is farther.
    mark : bool
        Whether to show what was chosen.
    figure : Figure, optional
        One that this function has made, to be drawn over: that saves a third of the time.
    """
    if figure is None:
        figure = Figure(figsize=(10.5, 4.3), dpi=90)
        FigureCanvasAgg(figure)  # its own, which remembers the letters
        figure.add_axes((0.065, 0.21, 0.54, 0.67))
        figure.add_axes((0.69, 0.21, 0.16, 0.67))
        figure.text(0.065, 0.955, "", fontsize=10, va="center")
    machine(replay, k, reach, figure.axes[0], mark)
    candidates(replay, k, picks, figure.axes[1], mark)
    choice = replay.choice(k)
    since = clock(choice.time - int(replay.result.submit[0]))
    figure.texts[0].set_text(f"decision {k}, {choice.level.value}, {since}")
    return figure


def _wipe(ax: Axes) -> None:
    """Take away what an earlier decision drew; axes, labels and legend stay."""
    for artist in [*ax.collections, *ax.lines, *ax.texts, *ax.patches]:
        artist.remove()


def reach_of(replay: Replay) -> float:
    """A view that suits the run: most requests fit into one side of it."""
    requests = replay.result.requested_time[replay.result.ran]
    return max(float(np.quantile(requests, 0.75)), 10.0) if len(requests) else 10.0


def machine(replay: Replay, k: int, reach: float, ax: Axes, mark: bool = True) -> Axes:
    """Who holds which nodes: what has been to the left of now, what is planned to the right.

    Blocks to the right run to the planned end and are the darker the later that is. A dashed line
    is the planned start of the reserved job; with `mark` also of one that is reserved only now.
    """
    _wipe(ax)
    result, choice, now = replay.result, replay.choice(k), int(replay.times[k])
    shadow = replay.planned_start(k) if mark or choice.reserved is not None else None
    ahead = reach if shadow is None else max(reach, 1.1 * (shadow[0] - now))
    seconds, unit = next(((s, u) for s, u, least in _UNITS if reach >= least), (1, "seconds"))
    axis = TimeAxis(now, seconds, unit)
    running = np.array(replay.running_rows(k), dtype=np.int64)
    over = ((result.end <= now) & (result.end > now - reach) & (result.start >= 0)).nonzero()[0]
    over = np.setdiff1d(over, running)
    planned_end = np.maximum(result.start + result.requested_time, now + 1)
    for rows, strength in ((over, 0.35), (running, 1.0)):
        for how in (0, 1, 2):
            some = rows[result.how[rows] == how]
            corners, _ = _blocks(replay, some, result.start, np.minimum(result.end, now), axis)
            ax.add_collection(
                PolyCollection(
                    list(corners),
                    facecolors=HOW_COLOURS[HOWS[how]],
                    edgecolors=EDGE,
                    linewidths=0.4,
                    alpha=strength,
                    hatch=HOW_HATCHES[HOWS[how]],
                ),
                autolim=False,
            )
    corners, owner = _blocks(replay, running, np.full(len(result), now), planned_end, axis)
    later = np.clip((planned_end[owner] - now) / ahead, 0, 1)
    shades = mpl.colormaps["Greys"](0.04 + 0.28 * later)  # all lighter than a ready job
    ax.add_collection(
        PolyCollection(list(corners), facecolors=shades, edgecolors=EDGE, linewidths=0.4),
        autolim=False,
    )
    _name_jobs(replay, running, reach / seconds, ax)
    ax.axvline(0, color="#000000", linewidth=1.6)
    if shadow is not None:
        job = choice.reserved if choice.reserved is not None else choice.job_id
        ax.axvline(axis.at(shadow[0]), color="#000000", linestyle="--", linewidth=1.6)
        ax.annotate(
            f" job {job}: reserved start",
            (axis.at(shadow[0]), result.nodes),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right" if shadow[0] - now > ahead / 2 else "left",
            fontsize=8,
        )
    ax.set_xlim(-reach / seconds, ahead / seconds)
    ax.set_ylim(0, result.nodes)
    ax.set_xlabel(f"time from now ({unit})")
    ax.set_ylabel("node")
    if ax.get_legend() is None:
        ax.locator_params(axis="x", nbins=5)
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        handles = [
            Patch(facecolor=HOW_COLOURS[how], edgecolor=EDGE, hatch=HOW_HATCHES[how], label=how)
            for how in HOWS[:3]
        ]
        handles.append(Patch(facecolor="#dddddd", edgecolor=EDGE, label="requested"))
        ax.legend(
            handles=handles, ncols=4, fontsize=8, loc="upper left", bbox_to_anchor=(-0.02, -0.14),
            handlelength=1.2, columnspacing=1.0,
        )  # fmt: skip
    reserved = "" if shadow is None else f" Reserved start {span(shadow[0] - now)} from now."
    set_alt(
        ax,
        f"The machine at decision {k}: {number(len(running), 'job')} on "
        f"{result.nodes - choice.free} of {result.nodes} nodes, {choice.free} are free.{reserved}",
    )
    return ax


def _blocks(
    replay: Replay,
    rows: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    axis: TimeAxis,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rectangles of contiguous nodes from `start` to `end`, and the row that each belongs to."""
    ranges = [replay.result.node_ranges[row] for row in rows.tolist()]
    owner = np.repeat(rows, [len(some) for some in ranges])
    nodes = np.array([pair for some in ranges for pair in some], dtype=np.float64).reshape(-1, 2)
    x = np.stack([axis.at(start[owner]), axis.at(end[owner])], axis=1)
    return np.stack([x[:, [0, 0, 1, 1]], nodes[:, [0, 1, 1, 0]]], axis=2), owner


def _name_jobs(replay: Replay, running: npt.NDArray[np.int64], reach: float, ax: Axes) -> None:
    """Job ids beside now, in the tallest blocks: no other job is planned there."""
    for row in sorted(running.tolist(), key=lambda row: -replay.result.size[row])[:MOST_LABELS]:
        first, last = max(replay.result.node_ranges[row], key=lambda pair: pair[1] - pair[0])
        if last - first >= replay.result.nodes / 22:
            ax.text(
                0.01 * reach, (first + last) / 2, str(replay.result.job_id[row]), ha="left",
                va="center", fontsize=8,
            )  # fmt: skip


def _shown(choice: Choice, picks: Mapping[str, int | None]) -> list[int]:
    """Which candidates have a bar: the chosen one, those that others pick, then from the front."""
    jobs = choice.candidates
    kept = {jobs.index(job) for job in picks.values() if job in jobs}
    kept |= set() if choice.chosen is None else {choice.chosen}
    free = max(MOST_BARS - len(kept), 0)
    return sorted(kept.union([i for i in range(len(jobs)) if i not in kept][:free]))


def _around(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """A range that shows how the values differ; the least of them still has a bar to see."""
    low, high = float(values.min()), float(values.max())
    wide = high - low if high > low else max(abs(high), 1.0)
    start = low - 0.4 * wide
    return (0.0 if start < 0 <= low else start), high


def _digits(wide: float) -> int:
    """Decimals that tell numbers in so wide a range apart: a hundredth of it, six at most."""
    return int(np.clip(2 - np.floor(np.log10(wide)), 0, 6)) if wide > 0 else 2


def candidates(
    replay: Replay, k: int, picks: Mapping[str, int | None], ax: Axes, mark: bool = True
) -> Axes:
    """What the policy thought of each candidate, and whom the others would have chosen.

    Where it left no scores: the nodes each asks for, with a line at the free ones. With `mark`
    the chosen one is marked, and its bar is hatched.
    """
    _wipe(ax)
    choice = replay.choice(k)
    count = len(choice.candidates)
    shown = _shown(choice, picks)
    scores = np.asarray(choice.scores if choice.scores else replay[k].sizes, dtype=float)
    share = bool(choice.scores) and scores.min() >= 0 and abs(scores.sum() - 1) < 1e-3
    values = scores[shown]
    # Scores that are no shares may lie close together far from 0: only their differences tell
    # anything, so their axis begins a little below the least.
    low, high = 0.0, max(values.max(), 0 if choice.scores else choice.free)
    if choice.scores and not share:
        low, high = _around(values)
    bars = ax.barh(range(len(shown)), values - low, left=low, color=PALETTE[4], edgecolor=EDGE)
    if mark and choice.chosen is not None:
        bars[shown.index(choice.chosen)].set(facecolor=PALETTE[1], hatch=HATCHES[1])
    # Texts and not tick labels, which take three times as long to draw; and job ids alone:
    # it is letters that take the time. Their sizes and requests stand in the table of the queue.
    ax.yaxis.set_visible(False)
    beside = ax.get_yaxis_transform()
    digits = _digits(high - low)
    for place, i in enumerate(shown):
        name = str(choice.candidates[i])
        ax.text(-0.05, place, name, fontsize=8, va="center", ha="right", transform=beside)
        if choice.scores:
            amount = f"{scores[i]:.2g}" if share else f"{scores[i]:.{digits}f}"
            ax.text(
                0.03, place, amount, fontsize=7, va="center", transform=beside,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85},
            )  # fmt: skip
    ax.set_xlim(low, high + 0.05 * (high - low) if high > low else low + 1.0)
    ax.set_ylim(max(len(shown), 6) - 0.4, -0.6)
    marks = []
    for place, i in enumerate(shown):
        names = [name for name, job in picks.items() if job == choice.candidates[i]]
        if mark and i == choice.chosen:
            names.insert(0, "chosen")
        if names:
            half = 2 if len(names) > 2 else len(names)
            text = "◂ " + ",\n   ".join(filter(None, map(", ".join, (names[:half], names[half:]))))
            ax.text(1.02, place, text, fontsize=8, va="center", transform=beside)
            marks.append(f"job {choice.candidates[i]} {' and '.join(names)}")
    if not choice.scores:
        ax.axvline(choice.free, color="#000000", linestyle=":")
        what = "nodes (line: free)"
    else:
        what = "probability" if share else "score of the policy"
    ax.set_xlabel(what if low == 0 else f"{what}\n(from {low:.{digits}f}, not from 0)")
    if choice.scores and not share:  # the numbers are on the bars
        ax.xaxis.set_major_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3, integer=not choice.scores))
    left_out = f", {len(shown)} shown" if len(shown) < count else ""
    many = number(count, "candidate")
    ax.set_title(f"{many}{left_out}", fontsize=9)
    set_alt(
        ax,
        f"Bars of {what} of {many}; {', '.join(marks) or 'none is chosen'}.",
    )
    return ax
