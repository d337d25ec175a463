"""Many people at two API processes at once while Temporal is restarted: nobody is told wrong.

Two `serve` and one `worker` run as processes, on a PostgreSQL and a Temporal that keeps its state.
Each person sends to one API, and whatever isn't answered they send again to the other one.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from router.directory.file import SAMPLE
from tests.e2e.chaos.house import answers, postgres_at, temporal_at
from tests.e2e.chaos.machine import Kept
from tests.e2e.storm.requests import until
from tests.fakes.model_server import ModelServer, says, waits
from tests.fakes.web_server import Received, Reply
from tests.ports import free_ports
from tests.postgres import MISSING, binaries, order

pytestmark = [
    pytest.mark.slow,  # five processes of its own, and a restart of Temporal
    pytest.mark.xdist_group("dev"),
    pytest.mark.skipif(binaries() is None, reason=MISSING),
]

CROWD = [f"p{number}" for number in range(40)]
GUESTS = CROWD[:12]
"""Those who send messages: no more turns than a worker has in hand at once."""
AWAY_S = {"restarted": 3.0, "away": 32.0}
"""How long Temporal is away: less and more than an API tries again for."""
SOME = 5
"""Decisions that are answered when Temporal is killed."""
ENDED = {"status": "completed", "state": "tell"}
FLOW = """
flow: petition
title: {zh: 联名申请, en: Petition}
description: {zh: 所有人同意以后生效, en: Takes effect once everybody has agreed}
triggers: {patterns: ['^petition$']}
slots:
  purpose: {type: text, label: {zh: 用途, en: Purpose}, ask: {zh: 做什么用？, en: What for?}}
start: details
states:
  details: {collect: [purpose], next: everybody}
  everybody:
    approve: {by: 'role("crowd")', mode: all, title: {zh: 联名申请, en: Petition}}
    approved: tell
    rejected: tell_no
  tell: {say: {zh: 生效了。, en: It takes effect.}, end: completed}
  tell_no: {say: {zh: 没有批准。, en: It isn't approved.}, end: rejected}
"""


@dataclass
class Model:
    """A model that answers once it may."""

    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0

    def __call__(self, received: Received) -> Reply:
        self.asked += 1
        return waits(self.may_answer, 0, says("It costs 12 euros."))(received)


@dataclass
class House:
    """The APIs' addresses, and what the tests look after."""

    urls: list[str]
    temporal: Kept
    temporal_port: int
    model: Model

    @asynccontextmanager
    async def without_temporal(self, seconds: float) -> AsyncIterator[None]:
        """Kill Temporal's server, and have it back so long after the block."""
        with self.temporal.down():
            yield
            await asyncio.sleep(seconds)
        await answers(self.temporal_port)


@asynccontextmanager
async def house_at(folder: Path) -> AsyncIterator[House]:
    temporal, database, *apis = free_ports(4)
    async with AsyncExitStack() as stack:
        model = Model()
        models = await stack.enter_async_context(ModelServer(model))
        (folder / "database").mkdir()
        settings = written_settings(folder, models.url, temporal, database)
        program = [sys.executable, "-m", "router"]
        server, postgres = temporal_at(folder, temporal), postgres_at(folder, database)
        ours = [Kept("worker", [*program, "worker"], folder / "worker.log", "polls", settings)]
        for port in apis:
            command = [*program, "serve", "--port", f"{port}"]
            log, sign = folder / f"api-{port}.log", "the API listens"
            ours.append(Kept(f"api {port}", command, log, sign, settings))
        for one in (server, postgres, *ours):
            stack.push_async_callback(one.stop)
        server.start()
        postgres.start()
        await postgres.serves()
        await order(f"postgresql://router@127.0.0.1:{database}/postgres", "CREATE DATABASE house")
        await answers(temporal)
        for one in ours:
            one.start()
        for one in ours:
            await one.serves()
        yield House([f"http://127.0.0.1:{port}" for port in apis], server, temporal, model)


def written_settings(folder: Path, model: str, temporal: int, database: int) -> dict[str, str]:
    """Write the files that the processes read, and return their variables."""
    (folder / "flows").mkdir()
    (folder / "flows" / "petition.yaml").write_text(FLOW)
    people = SAMPLE.read_text("utf-8")
    for person in CROWD:
        about = {"id": person, "name": person.title(), "locale": "en", "roles": ["crowd"]}
        people += f"  - {json.dumps(about)}\n"
    (folder / "people.yaml").write_text(people)
    return {
        "ROUTER_DATABASE_URL": f"postgresql+asyncpg://router@127.0.0.1:{database}/house",
        "ROUTER_TEMPORAL_ADDRESS": f"127.0.0.1:{temporal}",
        "ROUTER_DATA": str(folder / "data"),
        "ROUTER_DIRECTORY": str(folder / "people.yaml"),
        "ROUTER_FLOWS": str(folder / "flows"),
        "ROUTER_LLM_BASE_URL": model,
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
        "ROUTER_LLM_TURN_SECONDS": "60",
    }


@pytest.fixture(scope="module")
async def house() -> AsyncIterator[House]:
    # pytest's own folders are closed to PostgreSQL's user.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101
        async with house_at(Path(folder)) as house:
            yield house


@dataclass
class Person:
    """Somebody who sends to their API first, and what isn't answered to the other one."""

    name: str
    number: int
    apis: list[httpx.AsyncClient]
    refusals: list[httpx.Response] = field(default_factory=list)
    """Answers after which they sent again."""

    @property
    def own(self) -> httpx.AsyncClient:
        return self.apis[self.number % 2]

    @property
    def other(self) -> httpx.AsyncClient:
        return self.apis[(self.number + 1) % 2]

    async def send(self, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
        """Send until the answer is neither a 429 nor a 503, each time to the other API.

        Without a `key` each try has one of its own, as a page has that was loaded again.
        """
        for tries in range(100):
            api = self.apis[(self.number + tries) % 2]
            headers = {"Idempotency-Key": key or uuid4().hex}
            answer = await api.post(path, json=body, headers=headers)
            if answer.status_code not in {429, 503}:
                return answer
            assert "retry-after" in answer.headers, answer.text
            self.refusals.append(answer)
            await asyncio.sleep(0.5)
        raise AssertionError(f"{self.name} isn't answered: {answer.status_code} {answer.text}")

    async def approval(self, run: str) -> dict[str, Any]:
        """What the run asks this person to decide."""

        async def ask() -> dict[str, Any] | None:
            items: list[dict[str, Any]] = (await self.own.get("/approvals")).json()["items"]
            return next((one for one in items if one["flow_run"] == run), None)

        return await until(f"an approval of {self.name}", ask)

    async def chat(self) -> str:
        opened = await self.own.post("/conversations", json={"locale": "en"})
        return str(opened.raise_for_status().json()["id"])


@asynccontextmanager
async def people(house: House, *names: str) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as stack:
        found = []
        for number, name in enumerate(names):
            headers = {"Authorization": f"Bearer {name}"}
            apis = [
                await stack.enter_async_context(
                    httpx.AsyncClient(
                        base_url=f"{url}/v1", headers=headers, timeout=90, trust_env=False
                    )
                )
                for url in house.urls
            ]
            found.append(Person(name, number, apis))
        yield found


@pytest.mark.parametrize("temporal", AWAY_S)
async def test_forty_decisions_through_two_apis_count_once_each_and_nobody_is_told_no(
    house: House, temporal: str
) -> None:
    """Every fourth sends the same decision to both APIs at once, as by a card and by a page."""
    async with people(house, "alice", *CROWD) as (alice, *crowd):
        start = {"type": "start", "flow": "petition", "slots": {"purpose": "a new coffee machine"}}
        path = f"/conversations/{await alice.chat()}/messages"
        turn = (await alice.own.post(path, json={"action": start})).raise_for_status().json()
        run = turn["flow"]["id"]
        shown = [await person.approval(run) for person in crowd]
        some_are_answered, answered = asyncio.Event(), []

        async def decides(person: Person, approval: dict[str, Any]) -> httpx.Response:
            body = {"decision": "approve", "digest": approval["digest"]}
            answer = await person.send(f"/approvals/{approval['id']}/decision", body)
            answered.append(person.name)
            if len(answered) == SOME:
                some_are_answered.set()
            return answer

        twice = [replace(person, number=person.number + 1) for person in crowd[::4]]
        senders = zip([*crowd, *twice], [*shown, *shown[::4]], strict=True)
        deciding = [asyncio.create_task(decides(*each)) for each in senders]
        await some_are_answered.wait()
        async with house.without_temporal(AWAY_S[temporal]):
            before = len(answered)
        told = await asyncio.gather(*deciding)

        assert before < len(told)
        assert Counter(answer.status_code for answer in told) == {200: len(told)}, told
        found = (await alice.other.get(f"/flow-runs/{run}")).json()
        assert found["status"] == "completed", found
        counted = Counter(line["by"] for line in found["history"] if line["event"] == "approve")
        assert counted == dict.fromkeys(CROWD, 1)

        for person, approval, first in zip(crowd, shown, told[: len(crowd)], strict=True):
            path = f"/approvals/{approval['id']}/decision"
            same = {"decision": "approve", "digest": approval["digest"]}
            again = await person.other.post(path, json=same)
            now = {**first.json(), "flow_run": {**first.json()["flow_run"], **ENDED}}
            assert (again.status_code, again.json()) == (200, now)
            contrary = await person.other.post(path, json={**same, "decision": "reject"})
            assert contrary.status_code == 409, contrary.text
            assert "You approved this already" in contrary.json()["detail"]


async def test_messages_in_mid_turn_are_answered_once_or_name_the_id_to_send_again(
    house: House,
) -> None:
    house.model.asked = 0
    house.model.may_answer.clear()
    async with people(house, *GUESTS) as guests:
        chats = [await guest.chat() for guest in guests]
        text = "What does a crate of widgets cost?"

        async def says_it(guest: Person, chat: str) -> httpx.Response:
            return await guest.own.post(f"/conversations/{chat}/messages", json={"text": text})

        async def all_are_asked() -> bool | None:
            return house.model.asked >= len(GUESTS) or None

        async def late(guest: Person, chat: str) -> httpx.Response:
            path = f"/conversations/{chat}/messages?wait=1"
            return await guest.own.post(path, json={"text": "And who sells them?"})

        sending = [asyncio.create_task(says_it(*each)) for each in zip(guests, chats, strict=True)]
        await until("all turns to be with the model", all_are_asked)
        async with house.without_temporal(AWAY_S["restarted"]):
            house.model.may_answer.set()
            followed = [
                asyncio.create_task(late(*each)) for each in zip(guests, chats, strict=True)
            ]
            await asyncio.sleep(AWAY_S["restarted"])
        first, second = await asyncio.gather(*sending), await asyncio.gather(*followed)

        assert {answer.status_code for answer in first} <= {200, 202}, [a.text for a in first]
        assert {answer.status_code for answer in second} <= {200, 202, 503}
        for guest, chat, *both in zip(guests, chats, first, second, strict=True):
            ids = [answer.json()["message_id"] for answer in both]
            for message_id, said in zip(ids, (text, "And who sells them?"), strict=True):
                body = {"text": said, "message_id": message_id}
                path = f"/conversations/{chat}/messages"
                answer = await guest.send(path, body, key=message_id)
                if answer.status_code == 202:
                    await turn_of(guest, f"{path}/{message_id}")
                assert answer.status_code in {200, 202}, answer.text
            lines = (await guest.other.get(f"/conversations/{chat}/messages")).json()["items"]
            assert [line["text"] for line in lines if line["role"] == "user"] == [
                text,
                "And who sells them?",
            ]
            assert [line["role"] for line in lines].count("assistant") == len(ids), lines


async def turn_of(guest: Person, path: str) -> dict[str, Any]:
    """The turn that answers a message, asked for at the other API."""

    async def ask() -> dict[str, Any] | None:
        answer = await guest.other.get(path)
        return dict(answer.json()) if answer.status_code == 200 else None

    return await until(path, ask)
