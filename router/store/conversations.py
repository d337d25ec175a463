"""Conversations and the snapshots of closed ones, in the database."""

from datetime import UTC, datetime

from sqlalchemy import select

from router.domain.records import ConversationRecord
from router.store import tables
from router.store.database import Database
from router.store.rows import from_row, newest_first, page, to_row, upsert

_conversations = tables.conversations
_snapshots = tables.snapshots


class DatabaseConversations:
    """`router.domain.ports.Conversations`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._create = database.insert(_conversations).on_conflict_do_nothing()
        self._save = upsert(database.insert(_snapshots), _snapshots)

    async def create(self, record: ConversationRecord) -> ConversationRecord:
        """Keep a new conversation; where the id is there already, answer what is kept."""
        row = to_row(record)
        if await self._database.write(lambda c: c.execute(self._create, row).rowcount):
            return record
        return await self.find(record.tenant, record.id) or record

    async def find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        """The conversation, whoever owns it; None where there is none."""
        query = select(_conversations).where(
            _conversations.c.tenant == tenant, _conversations.c.id == conversation
        )
        row = await self._database.read(lambda c: c.execute(query).first())
        return from_row(ConversationRecord, row) if row else None

    async def owned_by(
        self, tenant: str, owner: str, before: str | None, limit: int
    ) -> tuple[list[ConversationRecord], str | None]:
        """The owner's conversations, newest first, and the cursor of the next page or None."""
        theirs = select(_conversations).where(
            _conversations.c.tenant == tenant, _conversations.c.owner == owner
        )
        query = newest_first(theirs, _conversations, "created_at", before, limit)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return page(ConversationRecord, rows, "created_at", limit)

    async def save_snapshot(self, tenant: str, conversation: str, snapshot: str) -> None:
        """Keep the closed conversation's state (JSON), in place of an earlier one."""
        row = {
            "tenant": tenant,
            "conversation": conversation,
            "state": snapshot,
            "saved_at": datetime.now(UTC),
        }
        await self._database.write(lambda c: c.execute(self._save, row))

    async def load_snapshot(self, tenant: str, conversation: str) -> str | None:
        """The last snapshot, or None."""
        query = select(_snapshots.c.state).where(
            _snapshots.c.tenant == tenant, _snapshots.c.conversation == conversation
        )
        state: str | None = await self._database.read(lambda c: c.execute(query).scalar())
        return state
