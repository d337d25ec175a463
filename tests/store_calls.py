"""A call, or a few, of each function of the store, in a house with a past (`tests.past`).

By name, in an order in which each finds what it asks for: what deletes comes last.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from inspect import getmembers, isasyncgenfunction, iscoroutinefunction
from typing import Any
from uuid import uuid4

from router.domain.documents import Document
from router.domain.hand_offs import HandOffRecord
from router.domain.messages import Route, Turn, Usage
from router.domain.principals import Principal
from router.domain.records import (
    AuditEntry,
    AuditFilter,
    AuditRecord,
    ConversationRecord,
    FileRecord,
    KeptAnswer,
    LogEntry,
    Mailbox,
    MemoryRecord,
    RunFilter,
    TurnFilter,
    WithdrawalNote,
)
from router.domain.run_history import HistoryEntry
from router.domain.webhook_events import EVENTS, WebhookDelivery, WebhookSubscription
from router.store.consistency import StoppedMailbox
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.identity import Generation
from router.store.legal_holds import LegalHold
from router.store.store import Store
from tests.configuration_calls import ConfigurationCalls
from tests.past import DAYS, TENANT

TOLD = WebhookSubscription("https://told.example", frozenset(EVENTS))
NOBODY = "nobody"
"""Of a person who is asked for by indexes alone."""


class Calls(ConfigurationCalls):
    """What is called, and with what: each function of the store."""

    async def conversations_create(self) -> None:
        at = datetime.now(UTC)
        about = {"id": "new", "tenant": TENANT, "owner": self.person, "locale": "zh"}
        record = ConversationRecord.model_validate({**about, "created_at": at})
        for _ in range(2):
            await self.store.conversations.create(record)

    async def conversations_find(self) -> None:
        await self.store.conversations.find(TENANT, "c1")

    async def conversations_owned_by(self) -> None:
        _, cursor = await self.store.conversations.owned_by(TENANT, self.person, None, 2)
        await self.store.conversations.owned_by(TENANT, self.person, cursor, 2)

    async def conversations_forgotten_by(self) -> None:
        await self.store.conversations.forgotten_by(TENANT, "c1")

    async def conversations_save_snapshot(self) -> None:
        await self.store.conversations.save_snapshot(TENANT, "c1", "{}")

    async def conversations_is_cut_off(self) -> None:
        await self.store.conversations.is_cut_off(TENANT, "c1")

    async def conversations_load_snapshot(self) -> None:
        await self.store.conversations.load_snapshot(TENANT, "c1")

    async def log_append(self) -> None:
        about: dict[str, Any] = {"at": self.now, "conversation": "c1", "data": {}}
        entries = [
            LogEntry(key="new:said", kind="message", message_id="m9", **about),
            LogEntry(key="new:tool_finished", kind="tool_finished", message_id="m9", **about),
            LogEntry(key="new:told", kind="approval", recipient=self.person, **about),
        ]
        await self.store.log.append(TENANT, entries)

    async def log_append_turn(self) -> None:
        for number in (1, 10**6):
            said = Turn(
                message_id=f"m{number}", turn=number, route=Route(kind="reply", by="fallback")
            )
            data: dict[str, Any] = {"digest": "d", "turn": said.model_dump(mode="json")}
            about: dict[str, Any] = {"at": self.now, "conversation": "c1", "data": data}
            entry = LogEntry(key=f"new:{number}", kind="turn", message_id=said.message_id, **about)
            await self.store.log.append_turn(TENANT, [entry])

    async def log_since(self) -> None:
        await self.store.log.since(TENANT, "c1", 0, 50)

    async def log_back_from(self) -> None:
        await self.store.log.back_from(TENANT, "c1", self.now, 20)

    async def log_latest(self) -> None:
        await self.store.log.latest(TENANT, "c1")

    async def log_news(self) -> None:
        await self.store.log.news(TENANT, self.person, 0, 50)

    async def log_latest_news(self) -> None:
        await self.store.log.latest_news(TENANT, self.person)

    async def log_transcript(self) -> None:
        await self.store.log.transcript(TENANT, "c1", None, 50)

    async def log_turn(self) -> None:
        await self.store.log.turn(TENANT, "c1", "m1")

    async def log_untold(self) -> None:
        await self.store.log.untold(TENANT, "c1", "m1")

    async def log_previews(self) -> None:
        await self.store.log.previews(TENANT, ["c1", "c2"])

    async def log_exchanges(self) -> None:
        await self.store.log.exchanges(TENANT, ("c1", 1), 50)

    async def log_every_exchange(self) -> None:
        await _first(self.store.log.every_exchange(TENANT, self.now - timedelta(days=1)))

    async def routed_listed(self) -> None:
        since = self.now - timedelta(days=1)
        for wanted in (
            TurnFilter(),
            TurnFilter(person=self.person),
            TurnFilter(conversation="c1", message_id="m1"),
            TurnFilter(since=since),
            TurnFilter(kind="handoff", by="llm", target="flow_1"),
        ):
            await self.store.routed.listed(TENANT, wanted, None, 50)
        await self.store.routed.listed(TENANT, TurnFilter(), 1000, 50)

    async def routed_said(self) -> None:
        await self.store.routed.said(TENANT, "c1", "m1")

    async def runs_publish(self) -> None:
        run = await self.store.runs.find(TENANT, "r3")
        approval = await self.store.runs.find_approval(TENANT, "a3")
        assert run is not None
        assert approval is not None
        line = HistoryEntry(at=self.now, state="asked", event="approve", by=self.person)
        later = {"events": 9, "history": [*run.history, line], "files": {"f3": "a.pdf"}}
        await self.store.runs.publish(run.model_copy(update=later), [approval])

    async def runs_find(self) -> None:
        await self.store.runs.find(TENANT, "r1")

    async def runs_started_by(self) -> None:
        run = await self.store.runs.find(TENANT, "r8")
        assert run is not None
        await self.store.runs.started_by(run)

    async def runs_listed(self) -> None:
        listed, since = self.store.runs.listed, self.now - timedelta(days=1)
        _, cursor = await listed(TENANT, None, None, None, None, 20)
        await listed(TENANT, None, None, None, cursor, 20, ["flow_9"], branches=False)
        await listed(TENANT, self.person, None, None, None, 20)
        await listed(TENANT, None, "failed", None, None, 20)
        await listed(TENANT, None, None, "flow_1", None, 20)
        for narrowed in (
            RunFilter(person=self.person),
            RunFilter(waiting_for=self.person),
            RunFilter(held=True),
            RunFilter(since=since),
            RunFilter(quiet_since=since),
            RunFilter(expires_before=self.now + timedelta(days=2)),
        ):
            await listed(TENANT, None, None, None, None, 20, narrowed=narrowed)

    async def runs_note_withdrawal(self) -> None:
        line = HistoryEntry(at=self.now, state="asked", event="withdrawn", by=self.person)
        note = WithdrawalNote(tenant=TENANT, run="r5", withdrawn_by="r6", line=line)
        await self.store.runs.note_withdrawal(note)

    async def runs_revise(self) -> None:
        later = {"updated_at": self.now}
        await self.store.runs.revise(TENANT, "r7", "k", lambda run: run.model_copy(update=later))

    async def runs_going_on(self) -> None:
        await _all(self.store.runs.going_on())

    async def runs_standings(self) -> None:
        await self.store.runs.standings([(TENANT, "r1"), (TENANT, "r2")])

    async def runs_keep_definition(self) -> None:
        await self.store.runs.keep_definition("f", "{}")

    async def runs_definition(self) -> None:
        await self.store.runs.definition("f")

    async def runs_concerned(self) -> None:
        await self.store.runs.concerned(TENANT, "r1")

    async def runs_showing(self) -> None:
        await self.store.runs.showing(TENANT, "f1")

    async def runs_waiting_for(self) -> None:
        await self.store.runs.waiting_for(TENANT, self.past.person(86), None, 20)

    async def runs_count_waiting(self) -> None:
        await self.store.runs.count_waiting(TENANT, self.person)

    async def runs_decided_by(self) -> None:
        await self.store.runs.decided_by(TENANT, self.person, None, 20)

    async def runs_waiting(self) -> None:
        await self.store.runs.waiting()

    async def runs_left_behind(self) -> None:
        await self.store.runs.left_behind(_Everybody())

    async def key_seals_known(self) -> None:
        await self.store.key_seals.known()

    async def runs_orphaned(self) -> None:
        await self.store.runs.orphaned(_Everybody())

    async def runs_awaited(self) -> None:
        await self.store.runs.awaited(TENANT, ["r17", "r1"])

    async def runs_shown_before(self) -> None:
        await self.store.runs.shown_before(TENANT, ["r9", "r1"])

    async def runs_find_approval(self) -> None:
        await self.store.runs.find_approval(TENANT, "a1")

    async def keys_claim(self) -> None:
        for _ in range(2):
            await self.store.keys.claim(TENANT, self.person, "new", "d")

    async def keys_claimed(self) -> None:
        await self.store.keys.claimed(TENANT, self.person, "new")

    async def ledger_begin(self) -> None:
        for key in ("one/new:book", "one/new:pay", "one/new:look"):
            await self.store.ledger.begin(key, "book", "d")
        await self.store.ledger.begin("one/new:book", "book", "d")

    async def ledger_find(self) -> None:
        await self.store.ledger.find("one/new:book")

    async def ledger_of_run(self) -> None:
        await self.store.ledger.of_run(f"one/{TENANT}/r1")

    async def ledger_finish(self) -> None:
        await self.store.ledger.finish("one/new:book", {})

    async def ledger_note_done(self) -> None:
        await self.store.ledger.note_done("one/new:noted", "book", "d")

    async def ledger_fail(self) -> None:
        await self.store.ledger.fail("one/new:pay", {"type": "PermanentToolError"})

    async def ledger_release(self) -> None:
        await self.store.ledger.release("one/new:look")

    async def spending_add(self) -> None:
        await self.store.spending.add(TENANT, self.person, self.now.date(), Usage(llm_calls=1))

    async def spending_settle(self) -> None:
        await self.store.spending.settle(TENANT, self.person, self.now.date(), [])

    async def spending_take(self) -> None:
        day = self.now.date()
        await self.store.spending.take(TENANT, self.person, day, Usage(llm_calls=1), lambda _: None)

    async def spending_of_day(self) -> None:
        await self.store.spending.of_day(TENANT, self.person, self.now.date())

    async def spending_lines(self) -> None:
        await self.store.spending.lines(TENANT, self.period, ("day", "model"), "USD")
        await self.store.spending.lines(TENANT, self.period, (), "USD")

    async def audit_note(self) -> None:
        about = {"at": self.now, "person": self.person, "tool": "look_up", "digest": "d"}
        await self.store.audit.note(TENANT, AuditRecord(decision="admitted", **about))

    async def audit_calls(self) -> None:
        await self.store.audit.calls(TENANT, self.person, "look_up", self.now)

    async def audit_of_person(self) -> None:
        await self.store.audit.of_person(TENANT, self.person, 20)

    async def trail_note(self) -> None:
        about = {"tenant": TENANT, "at": self.now, "who": "olga", "act": "runs.list"}
        await self.store.trail.note(AuditEntry.model_validate({"id": "new", **about}))

    async def trail_listed(self) -> None:
        _, cursor = await self.store.trail.listed(TENANT, AuditFilter(), None, 20)
        wanted = AuditFilter(who="olga", since=self.now - timedelta(days=1), besides=("run.read",))
        await self.store.trail.listed(TENANT, wanted, cursor, 20)

    async def results_keep(self) -> None:
        await self.store.results.keep(TENANT, self.person, "look_up", "{}")

    async def results_find(self) -> None:
        await self.store.results.find(TENANT, self.person, "h1")

    async def files_keep(self) -> None:
        owner = Principal(id=self.person, name="Somebody", tenant=TENANT)
        record = FileRecord.of("new", owner, "a.pdf", b"a", self.now)
        await self.store.files.keep(record, b"a", most=100)

    async def files_find(self) -> None:
        await self.store.files.find(TENANT, "f1")

    async def files_content(self) -> None:
        await self.store.files.content(TENANT, "f1")

    async def documents_keep(self) -> None:
        await self.store.documents.keep(TENANT, "f1", Document(content="c"), ["k1", "k2"])

    async def documents_find(self) -> None:
        await self.store.documents.find(TENANT, "f1")

    async def documents_preview(self) -> None:
        await self.store.documents.preview(TENANT, "f1")

    async def documents_find_all(self) -> None:
        await self.store.documents.find_all(TENANT, ["f1", "f2"])

    async def documents_unread(self) -> None:
        await self.store.documents.unread(TENANT, self.person, datetime.now(UTC))

    async def documents_wait(self) -> None:
        await self.store.documents.wait(TENANT, ["f1"], 0, lambda _: True)

    async def documents_handed_in(self) -> None:
        await self.store.documents.handed_in(TENANT, "f1", ["k1"], ["r3"])

    async def memories_keep(self) -> None:
        owner = Principal(id=self.person, name="Somebody", tenant=TENANT)
        await self.store.memories.keep(
            TENANT, self.person, MemoryRecord.of(owner, "I like tea", "en", self.now)
        )

    async def memories_listed(self) -> None:
        await self.store.memories.listed(TENANT, self.person)

    async def memories_forget(self) -> None:
        await self.store.memories.forget(TENANT, self.person, "y1")

    async def clock_keep(self) -> None:
        await self.store.clock.keep()

    async def answers_keep(self) -> None:
        about: dict[str, Any] = {"id": "new", "scope": "s1", "question": "q", "text": "t"}
        moments = {"kept_at": self.now, "until": self.now + timedelta(days=1)}
        await self.store.answers.keep(TENANT, KeptAnswer(tools=[], **about, **moments))

    async def answers_of(self) -> None:
        await self.store.answers.of(TENANT, "s1", self.now)

    async def answers_count(self) -> None:
        await self.store.answers.count(TENANT)

    async def health_checks_overload(self) -> None:
        await self.store.health_checks.overload()

    async def health_checks_write(self) -> None:
        await self.store.health_checks.write("api")

    async def key_seals_keep(self) -> None:
        await self.store.key_seals.keep("k", b"s")

    async def houses_known(self) -> None:
        await self.store.houses.known()

    async def houses_advanced(self) -> None:
        await self.store.houses.advanced(Generation("h", 0), timedelta())

    async def houses_set(self) -> None:
        await self.store.houses.set(3)

    async def legal_holds_place(self) -> None:
        about = {"subject": "r1", "reason": "case", "placed_by": "olga", "placed_at": self.now}
        await self.store.legal_holds.place(TENANT, LegalHold(kind="run", **about))

    async def legal_holds_release(self) -> None:
        await self.store.legal_holds.release(TENANT, "person", self.person)

    async def legal_holds_listed(self) -> None:
        await self.store.legal_holds.listed(TENANT)

    async def hand_offs_publish(self) -> None:
        waiting = HandOffRecord(
            id="o1",
            tenant=TENANT,
            conversation="c1",
            requester=self.person,
            cause="asked",
            reason="",
            state="open",
            agent=None,
            since=self.now,
            waiting_since=self.now,
            due=self.now,
            version=9,
        )
        await self.store.hand_offs.publish(waiting)

    async def hand_offs_find(self) -> None:
        await self.store.hand_offs.find(TENANT, "o1")

    async def hand_offs_listed(self) -> None:
        _, cursor = await self.store.hand_offs.listed(TENANT, "closed", None, 2)
        await self.store.hand_offs.listed(TENANT, "closed", cursor, 2)

    async def hand_offs_held_by(self) -> None:
        await self.store.hand_offs.held_by(TENANT, self.person)

    async def hand_offs_waiting(self) -> None:
        await self.store.hand_offs.waiting("open")

    async def mailboxes_open(self) -> None:
        for kind, subject in (("conversation", "c1"), ("person", self.person)):
            about: dict[str, Any] = {"tenant": TENANT, "platform": "chat", "place": {}}
            box = Mailbox(kind=kind, subject=subject, due=self.now, **about)
            await self.store.mailboxes.open(box)

    async def mailboxes_claim(self) -> None:
        until = self.now + timedelta(minutes=1)
        assert await self.store.mailboxes.claim(["chat"], self.now, until, 50)

    async def mailboxes_unread(self) -> None:
        for kind, subject in (("conversation", "c1"), ("person", self.person)):
            about: dict[str, Any] = {"tenant": TENANT, "platform": "chat", "place": {}}
            box = Mailbox(kind=kind, subject=subject, due=self.now, **about)
            await self.store.mailboxes.unread(box, 50)
            await self.store.mailboxes.advance(box, 1, self.now)

    async def mailboxes_advance(self) -> None:
        """As `unread` does, whose mailboxes these are."""
        await self.mailboxes_unread()

    async def mailboxes_oldest(self) -> None:
        await self.store.mailboxes.oldest(["chat"])
        await self.store.mailboxes.oldest()

    async def webhooks_claim(self) -> None:
        assert await self._delivery()

    async def webhooks_postpone(self) -> None:
        await self.store.webhooks.postpone(await self._delivery(), self.now, "503")

    async def webhooks_deliver(self) -> None:
        await self.store.webhooks.deliver(await self._delivery())

    async def webhooks_bury(self) -> None:
        await self.store.webhooks.bury(await self._delivery(), "500")

    async def webhooks_bury_all(self) -> None:
        assert await self._delivery()
        assert await self.store.webhooks.bury_all(TOLD.consumer, "410")

    async def webhooks_retry(self) -> None:
        assert await self.store.webhooks.retry(TENANT, (await self._delivery()).id, self.now)

    async def webhooks_release(self) -> None:
        await self.store.webhooks.release()

    async def webhooks_bury_overdue(self) -> None:
        due = (await self._delivery()).until
        assert await self.store.webhooks.bury_overdue([], due + timedelta(days=1), due, "none")

    async def webhooks_listed(self) -> None:
        await self._delivery()
        _, cursor = await self.store.webhooks.listed(TENANT, "waiting", None, 1)
        assert await self.store.webhooks.listed(TENANT, "waiting", cursor, 1)

    async def webhooks_backlog(self) -> None:
        assert await self.store.webhooks.backlog()

    async def _delivery(self) -> WebhookDelivery:
        """One of a run that goes on, which another system has yet to hear of."""
        told = Store(self.database, [TOLD])
        found = await told.runs.find(TENANT, "r3")
        assert found is not None
        await told.runs.publish(found.model_copy(update={"id": f"told-{uuid4().hex}"}), [])
        until = datetime.now(UTC) + timedelta(minutes=1)
        return (await told.webhooks.claim(TOLD.consumer, until, until, 1))[0]

    async def runs_outcomes(self) -> None:
        assert await self.store.runs.outcomes(TENANT, self.now - timedelta(days=2))

    async def skill_files_keep(self) -> None:
        await self.store.skill_files.keep({"d": b"c"})

    async def skill_files_find(self) -> None:
        await self.store.skill_files.find(["d"])

    async def skill_files_tidy(self) -> None:
        await self.store.skill_files.tidy(["d"], timedelta(days=30))

    async def erasure_erase(self) -> None:
        """Of a conversation with whose words a file came."""
        said = {"role": "user", "text": "x", "files": [{"id": "f2", "name": "a.pdf"}]}
        about: dict[str, Any] = {"at": self.now, "conversation": "c2", "data": said}
        about |= {"key": "c2:file", "kind": "message", "recipient": self.past.person(2)}
        await self.store.log.append(TENANT, [LogEntry(**about)])
        await self.store.erasure.erase(TENANT, "c2")

    async def person_holdings(self) -> None:
        await PersonErasure(self.database, TENANT, self.person).holdings()

    async def person_erase(self) -> None:
        await PersonErasure(self.database, TENANT, self.person).erase("erased-1")

    async def retention_check(self) -> None:
        await self.store.retention.check(DAYS - 15)

    async def retention_forget(self) -> None:
        await self.store.retention.forget(DAYS - 15)

    async def consistency_stray_approvals(self) -> None:
        await _all(self.store.consistency.stray_approvals())

    async def consistency_close_approval(self) -> None:
        assert not await self.store.consistency.close_approval(TENANT, "a3")

    async def consistency_effects(self) -> None:
        await _all(self.store.consistency.effects())

    async def consistency_stopped_mailboxes(self) -> None:
        await _all(self.store.consistency.stopped_mailboxes())

    async def consistency_set_mailbox(self) -> None:
        about = {"tenant": TENANT, "platform": "chat", "kind": "person", "subject": NOBODY}
        gone = StoppedMailbox(**about, position=9, news=9, newest=1)
        assert not await self.store.consistency.set_mailbox(gone)

    async def consistency_cut_off(self) -> None:
        await _all(self.store.consistency.cut_off(self.now))

    async def retention_expire(self) -> None:
        await self.store.retention.expire(DAYS - 15)

    def each(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Every call, by the part of the store and the function."""
        kinds = (ConfigurationCalls, Calls)
        own = (name for kind in kinds for name in vars(kind) if not name.startswith("_"))
        return {name: getattr(self, name) for name in own if name != "each"}


class _Everybody:
    """A directory in which whoever is asked for is."""

    async def find(self, tenant: str, user_id: str) -> Principal | None:
        """Them."""
        return Principal(id=user_id, name=user_id, tenant=tenant)

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Nobody: no role is asked for here."""
        del tenant, role
        return []


async def _all(pages: AsyncIterator[list[Any]]) -> None:
    async for _ in pages:
        pass


async def _first(found: AsyncIterator[Any]) -> None:
    async for _ in found:
        return


def functions(store: Store) -> set[str]:
    """What the store can be asked for, and a person's erasing, as the calls are named."""
    parts = {**vars(store), "person": PersonErasure(Database("sqlite:///x"), TENANT, NOBODY)}
    return {
        f"{part}_{name}"
        for part, aggregate in parts.items()
        if part not in {"database", "live"}
        for name, function in getmembers(type(aggregate))
        if not name.startswith("_")
        and (iscoroutinefunction(function) or isasyncgenfunction(function))
    }
