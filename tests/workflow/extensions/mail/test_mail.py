"""Mail for those who approve, with everything real: SMTP, API, worker, Temporal, flows."""

import asyncio
import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
from httpx import AsyncClient

from router.extensions.mail.decision_links import DecisionLinks
from tests.fakes.smtp import Letter
from tests.workflow.extensions.mail.mail_house import (
    ALICE,
    ANY_TIME,
    BOB,
    BOBS,
    CAROLS,
    PREFERENCES,
    House,
    asks_for_leave,
    ended,
    here,
    look,
    press,
    status_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_link_is_used_once(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-22 到 2027-03-23")
    (link,) = (await house.mail.received(BOBS, "3月22日")).links
    first = await press(router, link, "reject", "not that week")
    assert "已拒绝" in first.text
    again = [await press(router, link, which) for which in ("approve", "reject", "return")]
    assert all("已经处理过了" in answer.text for answer in again)
    assert (await look(router, link)).status_code == 410
    assert await ended(router, run) == "rejected"


@pytest.mark.slow
async def test_of_two_presses_at_once_one_counts(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-03-24 到 2027-03-25")
    (link,) = (await house.mail.received(BOBS, "3月24日")).links
    both = await asyncio.gather(press(router, link, "approve"), press(router, link, "reject"))
    done = [answer for answer in both if "已经" not in answer.text]
    assert len(done) == 1, [answer.text for answer in both]
    status = "completed" if "已同意" in done[0].text else "rejected"
    assert await ended(router, run) == status


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_form_of_another_site_decides_nothing(house: House, router: AsyncClient) -> None:
    run = await asks_for_leave(router, "2027-04-01 到 2027-04-02")
    (link,) = (await house.mail.received(BOBS, "4月1日")).links
    headers = {"Authorization": "", "Sec-Fetch-Site": "cross-site"}
    answer = await router.post(here(link), data={"decision": "approve"}, headers=headers)
    assert answer.status_code == 403
    assert await status_of(router, run) == "waiting_approval"


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "4月12日" not in old.text
    assert "4月12日" not in (await look(router, link)).text
    assert await status_of(router, run) == "waiting_approval"
    assert "已同意" in (await press(router, newer.links[0], "approve")).text


@pytest.mark.slow
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


@pytest.mark.slow
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
    passed = {"decision": "delegate", "to": "carol", "digest": waiting["digest"]}
    await router.post(f"/v1/approvals/{waiting['id']}/decision", json=passed, headers=BOB)
    carols = await house.mail.received(CAROLS, "15 Apr")
    assert "已经处理过了" in (await press(router, link, "approve")).text
    assert await status_of(router, run) == "waiting_approval"
    assert "approved" in (await press(router, carols.links[0], "approve")).text
    assert await ended(router, run) == "completed"


@pytest.mark.slow
async def test_a_server_that_defers_is_tried_again_and_a_refusal_holds_up_nobody(
    house: House, router: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.extensions.mail.mailer.BUSY", 0)
    house.mail.troubles.append("450 4.2.0 greylisted, come again")
    await asks_for_leave(router, "2027-05-10 到 2027-05-10")
    await house.mail.received(BOBS, "5月10日")
    assert house.mail.refused == ["450 4.2.0 greylisted, come again"]
    house.mail.troubles.append("550 5.1.1 no such mailbox")
    await asks_for_leave(router, "2027-05-11 到 2027-05-11")
    await asks_for_leave(router, "2027-05-12 到 2027-05-12")
    await house.mail.received(BOBS, "5月12日")
    assert not [each for each in house.mail.letters if "5月11日" in each.text]


@pytest.mark.slow
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


@pytest.mark.slow
async def test_news_of_a_request_come_by_mail_if_wished_for(
    house: House, router: AsyncClient
) -> None:
    await router.put(PREFERENCES, json={**ANY_TIME, "news": True}, headers=ALICE)
    await asks_for_leave(router, "2027-05-17 到 2027-05-18")
    (link,) = (await house.mail.received(BOBS, "5月17日")).links
    await press(router, link, "approve")
    letter: Letter = await house.mail.received("alice@example.com", "批准")
    assert letter.links == []
