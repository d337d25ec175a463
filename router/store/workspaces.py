"""Texts in a space of each person's own, which nobody else ever sees: a workspace."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from router.domain.errors import Conflict, NotFound
from router.domain.locale import Localised
from router.domain.records import Record
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import record, records, to_row, upsert

_files = tables.workspace_files

LONGEST_PATH = 200
DEEPEST = 8
"""Names in a path."""


def workspace_path(written: str) -> str:
    """The path as files are kept by: composed (NFC), relative, within the workspace.

    >>> workspace_path("notes/2026/plan.md")
    'notes/2026/plan.md'

    Raises `ValueError`, which says what is wrong with it: it leads elsewhere, is hidden, has
    letters that nobody sees, is too long or too deep.
    """
    path = unicodedata.normalize("NFC", written)
    names = path.split("/")
    if not path or len(path) > LONGEST_PATH:
        raise ValueError(f"write a path of 1 to {LONGEST_PATH} characters")
    if len(names) > DEEPEST:
        raise ValueError(f"{DEEPEST} names within one another are the most")
    if path.startswith("/") or "\\" in path:
        raise ValueError("write it as in notes/plan.md, from the workspace on and with slashes")
    for name in names:
        if not name or name.startswith(".") or name != name.strip():
            raise ValueError("no name in it may be empty, begin with a dot or with a space around")
        if any(unicodedata.category(sign)[0] == "C" or sign in "\u2028\u2029" for sign in name):
            raise ValueError("it has characters that nobody sees; leave them out")
    return path


class WorkspaceFile(Record):
    """A file of somebody's workspace, without what is in it."""

    path: str
    size: int
    """Bytes of its text in UTF-8."""
    version: int
    """1 at first, and one more with each change: whoever names it changes that one, or nothing."""
    changed_at: datetime


class WorkspaceQuota(Record):
    """How much one person may keep."""

    files: int
    together: int
    """Bytes of all files."""


class Workspaces(Aggregate):
    """Files of people, each by its owner and a `workspace_path`; the content is the caller's."""

    async def find(self, tenant: str, owner: str, path: str) -> tuple[WorkspaceFile, bytes] | None:
        """The file and its content; None where the owner has none of this path."""
        query = select(_files).filter_by(tenant=tenant, owner=owner, path=path)
        row = await self._database.read(lambda c: c.execute(query).mappings().first())
        return None if row is None else (WorkspaceFile.model_validate(dict(row)), row["content"])

    async def listed(self, tenant: str, owner: str, under: str = "") -> list[WorkspaceFile]:
        """The owner's files by path, all of them or those in one folder."""
        query = select(*_ABOUT).filter_by(tenant=tenant, owner=owner).order_by(_files.c.path)
        if under:
            query = query.where(_files.c.path.startswith(f"{under}/", autoescape=True))
        return await records(self._database, WorkspaceFile, query)

    async def contents(
        self, tenant: str, owner: str, paths: Sequence[str]
    ) -> list[tuple[WorkspaceFile, bytes]]:
        """Those of these files that there are, by path, with their content."""
        query = select(_files).filter_by(tenant=tenant, owner=owner).order_by(_files.c.path)
        chosen = query.where(_files.c.path.in_(paths))
        rows = await self._database.read(lambda c: c.execute(chosen).mappings().all())
        return [(WorkspaceFile.model_validate(dict(row)), row["content"]) for row in rows]

    async def save(
        self,
        place: tuple[str, str, str],
        content: bytes,
        size: int,
        quota: WorkspaceQuota,
        expected: int | None = None,
    ) -> WorkspaceFile:
        """Keep the content at tenant, owner and path, in place of what was there.

        With `expected` only over that version of it, 0 being none.

        Raises:
            Conflict: it isn't that version any more, or the quota is full; nothing has changed.
        """
        tenant, owner, path = place
        there = select(*_ABOUT).filter_by(tenant=tenant, owner=owner, path=path)
        keep = upsert(self._database.insert(_files), _files)

        def work(connection: Connection) -> WorkspaceFile:
            self._database.serialise(connection, f"workspace/{tenant}/{owner}")
            row = connection.execute(there).mappings().first()
            before = 0 if row is None else int(row["version"])
            if expected is not None and expected != before:
                raise Conflict(_changed(path, before))
            _check_quota(connection, place, size, quota)
            now = datetime.now(UTC)
            kept = WorkspaceFile(path=path, size=size, version=before + 1, changed_at=now)
            whole: dict[str, Any] = to_row(kept, tenant=tenant, owner=owner, content=content)
            connection.execute(keep, whole)
            return kept

        return await self._database.write(work)

    async def delete(self, tenant: str, owner: str, path: str) -> WorkspaceFile:
        """Do away with the file; what it was. `NotFound` where there is none."""
        which = {"tenant": tenant, "owner": owner, "path": path}
        found = await record(self._database, WorkspaceFile, select(*_ABOUT).filter_by(**which))
        gone = delete(_files).filter_by(**which)
        count = await self._database.write(lambda c: c.execute(gone).rowcount)
        if found is None or not count:
            raise NotFound(f"there is no {path!r}")
        await self._database.scrub()
        return found


_ABOUT = [_files.c[name] for name in WorkspaceFile.model_fields]


def _check_quota(
    connection: Connection, place: tuple[str, str, str], size: int, quota: WorkspaceQuota
) -> None:
    tenant, owner, path = place
    others = select(func.count(), func.coalesce(func.sum(_files.c.size), 0)).where(
        _files.c.tenant == tenant, _files.c.owner == owner, _files.c.path != path
    )
    count, together = connection.execute(others).one()
    if count >= quota.files:
        zh = f"个人空间里已有 {count} 个文件，最多 {quota.files} 个，请先删掉几个"
        en = f"the workspace has {count} files, of {quota.files} at most; delete some first"
        raise Conflict(Localised(zh=zh, en=en))
    if together + size > quota.together:
        zh = f"个人空间一共最多 {quota.together} 字节，这样会有 {together + size}，请先删掉一些"
        en = (
            f"the workspace may have {quota.together} bytes and would have {together + size}; "
            "delete some first"
        )
        raise Conflict(Localised(zh=zh, en=en))


def _changed(path: str, version: int) -> Localised:
    zh = f"{path} 现在是第 {version} 版（0 是没有），请重新读过再改"
    en = f"{path} is at version {version} by now (0: there is none); read it again first"
    return Localised(zh=zh, en=en)
