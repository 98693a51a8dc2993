"""What an exercise is: hints on demand, and a check that says what is wrong and not what is right.

A check is a function of the answer. It raises `Wrong`, with a sentence for the reader, or
returns; the helpers here make such sentences. An answer of None or ``...`` is no answer yet.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# What a number is off by, when its unit is another: seconds for hours, a share for a percentage.
_UNITS = (60, 3600, 86400, 24, 100, 1000)


class Wrong(Exception):
    """An answer is not right; the message says in which way, in one sentence."""


class Missing(Exception):
    """There is no answer yet: a function that returns nothing."""


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes
    ----------
    number : str
        Lesson and place, ``"1.2"``.
    test : callable
        Takes the answer; raises `Wrong` if it is not right.
    hints : tuple of str
        From the gentle to the plain.
    """

    number: str
    test: Callable[[Any], object]
    hints: tuple[str, ...]

    def verdict(self, answer: Any) -> str:
        """What is to be said of an answer; a sentence or two."""
        try:
            if answer is None or answer is ...:
                raise Missing
            self.test(answer)
        except Missing:
            return f"Not answered yet. hint({self.number!r}) helps."
        except Wrong as wrong:
            return f"Not yet: {wrong}"
        return "Passes the public checks. They are few: another reader may try more than they do."

    def hint(self, which: int) -> str:
        """The hint of that number, from 1 on."""
        which = min(max(which, 1), len(self.hints))
        more = f" (More: hint({self.number!r}, {which + 1}).)" if which < len(self.hints) else ""
        return f"Hint {which} of {len(self.hints)}: {self.hints[which - 1]}{more}"


def ask(function: Any, *arguments: Any, case: str = "") -> Any:
    """Call somebody's function; what goes wrong in it becomes a `Wrong`."""
    if not callable(function):
        raise Wrong(f"the answer is to be a function, and this is {function!r}.")
    on = f" on {case}" if case else ""
    try:
        answer = function(*arguments)
    except (Wrong, Missing):  # of a function that asks another
        raise
    except Exception as error:
        # The last line that is the reader's own: not one of a library that was called from it.
        frames = traceback.extract_tb(error.__traceback__)[1:]
        mine = [f for f in frames if "site-packages" not in f.filename] or frames
        where = f", line {mine[0].lineno} of its cell," if mine else ""
        text = str(error).split("\n")[0]
        raise Wrong(
            f"your function{where} stops{on} with {type(error).__name__}: {text}"
        ) from error
    if answer is None or answer is ...:
        raise Missing
    return answer


def need_number(answer: Any, right: float, *, within: float, case: str = "") -> None:
    """The answer is a number within so much of the right one.

    Raises
    ------
    Wrong
        With what is wrong: no number, another unit, the sign, too large, too small.
    """
    on = f" for {case}" if case else ""
    try:
        value = float(answer)
    except (TypeError, ValueError):
        raise Wrong(f"{answer!r}{on} is not a number.") from None
    if not np.isfinite(value):
        raise Wrong(f"{value}{on} is not a finite number; is something divided by zero?")
    if abs(value - right) <= within:
        return
    for unit in _UNITS:
        for factor in (unit, 1 / unit):
            if right and abs(value - right * factor) <= max(within * factor, 1e-6 * abs(value)):
                raise Wrong(f"{value:g}{on} is right but for the unit. Read again which is asked.")
    if right and abs(value + right) <= within:
        raise Wrong(f"{value:g}{on} has the wrong sign.")
    raise Wrong(f"{value:g}{on} is too {'large' if value > right else 'small'}.")


def need_same(answer: Any, right: Sequence[Any], what: str, case: str = "") -> None:
    """The answer is this sequence; `what` names one of its items.

    Raises
    ------
    Wrong
        With the first place that differs, and not with what should be there.
    """
    on = f" for {case}" if case else ""
    try:
        given = list(answer)
    except TypeError:
        raise Wrong(f"a sequence is asked for{on}, and this is {answer!r}.") from None
    if len(given) != len(right):
        raise Wrong(f"{len(given)} {what}s{on} are not as many as there should be.")
    for place, (mine, due) in enumerate(zip(given, right, strict=True), 1):
        if mine != due:
            raise Wrong(f"the {what} in place {place}{on}, {mine!r}, is not right.")
