"""An MCP server that was never in a file: written over REST, called in a flow, taken out again."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.mcp_modern import PROGRAM
from tests.ports import free_ports
from tests.table import each_row
from tests.unit.runtime.documents import overtime, server, weather
from tests.waiting import HANGS_AFTER_S
from tests.workflow.test_configuration import PEOPLE, Person, until
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow

QUEUE = "tenant-servers"
PATH = "/v1/configuration/servers/crm"


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    """Where a real MCP server is."""
    (port,) = free_ports(1)
    serving = await asyncio.create_subprocess_exec(sys.executable, PROGRAM, "--http", str(port))
    yield f"http://127.0.0.1:{port}"
    serving.send_signal(signal.SIGTERM)
    await asyncio.wait_for(serving.wait(), HANGS_AFTER_S)


@pytest.fixture
async def house(tmp_path: Path, origin: str) -> AsyncIterator[Parts]:
    directory = tmp_path / "people.yaml"
    directory.write_text(PEOPLE, "utf-8")
    tenants = tmp_path / "tenants.yaml"
    tenants.write_text(json.dumps({"acme": {"origins": {"servers": [origin]}}}), "utf-8")
    settings = Settings.load(data=tmp_path, directory=directory, tenants=tenants)
    async with at_work(settings) as parts:
        yield parts


@pytest.fixture
async def desk(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with (
        build_worker(real_client, house, QUEUE),
        served(house, real_client, QUEUE) as client,
    ):
        yield client


async def names(person: Person) -> set[str]:
    return {each["name"] for each in (await person("GET", "/v1/capabilities"))["items"]}


async def offers(person: Person, tool: str) -> bool:
    return tool in await names(person)


def calling(tool: str) -> str:
    """The flow, which has a server's tool called once overtime is agreed to."""
    call = f"{{call: {tool}, save: grown, next: noted, on_error: turned_down}}"
    states = f"approved: grow\n    rejected: turned_down\n  grow: {call}\n"
    return overtime().replace("approved: noted\n    rejected: turned_down\n", states)


async def test_a_server_of_a_document_brings_its_tools_to_its_tenant_alone(
    desk: AsyncClient, origin: str
) -> None:
    olga, alice, bob = (Person(desk, f"acme/{who}") for who in ("olga", "alice", "bob"))
    stranger = Person(desk, "globex/alice")
    text = server(url=f"{origin}/mcp", tools={"grow": {"permission": "read"}})
    await olga("PUT", PATH, json={"text": text})
    await until(lambda: offers(alice, "crm__grow"))
    assert "crm__grow" not in await names(stranger)

    await olga("PUT", "/v1/configuration/flows/overtime", json={"text": calling("crm__grow")})
    flow = (await alice.begin("log overtime", "3"))["flow"]
    await bob.approve()

    async def ended() -> Any:
        status = (await alice.run(flow["id"]))["status"]
        return status if status in {"completed", "rejected"} else None

    assert await until(ended) == "completed"
    # What the call brought: the server says that it has another tool now.
    await until(lambda: offers(alice, "crm__sing"))
    for path in ("/v1/configuration/flows/overtime", PATH):
        await olga("DELETE", path)
    assert not {name for name in await names(alice) if name.startswith("crm__")}


@each_row(
    ("who", "kind", "text"),
    [
        ("globex/olga", "servers/crm", lambda origin: server(url=f"{origin}/mcp")),
        ("globex/olga", "tools/look", lambda origin: weather(f"{origin}/{{city}}", name="look")),
        # For its servers the file of tenants names it, for its tools it doesn't.
        ("acme/olga", "tools/look", lambda origin: weather(f"{origin}/{{city}}", name="look")),
    ],
)
async def test_an_origin_that_another_purpose_or_tenant_has_is_refused(
    desk: AsyncClient, origin: str, who: str, kind: str, text: Callable[[str], str]
) -> None:
    headers = {"Authorization": f"Bearer {who}"}
    path = f"/v1/configuration/{kind}"
    refused = await desk.put(path, json={"text": text(origin)}, headers=headers)
    assert refused.status_code == 422, refused.text
    assert "ROUTER_TENANTS" in refused.text


async def test_an_origin_that_is_taken_back_ends_the_session_there(
    desk: AsyncClient, house: Parts, origin: str, tmp_path: Path
) -> None:
    olga, alice = (Person(desk, f"acme/{who}") for who in ("olga", "alice"))
    await olga("PUT", PATH, json={"text": server(url=f"{origin}/mcp")})
    await until(lambda: offers(alice, "crm__grow"))

    (tmp_path / "tenants.yaml").write_text("acme: {origins: {servers: []}}", "utf-8")

    async def gone() -> bool:
        return not await offers(alice, "crm__grow")

    await until(gone)
    assert "origins.servers" in (await olga("GET", "/v1/configuration"))["unfit"]


async def test_a_server_that_is_not_there_is_said_and_keeps_nothing_else(
    desk: AsyncClient, origin: str
) -> None:
    olga, alice = (Person(desk, f"acme/{who}") for who in ("olga", "alice"))
    await olga("PUT", PATH, json={"text": server(url=f"{origin}/nowhere")})
    await olga("PUT", "/v1/configuration/flows/overtime", json={"text": overtime()})

    async def said() -> Any:
        return (await olga("GET", "/v1/configuration"))["unfit"]

    assert "crm isn't there" in await until(said)
    assert (await alice.begin("log overtime", "3"))["flow"]["status"] == "waiting_approval"


async def test_a_process_keeps_a_session_only_while_it_is_at_work(
    desk: AsyncClient, house: Parts, origin: str
) -> None:
    olga, alice = (Person(desk, f"acme/{who}") for who in ("olga", "alice"))
    await olga("PUT", PATH, json={"text": server(url=f"{origin}/mcp")})
    await until(lambda: offers(alice, "crm__grow"))
    before = asyncio.all_tasks()
    async with at_work(house.settings) as other:

        async def also_there() -> bool:
            return "crm__grow" in other.offered.of("acme").registry.names

        await until(also_there)
        begun = asyncio.all_tasks() - before

    assert "MCP server crm" not in {task.get_name() for task in begun if not task.done()}
