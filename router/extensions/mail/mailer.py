"""Mail for those who approve: SMTP out, and a page behind a signed link that asks.

What arrives by mail isn't read: nobody decides by answering, for anybody can write in a person's
name. The link leads to a page that shows what is decided on, and whose form decides.
`aiosmtplib` comes with the extra `adapters`, and is imported only where mail is configured.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import APIRouter

from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import as_plain_text
from router.domain.text_tables import as_lines
from router.domain.visible_text import one_line
from router.extensions.channels import cards
from router.extensions.channels.base import (
    ChatPlace,
    DecisionRequest,
    Digest,
    GivenFile,
    InboundFile,
    NotAdmitted,
    Post,
    Statement,
    Undeliverable,
)
from router.extensions.channels.dispatcher import Entering
from router.extensions.mail.decision_links import (
    DecisionLinks,
    DecisionPage,
    DigestPage,
    environment,
)
from router.extensions.mail.settings import MailSettings, addressed

if TYPE_CHECKING:
    from aiosmtplib.errors import SMTPException

PATH, STOP_PATH = "/adapters/mail/decisions", "/adapters/mail/digests"
ONE_CLICK = "List-Unsubscribe=One-Click"
"""What a mailbox's own button posts there (RFC 8058)."""
SECONDS = 20
AT_ONCE = 4
"""Connections to the mail server that one process has open at once."""
BUSY = 60
"""Seconds that are waited after an answer of 4xx: servers that defer want no haste."""
LONGEST_SUBJECT = 150


NO_ANSWER = Localised(
    zh="这封邮件是自动发出的，回复没有人看。",
    en="This mail was sent by a program; nobody reads answers to it.",
)
OPEN = Localised(zh="查看并处理", en="Look at it and decide")
ONCE = Localised(
    zh="这个链接只给您一个人用，只管这一项，{hours} 小时内有效。请不要转发这封邮件。",
    en="The link is yours alone, for this request alone, and good for {hours} hours. Please don't "
    "forward this mail.",
)
REMINDER = Localised(zh="提醒：{title}", en="Reminder: {title}")
DIGEST = Localised(zh="{day}：{count} 项审批等您处理", en="{day}: {count} requests wait for you")
ONE_WAITS = Localised(zh="{day}：1 项审批等您处理", en="{day}: one request waits for you")
MORE = Localised(zh="还有 {more} 项，请到工作台查看。", en="{more} more wait at the desk.")
NEWS = Localised(zh="您的申请有新进展", en="News of your request")
DESK = Localised(zh="打开工作台", en="Open the desk")
HOW_TO_STOP = Localised(
    zh="不想再收到：对工作台说“不要发每日汇总”。",
    en="To have it stop, tell the desk “no daily digest”.",
)


@dataclass(frozen=True)
class LetterEntry:
    """One thing in a mail: a heading, what is said, and where its link leads."""

    heading: str
    lines: Sequence[str]
    link: str
    label: str


@dataclass(frozen=True)
class Letter:
    """What a mail says: the same as text and as HTML."""

    subject: str
    entries: Sequence[LetterEntry]
    notes: Sequence[str]
    locale: Locale

    @property
    def text(self) -> str:
        """As plain text."""
        parts = [
            "\n".join(
                [*filter(None, [each.heading]), *each.lines, "", f"{each.label}: {each.link}"]
            )
            for each in self.entries
        ]
        return "\n\n".join([*parts, "-- \n" + "\n".join(self.notes)]) + "\n"

    @property
    def html(self) -> str:
        """As HTML that loads nothing and runs nothing."""
        template = environment().get_template("mail.html")
        return template.render(
            lang=self.locale, subject=self.subject, entries=self.entries, notes=self.notes
        )


class Mail:
    """`router.extensions.channels.base.ReadingOutbound` over SMTP, from one address."""

    def __init__(self, settings: MailSettings, links: DecisionLinks) -> None:
        self._settings = settings
        self._links = links
        self._desk = f"{settings.public_url}/"
        self._domain = settings.sender.rpartition("@")[2]
        self._room = asyncio.Semaphore(AT_ONCE)

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        """Send it; the mail's `Message-ID` is made of `key`, and one thread is one approval."""
        if isinstance(post, Statement):
            await self._send(place, self._news(post), key, post.conversation)
        else:
            await self._send(place, self._request(post), key, post.approval.id)

    async def post_digest(self, place: ChatPlace, digest: Digest, key: str) -> None:
        """Send what waits, with a link for each, and one that stops it."""
        reader = digest.waiting[0].approval
        token = self._links.stopping(reader.tenant, reader.person)
        stop = f"<{self._settings.public_url}{STOP_PATH}/{token}>"
        headers = {"List-Unsubscribe": stop, "List-Unsubscribe-Post": ONE_CLICK}
        await self._send(place, self._listed(digest), key, headers=headers)

    async def say(self, place: ChatPlace, text: str) -> None:
        """Send a line."""
        both = NO_ANSWER.zh, NO_ANSWER.en
        letter = Letter(
            one_line(text, LONGEST_SUBJECT), [self._entry("", [text], "zh")], both, "zh"
        )
        await self._send(place, letter, hashlib.sha256(text.encode()).hexdigest()[:24])

    async def fetch(self, file: InboundFile) -> bytes:
        """Nothing comes in by mail."""
        raise Undeliverable(f"mail isn't read, so {file.name[:80]!r} can't be fetched")

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        """Send a file as an attachment."""
        name = one_line(file.name)
        message = self._message(place, name, key)
        message.set_content(f"{name}\n")
        main, _, sub = file.type.partition("/")
        message.add_attachment(
            file.content, maintype=main, subtype=sub or "octet-stream", filename=name
        )
        await self._deliver(message)

    async def aclose(self) -> None:
        """Each mail has a connection of its own."""

    def _request(self, wanted: DecisionRequest) -> Letter:
        title, *sections = cards.decided_on(wanted)
        said = REMINDER.within(wanted.locale).format(title=title) if wanted.reminds else title
        hours = ONCE.within(wanted.locale).format(hours=self._settings.link_hours)
        notes = [hours, NO_ANSWER.within(wanted.locale)]
        return Letter(
            one_line(said, LONGEST_SUBJECT),
            [self._asked(wanted, title, sections)],
            notes,
            wanted.locale,
        )

    def _listed(self, digest: Digest) -> Letter:
        locale, count = digest.locale, len(digest.waiting) + digest.more
        subject = (ONE_WAITS if count == 1 else DIGEST).within(locale)
        entries = []
        for wanted in digest.waiting:
            title, *sections = cards.decided_on(wanted)
            entries.append(self._asked(wanted, title, sections))
        more = [MORE.within(locale).format(more=digest.more)] if digest.more else []
        hours = ONCE.within(locale).format(hours=self._settings.link_hours)
        notes = [*more, hours, HOW_TO_STOP.within(locale), NO_ANSWER.within(locale)]
        day = digest.day.isoformat()
        return Letter(subject.format(day=day, count=count), entries, notes, locale)

    def _news(self, said: Statement) -> Letter:
        lines = as_lines(as_plain_text(said.replies, said.locale), said.locale).split("\n")
        subject = NEWS.within(said.locale)
        notes = [NO_ANSWER.within(said.locale)]
        return Letter(subject, [self._entry(subject, lines, said.locale)], notes, said.locale)

    def _entry(self, heading: str, lines: Sequence[str], locale: Locale) -> LetterEntry:
        return LetterEntry(heading, lines, self._desk, DESK.within(locale))

    def _asked(self, wanted: DecisionRequest, title: str, sections: Sequence[str]) -> LetterEntry:
        token = self._links.token(wanted.approval, datetime.now(UTC))
        link = f"{self._settings.public_url}{PATH}/{token}"
        return LetterEntry(title, sections, link, OPEN.within(wanted.locale))

    async def _send(
        self,
        place: ChatPlace,
        letter: Letter,
        key: str,
        thread: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        message = self._message(place, letter.subject, key, thread)
        message.set_content(letter.text)
        message.add_alternative(letter.html, subtype="html")
        for name, value in {"Content-Language": letter.locale, **headers}.items():
            message[name] = value
        await self._deliver(message)

    def _message(self, place: ChatPlace, subject: str, key: str, thread: str = "") -> EmailMessage:
        to = addressed(place.get("account", ""))
        if to is None:
            raise Undeliverable("the directory has no mail address for them that can be used")
        message = EmailMessage()
        message["From"] = self._settings.sender
        message["To"] = to
        message["Subject"] = one_line(subject)
        message["Date"] = format_datetime(datetime.now(UTC))
        message["Message-ID"] = f"<{key}@{self._domain}>"
        if thread:
            # Of no mail: all that is about one approval stands below it, whichever comes first.
            root = hashlib.sha256(f"thread:{thread}".encode()).hexdigest()[:24]
            message["In-Reply-To"] = message["References"] = f"<{root}@{self._domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message["X-Auto-Response-Suppress"] = "All"
        return message

    async def _deliver(self, message: EmailMessage) -> None:
        """Hand it to the mail server; raises as `Outbound`."""
        from aiosmtplib import SMTP
        from aiosmtplib.errors import SMTPException

        settings = self._settings
        server = SMTP(
            hostname=settings.host,
            port=settings.port,
            use_tls=settings.tls == "implicit",
            start_tls=settings.tls == "starttls",
            username=settings.user or None,
            password=settings.password.get_secret_value() or None,
            local_hostname=urlsplit(settings.public_url).hostname,
            timeout=SECONDS,
        )
        async with self._room:
            try:
                await server.connect()
            except (SMTPException, OSError) as error:
                raise refusal(error, let_in=False) from error
            try:
                await server.send_message(message)
                # It has the mail: who sent it again for a goodbye would send it twice.
                with suppress(SMTPException, OSError):
                    await server.quit()
            except (SMTPException, OSError) as error:
                raise refusal(error) from error
            finally:
                server.close()


_OF_US = frozenset({530, 534, 535, 538})
"""Answers about who we are, not about the mail (RFC 4954)."""
LATER = 500
"""Answers below are for now."""


def refusal(error: "SMTPException | OSError", *, let_in: bool = True) -> RouterError:
    """What a mail server's answer means: not now, not from us, or never.

    Where we weren't `let_in` it says nothing of the mail, which waits.
    """
    from aiosmtplib import errors

    if isinstance(error, errors.SMTPRecipientsRefused) and error.recipients:
        error = error.recipients[0]
    if not isinstance(error, errors.SMTPResponseException):
        if isinstance(error, errors.SMTPTimeoutError | OSError):
            return Unavailable(f"the mail server can't be reached: {type(error).__name__}")
        return NotAdmitted(f"the mail server: {one_line(str(error))}; see ROUTER_MAIL_TLS")
    said = f"the mail server answers {error.code}: {one_line(error.message)}"
    if error.code < LATER:
        return TooManyRequests(said, BUSY)
    if not let_in or error.code in _OF_US:
        return NotAdmitted(f"{said}; see ROUTER_MAIL_TLS, ROUTER_MAIL_USER and ..._PASSWORD")
    if isinstance(error, errors.SMTPSenderRefused):
        return NotAdmitted(f"{said}; set ROUTER_MAIL_SENDER to an address that it lets us use")
    return Undeliverable(said)


def mount(settings: MailSettings, entering: Entering) -> APIRouter:
    import aiosmtplib  # noqa: F401 - so that its absence is found out at the start

    links = DecisionLinks(settings.link_secret, settings.link_hours)
    dispatcher = entering(Mail(settings, links))
    parts = (links, dispatcher, f"{settings.public_url}/")
    router = APIRouter(include_in_schema=False)
    router.include_router(DecisionPage(*parts).router(PATH))
    router.include_router(DigestPage(*parts).router(STOP_PATH))
    return router
