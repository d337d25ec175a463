"""The folder that keeps `temporal.db` and `router.db`, used by one `dev` at a time.

Other commands find in it where that `dev` serves.
"""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from router.domain.errors import MisconfiguredError

LOCK = "dev.lock"
SERVED = "dev.json"
ADMISSION = "dev.token"
TOKEN_BYTES = 32
PRIVATE = 0o700
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


LOOKING = fcntl.LOCK_SH


def _held(lock: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True)
class ServedPorts:
    """Where a `dev` that runs serves, all of it on loopback: no file can name another host."""

    api: int
    temporal: int
    ui: int
    metrics: int | None = None


@dataclass(frozen=True)
class Announcement:
    """What the file says: who serves, and where."""

    pid: int
    ports: ServedPorts


_ANNOUNCEMENT = TypeAdapter(Announcement)


@contextmanager
def announced(folder: DataFolder, ports: ServedPorts) -> Iterator[None]:
    """Let other commands find these ports in the folder while within."""
    file = folder.path / SERVED
    fresh = file.with_name(f"{SERVED}.{os.getpid()}")
    try:
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "wb") as written:
            written.write(_ANNOUNCEMENT.dump_json(Announcement(os.getpid(), ports)))
        fresh.replace(file)
    except OSError as error:
        raise _unwritable(folder.path, error) from None
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def served(path: Path) -> ServedPorts | None:
    """Where the `dev` on this folder serves; None where none does, or its file isn't ours.

    What a `dev` left behind that was killed is known by its lock, which is gone with it.
    """
    try:
        with (path / LOCK).open("rb") as lock, (path / SERVED).open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid() or _held(lock.fileno(), LOOKING):
                return None
            found = _ANNOUNCEMENT.validate_json(file.read())
            return found.ports if str(found.pid).encode() == lock.read(20) else None
    except (OSError, ValidationError):  # nobody has served here, or it is no file of ours
        return None


def made(path: Path) -> Path:
    """The folder, made where there is none, and open to its owner alone.

    Raises `MisconfiguredError`: it can't be made. One that all may write into, such as `/tmp`, or
    that is somebody else's, stays as it is.
    """
    try:
        path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        found = path.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
            path.chmod(PRIVATE)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def page_token(path: Path) -> str:
    """What a browser has to show once, made at the first time and kept in the folder.

    Raises `MisconfiguredError`: it can't be written, or isn't what was.
    """
    file = made(path) / ADMISSION
    fresh = file.with_name(f"{ADMISSION}.{os.getpid()}")
    try:
        if not file.exists():
            opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(opened, "w") as written:
                written.write(secrets.token_urlsafe(TOKEN_BYTES))
            with suppress(FileExistsError):  # another was first
                os.link(fresh, file)
            fresh.unlink()
        token = file.read_text(errors="replace").strip()
    except OSError as error:
        raise _unwritable(path, error) from None
    if len(token) < TOKEN_BYTES:
        raise MisconfiguredError(f"{file} is damaged: delete it, and start again for a new token")
    return token


def _unwritable(path: Path, error: OSError) -> MisconfiguredError:
    # The system's own word for a file in a folder's place is that it exists.
    why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
    return MisconfiguredError(
        f"the data folder {path} can't be written ({why}): choose another with --data"
    )
