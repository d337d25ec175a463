"""Vectors kept on disk, so that a text is encoded once in the life of an encoder.

One SQLite file in WAL mode: a process that is killed leaves it whole, and several processes
may share it. What it holds can be computed again, so nothing that happens to it is ever an
error: a file that is damaged is put aside, a disk that is full costs the time of encoding.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from router.selection.encoder import Vectors

BUSY_SECONDS = 5
_AT_ONCE = 500
"""SQLite takes a bounded number of values in one statement."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"

_log = logging.getLogger(__name__)


class VectorFile:
    """A map from digests to vectors, in a file. `router.selection.remembered.Memory`."""

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
                self._path.parent.mkdir(parents=True, exist_ok=True)
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
