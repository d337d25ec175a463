"""What scores are worth: scatter, clouds of requests, probabilities, beside arbitrary messages.

The yardstick are two short files of sentences, half Chinese and half English, written for this
project: messages that words alone answer, and messages that take a tool. Encoded once per encoder
they tell where the middle of its space is, and how well a capability fits what isn't for it.
Figures are of development rows, as in `docs/retrieval.md`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from router.retrieval.encoders import Encoder, Floats, Vectors

_CJK = re.compile("[\u4e00-\u9fff]")

EVERY = 4
"""Every fourth sentence is encoded as a document too: enough for the mean of a difference."""


@dataclass(frozen=True)
class Background:
    """The encoded sentences, `(n, dimensions)`; those that need no tool come first."""

    queries: Vectors
    documents: Vectors
    """Every `EVERY`th of the sentences, encoded as a document."""
    toolless: int
    """How many of the sentences need no tool."""
    chinese: NDArray[np.bool_]
    """By sentence, whether it is Chinese."""

    def points(self, queries: Vectors) -> Floats:
        """Encoded messages, `(n, dimensions)`, about the mean message, whatever their language."""
        return self._tongueless(queries, self._centre)

    def document_points(self, documents: Vectors) -> Floats:
        """Encoded cards, on the same scale."""
        return self._tongueless(documents, self._document_centre)

    @cached_property
    def around(self) -> Floats:
        """The sentences themselves as points, `(n, dimensions)`."""
        return self.points(self.queries)

    @cached_property
    def _centre(self) -> Vectors:
        return np.asarray(self.queries.mean(axis=0))

    @cached_property
    def _document_centre(self) -> Vectors:
        """Where the mean message lands when it is encoded as a document."""
        return np.asarray(self._centre + (self.documents - self.queries[::EVERY]).mean(axis=0))

    @cached_property
    def _tongue(self) -> Floats:
        """The direction in which Chinese and English lie apart, of length one or zero."""
        apart = np.zeros(self.queries.shape[1])
        if 0 < self.chinese.sum() < len(self.chinese):
            english = self.queries[~self.chinese].mean(axis=0)
            apart += self.queries[self.chinese].mean(axis=0) - english
        return apart / max(float(np.linalg.norm(apart)), 1e-12)

    def _tongueless(self, vectors: Vectors, centre: Vectors) -> Floats:
        # Who encodes elsewhere may not know yet how long a row of none would be.
        apart = vectors - centre if len(vectors) else np.empty((0, len(centre)))
        exact = np.asarray(apart, np.float64)
        return exact - np.outer(exact @ self._tongue, self._tongue)

    @cached_property
    def needs_tool(self) -> NDArray[np.bool_]:
        """By sentence, whether it takes a tool."""
        return np.arange(len(self.queries)) >= self.toolless


async def encoded_background(encoder: Encoder) -> Background:
    """The background in the encoder's space; takes a few seconds where nothing is cached."""
    toolless, tools = sentences("needs_no_tool.txt"), sentences("needs_a_tool.txt")
    every = [*toolless, *tools]
    return Background(
        queries=await encoder.queries(every),
        documents=await encoder.documents(every[::EVERY]),
        toolless=len(toolless),
        chinese=np.array([bool(_CJK.search(text)) for text in every]),
    )


def sentences(file: str) -> list[str]:
    """The lines of a file of this package that aren't comments."""
    lines = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


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
        return np.asarray(self.weights @ self.vectors / max(self.weight, 1e-12))

    @property
    def apart(self) -> Floats:
        """The vectors about their mean, such that `apart.T @ apart` is the weighted scatter."""
        return np.asarray(np.sqrt(self.weights)[:, None] * (self.vectors - self.mean))

    @property
    def freedom(self) -> float:
        """By how many vectors' worth the scatter is known: n - 1 where weights are equal."""
        return self.weight - float((self.weights**2).sum()) / max(self.weight, 1e-12)


def pooled(groups: Sequence[Group], size: int) -> tuple[Floats, float]:
    """The groups' scatter, `(size, size)`, and freedom, added up.

    With a few examples per capability and hundreds of dimensions a covariance can't be estimated
    capability by capability; pooled over all of them and shrunk towards a sphere it can.
    """
    scatter, freedom = np.zeros((size, size)), 0.0
    for start in range(0, len(groups), _AT_ONCE):
        some = groups[start : start + _AT_ONCE]
        apart = np.concatenate([one.apart for one in some])
        scatter += apart.T @ apart
        freedom += sum(one.freedom for one in some)
    return scatter, freedom


def shrunk(covariance: Floats, share: float) -> Floats:
    """The covariance, `share` of the way towards a sphere of the same mean variance.

    O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices".

    >>> shrunk(np.array([[3.0, 1.0], [1.0, 1.0]]), 0.5).tolist()
    [[2.5, 0.5], [0.5, 1.5]]
    """
    size = len(covariance)
    sphere = float(np.trace(covariance)) / size * np.eye(size)
    return (1 - share) * covariance + share * sphere


def squares(vectors: Floats, matrix: Floats) -> Floats:
    """`v' matrix v` of each row v, `(n,)`."""
    return np.asarray(np.einsum("nd,nd->n", vectors @ matrix, vectors))


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

    A multinomial logistic regression draws the boundaries where the mistakes are: on CLINC150 it
    gains three points with 10 examples an intent and four with 20; with five (ToolE) it loses two.
    It is fitted where distances are the encoder's own: in coordinates in which the covariance is
    a sphere it learns directions that vary little by heart. The result is on the scale of the
    `rows` and `biases` given, as those of `Clouds.directions`, so that one can stand in for the
    other. `vectors` are centred, `(n, dimensions)`, and `owners` the row of each.
    """
    points = vectors.astype(np.float32)
    better, shifts = _descended(points, owners, len(rows))
    given, made = points @ rows.T + biases, points @ better.T + shifts
    scale = float(given.std(axis=1).mean()) / max(float(made.std(axis=1).mean()), 1e-9)
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
    """Nesterov's method: each step is taken from a little beyond where the last one led.

    A hundred steps from zero do; from the Gaussians' rows it takes four times as many.
    """
    count = len(points)
    held = np.float32(np.mean(np.sum(points**2, axis=1)) / (FREEDOM * count))
    step = np.float32(1 / (_largest(points) / (_PACE * count) + held))
    rows: _Single = np.zeros((capabilities, points.shape[1]), np.float32)
    biases: _Single = np.zeros(capabilities, np.float32)
    ahead_rows, ahead_biases, speed = rows, biases, 1.0
    for _ in range(STEPS):
        logits = points @ ahead_rows.T + ahead_biases
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        wrong: _Single = powers / powers.sum(axis=1, keepdims=True)
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


SHRINK = 0.7
"""Of the pooled covariance. Between 0.5 and 0.8 neither ToolE's nor CLINC150's development
figures move by half a point; where vectors are few, it is more."""
SHRINK_ALL = 0.5
"""Of the covariance of everything. 0.3 is a third of a point of AUROC worse on CLINC150's
development rows."""
WITHIN = 0.6
"""Variance within a capability as a share of the variance of arbitrary messages: 0.58 on
CLINC150, 0.72 on ToolE. Stands in, with the weight of `PRIOR` vectors, for what isn't known."""
PRIOR = 50.0


@dataclass(frozen=True)
class Clouds:
    """Gaussians about the means of each capability's examples and cards, with one covariance.

    In closed form from sums (R. Fisher, 1936), so that a changed capability changes its own row
    alone. A message is familiar by how much likelier its best cloud makes it than one wide cloud
    about everything: the relative Mahalanobis distance of J. Ren et al., 2021. At 10 examples an
    intent of CLINC150 it tells strange messages at an AUROC of 97.6, the largest logit of a
    logistic regression at 94.8. All vectors are centred as `Background.points` are.
    """

    precision: Floats
    """Inverse of the covariance within capabilities."""
    precision_all: Floats
    """Inverse of the covariance of everything."""
    centre_all: Floats

    def directions(self, means: Floats) -> tuple[Floats, Floats]:
        """Rows and biases: `vectors @ rows.T + biases` are the capabilities' logits."""
        rows = means @ self.precision
        return rows, -0.5 * np.einsum("nd,nd->n", rows, means)

    def wholly(self, vectors: Floats) -> Floats:
        """What a logit lacks to be a log-likelihood, up to a constant, `(n,)`."""
        return -0.5 * squares(vectors, self.precision)

    def strange(self, vectors: Floats) -> Floats:
        """The log-likelihood of being about anything at all, up to a constant, `(n,)`."""
        return -0.5 * squares(vectors - self.centre_all, self.precision_all)


def fitted_clouds(groups: Sequence[Group], examples: Floats, background: Background) -> Clouds:
    """Fit to capabilities' `groups`, and to all their `examples`, `(n, dimensions)`, at once."""
    size = background.around.shape[1]
    prior = WITHIN * float(np.mean(background.around**2)) * np.eye(size)
    scatter, freedom = pooled(groups, size)
    within = (scatter + PRIOR * prior) / (freedom + PRIOR)
    everything = np.concatenate([background.around, examples])
    return Clouds(
        precision=_inverse(shrunk(within, max(SHRINK, size / (size + freedom)))),
        precision_all=_inverse(shrunk(np.cov(everything.T, bias=True), SHRINK_ALL)),
        centre_all=everything.mean(axis=0),
    )


def _inverse(covariance: Floats) -> Floats:
    return np.asarray(np.linalg.inv(covariance), np.float64)


RIDGE = 1e-4
"""Of 1e-4 to 3e-2 the best on the development rows."""
MOST_EXAMPLES = 2000
_NEWTON_STEPS = 12
_AT_REST = 1e-9
"""A step this much smaller than the weights: the next would be the square of that."""


_SUREST = 6.0
"""Log-odds beyond which nothing is believed."""


def log_odds(probability: float) -> float:
    """Within six either way.

    >>> log_odds(0.5), log_odds(0.0)
    (0.0, -6.0)
    """
    least = 1 / (1 + math.exp(_SUREST))
    bounded = min(max(probability, least), 1 - least)
    return round(math.log(bounded / (1 - bounded)), 6)


@dataclass(frozen=True)
class Gate:
    """Whether a message takes a tool: a logistic regression on the background and on examples.

    The background alone tells CLINC150's small talk from its errands at an AUROC of 93.8; with
    examples 94.7, and 98.8 against ToolE's requests; with how near the message is to anything at
    all, 97.3 on rows held out.
    """

    weights: Floats
    bias: float

    def needs_tool(self, vector: Floats, known: float) -> float:
        """The probability, 0 to 1, for a message's vector centred on the background.

        `known` is the probability that it is for a capability, and its log-odds are added: what is
        near to none of them hardly takes one. The other way round it doesn't hold, as an errand for
        nobody here takes a tool too.
        """
        odds = float(vector @ self.weights) + self.bias + log_odds(known)
        return float(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def fitted_gate(background: Background, examples: Floats) -> Gate:
    """Fit to the background and to examples `(n, dimensions)`, centred on it."""
    spread = np.linspace(0, len(examples) - 1, min(len(examples), MOST_EXAMPLES)).astype(int)
    vectors = np.concatenate([background.around, examples[spread]])
    needing = np.concatenate([background.needs_tool, np.ones(len(spread))]).astype(np.float64)
    vectors = np.hstack([vectors, np.ones((len(vectors), 1))])
    # Newton's method, with as much said by each side, however many are on it.
    sides = np.where(needing > 0, 0.5 / max(needing.sum(), 1), 0.5 / max((1 - needing).sum(), 1))
    size = vectors.shape[1]
    ridge = RIDGE * np.eye(size)
    ridge[-1, -1] = 1e-9
    weights = np.zeros(size)
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(vectors @ weights, -30, 30)))
        slope = vectors.T @ (sides * (chance - needing)) + ridge @ weights
        curve = (vectors * (sides * np.maximum(chance * (1 - chance), 1e-6))[:, None]).T @ vectors
        step = np.linalg.solve(curve + ridge, slope)
        weights = weights - step
        if np.abs(step).max() <= _AT_REST * np.abs(weights).max():
            break
    return Gate(weights[:-1], float(weights[-1]))


LEAST_LEFT_OUT = 8
"""Fewer examples than this say too little about how examples score."""
UNFAMILIAR = 0.05
"""The share of left-out examples that score at or below one half."""
STRANGE = 0.9
"""The share of small talk that scores at or below the other end of that distance. Of a desk's
requests for development 12 in 100 were turned away before, and none is; by 0.95 it would be 5."""
_TYPICAL = 3.0
"""The log-odds of the median left-out example: 95 %."""
DEFAULT_LOW, DEFAULT_TYPICAL = -95.0, -57.0
"""Left-out scores on ToolE with two examples a tool: for want of examples to measure."""
CARD_HALF, CARD_SLOPE = 1.73, 1.24
"""At how many standard deviations above small talk's median the probability is one half, and by
how much the log-odds rise with each: a logistic regression of requests against small talk and
strange errands, all sets weighing the same (J. Platt, "Probabilistic outputs for support vector
machines", 1999). By development rows of five sets without examples."""


@dataclass(frozen=True)
class Scale:
    """A straight line from scores to log-odds."""

    half: float
    """The score at which the probability is one half."""
    unit: float
    """By how much more a score is one unit of log-odds further."""

    def probability(self, score: float) -> float:
        """0 to 1."""
        odds = (float(score) - self.half) / self.unit
        return 1 / (1 + math.exp(-min(max(odds, -40.0), 40.0)))


def scale_of_examples(left_out: Floats, talk: Floats) -> Scale:
    """From the scores of left-out examples, and the best of each message of small talk, `(n,)`.

    Examples of one hand are more alike than what others will say. So where small talk keeps a
    distance from them, one half is in the middle of that.
    """
    low, typical = DEFAULT_LOW, DEFAULT_TYPICAL
    if len(left_out) >= LEAST_LEFT_OUT:
        low, typical = np.quantile(left_out, [UNFAMILIAR, 0.5])
    unit = max(float(typical - low), 1e-6) / _TYPICAL
    strange = float(np.quantile(talk, STRANGE)) if len(talk) else float(low)
    return Scale((float(low) + min(float(low), strange)) / 2, unit)


def scale_of_strangers(best: NDArray[np.floating]) -> Scale:
    """From the best cosine that each message of small talk has with any card, `(n,)`."""
    middle, deviation = 0.04, 0.03
    if len(best):
        middle, deviation = float(np.median(best)), max(float(best.std()), 1e-6)
    return Scale(middle + CARD_HALF * deviation, deviation / CARD_SLOPE)


def left_out_scores(clouds: Clouds, examples: Sequence[Floats], groups: Sequence[Group]) -> Floats:
    """How familiar each example is to its capability's mean without it, `(n,)`.

    The best of the other capabilities isn't asked: of examples that a stranger to their own
    capability, few are close to another.
    """
    scores = [np.empty(0)]
    for own, one in zip(examples, groups, strict=True):
        # The mean without one of its vectors needs no second pass over the others.
        away = own - (one.weight * one.mean - own) / max(one.weight - 1, 1e-6)
        scores.append(-0.5 * squares(away, clouds.precision) - clouds.strange(own))
    return np.concatenate(scores)
