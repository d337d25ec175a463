"""Published flows whose expressions and texts cost too much, when employees say the word."""

import json

import pytest
from httpx import AsyncClient

from router.flow.definition import FlowDefinition
from tests.table import each_row
from tests.workflow.desk import defined
from tests.workflow.test_list_bounds import send
from tests.workflow.test_streaming import served
from tests.workflow.tooled import Tooled

pytestmark = pytest.mark.slow

COMPILED_EACH_TIME = "[" + "1, " * 900 + r"1].map(x, 'a'.matches('\\pL{100}')).size() > 5"
PAIRS = "[" + "1, " * 900 + "1].map(x, ['a', 'b'].map(y, string(now).contains(y))).size() > 5"
ONES = "[" + "1, " * 400 + "1]"
ENDLESS = f"{ONES}.all(x, {ONES}.all(y, x == y || now == ''))"


def flow_of(condition: str, words: str) -> FlowDefinition:
    """A flow that decides and then speaks, as two authors would publish it."""
    return defined(text_of(condition, words))


def text_of(condition: str, words: str, flow: str = "audit") -> str:
    """The file of that flow."""
    return f"""
flow: {flow}
version: 1
title: {{zh: 查账, en: Audit}}
description: {{zh: 查账, en: Audit the books}}
triggers:
  patterns: [audit the books]
start: choose
states:
  choose:
    confirm: {{zh: 好吗？, en: OK?}}
    declined: done
    confirmed:
      - {{if: {json.dumps(condition)}, to: done}}
      - to: done
  done: {{end: completed, say: {{zh: {json.dumps(words)}, en: {json.dumps(words)}}}}}
"""


@each_row(
    ("condition", "words", "status"),
    [
        (COMPILED_EACH_TIME, "Done.", "failed"),
        (PAIRS, "Done.", "completed"),
        (ENDLESS, "Done.", "failed"),
        ("true", "{{ requester.name" + "|list|string" * 9 + " }}", "failed"),
    ],
)
async def test_a_run_ends_with_its_reason_and_the_next_message_is_answered(
    tooled: Tooled, condition: str, words: str, status: str
) -> None:
    async with (
        tooled([], flows=[flow_of(condition, words)]) as talk,
        served(talk.parts, talk.client, talk.queue) as api,
    ):
        conversation = await begin(api)
        await send(api, conversation, {"text": "audit the books"})
        turn = await send(api, conversation, {"action": {"type": "confirm", "value": True}})
        assert turn["flow"]["status"] == status
        assert (await send(api, await begin(api), {"text": "audit the books"}))["flow"]


async def begin(api: AsyncClient) -> str:
    created = await api.post("/v1/conversations", json={"locale": "en"})
    return str(created.json()["id"])
