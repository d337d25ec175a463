"""A conversation whose task fails again and again: whoever looks sees it, until it is mended."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.cli.checks import services
from router.cli.reconcile import Case, reconciled
from router.domain.errors import MisconfiguredError
from router.gateway import failing_workflows
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from router.telemetry.temporal_logs import RUN_NAMES
from tests.integration.gateway.failing import until
from tests.workflow.desk import Talk, person
from tests.workflow.test_streaming import served
from workflows.conversation import ConversationWorkflow

pytestmark = pytest.mark.slow

QUEUE = "failing"
SECRET = "她的工资是一万二"


@pytest.fixture
async def house(
    real_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Parts]:
    monkeypatch.setattr(failing_workflows, "LOOK_INTERVAL_S", 0.2)
    async with (
        at_work(Settings.load(data=tmp_path)) as parts,
        build_worker(real_client, parts, QUEUE),
    ):
        yield parts


@pytest.fixture
async def talk(real_client: Client, house: Parts) -> Talk:
    return await Talk(real_client, house, await person(house, "alice"), queue=QUEUE).open()


@pytest.fixture
async def api(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with served(house, real_client, QUEUE) as client:
        yield client


def settings_of(talk: Talk) -> Settings:
    return talk.parts.settings.model_copy(
        update={
            "task_queue": QUEUE,
            "temporal_address": talk.client.service_client.config.target_host,
            "temporal_namespace": talk.client.namespace,
        }
    )


async def listed(api: AsyncClient) -> list[dict[str, Any]]:
    """The operators' list."""
    answer = await api.get("/v1/failing-workflows", headers={"Authorization": "Bearer olga"})
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def readiness(api: AsyncClient) -> dict[str, str]:
    """The check of workflows, after the second for which an answer counts."""
    checks: dict[str, dict[str, str]] = (await api.get("/readyz")).json()["checks"]
    return checks["workflows"]


async def differences(settings: Settings) -> list[Case]:
    """What `reconcile` finds."""
    cases = list[Case]()
    await reconciled(settings, None, cases.extend, confirmed=False)
    return [case for case in cases if case.kind == "failing"]


async def test_a_planted_defect_is_seen_everywhere_and_gone_once_it_is_mended(
    talk: Talk, api: AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, failing_workflows.__name__)
    await talk.say("你好")
    settings = settings_of(talk)
    id_ = talk.handle.id
    assert (await readiness(api))["status"] == "ready"
    assert await services.workflows(settings) == "no workflow's task fails again and again"

    with monkeypatch.context() as planted:

        def defect(*_: Any, **__: Any) -> Any:
            raise OverflowError(SECRET)

        planted.setattr(ConversationWorkflow, "_answer", defect, raising=True)
        saying = asyncio.create_task(talk.say("还在吗"))
        (item,) = await until(lambda: listed(api), lambda items: len(items) == 1)
        assert item["temporal"]["workflow_id"] == id_
        assert item["error"].startswith("OverflowError at workflow/test_failing_workflows.py:")
        ready = await until(lambda: readiness(api), lambda check: check["status"] == "degraded")
        assert id_ in ready["detail"]
        assert "OverflowError" in ready["detail"]
        with pytest.raises(MisconfiguredError, match="deploy the version from before") as raised:
            await services.workflows(settings)
        assert id_ in str(raised.value)
        assert SECRET in str(raised.value)
        (case,) = await differences(settings)
        assert (case.workflow_id, case.mend) == (id_, None)
        assert "OverflowError" in case.why
        warnings = [r.getMessage() for r in caplog.records if id_ in r.getMessage()]
        assert any("again and again" in line and "OverflowError" in line for line in warnings)
        assert SECRET not in json.dumps([item, ready, case.why], ensure_ascii=False)
        assert RUN_NAMES.find(item["temporal"]["run_id"])["workflow_id"] == id_

    await asyncio.gather(saying, return_exceptions=True)  # its caller may have been told 503
    await until(lambda: listed(api), lambda items: not items)
    await until(lambda: readiness(api), lambda check: check["status"] == "ready")
    await services.workflows(settings)
    assert not await differences(settings)


async def test_who_is_no_operator_finds_no_such_list(api: AsyncClient) -> None:
    assert (await api.get("/v1/failing-workflows")).status_code == 404
