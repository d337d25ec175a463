"""The database itself: made, upgraded, lost and found again."""

import asyncio
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped]
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.util import await_only

from router.domain.errors import BackendUnavailable, MisconfiguredError, Unavailable
from router.store.database import Database, Migrations, SharedClock
from router.store.postgresql import SILENCE_SECONDS
from router.store.tables import ROUTER
from tests.databases import OF_ROUTER
from tests.e2e.chaos.wire import Wire
from tests.postgres import make_database, order
from tests.table import each_row


async def test_the_migrations_make_exactly_the_tables_in_use(database: Database) -> None:
    everything = MetaData()
    for table in (table for each in OF_ROUTER for table in each.tables.sorted_tables):
        table.to_metadata(everything)

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection)
        found = compare_metadata(context, everything)
        return [d for d in found if "alembic_" not in str(d)]

    assert await database.read(differences) == []


@each_row("migrations", OF_ROUTER, ids=lambda migrations: migrations.version_table)
def test_the_head_that_is_written_down_is_the_newest_revision(migrations: Migrations) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations.folder))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == migrations.head


@pytest.mark.slow
async def test_migrating_twice_and_at_once_is_harmless(database_url: str) -> None:
    databases = [Database(database_url) for _ in range(3)]
    await asyncio.gather(*(database.migrate(ROUTER) for database in databases))
    await databases[0].migrate(ROUTER)
    for database in databases:
        await database.dispose()


@pytest.mark.parametrize("lost", ["alembic_version_router", "event_log", "approvals"])
async def test_half_of_a_house_is_named_and_left_alone(database: Database, lost: str) -> None:
    await database.write(lambda c: c.execute(text(f"ALTER TABLE {lost} RENAME TO elsewhere")))
    with pytest.raises(MisconfiguredError, match="restore all of a backup"):
        await database.migrate(ROUTER)


async def note_revision(database: Database, revision: str) -> None:
    """Leave the tables as a release with this revision would note them."""
    noted = text("UPDATE alembic_version_router SET version_num = :revision")
    await database.write(lambda c: c.execute(noted, {"revision": revision}))


async def test_the_tables_of_the_next_release_are_used_as_they_are(database: Database) -> None:
    await note_revision(database, ROUTER.next_head)
    await database.migrate(ROUTER)
    kept = await database.read(
        lambda c: c.scalar(text("SELECT version_num FROM alembic_version_router"))
    )
    assert kept == ROUTER.next_head


async def test_the_tables_of_a_release_after_the_next_are_refused(database: Database) -> None:
    await note_revision(database, f"{int(ROUTER.head) + 2:04}")
    with pytest.raises(MisconfiguredError, match=r"newer version"):
        await database.migrate(ROUTER)


async def test_a_postgres_that_only_reads_has_a_remedy(postgres: str) -> None:
    database = Database(f"{postgres}/postgres")

    def written(connection: Connection) -> None:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        connection.execute(text("CREATE TABLE t (a integer)"))

    with pytest.raises(Unavailable, match="read-only transaction; have it take writes again"):
        await database.write(written)
    await database.dispose()


async def test_a_connection_to_a_primary_that_has_become_a_standby_is_made_anew(
    postgres: str,
) -> None:
    """The server keeps it open, and refuses every write on it for as long as it lives."""
    name = f"standby_{uuid4().hex[:12]}"
    url = await make_database(postgres, name)
    database, setting = Database(url, connections=1), "default_transaction_read_only"
    await order(f"{postgres}/postgres", f'ALTER DATABASE "{name}" SET {setting} = on')
    create = text("CREATE TABLE t (a integer)")
    with pytest.raises(BackendUnavailable, match="read-only"):
        await database.write(lambda c: c.execute(create))
    await database.read(lambda c: c.execute(text("SELECT 1")))
    await order(f"{postgres}/postgres", f'ALTER DATABASE "{name}" RESET {setting}')
    # The one connection of the pool is read-only still: it was made before.
    with suppress(BackendUnavailable):
        await database.write(lambda c: c.execute(create))
    await database.write(lambda c: c.execute(text("CREATE TABLE u (a integer)")))
    await database.dispose()


async def test_the_kernel_gives_up_a_server_that_has_vanished_within_seconds(postgres: str) -> None:
    database = Database(f"{postgres}/postgres")

    def options(connection: Connection) -> tuple[int, int]:
        driver: Any = connection.connection.driver_connection
        raw = driver._transport.get_extra_info("socket")
        return (
            raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
        )

    assert await database.read(options) == (1, SILENCE_SECONDS * 1000)
    await database.dispose()


@each_row(
    ("trouble", "said"),
    [
        ("max_page_count = 1", "full; its disk is full: make room there"),
        ("query_only = ON", "readonly database; let this user write to the file and its folder"),
    ],
)
async def test_a_read_only_file_has_a_remedy(tmp_path: Path, trouble: str, said: str) -> None:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.write(lambda c: c.exec_driver_sql(f"PRAGMA {trouble}").close())
    with pytest.raises(Unavailable, match=said):
        await database.write(lambda c: c.execute(text("CREATE TABLE t (a)")))
    await database.dispose()


@pytest.mark.slow
def test_a_current_database_is_recognised_without_importing_alembic(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from router.store.database import Database\n"
        "from router.store.tables import ROUTER\n"
        f"asyncio.run(Database('sqlite:///{tmp_path}/router.db').migrate(ROUTER))\n"
        "print('alembic' in sys.modules)\n"
    )
    line = [sys.executable, "-c", program]
    seen = [subprocess.run(line, check=True, capture_output=True).stdout for _ in range(2)]
    assert seen == [b"True\n", b"False\n"]


ADD_SNAPSHOT = text("INSERT INTO snapshots VALUES ('t', :id, '{}', CURRENT_TIMESTAMP)")
COUNT_SNAPSHOTS = text("SELECT count(*) FROM snapshots")


async def test_a_transaction_that_raises_leaves_nothing(database: Database) -> None:
    def fail(connection: Connection) -> None:
        connection.execute(ADD_SNAPSHOT, {"id": "c"})
        raise KeyError("after the insert")

    with pytest.raises(KeyError, match="after the insert"):
        await database.write(fail)
    assert await database.read(lambda c: c.execute(COUNT_SNAPSHOTS).scalar()) == 0


async def test_what_breaks_a_constraint_is_not_taken_for_an_outage(database: Database) -> None:
    await database.write(lambda c: c.execute(ADD_SNAPSHOT, {"id": "c"}))
    with pytest.raises(IntegrityError) as caught:
        await database.write(lambda c: c.execute(ADD_SNAPSHOT, {"id": "c"}))
    assert "parameters hidden" in str(caught.value)


async def test_what_a_cancelled_caller_began_is_whole_or_absent(database: Database) -> None:
    def add_two(connection: Connection) -> None:
        connection.execute(ADD_SNAPSHOT, {"id": "a"})
        connection.execute(ADD_SNAPSHOT, {"id": "b"})

    def count_and_clear(connection: Connection) -> int:
        count = connection.execute(COUNT_SNAPSHOTS).scalar()
        connection.execute(text("DELETE FROM snapshots"))
        return int(count or 0)

    for delay in (0, 0.0002, 0.0005, 0.001, 0.002, 0.003):
        task = asyncio.create_task(database.write(add_two))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await database.write(count_and_clear) in {0, 2}


@each_row(
    ("url", "said"),
    [
        ("sqlite:////nowhere/at/all/router.db", "ROUTER_DATABASE_URL"),
        ("postgresql://router@127.0.0.1:1/router", "ROUTER_DATABASE_URL"),
        ("postgres://router:secret@127.0.0.1:1/router", "ROUTER_DATABASE_URL"),
        ("sqlite:///{folder}/router.db", "not a database"),
        ("{postgres}/nobody_made_it", "does not exist"),
    ],
)
async def test_a_database_out_of_reach_is_unavailable_and_keeps_its_password(
    tmp_path: Path, postgres: str, url: str, said: str
) -> None:
    (tmp_path / "router.db").write_bytes(b"these are not the tables you are looking for\n" * 100)
    database = Database(url.format(folder=tmp_path, postgres=postgres))
    with pytest.raises(Unavailable, match=said) as caught:
        await database.migrate(ROUTER)
    assert "secret" not in str(caught.value)
    await database.dispose()


@each_row(
    ("url", "remedy"),
    [
        ("mysql://localhost/router", "'mysql' isn't a database"),
        ("router.db", "'router.db' isn't a database"),
        ("", "isn't a database"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_urls_of_nothing_this_runs_on_are_refused_with_the_remedy(url: str, remedy: str) -> None:
    with pytest.raises(MisconfiguredError, match=remedy):
        Database(url)


async def test_another_process_reads_the_file_while_this_one_writes(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.migrate(ROUTER)

    def write_while_read(connection: Connection) -> int:
        connection.execute(ADD_SNAPSHOT, {"id": "c"})
        with sqlite3.connect(tmp_path / "router.db") as other:
            return int(other.execute("SELECT count(*) FROM snapshots").fetchone()[0])

    assert await database.write(write_while_read) == 0
    await database.dispose()


async def test_serialised_transactions_run_one_by_one(database: Database) -> None:
    def count_and_add(connection: Connection) -> None:
        database.serialise(connection, "one", "other")
        number = connection.execute(COUNT_SNAPSHOTS).scalar()
        connection.execute(ADD_SNAPSHOT, {"id": str(number)})

    await asyncio.gather(*(database.write(count_and_add) for _ in range(20)))
    assert await database.read(lambda c: c.execute(COUNT_SNAPSHOTS).scalar()) == 20


class Deaf(Wire):
    """Passes on what the server says last, but not that it has hung up."""

    def __init__(self, to: int) -> None:
        super().__init__(to)
        self.said_all = asyncio.Event()

    async def _pass_on(
        self, way: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await super()._pass_on(way, reader, writer)
        self.said_all.set()
        await asyncio.Event().wait()


def process(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


async def test_a_goodbye_between_two_statements_is_told_as_out_of_reach(postgres: str) -> None:
    url = make_url(await make_database(postgres, "goodbye"))
    assert url.port is not None
    async with Deaf(url.port) as wire:
        database = Database(url.set(port=wire.port).render_as_string(hide_password=False))

        async def ended(process: int) -> None:
            wire.said_all.clear()
            other = await asyncpg.connect(url.render_as_string(hide_password=False))
            await other.execute(f"SELECT pg_terminate_backend({process})")
            await other.close()
            await wire.said_all.wait()
            await database_reads_it()

        def interrupted(connection: Connection) -> int:
            await_only(ended(process(connection)))
            return process(connection)

        with pytest.raises(Unavailable, match="can't be used right now"):
            await database.read(interrupted)
        assert await database.read(process) > 0
    await database.dispose()


async def database_reads_it() -> None:
    """Let the loop hand the connection what is there already."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("days", [-1, 1])
async def test_a_machine_of_another_day_goes_by_the_databases_clock(
    database: Database, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Moved":
            return cls.fromtimestamp(time.time() + days * 86_400, tz)

    monkeypatch.setattr("router.store.database.datetime", Moved)
    clock = SharedClock(database)
    assert abs(clock() - datetime.now(UTC)) > timedelta(hours=23)
    await clock.keep()
    assert abs(clock() - datetime.now(UTC)) < timedelta(minutes=10)
