"""How far runs that differ in nothing but their seed lie apart: medians, ranges, intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

RESAMPLES = 10_000
LEVEL = 0.95


def interval(
    values: Sequence[float] | npt.NDArray[np.float64],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """A percentile bootstrap interval of the median; NaN for less than two values.

    Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979).
    Of up to five values it is their range: the smallest is the median of a resample too often
    to be cut off at 2.5 %. Take seven seeds or more for one that says anything.

    Parameters
    ----------
    values : shape ``[n]``
    level : float
        Share of the resamples' medians inside.
    resamples, seed : int
    """
    known = np.asarray(values, dtype=np.float64)
    if len(known) < 2 or not np.isfinite(known).all():
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    medians = np.median(known[rng.integers(len(known), size=(resamples, len(known)))], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def spread(
    runs: pd.DataFrame, by: Sequence[str], measures: Sequence[str], seed: int = 0
) -> pd.DataFrame:
    """One row a group and measure: ``runs``, ``median``, ``min``, ``max``, ``low``, ``high``.

    Parameters
    ----------
    runs : DataFrame
        A row a run.
    by, measures : sequence of str
        Columns that name a group, and columns to sum up; an unknown value (NaN) does not count.
        Groups stand in the order of their first run.
    seed : int
        Of the intervals `low` to `high`; see `interval`.
    """
    rows = []
    for key, group in runs.groupby(list(by), sort=False, dropna=False):
        names = dict(zip(by, key, strict=True))
        for measure in measures:
            values = group[measure].dropna().to_numpy(np.float64)
            some = len(values) > 0
            low, high = interval(values, seed=seed)
            rows.append(
                names
                | {
                    "measure": measure,
                    "runs": len(values),
                    "median": float(np.median(values)) if some else float("nan"),
                    "min": float(values.min()) if some else float("nan"),
                    "max": float(values.max()) if some else float("nan"),
                    "low": low,
                    "high": high,
                }
            )
    return pd.DataFrame(rows)
