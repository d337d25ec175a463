"""What went on over some days, counted on both databases."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from router.domain.locale import Localised
from router.domain.messages import Route, Turn, Usage
from router.domain.periods import Period
from router.domain.records import LogEntry
from router.domain.run_history import HistoryEntry
from router.extensions.statistics import store as traffic
from router.extensions.statistics.store import TrafficCounts
from router.extensions.statistics.traffic import (
    AwaitedCount,
    TurnCount,
    Unfinished,
)
from router.store.database import Database
from router.store.store import Store
from tests.integration.store.test_store import TITLE, approval, run

MON, TUE = date(2026, 11, 23), date(2026, 11, 24)
NOW = datetime(2026, 11, 26, tzinfo=UTC)
SHANGHAI = Period.read(MON, TUE, "Asia/Shanghai", NOW)


def turn(name: str, at: datetime, status: str = "done", **route: Any) -> LogEntry:
    about = {"kind": "flow", "by": "pattern", "target": "leave_request", **route}
    done = Turn(message_id=name, turn=1, status=status, route=Route(**about))
    recorded: Any = {"digest": "d", "turn": done.model_dump(mode="json")}
    return LogEntry(key=name, kind="turn", at=at, conversation="c1", message_id=name, data=recorded)


@pytest.fixture
def counts(database: Database) -> TrafficCounts:
    return TrafficCounts(database)


async def test_turns_are_of_the_reader_s_day_and_of_their_own_tenant(
    store: Store, counts: TrafficCounts
) -> None:
    midnight = datetime(2026, 11, 23, 16, tzinfo=UTC)  # in Shanghai
    second = timedelta(seconds=1)
    entries = [
        turn("m1", midnight - second),
        turn("m2", midnight),
        turn("m3", midnight + second, kind="clarify", by="fallback", target=None),
        turn("m4", midnight + second, status="failed", kind="reply", by="fallback", target=None),
        turn("m5", midnight + timedelta(days=1)),
        turn("m6", midnight - timedelta(days=1, seconds=1)),
    ]
    await store.log.append("default", entries)
    await store.log.append("acme", [turn("m7", midnight)])
    assert sorted(await counts.turns("default", SHANGHAI)) == [
        TurnCount(MON, "flow", "pattern", missed=False, number=1),
        TurnCount(TUE, "clarify", "fallback", missed=True, number=1),
        TurnCount(TUE, "flow", "pattern", missed=False, number=1),
        TurnCount(TUE, "reply", "fallback", missed=True, number=1),
    ]
    utc = Period.read(MON, MON, "UTC", NOW)
    assert sum(found.number for found in await counts.turns("default", utc)) == 4


async def test_what_is_no_turn_and_where_nothing_was_there_is_nothing(
    store: Store, counts: TrafficCounts
) -> None:
    said = LogEntry(key="k", kind="message", at=SHANGHAI.since, conversation="c1", data={})
    await store.log.append("default", [said])
    assert await counts.turns("default", SHANGHAI) == []
    assert await counts.runs("default", SHANGHAI) == []
    assert [each async for each in counts.unfinished("default", SHANGHAI, NOW)] == []
    assert await counts.awaited("default", SHANGHAI) == []
    assert await counts.hours_taken("default", SHANGHAI) == {}
    assert await counts.model("default", SHANGHAI) == []


async def test_runs_are_counted_by_how_they_stand_and_branches_are_part_of_theirs(
    store: Store,
    counts: TrafficCounts,
) -> None:
    at = SHANGHAI.since
    whole: dict[str, Any] = {"created_at": at, "updated_at": at}
    for record in (
        run("r1", **whole),
        run("r2", status="completed", **whole),
        run("r3", parent="leave_request/default/r1", **whole),
        run("r4", parent="other/default/r9", status="completed", **whole),
        run("r5", created_at=at - timedelta(seconds=1), updated_at=at),
        run("r6", created_at=SHANGHAI.until, updated_at=at),
    ):
        await store.runs.publish(record, [])
    found = {(f, s): (t, n) for f, t, s, n in await counts.runs("default", SHANGHAI)}
    assert found == {
        ("leave_request", "running"): (TITLE, 1),
        ("leave_request", "completed"): (TITLE, 2),
    }


async def test_what_may_have_been_given_up_is_read_in_pages(
    store: Store, counts: TrafficCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "ROWS", 2)
    at = SHANGHAI.since
    for number in range(5):
        whole: dict[str, Any] = {"created_at": at, "updated_at": at, "status": "cancelled"}
        await store.runs.publish(run(f"r{number}", **whole), [])
    line = HistoryEntry(at=at, state="confirm", event="next")
    silent: dict[str, Any] = {"created_at": at, "status": "confirming", "history": [line]}
    await store.runs.publish(run("r5", updated_at=NOW - timedelta(hours=25), **silent), [])
    await store.runs.publish(run("r6", updated_at=NOW - timedelta(hours=23), **silent), [])
    await store.runs.publish(run("r7", created_at=at, updated_at=at, status="completed"), [])
    found = [each async for each in counts.unfinished("default", SHANGHAI, NOW)]
    assert found == [
        *[Unfinished("leave_request", [("details", "began")])] * 5,
        Unfinished("leave_request", [("confirm", "next")]),
    ]


async def test_decisions_are_of_people_and_of_the_period(
    store: Store, counts: TrafficCounts
) -> None:
    asked, title = SHANGHAI.since, Localised(zh="请假申请", en="Leave request")

    def decided(name: str, hours: float, verdict: str = "approve") -> Any:
        at = asked + timedelta(hours=hours)
        return approval(name, since=asked, verdict=verdict, decided_at=at, active=False)

    approvals = [
        decided("a1", 2),
        decided("a2", 30.5, "reject"),
        decided("a3", 1, "escalated"),
        decided("a4", 48),
        approval("a5", since=asked),
        approval("a6", since=SHANGHAI.until),
        approval("a7", since=asked, active=False),
    ]
    await store.runs.publish(run("r1"), approvals)
    assert await counts.hours_taken("default", SHANGHAI) == {"leave_request": [2, 30.5]}
    assert await counts.awaited("default", SHANGHAI) == [AwaitedCount("leave_request", title, 1)]
    assert await counts.awaited("acme", SHANGHAI) == []


async def test_what_models_cost_is_added_up_over_people(
    store: Store, counts: TrafficCounts
) -> None:
    cost = Usage(llm_calls=1, prompt_tokens=2**33, completion_tokens=3)
    for tenant, user, day in (
        ("default", "alice", MON),
        ("default", "bob", MON),
        ("default", "bob", TUE + timedelta(days=1)),
        ("acme", "alice", MON),
    ):
        await store.spending.add(tenant, user, day, cost)
    (found,) = await counts.model("default", SHANGHAI)
    amounts = {"calls": 2, "prompt_tokens": 2**34, "completion_tokens": 6}
    assert found.model_dump() == {"day": MON, **amounts}
