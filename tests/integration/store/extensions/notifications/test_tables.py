"""Rows of notification settings: erased with their person, expired, and found by an index."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, func, insert, select, text

from router.extensions.notifications.preferences import NotificationPreferences
from router.extensions.notifications.store import DeferredPost, Notifications
from router.extensions.notifications.tables import (
    TABLES,
    deferred_posts,
    notification_preferences,
)
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.retention import Retention
from tests.plans import find_scans

TENANT = "default"
DIGEST = NotificationPreferences(digest="09:00")
NOW = datetime.now(UTC)


@pytest.fixture
async def kept(database: Database) -> Notifications:
    """The settings of alice and frank, who wish for a digest, which waits for each."""
    notifications = Notifications(database)
    for person in ("alice", "frank"):
        await notifications.choose(TENANT, person, DIGEST)
    return notifications


async def test_what_is_a_persons_is_counted_and_goes_with_them(
    kept: Notifications, database: Database
) -> None:
    erasing = PersonErasure(database, TENANT, "alice", TABLES.personal)
    counts = (await erasing.holdings()).counts

    await erasing.erase("erased-1")

    def people(connection: Connection) -> list[set[str]]:
        tables = (notification_preferences, deferred_posts)
        return [set(connection.scalars(select(table.c.person))) for table in tables]

    assert counts == {"notification preferences": 1, "posts held back": 1}
    assert await database.read(people) == [{"frank"}, {"frank"}]


async def test_what_is_held_back_for_too_long_expires(
    kept: Notifications, database: Database
) -> None:
    about = {"tenant": TENANT, "person": "alice", "platform": "gone", "run": "r1", "number": 7}
    await kept.defer(DeferredPost.model_validate({**about, "due": NOW - timedelta(days=400)}))

    await Retention(database, TABLES.aged).expire(365)

    waiting = select(func.count()).select_from(deferred_posts)
    assert await database.read(lambda c: c.scalar(waiting)) == 2


@pytest.mark.slow
async def test_no_statement_reads_a_whole_table(kept: Notifications, database: Database) -> None:
    await _fill(database, people=2000)
    about = {"tenant": TENANT, "person": "alice", "platform": "chat", "run": "r1", "number": 1}
    post = DeferredPost.model_validate({**about, "due": NOW})
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: kept.choose(TENANT, "alice", DIGEST),
        lambda: kept.choose(TENANT, "alice", NotificationPreferences()),
        lambda: kept.chosen(TENANT, "alice"),
        lambda: kept.choice(TENANT, "alice"),
        lambda: kept.defer(post),
        lambda: kept.claim(["chat"], datetime.now(UTC), 50),
        lambda: kept.again(post, NOW, 2),
        lambda: kept.done(post),
        lambda: PersonErasure(database, TENANT, "alice", TABLES.personal).erase("erased-1"),
    )

    assert not await find_scans(database, calls, TABLES.metadata.tables)


async def _fill(database: Database, people: int) -> None:
    def fill(connection: Connection) -> None:
        owner = {"tenant": TENANT, "preferences": {}, "changed_at": NOW}
        rows = [{**owner, "person": f"u{n}"} for n in range(people)]
        connection.execute(insert(notification_preferences), rows)
        post = {"tenant": TENANT, "platform": "chat", "run": "", "number": 1, "reminds": True}
        later = NOW + timedelta(days=1)
        posts = [{**post, "person": f"u{n}", "due": later} for n in range(people)]
        connection.execute(insert(deferred_posts), posts)
        connection.execute(text("ANALYZE"))

    await database.write(fill)
