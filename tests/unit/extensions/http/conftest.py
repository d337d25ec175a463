from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.extensions.http.declaring import Desk, Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An empty folder for files of declared tools."""
    path = tmp_path / "declared"
    path.mkdir()
    return Folder(path)


@pytest.fixture
async def desk(folder: Folder) -> AsyncIterator[Desk]:
    """A server that says what it was asked, and the tools that call it."""

    def echo(got: Got) -> Reply:
        return json_reply(
            {"method": got.method, "target": got.target, "headers": dict(got.headers)}
        )

    async with WebServer(echo) as server:
        yield Desk(folder, server)
