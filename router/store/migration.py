"""Migrations as this project runs them: by the program, inside a transaction it has open.

Two sets of tables share a database, the router's own and the sample people system's. Each
has its own Alembic environment, and its own version table, so that one can be replaced
without the other.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, MetaData, inspect, text

from router.domain.errors import MisconfiguredError

if TYPE_CHECKING:
    from alembic.config import Config


@dataclass(frozen=True)
class Migrations:
    """One set of tables: the folder of its Alembic environment, and where its version is kept.

    `head` is the newest revision in the folder, kept here so that a database which is
    current costs one query at start, and Alembic isn't even imported.
    """

    folder: Path
    version_table: str
    head: str


ROUTER = Migrations(Path(__file__).parent / "migrations", "alembic_version_router", "0001")


def is_current(connection: Connection, migrations: Migrations) -> bool:
    """True where the database has the newest revision of these tables."""
    if not inspect(connection).has_table(migrations.version_table):
        return False
    found = connection.execute(text(f"SELECT version_num FROM {migrations.version_table}"))  # noqa: S608 - a constant of ours
    return found.scalar() == migrations.head


def upgrade(connection: Connection, migrations: Migrations) -> None:
    """Run what is missing, within the transaction that `connection` has open."""
    from alembic import command
    from alembic.util import CommandError

    try:
        command.upgrade(_config(connection, migrations), "head")
    except CommandError as error:
        raise MisconfiguredError(
            f"the tables noted in {migrations.version_table} can't be brought to revision "
            f"{migrations.head}: {error}; where a newer version of this program made them, "
            "run that version"
        ) from error


def run_environment(tables: MetaData) -> None:
    """What an `env.py` does: run the revisions on the connection that `upgrade` handed in."""
    from alembic import context

    attributes = context.config.attributes
    context.configure(
        connection=attributes["connection"],
        version_table=attributes["version_table"],
        target_metadata=tables,
    )
    with context.begin_transaction():
        context.run_migrations()


def _config(connection: Connection, migrations: Migrations) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = migrations.version_table
    return config
