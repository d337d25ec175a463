"""Documents of configuration that are kept in the database: their kinds, names and versions.

A document is a tenant's, of one kind, under one name. Its versions are only ever added to; which
one holds is said by activations, of which the newest that has begun counts: for everybody, or for a
share of people, while the others have what held before. A folder of documents looks as the
project's own files do: `flows/overtime.yaml`, `flows/tests/overtime.yaml` with its stories,
`skills/policy-advisor/SKILL.md`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import PurePosixPath
from types import MappingProxyType

from router.domain.errors import Problem
from router.domain.records import Record

KIND_PATTERN = "[a-z][a-z0-9_]{0,39}"
DocumentKind = str
"""What a document may define, as it is called in paths: one of `document_kinds`."""

PERSONA = "desk"
"""The name of the only persona that a tenant has."""
LARGEST = 256 * 1024
"""Bytes of a document; a kind may allow fewer."""
LONGEST_NOTE = 300
MOST_DOCUMENTS = 500
"""Of one tenant, those that were taken out of use too."""

_NAME = r"[a-z][a-z0-9]*(?:{}[a-z0-9]+)*"


@dataclass(frozen=True)
class KindRules:
    """How documents of a kind are named, and where they stand in a folder of documents."""

    pattern: re.Pattern[str]
    shape: str
    """The same in words."""
    file: str
    """The path in a folder of documents, with the name for `{name}`."""

    def path(self, name: str) -> str:
        """Where the document of this name stands."""
        return self.file.format(name=name)


_UNDERSCORED = (re.compile(_NAME.format("_+")), "small letters, digits and _")
_HYPHENED = (re.compile(_NAME.format("[_-]")), "small letters, digits, and single - or _")

CORE_RULES: Mapping[DocumentKind, KindRules] = MappingProxyType(
    {
        "skills": KindRules(*_HYPHENED, "skills/{name}/SKILL.md"),
        "flows": KindRules(*_UNDERSCORED, "flows/{name}.yaml"),
        "stories": KindRules(*_UNDERSCORED, "flows/tests/{name}.yaml"),
        "personas": KindRules(
            re.compile(PERSONA), f"{PERSONA}, the only one", "personas/{name}.yaml"
        ),
    }
)
"""The kinds that the core reads, in the order in which documents are pushed."""
_added_rules: dict[DocumentKind, KindRules] = {}
_owners: dict[DocumentKind, str] = {}
"""By kind that was added, the extension that adds it."""
LONGEST_NAME = 64


def register_kind(kind: DocumentKind, suffix: str, owner: str) -> None:
    """Register a kind of documents, which stand in a folder of its name, once or again.

    Args:
        kind: The name: lower-case letters, digits and `_`.
        suffix: What the names of files end with, such as `.json`.
        owner: The name of the extension that adds it.

    Raises:
        TypeError: The core or another extension has a kind of that name.
    """
    if kind in CORE_RULES or _owners.get(kind, owner) != owner:
        raise TypeError(f"there is a kind of documents {kind!r} already")
    _added_rules[kind] = KindRules(*_HYPHENED, f"{kind}/{{name}}{suffix}")
    _owners[kind] = owner


def unregister_kind(kind: DocumentKind) -> None:
    """Remove a kind that `register_kind` has registered."""
    _added_rules.pop(kind, None)
    _owners.pop(kind, None)


def document_kinds() -> tuple[DocumentKind, ...]:
    """Return all kinds in the order in which documents are pushed.

    Flows call tools, which documents of added kinds declare, and stories are about flows.
    """
    return (*sorted(_added_rules), *CORE_RULES)


def rules_of(kind: DocumentKind) -> KindRules:
    """Return the rules of a kind; those of a kind that nobody has registered are general ones."""
    known = CORE_RULES.get(kind) or _added_rules.get(kind)
    return known or KindRules(*_HYPHENED, f"{kind}/{{name}}")


def is_name(kind: DocumentKind, name: str) -> bool:
    """True where a document of the kind may have this name.

    >>> is_name("flows", "overtime"), is_name("flows", "../etc"), is_name("personas", "other")
    (True, False, False)
    """
    return len(name) <= LONGEST_NAME and rules_of(kind).pattern.fullmatch(name) is not None


def path_of(kind: DocumentKind, name: str) -> str:
    """Where the document stands in a folder of documents, which problems name too.

    >>> path_of("skills", "policy-advisor")
    'skills/policy-advisor/SKILL.md'
    """
    return rules_of(kind).path(name)


def placed(path: PurePosixPath) -> tuple[DocumentKind, str] | None:
    """The kind and the name of the document at a path in such a folder; None where it is none.

    >>> placed(PurePosixPath("skills/policy-advisor/SKILL.md"))
    ('skills', 'policy-advisor')
    >>> placed(PurePosixPath("flows/tests/overtime.yaml"))
    ('stories', 'overtime')
    >>> placed(PurePosixPath("flows/overtime/notes.txt")) is None
    True
    """
    written = path.as_posix()
    for kind in document_kinds():
        before, _, after = rules_of(kind).file.partition("{name}")
        name = written.removeprefix(before).removesuffix(after)
        if is_name(kind, name) and path_of(kind, name) == written:
            return kind, name
    return None


def digest_of(text: str) -> str:
    """SHA-256 of the text, in hex: the same wherever the same text stands."""
    return hashlib.sha256(text.encode()).hexdigest()


class ConfigurationDocument(Record):
    """What a document says, whoever's it is."""

    kind: DocumentKind
    name: str
    text: str

    @property
    def path(self) -> str:
        """Where it stands in a folder of documents."""
        return path_of(self.kind, self.name)


class DocumentVersion(ConfigurationDocument):
    """One version of a document, as somebody wrote it; it never changes."""

    tenant: str
    version: int
    """1 and up, without a gap."""
    digest: str
    note: str = ""
    """Why, in the author's words."""
    author: str
    written_at: datetime
    flow_version: int | None = None
    """Of a flow: the number that its runs go by."""
    behaviour: str | None = None
    """Of a flow: what its runs do (`router.flow.catalog.behaviour`)."""


WHOLE = 100
"""The share of everybody."""


class Activation(Record):
    """That a version holds from a moment on, or with None that no version does."""

    sequence: int | None = None
    """Assigned by the table: the order of all tenants' activations."""
    tenant: str
    kind: DocumentKind
    name: str
    version: int | None
    activated_by: str
    activated_at: datetime
    holds_from: datetime | None = None
    """When it begins, where that wasn't at once."""
    share: int = WHOLE
    """Of a hundred people, how many have it (`router.domain.shares`)."""
    review: str | None = None
    """The review by which it was published, where there was one."""
    taken_back_by: str | None = None
    taken_back_at: datetime | None = None
    """Set: it counts no more, as if it had never been."""

    @property
    def moment(self) -> datetime:
        """When it begins."""
        return self.holds_from or self.activated_at

    def has_begun(self, now: datetime) -> bool:
        """True from its moment on; of what was to hold at once always, whatever clocks say."""
        return self.holds_from is None or self.holds_from <= now


@dataclass(frozen=True)
class DocumentStanding:
    """How one document stands at a moment."""

    whole: Activation | None = None
    """What everybody has, or all who aren't of a share; None: a file counts, where there is one."""
    shared: Activation | None = None
    """What the people of a share have instead."""
    upcoming: tuple[Activation, ...] = ()
    """What is to begin later, the next one first."""
    before: tuple[Activation, ...] = ()
    """What had begun before that, the newest first, less what was taken back."""

    @property
    def newest(self) -> Activation | None:
        """What began last."""
        return self.shared or self.whole

    @property
    def rolled_back(self) -> tuple[Activation, ...]:
        """What is to be taken back so that the version before this one holds: all its shares."""
        newest = self.newest
        if newest is None:
            return ()
        there = (each for each in (self.shared, self.whole, *self.before) if each is not None)
        in_order = sorted(there, key=_order, reverse=True)
        return tuple(takewhile(lambda each: each.version == newest.version, in_order))


def _order(of: Activation) -> tuple[datetime, int]:
    return (of.moment, of.sequence or 0)


def standing(activations: Iterable[Activation], now: datetime) -> DocumentStanding:
    """How the document stands whose activations these are, in whatever order.

    It is enough to give those that no later one of everybody has replaced; `before` is shorter.
    """
    left = sorted((each for each in activations if each.taken_back_at is None), key=_order)
    begun = [each for each in left if each.has_begun(now)][::-1]
    whole = next((each for each in begun if each.share == WHOLE), None)
    shared = begun[0] if begun and begun[0].share < WHOLE else None
    return DocumentStanding(
        whole,
        shared,
        tuple(each for each in left if not each.has_begun(now)),
        tuple(each for each in begun if each not in {whole, shared}),
    )


class HeldVersion(Record):
    """An activation that counts or is to, and the version that it lets hold."""

    activation: Activation
    document: DocumentVersion | None
    """None where it says that no version holds."""


class DocumentHead(Record):
    """A document without its text: its newest version, and which one holds."""

    kind: DocumentKind
    """`flows`, `skills`, `stories`, `personas`, or one that an extension adds, such as `tools`."""
    name: str
    latest: int
    active: int | None
    """Of everybody, or of all who aren't of a share. None where no version holds: files do, where
    there is one of that name."""
    digest: str
    """Of the version that holds, else of the newest."""
    author: str
    written_at: datetime
    activated_by: str | None = None
    activated_at: datetime | None = None
    shared: int | None = None
    """The version that the people of a share have instead."""
    share: int | None = None
    """Of a hundred people, how many have that."""
    upcoming: int | None = None
    """The version that holds next, by itself."""
    upcoming_from: datetime | None = None
    """From when on it does; with no `upcoming` version none holds then."""

    @property
    def held(self) -> int | None:
        """The version that holds for whomever: of everybody, else of a share, else to come."""
        return next((e for e in (self.active, self.shared, self.upcoming) if e is not None), None)

    def holds(self, version: int | None) -> bool:
        """True where everybody has this version, or with None none; what is to come aside."""
        return self.active == version and self.share is None


@dataclass(frozen=True)
class Examined:
    """What was found of a document that may hold, as far as can be told without trying."""

    mark: int
    """How its tenant's activations stood when it was looked at (`ConfigurationStore.mark`)."""
    remarks: Sequence[Problem] = ()
    """What might be better about it."""
    flow_version: int | None = None
    behaviour: str | None = None


def behaviours(versions: Iterable[DocumentVersion]) -> dict[int, str]:
    """By the number of a flow's version, what its runs do, as the versions first had it."""
    found: dict[int, str] = {}
    for each in versions:
        if each.flow_version is not None and each.behaviour is not None:
            found.setdefault(each.flow_version, each.behaviour)
    return found
