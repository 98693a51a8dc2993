"""For the notebooks: pictures with their text, exercises that check themselves, a leaderboard."""

from __future__ import annotations

import base64
import html
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ..jobs import DrasLabError
from ..plotting import alt_text, as_bytes
from .backfilling import EXERCISES as _BACKFILLING
from .events import EXERCISES as _EVENTS
from .exercises import Exercise
from .heuristics import EXERCISES as _HEURISTICS
from .jobsets import EXERCISES as _JOBSETS
from .leaderboard import leaderboard, secret_jobs
from .logs import EXERCISES as _LOGS

__all__ = ["check", "exercise", "hint", "leaderboard", "secret_jobs", "show"]

_ALL: dict[str, Exercise] = {
    one.number: one for one in (*_LOGS, *_JOBSETS, *_EVENTS, *_BACKFILLING, *_HEURISTICS)
}


def exercise(number: str) -> Exercise:
    """The exercise of that number.

    Raises
    ------
    DrasLabError
        If there is none.
    """
    if number not in _ALL:
        raise DrasLabError(f"there is no exercise {number!r}; there are {', '.join(_ALL)}")
    return _ALL[number]


def check(number: str, answer: Any) -> None:
    """Say whether an answer is right, and if it is not, what is wrong with it.

    Parameters
    ----------
    number : str
        Which exercise, ``"1.2"``.
    answer : object
        A number, a table or a function, as the exercise says.

    Raises
    ------
    DrasLabError
        If there is no such exercise.
    """
    print(f"{number}  {exercise(number).verdict(answer)}")


def hint(number: str, which: int = 1) -> None:
    """Print a hint to an exercise; `which` counts from 1, the later the plainer.

    Raises
    ------
    DrasLabError
        If there is no such exercise.
    """
    print(f"{number}  {exercise(number).hint(which)}")


def show(drawn: Any) -> None:
    """Show a figure in a notebook, with what it shows in words, and close it.

    The words are the picture's text alternative. As not every viewer of notebooks hands that on,
    they stand below the picture too, folded.

    Parameters
    ----------
    drawn : Axes, array of Axes, or Figure
        What a figure function of the library returned.
    """
    from IPython.display import display

    first = np.asarray(drawn, dtype=object).flat[0]
    figure = getattr(first, "figure", None) or first
    said = alt_text(figure)
    picture = {
        "image/png": base64.b64encode(as_bytes(figure, "png")).decode("ascii"),
        "text/plain": said,
    }
    display(picture, raw=True, metadata={"image/png": {"alt": said}})  # type: ignore[no-untyped-call]
    if said:
        folded = (
            "<details><summary><small>the figure in words</small></summary>"
            f"<small>{html.escape(said)}</small></details>"
        )
        display({"text/html": folded, "text/plain": said}, raw=True)  # type: ignore[no-untyped-call]
    plt.close(figure)
