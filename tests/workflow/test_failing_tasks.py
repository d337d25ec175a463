"""A defect in a task of a run or conversation: Temporal shows it, and nothing is lost by it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHandle

from router.contracts import flow as contract
from router.contracts.flow import (
    DecisionTaken,
    ExternalEvent,
    FlowAnswer,
    FlowStart,
    StopReason,
    Tell,
)
from router.contracts.start_options import TASK_TIMEOUT
from router.domain.hooks import TurnEvent
from router.flow.definition import FlowDefinition
from router.flow.engine import machine
from router.flow.engine.events import Arrived, Began, Fired, Puzzled
from router.flow.view import FlowView
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.tool.hook import hook
from router.tool.tool import Tool, tool
from tests.workflow.desk import defined, person, words
from tests.workflow.failures import failure_of
from tests.workflow.tooled import Tooled, furnished
from workflows import hook_runs, tasks

PARCEL = defined("""
    flow: parcel
    version: 1
    title: {zh: 寄件, en: Parcel}
    description: {zh: 寄一个包裹。, en: Send a parcel.}
    start: order
    states:
      order: {call: order_parcel, next: rest}
      rest: {wait: {for: PT0.1S}, next: sent}
      sent: {say: {zh: 寄出了。, en: It is sent.}, end: completed}
""")
FETCHED = defined("""
    flow: fetched
    version: 1
    title: {zh: 寄件, en: Parcel}
    description: {zh: 等人来取包裹。, en: Wait until a parcel is fetched.}
    start: rest
    states:
      rest: {wait: {for: PT0.1S}, next: kept}
      kept: {wait: {event: fetched, roles: [employee]}, next: sent}
      sent: {say: {zh: 寄出了。, en: It is sent.}, end: completed}
""")

CENTURY = defined("""
    flow: century
    version: 1
    title: {zh: 寄存, en: Deposit}
    description: {zh: 存一件东西。, en: Keep something.}
    start: rest
    states:
      rest: {wait: {for: P36525D}, next: done}
      done: {say: {zh: 好了。, en: Done.}, end: completed}
""")


@dataclass
class Post:
    """Counts the parcels that were ordered."""

    ordered: int = 0

    def tools(self) -> list[Tool]:
        async def order_parcel() -> JsonValue:
            """Order a parcel."""
            self.ordered += 1
            return "ordered"

        return [tool(permission="write")(order_parcel)]


async def started(
    client: Client, parts: Parts, queue: str, definition: FlowDefinition = PARCEL
) -> WorkflowHandle[Any, Any]:
    """Start a run of the flow."""
    alice = await person(parts, "alice")
    start = FlowStart(
        definition=definition,
        requester=alice,
        conversation=None,
        locale="en",
        opening=Began(by=alice.id),
    )
    id_ = contract.workflow_id(definition.flow, alice.tenant, uuid4().hex[:12])
    return await client.start_workflow(
        contract.WORKFLOW,
        start,
        id=id_,
        task_queue=queue,
        task_timeout=TASK_TIMEOUT,
        result_type=DecisionTaken,
    )


def failing(function: Callable[..., Any], when: Callable[..., bool], times: int) -> Any:
    """The function with a defect: it fails so often where the arguments are such."""
    left = [times]

    def faulty(*args: Any, **kwargs: Any) -> Any:
        if when(*args) and left[0]:
            left[0] -= 1
            raise RuntimeError("planted")
        return function(*args, **kwargs)

    return faulty


def always(*_: object) -> bool:
    return True


def of_timer(*args: Any) -> bool:
    return any(isinstance(each, Fired) for each in args)


@pytest.mark.parametrize(
    ("module", "name", "when", "task"),
    [(tasks, "called", always, "'order:1 in order'"), (machine, "step", of_timer, "in rest'")],
    ids=["a call", "a timer"],
)
async def test_a_defect_in_a_runs_task_is_shown_and_the_run_continues_without_it(
    real_client: Client,
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    when: Callable[..., bool],
    task: str,
) -> None:
    post, queue = Post(), uuid4().hex
    monkeypatch.setattr(module, name, failing(getattr(module, name), when, 1))
    async with furnished(parts, post.tools()) as house, build_worker(real_client, house, queue):
        handle = await started(real_client, house, queue)
        failure, ended = await failure_of(handle), await handle.result()
    assert task in failure.message
    assert failure.message.endswith("failed: RuntimeError: planted")
    assert (ended.status, post.ordered) == ("completed", 1)


@pytest.mark.slow
async def test_the_next_deployment_continues_a_run_and_answers_what_waited_for_its_task(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = uuid4().hex
    async with furnished(parts, []) as house:
        with monkeypatch.context() as planted:
            planted.setattr(machine, "step", failing(machine.step, of_timer, 1_000))
            async with build_worker(real_client, house, queue):
                handle = await started(real_client, house, queue, FETCHED)
                await failure_of(handle)
                puzzled = Tell(event=Puzzled(by="alice"), locale="en")
                sending = handle.execute_update(contract.TELL, puzzled, result_type=FlowAnswer)
                asking = asyncio.create_task(sending)
        async with build_worker(real_client, house, queue):
            answer = await asking
            fetched = ExternalEvent(event=Arrived(name="fetched"), roles=frozenset({"employee"}))
            await handle.execute_update(contract.HAPPEN, fetched)
            ended = await handle.result()
    assert (answer.view.status, ended.status) == ("waiting", "completed")


async def test_a_defect_in_calling_a_hook_is_shown_and_the_turn_is_answered(
    tooled: Tooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch(event: TurnEvent) -> None:
        """Look on."""
        del event

    monkeypatch.setattr(hook_runs, "_called", failing(vars(hook_runs)["_called"], always, 1))
    async with tooled([], hooks=[hook("after_turn")(watch)]) as talk:
        turn = await talk.say("hello")
        failure = await failure_of(talk.handle)
    assert failure.message == "the task 'hook watch' failed: RuntimeError: planted"
    assert (turn.status, bool(words(turn))) == ("done", True)


async def test_a_run_can_wait_for_the_longest_duration_that_a_file_may_give(
    real_client: Client, parts: Parts
) -> None:
    queue = uuid4().hex
    async with furnished(parts, []) as house, build_worker(real_client, house, queue):
        handle = await started(real_client, house, queue, CENTURY)
        view: FlowView = await handle.query(contract.VIEW, result_type=FlowView)
        await handle.signal(contract.STOP, StopReason())
        ended = await handle.result()
    assert (view.status, ended.status) == ("waiting", "cancelled")
