"""Alembic's entry: see `router.store.database`, which runs it."""

from router.store.database import run_environment
from router.store.tables import metadata

run_environment(metadata)
