"""Every test of the store runs on both databases."""

from collections.abc import AsyncIterator

import pytest

from router.store.database import Database
from router.store.store import Store
from tests.databases import database, database_url, postgres, templates

__all__ = ["database", "database_url", "postgres", "templates"]


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(database)
    yield store
    await store.aclose()
