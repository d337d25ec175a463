"""What stands on the pages of a file, before anything is made of it.

Readers of file formats give a `Material`; document types read fields out of it. Nothing in it is
believed: it is text of strangers.
"""

import math
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from router.domain.documents import DocumentProblem, Place, Source


@dataclass(frozen=True)
class Line:
    """A piece of text that stands together, and where. Confidence is 1 for the file's own text."""

    text: str
    place: Place
    source: Source = "text"
    confidence: float = 1.0


@dataclass(frozen=True)
class Code:
    """A QR or bar code: what it says, and where it stands."""

    text: str
    place: Place


@dataclass(frozen=True)
class Page:
    """One page: its size in points, millimetres or pixels, its lines in reading order, its codes.

    `turned` is by how many degrees, clockwise, the page was turned before it was read: what was
    photographed lying on its side, or a little askew. Size and places are those of the page as it
    was read; `as_handed_in` gives a place on the page as its owner sees it.
    """

    width: float
    height: float
    lines: tuple[Line, ...] = ()
    codes: tuple[Code, ...] = ()
    turned: float = 0.0

    def as_handed_in(self, place: Place) -> Place:
        """Where that is on the page as it was handed in, before it was turned."""
        if not self.turned:
            return place
        quarters = round(self.turned / 90)
        skew = math.radians(self.turned - 90 * quarters)
        corners = [(x, y) for x in (place.left, place.right) for y in (place.top, place.bottom)]
        points = [self._back(x, y, skew, quarters % 4) for x, y in corners]
        (left, *_, right), (top, *_, bottom) = (sorted(edge) for edge in zip(*points, strict=True))
        return Place(page=place.page, left=left, top=top, right=right, bottom=bottom)

    def _back(self, x: float, y: float, skew: float, quarters: int) -> tuple[float, float]:
        across, down = (x - 0.5) * self.width, (y - 0.5) * self.height
        x = 0.5 + (across * math.cos(skew) + down * math.sin(skew)) / self.width
        y = 0.5 + (down * math.cos(skew) - across * math.sin(skew)) / self.height
        for _ in range(quarters):
            x, y = y, 1 - x
        return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


@dataclass(frozen=True)
class Material:
    """A file as it was read.

    `data` are fields that the file names itself, such as the XML of a digital invoice, by the
    path of tags that leads there: `{"EInvoice/Header/EIid": "…"}`; the same of its document
    information. `likeness` is a digest of what the first page looks like, and `problems` are what
    its reader has to know, such as that only the first pages of it were read.
    """

    pages: tuple[Page, ...] = ()
    data: dict[str, str] = field(default_factory=dict)
    likeness: str | None = None
    problems: tuple[DocumentProblem, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of all pages."""
        return tuple(line for page in self.pages for line in page.lines)

    @property
    def codes(self) -> tuple[Code, ...]:
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
