"""WeCom (企业微信): callbacks of a self-built app in, texts and template cards out.

No library for this is kept up, and those that there are pass old callbacks. AES comes with
`cryptography`, the XML of strangers is read as that of papers is. WeCom's cards have little room
and no field to write in: what doesn't fit stands in a text before the card, and what is to be
changed is said in words, by a number that stands for exactly what the card shows.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import httpx2
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from router.api.params import derived_id
from router.channels import cards, worded_return
from router.channels.base import (
    VERDICTS,
    Button,
    CardDecision,
    DecisionRequest,
    GivenFile,
    Inbound,
    InboundFile,
    NotAdmitted,
    Place,
    Post,
    Statement,
    TooLong,
    Undeliverable,
    button_of,
    is_id,
)
from router.channels.dispatcher import PATIENCE, Dispatcher
from router.channels.outbox import DecisionOutcome
from router.channels.registry import Entering, Platform, PlatformSettings
from router.documents.file_format import FileReading, Limits, UnreadableFile
from router.documents.xml_tree import Element, parsed
from router.domain.errors import TooManyRequests, Unauthenticated, Unavailable
from router.domain.file_types import MOST_BYTES
from router.domain.locale import Localised
from router.domain.messages import ConfirmReply, Reply, unsaid
from router.domain.principals import Principal
from router.domain.text_tables import as_lines
from router.domain.visible_text import isolated, legible, one_line
from router.formats.http_body import PACKED, Unread, bounding
from router.settings.values import WebUrl

log = logging.getLogger(__name__)


class WecomSettings(PlatformSettings):
    """What makes WeCom an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_WECOM_")
    NEEDED: ClassVar = ("corp_id", "agent_id", "secret", "token", "encoding_aes_key")

    corp_id: str = ""
    """The company's id there (企业ID); with the four below, WeCom is an entrance."""
    agent_id: int = 0
    """The number of the self-built app (AgentId)."""
    secret: SecretStr = SecretStr("")
    """The app's secret there."""
    token: SecretStr = SecretStr("")
    """What WeCom's callbacks are signed with."""
    encoding_aes_key: SecretStr = SecretStr("")
    """What WeCom's callbacks are encrypted with: 43 letters and digits."""
    url: WebUrl = "https://qyapi.weixin.qq.com"
    """Where WeCom's server API is."""

    @field_validator("encoding_aes_key")
    @classmethod
    def _is_one(cls, key: SecretStr) -> SecretStr:
        if not re.fullmatch(r"(?:[A-Za-z0-9]{43})?", key.get_secret_value()):
            raise ValueError("copy the 43 letters and digits that the app's page has")
        return key


FRESH = 300
"""Seconds, either way."""
SALT, BLOCK = 16, 32
"""Bytes: WeCom pads to twice AES's own."""
_OUTER = Limits(nodes=20, depth=3)
_INNER = Limits(nodes=500, depth=6)


def check(settings: WecomSettings, query: Mapping[str, str], sealed: str) -> None:
    """Return where it was signed with the token within five minutes; else `ValueError`."""
    stamp, nonce = query.get("timestamp", ""), query.get("nonce", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004
        raise ValueError("timestamp is no time")
    if abs(time.time() - int(stamp)) > FRESH:
        raise ValueError("it was signed more than five minutes ago, or will be")
    parts = sorted([settings.token.get_secret_value(), stamp, nonce, sealed])
    # WeCom's own scheme: whoever lacks the token has no collision to make use of.
    right = hashlib.sha1("".join(parts).encode(), usedforsecurity=False).hexdigest()
    if not hmac.compare_digest(right.encode(), query.get("msg_signature", "").encode()):
        raise ValueError("the signature isn't that of this message")


def opened(settings: WecomSettings, sealed: str) -> bytes:
    """What was encrypted: 16 random bytes, a length, the message, and the company that it is for.

    Raises `ValueError` where it wasn't with this key, or is for another company.
    """
    key = base64.b64decode(f"{settings.encoding_aes_key.get_secret_value()}=")
    decryptor = Cipher(AES(key), CBC(key[:SALT])).decryptor()
    padded = decryptor.update(base64.b64decode(sealed, validate=True)) + decryptor.finalize()
    unpadder = PKCS7(BLOCK * 8).unpadder()
    content = (unpadder.update(padded) + unpadder.finalize())[SALT:]
    length, content = int.from_bytes(content[:4], "big"), content[4:]
    if len(content) < length or content[length:] != settings.corp_id.encode():
        raise ValueError("it is for another company")
    return content[:length]


def authentic(settings: WecomSettings, query: Mapping[str, str], raw: bytes) -> Element:
    """The callback, which is of this app; raises `ValueError`, and nobody is told the reason.

    Whoever could tell one reason from another would decrypt by asking. Of what isn't signed only
    the envelope is read.
    """
    envelope = _element(raw, _OUTER)
    sealed = _of(envelope, "Encrypt")
    check(settings, query, sealed)
    callback = _element(opened(settings, sealed), _INNER)
    if _of(callback, "ToUserName") != settings.corp_id:
        raise ValueError("it is for another company")
    # What is told of the company as a whole has no app, and nobody reads it.
    if _of(callback, "AgentID") not in {"", str(settings.agent_id)}:
        raise ValueError("it is for another app")
    return callback


def _element(raw: bytes, limits: Limits) -> Element:
    try:
        return parsed(raw, FileReading(limits))
    except UnreadableFile as error:
        raise ValueError(f"its XML is {error.code}") from None


def _of(callback: Element, name: str) -> str:
    found = callback.first(name)
    return found.text if found else ""


_FILES = frozenset({"image", "file"})
_REFUSED = frozenset({"voice", "video", "location", "link"})
"""Kinds of message that nobody takes: they are refused in words."""
EVERYBODY = "@all"


def message_of(callback: Element) -> Inbound | None:
    """A message to the app, which is always alone with it; None where it is no person's.

    All that a person says there is one conversation.
    """
    kind, event = _of(callback, "MsgType"), _of(callback, "MsgId")
    account = _account_of(callback)
    if not (account and is_id(event)):
        return None
    place = {"account": account}
    if kind == "text":
        return Inbound(event, account, account, place, text=_of(callback, "Content"))
    if kind in _REFUSED:
        return Inbound(event, account, account, place, files=(InboundFile(kind, ""),))
    media = _of(callback, "MediaId")
    if kind not in _FILES or not 0 < len(media) <= LONGEST_MEDIA_ID:
        return None
    name = _of(callback, "FileName") or _of(callback, "Title")
    return Inbound(event, account, account, place, files=(InboundFile(name, media),))


def press_of(callback: Element) -> Inbound | None:
    """A button that was pressed; None for every other event.

    WeCom gives presses no id: who pressed what on which card, and when, is the same when it is
    delivered again.
    """
    button = button_of(_of(callback, "EventKey"))
    account = _account_of(callback)
    pressed = _of(callback, "Event") == "template_card_event"
    if not (pressed and account) or button is None:
        return None
    named = (_of(callback, name) for name in ("TaskId", "CreateTime", "EventKey"))
    event = derived_id(account, *named)
    return Inbound(event, account, account, {"account": account}, button=button)


def _account_of(callback: Element) -> str:
    """Who did it; empty where that names nobody, or more than one."""
    account = _of(callback, "FromUserName")
    alone = is_id(account) and "|" not in account and account != EVERYBODY
    return account if alone and _of(callback, "AgentID") else ""


LONGEST_MEDIA_ID = 512
MOST_TEXT = 2048
"""Bytes of a text: WeCom cuts what is longer."""
MOST_BUTTONS, MOST_FIELDS = 6, 6
LONGEST_KEY = 1024
"""Bytes of what a button carries."""
LONGEST_TITLE, LONGEST_SENTENCE = 36, 160
LONGEST_LABEL, LONGEST_VALUE, LONGEST_ON_BUTTON = 5, 26, 10
"""Full-width characters that a card shows."""
_LINK = re.compile(r"<(?=[/\s]{0,4}[aA]\b)")
"""Where a text of WeCom's would begin a link under another name."""

CHOOSE = Localised(zh="请选择：", en="Please choose:")
SETTLED = Localised(zh="已处理", en="Closed")

Body = dict[str, Any]


def messages(post: Post, key: str) -> list[Body]:
    """The post as WeCom's messages, in their order; of one `key` each card is posted once."""
    if isinstance(post, Statement):
        found = [body for reply in post.replies for body in _reply(reply, post)]
    else:
        found = list(_wanted(post))
    for number, body in enumerate(found):
        if "template_card" in body:
            body["template_card"]["task_id"] = f"{key}_{number}"
    return found


def texts(text: str) -> Iterator[Body]:
    """The text, cut where lines end so that WeCom cuts nothing; no link is in it but what it is."""
    text = _LINK.sub("＜", text)
    while text:
        room = len(text.encode("utf-8", "replace")[:MOST_TEXT].decode("utf-8", "ignore"))
        end = text.rfind("\n", 1, room + 1) if room < len(text) else room
        end = end if end > 0 else room
        yield {"msgtype": "text", "text": {"content": text[:end]}}
        text = text[end:].removeprefix("\n")


def _reply(reply: Reply, said: Statement) -> Iterator[Body]:
    # WeCom has no dialog that asks before a press counts: what wants one is done in words.
    buttons = [_button(each) for each in cards.answers(reply, said) if not each.sure]
    if not _can_be_pressed(buttons):
        yield from texts("\n".join(cards.sections_of(reply, said.locale, buttons=False)))
        return
    whole = "\n".join(cards.sections_of(reply, said.locale, buttons=True))
    text, fields = whole, dict[str, str]()
    if isinstance(reply, ConfirmReply):
        text, fields = as_lines(reply.text, said.locale), unsaid(reply)
    told, _, question = text.rpartition("\n")
    if not (_fits(question, LONGEST_SENTENCE) and _fit(fields)):
        told, question, fields = whole, "", {}
    yield from texts(told)
    yield _card(question or CHOOSE.within(said.locale), buttons, fields)


def _wanted(wanted: DecisionRequest) -> Iterator[Body]:
    if not _fits_a_card(wanted):
        yield from texts("\n".join(cards.decided_on(wanted)))
    yield {"msgtype": "template_card", "template_card": decision_card(wanted)}


def decision_card(wanted: DecisionRequest) -> Body:
    """The approver's card; once there is an outcome it says that, and nothing can be pressed."""
    buttons = [_button(cards.deciding(wanted, verdict)) for verdict in VERDICTS]
    title, fields = cards.title_of(wanted), _fields(wanted) if _fits_a_card(wanted) else {}
    made: Body = _card(title, buttons, fields)["template_card"]
    if wanted.outcome:
        said = {"main_title": {"title": title}, "sub_title_text": wanted.outcome}
        made |= {**said, "replace_text": SETTLED.within(wanted.locale)}
    return made


def _fits_a_card(wanted: DecisionRequest) -> bool:
    short = _fits(cards.title_of(wanted), LONGEST_TITLE) and not wanted.changes
    return short and _fit(_fields(wanted))


def _fields(wanted: DecisionRequest) -> dict[str, str]:
    requester = {cards.REQUESTER.within(wanted.locale): wanted.requester}
    return requester | wanted.approval.summary_in(wanted.locale)


def _card(heading: str, buttons: list[Body], fields: Mapping[str, str]) -> Body:
    made: Body = {"card_type": "button_interaction", "button_list": buttons}
    short = _fits(heading, LONGEST_TITLE)
    made |= {"main_title": {"title": heading}} if short else {"sub_title_text": heading}
    if fields:
        made["horizontal_content_list"] = [
            {"keyname": one_line(label), "value": isolated(legible(value))}
            for label, value in fields.items()
        ]
    return {"msgtype": "template_card", "template_card": made}


def _button(each: cards.CardButton) -> Body:
    style = 1 if each.style == "primary" else 2
    return {"text": one_line(each.label), "style": style, "key": each.button.packed}


def _can_be_pressed(buttons: list[Body]) -> bool:
    keys = {each["key"] for each in buttons}
    room = all(
        len(each["key"].encode()) <= LONGEST_KEY and _fits(each["text"], LONGEST_ON_BUTTON)
        for each in buttons
    )
    return 0 < len(buttons) == len(keys) <= MOST_BUTTONS and room


def _fit(fields: Mapping[str, str]) -> bool:
    return len(fields) <= MOST_FIELDS and all(
        _fits(one_line(label), LONGEST_LABEL) and _fits(legible(value), LONGEST_VALUE)
        for label, value in fields.items()
    )


def _fits(text: str, most: int) -> bool:
    """True where it is one line, and no wider than so many Chinese characters."""
    return "\n" not in text and sum(1 if each.isascii() else 2 for each in text) <= 2 * most


SECONDS = 10.0
EARLY = 300.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 60
"""WeCom counts by the minute."""
REMEMBERED = 1000
"""Posts of which it is known how much is posted."""

_NO_TOKEN = frozenset({40001, 40014, 41001, 42001})
"""The token is missing, wrong or past its end: a new one may do."""
_NO_RIGHT = frozenset({40013, 40056, 48001, 48002, 50002, 50003, 60011, 60020, 301002})
"""The app or this machine's address may not do this, whoever is written to."""
_BUSY = frozenset({45009, 45011, 45033})
"""Too many calls, by app, by minute or at once."""
_POSTED_BEFORE = 42014
"""A card of the same `task_id` is there."""


class _WecomClient:
    """`router.channels.base.Outbound` on WeCom, as one self-built app."""

    def __init__(self, settings: WecomSettings) -> None:
        self._http = httpx2.AsyncClient(
            base_url=f"{settings.url}/cgi-bin",
            timeout=SECONDS,
            headers={"Accept-Encoding": PACKED},
            event_hooks={"response": [bounding(MOST_BYTES)]},
        )
        secret = settings.secret.get_secret_value()
        self._app = {"corpid": settings.corp_id, "corpsecret": secret}
        self._agent = settings.agent_id
        self._token, self._good_until = "", 0.0
        self._posted: OrderedDict[str, int] = OrderedDict()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def post(self, place: Place, post: Post, key: str) -> None:
        """Post it, and after a failure what is missing of it.

        WeCom drops a card that is posted again under its key. Of texts it would drop those that
        are only alike: they are seen twice where this process dies in between.
        """
        for number, body in enumerate(messages(post, key)):
            if number >= self._posted.get(key, 0):
                await self._send(place, body)
                self._note(key, number + 1)

    async def say(self, place: Place, text: str) -> None:
        for body in texts(text):
            await self._send(place, body)

    async def update(self, place: Place, code: str, card: Body) -> None:
        """Show this card in place of the one on which a press gave the code; each does so once."""
        body = {"userids": [_to(place)], "agentid": self._agent, "response_code": code}
        if not self._posted.get(code):
            await self._call("/message/update_template_card", json={**body, "template_card": card})
            self._note(code, 1)

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file that the app was sent, for three days."""
        return (await self._call("/media/get", {"media_id": file.source})).content

    async def give(self, place: Place, file: GivenFile, key: str) -> None:
        """Upload it, and post what WeCom calls it."""
        if self._posted.get(key):
            return
        kind = "image" if file.type in {"image/png", "image/jpeg"} else "file"
        part = {"media": (file.name, file.content, file.type)}
        answer = await self._call("/media/upload", {"type": kind}, files=part)
        media = {"media_id": str(answer.json().get("media_id"))}
        await self._send(place, {"msgtype": kind, kind: media})
        self._note(key, 1)

    def _note(self, key: str, posted: int) -> None:
        self._posted[key] = posted
        if len(self._posted) > REMEMBERED:
            self._posted.popitem(last=False)

    async def _send(self, place: Place, body: Body) -> None:
        to = {"touser": _to(place), "agentid": self._agent}
        answer = await self._call("/message/send", json={**to, **body})
        if any(answer.json().get(name) for name in ("invaliduser", "unlicenseduser")):
            raise Undeliverable("WeCom doesn't let the app write to that account")

    async def _call(
        self, path: str, query: Mapping[str, str] | None = None, **sent: Any
    ) -> httpx2.Response:
        """Call it with a token; once more where WeCom no longer takes that one."""
        for again in (True, False):
            known = {"access_token": await self._fresh_token(), **(query or {})}
            answer = await self._answer(path, known, **sent)
            code, said = _code_of(answer)
            if code not in _NO_TOKEN or not again:
                break
            self._good_until = 0.0
        if code not in {0, _POSTED_BEFORE}:
            raise _refusal(code, said)
        return answer

    async def _fresh_token(self) -> str:
        if time.monotonic() >= self._good_until:
            answer = await self._answer("/gettoken", self._app)
            code, said = _code_of(answer)
            if code:
                raise _refusal(code, said)
            known = answer.json()
            self._token = str(known.get("access_token"))
            self._good_until = time.monotonic() + float(known.get("expires_in") or 0) - EARLY
        return self._token

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


def _to(place: Place) -> str:
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


NOT_OURS = (
    "The callback isn't the app's: its signature, its age, its encryption, its company or its app "
    "is wrong. Set ROUTER_WECOM_… to what the app has; the log says which."
)
"""The one answer, whatever is wrong."""
TAKEN = PlainTextResponse("")


def _refused(error: ValueError) -> Unauthenticated:
    log.info("a callback of WeCom's is refused: %s", error)
    return Unauthenticated(NOT_OURS)


@dataclass(frozen=True)
class _WecomRoutes:
    settings: WecomSettings
    client: _WecomClient
    dispatcher: Dispatcher

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/adapters/wecom", include_in_schema=False)
        router.add_api_route("/events", self.verified, methods=["GET"])
        router.add_api_route("/events", self.events, methods=["POST"])
        return router

    async def verified(self, request: Request) -> Response:
        """Say what WeCom has encrypted: so it sees that the address is ours."""
        sealed = request.query_params.get("echostr", "")
        try:
            check(self.settings, request.query_params, sealed)
            echo = opened(self.settings, sealed)
        except ValueError as error:
            raise _refused(error) from None
        return PlainTextResponse(echo)

    async def events(self, request: Request) -> Response:
        """Take in a callback; it arrives again where this doesn't answer 200 within 5 seconds."""
        try:
            callback = authentic(self.settings, request.query_params, await request.body())
        except ValueError as error:
            raise _refused(error) from None
        inbound = message_of(callback) or press_of(callback)
        if inbound is None:
            return TAKEN
        if (words := worded_return.read(inbound.text or "")) is not None:
            await self._return(inbound, words)
        elif inbound.button is not None and inbound.button.decision is not None:
            await self._decide(inbound, inbound.button.decision, _of(callback, "ResponseCode"))
        else:
            await self.dispatcher.take(inbound)
        return TAKEN

    async def _return(self, inbound: Inbound, words: worded_return.WordedReturn) -> None:
        """Return what has this number for the person; say so where nothing has."""
        state = self.dispatcher.state
        if (person := self._person(inbound)) is None:
            await self.dispatcher.take(inbound)
            return
        made = await worded_return.numbered(state.services, person, words.number)
        if made is not None:
            press = replace(inbound, button=Button(decision=made), comment=words.comment)
            await self._decide(press, made, "")
            return
        state.rates.admit(person)
        said = worded_return.NOTHING_THERE.within(person.locale).format(number=words.number)
        self.dispatcher.aside(self.client.say(inbound.place, said))

    def _person(self, inbound: Inbound) -> Principal | None:
        directory = self.dispatcher.state.services.directory
        return directory.by_account(self.dispatcher.platform, inbound.account)

    async def _decide(self, inbound: Inbound, made: CardDecision, code: str) -> None:
        """Decide, and afterwards have the card, or a text, say what came of it."""
        deciding = asyncio.create_task(self.dispatcher.decide(inbound))
        await asyncio.wait({deciding}, timeout=PATIENCE)
        if deciding.done():
            deciding.result()  # what it raises is answered, so that the press arrives again

        async def told() -> None:
            if (outcome := await deciding) is not None:
                await self._tell(inbound, made, code, outcome)

        self.dispatcher.aside(told())

    async def _tell(
        self, inbound: Inbound, made: CardDecision, code: str, outcome: DecisionOutcome
    ) -> None:
        services, text = self.dispatcher.state.services, outcome.text
        if outcome.wordless and (person := self._person(inbound)) is not None:
            text = await worded_return.request_for_words(services, person, made)
        if outcome.card is None or not code:
            await self.client.say(inbound.place, text)
            return
        try:
            await self.client.update(inbound.place, code, decision_card(outcome.card))
        except Undeliverable as error:  # the code is three days old, or was used before
            log.info("a card on WeCom can't be changed, so a text is sent: %s", error)
            await self.client.say(inbound.place, text)


def _mount(settings: WecomSettings, entering: Entering) -> APIRouter:
    client = _WecomClient(settings)
    return _WecomRoutes(settings, client, entering(client)).router()


PLATFORM = Platform("wecom", WecomSettings, _mount)
