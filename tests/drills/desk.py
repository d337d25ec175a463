"""The house of a drill: PostgreSQL, Temporal, `serve` and `worker`, and people who use it.

Everything is as compose has it: processes apart, signed tokens, payload keys, a directory in a
file, books in PostgreSQL. A drill breaks one thing, and asks only what an operator could ask: the
metrics, `doctor`, `/readyz`, the log; it mends by the command that docs/operations.md has.
"""

import asyncio
import base64
import os
import re
import shutil
import subprocess
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped]
import httpx
from temporalio.service import RPCError

from router.api.auth import mint
from router.runtime import temporal_server
from router.runtime.data_folder import claimed
from router.runtime.server import Ports
from router.settings import Settings
from tests.deployed import PROGRAM, SECRET, variables
from tests.ports import free_ports
from tests.postgres import make_database, postgres_server

PEOPLE = """\
users:
  - {id: alice, name: Alice, locale: en, manager: bob}
  - {id: bob, name: Bob, locale: en, manager: carol}
  - {id: carol, name: Carol, locale: en, roles: [director]}
  - {id: erin, name: Erin, locale: en, manager: carol, roles: [finance]}
  - {id: frank, name: Frank, locale: en, manager: bob}
  - {id: olga, name: Olga, locale: en, manager: carol, roles: [operator]}
"""
KEYS = f"k1:{base64.b64encode(b'k' * 32).decode()}"
REQUEST = "I want to take annual leave from next Monday to Tuesday, family visit"
BALANCE = "how many days of annual leave do I have left"
LEFT = re.compile(r"You have ([0-9.]+) of [0-9.]+ days of annual leave left")
"""What is answered to that."""
DAYS = 2
PATIENCE = 600.0
"""Seconds after which a drill has failed: nobody said anything, or nothing helped."""
LOOKED_EVERY = 0.5
STOPPED_WITHIN = 40.0


@dataclass
class Stopwatch:
    """When something broke, was noticed, and was right again; and by what."""

    broke: float = field(default_factory=time.monotonic)
    notices: list[tuple[float, str]] = field(default_factory=list)
    mended: tuple[float, str] | None = None

    def breaks(self) -> None:
        """It happens now: what was done before was preparation."""
        self.broke = time.monotonic()

    async def noticed(self, by: str, sees: Callable[[], Awaitable[object]]) -> None:
        """Wait until this says so."""
        await until(by, sees)
        self.notices.append((time.monotonic() - self.broke, by))

    def mending(self) -> float:
        """Somebody begins to type."""
        return time.monotonic()

    async def right(self, since: float, by: str, sees: Callable[[], Awaitable[object]]) -> None:
        """Wait until it is right again, after what was typed `since`."""
        await until(f"after {by}", sees)
        self.mended = (time.monotonic() - since, by)


async def until(what: str, sees: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again until the answer is true; `AssertionError` after ten minutes."""
    deadline, last = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        try:
            if await sees():
                return
        except (httpx.HTTPError, RPCError, AssertionError) as error:
            last = str(error)
        await asyncio.sleep(LOOKED_EVERY)
    raise AssertionError(f"never: {what}; {last}")


@dataclass
class Program:
    """One of our processes, with its log and its metrics."""

    process: Process
    log: Path
    metrics: str

    @property
    def said(self) -> str:
        """All that it logged."""
        return self.log.read_text("utf-8", "replace")

    async def says(self, words: str) -> bool:
        """True once this stands in its log."""
        return words in self.said

    async def metric(self, name: str) -> float:
        """The greatest value of a metric by this name; 0 where there is none."""
        async with httpx.AsyncClient() as client:
            text = (await client.get(self.metrics)).text
        lines = (line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{")))
        return max((float(line.rpartition(" ")[2]) for line in lines), default=0.0)

    async def shows(self, name: str, value: float) -> bool:
        """True once the metric has come to this."""
        return await self.metric(name) == value

    async def stopped(self, *, kill: bool = False) -> int:
        """Its exit status, after it was told to end."""
        if self.process.returncode is None:
            (self.process.kill if kill else self.process.terminate)()
        with suppress(TimeoutError):
            return await asyncio.wait_for(self.process.wait(), STOPPED_WITHIN)
        self.process.kill()
        return await self.process.wait()


@dataclass
class Desk:
    """The house, and who may do what with it."""

    folder: Path
    server: str
    """PostgreSQL's URL, up to the database's name."""
    database: str = "desk"
    ports: Ports = field(default_factory=lambda: Ports(*free_ports(3)))
    extra: dict[str, str] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)
    _temporal: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def people(self) -> Path:
        return self.folder / "people.yaml"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **variables(f"{self.server}/{self.database}", self.ports),
            "ROUTER_DATA": str(self.folder / "own"),
            "ROUTER_DIRECTORY": str(self.people),
            "ROUTER_DIRECTORY_SECONDS": "5",
            "ROUTER_PAYLOAD_KEYS": KEYS,
            "ROUTER_LOG_FORMAT": "json",
            **self.extra,
        }

    async def temporal_up(self) -> None:
        """Start Temporal, with whatever is in its file."""
        held = self._temporal.enter_context(claimed(self.folder / "temporal"))
        await self._temporal.enter_async_context(
            temporal_server.running(held, self.ports, "default", {})
        )

    async def temporal_down(self) -> None:
        await self._temporal.aclose()

    async def start(
        self,
        *words: str,
        program: Sequence[str] = PROGRAM,
        cwd: Path | None = None,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> Program:
        """Start `intent-router` with these words, and these variables; it isn't waited for."""
        (port,) = free_ports(1)
        log = self.folder / f"{words[0]}-{len(self.programs)}.log"
        own = {"ROUTER_METRICS_HOST": "127.0.0.1", "ROUTER_METRICS_PORT": str(port)}
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *program,
                *words,
                env={**os.environ, **self.environment, **own, **given},
                stdout=DEVNULL,
                stderr=errors,
                cwd=cwd,
            )
        started = Program(process, log, f"http://127.0.0.1:{port}/metrics")
        self.programs.append(started)
        return started

    async def api(self, **more: str) -> Program:
        """Start `serve`."""
        return await self.start("serve", "--port", str(self.ports.api), given=more)

    async def worker(self, **more: str) -> Program:
        """Start `worker`."""
        return await self.start("worker", given=more)

    async def opened(self, **more: str) -> tuple[Program, Program]:
        """`serve` and `worker`, ready; as almost every drill begins."""
        await self.temporal_up()
        both = await self.api(**more), await self.worker(**more)
        await self.ready()
        return both

    async def ready(self) -> None:
        """Return once people would be let in."""
        await until("ready", self.is_ready)

    async def is_ready(self) -> bool:
        return (await self.readiness())[0] == 200

    async def readiness(self) -> tuple[int, dict[str, Any]]:
        """The status of `/readyz`, and what it says of each part."""
        async with httpx.AsyncClient(timeout=30) as client:
            answer = await client.get(f"{self.ports.api_url}/readyz")
        return answer.status_code, dict(answer.json())

    async def command(
        self, *words: str, program: Sequence[str] = PROGRAM, cwd: Path | None = None, **more: str
    ) -> tuple[int, str]:
        """A command of `intent-router` as an operator types it: its status, and what it said."""
        ended = await asyncio.to_thread(
            subprocess.run,
            [*program, *words],
            env={**os.environ, **self.environment, "ROUTER_LOG_FORMAT": "text", **more},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=cwd,
        )
        return ended.returncode, ended.stdout + ended.stderr

    async def doctor(self, says: str, **how: Any) -> bool:
        """True once `doctor` says this."""
        return says in (await self.command("doctor", **how))[1]

    async def operator(self, *words: str) -> str:
        """What a command says that asks the API, as somebody who may ask it for others."""
        token = mint(Settings.load(auth="jwt", jwt_secret=SECRET), "olga", 3600, "default")
        status, said = await self.command(*words, "--url", self.ports.api_url, ROUTER_TOKEN=token)
        assert status == 0, said
        return said

    async def temporal(self, *words: str) -> str:
        """A command of Temporal's own."""
        ended = await asyncio.to_thread(
            subprocess.run,
            [str(temporal_server.binary()), *words, "--address", self.ports.temporal_address],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    async def query(self, statement: str) -> list[Any]:
        """What the database has."""
        connection = await asyncpg.connect(f"{self.server}/{self.database}")
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    def person(self, user: str) -> "Person":
        settings = Settings.load(auth="jwt", jwt_secret=SECRET)
        headers = {"Authorization": f"Bearer {mint(settings, user, 86_400, 'default')}"}
        return Person(
            httpx.AsyncClient(base_url=f"{self.ports.api_url}/v1", headers=headers, timeout=60)
        )

    async def backup(self, into: str) -> None:
        """Keep both halves as they are now; nothing of ours may run, nor Temporal."""
        await make_database(self.server, into, self.database)
        kept = self.folder / into
        kept.mkdir()
        for file in (self.folder / "temporal").glob("temporal.db*"):
            shutil.copy2(file, kept)

    async def restore(self, kept: str, *, database: bool = False, temporal: bool = False) -> None:
        """Bring one half back as it was then, or both."""
        if database:
            self.database = f"{kept}_again"
            await make_database(self.server, self.database, kept)
        if temporal:
            for file in (self.folder / "temporal").glob("temporal.db*"):
                file.unlink()
            for file in (self.folder / kept).glob("temporal.db*"):
                shutil.copy2(file, self.folder / "temporal")

    async def close(self) -> None:
        for program in self.programs:
            await program.stopped(kill=True)
        await self.temporal_down()


@dataclass
class Person:
    """Somebody with a client of the API."""

    http: httpx.AsyncClient

    async def get(self, path: str) -> Any:
        return (await self.http.get(path)).raise_for_status().json()

    async def says(self, text: str, conversation: str | None = None) -> dict[str, Any]:
        """The turn that answers this, in a new conversation where none is named."""
        if conversation is None:
            made = await self.http.post("/conversations", json={})
            conversation = made.raise_for_status().json()["id"]
        turn, message_id = dict[str, Any](), uuid4().hex

        async def answered() -> bool:
            # On a machine that has much to do it is sent again, as a 503 says and a 202 allows.
            answer = await self.sends(conversation, text, message_id=message_id)
            turn.update(answer.raise_for_status().json())
            return answer.status_code == httpx.codes.OK

        await until(f"{text!r} is answered", answered)
        return {**turn, "conversation": conversation}

    async def sends(self, conversation: str, text: str, **more: str) -> httpx.Response:
        """What is answered to this, whatever it is."""
        path = f"/conversations/{conversation}/messages"
        return await self.http.post(path, json={"text": text, **more})

    async def hands_in(self, asks: str = REQUEST) -> str:
        """A leave request that waits for its approver; the run."""
        turn = await self.says(asks)
        return await self.confirms(turn["conversation"], str(turn["flow"]["id"]))

    async def confirms(self, conversation: str, run: str) -> str:
        """Say yes once it is asked, however slow the machine is; the run, which waits then."""
        await until("it is asked whether that is right", partial(self.sees, run, "confirming"))
        await self.says("yes", conversation)
        await until("it waits for its approver", partial(self.sees, run, "waiting_approval"))
        return run

    async def balance(self) -> float:
        """Days of annual leave that are left; asked anew where the desk couldn't look."""
        found = list[str]()

        async def told() -> bool:
            turn = await self.says(BALANCE)
            said = [reply["text"] for reply in turn["replies"]]
            found[:] = LEFT.findall("\n".join(said))
            return bool(found)

        await until("the balance is told", told)
        return float(found[0])

    async def run(self, run: str) -> dict[str, Any]:
        return dict(await self.get(f"/flow-runs/{run}"))

    async def inbox(self) -> list[dict[str, Any]]:
        return list((await self.get("/approvals"))["items"])

    async def decides(self, run: str, decision: str = "approve") -> httpx.Response:
        """The answer to a decision of what waits for them in this run."""
        (approval,) = [one for one in await self.inbox() if one["flow_run"] == run]
        body = {"decision": decision, "digest": approval["digest"]}
        return await self.http.post(f"/approvals/{approval['id']}/decision", json=body)

    async def sees(self, run: str, status: str) -> bool:
        """True once the run has this status."""
        return bool((await self.run(run))["status"] == status)

    async def takes_leave(self, run: str, approver: "Person", before: float) -> None:
        """What waited over the bad day is approved now, and takes its days once."""
        assert (await approver.decides(run)).status_code == 200
        await until("the leave is recorded", partial(self.sees, run, "completed"))
        assert await self.balance() == before - DAYS


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    """A house of which nothing runs yet but PostgreSQL; everything is stopped on leaving."""
    with postgres_server() as server:
        await make_database(server, "desk")
        house = Desk(folder, server)
        house.people.write_text(PEOPLE, "utf-8")
        try:
            yield house
        finally:
            await house.close()


Drill = Callable[[Desk, Stopwatch], Awaitable[None]]
DRILLS: dict[str, Drill] = {}
"""By the heading of its page in docs/operations.md."""


def drill(heading: str) -> Callable[[Drill], Drill]:
    """Make this one of those that `make drill` runs."""

    def taken(function: Drill) -> Drill:
        DRILLS[heading] = function
        return function

    return taken
