"""How far vectors scatter about the means of the groups that they are in.

With a few examples per capability and hundreds of dimensions a covariance can't be estimated
capability by capability. Pooled over all of them and shrunk towards a sphere it can (O. Ledoit
and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_AT_ONCE = 2000
"""Groups whose vectors are in memory a second time while they are summed up."""


@dataclass(frozen=True)
class Group:
    """The vectors of one capability. Its scatter isn't kept: that is a megabyte."""

    vectors: NDArray[np.float32]
    """`(n, dimensions)`."""

    weights: Floats
    """How much each counts, `(n,)`."""

    @cached_property
    def weight(self) -> float:
        """Of all vectors together."""
        return float(self.weights.sum())

    @cached_property
    def mean(self) -> Floats:
        """The weighted mean, `(dimensions,)`."""
        mean: Floats = self.weights @ self.vectors / max(self.weight, 1e-12)
        return mean

    @property
    def apart(self) -> Floats:
        """The vectors about their mean, such that `apart.T @ apart` is the weighted scatter."""
        rows: Floats = np.sqrt(self.weights)[:, None] * (self.vectors - self.mean)
        return rows

    @property
    def freedom(self) -> float:
        """By how many vectors' worth the scatter is known: n - 1 where weights are equal."""
        return self.weight - float((self.weights**2).sum()) / max(self.weight, 1e-12)


def pooled(groups: Sequence[Group], size: int) -> tuple[Floats, float]:
    """The groups' scatter, `(size, size)`, and freedom, added up."""
    scatter, freedom = np.zeros((size, size)), 0.0
    for start in range(0, len(groups), _AT_ONCE):
        some = groups[start : start + _AT_ONCE]
        apart = np.concatenate([one.apart for one in some])
        scatter += apart.T @ apart
        freedom += sum(one.freedom for one in some)
    return scatter, freedom


def shrunk(covariance: Floats, share: float) -> Floats:
    """The covariance, `share` of the way towards a sphere of the same mean variance.

    >>> shrunk(np.array([[3.0, 1.0], [1.0, 1.0]]), 0.5).tolist()
    [[2.5, 0.5], [0.5, 1.5]]
    """
    size = len(covariance)
    sphere = float(np.trace(covariance)) / size * np.eye(size)
    return (1 - share) * covariance + share * sphere


def squares(vectors: Floats, matrix: Floats) -> Floats:
    """`v' matrix v` of each row v, `(n,)`."""
    lengths: Floats = np.einsum("nd,nd->n", vectors @ matrix, vectors)
    return lengths
