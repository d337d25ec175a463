"""Rows of workspaces: erased with their owner, expired with time, and found by an index."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, func, insert, select, text, update

from router.domain.errors import Conflict
from router.extensions.workspaces.store import WorkspaceQuota, Workspaces
from router.extensions.workspaces.tables import TABLES, workspace_files, workspace_versions
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.extension_tables import find_unloaded
from router.store.retention import Retention
from tests.plans import find_scans

TENANT = "default"
QUOTA = WorkspaceQuota(files=9, together=999)
LONG_AGO = datetime.now(UTC) - timedelta(days=400)


@pytest.fixture
async def kept(database: Database) -> Workspaces:
    """Workspaces of alice and frank, with a file each and one that was deleted."""
    workspaces = Workspaces(database)
    for person in ("alice", "frank"):
        for path in ("a.md", "b.md"):
            await workspaces.save((TENANT, person, path), b"text", 4, QUOTA)
        await workspaces.delete((TENANT, person, "b.md"))
    return workspaces


async def owners(database: Database) -> list[set[str]]:
    def read(connection: Connection) -> list[set[str]]:
        tables = (workspace_files, workspace_versions)
        return [set(connection.scalars(select(table.c.owner))) for table in tables]

    return await database.read(read)


async def test_what_is_a_persons_is_counted_and_goes_with_them(
    kept: Workspaces, database: Database
) -> None:
    erasing = PersonErasure(database, TENANT, "alice", TABLES.personal)
    counts = (await erasing.holdings()).counts

    await erasing.erase("erased-1")

    assert counts == {"workspace files": 1, "workspaces with deleted files": 1}
    assert await owners(database) == [{"frank"}, {"frank"}]


async def test_what_is_old_expires(kept: Workspaces, database: Database) -> None:
    retention = Retention(database, TABLES.aged)

    def age(connection: Connection) -> None:
        mine = workspace_files.c.owner == "alice"
        connection.execute(update(workspace_files).where(mine).values(changed_at=LONG_AGO))

    await database.write(age)
    await retention.expire(365)

    assert await owners(database) == [{"frank"}, {"alice", "frank"}]


async def test_more_than_goes_as_a_rule_stays(kept: Workspaces, database: Database) -> None:
    row = {"tenant": TENANT, "owner": "alice", "content": b"c", "size": 1, "version": 1}
    rows = [{**row, "path": f"{n}.txt", "changed_at": LONG_AGO} for n in range(25)]
    await database.write(lambda c: c.execute(insert(workspace_files), rows))

    with pytest.raises(Conflict, match=r"more than 20 of 27 rows of workspace_files"):
        await Retention(database, TABLES.aged).expire(30)

    counted = select(func.count()).select_from(workspace_files)
    assert await database.read(lambda c: c.scalar(counted)) == 27


async def test_tables_are_known_when_their_extension_is_not_loaded(
    kept: Workspaces, database: Database
) -> None:
    unloaded = await database.read(lambda c: find_unloaded(c, ["badges"]))
    others = await database.read(lambda c: find_unloaded(c, ["badges", "workspaces"]))

    assert set(unloaded) - set(others) == {"workspaces"}


@pytest.mark.slow
async def test_no_statement_reads_a_whole_table(kept: Workspaces, database: Database) -> None:
    await _fill(database, people=2000)
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: kept.save((TENANT, "alice", "c.md"), b"text", 4, QUOTA),
        lambda: kept.find(TENANT, "alice", "c.md"),
        lambda: kept.listed(TENANT, "alice"),
        lambda: kept.listed(TENANT, "alice", "notes"),
        lambda: kept.contents(TENANT, "alice", ["a.md", "c.md"]),
        lambda: kept.delete((TENANT, "alice", "c.md")),
        lambda: PersonErasure(database, TENANT, "alice", TABLES.personal).erase("erased-1"),
    )

    assert not await find_scans(database, calls, TABLES.metadata.tables)


async def _fill(database: Database, people: int) -> None:
    row = {"tenant": TENANT, "content": b"c", "size": 1, "version": 1, "path": "a.md"}
    at = {"changed_at": datetime.now(UTC)}
    rows = [{**row, **at, "owner": f"u{n}"} for n in range(people)]

    def fill(connection: Connection) -> None:
        connection.execute(insert(workspace_files), rows)
        deleted = {"tenant": TENANT, "highest": 1, "deleted_at": datetime.now(UTC)}
        owned = [{**deleted, "owner": f"u{n}"} for n in range(people)]
        connection.execute(insert(workspace_versions), owned)
        connection.execute(text("ANALYZE"))

    await database.write(fill)
