"""Skill folders into skills: read once, checked whole, refused with everything at fault.

DefinitionError: skills/policy-advisor/SKILL.md:2: the name is 'policy' and the folder
'policy-advisor'; give both the same name
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from router.documents.faults import Fault
from router.documents.text_file import read_text
from router.documents.yaml_document import Document, Unreadable, read_document
from router.domain.errors import DefinitionError, Problem
from router.skill.catalog import SkillCatalog
from router.skill.front_matter import read_head
from router.skill.skill import Skill

FILE = "SKILL.md"
LARGEST = 64 * 1024
"""Bytes. The instructions travel in every call of the model; what is long belongs into
`references/`."""

_FENCE = "---"
_ABOVE_HEAD = 1
"""Lines of the file before its head."""


class _Parts(NamedTuple):
    head: str
    instructions: str


def load_skill(folder: Path) -> Skill:
    """The skill in a folder; raises `DefinitionError` with every problem of its file."""
    path = folder / FILE
    try:
        parts = _parts(read_text(path, LARGEST, "move what is long into references/"))
        document = _document(parts.head)
    except Unreadable as unreadable:
        raise DefinitionError([_problem(path, unreadable.line, unreadable.fault)]) from None
    head = read_head(document.data, folder.resolve().name)
    found = [*document.faults, *((document.line(p), fault) for p, fault in head.complaints)]
    if not parts.instructions:
        found.append((0, Fault("there are no instructions", "write them below the second ---")))
    if found:
        ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
        raise DefinitionError([_problem(path, n + _ABOVE_HEAD, fault) for n, fault in ordered])
    return head.skill(parts.instructions)


def load_skills(folder: Path) -> SkillCatalog:
    """The skills of a folder: its folders that hold a `SKILL.md`.

    Raises `DefinitionError` with every problem of every file.
    """
    return load_all(path.parent for path in sorted(folder.glob(f"*/{FILE}")))


def load_all(places: Iterable[Path]) -> SkillCatalog:
    """The skills of several places, each a skill's own folder or a folder of such.

    Raises `DefinitionError` with every problem of every file, also where two share a name or a
    place has none.
    """
    skills: dict[str, Path] = {}
    found: list[Skill] = []
    problems: list[Problem] = []
    for folder in dict.fromkeys(each for place in places for each in _folders(place)):
        try:
            skill = load_skill(folder)
        except DefinitionError as error:
            problems += error.problems
            continue
        other = skills.setdefault(skill.name, folder)
        if other != folder:
            fault = Fault(f"there is a skill {skill.name} in {other} already", "rename one")
            problems.append(_problem(folder / FILE, 1, fault))
        found.append(skill)
    if problems:
        raise DefinitionError(problems)
    return SkillCatalog(found)


def _folders(place: Path) -> list[Path]:
    """The place itself, unless it is a folder of skills."""
    inside = [path.parent for path in sorted(place.glob(f"*/{FILE}"))]
    return inside if inside and not (place / FILE).exists() else [place]


def _parts(text: str) -> _Parts:
    first, _, rest = text.partition("\n")
    if first.strip() != _FENCE:
        raise Unreadable(1, Fault("it doesn't begin with a head", f"write {_FENCE} on line 1"))
    lines = rest.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() == _FENCE:
            return _Parts("".join(lines[:number]), "".join(lines[number + 1 :]).strip())
    raise Unreadable(1, Fault("the head has no end", f"write {_FENCE} on a line below it"))


def _document(head: str) -> Document:
    """The head as fields, its lines counted from its own first one."""
    try:
        document = read_document(head)
    except Unreadable as unreadable:
        raise Unreadable(unreadable.line + _ABOVE_HEAD, unreadable.fault) from None
    if not isinstance(document.data, dict):
        remedy = "write name: and description: between the two ---"
        raise Unreadable(1, Fault("the head has no fields", remedy))
    return document


def _problem(path: Path, line: int, fault: Fault) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy)
