"""Links that lead one person to one decision, and the page behind them, which asks.

A link is opened by whoever sees the address: by filters that look at mail before its reader does,
by previews, by a browser that guesses ahead. So opening it decides nothing, and only shows what is
to be decided; that is done by the page's form, once. A link is for one approval, one person and
exactly the contents that they were shown, until it expires.
"""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qs

import jwt
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from router.api.params import derived_id
from router.domain.errors import TooManyRequests, Unavailable, Unconfirmed
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.domain.value import Value
from router.domain.visible_text import one_line
from router.extensions.channels import cards
from router.extensions.channels.base import LONGEST_COMMENT, VERDICTS, CardDecision, DecisionRequest
from router.extensions.channels.deferral import card_of
from router.extensions.channels.dispatcher import Dispatcher
from router.extensions.channels.outbox import decided, standing_of
from router.extensions.notifications.store import Notifications

LONGEST_TOKEN = 1000
"""Characters of a token: ours have half of that."""
_ALGORITHM = "HS256"
_AUDIENCE, _OF_DIGEST = "decision-link", "digest-link"
_FIELDS = 8
"""Fields of a form that are looked at; the page's has two."""


class BadLink(Exception):
    """The token isn't one of ours, or isn't whole."""


class DecisionLink(Value):
    """What a link is for. `digest` stands for what its reader was shown."""

    model_config = ConfigDict(extra="ignore")

    tenant: str
    person: str
    approval: str
    digest: str
    exp: int

    def is_over(self, now: datetime) -> bool:
        """True once nobody may use it any more."""
        return now.timestamp() >= self.exp


class DigestLink(Value):
    """Whose digest a link stops."""

    model_config = ConfigDict(extra="ignore")

    tenant: str
    person: str


AnyLink = TypeVar("AnyLink", DecisionLink, DigestLink)


class DecisionLinks:
    """Makes and reads tokens with one secret; what it signs is good for nothing else."""

    def __init__(self, secret: SecretStr, hours: int) -> None:
        own = f"{_AUDIENCE}:{secret.get_secret_value()}"
        # Derived: a bearer token signed with the same secret is no link, nor the other way round.
        self._key = hashlib.sha256(own.encode()).digest()
        self._for = timedelta(hours=hours)

    def token(self, record: ApprovalRecord, now: datetime) -> str:
        """A token for the approval's person, good until it expires, or the approval does."""
        ends = now + self._for
        if record.expires is not None:
            ends = min(ends, record.expires)
        link = DecisionLink(
            tenant=record.tenant,
            person=record.person,
            approval=record.id,
            digest=record.digest,
            exp=int(ends.timestamp()),
        )
        return self._signed(link, _AUDIENCE)

    def read(self, token: str) -> DecisionLink:
        """What the token is for, over or not; `BadLink` where we haven't signed it."""
        return self._read(token, DecisionLink, _AUDIENCE)

    def stopping(self, tenant: str, person: str) -> str:
        """A token that stops the person's digest, whenever it is used."""
        return self._signed(DigestLink(tenant=tenant, person=person), _OF_DIGEST)

    def whose_digest(self, token: str) -> DigestLink:
        """Whose digest the token stops; `BadLink` where we haven't signed it."""
        return self._read(token, DigestLink, _OF_DIGEST)

    def _signed(self, link: BaseModel, audience: str) -> str:
        return jwt.encode({**link.model_dump(), "aud": audience}, self._key, _ALGORITHM)

    def _read(self, token: str, kind: type[AnyLink], audience: str) -> AnyLink:
        if len(token) > LONGEST_TOKEN:
            raise BadLink
        try:
            options: Any = {"verify_exp": False, "require": ["aud"]}
            claims = jwt.decode(token, self._key, [_ALGORITHM], audience=audience, options=options)
            return kind.model_validate(claims)
        except (jwt.PyJWTError, ValidationError, ValueError) as error:
            raise BadLink from error


NO_LINK = Localised(
    zh="这个链接无效：请从邮件里完整地打开它，或者登录后在“待我审批”里处理。",
    en="This link isn't valid: open it as it stands in the mail, or sign in and decide there.",
)
EXPIRED = Localised(
    zh="这个链接已经过期，没有做任何处理。请打开最近的一封邮件，或者登录后处理。",
    en="This link has expired and nothing was decided. Open the latest mail, or sign in.",
)
ASKED = Localised(
    zh="打开这个页面不会做任何处理，按下面的按钮才算。",
    en="Opening this page decides nothing; a button below does.",
)
COMMENT = Localised(
    zh="意见（退回时必填，最多 1000 字）",
    en="Comment (needed to return it; 1,000 characters at most)",
)
WORD_NEEDED = Localised(
    zh="还没有处理：退回时请写明要改什么，最多 1000 字，不能有控制字符。",
    en="Nothing was decided yet: to return it, say what is to be changed, in 1,000 characters at "
    "most and without control characters.",
)
WHICH = Localised(zh="请选择同意、拒绝或退回。", en="Choose to approve, reject or return it.")
DESK = Localised(zh="打开工作台", en="Open the desk")
ELSEWHERE = Localised(
    zh="这个请求来自别的网站，没有做任何处理。请从邮件里的链接打开。",
    en="This came from another site, and nothing was decided. Open the link from your mail.",
)

NO_DIGEST = Localised(zh="每日汇总不再发了。", en="The daily digest won't come any more.")
STOP_DIGEST = Localised(zh="不再发每日汇总", en="Stop the daily digest")

_STYLE = """
body{margin:0;background:#f6f7f9;color:#1b1f24;font:16px/1.5 system-ui,sans-serif}
main{max-width:40rem;margin:2rem auto;padding:1.5rem;background:#fff;border-radius:.5rem}
h1{font-size:1.25rem;margin:0 0 1rem;overflow-wrap:anywhere}
p{margin:.5rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
textarea{box-sizing:border-box;width:100%;font:inherit;padding:.5rem}
button{font:inherit;margin:1rem .5rem 0 0;padding:.5rem 1.25rem;border-radius:.375rem}
button{border:1px solid #57606a;background:#fff;color:#1b1f24}
.approve{background:#0b6b34;border-color:#0b6b34;color:#fff}
.reject{background:#a40e26;border-color:#a40e26;color:#fff}
.said{border-left:.25rem solid #0b5cad;padding-left:.75rem}
a{color:#0b5cad}
"""
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


@cache
def environment() -> Environment:
    """The templates of pages and mails: whatever stands in a value is text in them."""
    return Environment(
        loader=PackageLoader("router.extensions.mail"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(
    locale: Locale,
    shown: Sequence[str],
    desk: str,
    *,
    said: str = "",
    status: int = 200,
    buttons: Sequence[tuple[str, str]] = (),
    label: str = "",
) -> Response:
    """A page with a title and what stands below it; with `buttons` it has a form that asks.

    `label` is that of the form's field, which isn't there without.
    """
    title, *sections = shown
    rendered = (
        environment()
        .get_template("decision.html")
        .render(
            lang=locale,
            style=_STYLE,
            title=one_line(title),
            sections=sections,
            said=said,
            note=ASKED.within(locale),
            buttons=buttons,
            comment=cards.COMMENT,
            label=label,
            longest=LONGEST_COMMENT,
            desk=desk,
            open_desk=DESK.within(locale),
        )
    )
    return HTMLResponse(rendered, status, HEADERS)


@dataclass(frozen=True)
class LinkPage:
    """What a link opens: `GET` shows and asks, `POST` does; the token is what the path ends in."""

    links: DecisionLinks
    dispatcher: Dispatcher
    desk: str
    """The address of the chat page, where whoever has no link goes on."""

    async def show(self, token: str) -> Response:
        """Show what is asked; nothing is changed by that."""
        raise NotImplementedError

    async def act(self, token: str, request: Request) -> Response:
        """Do what the form says."""
        raise NotImplementedError

    def router(self, prefix: str) -> APIRouter:
        """The page's routes."""
        router = APIRouter(prefix=prefix, include_in_schema=False)
        router.add_api_route("/{token}", self.show, methods=["GET", "HEAD"])
        router.add_api_route("/{token}", self.act, methods=["POST"])
        return router

    async def person_of(self, tenant: str, id_: str) -> Principal:
        """Whose link it is; raises `BadLink` where the directory has nobody of that id."""
        person = await self.dispatcher.state.services.directory.find(tenant, id_)
        if person is None:
            raise BadLink
        return person

    def nothing(self) -> Response:
        """What is told whoever has no link of ours: nobody knows which language they speak."""
        return page("zh", [DESK.zh], self.desk, said=f"{NO_LINK.zh}\n{NO_LINK.en}", status=404)


@dataclass(frozen=True)
class DecisionPage(LinkPage):
    """The page of one entrance: `GET` shows what is to be decided, `POST` decides."""

    async def show(self, token: str) -> Response:
        """Show what is to be decided, or what became of it; nothing is changed by that."""
        try:
            person, record, link = await self._meant(token)
        except BadLink:
            return self.nothing()
        return await self._shown(person, record, link)

    async def act(self, token: str, request: Request) -> Response:
        """Decide as the form says, once; whatever comes later is told what became of it."""
        try:
            person, record, link = await self._meant(token)
        except BadLink:
            return self.nothing()
        if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return self._page(person.locale, ELSEWHERE.within(person.locale), 403)
        if link.is_over(datetime.now(UTC)):
            return await self._shown(person, record, link)
        return await self._decided(person, record, link, await request.body())

    async def _decided(
        self, person: Principal, record: ApprovalRecord, link: DecisionLink, body: bytes
    ) -> Response:
        try:
            fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS)
        except ValueError:  # more fields than any form of ours has
            return await self._shown(person, record, link, WHICH.within(person.locale), 422)
        given, comment = fields.get("decision", [""])[0], fields.get(cards.COMMENT, [""])[0]
        verdict = next((each for each in VERDICTS if each == given), None)
        if verdict is None:
            return await self._shown(person, record, link, WHICH.within(person.locale), 422)
        decision = CardDecision(approval=record.id, digest=link.digest, verdict=verdict)
        word = f"decide:{derived_id('link', record.id, link.digest, verdict, comment)}"
        try:
            self.dispatcher.state.rates.admit(person)
            services = self.dispatcher.state.services
            outcome = await decided(services, person, decision, comment, word)
        except TooManyRequests as error:
            said = error.said.within(person.locale)
            return await self._shown(person, record, link, said, 429)
        except Unavailable as error:
            why = cards.UNCONFIRMED if isinstance(error, Unconfirmed) else cards.TRY_AGAIN
            said = why.within(person.locale)
            return await self._shown(person, record, link, said, 503)
        if outcome.text == cards.WORD_NEEDED.within(person.locale):
            said = WORD_NEEDED.within(person.locale)
            return await self._shown(person, record, link, said, 422)
        card = outcome.card
        same = card is not None and card.approval.digest == link.digest
        return self._page(person.locale, outcome.text, 200, card if same else None)

    async def _meant(self, token: str) -> tuple[Principal, ApprovalRecord, DecisionLink]:
        """Who is asked what; `BadLink` also where that person, or the approval, isn't there."""
        link, services = self.links.read(token), self.dispatcher.state.services
        person = await self.person_of(link.tenant, link.person)
        record = await services.store.runs.find_approval(link.tenant, link.approval)
        if record is None or record.person != person.id:
            raise BadLink
        return person, record, link

    async def _shown(
        self,
        person: Principal,
        record: ApprovalRecord,
        link: DecisionLink,
        said: str = "",
        status: int = 200,
    ) -> Response:
        services = self.dispatcher.state.services
        # What couldn't be asked of the run isn't known, whatever the row says.
        unsure = status == 503  # noqa: PLR2004
        over = None if unsure else await standing_of(services, record, link.digest)
        expired = link.is_over(datetime.now(UTC))
        if over is None and expired:
            over = EXPIRED
        # An old mail that somebody finds shows nothing that wasn't in it, nor anything for ever.
        hidden = expired or record.digest != link.digest
        card = None if hidden else await card_of(services, person, record)
        if over is not None:
            return self._page(person.locale, over.within(person.locale), 410, card)
        return self._page(person.locale, said, status, card, asks=True)

    def _page(
        self,
        locale: Locale,
        said: str,
        status: int,
        card: DecisionRequest | None = None,
        *,
        asks: bool = False,
    ) -> Response:
        shown = cards.decided_on(card) if card else []
        buttons = [(verdict, cards.BUTTONS[verdict].within(locale)) for verdict in VERDICTS]
        return page(
            locale,
            shown or [DESK.within(locale)],
            self.desk,
            said=said,
            status=status,
            buttons=buttons if asks else (),
            label=COMMENT.within(locale),
        )


@dataclass(frozen=True)
class DigestPage(LinkPage):
    """Where a digest is stopped without signing in: by a form, or by a mailbox's own button.

    A mailbox posts what RFC 8058 says; a `GET` stops nothing, for filters open this link too.
    """

    async def show(self, token: str) -> Response:
        """Ask whether the digest is to be stopped."""
        try:
            person = await self._whose(token)
        except BadLink:
            return self.nothing()
        label = STOP_DIGEST.within(person.locale)
        return page(person.locale, [label], self.desk, buttons=[("stop", label)])

    async def act(self, token: str, request: Request) -> Response:  # noqa: ARG002 - it says nothing
        """Stop it; nothing else of what the person chose is changed."""
        try:
            person = await self._whose(token)
        except BadLink:
            return self.nothing()
        kept = Notifications(self.dispatcher.state.services.store.database)
        chosen = await kept.chosen(person.tenant, person.id)
        if chosen.digest is not None:
            without = chosen.replace(digest=None)
            await kept.choose(person.tenant, person.id, without)
        said = NO_DIGEST.within(person.locale)
        return page(person.locale, [STOP_DIGEST.within(person.locale)], self.desk, said=said)

    async def _whose(self, token: str) -> Principal:
        link = self.links.whose_digest(token)
        return await self.person_of(link.tenant, link.person)
