"""XML of strangers becomes a tree within bounds."""

import pytest

from router.documents.file_format import FileReading, Limits, UnreadableFile
from router.documents.xml_tree import fields, parsed
from tests.table import each_row


def read(text: str | bytes, **limits: int) -> list[tuple[str, str]]:
    reading = FileReading(Limits(**limits))
    raw = text.encode() if isinstance(text, str) else text
    return list(fields(parsed(raw, reading), reading))


def test_fields_are_named_by_the_path_of_tags() -> None:
    assert read("<a><b>1</b><b x='2'>3<c>4</c></b></a>") == [
        ("a/b", "1"), ("a/b[2]", "3"), ("a/b[2]@x", "2"), ("a/b[2]/c", "4"),
    ]  # fmt: skip


def test_prefixes_do_not_count() -> None:
    assert read("<p:a xmlns:p='x'><p:b>1</p:b></p:a>")[-1] == ("a/b", "1")


@each_row("name", ["GBK", "gb2312", "GB18030"])
def test_chinese_encodings_are_read(name: str) -> None:
    text = f'<?xml version="1.0" encoding="{name}"?><a>发票</a>'
    assert read(text.encode("gb18030")) == [("a", "发票")]


@each_row(
    ("text", "code"),
    [
        ("<!DOCTYPE a><a/>", "unsafe"),
        ("<a><b><c/></b></a>", "bomb"),
        ("<a>" + "<b/>" * 20 + "</a>", "bomb"),
        ("<a", "damaged"),
        ("", "damaged"),
        ("<a/><b/>", "damaged"),
        ("<a>&nobody;</a>", "damaged"),
    ],
)
def test_what_goes_beyond_is_refused(text: str, code: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(text, depth=2, nodes=10)
    assert refused.value.code == code


def test_no_more_text_is_given_than_may_be() -> None:
    assert read("<a><b>12345</b><c>67890</c><d>1</d></a>", characters=7) == [
        ("a/b", "12345"), ("a/c", "67"),
    ]  # fmt: skip
