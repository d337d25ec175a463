"""Everybody's turns as operators look for them: where messages went, in the event log."""

from typing import Any

from sqlalchemy import ColumnElement, Row, literal_column, select

from router.domain.messages import Turn
from router.domain.records import RoutedTurn, TurnFilter
from router.store import tables
from router.store.database import Database

_log = tables.log
_conversations = tables.conversations
_ROUTE = ("kind", "by", "target")


class DatabaseRouted:
    """`router.domain.ports.Routed`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(
        self, tenant: str, wanted: TurnFilter, before: int | None, limit: int
    ) -> list[RoutedTurn]:
        """Turns before a sequence number, newest first."""
        owned = (
            _conversations.c.tenant == _log.c.tenant,
            _conversations.c.id == _log.c.conversation,
        )
        query = (
            select(_log, _conversations.c.owner, _conversations.c.locale)
            .join(_conversations, owned[0] & owned[1])
            # Spelled out, not a parameter: only so is the index on turns alone of use.
            .where(_log.c.tenant == tenant, _log.c.kind == literal_column("'turn'"))
            .where(*_narrowing(wanted))
            .order_by(_log.c.sequence.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(_log.c.sequence < before)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_turn(row) for row in rows]

    async def said(self, tenant: str, conversation: str, message_id: str) -> str | None:
        """What the person said under this id; None where nothing is kept of it any more."""
        query = select(_log.c.data["text"].as_string()).where(
            _log.c.tenant == tenant,
            _log.c.conversation == conversation,
            _log.c.message_id == message_id,
            _log.c.kind == "message",
            _log.c.data["role"].as_string() == "user",
        )
        return await self._database.read(lambda connection: connection.execute(query).scalar())


def _narrowing(wanted: TurnFilter) -> list[ColumnElement[bool]]:
    columns: dict[str, ColumnElement[Any]] = {
        "person": _conversations.c.owner,
        "conversation": _log.c.conversation,
        "message_id": _log.c.message_id,
        **{name: _log.c.data[("turn", "route", name)].as_string() for name in _ROUTE},
    }
    given = wanted.model_dump(exclude={"since"}, exclude_none=True)
    conditions = [columns[name] == value for name, value in given.items()]
    return [*conditions, *([_log.c.at >= wanted.since] if wanted.since else [])]


def _turn(row: Row[Any]) -> RoutedTurn:
    return RoutedTurn(
        tenant=row.tenant,
        conversation=row.conversation,
        message_id=row.message_id,
        sequence=row.sequence,
        at=row.at,
        person=row.owner,
        locale=row.locale,
        turn=Turn.model_validate(row.data["turn"]),
    )
