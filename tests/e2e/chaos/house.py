"""PostgreSQL, Temporal, two APIs, two workers: real processes, and wires to be cut."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import httpx
import psutil

from tests.e2e.chaos.consumer import entries, variables
from tests.e2e.chaos.entrances import Town
from tests.e2e.house import free_ports
from tests.e2e.storm.requests import until
from tests.e2e.storm.rules import ENTITLED, MANAGERS
from tests.postgres import binaries, cluster, command, order

ROOT = Path(__file__).parents[3]
REBORN_AFTER = 0.3
"""Seconds: a supervisor's pause."""


@dataclass
class Kept:
    """Runs `command` from when it is started until it is stopped, its words in `log`."""

    name: str
    command: list[str]
    log: Path
    sign: str = ""
    """What it writes there once it serves; "" for those who are asked by other means."""
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    ends_of_its_own: list[str] = field(default_factory=list)
    """How it ended by itself after it had served: what nothing that happens to others may do."""
    false_starts: int = 0
    """How often it ended before it served, as where what it needs isn't there yet."""
    _process: Process | None = None
    _keeping: "asyncio.Task[None] | None" = None
    _killed: bool = False
    _began_at: int = 0

    def start(self) -> None:
        """Run it, and again whenever it has ended."""
        self.log.touch()
        self._keeping = asyncio.create_task(self._keep(), name=f"keeping {self.name}")

    async def stop(self) -> None:
        """End it for good."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._process is not None:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def kill(self) -> None:
        """`kill -9` of the process and of those it has begun."""
        self._killed = True
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """Have it stand still, its connections open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    async def serves(self) -> None:
        """Return once the process that there is now says that it serves."""

        async def ask() -> bool | None:
            return (not self._killed and self._has_served()) or None

        await until(f"{self.name} to serve, see {self.log}", ask)

    async def _keep(self) -> None:
        while True:
            self._began_at = self.log.stat().st_size
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *self.command,
                    stdin=DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **self.environment},
                    cwd="/" if self.user else ROOT,
                    user=self.user,
                    start_new_session=True,  # a Ctrl-C is for whoever keeps it
                )
            self._note_end(await self._process.wait())
            await asyncio.sleep(REBORN_AFTER)

    def _note_end(self, status: int) -> None:
        if not self._killed and self._has_served():
            self.ends_of_its_own.append(
                f"{self.name} ended by itself with {status}, see {self.log}"
            )
        self.false_starts += not self._killed and not self._has_served()
        self._killed = False

    def _has_served(self) -> bool:
        with self.log.open("rb") as log:
            log.seek(self._began_at)
            return self.sign.encode() in log.read()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if self._process is not None and self._process.returncode is None:
                process = psutil.Process(self._process.pid)
                for one in [process, *process.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        one.send_signal(number)


PIECE = 65_536


class Wire:
    """Carries connections to a port of this machine while it is entered.

    >>> async with Wire(5432) as wire:  # doctest: +SKIP
    ...     wire.stall()
    """

    def __init__(self, to: int) -> None:
        self.to = to
        self.port = 0
        self._whole = True
        self._passing = asyncio.Event()
        self._passing.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """Reset every connection, and every new one, until it is mended."""
        self._whole = False
        for end in self._ends:
            end.transport.abort()

    def stall(self) -> None:
        """Let nothing through in either direction, and say so to nobody, until it is mended."""
        self._passing.clear()

    def mend(self) -> None:
        """Carry again; what was stalled arrives."""
        self._whole = True
        self._passing.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        self._ends.add(writer)
        try:
            # Either side going away, or we, is how every connection ends.
            with suppress(OSError, asyncio.CancelledError):
                await self._carry(reader, writer)
        finally:
            self._ends.discard(writer)
            self._carrying.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        self._ends.add(far_writer)
        try:
            ways = [
                asyncio.ensure_future(self._pass_on(reader, far_writer)),
                asyncio.ensure_future(self._pass_on(far_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            # What the far side said last still arrives, where the near one is there to take it.
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._ends.discard(far_writer)
            far_writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(PIECE):
            await self._passing.wait()
            writer.write(some)
            await writer.drain()


NEEDED = ("temporal", "worker", "database")
"""Of what the API checks: it does without a model."""
APIS, WORKERS = 2, 2
HASTY = "tests.e2e.chaos.hasty_worker"


@dataclass(frozen=True)
class House:
    """What chaos comes over. Everybody but the checker goes by the wires."""

    processes: dict[str, list[Kept]]
    """By what they are: `api`, `worker`, `temporal`, `database`."""
    wires: dict[str, list[Wire]]
    """By where they lead: `api` (one each), `temporal`, `database`, `model`, `consumer`, `platform`
    (one each, the last to the mail server)."""
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
async def house(folder: Path, model: str, consumer: str, around: Town) -> AsyncIterator[House]:
    """All of it at work, what it keeps and says in `folder`; the next two are URLs of servers."""
    temporal, database, *apis = free_ports(2 + APIS)
    leads = {
        "api": apis,
        "temporal": [temporal],
        "database": [database],
        "model": [urlsplit(model).port or 80],
        "consumer": [urlsplit(consumer).port or 80],
        "platform": around.ports,
    }
    async with AsyncExitStack() as stack:
        wires = {
            name: [await stack.enter_async_context(Wire(port)) for port in ports]
            for name, ports in leads.items()
        }
        around.reached_by([wire.port for wire in wires["platform"]])
        built = House(
            processes=_processes(folder, wires, around),
            wires=wires,
            database=f"postgresql://router@127.0.0.1:{database}/chaos",
            temporal=f"127.0.0.1:{temporal}",
        )
        for one in built.kept:
            stack.push_async_callback(one.stop)
        await _started(built, [*MANAGERS, *around.people])
        yield built


def _processes(folder: Path, wires: dict[str, list[Wire]], around: Town) -> dict[str, list[Kept]]:
    (temporal,), (database,), (model,) = wires["temporal"], wires["database"], wires["model"]
    (consumer,), file = wires["consumer"], folder / "webhooks.json"
    url = f"http://127.0.0.1:{consumer.port}/hooks"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(entries(url), encoding="utf-8")
    people = folder / "people.yaml"
    people.write_text(around.directory(), encoding="utf-8")
    told = {
        "ROUTER_DATA": str(folder / "data"),
        "ROUTER_DATABASE_URL": f"postgresql+asyncpg://router@127.0.0.1:{database.port}/chaos",
        "ROUTER_TEMPORAL_ADDRESS": f"127.0.0.1:{temporal.port}",
        "ROUTER_LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
        "ROUTER_LLM_TURN_SECONDS": "8",
        "OMP_NUM_THREADS": "1",
        **variables(url, str(file)),
        **around.variables(people),
    }
    server = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev"]
    server += ["--headless", "--port", str(temporal.to), "--log-level", "error"]
    server += ["--db-filename", str(folder / "temporal.db")]

    def ours(name: str, sign: str, *words: str, by: str = "router") -> Kept:
        log = folder / f"{name.replace(' ', '')}.log"
        return Kept(name, [sys.executable, "-m", by, *words], log, sign, told)

    apis = enumerate(wires["api"])
    return {
        "database": [_postgres(folder, database.to)],
        "temporal": [Kept("temporal", server, folder / "temporal.log")],
        "api": [ours(f"api {n}", "the API listens", "serve", "--port", f"{w.to}") for n, w in apis],
        "worker": [ours(f"worker {n}", "polls", "worker", by=HASTY) for n in range(WORKERS)],
    }


def _postgres(folder: Path, port: int) -> Kept:
    """A server that keeps what it has committed through any kill, if not through a power cut."""
    found = binaries()
    if found is None:
        raise SystemExit("chaos needs PostgreSQL's server: install Debian's package postgresql")
    home = folder / "postgres"
    home.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # its user is another one
    user = cluster(found, home)
    serve = command(found, home, port)
    sign = "ready to accept connections"
    return Kept("database", serve, folder / "postgres.log", sign, user=user)


async def _started(built: House, entitled: Sequence[str]) -> None:
    (database,), (temporal,) = built.processes["database"], built.processes["temporal"]
    database.start()
    temporal.start()
    await database.serves()
    server = built.database.rsplit("/", 1)[0]
    await order(f"{server}/postgres", "CREATE DATABASE chaos")
    await answers(int(built.temporal.split(":")[1]))
    for one in (*built.processes["api"], *built.processes["worker"]):
        one.start()
        await one.serves()
    await ready(built)
    years = (datetime.now(UTC).year, datetime.now(UTC).year + 1)
    everybody = ((person, year) for person in entitled for year in years)
    rows = ", ".join(f"('default', '{p}', 'annual', {y}, {ENTITLED * 2})" for p, y in everybody)
    columns = "(tenant, person, leave_type, year, half_days)"
    await order(built.database, f"INSERT INTO people_entitlements {columns} VALUES {rows}")


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
