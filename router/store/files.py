"""Files of people, in the database: they are as safe there, and as gone, as all the rest."""

from sqlalchemy import Connection, select

from router.domain.records import FileRecord
from router.store import tables
from router.store.database import Database
from router.store.rows import from_row, to_row

_files = tables.files
_ABOUT = [column for column in _files.c if column.name != "content"]


class DatabaseFiles:
    """`router.domain.ports.Files`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = database.insert(_files).on_conflict_do_nothing()

    async def keep(self, record: FileRecord, content: bytes) -> FileRecord:
        """Keep a file; where the id is there already, answer what is kept."""
        kept = select(*_ABOUT).filter_by(tenant=record.tenant, id=record.id)

        def keep(connection: Connection) -> FileRecord:
            connection.execute(self._insert, to_row(record, content=content))
            return from_row(FileRecord, connection.execute(kept).one())

        return await self._database.write(keep)

    async def find(self, tenant: str, file: str) -> FileRecord | None:
        """The file with this id, whoever owns it; None where there is none."""
        query = select(*_ABOUT).filter_by(tenant=tenant, id=file)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return None if row is None else from_row(FileRecord, row)

    async def content(self, tenant: str, file: str) -> bytes | None:
        """The whole content; None where there is no such file."""
        query = select(_files.c.content).filter_by(tenant=tenant, id=file)
        return await self._database.read(lambda c: c.execute(query).scalar())
