"""What turns text into vectors, as the rest of the room sees it.

There are two ways to encode because most retrieval models are trained on pairs: a request is
written one way, what it looks for another. Comparing a request with another request (an
example sentence, say) takes `queries` on both sides.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Rows of unit length, so that a dot product is a cosine."""

_SMALLEST = 1e-12


class Encoder(Protocol):
    """Text to vectors: the embedded model, sentence-transformers, or an embeddings server.

    Both ways answer one unit row per text, in the order of the texts, shape `(n, dimensions)`,
    without holding up the event loop. Both raise `router.domain.errors.Unavailable` where the
    model can't be had just now, and `MisconfiguredError` where it never will.
    """

    @property
    def name(self) -> str:
        """Which encoder this is, as the setting names it."""

    @property
    def version(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def dimensions(self) -> int | None:
        """How long a vector is; None until the first one has told."""

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks."""

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer."""


def unit_rows(matrix: NDArray[np.floating]) -> Vectors:
    """The rows scaled to length one, as float32; a row of zeros stays one.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Vectors = (matrix / np.maximum(lengths, _SMALLEST)).astype(np.float32)
    return unit


def well_formed(text: str) -> str:
    r"""The text with lone surrogates, which UTF-8 can't write, replaced by question marks.

    >>> well_formed("年假 \ud83d")
    '年假 ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
