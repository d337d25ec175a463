"""Hours in which nobody is written to, digests, and choosing both, with everything real."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from httpx import AsyncClient
from sqlalchemy import select

from router.extensions.notifications.store import DeferredPost, Notifications
from router.extensions.notifications.tables import deferred_posts
from tests.fakes.smtp import Letter
from tests.fakes.web_server import Reply
from tests.waiting import HANGS_AFTER_S
from tests.workflow.extensions.mail.mail_house import (
    ANY_TIME,
    BOB,
    BOBS,
    PREFERENCES,
    House,
    asks_for_leave,
    ended,
    held_back,
    look,
    nudge,
    passed,
    press,
    quiet_now,
    say,
    talk,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
    pytest.mark.slow,
]


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
    async with asyncio.timeout(HANGS_AFTER_S):
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


async def test_what_a_platform_is_behind_with_comes_there_whatever_is_chosen_since(
    house: House, router: AsyncClient
) -> None:
    """Mail has passed it by, and Slack would leave it to mail: nobody would post it."""
    await router.put(PREFERENCES, json={**ANY_TIME, "channels": ["slack"]}, headers=BOB)
    house.slack.troubles.append(Reply([b""], 429, {"Retry-After": "2"}))
    await asks_for_leave(router, "2027-05-10 到 2027-05-10")
    await passed(house, "mail", behind="slack")
    await router.put(PREFERENCES, json={**ANY_TIME, "channels": ["mail"]}, headers=BOB)
    await house.slack.posted("5月10日")
    assert not house.slack.troubles
    assert not [each for each in house.mail.letters if "5月10日" in each.text]


async def test_what_waits_for_their_hours_comes_where_it_is_chosen_by_then(
    house: House, router: AsyncClient
) -> None:
    waiting = {**quiet_now(), "requests_wait": True, "channels": ["slack"]}
    await router.put(PREFERENCES, json=waiting, headers=BOB)
    run = await asks_for_leave(router, "2027-05-11 到 2027-05-11")
    await held_back(house, run, "slack")
    await router.put(PREFERENCES, json={**ANY_TIME, "channels": ["mail"]}, headers=BOB)
    await house.mail.received(BOBS, "5月11日")
    assert not [each for each in house.slack.posts if "5月11日" in str(each)]


async def planned(house: House, last: date) -> DeferredPost:
    """Bob's digest, once it is known when it comes and that `last` was the day of the last one."""
    query = select(deferred_posts).filter_by(person="bob", run="")
    database = house.parts.store.database
    async with asyncio.timeout(HANGS_AFTER_S):
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
        await Notifications(house.parts.store.database).again(
            post, datetime.now(UTC), yesterday.toordinal()
        )
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
