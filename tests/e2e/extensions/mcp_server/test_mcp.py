"""The desk for assistants that start a program for it; and servers of others at the desk."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.e2e.house import COMMAND, House, Person
from tests.ports import free_ports
from tests.samples import one_in
from tests.table import each_row

pytestmark = pytest.mark.xdist_group("dev")

REQUEST = "我要请年假，下周一到周三，家里有事"
SLOTS = {"leave_type": "annual", "start": "2027-03-01", "end": "2027-03-02", "reason": "家里有事"}
REVISIONS = ["2026-07-28", "legacy"]


def program_of(house: House, user: str) -> StdioServerParameters:
    """The desk as a program that an assistant starts."""
    words = [*COMMAND[1:], "mcp", "--url", house.url, "--user", user]
    return StdioServerParameters(command=COMMAND[0], args=words)


async def do(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


@pytest.mark.parametrize("mode", one_in(2, REVISIONS))
async def test_an_assistant_files_a_request_that_its_person_confirms_and_another_approves(
    house: House, mode: str
) -> None:
    shown: list[str] = []

    async def gina(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        shown.append(params.message)
        return types.ElicitResult(action="accept", content={"confirmed": True})

    async def carol(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        shown.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "approve"})

    hers = Client(program_of(house, "gina"), mode=mode, elicitation_callback=gina)
    bosses = Client(program_of(house, "carol"), mode=mode, elicitation_callback=carol)
    async with hers as client, bosses as boss:
        filed = await do(client, "say", text=REQUEST)
        assert filed["flow"]["status"] == "waiting_approval"
        waiting = (await do(boss, "approvals"))["items"]
        (approval,) = [each for each in waiting if each["flow_run"] == filed["flow"]["id"]]
        decided = await do(boss, "decide", approval=approval["id"])
        resources = {str(each.uri) for each in (await boss.list_resources()).resources}
    assert decided["decision"] == "approve"
    assert f"desk://approvals/{approval['id']}" not in resources
    assert ["家里有事" in each for each in shown] == [True, True]


@pytest.mark.slow
async def test_what_a_program_without_forms_is_told_is_confirmed_by_a_second_call(
    house: House,
) -> None:
    async with Client(program_of(house, "gina")) as client:
        told = await do(client, "leave_request", **SLOTS)
        asked = {key: told["next"][key] for key in ("question", "conversation")}
        declined = await do(client, "confirm", value=False, **asked)
    assert told["flow"]["status"] == "confirming"
    assert declined["flow"]["status"] == "collecting"


@pytest.mark.slow
async def test_a_program_hears_what_the_api_has_against_it(house: House) -> None:
    async with Client(program_of(house, "gina")) as client:
        refused = await client.call_tool("calculate", {"expression": 4})
        with pytest.raises(MCPError, match="larger than 65536 bytes"):
            await client.call_tool("say", {"text": "长" * 70_000})
        sum_of = await do(client, "calculate", expression="2+2")
    assert refused.is_error
    assert "expression: 4 is not of type 'string'" in refused.content[0].text  # type: ignore[union-attr]
    assert "4" in sum_of["replies"][-1]["text"]


@pytest.mark.slow
@each_row(
    ("words", "said"),
    [
        ([], "name one of --user and --token"),
        (["--user", "gina", "--token", "t"], "name one of --user and --token"),
        (["--user", "gina", "--url", "desk"], "is no URL"),
    ],
)
def test_what_it_can_t_be_started_with_is_usage(house: House, words: list[str], said: str) -> None:
    outcome = house.command("mcp", *words)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr


@pytest.mark.slow
def test_nobody_is_served_whom_no_api_knows(house: House) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    unknown, unanswered = (
        house.command("mcp", "--url", url, "--user", user)
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
        "args": ["-m", "company.mcp_files", str(tmp_path / "notes")],
        "tools": {"file_search": read},
    }
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"files": server}))
    monkeypatch.setenv("ROUTER_MCP_SERVERS", str(file))
    house = House(tmp_path / "data").start()
    yield house
    assert house.stop() == 0


@pytest.mark.slow
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
