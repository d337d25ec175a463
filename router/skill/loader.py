"""Skill folders into skills: read once, bounded, checked whole, refused with everything at fault.

Beside the instructions only ordinary files within the folder are taken in. A link is followed where
it leads to one of those; whatever else is there is left out and named, and keeps nobody from using
the skill. What is edited counts within seconds.
"""

import logging
import os
import re
import stat
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from itertools import islice
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote

from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.domain.file_types import SkillFile
from router.formats.watcher import SECONDS, Watcher, changes
from router.formats.yaml_document import Unreadable, YamlDocument, read_text, read_yaml
from router.skill.front_matter import OF_OTHERS, read_head
from router.skill.skill import Skill, SkillCatalog

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

    def leave(self, place: Path, what: str, remedy: str) -> None:
        """Note why something isn't taken in."""
        name = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(place))
        self.flaws.append(Problem(name, 1, what, remedy))


class _LeftOut(Exception):
    """A file that isn't taken in, with what is wrong and what would be right."""


def read_folder(root: Path) -> SkillFolder:
    """The files beside the instructions in `root`; hidden ones are nobody's business."""
    found = SkillFolder()
    paths = entries(root)
    for place in paths:
        path = place.relative_to(root).as_posix()
        if len(found.files) >= MOST_FILES:
            remedy = f"keep at most {MOST_FILES}; those after {found.files[-1].path} are left out"
            found.leave(root, f"there are {len(paths)} files", remedy)
            break
        try:
            found.take(path, _content(root, place, path, LARGEST_FOLDER - found.size))
        except OSError as error:
            found.leave(place, f"it can't be read: {error.strerror}", "it is left out")
        except _LeftOut as left:
            what, remedy = left.args
            found.leave(place, what, f"{remedy}; it is left out")
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


def _content(root: Path, place: Path, path: str, room: int) -> bytes:
    """What is in the file, which a link may lead to from another place in the folder."""
    if "\\" in path or not path.isprintable():
        raise _LeftOut("its name can't be written in a path", "rename it")
    if len(path.encode()) > LONGEST_PATH:
        raise _LeftOut(f"its path is over {LONGEST_PATH} bytes", "shorten it")
    real = place
    if place.is_symlink():
        real = Path(os.path.realpath(place, strict=True))
        if not real.is_relative_to(root.resolve()):
            raise _LeftOut("it links out of the folder", "put a copy in its place")
        if real.is_dir():
            raise _LeftOut("it links to a folder", "put its files in its place")
    file = os.open(real, _FLAGS)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise _LeftOut("it is no ordinary file", "take it out")
        content = opened.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise _LeftOut("it is over 1 MiB", "split it or make it less")
    if len(content) > room:
        raise _LeftOut("with it the folder is over 8 MiB", "make it less")
    return content


_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE = re.compile(r"\]\(\s*(?:<([^<>]*)>|([^\s()<>]*))(?:\s+[\"'(][^)]*)?\s*\)")
_DEFINED = re.compile(r" {0,3}\[[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))")
_LONGEST_LINE = 5_000
"""Characters of a line that are searched: what is made to take long takes their square."""
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|/|\{")
"""What begins so is an address, a heading of the same text, or a place to fill in."""


def broken_links(body: str, paths: Collection[str]) -> Iterator[tuple[int, Fault]]:
    """Links to none of `paths` and to no folder of them, with the body's line, from 1."""
    parts = (path.split("/") for path in paths)
    there = {"/".join(each[:count]) for each in parts for count in range(1, len(each) + 1)}
    for number, line in _prose(body):
        for found in (*_INLINE.finditer(line), *_DEFINED.finditer(line)):
            target = found[1] or found[2] or ""
            path = "" if _ELSEWHERE.match(target) else unquote(re.split(r"[?#]", target)[0])
            if path and (path := normpath(path)) not in there:
                remedy = nearest(path, there) or "add the file, or take the link out"
                yield number, Fault(f"it links to {path}, which is not there", remedy)


def _prose(body: str) -> Iterator[tuple[int, str]]:
    """The lines that aren't code, without the code within them."""
    fence = ""
    for number, whole in enumerate(body.splitlines(), start=1):
        line = whole[:_LONGEST_LINE]
        mark = _CODE_FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield number, _CODE.sub("", line)


LARGEST = 64 * 1024
"""Bytes. The instructions travel in every call of the model; what is long belongs into
`references/`."""

_FENCE = "---"
_ABOVE_HEAD = 1


class FoundSkill(NamedTuple):
    """One skill as it was found: `contents` by digest, `flaws` that don't hinder its use.

    `file` holds the instructions, which begin on line `begins`; `lines` says on which line each
    key of the head stands.
    """

    skill: Skill
    contents: Mapping[str, bytes]
    flaws: list[Problem]
    file: Path
    begins: int
    lines: Mapping[str, int]


@dataclass(frozen=True)
class LoadedSkills:
    """The skills of some places, and what is in the files beside them, by digest."""

    found: list[FoundSkill] = field(default_factory=list)

    @property
    def catalog(self) -> SkillCatalog:
        """The skills alone."""
        return SkillCatalog(one.skill for one in self.found)

    @property
    def contents(self) -> dict[str, bytes]:
        """What all their files hold."""
        return {digest: held for one in self.found for digest, held in one.contents.items()}

    @property
    def flaws(self) -> list[Problem]:
        """What is wrong and keeps none of them from being used."""
        return [flaw for one in self.found for flaw in one.flaws]


def read_skill(folder: Path) -> FoundSkill:
    """The skill in a folder, with its files; raises `DefinitionError` with every problem."""
    path = instructions_in(folder)
    try:
        text = read_text(path, LARGEST, "move what is long into references/")
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None
    # The folder's own name, not that of where a link leads; of `.` the one that it stands for.
    name = folder.name if folder.name not in {"", ".."} else folder.resolve().name
    return _skill_of(path, text, name, read_folder(folder))


def skill_in_text(path: Path, text: str) -> FoundSkill:
    """The skill of instructions that stand in no folder, and have no files beside them.

    `path` is what its problems are said of: `…/<the skill's name>/SKILL.md`.
    """
    if len(text.encode()) > LARGEST:
        what = f"it is over {LARGEST // 1024} KiB"
        raise DefinitionError([Problem(str(path), 1, what, "say it in fewer words")])
    return _skill_of(path, text, path.parent.name, SkillFolder())


def _skill_of(path: Path, text: str, name: str, beside: SkillFolder) -> FoundSkill:
    try:
        written, instructions, begins = _parts(text)
        document = _document(written)
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None
    head = read_head(document.data, name)
    faults = [*document.faults, *((document.line(p), fault) for p, fault in head.complaints)]
    flaws = [(document.line(p) + _ABOVE_HEAD, fault) for p, fault in head.flaws]
    if not instructions:
        fault = Fault("there are no instructions", "write them below the second ---")
        flaws.append((begins - 1, fault))
    there = [path.name, *(file.path for file in beside.files)]
    flaws += [(begins + n - 1, fault) for n, fault in broken_links(instructions, there)]
    lacking = [*(Problem(str(path), n, *fault) for n, fault in flaws), *beside.flaws]
    if faults:
        ordered = sorted(dict.fromkeys(faults), key=lambda each: each[0])
        refused = [Problem(str(path), n + _ABOVE_HEAD, *fault) for n, fault in ordered]
        raise DefinitionError([*refused, *lacking])
    # The format allows a skill without instructions: what it is for is all there is to go by.
    skill = head.skill(instructions or str(document.data["description"]))
    skill = skill.replace(files=tuple(beside.files))
    lines = {key: document.line((key,)) + _ABOVE_HEAD for key in document.data}
    return FoundSkill(skill, beside.contents, lacking, path, begins, lines)


def load_all(places: Iterable[Path]) -> LoadedSkills:
    """The skills of several places, each a skill's own folder or a folder of such.

    Raises `DefinitionError` with every problem, also where two share a name or a place has none.
    """
    names: dict[str, Path] = {}
    found: list[FoundSkill] = []
    problems: list[Problem] = []
    for folder in dict.fromkeys(each for place in places for each in _folders(place)):
        try:
            one = read_skill(folder)
        except DefinitionError as error:
            problems += error.problems
            continue
        other = names.setdefault(one.skill.name, folder)
        if other != folder:
            what = f"there is a skill {one.skill.name} in {other} already"
            problems.append(Problem(str(one.file), 1, what, "rename one"))
        found.append(one)
    loaded = LoadedSkills(found)
    problems += circle_problems(found)
    if problems:
        raise DefinitionError([*problems, *loaded.flaws])
    return loaded


def circle_problems(found: Sequence[FoundSkill]) -> Iterator[Problem]:
    """Skills that hand a part of their work to one that may hand it back to them."""
    hands_to = {one.skill.name: one.skill.hands_to for one in found}
    try:
        TopologicalSorter(hands_to).prepare()
    except CycleError as error:
        *circle, last = error.args[1]
        one = next(one for one in found if one.skill.name == last)
        what = f"router.hands-to leads in a circle: {' ▸ '.join([last, *reversed(circle)])}"
        line = one.lines.get("metadata", 1)
        yield Problem(str(one.file), line, what, "take one of them out")


def folders_in(place: Path) -> list[Path]:
    """The skills' own folders in a folder of them, by name."""
    return sorted({file.parent for name in INSTRUCTIONS for file in place.glob(f"*/{name}")})


def instructions_in(folder: Path) -> Path:
    """The file that holds the instructions; `SKILL.md` where there is none."""
    there = (folder / name for name in INSTRUCTIONS)
    return next((path for path in there if path.exists()), folder / INSTRUCTIONS[0])


def _folders(place: Path) -> list[Path]:
    """The place itself, unless it is a folder of skills."""
    inside = folders_in(place)
    return inside if inside and not instructions_in(place).exists() else [place]


def _parts(text: str) -> tuple[str, str, int]:
    """The head, the instructions, and the file's line that they begin on."""
    first, _, rest = text.partition("\n")
    if first.strip() != _FENCE:
        raise Unreadable(1, Fault("it doesn't begin with a head", f"write {_FENCE} on line 1"))
    lines = rest.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() == _FENCE:
            body = "".join(lines[number + 1 :])
            above = body[: len(body) - len(body.lstrip())].count("\n") if body.strip() else 0
            return "".join(lines[:number]), body.strip(), number + 3 + above
    raise Unreadable(1, Fault("the head has no end", f"write {_FENCE} on a line below it"))


def _document(head: str) -> YamlDocument:
    """The head as fields, its lines counted from its own first one."""
    try:
        document = read_yaml(head, as_written=True)
    except Unreadable as unreadable:
        raise Unreadable(unreadable.line + _ABOVE_HEAD, unreadable.fault) from None
    if not isinstance(document.data, dict):
        remedy = "write name: and description: between the two ---"
        raise Unreadable(1, Fault("the head has no fields", remedy))
    return document


MOST_LINES = 500
"""Of instructions, as the format recommends."""

_OURS = re.compile(r"[a-z][a-z0-9_]*")
"""How tools are named here. Other agents name theirs `Read` or `Bash(git:*)`."""


def remarks(
    loaded: LoadedSkills,
    names: Collection[str],
    coming: tuple[str, ...] = (),
    others: Collection[str] = (),
) -> Iterator[Problem]:
    """Remarks on skills, where tools and flows have these names, and more are `coming`.

    `others` are skills that there are beside these.
    """
    skills = {*others, *(one.skill.name for one in loaded.found)}
    for found in loaded.found:
        file, count = str(found.file), len(found.skill.instructions.splitlines())
        if count > MOST_LINES:
            what = f"the instructions have {count} lines"
            yield Problem(file, found.begins, what, "move what is long into references/")
        for name in sorted(found.skill.allowed_tools or ()):
            if _OURS.fullmatch(name) and name not in names and not name.startswith(coming):
                what = f"there is no tool or flow {name}"
                remedy = nearest(name, names) or "see `intent-router tools list`, or take it out"
                yield Problem(file, found.lines["allowed-tools"], what, remedy)
        yield from _of_hand_overs(found, skills)
        yield from _of_others(found)


def _of_others(found: FoundSkill) -> Iterator[Problem]:
    """Keys that another agent would heed."""
    for key in sorted(OF_OTHERS & found.lines.keys()):
        remedy = "leave it for other agents"
        if key == "model":
            remedy += ", and write router.model under metadata for this one"
        what = f"{key} means nothing here"
        yield Problem(str(found.file), found.lines[key], what, remedy)
    skill = found.skill
    if not skill.by_model and not skill.by_name:
        line = found.lines.get("disable-model-invocation", 1)
        what = "neither a model may choose it nor people call it"
        remedy = "name it under router.hands-to of another skill, or take one of the two keys out"
        yield Problem(str(found.file), line, what, remedy)


def _of_hand_overs(found: FoundSkill, skills: Collection[str]) -> Iterator[Problem]:
    file, line = str(found.file), found.lines.get("metadata", 1)
    for name in found.skill.hands_to:
        if name not in skills:
            remedy = nearest(name, skills) or "take it out"
            yield Problem(file, line, f"router.hands-to names no skill: {name}", remedy)
    if found.skill.hands_to and found.skill.mode == "plan":
        what = "router.hands-to has no use by a plan, whose steps hand nothing over"
        yield Problem(file, line, what, "take it out, or write router.mode: react")
    if found.skill.subagents and found.skill.mode == "plan":
        what = "router.subagents has no use by a plan, whose steps are sub-agents already"
        yield Problem(file, line, what, "take it out, or write router.mode: react")


_log = logging.getLogger("router.skills")


class WatchedSkills:
    """The skills of a folder, which looks for changes when asked to."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._watcher = Watcher(
            lambda: folders_in(place),
            lambda folder: _said_aloud(read_skill(folder)),
            _complain,
            lambda folder, _: [instructions_in(folder), *entries(folder)],
        )
        self.forget = self._watcher.forget

    def load(self) -> LoadedSkills:
        """Load them; raises `DefinitionError` with every problem of every one."""
        self._watcher.begin(
            lambda: {one.file.parent: one for one in load_all(folders_in(self._place)).found}
        )
        return LoadedSkills([_said_aloud(one) for one in self._watcher.items])

    def reload(self) -> LoadedSkills | None:
        """Those there are now, with what has changed read anew; None where nothing has."""
        found = self._watcher.reload()
        if found is None:
            return None
        _log.info("there are %s skills in %s now", len(found), self._place)
        return LoadedSkills(found)

    def changes(self, seconds: float = SECONDS) -> AsyncIterator[LoadedSkills]:
        """What there is after each change, for ever; looks so often."""
        return changes(self.reload, seconds)


def _said_aloud(found: FoundSkill) -> FoundSkill:
    for flaw in found.flaws:
        _log.warning("%s", flaw)
    return found


def _complain(folder: Path, last: FoundSkill | None, error: Exception) -> None:
    state = "stays as it was" if last else "isn't used"
    _log.error("the skill in %s %s: %s", folder, state, error)
