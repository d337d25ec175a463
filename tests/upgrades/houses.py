"""Two houses that are upgraded: processes over PostgreSQL, and `dev` over SQLite."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import asyncpg  # type: ignore[import-untyped]
import httpx

from tests.drills.desk import PEOPLE, Desk, Person, Program, desk, until
from tests.e2e.house import House
from tests.postgres import make_database
from tests.upgrades.runs import FLOWS, People

Rows = Mapping[str, list[str]]
"""By table, what each row has in those columns that the release had, sorted."""


@dataclass(frozen=True)
class Release:
    """One of the two: its tree, and the flows that it ships beside those that only wait."""

    tree: Path
    flows: Path

    @classmethod
    def of(cls, tree: Path, folder: Path) -> "Release":
        """With its flows copied to this folder."""
        shutil.copytree(tree / "flows", folder, ignore=shutil.ignore_patterns("gallery", "tests"))
        for name, text in FLOWS.items():
            (folder / f"{name}.yaml").write_text(text, "utf-8")
        return cls(tree, folder)

    @property
    def variables(self) -> dict[str, str]:
        """What a process of it is told."""
        return {"PYTHONPATH": str(self.tree), "ROUTER_FLOWS": str(self.flows)}


class Upgraded(Protocol):
    """A house that runs one release or the other."""

    name: str
    may_refuse: bool
    """True where a process gives up on a database that another has held for ten seconds."""

    async def start(self, release: Release) -> None:
        """Everything of it is up, and lets people in."""

    async def stop(self) -> None:
        """Nothing of it is."""

    async def back_up(self) -> None:
        """Keep all it has; it is stopped."""

    async def copy(self) -> dict[str, str]:
        """The variables of a database that is a copy of the backup's."""

    async def rows(self, copy: Mapping[str, str], of: Rows | None) -> Rows:
        """What it has, in the columns of `of`."""

    def rolled(self, newer: Release) -> AsyncIterator[str]:
        """Steps from the release that runs to this one, each told as it is done."""

    def people(self) -> People:
        """They ask whatever runs."""

    async def doctor(self, release: Release) -> None:
        """`AssertionError` where it finds anything."""


async def migrated(
    release: Release, given: Mapping[str, str], killed_at: int | None
) -> tuple[int, str]:
    """The status of `migrate`, and what it said; killed at that statement, none is 0."""
    if killed_at is None:
        return await command(release, given, "router", "migrate")
    return await command(release, given, "tests.upgrades.killed", str(killed_at))


async def command(release: Release, given: Mapping[str, str], *words: str) -> tuple[int, str]:
    """The status of a module of this release, and what it said, however long that takes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *words,
        env={**os.environ, **release.variables, **given},
        cwd=release.tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode("utf-8", "replace")


@dataclass
class Deployed:
    """`serve` and `worker` over PostgreSQL and Temporal."""

    desk: Desk
    name: str = "PostgreSQL, serve and worker"
    may_refuse: bool = False
    up: list[Program] = field(default_factory=list)
    copies: int = 0

    async def start(self, release: Release) -> None:
        await self.desk.temporal_up()
        await self._serve(release)
        await self._work(release)
        await self.desk.ready()

    async def _serve(self, release: Release) -> None:
        words = ("serve", "--port", str(self.desk.ports.api))
        told = release.variables
        self.up.append(await self.desk.start(*words, cwd=release.tree, given=told))
        await until("serve answers", self._answers)

    async def _work(self, release: Release) -> None:
        worker = await self.desk.start("worker", cwd=release.tree, given=release.variables)
        self.up.append(worker)
        await until("a worker is at work", partial(worker.says, "polls task queue"))

    async def _answers(self) -> bool:
        async with httpx.AsyncClient() as client:
            return (await client.get(f"{self.desk.ports.api_url}/healthz")).is_success

    async def stop(self) -> None:
        while self.up:
            await self.up.pop().stopped()
        await self.desk.temporal_down()

    async def back_up(self) -> None:
        await self.desk.backup("kept")

    async def copy(self) -> dict[str, str]:
        self.copies += 1
        name = f"copy{self.copies}"
        await make_database(self.desk.server, name, "kept")
        return {"ROUTER_DATABASE_URL": f"{self.desk.server}/{name}"}

    async def rows(self, copy: Mapping[str, str], of: Rows | None) -> Rows:
        connection = await asyncpg.connect(copy["ROUTER_DATABASE_URL"])
        try:
            listed = await connection.fetch(
                "SELECT table_name,"
                " string_agg(quote_ident(column_name), ',' ORDER BY column_name) AS columns"
                " FROM information_schema.columns WHERE table_schema = 'public' GROUP BY 1"
            )
            columns = {each["table_name"]: each["columns"] for each in listed}
            found = {}
            for table in tables_of(columns, of):
                named = table.partition(":")[2]
                rows = await connection.fetch(
                    f'SELECT ROW({named})::text AS row FROM "{table.partition(":")[0]}" ORDER BY 1'
                )
                found[table] = [str(each["row"]) for each in rows]
            return found
        finally:
            await connection.close()

    async def rolled(self, newer: Release) -> AsyncIterator[str]:
        status, said = await migrated(newer, self.desk.environment, None)
        assert status == 0, said
        yield "the old serve and worker over the new tables"
        serve, worker = self.up
        await serve.stopped()
        await self._serve(newer)
        yield "the new serve with the old worker"
        await self._work(newer)
        await worker.stopped()
        del self.up[:2]
        await self.desk.ready()
        yield "the new serve with the new worker"

    def people(self) -> People:
        return People(*map(self.desk.person, People.__annotations__))

    async def doctor(self, release: Release) -> None:
        status, said = await command(release, self.desk.environment, "router", "doctor")
        assert status == 0, said


def tables_of(columns: Mapping[str, str], of: Rows | None) -> list[str]:
    """Tables with the columns to look at: all but what Alembic notes, or those of `of`."""
    if of is not None:
        return [*of]
    return [f"{name}:{those}" for name, those in columns.items() if "alembic" not in name]


@dataclass
class Single:
    """`dev`, whose folder has SQLite's and Temporal's files."""

    folder: Path
    name: str = "SQLite, dev"
    may_refuse: bool = True
    house: House = field(init=False)
    copies: int = 0

    def __post_init__(self) -> None:
        (self.folder / "people.yaml").write_text(PEOPLE, "utf-8")
        self.house = House(self.folder / "own")

    async def start(self, release: Release) -> None:
        directory = {"ROUTER_DIRECTORY": str(self.folder / "people.yaml")}
        self.house.variables = {**release.variables, **directory}
        self.house.folder = release.tree
        await asyncio.to_thread(self.house.start)

    async def stop(self) -> None:
        process = self.house.process
        assert process is not None
        process.terminate()
        assert await asyncio.to_thread(process.wait) == 0, self.house.log()[-2000:]

    async def back_up(self) -> None:
        shutil.copytree(self.folder / "own", self.folder / "kept")

    async def copy(self) -> dict[str, str]:
        self.copies += 1
        copied = self.folder / f"copy{self.copies}"
        shutil.copytree(self.folder / "kept", copied)
        return {"ROUTER_DATA": str(copied)}

    async def rows(self, copy: Mapping[str, str], of: Rows | None) -> Rows:
        with sqlite3.connect(Path(copy["ROUTER_DATA"]) / "router.db") as connection:
            named = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            ).fetchall()
            columns = {name: _columns(connection, name) for (name,) in named}
            found = {}
            for table in tables_of(columns, of):
                name, _, those = table.partition(":")
                found[table] = sorted(map(repr, connection.execute(f"SELECT {those} FROM {name}")))
            return found

    async def rolled(self, newer: Release) -> AsyncIterator[str]:
        yield "the old dev, started again"
        await self.stop()
        await self.start(newer)
        yield "the new dev"

    def people(self) -> People:
        return People(*map(self._person, People.__annotations__))

    def _person(self, user: str) -> Person:
        headers = {"Authorization": f"Bearer {user}"}
        return Person(
            httpx.AsyncClient(base_url=f"{self.house.url}/v1", headers=headers, timeout=60)
        )

    async def doctor(self, release: Release) -> None:
        given = {**self.house.variables, "ROUTER_DATA": str(self.house.data)}
        status, said = await command(release, given, "router", "doctor")
        assert status == 0, said


def _columns(connection: sqlite3.Connection, table: str) -> str:
    listed = connection.execute(f"PRAGMA table_info({table})")
    return ",".join(sorted(f'"{row[1]}"' for row in listed))


@asynccontextmanager
async def deployed(folder: Path) -> AsyncIterator[Upgraded]:
    """The one over PostgreSQL."""
    async with desk(folder) as own:
        yield Deployed(own)


@asynccontextmanager
async def single(folder: Path) -> AsyncIterator[Upgraded]:
    """The one over SQLite."""
    own = Single(folder)
    try:
        yield own
    finally:
        if own.house.process is not None and own.house.process.poll() is None:
            own.house.kill()


HOUSES = {"postgresql": deployed, "sqlite": single}
