"""Every test of the store runs on both databases."""

from tests.databases import database, database_url, postgres, templates

__all__ = ["database", "database_url", "postgres", "templates"]
