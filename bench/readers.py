"""Readers of one conversation: how late the last one is, and what each event costs.

The API runs here, over a SQLite file and without any Temporal server; its readers are another
process, each with a connection of its own. Rows are appended one by one, as a busy turn does it.
A row carries the moment when it was handed to the log, so that `last` is from there, writing
included, to the last of the readers; `CPU` is this process's alone.

    python bench/readers.py [EVENTS]
"""

import asyncio
import json
import resource
import socket
import statistics
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx2
from sqlalchemy import Engine, event
from temporalio.client import Client

from router.api.dependencies import Services
from router.domain.records import ConversationRecord, LogEntry
from router.runtime.composition import assembled
from router.runtime.server import ApiServer, create_app
from router.settings import Settings

GRACE = 2.0
"""Seconds that streams get to end in when the API is stopped."""
EVENTS = 200
READERS = (1, 10, 100)
APART = 0.02
"""Seconds between two rows."""
CONVERSATION = "bench"


async def read(port: int, readers: int, events: int) -> None:
    """Print `ready`, and once all is read how many ms after its writing each event was with all."""
    late: list[list[float]] = [[] for _ in range(events)]
    ready = asyncio.Semaphore(0)

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        path = f"/v1/conversations/{CONVERSATION}/events"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer alice\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"event: ping")
        ready.release()
        seen = 0
        while seen < events:
            line = await reader.readline()
            if line.startswith(b"data: ") and b'"text":' in line:
                now = time.monotonic()
                late[seen].append(now - float(json.loads(line[6:])["text"]))
                seen += 1
        writer.close()

    reading = [asyncio.create_task(one()) for _ in range(readers)]
    for _ in reading:
        await ready.acquire()
    print("ready", flush=True)
    await asyncio.gather(*reading)
    print(json.dumps([max(each) * 1000 for each in late]), flush=True)


@asynccontextmanager
async def house(folder: str):
    """The store and the port of an API without Temporal."""
    async with assembled(Settings.load(data=folder)) as parts:
        record = ConversationRecord(
            id=CONVERSATION, tenant="default", owner="alice", locale="zh", created_at=_now()
        )
        await parts.store.conversations.create(record)
        services = Services(
            settings=parts.settings,
            temporal=await Client.connect("127.0.0.1:1", lazy=True),
            store=parts.store,
            directory=parts.directory,
            offered=parts.offered,
            reader=parts.reader,
            index=parts.index,
        )
        server = ApiServer(create_app(services), GRACE)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(server.serve([listening]))
            port = listening.getsockname()[1]
            await _answers(port)
            yield parts.store, port
            server.stop()
            await serving


async def measure(readers: int, events: int) -> tuple[list[float], float, float]:
    """Per event: ms until the last reader has it; ms of CPU; SELECTs of the log."""
    selects = 0

    def note(_connection, _cursor, statement, *_):
        nonlocal selects
        selects += statement.startswith("SELECT") and "event_log" in statement

    with tempfile.TemporaryDirectory() as folder:
        async with house(folder) as (store, port):
            given = ("--read", str(port), str(readers), str(events))
            child = await asyncio.create_subprocess_exec(
                sys.executable, __file__, *given, stdout=asyncio.subprocess.PIPE
            )
            assert child.stdout is not None
            await child.stdout.readline()
            event.listen(Engine, "before_cursor_execute", note)
            began = _cpu()
            for number in range(events):
                await store.log.append("default", [_row(number)])
                await asyncio.sleep(APART)
            late = json.loads(await child.stdout.readline())
            cost = _cpu() - began
            event.remove(Engine, "before_cursor_execute", note)
            await child.wait()
    return late, cost * 1000 / events, selects / events


def _row(number: int) -> LogEntry:
    said = {"role": "user", "text": repr(time.monotonic())}
    return LogEntry(
        key=f"bench:{number}", kind="message", at=_now(), conversation=CONVERSATION, data=said
    )


async def _answers(port: int) -> None:
    async with httpx2.AsyncClient(timeout=30) as client:
        await client.get(f"http://127.0.0.1:{port}/healthz")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _now() -> datetime:
    return datetime.now(UTC)


def main() -> None:
    if sys.argv[1:2] == ["--read"]:
        asyncio.run(read(*map(int, sys.argv[2:])))
        return
    events = int(sys.argv[1]) if sys.argv[1:] else EVENTS
    print(f"{events} events to")
    print(f"{'readers':>8}{'last p50':>11}{'last p95':>11}{'CPU':>10}{'SELECTs':>10}")
    for readers in READERS:
        late, cost, selects = asyncio.run(measure(readers, events))
        p50, p95 = statistics.median(late), statistics.quantiles(late, n=20)[-1]
        print(f"{readers:>8}{p50:>8.1f} ms{p95:>8.1f} ms{cost:>7.2f} ms{selects:>10.2f}")


if __name__ == "__main__":
    main()
