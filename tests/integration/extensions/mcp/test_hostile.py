"""What servers of strangers send to stop the process that reads it."""

import asyncio
import gzip
import json
import logging
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from router.domain.errors import AnswersNeeded, ToolError
from router.extensions.mcp.connection import MOST_ENTRIES
from router.extensions.mcp.file import ServerEntry, ToolEntry
from router.llm.schema import portable, restored
from router.retrieval.index import card
from router.routing.offer import Offer
from router.routing.tool_form import form_of, inquiry_of
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.integration.extensions.mcp.conftest import House, Open, program

ENDLESS = "^(a|a)*$"
"""Which Python's own expressions try in 2^n ways on n letters and another sign."""
LETTERS = "a" * 60 + "!"


def takes(a: Any, **defs: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": a}, "$defs": defs}


def refers(to: object) -> dict[str, str]:
    return {"$ref": f"#/$defs/{to}"}


TAKES = takes({"type": "string"})
DOUBLING = {f"d{n}": {"allOf": [refers(f"d{n + 1}")] * 2} for n in range(30)}
STOPPING: dict[str, dict[str, Any]] = {
    "cubic": takes(refers("all"), all={"allOf": [refers("all")] * 600}),
    "wide": takes({"allOf": [refers(n) for n in range(170)]}, **{str(n): {} for n in range(170)}),
    "doubling": takes(refers("d0"), **DOUBLING, d30={"type": "string"}),
    "expression": takes({"type": "string", "pattern": ENDLESS}),
    "expressions": {**takes({}), "patternProperties": {ENDLESS: {}}},
    "named": takes({"allOf": [{"$ref": "#n"}] * 4000}, it={"$anchor": "n"}),
    "long": takes({"enum": ["x" * 100_000, "y" * 200_000]}),
    "circle": takes(refers("one"), one=refers("two"), two=refers("one")),
    "elsewhere": takes({"$ref": "http://127.0.0.1:1/schema.json"}),
    "infinite": takes({"type": "string", "maxLength": 1e400}),
}
ODD: dict[str, dict[str, Any]] = {
    "ghost": {"type": "object", "properties": {"id": True, "no": False}, "required": ["ghost"]},
    "ahead": takes({"type": "string", "pattern": "^(?!x).*$"}),
    "self": takes({"oneOf": [{"type": "string"}, {"$ref": "#"}]}),
}
"""Of honest servers."""


Listed = Callable[..., Awaitable[House]]


@pytest.fixture
def listed(open_house: Open, tmp_path: Path) -> Listed:
    """A server whose tools are so described."""

    async def of(**tools: dict[str, Any]) -> House:
        listed = [{"name": name, "inputSchema": TAKES} | more for name, more in tools.items()]
        (tmp_path / "tools").write_text(json.dumps(listed))
        reads = dict.fromkeys(tools, ToolEntry(permission="read"))
        house = await open_house(it=program("--tools", str(tmp_path / "tools"), tools=reads))
        await house.has("it")
        return house

    return of


def described(schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: {"inputSchema": schema} for name, schema in schemas.items()}


@pytest.mark.slow
async def test_a_schema_that_would_stop_the_process_is_bounded_or_costs_its_tool(
    listed: Listed,
) -> None:
    house = await listed(**described(STOPPING | ODD))
    there = {name.removeprefix("it__"): tool for name, tool in house.tools["it"].items()}
    assert STOPPING.keys() - there.keys() == {"named", "long", "elsewhere", "infinite"}
    functions = {f.name: f for f in Offer(tools=house.tools["it"]).functions}
    for name, tool in there.items():
        assert portable(functions[f"it__{name}"].parameters)
        assert restored({"a": LETTERS}, tool.parameters)
        assert card(tool.capability)
        form_of(tool)
        tool.implementation.problems({"a": LETTERS})


async def test_what_has_no_room_beside_the_others_is_left_out(listed: Listed) -> None:
    each = takes({"enum": ["x" * 100_000]})
    house = await listed(**described({f"t{n}": each for n in range(12)}))
    there = house.tools["it"].keys()
    assert {name for name in there if "__t" in name} == {f"it__t{n}" for n in range(10)}


async def test_what_honest_servers_say_oddly_is_offered_and_can_be_called(listed: Listed) -> None:
    house = await listed(**described(ODD))
    assert await house.call("it__ghost", id=1, ghost="x") == '{"id": 1, "ghost": "x"}'
    assert house["it__ghost"].implementation.problems({"no": 1, "ghost": 1})
    assert await house.call("it__ahead", a="x") == '{"a": "x"}'
    assert await house.call("it__self", a="x") == '{"a": "x"}'


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": ENDLESS}}},
        {"properties": {"a": STOPPING["doubling"]["properties"]["a"]}, "$defs": DOUBLING},
        {"required": ["what it never gives"]},
        {"type": "nonsense"},
    ],
)
async def test_a_schema_of_answers_checks_none(listed: Listed, schema: dict[str, Any]) -> None:
    house = await listed(structured={"outputSchema": {"type": "object", **schema}})
    assert await house.call("it__structured", a=LETTERS) == {"a": LETTERS}


async def test_a_question_in_a_form_that_is_none_is_one_of_yes_and_no(listed: Listed) -> None:
    house = await listed(misask={})
    with pytest.raises(AnswersNeeded) as needed:
        await house.call("it__misask", a="x")
    inquiry = inquiry_of(needed.value.asked, house["it__misask"].title, "call", ())
    assert inquiry is not None
    assert [slot.type for slot in inquiry.slots.values()] == ["boolean"]


def answered(got: Got, call: Reply) -> Reply:
    """What a server says that is asked over HTTP, up to the call."""
    asked = json.loads(got.body)
    if asked["method"] == "tools/call":
        return call
    listed = {"tools": [{"name": "echo", "inputSchema": TAKES}]}
    began = {"capabilities": {"tools": {}}, "serverInfo": {"name": "it", "version": "1"}}
    results: dict[str, Any] = {
        "initialize": {**began, "protocolVersion": "2025-06-18"},
        "tools/list": listed,
    }
    if asked["method"] not in results:
        return Reply([], 202)
    return json_reply({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]})


BOMB = gzip.compress(bytes(64 * 1024 * 1024), 1)
EVENTS = "text/event-stream"
READS = {"echo": ToolEntry(permission="read")}
WITHOUT_END = [b"x" * 2**20] * 8
EMPTY_BLOCKS = [b"\x78\x9c", *[b"\x00\x00\x00\xff\xff" * 200_000] * 8]
"""Of deflate: each takes five bytes and gives none."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pieces", "headers", "status", "said"),
    [
        ([BOMB], {"content-encoding": "gzip"}, 200, "it is over 4096 KiB"),
        ([gzip.compress(BOMB)], {"content-encoding": "gzip, gzip"}, 200, "it wasn't asked for"),
        (WITHOUT_END, {}, 200, "it is over 4096 KiB"),
        ([gzip.compress(b"[]"), *WITHOUT_END], {"content-encoding": "gzip"}, 200, "parse JSON"),
        ([*EMPTY_BLOCKS], {"content-encoding": "deflate"}, 200, "it is over 4096 KiB"),
        (WITHOUT_END, {}, 500, "an error response"),
        (
            WITHOUT_END,
            {"location": "/elsewhere", "content-type": "text/event-stream"},
            307,
            "not followed",
        ),
    ],
)
async def test_an_answer_is_as_long_as_it_is_unpacked(
    open_house: Open, pieces: list[bytes], headers: dict[str, str], status: int, said: str
) -> None:
    never = Reply(
        [*pieces, asyncio.Event()], status, {"content-type": "application/json"} | headers
    )
    async with WebServer(lambda got: answered(got, never)) as server:
        entry = ServerEntry(url=f"{server.origin}/mcp", protocol="legacy", tools=READS)
        house = await open_house(it=entry)
        await house.has("it")
        with pytest.raises(ToolError, match=said):
            await house.call("it__echo", a="x")


async def test_events_that_are_packed_end_where_they_end(open_house: Open) -> None:
    def packed(got: Got) -> Reply:
        result = {"content": [{"type": "text", "text": "x"}]}
        event = json.dumps(
            {"jsonrpc": "2.0", "id": json.loads(got.body).get("id"), "result": result}
        )
        headers = {"content-type": EVENTS, "content-encoding": "gzip"}
        sent = gzip.compress(f"data: {event}\n\n".encode())
        return answered(got, Reply([sent, b"x", asyncio.Event()], 200, headers))

    async with WebServer(packed) as server:
        entry = ServerEntry(url=f"{server.origin}/mcp", protocol="legacy", tools=READS)
        house = await open_house(it=entry)
        await house.has("it")
        assert await house.call("it__echo", a="x") == "x"


@pytest.mark.slow
@pytest.mark.parametrize(
    "result",
    [
        {"content": [{}] * 20_000},
        {"content": [{"type": "text", "text": "", "annotations": {"audience": [{}] * 50}}] * 1000},
        {"content": [], "isError": {str(n): {} for n in range(20_000)}},
    ],
)
async def test_what_is_wrong_in_an_answer_is_said_of_a_part(
    open_house: Open, result: dict[str, Any]
) -> None:
    def wrong(got: Got) -> Reply:
        id_ = json.loads(got.body).get("id")
        return answered(got, json_reply({"jsonrpc": "2.0", "id": id_, "result": result}))

    async with WebServer(wrong) as server:
        entry = ServerEntry(url=f"{server.origin}/mcp", protocol="legacy", tools=READS)
        house = await open_house(it=entry)
        await house.has("it")
        with pytest.raises(ToolError) as refused:
            await house.call("it__echo", a="x")
        (errors,) = re.findall(r"(\d+) validation error", str(refused.value))
        assert int(errors) <= 13 * MOST_ENTRIES


async def test_what_a_server_says_begins_no_line_of_the_log(
    listed: Listed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    forged = "x\n2026-11-23 ERROR router: forged\u2028once more"
    house = await listed(**{forged: {"inputSchema": {"type": "string"}}, "echo": {}})
    assert "it__echo" in house.tools["it"]
    assert "forged" in caplog.text
    assert not [line for line in caplog.messages if "forged" in line and len(line.splitlines()) > 1]
