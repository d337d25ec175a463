"""The product and the floor as processes of their own, beside one Temporal server.

On SQLite, which serves one process alone, each is one process: `intent-router dev`, and the
floor's API and worker in one. On PostgreSQL each is an API and workers beside it.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil
from calling import Caller

ROOT = Path(__file__).parent.parent
LOAD = Path(__file__).with_name("load.py")
PATIENCE = 120
UNLIMITED = {
    f"ROUTER_{whose}_{what}": "1000000"
    for whose in ("USER", "TENANT")
    for what in ("REQUESTS_PER_MINUTE", "OPEN_TURNS")
}
"""Eight people here are as many as make the load."""
FOREIGN = ("ROUTER_", "OPENAI_", "TEMPORAL_", "OTEL_", "SLACK_", "FEISHU_")


@dataclass
class House:
    """Processes that bear load on one port, and what they have used so far."""

    port: int
    processes: list[psutil.Process]
    temporal: psutil.Process
    address: str
    """Of the Temporal server."""
    metrics: int
    """The port where the process that runs workflows says how its event loop stood still."""
    database: str = ""
    """The URL of its PostgreSQL database, where it has one."""
    workers: Sequence[int] = ()
    """The ports where its workers show their metrics, where it has several."""

    def used(self) -> tuple[float, float]:
        """Seconds of processor time of our processes, and of the Temporal server."""
        return sum(map(_seconds, self.processes)), _seconds(self.temporal)

    @property
    def memory(self) -> float:
        """MiB resident, of our processes."""
        return sum(process.memory_info().rss for process in self.processes) / 2**20


@asynccontextmanager
async def on_sqlite(folder: Path, cached: int, **given: str) -> AsyncIterator[tuple[House, House]]:
    """The product, which is also given these variables, and the floor, over a file each."""
    ports = _free_ports(5)
    api, temporal, ui, floor, metrics = ports
    mine = {"ROUTER_CACHED_WORKFLOWS": str(cached), "ROUTER_METRICS_PORT": str(metrics), **given}
    address = f"127.0.0.1:{temporal}"
    args = ("--port", api, "--temporal-port", temporal, "--ui-port", ui, "--data", folder)
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(_running("-m", "router", "dev", *args, **mine))
        await _ready(api)
        (server,) = ours.children()
        bare = await stack.enter_async_context(
            _floor("both", floor, temporal, f"{folder}/bare.db", cached)
        )
        await _ready(floor)
        ours_house = House(api, [ours], server, address, metrics)
        yield ours_house, House(floor, [bare], server, address, floor)


@asynccontextmanager
async def on_postgres(
    folder: Path, cached: int, workers: int, apis: int = 1
) -> AsyncIterator[tuple[House, House]]:
    """The product and the floor, over a database each of one PostgreSQL server."""
    from turns import temporal as dev_server

    sys.path.insert(0, str(ROOT))
    from tests.postgres import make_database, postgres_server

    api, floor, metrics = _free_ports(3)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(dev_server(str(folder)))
        address = client.service_client.config.target_host
        (server,) = [p for p in psutil.Process().children() if p.name() == "temporal"]
        urls = stack.enter_context(postgres_server())
        name = uuid4().hex[:8]
        ours = await make_database(urls, f"load_{name}")
        bare = await make_database(urls, f"bare_{name}")
        given = {"ROUTER_TEMPORAL_ADDRESS": address, "ROUTER_DATABASE_URL": ours}
        given["ROUTER_CACHED_WORKFLOWS"] = str(cached)
        commands = [("serve", "--port", api, "--processes", apis), *[("worker",)] * workers]
        measured = [{}, {"ROUTER_METRICS_PORT": str(metrics)}, *[{}] * (workers - 1)]
        mine = [
            await stack.enter_async_context(_running("-m", "router", *command, **given, **more))
            for command, more in zip(commands, measured, strict=True)
        ]
        theirs = [
            await stack.enter_async_context(
                _floor(part, floor, address.rpartition(":")[2], bare, cached)
            )
            for part in ("api", *["worker"] * workers)
        ]
        await _ready(api)
        await _ready(floor)
        mine += mine[0].children()
        ours_house = House(api, mine, server, address, metrics)
        yield ours_house, House(floor, theirs, server, address, floor)


MANY_PEOPLE = tuple(f"p{number}" for number in range(64))
"""So many that nobody reaches what a person may have a tool called for in a minute."""


def write_directory(file: Path) -> Path:
    """Write a directory of `MANY_PEOPLE`, who all have one manager."""
    users = [f"  - {{id: {each}, name: {each}, locale: zh, manager: boss}}" for each in MANY_PEOPLE]
    file.write_text("\n".join(["users:", "  - {id: boss, name: Boss}", *users]), encoding="utf-8")
    return file


@asynccontextmanager
async def products_on_postgres(
    folder: Path, cached: int, number: int
) -> AsyncIterator[Sequence[House]]:
    """So many APIs and as many workers over one database: a house for each API, of all of them."""
    from turns import temporal as dev_server

    sys.path.insert(0, str(ROOT))
    from tests.postgres import make_database, postgres_server

    every, name = _free_ports(2 * number), uuid4().hex[:8]
    ports, metrics = every[:number], every[number:]
    async with AsyncExitStack() as stack:
        (state := folder / name).mkdir()
        client = await stack.enter_async_context(dev_server(str(state)))
        address = client.service_client.config.target_host
        (server,) = [p for p in psutil.Process().children() if p.name() == "temporal"]
        urls = stack.enter_context(postgres_server())
        given = {"ROUTER_TEMPORAL_ADDRESS": address, "ROUTER_CACHED_WORKFLOWS": str(cached)}
        given["ROUTER_DATABASE_URL"] = await make_database(urls, f"machines_{name}")
        given["ROUTER_DIRECTORY"] = str(write_directory(state / "people.yaml"))
        commands = [
            *((("serve", "--port", port), {}) for port in ports),
            *((("worker",), {"ROUTER_METRICS_PORT": str(port)}) for port in metrics),
        ]
        processes = []
        for command, more in commands:
            running = _running("-m", "router", *command, **given, **more)
            processes.append(await stack.enter_async_context(running))
        for port in ports:
            await _ready(port)
        database = given["ROUTER_DATABASE_URL"]
        yield [House(port, processes, server, address, 0, database, metrics) for port in ports]


def _floor(part: str, port: int, temporal: object, database: str, cached: int):
    return _running(LOAD, "--floor", part, port, f"127.0.0.1:{temporal}", database, cached)


@asynccontextmanager
async def _running(*args: object, **variables: str) -> AsyncIterator[psutil.Process]:
    """This Python with other arguments, and an environment that says nothing else to it."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *map(str, args),
        cwd=ROOT,
        env={**given, **UNLIMITED, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables},
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _ready(port: int) -> None:
    caller, until, told = Caller(port), time.monotonic() + PATIENCE, "nothing listens"
    while True:
        try:
            status, body = await caller.get("/readyz")
            if status == 200:
                return caller.close()
            told = f"{status} {body.decode()}"
        except (OSError, asyncio.IncompleteReadError):
            pass
        if time.monotonic() > until:
            raise SystemExit(f"nothing is ready on port {port} after {PATIENCE} s: {told}")
        await asyncio.sleep(0.2)


def _seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def _free_ports(number: int) -> Sequence[int]:
    with _bound(number) as sockets:
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _bound(number: int):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()
