"""The tables of an extension, with the folder of their migrations and what expires of them.

Their version is kept in a table of its own, so an extension is migrated without the core, and the
core without the extension.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, MetaData, inspect

from router.store.database import Migrations
from router.store.erasure import PersonalRows, PseudonymizedRows
from router.store.retention import AgedRows

VERSION_TABLE_PREFIX = "alembic_version_ext_"


@dataclass(frozen=True)
class ExtensionTables:
    """The tables of an extension.

    Everything in them that is a person's has to be in `personal`, which `intent-router erase`
    deletes with the person, or in `pseudonymized`, where it puts a pseudonym for them. What is in
    `aged` goes after `ROUTER_RETENTION_DAYS`, unless it is on legal hold.

    Example:
        >>> from sqlalchemy import Column, MetaData, Table, Text
        >>> metadata = MetaData()
        >>> columns = [Column(name, Text) for name in ("tenant", "owner", "id")]
        >>> badges = Table("badges", metadata, *columns)
        >>> tables = ExtensionTables(
        ...     Path("acme_badges/migrations"),
        ...     head="0001",
        ...     metadata=metadata,
        ...     personal=[PersonalRows("badges", badges, "owner")],
        ... )
        >>> tables.migrations("badges").version_table
        'alembic_version_ext_badges'
    """

    folder: Path
    """The Alembic environment, whose `env.py` calls `router.store.database.run_environment`."""
    head: str
    """The newest revision, a number of four digits. A release has at most one of its own."""
    metadata: MetaData
    """The tables; their names must be no other extension's, nor the core's."""
    personal: Sequence[PersonalRows] = ()
    pseudonymized: Sequence[PseudonymizedRows] = ()
    aged: Sequence[AgedRows] = ()

    def migrations(self, extension: str) -> Migrations:
        """Return the migrations of these tables of an extension."""
        version_table = f"{VERSION_TABLE_PREFIX}{extension}"
        return Migrations(self.folder, version_table, self.head, self.metadata)


def find_unloaded(connection: Connection, loaded: Collection[str]) -> list[str]:
    """Return the names of extensions whose tables are in the database and that aren't `loaded`."""
    versions = inspect(connection).get_table_names()
    found = {
        table.removeprefix(VERSION_TABLE_PREFIX)
        for table in versions
        if table.startswith(VERSION_TABLE_PREFIX)
    }
    return sorted(found - set(loaded))
