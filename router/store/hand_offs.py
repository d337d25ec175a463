"""Conversations that were handed to a person, as lists show them."""

from sqlalchemy import Connection, func, literal_column, select

from router.domain.hand_offs import HandOffGoingOn, HandOffRecord, HandOffState
from router.domain.records import Waiting
from router.store import tables
from router.store.database import Aggregate
from router.store.event_log import forgotten_among, lock_of
from router.store.rows import page, record, records, to_row, upsert

_hand_offs = tables.hand_offs
_GOING_ON = _hand_offs.c.state != literal_column("'closed'")
"""Spelled out, not a parameter: only so is the index on these alone of use."""


class HandOffStore(Aggregate):
    """What was handed to people, and who has it."""

    async def publish(self, hand_off: HandOffRecord) -> None:
        """Keep it as it stands, unless something newer is kept.

        Of a conversation that was forgotten nothing is.
        """
        insert = self._database.insert(_hand_offs)
        newer = insert.excluded.version >= _hand_offs.c.version
        keep = upsert(insert, _hand_offs, where=newer)

        def publish(connection: Connection) -> None:
            place = (hand_off.tenant, hand_off.conversation)
            self._database.serialise(connection, lock_of(*place))
            if not forgotten_among(connection, hand_off.tenant, [hand_off.conversation]):
                connection.execute(keep, to_row(hand_off))

        await self._database.write(publish)

    async def find(self, tenant: str, hand_off: str) -> HandOffRecord | None:
        """The one of this id; None where there is none."""
        query = select(_hand_offs).filter_by(tenant=tenant, id=hand_off)
        return await record(self._database, HandOffRecord, query)

    async def listed(
        self, tenant: str, state: HandOffState, before: str | None, limit: int
    ) -> tuple[list[HandOffRecord], str | None]:
        """Those that stand so, newest first, and the cursor of the next page or None."""
        query = select(_hand_offs).filter_by(tenant=tenant, state=state)
        moment = _hand_offs.c.since
        return await page(self._database, HandOffRecord, query, moment, before, limit)

    async def held_by(self, tenant: str, agent: str) -> list[HandOffRecord]:
        """Those that this person has right now, the longest held first."""
        theirs = select(_hand_offs).filter_by(tenant=tenant, agent=agent, state="taken")
        ordered = theirs.where(_hand_offs.c.agent.is_not(None)).order_by(_hand_offs.c.since)
        return await records(self._database, HandOffRecord, ordered)

    async def waiting(self, state: HandOffGoingOn) -> Waiting:
        """How many of those that stand so wait for an answer, and since when the longest does."""
        since = _hand_offs.c.waiting_since
        query = select(func.count(since), func.min(since)).where(
            _GOING_ON, _hand_offs.c.state == state
        )
        count, oldest = await self._database.read(lambda c: c.execute(query).one())
        return Waiting(count=count, since=oldest)
