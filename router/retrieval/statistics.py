"""The statistics of retrieval: scatter, usual scores, logistic regression.

With a few examples per capability and hundreds of dimensions a covariance can't be estimated
capability by capability. Pooled over all of them and shrunk towards a sphere it can (O. Ledoit
and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004).

Multinomial logistic regression stands in for the Gaussians where examples are many. From eight
or so on it pays to draw the boundaries where the mistakes are: on CLINC150's development rows
it gains three points with 10 examples an intent and four with 20. With five (ToolE) it loses
two. It is fitted where distances are the encoder's own: in coordinates in which the covariance
is a sphere, directions that vary little count as much as any, and it learns those by heart.
Accelerated gradient descent (Y. Nesterov, 1983) takes a hundred steps from zero; from the
Gaussians' rows it takes four times as many.
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


OWN_FROM = 30
"""As many capabilities of a kind weigh as much as the background in saying what is usual."""

_SMALLEST = 1e-9


@dataclass(frozen=True)
class Usual:
    """Mean and standard deviation of one kind of score over the background's messages."""

    mean: float
    deviation: float

    def standardised(
        self, scores: NDArray[np.float32], among: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """In standard deviations, against the message's own scores and the background's.

        The more capabilities there are `among` which it chooses, the more count its own: of
        hundreds nearly all are strangers to it and say what is usual, of three maybe none.
        """
        own = scores[among]
        if not own.size:
            return np.zeros_like(scores)
        trust = own.size / (own.size + OWN_FROM)
        mean = trust * float(own.mean()) + (1 - trust) * self.mean
        deviation = trust * float(own.std()) + (1 - trust) * self.deviation
        return _scaled(scores, mean, deviation)


def usual(scores: NDArray[np.floating]) -> Usual:
    """What is usual among these scores of the background; 0 and 1 where there are none."""
    if not scores.size:
        return Usual(0.0, 1.0)
    return Usual(float(scores.mean()), float(scores.std()))


def standardised(scores: NDArray[np.float32], among: NDArray[np.bool_]) -> NDArray[np.float32]:
    """In standard deviations of the scores `among` them, where no background is known."""
    own = scores[among]
    return _scaled(scores, float(own.mean()), float(own.std())) if own.size else scores


def _scaled(scores: NDArray[np.float32], mean: float, deviation: float) -> NDArray[np.float32]:
    level = (scores - np.float32(mean)) / np.float32(max(deviation, _SMALLEST))
    return np.asarray(level, np.float32)


LEAST_EXAMPLES = 8.0
"""Examples per capability, on average, from which it is worth it."""

MOST_WORK = 1_000_000
"""Vectors times capabilities up to which it is done: some four seconds on one core."""

FREEDOM = 20.0
"""How little the rows are held back, in terms of the vectors' own size, so that encoders whose
vectors lie closer together are held back alike. 5 loses a point with 20 examples of CLINC150's;
from 10 to 20 neither it nor the Chinese and English desk moves by half a point."""

STEPS = 100
_PACE = 2.0
"""The loss bends by at most a half; what its vectors' spread makes of that is measured."""

_POWERS = 20

_Single = NDArray[np.float32]


def refined(
    vectors: Floats, owners: NDArray[np.intp], rows: Floats, biases: Floats
) -> tuple[Floats, Floats]:
    """Rows `(capabilities, dimensions)` and biases that tell the vectors' owners apart better.

    On the scale of those given, so that the ones can stand in for the others.

    Args:
        vectors: Centred, `(n, dimensions)`.
        owners: The row that each vector belongs to, `(n,)`.
        rows: Those to be bettered, such as those of `Clouds.directions`.
        biases: Likewise, `(capabilities,)`.
    """
    points = vectors.astype(np.float32)
    better, shifts = _descended(points, owners, len(rows))
    scale = _spread(points @ rows.T + biases) / max(_spread(points @ better.T + shifts), 1e-9)
    # Softmax sees no difference in what is added to every capability alike; the sum of a
    # refined row with one that isn't does.
    common, level = rows.mean(axis=0), float(biases.mean())
    return (
        common + scale * (better - better.mean(axis=0)),
        level + scale * (shifts - shifts.mean()),
    )


def _descended(
    points: _Single, owners: NDArray[np.intp], capabilities: int
) -> tuple[_Single, _Single]:
    """Nesterov's method: each step is taken from a little beyond where the last one led."""
    count = len(points)
    held = np.float32(np.mean(np.sum(points**2, axis=1)) / (FREEDOM * count))
    step = np.float32(1 / (_largest(points) / (_PACE * count) + held))
    rows: _Single = np.zeros((capabilities, points.shape[1]), np.float32)
    biases: _Single = np.zeros(capabilities, np.float32)
    ahead_rows, ahead_biases, speed = rows, biases, 1.0
    for _ in range(STEPS):
        wrong = _shares(points @ ahead_rows.T + ahead_biases)
        wrong[np.arange(count), owners] -= 1
        slope: _Single = wrong.T @ points / np.float32(count) + held * ahead_rows
        next_rows = ahead_rows - step * slope
        next_biases = ahead_biases - np.float32(_PACE) * wrong.mean(axis=0)
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        momentum = np.float32((speed - 1) / faster)
        ahead_rows = next_rows + momentum * (next_rows - rows)
        ahead_biases = next_biases + momentum * (next_biases - biases)
        rows, biases, speed = next_rows, next_biases, faster
    return rows, biases


def _largest(points: _Single) -> float:
    """The largest eigenvalue of `points.T @ points`, from above by a little."""
    direction = np.ones(points.shape[1], np.float32)
    length = 0.0
    for _ in range(_POWERS):
        direction = points.T @ (points @ direction)
        length = float(np.linalg.norm(direction))
        direction /= max(length, 1e-12)
    return 1.1 * length


def _shares(logits: _Single) -> _Single:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: _Single = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _spread(logits: Floats | _Single) -> float:
    """How far a vector's logits are apart."""
    return float(logits.std(axis=1).mean())
