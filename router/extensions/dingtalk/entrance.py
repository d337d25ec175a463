"""The way in from DingTalk: what is signed, or comes by the stream, is taken in once.

By HTTP DingTalk signs the time alone and not the body: whoever sees one request can say anything
for as long as its time is fresh. The stream has nothing of the kind, and wants no public address.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response

from router.domain.errors import (
    RouterError,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    Unconfirmed,
)
from router.domain.locale import Localised
from router.extensions.channels import cards
from router.extensions.channels.base import Inbound, json_object, within
from router.extensions.channels.dispatcher import Dispatcher, Entering
from router.extensions.channels.outbox import DecisionOutcome
from router.extensions.dingtalk.open_api import App, OpenApi
from router.extensions.dingtalk.settings import DingTalkSettings
from router.extensions.dingtalk.shapes import (
    card_of,
    message_of,
    of_company,
    press_of,
    updated,
)
from router.formats.strict_json import strict_json

log = logging.getLogger(__name__)


FRESH = 300
"""Seconds, either way. DingTalk allows an hour; but a time and its signature, once seen, sign
whatever body they are sent with, and nothing of what DingTalk sends takes five minutes."""


def check(key: str, behind: str, headers: Mapping[str, str], named: tuple[str, str]) -> None:
    """Return where the time was signed with the key within five minutes; else `ValueError`.

    `named` are the headers of the time and its signature; `behind` is signed behind the time.
    """
    stamp, given = headers.get(named[0], ""), headers.get(named[1], "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 15):  # noqa: PLR2004
        raise ValueError(f"the header {named[0]} is no time in milliseconds")
    if abs(time.time() - int(stamp) / 1000) > FRESH:
        raise ValueError("it was signed more than five minutes ago, or will be")
    right = hmac.new(key.encode(), f"{stamp}{behind}".encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(base64.b64encode(right), given.encode("utf-8", "replace")):
        raise ValueError("the signature isn't that of the app")


NOT_OURS = (
    "The request isn't DingTalk's to this app: its signature or its time is wrong. Set "
    "ROUTER_DINGTALK_APP_SECRET to what the app has, and the clock right; the log says which."
)
OF_MESSAGES = ("timestamp", "sign")
OF_PRESSES = ("x-ddpaas-signature-timestamp", "x-ddpaas-signature")
CARD_PATIENCE = 1.5
"""Seconds: DingTalk shows a failure to whoever pressed where it hears nothing within two."""
TAKEN = JSONResponse({})


def _both(text: Localised) -> str:
    """For whom nobody knows which language they speak."""
    return f"{text.zh} {text.en}"


def _why_not_taken(error: RouterError) -> Localised:
    """Say of a press that failed whether it is known that it did nothing."""
    return cards.UNCONFIRMED if isinstance(error, Unconfirmed) else cards.TRY_AGAIN


@dataclass(frozen=True)
class _Entrance:
    """Takes in what people do, however it comes."""

    settings: DingTalkSettings
    app: App
    api: OpenApi
    dispatcher: Dispatcher

    async def heard(self, body: Mapping[str, Any]) -> None:
        """Take in a message; raises as `Dispatcher.take`."""
        if not of_company(self.settings.corp_id, self.app.robot, body):
            log.info(
                "a message on DingTalk is left alone: its company isn't ROUTER_DINGTALK_CORP_ID, "
                "or its robot isn't ROUTER_DINGTALK_ROBOT_CODE (else _APP_KEY)"
            )
            return
        if (inbound := message_of(body)) is not None:
            await self.dispatcher.take(inbound)

    async def pressed(self, body: Mapping[str, Any], delivery: str) -> dict[str, Any]:
        """Do what a button says; how its card is from now on, an empty object where as before."""
        found = press_of(body, delivery)
        if found is None or body.get("corpId") != self.settings.corp_id:
            log.info("a press on DingTalk that is none of ours is left alone")
            return {}
        inbound, card = found
        if inbound.button is not None and inbound.button.decision is not None:
            return await self._decided(inbound, card)
        taking = asyncio.create_task(self.dispatcher.take(inbound))
        await asyncio.wait({taking}, timeout=CARD_PATIENCE)
        if not taking.done():
            # It goes on: what was begun may have been done by the time that it is cut off.
            self.dispatcher.aside(self._taken_later(inbound, taking))
            return updated({}, status=_both(cards.TAKING))
        try:
            taking.result()
        except (TooManyRequests, Unavailable) as error:
            return updated({}, status=_both(_why_not_taken(error)))
        return updated({}, status="")

    async def _taken_later(self, inbound: Inbound, taking: asyncio.Task[None]) -> None:
        try:
            await taking
        except (TooManyRequests, Unavailable) as error:
            await self.api.say(inbound.place, _both(_why_not_taken(error)))

    async def _decided(self, inbound: Inbound, card: str) -> dict[str, Any]:
        """What a press came to; shown later where DingTalk doesn't wait so long.

        The answer changes nothing then: whichever of two changes comes last is what is shown.
        """
        deciding = await self.dispatcher.deciding(inbound, CARD_PATIENCE)
        if deciding.done():
            return _shown(deciding.result())

        async def shown_later() -> None:
            if (outcome := await deciding) is not None:
                fields = card_of(outcome.card) if outcome.card else {}
                await self.api.replace(card, fields, inbound.account, outcome.text)

        self.dispatcher.aside(self.api.say(inbound.place, _both(cards.DECIDING)))
        self.dispatcher.aside(shown_later())
        return {}


def _shown(outcome: DecisionOutcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    fields = card_of(outcome.card) if outcome.card else {}
    return updated(fields, status=outcome.text)


@dataclass(frozen=True)
class _HttpRoutes:
    entrance: _Entrance

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/adapters/dingtalk", include_in_schema=False)
        router.add_api_route("/events", self.events, methods=["POST"])
        router.add_api_route("/cards", self.cards, methods=["POST"])
        return router

    async def events(self, request: Request) -> Response:
        """Take in a message to the robot.

        DingTalk doesn't promise to send it again where this doesn't answer 200, so that whoever
        wrote it is asked to; with files it goes on here, and nobody is asked.
        """
        secret = self.entrance.app.secret
        body = await _signed(request, secret, f"\n{secret}", OF_MESSAGES)
        try:
            await self.entrance.heard(body)
        except (TooManyRequests, Unavailable) as error:
            inbound = message_of(body)
            if inbound is not None and not inbound.files:
                unsure = isinstance(error, Unconfirmed)
                why = cards.MESSAGE_UNCONFIRMED if unsure else cards.FAILED
                said = self.entrance.api.say(inbound.place, _both(why))
                self.entrance.dispatcher.aside(said)
            raise
        return TAKEN

    async def cards(self, request: Request) -> Response:
        """Do what a button says."""
        body = await _signed(request, self.entrance.app.card_secret, "", OF_PRESSES)
        moment = request.headers[OF_PRESSES[0]]
        return JSONResponse(await self.entrance.pressed(body, moment))


async def _signed(
    request: Request, key: str, behind: str, named: tuple[str, str]
) -> dict[str, Any]:
    """The body; one answer, whatever is wrong with the signature."""
    body = await request.body()
    try:
        check(key, behind, request.headers, named)
    except ValueError as error:
        log.info("a request of DingTalk's is refused: %s", error)
        raise Unauthenticated(NOT_OURS) from None
    return json_object(body)


MESSAGE_TOPIC = "/v1.0/im/bot/messages/get"
PRESS_TOPIC = "/v1.0/card/instances/callback"
LONGEST_FRAME = 256 * 1024
MOST_AT_ONCE = 64
"""Events that one connection brings and that aren't answered yet: what is more waits in it."""
FAREWELL = 1.0
"""Seconds that DingTalk has to agree that a connection ends: nobody who stops waits for it."""
SOON, LATE = 1.0, 60.0
"""Seconds before a connection is tried again: at first, and at most."""


@dataclass(frozen=True)
class _Stream:
    """A connection of ours, by which DingTalk's events come in."""

    entrance: _Entrance
    connect: Callable[..., Any]
    broken: type[Exception]
    """What says that a connection has ended."""
    _speaking: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @asynccontextmanager
    async def open(self, _: FastAPI) -> AsyncIterator[None]:
        """Be connected for as long as the block lasts."""
        running = asyncio.create_task(self._run(), name="DingTalk's stream")
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _run(self) -> None:
        wait = SOON
        while True:
            began = time.monotonic()
            try:
                await self._connected()
            except (RouterError, OSError, self.broken) as error:
                log.warning("DingTalk's stream: %s; it is opened again", error)
            except Exception:  # a stream that stops would be a silence that nobody explains
                log.exception("DingTalk's stream broke")
            lasted = time.monotonic() - began > LATE
            wait = SOON if lasted else wait
            await asyncio.sleep(wait)
            wait = min(2 * wait, LATE)

    async def _connected(self) -> None:
        """Take in what comes by one connection, until DingTalk ends it."""
        ticket = await self.entrance.api.ticket([MESSAGE_TOPIC, PRESS_TOPIC])
        address = f"{ticket.endpoint}?ticket={quote(ticket.ticket, safe='')}"
        bounds = {"max_size": LONGEST_FRAME, "close_timeout": FAREWELL}
        async with self.connect(address, **bounds) as socket:
            log.info("DingTalk's stream is open")
            under_way = set[asyncio.Task[None]]()
            try:
                await self._read(socket, under_way)
            finally:
                # What has begun to be taken in is, whyever the connection ends.
                await asyncio.gather(*under_way)

    async def _read(self, socket: Any, under_way: set[asyncio.Task[None]]) -> None:
        async for raw in socket:
            if len(under_way) >= MOST_AT_ONCE:
                await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            frame = _frame(raw)
            if frame is None:
                log.warning("DingTalk's stream has a frame that is none")
            elif frame.topic == "disconnect":
                return
            else:
                answering = asyncio.create_task(self._answered(socket, frame))
                under_way.add(answering)
                answering.add_done_callback(under_way.discard)

    async def _answered(self, socket: Any, frame: "_Frame") -> None:
        """Answer a frame; what wasn't taken in is said to be so, and is delivered again."""
        code, data = 200, dict[str, Any]()
        try:
            data = await self._answer(frame)
        except (TooManyRequests, Unavailable) as error:
            log.warning("an event of DingTalk's isn't taken in yet: %s", error)
            code = 503
        except Exception:  # one event mustn't end what brings the others
            log.exception("an event of DingTalk's isn't taken in")
            code = 500
        headers = {"contentType": "application/json", "messageId": frame.id}
        said = {"code": code, "headers": headers, "message": "OK" if code == 200 else "again"}  # noqa: PLR2004
        with suppress(self.broken):
            await socket.send(json.dumps({**said, "data": json.dumps(data)}))

    async def _answer(self, frame: "_Frame") -> dict[str, Any]:
        if frame.topic == MESSAGE_TOPIC:
            # What one person says in a chat is taken in in the order in which they said it.
            where = f"{frame.data.get('conversationId')} {frame.data.get('senderStaffId')}"
            speaking = self._speaking.setdefault(where, asyncio.Lock())
            async with speaking:
                await self.entrance.heard(frame.data)
            return {"response": {}}
        if frame.topic == PRESS_TOPIC:
            return {"response": await self.entrance.pressed(frame.data, frame.id)}
        return dict(frame.data)  # a ping wants back what it brought


@dataclass(frozen=True)
class _Frame:
    id: str
    topic: str
    data: Mapping[str, Any]


def _frame(raw: str | bytes) -> _Frame | None:
    """What came, None where it is no frame: an object with headers, and an object as JSON in it."""
    try:
        whole = strict_json(raw.encode() if isinstance(raw, str) else raw)
        headers = within(whole, "headers")
        data = strict_json(str(within({"it": whole}, "it").get("data") or "{}").encode())
    except ValueError:
        return None
    id_, topic = headers.get("messageId"), headers.get("topic")
    if not (isinstance(id_, str) and isinstance(topic, str) and isinstance(data, dict)):
        return None
    return _Frame(id_, topic, data)


def mount(settings: DingTalkSettings, entering: Entering) -> APIRouter:
    secret = settings.app_secret.get_secret_value()
    app = App(settings.app_key, secret, settings.robot, settings.card_template_id)
    by_http = settings.mode == "http"
    callback = f"{settings.public_url}/adapters/dingtalk/cards" if by_http else None
    api = OpenApi(app, settings.url, settings.media_url, callback)
    entrance = _Entrance(settings, app, api, entering(api))
    if by_http:
        return _HttpRoutes(entrance).router()
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException

    return APIRouter(lifespan=_Stream(entrance, connect, WebSocketException).open)
