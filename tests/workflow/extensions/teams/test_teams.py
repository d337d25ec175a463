"""The desk on Microsoft Teams, with everything behind it real: API, worker, Temporal, flows."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.domain.file_types import MOST_BYTES
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.teams import Body, Teams, account, buttons, refusal
from tests.fakes.web_server import Reply
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import QUEUE
from tests.workflow.test_files import HAND_IN, PHOTOS, stamp
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

FILES_QUEUE = "teams-files"
PDF, PNG = b"%PDF-1.7 receipt", b"\x89PNG\r\n\x1a\n receipt"


@pytest.fixture
async def teams() -> AsyncIterator[Teams]:
    async with Teams() as teams:
        yield teams


def on_teams(parts: Parts, teams: Teams) -> Parts:
    """The house, its people with accounts on Teams."""
    everyone = parts.directory.everyone()
    accounts = {("teams", account(person.id)): person for person in everyone}
    settings = parts.settings.having(teams.settings)
    return replace(parts, settings=settings, directory=FileDirectory(everyone, accounts))


@pytest.fixture
async def router(teams: Teams, parts: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with served(on_teams(parts, teams), real_client, QUEUE) as api:
        yield api


@pytest.mark.slow
async def test_leave_is_requested_in_words_and_approved_by_a_card(
    teams: Teams, router: AsyncClient
) -> None:
    asking = teams.message("alice", "我要请年假，2027-07-06 到 2027-07-07，家里有事")
    token = teams.vouching(asking)
    for _ in range(2):
        assert (await teams.deliver(router, asking, token)).status_code == 200
    card = await teams.posted("确认")
    assert card["chat"] == teams.chat("alice")
    await teams.presses(router, "alice", card, "确认")
    wanted = await teams.posted("，7月6日")
    assert wanted["chat"] == teams.chat("bob")
    wordless = await teams.presses(router, "bob", wanted, "退回修改")
    assert "还没有退回" in str(wordless["value"])
    decided = await teams.presses(router, "bob", wanted, "同意")
    assert "已同意" in str(decided["value"])
    done = await teams.updated("✅ 已同意")
    assert (done["id"], buttons(done)) == (wanted["id"], [])
    await teams.posted("批准")
    again = await teams.presses(router, "bob", wanted, "拒绝")
    assert "已经处理过了" in str(again["value"])
    asked = [post for post in teams.posts if post["chat"] == card["chat"] and buttons(post)]
    assert len(asked) == 1


@pytest.mark.slow
async def test_what_is_confirmed_is_given_up_or_returned_with_words(
    teams: Teams, router: AsyncClient
) -> None:
    await teams.says(router, "frank", "I want annual leave 2027-10-05 to 2027-10-06, family")
    await teams.presses(router, "frank", await teams.posted("Not right"), "Cancel")
    await teams.posted("ancelled")
    await teams.says(router, "frank", "I want annual leave 2027-10-12 to 2027-10-13, family")
    await teams.presses(router, "frank", await teams.posted("12 Oct 2027"), "Confirm")
    wanted = await teams.posted("，10月12日")
    await teams.presses(router, "bob", wanted, "退回修改", "which family?")
    assert "已退回修改" in str(await teams.updated("已退回"))
    await teams.posted("which family?")


@pytest.mark.slow
async def test_a_channel_s_thread_is_answered_in_it_and_an_approver_alone(
    teams: Teams, router: AsyncClient
) -> None:
    said = teams.in_channel("alice", "我要请年假，2027-07-20 到 2027-07-21，家里有事", "1616")
    assert (await teams.deliver(router, said)).status_code == 200
    card = await teams.posted("确认")
    assert card["chat"] == said["conversation"]["id"]
    there = {"conversation": said["conversation"]}
    another = teams.press("gina", card, "确认", **there)
    assert (await teams.deliver(router, another)).status_code == 200
    await teams.posted("这张卡片不是给您的")
    await teams.deliver(router, teams.press("alice", card, "确认", **there))
    wanted = await teams.posted("，7月20日")
    assert wanted["chat"] == teams.chat("bob")
    group = [post for post in teams.posts if post["chat"] == card["chat"]]
    assert "Action.Execute" not in json.dumps(group)


@pytest.mark.slow
async def test_what_is_chosen_by_a_button_is_asked_on_from(
    teams: Teams, router: AsyncClient
) -> None:
    await teams.says(router, "gina", "我要请假")
    press = teams.press("gina", await teams.posted("想请什么假"), "年假")
    for _ in range(2):
        assert (await teams.deliver(router, press)).status_code == 200
    await teams.posted("从哪天开始")
    await teams.says(router, "gina", "取消")
    await teams.posted("已取消")
    assert sum("从哪天开始" in str(post.get("attachments")) for post in teams.posts) == 1


@pytest.mark.slow
async def test_what_teams_refuses_for_now_comes_later(teams: Teams, router: AsyncClient) -> None:
    teams.troubles.extend([refusal(429, "TooManyRequests", retry_after="1")])
    await teams.says(router, "alice", "我要报销")
    await teams.posted("是哪一类费用")
    assert not teams.troubles


@pytest.mark.slow
async def test_what_a_dead_process_owed_is_posted_later_once(
    teams: Teams, parts: Parts, real_client: Client
) -> None:
    away = [refusal(429, "TooManyRequests", retry_after="0")] * 1000
    teams.troubles.extend(away)
    house = on_teams(parts, teams)
    async with served(house, real_client, QUEUE) as api:
        await teams.says(api, "erin", "我要请假")
        async with asyncio.timeout(HANGS_AFTER_S):
            while len(teams.troubles) == len(away):  # noqa: ASYNC110 - it is the server that counts
                await asyncio.sleep(0.05)
    assert not teams.posts
    teams.troubles.clear()
    async with served(house, real_client, QUEUE):
        await teams.posted("想请什么假")
    assert sum("想请什么假" in str(post) for post in teams.posts) == 1


@dataclass
class Desk:
    teams: Teams
    router: AsyncClient

    async def says(self, user: str, text: str, *files: Body, status: int = 200) -> Body:
        """Somebody says it in their chat, with these files; the activity."""
        activity = self.teams.message(user, text, files=files)
        deliver = self.teams.deliver_once if status == 503 else self.teams.deliver
        assert (await deliver(self.router, activity)).status_code == status
        return activity


@pytest.fixture
async def desk(teams: Teams, parts: Parts, real_client: Client) -> AsyncIterator[Desk]:
    async with (
        furnished(parts, [stamp], flows=[HAND_IN, PHOTOS]) as house,
        build_worker(real_client, house, FILES_QUEUE),
        served(on_teams(house, teams), real_client, FILES_QUEUE) as router,
    ):
        yield Desk(teams, router)


@pytest.mark.slow
async def test_a_file_comes_in_with_words_and_one_goes_out_once_it_is_wanted(desk: Desk) -> None:
    teams, router = desk.teams, desk.router
    asked = await desk.says("alice", "我要交收据", teams.shared("打车.pdf", PDF))
    card = await teams.posted("交 打车.pdf？")
    assert (await teams.deliver(router, asked)).status_code == 200
    await teams.presses(router, "alice", card, "确认")
    offer = await teams.posted("file.consent")
    (attached,) = offer["attachments"]
    assert (attached["name"], attached["content"]["sizeInBytes"]) == ("盖章.pdf", len(PDF) + 8)
    assert teams.saved == {}
    for _ in range(2):
        accepted = await teams.deliver(router, teams.consents("alice", offer))
        assert (accepted.status_code, accepted.json()) == (200, {})
    await teams.posted("file.info")
    await teams.was_removed(offer["id"])
    assert set(teams.saved.values()) == {PDF + b" stamped"}
    assert sum("交 打车.pdf" in str(post) for post in teams.posts) == 1


@pytest.mark.slow
async def test_a_file_that_is_declined_or_another_s_is_put_nowhere(desk: Desk) -> None:
    teams, router = desk.teams, desk.router
    await desk.says("bob", "我要交收据", teams.shared("酒店.pdf", PDF))
    await teams.presses(router, "bob", await teams.posted("交 酒店.pdf？"), "确认")
    offer = await teams.posted("file.consent")
    assert (await teams.deliver(router, teams.consents("carol", offer))).status_code == 200
    assert (await teams.deliver(router, teams.consents("bob", offer, "decline"))).json() == {}
    await teams.was_removed(offer["id"])
    assert teams.saved == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "url",
    ["https://evil.test/steal", "http://house.sharepoint.com/x", "https://evilsharepoint.com/x", 7],
)
async def test_a_file_goes_to_no_address_but_microsoft_s(desk: Desk, url: Any) -> None:
    teams, router = desk.teams, desk.router
    await desk.says("dave", "我要交收据", teams.shared("机票.pdf", PDF))
    await teams.presses(router, "dave", await teams.posted("交 机票.pdf？"), "Confirm")
    offer = await teams.posted("file.consent")
    await teams.deliver(router, teams.consents("dave", offer, uploadUrl=url))
    await teams.posted("couldn't be put into your OneDrive")
    assert (teams.saved, teams.removed) == ({}, [])


@pytest.mark.slow
async def test_pictures_within_a_message_come_in_with_the_bot_s_token(desk: Desk) -> None:
    await desk.says("gina", "我要交收据", desk.teams.pasted(PNG))
    await desk.teams.posted("交 image.png？")
    assert desk.teams.tokens == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (b"PK\x03\x04 a zip", {}, "只收 PDF 和图片"),
        (PNG + bytes(MOST_BYTES), {}, "超过了 10 MB"),
        (Reply([b"gone"], 404), {}, "没能取到"),
        (Reply([b""], 302, {"location": "https://evil.test/"}), {}, "没能取到"),
        (PNG, {"downloadUrl": "https://evil.test/steal"}, "没能取到"),
        (PNG, {"downloadUrl": "http://house.sharepoint.com/x"}, "没能取到"),
        (PNG, {"downloadUrl": "https://house.sharepoint.com.evil.test/x"}, "没能取到"),
        (PNG, {"downloadUrl": None}, "只收 PDF 和图片"),
    ],
)
async def test_what_isn_t_taken_is_said_and_the_words_are_heard(
    desk: Desk, content: bytes | Reply, more: Body, said: str
) -> None:
    await desk.says("alice", "交照片", desk.teams.shared("x<y>.bin", content, **more))
    refused = await desk.teams.posted(said)
    assert "“x_y_.bin”" in refused["text"]


@pytest.mark.slow
@pytest.mark.parametrize(("times", "status"), [(1, 200), (3, 503)])
async def test_what_can_t_be_taken_in_now_is_tried_again_before_teams_gives_it_up(
    desk: Desk, times: int, status: int
) -> None:
    away = [refusal(503, "serviceNotAvailable")] * times
    shared = desk.teams.shared("稍后.pdf", *away, PDF)
    asked = await desk.says("erin", "我要交收据", shared, status=status)
    assert (await desk.teams.deliver(desk.router, asked)).status_code == 200
    await desk.teams.posted("交 稍后.pdf？")
    assert sum("shared-" in target for target in desk.teams.targets) == times + 1
