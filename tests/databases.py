"""Fixtures: real databases, one of each kind, for whatever keeps something.

Every test has a database of its own. The migrations run once per kind, for a template that the
tests' databases are copies of: run for each of them, they would be most of what a test costs.
"""

import shutil
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from company.people.tables import PEOPLE
from router.runtime.extensions import load_extensions
from router.store.database import Database, Migrations
from router.store.tables import ROUTER
from tests.postgres import MISSING, binaries, drop_database, given, make_database
from tests.servers import run_folder, server_address


def find_extension_migrations() -> list[Migrations]:
    """Return the migrations of the installed extensions."""
    found = ((extension.name, extension.tables()) for extension in load_extensions())
    return [tables.migrations(name) for name, tables in found if tables is not None]


OF_ROUTER = (ROUTER, *find_extension_migrations())
TABLES_OF = {"database": OF_ROUTER, "people": (PEOPLE,)}
"""The fixtures that promise tables, and which ones."""


@pytest.fixture(scope="session")
def postgres() -> str:
    """A PostgreSQL server's URL, up to the database's name."""
    if not given() and binaries() is None:
        pytest.skip(MISSING)
    return server_address("postgresql")


@dataclass(frozen=True)
class Templates:
    """Databases that are only copied, by the tables that they have; made when first needed.

    The processes of a run share them, and one of them makes each.
    """

    made: dict[str, str] = field(default_factory=dict)

    async def file(self, tables: Sequence[Migrations]) -> str:
        """The path of a SQLite file with these tables."""
        name = f"{_name(tables)}.sqlite"
        if name not in self.made:
            with run_folder("templates") as folder:
                if not (folder / name).exists():
                    await _migrate(f"sqlite:///{folder}/new-{name}", tables)
                    (folder / f"new-{name}").rename(folder / name)
            self.made[name] = str(folder / name)
        return self.made[name]

    async def of(self, server: str, tables: Sequence[Migrations]) -> str:
        """The name of a database of `server` with these tables, to which nobody is connected."""
        key = f"{_name(tables)}.postgresql"
        if key not in self.made:
            with run_folder("templates") as folder:
                if not (folder / key).exists():
                    name = f"template_{uuid.uuid4().hex[:12]}"
                    await _migrate(await make_database(server, name), tables)
                    (folder / key).write_text(name)
            self.made[key] = (folder / key).read_text()
        return self.made[key]


@pytest.fixture(scope="session")
def templates() -> Templates:
    return Templates()


@pytest.fixture(params=["sqlite", "postgresql"])
async def database_url(
    request: pytest.FixtureRequest, tmp_path: Path, templates: Templates
) -> AsyncIterator[str]:
    """The URL of a database, empty but for the tables that the test's other fixtures promise."""
    promised = [TABLES_OF[name] for name in TABLES_OF if name in request.fixturenames]
    tables = [migrations for each in promised for migrations in each]
    if request.param == "sqlite":
        file = tmp_path / "router.db"
        if tables:
            shutil.copy(await templates.file(tables), file)
        yield f"sqlite:///{file}"
        return
    server: str = request.getfixturevalue("postgres")
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield await make_database(server, name, await templates.of(server, tables) if tables else None)
    await drop_database(server, name)


@pytest.fixture
async def sqlite(tmp_path: Path, templates: Templates) -> AsyncIterator[Database]:
    """A SQLite file with the router's tables, for what doesn't depend on the kind."""
    shutil.copy(await templates.file(OF_ROUTER), tmp_path / "router.db")
    database = Database(f"sqlite:///{tmp_path}/router.db")
    yield database
    await database.dispose()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database with the router's tables, and those of the installed extensions."""
    database = Database(database_url)
    await migrate(database)
    yield database
    await database.dispose()


def _name(tables: Sequence[Migrations]) -> str:
    return "_".join(migrations.version_table for migrations in tables)


async def migrate(database: Database, tables: Sequence[Migrations] = OF_ROUTER) -> None:
    """Make the tables: those of the router and of the installed extensions by default."""
    for migrations in tables:
        await database.migrate(migrations)


async def _migrate(url: str, tables: Sequence[Migrations]) -> None:
    database = Database(url)
    await migrate(database, tables)
    await database.dispose()
