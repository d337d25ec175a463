"""Slack's Web API: the only importer of its SDK, which is there where the extra `adapters` is."""

import asyncio
import ssl
import urllib.error
from collections.abc import Callable
from typing import Any

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import WebClient

from router.adapters.port import Place, Post, Undeliverable, Wanted
from router.adapters.slack.blocks import blocks, escaped, fallback
from router.domain.errors import TooManyRequests, Unavailable

SECONDS = 10
BUSY = 30
"""Seconds that are waited where Slack doesn't say how many."""
LONGEST_MESSAGE = 12_000
"""Characters of a message without blocks; Slack cuts at 40,000."""

_PASSING = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited"}
)
"""Errors after which the same call may succeed."""


class SlackClient:
    """`router.adapters.port.Outbound` on Slack, as the bot of one token."""

    def __init__(self, url: str, token: str) -> None:
        self._web = WebClient(token=token, base_url=f"{url}/", timeout=SECONDS)

    async def post(self, place: Place, post: Post, key: str) -> None:
        """Post it; `key` goes with it as metadata, by which a second one is told from a repeat."""
        await self._call(
            self._web.chat_postMessage,
            **_where(place),
            text=fallback(post)[:LONGEST_MESSAGE],
            blocks=blocks(post),
            metadata={"event_type": "intent_router_post", "event_payload": {"key": key}},
            unfurl_links=False,
        )

    async def say(self, place: Place, text: str) -> None:
        """Post a line."""
        await self._call(self._web.chat_postMessage, **_where(place), text=escaped(text))

    async def replace(self, place: Place, ts: str, card: Wanted) -> None:
        """Have a card that is there look otherwise."""
        await self._call(
            self._web.chat_update,
            channel=place["channel"],
            ts=ts,
            text=fallback(card),
            blocks=blocks(card),
        )

    async def aclose(self) -> None:
        """Nothing is held: the SDK connects for each call."""

    @staticmethod
    async def _call(method: Callable[..., object], **arguments: Any) -> None:
        """Call it on a thread: this part of the SDK is synchronous.

        Raises as `Outbound` does.
        """
        try:
            await asyncio.to_thread(method, **arguments)
        except SlackApiError as error:
            raise _refusal(error) from error
        except (SlackClientError, urllib.error.URLError, OSError, ssl.SSLError) as error:
            raise Unavailable(f"Slack can't be reached: {error}") from error


def _where(place: Place) -> dict[str, str]:
    thread = {"thread_ts": place["thread"]} if "thread" in place else {}
    return {"channel": place.get("channel") or place["account"], **thread}


def _refusal(error: SlackApiError) -> Exception:
    response = error.response
    code, said = int(response.status_code), str(response.get("error", "no reason"))
    if code == 429:  # noqa: PLR2004
        wait = str(response.headers.get("Retry-After", BUSY))
        return TooManyRequests("Slack is busy", int(wait) if wait.isdigit() else BUSY)
    if code >= 500 or said in _PASSING:  # noqa: PLR2004
        return Unavailable(f"Slack answers {code}: {said}")
    return Undeliverable(f"Slack answers {said}; see docs/adapters.md for the scopes it wants")
