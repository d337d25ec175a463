"""The desk on DingTalk, by HTTP and by its stream, with everything behind it real."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.domain.file_types import MOST_BYTES
from router.extensions.dingtalk import entrance
from router.extensions.dingtalk.entrance import MESSAGE_TOPIC, PRESS_TOPIC
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.dingtalk import DingTalk, buttons, refused
from tests.fakes.web_server import Drop, Reply
from tests.workflow.desk import QUEUE
from tests.workflow.test_files import HAND_IN, PHOTOS, stamp
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

ALICE, BOB, FRANK, GINA = "staff_alice", "staff_bob", "staff_frank", "staff_gina"
PDF, PNG = b"%PDF-1.7 receipt", b"\x89PNG\r\n\x1a\n receipt"
FILES_QUEUE = "dingtalk-files"


@pytest.fixture
async def dingtalk() -> AsyncIterator[DingTalk]:
    async with DingTalk() as dingtalk:
        yield dingtalk


Entrance = Callable[..., AbstractAsyncContextManager[AsyncClient]]


def with_accounts(parts: Parts, settings: Any) -> Parts:
    """The desk with this entrance, where everybody is on DingTalk."""
    everyone = parts.directory.everyone()
    accounts = {("dingtalk", f"staff_{person.id}"): person for person in everyone}
    directory = FileDirectory(everyone, accounts)
    return replace(parts, settings=parts.settings.having(settings), directory=directory)


@pytest.fixture
async def router(
    dingtalk: DingTalk, parts: Parts, real_client: Client
) -> AsyncIterator[AsyncClient]:
    async with served(with_accounts(parts, dingtalk.settings), real_client, QUEUE) as api:
        yield api


@pytest.fixture
async def streaming(
    dingtalk: DingTalk, parts: Parts, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncClient]:
    monkeypatch.setattr(entrance, "SOON", 0.05)
    async with served(with_accounts(parts, dingtalk.streamed), real_client, QUEUE) as api:
        yield api


@pytest.mark.slow
async def test_leave_is_requested_and_approved_by_card(
    dingtalk: DingTalk, router: AsyncClient
) -> None:
    asking = dingtalk.message(FRANK, "I want annual leave 2027-10-12 to 2027-10-13, family")
    for _ in range(2):
        assert (await dingtalk.deliver(router, asking)).status_code == 200
    card = await dingtalk.posted("Confirm")
    await dingtalk.presses(router, FRANK, card, "Confirm")
    wanted = await dingtalk.posted("，10月12日")
    assert (wanted["to"], wanted["space"]) == (BOB, "IM_ROBOT")
    await dingtalk.presses(router, BOB, wanted, "退回修改", " ")
    assert "还没有退回" in wanted["private"][BOB]["status"]
    assert [each["text"] for each in buttons(wanted)] == ["同意", "拒绝"]
    await dingtalk.presses(router, BOB, wanted, "同意")
    assert wanted["content"]["status"] == wanted["private"][BOB]["status"] == "✅ 已同意"
    assert (buttons(wanted), wanted["content"]["returning"]) == ([], "")
    await dingtalk.posted("approved")
    assert sum(post["kind"] == "card" for post in dingtalk.posts) == 2


@pytest.mark.slow
async def test_a_second_press_says_what_the_first_one_did_and_a_word_goes_with_a_return(
    dingtalk: DingTalk, router: AsyncClient
) -> None:
    await dingtalk.says(router, ALICE, "我要请年假，2027-10-19 到 2027-10-20，家里有事")
    await dingtalk.presses(router, ALICE, await dingtalk.posted("10月19日"), "确认")
    wanted = await dingtalk.posted("请审批")
    before = dict(wanted, content=dict(wanted["content"]))
    await dingtalk.presses(router, BOB, wanted, "退回修改", "哪件事？")
    assert "已退回修改" in wanted["content"]["status"]
    await dingtalk.presses(router, BOB, before, "同意")
    assert "已经处理过了" in before["content"]["status"]
    await dingtalk.posted("哪件事？")


@pytest.mark.slow
async def test_a_card_is_the_approver_s_alone(dingtalk: DingTalk, router: AsyncClient) -> None:
    """Though the request was made in a group, and though somebody else sends its press."""
    group = "cidGroup1=="
    said = "我要请年假，2027-10-26 到 2027-10-27，家里有事"
    await dingtalk.says(router, ALICE, said, group=group)
    card = await dingtalk.posted("10月26日")
    assert (card["to"], card["space"]) == (group, "IM_GROUP")
    await dingtalk.presses(router, GINA, card, "确认")
    assert "这张卡片不是给您的" in str(await dingtalk.posted("这张卡片不是给您的"))
    await dingtalk.presses(router, ALICE, card, "确认")
    wanted = await dingtalk.posted("请审批")
    assert (wanted["to"], wanted["space"]) == (BOB, "IM_ROBOT")
    await dingtalk.presses(router, ALICE, wanted, "同意")
    assert "这张卡片不是给您的" in wanted["private"][ALICE]["status"]
    assert len(buttons(wanted)) == 2
    await dingtalk.posted("已提交给")
    in_group = [post for post in dingtalk.posts if post["to"] == group]
    assert "请审批" not in str(in_group)
    told = next(post for post in dingtalk.posts if "不是给您的" in str(post["content"]))
    assert told["to"] == GINA


@pytest.mark.slow
async def test_a_decision_that_takes_long_is_shown_on_the_card_later(
    dingtalk: DingTalk, router: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dingtalk.says(router, ALICE, "我要请年假，2027-11-02 到 2027-11-03，家里有事")
    await dingtalk.presses(router, ALICE, await dingtalk.posted("11月2日"), "确认")
    wanted = await dingtalk.posted("请审批")
    monkeypatch.setattr(entrance, "CARD_PATIENCE", 0.0)
    await dingtalk.presses(router, BOB, wanted, "拒绝")
    assert (await dingtalk.posted("正在记录"))["to"] == BOB
    await dingtalk.first(dingtalk.updates, "已拒绝")
    assert "已拒绝" in wanted["content"]["status"]
    assert "已拒绝" in wanted["private"][BOB]["status"]
    assert buttons(wanted) == []


@pytest.mark.slow
async def test_the_whole_way_by_the_stream(dingtalk: DingTalk, streaming: AsyncClient) -> None:
    asking = dingtalk.message(ALICE, "我要请年假，2027-11-09 到 2027-11-10，家里有事")
    for _ in range(2):
        assert (await dingtalk.push(MESSAGE_TOPIC, asking))["code"] == 200
    card = await dingtalk.posted("11月9日")
    confirming = dingtalk.press(ALICE, card, "确认")
    for _ in range(2):
        assert (await dingtalk.push(PRESS_TOPIC, confirming, "m1"))["code"] == 200
    wanted = await dingtalk.posted("请审批")
    await dingtalk.presses(streaming, BOB, wanted, "同意")
    assert "已同意" in wanted["content"]["status"]
    await dingtalk.posted("批准")
    assert [post["kind"] for post in dingtalk.posts].count("card") == 2
    assert dingtalk.routes == {}
    assert (await dingtalk.deliver(streaming, asking)).status_code == 404


async def test_a_stream_that_ends_is_opened_again(
    dingtalk: DingTalk, streaming: AsyncClient
) -> None:
    assert (await dingtalk.push("ping", {"opaque": "o1"})) == {"code": 200, "opaque": "o1"}
    await dingtalk.disconnect()
    dingtalk.troubles.append(Reply([b"<html>"], 502))
    strange = ("nothing", "[]", "{}", b"\xff", '{"headers": {"messageId": 1}}')
    for frame in strange:
        await dingtalk.send(frame)
    said = dingtalk.message(GINA, "我要请假")
    assert (await dingtalk.push(MESSAGE_TOPIC, said))["code"] == 200
    await dingtalk.posted("想请什么假")
    assert not dingtalk.troubles


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [
        refused("Forbidden.AccessDenied.QpsLimitForApi", 403),
        refused("Forbidden.AccessDenied.AccessTokenPermissionDenied", 403),
        Reply([b"<html>away"], 503),
        Reply([Drop()]),
    ],
    ids=["busy", "without a permission", "away", "broken off"],
)
async def test_what_dingtalk_refuses_for_now_comes_later_and_once(
    dingtalk: DingTalk, router: AsyncClient, monkeypatch: pytest.MonkeyPatch, trouble: Reply
) -> None:
    monkeypatch.setattr("router.extensions.dingtalk.open_api.BUSY", 0)
    for wait in ("AGAIN", "SELDOM"):
        monkeypatch.setattr(f"router.extensions.channels.deferral.{wait}", timedelta(seconds=0.05))
    dingtalk.troubles.extend([trouble, trouble])
    group = f"cid{uuid4().hex}"
    await dingtalk.says(router, BOB, "我要请假", group=group)
    assert (await dingtalk.posted("想请什么假"))["to"] == group
    assert not dingtalk.troubles
    # News of other tests' requests may still be on its way to their people.
    assert len([one for one in dingtalk.posts if one["to"] == group]) == 1


@dataclass
class FilesDesk:
    dingtalk: DingTalk
    router: AsyncClient
    chat: str = field(default_factory=lambda: f"cid{uuid4().hex}")

    async def sends(self, user: str, kind: str, content: dict[str, Any], status: int = 200) -> None:
        about = {"msgtype": kind, "content": content, "conversationId": self.chat}
        said = self.dingtalk.message(user, content.get("text", ""), **about)
        assert (await self.dingtalk.deliver(self.router, said)).status_code == status


@pytest.fixture
async def files_desk(
    dingtalk: DingTalk, parts: Parts, real_client: Client
) -> AsyncIterator[FilesDesk]:
    async with (
        furnished(parts, [stamp], flows=[HAND_IN, PHOTOS]) as house,
        build_worker(real_client, house, FILES_QUEUE),
        served(with_accounts(house, dingtalk.settings), real_client, FILES_QUEUE) as router,
    ):
        yield FilesDesk(dingtalk, router)


@pytest.mark.slow
async def test_a_file_is_handed_in_and_one_comes_back(files_desk: FilesDesk) -> None:
    dingtalk, router = files_desk.dingtalk, files_desk.router
    await files_desk.sends(ALICE, "text", {"text": "我要交收据"})
    await dingtalk.posted("收据呢？")
    code = dingtalk.keeps("code1", PDF)
    dingtalk.token = "t-2"
    await files_desk.sends(ALICE, "file", {"downloadCode": code, "fileName": "打车.pdf"})
    card = await dingtalk.posted("交 打车.pdf？")
    await dingtalk.presses(router, ALICE, card, "确认")
    given = await dingtalk.posted("@media0")
    assert (given["kind"], given["content"]["fileType"]) == ("sampleFile", "pdf")
    assert PDF + b" stamped" in dingtalk.uploads["@media0"]


@pytest.mark.slow
async def test_pictures_stand_in_text_too(files_desk: FilesDesk) -> None:
    code = files_desk.dingtalk.keeps("code2", PNG)
    rich = [{"text": "我要交收据"}, {"type": "picture", "downloadCode": code}, "x", {"text": 7}]
    await files_desk.sends(GINA, "richText", {"richText": rich})
    await files_desk.dingtalk.posted("交 file.png？")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("audio", {"downloadCode": "sound", "recognition": " "}, "只收 PDF 和图片"),
        ("video", {"downloadCode": "film", "videoType": "mp4"}, "只收 PDF 和图片"),
        ("file", {"downloadCode": "gone", "fileName": "a.pdf"}, "没能取到"),
        ("file", {"downloadCode": 7}, "只收 PDF 和图片"),
        ("file", {"downloadCode": "zip", "fileName": "a.zip"}, "只收 PDF 和图片"),
        ("picture", {"downloadCode": "huge"}, "超过了 10 MB"),
        ("picture", {"downloadCode": "moved"}, "没能取到"),
    ],
)
async def test_what_is_brought_in_vain_is_said(
    files_desk: FilesDesk, kind: str, content: dict[str, Any], said: str
) -> None:
    files_desk.dingtalk.keeps("zip", b"PK\x03\x04")
    files_desk.dingtalk.keeps("huge", PNG + bytes(MOST_BYTES))
    files_desk.dingtalk.keeps("moved", Reply([b""], 302, {"location": "https://evil.test"}))
    await files_desk.sends(ALICE, kind, content)
    await files_desk.dingtalk.posted(said)


@pytest.mark.slow
async def test_what_was_spoken_is_read_as_dingtalk_understood_it(files_desk: FilesDesk) -> None:
    heard = {"downloadCode": "sound", "duration": 900, "recognition": "我要交收据"}
    await files_desk.sends(BOB, "audio", heard)
    await files_desk.dingtalk.posted("收据呢？")


@pytest.mark.slow
async def test_a_file_that_can_t_be_had_now_is_asked_for_when_it_comes_again(
    files_desk: FilesDesk,
) -> None:
    dingtalk, router = files_desk.dingtalk, files_desk.router
    about = {"msgtype": "file", "conversationId": files_desk.chat}
    content = {"downloadCode": dingtalk.keeps("code3", PDF), "fileName": "晚.pdf"}
    await files_desk.sends(FRANK, "text", {"text": "我要交收据"})
    await dingtalk.posted("收据呢？")
    said = dingtalk.message(FRANK, content=content, **about)
    dingtalk.troubles.append(Reply([b"busy"], 500))
    assert (await dingtalk.deliver_once(router, said)).status_code == 503
    assert (await dingtalk.deliver(router, said)).status_code == 200
    await dingtalk.posted("交 晚.pdf？")
    await asyncio.gather(*(dingtalk.deliver(router, said) for _ in range(2)))
    assert sum("交 晚.pdf" in str(post["content"]) for post in dingtalk.posts) == 1


@pytest.mark.slow
async def test_what_is_said_while_a_file_is_fetched_is_heard_after_it(
    dingtalk: DingTalk, parts: Parts, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the stream, where several things come at once; what others say is heard meanwhile."""
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", 60.0)
    there = asyncio.Event()
    content = {"downloadCode": dingtalk.keeps("slow", Reply([PDF, there])), "fileName": "慢.pdf"}
    async with (
        furnished(parts, [stamp], flows=[HAND_IN, PHOTOS]) as house,
        build_worker(real_client, house, FILES_QUEUE),
        served(with_accounts(house, dingtalk.streamed), real_client, FILES_QUEUE),
    ):
        slow = dingtalk.message(ALICE, msgtype="file", content=content)
        first = asyncio.create_task(dingtalk.push(MESSAGE_TOPIC, slow))
        second = asyncio.create_task(
            dingtalk.push(MESSAGE_TOPIC, dingtalk.message(ALICE, "我要交收据"))
        )
        other = await dingtalk.push(MESSAGE_TOPIC, dingtalk.message(GINA, "我要交收据"))
        assert (other["code"], first.done(), second.done()) == (200, False, False)
        there.set()
        assert [(await each)["code"] for each in (first, second)] == [200, 200]
