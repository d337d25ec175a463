"""What was done once: idempotency keys of requests, and the effects ledger of writes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from pydantic import JsonValue
from sqlalchemy import Connection, delete, select, update

from router.domain.errors import DuplicateKey
from router.domain.records import EffectRecord
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.rows import begins_with, from_row, record, records

_keys = tables.keys


@dataclass(frozen=True)
class KeyClaim:
    """That a key is to stand for a request, once what that asks for is written."""

    tenant: str
    user: str
    key: str
    digest: str


def note_claim(database: Database, connection: Connection, claim: KeyClaim | None) -> None:
    """Remember the key in the transaction of what it stands for: what is refused leaves it free.

    Raises `DuplicateKey` where it came with another digest before.
    """
    if claim is None:
        return
    row = {**asdict(claim), "claimed_at": datetime.now(UTC)}
    added = connection.execute(database.insert_new(_keys), row)
    named = {"tenant": claim.tenant, "user": claim.user, "key": claim.key}
    kept = select(_keys.c.digest).filter_by(**named)
    if not added.rowcount and connection.execute(kept).scalar() != claim.digest:
        raise DuplicateKey(
            f"the idempotency key {claim.key!r} was used before with another body; "
            "send the same body again, or another key"
        )


class IdempotencyKeys(Aggregate):
    """Which `Idempotency-Key` was used by whom with what."""

    async def claim(self, tenant: str, user: str, key: str, digest: str) -> None:
        """Remember the key; raises `DuplicateKey` where it came with another digest before."""
        claim = KeyClaim(tenant, user, key, digest)
        await self._database.write(lambda c: note_claim(self._database, c, claim))

    async def claimed(self, tenant: str, user: str, key: str) -> bool:
        """True where the key came before, with whatever digest."""
        kept = select(_keys.c.digest).filter_by(tenant=tenant, user=user, key=key)
        return await self._database.read(lambda c: c.execute(kept).first()) is not None


_effects = tables.effects


class EffectsLedger(Aggregate):
    """Every write that was sent out, by idempotency key: the memory that makes it once."""

    async def begin(
        self,
        key: str,
        tool: str,
        digest: str,
        at: datetime | None = None,
        claims: Sequence[datetime] = (),
    ) -> EffectRecord | None:
        """Note a call about to be sent: None where its key is new, else what is known of it.

        A key that comes with another tool or digest raises `DuplicateKey`.

        Args:
            key: The idempotency key.
            tool: The tool's name.
            digest: Differs where the call does.
            at: The moment of the note. A caller that didn't hear whether the transaction was
                committed begins again with the same moment, and its own note counts as new.
            claims: The moments of notes under which nothing was sent. One of them counts as new,
                once: it gets the moment `at` instead.
        """
        row = {"key": key, "tool": tool, "digest": digest, "status": "begun"}
        own = at or datetime.now(UTC)
        row_at = {**row, "begun_at": own}
        kept = select(_effects).where(_effects.c.key == key)
        unsent = (_effects.c.status == "begun", _effects.c.begun_at.in_([own, *claims]))
        again = update(_effects).where(_effects.c.key == key, *unsent).values(begun_at=own)

        def begin(connection: Connection) -> EffectRecord | None:
            added = connection.execute(self._database.insert_new(_effects), row_at)
            if added.rowcount or (at is not None and connection.execute(again).rowcount):
                return None
            return from_row(EffectRecord, connection.execute(kept).one())

        known = await self._database.write(begin)
        if known and (known.tool, known.digest) != (tool, digest):
            raise DuplicateKey(
                f"the key {key!r} was used before for another call of {known.tool}; "
                "a call with other arguments needs a key of its own"
            )
        return known

    async def find(self, key: str) -> EffectRecord | None:
        """What is known of the call with this key; None where it was never begun."""
        kept = select(_effects).where(_effects.c.key == key)
        return await record(self._database, EffectRecord, kept)

    async def of_run(self, workflow_id: str) -> list[EffectRecord]:
        """What is known of the calls of a flow's run."""
        theirs = begins_with(self._database, _effects.c.key, f"{workflow_id}:")
        query = select(_effects).where(theirs).order_by(_effects.c.begun_at)
        return await records(self._database, EffectRecord, query)

    async def finish(self, key: str, result: JsonValue) -> None:
        """Note what the call came to. What is noted already stays."""
        await self._end(key, status="done", result=result)

    async def note_done(self, key: str, tool: str, digest: str) -> None:
        """Note a call that is known to have been made; what is known of it already stays."""
        at = datetime.now(UTC)
        row = {"key": key, "tool": tool, "digest": digest, "status": "done"}
        add = self._database.insert_new(_effects)
        await self._database.write(
            lambda c: c.execute(add, {**row, "begun_at": at, "ended_at": at})
        )

    async def fail(self, key: str, failure: dict[str, JsonValue]) -> None:
        """Note that the call failed for good and had no effect. What is noted already stays.

        `failure` is the error as `router.contracts.failures.to_json` writes it.
        """
        await self._end(key, status="failed", failure=failure)

    async def release(self, key: str) -> None:
        """Forget a call that had no effect. What is noted already stays."""
        begun = (_effects.c.key == key, _effects.c.status == "begun")
        await self._database.write(lambda c: c.execute(delete(_effects).where(*begun)))

    async def _end(self, key: str, **outcome: JsonValue) -> None:
        # Two attempts of a call may overlap, where the first was given up and isn't dead yet.
        # Whichever ends first has spoken.
        end = (
            update(_effects)
            .where(_effects.c.key == key, _effects.c.status == "begun")
            .values(**outcome, ended_at=datetime.now(UTC))
        )
        await self._database.write(lambda c: c.execute(end))
