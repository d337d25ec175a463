"""What is in the files of skills, in the database, named by what it is."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, delete, select, update

from router.store import tables
from router.store.database import Database

_files = tables.skill_files


class DatabaseSkillFiles:
    """`router.domain.ports.SkillFiles`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = database.insert(_files).on_conflict_do_nothing()

    async def keep(self, contents: Mapping[str, bytes]) -> None:
        """Keep what isn't kept yet; all of it counts as in use today."""
        if not contents:
            return
        now = datetime.now(UTC)

        def work(connection: Connection) -> None:
            _use(connection, contents.keys(), now)
            known = set(connection.scalars(select(_files.c.digest).where(_among(contents.keys()))))
            # Several workers start at once and read the same folder: whoever is first writes.
            for digest in sorted(contents.keys() - known):
                row = {"digest": digest, "content": contents[digest], "used_at": now}
                connection.execute(self._insert, row)

        await self._database.write(work)

    async def find(self, digests: Collection[str]) -> dict[str, bytes]:
        """The contents that are kept of these, by digest."""
        query = select(_files.c.digest, _files.c.content).where(_among(digests))
        return await self._database.read(
            lambda connection: {row.digest: row.content for row in connection.execute(query)}
        )

    async def tidy(self, in_use: Collection[str], unused_since: datetime) -> int:
        """Forget what was last in use before then; how many that were."""

        def work(connection: Connection) -> int:
            _use(connection, in_use, datetime.now(UTC))
            return connection.execute(
                delete(_files).where(_files.c.used_at < unused_since)
            ).rowcount

        return await self._database.write(work)


def _use(connection: Connection, digests: Collection[str], now: datetime) -> None:
    connection.execute(update(_files).where(_among(digests)).values(used_at=now))


def _among(digests: Collection[str]) -> ColumnElement[bool]:
    return _files.c.digest.in_(sorted(digests))
