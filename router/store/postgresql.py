"""PostgreSQL, for any number of processes: pooled connections over asyncpg, loaded if used."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy import Connection, NullPool, QueuePool, event, text
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

Result = TypeVar("Result")

WAIT_SECONDS = 10
CONNECT_SECONDS = 5


class PostgresConnections:
    """How work gets at a PostgreSQL server, over as many `connections` as it needs, and no more."""

    def __init__(self, url: URL, connections: int, **options: Any) -> None:
        self.number = connections
        self._writer = _engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=WAIT_SECONDS,
            # A connection may have died unnoticed while it was idle: a restarted server, a
            # firewall. Asking costs a fraction of a millisecond, a failed turn costs more.
            pool_pre_ping=True,
            **options,
        )
        # Same pool; but statement by statement, without the round trips of a transaction.
        self._reader = self._writer.execution_options(isolation_level="AUTOCOMMIT")
        self._unpooled = _engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", **options)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` without a transaction."""
        async with self._reader.connect() as connection:
            return await connection.run_sync(work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction."""
        async with self._writer.begin() as connection:
            return await connection.run_sync(work)

    @property
    def is_full(self) -> bool:
        """True if work would have to wait for a connection."""
        pool = self._writer.pool
        return isinstance(pool, QueuePool) and pool.checkedout() >= self.number

    @asynccontextmanager
    async def own(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection of the driver's beside the pool, outside of any transaction."""
        async with self._unpooled.connect() as connection:
            pooled = await connection.get_raw_connection()
            try:
                yield pooled.driver_connection
            except asyncpg.InterfaceError as error:
                # The driver's word for a connection that is closed already.
                raise ConnectionError(str(error)) from error

    @staticmethod
    def is_given_up(error: BaseException | None) -> bool:
        """True where the driver won't use a connection any more that isn't closed yet.

        A server that ends says so on connections that nobody reads just then; whoever comes before
        the end of the stream gets no error of the server's, but the driver's own about its state.
        """
        cause = error.__cause__ if isinstance(error, Exception) else None
        return isinstance(cause, asyncpg.InternalClientError)

    def serialise(self, connection: Connection, names: set[str]) -> None:
        """Take a lock for each name, until the transaction ends; always in the same order."""
        for lock in sorted(_lock_number(name) for name in names):
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})

    async def dispose(self) -> None:
        """Close every connection of the pool."""
        await self._writer.dispose()


def _let_go(context: ExceptionContext) -> None:
    """Have the pool part with such a connection, as it does with one that is closed."""
    context.is_disconnect |= PostgresConnections.is_given_up(context.original_exception)


def _engine(url: URL, **options: Any) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        connect_args={"timeout": CONNECT_SECONDS},
        **options,
    )
    event.listen(engine.sync_engine, "handle_error", _let_go)
    return engine


def _lock_number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
