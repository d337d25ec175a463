"""`intent-router serve` and `worker`: processes of their own over PostgreSQL and Temporal."""

import asyncio
from pathlib import Path

import pytest

from router.cli.doctor import CHECKS, examine
from tests.deployed import deployment, last_words, ready, running, said_to, token
from tests.postgres import make_database, postgres_server
from tests.unit.runtime.test_pieces import free_ports

STOPPED_WITHIN = 10.0


async def test_answer_together_and_stop_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = free_ports()
    async with deployment(tmp_path, ports) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            running(environment, "worker") as worker,
        ):
            await ready(f"{ports.api_url}/readyz")
            assert await said_to(ports.api_url, await token(environment), "我要请年假") == "flow"
            checks = {name: CHECKS[name] for name in ("database", "namespace", "search attributes")}
            assert [finding.fine for finding in await examine(checks)] == [True, True, True]
            for process in (worker, api):
                async with asyncio.timeout(STOPPED_WITHIN):
                    status, _ = await last_words(process)
                assert status == 0


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
