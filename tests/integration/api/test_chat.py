"""The terminal chat at a real API, where turns take as long as the test wants."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx import AsyncClient

from router.store.store import Store
from tests.fakes.terminal import Terminal
from tests.integration.api.conftest import As
from tests.integration.api.test_runs import approval_record, run_record
from tests.samples import one_in

CTRL_C = b"\x03"


def stopping(alice: Terminal, url: str) -> None:
    """Somebody stops a turn, sees what became of it, and goes on."""
    alice.types("slow")
    alice.sees("slow")
    while not running(url):
        alice.sees("", within=1)
    alice.presses(CTRL_C)
    alice.sees("正在停止")
    alice.sees("alice: slow")
    alice.types("hello")
    alice.sees("alice: hello")
    alice.types("full")
    alice.sees("! ")


def running(url: str) -> bool:
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer alice"}) as client:
        newest = client.get("/v1/conversations").json()["items"][0]["id"]
        return bool(client.get(f"/v1/conversations/{newest}").json()["status"] == "running")


def clearing(alice: Terminal, _: str) -> None:
    """Somebody presses Ctrl-C, types something, clears it with another, and goes on."""
    alice.sees(">")
    alice.presses(CTRL_C)
    alice.sees("再按一次")
    alice.sees(">")
    alice.presses(b"one")
    alice.sees("one")
    alice.presses(CTRL_C)
    alice.types("hello")
    alice.sees("alice: hello")


def chatting(
    plays: Callable[[Terminal, str], None], url: str, state: Path, user: str = "alice"
) -> str:
    words = [sys.executable, "-m", "router", "chat", "--url", url, "--user", user, "--new"]
    with Terminal(words, {**os.environ, "XDG_STATE_HOME": str(state)}) as alice:
        alice.sees("/help")
        plays(alice, url)
        alice.types("/quit")
        assert alice.ends() == 0
        return alice.shown


@pytest.mark.slow
@pytest.mark.parametrize("plays", one_in(2, (stopping, clearing)))
async def test_ctrl_c_clears_a_line_or_stops_the_turn_and_the_chat_goes_on(
    address: str, tmp_path: Path, plays: Callable[[Terminal, str], None]
) -> None:
    assert "Traceback" not in await asyncio.to_thread(chatting, plays, address, tmp_path)


def listing(erin: Terminal, _: str) -> None:
    erin.types("/approvals")
    erin.sees("这里只有最新的 20 项")


@pytest.mark.slow
async def test_a_list_says_that_it_has_more_than_it_shows(
    address: str, store: Store, unique: str, tmp_path: Path
) -> None:
    for number in range(21):
        run = run_record(f"{unique[:10]}{number:02}")
        await store.runs.publish(run, [approval_record(run, "erin")])
    assert "Traceback" not in await asyncio.to_thread(chatting, listing, address, tmp_path, "erin")


def deleting(gina: Terminal, _: str) -> None:
    gina.types("/delete 1")
    gina.sees("没有第 1 项")
    gina.types("/list")
    gina.sees(" *")
    gina.types("/delete 1")
    gina.sees("/delete 1 yes")
    gina.types("/delete 1 yes")
    gina.sees("已删除")


@pytest.mark.slow
async def test_a_conversation_is_deleted_once_it_is_said_twice(
    address: str, tmp_path: Path, caller: As
) -> None:
    before = {item["id"] for item in await listed_of(caller("gina"))}
    shown = await asyncio.to_thread(chatting, deleting, address, tmp_path, "gina")
    assert "Traceback" not in shown
    # The one that it began with went, and another was begun in its place.
    after = {item["id"] for item in await listed_of(caller("gina"))}
    assert len(after - before) == 1


async def listed_of(client: AsyncClient) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get("/v1/conversations?limit=200")).json()["items"]
    return items


@pytest.mark.slow
async def test_a_file_goes_by_itself_where_none_is_asked_for(address: str, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.pdf"
    receipt.write_bytes(b"%PDF-1.7\n")

    def attaching(alice: Terminal, _: str) -> None:
        alice.types("/file")
        alice.sees("请写出文件的路径")
        alice.types(f"/file {tmp_path}/nothing.pdf")
        alice.sees("nothing.pdf")
        alice.types(f"/file {receipt}")
        alice.sees("alice: ")

    shown = await asyncio.to_thread(chatting, attaching, address, tmp_path)
    assert re.search("alice: [0-9a-z]{24}", shown)
