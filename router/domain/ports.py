"""What the inside needs of the outside, as Protocols; `router.store` has the real ones.

Every method is scoped to a tenant, idempotent under retry, and raises `Unavailable` where
the database can't be reached.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Protocol

from pydantic import JsonValue

from router.domain.budgets import Spent
from router.domain.messages import FlowStatus, Usage
from router.domain.progress import Progress
from router.domain.records import (
    EVERY_RUN,
    Amendment,
    ApprovalRecord,
    AuditEntry,
    AuditFilter,
    AuditRecord,
    ConversationRecord,
    EffectRecord,
    FileRecord,
    Gist,
    LogEntry,
    Mailbox,
    RecordedTurn,
    RoutedTurn,
    RunFilter,
    RunRecord,
    TurnFilter,
    Waiting,
)


class Conversations(Protocol):
    """Who owns which conversation, and what a closed one needs to go on."""

    async def create(self, record: ConversationRecord) -> ConversationRecord:
        """Keep a new conversation; where the id is there already, answer what is kept."""

    async def find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        """The conversation, whoever owns it; None where there is none."""

    async def owned_by(
        self, tenant: str, owner: str, before: str | None, limit: int
    ) -> tuple[list[ConversationRecord], str | None]:
        """The owner's conversations, newest first, and the cursor of the next page or None."""

    async def save_snapshot(self, tenant: str, conversation: str, snapshot: str) -> None:
        """Keep the closed conversation's state (JSON), in place of an earlier one."""

    async def load_snapshot(self, tenant: str, conversation: str) -> str | None:
        """The last snapshot, or None."""


class EventLog(Protocol):
    """The append-only log of everything people may look at later."""

    async def append(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Append, in order and in one transaction, the entries whose keys aren't there yet.

        A `tool_finished` whose `tool_started` isn't there is passed over: nothing has begun.
        Whoever listens to a conversation, or to a recipient's news, hears that there is more.
        """

    async def since(self, tenant: str, conversation: str, after: int, limit: int) -> list[LogEntry]:
        """Everything of the conversation after a sequence number, oldest first."""

    async def latest(self, tenant: str, conversation: str) -> int:
        """The conversation's highest sequence number; 0 where nothing has happened in it."""

    async def news(self, tenant: str, person: str, after: int, limit: int) -> list[LogEntry]:
        """Everything for this recipient after a sequence number, oldest first."""

    async def latest_news(self, tenant: str, person: str) -> int:
        """The highest sequence number of what is for this recipient; 0 where nothing is."""

    async def transcript(
        self, tenant: str, conversation: str, after: int | None, limit: int
    ) -> list[LogEntry]:
        """The conversation's `message` entries after a sequence number, oldest first."""

    async def turn(self, tenant: str, conversation: str, message_id: str) -> RecordedTurn | None:
        """What this message id was answered with, however long ago; None where it never was."""

    async def untold(self, tenant: str, conversation: str, message_id: str) -> list[LogEntry]:
        """What runs have said by themselves between a message's turn and the one before it.

        `message` entries, oldest first; where the message has no turn yet, those up to now.
        """

    async def gists(self, tenant: str, conversations: Collection[str]) -> dict[str, Gist]:
        """What begins each of these conversations and ends it so far, where anything was said."""

    async def exchanges(
        self, tenant: str, after: tuple[str, int] | None, limit: int
    ) -> list[LogEntry]:
        """The `message` and `turn` entries of all conversations, one conversation after another.

        Each conversation oldest first; `after` is the conversation and the sequence number of
        the last entry that the caller has seen.
        """


class Runs(Protocol):
    """Flow runs and their approvals, as last published by the runs themselves."""

    async def publish(
        self,
        run: RunRecord,
        approvals: Sequence[ApprovalRecord],
        entries: Sequence[LogEntry] = (),
    ) -> None:
        """Keep the run and its approvals unless something newer (`events`) is kept already.

        In the same transaction `entries` go to the event log, and with them the news that the
        change itself is: see `router.domain.progress`.
        """

    async def waiting(self) -> Waiting:
        """How many approvals anybody is waited for with, and since when, over all tenants."""

    async def find(self, tenant: str, run: str) -> RunRecord | None:
        """The run with this public id."""

    async def started_by(self, run: RunRecord) -> list[RunRecord]:
        """The runs that this one started and waits for, or did; the oldest first."""

    async def listed(  # noqa: PLR0913 - each narrows the list
        self,
        tenant: str,
        requester: str | None,
        status: FlowStatus | None,
        flow: str | None,
        before: str | None,
        limit: int,
        besides: Collection[str] = (),
        *,
        branches: bool = True,
        narrowed: RunFilter = EVERY_RUN,
    ) -> tuple[list[RunRecord], str | None]:
        """Runs, newest first (of everyone where `requester` is None), and the next cursor.

        Those of the flows `besides` are left out, and without `branches` parts of other runs.
        """

    async def amend(self, amendment: Amendment) -> None:
        """Note with a completed run what becomes of it; noting it again changes nothing."""

    async def keep_definition(self, fingerprint: str, definition: str) -> None:
        """Keep what a completed run may be taken back with, in JSON, under its fingerprint."""

    async def definition(self, fingerprint: str) -> str | None:
        """The definition with this fingerprint, in JSON."""

    async def concerned(self, tenant: str, run: str) -> set[str]:
        """Everyone who was ever asked to decide in this run, or told of that."""

    async def showing(self, tenant: str, file: str) -> list[str]:
        """The runs, by public id, that have shown this file to whom they asked to decide."""

    async def waiting_for(
        self, tenant: str, person: str, before: str | None, limit: int
    ) -> tuple[list[ApprovalRecord], str | None]:
        """What waits for this person's decision, newest first, and the next cursor."""

    async def awaited(self, tenant: str, runs: Sequence[str]) -> list[ApprovalRecord]:
        """The decisions that these runs, by public id, wait for; the longest awaited first."""

    async def find_approval(self, tenant: str, approval: str) -> ApprovalRecord | None:
        """The approval, decided or not."""


class IdempotencyKeys(Protocol):
    """Which `Idempotency-Key` was used by whom with what."""

    async def claim(self, tenant: str, user: str, key: str, digest: str) -> None:
        """Remember the key; raises `DuplicateKey` where it came with another digest before."""

    async def claimed(self, tenant: str, user: str, key: str) -> bool:
        """True where the key came before, with whatever digest."""


class Mailboxes(Protocol):
    """Which words of the log have yet to be posted on chat platforms, and where."""

    async def open(self, mailbox: Mailbox) -> None:
        """Keep a mailbox; of one that is there already only the place is changed.

        A person's begins with what comes from now on.
        """

    async def claim(
        self, faces: Collection[str], now: datetime, until: datetime, limit: int
    ) -> list[Mailbox]:
        """Those with something new that nobody else is at; they are the caller's until then."""

    async def unread(self, mailbox: Mailbox, limit: int) -> list[LogEntry]:
        """What the mailbox hasn't got yet, oldest first."""

    async def advance(self, mailbox: Mailbox, position: int, due: datetime) -> None:
        """Everything up to `position` is posted; it may be claimed again from `due` on."""


class Spending(Protocol):
    """What models cost, by day and by whom it was for."""

    async def add(self, tenant: str, user: str, day: date, usage: Usage) -> None:
        """Count it. A call that was paid twice counts twice."""

    async def take(
        self, tenant: str, user: str, day: date, ahead: Usage, check: Callable[[Spent], None]
    ) -> None:
        """Count what is about to be spent, unless `check` raises at what was spent before.

        One at a time over all processes, so that no two are paid with the same rest.
        """

    async def of_day(self, tenant: str, user: str, day: date) -> Spent:
        """What that day has cost so far."""


class ToolCallAudit(Protocol):
    """Who had which tool called, and what became of it: rows are added and never changed."""

    async def note(self, tenant: str, record: AuditRecord) -> None:
        """Add a row."""

    async def calls(self, tenant: str, person: str, tool: str, since: datetime) -> int:
        """How often the person had the tool called since then, refusals not counted."""

    async def of_person(self, tenant: str, person: str, limit: int) -> list[AuditRecord]:
        """The person's last calls, the newest first."""


class RoutedTurns(Protocol):
    """Where everybody's messages went, for operators."""

    async def listed(
        self, tenant: str, wanted: TurnFilter, before: int | None, limit: int
    ) -> list[RoutedTurn]:
        """Turns before a sequence number, newest first."""

    async def said(self, tenant: str, conversation: str, message_id: str) -> str | None:
        """What the person said under this id; None where nothing is kept of it any more."""


class AuditTrail(Protocol):
    """What operators did and looked at, each before it was done: lines are added, and stay."""

    async def note(self, deed: AuditEntry) -> None:
        """Add a line; once this has returned, it is there for good.

        Raises `Unavailable` where it can't be, and then the act may not be done.
        """

    async def listed(
        self, tenant: str, wanted: AuditFilter, before: str | None, limit: int
    ) -> tuple[list[AuditEntry], str | None]:
        """Lines, newest first, and the next cursor."""


class Results(Protocol):
    """Results of tools that are too long to be carried, for whoever had them called."""

    async def keep(self, tenant: str, owner: str, tool: str, body: str) -> str:
        """Keep a result for its owner; the handle that it is read on with."""

    async def find(self, tenant: str, owner: str, handle: str) -> str | None:
        """The whole result; None where the owner has none of this handle."""


class Files(Protocol):
    """Files of people: receipts that they handed in, and what tools made for them."""

    async def keep(self, record: FileRecord, content: bytes) -> FileRecord:
        """Keep a file; where the id is there already, answer what is kept."""

    async def find(self, tenant: str, file: str) -> FileRecord | None:
        """The file with this id, whoever owns it; None where there is none."""

    async def content(self, tenant: str, file: str) -> bytes | None:
        """The whole content, ten MiB at most; None where there is no such file."""


class SkillFiles(Protocol):
    """What is in the files of skills, by the SHA-256 of it, for as long as a run may need it."""

    async def keep(self, contents: Mapping[str, bytes]) -> None:
        """Keep what isn't kept yet; all of it counts as in use today."""

    async def find(self, digests: Collection[str]) -> dict[str, bytes]:
        """The contents that are kept of these, by digest."""

    async def tidy(self, in_use: Collection[str], unused_since: datetime) -> int:
        """Forget what was last in use before then; how many that were.

        These count as in use today, so that a worker that runs for months loses nothing.
        """


class Retention(Protocol):
    """What makes the house forget."""

    async def expire(self, before: datetime) -> int:
        """Delete what nothing has happened to since then; how many conversations that were."""


class FlowVersions(Protocol):
    """What each version of each flow does, as it was when a process first ran it."""

    async def keep(self, flow: str, version: int, behaviour: str) -> str:
        """Keep what the version does unless that is known, and give what is known."""

    async def replace(self, flow: str, version: int, behaviour: str) -> None:
        """Have the version do this from now on."""


class EffectsLedger(Protocol):
    """Every write that was sent out, by idempotency key: the memory that makes it once."""

    async def begin(self, key: str, tool: str, digest: str) -> EffectRecord | None:
        """Note that a call is about to be sent.

        Answers None where the key is new, else what is known of it. A key that comes with
        another tool or digest raises `DuplicateKey`.
        """

    async def find(self, key: str) -> EffectRecord | None:
        """What is known of the call with this key; None where it was never begun."""

    async def finish(self, key: str, result: JsonValue) -> None:
        """Note what the call came to."""

    async def fail(self, key: str, error: str) -> None:
        """Note that the call failed for good and had no effect."""

    async def release(self, key: str) -> None:
        """Forget a call that has begun and had no effect: its key is as good as new."""


class Live(Protocol):
    """Passes on what happens in turns to whoever listens right now, in whichever process.

    A courtesy: neither method ever raises or holds anyone up for long. What can't be passed
    on is lost, and everything that matters is in the turn itself, or in the event log.
    """

    async def tell(self, progress: Progress) -> None:
        """Pass it on, after what the same caller told before."""

    def listen(
        self, tenant: str, conversation: str
    ) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        """Everything that is told of the conversation from now on, for as long as one stays.

        A reader that doesn't keep up loses the oldest text. Waiting for the next may be
        cancelled, and loses nothing.
        """

    def listen_for(
        self, tenant: str, person: str
    ) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        """The same of what is told for a person: `recorded`, where there is news."""
