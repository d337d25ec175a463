"""`kill -9` of the worker again and again while a sub-agent is at work.

It ends with the answer that it would have had anyway. What a model answered is paid for once,
unless the worker died before anybody had heard of the answer; each tool has its effect once.
"""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowHistory

from router.contracts import skill_run as contract
from router.contracts.activities import Account
from router.contracts.flow import CallLimits
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.routing.skill_context import STEP_TOKENS
from router.routing.skill_step import SkillTask
from router.skill.skill import Skill
from tests.e2e.mortal import Mortal
from tests.e2e.mortal_worker import Plan
from tests.fakes.bank import Bank
from tests.fakes.model_server import ModelServer, calls, says
from tests.fakes.web_server import Received, Reply
from tests.temporal import dev_server

ALICE = Principal(id="alice", name="Alice")
NAME = Localised(zh="查单助手", en="Clerk")
CLERK = Skill(
    name="clerk",
    title=NAME,
    description=NAME,
    instructions="Check every order.",
    max_turns=100,
    token_budget=10**9,
)
PATIENT = CallLimits(timeout=timedelta(seconds=1.5), attempts=5, heartbeat=timedelta(seconds=1))

FEW = ("answered", "after")
MANY = ("answered", *("before", "during", "after") * 6, "answered")
"""Where the worker dies at each step: with the model's answer, before the bank has the order,
before its answer is read, before Temporal has that. Whether it thinks is looked after only every
ten seconds, so that the first is the slowest."""


class Script:
    """A model that has one order after the other checked, one a step.

    `asked` has the step of every request, in their order. When a step is asked for the first
    time, the worker's next death is arranged.
    """

    def __init__(self, deaths: tuple[str, ...], folder: Path) -> None:
        self.asked: list[int] = []
        self._deaths = deaths
        self.folder = folder

    def __call__(self, received: Received) -> Reply:
        step = sum(message["role"] == "assistant" for message in received.body["messages"])
        if step not in self.asked and step < len(self._deaths):
            (self.folder / self._deaths[step]).touch()
        self.asked.append(step)
        if step < len(self._deaths):
            return calls(("check", {"order": f"O{step}"}))(received)
        return says("都查过了。")(received)


async def lived_through(client: Client, worker: Mortal, deaths: int) -> tuple[SkillOutcome, Any]:
    """How the run ends whose worker dies so often, and what Temporal wrote down of it."""
    now = datetime.now(UTC)
    start = SkillStart(
        task=SkillTask(skill=CLERK, request="查单", now=now),
        account=Account(caller=ALICE, now=now, seconds=600),
        locale="zh",
        tools={"check": PATIENT},
        context=STEP_TOKENS,
    )
    handle = await client.start_workflow(
        contract.WORKFLOW,
        start,
        id=contract.workflow_id(CLERK.name, ALICE.tenant, uuid4().hex[:8]),
        task_queue=worker.plan.queue,
        result_type=SkillOutcome,
    )
    for _ in range(deaths):
        await worker.reborn()
    outcome: SkillOutcome = await handle.result()
    return outcome, await handle.fetch_history()


def recorded(history: WorkflowHistory, activity: str) -> int:
    """How many activities of the type it has the results of."""
    of_type = {
        event.event_id
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name == activity
    }
    completed = (event.activity_task_completed_event_attributes for event in history.events)
    return sum(one.scheduled_event_id in of_type for one in completed)


@pytest.mark.parametrize("deaths", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=len)
async def test_however_often_its_worker_dies_a_skill_ends_with_its_answer(
    tmp_path: Path, deaths: tuple[str, ...]
) -> None:
    script = Script(deaths, tmp_path / "deaths")
    script.folder.mkdir()
    async with (
        asyncio.timeout(60 + 12 * len(deaths)),
        await dev_server() as temporal,
        Bank() as bank,
        ModelServer(script) as model,
    ):
        address = temporal.client.service_client.config.target_host
        worker = Mortal(
            Plan(
                temporal=address,
                queue="skills",
                data=tmp_path,
                bank=bank.origin,
                deaths=script.folder,
                model=model.url,
            )
        )
        await worker.start()
        try:
            outcome, history = await lived_through(temporal.client, worker, len(deaths))
        finally:
            await worker.kill()
    orders = [f"O{step}" for step in range(len(deaths))]
    assert (outcome.text, outcome.ending) == ("都查过了。", "answered")
    assert [(call.name, call.status) for call in outcome.calls] == [("check", "done")] * len(orders)
    assert Counter(effect.order for effect in bank.effects) == Counter(orders)
    # Once a step's answer is recorded, it is never asked for again.
    assert script.asked == sorted(script.asked)
    unheard = deaths.count("answered")
    assert recorded(history, "think") == len(deaths) + 1 == outcome.usage.llm_calls
    assert len(script.asked) == recorded(history, "think") + unheard
