"""What the bot posts on Teams and fetches from there: Bot Framework's connector, and OneDrive.

The bot's token is shown to the connector alone. A person's OneDrive needs none: its addresses are
good for one file and some minutes, and lead nowhere but to Microsoft.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from router.domain.errors import TooManyRequests, Unavailable
from router.domain.file_types import OCTETS
from router.extensions.channels.base import (
    AccessToken,
    ChatPlace,
    DecisionRequest,
    GivenFile,
    Grant,
    InboundFile,
    NotAdmitted,
    Post,
    TooLong,
    Undeliverable,
    platform_client,
    within,
)
from router.extensions.teams.adaptive_cards import AdaptiveCard, cards_of, summary_of
from router.extensions.teams.credentials import (
    ISSUER,
    is_connector,
    is_store,
)
from router.extensions.teams.settings import TeamsSettings
from router.formats.http_body import Unread

PERSONAL = "personal"
"""The scope of a chat that nobody else is in."""
INLINE = "inline "
"""What the source of a picture within a message begins with: the connector has it."""
SHARED = "shared "
"""The same of a file of somebody's OneDrive."""
OFFER = "接受后会存到您的 OneDrive。 Once you accept, it is put into your OneDrive."
"""Nothing that is given says in which language."""

EARLY = 300.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 5
"""Seconds that are waited where Teams doesn't say how many."""
LONGEST_MESSAGE = 7000
"""Characters of a line that is said."""
PASSING = 412
"""A status after which the same call may succeed, as after any over 500."""
_UNAUTHORISED, _NOT_FOUND, _BUSY = 401, 404, 429
_REFUSED = frozenset({400, 401, 403})
_CARD = "application/vnd.microsoft.card.adaptive"
_FILES = "application/vnd.microsoft.teams.card.file"


class _Gone(Undeliverable):
    """The chat isn't there."""


class TeamsConnector:
    """`Outbound` on Teams, as the bot of one app."""

    def __init__(self, settings: TeamsSettings) -> None:
        self._settings = settings
        self._http = platform_client()
        self._token = AccessToken(self._granted, EARLY)

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post its cards; Teams knows no `key`, so that a repeat is seen twice."""
        del key
        if isinstance(post, DecisionRequest):  # an approver's card is nobody else's business
            place = await self._alone(place)
        for card in cards_of(post):
            await self._send(place, {**_card(card), "summary": summary_of(post)})

    async def say(self, place: ChatPlace, text: str) -> None:
        """Post a line of text, in which nothing is markup."""
        said = {"type": "message", "textFormat": "plain", "text": text[:LONGEST_MESSAGE]}
        await self._send(place, said)

    async def replace(self, place: ChatPlace, posted: str, card: AdaptiveCard) -> None:
        """Show another card where `posted`, the id of a message, had one."""
        await self._connect("PUT", f"{_messages(place)}/{_quoted(posted)}", _card(card))

    async def remove(self, place: ChatPlace, posted: str) -> None:
        """Take back a message."""
        await self._connect("DELETE", f"{_messages(place)}/{_quoted(posted)}")

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Offer it to the person alone: bots have no other way, and none in groups and channels.

        It is put into their OneDrive once they accept; a repeat is offered twice.
        """
        del key
        asked = {"file": file.id}
        content = {"description": OFFER, "sizeInBytes": len(file.content)}
        content |= {"acceptContext": asked, "declineContext": asked}
        offer = {"contentType": f"{_FILES}.consent", "name": file.name, "content": content}
        await self._send(await self._alone(place), {"type": "message", "attachments": [offer]})

    async def put(self, place: ChatPlace, upload: Mapping[str, Any], content: bytes) -> None:
        """Put a file where somebody who accepted it wants it, and show it in their chat."""
        url = str(upload.get("uploadUrl"))
        if not content:
            raise Undeliverable("the file is no longer kept")
        if not is_store(self._settings, url):
            raise Undeliverable("the address for a file isn't in OneDrive or SharePoint")
        last = len(content) - 1
        sent = {"Content-Range": f"bytes 0-{last}/{last + 1}", "Content-Type": OCTETS}
        answer = await self._answer("PUT", url, headers=sent, content=content)
        if not answer.is_success:
            raise _refusal(answer, "OneDrive")
        shown = {name: str(upload.get(name)) for name in ("uniqueId", "fileType")}
        card = {"contentType": f"{_FILES}.info", "content": shown}
        card |= {name: str(upload.get(name)) for name in ("name", "contentUrl")}
        await self._send(place, {"type": "message", "attachments": [card]})

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file: from the connector with the bot's token, from OneDrive without."""
        if file.source.startswith(INLINE):
            answer = await self._authorised("GET", file.source.removeprefix(INLINE))
        else:
            url = file.source.removeprefix(SHARED)
            if not is_store(self._settings, url):
                raise Undeliverable(f"the file {file.name[:80]!r} isn't in OneDrive or SharePoint")
            answer = await self._answer("GET", url)
        if not answer.is_success:
            raise _refusal(answer, "a file's address")
        return answer.content

    async def _alone(self, place: ChatPlace) -> ChatPlace:
        is_known = place.get("scope") == PERSONAL
        return place if is_known else await self._opened(place["account"])

    async def _opened(self, account: str) -> ChatPlace:
        """The chat with a person alone, begun or not: Teams gives one person one."""
        tenant = self._settings.tenant_id
        asked = {
            "bot": {"id": f"28:{self._settings.app_id}"},
            # An id of the directory's is taken for one of Teams' own, and that in no other field.
            "members": [{"id": account}],
            "isGroup": False,
            "tenantId": tenant,
            "channelData": {"tenant": {"id": tenant}},
        }
        service = self._settings.service_url
        answer = await self._connect("POST", f"{service}/v3/conversations", asked)
        chat = _object_in(answer).get("id")
        if not isinstance(chat, str) or not chat:
            raise Unavailable("Teams opens a chat and doesn't say which")
        return {"service": service, "chat": chat, "scope": PERSONAL, "account": account}

    async def _send(self, place: ChatPlace, activity: dict[str, Any]) -> None:
        where = place if "chat" in place else await self._alone(place)
        try:
            await self._connect("POST", _messages(where), activity)
        except _Gone:
            # Who removes the history of their chat has none, until somebody opens it anew.
            if where.get("scope") != PERSONAL or "account" not in where:
                raise
            await self._connect("POST", _messages(await self._opened(where["account"])), activity)

    async def _connect(
        self, method: str, url: str, activity: dict[str, Any] | None = None
    ) -> httpx2.Response:
        answer = await self._authorised(method, url, activity)
        if not answer.is_success:
            raise _refusal(answer, "Teams")
        return answer

    async def _authorised(
        self, method: str, url: str, activity: dict[str, Any] | None = None
    ) -> httpx2.Response:
        """Call it with a token; once more where Teams no longer takes that one."""
        if not is_connector(self._settings, url):
            raise Undeliverable("the address isn't one of Microsoft's that may see the bot's token")
        for again in (True, False):
            token = await self._token.current()
            headers = {"Authorization": f"Bearer {token}"}
            answer = await self._answer(method, url, headers=headers, json=activity)
            if answer.status_code != _UNAUTHORISED or not again:
                break
            self._token.refuse(token)
        return answer

    async def _granted(self) -> Grant:
        """A token for the connector, by the app's own credentials (OAuth 2.0, RFC 6749, 4.4)."""
        known = self._settings
        form = {
            "grant_type": "client_credentials",
            "client_id": known.app_id,
            "client_secret": known.app_password.get_secret_value(),
            "scope": f"{ISSUER}/.default",
        }
        url = f"{known.login_url}/{known.tenant_id}/oauth2/v2.0/token"
        answer = await self._answer("POST", url, data=form)
        said = _object_in(answer)
        if answer.status_code in _REFUSED:
            raise NotAdmitted(
                f"Entra won't have the app ({str(said.get('error'))[:100]}): set "
                "ROUTER_TEAMS_APP_ID, ROUTER_TEAMS_APP_PASSWORD and ROUTER_TEAMS_TENANT_ID to what "
                "its registration has"
            )
        if not answer.is_success:
            raise _refusal(answer, "Entra")
        token, lasts = said.get("access_token"), said.get("expires_in")
        if not isinstance(token, str) or not token:
            raise Unavailable("what answers for Entra gives no token")
        return Grant(token, float(lasts) if isinstance(lasts, int) else EARLY)

    async def _answer(self, method: str, url: str, **sent: Any) -> httpx2.Response:
        try:
            return await self._http.request(method, url, **sent)
        except Unread as error:
            raise TooLong(f"what Teams answers: {error}") from error
        except httpx2.HTTPError as error:
            raise Unavailable(f"Teams can't be reached: {type(error).__name__}") from error


def _messages(place: ChatPlace) -> str:
    return f"{place['service'].rstrip('/')}/v3/conversations/{_quoted(place['chat'])}/activities"


def _quoted(id_: str) -> str:
    """As a part of a path that leads to no other one."""
    return quote(id_, safe="")


def _card(card: AdaptiveCard) -> dict[str, Any]:
    return {"type": "message", "attachments": [{"contentType": _CARD, "content": card}]}


def _object_in(answer: httpx2.Response) -> dict[str, Any]:
    """The JSON object that is answered; an empty one where none is."""
    try:
        return within(answer.json())
    except ValueError:
        return {}


def _refusal(answer: httpx2.Response, whose: str) -> Exception:
    status = answer.status_code
    code = within(_object_in(answer), "error").get("code") or "no reason"
    said = f"{whose} answers {status}: {str(code)[:100]}"
    if status == _BUSY:
        wait = answer.headers.get("retry-after", "")
        return TooManyRequests(f"{whose} is busy", int(wait) if wait.isdigit() else BUSY)
    if answer.is_server_error or status == PASSING:
        return Unavailable(said)
    if status == _UNAUTHORISED:
        remedy = "give the bot of ROUTER_TEAMS_APP_ID its channel Microsoft Teams again"
        return NotAdmitted(f"{said}; {remedy} (docs/teams.md)")
    kind = _Gone if status == _NOT_FOUND else Undeliverable
    return kind(f"{said}; see docs/teams.md for what the app has to be allowed")
