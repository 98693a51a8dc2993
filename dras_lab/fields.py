"""What an experiment's tables may hold: keys, what their values must be, and how that is said."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .jobs import DrasLabError

Field = tuple[str, Callable[[Any], bool]]  # what a value must be, and how that is seen


def whole(least: int) -> Field:
    """A whole number of `least` or more."""
    what = f"a whole number of {least} or more"
    return what, lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v < 1 << 63


def _choice(*names: str) -> Field:
    return "one of " + ", ".join(names), lambda value: isinstance(value, str) and value in names


def _is_positive(value: Any) -> bool:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and 0 < value < float("inf")


def _are_phases(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and whole(0)[1](pair[1])
        for pair in value
    )


def _are_settings(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(v, str | bool) or (isinstance(v, int | float) and math.isfinite(v))
        for v in value.values()
    )


_POSITIVE = ("a number above 0", _is_positive)
_FLAG = ("true or false", lambda value: isinstance(value, bool))

LOG: dict[str, Field] = {
    "nodes": whole(1),
    "coarsen": whole(1),
    "jobs": whole(1),
    "part": _choice("train", "validation", "test", "all"),
    "extra_columns": _choice("refuse", "ignore"),
}
SIMULATION: dict[str, Field] = {
    "window": (
        'a whole number of 1 or more, or "all"',
        lambda value: value == "all" or whole(1)[1](value),
    ),
    "backfill": _choice("easy", "none", "conservative"),
    "overrun": _choice("kill", "keep"),
    "reservation": _choice("held", "renewed"),
    "tau": _POSITIVE,
}
TRAINING: dict[str, Field] = {
    "network": _choice("dras", "scorer"),
    "update": _choice("ours", "published"),
    "settings": ("a table of numbers and words", _are_settings),
    "episodes": whole(1),
    "phases": ('pairs such as ["sampled", 10]', _are_phases),
    "jobs": whole(2),
    "load": _POSITIVE,
    "limit": _POSITIVE,
    "patience": whole(1),
    "tensorboard": _FLAG,
}


def check_keys(told: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    """Refuse a key that is not known, and name the nearest that is."""
    known = tuple(known)
    for key in told:
        if key not in known:
            raise DrasLabError(
                f"{where}there is no key {key!r}{near(key, known)}; the keys are {', '.join(known)}"
            )


def check_table(table: str, told: Any, keys: Mapping[str, Field]) -> None:
    """Refuse a table that is none, has an unknown key, or a value that cannot be."""
    if not isinstance(told, Mapping):
        raise DrasLabError(f"{table}: is a table; write [{table}] and its keys below")
    check_keys(told, keys, f"{table}: ")
    for key, value in told.items():
        what, fine = keys[key]
        if not fine(value):
            raise DrasLabError(f"{table}: {key}: {value!r} is not {what}")


def check_names(key: str, value: Any) -> None:
    """Refuse what is no list of different names."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise DrasLabError(f"{key}: {value!r} is not a list of names")
    for name in value:
        if not isinstance(name, str) or not name:
            raise DrasLabError(f"{key}: {name!r} is not a name")
    twice = [name for name in value if list(value).count(name) > 1]
    if twice:
        raise DrasLabError(f"{key}: {twice[0]!r} is named twice")


def near(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that was meant, or nothing."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {close[0]!r}?)" if close else ""
