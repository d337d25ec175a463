"""Runs whose workflow is gone, or whose row and workflow are of different moments."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from sqlalchemy import Table, delete, update
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from company.people.people import human_resources
from company.people.records import Owner
from router.cli import processes
from router.cli.checks import services
from router.cli.reconcile import Case, reconciled
from router.cli.reconcile import reconcile as command
from router.domain.errors import Forbidden, MisconfiguredError
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import ApprovalRecord, AuditFilter, RunRecord
from router.flow.engine.events import Nudged
from router.gateway import lost_runs, run_updates
from router.gateway.executions import delete_histories, newest
from router.gateway.generations import agree, check_halves
from router.gateway.lost_runs import Misfit, misfits, note_lost, place_of
from router.runtime import dev, server
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from router.store import tables
from router.store.erasure import PersonErasure
from router.telemetry import metrics
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, becomes, person, run_of
from tests.workflow.test_streaming import served

QUEUE = "lost-runs"

OF_RUNS = (tables.approvals, tables.run_files, tables.run_people)
"""Tables whose rows are of a run."""


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Parts]:
    """A house of its own: whatever other tests leave under way has no workflow here."""
    async with at_work(Settings.load(data=tmp_path_factory.mktemp("lost"))) as parts:
        alice = Owner(tenant=DEFAULT_TENANT, person="alice")
        people = await parts.dependencies.resolve(human_resources)
        await people.leave.entitle(alice, "annual", 2026, Decimal(365))
        async with build_worker(real_client, parts, QUEUE):
            yield parts


@pytest.fixture
async def talk(real_client: Client, house: Parts, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """A conversation of alice's, where two minutes are over at once."""
    monkeypatch.setattr(lost_runs, "QUIET", timedelta())
    return await Talk(real_client, house, await person(house, "alice"), queue=QUEUE).open()


@pytest.fixture
async def api(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with served(house, real_client, QUEUE) as client:
        yield client


async def look(talk: Talk) -> None:
    """What the API does once a minute."""
    settings = talk.parts.settings.model_copy(update={"task_queue": QUEUE})
    await server.look_for_lost_runs(talk.client, talk.parts.store, settings)


def settings_of(talk: Talk) -> Settings:
    address = talk.client.service_client.config.target_host
    here = {"task_queue": QUEUE, "temporal_address": address}
    here["temporal_namespace"] = talk.client.namespace
    return talk.parts.settings.model_copy(update=here)


async def found(talk: Talk, run: str) -> list[Misfit]:
    everything = await misfits(talk.client, talk.parts.store.runs, QUEUE)
    return [misfit for misfit in everything if misfit.run == run]


async def terminated(talk: Talk) -> RunRecord:
    """A request that waits for bob, whose workflow was ended with Temporal's own button."""
    run = await run_of(talk.parts, await talk.waiting_leave())
    assert not await found(talk, run.id)
    await talk.client.get_workflow_handle(run.workflow_id).terminate("by hand")
    await listed(talk, run, "Terminated")
    return run


async def listed(talk: Talk, run: RunRecord, status: str) -> None:
    """Return once Temporal's lists, which lag, have it so."""
    query = f"WorkflowId = '{run.workflow_id}' AND ExecutionStatus = '{status}'"
    async with asyncio.timeout(HANGS_AFTER_S):
        while not (await talk.client.count_workflows(query)).count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def decided(api: AsyncClient, approval: str, digest: str = "unseen") -> tuple[int, str]:
    answer = await api.post(
        f"/v1/approvals/{approval}/decision",
        json={"decision": "approve", "digest": digest},
        headers={"Authorization": "Bearer bob"},
    )
    return answer.status_code, answer.json()["detail"]


async def news_of(talk: Talk, who: str, run: str) -> list[dict[str, Any]]:
    news = await talk.parts.store.log.news(DEFAULT_TENANT, who, 0, 5000)
    return [entry.data for entry in news if entry.data.get("flow_run") == run]


@pytest.mark.slow
async def test_a_run_whose_workflow_was_ended_is_noticed_and_both_people_are_told_once(
    talk: Talk, api: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await terminated(talk)
    store = talk.parts.store
    (approval,) = await store.runs.awaited(DEFAULT_TENANT, [run.id])
    status, said = await decided(api, approval.id)
    assert (status, "中断" in said) == (409, True)
    await look(talk)
    monkeypatch.setattr(lost_runs, "QUIET", timedelta(hours=1))
    assert [misfit.kind for misfit in await found(talk, run.id)] == ["lost"]
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


@pytest.mark.slow
async def test_what_was_lost_no_longer_keeps_its_approver_from_being_erased(talk: Talk) -> None:
    run = await terminated(talk)
    (approval,) = await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])
    await look(talk)
    database = talk.parts.store.runs._database
    awaited = (await PersonErasure(database, DEFAULT_TENANT, "bob").holdings()).awaited
    assert approval.id not in awaited


@pytest.mark.slow
async def test_doctor_names_the_lost_run_and_what_to_do(talk: Talk) -> None:
    run = await terminated(talk)
    named = rf"lost: run {run.id} .*, of alice\): its workflow was terminated"
    with pytest.raises(MisconfiguredError, match=named) as raised:
        await services.runs(settings_of(talk))
    assert "intent-router reconcile" in str(raised.value)


@pytest.mark.slow
async def test_doctor_says_what_goes_on_that_a_key_of_before_encrypted(talk: Talk) -> None:
    await talk.waiting_leave()
    await services.payload_keys(settings_of(talk))
    await talk.parts.store.key_seals.keep("k0", b"a seal")
    with pytest.raises(MisconfiguredError, match=r"\d+ workflows go on and may need the keys k0"):
        await services.payload_keys(settings_of(talk))


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


@pytest.mark.slow
async def test_many_at_once_are_left_to_an_operator(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FEW", 0)
    run = await terminated(talk)
    await look(talk)
    assert (await run_of(talk.parts, run.id)).status == "waiting_approval"


async def reconcile(talk: Talk, run: str, *, confirmed: bool) -> Case | None:
    """What the command finds of one run; whatever tests left besides it mends as well."""
    cases = await everything(settings_of(talk), confirmed=confirmed)
    return next((case for case in cases if case.subject == run), None)


async def everything(settings: Settings, *, confirmed: bool) -> list[Case]:
    """All that the command finds."""
    cases = list[Case]()
    await reconciled(settings, None, cases.extend, confirmed=confirmed)
    return cases


async def set_back(talk: Talk, to: RunRecord, approvals: Sequence[ApprovalRecord]) -> None:
    """Have the database be as it was: with an older row, and without what came after."""
    database = talk.parts.store.runs._database
    gone = [delete(table).filter_by(run=to.id) for table in OF_RUNS]
    gone += [
        delete(tables.runs).filter_by(id=to.id),
        delete(tables.effects).where(tables.effects.c.key.startswith(to.workflow_id)),
    ]
    await database.write(lambda connection: [connection.execute(each) for each in gone])
    if approvals:
        await talk.parts.store.runs.publish(to, approvals)


class TestReconcile:
    @pytest.mark.slow
    async def test_the_command_says_what_it_would_do_and_refuses_until_it_may(
        self,
        talk: Talk,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        run = await terminated(talk)
        settings = settings_of(talk)
        monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", settings.temporal_address)
        monkeypatch.setenv("ROUTER_TEMPORAL_NAMESPACE", settings.temporal_namespace)
        monkeypatch.setenv("ROUTER_TASK_QUEUE", QUEUE)

        async def typed(**options: Any) -> str:
            await asyncio.to_thread(command, data=settings.data, **options)
            return capsys.readouterr().out

        with pytest.raises(Forbidden, match="nothing was done about it: add --yes"):
            await typed()
        told = capsys.readouterr().out
        assert f"{run.workflow_id}  its workflow was terminated  end it as failed" in told
        rows = json.loads(await typed(yes=True, as_json=True))
        (row,) = [each for each in rows if each["flow_run"] == run.id]
        assert (row["kind"], row["failed"]) == ("lost", None)
        assert await typed() == "the database and Temporal agree on everything\n"

    @pytest.mark.slow
    async def test_a_lost_run_is_closed_only_when_told_to_and_its_people_hear_of_it(
        self, talk: Talk
    ) -> None:
        run = await terminated(talk)
        case = await reconcile(talk, run.id, confirmed=False)
        assert case is not None
        assert (case.kind, case.failed) == ("lost", "")
        assert await run_of(talk.parts, run.id) == run
        assert await reconcile(talk, run.id, confirmed=True)
        now = await run_of(talk.parts, run.id)
        assert (now.status, [line.event for line in now.history][-2:]) == (
            "failed",
            ["lost", "failed"],
        )
        assert [d["reason"] for d in await news_of(talk, "bob", run.id)][-1] == "lost"
        assert [d.get("status") for d in await news_of(talk, "alice", run.id)][-1] == "failed"
        assert any("请重新提交" in line for line in await talk.texts())
        lines, _ = await talk.parts.store.trail.listed(
            DEFAULT_TENANT, AuditFilter(subject=run.id), None, 9
        )
        assert [line.act for line in lines] == ["run.reconcile"]
        assert await reconcile(talk, run.id, confirmed=True) is None

    @pytest.mark.slow
    async def test_a_workflow_of_a_run_that_has_ended_is_ended_and_what_was_done_stays(
        self, talk: Talk
    ) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        ended = run.model_copy(update={"status": "completed", "events": run.events + 3})
        await talk.parts.store.runs.publish(ended, [])
        (misfit,) = await found(talk, run.id)
        assert misfit.kind == "ended"
        # Temporal's older half goes on, and comes past where the row was.
        for _ in range(4):
            await run_updates.tell(talk.client, run, talk.person, Nudged(by="alice"), uuid4().hex)
        assert (await run_of(talk.parts, run.id)).status == "completed"
        assert await reconcile(talk, run.id, confirmed=True)
        described = await talk.client.get_workflow_handle(run.workflow_id).describe()
        assert described.status is WorkflowExecutionStatus.TERMINATED
        assert (await run_of(talk.parts, run.id)).status == "completed"
        await listed(talk, run, "Terminated")
        assert await reconcile(talk, run.id, confirmed=False) is None

    @pytest.mark.slow
    @pytest.mark.parametrize("row", ["older", "none"])
    async def test_an_older_database_gets_what_has_completed_and_is_told_what_it_lost(
        self, talk: Talk, row: str
    ) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        asked = await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])
        await talk.approver("bob").decide(run.id, "approve")
        done = await becomes(talk.parts, run.id, lambda each: each.status == "completed")
        await listed(talk, run, "Completed")
        await set_back(talk, run, asked if row == "older" else [])
        case = await reconcile(talk, run.id, confirmed=False)
        assert case is not None
        assert case.kind == "behind"
        assert ["record_leave" in each for each in case.look_at] == [True]
        assert await reconcile(talk, run.id, confirmed=True)
        now = await run_of(talk.parts, run.id)
        assert (now.status, now.history, now.remedy) == ("completed", done.history, done.remedy)
        assert not await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])
        (line,) = await talk.parts.store.ledger.of_run(run.workflow_id)
        assert (line.tool, line.status) == ("record_leave", "done")
        assert await reconcile(talk, run.id, confirmed=False) is None

    @pytest.mark.slow
    async def test_a_run_that_the_database_lost_goes_on_and_can_be_decided(
        self, talk: Talk
    ) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        await set_back(talk, run, [])
        assert [misfit.kind for misfit in await found(talk, run.id)] == ["behind"]
        assert await reconcile(talk, run.id, confirmed=True)
        await talk.approver("bob").decide(run.id, "approve")
        await becomes(talk.parts, run.id, lambda each: each.status == "completed")

    @pytest.mark.slow
    async def test_an_older_workflow_has_its_run_set_back_and_people_asked_again(
        self, talk: Talk
    ) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        further = run.model_copy(update={"state": "director", "events": run.events + 2})
        await talk.parts.store.runs.publish(further, [])
        case = await reconcile(talk, run.id, confirmed=True)
        assert case is not None
        assert case.kind == "ahead"
        assert (await run_of(talk.parts, run.id)).state == run.state
        await talk.approver("bob").decide(run.id, "approve")
        await becomes(talk.parts, run.id, lambda each: each.status == "completed")

    @pytest.mark.slow
    async def test_what_was_found_lost_by_mistake_is_published_anew(self, talk: Talk) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        await note_lost(talk.parts.store, Misfit("lost", *place_of(run.workflow_id), "", "gone"))
        assert (await run_of(talk.parts, run.id)).status == "waiting"
        assert await reconcile(talk, run.id, confirmed=True)
        assert (await run_of(talk.parts, run.id)).status == "waiting_approval"
        assert await talk.approver("bob").waiting(run.id)

    @pytest.mark.slow
    async def test_reconciling_is_its_own_worker_where_none_dares_to_start(
        self, real_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lost_runs, "QUIET", timedelta())
        monkeypatch.setattr("router.cli.reconcile.is_polled", nobody)
        address = real_client.service_client.config.target_host
        given = Settings.load(
            data=tmp_path,
            temporal_address=address,
            temporal_namespace=real_client.namespace,
            task_queue="alone",
        )
        async with at_work(given) as parts:
            async with build_worker(real_client, parts, "alone"):
                talk = Talk(real_client, parts, await person(parts, "alice"), queue="alone")
                run = await run_of(parts, await (await talk.open()).waiting_leave())
                further = run.model_copy(update={"state": "director", "events": run.events + 2})
                await parts.store.runs.publish(further, [])
            houses = parts.store.houses
            await agree(real_client, houses, "alone")
            await houses.set((await houses.known()).number + 30)
            with pytest.raises(MisconfiguredError, match="Temporal is older"):
                await processes.work(given)
            assert await everything(given, confirmed=False) == []
            (case,) = await everything(given, confirmed=True)
            assert (case.kind, case.failed) == ("ahead", "")
            assert (await run_of(parts, run.id)).state == run.state
            await check_halves(real_client, houses, "alone")


class TestReconcileWithinTheDatabase:
    @pytest.mark.slow
    async def test_nobody_is_asked_any_more_for_a_run_that_has_ended(self, talk: Talk) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        (asked,) = await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])
        await values_of(talk, tables.runs, run.id, status="cancelled")
        case = await reconcile(talk, asked.id, confirmed=False)
        assert case is not None
        assert (case.kind, case.why) == ("approval", "waits for bob, and its run is cancelled")
        assert await talk.approver("bob").waiting(run.id)
        assert await reconcile(talk, asked.id, confirmed=True)
        assert await reconcile(talk, asked.id, confirmed=False) is None
        assert not await talk.parts.store.runs.awaited(DEFAULT_TENANT, [run.id])

    @pytest.mark.slow
    async def test_who_was_asked_is_asked_again_where_that_got_lost(self, talk: Talk) -> None:
        run = await run_of(talk.parts, await talk.waiting_leave())
        database = talk.parts.store.runs._database
        gone = delete(tables.approvals).filter_by(run=run.id)
        await database.write(lambda connection: connection.execute(gone))
        case = await reconcile(talk, run.id, confirmed=True)
        assert case is not None
        assert (case.kind, case.why) == ("behind", "asks for other decisions in Temporal")
        await talk.approver("bob").decide(run.id, "approve")
        await becomes(talk.parts, run.id, lambda each: each.status == "completed")

    @pytest.mark.slow
    async def test_a_write_of_a_run_that_nobody_knows_is_listed_until_that_is_noted(
        self, talk: Talk
    ) -> None:
        key = f"leave_request/default/{uuid4().hex[:12]}:record:1"
        await talk.parts.store.ledger.begin(key, "record_leave", "d")
        await talk.parts.store.ledger.begin("default/alice/m1:1", "record_leave", "d")
        for confirmed in (False, True):
            case = await reconcile(talk, key, confirmed=confirmed)
            assert case is not None
            assert (case.kind, case.look_at) == ("unowned", [f"record_leave ({key}) is begun"])
        assert await reconcile(talk, key, confirmed=False) is None
        assert await talk.parts.store.ledger.find(key)


class TestConversationsThatLostTheirWorkflow:
    @pytest.mark.slow
    async def test_one_that_was_ended_goes_on_with_all_it_knew(self, talk: Talk) -> None:
        await talk.say("我要请年假，12月7日到8日，家里有事")
        await talk.handle.terminate("a slip")
        case = await reconcile(talk, talk.id, confirmed=True)
        assert case is not None
        assert (case.kind, case.why) == ("conversation", "its workflow was terminated")
        assert await reconcile(talk, talk.id, confirmed=False) is None
        assert (await talk.say("确认")).flow.status == "waiting_approval"  # type: ignore[union-attr]

    @pytest.mark.slow
    async def test_where_its_history_is_gone_too_its_owner_is_told_once_what_is_forgotten(
        self, talk: Talk
    ) -> None:
        first = await talk.say("我要请年假，12月7日到8日，家里有事", "m1")
        await talk.handle.terminate("a slip")
        await forgotten(talk)
        case = await reconcile(talk, talk.id, confirmed=True)
        assert case is not None
        assert case.why == "its workflow isn't in Temporal"
        assert await reconcile(talk, talk.id, confirmed=False) is None
        assert len([line for line in await talk.texts() if "系统出过故障" in line]) == 1
        assert await talk.say("我要请年假，12月7日到8日，家里有事", "m1") == first

    @pytest.mark.slow
    async def test_a_message_that_comes_again_is_answered_as_before_whoever_reconciled(
        self, talk: Talk
    ) -> None:
        first = await talk.say("我要请年假，12月7日到8日，家里有事", "m1")
        await talk.handle.terminate("a slip")
        await forgotten(talk)
        counted = metrics.CUT_OFF._value.get()
        assert await talk.say("我要请年假，12月7日到8日，家里有事", "m1") == first
        assert metrics.CUT_OFF._value.get() == counted + 1


async def values_of(talk: Talk, table: Table, id_: str, **values: object) -> None:
    """Change a row as no transaction of ours does."""
    change = update(table).filter_by(id=id_).values(**values)
    await talk.parts.store.runs._database.write(lambda connection: connection.execute(change))


async def forgotten(talk: Talk) -> None:
    """Have Temporal forget the conversation's workflow, as one whose database is gone has."""
    execution = await newest(talk.client, talk.handle.id)
    assert execution is not None
    await delete_histories(talk.client, [execution])
    async with asyncio.timeout(HANGS_AFTER_S):
        while await newest(talk.client, talk.handle.id):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def nobody(*_: object) -> bool:
    return False


async def test_dev_says_in_a_line_that_a_file_is_older_and_goes_on(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    houses = talk.parts.store.houses
    await agree(talk.client, houses, "dev")
    await houses.set((await houses.known()).number + 9)
    await dev._made_one(talk.client, houses, "dev")
    assert "aren't of one moment" in caplog.records[-1].message
    await check_halves(talk.client, houses, "dev")
