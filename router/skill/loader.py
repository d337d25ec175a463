"""Skill folders into skills: read once, checked whole, refused with everything at fault.

DefinitionError: skills/policy-advisor/SKILL.md:2: the name is 'policy' and the folder
'policy-advisor'; give both the same name
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from router.documents.faults import Fault
from router.documents.text_file import read_text
from router.documents.yaml_document import Document, Unreadable, read_document
from router.domain.errors import DefinitionError, Problem
from router.skill.catalog import SkillCatalog
from router.skill.folder import INSTRUCTIONS, read_folder
from router.skill.front_matter import read_head
from router.skill.links import broken_links
from router.skill.skill import Skill

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


class Found(NamedTuple):
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
class Loaded:
    """The skills of some places, and what is in the files beside them, by digest."""

    found: list[Found] = field(default_factory=list)

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


def read_skill(folder: Path) -> Found:
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
    return Found(skill, beside.contents, lacking, path, parts.line, lines)


def load_all(places: Iterable[Path]) -> Loaded:
    """The skills of several places, each a skill's own folder or a folder of such.

    Raises `DefinitionError` with every problem of every file, also where two share a name or a
    place has none.
    """
    names: dict[str, Path] = {}
    found: list[Found] = []
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
    loaded = Loaded(found)
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
