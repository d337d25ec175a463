"""Pages written down in a test: texts at places, without a file and without recognition."""

from datetime import date

from router.documents.document_type import recognised
from router.documents.page import Material, Page, PageCode, TextLine
from router.domain.documents import Document, Place, Source

TODAY = date(2026, 11, 25)
Put = tuple[float, float, str]
"""Left and top edge in percent of the page, and what stands there."""
_HEIGHT = 0.016


def paper(
    *texts: Put,
    code: str = "",
    data: dict[str, str] | None = None,
    source: Source = "text",
    confidence: float = 1.0,
) -> Material:
    """A page with these texts, a letter being as wide as it is high, and Chinese ones twice."""
    lines = [TextLine(text, place(x, y, text), source, confidence) for x, y, text in texts]
    codes = (PageCode(code, Place(left=0, top=0, right=0.1, bottom=0.1)),) if code else ()
    return Material((Page(595, 842, tuple(lines), codes),), data or {})


def place(x: float, y: float, text: str) -> Place:
    """Where a text of one line stands."""
    width = sum(0.02 if ord(c) > 0x2E7F else 0.01 for c in text[:80])
    left, top = x / 100, y / 100
    return Place(left=left, top=top, right=min(1.0, left + width), bottom=top + _HEIGHT)


def column(*texts: str, source: Source = "text", confidence: float = 1.0) -> Material:
    """A slip: a line a text, what stands behind a `|` at the right edge."""
    puts: list[Put] = []
    for number, text in enumerate(texts):
        for part, x in zip(text.split("|"), (5, 70), strict=False):
            puts.append((x, 3 + 2.5 * number, part))
    return paper(*puts, source=source, confidence=confidence)


def read(material: Material, today: date = TODAY) -> Document:
    """What it is, and what stands on it."""
    return recognised(material, today)


def values(document: Document) -> dict[str, object]:
    """The values of all fields, sure or not; amounts without their currency, if it is yuan."""
    plain: dict[str, object] = {}
    for name, found in document.fields.items():
        value = found.value
        if isinstance(value, dict) and value["currency"] == "CNY":
            value = value["amount"]
        plain[name] = value
    return plain


def codes(document: Document) -> list[str]:
    """What is wrong with it."""
    return [problem.code for problem in document.problems]
