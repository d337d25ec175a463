"""DingTalk's Open API, as the robot of one app: cards, messages, files, and where the stream is."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

import httpx2

from router.domain.errors import TooManyRequests, Unavailable
from router.domain.visible_text import pieces
from router.extensions.channels.base import (
    AccessToken,
    ChatPlace,
    DecisionRequest,
    GivenFile,
    Grant,
    InboundFile,
    NotAdmitted,
    Post,
    Statement,
    TooLong,
    Undeliverable,
    platform_client,
    within,
)
from router.extensions.dingtalk.shapes import (
    LONGEST_TEXT,
    Fields,
    as_markdown,
    card_of,
    has_buttons,
    text_of,
    title_of,
)
from router.formats.http_body import Unread

Body = dict[str, Any]

EARLY = 300.0
"""Seconds before its end at which a token is fetched anew."""
BUSY = 10
"""Seconds that are waited where DingTalk doesn't say how many, which it never does."""
TOKEN = "x-acs-dingtalk-access-token"  # noqa: S105 - a header's name
STAFF = 1
"""People are named by what the company calls them, not by DingTalk's own ids."""

_NO_TOKEN = frozenset({"InvalidAuthentication", "40014", "42001", "40001"})
"""The token is missing, wrong or past its end: a new one may do."""
_TOO_MUCH = ("qps", "throttl", "flowcontrol", "toomanyrequests")
_BUSY_CODES = frozenset({"88", "90018", "90019", "-1"})
"""Of the older interface, by which files are uploaded."""


@dataclass(frozen=True)
class App:
    """The app as DingTalk knows it."""

    key: str
    secret: str
    robot: str
    template: str
    """Of the interactive card."""

    @property
    def card_secret(self) -> str:
        """What DingTalk is told to sign presses with: of the app's secret, and not that itself."""
        made = hmac.new(self.secret.encode(), b"presses of cards", hashlib.sha256)
        return made.hexdigest()


@dataclass(frozen=True)
class Ticket:
    """Where the stream is opened, once."""

    endpoint: str
    ticket: str


class OpenApi:
    """`Outbound` on DingTalk.

    `callback` is where presses are sent to; without one they come by the stream.
    """

    def __init__(self, app: App, url: str, media_url: str, callback: str | None) -> None:
        self._app, self._url, self._media_url = app, url, media_url
        self._callback = callback
        self._http = platform_client()
        self._token = AccessToken(self._granted, EARLY)
        self._registered = callback is None

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post a card where there is something to press, else a message.

        A card is called `key`: DingTalk has one of a name. Messages have no name, so that a repeat
        is seen twice.
        """
        if isinstance(post, Statement) and not has_buttons(post):
            title = title_of(post)
            for piece in pieces(text_of(post), LONGEST_TEXT):
                content = {"title": title, "text": as_markdown(piece)}
                await self._send(place, "sampleMarkdown", content)
            return
        await self._registered_route()
        card = {"cardTemplateId": self._app.template, "outTrackId": key, "userIdType": STAFF}
        card |= {"cardData": {"cardParamMap": card_of(post)}}
        card |= self._answered_by() | self._delivered(place, post)
        _delivery(await self._called("POST", "/v1.0/card/instances/createAndDeliver", card))

    def _answered_by(self) -> Body:
        if self._callback is None:
            return {"callbackType": "STREAM"}
        return {"callbackType": "HTTP", "callbackRouteKey": self._route}

    @property
    def _route(self) -> str:
        return f"intent-router-{self._app.key}"

    def _delivered(self, place: ChatPlace, post: Post) -> Body:
        """Where the card is delivered; an approver's to the approver alone, whatever the place."""
        shown = {"ZH_CN": title_of(post), "EN_US": title_of(post)}
        space = {"supportForward": False, "lastMessageI18n": shown}
        model = {"robotCode": self._app.robot}
        group = None if isinstance(post, DecisionRequest) else place.get("group")
        if group is None:
            return {
                "openSpaceId": f"dtv1.card//IM_ROBOT.{place['account']}",
                "imRobotOpenSpaceModel": space,
                "imRobotOpenDeliverModel": {"spaceType": "IM_ROBOT", **model},
            }
        return {
            "openSpaceId": f"dtv1.card//IM_GROUP.{group}",
            "imGroupOpenSpaceModel": space,
            "imGroupOpenDeliverModel": model,
        }

    async def _registered_route(self) -> None:
        """Tell DingTalk once, by each process, where presses are sent and how they are signed."""
        if self._registered:
            return
        body: Body = {"callbackRouteKey": self._route, "callbackUrl": self._callback}
        body |= {"apiSecret": self._app.card_secret, "forceUpdate": True}
        await self._called("POST", "/v1.0/card/callbacks/register", body)
        self._registered = True

    async def say(self, place: ChatPlace, text: str) -> None:
        """Post a line, as it is."""
        await self._send(place, "sampleText", {"content": text})

    async def replace(self, card: str, fields: Fields, account: str, status: str) -> None:
        """Show the card so from now on, and `status` to the one who pressed."""
        private = {account: {"cardParamMap": {"status": status}}}
        body: Body = {"outTrackId": card, "userIdType": STAFF, "privateData": private}
        body |= {"cardData": {"cardParamMap": fields}} if fields else {}
        options = {"updateCardDataByKey": True, "updatePrivateDataByKey": True}
        await self._called("PUT", "/v1.0/card/instances", {**body, "cardUpdateOptions": options})

    async def _send(self, place: ChatPlace, kind: str, content: Body) -> None:
        said = json.dumps(content, ensure_ascii=False)
        body: Body = {"robotCode": self._app.robot, "msgKey": kind, "msgParam": said}
        if "group" in place:
            body["openConversationId"] = place["group"]
            await self._called("POST", "/v1.0/robot/groupMessages/send", body)
            return
        body["userIds"] = [place["account"]]
        answer = await self._called("POST", "/v1.0/robot/oToMessages/batchSend", body)
        if answer.get("flowControlledStaffIdList"):
            raise TooManyRequests("DingTalk is busy with this person", BUSY)
        if answer.get("invalidStaffIdList"):
            raise Undeliverable(
                f"DingTalk knows no {place['account'][:100]!r} whom the robot may write to: set "
                "`accounts: {dingtalk: …}` of the directory to the person's userId there"
            )

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file of a message that the robot was sent."""
        body = {"downloadCode": file.source, "robotCode": self._app.robot}
        answer = await self._called("POST", "/v1.0/robot/messageFiles/download", body)
        try:
            # It has a signature of its own: the token isn't sent there.
            response = await self._http.get(str(answer.get("downloadUrl")))
        except Unread as error:
            raise TooLong(f"the file {file.name[:80]!r}: {error}") from error
        except httpx2.InvalidURL as error:
            raise Undeliverable("DingTalk names no place where the file is") from error
        except httpx2.HTTPError as error:
            raise Unavailable(f"DingTalk can't be reached: {type(error).__name__}") from error
        if response.is_server_error:
            raise Unavailable(f"DingTalk answers {response.status_code} for a file")
        if not response.is_success:
            raise Undeliverable(f"DingTalk answers {response.status_code} for a file")
        return response.content

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Upload it, and post what DingTalk calls it; a repeat is seen twice."""
        del key
        kind = "image" if file.is_picture else "file"
        media = await self._uploaded(kind, file)
        if file.is_picture:
            await self._send(place, "sampleImageMsg", {"photoURL": media})
            return
        suffix = file.name.rpartition(".")[2].lower()
        content = {"mediaId": media, "fileName": file.name, "fileType": suffix}
        await self._send(place, "sampleFile", content)

    async def _uploaded(self, kind: str, file: GivenFile) -> str:
        answer: Body = {}
        for _ in range(2):
            token = await self._token.current()
            query = {"access_token": token, "type": kind}
            part = {"media": (file.name, file.content, file.type)}
            sent = self._http.post(f"{self._media_url}/media/upload", params=query, files=part)
            _, answer = await _answer(sent)
            if str(answer.get("errcode")) not in _NO_TOKEN:
                break
            self._token.refuse(token)
        code, media = str(answer.get("errcode", 0)), answer.get("media_id")
        if code in _BUSY_CODES:
            raise TooManyRequests("DingTalk is busy", BUSY)
        if code != "0" or not isinstance(media, str):
            raise Undeliverable(f"DingTalk answers {code} for a file: {answer.get('errmsg')}")
        return media

    async def ticket(self, topics: list[str]) -> Ticket:
        """Where the stream of these topics is, for one connection."""
        body = {
            "clientId": self._app.key,
            "clientSecret": self._app.secret,
            "subscriptions": [{"type": "CALLBACK", "topic": topic} for topic in topics],
            "ua": "intent-router",
        }
        sent = self._http.post(f"{self._url}/v1.0/gateway/connections/open", json=body)
        status, answer = await _answer(sent)
        endpoint, ticket = answer.get("endpoint"), answer.get("ticket")
        if not (isinstance(endpoint, str) and isinstance(ticket, str)):
            raise _refusal(status, answer, whole=True)
        return Ticket(endpoint, ticket)

    async def _called(self, method: str, path: str, body: Body) -> Body:
        """Call it with a token; once more where DingTalk no longer takes that one."""
        status, answer = 0, Body()
        for _ in range(2):
            token = await self._token.current()
            headers = {TOKEN: token}
            sent = self._http.request(method, f"{self._url}{path}", json=body, headers=headers)
            status, answer = await _answer(sent)
            if status != 401 and str(answer.get("code")) not in _NO_TOKEN:  # noqa: PLR2004
                break
            self._token.refuse(token)
        if status >= 400:  # noqa: PLR2004
            raise _refusal(status, answer)
        return answer

    async def _granted(self) -> Grant:
        body = {"appKey": self._app.key, "appSecret": self._app.secret}
        sent = self._http.post(f"{self._url}/v1.0/oauth2/accessToken", json=body)
        status, answer = await _answer(sent)
        token, expires = answer.get("accessToken"), answer.get("expireIn")
        if not isinstance(token, str):
            raise _refusal(status, answer, whole=True)
        return Grant(token, expires if isinstance(expires, int) else 0)


async def _answer(sent: Any) -> tuple[int, Body]:
    """The status and the JSON object of an answer; raises `Unavailable` where there is none."""
    try:
        response: httpx2.Response = await sent
        answer = response.json()
    except (httpx2.HTTPError, Unread, ValueError) as error:
        raise Unavailable(f"DingTalk can't be reached: {type(error).__name__}") from error
    if response.is_server_error or not isinstance(answer, dict):
        raise Unavailable(f"DingTalk answers {response.status_code}")
    return response.status_code, answer


def _refusal(status: int, answer: Body, *, whole: bool = False) -> Exception:
    """What is raised for an answer; `whole` where the app itself is refused, or its card is.

    Nothing gets through then, so that what is to be posted has to wait and not to be passed over.
    """
    code, said = str(answer.get("code", "nothing")), str(answer.get("message", ""))[:300]
    if status == 429 or any(word in code.lower() for word in _TOO_MUCH):  # noqa: PLR2004
        return TooManyRequests("DingTalk is busy", BUSY)
    if "template" in code.lower():
        remedy = "set ROUTER_DINGTALK_CARD_TEMPLATE_ID to a card that is published"
        return NotAdmitted(f"DingTalk answers {code}: {said}; {remedy} (docs/dingtalk.md)")
    if whole or status in {401, 403} or code in _NO_TOKEN:
        remedy = "set ROUTER_DINGTALK_APP_KEY and _APP_SECRET to what the app has, and give it"
        return NotAdmitted(
            f"DingTalk answers {code}: {said}; {remedy} its permissions (docs/dingtalk.md)"
        )
    return Undeliverable(f"DingTalk answers {code}: {said}; see docs/dingtalk.md")


def _delivery(answer: Body) -> None:
    """Raise `Undeliverable` where a card was made and delivered nowhere."""
    results = within(answer, "result").get("deliverResults")
    for each in results if isinstance(results, list) else []:
        if isinstance(each, dict) and each.get("success") is False:
            raise Undeliverable(f"DingTalk doesn't deliver a card: {each.get('errorMsg')}")
