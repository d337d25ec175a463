"""What is old enough to go, and what stays for a run, a legal hold or its owner."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, update

from router.domain.errors import Conflict
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, FileRecord
from router.store import retention, tables
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.legal_holds import LegalHold
from router.store.store import Store
from tests.integration.store.test_retention import (
    WORDS,
    approval,
    furnish,
    has_file,
    run,
    said,
    talk_of,
)

TODAY = datetime.now(UTC)
"""As the database's clock has it, which is not for a test to set."""
AGED = TODAY - timedelta(days=400)


@pytest.mark.slow
async def test_what_has_been_silent_for_too_long_goes(store: Store, database: Database) -> None:
    await furnish(store, "alice", AGED)
    await store.log.append("default", [said("alice", "still here", AGED)])
    assert await store.retention.expire(401) == 0
    assert await store.retention.expire(399) == 1
    assert await store.conversations.find("default", "of-alice") is None
    assert await store.conversations.load_snapshot("default", "of-alice") is None
    assert await store.log.transcript("default", "of-alice", None, 10) == []
    assert await store.files.find("default", "file-alice") is None
    assert await store.runs.find("default", "run-alice") is not None


@pytest.mark.slow
async def test_what_is_remembered_has_an_age_of_its_own(store: Store, database: Database) -> None:
    await furnish(store, "alice", AGED)
    await furnish(store, "frank", TODAY)
    await store.retention.expire(30, confirmed=True)
    assert len(await store.memories.listed("default", "alice")) == 1
    await store.legal_holds.place("default", hold("person", "alice"))
    assert await store.retention.forget(30) == 0
    await store.legal_holds.release("default", "person", "alice")
    assert await store.retention.forget(401) == 0
    assert await store.retention.forget(399) == 1
    assert await store.memories.listed("default", "alice") == []
    assert len(await store.memories.listed("default", "frank")) == 1


@pytest.mark.slow
async def test_what_is_in_use_stays(store: Store) -> None:
    await furnish(store, "alice", AGED)
    going_on = run("r3", "alice", "waiting_approval", files={"file-alice": "a.pdf"})
    await store.runs.publish(going_on, [approval(going_on, "bob", None)])
    await furnish(store, "frank", AGED)
    await store.log.append("default", [said("frank", "a word of today", TODAY)])
    assert await store.retention.expire(30) == 0
    assert await store.conversations.find("default", "of-alice") is not None
    assert await store.files.find("default", "file-alice") is not None
    (left,) = await store.log.transcript("default", "of-frank", None, 10)
    assert left.data["text"] == "a word of today"


async def test_a_run_that_would_delete_most_of_the_house_deletes_nothing(store: Store) -> None:
    for number in range(25):
        record = {"id": f"c{number}", "tenant": "default", "owner": "alice", "locale": "zh"}
        created = ConversationRecord.model_validate({**record, "created_at": AGED})
        await store.conversations.create(created)
    with pytest.raises(Conflict, match=r"more than 20 of 25 rows of conversations .* expire --yes"):
        await store.retention.expire(365)
    assert await store.conversations.find("default", "c0") is not None
    assert await store.retention.expire(365, confirmed=True) == 25


HELD = ("event_log", "results", "idempotency_keys", "files")


@pytest.mark.slow
@pytest.mark.parametrize("table", HELD)
async def test_what_is_on_legal_hold_does_not_count_as_due(
    store: Store, database: Database, table: str
) -> None:
    """However much is held for years: the run of every day goes on."""
    old = {"tenant": "default", "at": AGED, "kept_at": AGED, "claimed_at": AGED, "owner": "alice"}
    old |= {"conversation": "of-alice", "recipient": "alice", "user": "alice", "kind": "message"}
    old |= {"data": {}, "tool": "t", "body": "b", "digest": "d", "size": 1}
    old |= {"name": "n", "type": "t", "sha256": "0", "content": b"c"}
    rows = [{**old, **dict.fromkeys(("id", "key"), f"n{n}")} for n in range(25)]
    kept = tables.metadata.tables[table]
    fitting = [{name: row[name] for name in row if name in kept.c} for row in rows]
    await talk_of(store, "alice", "of-alice")
    await database.write(lambda connection: connection.execute(insert(kept), fitting))
    with pytest.raises(Conflict, match=f"more than 20 of 25 rows of {table}"):
        await store.retention.expire(30)
    await store.legal_holds.place("default", hold("person", "alice"))
    await store.retention.expire(30)
    query = select(func.count()).select_from(kept)
    assert await database.read(lambda connection: connection.scalar(query)) == 25


def hold(kind: Any, subject: str) -> LegalHold:
    about = {"subject": subject, "reason": "case 7", "placed_by": "olga", "placed_at": TODAY}
    return LegalHold(kind=kind, **about)


async def test_files_of_a_run_on_legal_hold_do_not_count_as_due(store: Store) -> None:
    for number in range(25):
        name = f"{number}.pdf"
        owner = Principal(id="alice", name="Alice")
        await store.files.keep(FileRecord.of(f"f{number}", owner, name, b"pdf", AGED), b"pdf")
    files = {f"f{number}": "a.pdf" for number in range(25)}
    ended = run("r1", "alice", files=files)
    await store.runs.publish(ended, [approval(ended, "bob")])
    await store.legal_holds.place("default", hold("run", "r1"))
    await store.retention.expire(30)
    assert await has_file(store, "f0")
    await store.legal_holds.release("default", "run", "r1")
    with pytest.raises(Conflict, match="more than 20 of 25 rows of files"):
        await store.retention.expire(30)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["a run that goes on", "a hold on a run"])
async def test_a_file_that_is_taken_while_others_expire_stays(
    store: Store, database: Database, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    await furnish(store, "frank", AGED - timedelta(days=1))
    await furnish(store, "alice", AGED)
    monkeypatch.setattr(retention, "_AT_ONCE", 1)
    going_on = by == "a run that goes on"
    ended = run("r3", "alice", files={"file-alice": "a.pdf"})
    if not going_on:
        await store.runs.publish(ended, [])
    write, taken = database.write, False

    async def write_and_take(work: Callable[[Connection], Any]) -> Any:
        nonlocal taken
        done = await write(work)
        if not taken and not await has_file(store, "file-frank"):
            taken = True
            if going_on:
                begun = ended.model_copy(update={"status": "collecting"})
                await store.runs.publish(begun, [])
            else:
                await store.legal_holds.place("default", hold("run", "r3"))
        return done

    monkeypatch.setattr(database, "write", write_and_take)
    await store.retention.expire(30)
    assert taken
    assert await has_file(store, "file-alice")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "subject"), [("person", "alice"), ("run", "run-alice")])
async def test_what_is_on_legal_hold_stays_until_it_is_released(
    store: Store, database: Database, kind: Any, subject: str
) -> None:
    await furnish(store, "alice", AGED)
    await furnish(store, "frank", AGED)
    shown = run("run-alice", "alice", files={"file-alice": "a.pdf"}, events=6)
    await store.runs.publish(shown, [])
    await store.legal_holds.place("default", hold(kind, subject))
    assert await store.retention.expire(30) == 1
    (left,) = await store.log.transcript("default", "of-alice", None, 10)
    assert left.data["text"] == WORDS
    assert await store.files.find("default", "file-alice") is not None
    assert await store.files.find("default", "file-frank") is None
    held = await PersonErasure(database, "default", "alice").holdings()
    assert held.on_hold == [f"{kind} {subject}: case 7"]
    assert (await PersonErasure(database, "default", "erin").holdings()).on_hold == []
    assert await store.legal_holds.release("default", kind, subject)
    assert await store.retention.expire(30) == 1
    assert await store.files.find("default", "file-alice") is None


@pytest.mark.slow
async def test_whose_a_deleted_conversation_was_is_known_until_that_expires(
    store: Store, database: Database
) -> None:
    """Not until its birthday does: what comes late would be kept."""
    await furnish(store, "alice", AGED)
    await store.erasure.erase("default", "of-alice")
    assert await store.retention.expire(30) == 0
    assert await store.conversations.forgotten_by("default", "of-alice") == "alice"
    row = tables.conversations
    long_ago = update(row).where(row.c.id == "of-alice").values(forgotten_at=AGED)
    await database.write(lambda connection: connection.execute(long_ago))
    assert await store.retention.expire(30) == 1
    assert await store.conversations.forgotten_by("default", "of-alice") is None
