"""New versions beside what is under way: of a flow's file, and of the worker."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

import flows
from router.cli.checks.services import worker_builds, worker_version
from router.contracts import flow
from router.domain.errors import MisconfiguredError
from router.gateway import builds
from router.gateway.run_updates import definition_of
from router.runtime.composition import Parts
from router.runtime.definitions import load_capabilities
from router.runtime.worker import build_worker
from router.settings import Settings
from router.understanding.reader import Reader
from tests.temporal import dev_server, register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Approver, Talk, heard, person, run_of

SHIPPED = Path(flows.__path__[0]) / "leave_request.yaml"
NOT_YET = {
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.FAILED_PRECONDITION,
    RPCStatusCode.RESOURCE_EXHAUSTED,
}
"""The server hears of a version with the worker's first poll, and bears few questions a second."""
BETWEEN = 0.5
"""Seconds between questions: ten at once exhaust what a namespace may ask about deployments."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A flow file that may be edited."""
    folder = tmp_path / "flows"
    folder.mkdir()
    return Path(shutil.copy(SHIPPED, folder))


def now() -> datetime:
    return datetime.now(UTC)


def with_flows(parts: Parts, file: Path) -> Parts:
    """The same parts, with the flows of the file's folder as they are now."""
    settings = parts.settings.model_copy(update={"flows": file.parent})
    offered = load_capabilities(settings, parts.offered.registry, parts.offered.skills)
    return replace(parts, settings=settings, offered=offered, reader=Reader(offered.flows()))


def edited(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text)


class TestFlowFiles:
    async def test_runs_keep_a_file(self, real_client: Client, parts: Parts, file: Path) -> None:
        client, alice = real_client, await person(parts, "alice")
        bob = Approver(client, parts, "bob")
        talk = await Talk(client, parts, alice, queue="kept").open()
        async with build_worker(client, with_flows(parts, file), "kept"):
            began = await talk.waiting_leave()
        edited(file, ("version: 4", "version: 5"), ("> 3.0", "> 1.0"), ("好消息：", "第二版："))
        async with build_worker(client, with_flows(parts, file), "kept"):
            assert (await bob.decide(began, "approve")).status == "completed"
            await heard(talk, "好消息：")
            other = await Talk(client, parts, alice, queue="kept").open()
            fresh = await other.waiting_leave("我要请事假，12月14日到15日，家里有事")
            assert (await bob.decide(fresh, "approve")).state == "director"
            versions = [(await run_of(parts, run)).version for run in (began, fresh)]
            drawn = await definition_of(client, await run_of(parts, began))
        assert versions == [4, 5]
        assert drawn is not None
        assert drawn.version == 4

    @pytest.mark.slow
    async def test_a_run_that_temporal_does_not_know_has_no_definition(self, talk: Talk) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        gone = run.model_copy(update={"workflow_id": flow.workflow_id("x", "default", "gone")})
        assert await definition_of(talk.client, gone) is None


class TestWorkers:
    @pytest.mark.slow
    async def test_runs_stay_on_their_version_and_conversations_move(self, parts: Parts) -> None:
        async with await dev_server() as environment:
            client = environment.client
            await register_attributes(client)
            bob = Approver(client, parts, "bob")
            talk = await Talk(client, parts, await person(parts, "alice"), queue="desk").open()
            address = client.service_client.config.target_host
            old, new, none = (
                Settings.load(temporal_address=address, worker_deployment="desk", worker_version=v)
                for v in ("1.0", "2.0", None)
            )
            assert "take no part" in await worker_version(none)
            with pytest.raises(MisconfiguredError, match="no worker of the deployment desk"):
                await worker_version(old)
            async with released(client, parts, "1.0"):
                assert await worker_version(old) == "1.0 of desk is current"
                with pytest.raises(MisconfiguredError, match=r"nothing new runs on 2\.0: 1\.0 is"):
                    await worker_version(new)
                run = await run_of(parts, await talk.waiting_leave())
                assert await version_of(client, run.workflow_id) == "1.0"
                async with released(client, parts, "2.0"):
                    id_ = await talk.waiting_leave("我要请事假，12月14日到15日，家里有事")
                    fresh = await run_of(parts, id_)
                    assert (await bob.decide(run.id, "approve")).status == "completed"
                    assert await version_of(client, run.workflow_id) == "1.0"
                    assert await version_of(client, fresh.workflow_id) == "2.0"
                    assert await version_of(client, talk.handle.id) == "2.0"

    @pytest.mark.slow
    async def test_a_run_whose_build_has_no_worker_is_named_and_holds_nobody_up(
        self, parts: Parts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(builds, "STRANDED", timedelta(0))
        async with await dev_server() as environment:
            client = environment.client
            await register_attributes(client)
            talk = await Talk(client, parts, await person(parts, "alice"), queue="desk").open()
            address = client.service_client.config.target_host
            settings = Settings.load(
                temporal_address=address, worker_deployment="desk", task_queue="desk"
            )
            async with released(client, parts, "1.0"):
                run = await run_of(parts, await talk.waiting_leave())
            async with released(client, parts, "2.0"):
                assert await worker_builds(settings) == "no run waits for a build without a worker"
                await client.get_workflow_handle(run.workflow_id).signal("nudge")
                # Temporal's figures are some seconds old.
                async with asyncio.timeout(HANGS_AFTER_S):
                    while not await builds.stranded(client, "desk", ["desk"], now()):  # noqa: ASYNC110
                        await asyncio.sleep(BETWEEN)
                with pytest.raises(MisconfiguredError, match=r"stay on build 1\.0 wait .*auto_upg"):
                    await worker_builds(settings)
                assert await builds.waiting_seconds(client, "desk") == 0
                assert await builds.is_polled(client, "desk", now())
                await made_current(client, "3.0", polled=False)
                assert not await builds.is_polled(client, "desk", now())


@asynccontextmanager
async def released(client: Client, parts: Parts, build: str) -> AsyncIterator[None]:
    """A worker of this build, made the current one as docs/operations.md says."""
    named = {"worker_version": build, "worker_deployment": "desk"}
    settings = parts.settings.model_copy(update=named)
    async with build_worker(client, replace(parts, settings=settings), "desk"):
        await made_current(client, build)
        yield


async def made_current(client: Client, build: str, *, polled: bool = True) -> None:
    """What `temporal worker deployment set-current-version` asks of the server."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name="desk",
        build_id=build,
        identity="tests",
        allow_no_pollers=not polled,
    )
    async with asyncio.timeout(HANGS_AFTER_S):
        while not await _accepted(client, request):  # noqa: ASYNC110
            await asyncio.sleep(BETWEEN)


async def _accepted(client: Client, request: SetWorkerDeploymentCurrentVersionRequest) -> bool:
    try:
        await client.workflow_service.set_worker_deployment_current_version(request)
    except RPCError as error:
        if error.status not in NOT_YET:
            raise
        return False
    return True


async def version_of(client: Client, workflow_id: str) -> str:
    described = await client.get_workflow_handle(workflow_id).describe()
    versioning = described.raw_description.workflow_execution_info.versioning_info
    return versioning.deployment_version.build_id
