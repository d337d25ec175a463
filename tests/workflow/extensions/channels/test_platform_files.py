"""Files on chat platforms: in with a message, out with an answer, and refused in words."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.domain.file_types import MOST_BYTES
from router.extensions.channels import dispatcher
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.feishu import Feishu
from tests.fakes.slack import Slack
from tests.fakes.web_server import Reply, json_reply
from tests.table import each_row
from tests.workflow.test_files import HAND_IN, PHOTOS, stamp
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

PDF, PNG = b"%PDF-1.7 receipt", b"\x89PNG\r\n\x1a\n receipt"
QUEUE = "platform-files"
ALICE = "UALICE"
NO_ROOM = "一条消息最多带 10 个文件"


@dataclass
class Desk:
    slack: Slack
    feishu: Feishu
    router: AsyncClient
    thread: str = field(default_factory=lambda: uuid4().hex)

    async def writes(self, user: str, kind: str, status: int = 200, **content: Any) -> None:
        """Somebody sends it on Feishu, in a chat of this test's own."""
        written = json.dumps(content, ensure_ascii=False)
        about = {"message_type": kind, "content": written, "chat_id": f"oc_{self.thread}"}
        sent = self.feishu.message(f"ou_{user}", "", **about)
        assert (await self.feishu.deliver(self.router, sent)).status_code == status

    async def says(self, text: str, *files: dict[str, Any], status: int = 200) -> dict[str, Any]:
        """Alice says it on Slack, with these files; the event."""
        about = {"subtype": "file_share", "files": list(files), "thread_ts": self.thread}
        event = self.slack.event(ALICE, text, **about)
        deliver = self.slack.deliver_once if status == 503 else self.slack.deliver
        assert (await deliver(self.router, event)).status_code == status
        return event


@pytest.fixture
async def desk(parts: Parts, real_client: Client) -> AsyncIterator[Desk]:
    everyone = parts.directory.everyone()
    accounts = {("slack", f"U{one.id.upper()}"): one for one in everyone}
    accounts |= {("feishu", f"ou_{one.id}"): one for one in everyone}
    async with (
        Slack() as slack,
        Feishu() as feishu,
        furnished(parts, [stamp], flows=[HAND_IN, PHOTOS]) as house,
        build_worker(real_client, house, QUEUE),
    ):
        settings = house.settings.having(slack.settings).having(feishu.settings)
        directory = FileDirectory(everyone, accounts)
        there = replace(house, settings=settings, directory=directory)
        async with served(there, real_client, QUEUE) as router:
            yield Desk(slack, feishu, router)


@pytest.mark.slow
async def test_a_file_beside_words_fills_what_they_begin_and_one_comes_back(desk: Desk) -> None:
    slack = desk.slack
    event = await desk.says("我要交收据", slack.shared("打车.pdf", PDF))
    card = await slack.posted("交 打车.pdf？")
    assert (await slack.deliver(desk.router, event)).status_code == 200
    assert (await slack.presses(desk.router, ALICE, card, "确认")).status_code == 200
    assert await slack.given("盖章.pdf") == PDF + b" stamped"
    (upload,) = slack.uploads
    assert upload["channel_id"] == card["channel"]
    assert len([post for post in slack.posts if "交 打车.pdf" in post["text"]]) == 1


@pytest.mark.slow
async def test_several_files_without_a_word_answer_what_is_asked(desk: Desk) -> None:
    slack = desk.slack
    await desk.says("交照片")
    await slack.posted("照片呢？")
    await desk.says("", *(slack.shared(f"{n}.png", PNG + bytes([n])) for n in range(11)))
    refused = await slack.posted(NO_ROOM)
    assert "“10.png”没有收" in refused["text"]
    await slack.posted("还有吗？")
    assert sum("files-pri" in target for target in slack.targets) == 10


@pytest.mark.slow
@each_row(
    ("content", "more", "said"),
    [
        (b"PK\x03\x04 a zip", {}, "只收 PDF 和图片"),
        (b"<!doctype html>", {}, "只收 PDF 和图片"),
        (b"", {}, "只收 PDF 和图片"),
        (PNG, {"size": MOST_BYTES + 1}, "超过了 10 MB"),
        (PNG + bytes(MOST_BYTES), {}, "超过了 10 MB"),
        (Reply([b"gone"], 404), {}, "没能取到"),
        (Reply([b""], 302, {"location": "https://slack.com/signin"}), {}, "没能取到"),
        (PNG, {"url_private_download": "https://evil.test/steal"}, "没能取到"),
        (PNG, {"url_private_download": "http://files.slack.com/x"}, "没能取到"),
        (PNG, {"url_private_download": "https://files.slack.com.evil.test/x"}, "没能取到"),
        (PNG, {"mode": "external"}, "只收 PDF 和图片"),
        (PNG, {"url_private_download": None}, "只收 PDF 和图片"),
    ],
)
async def test_what_isn_t_taken_is_said_and_the_words_are_heard(
    desk: Desk, content: bytes | Reply, more: dict[str, Any], said: str
) -> None:
    shared = desk.slack.shared("x<y>.bin", content, **more)
    await desk.says("交照片", shared)
    refused = await desk.slack.posted(said)
    assert "“x_y_.bin”" in refused["text"]
    await desk.slack.posted("照片呢？")


@pytest.mark.slow
async def test_what_slack_can_t_give_now_is_asked_for_again(desk: Desk) -> None:
    shared = desk.slack.shared("a.pdf", PDF)
    desk.slack.troubles.append(Reply([b"busy"], 500))
    event = await desk.says("我要交收据", shared, status=503)
    assert (await desk.slack.deliver(desk.router, event)).status_code == 200
    await desk.slack.posted("交 a.pdf？")


@pytest.mark.slow
async def test_a_slow_file_is_taken_in_though_slack_doesn_t_wait(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "PATIENCE", 0.2)
    there = asyncio.Event()
    shared = desk.slack.shared("slow.pdf", Reply([PDF, there]))
    event = await desk.says("我要交收据", shared, status=503)
    monkeypatch.undo()
    again = asyncio.create_task(desk.slack.deliver(desk.router, event))
    there.set()
    assert (await again).status_code == 200
    await desk.slack.posted("交 slow.pdf？")
    assert sum("slow.pdf" in target for target in desk.slack.targets) == 1


@pytest.mark.slow
async def test_feishu_brings_files_and_pictures_and_is_given_one(desk: Desk) -> None:
    feishu, router = desk.feishu, desk.router
    feishu.keeps("om_1", "file_1", PDF)
    await desk.writes("alice", "text", text="我要交收据")
    await feishu.posted("收据呢？")
    await desk.writes("alice", "file", file_key="file_1", file_name="打车.pdf")
    card = await feishu.posted("交 打车.pdf？")
    await feishu.deliver(router, feishu.press("ou_alice", card, "确认"))
    given = await feishu.posted("key_0")
    assert (given["msg_type"], given["content"]) == ("file", {"file_key": "key_0"})
    assert PDF + b" stamped" in feishu.uploads["key_0"]


async def test_feishu_s_pictures_stand_in_text_too(desk: Desk) -> None:
    feishu = desk.feishu
    feishu.keeps("om_1", "img_1", PNG, "image")
    line = [{"tag": "text", "text": "我要交收据"}, {"tag": "img", "image_key": "img_1"}]
    await desk.writes("gina", "post", title="", content=[line, "x", [7]])
    await feishu.posted("交 file.png？")


@pytest.mark.slow
@each_row(
    ("kind", "content", "said"),
    [
        ("audio", {"file_key": "sound"}, "只收 PDF 和图片"),
        ("media", {"file_key": "film", "file_name": "a.mp4"}, "只收 PDF 和图片"),
        ("file", {"file_key": "gone", "file_name": "a.pdf"}, "没能取到"),
        ("file", {"file_key": "../../secret", "file_name": "a.pdf"}, "没能取到"),
        ("file", {"file_key": 7}, "只收 PDF 和图片"),
        ("file", {"file_key": "zip", "file_name": "a.zip"}, "只收 PDF 和图片"),
        ("file", {"file_key": "huge", "file_name": "a.pdf"}, "超过了 10 MB"),
    ],
)
async def test_what_feishu_brings_in_vain_is_said(
    desk: Desk, kind: str, content: dict[str, Any], said: str
) -> None:
    desk.feishu.keeps("om_1", "zip", b"PK\x03\x04")
    desk.feishu.keeps("om_1", "huge", PDF + bytes(MOST_BYTES))
    await desk.writes("alice", kind, **content)
    await desk.feishu.posted(said)


@pytest.mark.slow
async def test_feishu_s_token_is_renewed_for_files_too(desk: Desk) -> None:
    feishu = desk.feishu
    await desk.writes("bob", "text", text="我要交收据")
    await feishu.posted("收据呢？")
    feishu.token = "t-2"
    feishu.keeps("om_1", "file_1", PDF)
    await desk.writes("bob", "file", file_key="file_1", file_name="新.pdf")
    await feishu.posted("交 新.pdf？")
    busy = json_reply({"code": 99991400, "msg": "slow down"}, 400)
    feishu.keeps("om_1", "file_2", busy)
    await desk.writes("bob", "file", 429, file_key="file_2", file_name="b.pdf")
