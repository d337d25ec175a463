"""`serve` and `worker` told to stop, or gone, while people write: what was taken in is answered."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from router.runtime.server import Ports
from tests.deployed import browser, conversation, deployment, last_words, ready, running, token
from tests.e2e.house import free_ports
from tests.fakes.model_server import ModelServer, reaches, says, waits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]

QUESTION = "Why do people write poems about autumn?"
ANSWER = "Because leaves fall in it."
PATIENT = {"ROUTER_SHUTDOWN_SECONDS": "120"}
HASTY = {"ROUTER_BACKLOG_SECONDS": "1"}


def model_at(url: str) -> Mapping[str, str]:
    return {
        "ROUTER_LLM_BASE_URL": url,
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
    }


async def test_a_turn_under_way_ends_though_all_are_told_to_stop(tmp_path: Path) -> None:
    ports, asked, answering = Ports(*free_ports(3)), asyncio.Event(), asyncio.Event()
    script = [reaches(asked, waits(answering, 0, says(ANSWER)))]
    async with deployment(tmp_path, ports) as variables, ModelServer(script) as model:
        environment = {**variables, **PATIENT, **model_at(model.url)}
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            running(environment, "worker") as worker,
            browser(ports.api_url, await token(environment)) as alice,
        ):
            await ready(f"{ports.api_url}/readyz", api, worker)
            where = f"/conversations/{await conversation(alice)}/messages?wait=60"
            turn = asyncio.create_task(alice.post(where, json={"text": QUESTION}, timeout=90))
            await asyncio.wait_for(asked.wait(), 60)
            stopping = [asyncio.create_task(last_words(each)) for each in (api, worker)]
            answering.set()
            async with running(environment, "worker") as another:
                answer = await turn
                ends = [*await asyncio.gather(*stopping), await last_words(another)]
        assert answer.status_code == 200
        assert [reply["text"] for reply in answer.json()["replies"]] == [ANSWER]
        assert len(model.chats) == 1
    assert [status for status, _ in ends] == [0, 0, 0]


async def test_nobody_is_let_in_while_nothing_works_and_nothing_is_lost(tmp_path: Path) -> None:
    ports = Ports(*free_ports(3))
    async with deployment(tmp_path, ports) as variables:
        environment = {**variables, **HASTY}
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            browser(ports.api_url, await token(environment)) as alice,
        ):
            async with running(environment, "worker") as worker:
                await ready(f"{ports.api_url}/readyz", api, worker)
                talks = [await conversation(alice) for _ in range(3)]
                taken = [await told(alice, talk, "m1") for talk in talks]
                await last_words(worker)
            refused = await until_refused(alice)
            async with running(environment, "worker") as worker:
                await ready(f"{ports.api_url}/readyz", api, worker)
                after = [await until_taken(alice, talk, "m2") for talk in talks]
                again = [await told(alice, talk, "m1") for talk in talks]
                await last_words(worker)
    assert [answer.status_code for answer in (*taken, *after)] == [200] * 6
    assert refused.headers["Retry-After"].isdigit()
    assert [answer.json() for answer in again] == [answer.json() for answer in taken]


async def told(client: httpx.AsyncClient, talk: str, message: str) -> httpx.Response:
    body = {"text": "我要请假", "message_id": message}
    return await client.post(f"/conversations/{talk}/messages", json=body)


async def until_refused(client: httpx.AsyncClient) -> httpx.Response:
    """The first answer that is given at once, rather than after waiting for a worker.

    To new conversations: in one that lives, Temporal tries a message on whoever is there, and
    keeps it nowhere, so that nothing piles up.
    """
    async with asyncio.timeout(60):
        while True:
            talk = await conversation(client)
            began = asyncio.get_running_loop().time()
            answer = await told(client, talk, "m1")
            assert answer.status_code == 503
            if asyncio.get_running_loop().time() - began < 1:
                return answer


async def until_taken(client: httpx.AsyncClient, talk: str, message: str) -> httpx.Response:
    """The first answer that isn't a refusal: what was measured before is forgotten in seconds."""
    async with asyncio.timeout(60):
        while True:
            answer = await told(client, talk, message)
            if answer.status_code != 503:
                return answer
