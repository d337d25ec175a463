"""APIs and workers side by side, as `--scale` and several machines have them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from router.runtime.server import Ports
from tests.deployed import deployment, last_words, ready, running, said_to, token
from tests.e2e.house import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]


async def test_two_apis_and_two_workers_start_at_once_on_an_empty_database(tmp_path: Path) -> None:
    ports = Ports(*free_ports(3))
    apis = [f"http://127.0.0.1:{port}" for port in free_ports(2)]
    async with deployment(tmp_path, ports) as environment, AsyncExitStack() as stack:
        await ready(ports.ui_url)
        commands = [("serve", "--port", url.rpartition(":")[2]) for url in apis]
        few = environment | {"ROUTER_DATABASE_CONNECTIONS": "2"}
        processes = await asyncio.gather(
            *(
                stack.enter_async_context(running(few, *words))
                for words in [*commands, ("worker",), ("worker",)]
            )
        )
        await asyncio.gather(*(ready(f"{url}/readyz", *processes) for url in apis))
        bearer = await token(environment)
        kinds = await asyncio.gather(
            *(said_to(url, bearer, "我要请年假") for url in apis for _ in range(4))
        )
        ends = await asyncio.gather(*(last_words(process) for process in processes))
    assert kinds == ["flow"] * 8
    assert [status for status, _ in ends] == [0, 0, 0, 0]
    assert [line for _, log in ends for line in log.splitlines() if "ERROR" in line] == []
