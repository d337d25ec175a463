"""PostgreSQL, for any number of processes: pooled connections over asyncpg."""

from collections.abc import Callable
from hashlib import blake2b
from typing import TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import create_async_engine

from router.store.json_text import read_json, write_json

CONNECTIONS = 20
WAIT_SECONDS = 10
CONNECT_SECONDS = 5

Result = TypeVar("Result")


class PostgresConnections:
    """How work gets at a PostgreSQL server."""

    def __init__(self, url: URL) -> None:
        self._writer = create_async_engine(
            url.set(drivername="postgresql+asyncpg"),
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=WAIT_SECONDS,
            # A connection may have died unnoticed while it was idle: a restarted server, a
            # firewall. Asking costs a fraction of a millisecond, a failed turn costs more.
            pool_pre_ping=True,
            connect_args={"timeout": CONNECT_SECONDS},
            json_serializer=write_json,
            json_deserializer=read_json,
            # What people wrote has no business in error messages, which travel and are logged.
            hide_parameters=True,
        )
        # Same pool; but statement by statement, without the round trips of a transaction.
        self._reader = self._writer.execution_options(isolation_level="AUTOCOMMIT")

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` without a transaction."""
        async with self._reader.connect() as connection:
            return await connection.run_sync(work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction."""
        async with self._writer.begin() as connection:
            return await connection.run_sync(work)

    def serialise(self, connection: Connection, names: set[str]) -> None:
        """Take a lock for each name, until the transaction ends; always in the same order."""
        for lock in sorted(_lock_number(name) for name in names):
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})

    async def dispose(self) -> None:
        """Close every connection."""
        await self._writer.dispose()


def _lock_number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
