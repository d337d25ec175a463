"""The model's ledger is held against the store's on both databases."""

from tests.databases import database, database_url, postgres, templates

__all__ = ["database", "database_url", "postgres", "templates"]
