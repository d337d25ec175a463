"""An encoder that encodes no text twice, whatever it is that remembers."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol, TypeVar

import numpy as np

from router.selection.encoder import Encoder, Vectors, well_formed

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


class Memory(Protocol):
    """Where vectors are kept: `VectorFile` for good, `RecentVectors` for a while."""

    blocks: bool
    """Whether it may wait for a disk, and is therefore asked on another thread."""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """The vectors there are, by key."""

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these."""


class RecentVectors:
    """The last vectors, in this process only: what people write is nowhere on disk.

    Args:
        most: How many are kept; those used longest ago are forgotten first.
    """

    blocks = False

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors there are, by key."""
        found = {key: self._kept[key] for key in keys if key in self._kept}
        for key in found:
            self._kept.move_to_end(key)
        return found

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these, and forget the oldest."""
        self._kept.update(vectors)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


class RememberedEncoder:
    """An encoder with a memory in front of it. `router.selection.encoder.Encoder`.

    A vector is known by the encoder's name and version, by the side that the text is on, and
    by the text: another model or a changed text finds nothing, and is encoded.
    """

    def __init__(self, encoder: Encoder, memory: Memory) -> None:
        self._encoder = encoder
        self._memory = memory

    @property
    def name(self) -> str:
        """The name of the encoder behind."""
        return self._encoder.name

    @property
    def version(self) -> str:
        """The version of the encoder behind."""
        return self._encoder.version

    @property
    def dimensions(self) -> int | None:
        """How long a vector is, as the encoder behind knows it."""
        return self._encoder.dimensions

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks, remembered or new."""
        return await self._vectors(texts, "query", self._encoder.queries)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer, remembered or new."""
        return await self._vectors(texts, "document", self._encoder.documents)

    async def _vectors(
        self, texts: Sequence[str], side: str, encode: Callable[[Sequence[str]], Awaitable[Vectors]]
    ) -> Vectors:
        keys = [self._key(side, text) for text in texts]
        known = dict(await self._asked(self._memory.recall, keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            new = dict(zip(missing, await encode(list(missing.values())), strict=True))
            await self._asked(self._memory.keep, new)
            known |= new
        if not keys:
            return np.empty((0, self.dimensions or 0), np.float32)
        return np.stack([known[key] for key in keys])

    async def _asked(self, ask: Callable[[Argument], Answer], argument: Argument) -> Answer:
        return await asyncio.to_thread(ask, argument) if self._memory.blocks else ask(argument)

    def _key(self, side: str, text: str) -> bytes:
        written = "\0".join((self.name, self.version, side, well_formed(text)))
        return blake2b(written.encode(), digest_size=16).digest()
