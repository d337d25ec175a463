"""The shares that prompts get, and how conversations with each version went, on both databases."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from router.domain.messages import FlowSummary, Route, Turn
from router.domain.periods import Period
from router.domain.records import LogEntry
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.prompt_shares import SetShares, VersionCounts
from router.store.store import Store
from tests.integration.store.test_store import run

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
DAY = Period.read(date(2026, 11, 23), date(2026, 11, 23), "UTC", NOW)
HALF, ONE = {"router-1": 1, "router-2": 1}, {"router-1": 1}
FIRST, SECOND = "router-1@00000001", "router-2@00000002"


def given(shares: dict[str, int], tenant: str = "default", **more: Any) -> SetShares:
    about = {"tenant": tenant, "job": "router", "set_by": "olga", "set_at": NOW}
    return SetShares.model_validate({**about, "shares": shares, **more})


async def held(store: Store, tenant: str | None = None) -> list[dict[str, int]]:
    return [each.shares for each in await store.prompt_shares.holding(tenant)]


async def test_what_was_set_last_holds_until_it_is_rolled_back(store: Store) -> None:
    assert await held(store) == []
    for shares in (HALF, ONE):
        await store.prompt_shares.put(given(shares))
    assert await held(store) == [ONE]
    for left in ([HALF], []):
        (last,) = await store.prompt_shares.holding("default")
        for _ in range(2):  # a retry takes back nothing more
            await store.prompt_shares.roll_back(last, "dave", NOW)
        assert await held(store) == left


async def test_setting_what_holds_already_adds_nothing_to_roll_back(store: Store) -> None:
    await store.prompt_shares.put(given(HALF))
    await store.prompt_shares.put(given({**HALF}))
    (only,) = await store.prompt_shares.holding()
    await store.prompt_shares.roll_back(only, "olga", NOW)
    assert await held(store) == []


async def test_shares_are_a_tenant_s_own_and_a_job_s(store: Store) -> None:
    await store.prompt_shares.put(given(HALF))
    await store.prompt_shares.put(given(ONE, "acme"))
    await store.prompt_shares.put(given({"phrase-1": 1}, job="phrase"))
    assert await held(store, "acme") == [ONE]
    assert await held(store, "default") == [HALF, {"phrase-1": 1}]
    assert len(await held(store)) == 3


async def test_whoever_is_erased_has_set_no_shares(store: Store, database: Database) -> None:
    await store.prompt_shares.put(given(HALF))
    await PersonErasure(database, "default", "olga").erase("erased-1")
    (left,) = await store.prompt_shares.holding()
    assert (left.set_by, left.shares) == ("erased-1", HALF)


def turn(name: str, prompt: str | None, talk: str = "c1", **more: Any) -> LogEntry:
    about: dict[str, Any] = {
        "kind": "reply",
        "by": "llm",
        "prompt": prompt,
        **more.pop("route", {}),
    }
    at = more.pop("at", NOW)
    done = Turn(message_id=name, turn=1, route=Route(**about), **more)
    recorded: Any = {"digest": "d", "turn": done.model_dump(mode="json")}
    return LogEntry(key=name, kind="turn", at=at, conversation=talk, message_id=name, data=recorded)


def begins(run_id: str) -> dict[str, Any]:
    summary = FlowSummary(id=run_id, name="leave_request", status="collecting", state="details")
    return {"route": {"kind": "flow", "target": "leave_request"}, "flow": summary}


async def test_turns_are_counted_by_the_version_that_decided_them(store: Store) -> None:
    unused = {"route": {"kind": "clarify", "by": "fallback"}}
    await store.log.append(
        "default",
        [
            turn("m1", FIRST),
            turn("m2", "router-1@0000000a", route={"kind": "handoff"}),
            turn("m3", FIRST, "c2", **unused),
            turn("m4", SECOND, "c3", route={"kind": "clarify", "target": "leave_request"}),
            turn("m5", None, "c4", route={"by": "pattern"}),
            turn("m6", SECOND, "c5", at=NOW - timedelta(days=1)),
        ],
    )
    await store.log.append("acme", [turn("m7", SECOND)])
    one, two = await store.prompt_outcomes.counted("default", DAY)
    names = ["router-1@00000001", "router-1@0000000a"]
    assert one == VersionCounts("router-1", names, 2, 3, 1, 1, 1, 1, 0, 0, 0)
    assert two == VersionCounts("router-2", [SECOND], 1, 1, 0, 0, 1, 0, 0, 0, 0)


async def test_runs_are_those_that_a_version_began_by_how_they_stand_now(store: Store) -> None:
    for name, status in (("r1", "completed"), ("r2", "cancelled"), ("r3", "running")):
        await store.runs.publish(run(name, status=status), [])
    answered = {**begins("r3"), "route": {"kind": "flow", "target": "leave_request"}}
    rules = {**begins("r3"), "route": {"kind": "flow", "target": "leave_request", "by": "pattern"}}
    await store.log.append(
        "default",
        [
            turn("m1", FIRST, "c1", **begins("r1")),
            turn("m2", FIRST, "c1", **begins("r1")),  # answers what it began
            turn("m3", FIRST, "c2", **begins("r2")),
            turn("m4", None, "c3", **rules),
            turn("m5", FIRST, "c3", **answered),  # and what rules began
        ],
    )
    (found,) = await store.prompt_outcomes.counted("default", DAY)
    assert (found.started, found.completed, found.cancelled) == (2, 1, 1)


async def test_the_part_that_rules_left_to_a_model_is_its_prompt_s(store: Store) -> None:
    both = [Route(kind="flow", by="pattern"), Route(kind="tool", by="llm", prompt=SECOND)]
    ruled = {"kind": "flow", "by": "pattern"}
    await store.log.append("default", [turn("m1", None, route=ruled, routes=both)])
    (found,) = await store.prompt_outcomes.counted("default", DAY)
    assert (found.version, found.turns, found.unused) == ("router-2", 1, 0)


@pytest.mark.parametrize("tenant", ["default", "nobody"])
async def test_where_nothing_was_asked_nothing_is_counted(store: Store, tenant: str) -> None:
    assert await store.prompt_outcomes.counted(tenant, DAY) == []
