"""Alembic's entry: see `router.store.database`, which runs it."""

from router.extensions.authoring.tables import metadata
from router.store.database import run_environment

run_environment(metadata)
