"""PDFs written byte by byte, such as no library would write: loops, bombs, trees without end."""

import io
import zlib

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas


def raw_pdf(*objects: bytes, trailer: bytes = b"/Root 1 0 R", prev: bool = False) -> bytes:
    """A PDF of such objects, numbered from 1, with a table that leads to them."""
    whole, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    at, size = len(whole), len(objects) + 1
    more = b" /Prev %d" % at if prev else b""
    return (
        whole
        + b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
        + b"trailer\n<< /Size %d %b%b >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, more, at)
    )


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), entries, content)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
SAID = b"BT /F 14 Tf 50 700 Td (A harmless line of text) Tj ET"


def page_of(
    content: bytes = stream(SAID),
    *more: bytes,
    catalog: bytes = b"",
    page: bytes = b"",
    box: bytes = b"0 0 595 842",
    resources: bytes = b"",
) -> bytes:
    """One page: the content is object 4, a font 5, `more` from 6 on."""
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R %b >>" % catalog,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [%b] /Contents 4 0 R %b "
        b"/Resources << /Font << /F 5 0 R >> %b >> >>" % (box, page, resources),
        content,
        FONT,
        *more,
    )


def encrypted_pdf() -> bytes:
    whole = io.BytesIO()
    canvas = Canvas(whole, encrypt=StandardEncryption("secret", strength=128))
    canvas.drawString(50, 700, "hidden")
    canvas.save()
    return whole.getvalue()


def tree_of_pages(depth: int) -> bytes:
    kids = [
        b"<< /Type /Pages /Kids [%d 0 R] /Count 1 /Parent %d 0 R >>" % (at + 1, at - 1)
        for at in range(2, depth)
    ]
    last = b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 99 99] >>" % (depth - 1)
    return raw_pdf(b"<< /Type /Catalog /Pages 2 0 R >>", *kids, last)


def many_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (at + 3) for at in range(count))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>"
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count),
        *[page] * count,
    )


def flate_bomb(layers: int, size: int = 300 << 20) -> bytes:
    packer = zlib.compressobj(9)
    blank = b" " * (1 << 20)
    content = b"".join(packer.compress(blank) for _ in range(size >> 20)) + packer.flush()
    for _ in range(layers - 1):
        content = zlib.compress(content, 9)
    return page_of(stream(content, b"/Filter [%b]" % (b"/FlateDecode " * layers)))


def image_object(width: int, height: int, content: bytes, filter_: bytes) -> bytes:
    return page_of(
        stream(b"q 595 0 0 842 0 0 cm /X Do Q"),
        stream(
            content,
            b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 "
            b"/ColorSpace /DeviceRGB /Filter %b" % (width, height, filter_),
        ),
        resources=b"/XObject << /X 6 0 R >>",
    )


def form_that_draws_itself() -> bytes:
    return page_of(
        stream(b"/X Do /X Do"),
        stream(b"/X Do /X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 99 99] "
               b"/Resources << /XObject << /X 6 0 R >> >>"),
        resources=b"/XObject << /X 6 0 R >>",
    )  # fmt: skip


def forms_in_forms(levels: int) -> bytes:
    forms = [
        stream(b"/X Do " * 10, b"/Type /XObject /Subtype /Form /BBox [0 0 99 99] "
               b"/Resources << /XObject << /X %d 0 R >> >>" % (7 + at))
        for at in range(levels)
    ]  # fmt: skip
    last = stream(b"0 0 9 9 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 99 99]")
    return page_of(stream(b"/X Do"), *forms, last, resources=b"/XObject << /X 6 0 R >>")


def fine_pattern() -> bytes:
    tile = stream(
        b"0 0 1 1 re f",
        b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] "
        b"/XStep 0.001 /YStep 0.001 /Resources << >>",
    )
    content = stream(b"/Pattern cs /P scn 0 0 595 842 re f " + SAID)
    return page_of(content, tile, resources=b"/Pattern << /P 6 0 R >>")


def glyph_that_draws_itself() -> bytes:
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] "
        b"/CharProcs << /a 7 0 R >> /Encoding << /Differences [97 /a] >> /FirstChar 97 "
        b"/LastChar 97 /Widths [9] /Resources << /Font << /T 6 0 R >> >> >>"
    )
    text = b"BT /T 9 Tf (aaaaaaaa) Tj ET"
    return page_of(stream(text), font, stream(text), resources=b"/Font << /T 6 0 R >>")
