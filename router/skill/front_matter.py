"""The head of a `SKILL.md`: the Agent Skills open format, and what of its `metadata` is ours.

The format's own fields are `name`, `description`, `license`, `compatibility`, `metadata` and
`allowed-tools`; others are left alone, for a folder from elsewhere works as it is. Whatever the
format's reference validator (`skills-ref`) accepts can be used here, if need be without the part
that makes no sense. Keys under `metadata` that begin with `router.` are ours, and a slip of the
pen in one is an error.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from router.documents.document import Place
from router.domain.errors import Fault, nearest
from router.domain.locale import Localised
from router.skill.skill import Mode, Skill

OURS = "router."
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
MOST_TURNS = 60
MOST_TOKENS = 2_000_000

_NAME = re.compile(r"[^\W_]+(-[^\W_]+)*")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
"""A name, with what another agent's rules put in brackets: `Bash(git add:*)`."""
_MODES = get_args(Mode)

Complaint = tuple[Place, Fault]


@dataclass
class Head:
    """What the head says, as far as it can be used, and what is wrong with it."""

    fields: dict[str, Any] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    flaws: list[Complaint] = field(default_factory=list)
    """What is wrong too, and doesn't keep the skill from being used."""

    def skill(self, instructions: str) -> Skill:
        """The skill with this head; only where there are no complaints."""
        return Skill(instructions=instructions, **self.fields)


def read_head(data: Mapping[str, Any], folder: str) -> Head:
    """The head in `data`, of the skill that lies in the folder of this name."""
    head = Head()
    name = _text(head, data, "name", LONGEST_NAME)
    if name:
        head.complaints += [(("name",), fault) for fault in _name_faults(name, folder)]
    description = _text(head, data, "description", LONGEST_DESCRIPTION)
    if data.get("compatibility", "") != "":
        _text(head, data, "compatibility", LONGEST_COMPATIBILITY)
    metadata = _metadata(head, data.get("metadata"))
    head.fields |= {
        "name": name,
        "title": _localised(metadata, "title", (name or folder).replace("-", " ")),
        "description": _localised(metadata, "description", description),
        "allowed_tools": _allowed(head, data.get("allowed-tools")),
    }
    for key, read in FIELDS.items():
        if (written := metadata.get(key)) is not None:
            _take(head, key, read, written)
    if head.fields.get("mode") == "plan":
        head.fields = PLANNED | head.fields
    return head


def _take(head: Head, key: str, read: "Read", written: str) -> None:
    try:
        head.fields[key.replace("-", "_")] = read(written)
    except ValueError as error:
        fault = Fault(f"{OURS}{key} is {written!r}", str(error))
        head.complaints.append((("metadata", f"{OURS}{key}"), fault))


def _text(head: Head, data: Mapping[str, Any], key: str, longest: int) -> str:
    value = data.get(key)
    fault = None
    if value is None or value == "":
        fault = Fault(f"there is no {key}", f"write a line {key}: …")
    elif not isinstance(value, str) or not value.strip():
        fault = Fault(f"{key} isn't text", f"write {key} as text, in quotes where in doubt")
    elif len(value) > longest:
        fault = Fault(f"{key} has {len(value)} characters", f"write {longest} at most")
    if fault:
        head.complaints.append(((key,), fault))
    return value.strip() if isinstance(value, str) else ""


def _name_faults(name: str, folder: str) -> Iterator[Fault]:
    name, folder = (unicodedata.normalize("NFKC", text) for text in (name, folder))
    if not _NAME.fullmatch(name) or name != name.lower():
        yield Fault(
            f"the name {name!r} isn't in kebab-case",
            "write lower-case letters, digits and single hyphens, such as policy-advisor",
        )
    if name != folder:
        yield Fault(f"the name is {name!r} and the folder {folder!r}", "give both the same name")


def _metadata(head: Head, data: Any) -> dict[str, str]:
    """Our part of it, by keys without the prefix."""
    if data is None or data == "":
        return {}
    if not isinstance(data, Mapping):
        fault = Fault("metadata isn't a mapping", "write keys and texts below it")
        head.flaws.append((("metadata",), fault))
        return {}
    known = [*FIELDS, *(f"{what}-{locale}" for what in _LOCALISED for locale in ("zh", "en"))]
    found: dict[str, str] = {}
    for key, value in data.items():
        if not key.startswith(OURS):
            continue
        short = key.removeprefix(OURS)
        wrong = _metadata_fault(short, value, known)
        if wrong:
            head.complaints.append((("metadata", key), wrong))
        else:
            found[short] = str(value).strip()
    return found


def _metadata_fault(key: str, value: Any, known: list[str]) -> Fault | None:
    if key not in known:
        meant = nearest(key, known).replace("mean ", f"mean {OURS}")
        return Fault(f"there is no {OURS}{key}", meant or f"there are: {', '.join(known)}")
    if isinstance(value, Mapping | list) or value is None or not str(value).strip():
        return Fault(f"{OURS}{key} isn't text", "write it as text")
    return None


_LOCALISED = ("title", "description")


def _localised(metadata: Mapping[str, str], what: str, otherwise: str) -> Localised:
    """The text in both languages; where one of them isn't given, what there is."""
    return Localised(
        zh=metadata.get(f"{what}-zh", otherwise), en=metadata.get(f"{what}-en", otherwise)
    )


def _allowed(head: Head, value: Any) -> frozenset[str] | None:
    """The tools that are named; those of other agents, such as `Bash(git:*)`, aren't here."""
    if value is None:
        return None
    if isinstance(value, str):
        return frozenset(_TOOL.findall(value))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    remedy = "write names with spaces between them; until then it may use none"
    head.flaws.append((("allowed-tools",), Fault("allowed-tools isn't a list of names", remedy)))
    return frozenset()


Read = Callable[[str], Any]


def _whole(most: int) -> Read:
    def read(written: str) -> int:
        if not written.isascii() or not written.isdigit() or not 0 < int(written) <= most:
            raise ValueError(f"write a whole number from 1 to {most}")
        return int(written)

    return read


def _mode(written: str) -> str:
    if written not in _MODES:
        raise ValueError(f"write one of: {', '.join(_MODES)}")
    return written


PLANNED = {"max_turns": 24, "token_budget": 180_000}
"""What a skill has that works by a plan, where it doesn't say: steps take turns of their own."""

FIELDS: dict[str, Read] = {
    "roles": lambda written: frozenset(written.replace(",", " ").split()),
    "max-turns": _whole(MOST_TURNS),
    "token-budget": _whole(MOST_TOKENS),
    "model": str,
    "mode": _mode,
    "examples": lambda written: tuple(filter(None, map(str.strip, written.splitlines()))),
}
"""How each key under `metadata` is read, but those in two languages."""
