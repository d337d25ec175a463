"""Every table that a process needs: those of the core and those of extensions."""

import logging
from collections.abc import Mapping

from router.domain.errors import MisconfiguredError
from router.runtime.extensions import load_configured
from router.settings import Settings
from router.store.database import Database, Migrations
from router.store.erasure import PersonalRows, PseudonymizedRows
from router.store.extension_tables import ExtensionTables, find_unloaded
from router.store.retention import AgedRows
from router.store.tables import ROUTER

_log = logging.getLogger("router.store")


def extension_tables(settings: Settings) -> Mapping[str, ExtensionTables]:
    """Return the tables of the configured extensions, by the extension's name."""
    found = load_configured(settings).collect(lambda each: (each.name, each.tables()))
    return {name: tables for name, tables in found if tables is not None}


def all_migrations(settings: Settings) -> list[Migrations]:
    """Return the migrations of the core, and of each extension after those that it requires."""
    extensions = extension_tables(settings).items()
    return [ROUTER, *(tables.migrations(name) for name, tables in extensions)]


def aged_rows(settings: Settings) -> list[AgedRows]:
    """Return the rows of extensions that expire."""
    return [rows for tables in extension_tables(settings).values() for rows in tables.aged]


def personal_rows(settings: Settings) -> list[PersonalRows]:
    """Return the rows of extensions that are deleted with the person whose they are."""
    return [rows for tables in extension_tables(settings).values() for rows in tables.personal]


def pseudonymized_rows(settings: Settings) -> list[PseudonymizedRows]:
    """Return the rows of extensions that stay when somebody in them is erased."""
    return [rows for tables in extension_tables(settings).values() for rows in tables.pseudonymized]


async def migrate_all(database: Database, settings: Settings) -> None:
    """Bring all tables up to date; raises as `Database.migrate`."""
    for migrations in all_migrations(settings):
        await database.migrate(migrations)
    if unloaded := await _unloaded(database, settings):
        _log.warning(
            "the tables of extensions that aren't loaded stay as they are, and nothing in them "
            "expires: %s",
            ", ".join(unloaded),
        )


async def check_all_loaded(database: Database, settings: Settings) -> None:
    """Return where every extension that has tables in the database is loaded.

    Raises:
        MisconfiguredError: One isn't. Nobody knows what in its tables is a person's.
    """
    if unloaded := await _unloaded(database, settings):
        names = ", ".join(unloaded)
        raise MisconfiguredError(
            f"extensions that aren't loaded may keep something of this person ({names}): nothing "
            "was erased; install them, take them out of ROUTER_EXTENSIONS_OFF, or drop their tables"
        )


async def _unloaded(database: Database, settings: Settings) -> list[str]:
    loaded = extension_tables(settings)
    return await database.read(lambda connection: find_unloaded(connection, loaded))
