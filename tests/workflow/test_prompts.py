"""Shares of prompts, set over HTTP and taken up by a worker that goes on running."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.domain.errors import Unavailable
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from router.store.prompt_shares import SetShares
from tests.fakes.model_server import MODEL, ModelServer, says
from tests.unit.routing.test_prompts import write
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow

SHARES, BACK = "/v1/prompts/router/shares", "/v1/prompts/router/rollback"
OLGA = {"Authorization": "Bearer olga"}


@dataclass
class House:
    """A house whose model greets whatever it is asked, and its folder of prompts."""

    parts: Parts
    api: AsyncClient
    folder: Path

    async def asked_with(self) -> str:
        """The version that a new conversation's message was decided with, as the turn says."""
        talk = (await self.api.post("/v1/conversations", json={})).json()["id"]
        said = {"text": "没事儿，就是路过跟你打声招呼呀"}
        turn = (await self.api.post(f"/v1/conversations/{talk}/messages", json=said)).json()
        assert turn["route"]["by"] == "llm", turn["route"]
        return str(turn["route"]["prompt"]).partition("@")[0]

    async def share(self, **shares: int) -> None:
        wanted = {name.replace("_", "-"): weight for name, weight in shares.items()}
        answer = await self.api.put(SHARES, json={"shares": wanted}, headers=OLGA)
        assert answer.status_code == 200, answer.text

    async def comes_to(self, version: str) -> None:
        await until(self.asked_with, version)


async def until(look: Callable[[], Awaitable[Any]], wanted: Any) -> None:
    for _ in range(600):
        if (found := await look()) == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"still {found!r}")


@pytest.fixture
async def house(real_client: Client, tmp_path: Path) -> AsyncIterator[House]:
    folder, queue = tmp_path / "prompts", f"prompts-{uuid4().hex}"
    for made in (folder, tmp_path / "data"):
        made.mkdir()
    write(folder, router_2_zh="你是前台，第二版。", router_2_en="You are the desk, the second.")
    greeting = ModelServer(says("你好！"))
    async with greeting:
        settings = Settings.load(
            data=tmp_path / "data",
            llm_base_url=greeting.url,
            llm_model=MODEL,
            llm_warm=False,
            prompts=folder,
            prompt_shares={"router-1": 1},
        )
        async with (
            at_work(settings) as parts,
            build_worker(real_client, parts, queue),
            served(parts, real_client, queue) as api,
        ):
            yield House(parts, api, folder)


async def test_shares_hold_for_the_next_conversations_without_a_restart_and_are_rolled_back(
    house: House,
) -> None:
    assert await house.asked_with() == "router-1"
    await house.share(router_2=1)
    await house.comes_to("router-2")
    answer = await house.api.post(BACK, headers=OLGA)
    assert answer.json()["source"] == "settings"
    await house.comes_to("router-1")
    found = (await house.api.get("/v1/prompts", headers=OLGA)).json()["outcomes"]
    assert {each["version"] for each in found} == {"router-1", "router-2"}
    assert all(each["conversations"] == each["turns"] > 0 for each in found)


async def test_a_version_that_is_written_meanwhile_can_be_given_a_share(house: House) -> None:
    body = {"shares": {"router-3": 1}}
    assert (await house.api.put(SHARES, json=body, headers=OLGA)).status_code == 422
    write(house.folder, router_3_zh="第三版。", router_3_en="The third.")

    async def there() -> bool:
        listed = (await house.api.get("/v1/prompts", headers=OLGA)).json()["items"][0]
        return "router-3" in [each["version"] for each in listed["versions"]]

    await until(there, True)
    await house.share(router_3=1)
    await house.comes_to("router-3")


async def test_a_file_that_can_not_be_used_leaves_prompts_as_they_were(house: House) -> None:
    await house.share(router_2=1)
    await house.comes_to("router-2")
    write(house.folder, router_3_zh="只有中文。")
    await until(lambda: asyncio.to_thread(house.parts.prompt_files.reload), False)
    assert await house.asked_with() == "router-2"


async def test_while_the_database_is_away_the_last_known_shares_go_on(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await house.share(router_2=1)
    await house.comes_to("router-2")

    async def away(_: str | None = None) -> list[SetShares]:
        raise Unavailable("the database is away")

    monkeypatch.setattr(house.parts.store.prompt_shares, "holding", away)

    async def complained() -> bool:
        return "stay as they were for now: the database is away" in caplog.text

    await until(complained, True)
    assert await house.asked_with() == "router-2"
