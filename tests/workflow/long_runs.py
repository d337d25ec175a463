"""Runs of a skill that go on for as many steps as a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle, WorkflowHistory

from router.contracts import skill_run as contract
from router.contracts.activities import Account
from router.contracts.flow import CallLimits
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.domain.budgets import Budget, Budgets
from router.domain.principals import Principal
from router.llm.request import estimated_tokens
from router.routing.skill_context import STEP_TOKENS
from router.routing.skill_step import SkillTask
from router.runtime.composition import Parts
from router.tool.tool import tool
from tests.fakes.model_server import Behaviour, ModelServer, calls, counts, says
from tests.fakes.web_server import Received, Reply
from tests.workflow.tooled import Models, skill, talking

READER = skill(
    *("archivist", "查档助手", "Archivist"),
    allowed_tools=frozenset({"read_file", "count_files"}),
    max_turns=500,
    token_budget=10**9,
)
COUNTING, COUNTED = asyncio.Event(), asyncio.Event()
ANSWER, TOLD = "查完了。", "读过一些。"
TELLS = says(TOLD)


@tool(permission="read", per_minute=None, title={"zh": "读档", "en": "Read a file"})
async def read_file(number: int, size: int) -> str:
    """A file of the archive."""
    return file(number, size)


def file(number: int, size: int) -> str:
    """What is in a file of about so many characters."""
    page = f"第{number}页。"
    return f"file {number}: " + page * (size // len(page))


@tool(permission="read", timeout="30s", title={"zh": "数档", "en": "Count files"})
async def count_files() -> int:
    """How many files there are, which takes until somebody has it stopped or goes on."""
    COUNTING.set()
    await COUNTED.wait()
    return 1000


def is_condensing(body: dict[str, Any]) -> bool:
    """True for the question to tell in short what was gone."""
    return "<work>" in body["messages"][-1]["content"]


def reads(
    steps: int,
    at_once: int = 1,
    size: int = 2000,
    per_token: float = 1.0,
    condensing: Behaviour = TELLS,
) -> Behaviour:
    """Reads so many files in each of so many steps, then answers; condenses where asked to.

    What it does next depends on how often it was asked before: one server is for one run. It
    counts `per_token` tokens for each that is estimated.
    """
    asked = 0

    def behave(received: Received) -> Reply:
        nonlocal asked
        if is_condensing(received.body):
            return condensing(received)
        asked += 1
        files = ({"number": asked * 100 + n, "size": size} for n in range(at_once))
        do = calls(*(("read_file", file) for file in files)) if asked <= steps else says(ANSWER)
        return counts(do, estimate(received.body) * per_token)(received)

    return behave


def estimate(body: dict[str, Any]) -> int:
    """Tokens of a question as they are estimated here, of all that went over the wire."""
    said = [message.get("content") or "" for message in body["messages"]]
    made = [body.get("tools", []), *(m.get("tool_calls", []) for m in body["messages"])]
    return sum(map(estimated_tokens, [*said, *(json.dumps(m, ensure_ascii=False) for m in made)]))


@dataclass
class Archive:
    """A worker that has the skill, and runs of it."""

    client: Client
    queue: str
    alice: Principal
    model: ModelServer

    def start_of(self, **more: Any) -> SkillStart:
        now = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
        return SkillStart(
            task=SkillTask(skill=READER, request="查档", now=now),
            account=Account(caller=self.alice, now=now, seconds=300),
            locale="zh",
            **{"tools": {"read_file": CallLimits()}, "context": STEP_TOKENS, **more},
        )

    async def begin(self, **more: Any) -> WorkflowHandle[Any, SkillOutcome]:
        id_ = contract.workflow_id(READER.name, "default", uuid4().hex[:8])
        handle: WorkflowHandle[Any, SkillOutcome] = await self.client.start_workflow(
            contract.WORKFLOW,
            self.start_of(**more),
            id=id_,
            task_queue=self.queue,
            result_type=SkillOutcome,
        )
        return handle

    async def run(self, **more: Any) -> tuple[SkillOutcome, str]:
        """How the run ended, and its id."""
        handle = await self.begin(**more)
        return await handle.result(), handle.id

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What the model was asked, but for condensing."""
        return [body for body in self.model.chats if not is_condensing(body)]

    @property
    def condensed(self) -> list[dict[str, Any]]:
        return [body for body in self.model.chats if is_condensing(body)]


@asynccontextmanager
async def archive(client: Client, parts: Parts, model: Models) -> AsyncIterator[Archive]:
    """A house that nobody's budget ends."""
    unbounded = parts.settings.model_copy(update={"llm_budgets": Budgets(turn=Budget())})
    rich = replace(parts, settings=unbounded)
    async with talking(client, rich, [read_file, count_files], model, [READER]) as talk:
        yield Archive(client, talk.queue, talk.person, talk.model)


async def histories(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """Those of all the runs that one became, in their order."""
    handle = client.get_workflow_handle(workflow_id)
    run = (await handle.describe()).raw_description.workflow_execution_info.first_run_id
    found = []
    while run:
        one = client.get_workflow_handle(workflow_id, run_id=run)
        found.append(await one.fetch_history())
        last = found[-1].events[-1]
        run = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found
