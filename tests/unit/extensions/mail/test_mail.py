"""Mail as it is written, what may be set, and what a mail server's answers mean."""

from datetime import date
from email.message import EmailMessage
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import TextReply
from router.domain.records import ChangedField
from router.extensions.channels.base import (
    DecisionRequest,
    Digest,
    GivenFile,
    InboundFile,
    NotAdmitted,
    Statement,
    Undeliverable,
)
from router.extensions.mail.decision_links import DecisionLinks
from router.extensions.mail.mailer import Mail
from router.extensions.mail.settings import MailSettings, addressed
from tests.fakes.smtp import SECRET, SENDER, Letter, MailServer
from tests.table import each_row
from tests.unit.extensions.channels.test_blocks import APPROVAL

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

PLACE = {"account": "bob@example.com"}
SET: dict[str, Any] = {
    "host": "127.0.0.1",
    "sender": SENDER,
    "public_url": "https://desk.example.com",
    "link_secret": SecretStr(SECRET),
}


def mail_by(settings: MailSettings) -> Mail:
    return Mail(settings, DecisionLinks(settings.link_secret, settings.link_hours))


def request(locale: Locale = "en", **more: Any) -> DecisionRequest:
    return DecisionRequest(APPROVAL, "Alice", locale, **more)


async def sent(post: DecisionRequest | Statement, key: str = "k1") -> Letter:
    async with MailServer() as server:
        await mail_by(server.settings).post(PLACE, post, key)
        (letter,) = server.letters
        return letter


async def test_a_request_has_all_that_is_decided_on_in_both_parts() -> None:
    changed = [ChangedField(label="Days", before="two days", now="three days")]
    letter = await sent(request(changes=changed))
    assert letter.to == "bob@example.com"
    assert letter.message["Subject"] == "For your approval: Leave"
    assert letter.message["From"] == SENDER
    assert letter.message["Message-ID"] == "<k1@example.com>"
    assert letter.message["Content-Language"] == "en"
    for shown in (letter.text, letter.html):
        assert "Requested by: Alice" in shown
        assert "Days: three days" in shown
        assert "two days" in shown
        assert letter.links[0] in shown
        assert "good for 72 hours" in shown
        assert "nobody reads answers" in shown


async def test_a_reminder_says_that_it_is_one_in_the_same_thread() -> None:
    first, again = await sent(request("zh")), await sent(request("zh", reminds=True), "k2")
    assert first.message["Subject"] == "请审批：请假"
    assert again.message["Subject"] == "提醒：请审批：请假"
    assert first.message["References"] == again.message["References"]
    assert first.message["Message-ID"] != again.message["Message-ID"]


async def test_nothing_that_was_written_is_a_header_or_markup() -> None:
    hostile = "a\r\nBcc: eve@example.com\u2028<b onload=x>&amp;\u202e"
    title = Localised(zh=hostile, en=hostile)
    forged = APPROVAL.model_copy(update={"title": title, "summary": {"days": title}})
    letter = await sent(DecisionRequest(forged, hostile, "en"))
    assert letter.message["Bcc"] is None
    assert letter.to == "bob@example.com"
    assert "<b onload" not in letter.html
    assert "\u202e" not in letter.text
    assert not [line for line in letter.text.splitlines() if line.startswith("Bcc")]


async def test_news_lead_to_the_desk_and_decide_nothing() -> None:
    letter = await sent(Statement([TextReply(text="Approved <i>now</i>")], "c1", "en"))
    assert letter.links == []
    assert "Approved <i>now</i>" in letter.text
    assert "<i>" not in letter.html


async def test_a_digest_has_a_link_for_each_and_says_what_is_left_out() -> None:
    async with MailServer() as server:
        digest = Digest([request(), request()], 3, date(2026, 11, 26), "en")
        await mail_by(server.settings).post_digest(PLACE, digest, "k1")
        (letter,) = server.letters
    assert letter.message["Subject"] == "2026-11-26: 5 requests wait for you"
    assert len(letter.links) == 2
    assert "3 more wait" in letter.text
    assert "no daily digest" in letter.text


async def test_a_file_is_attached_and_none_is_fetched() -> None:
    async with MailServer() as server:
        mail = mail_by(server.settings)
        await mail.give(PLACE, GivenFile("a\r\nb.png", "image/png", b"\x89PNG", "f1"), "k1")
        await mail.say(PLACE, "One line")
        attached = server.letters[0].message
        assert server.letters[1].text.startswith("One line\n")
        with pytest.raises(Undeliverable):
            await mail.fetch(InboundFile("a.pdf", "x"))
        await mail.aclose()
    (file,) = attached.iter_attachments()
    assert isinstance(file, EmailMessage)
    assert file.get_content() == b"\x89PNG"


@each_row(
    ("written", "is_one"),
    [
        ("bob@example.com", True),
        ("bob.b+desk@mail.example.com", True),
        ("bob", False),
        ("@example.com", False),
        ("bob@", False),
        ("", False),
        ("bob@example.com,eve@example.com", False),
        ("bob@example.com\nBcc: eve@example.com", False),
        ("<bob@example.com>", False),
        ("a" * 1000, False),
    ],
)
def test_an_address_is_one(written: str, is_one: bool) -> None:
    assert (addressed(written) is not None) is is_one


async def test_whose_address_can_t_be_used_is_told_nothing() -> None:
    async with MailServer() as server:
        for account in ("bob", "", "bob@example.com,eve@example.com"):
            with pytest.raises(Undeliverable, match="no mail address"):
                await mail_by(server.settings).post({"account": account}, request(), "k1")
        assert server.tried == 0


@each_row(
    ("answer", "kind"),
    [
        ("421 4.3.2 going down", TooManyRequests),
        ("450 4.2.0 greylisted", TooManyRequests),
        ("452 4.2.2 full", TooManyRequests),
        ("550 5.1.1 no such mailbox", Undeliverable),
        ("552 5.2.2 full", Undeliverable),
        ("530 5.7.0 sign in", NotAdmitted),
    ],
)
async def test_what_a_server_answers_is_for_now_for_us_or_for_good(
    answer: str, kind: type[RouterError]
) -> None:
    async with MailServer() as server:
        server.troubles.append(answer)
        with pytest.raises(RouterError) as refused:
            await mail_by(server.settings).post(PLACE, request(), "k1")
        assert type(refused.value) is kind
        assert server.letters == []


@each_row("goodbye", ["421 4.3.2 going down", "500 5.5.1 what?", ""])
async def test_a_mail_that_the_server_has_is_sent_however_it_says_goodbye(goodbye: str) -> None:
    async with MailServer() as server:
        server.goodbyes.append(goodbye)
        await mail_by(server.settings).post(PLACE, request(), "k1")
        assert len(server.letters) == 1
        assert not server.goodbyes


@each_row(
    ("changed", "kind"),
    [
        ({"password": SecretStr("wrong")}, NotAdmitted),
        ({"user": "", "password": SecretStr("")}, NotAdmitted),
        ({"sender": "eve@example.com"}, NotAdmitted),
        ({"tls": "starttls"}, NotAdmitted),
        ({"tls": "implicit"}, Unavailable),
        ({"port": 1}, Unavailable),
    ],
)
async def test_where_we_are_not_let_in_mail_waits(
    changed: dict[str, Any], kind: type[RouterError]
) -> None:
    async with MailServer(**changed) as server:
        with pytest.raises(RouterError) as refused:
            await mail_by(server.settings).post(PLACE, request(), "k1")
        assert type(refused.value) is kind
        assert "wrong" not in str(refused.value)
        assert server.letters == []


@each_row(
    "changes",
    [
        {"public_url": "http://desk.example.com"},
        {"public_url": "desk.example.com"},
        {"link_secret": SecretStr("short")},
        {"sender": "the desk"},
        {"sender": "a@b.example,c@d.example"},
        {"user": "desk"},
        {"password": SecretStr("alone")},
        {"host": "mail.example.com", "user": "u", "password": SecretStr("p"), "tls": "none"},
        {"port": 0},
        {"link_hours": 0},
        {"link_hours": 721},
        {"tls": "perhaps"},
        {"host": ""},
    ],
)
def test_what_would_leave_mail_open_or_half_set_is_refused(changes: dict[str, Any]) -> None:
    assert MailSettings(**SET).is_complete
    with pytest.raises(ValidationError):
        MailSettings(**{**SET, **changes})
