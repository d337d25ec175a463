"""What was read of a file that somebody handed in, as values.

A document has a type, as slots have; its fields are entity values: money `{"amount": "58.00",
"currency": "CNY"}`, a date `"2026-11-19"`, a number `"3"`, text as it stands there. Each field
knows where it came from, how sure that is and where on the page it stands.
"""

from datetime import datetime
from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue

from router.domain.locale import Localised
from router.domain.value import Value

Source = Literal["text", "code", "picture", "model"]
"""The file's own text or data, a QR code, a picture that was read, a model that looked at it."""
OTHER = "other"
"""The type of a document that is none of those that are known."""
SURE = 0.8
"""From this confidence on a field is taken; below, it is shown and asked about."""


class DocumentPart(Value):
    """Base of these values: frozen, and written with their own keys."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True, allow_inf_nan=False)


class Place(DocumentPart):
    """Where on a page something stands: its number from 0, and edges in shares of the page."""

    page: int = Field(0, ge=0)
    left: float
    top: float
    right: float
    bottom: float


class ReadField(DocumentPart):
    """One field of a document."""

    value: JsonValue
    source: Source = Field(alias="from")
    confidence: float = Field(ge=0, le=1)
    place: Place | None = None

    @property
    def is_sure(self) -> bool:
        """True where it is taken without asking."""
        return self.confidence >= SURE


class DocumentProblem(DocumentPart):
    """Something about the document that its reader has to know: it adds up to something else."""

    code: str
    """For programs: `total`, `future`, `encrypted`, …"""
    text: Localised


class Document(DocumentPart):
    """What was read of one file."""

    type: str = OTHER
    fields: dict[str, ReadField] = {}
    lacks: tuple[str, ...] = ()
    """What such a document has, and wasn't found on this one."""
    problems: tuple[DocumentProblem, ...] = ()
    text: str = ""
    """What is written in it, in reading order, as far as it is kept: for models that can't see."""
    likeness: str | None = None
    """A digest of what the first page looks like, in hexadecimal: scaled or compressed anew it
    differs in a few bits."""
    content: str = ""
    """The SHA-256 of the file's content."""
    pages: int = Field(1, ge=0)
    readable: bool = True
    """False where nothing could be read of it; `problems` say why."""
    open_until: datetime | None = None
    """Until when more may be found on it, by a model that looks at it; then it is as it stands."""

    def is_open(self, now: datetime) -> bool:
        """True while more may be found: who can wait for all of it does."""
        return self.open_until is not None and now < self.open_until

    @classmethod
    def unreadable(cls, code: str, text: Localised) -> Self:
        """The document of which nothing can be read, and why."""
        return cls(readable=False, problems=(DocumentProblem(code=code, text=text),))

    def value(self, field: str) -> JsonValue:
        """The value of a field that is sure; None where there is none."""
        found = self.fields.get(field)
        return found.value if found is not None and found.is_sure else None


class FileDocument(DocumentPart):
    """What was read of one file of a message, as its turn shows it."""

    file: str
    type: str
    fields: dict[str, ReadField]

    @classmethod
    def of(cls, file: str, document: Document) -> Self:
        """Of a file, by id; where things stand on its pages is left out."""
        fields = {n: f.replace(place=None) for n, f in document.fields.items()}
        return cls(file=file, type=document.type, fields=fields)
