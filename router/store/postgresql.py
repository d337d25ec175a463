"""PostgreSQL, for any number of processes: pooled connections over asyncpg, loaded if used."""

import socket
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

SILENCE_SECONDS = 15
"""How long a server may leave what was sent to it unacknowledged. A failover may leave behind an
address that drops every packet: Linux alone would wait for such a connection for a quarter of an
hour, and a pool full of them would make the new primary useless for as long."""
_PROBES = 3
_SOCKET_OPTIONS = {
    "TCP_KEEPIDLE": SILENCE_SECONDS // _PROBES,
    "TCP_KEEPINTVL": SILENCE_SECONDS // _PROBES,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": SILENCE_SECONDS * 1000,
}
"""As far as the platform has them; `TCP_USER_TIMEOUT` is in milliseconds."""

_READ_ONLY = "25006"
"""The SQLSTATE of a server that takes no writes."""


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
    """Have the pool drop connections that are of no use any longer, not only those that are closed.

    A primary that a failover has made a standby keeps its connections open and refuses every write.
    A new connection goes to the primary that the host's name stands for by then.
    """
    error = context.original_exception
    is_demoted = getattr(error, "sqlstate", None) == _READ_ONLY
    context.is_disconnect |= is_demoted or PostgresConnections.is_given_up(error)


def _notice_silence(connection: Any, _record: Any) -> None:
    """Have the kernel close a connection whose other end has vanished without a word."""
    transport = getattr(connection.driver_connection, "_transport", None)
    raw = transport.get_extra_info("socket") if transport is not None else None
    if raw is None or raw.family not in (socket.AF_INET, socket.AF_INET6):
        return
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _SOCKET_OPTIONS.items():
        if (option := getattr(socket, name, None)) is not None:
            raw.setsockopt(socket.IPPROTO_TCP, option, value)


def _engine(url: URL, **options: Any) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        connect_args={"timeout": CONNECT_SECONDS},
        **options,
    )
    event.listen(engine.sync_engine, "handle_error", _let_go)
    event.listen(engine.sync_engine, "connect", _notice_silence)
    return engine


def _lock_number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
