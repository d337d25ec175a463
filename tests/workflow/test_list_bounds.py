"""More items in a message than a request takes, over HTTP: the first are kept, the rest named."""

from typing import Any

import pytest
from httpx import AsyncClient

from router.domain.locale import Locale
from tests.table import each_row
from tests.workflow.desk import defined
from tests.workflow.test_streaming import served
from tests.workflow.tooled import Tooled

SHOPPING = defined("""
flow: shopping
title: {zh: 采购单, en: Shopping list}
description: {zh: 买东西, en: Buy things}
triggers:
  patterns: [buy things, 买东西]
slots:
  things:
    type: list
    label: {zh: 东西, en: things}
    ask: {zh: 买什么？, en: What to buy?}
    of: {type: text, ask: {zh: 买什么？, en: What to buy?}}
    max: 20
  reason:
    type: text
    label: {zh: 原因, en: reason}
    ask: {zh: 为什么？, en: Why?}
start: ask
states:
  ask: {collect: [things, reason], next: done}
  done: {end: completed, say: {zh: 好, en: OK}}
""")
SIXTY = [f"thing {number}" for number in range(1, 61)]
LEFT_OUT = {
    "zh": "“东西”最多 20 项，记下了前 20 项。还有 40 项没有记下：thing 21、",
    "en": "“things” takes 20 at most, so the first 20 are kept. 40 were left out: thing 21; ",
}


@each_row(
    ("locale", "opening", "said"),
    [
        ("en", "buy things", {"text": ", ".join(SIXTY)}),
        ("zh", "买东西", {"text": "、".join(SIXTY)}),
        ("en", "buy things", {"text": "\n".join(f"- {thing}" for thing in SIXTY)}),
        ("zh", "买东西", {"action": {"type": "form", "values": {"things": SIXTY}}}),
    ],
)
@pytest.mark.slow
async def test_twenty_of_sixty_items_are_kept_and_the_others_named(
    tooled: Tooled, locale: Locale, opening: str, said: dict[str, Any]
) -> None:
    async with (
        tooled([], flows=[SHOPPING]) as talk,
        served(talk.parts, talk.client, talk.queue) as api,
    ):
        id_ = (await api.post("/v1/conversations", json={"locale": locale})).json()["id"]
        await send(api, id_, {"text": opening})
        turn = await send(api, id_, said)
    replies = "\n".join(reply["text"] for reply in turn["replies"])
    assert turn["flow"]["slots"]["things"] == SIXTY[:20]
    assert LEFT_OUT[locale] in replies
    assert turn["flow"]["awaiting"] == ["reason"]


async def send(api: AsyncClient, conversation: str, said: dict[str, Any]) -> dict[str, Any]:
    answer = await api.post(f"/v1/conversations/{conversation}/messages", json=said)
    assert answer.status_code == 200, answer.text
    turn: dict[str, Any] = answer.json()
    return turn


AMOUNTS = [f"{number} yuan" for number in range(1, 151)]
TRIP = defined("""
flow: trip
title: {zh: 出差, en: Trip}
description: {zh: 记一次出差, en: Note a trip}
triggers:
  patterns: [note a trip, 记出差]
slots:
  day:
    type: date
    label: {zh: 日期, en: day}
    ask: {zh: 哪天？, en: Which day?}
start: ask
states:
  ask: {collect: [day], next: done}
  done: {end: completed, say: {zh: 好, en: OK}}
""")
UNREAD = {
    "zh": "这条消息里说的太多，从“{}”开始的没有读，也没有记下。请把后面的另发一条。",
    "en": "This message says more than is read at once: what begins with “{}” wasn't read or "
    "noted. Send that part in another message.",
}


@each_row(
    ("locale", "text", "unread", "read"),
    [
        ("en", f"note a trip: {', '.join(AMOUNTS)}, on 2027-12-07", "121 yuan, 122", None),
        ("zh", f"记出差：{'、'.join(AMOUNTS)}，2027年12月7日", "121 yuan、122", None),
        ("en", f"note a trip on 2027-12-07: {', '.join(AMOUNTS)}", "120 yuan, 121", "2027-12-07"),
        ("en", "note a trip: " + "it took 3 days, " * 150, "3 days, it took", None),
        ("en", f"note a trip on 2027-12-07: {', '.join(AMOUNTS[:119])}", "", "2027-12-07"),
    ],
)
async def test_whoever_names_more_values_than_are_read_is_told_where_reading_stopped(
    tooled: Tooled, locale: Locale, text: str, unread: str, read: str | None
) -> None:
    async with (
        tooled([], flows=[TRIP]) as talk,
        served(talk.parts, talk.client, talk.queue) as api,
    ):
        id_ = (await api.post("/v1/conversations", json={"locale": locale})).json()["id"]
        turn = await send(api, id_, {"text": text})
    replies = "\n".join(reply["text"] for reply in turn["replies"])
    before, after = UNREAD[locale].split("{}")
    assert (f"{before}{unread}" in replies, after in replies) == (bool(unread),) * 2, replies
    assert turn["flow"]["slots"].get("day") == read
