"""No statement of statistics reads all of a table that grows."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from router.domain.periods import Period
from router.extensions.statistics.store import TrafficCounts
from router.store.database import Database
from tests.past import TENANT, Past, fill
from tests.plans import find_scans

FLOW = "leave_request"
CONVERSATIONS = 5_000


@pytest.mark.slow
async def test_no_statement_reads_a_whole_table(database: Database) -> None:
    past, counts = Past(CONVERSATIONS), TrafficCounts(database)
    await fill(database, past)
    today = past.now.date()
    period = Period.read(today - timedelta(days=2), today, "UTC", past.now)
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: counts.turns(TENANT, period),
        lambda: counts.runs(TENANT, period),
        lambda: _first(counts.unfinished(TENANT, period, past.now)),
        lambda: counts.awaited(TENANT, period),
        lambda: counts.hours_taken(TENANT, period),
        lambda: counts.versions(TENANT, FLOW, period),
        lambda: _first(counts.paths(TENANT, FLOW, period, 1)),
        lambda: _first(counts.decisions(TENANT, FLOW, period)),
        lambda: _first(counts.decisions(TENANT, FLOW, period, 1)),
        lambda: counts.model(TENANT, period),
    )

    assert not await find_scans(database, calls)


async def _first(rows: AsyncIterator[object]) -> None:
    async for _ in rows:
        return
