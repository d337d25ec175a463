"""What passages mean, as vectors: found by who asks in words that no policy uses."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from activities.policies.passages import Passage
from router.domain.texts import Locale
from router.selection.background import Background
from router.selection.encoder import Encoder, Vectors

STRANGERS = 92.5
"""Percent of messages that no policy is about have no passage as near as this, in each language.
Measured on questions of both sides: at 90 small talk begins to be answered with policies, at 95
a tenth of what is found beyond the words is lost."""


class Meaning:
    """The vectors of some passages, and how near to them messages are that aren't for them."""

    def __init__(self, headings: Vectors, wholes: Vectors, background: Background) -> None:
        self._headings = headings
        self._wholes = wholes
        self._strange = {
            "zh": self._usual(background, background.chinese),
            "en": self._usual(background, ~background.chinese),
        }

    @classmethod
    async def of(
        cls, passages: Sequence[Passage], encoder: Encoder, background: Background
    ) -> "Meaning":
        """Encode the passages, each as a whole and by its heading; raises as the encoder does."""
        headings = await encoder.documents([f"{p.policy}: {p.heading}" for p in passages])
        wholes = [f"{p.policy}\n{p.heading}\n{p.text}" for p in passages]
        return cls(headings, await encoder.documents(wholes), background)

    def nearness(self, question: Vectors) -> NDArray[np.float32]:
        """By passage, how near it is to a question's vector: a mean of two cosines."""
        both = (self._headings @ question + self._wholes @ question) / 2
        return np.asarray(both, np.float32)

    def is_meant(self, near: NDArray[np.float32], asked: Locale) -> bool:
        """True where a passage is nearer than strangers' messages in that language come."""
        return bool(near.max() >= self._strange[asked])

    def _usual(self, background: Background, spoken: NDArray[np.bool_]) -> float:
        strangers = background.queries[spoken & ~background.needs_tool]
        nearest = [float(self.nearness(message).max()) for message in strangers]
        return float(np.percentile(nearest, STRANGERS)) if nearest else 1.0
