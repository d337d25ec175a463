"""How far vectors scatter, kept up to date one group at a time.

With a few examples per capability and hundreds of dimensions a covariance can't be estimated
capability by capability. Pooled over all of them and shrunk towards a sphere it can (O. Ledoit
and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Vectors of one capability, summed up. Groups of the same dimensions can be added."""

    weight: float
    """Sum of the vectors' weights."""

    total: Floats
    """Weighted sum, `(dimensions,)`."""

    scatter: Floats
    """Weighted squares about the group's own mean, `(dimensions, dimensions)`."""

    freedom: float
    """By how many vectors' worth the scatter is known: n - 1 where weights are equal."""

    @property
    def mean(self) -> Floats:
        """The weighted mean, `(dimensions,)`."""
        return self.total / max(self.weight, 1e-12)


def group(vectors: Floats, weights: Floats) -> Group:
    """The group of `vectors`, `(n, dimensions)`, with their `weights`, `(n,)`."""
    weight = float(weights.sum())
    total = weights @ vectors
    apart = vectors - total / max(weight, 1e-12)
    return Group(
        weight=weight,
        total=total,
        scatter=(apart * weights[:, None]).T @ apart,
        freedom=weight - float((weights**2).sum()) / max(weight, 1e-12),
    )


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
