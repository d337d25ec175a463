"""An encoder that needs no model: texts that share characters are near each other."""

from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np

from router.retrieval.encoders import Vectors, unit_rows

DIMENSIONS = 64


class HashingEncoder:
    """Counts pairs of characters into buckets. `router.retrieval.encoders.Encoder`."""

    name = "hashing"
    version = "1"
    dimensions: int | None = DIMENSIONS

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, of length one."""
        return unit_rows(np.array([_counts(text) for text in texts]).reshape(-1, DIMENSIONS))

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """The same."""
        return await self.queries(texts)


def _counts(text: str) -> list[float]:
    counts = [1e-3] * DIMENSIONS
    for pair in pairwise(text):
        counts[crc32("".join(pair).encode()) % DIMENSIONS] += 1
    return counts
