"""What people and models are shown of results: long ones by pages, empty ones as what they are."""

import json
import re
from typing import Any

import pytest

from activities.builtin.skill_files import read_more
from router.tool.tool import tool
from tests.fakes.model_server import calls, says
from tests.fakes.web_server import Received, Reply
from tests.workflow.desk import flow_of, texts
from tests.workflow.tooled import Tooled, chosen, skill

ROWS = [{"note": f'row "{n}" 行\n' * 5} for n in range(2000)]
READER = skill("reader", "读表", "Reader")


@tool(permission="read", title={"zh": "列表", "en": "Rows"})
async def list_rows() -> list[dict[str, str]]:
    """Every row there is."""
    return ROWS


@tool(permission="write", title={"zh": "入库", "en": "Store"})
async def store_rows() -> dict[str, Any]:
    """Store every row."""
    value: Any = 1
    for _ in range(100):
        value = [value]
    return {"rows": value}


@tool(permission="read", title={"zh": "查档", "en": "Look up"})
async def find_out() -> dict[str, str | None]:
    """What is known."""
    return {"name": None, "town": None}


@pytest.mark.slow
async def test_a_person_reads_a_long_result_page_by_page(tooled: Tooled) -> None:
    async with tooled([list_rows, read_more]) as talk:
        (said,) = texts(await chosen(talk, "list_rows"))
        found = re.search(r"共 (\d+) 页；接着读第 2 页：read_more，续读编号 (\S+)）$", said)
        assert found is not None
        slots = {"handle": found[2], "page": 2}
        turn = await talk.press("start", flow="read_more", slots=slots)
    assert f"第 2 页，共 {found[1]} 页" in texts(turn)[0]
    assert flow_of(turn).status == "completed"


async def test_a_write_whose_answer_is_no_use_is_said_to_be_done(tooled: Tooled) -> None:
    async with tooled([store_rows]) as talk:
        await chosen(talk, "store_rows")
        turn = await talk.press("confirm", value=True)
    assert texts(turn) == ["备注：已经办成了，只是结果给不出来：结果嵌套超过 60 层"]
    assert flow_of(turn).status == "completed"
    assert [call.status for call in turn.tool_calls] == ["done"]


async def test_a_result_with_nothing_in_it_says_so(tooled: Tooled) -> None:
    async with tooled([find_out]) as talk:
        assert texts(await chosen(talk, "find_out")) == ["（没有查到内容）"]


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 4])
async def test_a_sub_agent_always_sees_how_to_read_on(tooled: Tooled, at_once: int) -> None:
    shown: list[Any] = []

    def reads_on(received: Received) -> Reply:
        results = [m["content"] for m in received.body["messages"] if m["role"] == "tool"]
        handles = [re.findall(r'"read_more": "([^"]+)"', result) for result in results]
        shown.append((results, handles))
        return calls(("read_more", {"handle": handles[-1][0], "page": 2}))(received)

    begins = calls(("dispatch_to_skill", {"skill_name": "reader", "request": "读表"}))
    first = calls(*[("list_rows", {})] * at_once)
    ends = says("读完了。")
    tools = [list_rows, read_more]
    async with tooled(tools, [begins, first, reads_on, ends], [READER]) as talk:
        turn = await talk.say("把表读一遍")
        second = [m for m in talk.model.chats[-1]["messages"] if m["role"] == "tool"][-1]["content"]
    assert texts(turn) == ["读完了。"]
    ((results, handles),) = shown
    assert [len(found) for found in handles] == [1] * at_once
    assert json.loads(second)["page"] == 2
    if at_once == 1:
        assert (
            json.loads(results[0])["text"]
            == json.dumps(ROWS, ensure_ascii=False)[: len(json.loads(results[0])["text"])]
        )
