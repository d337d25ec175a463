"""The database: a SQLite file for one process, or PostgreSQL for several.

Work is a function of a connection, run whole: `read` for what only looks, `write` for one
transaction. Such a function is ordinary, synchronous SQLAlchemy; on SQLite it runs on a
thread, on PostgreSQL in a greenlet that gives way to the event loop at every statement.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from router.domain.errors import MisconfiguredError, Unavailable
from router.store.migration import ROUTER, Migrations, is_current, upgrade
from router.store.sqlite import SqliteConnections

if TYPE_CHECKING:
    from router.store.postgres import PostgresConnections

Insert = sqlite.Insert | postgresql.Insert
"""An insert of either dialect; both know `on_conflict_do_nothing` and `…_do_update`."""

Result = TypeVar("Result")

CONNECTIONS = 20

_AT_FAULT = frozenset({"22", "23", "42"})
"""SQLSTATE classes (data, constraint, statement) that blame the caller, not the connection."""


class Database:
    """Connections to the database behind `url`, made when first needed.

    `url` is any SQLAlchemy URL of a SQLite file or of PostgreSQL, with or without a driver.
    Anything else raises `MisconfiguredError`. `connections` bounds PostgreSQL's pool: work that
    finds none free waits for ten seconds, and is `Unavailable` then.

    >>> Database("postgresql://localhost/router").dialect
    'postgresql'
    """

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self._url = _parse(url)
        self.dialect = self._url.get_backend_name()
        self._connections = _connections(self._url, connections)

    def __str__(self) -> str:
        return self._url.render_as_string(hide_password=True)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` gives, which only reads; each of its statements sees what is committed.

        Raises `Unavailable` where the database can't be reached.
        """
        with self._reachable():
            return await self._connections.read(work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` gives, run in one transaction: committed unless it raises.

        On SQLite it has the file's only write lock from its first moment, so that what it
        reads can't change before it writes; on PostgreSQL see `serialise`. Raises
        `Unavailable` where the database can't be reached, or stays locked for ten seconds.
        """
        with self._reachable():
            return await self._connections.write(work)

    def serialise(self, connection: Connection, *names: str) -> None:
        """Within `write`: no other transaction that names one of `names` runs meanwhile.

        It waits here until this one has committed. Transactions that name several never wait
        for each other crosswise, if each names all of them at once.
        """
        self._connections.serialise(connection, set(names))

    @asynccontextmanager
    async def own_connection(self) -> AsyncIterator[Any]:
        """A connection of asyncpg's beside the pool, for what only PostgreSQL has: LISTEN.

        Raises `Unavailable` where the database can't be reached, or no longer.
        """
        if isinstance(self._connections, SqliteConnections):
            raise TypeError(f"{self} is no PostgreSQL; it has no connections of asyncpg's")
        with self._reachable():
            async with self._connections.own() as connection:
                yield connection

    def insert(self, table: Table) -> Insert:
        """An insert into `table` that can say what happens where the row is there already.

        Building one costs more than running it: build it once, execute it with values.
        """
        return sqlite.insert(table) if self.dialect == "sqlite" else postgresql.insert(table)

    async def migrate(self, migrations: Migrations = ROUTER) -> None:
        """Bring the tables of `migrations` up to date; where they are, this is one query.

        Several processes may do so at once: one works, the others wait. Raises
        `MisconfiguredError` where the database was made by a newer version of this program.
        """

        def bring_up_to_date(connection: Connection) -> None:
            self.serialise(connection, migrations.version_table)
            upgrade(connection, migrations)

        if not await self.read(lambda connection: is_current(connection, migrations)):
            await self.write(bring_up_to_date)

    async def scrub(self) -> None:
        """Have what was deleted gone from the file too, on SQLite.

        It is overwritten when it is deleted, but stays in the write-ahead log until that is
        written back, which another process that reads may put off. PostgreSQL does so by itself,
        when it vacuums.
        """
        if self.dialect == "sqlite":
            await self.read(lambda c: c.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all())

    async def dispose(self) -> None:
        """Close every connection for good, once what runs is done."""
        await self._connections.dispose()

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """Turn what means "out of reach" into `Unavailable`; let every other error through."""
        try:
            yield
        except DBAPIError as error:
            if not _out_of_reach(error) and not self._connections.is_given_up(error.orig):
                raise
            raise self._unavailable(error.orig or error) from error
        except (PoolTimeout, OSError) as error:
            raise self._unavailable(error) from error
        except Exception as error:
            # What asyncpg raises while it connects reaches us unwrapped, with an SQLSTATE.
            if getattr(error, "sqlstate", None) is None:
                raise
            raise self._unavailable(error) from error

    def _unavailable(self, cause: BaseException) -> Unavailable:
        said = str(cause).strip() or type(cause).__name__
        remedy = _REMEDIES.get(
            getattr(cause, "sqlite_errorcode", 0) & _PRIMARY,
            "see that it runs and that ROUTER_DATABASE_URL names it",
        )
        return Unavailable(f"the database {self} can't be used right now: {said}; {remedy}")


_PRIMARY = 0xFF
"""The part of SQLite's codes that says what kind of trouble it is."""
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another program has held it for ten seconds: let that end, or stop it",
    sqlite3.SQLITE_READONLY: "let this user write to the file and its folder, or choose another "
    "with --data or ROUTER_DATABASE_URL",
    sqlite3.SQLITE_CANTOPEN: "let this user write to the file and its folder, or choose another "
    "with --data or ROUTER_DATABASE_URL",
    sqlite3.SQLITE_FULL: "its disk is full: make room there, or choose another with --data",
    sqlite3.SQLITE_NOTADB: "move that file away, or name another with ROUTER_DATABASE_URL",
}
"""What to do about trouble with a SQLite file, by its kind."""


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url.replace("postgres://", "postgresql://", 1))
    except ArgumentError:
        raise _unknown(url) from None
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise _unknown(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise MisconfiguredError(
            f"{url!r} names no file, and every connection would see a database of its own; "
            "use a URL like sqlite:////var/lib/router/router.db"
        )
    return parsed


def _connections(url: URL, most: int) -> "SqliteConnections | PostgresConnections":
    if url.get_backend_name() == "sqlite":
        return SqliteConnections(url)
    # Its driver, and SQLAlchemy's part for it: a tenth of the start of a command.
    from router.store.postgres import PostgresConnections

    return PostgresConnections(url, most)


def _unknown(url: str) -> MisconfiguredError:
    return MisconfiguredError(
        f"{url.partition(':')[0]!r} isn't a database that this runs on; use a URL like "
        "sqlite:////var/lib/router/router.db or postgresql://user:password@host/router"
    )


def _out_of_reach(error: DBAPIError) -> bool:
    state: Any = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state)[:2] not in _AT_FAULT
    # SQLite's bare DatabaseError: the file is damaged, or is no database at all.
    return isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError
