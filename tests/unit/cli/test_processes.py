"""`intent-router serve` and `worker`: processes of their own over PostgreSQL and Temporal."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from router.cli.checks import CHECKS, examine
from router.dev import readiness, temporal_server
from router.dev.data_folder import claimed
from router.dev.ports import Ports
from tests.unit.dev.test_pieces import free_ports
from tests.unit.store.postgres_server import make_database, postgres_server

pytestmark = pytest.mark.xdist_group("dev")


@asynccontextmanager
async def running(environment: Mapping[str, str], *words: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "router", *words, env={**os.environ, **environment}, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def stopped(process: Process) -> int:
    process.terminate()
    async with asyncio.timeout(10):
        return await process.wait()


@asynccontextmanager
async def deployment(tmp_path: Path, ports: Ports) -> AsyncIterator[dict[str, str]]:
    """The servers that the two need; gives the variables that name them."""
    with postgres_server() as postgres, claimed(tmp_path / "data") as folder:
        database = await make_database(postgres, "deployed")
        async with temporal_server.running(folder, ports, "default", {}):
            yield {
                "ROUTER_DATABASE_URL": database.replace("postgresql:", "postgresql+asyncpg:"),
                "ROUTER_TEMPORAL_ADDRESS": ports.temporal_address,
                "ROUTER_AUTH": "jwt",
                "ROUTER_JWT_SECRET": "a secret of at least thirty-two bytes",
            }


async def test_answer_together_and_stop_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = free_ports()
    async with deployment(tmp_path, ports) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        await readiness.success(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            running(environment, "worker") as worker,
        ):
            await readiness.success(f"{ports.api_url}/readyz")
            assert await said_to(ports.api_url, await token(environment), "我要请年假") == "flow"
            checks = {name: CHECKS[name] for name in ("database", "namespace", "search attributes")}
            assert [finding.fine for finding in await examine(checks)] == [True, True, True]
            assert (await stopped(worker), await stopped(api)) == (0, 0)


async def test_say_where_temporal_should_be(tmp_path: Path) -> None:
    ports = free_ports()
    with postgres_server() as postgres:
        database = await make_database(postgres, "alone")
        environment = {
            "ROUTER_DATABASE_URL": database.replace("postgresql:", "postgresql+asyncpg:"),
            "ROUTER_TEMPORAL_ADDRESS": ports.temporal_address,
        }
        async with running(environment, "worker") as worker:
            _, errors = await worker.communicate()
    assert worker.returncode == 1
    assert f"ROUTER_TEMPORAL_ADDRESS={ports.temporal_address}" in errors.decode()
    assert "Traceback" not in errors.decode()


async def token(environment: Mapping[str, str]) -> str:
    command = (sys.executable, "-m", "router", "token", "--user", "alice")
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **environment}, stdout=PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def said_to(url: str, bearer: str, text: str) -> str:
    """Where the text went, as the first message of a new conversation."""
    headers = {"Authorization": f"Bearer {bearer}"}
    async with httpx.AsyncClient(base_url=f"{url}/v1", headers=headers, timeout=60) as client:
        made = (await client.post("/conversations", json={})).raise_for_status().json()
        turn = await client.post(f"/conversations/{made['id']}/messages", json={"text": text})
        return str(turn.raise_for_status().json()["route"]["kind"])
