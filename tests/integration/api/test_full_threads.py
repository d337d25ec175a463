"""A process whose default threads are all in use, by code that blocks or by names that hang."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from fastapi import FastAPI

from router.directory.sources import DirectoryFile, LiveDirectory
from tests.integration.api.conftest import client_of
from tests.integration.api.test_configuration import ok

ALICE = {"id": "alice", "name": "Alice", "tenant": "acme", "locale": "en", "timezone": "UTC"}
BOB = {"id": "bob", "name": "Bob", "tenant": "acme", "locale": "en", "timezone": "UTC"}


@contextmanager
def default_threads_in_use() -> Iterator[None]:
    """Have all default threads of the loop wait until the block is left."""
    loop, may_end = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    loop.run_in_executor(None, may_end.wait)
    try:
        yield
    finally:
        may_end.set()
        loop.set_default_executor(ThreadPoolExecutor())


async def test_the_api_is_described(app: FastAPI) -> None:
    async with client_of(app, None) as client:
        with default_threads_in_use():
            document = ok(await client.get("/openapi.json"))
    assert "/v1/route" in document["paths"]


async def test_who_has_left_is_let_in_no_more(tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(json.dumps({"users": [ALICE, BOB]}))
    source = DirectoryFile(file)
    source.seconds = 0.01
    directory = LiveDirectory.load(source)
    with default_threads_in_use():
        file.write_text(json.dumps({"users": [ALICE]}))
        following = asyncio.create_task(directory.kept_up())
        while await directory.find("acme", "bob") is not None:  # noqa: ASYNC110 - its own pace
            await asyncio.sleep(0.01)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
    assert await directory.find("acme", "alice") is not None
