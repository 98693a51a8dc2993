"""What changes over time: use of the machine, the queue, and an agent as it learns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from .jobs import DrasLabError
from .metrics import Results, makespan, named, queue_length, utilisation, utilisation_over_time
from .plotting import (
    EDGE,
    TimeAxis,
    axes_for,
    legend_beside,
    line_look,
    plain,
    say,
    set_alt,
    time_axis,
)
from .results import Result

# Intervals a reader can think in, in seconds, and how many of them a curve is to have at most.
STEPS = (1, 10, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 7 * 86400)
MOST_STEPS = 250

# Axis labels of the columns of an episode log, with their units.
EPISODE_LABELS = {
    "reward": "reward of the episode",
    "mean_wait_ratio": "mean wait / baseline's",
    "max_wait_ratio": "maximum wait / baseline's",
    "loss": "loss",
    "entropy": "entropy of the choices (nats)",
    "epsilon": "epsilon (probability of a random choice)",
    "seconds": "time (seconds)",
}


def utilisation_curve(results: Results, *, step: int | None = None, ax: Axes | None = None) -> Axes:
    """Mean utilisation over time, as steps; one line a result.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    step : int, optional
        Length of the intervals in seconds; by default one that makes at most 250 of them.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If there are no results, two have one name, or `step` is not positive.
    """
    runs = named(results)
    ax = axes_for(ax)
    if (axis := _common_axis(runs.values())) is None:
        return say(ax, "no job ran")
    if step is None:
        longest = max(makespan(run) for run in runs.values())
        step = next((some for some in STEPS if longest / some <= MOST_STEPS), STEPS[-1])
    told = []
    for k, (name, run) in enumerate(runs.items()):
        over = utilisation_over_time(run, step)
        if len(over):  # the last value holds to the end of its interval
            over.loc[over.index[-1] + step] = over.iloc[-1]
        _steps(ax, axis.at(over.index.to_numpy(np.int64)), over.to_numpy(), k, name)
        told.append(f"{name} {utilisation(run):.2f} of the nodes on average")
    interval = time_axis(0, step)
    length = f"{step / interval.seconds:g} {interval.unit}"
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(axis.label)
    ax.set_ylabel(f"utilisation (share of nodes,\nmean of {length})")
    _legend_of_several(ax, runs)
    set_alt(ax, f"Utilisation over time, means of {length}: {'; '.join(told)}.")
    return ax


def queue_curve(results: Results, *, ax: Axes | None = None) -> Axes:
    """Jobs in the queue over time, as steps; one line a result.

    Parameters
    ----------
    results : Result, mapping from name to Result, or iterable of Result
        An iterable is named by its results' policies.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If there are no results, or two have one name.
    """
    runs = named(results)
    ax = axes_for(ax)
    if (axis := _common_axis(runs.values())) is None:
        return say(ax, "no job ran")
    told = []
    for k, (name, run) in enumerate(runs.items()):
        length = queue_length(run)
        _steps(ax, axis.at(length.index.to_numpy(np.int64)), length.to_numpy(), k, name)
        told.append(f"{name} at most {length.max() if len(length) else 0}")
    ax.set_ylim(bottom=0)
    ax.set_xlabel(axis.label)
    ax.set_ylabel("queue length (jobs)")
    _legend_of_several(ax, runs)
    set_alt(ax, f"Queue length in jobs over time: {'; '.join(told)}.")
    return ax


def learning_curve(
    logs: pd.DataFrame | Mapping[str, pd.DataFrame],
    column: str = "reward",
    *,
    label: str | None = None,
    episode: str = "episode",
    phase: str = "phase",
    seed: str = "seed",
    smooth: int = 1,
    ax: Axes | None = None,
) -> Axes:
    """How an agent learns, by episode: the median of the seeds, their range as a band.

    Where phases change is marked (of one log, by the median of its seeds). A column of ratios
    has a line at 1, where the agent is as good as the baseline. Episodes without a number in the
    column are left out.

    Parameters
    ----------
    logs : DataFrame, or mapping from name to DataFrame
        The episode log of a training run, a row an episode; of several, a line each.
    column : str
        What to draw.
    label : str, optional
        The axis label, with its unit; known for the columns that training writes.
    episode, phase, seed : str
        Names of columns. Without a column for the seed all rows are one run's; without one
        for the phase none are marked.
    smooth : int
        Mean over the last so many episodes of a run; 1 leaves the curve as it is.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    DrasLabError
        If a log has no such column, an episode stands twice in a run, or `smooth` is below 1.
    """
    if smooth < 1:
        raise DrasLabError(f"smooth: {smooth!r} must be at least 1 episode")
    several = isinstance(logs, Mapping)
    curves = {
        name: _by_episode(log, column, episode, seed, smooth)
        for name, log in (logs.items() if isinstance(logs, Mapping) else [(column, logs)])
    }
    ax = axes_for(ax)
    label = label or EPISODE_LABELS.get(column, column)
    if all(curve.empty for curve in curves.values()):
        return say(ax, "no episodes yet")
    told = []
    for k, (name, curve) in enumerate(curves.items()):
        if curve.empty:
            continue
        seeds, look = curve.shape[1], line_look(k)
        middle, x = curve.median(axis=1), curve.index.to_numpy(float)
        named_so = f"{plain(name)}, " if several else ""
        line = f"{named_so}median of {seeds} seeds" if seeds > 1 else plain(name)
        # One episode is no line yet.
        ax.plot(x, middle.to_numpy(), label=line, marker="" if len(x) > 1 else "o", **look)
        if seeds > 1:
            ax.fill_between(
                x,
                curve.min(axis=1).to_numpy(),
                curve.max(axis=1).to_numpy(),
                color=look["color"],
                alpha=0.2,
                linewidth=0,
                label=f"{named_so}range of the seeds",
            )
        told.append(f"{line}: {middle.iloc[0]:.3g} at first, {middle.iloc[-1]:.3g} at last")
    if column.endswith("_ratio"):
        ax.axhline(1.0, color=EDGE, linewidth=1.0, linestyle=":", label="1: as the baseline")
    ax.set_xlabel("episode")
    ax.set_ylabel(label + (f"\n(mean of {smooth} episodes)" if smooth > 1 else ""))
    changes = {} if isinstance(logs, Mapping) else _phases(logs, episode, phase, seed)
    for at, name in changes.items():
        ax.axvline(at, color=EDGE, linewidth=0.8, linestyle="--")
        ax.annotate(
            f" {plain(name)}",
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            va="bottom",
            fontsize=8,
            annotation_clip=True,
        )
    if len(ax.get_legend_handles_labels()[0]) > 1:
        legend_beside(ax)
    phases = "".join(f" {name} from episode {at:g}." for at, name in changes.items())
    set_alt(ax, f"Learning curve, {label}: {'; '.join(told)}.{phases}")
    return ax


def _common_axis(runs: Iterable[Result]) -> TimeAxis | None:
    """One axis for several results, from the earliest first submission; None where none ran."""
    some = [run for run in runs if run.ran.any()]
    if not some:
        return None
    origin = min(int(run.submit.min()) for run in some)
    return time_axis(origin, max(int(run.end.max()) for run in some) - origin)


def _steps(
    ax: Axes, times: npt.NDArray[np.float64], values: npt.NDArray[Any], k: int, name: str
) -> None:
    """The k-th step function: a value holds from its time to the next.

    A line and not `Axes.stairs`, which takes ten times as long for thousands of steps.
    """
    look = line_look(k) | {"linewidth": 1.2}
    ax.plot(times, values, drawstyle="steps-post", label=plain(name), **look)


def _legend_of_several(ax: Axes, runs: Mapping[str, Result]) -> None:
    if len(runs) > 1:
        legend_beside(ax)
    else:
        run = next(iter(runs.values()))
        ax.set_title(f"{next(iter(runs))} on {run.trace_name}", parse_math=False)


def _by_episode(
    log: pd.DataFrame, column: str, episode: str, seed: str, smooth: int
) -> pd.DataFrame:
    """A row an episode, a column a seed; what a seed has no number for is missing."""
    for name in (episode, column):
        if name not in log:
            raise DrasLabError(
                f"the log of episodes has no column {name!r}; it has {', '.join(map(str, log))}"
            )
    runs = log[seed] if seed in log else pd.Series(0, index=log.index)
    table = pd.DataFrame(
        {"episode": log[episode], "seed": runs, "value": log[column].astype(float)}
    )
    if table.duplicated(["episode", "seed"]).any():
        raise DrasLabError(
            f"an episode stands twice in the log of one run; name the column that tells the runs "
            f"apart, seed={seed!r} does not"
        )
    wide = table.pivot(index="episode", columns="seed", values="value").sort_index()
    if smooth > 1:
        wide = wide.apply(lambda run: run.dropna().rolling(smooth, min_periods=1).mean())
    return wide.dropna(how="all").dropna(axis=1, how="all")


def _phases(log: pd.DataFrame, episode: str, phase: str, seed: str) -> dict[float, str]:
    """The first episode of each phase, the median over the seeds; in order."""
    if phase not in log or log.empty:
        return {}
    keys = [phase, seed] if seed in log else [phase]
    first = log.groupby(keys, sort=False)[episode].min().groupby(level=0).median().sort_values()
    return {float(at): str(name) for name, at in first.items()}
