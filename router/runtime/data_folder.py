"""The folder that keeps `temporal.db` and `router.db`, used by one `dev` at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from router.domain.errors import MisconfiguredError

LOCK = "dev.lock"
PATIENCE = 2.0
"""Seconds to wait for a predecessor that was killed a moment ago and is still being buried."""


@dataclass(frozen=True)
class DataFolder:
    """A folder that is ours. `lock` is an open file: whoever inherits it keeps the claim too."""

    path: Path
    lock: int

    @property
    def temporal_db(self) -> Path:
        """Where the embedded Temporal server keeps its state."""
        return self.path / "temporal.db"

    @property
    def temporal_log(self) -> Path:
        """What the embedded Temporal server had to say since it was last started."""
        return self.path / "temporal.log"


@contextmanager
def claimed(path: Path, patience: float = PATIENCE) -> Iterator[DataFolder]:
    """Make the folder where there is none, and hold it; `MisconfiguredError` where another does."""
    try:
        lock = os.open(made(path) / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        deadline = time.monotonic() + patience
        while not _held(lock):
            if time.monotonic() > deadline:
                holder = os.pread(lock, 20, 0).decode() or "unknown"
                raise MisconfiguredError(
                    f"the data folder {path} is in use by process {holder}: "
                    "stop that one, or choose another folder with --data"
                )
            time.sleep(0.05)
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        yield DataFolder(path.resolve(), lock)
    finally:
        os.close(lock)


def _held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def made(path: Path) -> Path:
    """The folder, made where there is none. Raises `MisconfiguredError`: it can't be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def _unwritable(path: Path, error: OSError) -> MisconfiguredError:
    # The system's own word for a file in a folder's place is that it exists.
    why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
    return MisconfiguredError(
        f"the data folder {path} can't be written ({why}): choose another with --data"
    )
