"""The audit trail on both databases: added to, read, and never changed."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, text, update
from sqlalchemy.exc import DBAPIError

from router.domain.records import AuditEntry, AuditFilter, HistoryLine, RunFilter, is_held
from router.store import tables
from router.store.database import Database
from router.store.retention import PersonErasure
from router.store.store import Store
from tests.integration.store.test_erasing import NOW, approval, run

trail = tables.audit_trail


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


def deed(name: str, **more: Any) -> AuditEntry:
    whole = {"id": name, "tenant": "default", "at": NOW, "who": "olga", "act": "run.read"}
    return AuditEntry.model_validate(whole | {"subject": "r1", "whose": "alice"} | more)


async def names(store: Store, tenant: str = "default", **wanted: Any) -> list[str]:
    found, _ = await store.trail.listed(tenant, AuditFilter(**wanted), None, 20)
    return [each.id for each in found]


async def test_lines_are_read_newest_first_page_by_page_and_by_tenant(store: Store) -> None:
    for minute in range(5):
        await store.trail.note(deed(f"d{minute}", at=NOW + timedelta(minutes=minute)))
    await store.trail.note(deed("theirs", tenant="acme"))

    first, following = await store.trail.listed("default", AuditFilter(), None, 3)
    rest, end = await store.trail.listed("default", AuditFilter(), following, 3)

    assert [each.id for each in [*first, *rest]] == ["d4", "d3", "d2", "d1", "d0"]
    assert end is None
    assert await names(store, "acme") == ["theirs"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"who": "bob"},
        {"act": "run.retry"},
        {"subject": "r2"},
        {"whose": "frank"},
        {"since": NOW + timedelta(hours=1)},
    ],
)
async def test_each_filter_narrows_them(store: Store, wanted: dict[str, Any]) -> None:
    await store.trail.note(deed("other"))
    at = NOW + timedelta(hours=2)
    await store.trail.note(
        deed("wanted", who="bob", act="run.retry", subject="r2", whose="frank", at=at)
    )
    assert await names(store, **wanted) == ["wanted"]


@pytest.mark.parametrize(
    "change",
    [
        delete(trail),
        update(trail).values(at=NOW + timedelta(days=1)),
        update(trail).values(who="bob"),
        update(trail).values(act="run.retry"),
        update(trail).values(subject="r2"),
        update(trail).values(reason="another"),
        update(trail).values(tenant="acme"),
    ],
    ids=["deleted", "at", "who", "act", "subject", "reason", "tenant"],
)
async def test_the_database_itself_keeps_a_line_as_it_is(
    store: Store, database: Database, change: Any
) -> None:
    await store.trail.note(deed("d1", reason="it hung"))
    with pytest.raises(DBAPIError, match="never changed"):
        await database.write(lambda connection: connection.execute(change))
    found, _ = await store.trail.listed("default", AuditFilter(), None, 5)
    assert found == [deed("d1", reason="it hung")]


async def test_lines_are_not_emptied_at_once(store: Store, database: Database) -> None:
    if database.dialect == "sqlite":
        pytest.skip("SQLite has no TRUNCATE")
    await store.trail.note(deed("d1"))
    with pytest.raises(DBAPIError, match="never changed"):
        await database.write(lambda c: c.execute(text("TRUNCATE audit_trail")))


async def test_who_is_erased_leaves_the_act_and_a_pseudonym(
    store: Store, database: Database
) -> None:
    await store.trail.note(deed("looked", reason="alice asked"))
    await store.trail.note(deed("passed", whose="frank", detail="alice ▸ carol"))
    await store.trail.note(deed("own", who="alice", whose="bob", reason="why"))

    await PersonErasure(database, "default", "alice").erase("erased-0a")

    found, _ = await store.trail.listed("default", AuditFilter(), None, 5)
    lines = {each.id: each for each in found}
    assert (lines["looked"].who, lines["looked"].whose) == ("olga", "erased-0a")
    assert (lines["own"].who, lines["own"].whose) == ("erased-0a", "bob")
    assert "alice" not in str(found)


def line(event: str, state: str = "record") -> HistoryLine:
    return HistoryLine(at=NOW, state=state, event=event)


@pytest.mark.parametrize(
    ("status", "events", "held"),
    [
        ("waiting", [line("held")], True),
        ("waiting", [line("held"), line("nudged")], True),
        ("waiting", [line("held"), line("retried")], False),
        ("waiting", [line("held"), line("retried"), line("held")], True),
        ("waiting_approval", [line("held", "manager"), line("began", "record")], False),
        ("failed", [line("held")], False),
        ("waiting", [line("began")], False),
        ("waiting", [], False),
    ],
)
async def test_runs_that_wait_for_an_operator_are_found(
    store: Store, status: Any, events: list[HistoryLine], held: bool
) -> None:
    assert is_held(status, events) is held
    await store.runs.publish(run("r1", "alice", status, history=events), [])
    narrowed = RunFilter(held=True)
    found, _ = await store.runs.listed("default", None, None, None, None, 5, narrowed=narrowed)
    assert [each.id for each in found] == (["r1"] if held else [])


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        (RunFilter(person="frank"), {"r2"}),
        (RunFilter(waiting_for="bob"), {"r1"}),
        (RunFilter(waiting_for="carol"), set()),
        (RunFilter(since=NOW + timedelta(hours=1)), {"r2"}),
        (RunFilter(quiet_since=NOW + timedelta(hours=1)), {"r1"}),
        (RunFilter(held=False), {"r1", "r2"}),
    ],
)
async def test_runs_are_narrowed_by_people_and_times(
    store: Store, narrowed: RunFilter, expected: set[str]
) -> None:
    first, later = run("r1", "alice", "waiting_approval"), NOW + timedelta(hours=2)
    second = run("r2", "frank", "waiting_approval", created_at=later, updated_at=later)
    await store.runs.publish(first, [approval(first, "bob", None)])
    await store.runs.publish(second, [approval(second, "carol", "approve")])
    found, _ = await store.runs.listed("default", None, None, None, None, 5, narrowed=narrowed)
    assert {each.id for each in found} == expected
