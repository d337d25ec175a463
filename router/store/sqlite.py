"""SQLite, for one process: a file, one thread that writes, a few that read.

A transaction runs from its first statement to its commit within one call on one thread. An
asynchronous driver hands every single statement to a thread and back, which took 3 ms
where this takes a few tenths, and leaves transactions open across whatever else the event
loop does in between.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from router.store.json_text import read_json, write_json

READERS = 4
BUSY_SECONDS = 10

Result = TypeVar("Result")


class SqliteConnections:
    """How work gets at a SQLite file."""

    def __init__(self, url: URL) -> None:
        file = url.set(drivername="sqlite+pysqlite")
        # A pool of one thread is the queue that writers stand in: one at a time, in order.
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-write")
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-read")
        self._writer = _engine(file, 1)
        self._reader = _engine(file, READERS, isolation_level="AUTOCOMMIT")
        event.listen(self._writer, "begin", _begin_immediate)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` beside other readers and the writer, without a transaction."""

        def run() -> Result:
            with self._reader.connect() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._reading, run)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction, after those asked for earlier.

        Where the caller is cancelled, a transaction that has begun still runs to its end.
        """

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
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writing.shutdown()
        self._reading.shutdown()
        self._writer.dispose()
        self._reader.dispose()


def _engine(url: URL, connections: int, **options: Any) -> Engine:
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        json_serializer=write_json,
        json_deserializer=read_json,
        # What people wrote has no business in error messages, which travel and are logged.
        hide_parameters=True,
        **options,
    )
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: Any) -> None:
    # Python's sqlite3 would begin transactions by itself, and later than we need.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
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
