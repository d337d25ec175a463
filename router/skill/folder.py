"""What lies in a skill's folder: files beside its instructions, read once, bounded, listed.

What lies in a skill's folder beside its instructions: read once, and bounded.

Only ordinary files within the folder are taken in. A link is followed where it leads to one of
those; whatever else is there is left out and named, and keeps nobody from using the skill.

Links from a skill's instructions to files beside them.

The files of a skill, as its model is told of them.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

from router.domain.errors import Fault, Problem, nearest
from router.domain.file_types import SkillFile

INSTRUCTIONS = ("SKILL.md", "skill.md")
"""The file that makes a folder a skill; the first that is there."""
MOST_FILES = 200
LARGEST_FILE = 1024 * 1024
LARGEST_FOLDER = 8 * 1024 * 1024
LONGEST_PATH = 120
"""Bytes: with these bounds the list of a skill's files takes 50 KiB of a workflow's input."""

_LOOKED_AT = 5_000
"""Entries of a folder: whoever has more there has put it in the wrong place."""
_NOT_OURS = frozenset({"__pycache__", "node_modules"})
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not through a link that has just been put there, and not waiting at the end of a pipe."""


@dataclass
class SkillFolder:
    """The files of a skill in the order of their paths, what is in them, and what was left out."""

    files: list[SkillFile] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    """By digest."""
    flaws: list[Problem] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    def take(self, path: str, content: bytes) -> None:
        """Take in one more file."""
        digest = sha256(content).hexdigest()
        self.files.append(SkillFile(path=path, size=len(content), digest=digest))
        self.contents[digest] = content

    def leave(self, place: Path, fault: Fault) -> None:
        """Note why something isn't taken in."""
        name = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(place))
        self.flaws.append(Problem(name, 1, fault.what, fault.remedy))


class _LeftOut(Exception):
    """A file that isn't taken in."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.fault = Fault(what, remedy)


def read_folder(root: Path) -> SkillFolder:
    """The files beside the instructions in `root`; hidden ones are nobody's business."""
    found = SkillFolder()
    paths = entries(root)
    for place in paths:
        path = place.relative_to(root).as_posix()
        if len(found.files) >= MOST_FILES:
            remedy = f"keep at most {MOST_FILES}; those after {found.files[-1].path} are left out"
            found.leave(root, Fault(f"there are {len(paths)} files", remedy))
            break
        try:
            _check_name(path)
            found.take(path, _content(root, place, LARGEST_FOLDER - found.size))
        except _LeftOut as left:
            found.leave(place, left.fault)
    return found


def entries(root: Path) -> list[Path]:
    """What may be a file of the skill, as far as anybody looks."""
    return sorted(islice(_paths(root), _LOOKED_AT))


def _paths(root: Path) -> Iterator[Path]:
    """What may be a file, links among them; no link to a folder is gone through."""
    for here, folders, names in os.walk(root, followlinks=False):
        inside = Path(here)
        folders[:] = sorted(name for name in folders if _is_ours(name))
        links = (name for name in folders if (inside / name).is_symlink())
        own = INSTRUCTIONS if inside == root else ()
        yield from (inside / name for name in (*names, *links) if _is_ours(name, own))


def _is_ours(name: str, but: tuple[str, ...] = ()) -> bool:
    return not name.startswith(".") and name not in _NOT_OURS and name not in but


def _check_name(path: str) -> None:
    if "\\" in path or not path.isprintable():
        raise _LeftOut("its name can't be written in a path", "rename it; it is left out")
    if len(path.encode()) > LONGEST_PATH:
        raise _LeftOut(f"its path is over {LONGEST_PATH} bytes", "shorten it; it is left out")


def _content(root: Path, place: Path, room: int) -> bytes:
    """What is in the file, which a link may lead to from another place in the folder."""
    try:
        real = _within(root, place) if place.is_symlink() else place
        file = os.open(real, _FLAGS)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise _LeftOut("it is no ordinary file", "take it out; it is left out")
            content = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise _LeftOut(f"it can't be read: {error.strerror}", "it is left out") from None
    if len(content) > LARGEST_FILE:
        raise _LeftOut("it is over 1 MiB", "split it or make it less; it is left out")
    if len(content) > room:
        raise _LeftOut("with it the folder is over 8 MiB", "make it less; it is left out")
    return content


def _within(root: Path, link: Path) -> Path:
    real = Path(os.path.realpath(link, strict=True))
    if not real.is_relative_to(root.resolve()):
        raise _LeftOut("it links out of the folder", "put a copy in its place; it is left out")
    if real.is_dir():
        raise _LeftOut("it links to a folder", "put its files in its place; it is left out")
    return real


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE = re.compile(r"\]\(\s*(?:<([^<>]*)>|([^\s()<>]*))(?:\s+[\"'(][^)]*)?\s*\)")
_DEFINED = re.compile(r" {0,3}\[[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))")
_LONGEST_LINE = 5_000
"""Characters of a line that are searched: what is made to take long takes their square."""
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|/|\{")
"""What begins so is an address, a heading of the same text, or a place to fill in."""


def broken_links(body: str, paths: Collection[str]) -> Iterator[tuple[int, Fault]]:
    """Links to none of `paths` and to no folder of them, with the body's line, from 1.

    >>> list(broken_links("See [the limits](references/limit.md).", ["references/limits.md"]))
    [(1, Fault(what='it links to references/limit.md, which is not there', \
remedy='did you mean references/limits.md?'))]
    """
    there = {part for path in paths for part in _with_folders(path)}
    for number, line in _prose(body):
        for target in _targets(line):
            if (path := _path(target)) and path not in there:
                remedy = nearest(path, there) or "add the file, or take the link out"
                yield number, Fault(f"it links to {path}, which is not there", remedy)


def _prose(body: str) -> Iterator[tuple[int, str]]:
    """The lines that aren't code, without the code within them."""
    fence = ""
    for number, whole in enumerate(body.splitlines(), start=1):
        line = whole[:_LONGEST_LINE]
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield number, _CODE.sub("", line)


def _targets(line: str) -> Iterator[str]:
    for pattern in (_INLINE, _DEFINED):
        yield from (found[1] or found[2] or "" for found in pattern.finditer(line))


def _path(target: str) -> str:
    """The path that a link names; empty where it leads elsewhere."""
    if _ELSEWHERE.match(target):
        return ""
    path = unquote(re.split(r"[?#]", target, maxsplit=1)[0])
    return normpath(path) if path else ""


def _with_folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
