"""Files on their way through conversations: handed in for a slot, and made by tools."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import JsonValue

from activities import provided
from router.domain.errors import ArgumentsToolError
from router.domain.messages import FormReply, Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import FileRecord
from router.runtime.composition import Parts
from router.store.blobs import Files
from router.tool.context import Depends, ToolContext
from router.tool.results import ToolFile
from router.tool.tool import tool
from tests.fakes.model_server import calls, says
from tests.workflow.desk import Talk, defined, flow_of, words
from tests.workflow.tooled import Tooled, chosen

MINE, BOBS = "a" * 24, "b" * 24
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


async def hand_in(parts: Parts, id_: str, owner: str) -> None:
    content = b"%PDF-1 of " + owner.encode()
    record = FileRecord(
        id=id_,
        tenant=DEFAULT_TENANT,
        owner=owner,
        name=f"{owner}.pdf",
        type="application/pdf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        at=datetime.now(UTC),
    )
    await parts.store.files.keep(record, content)


@pytest.fixture(autouse=True)
async def files(parts: Parts) -> None:
    await hand_in(parts, MINE, "alice")
    await hand_in(parts, BOBS, "bob")


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
