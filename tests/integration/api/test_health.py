"""Whether it is ready, and what of it is not."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.api.routes import health
from router.gateway.failing_workflows import FailingWorkflowMonitor
from router.llm.fallback import FallbackChains
from router.retrieval.index import CapabilityIndex
from router.secrecy.redaction import redact
from router.settings import Fallback
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.fakes.encoder import PairsEncoder
from tests.fakes.model_server import ModelServer, fails
from tests.integration.api.conftest import capability, desk, problem
from tests.table import each_row


async def test_without_a_model_it_is_degraded(alice: AsyncClient) -> None:
    answer = await alice.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    states = {name: check["status"] for name, check in answer.json()["checks"].items()}
    names = ("temporal", "worker", "database", "embedder", "workflows")
    ready = dict.fromkeys(names, "ready")
    assert states == ready | {"llm": "degraded"}
    assert (await alice.get("/healthz")).json() == {"status": "ok"}


@each_row(
    ("listing", "status", "said"),
    [
        (None, "ready", "qwen at "),
        (fails(404), "ready", "qwen at "),
        (fails(503), "degraded", "answers 503"),
        (fails(401), "degraded", "refuses the key (401)"),
        ("nowhere", "degraded", "can't be reached"),
    ],
)
async def test_a_model_counts_where_its_server_answers(
    services: Services, listing: Any, status: str, said: str
) -> None:
    async with ModelServer() as server:
        nowhere = listing == "nowhere"
        server.listing = server.listing if nowhere else listing or server.listing
        found = await llm(services, "http://127.0.0.1:9/v1" if nowhere else server.url)
    assert found["status"] == status
    assert said in found["detail"]


@each_row(
    ("states", "status"),
    [
        ({"qwen at x": "closed"}, "ready"),
        ({"qwen at x": "open"}, "degraded"),
        ({"qwen at x": "half-open"}, "degraded"),
        ({"qwen at x": "open", "big at y": "closed"}, "ready"),
    ],
)
async def test_a_model_that_is_left_alone_is_told(
    services: Services, states: dict[str, str], status: str
) -> None:
    async with ModelServer() as server:
        found = await llm(
            replace(services, chains=cast("FallbackChains", SimpleNamespace(states=states))),
            server.url,
        )
    assert found["status"] == status
    assert ("qwen at x is left alone" in found["detail"]) is (states["qwen at x"] != "closed")


async def test_a_server_that_is_away_is_named_though_another_answers(services: Services) -> None:
    async with ModelServer() as server:
        big = Fallback(base_url="http://127.0.0.1:9/v1", model="big")
        found = await llm(services, server.url, llm_fallbacks=[big])
    assert found["status"] == "ready"
    assert "http://127.0.0.1:9/v1 can't be reached" in found["detail"]


@each_row("up", [True, False])
async def test_a_models_address_is_shown_without_secrets(services: Services, up: bool) -> None:
    async with ModelServer() as server:
        host = server.url.removeprefix("http://").removesuffix("/v1") if up else "127.0.0.1:9"
        found = await llm(services, f"http://me:hunter2@{host}/v1?key=hunter3")
    assert "hunter" not in str(found)
    assert host in found["detail"]


async def test_findings_are_kept(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = services.settings.task_queue
    probe = health.Probe(services, FailingWorkflowMonitor(services.temporal, queue))
    first, *others = await asyncio.gather(*(probe.readiness() for _ in range(5)))
    assert all(other is first for other in others)
    monkeypatch.setattr(health, "FRESH", 0)
    assert await probe.readiness() is not first


async def llm(services: Services, url: str, **more: Any) -> dict[str, str]:
    async with desk(services, llm_base_url=url, llm_model="qwen", **more) as client:
        checks: dict[str, dict[str, str]] = (await client.get("/readyz")).json()["checks"]
    return checks["llm"]


async def test_an_encoder_that_fails_is_told(services: Services) -> None:
    encoder = PairsEncoder()
    encoder.broken = True
    index = CapabilityIndex(encoder)
    await index.update([capability("tool", "look")])
    async with desk(replace(services, index=index)) as client:
        told = (await client.get("/readyz")).json()["checks"]["embedder"]
    assert told["status"] == "degraded"
    assert "out of reach" in told["detail"]


async def test_a_database_that_only_reads_is_down(services: Services, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/reads.db")
    await database.migrate(ROUTER)
    await database.write(lambda c: c.exec_driver_sql("PRAGMA query_only = ON").close())
    async with desk(replace(services, store=Store(database))) as client:
        answer = await client.get("/readyz")
    await database.dispose()
    assert answer.status_code == 503
    assert "readonly database" in answer.json()["checks"]["database"]["detail"]


async def test_a_disk_that_fills_up_is_told(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LITTLE", 2**60)
    async with desk(services) as client:
        told = (await client.get("/readyz")).json()["checks"]["database"]
    assert told["status"] == "degraded"
    assert "MiB are left where ROUTER_DATA is: make room" in told["detail"]


async def test_an_address_is_the_operators_business(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = Store(Database("postgresql://u@127.0.0.1:9/router"))
    async with desk(replace(services, store=nowhere)) as client:
        asked = await client.get("/v1/conversations", headers={"Authorization": "Bearer alice"})
        told = problem(asked, 503)["detail"]
    assert told == "数据库现在用不了，请稍后再试；管理员可以在日志里看到原因。"
    assert "127.0.0.1:9" in redact(caplog.text)


async def test_without_a_worker_or_a_database_it_is_down(services: Services) -> None:
    nowhere = Store(Database("postgresql://u:hunter2@127.0.0.1:9/router"))
    async with (
        desk(services, task_queue="deserted") as workerless,
        desk(replace(services, store=nowhere)) as forgetful,
    ):
        for client, said in ((workerless, "deserted"), (forgetful, "database")):
            answer = await client.get("/readyz")
            assert (answer.status_code, answer.json()["status"]) == (503, "down")
            assert said in answer.text
            assert "hunter2" not in answer.text
