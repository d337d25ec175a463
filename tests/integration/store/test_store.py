"""What the store keeps, on both databases."""

import asyncio
import base64
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from router.contracts.activities import Publish
from router.contracts.failures import to_json
from router.domain.budgets import Spent
from router.domain.errors import (
    DuplicateKey,
    InvalidInput,
    MisconfiguredError,
    PermanentToolError,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Localised
from router.domain.messages import Usage
from router.domain.records import (
    ApprovalRecord,
    AuditRecord,
    ConversationRecord,
    FileRecord,
    LogEntry,
    Mailbox,
    RunRecord,
    WithdrawalNote,
)
from router.domain.run_history import HistoryEntry
from router.gateway import lost_runs
from router.runtime.upkeep import check_keys
from router.settings import Settings
from router.store import flow_runs
from router.store.blobs import SkillFiles
from router.store.database import Database
from router.store.flow_runs import with_withdrawal_note
from router.store.store import Store

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 11, 18, 10, 30, 15, 123456, tzinfo=ZoneInfo("Asia/Shanghai"))
TITLE = Localised(zh="请假申请", en="Leave request")
TODAY = date(2026, 11, 22)


def conversation(name: str = "c1", minute: int = 0, owner: str = "alice") -> ConversationRecord:
    at = NOW + timedelta(minutes=minute)
    return ConversationRecord(
        id=name, tenant="default", owner=owner, locale="zh", created_at=at, metadata={"b": 1}
    )


def run(name: str = "r1", events: int = 1, state: str = "details", **more: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "workflow_id": f"leave_request/default/{name}",
        "run_id": "x",
        "flow": "leave_request",
        "title": TITLE,
        "version": 1,
        "status": "running",
        "slots": {"z": "first", "a": "second", "days": 2.5, "items": [{"amount": "1.50"}]},
        "requester": "alice",
        "conversation": "c1",
        "history": [HistoryEntry(at=NOW, state="details", event="began", by="alice")],
        "created_at": NOW,
        "updated_at": NOW,
    }
    about = {"id": name, "tenant": "default", "events": events, "state": state}
    return RunRecord.model_validate({**fields, **about, **more})


def approval(name: str = "a1", **more: Any) -> ApprovalRecord:
    of_run = run(more.pop("run", "r1"))
    fields: dict[str, Any] = {
        "id": name,
        "run": of_run.id,
        **of_run.model_dump(include={"tenant", "workflow_id", "flow", "requester", "title"}),
        "person": "bob",
        "summary": {"z": TITLE, "a": TITLE},
        "labels": {"z": TITLE},
        "digest": "d",
        "since": NOW,
        "due": NOW + timedelta(days=1),
    }
    return ApprovalRecord.model_validate({**fields, **more})


async def kept(store: Store, name: str = "r1") -> RunRecord:
    found = await store.runs.find("default", name)
    assert found is not None
    return found


class TestConversations:
    async def test_a_conversation_comes_back_as_it_went_in(self, store: Store) -> None:
        await store.conversations.create(conversation())
        again = await store.conversations.create(conversation(owner="mallory"))
        assert again == await store.conversations.find("default", "c1") == conversation()
        assert again.created_at.tzinfo is not None
        assert await store.conversations.find("other", "c1") is None
        assert await store.conversations.owned_by("other", "alice", None, 10) == ([], None)

    @pytest.mark.slow
    async def test_pages_are_newest_first_and_lose_nothing(self, store: Store) -> None:
        for name, minute in (("c1", 0), ("c2", 1), ("c3", 1), ("c4", 1), ("c5", 2), ("c6", 3)):
            await store.conversations.create(conversation(name, minute))
        await store.conversations.create(conversation("of-bob", 3, owner="bob"))
        seen: list[str] = []
        cursor = None
        for left in (True, True, False):
            page, cursor = await store.conversations.owned_by("default", "alice", cursor, 2)
            seen += [record.id for record in page]
            assert (cursor is not None) is left
        assert seen == ["c6", "c5", "c4", "c3", "c2", "c1"]

    @pytest.mark.slow
    @pytest.mark.parametrize("cursor", ["", "x", "WzFd", "é", "W1tdXQ", "' OR 1=1 --"])
    async def test_a_cursor_that_is_none_is_refused(self, store: Store, cursor: str) -> None:
        with pytest.raises(InvalidInput, match="cursor"):
            await store.conversations.owned_by("default", "alice", cursor, 1)

    async def test_the_last_snapshot_is_kept(self, store: Store) -> None:
        assert await store.conversations.load_snapshot("default", "c1") is None
        await store.conversations.save_snapshot("default", "c1", '{"turns":1}')
        await store.conversations.save_snapshot("default", "c1", '{"turns":2}')
        assert await store.conversations.load_snapshot("default", "c1") == '{"turns":2}'


class TestRuns:
    async def test_a_run_comes_back_as_it_went_in_key_order_included(self, store: Store) -> None:
        for _ in range(2):
            await store.runs.publish(run(), [approval()])
        found = await kept(store)
        assert found == run()
        assert list(found.slots) == ["z", "a", "days", "items"]
        assert await store.runs.find_approval("default", "a1") == approval()
        (asked,), more = await store.runs.waiting_for("default", "bob", None, 10)
        assert (asked, list(asked.summary), more) == (approval(), ["z", "a"], None)

    @pytest.mark.slow
    async def test_the_newest_publication_stands(self, store: Store) -> None:
        await store.runs.publish(run(events=5, state="new"), [approval(verdict="approve")])
        await store.runs.publish(run(events=4, state="old"), [approval(), approval("a2")])
        assert (await kept(store)).state == "new"
        assert await store.runs.find_approval("default", "a2") is None
        assert await store.runs.waiting_for("default", "bob", None, 10) == ([], None)
        at_once = (run(events=n, state=str(n)) for n in range(6, 26))
        await asyncio.gather(*(store.runs.publish(each, [approval()]) for each in at_once))
        assert (await kept(store)).state == "25"

    async def test_a_run_is_told_of_what_is_not_of_its_past(self, store: Store) -> None:
        here = [HistoryEntry(at=NOW, state="new", event="began")]
        there = [HistoryEntry(at=NOW, state="old", event="began")]
        stands = run(events=5, state="new", history=here)
        assert await store.runs.publish(stands, []) is None
        assert await store.runs.publish(stands, []) is None
        assert await store.runs.publish(run(events=5, state="old", history=there), []) == 5
        assert await store.runs.publish(run(events=3, state="old", history=there), []) == 5
        assert await store.runs.find("default", "r1") == stands
        assert await store.runs.publish(run(events=6, state="old", history=there), []) is None

    async def test_an_approval_no_longer_published_waits_for_nobody(self, store: Store) -> None:
        await store.runs.publish(run("r2"), [approval("b1", run="r2")])
        await store.runs.publish(run(events=1), [approval("a1"), approval("a2", person="carol")])
        await store.runs.publish(run(events=2), [approval("a2", person="carol")])
        waiting, _ = await store.runs.waiting_for("default", "bob", None, 10)
        assert [a.id for a in waiting] == ["b1"]
        assert await store.runs.concerned("default", "r1") == {"bob", "carol"}

    async def test_a_file_is_shown_by_the_runs_that_have_asked_somebody(self, store: Store) -> None:
        await store.runs.publish(run(files={"f1": "a.pdf"}), [])
        assert await store.runs.showing("default", "f1") == []
        asked = run(events=2, files={"f1": "a.pdf"}, readers=["gina"])
        await store.runs.publish(asked, [approval("a1")])
        await store.runs.publish(run(events=3, readers=["gina"]), [])
        assert await store.runs.showing("default", "f1") == ["r1"]
        assert await store.runs.showing("other", "f1") == []
        assert await store.runs.concerned("default", "r1") == {"bob", "gina"}

    async def test_what_becomes_of_a_completed_run_is_noted_once(self, store: Store) -> None:
        await store.runs.publish(run(status="completed"), [])
        noted = noting("withdrawn", 0, "r2").model_copy(update={"status": "cancelled"})
        for each in (noted, noted, noted.model_copy(update={"run": "nothing"})):
            await store.runs.note_withdrawal(each)
        found = await kept(store)
        assert (found.status, found.withdrawn_by) == ("cancelled", "r2")
        assert found.history.count(noted.line) == 1

    async def test_a_definition_is_kept_once_under_its_fingerprint(self, store: Store) -> None:
        for _ in range(2):
            await store.runs.keep_definition("0" * 16, "{}")
        assert await store.runs.definition("0" * 16) == "{}"
        assert await store.runs.definition("1" * 16) is None

    @pytest.mark.slow
    @pytest.mark.parametrize("events", [1, 9])
    async def test_what_has_ended_is_never_opened_again(self, store: Store, events: int) -> None:
        ended = run(events=7, status="completed", state="done")
        await store.runs.publish(ended, [])
        said = LogEntry(key="k", kind="approval", at=NOW, recipient="bob", data={})
        again = run(events=events, status="waiting_approval", state="manager")
        await store.runs.publish(again, [approval()], [said])
        assert await kept(store) == ended
        assert await store.runs.awaited("default", ["r1"]) == []
        assert await store.log.news("default", "bob", 0, 9) == []

    async def test_what_goes_on_is_listed_without_what_it_is_about(self, store: Store) -> None:
        for name, status in (("r1", "waiting"), ("r2", "failed")):
            await store.runs.publish(run(name, status=status), [])
        found = [head.id async for page in store.runs.going_on() for head in page]
        assert found == ["r1"]
        both = [("default", "r1"), ("default", "r2"), ("default", "r3")]
        assert {head.status for head in await store.runs.standings(both)} == {"waiting", "failed"}

    async def test_all_that_goes_on_is_listed_page_by_page_each_once(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(flow_runs, "_AT_ONCE", 2)
        names = [f"r{number}" for number in range(5)]
        for name in names:
            await store.runs.publish(run(name, status="waiting"), [])
        pages = [[head.id for head in page] async for page in store.runs.going_on()]
        assert pages == [names[:2], names[2:4], names[4:]]

    async def test_what_runs_wait_for_is_found_for_many_of_them_at_once(self, store: Store) -> None:
        decided = approval("a3", person="dave", verdict="approve")
        asked = approval("a1", since=NOW + timedelta(hours=1))
        await store.runs.publish(run(), [asked, decided, approval("a4", active=False)])
        await store.runs.publish(run("r2"), [approval("b1", run="r2", person="carol")])
        await store.runs.publish(run("r3"), [approval("c1", run="r3")])
        awaited = await store.runs.awaited("default", ["r1", "r2", "unknown"])
        assert [a.id for a in awaited] == ["b1", "a1"]
        assert await store.runs.awaited("other", ["r1"]) == []
        assert await store.runs.awaited("default", []) == []

    async def test_only_active_and_undecided_approvals_wait(self, store: Store) -> None:
        asked = [approval("a1"), approval("a2", since=NOW + timedelta(1))]
        done = [approval("a3", active=False), approval("a4", verdict="reject")]
        await store.runs.publish(run(), asked + done)
        first, cursor = await store.runs.waiting_for("default", "bob", None, 1)
        second, end = await store.runs.waiting_for("default", "bob", cursor, 1)
        assert ([a.id for a in first + second], end) == (["a2", "a1"], None)

    async def test_runs_are_listed_by_requester_status_and_flow(self, store: Store) -> None:
        for each in (
            run("r1"),
            run("r2", status="completed"),
            run("r3", requester="frank"),
            run("r4", flow="reimbursement"),
        ):
            await store.runs.publish(each, [])

        async def listed(of: str | None, status: Any = None, flow: str | None = None) -> list[str]:
            found, _ = await store.runs.listed("default", of, status, flow, None, 10)
            return [each.id for each in found]

        assert await listed(None) == ["r4", "r3", "r2", "r1"]
        assert await listed("alice") == ["r4", "r2", "r1"]
        assert await listed("alice", "running", "leave_request") == ["r1"]

    async def test_parts_of_a_run_are_left_out_of_a_list_of_whole_ones(self, store: Store) -> None:
        part, sub_flow = "leave_request/default/r1", "business_trip/default/r0"
        for each in (run("r1"), run("r2", parent=part), run("r3", parent=sub_flow)):
            await store.runs.publish(each, [])
        shown, _ = await store.runs.listed("default", "alice", None, None, None, 10, branches=False)
        every, _ = await store.runs.listed("default", "alice", None, None, None, 10)
        assert [r.id for r in shown] == ["r3", "r1"]
        assert [r.id for r in shown] == [r.id for r in every if not r.is_branch]


class TestKeys:
    async def test_a_key_is_claimed_by_one_body(self, store: Store) -> None:
        await store.keys.claim("default", "alice", "k", "d1")
        await store.keys.claim("default", "alice", "k", "d1")
        await store.keys.claim("default", "bob", "k", "d2")
        await store.keys.claim("other", "alice", "k", "d2")
        with pytest.raises(DuplicateKey, match="'k'"):
            await store.keys.claim("default", "alice", "k", "d2")


class TestLedger:
    async def noted(self, store: Store, digest: str = "d") -> tuple[Any, ...]:
        """What whoever makes the call again is told of it."""
        known = await store.ledger.begin("k", "t", digest)
        assert known is not None
        return known.status, known.failure, known.result

    @pytest.mark.slow
    @pytest.mark.parametrize("result", [{"record": "r", "days": 2.5}, None])
    async def test_a_call_is_new_then_begun_then_done(self, store: Store, result: Any) -> None:
        assert await store.ledger.begin("k", "t", "d") is None
        assert (await self.noted(store))[0] == "begun"
        await store.ledger.finish("k", result)
        await store.ledger.release("k")
        status, _, kept = await self.noted(store)
        assert (status, kept) == ("done", result)

    async def test_what_ended_first_stands(self, store: Store) -> None:
        await store.ledger.begin("k", "t", "d")
        failure = to_json(PermanentToolError("no such leave"))
        await store.ledger.fail("k", failure)
        await store.ledger.finish("k", {"late": True})
        assert await self.noted(store) == ("failed", failure, None)

    async def test_a_key_that_was_released_is_new_again(self, store: Store) -> None:
        await store.ledger.begin("k", "t", "d")
        await store.ledger.release("k")
        assert await store.ledger.begin("k", "t", "with answers") is None

    @pytest.mark.parametrize(("tool", "digest"), [("other", "d"), ("t", "other")])
    async def test_a_key_belongs_to_one_call(self, store: Store, tool: str, digest: str) -> None:
        await store.ledger.begin("k", "t", "d")
        with pytest.raises(DuplicateKey, match="'k'"):
            await store.ledger.begin("k", tool, digest)

    async def test_of_many_at_once_one_begins(self, store: Store) -> None:
        known = await asyncio.gather(*(store.ledger.begin("k", "t", "d") for _ in range(20)))
        assert known.count(None) == 1


class TestSpending:
    async def test_it_is_counted_by_user_and_day(self, store: Store) -> None:
        tomorrow = TODAY + timedelta(days=1)
        for tenant, person, day, spent in (
            ("default", "alice", TODAY, usage(1, 100)),
            ("default", "alice", TODAY, usage(2, 50)),
            ("default", "bob", TODAY, usage(1, 10)),
            ("default", "alice", tomorrow, usage(9, 900)),
            ("other", "alice", TODAY, usage(7, 700)),
        ):
            await store.spending.add(tenant, person, day, spent)
        of_alice = await store.spending.of_day("default", "alice", TODAY)
        assert of_alice == (usage(3, 150), usage(4, 160), usage(11, 860))

    async def test_counting_at_once_loses_nothing(self, store: Store) -> None:
        assert await store.spending.of_day("default", "alice", TODAY) == Spent()
        counting = (store.spending.add("default", "alice", TODAY, usage(1, 10)) for _ in range(30))
        await asyncio.gather(*counting)
        assert (await store.spending.of_day("default", "alice", TODAY)).user == usage(30, 300)

    @pytest.mark.slow
    async def test_no_two_are_paid_with_the_same_rest(self, store: Store) -> None:
        def check(spent: Spent) -> None:
            if spent.day.llm_calls >= 5:
                raise TooManyRequests("spent")

        taking = (
            store.spending.take(tenant, f"u{n}", TODAY, usage(1, 10), check)
            for n in range(10)
            for tenant in ("default", "other")
        )
        ends = await asyncio.gather(*taking, return_exceptions=True)
        assert sum(end is None for end in ends) == 5
        assert (await store.spending.of_day("default", "u0", TODAY)).day == usage(5, 50)


class TestAudit:
    async def test_calls_are_counted_by_person_tool_and_time(self, store: Store) -> None:
        for row in (
            audited(0, "alice", "look", "admitted"),
            audited(5, "alice", "look", "admitted"),
            audited(6, "alice", "look", "refused"),
            audited(7, "alice", "save", "admitted"),
            audited(8, "bob", "look", "admitted"),
        ):
            await store.audit.note("default", row)
        since = NOW + timedelta(minutes=1)
        assert await store.audit.calls("default", "alice", "look", since) == 1
        assert await store.audit.calls("default", "alice", "look", NOW - timedelta(1)) == 2
        assert await store.audit.calls("other", "alice", "look", NOW - timedelta(1)) == 0

    async def test_a_persons_last_calls_come_newest_first(self, store: Store) -> None:
        records = [audited(minute, "alice", "look", "admitted") for minute in range(3)]
        for record in records:
            await store.audit.note("default", record)
        assert await store.audit.of_person("default", "alice", 2) == records[:0:-1]
        assert await store.audit.of_person("default", "bob", 2) == []


class TestFiles:
    async def test_a_file_is_kept_whole_for_its_tenant_and_stays(self, store: Store) -> None:
        record, content = receipt(), bytes(range(256)) * 40_000
        assert await store.files.keep(record, content) == record
        again = record.model_copy(update={"name": "second.pdf"})
        assert await store.files.keep(again, b"second") == record
        assert await store.files.find("default", record.id) == record
        assert await store.files.content("default", record.id) == content
        assert await store.files.find("other", record.id) is None
        assert await store.files.content("other", record.id) is None
        assert await store.files.find("default", "nothing") is None

    async def test_of_a_day_no_more_are_kept_than_may_be(self, store: Store) -> None:
        hours = [timedelta(hours=hour) for hour in (0, 1, 2, 24)]
        records = [receipt(at=NOW + hour).model_copy(update={"id": f"of {hour}"}) for hour in hours]
        for record in records[:2]:
            assert await store.files.keep(record, b"x", 2) == record
        with pytest.raises(TooManyRequests) as refused:
            await store.files.keep(records[2], b"x", 2)
        assert refused.value.retry_after == 22 * 3600
        assert await store.files.find("default", records[2].id) is None
        assert await store.files.keep(records[1], b"x", 2) == records[1]
        assert await store.files.keep(records[3], b"x", 2) == records[3]


def receipt(size: int = 5, at: datetime = NOW) -> FileRecord:
    about = {"name": "发票.pdf", "type": "application/pdf", "size": size, "sha256": "0" * 64}
    owner = {"id": "a" * 24, "tenant": "default", "owner": "alice"}
    return FileRecord.model_validate({**owner, **about, "at": at})


class TestResults:
    async def test_a_long_result_is_read_by_its_owner_alone(self, store: Store) -> None:
        handle = await store.results.keep("default", "alice", "look", "长" * 100_000)
        assert await store.results.find("default", "alice", handle) == "长" * 100_000
        assert await store.results.find("default", "bob", handle) is None
        assert await store.results.find("other", "alice", handle) is None
        assert await store.results.find("default", "alice", "nothing") is None


def audited(minute: int, person: str, tool: str, decision: str) -> AuditRecord:
    outcome = "done" if decision == "admitted" else ""
    about = {"person": person, "tool": tool, "decision": decision, "outcome": outcome}
    at = NOW + timedelta(minutes=minute)
    return AuditRecord.model_validate({**about, "at": at, "digest": "d", "conversation": "c1"})


def usage(calls: int, tokens: int) -> Usage:
    return Usage(llm_calls=calls, prompt_tokens=tokens, completion_tokens=calls)


def noting(event: str, minutes: int, withdrawal: str = "w1") -> WithdrawalNote:
    line = HistoryEntry(at=NOW + timedelta(minutes=minutes), state="", event=event, by="gina")
    return WithdrawalNote(
        tenant="default", run="r1", withdrawn_by=withdrawal, status=None, line=line
    )


def test_an_end_that_is_told_again_with_a_later_line_is_noted_once() -> None:
    asked, rejected = noting("withdrawal asked", 1), noting("withdrawal rejected", 2)
    again, second = noting("withdrawal rejected", 3), noting("withdrawal rejected", 3, "w2")
    once = with_withdrawal_note(with_withdrawal_note(run(status="completed"), asked), rejected)
    assert [line.event for line in once.history] == ["began", asked.line.event, rejected.line.event]
    assert with_withdrawal_note(once, again) == once
    assert with_withdrawal_note(once, second).history == [*once.history, second.line]


async def test_whoever_sees_a_withdrawal_ended_sees_what_it_took_back_cancelled(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(*_: object, **__: object) -> None:
        raise Unavailable("the database is away")

    await store.runs.publish(run(status="completed"), [])
    note = noting("withdrawn", 1).model_copy(update={"status": "cancelled"})
    ended = run("w1", status="completed", withdraws="r1")
    over = Publish(run=ended, approvals=[], entries=[], withdrawal_note=note)
    with monkeypatch.context() as patched:
        patched.setattr(store.runs, "publish", cut_off)
        with pytest.raises(Unavailable):
            await lost_runs.publish(store.runs, over)
    assert await store.runs.find("default", "w1") is None
    assert (await kept(store)).status == "cancelled"
    await lost_runs.publish(store.runs, over)
    assert (await kept(store, "w1")).status == "completed"
    assert [line.event for line in (await kept(store)).history] == ["began", "withdrawn"]


A, B = {"a" * 64: b"one"}, {"b" * 64: b"\x00\xff"}
MONTH = timedelta(days=30)


@pytest.fixture
def files(database: Database) -> SkillFiles:
    return Store(database).skill_files


async def test_what_is_kept_is_found_by_its_digest(files: SkillFiles) -> None:
    await files.keep({})
    await files.keep(A | B)
    await files.keep(A)
    assert await files.find(["a" * 64, "b" * 64, "c" * 64]) == A | B
    assert await files.find([]) == {}


async def test_several_workers_may_keep_the_same_at_once(files: SkillFiles) -> None:
    await asyncio.gather(*(files.keep(A | B) for _ in range(8)))
    assert await files.find(["a" * 64]) == A


async def test_only_what_is_out_of_use_for_so_long_is_forgotten(files: SkillFiles) -> None:
    await files.keep(A | B)
    every: dict[str, bytes] = A | B
    for in_use, kept, left in (([], MONTH, every), (list(A), -MONTH, A), ([], -MONTH, {})):
        before = await files.find(every)
        assert await files.tidy(in_use, kept) == len(before) - len(left)
        assert await files.find(every) == left


def key(id_: str, letter: bytes) -> str:
    return f"{id_}:{base64.b64encode(letter * 32).decode()}"


@pytest.mark.slow
async def test_another_key_by_a_known_id_is_refused_at_the_start(store: Store) -> None:
    def settings(*keys: str) -> Settings:
        return Settings.load(payload_keys=",".join(keys))

    await check_keys(settings(key("k1", b"a")), store.key_seals)
    await check_keys(settings(key("k2", b"b"), key("k1", b"a")), store.key_seals)
    for wrong in (settings(key("k1", b"b")), settings(key("k1", b"a"), key("k2", b"a"))):
        with pytest.raises(MisconfiguredError, match=r"'k.' .* isn't the one that this house has"):
            await check_keys(wrong, store.key_seals)
    await check_keys(settings(key("k1", b"a")), store.key_seals)


class TestConsistency:
    async def test_a_mailbox_that_is_ahead_of_a_restored_log_goes_on_with_what_comes(
        self, store: Store
    ) -> None:
        about: dict[str, Any] = {"tenant": "default", "platform": "slack", "kind": "person"}
        box = Mailbox(**about, subject="bob", place={"account": "UBOB"}, due=NOW)
        await store.mailboxes.open(box)
        await store.log.append("default", [told("k1")])
        assert [page async for page in store.consistency.stopped_mailboxes()] == []
        (claimed,) = await store.mailboxes.claim(["slack"], NOW, NOW, 9)
        await store.mailboxes.advance(claimed, 4000, NOW)
        ((stopped,),) = [page async for page in store.consistency.stopped_mailboxes()]
        assert (stopped.position, stopped.newest) == (4000, claimed.news)
        assert await store.consistency.set_mailbox(stopped)
        assert not await store.consistency.set_mailbox(stopped)
        await store.log.append("default", [told("k2")])
        (again,) = await store.mailboxes.claim(["slack"], NOW, NOW, 9)
        assert [entry.key for entry in await store.mailboxes.unread(again, 9)] == ["k2"]

    async def test_what_was_said_after_a_snapshot_is_known_to_nobody_else(
        self, store: Store
    ) -> None:
        await store.conversations.create(conversation())
        said = {"turn": None, "digest": "d"}
        turn = LogEntry(key="t", kind="turn", at=NOW, conversation="c1", message_id="m", data=said)
        assert not await store.conversations.is_cut_off("default", "c1")
        await store.log.append("default", [turn])
        assert await store.conversations.is_cut_off("default", "c1")
        found = [page async for page in store.consistency.cut_off(NOW + timedelta(hours=1))]
        assert [[(one.id, one.owner) for one in page] for page in found] == [[("c1", "alice")]]
        assert [page async for page in store.consistency.cut_off(NOW)] == []
        await store.conversations.save_snapshot("default", "c1", "{}")
        assert not await store.conversations.is_cut_off("default", "c1")
        assert [page async for page in store.consistency.cut_off(NOW + timedelta(hours=1))] == []


def told(key: str) -> LogEntry:
    return LogEntry(key=key, kind="approval", at=NOW, recipient="bob", data={})
