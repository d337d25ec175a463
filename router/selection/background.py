"""What arbitrary messages look like to an encoder: the yardstick of everything measured here.

Two short files of sentences, half Chinese and half English, written for this project: messages
that words alone answer, and messages that take a tool. Encoded once per encoder, they tell
where the middle of its space is, how far apart its two sides lie, how much any two messages
differ, and how well a capability fits messages that aren't for it.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from router.selection.encoder import Encoder, Vectors

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

    @cached_property
    def centre(self) -> Vectors:
        """The mean message, `(dimensions,)`."""
        mean: Vectors = self.queries.mean(axis=0)
        return mean

    @cached_property
    def document_centre(self) -> Vectors:
        """Where the mean message lands when it is encoded as a document, `(dimensions,)`."""
        shift: Vectors = (self.documents - self.queries[::EVERY]).mean(axis=0)
        return self.centre + shift

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
    )


def sentences(file: str) -> list[str]:
    """The lines of a file of this package that aren't comments.

    >>> "你好" in sentences("needs_no_tool.txt")
    True
    """
    lines = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
