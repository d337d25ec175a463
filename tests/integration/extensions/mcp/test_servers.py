"""MCP servers: started, lost, documented, of the newest protocol."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from activities.capabilities import Capabilities
from router.domain.errors import UnknownOutcome
from router.extensions.mcp.connection import Away, McpConnection
from router.extensions.mcp.file import ServerEntry, ToolEntry, load_servers
from router.extensions.mcp.tools import EXTRAS
from router.extensions.mcp_server.catalog import DESK
from router.flow.catalog import Catalog
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from tests.fakes.mcp_program import PROGRAM
from tests.integration.extensions.mcp.conftest import Open, house_of, program
from tests.waiting import HANGS_AFTER_S

READ = ToolEntry(permission="read")


def processes(of: int, holding: str) -> list[psutil.Process]:
    """All that a process has started, directly or not, and that have this on their line."""
    below = psutil.Process(of).children(recursive=True)
    return [each for each in below if holding in " ".join(each.cmdline())]


@pytest.mark.slow
async def test_a_slow_start_of_a_server_holds_up_nothing(open_house: Open, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    house = await open_house(slow=program("--after", str(pipe)), quick=program())
    await house.has("quick")
    assert "slow" not in house.tools
    pipe.write_text("go")
    await house.has("slow")
    await house.call("slow__grow", text="sing")
    await house.until(lambda: "slow__sing" in house.tools["slow"])
    assert await house.call("slow__sing", text="la") == '{"text": "la"}'


@pytest.mark.slow
async def test_no_description_ends_the_process_that_encodes_it(open_house: Open) -> None:
    house = await open_house(evil=program("--described", "\ufdfa" * 64))
    await house.has("evil")
    registry, encoder = Registry(), EmbeddedEncoder()
    registry.replace("evil", house.tools["evil"].values())
    offered = Capabilities(Catalog([]), SkillCatalog([]), registry).everything()
    assert any("\ufdfa" * 64 in each.description.en for each in offered)
    await encoder.queries(["warm up"])
    before = encoder.process
    index = CapabilityIndex(encoder)
    await index.update(offered)
    assert (index.trouble, encoder.process) == (None, before)


async def test_what_stands_in_answers_for_a_server_that_never_came(open_house: Open) -> None:
    house = await open_house(
        first=ServerEntry(command="no-such-program-here", fallback="second", tools={"echo": READ}),
        second=program(only=frozenset()),
    )
    await house.has("first")
    assert house.tools.get("second") == {}
    assert house["first__echo"].permission == "read"
    assert await house.call("first__echo", text="hi") == '{"text": "hi"}'


@pytest.mark.slow
@pytest.mark.parametrize("tool", [READ, ToolEntry()], ids=["read", "write"])
async def test_stand_ins_get_reads_alone(open_house: Open, tmp_path: Path, tool: ToolEntry) -> None:
    notes = tmp_path / "notes"
    first = program("--name", "first", fallback="second", tools={"crash": tool})
    second = program("--name", "second", "--notes", str(notes), only=frozenset())
    house = await open_house(first=first, second=second)
    await house.up("first", "second")
    if tool is READ:
        assert await house.call("first__crash", text="first") == '{"text": "first"}'
    else:
        with pytest.raises(UnknownOutcome):
            await house.call("first__crash", text="first")
    assert notes.exists() is (tool is READ)


async def test_one_state_is_logged_once(open_house: Open, caplog: pytest.LogCaptureFixture) -> None:
    house = await open_house(gone=ServerEntry(command="no-such-program-here"))
    connection = house.servers.connections["gone"]
    connection._note_away("there is no program")
    connection._note_away("there is still no program")
    (line,) = [record.getMessage() for record in caplog.records if "gone" in record.getMessage()]
    assert line == (
        "the MCP server gone isn't there: there is no program; "
        "it is tried again; `intent-router doctor` says more"
    )


@pytest.mark.slow
async def test_no_process_is_left_where_a_server_is_deaf() -> None:
    async with house_of(it=program("--deaf")) as house:
        await house.has("it")
        left = processes(os.getpid(), "signal.pause") + processes(os.getpid(), PROGRAM)
        assert len(left) >= 2
    gone, alive = psutil.wait_procs(left, timeout=HANGS_AFTER_S)
    assert (len(gone), alive) == (len(left), [])


@pytest.mark.slow
async def test_no_process_is_left_where_the_worker_is_killed(tmp_path: Path) -> None:
    module = "tests.integration.extensions.mcp.keep_a_server"
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    assert await asyncio.wait_for(worker.stdout.readline(), HANGS_AFTER_S) == b"there\n"
    left = psutil.Process(worker.pid).children(recursive=True)
    assert len(left) >= 3
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    gone, alive = await asyncio.to_thread(psutil.wait_procs, left, HANGS_AFTER_S)
    assert (len(gone), alive) == (len(left), [])


async def test_looking_at_a_server_says_what_is_wrong_with_it(open_house: Open) -> None:
    house = await open_house(
        broken=ServerEntry(command=sys.executable, args=("-c", "raise SystemExit('no key')")),
        absent=ServerEntry(command="no-such-program-here"),
        nobody=ServerEntry(url="http://127.0.0.1:9/mcp"),
    )
    said = {}
    for name, connection in house.servers.connections.items():
        with pytest.raises(Away) as away:
            await connection.look(HANGS_AFTER_S)
        said[name] = str(away.value)
    assert said == {
        "broken": "it ended before it answered; it last said: no key",
        "absent": "there is no program 'no-such-program-here' that could be started",
        "nobody": "All connection attempts failed",
    }


async def test_a_session_that_breaks_while_it_is_cancelled_is_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = asyncio.Event()

    @asynccontextmanager
    async def breaking(_: McpConnection) -> AsyncIterator[Any]:
        try:
            opened.set()
            yield await asyncio.Future()
        except asyncio.CancelledError:
            raise BrokenPipeError from None

    async def unchanged() -> None: ...

    monkeypatch.setattr(McpConnection, "_opened", breaking)
    running = asyncio.create_task(McpConnection("it", program(), {}, unchanged).run())
    await opened.wait()
    running.cancel()
    await asyncio.wait([running], timeout=HANGS_AFTER_S)
    assert running.cancelled()


async def test_a_server_that_lacks_a_variable_is_away_and_the_others_are_there(
    open_house: Open, caplog: pytest.LogCaptureFixture
) -> None:
    lacking = ServerEntry(url="https://{env.HOST}/mcp", fallback="it")
    house = await open_house(lacking=lacking, it=program())
    await house.has("it", "lacking")
    assert await house.call("lacking__echo", text="hi") == '{"text": "hi"}'
    (warned,) = [line for line in caplog.messages if "lacking isn't there" in line]
    assert "HOST isn't set; set it in the environment or in .env; then start again" in warned


DOCS = Path(__file__).parents[4] / "docs"
TEXT = (DOCS / "tools.md").read_text(encoding="utf-8")
PAGE = TEXT[TEXT.index("\n## MCP\n") :]
OWN_PAGE = (DOCS / "mcp.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
async def test_the_example_works_and_has_ten_lines_at_most(tmp_path: Path) -> None:
    assert len(SNIPPETS[0].splitlines()) <= 10
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("Buy tea", encoding="utf-8")
    file = tmp_path / "servers.json"
    shown = SNIPPETS[0].replace(".venv/bin/python", sys.executable)
    file.write_text(shown.replace('"notes"', f'"{tmp_path / "notes"}"'), encoding="utf-8")
    servers = load_servers(file, {"WIKI_TOKEN": "hush"})
    assert servers["wiki"].headers == {"Authorization": "Bearer hush"}
    async with house_of(files=servers["files"]) as house:
        await house.has("files")
        read = await house.call("files__file_read", path="plan.md")
    assert isinstance(read, dict)
    assert read["text"] == "Buy tea"


def test_the_desk_is_added_to_another_client_as_shown(tmp_path: Path) -> None:
    file, shown = tmp_path / "servers.json", []
    for snippet in re.findall(r"```json\n(.*?)```", OWN_PAGE, re.DOTALL):
        file.write_text(snippet, encoding="utf-8")
        assert list(json.loads(snippet)) == ["mcpServers"]
        shown.append(load_servers(file, {})["desk"])
    over_http, started = shown
    assert over_http.headers == {"Authorization": "Bearer alice"}
    assert started.args == ("mcp", "--user", "alice")


def test_every_tool_of_the_desk_is_described() -> None:
    assert {each.name for each in DESK if not re.search(rf"`{each.name}`", OWN_PAGE)} == set()


def test_every_key_of_the_file_and_every_tool_that_is_there_by_itself_is_described() -> None:
    fields = [*ServerEntry.model_fields.items(), *ToolEntry.model_fields.items()]
    keys = {field.alias or name for name, field in fields}
    assert {key for key in keys if not re.search(rf"`{key}`", PAGE)} == set()
    tools = {tool.name for tool in EXTRAS}
    assert {name for name in tools if not re.search(rf"`(…__)?{name}`", PAGE)} == set()
