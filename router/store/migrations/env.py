"""Alembic's entry: see `router.store.migration`, which runs it."""

from router.store.migration import run_environment
from router.store.tables import metadata

run_environment(metadata)
