"""Files that mean harm are refused in words or read harmlessly, and nothing is lost by it."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from router.documents.file_format import UNREADABLE, Limits, UnreadableFile
from router.documents.reader import DocumentReader
from router.extensions.document_formats import DocumentFormatsExtension
from tests.document_files import INVOICE, NUMBER, pdf
from tests.hostile_files import HOSTILE, INSTRUCTION, READ, Hostile

GOOD = pdf(INVOICE)
FORMATS = DocumentFormatsExtension().file_formats()
LIMITS = Limits(seconds=300)
HASTE = Limits(seconds=300, cpu_seconds=5)
"""For what is to be stopped: a machine may need longer than this for what is to be read."""


@pytest.fixture(scope="module")
async def reader() -> AsyncIterator[DocumentReader]:
    async with DocumentReader(FORMATS, limits=LIMITS) as one:
        yield one


@pytest.fixture(scope="module")
async def hasty() -> AsyncIterator[DocumentReader]:
    async with DocumentReader(FORMATS, limits=HASTE) as one:
        yield one


async def outcome(reader: DocumentReader, content: bytes) -> str:
    """`READ`, or the code that it was refused with."""
    try:
        material = await reader.read(content)
    except UnreadableFile as error:
        return error.code
    assert len(material.text) + sum(map(len, material.data.values())) < 3 * LIMITS.characters
    assert len(material.pages) <= LIMITS.pages
    assert len(material.codes) <= LIMITS.codes
    assert "root:" not in material.as_json().decode()  # of /etc/passwd
    return READ


SLOW = {
    *("pdf, size: two million lines", "pdf, size: fine pattern", "pdf, size: forms in forms"),
    *("pdf, size: form that draws itself", "pdf, size: flate bomb in another"),
    *(
        "pdf, size: noise as jbig2",
        "pdf, size: noise as jpeg 2000",
        "pdf, size: thousands of pages",
    ),
    *("picture, size: page full of words", "picture, size: wall of codes", "picture, size: noise"),
    *("picture, size: png that is just not too large", "picture, size: four inks"),
    *("picture, junk: junk for exif", "picture, junk: orientation that is none"),
    "picture, junk: text bomb",
}
"""Seconds each: of each kind a quicker one stands beside them."""
EACH = [
    pytest.param(one, marks=pytest.mark.slow if str(one) in SLOW else (), id=str(one))
    for one in HOSTILE
]


@pytest.mark.slow
@pytest.mark.parametrize("hostile", EACH)
async def test_a_hostile_file_is_refused_or_harmless(
    reader: DocumentReader, hasty: DocumentReader, hostile: Hostile
) -> None:
    assert set(hostile.outcomes) <= {READ, *UNREADABLE}
    came = await outcome(hasty if "time" in hostile.outcomes else reader, hostile.make())
    assert came in hostile.outcomes
    if came != READ:
        assert NUMBER in (await reader.read(GOOD)).text


def test_there_are_enough_of_each_kind() -> None:
    kinds = Counter(hostile.kind.partition(",")[0] for hostile in HOSTILE)
    assert len({str(hostile) for hostile in HOSTILE}) == len(HOSTILE) >= 60
    assert min(kinds.values()) >= 10
    assert set(map(str, HOSTILE)) >= SLOW


async def test_an_instruction_is_text_as_any_other(reader: DocumentReader) -> None:
    (hostile,) = [one for one in HOSTILE if one.name == "instruction in its information"]
    assert (await reader.read(hostile.make())).data["Title"] == INSTRUCTION
