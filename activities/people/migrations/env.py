"""Alembic's entry: see `router.store.migration`, which runs it."""

from activities.people.tables import metadata
from router.store.migration import run_environment

run_environment(metadata)
