"""Rows of drafts and reviews: what is left of people who are erased, and found by an index."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import Connection, insert, text

from router.extensions.authoring.draft_store import FlowDrafts
from router.extensions.authoring.drafts import DraftBase, FlowDraft
from router.extensions.authoring.review_store import FlowReviews, approve_again, publish_review
from router.extensions.authoring.reviews import FlowReview, ReviewStatus
from router.extensions.authoring.tables import TABLES, flow_drafts, flow_reviews
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.rows import to_row
from tests.plans import find_scans

TENANT = "default"
NOW = datetime.now(UTC)


def review(id_: str, author: str, status: ReviewStatus = "open") -> FlowReview:
    return FlowReview(
        id=id_,
        tenant=TENANT,
        flow="trip",
        version=1,
        author=author,
        note=f"a word of {author}'s",
        text="t",
        stories="s",
        digest="d",
        held=None,
        held_text="",
        held_stories="",
        submitted_at=NOW,
        status=status,
        passed=1,
        failed=0,
    )


def draft(author: str, flow: str = "trip") -> FlowDraft:
    base = DraftBase(source="draft")
    return FlowDraft(flow=flow, author=author, text="", revision=1, base=base, updated_at=NOW)


def erasing(database: Database, person: str) -> PersonErasure:
    return PersonErasure(database, TENANT, person, TABLES.personal, TABLES.pseudonymized)


async def test_a_review_stays_without_its_author(database: Database) -> None:
    reviews = FlowReviews(database)
    await reviews.submit(review("r", "anna"))

    await erasing(database, "anna").erase("erased-1")

    kept = await reviews.find(TENANT, "r")
    assert kept == review("r", "erased-1").model_copy(update={"note": ""})


async def test_a_review_stays_without_its_reviewer(database: Database) -> None:
    reviews = FlowReviews(database)
    await reviews.submit(review("r", "anna"))
    asked = review("r", "anna")
    await reviews.decide(asked, "approved", by="otto", comment="a word of otto's", at=NOW)

    await erasing(database, "otto").erase("erased-1")

    kept = await reviews.find(TENANT, "r")
    assert kept is not None
    assert (kept.status, kept.reviewer, kept.comment) == ("approved", "erased-1", None)
    assert (kept.author, kept.note) == ("anna", "a word of anna's")


@pytest.mark.slow
async def test_no_statement_reads_a_whole_table(
    database: Database,
) -> None:
    drafts, reviews = FlowDrafts(database), FlowReviews(database)
    await _fill(database, people=2000)
    asked = review("r", "anna")
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: drafts.save(TENANT, draft("anna")),
        lambda: drafts.find(TENANT, "anna", "trip"),
        lambda: drafts.heads(TENANT, "trip"),
        lambda: drafts.discard(TENANT, "anna", "trip"),
        lambda: reviews.submit(asked),
        lambda: reviews.find(TENANT, "r"),
        lambda: reviews.listed(TENANT, None, None, 50, flow="trip"),
        lambda: reviews.has_any(TENANT, "trip"),
        lambda: reviews.decide(asked, "approved", by="otto", at=NOW),
        lambda: database.write(partial(publish_review, tenant=TENANT, review="r")),
        lambda: database.write(partial(approve_again, tenant=TENANT, reviews=["r"])),
    )

    assert not await find_scans(database, calls, TABLES.metadata.tables)


async def _fill(database: Database, people: int) -> None:
    submitted = [
        review(f"r{n}", f"u{n}").model_copy(update={"flow": f"flow_{n}"}) for n in range(people)
    ]
    written = [to_row(draft(f"u{n}", f"flow_{n}"), tenant=TENANT) for n in range(people)]

    def fill(connection: Connection) -> None:
        connection.execute(insert(flow_reviews), [to_row(each) for each in submitted])
        connection.execute(insert(flow_drafts), written)
        connection.execute(text("ANALYZE"))

    await database.write(fill)
