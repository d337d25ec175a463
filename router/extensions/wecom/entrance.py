"""WeCom's way into the desk: the routes, and what a press on a card comes to there."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from router.domain.errors import Unauthenticated
from router.domain.principals import Principal
from router.extensions.channels import cards, worded_return
from router.extensions.channels.base import Button, CardDecision, Inbound, Undeliverable
from router.extensions.channels.dispatcher import Dispatcher, Entering
from router.extensions.channels.outbox import DecisionOutcome
from router.extensions.wecom.callbacks import (
    authentic,
    check,
    message_of,
    opened,
    press_of,
    robot_callback,
    robot_message_of,
    text_of,
)
from router.extensions.wecom.server_api import WecomClient
from router.extensions.wecom.settings import CallbackKey, WecomSettings
from router.extensions.wecom.template_cards import NO_FILES_HERE, decision_card

log = logging.getLogger(__name__)

NOT_OURS = (
    "The callback isn't the app's: its signature, its age, its encryption, its company or its app "
    "is wrong. Set ROUTER_WECOM_… to what the app has; the log says which."
)
"""The one answer, whatever is wrong."""
TAKEN = PlainTextResponse("")


def _refused(error: ValueError) -> Unauthenticated:
    log.info("a callback of WeCom's is refused: %s", error)
    return Unauthenticated(NOT_OURS)


def _echo(key: CallbackKey | None, query: Mapping[str, str]) -> Response:
    sealed = query.get("echostr", "")
    try:
        if key is None:
            raise ValueError("there is no robot")  # noqa: TRY301 - refused as all the others are
        check(key, query, sealed)
        echo = opened(key, sealed)
    except ValueError as error:
        raise _refused(error) from None
    return PlainTextResponse(echo)


@dataclass(frozen=True)
class _WecomRoutes:
    settings: WecomSettings
    client: WecomClient
    dispatcher: Dispatcher

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/adapters/wecom", include_in_schema=False)
        router.add_api_route("/events", self.verified, methods=["GET"])
        router.add_api_route("/events", self.events, methods=["POST"])
        if self.settings.robot_key is not None:
            router.add_api_route("/robot", self.robot_verified, methods=["GET"])
            router.add_api_route("/robot", self.robot, methods=["POST"])
        return router

    async def verified(self, request: Request) -> Response:
        """Say what WeCom has encrypted: so it sees that the address is ours."""
        return _echo(self.settings.app_key, request.query_params)

    async def robot_verified(self, request: Request) -> Response:
        """The same for the robot."""
        return _echo(self.settings.robot_key, request.query_params)

    async def robot(self, request: Request) -> Response:
        """Take in what the robot is told, in groups and alone; its events are left alone."""
        try:
            query, raw = request.query_params, await request.body()
            found = robot_message_of(robot_callback(self.settings, query, raw))
        except ValueError as error:
            raise _refused(error) from None
        if found is None:
            return TAKEN
        inbound, person = found.inbound, self._person(found.inbound)
        if found.has_files and person is not None:
            # To the person alone: the one answer in the group is for what they said.
            said = NO_FILES_HERE.within(person.locale)
            self.dispatcher.aside(self.client.say({"account": inbound.account}, said))
        words = worded_return.read(inbound.text or "")
        if words is not None and person is not None:
            # An approver's word before anything else: whom they help is never to read it.
            alone = replace(inbound, place={"account": inbound.account})
            await self._return(alone, words)
        elif inbound.text or person is None:
            await self.dispatcher.take(inbound)
        return TAKEN

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
            await self._decide(inbound, inbound.button.decision, text_of(callback, "ResponseCode"))
        else:
            await self.dispatcher.take(inbound)
        return TAKEN

    async def _return(self, inbound: Inbound, words: worded_return.WordedReturn) -> None:
        """Return what has this number for the person; say so where nothing has."""
        state = self.dispatcher.state
        if (person := self._person(inbound)) is None:
            await self.dispatcher.take(inbound)
            return
        found = await worded_return.find_numbered(state.services, person, words.number)
        if len(found) == 1:
            press = replace(inbound, button=Button(decision=found[0]), comment=words.comment)
            await self._decide(press, found[0], "")
            return
        state.rates.admit(person)
        why = worded_return.SEVERAL_THERE if found else worded_return.NOTHING_THERE
        said = why.within(person.locale).format(number=words.number)
        self.dispatcher.aside(self.client.say(inbound.place, said))

    def _person(self, inbound: Inbound) -> Principal | None:
        directory = self.dispatcher.state.services.directory
        return directory.by_account(self.dispatcher.platform, inbound.account)

    async def _decide(self, inbound: Inbound, made: CardDecision, code: str) -> None:
        """Decide, and afterwards have the card, or a text, say what came of it."""
        deciding = await self.dispatcher.deciding(inbound)
        if not deciding.done() and (person := self._person(inbound)) is not None:
            said = cards.DECIDING.within(person.locale)
            self.dispatcher.aside(self.client.say(inbound.place, said))

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


def mount(settings: WecomSettings, entering: Entering) -> APIRouter:
    client = WecomClient(settings)
    return _WecomRoutes(settings, client, entering(client)).router()
