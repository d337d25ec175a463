"""The database, a SQLite file or PostgreSQL, and its migrations.

Work is an ordinary, synchronous function of a connection, run whole: `read` for what only looks,
`write` for one transaction; on PostgreSQL in a greenlet, on SQLite on a thread, for an asynchronous
driver hands every single statement to a thread and back, which took 3 ms instead of a few tenths.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json, to_json
from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    create_engine,
    event,
    inspect,
    text,
)
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

from router.domain.errors import BackendUnavailable, MisconfiguredError, Overloaded
from router.domain.locale import Localised
from router.store.columns import moment_there


@dataclass(frozen=True)
class Migrations:
    """One set of tables: the folder of its Alembic environment, and where its version is kept.

    `head`, the newest revision, is kept here so that a current database costs one query at start.
    Revisions are numbers of four digits; a release has at most one of its own.
    """

    folder: Path
    version_table: str
    head: str
    tables: MetaData

    @property
    def next_head(self) -> str:
        """The revision of the release after this one."""
        return f"{int(self.head) + 1:04}"


def is_usable(connection: Connection, migrations: Migrations) -> bool:
    """True where this program can work with these tables: they are its own, or the next release's.

    A release only adds to the tables of the one before, in one revision: so that one goes on, and
    starts again, beside a release that has migrated already.

    Raises:
        MisconfiguredError: there are some without a version, or a version without some of them.
    """
    there, ours = set(inspect(connection).get_table_names()), set(migrations.tables.tables)
    version = migrations.version_table
    usable = version in there and _revision(connection, migrations) in (
        migrations.head,
        migrations.next_head,
    )
    if usable and (lost := ours - there):
        raise _halved(f"{version} without {', '.join(sorted(lost)[:_NAMED])}")
    if version not in there and (left := ours & there):
        raise _halved(f"{', '.join(sorted(left)[:_NAMED])} without {version}")
    return usable


def _revision(connection: Connection, migrations: Migrations) -> str | None:
    asked = text(f"SELECT version_num FROM {migrations.version_table}")  # noqa: S608 - a constant of ours
    found: str | None = connection.scalar(asked)
    return found


def _halved(found: str) -> MisconfiguredError:
    return MisconfiguredError(
        f"the database holds half of a house, {found}: restore all of a backup, "
        "or take an empty database"
    )


_NAMED = 4
"""As many tables as a sentence has room for."""


def upgrade(connection: Connection, migrations: Migrations) -> None:
    """Run what is missing, within the transaction that `connection` has open.

    Raises:
        MisconfiguredError: the tables are those of a program that is more than a release newer.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = migrations.version_table
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise MisconfiguredError(
            f"the tables noted in {migrations.version_table} can't be brought to revision "
            f"{migrations.head}: {error}; where a newer version of this program made them, "
            "run that version"
        ) from error


def run_environment(tables: MetaData) -> None:
    """What an `env.py` does: run the revisions on the connection that `upgrade` handed in."""
    from alembic import context

    attributes = context.config.attributes
    context.configure(
        connection=attributes["connection"],
        version_table=attributes["version_table"],
        target_metadata=tables,
    )
    with context.begin_transaction():
        context.run_migrations()


if TYPE_CHECKING:
    from router.store.postgresql import PostgresConnections


def write_json(value: Any) -> str:
    """The text of a JSON value; dates and models become what JSON has for them, NaN null."""
    return to_json(value, inf_nan_mode="null").decode()


ENGINE_OPTIONS: dict[str, Any] = {
    "json_serializer": write_json,
    "json_deserializer": from_json,
    # What people wrote has no business in error messages, which travel and are logged.
    "hide_parameters": True,
}
READERS = 4
BUSY_SECONDS = 10

Result = TypeVar("Result")


class SqliteConnections:
    """How work gets at a SQLite file."""

    number = READERS

    def __init__(self, url: URL) -> None:
        file = url.set(drivername="sqlite+pysqlite")
        # A pool of one thread is the queue that writers stand in: one at a time, in order.
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-write")
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-read")
        self._writer = _sqlite_engine(file, 1)
        self._reader = _sqlite_engine(file, READERS, isolation_level="AUTOCOMMIT")
        event.listen(self._writer, "begin", _begin_immediate)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` beside other readers and the writer, without a transaction."""

        def run() -> Result:
            with self._reader.connect() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._reading, run)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction, after those asked for earlier; once begun, to its end."""

        def run() -> Result:
            with self._writer.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._writing, run)

    def is_given_up(self, _: BaseException | None) -> bool:
        """False: a file says goodbye to nobody."""
        return False

    def serialise(self, connection: Connection, names: set[str]) -> None:
        """Nothing to do: writing transactions run one by one anyway."""

    async def dispose(self) -> None:
        """End the threads, once what they were given is done, and close the file."""

        def close() -> None:
            self._writing.shutdown()
            self._reading.shutdown()
            self._writer.dispose()
            self._reader.dispose()

        await asyncio.to_thread(close)


def _sqlite_engine(url: URL, connections: int, **options: Any) -> Engine:
    engine = create_engine(url, pool_size=connections, max_overflow=0, **ENGINE_OPTIONS, **options)
    event.listen(engine, "connect", _prepare)
    return engine


def _write_ahead(cursor: Any) -> None:
    """Have the file be in WAL mode. SQLite doesn't wait for others there, whatever its timeout."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            break


def _prepare(connection: Any, _record: Any) -> None:
    # Python's sqlite3 would begin transactions by itself, and later than we need.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    _write_ahead(cursor)
    # In WAL mode NORMAL leaves a commit to the operating system instead of waiting for the
    # disk. A process that is killed loses nothing by that. A machine that loses power may
    # lose its last commits, never a part of one; who minds that runs PostgreSQL.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # What is deleted is overwritten: rows go because somebody wants them gone.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # A plain BEGIN takes the write lock with the first write; what was read before that may
    # be stale by then, and SQLite fails at once instead of waiting for another process.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


Insert = sqlite.Insert | postgresql.Insert
"""An insert of either dialect; both know `on_conflict_do_nothing` and `…_do_update`."""


CONNECTIONS = 20

_AT_FAULT = frozenset({"22", "23", "42"})
"""SQLSTATE classes (data, constraint, statement) that blame the caller, not the connection."""


class SharedClock:
    """What time it is for all processes: the database's clock, a machine's may be wrong.

    What one process puts down as due is another's to take: by a clock that is a day ahead it would
    wait for a day.
    """

    EVERY = 30.0
    """Seconds after which it is looked at anew."""
    BEARABLE = timedelta(seconds=1)
    """What two clocks may be apart without anybody minding."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self._ahead = timedelta()
        self._looked: float | None = None

    def __call__(self) -> datetime:
        """Now, as far as is known; the machine's own time until it was looked at."""
        return datetime.now(UTC) - self._ahead

    async def keep(self) -> None:
        """Look how far the machine's clock is off, unless just done; may raise `Unavailable`."""
        if self._looked is not None and time.monotonic() - self._looked < self.EVERY:
            return
        there = await self._database.read(moment_there)
        ahead = datetime.now(UTC) - there
        self._ahead = ahead if abs(ahead) > self.BEARABLE else timedelta()
        self._looked = time.monotonic()


class Database:
    """Connections to the database behind `url`, made when first needed.

    The `Unavailable` that its methods raise is always a `BackendUnavailable`.

    `url` is any SQLAlchemy URL of a SQLite file or of PostgreSQL, else `MisconfiguredError`.
    `connections` bounds PostgreSQL's pool: work that finds none for ten seconds is `Overloaded`.
    """

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self._url = _parse(url)
        self.dialect = self._url.get_backend_name()
        self.name = self._url.database
        """What the server, or the file system, calls it."""
        self._connections = _connections(self._url, connections)

    def __str__(self) -> str:
        # Without the user: `user@host` looks like an email, which the log leaves out.
        url = self._url
        return str(URL.create(url.drivername, host=url.host, port=url.port, database=url.database))

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` gives, which only reads what is committed; raises `Unavailable`."""
        with self._reachable():
            return await self._connections.read(work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` gives, run in one transaction: committed unless it raises.

        On SQLite it has the only write lock from its first moment; on PostgreSQL see `serialise`.
        Raises `Unavailable` where the database can't be reached, or stays locked for ten seconds.
        """
        with self._reachable():
            return await self._connections.write(work)

    def serialise(self, connection: Connection, *names: str) -> None:
        """Within `write`: no other transaction that names one of `names` runs meanwhile.

        Transactions that name several, all at once, never wait for each other crosswise.
        """
        self._connections.serialise(connection, set(names))

    @asynccontextmanager
    async def own_connection(self) -> AsyncIterator[Any]:
        """A connection of asyncpg's beside the pool, for LISTEN; raises `Unavailable`."""
        if isinstance(self._connections, SqliteConnections):
            raise TypeError(f"{self} is no PostgreSQL; it has no connections of asyncpg's")
        with self._reachable():
            async with self._connections.own() as connection:
                yield connection

    def insert(self, table: Table) -> Insert:
        """An insert that can say what happens where the row is there already."""
        return sqlite.insert(table) if self.dialect == "sqlite" else postgresql.insert(table)

    def insert_new(self, table: Table) -> Insert:
        """An insert that does nothing where the row is there already."""
        return self.insert(table).on_conflict_do_nothing()

    async def migrate(self, migrations: Migrations) -> None:
        """Bring the tables up to date; where they are, it only looks. Several may at once.

        Raises `MisconfiguredError` where a newer version of this program made the tables, and did
        more than add to them, and where a part of them alone is there.
        """

        def bring_up_to_date(connection: Connection) -> None:
            self.serialise(connection, migrations.version_table)
            upgrade(connection, migrations)

        if not await self.read(lambda connection: is_usable(connection, migrations)):
            await self.write(bring_up_to_date)

    async def scrub(self) -> None:
        """Have what was deleted gone from SQLite's write-ahead log too; PostgreSQL vacuums."""
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
        except PoolTimeout as error:
            raise Overloaded(self._all_in_use(), BUSY) from error
        except OSError as error:
            raise self._unavailable(error) from error
        except Exception as error:
            # What asyncpg raises while it connects reaches us unwrapped, with an SQLSTATE.
            if getattr(error, "sqlstate", None) is None:
                raise
            raise self._unavailable(error) from error

    def _all_in_use(self) -> str:
        return (
            f"all {self._connections.number} connections of this process to the database {self} "
            "are in use: start more processes, or raise ROUTER_DATABASE_CONNECTIONS if PostgreSQL "
            "has room"
        )

    async def overload(self) -> str | None:
        """Say why work waits for a connection although the database answers; `None` if it doesn't.

        Asks over a connection beside the pool. Raises `Unavailable` if the database is away.
        """
        if isinstance(self._connections, SqliteConnections) or not self._connections.is_full:
            return None
        async with self.own_connection() as connection:
            await connection.fetchval("SELECT 1")
        return self._all_in_use()

    def _unavailable(self, cause: BaseException) -> BackendUnavailable:
        said = str(cause).strip() or type(cause).__name__
        remedy = _REMEDIES.get(
            getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorcode", 0) & _PRIMARY,
            "see that it runs and that ROUTER_DATABASE_URL names it",
        )
        told = f"the database {self} can't be used right now: {said}; {remedy}"
        if getattr(cause, "sqlstate", None) == TOO_MANY_CONNECTIONS:
            return Overloaded(told, BUSY)
        return BackendUnavailable(told, AWAY)


class Aggregate:
    """What belongs together, kept in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database


AWAY = Localised(
    zh="数据库现在用不了，请稍后再试；管理员可以在日志里看到原因。",
    en="The database can't be used right now; try again in a moment. The log says why.",
)
BUSY = Localised(
    zh="现在太忙了，请稍后再试。", en="It is too busy right now; try again in a moment."
)
TOO_MANY_CONNECTIONS = "53300"
"""The SQLSTATE of a PostgreSQL server that has no connection left."""
_PRIMARY = 0xFF
"""The part of SQLite's codes that says what kind of trouble it is."""
_WRITABLE = (
    "let this user write to the file and its folder, or choose another "
    "with --data or ROUTER_DATABASE_URL"
)
_REMEDIES: dict[int | str, str] = {
    "25006": "have it take writes again, or name the primary with ROUTER_DATABASE_URL",
    "53100": "its disk is full: make room there",
    TOO_MANY_CONNECTIONS: "raise its max_connections, or lower ROUTER_DATABASE_CONNECTIONS",
    sqlite3.SQLITE_BUSY: "another program has held it for ten seconds: let that end, or stop it",
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
    sqlite3.SQLITE_FULL: "its disk is full: make room there, or choose another with --data",
    sqlite3.SQLITE_NOTADB: "move that file away, or name another with ROUTER_DATABASE_URL",
}
"""What to do about trouble, by the SQLSTATE of PostgreSQL or the primary code of SQLite."""


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url.replace("postgres://", "postgresql://", 1))
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise MisconfiguredError(
            f"{url.partition(':')[0]!r} isn't a database that this runs on; use a URL like "
            "sqlite:////var/lib/router/router.db or postgresql://user:password@host/router"
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise MisconfiguredError(
            f"{url!r} names no file, and every connection would see a database of its own; "
            "use a URL like sqlite:////var/lib/router/router.db"
        )
    return parsed


def _connections(url: URL, most: int) -> "SqliteConnections | PostgresConnections":
    if url.get_backend_name() == "sqlite":
        return SqliteConnections(url)
    from router.store.postgresql import PostgresConnections

    return PostgresConnections(url, most, **ENGINE_OPTIONS)


def _out_of_reach(error: DBAPIError) -> bool:
    state: Any = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state)[:2] not in _AT_FAULT
    # SQLite's bare DatabaseError: the file is damaged, or is no database at all.
    return isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError
