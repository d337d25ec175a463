"""Where Feishu delivers: messages, and presses of buttons, answered within three seconds."""

import asyncio
import hmac
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from router.adapters import words
from router.adapters.body import json_object
from router.adapters.feishu import signature
from router.adapters.feishu.cards import card
from router.adapters.feishu.inbound import message_of, press_of
from router.adapters.port import Inbound
from router.adapters.reception import PATIENCE, Reception
from router.domain.errors import Unauthenticated, Unavailable

MESSAGE = "im.message.receive_v1"
PRESS = "card.action.trigger"


class FeishuRoutes:
    """Feishu's callbacks, checked and passed on to the reception."""

    def __init__(self, key: str, token: str, reception: Reception) -> None:
        self._key = key
        self._token = token
        self._reception = reception

    def router(self) -> APIRouter:
        """The one path; it isn't for people and so not in the documentation."""
        router = APIRouter(prefix="/adapters/feishu", include_in_schema=False)
        router.add_api_route("/events", self.events, methods=["POST"])
        return router

    async def events(self, request: Request) -> Response:
        """Take in a callback; a message arrives again where this doesn't answer 200."""
        raw = await request.body()
        sealed = json_object(raw).get("encrypt")
        if not isinstance(sealed, str):
            raise Unauthenticated("The callback isn't encrypted; set the app's encrypt key.")
        body = signature.opened(self._key, sealed)
        if body.get("type") == "url_verification":
            self._check_token(body.get("token"))
            return JSONResponse({"challenge": str(body.get("challenge", ""))[:1000]})
        signature.check(self._key, request.headers, raw)
        header = body.get("header")
        header = header if isinstance(header, dict) else {}
        self._check_token(header.get("token"))
        return await self._dealt_with(str(header.get("event_type")), body)

    async def _dealt_with(self, kind: str, body: dict[str, Any]) -> Response:
        inbound = {MESSAGE: message_of, PRESS: press_of}.get(kind, _nothing)(body)
        if inbound is None:
            return JSONResponse({})
        if inbound.button is not None and inbound.button.decision is not None:
            return JSONResponse(await self._decided(inbound))
        await self._reception.take(inbound)
        return JSONResponse({})

    async def _decided(self, inbound: Inbound) -> dict[str, Any]:
        """What the press came to, and the card as it looks from now on."""
        try:
            async with asyncio.timeout(PATIENCE):
                outcome = await self._reception.decide(inbound)
        except (TimeoutError, Unavailable):
            return _toast("error", f"{words.TRY_AGAIN.zh} {words.TRY_AGAIN.en}")
        if outcome is None:
            return {}
        shown = _toast("info", outcome.text)
        if outcome.card is not None:
            shown["card"] = {"type": "raw", "data": card(outcome.card)}
        return shown

    def _check_token(self, given: object) -> None:
        if not hmac.compare_digest(str(given).encode(), self._token.encode()):
            raise Unauthenticated("The verification token isn't the app's.")


def _nothing(_: dict[str, Any]) -> Inbound | None:
    return None


def _toast(kind: str, text: str) -> dict[str, Any]:
    return {"toast": {"type": kind, "content": text}}
