"""Skill folders into skills: read once, checked whole, refused with everything at fault.

DefinitionError: skills/policy-advisor/SKILL.md:2: the name is 'policy' and the folder
'policy-advisor'; give both the same name

What might be better about skills that can be used as they are.

Skills that follow their folders: what is edited counts within seconds.
"""

import logging
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from router.documents.document import Document, Unreadable, read_document, read_text
from router.documents.watcher import SECONDS, Watcher, changes
from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.skill.folder import INSTRUCTIONS, broken_links, entries, read_folder
from router.skill.front_matter import read_head
from router.skill.skill import Skill, SkillCatalog

LARGEST = 64 * 1024
"""Bytes. The instructions travel in every call of the model; what is long belongs into
`references/`."""

_FENCE = "---"
_ABOVE_HEAD = 1
"""Lines of the file before its head."""


class _Parts(NamedTuple):
    head: str
    instructions: str
    line: int
    """The file's line that the instructions begin on."""


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
    """The skill in a folder, with its files.

    Raises `DefinitionError` with every problem where there is one that nothing can be done about.
    """
    path = instructions_in(folder)
    try:
        parts = _parts(read_text(path, LARGEST, "move what is long into references/"))
        document = _document(parts.head)
    except Unreadable as unreadable:
        raise DefinitionError([_problem(path, unreadable.line, unreadable.fault)]) from None
    head = read_head(document.data, _name_of(folder))
    beside = read_folder(folder)
    faults = [*document.faults, *((document.line(p), fault) for p, fault in head.complaints)]
    flaws = [(document.line(p) + _ABOVE_HEAD, fault) for p, fault in head.flaws]
    flaws += _flaws_of(parts, [path.name, *(file.path for file in beside.files)])
    lacking = [*(_problem(path, *flaw) for flaw in flaws), *beside.flaws]
    if faults:
        ordered = sorted(dict.fromkeys(faults), key=lambda each: each[0])
        refused = [_problem(path, n + _ABOVE_HEAD, fault) for n, fault in ordered]
        raise DefinitionError([*refused, *lacking])
    # The format allows a skill without instructions: what it is for is all there is to go by.
    skill = head.skill(parts.instructions or str(document.data["description"]))
    skill = skill.model_copy(update={"files": tuple(beside.files)})
    lines = {key: document.line((key,)) + _ABOVE_HEAD for key in document.data}
    return FoundSkill(skill, beside.contents, lacking, path, parts.line, lines)


def load_all(places: Iterable[Path]) -> LoadedSkills:
    """The skills of several places, each a skill's own folder or a folder of such.

    Raises `DefinitionError` with every problem of every file, also where two share a name or a
    place has none.
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
            fault = Fault(f"there is a skill {one.skill.name} in {other} already", "rename one")
            problems.append(_problem(one.file, 1, fault))
        found.append(one)
    loaded = LoadedSkills(found)
    if problems:
        raise DefinitionError([*problems, *loaded.flaws])
    return loaded


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


def _name_of(folder: Path) -> str:
    """The folder's own name, not that of where a link leads; of `.` the one that it stands for."""
    return folder.name if folder.name not in {"", ".."} else folder.resolve().name


def _parts(text: str) -> _Parts:
    first, _, rest = text.partition("\n")
    if first.strip() != _FENCE:
        raise Unreadable(1, Fault("it doesn't begin with a head", f"write {_FENCE} on line 1"))
    lines = rest.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() == _FENCE:
            body = "".join(lines[number + 1 :])
            instructions = body.strip()
            above = body.find(instructions)
            return _Parts(
                "".join(lines[:number]), instructions, number + 3 + body.count("\n", 0, above)
            )
    raise Unreadable(1, Fault("the head has no end", f"write {_FENCE} on a line below it"))


def _document(head: str) -> Document:
    """The head as fields, its lines counted from its own first one."""
    try:
        document = read_document(head, as_written=True)
    except Unreadable as unreadable:
        raise Unreadable(unreadable.line + _ABOVE_HEAD, unreadable.fault) from None
    if not isinstance(document.data, dict):
        remedy = "write name: and description: between the two ---"
        raise Unreadable(1, Fault("the head has no fields", remedy))
    return document


def _flaws_of(parts: _Parts, paths: list[str]) -> Iterator[tuple[int, Fault]]:
    """What is wrong with the body, by the file's lines."""
    if not parts.instructions:
        fault = Fault("there are no instructions", "write them below the second ---")
        yield parts.line - 1, fault
    for line, fault in broken_links(parts.instructions, paths):
        yield parts.line + line - 1, fault


def _problem(path: Path, line: int, fault: Fault) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy)


MOST_LINES = 500
"""Of instructions, as the format recommends."""

_OURS = re.compile(r"[a-z][a-z0-9_]*")
"""How tools are named here. Other agents name theirs `Read` or `Bash(git:*)`."""


def remarks(
    loaded: LoadedSkills, names: Collection[str], coming: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """Remarks on skills, where tools and flows have these names.

    More may be `coming`, whose names begin so.
    """
    for found in loaded.found:
        yield from _too_long(found)
        yield from _unknown(found, names, coming)


def _too_long(found: FoundSkill) -> Iterator[Problem]:
    count = len(found.skill.instructions.splitlines())
    if count > MOST_LINES:
        what, remedy = f"the instructions have {count} lines", "move what is long into references/"
        yield Problem(str(found.file), found.begins, what, remedy)


def _unknown(
    found: FoundSkill, names: Collection[str], coming: tuple[str, ...]
) -> Iterator[Problem]:
    for name in sorted(found.skill.allowed_tools or ()):
        if _OURS.fullmatch(name) and name not in names and not name.startswith(coming):
            what = f"there is no tool or flow {name}"
            remedy = nearest(name, names) or "see `intent-router tools list`, or take it out"
            yield Problem(str(found.file), found.lines["allowed-tools"], what, remedy)


_log = logging.getLogger("router.skills")


class WatchedSkills:
    """The skills of a folder, which looks for changes when asked to."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._watcher = Watcher(
            lambda: folders_in(place),
            _read_aloud,
            _complain,
            lambda folder, _: [instructions_in(folder), *entries(folder)],
        )
        self.forget = self._watcher.forget

    def load(self) -> LoadedSkills:
        """Load them; raises `DefinitionError` with every problem of every one."""
        self._watcher.begin(
            lambda: {one.file.parent: one for one in load_all(folders_in(self._place)).found}
        )
        for one in self._watcher.items:
            _name_flaws(one)
        return LoadedSkills(self._watcher.items)

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


def _read_aloud(folder: Path) -> FoundSkill:
    found = read_skill(folder)
    _name_flaws(found)
    return found


def _name_flaws(found: FoundSkill) -> None:
    for flaw in found.flaws:
        _log.warning("%s", flaw)


def _complain(folder: Path, last: FoundSkill | None, error: Exception) -> None:
    state = "stays as it was" if last else "isn't used"
    _log.error("the skill in %s %s: %s", folder, state, error)
