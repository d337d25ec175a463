"""Values that grow without end in real life: approvers, unfinished requests, results of tools.

Temporal terminates a workflow that sets too large a search attribute, and refuses to continue one
as new that carries too much. None of that may happen to a run or a conversation.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.client import Client, WorkflowHandle

from router.contracts.conversation_state import MAX_PAUSED
from router.contracts.flow import OPERATE, TELL, OperatorAction, Tell
from router.domain.locale import Localised
from router.domain.messages import Turn
from router.domain.principals import Principal
from router.flow import paused
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Nudged, Retried
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import MAX_APPROVERS
from router.flow.engine.run_parts.work import Work
from router.flow.slot_types.slot import Choice, Slot
from router.runtime.composition import Parts
from router.tool.tool import tool
from tests.unit.flow.definitions import text
from tests.workflow.desk import Talk, becomes, defined, flow_of, run_of, texts, withdrawn, words
from tests.workflow.tooled import talking

CROWD_APPROVES = defined("""
flow: ask_crowd
version: 1
title: {zh: "问大家", en: "Ask the crowd"}
description: {zh: "请大家同意。", en: "Have the crowd agree."}
triggers: {patterns: ["问大家"]}
start: crowd
states:
  crowd:
    approve: {by: "role('crowd')", title: {zh: "同意吗", en: "Agreed?"}}
    approved: tell_yes
    rejected: tell_no
  tell_yes: {say: {zh: "通过了。", en: "Approved."}, end: completed}
  tell_no: {say: {zh: "没通过。", en: "Rejected."}, end: rejected}
""")


REQUEST = """
flow: {name}
version: 1
title: {{zh: "{verb}东西", en: "{name}"}}
description: {{zh: "{verb}一样东西。", en: "{name} something."}}
triggers: {{patterns: ["{verb}(?P<what>第[0-9]+件)"]}}
slots:
  what: {{type: text, label: {{zh: "东西", en: "Thing"}}, ask: {{zh: "什么？", en: "What?"}}}}
  day: {{type: date, label: {{zh: "日期", en: "Day"}}, ask: {{zh: "哪天要？", en: "When?"}}}}
start: details
states:
  details: {{collect: [what, day], next: done}}
  done: {{say: {{zh: "{verb}好了。", en: "Done."}}, end: completed}}
"""
VERBS = {"buy": "订", "rent": "租"}
FLOWS = [defined(REQUEST.format(name=name, verb=verb)) for name, verb in VERBS.items()]
"""Two flows: while one asks, only what starts the other is no answer."""


def with_many_choices(flow: FlowDefinition, number: int) -> FlowDefinition:
    """The flow with one more slot, which nothing collects: 260 bytes for each of its choices."""
    label = Localised(zh="选" * 30, en="Choose " * 20)
    choices = {f"choice_{n}": Choice(label=label) for n in range(number)}
    slot = Slot(type="choice", required=False, choices=choices)
    return flow.model_copy(update={"slots": {**flow.slots, "kind": slot}})


class Crowd:
    """A directory in which so many more people hold the role `crowd`."""

    def __init__(self, directory: Any, number: int) -> None:
        self._directory = directory
        self.people = [
            Principal(id=f"person-{n:04}", name=f"员工{n}号", roles=frozenset({"crowd"}))
            for n in range(number)
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._directory, name)

    async def find(self, tenant: str, user: str) -> Principal | None:
        known = {person.id: person for person in self.people}
        return known.get(user) or await self._directory.find(tenant, user)

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        return self.people if role == "crowd" else await self._directory.holding(tenant, role)


@asynccontextmanager
async def crowded(client: Client, parts: Parts, number: int) -> AsyncIterator[tuple[Talk, Crowd]]:
    crowd: Any = Crowd(parts.directory, number)
    house = replace(parts, directory=crowd)
    async with talking(client, house, [], flows=[CROWD_APPROVES]) as talk:
        yield talk, crowd


async def found(client: Client, query: str) -> list[str]:
    """The workflows that Temporal finds; what was set a moment ago takes a moment."""
    for _ in range(500):
        if there := [one.id async for one in client.list_workflows(query)]:
            return there
        await asyncio.sleep(0.02)
    return []


async def test_a_hundred_people_are_asked_and_any_of_them_decides(
    real_client: Client, parts: Parts
) -> None:
    async with crowded(real_client, parts, 100) as (talk, crowd):
        turn = await talk.say("问大家")
        run = flow_of(turn).id
        listed = await found(
            real_client, f"Assignee = '{crowd.people[0].id}' AND FlowName='ask_crowd'"
        )
        record = await talk.approver(crowd.people[99].id).waiting(run)
        taken = await talk.approver(crowd.people[99].id).decide(record, "approve")
        ended = await real_client.get_workflow_handle(record.workflow_id).result()

    assert "员工0号、员工1号、员工2号、员工3号、员工4号 等 100 人" in words(turn)
    assert flow_of(turn).status == "waiting_approval"
    assert record.workflow_id in listed
    assert taken.status == "completed"
    assert ended == {"status": "completed", "state": "tell_yes"}


async def test_more_people_than_one_approval_takes_are_an_operators_to_see_to(
    real_client: Client, parts: Parts
) -> None:
    async with crowded(real_client, parts, MAX_APPROVERS + 1) as (talk, _):
        run = flow_of(await talk.say("问大家")).id
        held = await becomes(talk.parts, run, lambda found: found.status == "waiting")

    over, last = held.history[-2:]
    assert (over.event, last.event) == ("over limit", "held")
    assert over.comment == (
        f"role('crowd') names {MAX_APPROVERS + 1} people; one approval asks or tells "
        f"{MAX_APPROVERS} at most. Name fewer in the directory and retry, or terminate the run"
    )


async def orders(talk: Talk, number: int) -> list[Turn]:
    """Begin so many requests, each of which sets the one before aside."""
    return [await talk.say(f"{'租' if n % 2 else '订'}第{n}件") for n in range(number)]


async def test_the_oldest_of_too_many_requests_is_put_away_and_can_be_taken_up_again(
    real_client: Client, parts: Parts
) -> None:
    async with talking(real_client, parts, [], flows=FLOWS) as talk:
        first, *_, before, last = await orders(talk, MAX_PAUSED + 2)
        status = await talk.status()
        put_away = await run_of(talk.parts, flow_of(first).id)
        resumed = await talk.press("choose", value=paused.value(put_away.id))
    assert "收起来" not in words(before)
    assert words(last) == (
        "这里最多同时放 20 件没办完的事，最早的“订东西”（东西 第0件）先收起来了，什么都没有提交。"
        "填过的都还在，想接着办，说“继续刚才的订东西”就行。\n哪天要？"
    )
    assert len(status.paused_flows) == MAX_PAUSED
    assert put_away.status == "expired"
    assert flow_of(resumed).id != put_away.id
    assert flow_of(resumed).slots == {"what": "第0件"}
    # The one that was asked waits in its turn, and the oldest but one had to make room for it.
    assert "“租东西”（东西 第1件）先收起来了" in words(resumed)


@pytest.mark.slow
async def test_a_conversation_lives_on_with_more_unfinished_requests_than_it_could_carry(
    real_client: Client, parts: Parts
) -> None:
    # Of each of these 32 KB were carried, 2.5 MB in all.
    flows = [with_many_choices(flow, 120) for flow in FLOWS]
    async with talking(real_client, parts, [], flows=flows) as talk:
        await orders(talk, 80)
        turn = await talk.say("2026-12-01")
        carried = await started(talk.handle)
    assert texts(turn)[0] == "租好了。"
    assert carried.continued_execution_run_id
    assert carried.ByteSize() < 100_000


@tool(permission="read", title={"zh": "查档", "en": "Fetch"})
async def fetch() -> str:
    """Almost the longest result that a tool may have."""
    return "x" * 60_000


def fetching(number: int, then: dict[str, Any]) -> FlowDefinition:
    """A flow that saves so many results, all of which its last state reads."""
    states: dict[str, dict[str, Any]] = {
        f"s{n}": {"call": "fetch", "save": f"r{n}", "next": f"s{n + 1}"} for n in range(number)
    }
    read = " ".join(f"{{{{ results.r{n}|length }}}}" for n in range(number))
    states[f"s{number}"] = then
    states["done"] = {"say": {"zh": read, "en": read}, "end": "completed"}
    about = {"title": text("Fetch"), "description": text("Fetches."), "start": "s0"}
    triggers = {"patterns": ["fetch all"]}
    given = {"flow": "fetching", "version": 1, "states": states, "triggers": triggers}
    return FlowDefinition.model_validate({**about, **given})


APPROVED = {"approve": {"by": "'bob'", "title": text("Right?")}, "approved": "done"}


async def test_a_run_with_more_results_than_it_could_carry_waits_for_an_operator(
    real_client: Client, parts: Parts
) -> None:
    flows = [fetching(45, APPROVED | {"rejected": "done"})]
    async with talking(real_client, parts, [fetch], flows=flows) as talk:
        run = flow_of(await talk.say("fetch all")).id
        held = await becomes(talk.parts, run, lambda found: found.status == "waiting")
        handle = real_client.get_workflow_handle(held.workflow_id)
        retried = await handle.execute_update(OPERATE, OperatorAction(event=Retried(by="olga")))
        await withdrawn(talk, run)
        over = await becomes(talk.parts, run, lambda found: found.status == "cancelled")
    over_limit, last = held.history[-2:]
    assert (over_limit.event, last.event) == ("over limit", "held")
    most = f"in its work, the run carries 780,243 bytes, and {Work.max_bytes:,} are the most"
    assert f"{most}: results.r0 (60,002 bytes)" in str(over_limit.comment)
    assert retried["status"] == "waiting"
    assert [line.event for line in over.history][-2:] == ["withdrawn", "cancelled"]


async def started(handle: WorkflowHandle[Any, Any]) -> WorkflowExecutionStartedEventAttributes:
    """How the workflow run that goes on now began."""
    first = (await handle.fetch_history()).events[0]
    return first.workflow_execution_started_event_attributes


@pytest.mark.slow
async def test_a_run_that_is_almost_full_continues_as_new_and_is_decided(
    real_client: Client, parts: Parts
) -> None:
    flows = [fetching(12, APPROVED | {"rejected": "done"})]
    async with talking(real_client, parts, [fetch], flows=flows) as talk:
        run = flow_of(await talk.say("fetch all")).id
        record = await becomes(talk.parts, run, lambda found: found.status == "waiting_approval")
        handle = real_client.get_workflow_handle(record.workflow_id)
        nudge = Tell(event=Nudged(by="alice"), locale="zh", aside=True)
        for number in range(40):
            await handle.execute_update(TELL, nudge, id=f"nudge-{number}")
        carried = await started(handle)
        while not carried.continued_execution_run_id:
            carried = await started(handle)
        await talk.approver("bob").decide(run, "approve")
        await becomes(talk.parts, run, lambda found: found.status == "completed")
    assert 12 * 60_000 < carried.ByteSize() < Run.max_bytes
