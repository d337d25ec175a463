"""PostgreSQL, Temporal, two APIs, two workers: real processes. Wires lead to the servers."""

import asyncio
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg  # type: ignore[import-untyped]
import httpx

from tests.e2e.chaos.kept import Kept
from tests.e2e.chaos.wire import Wire
from tests.e2e.house import free_ports
from tests.e2e.storm.books import ENTITLED
from tests.e2e.storm.people import until
from tests.e2e.storm.rules import MANAGERS
from tests.postgres import binaries

NEEDED = ("temporal", "worker", "database")
"""Of what the API checks: it does without a model."""
APIS, WORKERS = 2, 2
_PYTHON = [sys.executable, "-m", "router"]


@dataclass(frozen=True)
class House:
    """What chaos comes over. Everybody but the checker goes by the wires."""

    processes: dict[str, list[Kept]]
    """By what they are: `api`, `worker`, `temporal`, `database`."""
    wires: dict[str, list[Wire]]
    """By where they lead: `api`, `temporal`, `database`, `model`; each API has one of its own."""
    database: str
    """Its real address, for the checker."""
    temporal: str

    @property
    def urls(self) -> list[str]:
        """The APIs', by their wires."""
        return [f"http://127.0.0.1:{wire.port}" for wire in self.wires["api"]]

    @property
    def kept(self) -> list[Kept]:
        return [one for several in self.processes.values() for one in several]


@asynccontextmanager
async def house(folder: Path, model: str) -> AsyncIterator[House]:
    """All of it at work, what it keeps and says in `folder`; `model` is the model server's URL."""
    temporal, database, *apis = free_ports(2 + APIS)
    leads = {
        "api": apis,
        "temporal": [temporal],
        "database": [database],
        "model": [urlsplit(model).port or 80],
    }
    async with AsyncExitStack() as stack:
        wires = {
            name: [await stack.enter_async_context(Wire(port)) for port in ports]
            for name, ports in leads.items()
        }
        built = House(
            processes=_processes(folder, wires),
            wires=wires,
            database=f"postgresql://router@127.0.0.1:{database}/chaos",
            temporal=f"127.0.0.1:{temporal}",
        )
        for one in built.kept:
            stack.push_async_callback(one.stop)
        await _started(built)
        yield built


def _processes(folder: Path, wires: dict[str, list[Wire]]) -> dict[str, list[Kept]]:
    (temporal,), (database,), (model,) = wires["temporal"], wires["database"], wires["model"]
    told = {
        "ROUTER_DATA": str(folder / "data"),
        "ROUTER_DATABASE_URL": f"postgresql+asyncpg://router@127.0.0.1:{database.port}/chaos",
        "ROUTER_TEMPORAL_ADDRESS": f"127.0.0.1:{temporal.port}",
        "ROUTER_LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
        "ROUTER_LLM_TURN_SECONDS": "8",
        "OMP_NUM_THREADS": "1",
    }
    server = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev"]
    server += ["--headless", "--port", str(temporal.to), "--log-level", "error"]
    server += ["--db-filename", str(folder / "temporal.db")]
    return {
        "database": [_postgres(folder, database.to)],
        "temporal": [Kept("temporal", server, folder / "temporal.log")],
        "api": [
            _ours(f"api {n}", ["serve", "--port", str(wire.to)], folder, "the API listens", told)
            for n, wire in enumerate(wires["api"])
        ],
        "worker": [_ours(f"worker {n}", ["worker"], folder, "polls", told) for n in range(WORKERS)],
    }


def _ours(name: str, words: list[str], folder: Path, sign: str, told: dict[str, str]) -> Kept:
    return Kept(name, [*_PYTHON, *words], folder / f"{name.replace(' ', '')}.log", sign, told)


def _postgres(folder: Path, port: int) -> Kept:
    """A server that keeps what it has committed through any kill, if not through a power cut."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # its user is another one
    found = binaries()
    if found is None:
        raise SystemExit("chaos needs PostgreSQL's server: install Debian's package postgresql")
    # The server refuses to run as root, which is who runs this in a container.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    home = folder / "postgres"
    home.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(home, user)
    data = home / "data"
    make: list[str | Path] = [
        found / "initdb",
        "-D",
        data,
        "-U",
        "router",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
    ]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, user=user, cwd=home)
    settings = ("fsync=off", "listen_addresses=127.0.0.1", "max_connections=200")
    options = [part for one in settings for part in ("-c", one)]
    options += ["-c", f"unix_socket_directories={home}"]
    command = [str(found / "postgres"), "-D", str(data), "-p", str(port), *options]
    sign = "ready to accept connections"
    return Kept("database", command, folder / "postgres.log", sign, user=user)


async def _started(built: House) -> None:
    """Everything up, and leave enough for everybody."""
    (database,), (temporal,) = built.processes["database"], built.processes["temporal"]
    database.start()
    temporal.start()
    await database.serves()
    server = built.database.rsplit("/", 1)[0]
    await _told(f"{server}/postgres", "CREATE DATABASE chaos")
    await answers(int(built.temporal.split(":")[1]))
    for one in (*built.processes["api"], *built.processes["worker"]):
        one.start()
        await one.serves()
    await ready(built)
    rows = ", ".join(
        f"('default', '{person}', 'annual', {year}, {ENTITLED * 2})"
        for person in MANAGERS
        for year in (datetime.now(UTC).year, datetime.now(UTC).year + 1)
    )
    columns = "(tenant, person, leave_type, year, half_days)"
    await _told(built.database, f"INSERT INTO people_entitlements {columns} VALUES {rows}")


async def _told(address: str, statement: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


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
            await until(f"the API at {url} to be ready", partial(_is_ready, client))


async def _is_ready(client: httpx.AsyncClient) -> bool | None:
    try:
        checks = (await client.get("/readyz")).json()["checks"]
    except httpx.TransportError:
        return None
    return all(checks[name]["status"] == "ready" for name in NEEDED) or None
