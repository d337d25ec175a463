"""Models and tools on task queues of their own, with a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from router.api.turns import Turns
from router.contracts import flow
from router.contracts.conversation import Submission, workflow_id
from router.domain.errors import MisconfiguredError
from router.domain.messages import Message, Turn
from router.domain.records import ConversationRecord
from router.extension import Extension, WorkerPart, WorkKind
from router.gateway.builds import is_polled
from router.runtime import extension_work
from router.runtime.composition import Parts
from router.runtime.extensions import Extensions, LoadedExtension
from router.runtime.worker import build_workers
from tests.unit.runtime import badge_workflows as badges
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import person

TURNS, TOOLS, MODELS = "own-turns", "own-tools", "own-models"
ASKED = "年假还剩几天"


@pytest.fixture
def own(parts: Parts) -> Parts:
    return with_queues(parts)


def with_queues(parts: Parts, **more: object) -> Parts:
    own = {"task_queue": TURNS, "tool_queue": TOOLS, "model_queue": MODELS, **more}
    return replace(parts, settings=parts.settings.model_copy(update=own))


@asynccontextmanager
async def at_work(client: Client, parts: Parts, *kinds: WorkKind) -> AsyncIterator[list[str]]:
    """The queues that are polled meanwhile."""
    workers = build_workers(client, parts, kinds)
    async with AsyncExitStack() as stack:
        for worker in workers.values():
            await stack.enter_async_context(worker)
        yield list(workers)


async def asked(client: Client, parts: Parts, id_: str, text: str = ASKED) -> Turn:
    frank = await person(parts, "frank")
    record = ConversationRecord(
        id=id_, tenant=frank.tenant, owner=frank.id, locale="en", created_at=datetime.now(UTC)
    )
    await parts.store.conversations.create(record)
    submission = Submission(message_id="m", message=Message(text=text), caller=frank)
    turn = await Turns(client, TURNS).submit(record, submission, 30)
    assert turn is not None
    return turn


async def queues_of(client: Client, id_: str, turn: Turn) -> dict[str, str]:
    """The queue that each activity of a conversation, and of its run, was sent to, by its name."""
    ids = [workflow_id("default", id_)]
    if turn.flow is not None:
        ids.append(flow.workflow_id(turn.flow.name, "default", turn.flow.id))
    histories = [await client.get_workflow_handle(each).fetch_history() for each in ids]
    sent = [e.activity_task_scheduled_event_attributes for h in histories for e in h.events]
    return {each.activity_type.name: each.task_queue.name for each in sent if each.activity_id}


async def test_tools_and_models_are_asked_on_their_queues(real_client: Client, own: Parts) -> None:
    async with (
        at_work(real_client, own, "turns") as turns,
        at_work(real_client, own, "models", "tools") as others,
    ):
        turn = await asked(real_client, own, "queues1")
        assert (turns, others) == ([TURNS], [MODELS, TOOLS])
        undecided = await asked(real_client, own, "queues3", "zebra crossing xylophone")
    assert (await queues_of(real_client, "queues3", undecided))["decide"] == MODELS
    assert turn.tool_calls[0].status == "done"
    sent = await queues_of(real_client, "queues1", turn)
    assert sent.pop("get_leave_balance") == TOOLS
    assert set(sent.values()) <= {TURNS}


@pytest.mark.slow
async def test_activities_of_an_extension_go_to_the_queue_of_their_kind_or_the_one_they_name(
    real_client: Client, own: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = WorkerPart(
        [badges.Printing], {"turns": [badges.BadgePrinter], "tools": [badges.find_badge]}
    )
    added = type("Badges", (Extension,), {"name": "badges", "worker_part": lambda _: part})()
    found = Extensions([LoadedExtension(added, "acme-badges")])
    monkeypatch.setattr(extension_work, "load_configured", lambda settings: found)
    elsewhere = Worker(real_client, task_queue="acme", activities=[badges.find_badge])

    async with (
        at_work(real_client, own, "turns"),
        at_work(real_client, own, "tools"),
        elsewhere,
    ):
        printing = await real_client.start_workflow(
            "badges.Printing", args=["7", "acme"], id="badge/default/7", task_queue=TURNS
        )
        assert await printing.result() == ["7 found", "7 found", f"7 printed, asked on {TURNS}"]

    history = await printing.fetch_history()
    sent = [event.activity_task_scheduled_event_attributes for event in history.events]
    assert {
        (each.activity_type.name, each.task_queue.name) for each in sent if each.activity_id
    } == {
        ("badges.find_badge", TOOLS),
        ("badges.find_badge", "acme"),
        ("badges.print_badge", TURNS),
    }


async def test_without_own_queues_all_is_where_turns_are(real_client: Client, own: Parts) -> None:
    own = with_queues(own, tool_queue=None, model_queue=None)
    async with at_work(real_client, own, "turns", "models", "tools") as queues:
        assert queues == [TURNS]
        turn = await asked(real_client, own, "queues2")
    assert set((await queues_of(real_client, "queues2", turn)).values()) == {TURNS}


async def test_who_polls_is_known_by_queue(real_client: Client, own: Parts) -> None:
    own = with_queues(own, task_queue="seen-turns", tool_queue="seen-tools")
    async with at_work(real_client, own, "tools"):
        async with asyncio.timeout(HANGS_AFTER_S):
            while not await is_polled(real_client, "seen-tools", datetime.now(UTC)):  # noqa: ASYNC110 - Temporal's doing
                await asyncio.sleep(0.05)
        assert not await is_polled(real_client, "seen-turns", datetime.now(UTC))


async def test_a_rate_holds_for_the_whole_queue(real_client: Client, own: Parts) -> None:
    # They are never run: the server keeps their queues taken until they are gone.
    queues = {"tool_queue": "rated-tools", "model_queue": "rated-models"}
    own = with_queues(own, tool_calls_per_second=3.5, **queues)
    workers = build_workers(real_client, own, ["tools", "models"])
    rates = {q: w.config()["max_task_queue_activities_per_second"] for q, w in workers.items()}
    assert rates == {"rated-tools": 3.5, "rated-models": None}


@pytest.mark.parametrize(("kind", "variable"), [("models", "MODEL"), ("tools", "TOOL")])
async def test_a_kind_without_a_queue_is_nothing_to_poll(
    real_client: Client, own: Parts, kind: WorkKind, variable: str
) -> None:
    own = with_queues(own, tool_queue=None, model_queue=None)
    with pytest.raises(MisconfiguredError, match=f"set ROUTER_{variable}_QUEUE, or add turns"):
        build_workers(real_client, own, [kind])
