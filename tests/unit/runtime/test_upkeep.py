"""What a process that stays does by itself."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from router.domain.errors import Unavailable
from router.domain.records import ConversationRecord
from router.runtime import upkeep
from router.runtime.upkeep import at_work
from router.settings import Settings
from router.store.database import Database
from router.store.retention import Retention
from router.store.store import Store
from router.store.tables import ROUTER
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow


def conversation(id_: str, days: int) -> ConversationRecord:
    at = datetime.now(UTC) - timedelta(days=days)
    return ConversationRecord(id=id_, tenant="default", owner="alice", locale="zh", created_at=at)


async def test_a_process_that_stays_forgets_what_is_too_old_once_the_database_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    async def away_at_first(self: Retention, days: int) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Unavailable("away")
        return await expire(self, days)

    expire = Retention.expire
    monkeypatch.setattr(Retention, "expire", away_at_first)
    monkeypatch.setattr(upkeep, "TRIED_AGAIN", timedelta(seconds=0.1))
    settings = Settings.load(data=tmp_path, retention_days=30)
    database = Database(settings.database_url)
    await database.migrate(ROUTER)
    for each in (conversation("old", 31), conversation("new", 29)):
        await Store(database).conversations.create(each)
    async with at_work(settings) as parts, asyncio.timeout(HANGS_AFTER_S):
        while await parts.store.conversations.find("default", "old"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert await parts.store.conversations.find("default", "new")
    await database.dispose()
