"""Tables of extensions: known to every process, and never forgotten when a person is erased."""

import logging

import pytest
from sqlalchemy import text

from router.domain.errors import MisconfiguredError
from router.runtime.tables import all_migrations, check_all_loaded, migrate_all
from router.settings import Settings
from router.store.database import Database
from router.store.tables import ROUTER
from tests.databases import sqlite, templates

__all__ = ["sqlite", "templates"]


@pytest.fixture
async def with_badges(sqlite: Database) -> Database:
    """A database with the tables of an extension that isn't installed any more."""
    version = "CREATE TABLE alembic_version_ext_badges (version_num TEXT)"
    await sqlite.write(lambda connection: connection.execute(text(version)))
    return sqlite


def test_the_core_is_migrated_first() -> None:
    core, *extensions = all_migrations(Settings.load())

    assert core is ROUTER
    assert all(each.version_table.startswith("alembic_version_ext_") for each in extensions)


async def test_nobody_is_erased_while_an_extension_with_tables_is_not_loaded(
    with_badges: Database,
) -> None:
    with pytest.raises(MisconfiguredError, match=r"\(badges\): nothing was erased; install them"):
        await check_all_loaded(with_badges, Settings.load())


async def test_a_start_says_whose_tables_are_left_alone(
    with_badges: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await migrate_all(with_badges, Settings.load())

    assert "nothing in them expires: badges" in caplog.text


async def test_people_are_erased_where_all_extensions_are_loaded(sqlite: Database) -> None:
    await check_all_loaded(sqlite, Settings.load())
