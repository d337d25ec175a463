"""A mail server, over real SMTP on loopback: it takes mail from one sender, and may refuse it.

async with MailServer() as mail:
    ...  # settings.having(mail.settings)
    letter = await mail.received("bob@example.com", "leave")
"""

import asyncio
import re
from collections import deque
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from pydantic import SecretStr

from router.extensions.mail.settings import MailSettings
from tests.waiting import HANGS_AFTER_S

SENDER = "desk@example.com"
SECRET = "0123456789abcdef0123456789abcdef"
LINK = re.compile(r"https?://\S+/adapters/mail/decisions/\S+")


@dataclass(frozen=True)
class Letter:
    """A mail, as the server was handed it."""

    to: str
    message: EmailMessage

    @property
    def text(self) -> str:
        part = self.message.get_body(("plain",))
        assert part is not None
        return str(part.get_content()).replace("\r\n", "\n")

    @property
    def html(self) -> str:
        part = self.message.get_body(("html",))
        assert part is not None
        return str(part.get_content())

    @property
    def links(self) -> list[str]:
        """The addresses of the pages that it asks its reader to decide on."""
        return LINK.findall(self.text)


class MailServer:
    """A server that lets one user in, and relays for one sender alone."""

    user, password = "desk", "s3cret"

    def __init__(self, **settings: Any) -> None:
        self.letters: list[Letter] = []
        """What it took, in order."""
        self.troubles: deque[str] = deque()
        """What it answers to the next recipients instead, such as `450 4.2.0 later`."""
        self.goodbyes: deque[str] = deque()
        """What it answers to the next `QUIT` instead; nothing where it is empty: it hangs up."""
        self.refused: list[str] = []
        """What it answered to those."""
        self.tried = 0
        """How often somebody has said for whom a mail is."""
        self._changed = asyncio.Event()
        self._more = settings
        self._port = 0

    @property
    def settings(self) -> MailSettings:
        """By which the desk writes by it."""
        known: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self._port,
            "tls": "none",
            "user": self.user,
            "password": SecretStr(self.password),
            "sender": SENDER,
            "public_url": "http://127.0.0.1:1",
            "link_secret": SecretStr(SECRET),
        }
        return MailSettings(**{**known, **self._more})

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._session, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def _session(self) -> SMTP:
        return SMTP(
            self,
            hostname="mail.example.com",
            authenticator=self._known,
            auth_required=True,
            auth_require_tls=False,
            enable_SMTPUTF8=True,
        )

    def _known(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        shown = LoginPassword(self.user.encode(), self.password.encode())
        return AuthResult(success=data == shown, handled=False)

    async def handle_MAIL(  # noqa: N802 - as aiosmtpd calls it
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address != SENDER:
            return "553 5.7.1 you may not send as that"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.tried += 1
        self._changed.set()
        if self.troubles:
            self.refused.append(self.troubles.popleft())
            return self.refused[-1]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        message = message_from_bytes(content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.letters += [Letter(to, message) for to in envelope.rcpt_tos]
        self._changed.set()
        return "250 OK"

    async def handle_QUIT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        said = self.goodbyes.popleft() if self.goodbyes else "221 2.0.0 bye"
        if not said:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
        return said

    async def received(self, to: str, text: str, *, besides: int = 0) -> Letter:
        """The first mail to this address with this in it, after so many; as soon as it is there."""
        async with asyncio.timeout(HANGS_AFTER_S):
            while True:
                found = [each for each in self.letters if each.to == to and text in said(each)]
                if len(found) > besides:
                    return found[besides]
                self._changed.clear()
                await self._changed.wait()

    async def tried_again(self, times: int) -> None:
        """Return once so many recipients were named in all."""
        async with asyncio.timeout(HANGS_AFTER_S):
            while self.tried < times:
                self._changed.clear()
                await self._changed.wait()


def said(letter: Letter) -> str:
    """The subject and the text."""
    return f"{letter.message['Subject']}\n{letter.text}"
