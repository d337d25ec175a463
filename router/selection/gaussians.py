"""Capabilities as clouds of requests: which cloud is a message in, and is it in any?

Linear discriminant analysis: every capability is a Gaussian about the mean of its examples and
its card, all with one pooled, shrunk covariance (R. Fisher, 1936). It is fitted in closed form
from sums, so that a changed capability changes its own row alone. A message is *familiar* by
how much likelier its best cloud makes it than one wide cloud about everything: the relative
Mahalanobis distance of J. Ren et al., "A Simple Fix to Mahalanobis Distance for Improving
Near-OOD Detection", 2021. On CLINC150's development rows, 10 examples an intent, it tells
strange messages at an AUROC of 97.6, the largest logit of a logistic regression at 94.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from router.selection.background import Background
from router.selection.covariance import Floats, Group, pooled, shrunk, squares

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
