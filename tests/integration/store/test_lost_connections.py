"""Connections of the pool that PostgreSQL ends while nobody reads them."""

import asyncio

import asyncpg  # type: ignore[import-untyped]
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.util import await_only

from router.domain.errors import Unavailable
from router.store.database import Database
from tests.e2e.chaos.wire import Wire
from tests.postgres import make_database


class Deaf(Wire):
    """Passes on what the server says last, but not that it has hung up."""

    def __init__(self, to: int) -> None:
        super().__init__(to)
        self.said_all = asyncio.Event()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super()._pass_on(reader, writer)
        self.said_all.set()
        await asyncio.Event().wait()


def process(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


async def test_a_goodbye_between_two_statements_is_told_as_out_of_reach(postgres: str) -> None:
    url = make_url(await make_database(postgres, "goodbye"))
    assert url.port is not None
    async with Deaf(url.port) as wire:
        database = Database(url.set(port=wire.port).render_as_string(hide_password=False))

        async def ended(process: int) -> None:
            wire.said_all.clear()
            other = await asyncpg.connect(url.render_as_string(hide_password=False))
            await other.execute(f"SELECT pg_terminate_backend({process})")
            await other.close()
            await wire.said_all.wait()
            await database_reads_it()

        def interrupted(connection: Connection) -> int:
            await_only(ended(process(connection)))
            return process(connection)

        with pytest.raises(Unavailable, match="can't be used right now"):
            await database.read(interrupted)
        assert await database.read(process) > 0
    await database.dispose()


async def database_reads_it() -> None:
    """Let the loop hand the connection what is there already."""
    for _ in range(10):
        await asyncio.sleep(0)
