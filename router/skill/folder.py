"""What lies in a skill's folder beside its instructions: read once, and bounded.

Only ordinary files within the folder are taken in. A link is followed where it leads to one of
those; whatever else is there is left out and named, and keeps nobody from using the skill.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path

from router.documents.faults import Fault
from router.domain.errors import Problem
from router.domain.skill_files import SkillFile

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
class Folder:
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


def read_folder(root: Path) -> Folder:
    """The files beside the instructions in `root`; hidden ones are nobody's business."""
    found = Folder()
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
