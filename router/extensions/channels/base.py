"""What a chat platform brings: what people did there, and a way to post what the desk says."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import httpx2
from pydantic import ConfigDict, ValidationError
from starlette.exceptions import HTTPException

from router.domain.errors import RouterError, Unavailable
from router.domain.file_types import MOST_BYTES
from router.domain.locale import Locale
from router.domain.messages import Action, Question, Reply
from router.domain.records import ApprovalRecord, ChangedField
from router.domain.value import Value
from router.formats.http_body import PACKED, bounding
from router.formats.strict_json import strict_json


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are; 400 where they are none."""
    try:
        value = strict_json(raw)
    except ValueError as error:
        raise HTTPException(400, f"The body isn't JSON: {error}.") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "The body is no JSON object.")
    return value


ChatPlace = Mapping[str, str]
"""Where something is posted, in the platform's own terms: a channel, a thread."""
LONGEST_COMMENT = 1000
"""Characters of an approver's remark on a card: what every platform has room for."""
Verdict = Literal["approve", "reject", "return"]
VERDICTS: tuple[Verdict, ...] = ("approve", "reject", "return")


class Undeliverable(RouterError):
    """The platform won't have it, now or later: a channel that is gone, a card it can't read."""


class TooLong(Undeliverable):
    """A file is larger than any that is taken."""


class NotAdmitted(Unavailable):
    """The platform doesn't take us: nothing gets through until somebody gives us another token."""


class Pressed(Value):
    """A button of a conversation's card: what it does, and in which conversation."""

    model_config = ConfigDict(extra="forbid")

    conversation: str
    action: Action


class CardDecision(Value):
    """A button of an approver's card. `digest` stands for exactly what the card shows."""

    model_config = ConfigDict(extra="forbid")

    approval: str
    digest: Question
    verdict: Verdict


class Button(Value):
    """What travels in a button, there and back."""

    model_config = ConfigDict(extra="forbid")

    pressed: Pressed | None = None
    decision: CardDecision | None = None

    @property
    def packed(self) -> str:
        """As short as can be: platforms limit it."""
        return self.model_dump_json(exclude_none=True)


def is_id(value: object) -> bool:
    """True for what can be a platform's id of something."""
    return isinstance(value, str) and 0 < len(value) <= 100  # noqa: PLR2004


def within(value: object, *names: str) -> dict[str, Any]:
    """The object at the end of these names; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def button_of(packed: str) -> Button | None:
    """What a button carries; None where it is none of ours."""
    try:
        return Button.model_validate_json(packed)
    except ValidationError:
        return None


@dataclass(frozen=True)
class InboundFile:
    """Something that is attached to a message."""

    name: str
    source: str
    """Where it is fetched, as the platform has it; empty where nobody takes its kind."""
    size: int = 0
    """As the platform says; 0 where it doesn't."""


@dataclass(frozen=True)
class Inbound:
    """Something that a person did on a platform: said `text`, or pressed a button.

    `event` is the platform's id of it, the same when it is delivered again. `thread` names what
    they said it in; together with who they are it leads to one conversation.
    """

    event: str
    account: str
    thread: str
    place: ChatPlace
    text: str | None = None
    button: Button | None = None
    files: tuple[InboundFile, ...] = ()
    """What they attached, not fetched yet."""
    comment: str = ""
    """What they wrote into the field of an approver's card."""
    direct: bool = False
    """True of what was said to the bot alone: there somebody who helps speaks with an employee."""


@dataclass(frozen=True)
class Statement:
    """What the desk said in a conversation."""

    replies: Sequence[Reply]
    conversation: str
    locale: Locale


@dataclass(frozen=True)
class DecisionRequest:
    """A decision that is asked for; `outcome` once it is made, and the card needs no buttons."""

    approval: ApprovalRecord
    requester: str
    """Their name."""
    locale: Locale
    outcome: str = ""
    changes: Sequence[ChangedField] = ()
    """How it differs from what was sent back before, or changed by its requester."""
    reminds: bool = False
    """True where they were asked before."""


Post = Statement | DecisionRequest


@dataclass(frozen=True)
class Digest:
    """What waits for somebody's decision on one day, the newest first."""

    waiting: Sequence[DecisionRequest]
    more: int
    """How many others wait that aren't among these."""
    day: date
    locale: Locale


@dataclass(frozen=True)
class GivenFile:
    """A file that the desk gives to whoever it talks with."""

    name: str
    type: str
    content: bytes
    id: str
    """By which the desk has it, where a platform asks first whether somebody wants it."""

    @property
    def is_picture(self) -> bool:
        """True for what platforms show."""
        return self.type in {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Outbound(Protocol):
    """A platform to post on; raises `Undeliverable`, `TooManyRequests` or `Unavailable`."""

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Post it. `key` is the same when the same is posted again, so that it is seen once."""

    async def say(self, place: ChatPlace, text: str) -> None:
        """Post a line."""

    async def fetch(self, file: InboundFile) -> bytes:
        """What is in a file; raises as all of these, and `TooLong` where it is over 10 MiB."""

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Post a file; of one `key` as `post`."""

    async def aclose(self) -> None:
        """Let go of connections."""


@runtime_checkable
class ReadingOutbound(Outbound, Protocol):
    """A platform on which people read and don't talk: digests and news come there if wished for."""

    async def post_digest(self, place: ChatPlace, digest: Digest, key: str) -> None:
        """Post what waits; of one `key` as `post`."""


SECONDS = 10.0


def platform_client(
    base_url: str = "", headers: Mapping[str, str] | None = None
) -> httpx2.AsyncClient:
    """A client that reads no more than a file may have, and goes nowhere but where it is sent.

    An answer that is longer raises `router.formats.http_body.Unread`.
    """
    return httpx2.AsyncClient(
        base_url=base_url,
        timeout=SECONDS,
        headers={"Accept-Encoding": PACKED, **(headers or {})},
        # Where an address leads was looked at, and not where it would lead on to.
        follow_redirects=False,
        event_hooks={"response": [bounding(MOST_BYTES)]},
    )


class Grant(NamedTuple):
    """A token, and the seconds that it is good for."""

    token: str
    seconds: float


class AccessToken:
    """The token that a platform gives us, fetched when there is none that is good.

    Args:
        fetch: asks the platform for one; raises as `Outbound`.
        early: seconds before its end at which it is fetched anew.

    Example:
        >>> async def fetch() -> Grant:
        ...     return Grant("t-1", 7200)
        >>> asyncio.run(AccessToken(fetch, early=300).current())
        't-1'
    """

    def __init__(self, fetch: Callable[[], Awaitable[Grant]], early: float) -> None:
        self._fetch = fetch
        self._early = early
        self._token = ""
        self._good_until = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def current(self) -> str:
        """One that is good, as far as is known; raises as `fetch`."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._good_until:
                self._token, seconds = await self._fetch()
                self._good_until = time.monotonic() + seconds - self._early
            return self._token

    def refuse(self, token: str) -> None:
        """The platform doesn't take this one any more: another is fetched, unless one was."""
        if token == self._token:
            self._good_until = 0.0
