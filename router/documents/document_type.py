"""A type of document, and what has to be known of one.

A new one is a module: in `types/`, or beside the project's own tools, in `activities/papers/`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib import import_module
from typing import ClassVar, Literal, TypeVar

from router.documents.page import Material
from router.domain.documents import OTHER, Document, DocumentProblem, ReadField
from router.domain.locale import Localised

LIKELY = 0.5
"""From this likelihood on a document is of a type."""
LONGEST_TEXT = 6_000
"""Characters of a document's text that are kept."""
FieldKind = Literal["text", "code", "money", "date", "count"]
"""What a field's value is: a name or words, letters and figures, an amount, a day, how many."""


class DocumentType(ABC):
    """How documents of one type are told from others, and what is read of them.

    >>> @registered  # doctest: +SKIP
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


def registered(kind: T) -> T:
    """Have the type be known by its name; `ValueError` where another module's type has it."""
    module = type(DOCUMENT_TYPES.get(kind.name, kind())).__module__
    if module != kind.__module__ or kind.name == OTHER:
        raise ValueError(f"the type {kind.name} is taken, by {module}: call it something else")
    DOCUMENT_TYPES[kind.name] = kind()
    return kind


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
