"""PostgreSQL is away for seconds while tools are called: it costs time, and no call.

`serve` and `worker` run as processes, on a PostgreSQL server that is killed, or stands still with
its connections open, while the system behind the tools has four calls in hand.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped]
import httpx
import pytest

from tests.e2e.chaos.house import answers, postgres_at, temporal_at
from tests.e2e.chaos.machine import Kept
from tests.e2e.storm.requests import until
from tests.fakes.model_server import ModelServer, calls, says
from tests.fakes.web_server import Got, Received, Reply, WebServer
from tests.ports import free_ports
from tests.postgres import MISSING, binaries, order

pytestmark = [
    pytest.mark.slow,  # four processes of its own, and outages of whole seconds
    pytest.mark.xdist_group("dev"),
    pytest.mark.skipif(binaries() is None, reason=MISSING),
]

QUOTE, WIRE = "/quote", "/wire"
"""What reads, and what writes whatever the key."""
TOOLS = [
    {
        "name": "fetch_quote",
        "title": {"zh": "询价", "en": "Quote"},
        "description": "The price of a thing that the company buys.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        "endpoint": {"url": "{origin}/quote", "query_params": {"what": "{what}"}},
        "timeout": "60s",
    },
    {
        "name": "wire_money",
        "title": {"zh": "汇款", "en": "Wire money"},
        "description": "Sends money by a wire that knows no keys.",
        "permission": "write",
        "idempotent": False,
        "parameters": {
            "type": "object",
            "properties": {"purpose": {"type": "string"}},
            "required": ["purpose"],
        },
        "endpoint": {
            "url": "{origin}/wire",
            "method": "POST",
            "body": {"purpose": "{purpose}"},
        },
        "timeout": "60s",
    },
]
FLOW = """
flow: payout
title: {zh: 付款申请, en: Payout}
description: {zh: 经理批准以后付款, en: Pays once the manager has agreed}
triggers: {patterns: ['^payout$']}
slots:
  purpose: {type: text, label: {zh: 用途, en: Purpose}, ask: {zh: 做什么用？, en: What for?}}
start: details
states:
  details: {collect: [purpose], next: manager}
  manager:
    approve:
      by: "manager(requester)"
      title: {zh: 付款, en: Payout}
    approved: pay
    rejected: tell_no
  pay: {call: wire_money, with: {purpose: slots.purpose}, save: receipt, next: tell}
  tell: {say: {zh: 付好了, en: It is paid.}, end: completed}
  tell_no: {say: {zh: 没有批准, en: It isn't approved.}, end: rejected}
"""
SKILL = """---
name: buyer
description: Compares prices. Use it for "which is the better buy".
allowed-tools: fetch_quote
metadata:
  router.title-zh: 采购顾问
  router.title-en: Buyer
  router.description-zh: 比较价格。
---
Fetch a quote and compare.
"""


@dataclass
class World:
    """The systems behind the tools: they have every request in hand until they may answer."""

    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    """What was asked for, once for each request."""

    def __call__(self, got: Got) -> Reply:
        about = json.loads(got.body)["purpose"] if got.body else got.target.split("what=")[-1]
        self.asked.append(about)
        answer = json.dumps({"about": about}).encode()
        return Reply([self.may_answer, answer], 200, {"content-type": "application/json"})


def model(received: Received) -> Reply:
    """Asks for a quote, itself or by its skill, and then says what came of it."""
    offered = {tool["function"]["name"] for tool in received.body.get("tools", [])}
    *_, last = received.body["messages"]
    said = [m for m in received.body["messages"] if m["role"] == "user"][-1]["content"]
    if last["role"] == "tool":
        return says("The price is known.")(received)
    if "dispatch_to_skill" in offered and "better" in str(said):
        return calls(("dispatch_to_skill", {"skill_name": "buyer", "request": "a skill's"}))(
            received
        )
    about = "read" if "dispatch_to_skill" in offered else "skill"
    return calls(("fetch_quote", {"what": about}))(received)


@dataclass
class House:
    """Both processes, and what they need."""

    url: str
    database: str
    postgres: Kept
    world: World


@asynccontextmanager
async def house_at(folder: Path) -> AsyncIterator[House]:
    temporal, database, api = free_ports(3)
    async with AsyncExitStack() as stack:
        world = World()
        server = await stack.enter_async_context(WebServer(world))
        models = await stack.enter_async_context(ModelServer(model))
        (folder / "database").mkdir()
        postgres = postgres_at(folder, database)
        kept = [
            postgres,
            temporal_at(folder, temporal),
            *processes(folder, told(folder, server, models, temporal, database), api),
        ]
        for one in kept:
            stack.push_async_callback(one.stop)
        for one in kept[:2]:
            one.start()
        await postgres.serves()
        await order(f"postgresql://router@127.0.0.1:{database}/postgres", "CREATE DATABASE house")
        await answers(temporal)
        for one in kept[2:]:
            one.start()
        for one in kept[2:]:
            await one.serves()
        url = f"http://127.0.0.1:{api}"
        yield House(url, f"postgresql://router@127.0.0.1:{database}/house", postgres, world)


def told(
    folder: Path, server: WebServer, models: ModelServer, temporal: int, database: int
) -> dict[str, str]:
    """The settings, and the files that they name."""
    (folder / "tools").mkdir()
    declared = json.dumps(TOOLS).replace("{origin}", server.origin)
    (folder / "tools" / "bank.json").write_text(declared)
    (folder / "flows").mkdir()
    (folder / "flows" / "payout.yaml").write_text(FLOW)
    (folder / "skills" / "buyer").mkdir(parents=True)
    (folder / "skills" / "buyer" / "SKILL.md").write_text(SKILL)
    return {
        "ROUTER_DATABASE_URL": f"postgresql+asyncpg://router@127.0.0.1:{database}/house",
        "ROUTER_TEMPORAL_ADDRESS": f"127.0.0.1:{temporal}",
        "ROUTER_DATA": str(folder / "data"),
        "ROUTER_HTTP_TOOLS": str(folder / "tools"),
        "ROUTER_HTTP_ALLOW": json.dumps([server.origin]),
        "ROUTER_FLOWS": str(folder / "flows"),
        "ROUTER_SKILLS": str(folder / "skills"),
        "ROUTER_LLM_BASE_URL": models.url,
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
        "ROUTER_LLM_TURN_SECONDS": "120",
    }


def processes(folder: Path, settings: dict[str, str], port: int) -> Iterable[Kept]:
    program = [sys.executable, "-m", "router"]
    serve = [*program, "serve", "--port", f"{port}"]
    yield Kept("worker", [*program, "worker"], folder / "worker.log", "polls", settings)
    yield Kept("api", serve, folder / "api.log", "the API listens", settings)


@pytest.fixture(scope="module")
async def house() -> AsyncIterator[House]:
    # pytest's own folders are closed to PostgreSQL's user.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101
        async with house_at(Path(folder)) as house:
            yield house


class Person:
    """Somebody whose program sends everything again until it is answered."""

    def __init__(self, house: House, name: str = "alice") -> None:
        headers = {"Authorization": f"Bearer {name}"}
        url = f"{house.url}/v1"
        self.http = httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False)

    async def got(self, path: str) -> Any:
        async def ask() -> Any:
            with suppress(httpx.TransportError):
                answer = await self.http.get(path)
                return answer.json() if answer.status_code == 200 else None

        return await until(path, ask)

    async def posted(self, path: str, body: dict[str, Any]) -> Any:
        key = {"Idempotency-Key": uuid4().hex}

        async def ask() -> Any:
            with suppress(httpx.TransportError):
                answer = await self.http.post(path, json=body, headers=key)
                assert answer.status_code in (200, 201, 202, 429, 503), answer.text
                return answer.json() if answer.status_code in (200, 201) else None

        return await until(f"an answer to {body}", ask)

    async def chat(self) -> str:
        return str((await self.posted("/conversations", {"locale": "en"}))["id"])

    async def said(self, chat: str, **message: Any) -> Any:
        """The turn that answers it."""
        return await self.posted(f"/conversations/{chat}/messages", message)

    async def confirmed(self, chat: str) -> Any:
        asked = (await self.got(f"/conversations/{chat}"))["pending_confirmation"]["question"]
        action = {"type": "confirm", "value": True, "question": asked}
        return await self.said(chat, action=action)


async def reads(person: Person) -> Any:
    """An idempotent read in a turn."""
    return await person.said(await person.chat(), text="What does a crate of widgets cost?")


async def consults(person: Person) -> Any:
    """A skill's call."""
    return await person.said(await person.chat(), text="Which widgets are the better buy?")


async def writes(person: Person) -> Any:
    """A write that honours no key, which the person has confirmed in its form."""
    chat = await person.chat()
    start = {"type": "start", "flow": "wire_money", "slots": {"purpose": "form"}}
    turn = await person.said(chat, action=start)
    assert turn["flow"]["status"] == "confirming", turn
    turn = await person.confirmed(chat)
    return await ended(person, turn["flow"]["id"])


async def hands_in(person: Person, boss: Person) -> Any:
    """A flow's call after an approval."""
    chat = await person.chat()
    start = {"type": "start", "flow": "payout", "slots": {"purpose": "flow"}}
    run = (await person.said(chat, action=start))["flow"]["id"]

    async def asked() -> Any:
        items = (await boss.got("/approvals"))["items"]
        return next((one for one in items if one["flow_run"] == run), None)

    approval = await until("the approval to be asked for", asked)
    verdict = {"decision": "approve", "digest": approval["digest"]}
    with suppress(AssertionError):  # decided already, by a try whose answer got lost
        await boss.posted(f"/approvals/{approval['id']}/decision", verdict)
    return await ended(person, run)


async def ended(person: Person, run: str) -> Any:
    async def ask() -> Any:
        found = await person.got(f"/flow-runs/{run}")
        running = ("running", "waiting_approval", "confirming", "collecting")
        return None if found["status"] in running else found

    return await until("the run to end", ask)


@contextmanager
def stands_still(postgres: Kept) -> Any:
    """Its connections stay open, and nothing comes of them."""
    postgres.freeze()
    try:
        yield
    finally:
        postgres.thaw()


OUTAGES = {"killed": Kept.down, "stands still": stands_still}


@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("seconds", [6, 30])
async def test_calls_under_way_end_well_when_the_database_is_back(
    house: House, outage: str, seconds: int
) -> None:
    house.world.asked.clear()
    house.world.may_answer.clear()
    alice, bob, before = Person(house), Person(house, "bob"), await audited(house)
    calling = [
        asyncio.create_task(one)
        for one in (reads(alice), consults(alice), writes(alice), hands_in(alice, bob))
    ]

    async def all_are_asked() -> bool | None:
        for task in calling:
            assert not task.done(), task.result()
        return len(house.world.asked) == len(calling) or None

    await until("the four tools to be called", all_are_asked)

    with OUTAGES[outage](house.postgres):
        house.world.may_answer.set()
        await asyncio.sleep(seconds)
    await house.postgres.serves()
    read, skill, form, flow = await asyncio.gather(*calling)

    statuses = [[call["status"] for call in turn["tool_calls"]] for turn in (read, skill)]
    assert statuses == [["done"], ["done"]]
    assert [form["status"], flow["status"]] == ["completed", "completed"], (form, flow)
    assert sorted(house.world.asked) == ["flow", "form", "read", "skill"]
    rows = (await audited(house))[len(before) :]
    tools = ["fetch_quote", "fetch_quote", "wire_money", "wire_money"]
    assert sorted(rows) == [(name, "done") for name in tools]
    assert await unfinished(house) == 0


async def audited(house: House) -> list[tuple[str, str]]:
    """The calls that were admitted, in their order."""
    query = "SELECT tool, outcome FROM audit WHERE decision = 'admitted' ORDER BY sequence"
    return [(row["tool"], row["outcome"]) for row in await looked_up(house, query)]


async def unfinished(house: House) -> int:
    """The writes of which the ledger doesn't know how they ended."""
    rows = await looked_up(house, "SELECT count(*) AS n FROM effects WHERE status = 'begun'")
    return int(rows[0]["n"])


async def looked_up(house: House, query: str) -> list[Any]:
    connection = await asyncpg.connect(house.database)
    try:
        return list(await connection.fetch(query))
    finally:
        await connection.close()
