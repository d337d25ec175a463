"""Encoders small enough for tests: vectors of hashed character pairs, and one that breaks."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from router.domain.errors import Unavailable
from router.retrieval.encoders import Vectors, unit_rows

SIZE = 128


class PairsEncoder:
    """Texts that share pairs of characters get vectors that are close. Counts what it encodes."""

    name = "pairs"
    dimensions = SIZE

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.encoded: list[str] = []
        self.broken = False

    async def queries(self, texts: Sequence[str]) -> Vectors:
        return self._rows(texts, "q")

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return self._rows(texts, "d")

    def _rows(self, texts: Sequence[str], side: str) -> Vectors:
        if self.broken:
            raise Unavailable("the encoder is out of reach; try again later")
        self.encoded.extend(texts)
        rows = np.full((len(texts), SIZE), 0.02)
        for row, text in zip(rows, texts, strict=True):
            row[0 if side == "q" else 1] += 0.5
            for one, other in zip(text.lower(), text.lower()[1:], strict=False):
                row[2 + crc32((one + other).encode("utf-8", "replace")) % (SIZE - 2)] += 1
        return unit_rows(rows)
