"""Records turned into rows and back, and rows gone through page by page."""

import base64
import binascii
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError
from sqlalchemy import Column, ColumnElement, Row, Select, Table, and_, literal, tuple_

from router.domain.errors import FieldProblem, InvalidInput
from router.domain.records import Record
from router.store.columns import MomentType
from router.store.database import Database, Insert


def begins_with(database: Database, column: Column[str], prefix: str) -> ColumnElement[bool]:
    """True where the column's text begins so: as two bounds, which an index finds.

    `prefix` ends with an ASCII character. On PostgreSQL the bounds are of the order of
    `text_pattern_ops`, whatever the database's collation is.
    """
    behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    if database.dialect == "sqlite":
        return and_(column >= prefix, column < behind)
    return and_(column.bool_op("~>=~")(prefix), column.bool_op("~<~")(behind))


AnyRecord = TypeVar("AnyRecord", bound=Record)

_POSITION = TypeAdapter(
    tuple[
        Annotated[
            AwareDatetime,
            Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(3000, 1, 1, tzinfo=UTC)),
        ],
        Annotated[str, Field(pattern="^[!-~]{1,200}$")],
    ]
)
"""Where a page ends; clients bring it back, as it was or as they like."""


def to_row(record: Record, **more: Any) -> dict[str, Any]:
    """The record's fields by column name; `more` are columns that it doesn't have."""
    return {**record.model_dump(), **more}


def from_row(kind: type[AnyRecord], row: Row[Any]) -> AnyRecord:
    """The record that a row was made from; columns that it doesn't have are passed over."""
    return kind.model_validate(dict(row._mapping))  # noqa: SLF001 - the documented accessor


async def record(database: Database, kind: type[AnyRecord], query: Select[Any]) -> AnyRecord | None:
    """The record of the first row that is found, if any."""
    row = await database.read(lambda connection: connection.execute(query).first())
    return None if row is None else from_row(kind, row)


async def records(database: Database, kind: type[AnyRecord], query: Select[Any]) -> list[AnyRecord]:
    """The records of all rows that are found."""
    rows = await database.read(lambda connection: connection.execute(query).all())
    return [from_row(kind, row) for row in rows]


async def page(
    database: Database,
    kind: type[AnyRecord],
    query: Select[Any],
    moment: Column[Any],
    before: str | None,
    limit: int,
) -> tuple[list[AnyRecord], str | None]:
    """At most `limit` records, newest first, behind the cursor `before`, and the next cursor.

    Raises `InvalidInput` for a cursor that isn't one.
    """
    name = moment.table.c.id
    if before is not None:
        query = query.where(tuple_(moment, name) < _behind(before))
    # One row more than `limit` tells whether there is a next page.
    ordered = query.order_by(moment.desc(), name.desc()).limit(limit + 1)
    rows = await database.read(lambda connection: connection.execute(ordered).all())
    found = [from_row(kind, row) for row in rows[:limit]]
    if len(rows) <= limit or not found:
        return found, None
    last = rows[limit - 1]._mapping  # noqa: SLF001
    position = _POSITION.dump_json((last[moment.name], last["id"]))
    return found, base64.urlsafe_b64encode(position).decode().rstrip("=")


def upsert(insert: Insert, table: Table, where: ColumnElement[bool] | None = None) -> Insert:
    """An insert that replaces a row of the same key, or only one for which `where` holds."""
    key = {column.name for column in table.primary_key}
    others = {c.name: insert.excluded[c.name] for c in table.c if c.name not in key}
    return insert.on_conflict_do_update(index_elements=sorted(key), set_=others, where=where)


def _behind(cursor: str) -> ColumnElement[Any]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True)
        at, name = _POSITION.validate_json(position)
    except (ValidationError, binascii.Error, ValueError) as error:
        raise InvalidInput(
            f"{cursor[:80]!r} isn't a cursor that a list gave; leave it out to begin anew",
            [FieldProblem("after", "isn't one that a list gave")],
        ) from error
    return tuple_(literal(at, MomentType), literal(name))
