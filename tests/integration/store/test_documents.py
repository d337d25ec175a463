"""Papers that are found again: those of others, and never those of the same claim."""

from collections.abc import Collection
from typing import Any

import pytest
from sqlalchemy import func, select

from router.documents.kinship import marks_of
from router.domain.documents import Document, ReadField
from router.domain.principals import Principal
from router.domain.records import FileRecord
from router.store import tables
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.store import Store
from tests.integration.store.test_store import NOW, approval, run

ALICE = Principal(id="alice", name="Alice")
NUMBER = "26112000000012345678"


def invoice(content: str, number: str = NUMBER) -> Document:
    read = ReadField(value=number, source="code", confidence=0.97)
    return Document(type="invoice", fields={"number": read}, content=content)


async def keep(store: Store, id_: str, document: Document) -> None:
    content = id_.encode()
    await store.files.keep(FileRecord.of(id_, ALICE, f"{id_}.pdf", content, NOW), content)
    await store.documents.keep("default", id_, document, marks_of(document))


async def shown(store: Store, name: str, *files: str, **more: Any) -> None:
    """Have a run put these files before its approver."""
    await store.runs.publish(
        run(name, files={file: f"{file}.pdf" for file in files}, **more),
        [approval(f"approval-of-{name}", run=name)],
        [],
    )


async def found(store: Store, file: str, but: Collection[str] = ()) -> set[str]:
    document = await store.documents.find("default", file)
    assert document is not None
    return set(await store.documents.handed_in("default", file, set(marks_of(document)), but))


async def test_a_paper_is_found_again_by_its_number_and_by_its_content(store: Store) -> None:
    await keep(store, "one", invoice("c1"))
    await keep(store, "scan", invoice("c2"))
    await keep(store, "copy", Document(content="c1"))
    await keep(store, "another", invoice("c3", "26112000000099999999"))
    await shown(store, "r1", "one", "another")
    assert await found(store, "scan") == {"one"}
    assert await found(store, "copy") == {"one"}
    assert await found(store, "one") == {"one"}


@pytest.mark.parametrize(
    ("status", "is_found"), [("running", True), ("completed", True), ("rejected", False)]
)
async def test_what_came_to_nothing_may_be_handed_in_again(
    store: Store, status: str, is_found: bool
) -> None:
    await keep(store, "one", invoice("c1"))
    await keep(store, "two", invoice("c2"))
    await shown(store, "r1", "one", status=status)
    assert await found(store, "two") == ({"one"} if is_found else set())


async def test_the_files_of_a_run_are_no_duplicates_of_themselves_or_each_other(
    store: Store,
) -> None:
    """It was returned for changes: all of its files were before an approver already."""
    await keep(store, "page-1", invoice("c1"))
    await keep(store, "page-2", invoice("c2"))
    await shown(store, "r1", "page-1", "page-2")
    assert await found(store, "page-1", but=["r1"]) == set()
    assert await found(store, "page-2", but=["r1"]) == set()
    await shown(store, "r2", "page-1")
    assert await found(store, "page-2", but=["r1"]) == {"page-1"}
    assert await found(store, "page-1", but=["r1"]) == {"page-1"}
    assert await found(store, "page-1", but=["r1", "r2"]) == set()


async def test_what_was_read_is_erased_with_its_owner(store: Store, database: Database) -> None:
    await keep(store, "one", invoice("c1"))
    await store.documents.keep("default", "one", invoice("c1"), ["number:1"], preview=b"small")
    await PersonErasure(database, "default", "alice").erase("erased-1")
    assert await store.documents.find("default", "one") is None
    assert await store.documents.preview("default", "one") is None
    marks = select(func.count()).select_from(tables.file_marks)
    assert await database.read(lambda connection: connection.scalar(marks)) == 0
