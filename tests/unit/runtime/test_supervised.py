"""Which processes look after models, and what they have them read."""

import asyncio
from pathlib import Path

import pytest

from router.extension import WorkKind
from router.routing.offer import FIXED
from router.runtime.composition import assembled
from router.runtime.worker import supervised
from router.settings import Settings
from tests.fakes.model_server import MODEL, ModelServer, reaches
from tests.fakes.web_server import Received, Reply
from tests.table import each_row

pytestmark = pytest.mark.slow


def settings_of(server: ModelServer, data: Path, **more: object) -> Settings:
    return Settings.load(data=data, llm_base_url=server.url, llm_model=MODEL, **more)


@each_row(
    ("kinds", "queue", "attended"),
    [
        (["turns", "models", "tools"], None, True),
        (["turns"], None, True),
        (["turns"], "models", False),
        (["models"], "models", True),
        (["tools"], None, False),
    ],
)
async def test_models_are_looked_after_where_they_are_asked(
    tmp_path: Path, kinds: list[WorkKind], queue: str | None, attended: bool
) -> None:
    async with ModelServer() as server:
        settings = settings_of(server, tmp_path, model_queue=queue)
        async with assembled(settings) as parts:
            (link,) = parts.chains.links
            async with supervised(parts, kinds):
                await asyncio.sleep(0)
                assert link.breaker.attended is attended
            assert not link.breaker.attended


async def test_rules_are_read_ahead_in_every_language_with_what_is_always_offered(
    tmp_path: Path,
) -> None:
    read = asyncio.Event()
    async with ModelServer() as server, assembled(settings_of(server, tmp_path)) as parts:
        reading = server.reading

        def until_both(received: Received) -> Reply:
            if len(server.readings) > 1:
                read.set()
            return reading(received)

        server.reading = until_both
        async with supervised(parts):
            await read.wait()
        rules = [body["messages"][0]["content"] for body in server.readings]
        offered = {tuple(tool["function"]["name"] for tool in b["tools"]) for b in server.readings}
    assert rules == [prompt.text for prompt in parts.prompts.shared("router")]
    assert offered == {tuple(function.name for function in FIXED)}


async def test_nothing_is_read_ahead_where_nobody_wants_to_pay_for_it(tmp_path: Path) -> None:
    listed = asyncio.Event()
    async with ModelServer() as server:
        server.listing = reaches(listed, server.listing)
        settings = settings_of(server, tmp_path, llm_warm=False)
        async with assembled(settings) as parts, supervised(parts):
            await listed.wait()
        assert server.readings == []
