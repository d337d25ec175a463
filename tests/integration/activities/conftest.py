"""Real databases, for tools that keep something."""

from tests.databases import database, database_url, postgres, templates

__all__ = ["database", "database_url", "postgres", "templates"]
