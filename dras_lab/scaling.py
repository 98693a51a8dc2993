"""Times as networks are shown them (ours; authors' code shows plain seconds)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Scaling = Literal["log", "linear"]

DAY = 86_400  # seconds; both scalings of times map it to 1
LONGEST = 1000 * DAY  # seconds; longer times count as this
LN_DAY = float(np.log1p(DAY / 60))


def scale_times(seconds: npt.ArrayLike, scaling: Scaling = "log") -> Floats:
    """Times as a network is shown them: 0 for none, 1 for a day; float32, of the same shape.

    ``"log"``: ``ln(1 + minutes) / ln(1 + 1440)``, in [0, 1.95]. ``"linear"``: days, in
    [0, 1000]. Longer times than 1000 days count as 1000 days; none may be negative.
    (Authors' code shows plain seconds; the scaling is ours.)
    """
    times = np.array(seconds, dtype=np.float64)
    scale_in_place(times, scaling)
    return times.astype(np.float32)


def scale_in_place(times: npt.NDArray[np.float64], scaling: Scaling) -> None:
    """`scale_times` in place: for the few dozen times of a decision, arrays cost more than sums.

    In float64, since float32 would round times of months to tens of seconds.
    """
    np.minimum(times, LONGEST, out=times)
    if scaling == "log":
        np.multiply(times, 1 / 60, out=times)
        np.log1p(times, out=times)
        np.multiply(times, 1 / LN_DAY, out=times)
    else:
        np.multiply(times, 1 / DAY, out=times)
