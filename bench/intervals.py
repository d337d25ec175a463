"""How sure a difference is: two ways on the same requests, by a paired bootstrap.

B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993: requests are drawn anew with
replacement, both ways judged on the same draw, 2,000 times with a fixed seed.
"""

import numpy as np
from numpy.typing import NDArray
from public_sets import SEED

DRAWS = 2000


def paired(ours: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[float, float, float]:
    """By how many points ours is right more often, and the 95 % interval of that."""
    apart = ours.astype(np.float64) - other
    draws = np.random.default_rng(SEED).integers(0, len(apart), (DRAWS, len(apart)))
    low, high = np.quantile(apart[draws].mean(axis=1), [0.025, 0.975])
    return 100 * float(apart.mean()), 100 * float(low), 100 * float(high)


def shown(ours: NDArray[np.bool_], other: NDArray[np.bool_]) -> str:
    """The difference and its interval, such as `+2.1 (0.4 to 3.9)`."""
    points, low, high = paired(ours, other)
    return f"{points:+.1f} ({low:.1f} to {high:.1f})"


def share(rows: NDArray[np.bool_]) -> str:
    """How many of them, in per cent, and the 95 % interval of that: `4.7 (3.6 to 5.8)`."""
    if not len(rows):
        return "-"
    points, low, high = paired(rows, np.zeros_like(rows))
    return f"{points:.1f} ({low:.1f} to {high:.1f})"
