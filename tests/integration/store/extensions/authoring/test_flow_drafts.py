"""Drafts of flows on both databases: each author's own, one revision after the other."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from router.domain.errors import Conflict
from router.extensions.authoring.draft_store import FlowDrafts
from router.extensions.authoring.drafts import DraftBase, FlowDraft
from router.extensions.authoring.tables import TABLES
from router.store.database import Database
from router.store.erasure import PersonErasure

NOW = datetime.now(UTC)


@pytest.fixture
def drafts(database: Database) -> FlowDrafts:
    return FlowDrafts(database)


def draft(revision: int = 1, author: str = "anna", flow: str = "trip", **more: object) -> FlowDraft:
    base = DraftBase(source="document", version=3, digest="d")
    about = {"flow": flow, "author": author, "text": "flow: trip\r\n", "revision": revision}
    return FlowDraft.model_validate({**about, "base": base, "updated_at": NOW, **more})


async def test_a_draft_is_found_as_it_was_saved_by_its_author_alone(drafts: FlowDrafts) -> None:
    await drafts.save("default", draft(stories="- 故事\n"))

    assert await drafts.find("default", "anna", "trip") == draft(stories="- 故事\n")
    for tenant, author, flow in [
        ("acme", "anna", "trip"),
        ("default", "otto", "trip"),
        ("default", "anna", "other"),
    ]:
        assert await drafts.find(tenant, author, flow) is None


@pytest.mark.slow
@pytest.mark.parametrize("revision", [1, 3, 2**31 - 1])
async def test_only_the_next_revision_is_saved(drafts: FlowDrafts, revision: int) -> None:
    await drafts.save("default", draft())

    with pytest.raises(Conflict):
        await drafts.save("default", draft(revision, text="late"))

    kept = await drafts.find("default", "anna", "trip")
    assert kept == draft()


async def test_of_two_windows_that_save_at_once_one_is_told(drafts: FlowDrafts) -> None:
    await drafts.save("default", draft())

    windows = [draft(2, text=f"window {number}") for number in range(4)]
    done = await asyncio.gather(
        *(drafts.save("default", each) for each in windows), return_exceptions=True
    )

    assert sorted(type(each).__name__ for each in done) == ["Conflict"] * 3 + ["NoneType"]


async def test_heads_tell_who_writes_what_the_last_saved_first(drafts: FlowDrafts) -> None:
    later = NOW + timedelta(minutes=1)
    await drafts.save("default", draft())
    await drafts.save("default", draft(author="otto", updated_at=later))
    await drafts.save("default", draft(flow="leave", updated_at=later))
    await drafts.save("acme", draft(author="zed"))

    heads = await drafts.heads("default")

    named = [(head.flow, head.author) for head in heads]
    assert named == [("leave", "anna"), ("trip", "otto"), ("trip", "anna")]
    of_trip = await drafts.heads("default", "trip")
    assert [head.author for head in of_trip] == ["otto", "anna"]


async def test_a_draft_that_is_discarded_is_begun_anew(drafts: FlowDrafts) -> None:
    await drafts.save("default", draft())
    await drafts.save("default", draft(2))

    assert await drafts.discard("default", "anna", "trip") is True
    assert await drafts.discard("default", "anna", "trip") is False
    # Another window that still has it open loses nothing of what it shows.
    await drafts.save("default", draft(3))
    kept = await drafts.find("default", "anna", "trip")
    assert kept is not None
    assert kept.revision == 3


async def test_drafts_go_with_the_person(drafts: FlowDrafts, database: Database) -> None:
    await drafts.save("default", draft())
    await drafts.save("default", draft(author="otto"))
    person = PersonErasure(database, "default", "anna", TABLES.personal)

    assert (await person.holdings()).counts == {"drafts of flows": 1}
    await person.erase("erased-1")

    assert [head.author for head in await drafts.heads("default")] == ["otto"]
