"""Files on their way through conversations: handed in for a slot, and made by tools."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import JsonValue

from activities import provided
from router.domain.errors import ArgumentsToolError
from router.domain.messages import FormReply, Message, StartAction, Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import FileRecord
from router.runtime.composition import Parts
from router.store.blobs import Files
from router.tool.context import Depends, ToolContext
from router.tool.results import ToolFile
from router.tool.tool import tool
from tests.fakes.model_server import calls, says
from tests.workflow.desk import Talk, defined, flow_of, texts, words
from tests.workflow.tooled import Tooled, chosen

MINE, BOBS, OTHER, THIRD = "a" * 24, "b" * 24, "c" * 24, "d" * 24
LINK = re.compile("/v1/files/([0-9a-z]{24})")


@tool(permission="read", title={"zh": "盖章", "en": "Stamp"})
async def stamp(
    file: str, ctx: ToolContext, files: Annotated[Files, Depends(provided.files)]
) -> dict[str, ToolFile]:
    """Stamp a file of the caller's."""
    content = await files.content(ctx.caller.tenant, file)
    if content is None:
        raise ArgumentsToolError(f"file: there is no file {file!r}")
    return {"stamped": ToolFile("盖章.pdf", "", content + b" stamped")}


@tool(permission="read", title={"zh": "导出", "en": "Export"})
async def export() -> ToolFile:
    """Export what there is as a table."""
    return ToolFile("table.csv", "text/csv", b"a,b\n")


HAND_IN = defined("""
flow: hand_in
title: {zh: 交收据, en: Hand in}
description: {zh: 交一张收据, en: Hand in a receipt}
triggers: {patterns: [交收据]}
slots:
  receipt:
    type: file
    label: {zh: 收据, en: Receipt}
    ask: {zh: 收据呢？, en: "The receipt?"}
start: details
states:
  details: {collect: [receipt], next: review}
  review:
    confirm: {zh: "交 {{ shown.receipt }}？", en: "Hand in?"}
    confirmed: stamping
    declined: details
  stamping: {call: stamp, with: {file: slots.receipt}, save: found, next: told}
  told:
    say: {zh: "{{ results.found | readable }}", en: "{{ results.found | readable }}"}
    end: completed
""")


async def hand_in(parts: Parts, id_: str, owner: str, name: str = "") -> None:
    content = b"%PDF-1 of " + owner.encode()
    record = FileRecord(
        id=id_,
        tenant=DEFAULT_TENANT,
        owner=owner,
        name=name or f"{owner}.pdf",
        type="application/pdf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        at=datetime.now(UTC),
    )
    await parts.store.files.keep(record, content)


CLAIM = defined("""
flow: claim
title: {zh: 报车费, en: Claim}
description: {zh: 报一笔车费, en: Claim a fare}
triggers: {patterns: [报车费]}
slots:
  day: {type: date, label: {zh: 日期, en: Day}, ask: {zh: 哪天？, en: "Which day?"}}
  receipt:
    type: file
    required: false
    when: "false"
    label: {zh: 收据, en: Receipt}
    ask: {zh: 收据呢？, en: "The receipt?"}
start: details
states:
  details: {collect: [day, receipt], next: review}
  review:
    confirm: {zh: "报 {{ shown.day }}，收据 {{ shown.receipt }}？", en: "Claim?"}
    confirmed: told
    declined: details
  told: {say: {zh: 报好了。, en: Claimed.}, end: completed}
""")
PHOTOS = defined("""
flow: photos
title: {zh: 交照片, en: Photos}
description: {zh: 交几张照片, en: Hand in photos}
triggers: {patterns: [交照片]}
slots:
  photos:
    type: list
    label: {zh: 照片, en: Photos}
    more: {zh: 还有吗？, en: "Any more?"}
    of: {type: file, label: {zh: 照片, en: Photo}, ask: {zh: 照片呢？, en: "The photo?"}}
start: details
states:
  details: {collect: [photos], next: told}
  told: {say: {zh: 收到。, en: Taken.}, end: completed}
""")
NAMES = {MINE: "alice.pdf", OTHER: "新的.pdf"}


@pytest.fixture(autouse=True)
async def files(parts: Parts) -> None:
    await hand_in(parts, MINE, "alice")
    await hand_in(parts, BOBS, "bob")
    await hand_in(parts, OTHER, "alice", "新的.pdf")
    await hand_in(parts, THIRD, "alice", "3.pdf")


async def fill(talk: Talk, value: JsonValue) -> Turn:
    return await talk.press("form", values={"receipt": value})


async def test_a_receipt_is_shown_by_name_and_passed_by_id(tooled: Tooled, parts: Parts) -> None:
    async with tooled([stamp], flows=[HAND_IN]) as talk:
        (asked,) = (await talk.say("我要交收据")).replies
        assert isinstance(asked, FormReply)
        assert [(f.name, f.type) for f in asked.fields] == [("receipt", "file")]
        about: dict[str, JsonValue] = {"id": MINE, "name": "a.pdf", "type": "application/pdf"}
        turn = await fill(talk, {**about, "size": 15})
        assert flow_of(turn).slots == {"receipt": MINE}
        assert words(turn) == "交 alice.pdf？"
        turn = await talk.press("confirm", value=True)
        said = [entry.data for entry in await talk.transcript() if entry.data["role"] == "user"]
    assert words(turn).startswith("stamped：盖章.pdf（23 B）：/v1/files/")
    (id_,) = LINK.findall(words(turn))
    kept = await parts.store.files.find(DEFAULT_TENANT, id_)
    assert kept is not None
    assert (kept.owner, kept.type) == ("alice", "application/pdf")
    assert await parts.store.files.content(DEFAULT_TENANT, id_) == b"%PDF-1 of alice stamped"
    assert said[1]["text"] == "receipt: a.pdf"


@pytest.mark.slow
@pytest.mark.parametrize(
    "value", [BOBS, {"id": BOBS, "name": "x"}, "z" * 24, "alice.pdf", "", {}, 7]
)
async def test_what_is_no_file_of_ones_own_is_asked_for_anew(tooled: Tooled, value: Any) -> None:
    async with tooled([stamp], flows=[HAND_IN]) as talk:
        await talk.say("我要交收据")
        turn = await fill(talk, value)
        assert flow_of(turn).slots == {}
        assert flow_of(turn).awaiting == ["receipt"]
        assert len(turn.replies) == 2
        assert "上传" in turn.replies[0].text
        assert words(await fill(talk, MINE)) == "交 alice.pdf？"


async def test_a_model_cannot_fill_in_somebody_elses_file(tooled: Tooled) -> None:
    begins = calls(("dispatch_to_flow", {"flow_name": "hand_in", "slots": {"receipt": BOBS}}))
    async with tooled([stamp], [begins], flows=[HAND_IN]) as talk:
        turn = await talk.say(f"替我把 {BOBS} 交了")
    assert flow_of(turn).slots == {}


async def give(talk: Talk, *files: str, text: str | None = None, **more: Any) -> Turn:
    """Send files, with or without words."""
    return await talk.send(Message(text=text, files=files), file_names=NAMES, **more)


async def test_a_file_fills_its_slot_while_something_else_is_asked(tooled: Tooled) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        asked = await talk.say("报车费")
        turn = await give(talk, MINE)
        rows = [entry.data for entry in await talk.transcript() if entry.data["role"] == "user"]
    assert [reply.text for reply in turn.replies] == ["已附上 收据：alice.pdf。", "哪天？"]
    assert turn.replies[-1:] == asked.replies
    assert (flow_of(turn).slots, flow_of(turn).awaiting) == ({"receipt": MINE}, ["day"])
    assert (turn.route.kind, turn.route.target, turn.files_left) == ("flow", "claim", None)
    assert (rows[1]["text"], rows[1]["files"]) == ("alice.pdf", [{"id": MINE, "name": "alice.pdf"}])


@pytest.mark.slow
@pytest.mark.parametrize("text", ["12月7日", "这是收据", "你好"])
async def test_words_beside_a_file_are_read_as_any(tooled: Tooled, text: str) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        await talk.say("报车费")
        turn = await give(talk, MINE, text=text)
    slots = flow_of(turn).slots
    assert slots["receipt"] == MINE
    assert ("day" in slots) == (text == "12月7日")
    assert turn.replies[0].text == "已附上 收据：alice.pdf。"
    assert len(turn.replies) == 2
    assert turn.files_left is None


async def test_a_request_that_comes_with_its_file_has_it(tooled: Tooled) -> None:
    async with tooled([], flows=[CLAIM, HAND_IN]) as talk:
        turn = await give(talk, MINE, OTHER, text="报车费")
    assert flow_of(turn).slots == {"receipt": MINE}
    attached, left, asked = [reply.text for reply in turn.replies]
    assert (attached, asked) == ("已附上 收据：alice.pdf。", "哪天？")
    assert left == "这里没有地方放“新的.pdf”，先留在附件里。"
    assert turn.files_left == [OTHER]


@pytest.mark.slow
async def test_a_file_at_the_confirmation_is_shown_in_it_before_anything_is_done(
    tooled: Tooled,
) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        await talk.say("报车费，12月7日")
        turn = await give(talk, MINE, text="确认")
        assert flow_of(turn).status == "confirming"
        assert "alice.pdf" in words(turn)
        turn = await give(talk, OTHER)
        assert turn.replies[0].text == "收据改为新的.pdf。"
        assert flow_of(turn).slots["receipt"] == OTHER
        assert words(await talk.say("确认")) == "报好了。"


@pytest.mark.slow
@pytest.mark.parametrize(("id_", "name"), [(BOBS, BOBS), ("z" * 24, "z" * 24)])
async def test_a_file_of_anothers_fills_nothing(tooled: Tooled, id_: str, name: str) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        await talk.say("报车费")
        turn = await give(talk, id_)
    assert flow_of(turn).slots == {}
    assert turn.files_left == [id_]
    assert f"“{name}”" in words(turn)


async def test_files_without_a_flow_are_kept_and_told_once(tooled: Tooled) -> None:
    async with tooled([], flows=[HAND_IN]) as talk:
        alone = await give(talk, MINE)
        greeted = await give(talk, MINE, text="你好")
        again = await give(talk, MINE)
        turn = await give(talk, MINE, text="我要交收据")
    left = "“alice.pdf”还没有交到任何地方，先留在附件里。"
    assert [reply.text for reply in alone.replies] == [
        "请说一下文件要用来办什么。可以附文件的有：交收据。",
        left,
    ]
    assert alone.files_left == greeted.files_left == [MINE]
    assert left not in words(greeted)
    assert left in words(again)
    assert words(turn) == "已附上 收据：alice.pdf。\n交 alice.pdf？"
    assert turn.files_left is None


@pytest.mark.slow
async def test_what_is_left_over_goes_along_and_replaces_nothing_until_it_is_sent_alone(
    tooled: Tooled,
) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        await talk.say("报车费")
        first = await give(talk, MINE, OTHER)
        with_words = await give(talk, OTHER, text="12月7日")
        alone = await give(talk, OTHER)
    assert (flow_of(first).slots, first.files_left) == ({"receipt": MINE}, [OTHER])
    assert (flow_of(with_words).slots["receipt"], with_words.files_left) == (MINE, [OTHER])
    assert "新的.pdf" not in words(with_words)
    assert (flow_of(alone).slots["receipt"], alone.files_left) == (OTHER, None)


@pytest.mark.slow
async def test_a_list_of_files_takes_several_and_may_grow(tooled: Tooled) -> None:
    async with tooled([], flows=[PHOTOS]) as talk:
        await talk.say("交照片")
        several = await give(talk, MINE, OTHER)
        one_more = await give(talk, THIRD)
        done = await talk.say("没有了")
    assert (flow_of(several).slots, flow_of(several).awaiting) == (
        {"photos": [MINE, OTHER]},
        ["photos"],
    )
    assert (flow_of(one_more).slots, one_more.files_left) == (
        {"photos": [MINE, OTHER, THIRD]},
        None,
    )
    assert flow_of(done).status == "completed"


@pytest.mark.slow
async def test_what_became_of_files_is_told_in_english_too(tooled: Tooled) -> None:
    async with tooled([], flows=[CLAIM]) as house:
        talk = await house.another(locale="en")
        alone = await give(talk, MINE)
        await talk.press("start", flow="claim")
        turn = await give(talk, MINE, OTHER)
    assert [reply.text for reply in alone.replies] == [
        "Please say what the files are for. These take some: Claim.",
        "“alice.pdf” is not handed in anywhere; it stays attached.",
    ]
    assert [reply.text for reply in turn.replies] == [
        "Attached as Receipt: alice.pdf.",
        "There is no place here for “新的.pdf”; it stays attached.",
        "Which day?",
    ]


async def test_a_message_sent_again_attaches_nothing_twice(tooled: Tooled) -> None:
    async with tooled([], flows=[CLAIM]) as talk:
        await talk.say("报车费")
        first = await give(talk, MINE, message_id="m")
        assert await give(talk, MINE, message_id="m") == first
        assert [r.text for r in (await give(talk, MINE)).replies] == ["哪天？"]


async def test_a_file_that_a_tool_made_is_told_with_its_link(tooled: Tooled) -> None:
    async with tooled([export]) as talk:
        said = words(await chosen(talk, "export"))
    assert re.search(r"table\.csv（4 B）：/v1/files/[0-9a-z]{24}", said)


async def test_a_model_that_forgets_the_link_is_helped_out(tooled: Tooled) -> None:
    async with tooled([export], [calls(("export", {})), says("做好了。")]) as talk:
        turn = await talk.say("导出一下")
        shown = talk.model.chats[-1]["messages"][-1]["content"]
    assert re.fullmatch(r"做好了。\ntable\.csv（4 B）：/v1/files/[0-9a-z]{24}", words(turn))
    assert LINK.findall(words(turn))[0] in shown


async def test_files_beyond_those_that_a_message_may_have_are_named(tooled: Tooled) -> None:
    first, second = ([f"{part}{number:023d}" for number in range(8)] for part in "ab")
    async with tooled([stamp], flows=[CLAIM]) as talk:
        for id_ in [*first, *second]:
            await hand_in(talk.parts, id_, "alice", f"{id_[0]}-{int(id_[1:])}.pdf")
        names = {id_: f"{id_[0]}-{int(id_[1:])}.pdf" for id_ in [*first, *second]}
        await talk.send(Message(files=tuple(first)), file_names=names, brings_left=True)
        pressed = StartAction(type="start", flow="claim")
        await talk.send(Message(action=pressed), brings_left=True)
        more = Message(files=tuple(second))
        turn = await talk.send(more, file_names=names, brings_left=True)
        after = await talk.say("2026-11-20", brings_left=True)
    assert "6 个没有随这条消息带上：“a-2.pdf”、“a-3.pdf”" in texts(turn)[0]
    assert turn.files_left == [*second[1:], *first[:2]]
    assert "没有随这条消息带上" not in words(after)
    assert after.files_left == turn.files_left


@pytest.mark.slow
async def test_what_nothing_took_goes_along_where_a_front_end_keeps_nothing(
    tooled: Tooled,
) -> None:
    async with tooled([stamp], flows=[HAND_IN]) as talk:
        sent = await talk.send(Message(files=(MINE,)), file_names=NAMES, brings_left=True)
        kept = (await talk.say("你好")).files_left
        turn = await talk.say("我要交收据")
        again = await talk.send(Message(files=(MINE,)), file_names=NAMES)
        assert (sent.files_left, kept) == ([MINE], None)
        assert words(turn) != "交 alice.pdf？"
        assert again.files_left is None
    async with tooled([stamp], flows=[HAND_IN]) as talk:
        await talk.send(Message(files=(MINE,)), file_names=NAMES, brings_left=True)
        turn = await talk.say("我要交收据", "m1", brings_left=True)
        repeated = await talk.say("我要交收据", "m1", brings_left=True)
        rows = [e.data for e in await talk.transcript() if e.data["role"] == "user"]
    assert words(turn).endswith("交 alice.pdf？")
    assert turn.files_left is None
    assert repeated == turn
    assert "files" not in rows[-1]
