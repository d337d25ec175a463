"""The terminal chat at a real API, where turns take as long as the test wants."""

import asyncio
import os
import sys
from pathlib import Path

import httpx

from tests.fakes.terminal import Terminal
from tests.integration.api.test_streaming import address  # noqa: F401 - a real server

CTRL_C = b"\x03"


def stopping(url: str, state: Path) -> str:
    """Somebody stops a turn, sees what became of it, and goes on; what they saw."""
    words = [sys.executable, "-m", "router", "chat", "--url", url, "--user", "alice", "--new"]
    with Terminal(words, {**os.environ, "XDG_STATE_HOME": str(state)}) as alice:
        alice.sees("/help")
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
        alice.types("/quit")
        assert alice.ends() == 0
        return alice.shown


def running(url: str) -> bool:
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer alice"}) as client:
        newest = client.get("/v1/conversations").json()["items"][0]["id"]
        return bool(client.get(f"/v1/conversations/{newest}").json()["status"] == "running")


def clearing(url: str, state: Path) -> str:
    """Somebody presses Ctrl-C, types something, clears it with another, and goes on."""
    words = [sys.executable, "-m", "router", "chat", "--url", url, "--user", "alice", "--new"]
    with Terminal(words, {**os.environ, "XDG_STATE_HOME": str(state)}) as alice:
        alice.sees("/help")
        alice.sees(">")
        alice.presses(CTRL_C)
        alice.sees("再按一次")
        alice.presses(b"one")
        alice.sees("one")
        alice.presses(CTRL_C)
        alice.types("hello")
        alice.sees("alice: hello")
        alice.types("/quit")
        assert alice.ends() == 0
        return alice.shown


async def test_a_ctrl_c_that_clears_a_line_leaves_nothing_but_the_line(
    address: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    shown = await asyncio.to_thread(clearing, address, tmp_path)
    assert "Traceback" not in shown


async def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(
    address: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    shown = await asyncio.to_thread(stopping, address, tmp_path)
    assert "Traceback" not in shown
