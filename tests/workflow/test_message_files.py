"""Files of a message before models: shown in its turn alone, and carried by no payload."""

import base64
import io
from datetime import UTC, datetime
from typing import Any

import pytest
from PIL import Image
from pydantic import JsonValue

from router.domain.messages import FormReply, Message, Turn
from router.domain.principals import DEFAULT_TENANT, Principal
from router.domain.records import FileRecord
from router.runtime.composition import Parts
from router.tool.context import ToolContext
from router.tool.results import FileId
from router.tool.tool import tool
from tests.fakes.model_server import Behaviour, calls, fails, says
from tests.workflow.desk import Talk, words
from tests.workflow.tooled import Tooled, chosen, skill

MINE, BOBS = "7" * 24, "8" * 24
BLIND = fails(400, "image_url is not supported by this model")
ADVISER = skill("photo-adviser", "看图建议", "advice on pictures", allowed_tools=())


@tool(permission="read", title={"zh": "看看", "en": "Look"})
async def look_at(what: str) -> str:
    """Look at something that is on a picture."""
    return what


@tool(permission="read", title={"zh": "量一量", "en": "Measure"})
async def measure(photo: FileId, ctx: ToolContext) -> dict[str, JsonValue]:
    """Say how many bytes a picture has, and what it is called."""
    file = await ctx.file(photo)
    return {"name": file.name, "type": file.type, "bytes": len(file.content)}


@pytest.fixture(autouse=True)
async def files(parts: Parts) -> None:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), "navy").save(out, "PNG")
    for id_, owner in ((MINE, "alice"), (BOBS, "bob")):
        person = Principal(id=owner, name=owner)
        record = FileRecord.of(id_, person, "photo.png", out.getvalue(), datetime.now(UTC))
        await parts.store.files.keep(record, out.getvalue())


async def shows(talk: Talk, text: str, *behaviours: Behaviour, file: str = MINE) -> Turn:
    talk.model.then(*behaviours)
    names = {file: "photo.png"}
    return await talk.send(Message(text=text, files=(file,)), file_names=names)


def told(talk: Talk, number: int = -1) -> list[Any]:
    """The contents of a question's messages."""
    return [message["content"] for message in talk.model.chats[number]["messages"]]


def pictures(contents: list[Any]) -> list[str]:
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


REPLY = ("respond_message", {"text": "图里是一张蓝色的收据，58 元。"})


@pytest.mark.slow
async def test_a_model_sees_the_pictures_of_the_turn_and_later_hears_their_name(
    tooled: Tooled,
) -> None:
    async with tooled([look_at], [calls(REPLY)]) as talk:
        turn = await shows(talk, "图上写了什么？")
        assert words(turn) == "图里是一张蓝色的收据，58 元。"
        assert turn.files_left is None
        (url,) = pictures(told(talk))
        assert base64.b64decode(url.partition(",")[2]).startswith(b"\xff\xd8\xff")
        said = told(talk)[-1][0]["text"]
        assert f"photo.png (id {MINE}, image/png" in said
        no_more = calls(("respond_message", {"text": "没有了。"}))
        await talk.scripted("它是什么颜色的东西呀", no_more)
        assert pictures(told(talk)) == []
        assert any("[photo.png]" in str(content) for content in told(talk))
        history = await talk.handle.fetch_history()
        assert url[-60:] not in str(history)


@pytest.mark.slow
async def test_who_can_t_see_is_told_so_in_words(tooled: Tooled) -> None:
    async with tooled([look_at], [BLIND]) as talk:
        await shows(talk, "图上写了什么？", calls(("respond_message", {"text": "我看不了图片。"})))
        assert pictures(told(talk)) == []
        assert "can't see" in told(talk)[-1]


async def test_a_file_of_somebody_else_s_is_shown_to_no_model(tooled: Tooled) -> None:
    async with tooled([look_at], [calls(("respond_message", {"text": "没有图。"}))]) as talk:
        await shows(talk, "图上写了什么？", file=BOBS)
        assert pictures(told(talk)) == []
        assert "photo.png" not in str(told(talk))


@pytest.mark.slow
async def test_a_skill_sees_them_at_every_step_of_the_turn(tooled: Tooled) -> None:
    chosen = calls(("dispatch_to_skill", {"skill_name": ADVISER.name, "request": "图里是什么"}))
    steps = [calls(("note", {"key": "seen", "value": "blue"})), calls(("done", {"result": "蓝"}))]
    async with tooled([], [chosen], skills=[ADVISER]) as talk:
        turn = await shows(talk, "看图建议：图里是什么？", *steps)
        assert turn.route.kind == "skill"
        assert words(turn) == "蓝"
        assert [len(pictures(told(talk, n))) for n in range(3)] == [1, 1, 1]
        record = str(await talk.handle.fetch_history())
        assert DEFAULT_TENANT in record
        assert pictures(told(talk))[0][-60:] not in record


@pytest.mark.slow
async def test_a_tool_takes_the_file_that_a_model_is_shown(tooled: Tooled) -> None:
    said = says("photo.png 是图片。")
    async with tooled([measure], [calls(("measure", {"photo": MINE}))]) as talk:
        turn = await shows(talk, "这张图多大？", said)
        (call,) = turn.tool_calls
        assert (call.name, call.status) == ("measure", "done")
        assert '"image/png"' in call.result_preview
        assert words(turn) == "photo.png 是图片。"


@pytest.mark.slow
async def test_a_tool_gets_no_file_of_somebody_else_s(tooled: Tooled) -> None:
    """Whoever names it, and however they came by its id."""
    async with tooled([measure]) as talk:
        form = (await chosen(talk, "measure")).replies[-1]
        assert isinstance(form, FormReply)
        assert [field.type for field in form.fields] == ["file"]
        turn = await talk.send(Message(files=(MINE,)), file_names={MINE: "photo.png"})
        assert "image/png" in words(turn)
        await chosen(talk, "measure")
        turn = await talk.say(BOBS)
        assert "image/png" not in words(turn)
    async with tooled([measure], [calls(("measure", {"photo": BOBS}))]) as talk:
        turn = await shows(talk, f"把 {BOBS} 量一量", says("没有。"), says("没有。"))
        assert "image/png" not in str(turn)


@pytest.mark.slow
async def test_a_file_alone_answers_the_skill_that_asks(tooled: Tooled) -> None:
    chosen_ = calls(("dispatch_to_skill", {"skill_name": ADVISER.name, "request": "看图"}))
    asks = calls(("ask_user", {"text": "请把图发来。"}))
    done = calls(("done", {"result": "看到了。"}))
    async with tooled([], [chosen_, asks, done], skills=[ADVISER]) as talk:
        await talk.say("看图建议：帮我看张图")
        turn = await talk.send(Message(files=(MINE,)), file_names={MINE: "photo.png"})
        assert words(turn) == "看到了。"
        assert turn.files_left is None
        assert len(pictures(told(talk))) == 1
        assert "[photo.png]" in str(told(talk))


@pytest.mark.slow
async def test_a_file_alone_that_is_addressed_to_a_skill_is_shown_to_it(tooled: Tooled) -> None:
    done = calls(("done", {"result": "看到了。"}))
    async with tooled([], [done], skills=[ADVISER]) as talk:
        said = Message(files=(MINE,), skill=ADVISER.name)
        turn = await talk.send(said, file_names={MINE: "photo.png"})
        assert (turn.route.target, words(turn)) == (ADVISER.name, "看到了。")
        assert len(pictures(told(talk))) == 1
