"""Conversations, snapshots of closed ones, and mailboxes of those held on chat platforms."""

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, ScalarSelect, and_, func, select, true, update

from router.domain.records import ConversationRecord, LogEntry, Mailbox
from router.store import tables
from router.store.columns import moment_there
from router.store.database import Aggregate
from router.store.event_log import FOR_PERSON, IN_CONVERSATION, announce, forgotten_among, lock_of
from router.store.rows import page, record, records, to_row, upsert

_conversations = tables.conversations
_snapshots = tables.snapshots
_log = tables.log
_KEPT = _conversations.c.forgotten_at.is_(None)


class Conversations(Aggregate):
    """Who owns which conversation, and what a closed one needs to go on."""

    async def create(self, record: ConversationRecord) -> ConversationRecord:
        """Keep a new conversation; where the id is there already, answer what is kept.

        One that was forgotten begins anew by this, with nothing of what was.
        """
        row = to_row(record, forgotten_at=None)
        create = upsert(self._database.insert(_conversations), _conversations, where=~_KEPT)
        if await self._database.write(lambda c: c.execute(create, row).rowcount):
            return record
        return await self.find(record.tenant, record.id) or record

    async def find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        """The conversation, whoever owns it; None where there is none, or none any more."""
        query = select(_conversations).filter_by(tenant=tenant, id=conversation).where(_KEPT)
        return await record(self._database, ConversationRecord, query)

    async def forgotten_by(self, tenant: str, conversation: str) -> str | None:
        """Whose it was, where its owner had it forgotten; None where it is there or never was."""
        query = select(_conversations.c.owner).filter_by(tenant=tenant, id=conversation)
        return await self._database.read(lambda c: c.execute(query.where(~_KEPT)).scalar())

    async def owned_by(
        self, tenant: str, owner: str, before: str | None, limit: int
    ) -> tuple[list[ConversationRecord], str | None]:
        """The owner's conversations, newest first, and the cursor of the next page or None."""
        theirs = select(_conversations).filter_by(tenant=tenant, owner=owner).where(_KEPT)
        moment = _conversations.c.created_at
        return await page(self._database, ConversationRecord, theirs, moment, before, limit)

    async def save_snapshot(self, tenant: str, conversation: str, snapshot: str) -> None:
        """Keep the closed conversation's state (JSON), in place of an earlier one.

        Nothing of one that was forgotten is kept.
        """
        row = {"tenant": tenant, "conversation": conversation, "state": snapshot}
        row_at = {**row, "saved_at": datetime.now(UTC)}
        save = upsert(self._database.insert(_snapshots), _snapshots)

        def keep(connection: Connection) -> None:
            self._database.serialise(connection, lock_of(tenant, conversation))
            if not forgotten_among(connection, tenant, [conversation]):
                connection.execute(save, row_at)

        await self._database.write(keep)

    async def load_snapshot(self, tenant: str, conversation: str) -> str | None:
        """The last snapshot, or None."""
        query = select(_snapshots.c.state).filter_by(tenant=tenant, conversation=conversation)
        return await self._database.read(lambda c: c.execute(query).scalar())

    async def is_cut_off(self, tenant: str, conversation: str) -> bool:
        """True where turns came after the last snapshot, which nobody knows but the log."""
        whose = {"tenant": tenant, "conversation": conversation}
        last = select(_log.c.at).filter_by(**whose, kind="turn").order_by(_log.c.sequence.desc())
        kept = select(_snapshots.c.saved_at).filter_by(**whose)

        def cut_off(connection: Connection) -> bool:
            at, saved = connection.scalar(last.limit(1)), connection.scalar(kept)
            return at is not None and (saved is None or saved < at)

        return await self._database.read(cut_off)


_boxes = tables.mailboxes

_NEW = and_(_log.c.tenant == _boxes.c.tenant, _log.c.sequence > _boxes.c.position)
_WAITING = _boxes.c.news > _boxes.c.position


class Mailboxes(Aggregate):
    """Which words of the log have yet to be posted on chat platforms, and where."""

    async def open(self, mailbox: Mailbox) -> None:
        """Keep a mailbox, or change its place; a person's begins with what comes from now on."""
        insert, key = self._database.insert(_boxes), ["tenant", "platform", "kind", "subject"]
        place = {"place": insert.excluded.place}
        kept = insert.on_conflict_do_update(index_elements=key, set_=place)
        newest = select(func.coalesce(func.max(_log.c.sequence), 0)).where(
            _log.c.tenant == mailbox.tenant, _log.c.recipient == mailbox.subject
        )

        stream = "conversation" if mailbox.kind == "conversation" else "recipient"

        def work(connection: Connection) -> None:
            # As an append does: what comes meanwhile would tell a mailbox that isn't there yet.
            named = f"log/{mailbox.tenant}/{stream}/{mailbox.subject}"
            self._database.serialise(connection, named)
            row = to_row(mailbox)
            row["due"] = min(mailbox.due, moment_there(connection))
            if mailbox.kind == "person":
                row["position"] = connection.execute(newest).scalar_one()
            connection.execute(kept, row)
            said = "message" if mailbox.kind == "conversation" else "approval"
            subject = {"conversation": mailbox.subject, "recipient": mailbox.subject}
            announce(connection, mailbox.tenant, [{"kind": said, **subject}])

        await self._database.write(work)

    async def claim(
        self, platforms: Collection[str], now: datetime, until: datetime, limit: int
    ) -> list[Mailbox]:
        """Those with something new that nobody else is at; they are the caller's until then."""
        waiting = (
            select(_boxes)
            .where(_boxes.c.platform.in_(sorted(platforms)), _boxes.c.due <= now, _WAITING)
            .limit(limit)
        )
        found = await records(self._database, Mailbox, waiting)

        def lease(connection: Connection) -> list[Mailbox]:
            leased = []
            for box in found:
                # Unless another process was quicker. Whoever tells it of news just now isn't
                # waited for: with others' mailboxes in hand that could be crosswise.
                here = (_this(box), _boxes.c.due <= now)
                free = select(_boxes.c.subject).where(*here).with_for_update(skip_locked=True)
                if connection.execute(free).first() is not None:
                    connection.execute(update(_boxes).where(*here).values(due=until))
                    leased.append(box.replace(due=until))
            return leased

        return await self._database.write(lease) if found else []

    async def unread(self, mailbox: Mailbox, limit: int) -> list[LogEntry]:
        """What the mailbox hasn't got yet, oldest first."""
        of_kind = IN_CONVERSATION if mailbox.kind == "conversation" else FOR_PERSON
        new = select(_log).join(_boxes, and_(_NEW, of_kind)).where(_this(mailbox))
        query = new.order_by(_log.c.sequence).limit(limit)
        return await records(self._database, LogEntry, query)

    async def oldest(self, platforms: Collection[str] | None = None) -> dict[str, datetime]:
        """When what has waited longest was said, by platform; none where all is posted.

        Of all platforms, also such as aren't set any more, where none are named.
        """
        # For each that waits by itself: a join PostgreSQL would begin with the whole log.
        first = func.coalesce(*(_first_new(kind) for kind in (IN_CONVERSATION, FOR_PERSON)))
        mine = true() if platforms is None else _boxes.c.platform.in_(sorted(platforms))
        waiting = select(_boxes.c.platform, first.label("at")).where(mine, _WAITING).subquery()
        query = (
            select(waiting.c.platform, func.min(waiting.c.at).label("at"))
            .where(waiting.c.at.is_not(None))
            .group_by(waiting.c.platform)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return {row.platform: row.at for row in rows}

    async def advance(self, mailbox: Mailbox, position: int, due: datetime) -> Mailbox | None:
        """Everything up to `position` is posted; it may be claimed again from `due` on.

        The mailbox as it is by then, where it is the caller's still. None where it isn't: whoever
        was held up for longer than their lease has nothing to say of it any more, nor to post.
        """
        ours = (_this(mailbox), _boxes.c.due == mailbox.due)
        change = update(_boxes).where(*ours).values(position=position, due=due)
        changed = await self._database.write(lambda c: c.execute(change).rowcount)
        return mailbox.replace(position=position, due=due) if changed else None


def _first_new(condition: ColumnElement[bool]) -> ScalarSelect[datetime]:
    """When the first was said that a mailbox hasn't got yet."""
    new = select(_log.c.at).where(_NEW, condition)
    return new.order_by(_log.c.sequence).limit(1).scalar_subquery()


def _this(mailbox: Mailbox) -> ColumnElement[bool]:
    key = ("tenant", "platform", "kind", "subject")
    return and_(*(_boxes.c[name] == getattr(mailbox, name) for name in key))
