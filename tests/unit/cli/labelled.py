"""Labelled files and a log to take them from, written where a test runs."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from router.domain.messages import ChoicesReply, Message, Option, Route, Turn
from router.domain.records import ConversationRecord, LogEntry
from router.store.database import Database
from router.store.store import Store

LEAVE = {"text": "我要请假", "label": "leave_request"}
CLAIM = {"text": "报销打车费58元", "label": "reimbursement"}
HELLO = {"text": "hello there", "label": "reply"}
UNUSUAL = (
    {"text": "年假剩多少来着", "label": "get_leave_balance"},
    {"text": "同事的邮箱", "label": "find_colleague"},
    {"text": "1 + 1 等于几", "label": "calculate"},
    {"text": "唱首歌吧", "label": "none"},
    {"text": "tell me a joke", "label": "none"},
    LEAVE,
)
"""Lines that rules mostly don't take."""
AT = datetime(2026, 11, 18, 2, tzinfo=UTC)


def written(*lines: dict[str, Any], name: str = "dev.jsonl") -> str:
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path(name).write_text(content, encoding="utf-8")
    return name


def report(folder: str = "report") -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    return read


def keep(conversation: str, owner: str, text: str, chosen: str) -> None:
    """A message that was asked about, and the button that was pressed then."""
    Path(".data").mkdir(exist_ok=True)
    asyncio.run(_kept(conversation, owner, text, chosen))


async def _kept(conversation: str, owner: str, text: str, chosen: str) -> None:
    database = Database("sqlite:///.data/router.db")
    await database.migrate()
    store = Store(database)
    record = ConversationRecord(
        id=conversation, tenant="default", owner=owner, locale="zh", created_at=AT
    )
    await store.conversations.create(record)
    options = [Option(label="…", value=chosen), Option(label="…", value="leave_request")]
    asked = Turn(
        message_id="m1",
        turn=1,
        route=Route(kind="clarify", by="retrieval"),
        replies=[ChoicesReply(text="?", options=options)],
    )
    pressed = Turn(message_id="m2", turn=2, route=Route(kind="flow", target=chosen, by="action"))
    rows = _rows(conversation, text, Message(text=text).digest, asked)
    await store.log.append("default", [*rows, *_rows(conversation, "…", "pressed", pressed)])
    await database.dispose()


def _rows(conversation: str, text: str, digest: str, turn: Turn) -> list[LogEntry]:
    about: dict[str, Any] = {
        "at": AT + timedelta(minutes=turn.turn - 1),
        "conversation": conversation,
        "message_id": turn.message_id,
    }
    key = f"{conversation}:{turn.message_id}"
    whole: dict[str, Any] = {"digest": digest, "turn": turn.model_dump(mode="json")}
    return [
        LogEntry(key=f"{key}:user", kind="message", data={"role": "user", "text": text}, **about),
        LogEntry(key=f"{key}:turn", kind="turn", data=whole, **about),
    ]
