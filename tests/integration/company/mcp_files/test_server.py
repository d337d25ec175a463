"""The sample server as a process, over its input and output and over HTTP."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from router.domain.errors import ArgumentsToolError, TransientToolError
from router.extensions.mcp.file import ServerEntry, ToolEntry
from tests.integration.extensions.mcp.conftest import House, house_of
from tests.ports import free_ports
from tests.samples import one_in
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow

SERVER = (sys.executable, "-m", "company.mcp_files")
READS = {"file_read": ToolEntry(permission="read"), "file_search": ToolEntry(permission="read")}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plan.md").write_text("Buy tea")
    return notes


@asynccontextmanager
async def over_http(notes: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *SERVER, str(notes), "--http", str(port), stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(HANGS_AFTER_S):
            assert process.stderr is not None
            async with httpx.AsyncClient(trust_env=False) as http:
                while not await _answers(http, port):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.05)
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), HANGS_AFTER_S)


async def _answers(http: httpx.AsyncClient, port: int) -> bool:
    try:
        await http.get(f"http://127.0.0.1:{port}/mcp")
    except httpx.HTTPError:
        return False
    return True


async def use(house: House) -> None:
    """What anybody would do with the server."""
    read = await house.call("files__file_read", path="plan.md")
    assert read == {"path": "plan.md", "text": "Buy tea", "size": 7, "next": None}
    await house.call("files__file_save", key="k", path="a/new.md", text="More tea")
    found = await house.call("files__file_search", query="more tea")
    assert found == {"result": [{"path": "a/new.md", "line": 1, "text": "More tea"}]}
    with pytest.raises(ArgumentsToolError, match="leads out of the folder"):
        await house.call("files__file_read", path="../secret")


async def test_files_are_used_over_input_and_output(notes: Path) -> None:
    program = (*SERVER[1:], str(notes))
    entry = ServerEntry(command=SERVER[0], args=program, cwd=Path.cwd(), tools=READS)
    async with house_of(files=entry) as house:
        await house.has("files")
        names = [f"files__file_{name}" for name in ("read", "save", "search")]
        assert sorted(house.tools["files"]) == names
        assert [house[name].asks_first for name in names] == [False, True, False]
        await use(house)


async def test_a_server_over_http_that_goes_and_comes_back_is_used_again(notes: Path) -> None:
    (port,) = free_ports(1)
    entry = ServerEntry(url=f"http://127.0.0.1:{port}/mcp", tools=READS)
    async with house_of(files=entry) as house:
        async with over_http(notes, port) as process:
            await house.has("files")
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
            with pytest.raises(TransientToolError):
                await house.call("files__file_read", path="plan.md")
        async with over_http(notes, port):
            async with asyncio.timeout(HANGS_AFTER_S):
                while house.servers.connections["files"]._client is None:  # noqa: ASYNC110 - no news
                    await asyncio.sleep(0.05)
            await use(house)


async def test_another_site_s_page_can_t_use_it(notes: Path) -> None:
    (port,) = free_ports(1)
    async with over_http(notes, port), httpx.AsyncClient(trust_env=False) as http:
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            answer = await http.post(f"http://127.0.0.1:{port}/mcp", json={}, headers=headers)
            assert answer.status_code in (403, 421)


@pytest.mark.parametrize("words", one_in(3, (["/no/such/folder"], ["--http", "8000"], [])))
async def test_what_it_can_t_serve_is_told(words: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *SERVER, *words, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await asyncio.wait_for(process.communicate(), HANGS_AFTER_S)
    assert process.returncode in (1, 2)
    assert b"folder" in said
