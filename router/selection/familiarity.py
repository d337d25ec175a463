"""From a score to a probability that the message is for this capability at all.

Where there are examples they say themselves how they score when they are left out of their own
capability's mean. Where there are none, all that is known is how arbitrary messages score.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from router.selection.covariance import Floats, Group
from router.selection.gaussians import Clouds

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
