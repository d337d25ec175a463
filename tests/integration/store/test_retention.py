"""What is erased, and the audit trail that stays, on both databases."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Row, delete, select, text, update
from sqlalchemy.exc import DBAPIError

from router.cli.checks import services
from router.directory.sources import people_of
from router.domain.errors import Conflict, MisconfiguredError
from router.domain.locale import Localised
from router.domain.messages import Usage
from router.domain.principals import Principal
from router.domain.records import (
    ApprovalRecord,
    AuditEntry,
    AuditFilter,
    ConversationRecord,
    FileRecord,
    LogEntry,
    Mailbox,
    MemoryRecord,
    Remedy,
    RunFilter,
    RunRecord,
)
from router.domain.run_history import HistoryEntry, Incident, IncidentKind
from router.runtime.server import count_orphaned
from router.settings import Settings
from router.store import tables
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.legal_holds import LegalHold
from router.store.store import Store
from tests.integration.store import test_store

NOW = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=400)
TITLE = Localised(zh="请假申请", en="Leave request")
WORDS = "外婆九十大寿"
COMMENT = "玩得开心"


def run(name: str, requester: str, status: str = "completed", **more: Any) -> RunRecord:
    began = HistoryEntry(at=NOW, state="details", event="began", by=requester, comment=WORDS)
    decided = HistoryEntry(at=NOW, state="manager", event="approve", by="bob", comment=COMMENT)
    values: dict[str, Any] = {
        "events": 5,
        "state": "approved",
        "status": status,
        "slots": {"reason": WORDS},
        "requester": requester,
        "conversation": f"of-{requester}",
        "history": [began, decided],
        "created_at": NOW,
        "updated_at": NOW,
        "readers": ["carol"],
        "files": {"f1": f"{WORDS}.pdf"},
        "remedy": Remedy(definition="d", done=[], results={"said": WORDS}),
    }
    return test_store.run(name, **{**values, **more})


def approval(of: RunRecord, person: str, verdict: str | None = "approve") -> ApprovalRecord:
    return test_store.approval(
        f"{of.id}-{person}",
        run=of.id,
        person=person,
        requester=of.requester,
        summary={"reason": Localised(zh=WORDS, en=WORDS)},
        labels={"reason": Localised(zh="事由", en="Reason")},
        verdict=verdict,
        comment=COMMENT if verdict else None,
        expires=NOW + timedelta(days=1),
    )


async def erase(database: Database, person: str = "alice", pseudonym: str = "erased-1") -> None:
    await PersonErasure(database, "default", person).erase(pseudonym)


def said(by: str, text: str, at: datetime = NOW, **more: Any) -> LogEntry:
    return LogEntry(
        key=f"{by}:{text}:{at}",
        kind=more.pop("kind", "message"),
        at=at,
        conversation=f"of-{by}",
        data={"role": "user", "text": text},
        **more,
    )


async def furnish(store: Store, person: str, at: datetime = NOW) -> None:
    """One of everything of this person's."""
    owner = {"tenant": "default", "owner": person}
    await store.conversations.create(
        ConversationRecord(id=f"of-{person}", locale="zh", created_at=at, **owner)
    )
    await store.conversations.save_snapshot("default", f"of-{person}", f'"{WORDS}"')
    await store.log.append("default", [said(person, WORDS, at)])
    about = {"name": f"{WORDS}.pdf", "type": "application/pdf", "size": 3, "sha256": "0" * 64}
    record = FileRecord.model_validate({"id": f"file-{person}", **owner, **about, "at": at})
    await store.files.keep(record, WORDS.encode())
    await store.results.keep("default", person, "look", WORDS)
    speaker = Principal(id=person, name=person)
    await store.memories.keep("default", person, MemoryRecord.of(speaker, WORDS, "zh", at))
    await store.keys.claim("default", person, "k1", "d")
    await store.spending.add("default", person, date(2026, 11, 18), Usage(llm_calls=2))
    called = test_store.audited(0, person, "look", "admitted")
    key = f"leave_request/default/run-{person}:record:1"
    await store.audit.note("default", called.model_copy(update={"detail": WORDS, "key": key}))
    for each in (f"default/{person}/1", key):
        await store.ledger.begin(each, "look", "d")
        await store.ledger.finish(each, WORDS)
    for kind, subject in (("person", person), ("conversation", f"of-{person}")):
        box = {"tenant": "default", "platform": "slack", "kind": kind, "subject": subject}
        await store.mailboxes.open(Mailbox.model_validate({**box, "place": {}, "due": at}))
    failed = Incident(kind="call", at=at, name="file_leave", detail=WORDS)
    own = run(f"run-{person}", person, incident=failed)
    notice = said(person, WORDS, at, kind="approval", recipient="bob")
    about_it = {"flow_run": own.id, "requester": person, "title": own.title.model_dump()}
    notice = notice.model_copy(update={"conversation": None, "data": about_it, "key": own.id})
    await store.runs.publish(own, [approval(own, "bob")], [notice])


async def all_rows(database: Database) -> str:
    def read(connection: Connection) -> list[Row[Any]]:
        every = tables.metadata.sorted_tables
        return [row for table in every for row in connection.execute(select(table))]

    return "\n".join(
        str([value.decode() if isinstance(value, bytes) else value for value in row])
        for row in await database.read(read)
    )


@pytest.mark.slow
async def test_what_is_a_persons_goes_and_nobody_elses(store: Store, database: Database) -> None:
    await furnish(store, "alice")
    await erase(database)
    left = await all_rows(database)
    assert not [word for word in (WORDS, COMMENT, "'alice'") if word in left]
    await furnish(store, "frank")
    before = (await all_rows(database)).count("frank")
    await erase(database, pseudonym="erased-2")
    after = await all_rows(database)
    assert after.count("frank") == before
    assert WORDS in after


@pytest.mark.slow
async def test_decisions_stay_under_a_pseudonym(store: Store, database: Database) -> None:
    await furnish(store, "alice")
    await erase(database)
    kept = await test_store.kept(store, "run-alice")
    assert (kept.requester, kept.status, kept.slots) == ("erased-1", "completed", {})
    assert [(line.event, line.by) for line in kept.history] == [
        *(("began", "erased-1"), ("approve", "bob"))
    ]
    decided = await store.runs.find_approval("default", "run-alice-bob")
    assert decided is not None
    assert (decided.person, decided.verdict, decided.digest) == ("bob", "approve", "d")
    assert (decided.requester, decided.summary, decided.comment) == ("erased-1", {}, None)
    everybody = (await store.spending.of_day("default", "alice", date(2026, 11, 18))).tenant
    assert everybody.llm_calls == 2


@pytest.mark.slow
async def test_an_approver_goes_and_the_request_stays(store: Store, database: Database) -> None:
    await furnish(store, "alice")
    await erase(database, "bob", "erased-9")
    left = await all_rows(database)
    assert not [word for word in ("'bob'", COMMENT) if word in left]
    kept = await test_store.kept(store, "run-alice")
    assert (kept.requester, kept.slots) == ("alice", {"reason": WORDS})
    decided = await store.runs.find_approval("default", "run-alice-bob")
    assert decided is not None
    assert (decided.person, decided.verdict) == ("erased-9", "approve")


async def test_an_approver_who_is_gone_stays_under_a_pseudonym(
    store: Store, database: Database
) -> None:
    gone = Incident(kind="approver", at=NOW, people=["bob", "carol"])
    await store.runs.publish(run("r1", "alice", "waiting_approval", incident=gone), [])
    await erase(database, "bob", "erased-9")
    kept = await test_store.kept(store)
    assert kept.incident == gone.replace(people=["erased-9", "carol"])


async def test_what_comes_too_late_brings_nothing_back(store: Store, database: Database) -> None:
    await store.runs.publish(run("r1", "alice", "waiting_approval"), [])
    await erase(database)
    await store.runs.publish(run("r1", "alice", "completed", events=99), [])
    kept = await test_store.kept(store)
    assert (kept.requester, kept.status) == ("erased-1", "cancelled")


@pytest.mark.slow
async def test_it_is_counted_and_what_waits_is_named(store: Store, database: Database) -> None:
    await furnish(store, "alice")
    going_on = run("r2", "frank", "waiting_approval")
    await store.runs.publish(going_on, [approval(going_on, "alice", None)])
    there = await PersonErasure(database, "default", "alice").holdings()
    assert there.counts["memories"] == 1
    assert there.counts["conversations"] == there.counts["files"] == there.counts["runs"] == 1
    own = {"conversation/default/of-alice", "leave_request/default/run-alice"}
    assert (set(there.workflows), there.awaited, there.named) == (own, ["r2-alice"], ["r2"])
    nobody = await PersonErasure(database, "other", "alice").holdings()
    assert (nobody.counts, nobody.workflows) == ({}, [])


@pytest.mark.slow
@pytest.mark.parametrize("person", ["%", "a_ice", "'; DROP TABLE files; --", 'a"b', "\\", "爱丽丝"])
async def test_strange_ids_are_nobody_elses(store: Store, database: Database, person: str) -> None:
    await furnish(store, "alice")
    before = await all_rows(database)
    erasing = PersonErasure(database, "default", person)
    assert (await erasing.holdings()).counts == {}
    await erasing.erase("erased-1")
    assert await all_rows(database) == before


async def test_what_is_deleted_is_gone(store: Store, database: Database, database_url: str) -> None:
    if database.dialect != "sqlite":
        pytest.skip("PostgreSQL's files are its own; it overwrites when it vacuums")
    await furnish(store, "alice")
    await erase(database)
    file = Path(database_url.removeprefix("sqlite:///"))
    content = b"".join(each.read_bytes() for each in file.parent.glob("router.db*"))
    assert WORDS.encode() not in content


trail = tables.audit_trail


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


@pytest.mark.slow
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
    about = {"who": "bob", "act": "run.retry", "subject": "r2", "whose": "frank"}
    await store.trail.note(deed("wanted", at=NOW + timedelta(hours=2), **about))
    assert await names(store, **wanted) == ["wanted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        delete(trail), update(trail).values(at=NOW + timedelta(days=1)),
        update(trail).values(who="bob"), update(trail).values(act="run.retry"),
        update(trail).values(subject="r2"), update(trail).values(reason="another"),
        update(trail).values(tenant="acme"),
    ],
    ids=["deleted", "at", "who", "act", "subject", "reason", "tenant"],
)  # fmt: skip
async def test_the_database_keeps_lines(store: Store, database: Database, change: Any) -> None:
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


async def test_who_is_erased_leaves_act_and_pseudonym(store: Store, database: Database) -> None:
    await store.trail.note(deed("looked", reason="alice asked"))
    await store.trail.note(deed("passed", whose="frank", detail="alice ▸ carol"))
    await store.trail.note(deed("own", who="alice", whose="bob", reason="why"))
    await erase(database, pseudonym="erased-0a")
    found, _ = await store.trail.listed("default", AuditFilter(), None, 5)
    lines = {each.id: (each.who, each.whose) for each in found}
    assert (lines["looked"], lines["own"]) == (("olga", "erased-0a"), ("erased-0a", "bob"))
    assert "alice" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "kind", "held"),
    [
        ("waiting", "call", True),
        ("waiting_approval", "approver", True),
        ("waiting", "lost", True),
        ("failed", "call", False),
        ("waiting", None, False),
    ],
)
async def test_runs_that_wait_for_an_operator_are_found(
    store: Store, status: Any, kind: IncidentKind | None, held: bool
) -> None:
    incident = Incident(kind=kind, at=NOW, detail="no answer") if kind else None
    await store.runs.publish(run("r1", "alice", status, incident=incident), [])
    assert await narrowed_to(store, RunFilter(held=True)) == ({"r1"} if held else set())
    kept = await store.runs.find("default", "r1")
    assert kept is not None
    assert (kept.incident, kept.is_held) == (incident, held)


async def narrowed_to(store: Store, narrowed: RunFilter) -> set[str]:
    found, _ = await store.runs.listed("default", None, None, None, None, 5, narrowed=narrowed)
    return {each.id for each in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        (RunFilter(person="frank"), {"r2"}),
        (RunFilter(waiting_for="bob"), {"r1"}),
        (RunFilter(waiting_for="carol"), set()),
        (RunFilter(since=NOW + timedelta(hours=1)), {"r2"}),
        (RunFilter(quiet_since=NOW + timedelta(hours=1)), {"r1"}),
        (RunFilter(held=False), {"r1", "r2"}),
        (RunFilter(expires_before=NOW + timedelta(days=2)), {"r1"}),
        (RunFilter(expires_before=NOW), set()),
    ],
)
async def test_runs_are_narrowed(store: Store, narrowed: RunFilter, expected: set[str]) -> None:
    first, later = run("r1", "alice", "waiting_approval"), NOW + timedelta(hours=2)
    second = run("r2", "frank", "waiting_approval", created_at=later, updated_at=later)
    await store.runs.publish(first, [approval(first, "bob", None)])
    await store.runs.publish(second, [approval(second, "carol", "approve")])
    assert await narrowed_to(store, narrowed) == expected


async def test_approvals_of_who_left_are_counted_and_doctor_names_them(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    for name, verdict in (("r1", None), ("r2", "approve"), ("r3", None)):
        record = run(name, "alice", "waiting_approval")
        soon = {"person": "bob", "expires": datetime.now(UTC) + timedelta(hours=len(name) * 10)}
        asked = approval(record, "bob", verdict).model_copy(update=soon)
        await store.runs.publish(record, [asked])
    people = tmp_path / "people.yaml"
    settings = Settings(database_url=database_url, data=tmp_path, directory=people)
    people.write_text("users:\n- {id: bob, name: Bob}\n")
    assert await services.approvals(settings) == "they wait for people in the directory"
    people.write_text("users:\n- {id: carol, name: Carol}\n")
    with pytest.raises(MisconfiguredError, match=r"bob of default.*\(2\).*reassign --from bob"):
        await services.approvals(settings)
    with pytest.raises(MisconfiguredError, match=r"alice of default.*\(3\).*terminate --requester"):
        await services.requests(settings)
    assert await count_orphaned(store.runs, people_of(settings)) == (2, 3)
    assert (await store.runs.waiting()).expiring == 2


async def attached(store: Store, talk: str, file: str, key: str) -> None:
    """A file of alice's that came with a message of this conversation."""
    data = {"role": "user", "text": "x", "files": [{"id": file, "name": "a.pdf"}]}
    row = said("alice", "x", NOW, kind="message", recipient="alice")
    row = row.model_copy(update={"key": key, "conversation": talk, "data": data})
    await store.log.append("default", [row])


async def talk_of(store: Store, person: str, name: str) -> None:
    record = {"id": name, "tenant": "default", "owner": person, "locale": "zh", "created_at": NOW}
    await store.conversations.create(ConversationRecord.model_validate(record))


async def has_file(store: Store, name: str) -> bool:
    return await store.files.find("default", name) is not None


async def test_of_a_deleted_conversation_files_go_that_nothing_else_has(store: Store) -> None:
    await talk_of(store, "alice", "c1")
    await talk_of(store, "alice", "c2")
    about = {"type": "application/pdf", "size": 3, "sha256": "0" * 64, "at": NOW}
    for name in ("own", "elsewhere", "in-run"):
        place = {"id": name, "tenant": "default", "owner": "alice", "name": f"{name}.pdf"}
        await store.files.keep(FileRecord.model_validate({**place, **about}), b"pdf")
        await attached(store, "c1", name, f"c1 {name}")
    await attached(store, "c2", "elsewhere", "c2")
    await store.runs.publish(
        run("r1", "alice").model_copy(update={"files": {"in-run": "a.pdf"}}), []
    )
    await store.erasure.erase("default", "c1")
    await store.erasure.erase("default", "c1")
    names = ("own", "elsewhere", "in-run")
    assert [await has_file(store, name) for name in names] == [False, True, True]
    assert await store.log.since("default", "c1", 0, 9) == []
    assert len(await store.log.since("default", "c2", 0, 9)) == 1
    assert (await test_store.kept(store, "r1")).requester == "alice"


async def test_a_deleted_conversation_is_there_for_nobody_until_it_begins_anew(
    store: Store,
) -> None:
    await talk_of(store, "alice", "c1")
    await store.erasure.erase("default", "c1")
    found, _ = await store.conversations.owned_by("default", "alice", None, 9)
    assert (await store.conversations.find("default", "c1"), found) == (None, [])
    assert await store.conversations.forgotten_by("default", "c1") == "alice"
    await attached(store, "c1", "late", "late")
    assert await store.log.since("default", "c1", 0, 9) == []
    await talk_of(store, "alice", "c1")
    assert await store.conversations.forgotten_by("default", "c1") is None
    await attached(store, "c1", "new", "new")
    assert len(await store.log.since("default", "c1", 0, 9)) == 1


async def test_what_a_hold_keeps_is_not_deleted(store: Store, database: Database) -> None:
    await furnish(store, "alice")
    hold = {"kind": "person", "subject": "alice", "reason": "court", "placed_by": "olga"}
    placed = LegalHold.model_validate({**hold, "placed_at": NOW})
    await store.legal_holds.place("default", placed)
    before = await all_rows(database)
    with pytest.raises(Conflict):
        await store.erasure.erase("default", "of-alice")
    assert await all_rows(database) == before
