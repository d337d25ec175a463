"""A type of document, and what has to be known of one.

A new one is a module: in `types/`, or in the package of a project.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib import import_module
from typing import ClassVar, Literal, TypeVar

from router.documents.page import Material
from router.domain.documents import OTHER, Document, DocumentProblem, ReadField
from router.domain.errors import DefinitionError, Problem
from router.domain.locale import Localised
from router.domain.source_lines import name_of, source_of

LIKELY = 0.5
"""From this likelihood on a document is of a type."""
LONGEST_TEXT = 6_000
"""Characters of a document's text that are kept."""
FieldKind = Literal["text", "code", "money", "date", "count"]
"""What a field's value is: a name or words, letters and figures, an amount, a day, how many."""


class DocumentType(ABC):
    """How documents of one type are told from others, and what is read of them.

    >>> @document_type  # doctest: +SKIP
    ... class ParkingTicket(DocumentType):
    ...     name = "parking_ticket"
    ...     label = Localised(zh="停车票", en="parking ticket")
    ...     fields = {"amount": Localised(zh="金额", en="amount")}
    ...     # and what it takes to be one (`likelihood`), and where its fields stand (`read`)
    """

    name: ClassVar[str]
    """What flow files and programs call it."""
    label: ClassVar[Localised]
    """What people call it."""
    fields: ClassVar[Mapping[str, Localised]]
    """What may be read of one, by name, and what people call it."""
    kinds: ClassVar[Mapping[str, FieldKind]] = {
        "number": "code",
        "date": "date",
        "amount": "money",
        "tax": "money",
        "days": "count",
    }
    """What the values of its fields are, where a model reads them out; of any other name, text."""

    @abstractmethod
    def likelihood(self, material: Material) -> float:
        """How surely the material is such a document, from 0 to 1; below a half it is none."""

    @abstractmethod
    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """The fields that are found, and no others."""

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """What is wrong with such a document: nothing, unless its type knows something."""
        del fields, material, today
        return []


DOCUMENT_TYPES: dict[str, DocumentType] = {}
"""Every type, by its name."""
T = TypeVar("T", bound=type[DocumentType])


def document_type(kind: T) -> T:
    """Have documents of a type be recognised, and known to flow files by the type's name.

    Decorate a class derived from `DocumentType` with it.

    Raises:
        DefinitionError: The class lacks something, or another module's type has its name.
    """
    if not (isinstance(kind, type) and issubclass(kind, DocumentType)):
        raise _wrong(kind, "is no class derived from DocumentType", "derive it from that")
    lacks = [name for name in ("name", "label", "fields") if not hasattr(kind, name)]
    lacks += sorted(kind.__abstractmethods__)
    if lacks:
        raise _wrong(kind, f"has no {', '.join(lacks)}", "write what is missing")
    taken_by = type(DOCUMENT_TYPES[kind.name]).__module__ if kind.name in DOCUMENT_TYPES else ""
    if kind.name == OTHER or taken_by not in {"", kind.__module__}:
        what = f"has the name {kind.name!r}, which is taken{taken_by and f' by {taken_by}'}"
        raise _wrong(kind, what, "call it something else")
    DOCUMENT_TYPES[kind.name] = kind()
    return kind


def _wrong(kind: type, what: str, remedy: str) -> DefinitionError:
    problem = Problem(*source_of(kind), f"the document type {name_of(kind)} {what}", remedy)
    return DefinitionError([problem])


@cache
def document_types() -> Mapping[str, DocumentType]:
    """Every type there is, by its name: those shipped, and those of modules that were imported."""
    import_module("router.documents.types")
    return DOCUMENT_TYPES


def recognised(material: Material, today: date) -> Document:
    """What the material is, and what is read of it; `other`, without fields, where nothing fits."""
    rated = ((kind.likelihood(material), name) for name, kind in document_types().items())
    likelihood, name = max(rated, default=(0.0, OTHER))
    told = {
        "text": material.text[:LONGEST_TEXT],
        "likeness": material.likeness,
        "pages": len(material.pages),
    }
    kind = DOCUMENT_TYPES.get(name)
    fields = kind.read(material, today) if kind is not None and likelihood >= LIKELY else {}
    # What speaks of invoices without being one, such as a rule about them, has no field of one; a
    # picture without any may be of one, and hardly legible.
    legible = not any(line.source == "picture" for line in material.lines)
    if kind is None or likelihood < LIKELY or (legible and not fields):
        return Document(problems=material.problems, **told)
    problems = (*material.problems, *kind.problems(fields, material, today))
    lacks = tuple(field for field in kind.fields if field not in fields)
    return Document(type=name, fields=fields, lacks=lacks, problems=problems, **told)
