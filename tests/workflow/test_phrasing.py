"""What a scripted model says of what tools found, and whether anybody is shown it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from httpx import AsyncClient
from prometheus_client import REGISTRY
from temporalio.client import Client

from router.domain.errors import PermanentToolError
from router.domain.messages import Turn
from router.runtime.composition import Parts
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Behaviour, ModelServer, calls, says
from tests.workflow.desk import texts
from tests.workflow.test_streaming import Stream, served
from tests.workflow.test_streaming_models import ASKED, BALANCE, written
from tests.workflow.tooled import Tooled, modelled

COUNT = calls(("count", {}))
BOTH = calls(("count", {}), ("weather", {}))


@tool(permission="read", title={"zh": "假期", "en": "Leave"})
async def count() -> dict[str, int]:
    """How many days of leave there are."""
    return {"days": 158}


@tool(permission="read", title={"zh": "天气", "en": "Weather"}, retries=0)
async def weather() -> str:
    """What the weather is like."""
    raise PermanentToolError("the station is closed")


@tool(permission="read")
async def people() -> list[dict[str, str]]:
    """Everybody who works here."""
    return [{"name": f"Person {n}", "desk": f"{n} by the window"} for n in range(400)]


def failed(check: str) -> float:
    labels = {"check": check}
    return REGISTRY.get_sample_value("router_unfaithful_answers_total", labels) or 0.0


async def asked(
    tooled: Tooled, tools: Sequence[Tool], *script: Behaviour, text: str = "帮我看看"
) -> tuple[Turn, list[dict[str, Any]]]:
    """What comes of it, and what the model was asked."""
    async with tooled(tools, script) as talk:
        turn = await talk.say(text)
        return turn, list(talk.model.chats)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "check"),
    [
        (says("你还有 90 天。"), "number"),
        (says("已经帮你申请了 158 天。"), "deed"),
        (says("你还有 158 天，到 2027-03-01 为止。"), "day"),
        (says("结果是 <result>158</result>"), "mark"),
        (says("你还有 158 天，", finish="length"), "length"),
        (says("<|im_end|>"), "nothing"),
    ],
)
async def test_what_does_not_hold_is_not_said(tooled: Tooled, said: Behaviour, check: str) -> None:
    before = failed(check)
    turn, chats = await asked(tooled, [count], COUNT, said)
    assert texts(turn) == ["天数：158"]
    assert len(chats) == 2
    assert failed(check) == before + 1
    assert turn.usage.llm_calls == 2


async def test_marks_around_it_are_taken_off(tooled: Tooled) -> None:
    turn, chats = await asked(tooled, [count], COUNT, says("<message>还有 158 天。</message>"))
    assert texts(turn) == ["还有 158 天。"]
    assert chats[-1]["max_tokens"] == 200


async def test_of_what_failed_nothing_is_asked(tooled: Tooled) -> None:
    turn, chats = await asked(tooled, [weather], calls(("weather", {})))
    assert texts(turn) == ["没查到：the station is closed"]
    assert len(chats) == 1


async def test_what_failed_beside_others_is_told_plainly(tooled: Tooled) -> None:
    turn, chats = await asked(tooled, [count, weather], BOTH, says("还有 158 天。"))
    assert texts(turn) == ["还有 158 天。\n\n没查到：the station is closed"]
    prompt = json.dumps(chats[-1]["messages"], ensure_ascii=False)
    assert "158" in prompt
    assert "weather" not in prompt
    assert "closed" not in prompt


async def test_a_figure_for_what_failed_is_not_said(tooled: Tooled) -> None:
    turn, _ = await asked(tooled, [count, weather], BOTH, says("还有 158 天，今天 25 °C。"))
    assert texts(turn) == ["天数：158\n\n没查到：the station is closed"]


async def test_a_figure_of_the_question_may_be_said(tooled: Tooled) -> None:
    said = "你要的 90 天没问题，还有 158 天。"
    turn, _ = await asked(tooled, [count], COUNT, says(said), text="我能休九十天吗，帮我看看")
    assert texts(turn) == [said]


@pytest.mark.slow
async def test_that_only_a_part_was_read_is_said(tooled: Tooled) -> None:
    turn, chats = await asked(
        tooled, [people], calls(("people", {})), says("Person 0 坐在窗边，一共 400 人。")
    )
    *shown, note = json.loads(chats[-1]["messages"][-1]["content"])
    assert note == f"… {400 - len(shown)} more of 400"
    said = f"Person 0 坐在窗边，一共 400 人。\n（只看了前 {len(shown)} 条，共 400 条。）"
    assert texts(turn) == [said]


async def test_what_does_not_hold_is_not_even_streamed(
    parts: Parts, real_client: Client, model: ModelServer
) -> None:
    said = "你还有 365 天年假，其中 90 天要在年底前休完，不然作废。"
    async with (
        modelled(real_client, parts, model) as talk,
        served(parts, real_client, talk.queue) as client,
    ):
        events, turn = await streamed(client, model, said)
    pieces = [data["text"] for name, data in events if name == "text_delta"]
    assert pieces[0].startswith("你还有 365 天年假，")
    assert "90" not in "".join(pieces)
    assert written(events) == turn["replies"][0]["text"]
    assert "365" in written(events)


async def streamed(client: AsyncClient, model: ModelServer, said: str) -> tuple[Any, Any]:
    model.then(BALANCE, says(said))
    async with Stream.of(client, ASKED) as stream:
        events = await stream.until("turn")
    return events, events[-1][1]
