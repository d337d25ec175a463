"""`serve` and `worker` as processes of their own, over a real PostgreSQL and a real Temporal."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psutil

from activities import control_group
from activities.control_group import ControlGroup
from router.domain.errors import Unavailable
from router.runtime import dev, temporal_server
from router.runtime.data_folder import claimed
from router.runtime.server import Ports
from tests.postgres import make_database
from tests.servers import server_address

PROGRAM: tuple[str, ...] = (sys.executable, "-m", "router")
PATIENCE = 4
"""Minutes, for four processes that start at once on two busy cores; what is tested begins then."""
SECRET = "a secret of at least thirty-two bytes"


@asynccontextmanager
async def running(
    environment: Mapping[str, str], *words: str, program: Sequence[str] = PROGRAM
) -> AsyncIterator[Process]:
    """The program with these words after it; killed on leaving, if it hasn't ended by then."""
    process = await asyncio.create_subprocess_exec(
        *program, *words, env={**os.environ, **environment}, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@dataclass(frozen=True)
class BoundedProcess:
    """A process that has so much memory, together with all that it starts.

    Attributes:
        group: The control group that holds them; None where this machine has none to give.
    """

    process: Process
    most_bytes: int
    group: ControlGroup | None

    @property
    def peak_bytes(self) -> int:
        """The most that they had together; without a group, the sum of what each had at most.

        A group counts the files that they have read, as far as there is room.
        """
        if self.group is not None:
            found = (self.group.place / name for name in PEAKS)
            return int(next(file for file in found if file.exists()).read_text())
        family = [psutil.Process(self.process.pid)]
        family += family[0].children(recursive=True)
        return sum(_peak_of(each.pid) for each in family)

    @property
    def is_exceeded(self) -> bool:
        """True where they had more, and the kernel has ended one of them for it."""
        if self.group is not None:
            return self.group.exceeded
        return self.peak_bytes >= self.most_bytes


PEAKS = ("memory.peak", "memory.max_usage_in_bytes")


def _peak_of(pid: int) -> int:
    """The most bytes that a process had in memory; 0 where it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return sum(int(kib) * 1024 for kib in re.findall(r"VmHWM:\s+(\d+) kB", status))
    return 0


@asynccontextmanager
async def running_within(
    most_bytes: int, environment: Mapping[str, str], *words: str
) -> AsyncIterator[BoundedProcess]:
    """The program as `running` has it, with so much memory for all that it starts."""
    async with control_group.bounded(most_bytes) as group:
        program = PROGRAM
        if group is not None:
            enter = 'echo $$ > "$0" && exec "$@"'
            program = ("sh", "-c", enter, str(group.place / "cgroup.procs"), *PROGRAM)
        async with running(environment, *words, program=program) as process:
            yield BoundedProcess(process, most_bytes, group)


async def last_words(process: Process, told: Callable[[], object] | None = None) -> tuple[int, str]:
    """Ask it to stop, as `docker stop` does; its exit status and all that it logged.

    It is told by `told` where it is another process that has to hear of it.
    """
    (told or process.terminate)()
    _, log = await process.communicate()
    assert process.returncode is not None
    return process.returncode, log.decode()


@asynccontextmanager
async def deployment(tmp_path: Path, ports: Ports) -> AsyncIterator[dict[str, str]]:
    """The servers that the two need; gives the variables that name them."""
    postgres = await asyncio.to_thread(server_address, "postgresql")
    database = await make_database(postgres, f"deployed_{uuid4().hex[:12]}")
    with claimed(tmp_path / "data") as folder:
        async with temporal_server.running(folder, ports, "default", {}):
            yield variables(database, ports)


def variables(database: str, ports: Ports) -> dict[str, str]:
    """What `serve` and `worker` have to be told of these servers."""
    return {
        "ROUTER_DATABASE_URL": database.replace("postgresql:", "postgresql+asyncpg:"),
        "ROUTER_TEMPORAL_ADDRESS": ports.temporal_address,
        "ROUTER_AUTH": "jwt",
        "ROUTER_JWT_SECRET": SECRET,
    }


async def token(environment: Mapping[str, str], user: str = "alice") -> str:
    """A bearer token of theirs."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "token", "--user", user, env={**os.environ, **environment}, stdout=PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def said_to(url: str, bearer: str, text: str) -> str:
    """Where the text went, as the first message of a new conversation."""
    async with browser(url, bearer) as client:
        return str((await said(client, await conversation(client), text))["route"]["kind"])


def browser(url: str, bearer: str) -> httpx.AsyncClient:
    """A client of the API that is somebody."""
    headers = {"Authorization": f"Bearer {bearer}"}
    return httpx.AsyncClient(base_url=f"{url}/v1", headers=headers, timeout=60)


async def conversation(client: httpx.AsyncClient) -> str:
    """The id of a new one."""
    made = (await client.post("/conversations", json={})).raise_for_status().json()
    return str(made["id"])


async def said(client: httpx.AsyncClient, conversation: str, text: str) -> dict[str, Any]:
    """The turn that answers this."""
    answer = await client.post(f"/conversations/{conversation}/messages", json={"text": text})
    turn: dict[str, Any] = answer.raise_for_status().json()
    return turn


async def ready(url: str, *processes: Process) -> None:
    """Return when this answers with success, however busy the machine is that it starts on.

    Raises:
        AssertionError: one of the processes has ended, with what it said.
    """

    async def answers() -> None:
        for _ in range(PATIENCE - 1):
            with suppress(Unavailable):
                return await dev.success(url)
        return await dev.success(url)

    answering = asyncio.create_task(answers())
    ends = [asyncio.create_task(process.wait()) for process in processes]
    await asyncio.wait([answering, *ends], return_when=asyncio.FIRST_COMPLETED)
    for process, end in zip(processes, ends, strict=True):
        if end.done():
            answering.cancel()
            assert process.stderr is not None
            raise AssertionError((await process.stderr.read()).decode())
        end.cancel()
    await answering
