"""From scores to probabilities: is it for this capability, and does it take a tool at all?

Capabilities are clouds of requests: Gaussians about the means of their examples and cards, with
one pooled, shrunk covariance (R. Fisher, 1936), fitted in closed form from sums, so that a
changed capability changes its own row alone. A message is *familiar* by how much likelier its
best cloud makes it than one wide cloud about everything: the relative Mahalanobis distance of
J. Ren et al., "A Simple Fix to Mahalanobis Distance for Improving Near-OOD Detection", 2021. On
CLINC150's development rows, 10 examples an intent, it tells strange messages at an AUROC of
97.6, the largest logit of a logistic regression at 94.8.

Where there are examples they say themselves how they score when they are left out of their own
capability's mean. Where there are none, all that is known is how arbitrary messages score.

Whether a message takes a tool is a logistic regression's to say, trained on the background's
sentences (words alone against tools) and on the capabilities' own examples. On development rows
the background alone tells CLINC150's small talk from its errands at an AUROC of 93.8; with
examples 94.7, and 98.8 against ToolE's requests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from router.retrieval.background import Background
from router.retrieval.statistics import Floats, Group, pooled, shrunk, squares

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
    """One fit. All vectors are centred where `Background.centre` is."""

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


@dataclass(frozen=True)
class Gate:
    """One fit."""

    weights: Floats
    bias: float

    def needs_tool(self, vector: Floats) -> float:
        """The probability, 0 to 1, for a message's vector centred on the background."""
        return float(1 / (1 + np.exp(-np.clip(vector @ self.weights + self.bias, -30, 30))))


def fitted_gate(background: Background, examples: Floats) -> Gate:
    """Fit to the background and to examples `(n, dimensions)`, centred on it."""
    spread = np.linspace(0, len(examples) - 1, min(len(examples), MOST_EXAMPLES)).astype(int)
    vectors = np.concatenate([background.around, examples[spread]])
    needing = np.concatenate([background.needs_tool, np.ones(len(spread))]).astype(np.float64)
    return _newton(np.hstack([vectors, np.ones((len(vectors), 1))]), needing)


def _newton(vectors: Floats, wanted: Floats) -> Gate:
    """Newton's method, with as much said by each side, however many are on it."""
    size = vectors.shape[1]
    sides = np.where(wanted > 0, 0.5 / max(wanted.sum(), 1), 0.5 / max((1 - wanted).sum(), 1))
    ridge = RIDGE * np.eye(size)
    ridge[-1, -1] = 1e-9
    weights = np.zeros(size)
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(vectors @ weights, -30, 30)))
        slope = vectors.T @ (sides * (chance - wanted)) + ridge @ weights
        curve = (vectors * (sides * np.maximum(chance * (1 - chance), 1e-6))[:, None]).T @ vectors
        weights = weights - np.linalg.solve(curve + ridge, slope)
    return Gate(weights[:-1], float(weights[-1]))


LEAST_LEFT_OUT = 8
"""Fewer examples than this say too little about how examples score."""

UNFAMILIAR = 0.05
"""The share of left-out examples that score at or below one half."""

_TYPICAL = 3.0
"""The log-odds of the median left-out example: 95 %."""

DEFAULT_LOW, DEFAULT_TYPICAL = -95.0, -57.0
"""Left-out scores on ToolE with two examples a tool: for want of examples to measure."""

STRANGERS = 0.75
"""The share of arbitrary messages whose best card scores at or below one half."""


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


def scale_of_examples(left_out: Floats) -> Scale:
    """From the scores of left-out examples, `(n,)`."""
    low, typical = DEFAULT_LOW, DEFAULT_TYPICAL
    if len(left_out) >= LEAST_LEFT_OUT:
        low, typical = np.quantile(left_out, [UNFAMILIAR, 0.5])
    return Scale(float(low), max(float(typical - low), 1e-6) / _TYPICAL)


def scale_of_strangers(best: Floats) -> Scale:
    """From the best cosine that each of the background's messages has with any card, `(n,)`."""
    half, typical = np.quantile(best, [STRANGERS, 0.5]) if len(best) else (0.85, 0.8)
    return Scale(float(half), max(float(half - typical), 1e-6) / _TYPICAL)


def left_out_scores(clouds: Clouds, examples: Sequence[Floats], groups: Sequence[Group]) -> Floats:
    """How familiar each example is to its capability's mean without it, `(n,)`.

    The best of the other capabilities isn't asked: of examples that a stranger to their own
    capability, few are close to another.
    """
    scores = [
        _left_out(clouds, own, one) for own, one in zip(examples, groups, strict=True) if len(own)
    ]
    return np.concatenate(scores) if scores else np.empty(0)


def _left_out(clouds: Clouds, own: Floats, one: Group) -> Floats:
    """The mean without one of its vectors needs no second pass over the others."""
    others = (one.weight * one.mean - own) / max(one.weight - 1, 1e-6)
    away = own - others
    apart: Floats = -0.5 * np.einsum("nd,nd->n", away @ clouds.precision, away)
    return apart - clouds.strange(own)
