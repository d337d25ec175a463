"""Runs whose workflow is gone, or whose row and workflow are of different moments."""

from datetime import timedelta
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client
from temporalio.service import RPCError

from router.cli.checks import services
from router.domain.errors import MisconfiguredError
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import AuditFilter, RunRecord
from router.gateway import lost_runs
from router.gateway.lost_runs import Misfit, misfits
from router.runtime import server
from router.runtime.composition import Parts
from router.store.retention import PersonErasure
from tests.workflow.desk import QUEUE, Talk, person, run_of


@pytest.fixture
async def talk(real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """A conversation of alice's, in a house where two minutes are over at once."""
    monkeypatch.setattr(lost_runs, "QUIET", timedelta())
    return await Talk(real_client, parts, await person(parts, "alice")).open()


async def look(talk: Talk) -> None:
    """What the API does once a minute."""
    settings = talk.parts.settings.model_copy(update={"task_queue": QUEUE})
    await server.look_for_lost_runs(talk.client, talk.parts.store, settings)


async def found(talk: Talk, run: str) -> list[Misfit]:
    everything = await misfits(talk.client, talk.parts.store.runs, QUEUE)
    return [misfit for misfit in everything if misfit.run == run]


async def terminated(talk: Talk) -> RunRecord:
    """A request that waits for bob, whose workflow was ended with Temporal's own button."""
    run = await run_of(talk.parts, await talk.waiting_leave())
    assert not await found(talk, run.id)
    await talk.client.get_workflow_handle(run.workflow_id).terminate("by hand")
    return run


async def decided(api: AsyncClient, approval: str) -> tuple[int, str]:
    answer = await api.post(
        f"/v1/approvals/{approval}/decision",
        json={"decision": "approve"},
        headers={"Authorization": "Bearer bob"},
    )
    return answer.status_code, answer.json()["detail"]


async def news_of(talk: Talk, who: str, run: str) -> list[dict[str, Any]]:
    news = await talk.parts.store.log.news(DEFAULT_TENANT, who, 0, 5000)
    return [entry.data for entry in news if entry.data.get("flow_run") == run]


async def test_a_run_whose_workflow_was_ended_is_noticed_and_both_people_are_told_once(
    talk: Talk, api: AsyncClient
) -> None:
    run = await terminated(talk)
    store = talk.parts.store
    (approval,) = await store.runs.awaited(DEFAULT_TENANT, [run.id])
    status, said = await decided(api, approval.id)
    assert (status, "中断" in said) == (409, True)
    await look(talk)
    now = await run_of(talk.parts, run.id)
    assert (now.status, now.history[-1].event, now.state) == ("waiting", "lost", run.state)
    assert not await store.runs.awaited(DEFAULT_TENANT, [run.id])
    assert [d["reason"] for d in await news_of(talk, "bob", run.id)][-1] == "lost"
    assert (await decided(api, approval.id))[0] == 409
    await look(talk)
    assert len([line for line in await talk.texts() if "中断了" in line]) == 1
    assert len(await news_of(talk, "bob", run.id)) == 2
    lines, _ = await store.trail.listed(DEFAULT_TENANT, AuditFilter(subject=run.id), None, 9)
    assert [(line.act, line.who) for line in lines] == [("run.lost", "process:upkeep")]
    held = await api.get(
        "/v1/flow-runs?all=true&held=true&limit=200", headers={"Authorization": "Bearer olga"}
    )
    assert run.id in [item["id"] for item in held.json()["items"]]


async def test_what_was_lost_no_longer_keeps_its_approver_from_being_erased(talk: Talk) -> None:
    run = await terminated(talk)
    (approval,) = await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])
    await look(talk)
    database = talk.parts.store.runs._database
    awaited = (await PersonErasure(database, DEFAULT_TENANT, "bob").holdings()).awaited
    assert approval.id not in awaited


async def test_doctor_names_the_lost_run_and_what_to_do(talk: Talk) -> None:
    run = await terminated(talk)
    address = talk.client.service_client.config.target_host
    settings = talk.parts.settings.model_copy(
        update={"task_queue": QUEUE, "temporal_address": address}
    )
    named = rf"lost: run {run.id} .*, of alice\): its workflow was terminated"
    with pytest.raises(MisconfiguredError, match=named) as raised:
        await services.runs(settings)
    assert "intent-router reconcile" in str(raised.value)


async def test_nothing_is_lost_while_temporal_is_away(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await terminated(talk)

    def away(*_: Any, **__: Any) -> Any:
        raise RPCError("away", 14, b"")  # type: ignore[arg-type]

    monkeypatch.setattr(talk.client, "list_workflows", away)
    with pytest.raises(RPCError):
        await look(talk)
    assert (await run_of(talk.parts, run.id)).status == "waiting_approval"


async def test_many_at_once_are_left_to_an_operator(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FEW", 0)
    run = await terminated(talk)
    await look(talk)
    assert (await run_of(talk.parts, run.id)).status == "waiting_approval"
