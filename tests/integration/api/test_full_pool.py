"""A process whose connections to PostgreSQL are all in use: busy, not cut off from it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from router.api.dependencies import Services
from router.domain.errors import Overloaded
from router.store import postgresql
from router.store.database import Database
from router.store.store import Store
from tests.databases import postgres
from tests.integration.api.conftest import desk, problem
from tests.postgres import make_database

__all__ = ["postgres"]


@asynccontextmanager
async def full(url: str) -> AsyncIterator[Database]:
    """A database with one connection, which is in use."""
    database = Database(url, connections=1)
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    def hold(connection: Connection) -> None:
        has_begun.set()
        await_only(may_end.wait())

    holding = asyncio.create_task(database.read(hold))
    await has_begun.wait()
    yield database
    may_end.set()
    await holding
    await database.dispose()


async def test_it_is_told_as_overload_with_what_to_do(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "WAIT_SECONDS", 0.05)
    async with full(await make_database(postgres, "full_pool")) as database:
        with pytest.raises(Overloaded, match="all 1 connections of this process") as refused:
            await database.read(lambda connection: connection.closed)
        overload = await database.overload()

    assert "too busy" in refused.value.said.en
    assert "can't be used" not in str(refused.value)
    assert overload is not None
    assert "ROUTER_DATABASE_CONNECTIONS" in overload


async def test_a_pool_with_room_is_no_overload(postgres: str) -> None:
    database = Database(await make_database(postgres, "roomy_pool"), connections=1)
    await database.read(lambda connection: connection.closed)

    overload = await database.overload()

    assert overload is None
    await database.dispose()


async def test_the_api_says_so_and_stays_in_service(
    postgres: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "WAIT_SECONDS", 0.05)
    async with full(await make_database(postgres, "full_api")) as database:
        store = Store(database)
        async with desk(replace(services, store=store), "alice") as alice:
            ready = await alice.get("/readyz")
            listed = await alice.get("/v1/conversations")
        await store.aclose()

    check = ready.json()["checks"]["database"]
    assert (ready.status_code, check["status"]) == (200, "degraded")
    assert "connections of this process" in check["detail"]
    assert "太忙" in problem(listed, 503)["detail"]
    assert listed.headers["retry-after"] == "5"
