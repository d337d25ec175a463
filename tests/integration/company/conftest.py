"""The people system on both databases, and people to use it."""

from tests.databases import database, database_url, postgres, templates
from tests.unit.company.conftest import people

__all__ = ["database", "database_url", "people", "postgres", "templates"]
