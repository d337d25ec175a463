"""Where Slack delivers: events, and presses of buttons. Both are answered within three seconds."""

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from router.adapters import words
from router.adapters.body import json_object
from router.adapters.decisions import Outcome
from router.adapters.port import Inbound
from router.adapters.reception import Reception
from router.adapters.slack import signature
from router.adapters.slack.client import SlackClient
from router.adapters.slack.inbound import event_of, press_of
from router.domain.errors import Unavailable

TAKEN = Response(status_code=200)


class SlackRoutes:
    """Slack's requests, checked and passed on to the reception."""

    def __init__(self, secret: str, client: SlackClient, reception: Reception) -> None:
        self._secret = secret
        self._client = client
        self._reception = reception

    def router(self) -> APIRouter:
        """The two paths; they aren't for people and so not in the documentation."""
        router = APIRouter(prefix="/adapters/slack", include_in_schema=False)
        router.add_api_route("/events", self.events, methods=["POST"])
        router.add_api_route("/interactions", self.interactions, methods=["POST"])
        return router

    async def events(self, request: Request) -> Response:
        """Take in an event; it arrives again where this doesn't answer 200."""
        body = json_object(await self._signed(request))
        if body.get("type") == "url_verification":
            return JSONResponse({"challenge": str(body.get("challenge", ""))[:1000]})
        inbound = event_of(body)
        if inbound is not None:
            await self._reception.take(inbound)
        return TAKEN

    async def interactions(self, request: Request) -> Response:
        """Do what a button says; Slack shows an error to whoever pressed where this isn't 200."""
        fields = parse_qs((await self._signed(request)).decode("utf-8", "replace"))
        found = press_of(json_object(fields.get("payload", [""])[0].encode()))
        if found is None:
            return TAKEN
        inbound, ts = found
        if inbound.button is not None and inbound.button.decision is not None:
            self._reception.aside(self._decided(inbound, ts))
        else:
            await self._reception.take(inbound)
        return TAKEN

    async def _decided(self, inbound: Inbound, ts: str) -> None:
        """Decide, and have the card say what came of it.

        After the answer, for a run may take longer than Slack waits. Where this process dies in
        between, the card still has its buttons, and a second press finds what the first one did.
        """
        try:
            outcome = await self._reception.decide(inbound)
        except Unavailable:
            both = words.TRY_AGAIN
            outcome = Outcome(f"{both.zh}\n{both.en}")
        if outcome is None:
            return
        if outcome.card is not None:
            await self._client.replace(inbound.place, ts, outcome.card)
        else:
            await self._client.say(inbound.place, outcome.text)

    async def _signed(self, request: Request) -> bytes:
        body = await request.body()
        signature.check(self._secret, request.headers, body)
        return body
