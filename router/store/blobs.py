"""Files of people, files of skills, and results of tools that are too long to be carried."""

import secrets
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from math import ceil

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from router.domain.errors import TooManyRequests
from router.domain.locale import Localised
from router.domain.records import FileRecord
from router.store import tables
from router.store.columns import moment_there
from router.store.database import Aggregate
from router.store.rows import from_row, record, to_row

A_DAY = timedelta(days=1)
_files = tables.files
_ABOUT = [column for column in _files.c if column.name not in ("content", "document", "preview")]


class Files(Aggregate):
    """Files of people: receipts that they handed in, and what tools made for them."""

    async def keep(self, record: FileRecord, content: bytes, most: int | None = None) -> FileRecord:
        """Keep a file; where the id is there already, answer what is kept.

        Raises `TooManyRequests` where its owner has got `most` files already within a day.
        """
        kept = select(*_ABOUT).filter_by(tenant=record.tenant, id=record.id)

        def keep(connection: Connection) -> FileRecord:
            if most is not None and connection.execute(kept).one_or_none() is None:
                self._database.serialise(connection, f"files/{record.tenant}/{record.owner}")
                _check_day(connection, record, most)
            connection.execute(self._database.insert_new(_files), to_row(record, content=content))
            return from_row(FileRecord, connection.execute(kept).one())

        return await self._database.write(keep)

    async def find(self, tenant: str, file: str) -> FileRecord | None:
        """The file with this id, whoever owns it; None where there is none."""
        query = select(*_ABOUT).filter_by(tenant=tenant, id=file)
        return await record(self._database, FileRecord, query)

    async def content(self, tenant: str, file: str) -> bytes | None:
        """The whole content, ten MiB at most; None where there is no such file."""
        query = select(_files.c.content).filter_by(tenant=tenant, id=file)
        return await self._database.read(lambda c: c.execute(query).scalar())


def _check_day(connection: Connection, record: FileRecord, most: int) -> None:
    theirs = select(_files.c.at).filter_by(tenant=record.tenant, owner=record.owner)
    last = theirs.order_by(_files.c.at.desc()).offset(most - 1).limit(1)
    at = connection.scalar(last)
    wait = at + A_DAY - record.at if at is not None else timedelta()
    if wait > timedelta():
        zh = f"24 小时内最多可以有 {most} 个新文件，您已经有这么多了，请稍后再来"
        en = f"You have got {most} new files within a day, and more aren't kept; come again later"
        raise TooManyRequests(Localised(zh=zh, en=en), retry_after=ceil(wait.total_seconds()))


_skill_files = tables.skill_files


class SkillFiles(Aggregate):
    """What is in the files of skills, by the SHA-256 of it, as long as a run may need it."""

    async def keep(self, contents: Mapping[str, bytes]) -> None:
        """Keep what isn't kept yet; all of it counts as in use today."""
        if not contents:
            return
        digests = contents.keys()

        def work(connection: Connection) -> None:
            now = moment_there(connection)
            connection.execute(update(_skill_files).where(_among(digests)).values(used_at=now))
            known = connection.scalars(select(_skill_files.c.digest).where(_among(digests)))
            # Several workers start at once and read the same folder: whoever is first writes.
            for digest in sorted(digests - set(known)):
                row = {"digest": digest, "content": contents[digest], "used_at": now}
                connection.execute(self._database.insert_new(_skill_files), row)

        await self._database.write(work)

    async def find(self, digests: Collection[str]) -> dict[str, bytes]:
        """The contents that are kept of these, by digest."""
        query = select(_skill_files.c.digest, _skill_files.c.content).where(_among(digests))
        rows = await self._database.read(lambda c: c.execute(query).all())
        return {row.digest: row.content for row in rows}

    async def tidy(self, in_use: Collection[str], kept: timedelta) -> int:
        """Forget what was last in use so long ago, and isn't `in_use` today; how many that were."""
        used, old = _among(in_use), _skill_files.c.used_at

        def work(connection: Connection) -> int:
            now = moment_there(connection)
            connection.execute(update(_skill_files).where(used).values(used_at=now))
            return connection.execute(delete(_skill_files).where(~used, old < now - kept)).rowcount

        return await self._database.write(work)


def _among(digests: Collection[str]) -> ColumnElement[bool]:
    return _skill_files.c.digest.in_(sorted(digests))


_results = tables.results


class Results(Aggregate):
    """Results of tools that are too long to be carried, for whoever had them called."""

    async def keep(self, tenant: str, owner: str, tool: str, body: str) -> str:
        """Keep a result for its owner; the handle that it is read on with."""
        handle = secrets.token_urlsafe(9)
        row = {"tenant": tenant, "id": handle, "owner": owner, "tool": tool, "body": body}
        row_at = {**row, "kept_at": datetime.now(UTC)}
        await self._database.write(lambda connection: connection.execute(insert(_results), row_at))
        return handle

    async def find(self, tenant: str, owner: str, handle: str) -> str | None:
        """The whole result; None where the owner has none of this handle."""
        query = select(_results.c.body).filter_by(tenant=tenant, owner=owner, id=handle)
        return await self._database.read(lambda connection: connection.execute(query).scalar())
