"""What was read of files that people handed in, and files found again that look or count the same.

A document stands in its file's row, so that it is kept and erased with it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from time import monotonic

from sqlalchemy import Connection, literal, select, update

from router.domain.documents import Document
from router.store import tables
from router.store.database import Aggregate

_files, _marks, _shown, _runs = tables.files, tables.file_marks, tables.run_files, tables.runs
CAME_TO_NOTHING = ("cancelled", "rejected", "failed", "expired")
"""How a run ended whose files may be handed in again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two looks at whether a file has been read."""


class Documents(Aggregate):
    """What was read of each file: nothing yet, or a document."""

    async def keep(
        self,
        tenant: str,
        file: str,
        document: Document,
        marks: Iterable[str] = (),
        preview: bytes = b"",
    ) -> None:
        """Keep what was read, the marks that the file is found again by, and a small picture.

        A picture and marks that were kept before stay.
        """
        row = document.model_dump(mode="json")
        marked = [{"tenant": tenant, "file": file, "mark": mark} for mark in sorted(set(marks))]
        kept = {"document": row} | ({"preview": preview} if preview else {})
        write = update(_files).filter_by(tenant=tenant, id=file).values(kept)

        def work(connection: Connection) -> None:
            if connection.execute(write).rowcount and marked:
                connection.execute(self._database.insert_new(_marks), marked)

        await self._database.write(work)

    async def find(self, tenant: str, file: str) -> Document | None:
        """What was read of this file; None where that isn't done yet, or there is no such file."""
        return (await self.find_all(tenant, [file])).get(file)

    async def preview(self, tenant: str, file: str) -> bytes | None:
        """A small JPEG of the file's first page; None where there is none, or none yet."""
        query = select(_files.c.preview).filter_by(tenant=tenant, id=file)
        return await self._database.read(lambda connection: connection.execute(query).scalar())

    async def find_all(self, tenant: str, files: Collection[str]) -> dict[str, Document]:
        """What was read of each of these files that has been."""
        read = _files.c.document.is_not(None)
        query = select(_files.c.id, _files.c.document).filter_by(tenant=tenant)
        query = query.where(_files.c.id.in_(sorted(files)), read)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {row.id: Document.model_validate(row.document) for row in rows}

    async def unread(self, tenant: str, owner: str, since: datetime) -> tuple[int, int]:
        """Count the owner's files handed in since then that aren't read, and all such owners."""
        query = select(_files.c.tenant, _files.c.owner).where(
            _files.c.at > since, _files.c.document.is_(None)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        owners = [(row.tenant, row.owner) for row in rows]
        return owners.count((tenant, owner)), len(set(owners))

    async def wait(
        self,
        tenant: str,
        files: Collection[str],
        seconds: float,
        is_enough: Callable[[Mapping[str, Document]], bool],
    ) -> dict[str, Document]:
        """What was read of these files, as soon as it is enough or the time is over."""
        until, pause = monotonic() + seconds, FIRST_PAUSE
        while True:
            found = await self.find_all(tenant, files)
            if is_enough(found) or monotonic() + pause > until:
                return found
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def handed_in(
        self, tenant: str, file: str, marks: Collection[str], but: Collection[str]
    ) -> dict[str, Document]:
        """Files with one of these marks, or this very one, that were put before an approver.

        Those of runs that came to nothing don't count, nor those of the runs `but`, by their ids.
        """
        marked = select(_marks.c.file).filter_by(tenant=tenant)
        marked = marked.where(_marks.c.mark.in_(sorted(marks)))
        # With `or` a database would look at every file that the tenant has ever put before anybody.
        alike = _shown.c.file.in_(marked.union(select(literal(file))))
        counts = _runs.c.status.not_in(CAME_TO_NOTHING) & _runs.c.id.not_in(sorted(but))
        same_run = (_runs.c.tenant == _shown.c.tenant) & (_runs.c.id == _shown.c.run)
        query = (
            select(_shown.c.file)
            .distinct()
            .join(_runs, same_run)
            .where(_shown.c.tenant == tenant, alike, counts)
        )
        found = await self._database.read(lambda connection: list(connection.scalars(query)))
        return await self.find_all(tenant, found) if found else {}
