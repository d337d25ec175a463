"""Whether two files are the same paper, by number, by content or by what they look like."""

from collections.abc import Iterator
from typing import Literal

from router.documents.likeness import nearness
from router.domain.documents import Document

Kinship = Literal["same", "alike", ""]
"""Certainly the same paper, perhaps the same, another one."""
PIECE = 3
"""Hexadecimal digits of a likeness that are looked for together. Where 20 of 256 bits differ, some
piece of twelve is the same nearly always, where 40 do, in 95 of 100 cases; of other papers, one in
200 has one by chance."""
_TELLING = ("number", "amount", "date")


def marks_of(document: Document) -> Iterator[str]:
    """By what a file of the same paper is found: any of these is enough to compare the two."""
    if document.content:
        yield f"content:{document.content}"
    number = document.value("number")
    if isinstance(number, str):
        yield f"number:{number.upper()}"
    likeness = document.likeness or ""
    for start in range(0, len(likeness), PIECE):
        yield f"look:{start}:{likeness[start : start + PIECE]}"


def kinship(one: Document, other: Document) -> Kinship:
    """How surely the two are the same paper.

    Papers of one printer look alike: what is surely read as different on both tells them apart,
    however much they do.
    """
    if one.content and one.content == other.content:
        return "same"
    sure = [(one.value(name), other.value(name)) for name in _TELLING]
    if any(a != b for a, b in sure if a is not None and b is not None):
        return ""
    number, its = sure[0]
    if number is not None and number == its:
        return "same"
    if one.likeness is None or other.likeness is None:
        return ""
    near = nearness(one.likeness, other.likeness)
    read = [(one.fields.get(name), other.fields.get(name)) for name in _TELLING]
    agree = sum(a.value == b.value for a, b in read if a is not None and b is not None)
    if near == "same" and agree > 1:
        return "same"
    return "" if near == "different" else "alike"
