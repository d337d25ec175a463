"""Entrances of files that come in whole: papers, forms and processes.

What is packed into a zip is written out, part by part, and packed by the entrance: of bytes changed
within one hardly any get past its checksums.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date

from router.documents.document_type import recognised
from router.documents.file_format import FileReading, Limits, UnreadableFile, format_of
from router.documents.reader import DocumentReader
from router.domain.errors import InvalidInput
from router.extensions.document_formats import DocumentFormatsExtension
from router.extensions.importers.beginning import BeginningContext
from router.extensions.importers.source_file import beginning_of_file
from tests.document_files import EINVOICE, INVOICE, ofd_parts, packed, pdf, picture, saved
from tests.fuzz.entrance import BESIDE_IT, Entrance, Outcome, Take, as_bytes, registered
from tests.fuzz.texts import REFUSED, function
from tests.raw_pdf import SAID, page_of, stream
from tests.unit.extensions.importers import test_bpmn, test_form

PART = b"\n=== "
TODAY = date(2026, 11, 20)
FORMATS = DocumentFormatsExtension().file_formats()
SMALL = Limits(seconds=60, cpu_seconds=5)


def opened_up(parts: dict[str, str | bytes]) -> bytes:
    """The parts of a zip as one readable input."""
    return b"".join(PART + as_bytes(name) + b"\n" + as_bytes(one) for name, one in parts.items())


def put_together(data: bytes) -> bytes:
    """The zip that such an input stands for; any other as it is."""
    if not data.startswith(PART):
        return data
    pieces = (piece.partition(b"\n") for piece in data.split(PART)[1:])
    named = {name.decode("latin-1")[:200] or "x": content for name, _, content in pieces}
    return packed({name: content for name, content in named.items() if "\0" not in name}, 0)


# Files that a flow begins with

AROUND = BeginningContext()


def _begun(data: bytes) -> Outcome:
    try:
        beginning_of_file(put_together(data), AROUND)
    except InvalidInput:
        return REFUSED
    return Outcome()


def _processes() -> Iterator[bytes]:
    parts = test_bpmn.START + test_bpmn.FORM + test_bpmn.APPROVE
    around = '<exclusiveGateway id="g"/><userTask id="r" name="Revise"/>' + test_bpmn.END
    yield test_bpmn.bpmn(parts + around, "s>t t>a a>g g>e:${approved} g>r:${!approved} r>a")
    timer = (
        f"<intermediateCatchEvent id='w'>{test_bpmn.TIMER.format('PT2H')}</intermediateCatchEvent>"
    )
    yield test_bpmn.bpmn(test_bpmn.START + timer + test_bpmn.END, "s>w w>e")
    for content, _ in test_bpmn.HOSTILE.values():
        yield content


registered(
    Entrance(
        "bpmn",
        "processes in BPMN 2.0 that a flow begins with",
        function(_begun),
        _processes,
        stop=BESIDE_IT,
    )
)


SHEET = """<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c>
<c r="B1" t="inlineStr"><is><t>部门</t></is></c></row></sheetData>
<dataValidations><dataValidation sqref="B1"><formula1>"a,b"</formula1></dataValidation>
</dataValidations></worksheet>"""
CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"


def _forms() -> Iterator[bytes]:
    yield opened_up(
        {
            "xl/workbook.xml": '<workbook><sheets><sheet name="Room"/></sheets></workbook>',
            "xl/sharedStrings.xml": "<sst><si><t>姓名</t></si></sst>",
            "xl/worksheets/sheet1.xml": SHEET,
        }
    )
    rows = "".join(
        f"<w:tr>{CELL.format(word)}{CELL.format('')}</w:tr>"
        for word in ("姓名", "金额", "经理签字")
    )
    body = f"<w:body><w:p><w:r><w:t>用印</w:t></w:r></w:p><w:tbl>{rows}</w:tbl></w:body>"
    yield opened_up({"word/document.xml": f'<w:document xmlns:w="x">{body}</w:document>'})
    yield from test_form.HOSTILE.values()


registered(
    Entrance(
        "forms",
        "forms in docx and xlsx that a flow begins with",
        function(_begun),
        _forms,
        stop=BESIDE_IT,
    )
)

# Papers that people hand in


def _read(data: bytes) -> Outcome:
    """What the file's own process does of OFD and XML, and what the worker then makes of it."""
    content = put_together(data)
    try:
        kind = format_of(content)
        if not {"application/ofd", "application/xml"} & set(kind.media_types):
            return REFUSED
        material = kind.read(content, FileReading(SMALL))
    except UnreadableFile:
        return REFUSED
    except Exception:  # noqa: BLE001 - that process may die of a file, and says that it is damaged
        return REFUSED
    recognised(material, TODAY)
    return Outcome()


def _invoices() -> Iterator[bytes]:
    yield opened_up(ofd_parts())
    yield opened_up(ofd_parts(attached=EINVOICE))
    yield EINVOICE.encode()


registered(
    Entrance(
        "documents",
        "invoices as OFD and XML, and the fields that are found in them",
        function(_read),
        _invoices,
        stop=BESIDE_IT,
    )
)


@asynccontextmanager
async def _reading_apart() -> AsyncIterator[Take]:
    async with DocumentReader(FORMATS, limits=SMALL) as reader:

        async def take(data: bytes) -> Outcome:
            try:
                material = await reader.read(data)
            except UnreadableFile:
                return REFUSED
            recognised(material, TODAY)
            return Outcome()

        yield take


def _papers() -> Iterator[bytes]:
    yield pdf(INVOICE)
    yield page_of(stream(SAID))
    small = picture(("",), (40, 30))
    yield from (saved(small, kind) for kind in ("PNG", "JPEG", "GIF", "WEBP"))


registered(
    Entrance(
        "papers",
        "PDF and pictures, read in a process of their own",
        _reading_apart,
        _papers,
        "bytes",
    )
)
