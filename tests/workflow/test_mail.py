"""Mail for those who approve, with everything real: SMTP, API, worker, Temporal, flows."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from httpx import AsyncClient, Response
from sqlalchemy import select
from temporalio.client import Client

from activities.people.people import human_resources
from activities.people.records import Owner
from router.channels.decision_links import DecisionLinks
from router.directory.file import SAMPLE
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from router.store import tables
from router.store.notifications import DeferredPost
from tests.fakes.slack import Slack
from tests.fakes.smtp import Letter, MailServer
from tests.workflow.desk import QUEUE
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

ALICE, BOB = {"Authorization": "Bearer alice"}, {"Authorization": "Bearer bob"}
BOBS, CAROLS = "bob@example.com", "carol@example.com"
PREFERENCES = "/v1/notification-preferences"
ANY_TIME = {"quiet": "never", "days_off": True}


MAIL_QUEUE = f"{QUEUE}-mail"


def with_addresses(folder: Path) -> Path:
    """The sample directory, its people with addresses, and bob with an account on Slack too."""
    text = SAMPLE.read_text("utf-8")
    for user in ("alice", "bob", "carol"):
        begins, accounts = f"{{id: {user}, ", f"mail: {user}@example.com"
        assert begins in text
        accounts += ", slack: UBOB" * (user == "bob")
        text = text.replace(begins, f"{begins}accounts: {{{accounts}}}, ")
    file = folder / "people.yaml"
    file.write_text(text, "utf-8")
    return file


@pytest.fixture(scope="module")
async def addressed(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Parts]:
    """The parts of a house whose people have addresses, with a worker of its own."""
    folder = tmp_path_factory.mktemp("mail")
    settings = Settings.load(data=folder, directory=with_addresses(folder))
    async with at_work(settings) as parts:
        people = await parts.dependencies.resolve(human_resources)
        alice = Owner(tenant=DEFAULT_TENANT, person="alice")
        await people.leave.entitle(alice, "annual", 2027, Decimal(365))
        async with build_worker(real_client, parts, MAIL_QUEUE):
            yield parts


@dataclass
class House:
    """A desk that writes mail, and posts on Slack."""

    parts: Parts
    client: Client
    mail: MailServer
    slack: Slack

    def open(self) -> AbstractAsyncContextManager[AsyncClient]:
        settings = self.parts.settings.having(self.mail.settings, self.slack.settings)
        return served(replace(self.parts, settings=settings), self.client, MAIL_QUEUE)


@pytest.fixture
async def house(addressed: Parts, real_client: Client) -> AsyncIterator[House]:
    async with MailServer() as mail, Slack() as slack:
        yield House(addressed, real_client, mail, slack)


@pytest.fixture
async def router(house: House) -> AsyncIterator[AsyncClient]:
    async with house.open() as api:
        for person in (ALICE, BOB):
            answer = await api.put(PREFERENCES, json=ANY_TIME, headers=person)
            assert answer.status_code == 200
        yield api


async def asks_for_leave(router: AsyncClient, days: str, *, who: Any = ALICE) -> str:
    """Ask for leave on these days, and confirm it: the run that then waits for an approver."""
    conversation = (await router.post("/v1/conversations", headers=who)).json()["id"]
    path = f"/v1/conversations/{conversation}/messages"
    said = await router.post(path, json={"text": f"我要请年假，{days}，家里有事"}, headers=who)
    (asked,) = [each for each in said.json()["replies"] if each["type"] == "confirm"]
    confirm = {"type": "confirm", "value": True, "question": asked["question"]}
    await router.post(path, json={"action": confirm}, headers=who)
    run: str = said.json()["flow"]["id"]
    return run


def here(link: str) -> str:
    """The path of a link, for the test's own connection."""
    return link[link.index("/adapters/") :]


async def press(router: AsyncClient, link: str, decision: str, comment: str = "") -> Response:
    fields = {"decision": decision, "comment": comment}
    return await router.post(here(link), data=fields, headers={"Authorization": ""})


async def look(router: AsyncClient, link: str, method: str = "GET", **headers: str) -> Response:
    return await router.request(method, here(link), headers={"Authorization": "", **headers})


async def status_of(router: AsyncClient, run: str) -> str:
    found: str = (await router.get(f"/v1/flow-runs/{run}", headers=ALICE)).json()["status"]
    return found


async def ended(router: AsyncClient, run: str) -> str:
    async with asyncio.timeout(20):
        while (status := await status_of(router, run)) == "waiting_approval":  # noqa: ASYNC110 - it is the house that goes on
            await asyncio.sleep(0.05)
    return status


async def test_leave_is_approved_from_a_mail(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-09 到 2027-03-10")
    letter = await house.mail.received(BOBS, "3月9日")
    (link,) = letter.links
    page = await look(router, link)
    assert page.status_code == 200
    assert "家里有事" in page.text
    assert "2027" in page.text
    assert 'value="approve"' in page.text
    done = await press(router, link, "approve", "enjoy")
    assert "已同意" in done.text
    assert 'value="approve"' not in done.text
    assert await ended(router, run) == "completed"
    records = (await router.get(f"/v1/flow-runs/{run}", headers=ALICE)).json()["history"]
    assert [line["by"] for line in records if line["event"] == "approve"] == ["bob"]


async def test_the_mail_is_plain_text_and_safe_html_that_threads(
    house: House, router: AsyncClient
) -> None:
    await asks_for_leave(router, "2027-03-11 到 2027-03-12")
    letter = await house.mail.received(BOBS, "3月11日")
    message = letter.message
    assert message.get_content_type() == "multipart/alternative"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["In-Reply-To"] == message["References"]
    assert message["Message-ID"].endswith("@example.com>")
    assert "回复没有人看" in letter.text
    assert "回复没有人看" in letter.html
    assert not re.search(r"(?i)<(?:img|script|link|iframe|form)|\bsrc=|url\(", letter.html)
    assert letter.links[0] in letter.html


async def test_what_somebody_wrote_is_text_in_mail_and_page(
    house: House, router: AsyncClient
) -> None:
    conversation = (await router.post("/v1/conversations", headers=ALICE)).json()["id"]
    path = f"/v1/conversations/{conversation}/messages"
    await router.post(path, json={"text": "我要请年假，2027-03-15 到 2027-03-16"})
    forged = '<img src="https://evil.example/x"><a href="https://evil.example">同意</a>'
    said = (await router.post(path, json={"text": forged})).json()
    (asked,) = [each for each in said["replies"] if each["type"] == "confirm"]
    confirm = {"type": "confirm", "value": True, "question": asked["question"]}
    await router.post(path, json={"action": confirm})
    letter = await house.mail.received(BOBS, "3月15日")
    page = (await look(router, letter.links[0])).text
    for shown in (letter.html, page):
        assert "<img" not in shown
        assert "evil.example&#34;&gt;" in shown or "evil.example/x&#34;&gt;" in shown


async def test_a_link_that_is_opened_by_a_scanner_decides_nothing(
    house: House, router: AsyncClient
) -> None:
    run = await asks_for_leave(router, "2027-03-17 到 2027-03-18")
    (link,) = (await house.mail.received(BOBS, "3月17日")).links
    for _ in range(3):
        assert (await look(router, link)).status_code == 200
        assert (await look(router, link, "HEAD")).status_code == 200
        assert (await look(router, link, purpose="prefetch")).status_code == 200
    assert (await look(router, f"{link}?decision=approve")).status_code == 200
    for method in ("PUT", "DELETE", "PATCH"):
        assert (await look(router, link, method)).status_code == 405
    assert await status_of(router, run) == "waiting_approval"


async def test_the_page_runs_nothing_is_kept_nowhere_and_tells_nobody_where_it_was(
    house: House, router: AsyncClient
) -> None:
    await asks_for_leave(router, "2027-03-19 到 2027-03-19")
    (link,) = (await house.mail.received(BOBS, "3月19日")).links
    page = await look(router, link)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "noindex" in page.headers["x-robots-tag"]
    assert "set-cookie" not in page.headers
    assert "<script" not in page.text


async def test_no_log_has_a_token(
    house: House, router: AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    await asks_for_leave(router, "2027-03-26 到 2027-03-26")
    (link,) = (await house.mail.received(BOBS, "3月26日")).links
    caplog.set_level(logging.DEBUG)
    for of_the_test in ("httpx", "httpcore"):
        caplog.set_level(logging.WARNING, logger=of_the_test)
    caplog.clear()
    await look(router, link)
    await look(router, f"{link}x")
    await press(router, link, "return", "\x07")
    await press(router, link, "reject", "no")
    assert link.rpartition(".")[2] not in caplog.text


async def test_a_link_is_used_once(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-22 到 2027-03-23")
    (link,) = (await house.mail.received(BOBS, "3月22日")).links
    first = await press(router, link, "reject", "not that week")
    assert "已拒绝" in first.text
    again = [await press(router, link, which) for which in ("approve", "reject", "return")]
    assert all("已经处理过了" in answer.text for answer in again)
    assert (await look(router, link)).status_code == 410
    assert await ended(router, run) == "rejected"


async def test_of_two_presses_at_once_one_counts(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-24 到 2027-03-25")
    (link,) = (await house.mail.received(BOBS, "3月24日")).links
    both = await asyncio.gather(press(router, link, "approve"), press(router, link, "reject"))
    done = [answer for answer in both if "已经处理过了" not in answer.text]
    assert len(done) == 1
    status = "completed" if "已同意" in done[0].text else "rejected"
    assert await ended(router, run) == status


async def test_nothing_is_returned_without_a_word(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-29 到 2027-03-30")
    (link,) = (await house.mail.received(BOBS, "3月29日")).links
    for nothing in ("", " \n", "\x07", "x" * 1001):
        assert (await press(router, link, "return", nothing)).status_code == 422
    assert (await press(router, link, "delegate", "to carol")).status_code == 422
    assert (await press(router, link, "", "")).status_code == 422
    assert await status_of(router, run) == "waiting_approval"
    assert "已退回修改" in (await press(router, link, "return", "which family?")).text
    assert "已经处理过了" in (await press(router, link, "approve")).text


async def test_a_form_of_another_site_decides_nothing(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-04-01 到 2027-04-02")
    (link,) = (await house.mail.received(BOBS, "4月1日")).links
    headers = {"Authorization": "", "Sec-Fetch-Site": "cross-site"}
    answer = await router.post(here(link), data={"decision": "approve"}, headers=headers)
    assert answer.status_code == 403
    assert await status_of(router, run) == "waiting_approval"


async def test_hostile_tokens_lead_nowhere(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-04-06 到 2027-04-07")
    (link,) = (await house.mail.received(BOBS, "4月6日")).links
    head, body, signature = link.rpartition("/")[2].split(".")
    base = link.rpartition("/")[0]
    flipped = signature[:-2] + ("AA" if signature[-2:] != "AA" else "BB")
    for token in (
        f"{head}.{body}.{flipped}",
        f"{head}.{body[:-4]}AAAA.{signature}",
        f"{head}.{body}.",
        f"eyJhbGciOiJub25lIn0.{body}.",
        body,
        "x",
        "x" * 5000,
        "%00",
        "..",
    ):
        for answer in (
            await look(router, f"{base}/{token}"),
            await press(router, f"{base}/{token}", "approve"),
        ):
            assert answer.status_code in {404, 405}
            assert "家里有事" not in answer.text
    assert await status_of(router, run) == "waiting_approval"


async def test_what_has_changed_since_is_not_decided_by_the_old_link(
    house: House, router: AsyncClient
) -> None:
    run = await asks_for_leave(router, "2027-04-08 到 2027-04-09")
    (link,) = (await house.mail.received(BOBS, "4月8日")).links
    changed = {"slots": {"end": "2027-04-12"}}
    answer = await router.post(f"/v1/flow-runs/{run}/amendments", json=changed, headers=ALICE)
    assert answer.status_code == 200
    newer = await house.mail.received(BOBS, "4月8日", besides=1)
    old = await press(router, link, "approve")
    assert "已同意" not in old.text
    assert "家里有事" not in old.text
    assert "家里有事" not in (await look(router, link)).text
    assert await status_of(router, run) == "waiting_approval"
    assert "已同意" in (await press(router, newer.links[0], "approve")).text


async def test_an_expired_link_decides_nothing(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-04-13 到 2027-04-14")
    letter = await house.mail.received(BOBS, "4月13日")
    runs = house.parts.store.runs
    (record,) = await runs.awaited("default", [run])
    links = DecisionLinks(house.mail.settings.link_secret, 1)
    old = links.token(record, datetime.now(UTC) - timedelta(hours=2))
    base = letter.links[0].rpartition("/")[0]
    for answer in (
        await look(router, f"{base}/{old}"),
        await press(router, f"{base}/{old}", "approve"),
    ):
        assert answer.status_code == 410
        assert "已经过期" in answer.text
        assert "家里有事" not in answer.text
    assert await status_of(router, run) == "waiting_approval"


async def test_a_link_serves_its_person_for_as_long_as_they_are_asked(
    house: House, router: AsyncClient
) -> None:
    run = await asks_for_leave(router, "2027-04-15 到 2027-04-16")
    (link,) = (await house.mail.received(BOBS, "4月15日")).links
    (waiting,) = [
        each
        for each in (await router.get("/v1/approvals", headers=BOB)).json()["items"]
        if each["flow_run"] == run
    ]
    passed = {"decision": "delegate", "to": "carol"}
    await router.post(f"/v1/approvals/{waiting['id']}/decision", json=passed, headers=BOB)
    carols = await house.mail.received(CAROLS, "15 Apr")
    assert "已经处理过了" in (await press(router, link, "approve")).text
    assert await status_of(router, run) == "waiting_approval"
    assert "approved" in (await press(router, carols.links[0], "approve")).text
    assert await ended(router, run) == "completed"


def quiet_now(minutes: int = 120) -> dict[str, Any]:
    """Preferences by which it is quiet at this moment, and for a while yet, in Shanghai."""
    now = datetime.now(ZoneInfo("Asia/Shanghai"))
    begins, ends = now - timedelta(minutes=minutes), now + timedelta(minutes=minutes)
    return {
        "quiet": {"begins": f"{begins:%H:%M}", "ends": f"{ends:%H:%M}"},
        "days_off": True,
    }


async def nudge(router: AsyncClient, run: str) -> None:
    answer = await router.post(f"/v1/flow-runs/{run}/nudge", json={}, headers=ALICE)
    assert answer.status_code == 200


async def held_back(house: House, run: str) -> None:
    """Return once a reminder of the run is put down for later."""
    query = select(tables.deferred_posts.c.platform).filter_by(run=run)
    database = house.parts.store.notifications._database
    async with asyncio.timeout(20):
        while True:
            rows = await database.read(lambda c: c.execute(query).all())
            if {row.platform for row in rows} == {"mail", "slack"}:
                return
            await asyncio.sleep(0.05)


async def test_in_quiet_hours_requests_come_and_reminders_wait_on_every_platform(
    house: House, router: AsyncClient
) -> None:
    await router.put(PREFERENCES, json=quiet_now(), headers=BOB)
    run = await asks_for_leave(router, "2027-04-19 到 2027-04-20")
    await house.mail.received(BOBS, "4月19日")
    await house.slack.posted("4月19日")
    await nudge(router, run)
    await held_back(house, run)
    assert not [letter for letter in house.mail.letters if "提醒：" in letter.message["Subject"]]
    await router.put(PREFERENCES, json=ANY_TIME, headers=BOB)
    reminder = await house.mail.received(BOBS, "4月19日", besides=1)
    assert reminder.message["Subject"].startswith("提醒：")
    first = await house.mail.received(BOBS, "4月19日")
    assert reminder.message["Message-ID"] != first.message["Message-ID"]
    assert reminder.message["In-Reply-To"] == first.message["In-Reply-To"]
    async with asyncio.timeout(20):
        while sum("4月19日" in str(post) for post in house.slack.posts) < 2:  # noqa: ASYNC110 - it is the server that counts
            await asyncio.sleep(0.05)
    assert "已同意" in (await press(router, reminder.links[0], "approve")).text


async def test_whoever_wishes_it_hears_of_no_request_before_their_hours(
    house: House, router: AsyncClient
) -> None:
    await router.put(PREFERENCES, json={**quiet_now(), "requests_wait": True}, headers=BOB)
    run = await asks_for_leave(router, "2027-06-07 到 2027-06-08")
    await held_back(house, run)
    assert not [each for each in house.mail.letters if "6月7日" in each.text]
    await router.put(PREFERENCES, json=ANY_TIME, headers=BOB)
    letter = await house.mail.received(BOBS, "6月7日")
    assert letter.message["Subject"].startswith("请审批：")
    await house.slack.posted("6月7日")


async def test_what_was_decided_meanwhile_is_reminded_of_no_more(
    house: House, router: AsyncClient
) -> None:
    await router.put(PREFERENCES, json=quiet_now(), headers=BOB)
    run = await asks_for_leave(router, "2027-04-21 到 2027-04-22")
    (link,) = (await house.mail.received(BOBS, "4月21日")).links
    await nudge(router, run)
    await held_back(house, run)
    await press(router, link, "approve")
    assert await ended(router, run) == "completed"
    await router.put(PREFERENCES, json=ANY_TIME, headers=BOB)
    await asks_for_leave(router, "2027-04-26 到 2027-04-27")
    await house.mail.received(BOBS, "4月26日")
    assert sum("4月21日" in each.text for each in house.mail.letters) == 1


async def test_approvals_come_where_their_reader_chose(house: House, router: AsyncClient) -> None:
    chosen = {**ANY_TIME, "channels": ["slack"]}
    await router.put(PREFERENCES, json=chosen, headers=BOB)
    await asks_for_leave(router, "2027-04-28 到 2027-04-28")
    await house.slack.posted("4月28日")
    await router.put(PREFERENCES, json={**ANY_TIME, "channels": ["mail"]}, headers=BOB)
    await asks_for_leave(router, "2027-05-06 到 2027-05-06")
    await house.mail.received(BOBS, "5月6日")
    assert not [each for each in house.mail.letters if "4月28日" in each.text]
    assert not [each for each in house.slack.posts if "5月6日" in str(each)]


async def test_a_server_that_defers_is_tried_again_and_a_refusal_holds_up_nobody(
    house: House, router: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.channels.platforms.mail.BUSY", 0)
    house.mail.troubles.append("450 4.2.0 greylisted, come again")
    await asks_for_leave(router, "2027-05-10 到 2027-05-10")
    await house.mail.received(BOBS, "5月10日")
    assert house.mail.refused == ["450 4.2.0 greylisted, come again"]
    house.mail.troubles.append("550 5.1.1 no such mailbox")
    await asks_for_leave(router, "2027-05-11 到 2027-05-11")
    await asks_for_leave(router, "2027-05-12 到 2027-05-12")
    await house.mail.received(BOBS, "5月12日")
    assert not [each for each in house.mail.letters if "5月11日" in each.text]


async def test_what_was_owed_while_the_server_was_away_comes_later(house: House) -> None:
    house.mail.troubles.extend(["451 4.3.0 away"] * 50)
    async with house.open() as api:
        await api.put(PREFERENCES, json=ANY_TIME, headers=BOB)
        await asks_for_leave(api, "2027-05-13 到 2027-05-13")
        await house.mail.tried_again(1)
    house.mail.troubles.clear()
    mailboxes = house.parts.store.mailboxes
    soon = datetime.now(UTC) + timedelta(hours=1)
    claimed = await mailboxes.claim(["mail"], soon, datetime.now(UTC), 50)
    assert claimed
    async with house.open():
        await house.mail.received(BOBS, "5月13日")


async def test_news_of_a_request_come_by_mail_if_wished_for(
    house: House, router: AsyncClient
) -> None:
    await router.put(PREFERENCES, json={**ANY_TIME, "news": True}, headers=ALICE)
    await asks_for_leave(router, "2027-05-17 到 2027-05-18")
    (link,) = (await house.mail.received(BOBS, "5月17日")).links
    await press(router, link, "approve")
    letter: Letter = await house.mail.received("alice@example.com", "批准")
    assert letter.links == []


async def planned(house: House, last: date) -> DeferredPost:
    """Bob's digest, once it is known when it comes and that `last` was the day of the last one."""
    query = select(tables.deferred_posts).filter_by(person="bob", run="")
    database = house.parts.store.notifications._database
    async with asyncio.timeout(20):
        while True:
            row = await database.read(lambda c: c.execute(query).mappings().first())
            if row is not None and row["number"] == last.toordinal():
                return DeferredPost.model_validate(dict(row))
            await asyncio.sleep(0.05)


async def test_a_digest_of_what_waits_comes_once_a_day_whichever_process_is_up(
    house: House, router: AsyncClient
) -> None:
    today = datetime.now(ZoneInfo("Asia/Shanghai")).date()
    yesterday = today - timedelta(days=1)
    first = await asks_for_leave(router, "2027-06-01 到 2027-06-01")
    await asks_for_leave(router, "2027-06-02 到 2027-06-02")
    await house.mail.received(BOBS, "6月2日")
    async with house.open() as another:
        await another.put(PREFERENCES, json={**ANY_TIME, "digest": "00:00"}, headers=BOB)
        # Wished for after the hour of today's: the first one is tomorrow's.
        post = await planned(house, today)
        assert not [each for each in house.mail.letters if len(each.links) > 1]
        await house.parts.store.notifications.again(post, datetime.now(UTC), yesterday.toordinal())
        digest = await house.mail.received(BOBS, f"{today}：")
        await planned(house, today)
        await asks_for_leave(another, "2027-06-03 到 2027-06-03")
        await house.mail.received(BOBS, "6月3日")
    assert sum(len(each.links) > 1 for each in house.mail.letters) == 1
    assert "6月1日" in digest.text
    assert "6月2日" in digest.text
    assert "不要发每日汇总" in digest.text
    assert digest.message["Message-ID"] not in {
        each.message["Message-ID"] for each in house.mail.letters if each is not digest
    }
    part = digest.text[: digest.text.index("6月1日")]
    link = digest.links[sum(part.count(each) for each in digest.links)]
    assert "6月1日" in (await look(router, link)).text
    assert "已同意" in (await press(router, link, "approve")).text
    assert await ended(router, first) == "completed"
    await stops_by_its_link(router, digest)


async def stops_by_its_link(router: AsyncClient, digest: Letter) -> None:
    """A mailbox's own button stops it; opening the link doesn't, nor does another's token."""
    stop = str(digest.message["List-Unsubscribe"]).strip("<>")
    assert digest.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (await look(router, stop)).status_code == 200
    assert (await look(router, stop, "HEAD")).status_code == 200
    for wrong in (f"{stop}x", digest.links[0].replace("decisions", "digests")):
        assert (await look(router, wrong, "POST")).status_code == 404
    assert (await router.get(PREFERENCES, headers=BOB)).json()["digest"] == "00:00"
    assert (await look(router, stop, "POST")).status_code == 200
    left = (await router.get(PREFERENCES, headers=BOB)).json()
    assert left["digest"] is None
    assert left["days_off"] is True


async def talk(router: AsyncClient, who: Any) -> str:
    answer = await router.post("/v1/conversations", headers=who)
    return f"/v1/conversations/{answer.json()['id']}/messages"


async def say(router: AsyncClient, path: str, text: str, who: Any) -> Any:
    return (await router.post(path, json={"text": text}, headers=who)).json()


@pytest.mark.parametrize(
    ("text", "yes", "wanted"),
    [
        ("审批发邮件给我", "确认", {"channels": ["mail"]}),
        (
            "don't write to me after 19:00",
            "yes",
            {"quiet": {"begins": "19:00", "ends": "09:00"}},
        ),
        ("每天早上八点半给我发一封汇总邮件", "是的", {"digest": "08:30"}),
    ],
)
async def test_a_person_chooses_in_chat_once_they_are_sure(
    router: AsyncClient, text: str, yes: str, wanted: dict[str, Any]
) -> None:
    before = (await router.get(PREFERENCES, headers=BOB)).json()
    path = await talk(router, BOB)
    asked = await say(router, path, text, BOB)
    assert asked["route"]["by"] == "pattern"
    assert asked["flow"]["status"] == "confirming"
    assert text in str(asked["replies"])
    assert (await router.get(PREFERENCES, headers=BOB)).json() == before
    done = await say(router, path, yes, BOB)
    assert done["flow"]["status"] == "completed"
    after = (await router.get(PREFERENCES, headers=BOB)).json()
    assert {**before, **after} == {**before, **wanted}


async def test_what_was_chosen_is_said_when_asked_for(router: AsyncClient) -> None:
    chosen = {"quiet": {"begins": "19:00", "ends": "08:00"}, "channels": ["mail"]}
    await router.put(PREFERENCES, json=chosen, headers=BOB)
    path = await talk(router, BOB)
    zh = await say(router, path, "我的通知设置是什么", BOB)
    assert "19:00–08:00" in str(zh["replies"])
    en = await say(router, path, "what are my notification settings?", BOB)
    assert "Quiet hours: 19:00–08:00" in str(en["replies"])
    assert en["usage"]["llm_calls"] == 0


async def test_what_can_t_be_had_is_said_before_anybody_is_asked_to_confirm(
    router: AsyncClient,
) -> None:
    path = await talk(router, BOB)
    said = await say(router, path, "审批发飞书给我", BOB)
    assert "没有您的feishu账号" in str(said["replies"])
    assert not [each for each in said["replies"] if each["type"] == "confirm"]
