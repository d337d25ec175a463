"""Files as people hand them in, read whole: format, characters, type and fields.

They were drawn by `bench/document_set.py`. Pictures and PDF need the extra `[documents]`, which is
part of `[test]`.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from router.documents.document_type import recognised
from router.documents.reader import DocumentReader
from router.extensions.document_formats import DocumentFormatsExtension
from tests.table import each_row
from tests.unit.documents.types.paper import TODAY

pytest.importorskip("rapidocr", reason="the extra [documents] isn't installed")

FOLDER = Path(__file__).parents[3] / "data" / "documents" / "papers"
EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (FOLDER / "expected.json").read_text(encoding="utf-8")
)

# One process for the whole of them: that loads what recognises characters once.
pytestmark = pytest.mark.xdist_group("files of documents")


@pytest_asyncio.fixture(scope="session")
async def reader() -> AsyncIterator[DocumentReader]:
    """A reader for all of them."""
    async with DocumentReader(DocumentFormatsExtension().file_formats()) as one:
        yield one


@pytest.mark.slow
@each_row("name", sorted(EXPECTED))
async def test_a_file_is_read_exactly(name: str, reader: DocumentReader) -> None:
    expected = EXPECTED[name]
    material = await reader.read((FOLDER / name).read_bytes())
    document = recognised(material, TODAY)
    assert document.type == expected["type"]
    read = {field: document.fields[field].value for field in expected["fields"]}
    assert read == expected["fields"]
    assert not document.problems


def test_every_file_has_its_expectation() -> None:
    assert {path.name for path in FOLDER.iterdir()} - {"expected.json"} == set(EXPECTED)
