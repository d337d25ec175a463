"""PDF: its text where it has some, else what is recognised on its rendered pages.

PDFium reads it, built without JavaScript and XFA; no form is initialised and no action of it is
looked at. Text is taken character by character with its box, since files order and join
it as they like.
"""

import ctypes
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from router.documents.file_format import (
    FileFormat,
    FileReading,
    UnreadableFile,
    only_first,
    registered,
)
from router.documents.likeness import likeness
from router.documents.page import Material, Page, TextLine
from router.documents.xml_tree import fields, parsed
from router.domain.file_types import is_invoice_xml
from router.extensions.document_formats.layout import Edges, Piece, Sheet, lines_of
from router.extensions.document_formats.pictures import (
    LONGEST,
    SIGHT,
    codes_of,
    picture_page,
    preview_of,
)

if TYPE_CHECKING:
    from PIL import Image

ATTACHMENTS = 8
"""So many are looked at."""
FEW = 12
"""Characters: a page that has fewer is a picture, with a number or a watermark on it."""
SAMPLED = 200
"""So many of its characters tell which way a page's text runs."""
STRANGE = 0.3
"""Of a page's characters: with more that mean nothing, its text is as good as none."""
MOST_CHARACTERS = 50_000
"""Of one page."""
SHARPEST = 3.0
"""Pixels a point, at most: 216 dots an inch."""
PASSWORD = 4
"""PDFium's error where a password is asked for; 5 is a kind of encryption that it doesn't know."""


@registered
class PdfFormat(FileFormat):
    """Lines with places, the codes of the rendered pages, the document information as data."""

    media_types = ("application/pdf",)
    needs = ("pypdfium2", *SIGHT)

    def read(self, content: bytes, reading: FileReading) -> Material:
        """Its first pages; raises `UnreadableFile` where it is encrypted, damaged or has none."""
        document = _opened(content)
        count = len(document)
        if not count:
            raise UnreadableFile("damaged")
        data = dict(_information(document, reading))
        data.update(_attached(document, reading))
        most = min(count, reading.limits.pages)
        pages: list[Page] = []
        look, preview = None, ""
        while len(pages) < most and (not pages or reading.has_time):
            reading.tell(len(pages), most)
            page, picture = _page(document, len(pages), reading)
            if not pages:
                look, preview = likeness(picture), preview_of(picture)
            pages.append(page)
        reading.tell(most, most)
        problems = (only_first(len(pages), count),) if count > len(pages) else ()
        return Material(tuple(pages), data, look, preview, problems)


def _opened(content: bytes) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        raise UnreadableFile(
            "encrypted" if code in {PASSWORD, PASSWORD + 1} else "damaged"
        ) from None


def _information(document: Any, reading: FileReading) -> Iterator[tuple[str, str]]:
    for key, value in document.get_metadata_dict(skip_empty=True).items():
        text = reading.room_for(value.strip("\0 "))
        if text:
            yield key, text


def _attached(document: Any, reading: FileReading) -> Iterator[tuple[str, str]]:
    """The fields of an invoice's XML, where one is attached."""
    import pypdfium2

    for number in range(min(document.count_attachments(), ATTACHMENTS)):
        with suppress(pypdfium2.PdfiumError):
            attached = bytes(document.get_attachment(number).get_data())
            if is_invoice_xml(attached):
                reading.unpack(len(attached))
                yield from fields(parsed(attached, reading), reading)


def _page(document: Any, number: int, reading: FileReading) -> "tuple[Page, Image.Image]":
    import pypdfium2

    try:
        page = document[number]
        text = page.get_textpage()
        shown = page.get_rotation()
        # From here on the page is as its text runs, whichever way it is shown.
        page.set_rotation(_direction(text, shown))
        picture = _rendered(page)
        width, height = page.get_size()
        lines = tuple(_text_lines(text, page, Sheet(number, width, height), reading))
    except pypdfium2.PdfiumError:
        raise UnreadableFile("damaged") from None
    if _says_something(lines):
        return Page(width, height, lines, codes_of(picture, number, reading)), picture
    return picture_page(picture, number, reading)


def _direction(text: Any, shown: int) -> int:
    """By how many degrees the page has to be turned, clockwise, for most of its text to run right;
    as it is shown where it has none.
    """  # noqa: D205 - one sentence
    count = min(text.count_chars(), MOST_CHARACTERS)
    step = max(1, count // SAMPLED)
    angles = (_angle(text, i) for i in range(0, count, step))
    quarters = Counter(-round(angle / (math.pi / 2)) % 4 for angle in angles if angle >= 0)
    return 90 * quarters.most_common(1)[0][0] if quarters else shown


def _rendered(page: Any) -> "Image.Image":
    width, height = page.get_size()
    if not (0 < width < 1e6 and 0 < height < 1e6):  # noqa: PLR2004 - and no nan
        raise UnreadableFile("damaged")
    scale = min(SHARPEST, LONGEST / max(width, height))
    picture: Image.Image = page.render(scale=scale, may_draw_forms=False).to_pil()
    return picture.convert("RGB")


def _says_something(lines: tuple[TextLine, ...]) -> bool:
    text = "".join(line.text for line in lines)
    strange = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for c in text)
    return len(text) >= FEW and strange < STRANGE * len(text)


def _angle(text: Any, index: int) -> float:
    """By how much a character is turned, in radians clockwise; negative for none."""
    from pypdfium2 import raw

    return float(raw.FPDFText_GetCharAngle(text, index))


def _text_lines(text: Any, page: Any, sheet: Sheet, reading: FileReading) -> Iterator[TextLine]:
    pieces = list(_characters(text, page))
    for line in lines_of(pieces, sheet):
        said = reading.room_for(line.text)
        if said:
            yield TextLine(said, line.place)


def _characters(text: Any, page: Any) -> Iterator[Piece]:
    """Each character that the file has, with its box as the page is turned."""
    from pypdfium2 import raw

    turned = page.get_rotation() // 90
    page.set_rotation(0)  # boxes are those of the page as it was written
    left, bottom, right, top = page.get_bbox()
    page.set_rotation(90 * turned)
    found = raw.FS_RECTF()
    for i in range(min(text.count_chars(), MOST_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(text, i)
        # PDFium puts spaces and line ends where it believes them; gaps are measured here.
        if (code <= 0x20 and code != 0x20) or raw.FPDFText_IsGenerated(text, i) == 1:  # noqa: PLR2004
            continue
        if not raw.FPDFText_GetLooseCharBox(text, i, ctypes.byref(found)):
            continue
        box = Edges(found.left - left, top - found.top, found.right - left, top - found.bottom)
        yield Piece(_sign(code), _turned(box, turned, right - left, top - bottom))


def _sign(code: int) -> str:
    surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004
    return "\ufffd" if surrogate or code > 0x10FFFF else chr(code)  # noqa: PLR2004


def _turned(box: Edges, quarters: int, width: float, height: float) -> Edges:
    """The box on a page that is shown turned clockwise by so many quarters."""
    left, top, right, bottom = box
    if quarters == 1:
        return Edges(height - bottom, left, height - top, right)
    if quarters == 2:  # noqa: PLR2004
        return Edges(width - right, height - bottom, width - left, height - top)
    if quarters == 3:  # noqa: PLR2004
        return Edges(top, width - right, bottom, width - left)
    return box
