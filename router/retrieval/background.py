"""What arbitrary messages look like to an encoder: the yardstick of everything measured here.

Two short files of sentences, half Chinese and half English, written for this project: messages
that words alone answer, and messages that take a tool. Encoded once per encoder, they tell
where the middle of its space is, how far apart its two sides lie, how much any two messages
differ, and how well a capability fits messages that aren't for it.
"""

import re
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
        return self._tongueless(queries - self._centre)

    def document_points(self, documents: Vectors) -> Floats:
        """Encoded cards, on the same scale."""
        return self._tongueless(documents - self._document_centre)

    @cached_property
    def around(self) -> Floats:
        """The sentences themselves as points, `(n, dimensions)`."""
        return self.points(self.queries)

    @cached_property
    def _centre(self) -> Vectors:
        mean: Vectors = self.queries.mean(axis=0)
        return mean

    @cached_property
    def _document_centre(self) -> Vectors:
        """Where the mean message lands when it is encoded as a document."""
        shift: Vectors = (self.documents - self.queries[::EVERY]).mean(axis=0)
        return self._centre + shift

    @cached_property
    def _tongue(self) -> Floats:
        """The direction in which Chinese and English lie apart, of length one or zero."""
        apart = np.zeros(self.queries.shape[1])
        if 0 < self.chinese.sum() < len(self.chinese):
            means = (
                self.queries[self.chinese].mean(axis=0),
                self.queries[~self.chinese].mean(axis=0),
            )
            apart = np.asarray(means[0] - means[1], np.float64)
        return apart / max(float(np.linalg.norm(apart)), 1e-12)

    def _tongueless(self, points: Vectors) -> Floats:
        exact = np.asarray(points, np.float64)
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
    """The lines of a file of this package that aren't comments.

    >>> "你好" in sentences("needs_no_tool.txt")
    True
    """
    lines = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
