"""What scores are usual, so that scores of different kinds can be added and compared."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
