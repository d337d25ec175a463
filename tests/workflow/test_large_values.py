"""Values that grow without end in real life: approvers, unfinished requests, results of tools.

Temporal terminates a workflow that sets too large a search attribute, and refuses to continue one
as new that carries too much. None of that may happen to a run or a conversation.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from temporalio.client import Client

from router.domain.principals import Principal
from router.flow.engine.decisions import MAX_APPROVERS
from router.runtime.composition import Parts
from tests.workflow.desk import Talk, becomes, defined, flow_of, words
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
