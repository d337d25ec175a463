"""Feishu's API, as far as a bot posts.

Over httpx: Feishu's own library takes long to load, and 170 MB, for three calls.
"""

import json
import time
from typing import Any
from urllib.parse import quote

import httpx

from router.adapters.feishu.cards import card
from router.adapters.port import Place, Post, Undeliverable
from router.domain.errors import TooManyRequests, Unavailable

SECONDS = 10.0
EARLY = 300.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 5

_NO_TOKEN = frozenset({99991661, 99991663, 99991664, 99991668})
"""The token is missing, wrong or past its end: a new one may do."""
_BUSY = frozenset({99991400, 11232, 230020})
"""Too many calls, by app or by chat."""


class FeishuClient:
    """`router.adapters.port.Outbound` on Feishu, as the bot of one app."""

    def __init__(self, url: str, app_id: str, secret: str) -> None:
        self._http = httpx.AsyncClient(base_url=f"{url}/open-apis", timeout=SECONDS)
        self._app = {"app_id": app_id, "app_secret": secret}
        self._token = ""
        self._good_until = 0.0

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, place: Place, post: Post, key: str) -> None:
        """Post a card; of one `key` Feishu takes one within the hour."""
        await self._send(place, "interactive", card(post), key)

    async def say(self, place: Place, text: str) -> None:
        """Post a line."""
        await self._send(place, "text", {"text": text}, "")

    async def _send(self, place: Place, kind: str, content: Any, key: str) -> None:
        body = {"msg_type": kind, "content": json.dumps(content, ensure_ascii=False)}
        body |= {"uuid": key} if key else {}
        if "message" in place:
            path = f"/im/v1/messages/{quote(place['message'], safe='')}/reply"
            await self._authorised(path, {}, {**body, "reply_in_thread": True})
            return
        to, kind_of_id = place.get("chat"), "chat_id"
        if to is None:
            to, kind_of_id = place["account"], "open_id"
        query = {"receive_id_type": kind_of_id}
        await self._authorised("/im/v1/messages", query, {**body, "receive_id": to})

    async def _authorised(self, path: str, query: dict[str, str], body: dict[str, Any]) -> None:
        """Call it with a token; once more where Feishu no longer takes that one."""
        code, said = await self._call(path, query, body, await self._fresh_token())
        if code in _NO_TOKEN:
            self._good_until = 0.0
            code, said = await self._call(path, query, body, await self._fresh_token())
        if code in _BUSY:
            raise TooManyRequests("Feishu is busy", BUSY)
        if code != 0:
            raise Undeliverable(f"Feishu answers {code}: {said}; see docs/adapters.md")

    async def _fresh_token(self) -> str:
        if time.monotonic() >= self._good_until:
            path = "/auth/v3/tenant_access_token/internal"
            answer = await self._answer(path, {}, self._app, {})
            if answer.get("code") != 0:
                raise Unavailable(f"Feishu won't have the app: {answer.get('msg')}; see its id")
            self._token = str(answer["tenant_access_token"])
            self._good_until = time.monotonic() + float(answer.get("expire", 0)) - EARLY
        return self._token

    async def _call(
        self, path: str, query: dict[str, str], body: dict[str, Any], token: str
    ) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await self._answer(path, query, body, headers)
        return int(answer.get("code", -1)), str(answer.get("msg"))

    async def _answer(
        self, path: str, query: dict[str, str], body: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        try:
            response = await self._http.post(path, params=query, json=body, headers=headers)
            answer = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(f"Feishu can't be reached: {type(error).__name__}") from error
        if response.status_code == 429:  # noqa: PLR2004
            wait = response.headers.get("x-ogw-ratelimit-reset", "")
            raise TooManyRequests("Feishu is busy", int(wait) if wait.isdigit() else BUSY)
        if response.is_server_error or not isinstance(answer, dict):
            raise Unavailable(f"Feishu answers {response.status_code}")
        return answer
