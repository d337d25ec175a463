"""Alembic's entry: see `router.store.database`, which runs it."""

from company.people.tables import metadata
from router.store.database import run_environment

run_environment(metadata)
