"""The floor as processes: HTTP in front of a bare workflow that keeps one row, as lean as it gets.

`POST /BareKept/turn/ID` is a turn of the workflow ID, begun by its first one, whose body is what
is said; `/BareKept/called/ID` one with an activity, `/BareToldAndKept/turn/ID` one that tells
another workflow. No JSON, no types, no checks; SQLite and asyncpg by hand. `load.py` starts it, so
that this file, printing nothing, is no benchmark by itself.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import asyncpg
import uvicorn
from bare import BareKept, BareSecond, BareTeller, BareToldAndKept, bare_do, bare_read
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio import activity
from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError
from temporalio.worker import Worker

from router.telemetry.loop_stalls import measure_stalls

QUEUE = "bare"
TABLE = "CREATE TABLE IF NOT EXISTS kept (id TEXT PRIMARY KEY, said TEXT NOT NULL)"
INSERT = "INSERT INTO kept VALUES ({})"

Keep = Callable[[str], Awaitable[None]]


async def run(part: str, port: int, temporal: str, database: str, cached: int) -> None:
    """Be the `api`, a `worker`, or `both` in one process, until killed."""
    client = await Client.connect(temporal)
    parts: list[Awaitable[object]] = [measure_stalls()]
    if part != "api":
        parts.append(_worker(client, await _keeping(database), cached).run())
    if part != "worker":
        config = uvicorn.Config(_app(client), port=port, log_config=None, access_log=False)
        parts.append(uvicorn.Server(config).serve())
    await asyncio.gather(*parts)


def _worker(client: Client, keep: Keep, cached: int) -> Worker:
    @activity.defn
    async def bare_keep(word: str) -> str:
        await keep(word)
        return word

    return Worker(
        client,
        task_queue=QUEUE,
        workflows=[BareKept, BareToldAndKept, BareSecond],
        activities=[bare_keep, bare_do, bare_read, BareTeller(client).bare_tell],
        max_cached_workflows=cached,
    )


async def _keeping(database: str) -> Keep:
    return await (_in_postgres(database) if "://" in database else _in_sqlite(database))


async def _in_sqlite(file: str) -> Keep:
    """With the settings of the product's own writer: one thread, WAL, no wait for the disk."""
    thread, loop = ThreadPoolExecutor(1), asyncio.get_running_loop()

    def opened() -> sqlite3.Connection:
        connection = sqlite3.connect(file, isolation_level=None)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", TABLE):
            connection.execute(statement)
        return connection

    connection = await loop.run_in_executor(thread, opened)
    insert = INSERT.format("?, ?")

    async def keep(word: str) -> None:
        await loop.run_in_executor(thread, connection.execute, insert, (uuid4().hex, word))

    return keep


async def _in_postgres(url: str) -> Keep:
    pool = await asyncpg.create_pool(url)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(1)")  # two workers at once
        await connection.execute(TABLE)
    insert = INSERT.format("$1, $2")

    async def keep(word: str) -> None:
        await pool.execute(insert, uuid4().hex, word)

    return keep


async def _taken(client: Client, workflow: str, update: str, id_: str, word: str) -> str:
    start: WithStartWorkflowOperation = WithStartWorkflowOperation(
        workflow, id=id_, task_queue=QUEUE, id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING
    )
    said: str = await client.execute_update_with_start_workflow(
        update, word, start_workflow_operation=start, id=uuid4().hex, result_type=str
    )
    return said


def _app(client: Client) -> Starlette:
    async def turn(request: Request) -> PlainTextResponse:
        about = (request.path_params[part] for part in ("workflow", "update", "id"))
        word = (await request.body()).decode()
        try:
            return PlainTextResponse(await _taken(client, *about, word))
        except RPCError as error:  # Temporal's own limits: ten at once of one workflow, say
            return PlainTextResponse(error.message, status_code=503)

    async def second(request: Request) -> PlainTextResponse:
        id_ = f"second-{request.path_params['id']}"
        await client.start_workflow("BareSecond", id=id_, task_queue=QUEUE)
        return PlainTextResponse(id_)

    async def ready(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ready")

    async def metrics(_: Request) -> Response:
        return Response(generate_latest())

    return Starlette(
        routes=[
            Route("/readyz", ready),
            Route("/metrics", metrics),
            Route("/BareSecond/{id}", second, methods=["POST"]),
            Route("/{workflow}/{update}/{id}", turn, methods=["POST"]),
        ]
    )
