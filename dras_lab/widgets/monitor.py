"""The training monitor: a learning curve that grows while an agent learns."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..jobs import DrasLabError
from ..plotting import PALETTE, set_alt
from .shell import Shell, blank, number

COLUMNS = (
    *("episode", "phase", "reward", "mean_wait_ratio", "max_wait_ratio"),
    *("loss", "entropy", "epsilon", "seconds"),
)
_PANELS = (
    (("reward",), "reward of the episode"),
    (("mean_wait_ratio", "max_wait_ratio"), "wait (share of FCFS)"),
    (("loss",), "loss"),
    (("entropy", "epsilon"), "exploration"),
)
_LOOKS = ((PALETTE[0], "-", "o"), (PALETTE[3], "--", "s"))


class TrainingMonitor(Shell):
    """Reward, waits, loss and exploration by episode; fed by `update`, or read from a file.

    A training loop calls ``monitor.update(row)`` at the end of each episode; the picture is drawn
    then, in the loop's own time, and no more often than `pause` allows, so that it never costs
    more than a small part of the training.

    The still picture beside it is that of the moment at which it was displayed: for a notebook that
    is to be read without a kernel, name the monitor once more in a cell after the training.

    Parameters
    ----------
    title : str
        What is trained.
    pause : float
        Seconds between two pictures at least; 0 for each row. What came in since the last picture
        is drawn when the monitor is displayed, or by `draw`.

    Attributes
    ----------
    rows : list of dict
        What came in, one an episode; the columns are `COLUMNS`, missing ones are empty.
    """

    def __init__(self, title: str = "training", *, pause: float = 0.5) -> None:
        super().__init__()
        self.title, self.pause = title, pause
        self.rows: list[dict[str, Any]] = []
        self._drawn = -float("inf")
        self._shown = 0  # rows in the picture
        self._compose()

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], title: str | None = None) -> TrainingMonitor:
        """The monitor of a finished training, from its log of episodes.

        Raises
        ------
        DrasLabError
            If there is no such file, it is no CSV, or has no columns that can be drawn.
        """
        name = os.fspath(path)
        try:
            table = pd.read_csv(name, encoding="utf-8")
        except OSError as error:
            raise DrasLabError(f"{name} cannot be read: {error.strerror}") from None
        except (ValueError, UnicodeError):
            raise DrasLabError(f"{name} is not a CSV file of episodes") from None
        if "episode" not in table or not set(COLUMNS[2:8]) & set(table.columns):
            raise DrasLabError(
                f"{name} is not a log of episodes: it needs the column 'episode' and some of "
                f"{', '.join(COLUMNS[2:8])}"
            )
        monitor = cls(title or os.path.basename(name))  # noqa: PTH119
        monitor.rows = [
            {str(column): value for column, value in row.items()}
            for row in table.to_dict(orient="records")
        ]
        _check(monitor.rows)
        monitor.draw()
        return monitor

    def __repr__(self) -> str:
        return f"TrainingMonitor({self.title}, {len(self.rows)} episodes)"

    def update(self, row: Mapping[str, Any]) -> None:
        """Take in one episode; the callback of a training loop.

        Parameters
        ----------
        row : mapping
            By the names of `COLUMNS`; what is missing, None or NaN is left out of the curves.

        Raises
        ------
        DrasLabError
            If it has no episode, or a value that is not a number.
        """
        _check([row])
        self.rows.append(dict(row))
        now = time.monotonic()
        if now - self._drawn >= self.pause:
            self.draw()
            self._drawn = time.monotonic()

    def draw(self) -> None:
        """Draw all rows that came in."""
        super().draw()
        self._shown = len(self.rows)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """As of every widget, with all rows in the picture."""
        if self._shown != len(self.rows):
            self.draw()
        return super()._repr_mimebundle_(**options)

    @property
    def table(self) -> pd.DataFrame:
        """The episodes so far as a table."""
        return pd.DataFrame(self.rows)

    def values(self, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """One column as numbers, NaN where an episode has none."""
        return np.array([_number(row.get(column)) for row in self.rows], dtype=np.float64)

    # -- what is shown ----------------------------------------------------------------------

    def _figure(self) -> Figure:
        if not self.rows:
            return blank("no episode has ended yet")
        panels = [
            (columns, label)
            for columns, label in _PANELS
            if any(np.isfinite(self.values(name)).any() for name in columns)
        ]
        if not panels:
            return blank(f"{number(len(self.rows), 'episode')} without a number to draw")
        rows = -(-len(panels) // 2)
        figure = Figure(figsize=(10.5, 0.4 + 2.4 * rows), dpi=90)
        figure.suptitle(self.title, fontsize=11, parse_math=False)
        for place, (columns, label) in enumerate(panels):
            top = 0.57 - 0.46 * (place // 2) if rows > 1 else 0.2
            left = 0.08 + 0.49 * (place % 2)
            ax = figure.add_axes((left, top, 0.39, 0.34 if rows > 1 else 0.55))
            self._panel(ax, columns, label)
        return figure

    def _panel(self, ax: Axes, columns: tuple[str, ...], label: str) -> None:
        episodes = self.values("episode")
        told = []
        for name, (colour, dashes, marker) in zip(columns, _LOOKS, strict=False):
            values = self.values(name)
            there = np.isfinite(values)
            if there.any():
                ax.plot(
                    episodes[there], values[there], color=colour, linestyle=dashes, marker=marker,
                    markersize=3, linewidth=1.2, label=name,
                )  # fmt: skip
                told.append(f"{name} {values[there][0]:.4g} to {values[there][-1]:.4g}")
        if "mean_wait_ratio" in columns:
            ax.axhline(1.0, color="#000000", linewidth=0.8, linestyle=":")
        if len(columns) > 1:
            ax.legend(fontsize=8, loc="best")
        for at, phase in self._phases():
            ax.axvline(at - 0.5, color="#888888", linewidth=0.8)
            ax.annotate(
                f" {phase}", (at - 0.5, 1), xycoords=("data", "axes fraction"), va="bottom",
                fontsize=8,
            )  # fmt: skip
        ax.set_xlabel("episode")
        ax.set_ylabel(label)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        set_alt(ax, f"{label} by episode: {', '.join(told)}.")

    def _phases(self) -> list[tuple[float, str]]:
        """The first episode of each phase, in order."""
        found: list[tuple[float, str]] = []
        last = None
        for row in self.rows:
            phase = row.get("phase")
            if isinstance(phase, str) and phase != last:
                found.append((_number(row["episode"]), phase))
                last = phase
        return found

    def _text(self) -> str:
        if not self.rows:
            return f"{self.title}: waiting for the first episode."
        row, parts = self.rows[-1], []
        for name in COLUMNS[2:8]:
            value = _number(row.get(name))
            if np.isfinite(value):
                parts.append(f"{name.replace('_', ' ')} {value:.4g}")
        spent = float(np.nansum(self.values("seconds")))
        phase = f" ({row['phase']})" if isinstance(row.get("phase"), str) else ""
        return (
            f"Episode {_number(row['episode']):g}{phase}: {', '.join(parts)}. "
            f"{number(len(self.rows), 'episode')} in {spent:.0f} s."
        )


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _check(rows: list[dict[str, Any]] | list[Mapping[str, Any]]) -> None:
    """Refuse what cannot be drawn, before anything of it is kept."""
    for row in rows:
        for name in COLUMNS:
            if name == "phase":
                continue
            try:
                value = _number(row.get(name))
            except (TypeError, ValueError):
                raise DrasLabError(
                    f"the {name} of an episode is {row[name]!r}, which is not a number"
                ) from None
            if name == "episode" and not np.isfinite(value):
                raise DrasLabError("an episode has no number; a row needs 'episode'")
