"""Answers put into the schema that a caller gives: by rules, by a scripted model, or refused."""

import json
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any, Literal
from uuid import uuid4

import pytest
from httpx import AsyncClient
from openai import AsyncOpenAI, BadRequestError
from pydantic import BaseModel
from temporalio.client import Client

from router.domain.messages import RefusalCode
from router.routing.structured import REFUSALS
from router.runtime.composition import Parts
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, says
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished, working

DAYS: dict[str, Any] = {
    "type": "object",
    "properties": {"days": {"type": "integer"}},
    "required": ["days"],
    "additionalProperties": False,
}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "left": {"type": "integer"},
        "until": {"type": ["string", "null"], "format": "date"},
        "enough": {"type": "boolean"},
    },
    "required": ["summary", "left", "until", "enough"],
    "additionalProperties": False,
}
COUNT, SAID = calls(("count", {})), says("你还有 158 天。")


@tool(permission="read", title={"zh": "假期", "en": "Leave"})
async def count() -> dict[str, Any]:
    """How many days of leave there are."""
    return {"days": 158, "until": "2026-12-31"}


def answer(**given: Any) -> Behaviour:
    return calls(("answer", given))


GOOD = {"summary": "还有 158 天年假。", "left": 158, "until": "2026-12-31", "enough": True}


class Desk:
    """Alice's connection to a house of these tools, with a scripted model or none."""

    def __init__(self, api: AsyncClient, model: ModelServer | None) -> None:
        self.api = api
        self.model = model

    @property
    def chats(self) -> list[dict[str, Any]]:
        assert self.model is not None
        return list(self.model.chats)

    @property
    def client(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{self.api.base_url}/v1", api_key="alice", max_retries=0)

    async def conversation(self) -> str:
        return str((await self.api.post("/v1/conversations")).json()["id"])

    async def ask(self, text: str, schema: Any, within: str = "", **more: Any) -> dict[str, Any]:
        place = f"/v1/conversations/{within or await self.conversation()}/messages"
        body = {"text": text, "response_schema": schema, **more}
        sent = await self.api.post(place, json=body)
        assert sent.status_code == 200, sent.text
        turn: dict[str, Any] = sent.json()
        return turn


@pytest.fixture
async def stack() -> Any:
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def desk(stack: AsyncExitStack, parts: Parts, temporal: Client) -> Any:
    async def opened(
        script: Iterable[Behaviour] | None, tools: Iterable[Tool] = (count,), **settings: Any
    ) -> Desk:
        model = None
        if script is not None:
            model = await stack.enter_async_context(ModelServer(list(script)))
        urls = [model.url] if model else []
        house = await stack.enter_async_context(furnished(parts, tools, urls))
        settled = house.settings.model_copy(update=settings)
        house.__dict__["settings"] = settled
        talk = await stack.enter_async_context(working(temporal, house))
        return Desk(await stack.enter_async_context(served(house, temporal, talk.queue)), model)

    return opened


async def test_what_the_one_tool_found_fits_by_its_names_without_a_model_asked(desk: Any) -> None:
    house = await desk([COUNT, SAID])
    turn = await house.ask("我有几天假", DAYS)
    assert turn["structured"] == {"days": 158}
    assert "structured_refusal" not in turn
    assert turn["replies"][0]["text"] == "你还有 158 天。"
    assert turn["usage"]["llm_calls"] == len(house.chats) == 2
