"""PostgreSQL, Temporal, two APIs, two workers, or `dev` alone: real processes, wires, disks."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx

from tests.e2e.chaos.consumer import entries, variables
from tests.e2e.chaos.entrances import Town
from tests.e2e.chaos.hasty_worker import DEFECT
from tests.e2e.chaos.machine import Disk, Kept
from tests.e2e.chaos.wire import Wire
from tests.e2e.storm.requests import until
from tests.e2e.storm.rules import ENTITLED, MANAGERS
from tests.ports import free_ports
from tests.postgres import binaries, cluster, command, order

Dialect = Literal["postgresql", "sqlite"]
NEEDED = ("temporal", "worker", "database")
"""Of what the API checks: it does without a model."""
APIS, WORKERS = 2, 2
HASTY = "tests.e2e.chaos.hasty_worker"
DEFECT_FILE = "defect"
TEMPORAL = Path(sys.executable).with_name("temporal")
DEPLOYMENT = "intent-router"
FIRST_BUILD = "1.0"
MOST_CONNECTIONS = 120
"""That PostgreSQL takes: four processes have twenty each, and a few besides."""


@dataclass
class House:
    """What chaos comes over. Everybody but the checker goes by the wires."""

    processes: dict[str, list[Kept]]
    """By what they are: `api`, `worker`, `temporal`, `database`; or `dev`, which is all of it."""
    wires: dict[str, list[Wire]]
    """By who is at their ends: `client-api`, `api-temporal` and so on, one for each that calls;
    what isn't ours (`house-model`, `-consumer`, `-platform`) is reached by the same of all. The
    last of platforms leads to the mail server."""
    database: str
    """Its real address, for the checker."""
    temporal: str
    disks: dict[str, Disk] = field(default_factory=dict)
    """By the process whose data is there alone."""
    build: str = FIRST_BUILD
    """Of the workers that new work goes to."""

    @property
    def urls(self) -> list[str]:
        """The APIs', by their wires."""
        return [f"http://127.0.0.1:{wire.port}" for wire in self.wires["client-api"]]

    @property
    def kept(self) -> list[Kept]:
        """Every process."""
        return [one for several in self.processes.values() for one in several]

    @property
    def dialect(self) -> Dialect:
        """What its database is."""
        return "sqlite" if self.database.startswith("sqlite:") else "postgresql"

    @property
    def file(self) -> Path:
        """SQLite's."""
        return Path(self.database.removeprefix("sqlite:"))

    async def temporal_does(self, *words: str) -> str:
        """What a command of Temporal's own says; `AssertionError` where it is refused."""
        asked = (*words, "--address", self.temporal)
        process = await asyncio.create_subprocess_exec(
            TEMPORAL, *asked, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, refused = await process.communicate()
        assert process.returncode == 0, refused.decode()
        return said.decode()

    async def made_current(self, build: str) -> None:
        """Have new work go to this build, as soon as Temporal knows it."""
        words = ("worker", "deployment", "set-current-version", "--yes")
        about = ("--deployment-name", DEPLOYMENT, "--build-id", build)

        async def ask() -> bool | None:
            try:
                await self.temporal_does(*words, *about)
            except AssertionError:
                return None
            return True

        await until(f"build {build} to be current", ask)
        self.build = build


@dataclass(frozen=True)
class Site:
    """Where a house is built, and what is around it."""

    folder: Path
    model: str
    """A URL."""
    consumer: str
    """A URL."""
    around: Town
    database: Dialect = "postgresql"

    def ports(self) -> dict[str, list[int]]:
        """Where those are that the house calls, and aren't part of it."""
        urls = {"house-model": self.model, "house-consumer": self.consumer}
        reached = {name: [urlsplit(url).port or 80] for name, url in urls.items()}
        return {**reached, "house-platform": self.around.ports}

    def told(self, wires: dict[str, list[Wire]]) -> dict[str, str]:
        """What all of the house's processes are told of them."""
        (model,), (consumer,) = wires["house-model"], wires["house-consumer"]
        self.around.reached_by([wire.port for wire in wires["house-platform"]])
        url = f"http://127.0.0.1:{consumer.port}/hooks"
        file, people = self.folder / "webhooks.json", self.folder / "people.yaml"
        file.write_text(entries(url), encoding="utf-8")
        people.write_text(self.around.directory(), encoding="utf-8")
        return {
            "ROUTER_LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
            "ROUTER_LLM_API_KEY": "none",
            "ROUTER_LLM_MODEL": "scripted",
            "ROUTER_LLM_TURN_SECONDS": "8",
            "OMP_NUM_THREADS": "1",
            DEFECT: str(self.folder / DEFECT_FILE),
            **variables(url, str(file)),
            **self.around.variables(people),
        }

    def kept(self, name: str, sign: str, *words: str, told: dict[str, str]) -> Kept:
        """One of our own processes; conversations are put away soon."""
        log = self.folder / f"{name.replace(' ', '')}.log"
        return Kept(name, [sys.executable, "-m", HASTY, *words], log, sign, told)


@asynccontextmanager
async def house(site: Site) -> AsyncIterator[House]:
    """All of it at work, what it keeps and says in the site's folder."""
    site.folder.mkdir(parents=True, exist_ok=True)
    site.folder.chmod(0o755)  # PostgreSQL's user is another one
    async with AsyncExitStack() as stack:
        build = _alone if site.database == "sqlite" else _deployed
        built = await build(site, stack)
        for one in built.kept:
            stack.push_async_callback(one.stop)
        await _started(built, [*MANAGERS, *site.around.people])
        yield built


async def _wired(stack: AsyncExitStack, leads: dict[str, list[int]]) -> dict[str, list[Wire]]:
    return {
        name: [await stack.enter_async_context(Wire(port)) for port in ports]
        for name, ports in leads.items()
    }


def _disks(site: Site, stack: AsyncExitStack, *names: str) -> dict[str, Disk]:
    """One each, where we may have such; else they share the machine's."""
    for name in names:
        (site.folder / name).mkdir()
    if not Disk.can_be():
        return {}
    return {name: stack.enter_context(Disk(site.folder / name).mounted()) for name in names}


async def _alone(site: Site, stack: AsyncExitStack) -> House:
    """`dev`, whose parts share a process, or nothing but a loopback of their own."""
    api, temporal, page = free_ports(3)
    wires = await _wired(stack, {"client-api": [api], **site.ports()})
    data = site.folder / "dev"
    disks = _disks(site, stack, "dev")
    ports = ("--port", f"{api}", "--temporal-port", f"{temporal}", "--ui-port", f"{page}")
    words = ("dev", *ports, "--data", str(data))
    return House(
        processes={"dev": [site.kept("dev", "\nready", *words, told=site.told(wires))]},
        wires=wires,
        database=f"sqlite:{data / 'router.db'}",
        temporal=f"127.0.0.1:{temporal}",
        disks=disks,
    )


async def _deployed(site: Site, stack: AsyncExitStack) -> House:
    temporal, database, *apis = free_ports(2 + APIS)
    leads = {
        "client-api": apis,
        "api-temporal": [temporal] * APIS,
        "api-database": [database] * APIS,
        "worker-temporal": [temporal] * WORKERS,
        "worker-database": [database] * WORKERS,
    }
    wires = await _wired(stack, {**leads, **site.ports()})
    disks = _disks(site, stack, "temporal", "database")
    return House(
        processes={
            "database": [postgres_at(site.folder, database)],
            "temporal": [temporal_at(site.folder, temporal)],
            **_ours(site, wires),
        },
        wires=wires,
        database=f"postgresql://router@127.0.0.1:{database}/chaos",
        temporal=f"127.0.0.1:{temporal}",
        disks=disks,
    )


def _ours(site: Site, wires: dict[str, list[Wire]]) -> dict[str, list[Kept]]:
    """Each `serve` and `worker` with wires of its own."""
    told = {**site.told(wires), "ROUTER_DATA": str(site.folder / "data")}

    def one(kind: str, number: int, sign: str, *words: str, **more: str) -> Kept:
        database, temporal = (wires[f"{kind}-{to}"][number].port for to in ("database", "temporal"))
        own = {
            "ROUTER_DATABASE_URL": f"postgresql+asyncpg://router@127.0.0.1:{database}/chaos",
            "ROUTER_TEMPORAL_ADDRESS": f"127.0.0.1:{temporal}",
        }
        return site.kept(f"{kind} {number}", sign, *words, told={**told, **own, **more})

    def api(number: int, port: int) -> Kept:
        return one("api", number, "the API listens", "serve", "--port", f"{port}")

    def worker(number: int) -> Kept:
        return one("worker", number, "polls", "worker", ROUTER_WORKER_VERSION=FIRST_BUILD)

    ports = (wire.to for wire in wires["client-api"])
    return {"api": [*starmap(api, enumerate(ports))], "worker": [*map(worker, range(WORKERS))]}


def temporal_at(folder: Path, port: int) -> Kept:
    """Temporal's server on this port, with its state in the folder: it outlives the process."""
    state = folder / "temporal"
    state.mkdir(exist_ok=True)
    server = [str(TEMPORAL), "server", "start-dev", "--headless", "--port", str(port)]
    server += ["--log-level", "error", "--db-filename", str(state / "temporal.db")]
    return Kept("temporal", server, folder / "temporal.log")


def postgres_at(folder: Path, port: int) -> Kept:
    """A server that keeps what it has committed through any kill, if not through a power cut."""
    found = binaries()
    if found is None:
        raise SystemExit("chaos needs PostgreSQL's server: install Debian's package postgresql")
    user = cluster(found, folder / "database")
    serve = command(found, folder / "database", port, f"max_connections={MOST_CONNECTIONS}")
    sign = "ready to accept connections"
    return Kept("database", serve, folder / "postgres.log", sign, user=user)


async def _started(built: House, entitled: Sequence[str]) -> None:
    if built.dialect == "postgresql":
        (database,), (temporal,) = built.processes["database"], built.processes["temporal"]
        database.start()
        temporal.start()
        await database.serves()
        server = built.database.rsplit("/", 1)[0]
        await order(f"{server}/postgres", "CREATE DATABASE chaos")
        await answers(int(built.temporal.split(":")[1]))
    ours = [one for one in built.kept if one.name not in ("database", "temporal")]
    for one in ours:
        one.start()
    for one in ours:
        await one.serves()
    if built.dialect == "postgresql":
        await built.made_current(FIRST_BUILD)
    await ready(built)
    years = (datetime.now(UTC).year, datetime.now(UTC).year + 1)
    everybody = ((person, year) for person in entitled for year in years)
    rows = ", ".join(f"('default', '{p}', 'annual', {y}, {ENTITLED * 2})" for p, y in everybody)
    columns = "(tenant, person, leave_type, year, half_days)"
    statement = f"INSERT INTO people_entitlements {columns} VALUES {rows}"
    if built.dialect == "postgresql":
        await order(built.database, statement)
        return
    with closing(sqlite3.connect(built.file, timeout=30)) as connection, connection:
        connection.execute(statement)


async def answers(port: int) -> None:
    """Return once somebody listens there."""

    async def ask() -> bool | None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return None
        writer.close()
        return True

    await until(f"somebody to listen on port {port}", ask)


async def ready(built: House) -> None:
    """Return once each API says that it and all that it needs can be used."""
    for url in built.urls:
        async with httpx.AsyncClient(base_url=url, timeout=10, trust_env=False) as client:

            async def ask(client: httpx.AsyncClient = client) -> bool | None:
                with suppress(httpx.TransportError):
                    checks = (await client.get("/readyz")).json()["checks"]
                    return all(checks[name]["status"] == "ready" for name in NEEDED) or None
                return None

            await until(f"the API at {url} to be ready", ask)
