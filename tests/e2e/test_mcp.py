"""The desk over MCP, for another agent; and servers of others at the desk."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ToolAnnotations

from router.cli.mcp import Session, server_of
from router.cli.rest import Rest
from tests.e2e.house import COMMAND, House, Person, free_ports

pytestmark = pytest.mark.xdist_group("dev")

DESK = {"list_capabilities", "say", "choose", "fill", "confirm", "turn", "flow_runs", "approvals"}
REQUEST = "我要请年假，下周一到周三，家里有事"


def program_of(house: House, user: str) -> StdioServerParameters:
    """The desk as a program that another agent has."""
    words = [*COMMAND[1:], "mcp", "--url", house.url, "--user", user]
    return StdioServerParameters(command=COMMAND[0], args=words)


@asynccontextmanager
async def agent_of(url: str, user: str = "gina") -> AsyncIterator[Client]:
    """Another agent, that has the desk in its own process."""
    rest = Rest(url, user)
    async with Client(server_of(Session(rest, keeps=True))) as client:
        yield client
    await rest.aclose()


async def do(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


def question_of(turn: dict[str, Any]) -> dict[str, str]:
    """What a confirmation names: the question that the turn ended with."""
    return {"question": turn["replies"][-1]["question"]}


def said(turn: dict[str, Any]) -> str:
    return "\n".join(reply["text"] for reply in turn["replies"])


async def test_an_agent_files_a_request_that_its_person_has_confirmed(house: House) -> None:
    gina_s, carol_s = program_of(house, "gina"), program_of(house, "carol")
    async with Client(gina_s) as gina, Client(carol_s) as carol:
        asked = await do(gina, "say", text=REQUEST)
        assert asked["flow"]["status"] == "confirming"
        confirmed = await do(gina, "confirm", value=True, **question_of(asked))
        run = confirmed["flow"]["id"]
        (mine,) = [each for each in (await do(gina, "flow_runs"))["items"] if each["id"] == run]
        assert mine["status"] == "waiting_approval"
        waiting = (await do(carol, "approvals"))["items"]
        (approval,) = [each for each in waiting if each["flow_run"] == run]
        given = {"approval": approval["id"], "digest": approval["digest"]}
        await do(carol, "decide", decision="approve", **given)


SLOTS = {"leave_type": "annual", "start": "2027-03-01", "end": "2027-03-02", "reason": "家里有事"}


async def test_a_flow_is_asked_for_by_its_name_in_words_and_slots_which_never_confirm_it(
    house: House,
) -> None:
    async with agent_of(house.url) as gina:
        in_words = await do(gina, "leave_request", request=REQUEST)
        declined = await do(gina, "confirm", value=False, **question_of(in_words))
        assert declined["flow"]["status"] != "completed"
        by_slots = await do(gina, "leave_request", **SLOTS)
        pressed = await do(gina, "leave_request", request="确认", **SLOTS)
    for turn in (in_words, by_slots, pressed):
        assert (turn["flow"]["name"], turn["flow"]["status"]) == ("leave_request", "confirming")
    assert by_slots["flow"]["slots"].items() >= SLOTS.items()


async def test_every_call_by_name_is_apart_from_what_others_left_open(house: House) -> None:
    async with Client(program_of(house, "gina")) as gina:
        open_form = await do(gina, "leave_request", leave_type="annual")
        assert open_form["flow"]["awaiting"] == ["start"]
        sum_of = await do(gina, "calculate", expression="2+2")
        in_words = await do(gina, "calculate", request="3+4")
        requests = await do(gina, "get_my_requests")
        there = {"conversation": open_form["conversation"]}
        filled = await do(gina, "fill", values={"start": "2027-03-01"}, **there)
        elsewhere = {"conversation": (await do(gina, "say", text="你好"))["conversation"]}
        passed_along = await do(gina, "calculate", expression="2+2", **elsewhere)
    assert passed_along["conversation"] == elsewhere["conversation"]
    assert passed_along["flow"]["name"] == "calculate"
    assert "4" in said(sum_of)
    assert "7" in said(in_words)
    answered = [each["flow"] for each in (sum_of, in_words, requests)]
    assert [flow["name"] for flow in answered] == ["calculate", "calculate", "get_my_requests"]
    assert {flow["status"] for flow in answered} == {"completed"}
    turns = (open_form, sum_of, in_words, requests)
    assert len({turn["conversation"] for turn in turns}) == len(turns)
    assert filled["flow"]["id"] == open_form["flow"]["id"]
    assert filled["flow"]["slots"] == {**open_form["flow"]["slots"], "start": "2027-03-01"}


async def test_a_refused_call_leaves_the_agent_where_it_was(house: House) -> None:
    async with agent_of(house.url) as gina:
        asked = await do(gina, "leave_request", request=REQUEST)
        refused = await gina.call_tool("calculate", {"expression": 4})
        declined = await do(gina, "confirm", value=False, **question_of(asked))
    assert refused.is_error
    assert "expression: 4 is not of type 'string'" in refused.content[0].text  # type: ignore[union-attr]
    assert declined["conversation"] == asked["conversation"]


async def test_what_is_there_and_what_it_does_is_said_honestly(house: House) -> None:
    async with agent_of(house.url) as gina:
        tools = {tool.name: tool for tool in (await gina.list_tools()).tools}
        capabilities = (await do(gina, "list_capabilities"))["items"]
    schemas = {name: tool.input_schema for name, tool in tools.items()}
    assert set(schemas["calculate"]["properties"]) == {"request", "conversation", "expression"}
    assert "leave_type" in schemas["leave_request"]["properties"]
    assert set(schemas["policy-advisor"]["properties"]) == {"request", "conversation"}
    assert not schemas["calculate"].get("required")
    assert tools.keys() >= DESK | {each["name"] for each in capabilities}
    hints = {name: tool.annotations or ToolAnnotations() for name, tool in tools.items()}
    reads = {name for name, hint in hints.items() if hint.read_only_hint}
    assert reads == {"list_capabilities", "turn", "flow_runs", "approvals"}
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"confirm", "decide"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("say", {}, "'text' is a required property"),
        ("say", {"text": "  "}, "text"),
        ("say", {"text": "hi", "conversation": "../../healthz"}, "not found"),
        ("say", {"text": "hi", "user": "bob"}, "'user' isn't known here"),
        ("confirm", {"value": True}, "'question' is a required property"),
        ("decide", {"approval": "a", "decision": "approve"}, "'digest' is a required property"),
        ("decide", {"approval": "a", "decision": "approve", "digest": "d"}, "no such approval"),
        ("drop_everything", {}, "there is no tool 'drop_everything' here"),
    ],
)
async def test_what_cannot_be_is_told_and_changes_nothing(
    house: House, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with agent_of(house.url) as gina:
        result = await gina.call_tool(tool, arguments)
    assert result.is_error
    assert said in result.content[0].text  # type: ignore[union-attr]


async def test_an_agent_learns_that_no_api_is_there() -> None:
    (port,) = free_ports(1)
    async with agent_of(f"http://127.0.0.1:{port}") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == DESK | {"decide"}
        result = await client.call_tool("approvals", {})
    assert result.is_error
    assert "start `intent-router dev`" in result.content[0].text  # type: ignore[union-attr]


async def test_agents_use_the_desk_over_http(house: House) -> None:
    (port,) = free_ports(1)
    words = ["mcp", "--url", house.url, "--user", "gina", "--http", str(port)]
    serving = await asyncio.create_subprocess_exec(*COMMAND, *words)
    try:
        async with asyncio.timeout(30):
            client = await reached(f"http://127.0.0.1:{port}/mcp")
        async with client:
            first = await do(client, "say", text=REQUEST)
            second = await do(client, "say", text=REQUEST)
            assert first["conversation"] != second["conversation"]
            there = {"conversation": first["conversation"], **question_of(first)}
            going_on = await do(client, "confirm", value=False, **there)
            assert going_on["conversation"] == first["conversation"]
            half_done = await do(client, "leave_request", leave_type="annual")
            sum_of = await do(client, "calculate", expression="2+2")
            assert (sum_of["flow"]["name"], "4" in said(sum_of)) == ("calculate", True)
            assert sum_of["conversation"] != half_done["conversation"]
    finally:
        serving.terminate()
        await asyncio.wait_for(serving.wait(), 10)


async def reached(url: str) -> Client:
    """A client of a server that may still be starting."""
    while True:
        try:
            async with Client(url) as client:
                await client.list_tools()
        except ExceptionGroup:
            await asyncio.sleep(0.1)
        else:
            return Client(url)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one of --user and --token"),
        (["--user", "gina", "--token", "t"], "name one of --user and --token"),
        (["--user", "gina", "--url", "desk"], "is no URL"),
        (["--user", "gina", "--http", "0"], "greater than or equal to 1"),
    ],
)
def test_what_it_can_t_be_started_with_is_usage(house: House, words: list[str], said: str) -> None:
    outcome = house.command("mcp", *words)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr


@pytest.mark.parametrize("served", [(), ("--http", "1")])
def test_nobody_is_served_whom_no_api_knows(house: House, served: tuple[str, ...]) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    unknown, unanswered = (
        house.command("mcp", "--url", url, "--user", user, *served)
        for url, user in ((house.url, "zed"), (nowhere, "gina"))
    )
    for outcome in (unknown, unanswered):
        assert (outcome.returncode, outcome.stdout) == (1, "")
    assert unknown.stderr.startswith("error: the API won't have this person")
    assert "name a user id of its directory with --user" in unknown.stderr.lower()
    told = f"error: no API answers at {nowhere}: start `intent-router dev`"
    assert unanswered.stderr.startswith(told)


@pytest.fixture
def with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A house that has the sample server."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("Who would search my files finds tea")
    read = {"permission": "read", "examples": ["在文件里找一段话", "search my files"]}
    server = {
        "command": sys.executable,
        "args": ["-m", "activities.mcp_files", str(tmp_path / "notes")],
        "tools": {"file_search": read},
    }
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"files": server}))
    monkeypatch.setenv("ROUTER_MCP_SERVERS", str(file))
    house = House(tmp_path / "data").start()
    yield house
    assert house.stop() == 0


def test_a_tool_of_a_server_is_used_in_a_conversation(with_files: House) -> None:
    frank = Person(with_files, "frank")
    names = {each["name"] for each in frank.get("/v1/capabilities?kind=tool")["items"]}
    assert {"files__file_search", "files__file_save"} <= names
    chat = frank.chat()
    offered = chat.say("search my files")
    choices = [reply for reply in offered["replies"] if reply["type"] == "choices"]
    assert choices[0]["options"][0]["value"] == "files__file_search"
    turn = chat.act("choose", "files__file_search")
    assert (turn["flow"]["name"], turn["flow"]["status"]) == ("files__file_search", "completed")
    assert "Who would search my files finds tea" in turn["replies"][0]["text"]
