"""What people asked to have remembered: each person's own, which nobody else is ever shown."""

from sqlalchemy import Connection, delete, func, select

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.domain.records import MOST_MEMORIES, MemoryRecord
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import records, to_row

_memories = tables.memories


class Memories(Aggregate):
    """What each person asked to have remembered."""

    async def keep(self, tenant: str, owner: str, memory: MemoryRecord) -> bool:
        """Keep it; False where it is kept already. `Conflict`: there are as many as there may be.

        So two at once don't make one too many.
        """
        theirs = select(func.count()).select_from(_memories).filter_by(tenant=tenant, owner=owner)
        same = select(_memories.c.id).filter_by(tenant=tenant, owner=owner, id=memory.id)
        row = to_row(memory, tenant=tenant, owner=owner)

        def keep(connection: Connection) -> bool:
            self._database.serialise(connection, f"memories/{tenant}/{owner}")
            if connection.scalar(same) is not None:
                return False
            if (connection.scalar(theirs) or 0) >= MOST_MEMORIES:
                raise Conflict(FULL)
            connection.execute(self._database.insert_new(_memories), row)
            return True

        return await self._database.write(keep)

    async def listed(self, tenant: str, owner: str) -> list[MemoryRecord]:
        """All of the person's, the newest first."""
        theirs = select(_memories).filter_by(tenant=tenant, owner=owner)
        ordered = theirs.order_by(_memories.c.created_at.desc(), _memories.c.id)
        return await records(self._database, MemoryRecord, ordered)

    async def forget(self, tenant: str, owner: str, memory: str | None = None) -> int:
        """Delete the one of this id, or all of the person's; how many that were."""
        which = {"tenant": tenant, "owner": owner} | ({"id": memory} if memory is not None else {})
        gone = delete(_memories).filter_by(**which)
        count = await self._database.write(lambda connection: connection.execute(gone).rowcount)
        await self._database.scrub()
        return int(count)


FULL = Localised(
    zh=f"已经记了 {MOST_MEMORIES} 件事，记不下更多了。先说“你记得我什么”，删掉几件再来。",
    en=f"{MOST_MEMORIES} things are remembered, and there is room for no more: ask “what do you "
    "remember about me”, and have some forgotten first.",
)
