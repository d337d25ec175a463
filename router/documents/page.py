"""What stands on the pages of a file, before anything is made of it.

Readers of file formats give a `Material`; document types read fields out of it. Nothing in it is
believed: it is text of strangers.
"""

from dataclasses import dataclass, field

from pydantic import TypeAdapter

from router.domain.documents import DocumentProblem, Place, Source


@dataclass(frozen=True)
class TextLine:
    """A piece of text that stands together, and where. Confidence is 1 for the file's own text."""

    text: str
    place: Place
    source: Source = "text"
    confidence: float = 1.0


@dataclass(frozen=True)
class PageCode:
    """A QR or bar code: what it says, and where it stands."""

    text: str
    place: Place


@dataclass(frozen=True)
class Page:
    """One page: its size in points, millimetres or pixels, its lines in reading order, its codes.

    A picture was turned upright before it was read: places are those of the page then.
    """

    width: float
    height: float
    lines: tuple[TextLine, ...] = ()
    codes: tuple[PageCode, ...] = ()


@dataclass(frozen=True)
class Material:
    """A file as it was read.

    `data` are fields that the file names itself, such as the XML of a digital invoice, by the
    path of tags that leads there: `{"EInvoice/Header/EIid": "…"}`; the same of its document
    information. `likeness` is a digest of what the first page looks like, `preview` a small JPEG of
    it in Base64, and `problems` are what its reader has to know, such as that only the first pages
    of it were read.
    """

    pages: tuple[Page, ...] = ()
    data: dict[str, str] = field(default_factory=dict)
    likeness: str | None = None
    preview: str = ""
    problems: tuple[DocumentProblem, ...] = ()

    @property
    def lines(self) -> tuple[TextLine, ...]:
        """The lines of all pages."""
        return tuple(line for page in self.pages for line in page.lines)

    @property
    def codes(self) -> tuple[PageCode, ...]:
        """The codes of all pages."""
        return tuple(code for page in self.pages for code in page.codes)

    @property
    def text(self) -> str:
        """Everything that is written, a line each."""
        return "\n".join(line.text for line in self.lines)

    def as_json(self) -> bytes:
        """The same as JSON."""
        return _MATERIAL.dump_json(self)

    @classmethod
    def of_json(cls, raw: bytes) -> "Material":
        """What `as_json` gave; `ValueError` for anything else."""
        return _MATERIAL.validate_json(raw)


_MATERIAL = TypeAdapter(Material)
