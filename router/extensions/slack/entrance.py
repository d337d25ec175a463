"""Slack: the Events API in, Block Kit out.

Text goes out as `plain_text` or escaped, so that nothing that anybody wrote is a link, a mention
or `@channel`; what buttons can't carry is said in words. Both paths answer within three seconds.
"""

import asyncio
import hmac
import html
import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from router.domain.errors import TooManyRequests, Unauthenticated, Unavailable
from router.domain.locale import Locale
from router.domain.messages import as_plain_text
from router.domain.text_tables import as_lines
from router.domain.visible_text import pieces
from router.extensions.channels import cards
from router.extensions.channels.base import (
    LONGEST_COMMENT,
    VERDICTS,
    ChatPlace,
    DecisionRequest,
    GivenFile,
    Inbound,
    InboundFile,
    NotAdmitted,
    Post,
    Statement,
    TooLong,
    Undeliverable,
    button_of,
    is_id,
    json_object,
    platform_client,
    within,
)
from router.extensions.channels.dispatcher import Dispatcher, Entering
from router.extensions.channels.outbox import DecisionOutcome
from router.extensions.slack.settings import SlackSettings
from router.formats.http_body import Unread

log = logging.getLogger(__name__)


Block = dict[str, Any]

MOST_BLOCKS = 50
LONGEST_TEXT = 3000
LONGEST_LABEL = 75
LONGEST_VALUE = 2000
IN_A_ROW = 25
"""Slack's own limits."""
MOST_LISTED = 50
"""Files of one message that are looked at."""


def fallback(post: Post) -> str:
    """The whole as text: for notifications, and where no blocks are shown."""
    if isinstance(post, Statement):
        return escaped(as_lines(as_plain_text(post.replies, post.locale), post.locale))
    return escaped(f"{cards.title_of(post)} {post.outcome}".strip())


def blocks(post: Post) -> list[Block]:
    """The post as blocks; an empty list where it is too long for them, and text has to do."""
    made = list(_said(post) if isinstance(post, Statement) else _wanted(post))
    return made if len(made) <= MOST_BLOCKS else []


def escaped(text: str) -> str:
    """The text as it is: no link, mention or command in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _said(said: Statement) -> Iterator[Block]:
    for number, reply in enumerate(said.replies):
        buttons = [
            _button(f"reply.{number}.{n}", each, said.locale)
            for n, each in enumerate(cards.answers(reply, said))
        ]
        if any(len(each["value"]) > LONGEST_VALUE for each in buttons):
            buttons = []
        yield from _sections(cards.sections_of(reply, said.locale, buttons=bool(buttons)))
        for start in range(0, len(buttons), IN_A_ROW):
            yield {"type": "actions", "elements": buttons[start : start + IN_A_ROW]}


def _wanted(wanted: DecisionRequest) -> Iterator[Block]:
    yield from _sections(cards.decided_on(wanted))
    if wanted.outcome:
        yield {"type": "context", "elements": [_plain(wanted.outcome)]}
        return
    field = {"type": "plain_text_input", "action_id": cards.COMMENT, "max_length": LONGEST_COMMENT}
    label = _plain(cards.WHAT_TO_CHANGE.within(wanted.locale))
    comment = {"type": "input", "block_id": cards.COMMENT, "optional": True, "label": label}
    yield comment | {"element": {**field, "multiline": True}}
    row = [_button(each, cards.deciding(wanted, each), wanted.locale) for each in VERDICTS]
    yield {"type": "actions", "elements": row}


def _sections(texts: list[str]) -> Iterator[Block]:
    for piece in (piece for text in texts for piece in pieces(text, LONGEST_TEXT)):
        yield {"type": "section", "text": _plain(piece)}


def _button(id_: str, each: cards.CardButton, locale: Locale) -> Block:
    label = _plain(each.label[:LONGEST_LABEL])
    made: Block = {"type": "button", "action_id": id_, "text": label, "value": each.button.packed}
    made |= {"style": each.style} if each.style else {}
    if each.sure:
        yes, no = cards.YES.within(locale), cards.GO_BACK.within(locale)
        said = {"title": each.label, "text": each.sure, "confirm": yes, "deny": no}
        made["confirm"] = {name: _plain(text) for name, text in said.items()}
    return made


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}


_MARKED = re.compile(r"<(?P<to>[^<>|\s][^<>|]*)(?:\|(?P<label>[^<>]*))?>")
"""A link, a mention or a command: what somebody typed has its angle brackets escaped."""
_SIGNS = {"@": "@", "#": "#", "!": "@"}
"""What mentions of people, of channels and of groups are shown with."""
_FROM_PEOPLE = (None, "file_share", "thread_broadcast")
"""Subtypes of messages that somebody has written; the others are edits, joins and the like."""


def event_of(body: dict[str, Any]) -> Inbound | None:
    """A message to the bot: in its own channel, or with a mention anywhere else.

    In a channel every thread is a conversation of its own with each who speaks in it. To the
    bot alone it is one for all that isn't in a thread.
    """
    event = body.get("event")
    if not isinstance(event, dict) or event.get("subtype") not in _FROM_PEOPLE:
        return None
    direct = event.get("type") == "message" and event.get("channel_type") == "im"
    if not direct and event.get("type") != "app_mention":
        return None
    user, channel, id_ = event.get("user"), event.get("channel"), body.get("event_id")
    if event.get("bot_id") or not (is_id(user) and is_id(channel) and is_id(id_)):
        return None
    thread = event.get("thread_ts") or (None if direct else event.get("ts"))
    place = _place(str(channel), thread)
    return Inbound(
        event=str(id_),
        account=str(user),
        thread=":".join(place.values()),
        place=place,
        text=plain(str(event.get("text") or "")),
        files=tuple(_files_of(event.get("files"))),
        direct=direct,
    )


def _files_of(listed: object) -> Iterator[InboundFile]:
    """What is attached; a file of another service's, or one that is gone, has no source."""
    for each in listed[:MOST_LISTED] if isinstance(listed, list) else []:
        file = each if isinstance(each, dict) else {}
        url, size = file.get("url_private_download"), file.get("size")
        kept_there = file.get("mode") in {None, "hosted", "snippet"} and isinstance(url, str)
        yield InboundFile(
            name=str(file.get("name") or file.get("title") or file.get("id") or ""),
            source=str(url) if kept_there else "",
            size=size if isinstance(size, int) else 0,
        )


def press_of(payload: dict[str, Any]) -> tuple[Inbound, str] | None:
    """A button that was pressed, and the message (its `ts`) that it is in."""
    actions, message = payload.get("actions"), within(payload, "message")
    if payload.get("type") != "block_actions" or not isinstance(actions, list) or not actions:
        return None
    user, channel = within(payload, "user").get("id"), within(payload, "channel").get("id")
    action = within({"first": actions[0]}, "first")
    button = button_of(str(action.get("value")))
    if button is None or not message or not (is_id(user) and is_id(channel)):
        return None
    ts = str(message.get("ts"))
    place = _place(str(channel), message.get("thread_ts"))
    event = f"{ts} {action.get('action_id')} {action.get('action_ts')}"
    comment = within(payload, "state", "values", cards.COMMENT, cards.COMMENT).get("value")
    comment = comment if isinstance(comment, str) else ""
    thread = ":".join(place.values())
    return Inbound(event, str(user), thread, place, button=button, comment=comment), ts


def by_one_of(ours: frozenset[str], body: dict[str, Any]) -> bool:
    """True for what one of our workspace's people did; `ours` are its id and its organisation's.

    Slack Connect lets people of others into channels; an app may be installed in more workspaces.
    Where Slack doesn't say whose the bot's token is, `ours` is empty: sender and place must agree.
    """
    event, user = within(body, "event"), within(body, "user")
    places = (body.get("team_id"), body.get("enterprise_id"))
    around = (within(body, "team").get("id"), within(body, "enterprise").get("id"))
    said = [event.get(name) for name in ("user_team", "source_team", "team")]
    here = {one for one in (*places, *around) if isinstance(one, str)}
    senders = {one for one in (*said, user.get("team_id")) if isinstance(one, str)}
    known = ours | here if here & ours or not ours else ours
    return senders <= known and bool(senders or not ours or here & ours)


def plain(text: str) -> str:
    """What was typed as its writer sees it, without escapes; mentions are by name or out."""
    return html.unescape(_MARKED.sub(_shown, text)).strip()


def _shown(marked: re.Match[str]) -> str:
    to, label = marked["to"], marked["label"] or ""
    if (sign := _SIGNS.get(to[0])) is None:
        scheme, _, address = to.partition(":")
        if scheme in {"mailto", "tel"}:
            return label or address
        return f"{label} ({to})" if label and label not in to else to
    # A group's command carries its name after a ^; an id says nothing to whoever reads it.
    said = label or (to[1:] if to[0] == "!" and "^" not in to else "")
    as_it_is = not said or said.startswith(sign) or to.startswith("!date")
    return said if as_it_is else f"{sign}{said}"


def _place(channel: str, thread: object) -> ChatPlace:
    return {"channel": channel} | ({"thread": str(thread)} if thread else {})


FILES_SCOPES = "files in and out want the scopes files:read and files:write (docs/channels.md)"
BUSY = 30
"""Seconds that are waited where Slack doesn't say how many."""
_NOTHING_FETCHED = {"unfurl_links": False, "unfurl_media": False}
"""Slack would ask the address of a link or a picture for a preview, with whatever is in it."""
LONGEST_MESSAGE = 12_000
"""Characters of a message without blocks; Slack cuts at 40,000."""

_PASSING = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited"}
)
"""Errors after which the same call may succeed."""
_NOT_ADMITTED = frozenset(
    {
        *("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"),
        *("missing_scope", "not_allowed_token_type", "org_login_required", "access_denied"),
    }
)
"""Errors of the token, not of what is posted: https://api.slack.com/methods/chat.postMessage."""


class SlackClient:
    """`Outbound` on Slack, as the bot of one token."""

    def __init__(self, url: str, token: str) -> None:
        # A file that the token doesn't open leads to a page that asks to sign in: not followed.
        self._http = platform_client()
        self._token = {"Authorization": f"Bearer {token}"}
        self._url = url
        self._api = urlsplit(url)
        self._ours = frozenset[str]()

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post it; `key` goes with it as metadata, by which a second one is told from a repeat."""
        metadata = {"event_type": "intent_router_post", "event_payload": {"key": key}}
        said = {"text": fallback(post)[:LONGEST_MESSAGE], "blocks": blocks(post)}
        body = {**_where(place), **said, "metadata": metadata, **_NOTHING_FETCHED}
        await self._call("chat.postMessage", body)

    async def say(self, place: ChatPlace, text: str) -> None:
        body = {**_where(place), "text": escaped(text), **_NOTHING_FETCHED}
        await self._call("chat.postMessage", body)

    async def replace(self, place: ChatPlace, ts: str, card: DecisionRequest) -> None:
        said = {"text": fallback(card), "blocks": blocks(card)}
        await self._call("chat.update", {"channel": place["channel"], "ts": ts, **said})

    async def ours(self) -> frozenset[str]:
        """The ids of the workspace whose token it is, and of its organisation; asked until known.

        Raises as `Outbound` while Slack can't say; nothing where it won't.
        """
        if not self._ours:
            try:
                answer = await self._call("auth.test")
            except (Undeliverable, NotAdmitted) as error:
                log.warning("whose ROUTER_SLACK_BOT_TOKEN is isn't known: %s", error)
                answer = {}
            found = (answer.get("team_id"), answer.get("enterprise_id"))
            self._ours = frozenset(one for one in found if isinstance(one, str))
        return self._ours

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file; the token goes to Slack alone, whatever address an event names."""
        there = urlsplit(file.source)
        of_slack = there.scheme == "https" and f".{there.hostname}".endswith(".slack.com")
        # A gateway stands for all of Slack.
        if not of_slack and there[:2] != self._api[:2]:
            raise Undeliverable(f"the file {file.name[:80]!r} isn't on Slack")
        try:
            answer = await self._http.get(file.source, headers=self._token)
        except Unread as error:
            raise TooLong(f"the file {file.name[:80]!r}: {error}") from error
        except httpx2.HTTPError as error:
            raise Unavailable(f"Slack can't be reached: {type(error).__name__}") from error
        if answer.status_code == 429:  # noqa: PLR2004
            raise TooManyRequests("Slack is busy", BUSY)
        if answer.is_server_error:
            raise Unavailable(f"Slack answers {answer.status_code} for a file")
        if not answer.is_success:
            raise Undeliverable(f"Slack answers {answer.status_code} for a file: {FILES_SCOPES}")
        return answer.content

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Upload it into the channel; Slack has no key for that, so that a repeat is seen twice."""
        del key
        try:
            about = {"filename": file.name, "length": str(len(file.content))}
            begun = await self._call("files.getUploadURLExternal", form=about)
            # Where Slack itself says, and without the token.
            await self._post(str(begun.get("upload_url")), content=file.content)
            listed = json.dumps([{"id": begun.get("file_id"), "title": file.name}])
            where = _where(place)
            shared = {"files": listed, "channel_id": where.pop("channel"), **where}
            await self._call("files.completeUploadExternal", form=shared)
        except NotAdmitted as error:  # nothing else waits for that scope
            raise Undeliverable(f"{error}; {FILES_SCOPES}") from error

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def _call(
        self,
        method: str,
        body: Mapping[str, Any] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        """Call a method of the Web API, with JSON or a form; raises as `Outbound`."""
        url = f"{self._url}/{method}"
        answer = await self._post(url, json=body, data=form, headers=self._token)
        found = _answered(answer)
        if not found.get("ok"):
            raise _refusal(answer)
        return found

    async def _post(self, url: str, **request: Any) -> httpx2.Response:
        try:
            answer = await self._http.post(url, **request)
        except (Unread, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unavailable(f"Slack can't be reached: {type(error).__name__}") from error
        if not answer.is_success:
            raise _refusal(answer)
        return answer


def _where(place: ChatPlace) -> dict[str, str]:
    thread = {"thread_ts": place["thread"]} if "thread" in place else {}
    return {"channel": place.get("channel") or place["account"], **thread}


def _answered(answer: httpx2.Response) -> Mapping[str, Any]:
    """What Slack answers; nothing where that is no JSON object."""
    try:
        found = answer.json()
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refusal(answer: httpx2.Response) -> Exception:
    found = _answered(answer)
    code, said = answer.status_code, str(found.get("error", "no reason"))
    if not found and code != 429:  # noqa: PLR2004 - it was no JSON: somebody else answers
        gone = code == 404  # noqa: PLR2004
        return (Undeliverable if gone else Unavailable)("what answers for Slack speaks no JSON")
    if code == 429:  # noqa: PLR2004
        wait = answer.headers.get("Retry-After", str(BUSY))
        return TooManyRequests("Slack is busy", int(wait) if wait.isdigit() else BUSY)
    if code >= 500 or said in _PASSING:  # noqa: PLR2004
        return Unavailable(f"Slack answers {code}: {said}")
    if said in _NOT_ADMITTED:
        remedy = "set ROUTER_SLACK_BOT_TOKEN to one that it takes, with the scopes it wants"
        return NotAdmitted(f"Slack answers {said}: {remedy} (docs/channels.md)")
    return Undeliverable(f"Slack answers {said}; see docs/channels.md for the scopes it wants")


MAX_SIGNATURE_AGE_S = 5 * 60


def is_signed(secret: str, body: bytes, headers: Mapping[str, str], now: float) -> bool:
    """Return whether Slack has signed the body with this secret within five minutes of `now`."""
    stamp = headers.get("x-slack-request-timestamp", "")
    signature = headers.get("x-slack-signature", "")
    if not _STAMP.fullmatch(stamp) or abs(now - int(stamp)) > MAX_SIGNATURE_AGE_S:
        return False
    signed = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, sha256).hexdigest()
    return hmac.compare_digest(f"v0={signed}".encode(), signature.encode())


_STAMP = re.compile(r"[0-9]{1,12}")


TAKEN = Response(status_code=200)


@dataclass(frozen=True)
class _SlackRoutes:
    signing_secret: str = field(repr=False)
    client: SlackClient
    dispatcher: Dispatcher

    def router(self) -> APIRouter:
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
        if inbound is not None and await self._is_ours(body):
            await self.dispatcher.take(inbound)
        return TAKEN

    async def interactions(self, request: Request) -> Response:
        """Do what a button says; Slack shows an error to whoever pressed where this isn't 200.

        A run may take longer to decide than Slack waits: whoever pressed is told so, and what came
        of it later. Where this process dies in between, the card still has its buttons, and a
        second press finds what the first one did.
        """
        fields = parse_qs((await self._signed(request)).decode("utf-8", "replace"))
        payload = json_object(fields.get("payload", [""])[0].encode())
        found = press_of(payload)
        if found is None or not await self._is_ours(payload):
            return TAKEN
        inbound, ts = found
        if inbound.button is not None and inbound.button.decision is not None:
            deciding = await self.dispatcher.deciding(inbound)
            if not deciding.done():
                said = f"{cards.DECIDING.zh} {cards.DECIDING.en}"
                self.dispatcher.aside(self.client.say(inbound.place, said))
            self.dispatcher.aside(self._decided(inbound, ts, deciding))
        else:
            await self.dispatcher.take(inbound)
        return TAKEN

    async def _decided(
        self, inbound: Inbound, ts: str, deciding: asyncio.Task[DecisionOutcome | None]
    ) -> None:
        outcome = await deciding
        if outcome is None:
            return
        if outcome.card is not None:
            await self.client.replace(inbound.place, ts, outcome.card)
        else:
            await self.client.say(inbound.place, outcome.text)

    async def _is_ours(self, body: dict[str, Any]) -> bool:
        if by_one_of(await self.client.ours(), body):
            return True
        log.info("what somebody of another Slack workspace did is left alone")
        return False

    async def _signed(self, request: Request) -> bytes:
        """The body, signed by Slack within five minutes; 401 otherwise."""
        body = await request.body()
        if not is_signed(self.signing_secret, body, request.headers, time.time()):
            raise Unauthenticated(
                "The request isn't signed by Slack within the last five minutes: "
                "sign it with the app's signing secret."
            )
        return body


def mount(settings: SlackSettings, entering: Entering) -> APIRouter:
    client = SlackClient(settings.url, settings.bot_token.get_secret_value())
    secret = settings.signing_secret.get_secret_value()
    return _SlackRoutes(secret, client, entering(client)).router()
