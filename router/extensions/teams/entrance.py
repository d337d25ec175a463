"""Microsoft Teams: Bot Framework's activities in, Adaptive Cards out.

Microsoft's own libraries bring a server, a client and their clouds' sign-in along, check a token's
keys on the event loop, and let every tenant in; what is needed of them is one token each way.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from router.domain.errors import RouterError, Unauthenticated, Unavailable
from router.domain.file_types import is_file_id
from router.domain.locale import Localised
from router.extensions.channels import cards
from router.extensions.channels.base import (
    ChatPlace,
    Inbound,
    InboundFile,
    button_of,
    json_object,
    within,
)
from router.extensions.channels.dispatcher import Dispatcher, Entering
from router.extensions.teams.adaptive_cards import cards_of
from router.extensions.teams.connector import INLINE, PERSONAL, SHARED, TeamsConnector
from router.extensions.teams.credentials import (
    ConnectorKeys,
    check_service,
    speaking_service,
)
from router.extensions.teams.settings import TeamsSettings

log = logging.getLogger(__name__)

NAME = "teams"
LONGEST_ID = 500
"""Characters of an id: a thread's has its channel's in it."""
MOST_LISTED = 50
"""Attachments and mentions of one message that are looked at."""
TRIES, PAUSE = 3, 0.5
"""How often, and after how many seconds, one message is tried to be taken in."""
PRESS, CONSENT = "adaptiveCard/action", "fileConsent/invoke"
"""Names of invokes."""
NOT_SAVED = Localised(
    zh="“{name}”没能存到您的 OneDrive，请在网页上下载。",
    en="“{name}” couldn't be put into your OneDrive; get it on the web page.",
)
_DOWNLOAD = "application/vnd.microsoft.teams.file.download.info"


class ActivitySource(NamedTuple):
    """Whose an activity is, and where it happened."""

    event: str
    account: str
    place: ChatPlace

    def did(self, **what: Any) -> Inbound:
        """What they did there."""
        alone = self.place["scope"] == PERSONAL
        return Inbound(
            self.event, self.account, self.place["chat"], self.place, direct=alone, **what
        )


def spoken_in(activity: dict[str, Any]) -> ActivitySource | None:
    """Whose it is, by their id in the directory of the tenant; None where it is no person's.

    An activity's id is one within its chat alone.
    """
    chat, account = within(activity, "conversation"), within(activity, "from").get("aadObjectId")
    where, id_ = chat.get("id"), activity.get("id")
    if not (_is_id(where) and _is_id(id_) and _is_id(account)):
        return None
    scope = PERSONAL if chat.get("conversationType") == PERSONAL else "group"
    place = {"service": str(activity.get("serviceUrl")), "chat": str(where), "scope": scope}
    return ActivitySource(f"{where} {id_}", str(account).lower(), place)


def is_of_tenant(tenant: str, activity: dict[str, Any]) -> bool:
    """True for what happened in this tenant, by one of its people; guests of a chat are not."""
    besides = within(activity, "conversation"), within(activity, "from")
    said = [within(activity, "channelData", "tenant").get("id")]
    said += [one["tenantId"] for one in besides if one.get("tenantId") is not None]
    return all(isinstance(one, str) and one.lower() == tenant for one in said)


def message_of(activity: dict[str, Any]) -> Inbound | None:
    """A message to the bot, or a button of a conversation's card: alone with it, or mentioning it.

    A chat is one conversation with each who speaks in it, and so is a thread of a channel. What
    was edited, deleted or reacted to afterwards is none.
    """
    spoken = spoken_in(activity)
    if activity.get("type") != "message" or spoken is None:
        return None
    packed = within(activity, "value").get("button")
    if packed is not None:
        button = button_of(packed) if isinstance(packed, str) else None
        return spoken.did(button=button) if button is not None and button.pressed else None
    text, mentioned = _text_of(activity)
    if spoken.place["scope"] != PERSONAL and not mentioned:
        return None
    return spoken.did(text=text, files=tuple(_files_of(activity.get("attachments"))))


def press_of(activity: dict[str, Any]) -> Inbound | None:
    """A button that wants its answer at once: an approver's."""
    data, spoken = within(activity, "value", "action", "data"), spoken_in(activity)
    packed, comment = data.get("button"), data.get(cards.COMMENT)
    button = button_of(packed) if isinstance(packed, str) else None
    if spoken is None or button is None or button.decision is None:
        return None
    return spoken.did(button=button, comment=comment if isinstance(comment, str) else "")


def _text_of(activity: dict[str, Any]) -> tuple[str, bool]:
    """What was typed, mentions by name and the bot's left out; and whether it was mentioned."""
    said, bot = activity.get("text"), within(activity, "recipient").get("id")
    text, found = said if isinstance(said, str) else "", False
    for entity in _objects(activity.get("entities")):
        whom, shown = within(entity, "mentioned"), entity.get("text")
        if entity.get("type") != "mention" or not isinstance(shown, str) or not shown:
            continue
        ours = bot is not None and whom.get("id") == bot
        found = found or ours
        text = text.replace(shown, "" if ours else f"@{whom.get('name') or ''}")
    return text.replace("&nbsp;", " ").replace("\u00a0", " ").strip(), found


def _files_of(attachments: object) -> Iterator[InboundFile]:
    """What is attached; the message itself as HTML is, too, and cards that are passed on."""
    for each in _objects(attachments):
        kind, name, url = str(each.get("contentType")), each.get("name"), each.get("contentUrl")
        named = name if isinstance(name, str) else ""
        if kind == _DOWNLOAD:
            there = within(each, "content").get("downloadUrl")
            yield InboundFile(named, f"{SHARED}{there}" if isinstance(there, str) else "")
        elif kind.startswith("image/"):
            yield InboundFile(named or "image", f"{INLINE}{url}" if isinstance(url, str) else "")
        elif named and ".card." not in kind and kind != "text/html":
            yield InboundFile(named, "")


def _objects(listed: object) -> Iterator[dict[str, Any]]:
    for each in listed[:MOST_LISTED] if isinstance(listed, list) else []:
        if isinstance(each, dict):
            yield each


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID


NOT_OURS = (
    "The request isn't the Bot Framework's for this bot: its token, or the service that it names, "
    "is wrong. Set ROUTER_TEAMS_… to what the bot's registration has; the log says which."
)
"""The one answer, whatever is wrong."""
NOT_IMPLEMENTED = 501
"""What the protocol answers to an invoke that a bot knows nothing of."""


@dataclass(frozen=True)
class _TeamsRoutes:
    settings: TeamsSettings
    keys: ConnectorKeys
    client: TeamsConnector
    dispatcher: Dispatcher

    def router(self) -> APIRouter:
        router = APIRouter(prefix=f"/adapters/{NAME}", include_in_schema=False)
        router.add_api_route("/events", self.events, methods=["POST"])
        return router

    async def events(self, request: Request) -> Response:
        """Take in an activity; Teams shows an error to whoever sent it where this isn't 200."""
        activity = await self._authentic(request)
        if not is_of_tenant(self.settings.tenant_id, activity):
            log.info("what somebody of another tenant did on Teams is left alone")
            return JSONResponse({})
        if activity.get("type") == "invoke":
            return await self._invoked(activity)
        if (inbound := message_of(activity)) is not None:
            await self._take(inbound)
        return JSONResponse({})

    async def _take(self, inbound: Inbound) -> None:
        """Take it in, for as long as Teams waits: it isn't certain to deliver it again."""
        for _ in range(TRIES - 1):
            with suppress(Unavailable):
                await self.dispatcher.take(inbound)
                return
            await asyncio.sleep(PAUSE)
        await self.dispatcher.take(inbound)

    async def _authentic(self, request: Request) -> dict[str, Any]:
        """The activity, of whom its token says; nothing of it is read before that is known."""
        bearer = request.headers.get("authorization", "")
        try:
            service = await speaking_service(self.settings, self.keys, bearer)
            activity = json_object(await request.body())
            check_service(self.settings, activity, service)
        except Unauthenticated as error:
            log.info("a request in Teams' name is refused: %s", error)
            raise Unauthenticated(NOT_OURS) from None
        return activity

    async def _invoked(self, activity: dict[str, Any]) -> Response:
        name, spoken = activity.get("name"), spoken_in(activity)
        if name == CONSENT and spoken is not None:
            self.dispatcher.aside(self._consented(activity, spoken))
            return JSONResponse({})
        if name == PRESS and (inbound := press_of(activity)) is not None:
            return JSONResponse(await self._decided(activity, inbound))
        return JSONResponse({}, NOT_IMPLEMENTED)

    async def _decided(self, activity: dict[str, Any], inbound: Inbound) -> dict[str, Any]:
        """The card as it is from now on, or a word; later where Teams doesn't wait so long.

        What is answered is shown until the chat is opened anew: the message is changed besides.
        """
        deciding = await self.dispatcher.deciding(inbound)
        posted, is_alone = str(activity.get("replyToId")), inbound.place["scope"] == PERSONAL

        async def shown_later() -> None:
            outcome = await deciding
            if outcome is None:
                return
            if outcome.card is not None and is_alone:
                await self.client.replace(inbound.place, posted, cards_of(outcome.card)[0])
            elif not answered:
                # Where it was pressed others may read it: it is told in the person's own chat.
                await self.client.say({"account": inbound.account}, outcome.text)

        answered = deciding.done()
        self.dispatcher.aside(shown_later())
        if not answered:
            return _told(_in_both(cards.DECIDING))
        outcome = deciding.result()
        if outcome is None:
            return _told(_in_both(cards.NOT_YOURS))
        # A card that somebody passed on to others is answered in words.
        if outcome.card is None or not is_alone:
            return _told(outcome.text)
        return _answer("card.adaptive", cards_of(outcome.card)[0])

    async def _consented(self, activity: dict[str, Any], spoken: ActivitySource) -> None:
        """Give the file that somebody accepts, if it is theirs, and take the offer back.

        Raises as `Outbound`.
        """
        services, value = self.dispatcher.state.services, within(activity, "value")
        person = services.directory.by_account(NAME, spoken.account)
        asked = str(within(value, "context").get("file"))
        if person is None or not is_file_id(asked):
            return
        self.dispatcher.state.rates.admit(person)
        record = await services.store.files.find(person.tenant, asked)
        if record is None or record.owner != person.id:
            log.warning("somebody accepts a file on Teams that isn't theirs")
            return
        if value.get("action") == "accept":
            content = await services.store.files.content(person.tenant, record.id)
            try:
                await self.client.put(spoken.place, within(value, "uploadInfo"), content or b"")
            except RouterError:
                said = NOT_SAVED.within(person.locale).replace("{name}", record.name)
                await self.client.say(spoken.place, said)
                raise
        await self.client.remove(spoken.place, str(activity.get("replyToId")))


def _told(text: str) -> dict[str, Any]:
    return _answer("activity.message", text)


def _answer(kind: str, value: object) -> dict[str, Any]:
    return {"statusCode": 200, "type": f"application/vnd.microsoft.{kind}", "value": value}


def _in_both(said: Localised) -> str:
    return f"{said.zh} {said.en}"


def mount(settings: TeamsSettings, entering: Entering) -> APIRouter:
    client = TeamsConnector(settings)
    keys = ConnectorKeys(settings.metadata_url)
    return _TeamsRoutes(settings, keys, client, entering(client)).router()
