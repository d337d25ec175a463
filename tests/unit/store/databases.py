"""Fixtures: real databases, one of each kind, for whatever keeps something."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from router.store.database import Database
from tests.unit.store.postgres_server import make_database, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server's URL, up to the database's name."""
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
async def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/router.db"
    server: str = request.getfixturevalue("postgres")
    return await make_database(server, f"test_{uuid.uuid4().hex[:12]}")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database with the router's tables."""
    database = Database(database_url)
    await database.migrate()
    yield database
    await database.dispose()
