"""Text, data and places of files that say in text what they say."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from router.documents.file_format import (
    FORMATS,
    UNREADABLE,
    FileFormat,
    FileReading,
    Limits,
    UnreadableFile,
    load_formats,
    read_here,
)
from router.documents.page import Material
from router.extensions.document_formats import DocumentFormatsExtension
from tests.document_files import (
    EINVOICE,
    INVOICE,
    NUMBER,
    changed_encoding,
    ofd,
    ofd_parts,
    packed,
    pdf,
    picture,
    qr,
    saved,
)
from tests.table import each_row

SAYS = [
    "电子发票（普通发票）",
    f"发票号码：{NUMBER}",
    "名称：北京某某科技有限公司",
    "Total amount 100.00",
]
CODE = f"01,32,,{NUMBER},100.00,20261119,,ABCD"

PACKAGES = DocumentFormatsExtension().file_formats()
load_formats(PACKAGES)


def read(content: bytes, **limits: float) -> Material:
    return read_here(content, FileReading(Limits(**limits)))


def said(material: Material) -> list[str]:
    return [line.text for line in material.lines]


def test_a_pdf_gives_its_lines_with_places_and_its_information() -> None:
    material = read(pdf(INVOICE, title="发票"))
    assert said(material) == SAYS
    number = material.lines[1].place
    assert (number.left, number.bottom) == pytest.approx((300 / 595, 63 / 842), abs=0.005)
    assert {line.source for line in material.lines} == {"text"}
    assert material.data["Title"] == "发票"
    assert material.likeness is not None


@pytest.mark.slow
@each_row("rotate", [90, 180, 270])
def test_a_pdf_whose_text_does_not_run_across_is_turned(rotate: int) -> None:
    inside = [(x + 20, y / 2, text) for x, y, text in INVOICE]
    material = read(pdf(inside, rotate=rotate))
    assert said(material) == SAYS


def test_codes_on_a_page_of_a_pdf_are_read() -> None:
    material = read(pdf(INVOICE, picture=qr(CODE)))
    assert [code.text for code in material.codes] == [CODE]


def test_an_ofd_gives_what_is_on_its_page_and_the_template_beneath() -> None:
    material = read(ofd())
    assert said(material) == ["税务局监制", *SAYS]
    number = material.lines[2].place
    assert (number.left, number.bottom) == pytest.approx((300 / 595, 60 / 842), abs=0.01)
    assert material.data == {"DocInfo/Author": "Tax", "DocInfo/CustomData/发票号码": NUMBER}


def test_an_ofd_gives_the_fields_of_an_attached_invoice() -> None:
    material = read(ofd(attached=EINVOICE))
    assert material.data["EInvoice/Header/EIid"] == NUMBER


def test_a_broken_attachment_does_not_keep_an_ofd_from_being_read() -> None:
    material = read(ofd(attached="<EInvoice>"))
    assert said(material)[1:] == SAYS
    assert "EInvoice/Header/EIid" not in material.data


def test_a_code_on_an_ofd_stands_where_its_picture_does() -> None:
    (code,) = read(ofd(picture=saved(qr(CODE)))).codes
    assert code.text == CODE
    assert 10 / 210 < code.place.left < code.place.right < 30 / 210


def test_spaced_characters_of_an_ofd_are_one_line() -> None:
    parts = ofd_parts()
    page = str(parts["Doc_0/Pages/Page_0/Content.xml"])
    stepped = page.replace('Y="4"', 'Y="4" DeltaX="g 30 4.2"')
    material = read(packed(parts | {"Doc_0/Pages/Page_0/Content.xml": stepped}))
    assert "电子发票（普通发票）" in said(material)


@each_row("encoding", ["UTF-8", "GBK"])
def test_the_xml_of_an_invoice_is_data(encoding: str) -> None:
    material = read(changed_encoding(EINVOICE, encoding))
    assert material.data["EInvoice/Header/EIid"] == NUMBER
    assert material.data["EInvoice/EInvoiceData/IssuItemInformation[2]/ItemName"] == "茶位"
    assert "SellerName: 北京某某餐饮有限公司" in said(material)


@each_row("make", [pdf, lambda *pages: ofd(pages)])
def test_of_many_pages_the_first_are_read_and_it_says_so(make: Callable[..., bytes]) -> None:
    told: list[tuple[int, int]] = []
    reading = FileReading(Limits(pages=2), lambda done, of: told.append((done, of)))
    material = read_here(make(INVOICE, INVOICE, INVOICE), reading)
    assert len(material.pages) == 2
    assert [line.place.page for line in material.lines][-1] == 1
    assert [problem.code for problem in material.problems] == ["pages"]
    assert material.problems[0].text.en == "only the first 2 of its 3 pages were read"
    assert told == [(0, 2), (1, 2), (2, 2)]


@each_row("make", [pdf, lambda *pages: ofd(pages)])
def test_when_time_runs_out_what_was_read_is_given(make: Callable[..., bytes]) -> None:
    # Of no time at all the first page takes everything.
    material = read(make(INVOICE, INVOICE, INVOICE), seconds=1e-9)
    assert said(material)[-1] == SAYS[-1]
    assert [problem.text.en for problem in material.problems] == [
        "only the first 1 of its 3 pages were read"
    ]


@pytest.mark.slow
@each_row("content", [pdf(INVOICE), ofd(), EINVOICE.encode()], ids=["pdf", "ofd", "xml"])
def test_no_more_text_is_given_than_may_be(content: bytes) -> None:
    material = read(content, characters=20)
    assert sum(map(len, said(material))) + sum(map(len, material.data.values())) <= 60


def test_every_reason_is_told_in_both_languages() -> None:
    for code, text in UNREADABLE.items():
        assert UnreadableFile(code).text == text
        assert text.zh
        assert text.en
    assert UnreadableFile("nonsense").code == "damaged"


def test_a_format_without_what_it_needs_is_not_available() -> None:
    class Strange(FileFormat):
        media_types = ("application/strange",)
        needs = ("no_such_module_anywhere",)

        def read(self, content: bytes, reading: FileReading) -> Material:
            return Material()

    assert not Strange().is_available


BARE = """
import sys
gone = ("PIL", "pypdfium2", "rapidocr", "onnxruntime", "cv2", "zxingcpp", "pi_heif")
sys.modules.update(dict.fromkeys(gone))
from router.documents import reader
from router.documents.file_format import FORMATS, FileReading, UnreadableFile
from router.documents.file_format import load_formats, read_here
load_formats(["router.extensions.document_formats.formats"])
print(*sorted(name for name, one in FORMATS.items() if one.is_available))
for path in sys.argv[1:]:
    try:
        with open(path, "rb") as file:
            print(len(read_here(file.read(), FileReading()).lines))
    except UnreadableFile as error:
        print(error.code)
"""


@pytest.mark.slow
def test_without_the_extra_text_of_ofd_and_xml_is_read_and_the_rest_is_said(
    tmp_path: Path,
) -> None:
    files = {"a": ofd(picture=saved(qr("x"))), "b": EINVOICE.encode(), "c": pdf(INVOICE),
             "d": saved(picture())}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    ran = subprocess.run(
        [sys.executable, "-c", BARE, *(str(tmp_path / name) for name in files)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.split("\n")[:5] == [
        "application/ofd application/xml", "5", "6", "no_reader", "no_reader",
    ]  # fmt: skip


def test_with_it_all_are_available() -> None:
    assert all(one.is_available for one in FORMATS.values())


def test_without_any_format_a_known_file_has_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    for media_type in [*FORMATS]:
        monkeypatch.delitem(FORMATS, media_type)

    for content, code in ((pdf(INVOICE), "no_reader"), (b"nothing known", "unknown_format")):
        with pytest.raises(UnreadableFile) as refused:
            read(content)
        assert refused.value.code == code
