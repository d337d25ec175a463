"""Feishu (Lark): event callbacks in, interactive cards out.

Feishu's own library takes 170 MB, passes what isn't signed where no encrypt key is set, and never
asks how old a callback is. Here the key is always set, and both are checked. Texts go out as
`plain_text`, so that nothing that anybody wrote is a link, a picture or a mention.
"""

import base64
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from router.domain.errors import TooManyRequests, Unauthenticated, Unavailable
from router.extensions.channels import cards
from router.extensions.channels.base import (
    LONGEST_COMMENT,
    VERDICTS,
    AccessToken,
    ChatPlace,
    DecisionRequest,
    GivenFile,
    Grant,
    Inbound,
    InboundFile,
    NotAdmitted,
    Post,
    Statement,
    TooLong,
    Undeliverable,
    button_of,
    is_id,
    platform_client,
    within,
)
from router.extensions.channels.dispatcher import Dispatcher, Entering
from router.extensions.feishu.settings import FeishuSettings
from router.formats.http_body import Unread
from router.formats.strict_json import strict_json

log = logging.getLogger(__name__)


SIGNATURE = "x-lark-signature"
FRESH = 300
"""Seconds, either way."""
BLOCK = 16


def check(key: str, headers: Mapping[str, str], body: bytes) -> None:
    """Return where it was signed with the key within five minutes; else `ValueError`."""
    stamp = headers.get("x-lark-request-timestamp", "")
    nonce = headers.get("x-lark-request-nonce", "")
    given = headers.get(SIGNATURE, "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004
        raise ValueError("X-Lark-Request-Timestamp is no time")
    if abs(time.time() - int(stamp)) > FRESH:
        raise ValueError("it was signed more than five minutes ago, or will be")
    right = hashlib.sha256(f"{stamp}{nonce}{key}".encode() + body).hexdigest()
    if not hmac.compare_digest(right.encode(), given.encode()):
        raise ValueError("the signature isn't that of this body")


def opened(key: str, raw: bytes) -> dict[str, Any]:
    """What the body has encrypted: AES-256-CBC under the key's SHA-256, behind its IV, in base64.

    Raises `ValueError` where it wasn't with this key.
    """
    body = strict_json(raw)
    sealed = body.get("encrypt") if isinstance(body, dict) else None
    if not isinstance(sealed, str):
        raise ValueError("nothing in it is encrypted")  # noqa: TRY004 - a value from outside
    data = base64.b64decode(sealed, validate=True)
    cipher = Cipher(AES(hashlib.sha256(key.encode()).digest()), CBC(data[:BLOCK]))
    decryptor, unpadder = cipher.decryptor(), PKCS7(BLOCK * 8).unpadder()
    padded = decryptor.update(data[BLOCK:]) + decryptor.finalize()
    value = strict_json(unpadder.update(padded) + unpadder.finalize())
    if not isinstance(value, dict):
        raise ValueError("what was encrypted is no JSON object")  # noqa: TRY004 - the same
    return value


def authentic(settings: FeishuSettings, headers: Mapping[str, str], raw: bytes) -> dict[str, Any]:
    """The callback, which is of this app; raises `ValueError`, and nobody is told the reason.

    Whoever could tell one reason from another would decrypt by asking. The signature is checked
    before anything is decrypted; Feishu doesn't sign the one question whether the address is ours.
    """
    key = settings.encrypt_key.get_secret_value()
    if SIGNATURE in headers:
        check(key, headers, raw)
    body = opened(key, raw)
    header = within(body, "header")
    asks = body.get("type") == "url_verification"
    if not asks and SIGNATURE not in headers:
        raise ValueError("it isn't signed")
    token = settings.verification_token.get_secret_value()
    given = body.get("token") if asks else header.get("token")
    if not hmac.compare_digest(str(given).encode(), token.encode()):
        raise ValueError("the verification token isn't the app's")
    if header.get("app_id", settings.app_id) != settings.app_id:
        raise ValueError("it is for another app")
    return body


def from_outside(body: dict[str, Any]) -> bool:
    """True for what somebody of another company did, as in a group that has guests."""
    here = within(body, "header").get("tenant_key")
    people = within(body, "event", "sender"), within(body, "event", "operator")
    return any(one.get("tenant_key", here) != here for one in people)


FeishuCard = dict[str, Any]
CardElement = dict[str, Any]


def card(post: Post) -> FeishuCard:
    """The post as a card."""
    elements = list(_said(post) if isinstance(post, Statement) else _wanted(post))
    return {"config": {"wide_screen_mode": True, "update_multi": True}, "elements": elements}


def _said(said: Statement) -> Iterator[CardElement]:
    for reply in said.replies:
        buttons = list(cards.answers(reply, said))
        yield from map(_text, cards.sections_of(reply, said.locale, buttons=bool(buttons)))
        if buttons:
            yield {"tag": "action", "actions": [_button(each) for each in buttons]}


def _text(text: str) -> CardElement:
    return {"tag": "div", "text": _plain(text)}


def _wanted(wanted: DecisionRequest) -> Iterator[CardElement]:
    yield from map(_text, cards.decided_on(wanted))
    if wanted.outcome:
        yield {"tag": "note", "elements": [_plain(wanted.outcome)]}
        return
    at_once = [cards.deciding(wanted, verdict) for verdict in VERDICTS if verdict != "return"]
    yield {"tag": "action", "actions": [_button(each) for each in at_once]}
    # A form of its own: it isn't sent before something is written.
    hint = _plain(cards.WHAT_TO_CHANGE.within(wanted.locale))
    field: CardElement = {
        "tag": "input",
        "name": cards.COMMENT,
        "required": True,
        "placeholder": hint,
    }
    sending = {"name": "return", "action_type": "form_submit"}
    returning = _button(cards.deciding(wanted, "return")) | sending
    fields = [field | {"max_length": LONGEST_COMMENT}, returning]
    yield {"tag": "form", "name": "returning", "elements": fields}


def _button(each: cards.CardButton) -> CardElement:
    value = {"button": each.button.packed}
    style = each.style or "default"
    made = {"tag": "button", "text": _plain(each.label), "type": style, "value": value}
    dialog = {"title": _plain(each.label), "text": _plain(each.sure)}
    return made | ({"confirm": dialog} if each.sure else {})


def _plain(text: str) -> CardElement:
    return {"tag": "plain_text", "content": text}


_MENTION = re.compile(r"@_user_\d+")
_FILE_KINDS = ("file", "image", "media", "audio")
_KINDS = ("text", "post", *_FILE_KINDS)
MOST_PARTS = 200
"""Pieces of a message with pictures in its text that are looked at."""


def message_of(body: dict[str, Any]) -> Inbound | None:
    """A message to the bot: alone with it, or with a mention in a group.

    Feishu delivers those of groups only where the bot is mentioned. A group's thread, or else the
    group, is one conversation with each who speaks in it.
    """
    message, header = within(body, "event", "message"), within(body, "header")
    sender, kind = within(body, "event", "sender"), message.get("message_type")
    account = within(sender, "sender_id").get("open_id")
    event, chat = header.get("event_id"), message.get("chat_id")
    if sender.get("sender_type") != "user" or kind not in _KINDS:
        return None
    if not (is_id(account) and is_id(event) and is_id(chat)):
        return None
    # A message of a thread is answered in it, by a reply to that message.
    replied = message.get("message_id") if message.get("thread_id") else None
    said = _content_of(str(kind), message.get("message_id"), message.get("content"))
    return Inbound(
        event=str(event),
        account=str(account),
        thread=str(message.get("thread_id") or chat),
        place={"chat": str(chat)} | ({"message": replied} if isinstance(replied, str) else {}),
        text=None if kind in _FILE_KINDS else said.text,
        files=tuple(said.files),
        direct=message.get("chat_type") == "p2p",
    )


def press_of(body: dict[str, Any]) -> Inbound | None:
    """A button that was pressed."""
    event = within(body, "event")
    packed = within(event, "action", "value").get("button")
    account = within(event, "operator").get("open_id")
    chat = within(event, "context").get("open_chat_id")
    id_ = within(body, "header").get("event_id")
    button = button_of(packed) if isinstance(packed, str) else None
    if button is None or not (is_id(account) and is_id(chat) and is_id(id_)):
        return None
    comment = within(event, "action", "form_value").get(cards.COMMENT)
    comment = comment if isinstance(comment, str) else ""
    place = {"chat": str(chat)}
    return Inbound(str(id_), str(account), str(chat), place, button=button, comment=comment)


class _Content(NamedTuple):
    text: str
    files: list[InboundFile]


def _content_of(kind: str, message_id: object, content: object) -> _Content:
    """What a message says and has: words, one file, or a `post` of words with pictures."""
    try:
        said = strict_json(content.encode()) if isinstance(content, str) else {}
    except ValueError:
        said = {}
    said = said if isinstance(said, dict) else {}
    parts = [said] if kind in _FILE_KINDS else list(_pieces_of(said))[:MOST_PARTS]
    texts = [str(said.get("title") or ""), str(said.get("text") or "")]
    texts += [str(part.get("text") or "") for part in parts if part.get("tag") in {"text", "a"}]
    files = [file for part in parts if (file := _file_of(kind, str(message_id), part)) is not None]
    return _Content(_MENTION.sub("", "\n".join(filter(None, texts))).strip(), files)


def _pieces_of(post: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lines = post.get("content")
    for line in lines if isinstance(lines, list) else []:
        parts = line if isinstance(line, list) else []
        yield from (each for each in parts if isinstance(each, dict))


def _file_of(kind: str, message_id: str, part: dict[str, Any]) -> InboundFile | None:
    """The file that a part names; a film or a recording has no source, for nobody takes it."""
    name = str(part.get("file_name") or "")
    if kind in {"media", "audio"} or part.get("tag") == "media":
        return InboundFile(name or kind, "")
    key, as_what = part.get("image_key"), "image"
    if kind == "file":
        key, as_what = part.get("file_key"), "file"
    if not is_id(key) or not is_id(message_id):
        return InboundFile(name, "") if kind == "file" else None
    path = f"/im/v1/messages/{quote(message_id, safe='')}/resources/{quote(str(key), safe='')}"
    return InboundFile(name, f"{path}?type={as_what}")


EARLY = 300.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 5

_NO_TOKEN = frozenset({99991661, 99991663, 99991664, 99991668})
"""The token is missing, wrong or past its end: a new one may do."""
_NO_RIGHT = frozenset({99991672})
"""The app may not do this any more, whoever is written to."""
_BUSY = frozenset({99991400, 11232, 230020})
"""Too many calls, by app or by chat."""


class _FeishuClient:
    """`Outbound` on Feishu, as the bot of one app."""

    def __init__(self, url: str, app_id: str, secret: str) -> None:
        self._http = platform_client(f"{url}/open-apis")
        self._app = {"app_id": app_id, "app_secret": secret}
        self._token = AccessToken(self._granted, EARLY)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post a card; of one `key` Feishu takes one within the hour."""
        await self._send(place, "interactive", card(post), key)

    async def say(self, place: ChatPlace, text: str) -> None:
        await self._send(place, "text", {"text": text}, "")

    async def _send(self, place: ChatPlace, kind: str, content: Any, key: str) -> None:
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

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file of a message that the bot was sent."""
        for _ in range(2):
            token = await self._token.current()
            headers = {"Authorization": f"Bearer {token}"}
            try:
                answer = await self._http.get(file.source, headers=headers)
            except Unread as error:
                raise TooLong(f"the file {file.name[:80]!r}: {error}") from error
            except httpx2.HTTPError as error:
                raise Unavailable(f"Feishu can't be reached: {type(error).__name__}") from error
            if answer.is_success and "json" not in answer.headers.get("content-type", ""):
                return answer.content
            code, said = _code_of(answer)
            if code not in _NO_TOKEN:
                break
            self._token.refuse(token)
        raise _refusal(code, said)

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Upload it, and post what Feishu calls it; of one `key` it takes one within the hour."""
        if file.is_picture:
            path, kind, name = "/im/v1/images", "image", "image_key"
            fields = {"image_type": "message"}
        else:
            path, kind, name = "/im/v1/files", "file", "file_key"
            pdf = file.type == "application/pdf"
            fields = {"file_type": "pdf" if pdf else "stream", "file_name": file.name}
        part = {kind: (file.name, file.content, file.type)}
        try:
            answer = await self._authorised(path, {}, fields, part)
        except NotAdmitted as error:  # nothing else waits for that right
            raise Undeliverable(str(error)) from error
        await self._send(place, kind, {name: str(within(answer, "data").get(name))}, key)

    async def _authorised(
        self, path: str, query: dict[str, str], body: dict[str, Any], files: Any = None
    ) -> dict[str, Any]:
        """Call it with a token; once more where Feishu no longer takes that one."""
        answer: dict[str, Any] = {}
        for _ in range(2):
            token = await self._token.current()
            headers = {"Authorization": f"Bearer {token}"}
            answer = await self._answer(path, query, body, headers, files)
            if int(answer.get("code", -1)) not in _NO_TOKEN:
                break
            self._token.refuse(token)
        if (code := int(answer.get("code", -1))) != 0:
            raise _refusal(code, str(answer.get("msg")))
        return answer

    async def _granted(self) -> Grant:
        path = "/auth/v3/tenant_access_token/internal"
        answer = await self._answer(path, {}, self._app, {})
        if answer.get("code") != 0:
            raise NotAdmitted(
                f"Feishu won't have the app: {answer.get('msg')}; set ROUTER_FEISHU_APP_ID and "
                "ROUTER_FEISHU_APP_SECRET to what the app has"
            )
        return Grant(str(answer["tenant_access_token"]), float(answer.get("expire", 0)))

    async def _answer(
        self,
        path: str,
        query: dict[str, str],
        body: dict[str, Any],
        headers: dict[str, str],
        files: Any = None,
    ) -> dict[str, Any]:
        sent: dict[str, Any] = {"json": body} if files is None else {"data": body, "files": files}
        try:
            response = await self._http.post(path, params=query, headers=headers, **sent)
            answer = response.json()
        except (httpx2.HTTPError, Unread, ValueError) as error:
            raise Unavailable(f"Feishu can't be reached: {type(error).__name__}") from error
        if response.status_code == 429:  # noqa: PLR2004
            wait = response.headers.get("x-ogw-ratelimit-reset", "")
            raise TooManyRequests("Feishu is busy", int(wait) if wait.isdigit() else BUSY)
        if response.is_server_error or not isinstance(answer, dict):
            raise Unavailable(f"Feishu answers {response.status_code}")
        return answer


def _code_of(answer: httpx2.Response) -> tuple[int, str]:
    """What Feishu says is wrong, in a body that is meant to be JSON."""
    if answer.is_server_error:
        raise Unavailable(f"Feishu answers {answer.status_code}")
    try:
        said = answer.json()
        return int(said["code"]), str(said.get("msg"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return -1, f"status {answer.status_code}"


def _refusal(code: int, said: str) -> Exception:
    if code in _BUSY:
        return TooManyRequests("Feishu is busy", BUSY)
    if code in _NO_TOKEN | _NO_RIGHT:
        remedy = "give the app of ROUTER_FEISHU_APP_ID its rights again"
        return NotAdmitted(f"Feishu answers {code}: {said}; {remedy} (docs/channels.md)")
    return Undeliverable(f"Feishu answers {code}: {said}; see docs/channels.md")


NOT_OURS = (
    "The callback isn't the app's: its signature, its age, its encryption, its verification token "
    "or its app is wrong. Set ROUTER_FEISHU_… to what the app has; the log says which."
)
"""The one answer, whatever is wrong."""
MESSAGE = "im.message.receive_v1"
PRESS = "card.action.trigger"


@dataclass(frozen=True)
class _FeishuRoutes:
    settings: FeishuSettings
    client: _FeishuClient
    dispatcher: Dispatcher

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/adapters/feishu", include_in_schema=False)
        router.add_api_route("/events", self.events, methods=["POST"])
        return router

    async def events(self, request: Request) -> Response:
        """Take in a callback; a message arrives again where this doesn't answer 200."""
        try:
            body = authentic(self.settings, request.headers, await request.body())
        except ValueError as error:
            log.info("a callback of Feishu's is refused: %s", error)
            raise Unauthenticated(NOT_OURS) from None
        if body.get("type") == "url_verification":
            return JSONResponse({"challenge": str(body.get("challenge", ""))[:1000]})
        if from_outside(body):
            log.info("what somebody of another company did on Feishu is left alone")
            return JSONResponse({})
        kind = str(within(body, "header").get("event_type"))
        reads = {MESSAGE: message_of, PRESS: press_of}.get(kind)
        inbound = reads(body) if reads else None
        if inbound is None:
            return JSONResponse({})
        if inbound.button is not None and inbound.button.decision is not None:
            return JSONResponse(await self._decided(inbound))
        await self.dispatcher.take(inbound)
        return JSONResponse({})

    async def _decided(self, inbound: Inbound) -> dict[str, Any]:
        """What a press came to, and its card; said later where Feishu doesn't wait so long."""
        deciding = await self.dispatcher.deciding(inbound)
        if not deciding.done():

            async def said_later() -> None:
                if (outcome := await deciding) is not None:
                    await self.client.say(inbound.place, outcome.text)

            self.dispatcher.aside(said_later())
            return _toast("info", f"{cards.DECIDING.zh} {cards.DECIDING.en}")
        outcome = deciding.result()
        if outcome is None:
            return {}
        shown = _toast("error" if outcome.failed else "info", outcome.text)
        if outcome.card is not None:
            shown["card"] = {"type": "raw", "data": card(outcome.card)}
        return shown


def _toast(kind: str, text: str) -> dict[str, Any]:
    return {"toast": {"type": kind, "content": text}}


def mount(settings: FeishuSettings, entering: Entering) -> APIRouter:
    client = _FeishuClient(settings.url, settings.app_id, settings.app_secret.get_secret_value())
    return _FeishuRoutes(settings, client, entering(client)).router()
