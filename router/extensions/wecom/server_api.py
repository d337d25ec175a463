"""WeCom's server API: posts, cards that change, files in and out, answers in groups."""

from collections.abc import Mapping
from typing import Any

import httpx2

from router.api.markdown import markdown
from router.domain.bounded_cache import BoundedCache
from router.domain.errors import TooManyRequests, Unavailable
from router.extensions.channels.base import (
    AccessToken,
    ChatPlace,
    GivenFile,
    Grant,
    InboundFile,
    NotAdmitted,
    Post,
    Statement,
    TooLong,
    Undeliverable,
    platform_client,
)
from router.extensions.wecom.callbacks import EVERYBODY
from router.extensions.wecom.settings import WecomSettings
from router.extensions.wecom.template_cards import Body, in_group, messages, texts
from router.formats.http_body import Unread

EARLY = 60.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 60
"""WeCom counts by the minute."""
MAX_REMEMBERED_POSTS = 1000
"""Posts of which it is known how much is posted."""

MOST_MARKDOWN = 20_480
"""Bytes of an answer in a group."""
IN_GROUP = 1_000_000
"""Stands for a post that was answered in the group it was asked in, and so isn't posted."""

_NO_TOKEN = frozenset({40001, 40014, 41001, 42001})
"""The token is missing, wrong or past its end: a new one may do."""
_NO_RIGHT = frozenset({40013, 40056, 48001, 48002, 50002, 50003, 60011, 60020, 301002})
"""The app or this machine's address may not do this, whoever is written to."""
_BUSY = frozenset({45009, 45011, 45033})
"""Too many calls, by app, by minute or at once."""
_POSTED_BEFORE = 42014
"""A card of the same `task_id` is there."""


class WecomClient:
    """`Outbound` on WeCom: as one self-built app, and in groups its robot."""

    def __init__(self, settings: WecomSettings) -> None:
        self._http = platform_client(f"{settings.url}/cgi-bin")
        secret = settings.secret.get_secret_value()
        self._app = {"corpid": settings.corp_id, "corpsecret": secret}
        self._agent = settings.agent_id
        self._token = AccessToken(self._granted, EARLY)
        self._posted = BoundedCache[str, int](MAX_REMEMBERED_POSTS)

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post it, and after a failure what is missing of it.

        WeCom drops a card that is posted again under its key. Of texts it would drop those that
        are only alike: they are seen twice where this process dies in between.
        """
        if isinstance(post, Statement) and await self._answered(place, in_group(post), key):
            return
        for number, body in enumerate(messages(post, key)):
            if number >= (self._posted.get(key) or 0):
                await self._send(place, body)
                self._posted.put(key, number + 1)

    async def say(self, place: ChatPlace, text: str) -> None:
        """Say it, in the group where it was asked and can be answered, else to the person alone."""
        if not await self._answered(place, text, ""):
            for body in texts(text):
                await self._send(place, body)

    async def _answered(self, place: ChatPlace, text: str, key: str) -> bool:
        """Answer in the group, within the hour and once; False where that can't be, or was.

        What was posted under the key is answered already.
        """
        code = place.get("code", "")
        if self._posted.get(key) == IN_GROUP:
            return True
        if not code or self._posted.get(code):
            return False
        said = markdown(text).replace("<@", "＜@")  # or it would call somebody, or everybody
        if len(said.encode()) > MOST_MARKDOWN:
            return False
        sent = {"msgtype": "markdown", "markdown": {"content": said}}
        answer = await self._answer("/aibot/response", {"response_code": code}, json=sent)
        refused, why = _code_of(answer)
        if refused in _BUSY | {-1}:
            raise _refusal(refused, why)
        self._posted.put(code, IN_GROUP)
        if key and not refused:
            self._posted.put(key, IN_GROUP)
        return not refused

    async def update(self, place: ChatPlace, code: str, card: Body) -> None:
        """Show this card in place of the one on which a press gave the code; each does so once."""
        body = {"userids": [_to(place)], "agentid": self._agent, "response_code": code}
        if not self._posted.get(code):
            await self._call("/message/update_template_card", json={**body, "template_card": card})
            self._posted.put(code, 1)

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file that the app was sent, for three days."""
        return (await self._call("/media/get", {"media_id": file.source})).content

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Upload it, and post what WeCom calls it."""
        if self._posted.get(key):
            return
        kind = "image" if file.type in {"image/png", "image/jpeg"} else "file"
        part = {"media": (file.name, file.content, file.type)}
        answer = await self._call("/media/upload", {"type": kind}, files=part)
        media = {"media_id": str(answer.json().get("media_id"))}
        await self._send(place, {"msgtype": kind, kind: media})
        self._posted.put(key, 1)

    async def _send(self, place: ChatPlace, body: Body) -> None:
        to = {"touser": _to(place), "agentid": self._agent}
        answer = await self._call("/message/send", json={**to, **body})
        if any(answer.json().get(name) for name in ("invaliduser", "unlicenseduser")):
            raise Undeliverable("WeCom doesn't let the app write to that account")

    async def _call(
        self, path: str, query: Mapping[str, str] | None = None, **sent: Any
    ) -> httpx2.Response:
        """Call it with a token; once more where WeCom no longer takes that one."""
        for again in (True, False):
            token = await self._token.current()
            answer = await self._answer(path, {"access_token": token, **(query or {})}, **sent)
            code, said = _code_of(answer)
            if code not in _NO_TOKEN or not again:
                break
            self._token.refuse(token)
        if code not in {0, _POSTED_BEFORE}:
            raise _refusal(code, said)
        return answer

    async def _granted(self) -> Grant:
        answer = await self._answer("/gettoken", self._app)
        code, said = _code_of(answer)
        if code:
            raise _refusal(code, said)
        known = answer.json()
        return Grant(str(known.get("access_token")), float(known.get("expires_in") or 0))

    async def _answer(self, path: str, query: Mapping[str, str], **sent: Any) -> httpx2.Response:
        method = "POST" if sent else "GET"
        try:
            answer = await self._http.request(method, path, params=query, **sent)
        except Unread as error:
            raise TooLong(f"what WeCom answers at {path}: {error}") from error
        except httpx2.HTTPError as error:
            raise Unavailable(f"WeCom can't be reached: {type(error).__name__}") from error
        if answer.status_code == 429:  # noqa: PLR2004
            raise TooManyRequests("WeCom is busy", BUSY)
        if not answer.is_success:
            raise Unavailable(f"WeCom answers {answer.status_code}")
        return answer


def _to(place: ChatPlace) -> str:
    """The one account that is written to: WeCom would take several, or everybody."""
    account = place.get("account", "")
    if not account or "|" in account or account == EVERYBODY:
        raise Undeliverable(f"{account[:80]!r} is no account of one person on WeCom")
    return account


def _code_of(answer: httpx2.Response) -> tuple[int, str]:
    """WeCom's own code, 0 where all is well, and what it says; a file has none."""
    if "json" not in answer.headers.get("content-type", ""):
        if answer.request.url.path.endswith("/media/get"):
            return 0, ""
        raise Unavailable("what answers for WeCom speaks no JSON")
    try:
        said = answer.json()
        return int(said["errcode"]), str(said.get("errmsg"))
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable("what answers for WeCom isn't WeCom") from error


def _refusal(code: int, said: str) -> Exception:
    if code in _BUSY:
        return TooManyRequests("WeCom is busy", BUSY)
    if code == -1:  # WeCom's own fault, which passes
        return Unavailable(f"WeCom answers {code}: {said}")
    if code in _NO_TOKEN | _NO_RIGHT:
        remedy = "set ROUTER_WECOM_… to what the app has, and have it trust this machine's address"
        return NotAdmitted(f"WeCom answers {code}: {said}; {remedy} (docs/wecom.md)")
    return Undeliverable(f"WeCom answers {code}: {said}; see docs/wecom.md")
