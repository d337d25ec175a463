"""What the columns and indexes of all tables are made of, the same on every database."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Dialect,
    Index,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    func,
    select,
    text,
    type_coerce,
)

from router.domain.errors import FaultyValue


class MomentType(TypeDecorator[datetime]):
    """An aware point in time, kept and given back in UTC, ordered the same on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database; a datetime without a zone is an error of ours."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise FaultyValue(f"{value} has no time zone", "use datetime.now(UTC)")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """From the database, in UTC."""
        del dialect
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC)


def moment_there(connection: Connection) -> datetime:
    """Now by the database's clock, which is one for all processes; a machine's may be wrong.

    SQLite's is the machine's, and knows no parts of a second.
    """
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    return connection.scalars(select(type_coerce(func.now(), MomentType))).one()


metadata = MetaData()
"""What all tables are in."""


def required(name: str, kind: Any = Text) -> Column[Any]:
    """A column that always has a value."""
    return Column(name, kind, nullable=False)


def texts(*names: str) -> list[Column[Any]]:
    """Columns that always have a text each."""
    return [required(name) for name in names]


def optional(name: str, kind: Any = Text) -> Column[Any]:
    """A column that may be NULL."""
    return Column(name, kind, nullable=True)


_DIALECTS = ("sqlite", "postgresql")


def index(name: str, table: Table, *columns: str, where: str = "", unique: bool = False) -> None:
    """An index over these columns; of the rows alone for which `where` holds, if that is said."""
    partial: dict[str, Any] = {f"{dialect}_where": text(where) for dialect in _DIALECTS if where}
    Index(name, *(table.c[column] for column in columns), unique=unique, **partial)
