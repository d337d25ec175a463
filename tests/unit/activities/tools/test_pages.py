"""Pages of the web as text, from where a stranger's words may come and nowhere else."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.builtin.pages import PageGuard, page_sender
from router.domain.errors import ArgumentsToolError, InvalidInput, PermanentToolError, RouterError
from router.outbound.client import HostResolver, Sender
from tests.fakes.certificates import contexts_for
from tests.fakes.web_server import Got, NameServer, Reply, WebServer, json_reply
from tests.table import each_row
from tests.unit.activities.tools.conftest import Desk

LOOPBACK, METADATA = "127.0.0.1", "169.254.169.254"
HERE = NameServer(pages_example=[[LOOPBACK]], inside_example=[["10.0.0.1"]])
HTML = (
    "<html><head><title>T</title><script>x()</script></head><body><p>年假&amp;<p>two</body></html>"
)


def html(_: Got) -> Reply:
    return Reply([HTML.encode()], 200, {"content-type": "text/html; charset=utf-8"})


async def fetched(
    desk: Desk,
    folder: Path,
    answer: Callable[[Got], Reply],
    path: str = "/a?b=1#c",
    resolve: HostResolver = HERE,
) -> tuple[Any, list[Got]]:
    """What the tool gives of a server that its guard lets through alone, and the requests."""
    shown, trusted = contexts_for("pages.example", folder)
    async with WebServer(answer, shown) as server:
        origin = f"https://pages.example:{server.port}"
        sender = Sender(PageGuard([origin]), resolve, trusted)
        desk.dependencies.provide(page_sender, sender)
        return await desk.ask("fetch_page", url=f"{origin}{path}"), server.requests


async def test_a_page_is_what_a_reader_sees_of_it(desk: Desk, tmp_path: Path) -> None:
    page, requests = await fetched(desk, tmp_path, html)
    assert page["text"].splitlines()[-2:] == ["年假&", "two"]
    assert "x()" not in page["text"]
    assert [(got.method, got.target) for got in requests] == [("GET", "/a?b=1")]


async def test_json_is_text_too(desk: Desk, tmp_path: Path) -> None:
    page, _ = await fetched(desk, tmp_path, lambda _: json_reply({"年": 1}))
    assert page["text"] == '{"年": 1}'


UNREAD = {
    "a picture": Reply([b"\x89PNG"], 200, {"content-type": "image/png"}),
    "too much": Reply([b"x" * (1024 * 1024 + 1)], 200, {"content-type": "text/plain"}),
    "of no type": Reply([b"x"], 200, {}),
    "not there": Reply([b"no"], 404, {"content-type": "text/plain"}),
    "led inside": Reply([b""], 302, {"location": "https://inside.example/"}),
    "led to an address": Reply([b""], 302, {"location": f"https://{METADATA}/latest"}),
    "led out of encryption": Reply([b""], 302, {"location": "http://pages.example/"}),
    "led to a file": Reply([b""], 302, {"location": "file:///etc/passwd"}),
    "led round and round": Reply([b""], 302, {"location": "/again"}),
}


@each_row("reply", UNREAD.values(), ids=UNREAD)
async def test_what_is_no_page_is_an_error(desk: Desk, tmp_path: Path, reply: Reply) -> None:
    with pytest.raises(RouterError):
        await fetched(desk, tmp_path, lambda _: reply)


@each_row(
    "url",
    [
        *("http://pages.example/", "ftp://pages.example/", "file:///etc/passwd", "javascript:1"),
        *("https://me:secret@pages.example/", "https://", "pages.example", "https://2130706433/"),
        *("https://a b/", "https://[::1%25lo]/", "https://a\\b/", "", "x" * 2001),
    ],
)
async def test_an_address_that_is_none_is_refused_unsent(desk: Desk, url: str) -> None:
    desk.dependencies.provide(page_sender, Sender(PageGuard(), HERE))
    with pytest.raises((ArgumentsToolError, InvalidInput)):
        await desk.ask("fetch_page", url=url)


@each_row("host", [LOOPBACK, METADATA, "[::1]", "10.0.0.1", "inside.example"])
async def test_nothing_within_the_house_is_fetched(desk: Desk, host: str) -> None:
    desk.dependencies.provide(page_sender, Sender(PageGuard(), HERE))
    with pytest.raises((ArgumentsToolError, PermanentToolError), match="isn't public") as refused:
        await desk.ask("fetch_page", url=f"https://{host}/")
    assert_helps(refused.value)


LED_AWAY = ("https://inside.example/", f"https://{METADATA}/latest", "http://pages.example/")


@pytest.mark.parametrize("there", LED_AWAY)
async def test_where_a_page_leads_off_the_public_web_the_reader_is_told_so(
    desk: Desk, tmp_path: Path, there: str
) -> None:
    with pytest.raises(PermanentToolError, match="only pages") as refused:
        await fetched(desk, tmp_path, lambda _: Reply([b""], 302, {"location": there}))
    assert_helps(refused.value)


def assert_helps(refused: RouterError) -> None:
    """It names no setting, for none would help, and says it in either language alone."""
    assert "ROUTER_" not in refused.said.en + refused.said.zh
    assert "网页" in refused.said.zh
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", refused.said.zh)


def test_what_is_fetched_is_a_strangers_word(desk: Desk) -> None:
    tool = desk.registry["fetch_page"]
    assert (tool.outward, tool.asks_first) == (True, False)
