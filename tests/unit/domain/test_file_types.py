import io
import unicodedata
import zipfile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from router.domain.file_types import (
    LONGEST_NAME,
    FileMention,
    document_kind,
    is_file_id,
    mentioned,
    mentions_in,
    safe_name,
    type_of,
)
from tests.table import each_row

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"


@each_row(
    ("content", "expected"),
    [
        (b"%PDF-1.7\n", "application/pdf"), (PNG, "image/png"), (JPEG, "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"), (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"), (b"\x00\x00\x00\x18ftypheic", "image/heic"),
        (b"\x00\x00\x00\x18ftypmif1", "image/heic"),
    ],
)  # fmt: skip
def test_a_document_is_known_by_its_first_bytes(content: bytes, expected: str) -> None:
    kind = document_kind(content)
    assert kind is not None
    assert kind.media_type == expected
    assert type_of(content, "text/html") == expected


@each_row(
    "content",
    [
        b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<!DOCTYPE html><html>", b"MZ\x90\x00",
        b"PK\x03\x04", b"\n%PDF-1.7", b"\x89PN", b"RIFF\x00\x00\x00\x00WAVE",
        b"\x00\x00\x00\x18ftypisom", b"BM\x00\x00",
    ],
)  # fmt: skip
def test_anything_else_is_no_document(content: bytes) -> None:
    assert document_kind(content) is None


@each_row(
    ("said", "expected"),
    [
        ("text/csv", "text/csv"),
        ("Text/CSV; charset=utf-8", "text/csv"),
        ("", "application/octet-stream"),
        ("csv", "application/octet-stream"),
        ("text/csv\r\nSet-Cookie: a=b", "application/octet-stream"),
        ("te xt/csv", "application/octet-stream"),
        ("text/" + "x" * 100, "application/octet-stream"),
    ],
)
def test_a_type_that_bytes_do_not_tell_is_what_was_said(said: str, expected: str) -> None:
    assert type_of(b"a,b\n", said) == expected


@each_row(
    ("name", "content", "expected"),
    [
        ("receipt.pdf", b"%PDF-1", "receipt.pdf"), ("发票 3月.PNG", PNG, "发票 3月.PNG"),
        ("photo.jpeg", JPEG, "photo.jpeg"), ("../../etc/passwd", b"", "passwd"),
        ("C:\\Users\\alice\\r.pdf", b"%PDF-1", "r.pdf"), ("..", b"", "file"), ("", PNG, "file.png"),
        (" . ", b"", "file"), (".bashrc", b"", "bashrc"),
        ("a\x00b\r\nc\x1b[31m.pdf", b"%PDF-1", "ab c[31m.pdf"),
        ("gpj\u202egpj.exe", b"", "gpjgpj.exe"), ("e\u0301.pdf", b"%PDF-1", "é.pdf"),
        ("a\ufe0f\u034f\u3164\U000e0100b.pdf", b"%PDF-1", "ab.pdf"),
        ("half \ud800.pdf", b"%PDF-1", "half .pdf"), ('a"b<c>|?*.pdf', b"%PDF-1", "a_b_c____.pdf"),
        ("a%2Fb.pdf", b"%PDF-1", "a_2Fb.pdf"), ("run.html", PNG, "run.html.png"),
    ],
)  # fmt: skip
def test_a_name_becomes_one_that_is_safe(name: str, content: bytes, expected: str) -> None:
    assert safe_name(name, content) == expected


def test_a_long_name_keeps_its_end() -> None:
    assert safe_name("长" * 300 + ".pdf", b"%PDF-1") == "长" * (LONGEST_NAME - 4) + ".pdf"


@given(st.text(), st.sampled_from([b"", PNG, b"%PDF-"]))
def test_whatever_it_was_a_name_is_short_can_be_seen_and_stays(name: str, content: bytes) -> None:
    safe = safe_name(name, content)
    assert 1 <= len(safe) <= LONGEST_NAME
    assert not set(safe) & set('/\\<>:"|?*%')
    assert not [c for c in safe if unicodedata.category(c)[0] == "C"]
    assert not safe.startswith(".")
    assert not safe.endswith((".", " "))
    assert safe_name(safe, content) == safe


@each_row(
    ("text", "expected"),
    [
        ("a1" * 12, True),
        ("a" * 23, False),
        ("A" * 24, False),
        ("a" * 24 + "\n", False),
        ("", False),
    ],
)
def test_an_id_of_a_file_is_known_by_its_looks(text: str, *, expected: bool) -> None:
    assert is_file_id(text) is expected


MENTION = FileMention("a" * 24, "days.csv", "text/csv", 20)
SHAPE: Any = MENTION.as_json()


def test_a_mention_is_read_as_it_was_written() -> None:
    assert mentioned(SHAPE) == MENTION


@each_row(
    "value",
    [
        {"file": {**SHAPE["file"], "url": "https://evil.example/a"}},
        {"file": {**SHAPE["file"], "url": f"//evil.example/v1/files/{'a' * 24}"}},
        {"file": {**SHAPE["file"], "id": "../../readyz"}},
        {"file": {**SHAPE["file"], "size": "20"}}, {"file": {**SHAPE["file"], "more": 1}},
        {"file": {"id": "a" * 24}}, {"file": SHAPE["file"], "more": 1}, {"file": "a.md"},
        {"file": None}, [SHAPE], "file", None,
    ],
)  # fmt: skip
def test_what_only_looks_like_a_mention_is_none(value: Any) -> None:
    assert mentioned(value) is None


def test_mentions_are_found_however_deep() -> None:
    assert list(mentions_in({"a": [SHAPE, {"b": SHAPE}], "c": 1})) == [MENTION, MENTION]
    assert list(mentions_in("no")) == []


def packed(*names: str) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), "<x/>")
    return whole.getvalue()


DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>\n'


@each_row(
    ("content", "expected"),
    [
        (packed("OFD.xml", "Doc_0/Document.xml"), "application/ofd"),
        (packed("Doc_0/Document.xml", "OFD.xml"), "application/ofd"),
        (DECLARED + b"<EInvoice><Header/></EInvoice>", "application/xml"),
        (b"\xef\xbb\xbf" + DECLARED + b"<!-- 1 --><p:EInvoice xmlns:p='x'/>", "application/xml"),
        (b"<EInvoice/>", "application/xml"),
        (packed("word/document.xml"), None),
        (packed("Doc_0/OFD.xml"), None),
        (packed("MyOFD.xml"), None),
        (packed("note.txt") + b"OFD.xml", None),
        (b"PK\x03\x04" + b"OFD.xml" * 500, None),
        (DECLARED + b"<invoice/>", None),
        (DECLARED + b"<EInvoices/>", None),
        (DECLARED + b"<!DOCTYPE EInvoice><EInvoice/>", None),
        (DECLARED + b"<?xml-stylesheet href='a.xsl'?><EInvoice/>", None),
        (b"<EInvoice><s xmlns='http://www.w3.org/1999/xhtml'/></EInvoice>", None),
        (b"<EInvoice><s xmlns='HTTP://WWW.W3.ORG/2000/SVG'/></EInvoice>", None),
        (b"x<EInvoice/>", None),
    ],
)
def test_invoices_are_known_by_what_is_in_them(content: bytes, expected: str | None) -> None:
    kind = document_kind(content)
    assert (kind.media_type if kind else None) == expected
