"""The people system on both databases, and people to use it."""

import pytest

from company.people.people import PeopleSystem
from router.store.database import Database
from tests.databases import database, database_url, postgres, sqlite, templates
from tests.unit.activities.tools.conftest import desk, kept

__all__ = ["database", "database_url", "desk", "kept", "postgres", "sqlite", "templates"]


@pytest.fixture
async def people(database: Database) -> PeopleSystem:
    """The people system with its tables, empty."""
    people = PeopleSystem(database)
    await people.migrate()
    return people
