"""Capabilities as clouds of requests: which cloud is a message in, and is it in any?

Linear discriminant analysis: every capability is a Gaussian about the mean of its examples and
its card, all with one pooled, shrunk covariance (R. Fisher, 1936). It is fitted in closed form
from sums, so that a changed capability changes its own row alone. A message is *familiar* by
how much likelier its best cloud makes it than one wide cloud about everything: the relative
Mahalanobis distance of J. Ren et al., "A Simple Fix to Mahalanobis Distance for Improving
Near-OOD Detection", 2021. On CLINC150's development rows, 10 examples an intent, it tells
strange messages at an AUROC of 97.6, the largest logit of a logistic regression at 94.8.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from router.selection.background import Background
from router.selection.covariance import Floats, Group, group, shrunk, squares

SHRINK = 0.7
"""Of the pooled covariance. Between 0.5 and 0.8 neither ToolE's nor CLINC150's development
figures move by half a point; where vectors are few, it is more."""

SHRINK_ALL = 0.3
"""Of the covariance of everything."""

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


def fitted_clouds(groups: Iterable[Group], examples: Group, background: Background) -> Clouds:
    """Fit to capabilities' `groups`; `examples` is all of their examples as one group."""
    around = np.asarray(background.queries - background.centre, np.float64)
    prior = WITHIN * float(np.mean(around**2))
    scatter, freedom = np.zeros((around.shape[1],) * 2), 0.0
    for one in groups:
        scatter, freedom = scatter + one.scatter, freedom + one.freedom
    size = len(scatter)
    within = (scatter + PRIOR * prior * np.eye(size)) / (freedom + PRIOR)
    everything = _joined(group(around, np.ones(len(around))), examples)
    return Clouds(
        precision=_inverse(shrunk(within, max(SHRINK, size / (size + freedom)))),
        precision_all=_inverse(shrunk(everything.scatter / everything.weight, SHRINK_ALL)),
        centre_all=everything.mean,
    )


def _joined(one: Group, other: Group) -> Group:
    """Both groups as one, about their common mean."""
    weight = one.weight + other.weight
    gap = one.mean - other.mean
    between = one.weight * other.weight / weight * np.outer(gap, gap)
    return Group(
        weight=weight,
        total=one.total + other.total,
        scatter=one.scatter + other.scatter + between,
        freedom=one.freedom + other.freedom + 1,
    )


def _inverse(covariance: Floats) -> Floats:
    return np.asarray(np.linalg.inv(covariance), np.float64)
