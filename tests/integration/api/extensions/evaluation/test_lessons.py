"""What may be mended, as operators get it: counts for all of them, words for those who may."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from router.domain.messages import Candidate, ChoicesReply, Message, Option, Route, Turn
from router.domain.records import ConversationRecord, LogEntry
from router.store.store import Store
from tests.integration.api.conftest import As
from tests.table import each_row

NUMBERS = count()


def exchange(talk: str, said: str, route: dict[str, Any], **more: Any) -> list[LogEntry]:
    message_id = f"{talk}-{next(NUMBERS)}"
    turn = Turn(message_id=message_id, turn=1, route=Route(**route), **more)
    about: dict[str, Any] = {"at": datetime.now(UTC), "conversation": talk}
    about |= {"message_id": message_id}
    held = {"digest": Message(text=said).digest, "turn": turn.model_dump(mode="json")}
    return [
        LogEntry(
            key=f"{message_id}:u", kind="message", data={"role": "user", "text": said}, **about
        ),
        LogEntry(key=f"{message_id}:t", kind="turn", data=held, **about),
    ]


@pytest.fixture
async def asked(store: Store, unique: str) -> str:
    """Somebody was asked which, chose the second, and got no answer to another wish."""
    talk = f"l{unique[:12]}"
    await store.conversations.create(
        ConversationRecord(
            id=talk, tenant="default", owner="alice", locale="zh", created_at=datetime.now(UTC)
        )
    )
    near = ["leave_request", "get_leave_balance"]
    found = [Candidate(kind="flow", name=name, score=0.4) for name in near]
    offered = ChoicesReply(text="?", options=[Option(label=name, value=name) for name in near])
    clarify = {"kind": "clarify", "by": "fallback", "candidates": found, "target": "leave_request"}
    chosen = {"kind": "flow", "target": "get_leave_balance", "by": "action"}
    await store.log.append(
        "default",
        [
            *exchange(talk, f"{unique} 还能歇几天", clarify, replies=[offered]),
            *exchange(talk, "✓", chosen),
            *exchange(talk, f"{unique} 车位", {"kind": "clarify", "by": "fallback"}),
        ],
    )
    return unique


async def test_operators_see_how_often_and_not_what_was_said(caller: As, asked: str) -> None:
    answer = await caller("olga").get("/v1/lessons", params={"days": 1})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    balance = next(e for e in found["examples"] if e["capability"] == "get_leave_balance")
    assert (balance["count"], balance["sentences"]) == (1, None)
    assert found["topics"][0]["times"] >= 1
    assert asked not in answer.text
    (line,) = (await caller("olga").get("/v1/audit?act=lessons.read&limit=1")).json()["items"]
    assert (line["who"], line["detail"]) == ("olga", "days=1")


@each_row("days", ["0", "93", "x", "-1"])
async def test_days_that_are_none_are_refused(caller: As, days: str) -> None:
    assert (await caller("olga").get("/v1/lessons", params={"days": days})).status_code == 422


async def test_nobody_else_is_told_that_there_is_such_a_thing(caller: As) -> None:
    assert (await caller("alice").get("/v1/lessons")).status_code == 404
