"""Slack's Web API, as it is called: what is sent, and what its answers come out as."""

import hashlib
import hmac
from collections.abc import AsyncIterator

import pytest

from router.domain.errors import TooManyRequests, Unavailable
from router.extensions.channels.base import GivenFile, NotAdmitted, Undeliverable
from router.extensions.slack.entrance import SlackClient, is_signed
from tests.fakes.slack import Slack
from tests.fakes.web_server import Reply, json_reply
from tests.table import each_row

THREAD = {"channel": "C1", "thread": "1.2"}


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with Slack() as server:
        yield server


@pytest.fixture
async def client(slack: Slack) -> AsyncIterator[SlackClient]:
    made = SlackClient(f"{slack.origin}/api", slack.token)
    yield made
    await made.aclose()


async def test_what_is_said_is_posted_without_previews(slack: Slack, client: SlackClient) -> None:
    await client.say(THREAD, "a <b> & c")
    (post,) = slack.posts
    assert post == {
        "channel": "C1",
        "thread_ts": "1.2",
        "text": "a &lt;b&gt; &amp; c",
        "unfurl_links": False,
        "unfurl_media": False,
        "ts": post["ts"],
    }


async def test_a_file_is_uploaded_without_the_token_and_then_shared(
    slack: Slack, client: SlackClient
) -> None:
    await client.give(THREAD, GivenFile("a.pdf", "application/pdf", b"%PDF", "f1"), "k")
    (file,) = slack.uploads
    assert (file["name"], file["content"], file["authorization"]) == ("a.pdf", b"%PDF", None)
    assert (file["channel_id"], file["thread_ts"]) == ("C1", "1.2")


@each_row(
    ("reply", "kind", "said"),
    [
        (json_reply({"ok": False, "error": "channel_not_found"}), Undeliverable, "channel_not_f"),
        (json_reply({"ok": False, "error": "token_revoked"}), NotAdmitted, "token_revoked"),
        (json_reply({"ok": False, "error": "internal_error"}), Unavailable, "internal_error"),
        (json_reply({"ok": False}, 503), Unavailable, "answers 503"),
        (Reply([b"slow down"], 429, {"retry-after": "7"}), TooManyRequests, "busy"),
        (Reply([b"<html>"], 200), Unavailable, "speaks no JSON"),
        (Reply([b"[" * 100_000], 200), Unavailable, "speaks no JSON"),
        (Reply([b"<html>"], 404), Undeliverable, "speaks no JSON"),
        (Reply([], 302, {"location": "https://elsewhere.example"}), Unavailable, "no JSON"),
        (Reply([b" " * 2**20] * 30, 200), Unavailable, "can't be reached: Unread"),
    ],
)
async def test_what_slack_refuses_comes_out_as_this_project_s_errors(
    slack: Slack, client: SlackClient, reply: Reply, kind: type[Exception], said: str
) -> None:
    slack.troubles.append(reply)
    with pytest.raises(kind, match=said) as refused:
        await client.say(THREAD, "hello")
    assert getattr(refused.value, "retry_after", None) in {None, 7}


async def test_slack_that_is_away_is_unavailable() -> None:
    client = SlackClient("http://127.0.0.1:1/api", "xoxb")
    with pytest.raises(Unavailable, match="can't be reached"):
        await client.say(THREAD, "hello")
    await client.aclose()


@each_row(
    ("stamp", "off_s", "is_one"),
    [
        ("1000", 0, True),
        ("1000", 300, True),
        ("1000", 301, False),
        ("1000", -301, False),
        ("", 0, False),
        ("soon", 0, False),
        ("٣", 0, False),
        ("1" * 5000, 0, False),
    ],
)
def test_a_request_is_slack_s_if_it_was_signed_lately(
    stamp: str, off_s: float, is_one: bool
) -> None:
    body = '{"text": "请假"}'.encode() + b"\xff"
    signed = hmac.new(b"secret", f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={signed}"}
    assert is_signed("secret", body, headers, 1000 + off_s) is is_one
    assert not is_signed("another", body, headers, 1000 + off_s)
    assert not is_signed("secret", body + b" ", headers, 1000 + off_s)
