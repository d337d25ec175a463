"""`intent-router migrate`: the database up to date before any process of a new version starts."""

import asyncio

import typer

from router.cli.options import DataFolderOption, settings_in
from router.runtime.data_folder import made
from router.runtime.tables import migrate_all
from router.settings import Settings
from router.store.database import Database
from router.store.tables import ROUTER


def migrate(data: DataFolderOption = None) -> None:
    """Bring the database up to date, and start nothing.

    Every process does so when it starts; a rollout does it once before, and stops where it fails.
    """
    settings = settings_in(data)
    made(settings.data)
    typer.echo(f"{asyncio.run(_migrated(settings))} is at revision {ROUTER.head}")


async def _migrated(settings: Settings) -> str:
    database = Database(settings.database_url)
    try:
        await migrate_all(database, settings)
        return str(database)
    finally:
        await database.dispose()
