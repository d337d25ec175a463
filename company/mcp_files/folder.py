"""One folder, as a stranger may use it: texts read, saved and searched, and nothing outside it.

Paths are walked name by name, each opened below the folder before it, and no link is followed: no
moment is left between looking and opening at which a name could come to mean another.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LONGEST_PATH = 500
LONGEST_NAME = 200
"""Bytes, in a file system that takes 255: a temporary name is longer than the one it is for."""
DEEPEST = 12
LARGEST = 256 * 1024
PAGE = 16_000
MOST_FILES = 2000
MOST_HITS = 50
LONGEST_LINE = 200

_UNWANTED = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


class FolderRefused(Exception):
    """It can't be done; says what is wrong with which value, and what to do."""


@dataclass(frozen=True)
class TextPage:
    """A piece of a file's text; `next` is where to read on, None at its end."""

    path: str
    text: str
    size: int
    next: int | None


@dataclass(frozen=True)
class Hit:
    """A line that was found; `line` counts from 1, and is 0 where the file's name was found."""

    path: str
    line: int
    text: str


class ServedFolder:
    """The files below `root`; every method raises `FolderRefused` for what it doesn't do."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise FolderRefused(f"there is no folder {root}: make it, or name another")
        self._root = root.resolve()

    def read(self, path: str, offset: int = 0) -> TextPage:
        """A page of a text, from the character `offset` on."""
        text = self._text(path)
        if offset < 0 or offset > len(text):
            raise FolderRefused(f"{path} has {len(text)} characters: read from 0 to there")
        end = offset + PAGE
        return TextPage(path, text[offset:end], len(text), end if end < len(text) else None)

    def save(self, path: str, text: str, *, overwrite: bool = False) -> int:
        """Save a text, whole or not at all; gives its size in bytes."""
        content = _content(text)
        with self._parent(path, make=True) as (folder, name):
            with suppress(FileNotFoundError):
                there = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(there.st_mode):
                    raise FolderRefused(f"{path} is no plain file: choose another name")
                if not overwrite:
                    raise FolderRefused(
                        f"{path} is there already: choose another name, or overwrite it"
                    )
            _replace(folder, name, content, overwrite=overwrite)
        return len(content)

    def search(self, query: str) -> list[Hit]:
        """Lines and names that hold the words, whatever their case; at most 50."""
        wanted = query.strip().casefold()
        if not wanted or len(wanted) > LONGEST_LINE:
            raise FolderRefused(
                f"search for 1 to {LONGEST_LINE} characters, not for {query[:40]!r}"
            )
        found: list[Hit] = []
        for path in self._paths():
            found += self._hits(path, wanted)
            if len(found) >= MOST_HITS:
                break
        return found[:MOST_HITS]

    def _hits(self, path: str, wanted: str) -> Iterator[Hit]:
        if wanted in path.casefold():
            yield Hit(path, 0, path)
        try:
            lines = self._text(path).splitlines()
        except FolderRefused:
            return  # what can't be read as text has no lines to find
        for number, line in enumerate(lines, 1):
            if wanted in line.casefold():
                yield Hit(path, number, line.strip()[:LONGEST_LINE])

    def _paths(self) -> Iterator[str]:
        seen = 0
        for folder, folders, files in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                seen += 1
                if seen > MOST_FILES:
                    return
                path = (Path(folder) / name).relative_to(self._root).as_posix()
                if not _wrong(path):
                    yield path

    def _text(self, path: str) -> str:
        with self._parent(path) as (folder, name):
            raw = _bytes(folder, name, path)
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise FolderRefused(f"{path} is no text: only UTF-8 texts are read here")
        return text

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        wrong = _wrong(path)
        if wrong:
            raise FolderRefused(f"the path {path[:80]!r} {wrong}: write one like notes/plan.md")
        *folders, name = path.split("/")
        opened = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for folder in folders:
                below = _below(opened, folder, make=make)
                os.close(opened)
                opened = below
            yield opened, name
        finally:
            os.close(opened)


def _wrong(path: str) -> str | None:
    names = path.split("/")
    faults = {
        "is too long": len(path) > LONGEST_PATH or len(names) > DEEPEST,
        "has characters that no path needs": _UNWANTED.search(path) is not None,
        "leads out of the folder": path.startswith(("/", "~")) or ".." in names,
        "has an empty name": not all(name.strip() for name in names),
        "has a hidden name": any(name.startswith(".") for name in names),
        "has a name that is too long": any(
            len(name.encode(errors="replace")) > LONGEST_NAME for name in names
        ),
    }
    return next((what for what, is_so in faults.items() if is_so), None)


def _below(folder: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder)
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        raise FolderRefused(f"there is no folder {name!r} here: {error.strerror}") from None


def _bytes(folder: int, name: str, path: str) -> bytes:
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        opened = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise FolderRefused(
            f"{path} can't be read ({error.strerror}): search for it first"
        ) from None
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            raise FolderRefused(f"{path} is no plain file: only such are read")
        if about.st_size > LARGEST:
            raise FolderRefused(f"{path} is over {LARGEST // 1024} KiB: too large to be read here")
        with os.fdopen(opened, "rb", closefd=False) as file:
            return file.read(LARGEST)
    finally:
        os.close(opened)


def _content(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise FolderRefused("the text has halves of characters: save it as whole ones") from None
    if "\0" in text or len(content) > LARGEST:
        raise FolderRefused(
            f"only texts of up to {LARGEST // 1024} KiB, without NUL, are saved here"
        )
    return content


def _replace(folder: int, name: str, content: bytes, *, overwrite: bool) -> None:
    """Write beside it, then put it in its place at once: who reads never sees half of it."""
    draft = f".{name}.{secrets.token_hex(4)}"
    try:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
        if overwrite:
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise FolderRefused(f"{name} can't be saved: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
