"""Texts in a space of each person's own, which nobody else ever sees: a workspace."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection, delete, func, or_, select

from router.domain.errors import Conflict, FaultyValue, NotFound
from router.domain.locale import Localised
from router.domain.records import Record
from router.extensions.workspaces.tables import workspace_files, workspace_versions
from router.store.database import Aggregate, Database
from router.store.rows import begins_with, from_row, records, to_row, upsert

_files = workspace_files
_versions = workspace_versions

LONGEST_PATH = 200
DEEPEST = 8
"""Names in a path."""
LONGEST_NAME = 255
"""Bytes in UTF-8: no file system takes more, and commands see the files on one."""


def workspace_path(written: str) -> str:
    """The path as files are kept by: composed (NFC), relative, within the workspace.

    >>> workspace_path("notes/2026/plan.md")
    'notes/2026/plan.md'

    Raises `ValueError`, which says what is wrong with it: it leads elsewhere, is hidden, has
    letters that nobody sees, is too long or too deep, or a name in it is too long.
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
            raise FaultyValue("it has characters that nobody sees", "leave them out")
        if len(name.encode()) > LONGEST_NAME:
            raise ValueError(f"a name in it has more than {LONGEST_NAME} bytes in UTF-8")
    return path


class WorkspaceFile(Record):
    """A file of somebody's workspace, without what is in it."""

    path: str
    size: int
    """Bytes of its text in UTF-8."""
    version: int
    """One more with each change: whoever names it changes that one, or nothing. It begins at 1, or
    above all that the owner's deleted files had, so that none is ever given to a path twice."""
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
            query = query.where(begins_with(self._database, _files.c.path, f"{under}/"))
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
            Conflict: it isn't that version any more, the quota is full, or a folder is of its name
                or a file of a folder's in it; nothing has changed.
        """
        tenant, owner, path = place
        keep = upsert(self._database.insert(_files), _files)

        def work(connection: Connection) -> WorkspaceFile:
            self._lock(connection, tenant, owner)
            there = _expected(connection, place, expected)
            _check_free(self._database, connection, place)
            _check_quota(connection, place, size, quota)
            version = (there.version if there else _highest_deleted(connection, tenant, owner)) + 1
            now = datetime.now(UTC)
            kept = WorkspaceFile(path=path, size=size, version=version, changed_at=now)
            whole: dict[str, Any] = to_row(kept, tenant=tenant, owner=owner, content=content)
            connection.execute(keep, whole)
            return kept

        return await self._database.write(work)

    async def delete(
        self, place: tuple[str, str, str], expected: int | None = None
    ) -> WorkspaceFile:
        """Do away with the file at tenant, owner and path, or only with that version; what it was.

        Raises:
            NotFound: there is none.
            Conflict: it isn't that version any more; nothing has changed.
        """
        tenant, owner, path = place
        gone = delete(_files).filter_by(tenant=tenant, owner=owner, path=path)
        note = upsert(self._database.insert(_versions), _versions)

        def work(connection: Connection) -> WorkspaceFile:
            self._lock(connection, tenant, owner)
            there = _expected(connection, place, expected)
            if there is None:
                raise NotFound(f"there is no {path!r}")
            highest = max(there.version, _highest_deleted(connection, tenant, owner))
            now = datetime.now(UTC)
            row = {"tenant": tenant, "owner": owner, "highest": highest, "deleted_at": now}
            connection.execute(note, row)
            connection.execute(gone)
            return there

        found = await self._database.write(work)
        await self._database.scrub()
        return found

    def _lock(self, connection: Connection, tenant: str, owner: str) -> None:
        self._database.serialise(connection, f"workspace/{tenant}/{owner}")


_ABOUT = [_files.c[name] for name in WorkspaceFile.model_fields]


def _expected(
    connection: Connection, place: tuple[str, str, str], expected: int | None
) -> WorkspaceFile | None:
    """The file as it is, if any; `Conflict` where that isn't the version."""
    tenant, owner, path = place
    query = select(*_ABOUT).filter_by(tenant=tenant, owner=owner, path=path)
    row = connection.execute(query).first()
    there = None if row is None else from_row(WorkspaceFile, row)
    version = there.version if there else 0
    if expected not in (None, version):
        raise Conflict(_changed(path, version))
    return there


def _highest_deleted(connection: Connection, tenant: str, owner: str) -> int:
    query = select(_versions.c.highest).filter_by(tenant=tenant, owner=owner)
    return connection.scalar(query) or 0


def _check_free(database: Database, connection: Connection, place: tuple[str, str, str]) -> None:
    """As on a disk a name is a file's or a folder's."""
    tenant, owner, path = place
    folders = [str(folder) for folder in PurePosixPath(path).parents][:-1]
    crosswise = or_(_files.c.path.in_(folders), begins_with(database, _files.c.path, f"{path}/"))
    query = select(_files.c.path).filter_by(tenant=tenant, owner=owner).where(crosswise).limit(1)
    other = connection.scalar(query)
    if other is not None:
        zh = f"已有文件 {other}：同一个名字不能既是文件又是文件夹，{path} 请换一个名字"
        en = f"there is a file {other}: no name is a file's and a folder's, so {path} needs another"
        raise Conflict(Localised(zh=zh, en=en))


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
