"""The desk on WeCom, with everything behind it real."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.domain.file_types import MOST_BYTES
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.web_server import Reply
from tests.fakes.wecom import Wecom, card_of, labels, refused
from tests.workflow.desk import QUEUE
from tests.workflow.test_files import HAND_IN, PHOTOS, stamp
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

SOON = timedelta(seconds=0.1)


@pytest.fixture
async def wecom() -> AsyncIterator[Wecom]:
    async with Wecom() as wecom:
        yield wecom


@pytest.fixture
async def router(wecom: Wecom, parts: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    everyone = parts.directory.everyone()
    accounts = {("wecom", wecom.account(person.id)): person for person in everyone}
    settings = parts.settings.having(wecom.settings)
    there = replace(parts, settings=settings, directory=FileDirectory(everyone, accounts))
    async with served(there, real_client, QUEUE) as api:
        yield api


async def asked(wecom: Wecom, router: AsyncClient, who: str, text: str, yes: str) -> None:
    """Somebody asks for this, twice delivered, and confirms it by the button of this label."""
    asking = wecom.message(who, text)
    for _ in range(2):
        assert (await wecom.deliver(router, asking)).status_code == 200
    card = await wecom.posted(f'"text": "{yes}"')
    await wecom.deliver(router, wecom.press(who, card, yes))


@pytest.mark.slow
async def test_leave_is_requested_and_approved_by_card(wecom: Wecom, router: AsyncClient) -> None:
    text = "I want annual leave 2027-10-12 to 2027-10-13, family"
    await asked(wecom, router, "frank", text, "Confirm")
    wanted = await wecom.posted("，10月12日")
    assert (wanted["touser"], labels(wanted)) == (
        wecom.account("bob"),
        ["同意", "拒绝", "退回修改"],
    )
    press = wecom.press("bob", wanted, "同意")
    for _ in range(2):
        assert (await wecom.deliver(router, press)).status_code == 200
    done = await wecom.updated("已同意")
    assert (done["userids"], labels(done)) == ([wecom.account("bob")], [])
    await wecom.posted("approved")
    await wecom.deliver(router, wecom.press("bob", wanted, "拒绝"))
    assert "已同意" in str(await wecom.updated("已经处理过了"))
    reading = {post["touser"] for post in wecom.posts if "10月12日" in str(post)}
    assert reading == {wecom.account("bob")}
    assert sum("Confirm" in str(card_of(post)) for post in wecom.posts) == 1
    assert len(wecom.updates) == 2


@pytest.mark.slow
async def test_what_is_to_be_changed_is_said_in_words(wecom: Wecom, router: AsyncClient) -> None:
    await asked(wecom, router, "alice", "我要请年假，2027-10-18 到 2027-10-19，家里有事", "确认")
    wanted = await wecom.posted("，10月18日")
    await wecom.deliver(router, wecom.press("bob", wanted, "退回修改"))
    how = await wecom.posted("退回 #")
    line = how["text"]["content"].split("\n")[-1]
    assert how["touser"] == wecom.account("bob")
    await wecom.deliver(router, wecom.message("bob", line))
    await wecom.deliver(router, wecom.message("gina", f"{line}不是我的"))
    await wecom.deliver(router, wecom.message("bob", f"{line}请改到下一周"))
    await wecom.posted("已退回修改")
    returned = await wecom.posted("请改到下一周")
    assert returned["touser"] == wecom.account("alice")
    assert (await wecom.posted("没有退回任何内容"))["touser"] == wecom.account("gina")


@pytest.mark.slow
async def test_a_card_is_the_approver_s_alone(wecom: Wecom, router: AsyncClient) -> None:
    await asked(wecom, router, "alice", "我要请年假，2027-10-25 到 2027-10-26，家里有事", "确认")
    wanted = await wecom.posted("，10月25日")
    await wecom.deliver(router, wecom.press("alice", wanted, "同意"))
    assert (await wecom.posted("这张卡片不是给您的"))["touser"] == wecom.account("alice")
    assert wecom.updates == []


@pytest.mark.slow
async def test_a_card_whose_code_is_used_up_is_answered_with_a_text(
    wecom: Wecom, router: AsyncClient
) -> None:
    await asked(wecom, router, "alice", "我要请年假，2027-11-01 到 2027-11-02，家里有事", "确认")
    press = wecom.press("bob", await wecom.posted("，11月1日"), "拒绝")
    wecom.codes.clear()
    await wecom.deliver(router, press)
    assert (await wecom.posted("已拒绝"))["touser"] == wecom.account("bob")


TROUBLES: dict[str, Reply] = {
    "away": Reply([b"<html>"], 502),
    "no JSON": Reply([b"<html>"], 200, {"content-type": "text/html"}),
    "its own fault": refused(-1, "system busy"),
    "busy": refused(45009, "reach max api daily quota limit"),
    "an address that isn't trusted": refused(60020, "not allow to access from your ip"),
}


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_what_wecom_did_not_take_is_posted_afterwards(
    wecom: Wecom, router: AsyncClient, trouble: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AGAIN", "SELDOM"):
        monkeypatch.setattr(f"router.extensions.channels.deferral.{name}", SOON)
    monkeypatch.setattr("router.extensions.wecom.server_api.BUSY", 0)
    wecom.troubles.append(trouble)
    await wecom.deliver(router, wecom.message("gina", "我要请假"))
    assert (await wecom.posted("想请什么假"))["touser"] == wecom.account("gina")
    assert wecom.troubles == []


@pytest.mark.slow
async def test_a_token_that_is_over_is_fetched_anew(wecom: Wecom, router: AsyncClient) -> None:
    await wecom.deliver(router, wecom.message("gina", "取消"))
    await wecom.first(wecom.posts, wecom.account("gina"))
    wecom.access = "access-2"
    await wecom.deliver(router, wecom.message("erin", "取消"))
    await wecom.first(wecom.posts, wecom.account("erin"))
    assert sum("/gettoken" in target for target in wecom.targets) == 2


@pytest.mark.slow
async def test_a_group_is_answered_once_and_the_rest_said_to_the_person_alone(
    wecom: Wecom, router: AsyncClient
) -> None:
    asking = wecom.called("alice", "我要请年假，2027-11-08 到 2027-11-09，家里有事 <@all>")
    for _ in range(2):
        assert (await wecom.call(router, asking)).status_code == 200
    asked = await wecom.first(wecom.answers, "11月8日")
    assert "家里有事 ＜@all>" in asked["markdown"]["content"]
    assert wecom.posts == []
    await wecom.call(router, wecom.called("alice", "确认"))
    await wecom.first(wecom.answers, "提交给")
    wanted = await wecom.posted("，11月8日")
    assert wanted["touser"] == wecom.account("bob")
    await wecom.deliver(router, wecom.press("bob", wanted, "同意"))
    news = await wecom.posted("批准")
    assert news["touser"] == wecom.account("alice")
    assert len(wecom.answers) == 2


@pytest.mark.slow
async def test_another_in_the_group_has_a_conversation_of_their_own(
    wecom: Wecom, router: AsyncClient
) -> None:
    for person in ("gina", "erin"):
        asking = wecom.called(person, "我要请假")
        await wecom.call(router, asking)
        answer = await wecom.first(wecom.answers, asking["response_url"].split("=")[1])
        assert "想请什么假" in answer["markdown"]["content"]
    assert wecom.posts == []


async def test_an_answer_that_a_group_can_not_be_given_goes_to_the_person(
    wecom: Wecom, router: AsyncClient
) -> None:
    said = wecom.called("gina", "我要请假")
    wecom.codes.clear()
    await wecom.call(router, said)
    assert (await wecom.posted("想请什么假"))["touser"] == wecom.account("gina")


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [Reply([b"<html>"], 502), refused(-1, "system busy")])
async def test_a_group_is_answered_when_wecom_is_there_again(
    wecom: Wecom, router: AsyncClient, trouble: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.extensions.channels.deferral.AGAIN", SOON)
    wecom.troubles.append(trouble)
    await wecom.call(router, wecom.called("gina", "我要请假"))
    await wecom.first(wecom.answers, "想请什么假")
    assert (wecom.posts, wecom.troubles) == ([], [])


@pytest.mark.slow
async def test_a_picture_in_a_group_is_asked_for_alone(wecom: Wecom, router: AsyncClient) -> None:
    words = {"msgtype": "text", "text": {"content": "@Desk 我要请假"}}
    items = [words, {"msgtype": "image", "image": {"url": "http://127.0.0.1:9/x"}}]
    said = wecom.called("gina", "", msgtype="mixed", mixed={"msg_item": items})
    assert (await wecom.call(router, said)).status_code == 200
    assert (await wecom.posted("群里收不了图片"))["touser"] == wecom.account("gina")
    await wecom.first(wecom.answers, "想请什么假")


PDF, PNG = b"%PDF-1.7 receipt", b"\x89PNG\r\n\x1a\n receipt"
FILES_QUEUE = "wecom-files"


@pytest.fixture
async def handing(wecom: Wecom, parts: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    """A house where receipts are handed in, and given back stamped."""
    everyone = parts.directory.everyone()
    accounts = {("wecom", wecom.account(person.id)): person for person in everyone}
    async with (
        furnished(parts, [stamp], flows=[HAND_IN, PHOTOS]) as house,
        build_worker(real_client, house, FILES_QUEUE),
    ):
        settings = house.settings.having(wecom.settings)
        there = replace(house, settings=settings, directory=FileDirectory(everyone, accounts))
        async with served(there, real_client, FILES_QUEUE) as router:
            yield router


@pytest.mark.slow
async def test_a_file_comes_in_and_another_goes_out(wecom: Wecom, handing: AsyncClient) -> None:
    wecom.media["m1"] = PDF
    await wecom.deliver(handing, wecom.message("alice", "我要交收据"))
    await wecom.posted("收据呢？")
    sent = wecom.message("alice", kind="file", MediaId="m1", FileName="打车.pdf")
    for _ in range(2):
        assert (await wecom.deliver(handing, sent)).status_code == 200
    card = await wecom.posted("交 打车.pdf？")
    await wecom.deliver(handing, wecom.press("alice", card, "确认"))
    given = await wecom.posted("media_0")
    assert (given["msgtype"], given["file"]) == ("file", {"media_id": "media_0_file"})
    assert PDF + b" stamped" in wecom.uploads["media_0_file"]
    assert sum("media_id=m1" in target for target in wecom.targets) == 1


@pytest.mark.slow
async def test_a_picture_is_taken_with_a_token_that_is_over(
    wecom: Wecom, handing: AsyncClient
) -> None:
    await wecom.deliver(handing, wecom.message("gina", "我要交收据"))
    await wecom.posted("收据呢？")
    wecom.access, wecom.media["m1"] = "access-2", PNG
    await wecom.deliver(handing, wecom.message("gina", kind="image", MediaId="m1"))
    await wecom.posted("交 file.png？")


IN_VAIN: dict[str, tuple[str, bytes | Reply, str]] = {
    "a recording": ("voice", PDF, "“voice”没有收：只收 PDF 和图片"),
    "a film": ("video", PDF, "只收 PDF 和图片"),
    "a zip": ("file", b"PK\x03\x04", "只收 PDF 和图片"),
    "one that is gone": ("file", refused(40007, "invalid media_id"), "没能取到"),
    "one that is too large": ("file", PDF + bytes(MOST_BYTES), "超过了 10 MB"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "content", "said"), IN_VAIN.values(), ids=IN_VAIN)
async def test_what_is_brought_in_vain_is_said(
    wecom: Wecom, handing: AsyncClient, kind: str, content: bytes | Reply, said: str
) -> None:
    wecom.media["m1"] = content
    sent = wecom.message("alice", kind=kind, MediaId="m1", FileName="a.pdf")
    assert (await wecom.deliver(handing, sent)).status_code == 200
    await wecom.posted(said)


BUSY = {"away": (Reply([b"busy"], 500), 503), "busy": (refused(45009, "api freq"), 429)}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), BUSY.values(), ids=BUSY)
async def test_a_file_that_wecom_can_not_give_now_is_delivered_again(
    wecom: Wecom, handing: AsyncClient, answer: Reply, status: int
) -> None:
    wecom.media["m1"] = answer
    await wecom.deliver(handing, wecom.message("alice", "我要交收据"))
    await wecom.posted("收据呢？")
    sent = wecom.message("alice", kind="file", MediaId="m1", FileName="b.pdf")
    deliver = wecom.deliver_once if status == 503 else wecom.deliver
    assert (await deliver(handing, sent)).status_code == status
    wecom.media["m1"] = PDF
    assert (await wecom.deliver(handing, sent)).status_code == 200
    await wecom.posted("交 b.pdf？")
