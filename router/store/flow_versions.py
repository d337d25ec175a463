"""What each version of each flow was when it was first run, in the database."""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, select, update

from router.store import tables
from router.store.database import Database

_versions = tables.flow_versions


class DatabaseFlowVersions:
    """`router.domain.ports.FlowVersions`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = database.insert(_versions).on_conflict_do_nothing()

    async def keep(self, flow: str, version: int, behaviour: str) -> str:
        """Keep what the version is unless that is known, and give what is known."""
        row = {
            "flow": flow,
            "version": version,
            "behaviour": behaviour,
            "first_seen": datetime.now(UTC),
        }
        known = select(_versions.c.behaviour).where(*_named(flow, version))

        def work(connection: Connection) -> str:
            # Several processes start at once: whoever is first writes, the others read that.
            connection.execute(self._insert, row)
            return str(connection.execute(known).scalar_one())

        return await self._database.write(work)

    async def replace(self, flow: str, version: int, behaviour: str) -> None:
        """Have the version be this from now on."""
        statement = update(_versions).where(*_named(flow, version)).values(behaviour=behaviour)
        await self._database.write(lambda connection: connection.execute(statement))


def _named(flow: str, version: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _versions.c.flow == flow, _versions.c.version == version
