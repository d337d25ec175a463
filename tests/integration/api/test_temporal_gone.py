"""A Temporal server that went away."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.domain.errors import Unavailable
from router.runtime.server import create_app
from router.runtime.temporal import connect
from router.settings import Settings
from tests.integration.api.conftest import client_of


class Wire:
    """A TCP wire to a server, which can be cut."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._ends: set[asyncio.StreamWriter] = set()

    async def laid(self) -> str:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def cut(self) -> None:
        self._server.close()
        for end in self._ends:
            end.transport.abort()
        await asyncio.sleep(0.1)

    async def _join(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection(*self._there)
        self._ends |= {back, forth}
        await asyncio.gather(self._pass(near, forth), self._pass(far, back), return_exceptions=True)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        sink.close()


@pytest.fixture
async def client(services: Services) -> AsyncIterator[AsyncClient]:
    """The API with a Temporal client whose server went away."""
    host, _, port = services.temporal.service_client.config.target_host.rpartition(":")
    wire = Wire(host, int(port))
    settings = services.settings.model_copy(update={"temporal_address": await wire.laid()})
    temporal = await connect(settings)
    await wire.cut()
    async with client_of(create_app(replace(services, temporal=temporal)), "alice") as client:
        yield client


@pytest.mark.slow
async def test_what_needs_it_is_503_and_waits_for_nobody(client: AsyncClient) -> None:
    begun = (await client.post("/v1/conversations")).json()["id"]
    path = f"/v1/conversations/{begun}"
    for answer in (
        await client.get(path),
        await client.get(f"{path}/messages/m"),
        await client.post(f"{path}/cancel"),
        await client.post(f"{path}/messages?wait=0", json={"text": "hi"}),
    ):
        assert answer.status_code == 503
        assert answer.headers["retry-after"]


async def test_what_does_not_need_it_works(client: AsyncClient) -> None:
    for path in ("/v1/conversations", "/v1/flow-runs", "/v1/approvals", "/v1/capabilities"):
        assert (await client.get(path)).status_code == 200
    assert (await client.get("/readyz")).status_code == 503


async def test_connecting_says_what_to_do() -> None:
    settings = Settings(temporal_address="127.0.0.1:9", _env_file=None)
    with pytest.raises(Unavailable, match="ROUTER_TEMPORAL_ADDRESS="):
        await connect(settings)
