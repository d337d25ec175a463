"""`kill -9` of the worker while a conversation is with a person, and while it is given back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.runtime.composition import Parts, assembled
from tests.e2e.attending_worker import POINTS, Place, live
from tests.e2e.mortal import Mortal, spare
from tests.temporal import dev_server, register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow.test_hand_offs import always_worked
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow

ALWAYS = "hours: ['00:00-23:59']"
PEOPLE = f"""users:
  - {{id: alice, name: 王丽 Alice, locale: zh}}
  - {{id: dave, name: Dave, locale: en, roles: [hr], {ALWAYS}}}
  - {{id: hilda, name: Hilda, locale: en, roles: [hr], timezone: America/Lima, {ALWAYS}}}
"""
TENANTS = "default: {hand_off: {roles: [hr]}}"
IN_SHORT = {"said"}
"""The point that the quick suite tries; the slow one tries all."""


@dataclass(frozen=True)
class House:
    """Whoever speaks and whoever helps, over HTTP, and the one worker behind both."""

    parts: Parts
    worker: Mortal[Place]
    alice: AsyncClient
    dave: AsyncClient

    async def dying(self, point: str, step: Callable[[], Awaitable[Any]]) -> Any:
        """What the step comes to, of which the worker dies at this point; the same the next time.

        The next time it is sent as one sends again what may have got lost.
        """
        (self.worker.plan.deaths / point).touch()
        async with asyncio.timeout(HANGS_AFTER_S):
            first = asyncio.ensure_future(step())
            await self.worker.reborn()
            outcome = await first
            assert await step() == outcome
        return outcome


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder, deaths = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("deaths")
    (folder / "people.yaml").write_text(PEOPLE, "utf-8")
    (folder / "tenants.yaml").write_text(TENANTS, "utf-8")
    async with AsyncExitStack() as open_, await dev_server() as temporal:
        await register_attributes(temporal.client)
        address = temporal.client.service_client.config.target_host
        place = Place(temporal=address, queue="attending", folder=folder, deaths=deaths)
        parts = await open_.enter_async_context(assembled(place.settings))
        always_worked(parts)
        worker = Mortal(live, place)
        await worker.start()
        alice = await open_.enter_async_context(served(parts, temporal.client, place.queue))
        dave = AsyncClient(
            base_url=alice.base_url, headers={"Authorization": "Bearer dave"}, timeout=60
        )
        yield House(parts, worker, alice, await open_.enter_async_context(dave))
        await worker.kill()


async def taken_in(send: Callable[[], Awaitable[Response]]) -> Any:
    """The answer of what is sent again, as one is told to, while nobody has taken it in."""
    while (answer := await send()).status_code == 503:
        assert "again" in answer.json()["detail"]
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    "point",
    [
        point if point in IN_SHORT else pytest.param(point, marks=pytest.mark.slow)
        for point in POINTS
    ],
)
async def test_wherever_the_worker_dies_all_is_said_once_and_the_desk_is_silent(
    house: House, point: str
) -> None:
    spare(house.worker.plan.deaths)
    await house.worker.lives()
    conversation = (await house.alice.post("/v1/conversations", json={})).json()["id"]
    path = f"/v1/conversations/{conversation}"

    async def says(text: str) -> Any:
        body = {"text": text, "message_id": text.encode().hex()}
        return await taken_in(lambda: house.alice.post(f"{path}/messages", json=body))

    async def does(kind: str, **body: Any) -> Any:
        way, key = f"/v1/handoffs/{id_}/{kind}", {"Idempotency-Key": f"{id_}-{kind}"}
        return await taken_in(lambda: house.dave.post(way, json=body or None, headers=key))

    async def with_person() -> Any:
        return (await house.alice.get(path)).json()["with_person"]

    await says("转人工")
    id_ = (await with_person())["hand_off"]
    taken = await house.dying(point, lambda: does("take"))
    assert (taken["agent"]["name"], (await with_person())["name"]) == ("Dave", "Dave")
    heard = await house.dying(point, lambda: says("工资算错了"))
    assert (heard["route"]["kind"], heard["replies"]) == ("handoff", [])
    await house.dying(point, lambda: does("reply", text="We'll pay it."))
    over = await house.dying(point, lambda: does("return", text="Done."))
    assert (over["state"], over["ending"], await with_person()) == ("closed", "returned", None)
    await says("你好")
    assert await transcript(house.alice, path) == [
        ("user", "转人工"),
        ("assistant", "已经转给同事了"),
        ("assistant", "Dave 来了"),
        ("user", "工资算错了"),
        ("assistant", ""),
        ("Dave", "We'll p"),
        ("assistant", "Dave:\n>"),
        ("user", "你好"),
        ("assistant", "你好！我可以帮"),
    ]
    news = [row.data for row in await house.parts.store.log.news("default", "dave", 0, 200)]
    told = [each["event"] for each in news if each.get("hand_off") == id_]
    assert told == ["requested", "taken", "said", "closed"]


async def transcript(reader: AsyncClient, path: str) -> list[tuple[str, str]]:
    """Who said what, in order; of each the beginning."""
    items = (await reader.get(f"{path}/messages")).json()["items"]
    return [(each.get("author", {}).get("name", each["role"]), each["text"][:7]) for each in items]
