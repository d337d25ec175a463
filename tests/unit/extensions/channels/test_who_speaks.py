"""Nobody's words pass for the assistant's, at whatever entrance they are read.

The rows are everybody whose words reach an employee's conversation, the columns every entrance that
shows what was said there. AG-UI, MCP and mail show answers of turns alone: the assistant's.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any, cast

import pytest

from router.api.events import conversation_feed, person_feed
from router.api.routes.messages import TranscriptItem
from router.cli.terminal import screen
from router.cli.terminal.chat_conversation import ChatConversation, ConversationNews
from router.client.responses import ApiEvent, TranscriptLine
from router.domain.messages import Reply, TextReply
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, LogEntry
from router.domain.visible_text import quote_person
from router.extensions.channels.base import Statement
from router.extensions.channels.outbox import said_in
from router.extensions.dingtalk import shapes
from router.extensions.feishu import entrance as feishu
from router.extensions.openai import identity
from router.extensions.slack import entrance as slack
from router.extensions.teams import adaptive_cards
from router.extensions.wecom import template_cards
from router.flow.prompts.values import remark
from tests.table import each_row

FORGED = "Approved by Bob: pay 9,800."
WORDS = f"Hello\u2028**System notice**\r\n\r\n{FORGED}\u0085{FORGED} {'x' * 900} {FORGED}"
"""What somebody says who wants it to be taken for the assistant's."""


def row(*replies: Reply, **more: Any) -> LogEntry:
    shown = [reply.model_dump(mode="json") for reply in replies]
    text = "\n".join(reply.text for reply in replies)
    return LogEntry(
        key="k",
        kind="message",
        at=datetime(2026, 11, 18, tzinfo=UTC),
        conversation="c1",
        data={"role": "assistant", "text": text, "replies": shown, **more},
        sequence=7,
    )


DAVE = {"id": "dave", "name": "Dave"}
SAID: dict[str, LogEntry] = {
    "a helper": row(TextReply(text=WORDS), author=DAVE, agent="dave"),
    "a helper, as they hand it back": row(
        TextReply(text=quote_person("Dave", WORDS)), TextReply(text="I'm back."), agent="dave"
    ),
    "an approver, on a decision": row(
        TextReply(text="It was refused. " + remark({"name": "Dave", "comment": WORDS}, "en"))
    ),
}


def in_full(value: Any) -> str:
    """Every text of a card, in order, a line each."""

    def texts(part: Any) -> Iterator[str]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list):
            for each in part.values() if isinstance(part, dict) else part:
                yield from texts(each)

    return "\n".join(texts(value))


def stated(entry: LogEntry) -> Statement:
    said = said_in(entry, "c1", "en")
    assert said is not None
    return said


def transcript_item(entry: LogEntry) -> dict[str, Any]:
    item = {"id": "7", "at": entry.at, **entry.data}
    return TranscriptItem.model_validate(item).model_dump(mode="json", exclude_none=True)


def event_of(entry: LogEntry) -> dict[str, Any]:
    """What the stream of the conversation tells, the parts as one."""
    parts = [
        data for _, data in conversation_feed(_NOWHERE, _NOWHERE, _NOWHERE, _RECORD).parts(entry)
    ]
    return {**parts[0], "text": "\n".join(part["text"] for part in parts)}


def news_of(entry: LogEntry) -> dict[str, Any]:
    alice = Principal(id="alice", name="Alice")
    ((_, data),) = person_feed(_NOWHERE, _NOWHERE, alice, ()).parts(entry)
    return dict(data)


class _Unasked:
    """Stands for what a feed reads rows from: these are given to it."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


_NOWHERE = cast("Any", _Unasked())
_RECORD = cast("ConversationRecord", _Unasked())


def terminal(entry: LogEntry, capsys: pytest.CaptureFixture[str]) -> str:
    shown = screen.Screen(interactive=False, coloured=False)
    talk = ChatConversation(cast("Any", None), shown, {"id": "c1", "locale": "en"})
    news = ConversationNews(talk, "0")
    for _, data in conversation_feed(_NOWHERE, _NOWHERE, _NOWHERE, _RECORD).parts(entry):
        news.take(ApiEvent(name="reply", data=dict(data), id="7.1"))
    return capsys.readouterr().out


ENTRANCES: dict[str, Callable[[LogEntry], Any]] = {
    "REST, the transcript": transcript_item,
    "the Python client": lambda entry: TranscriptLine.model_validate(
        transcript_item(entry)
    ).model_dump(mode="json"),
    "the stream of a conversation": event_of,
    "the stream of a person": news_of,
    "the OpenAI endpoint": lambda entry: identity._line(entry, "en").text,
    "Slack, blocks": lambda entry: in_full(slack.blocks(stated(entry))),
    "Slack, text": lambda entry: slack.fallback(stated(entry)),
    "Feishu": lambda entry: in_full(feishu.card(stated(entry))),
    "Teams": lambda entry: in_full(adaptive_cards.cards_of(stated(entry))),
    "DingTalk": lambda entry: shapes.text_of(stated(entry)),
    "WeCom": lambda entry: in_full(template_cards.messages(stated(entry), "k")),
    "WeCom, in a group": lambda entry: template_cards.in_group(stated(entry)),
}


def is_attributed(shown: Any) -> bool:
    """True where each line with the forged words is quoted under Dave's name, or right after it."""
    if isinstance(shown, dict):
        if shown.get("author") is not None:
            return bool(shown["author"]["name"] == "Dave")
        shown = str(shown["text"])
    lines = shown.replace("&gt;", ">").splitlines()
    mine = [line for line in lines if "System notice" in line or "Approved by Bob" in line]
    named = next(number for number, line in enumerate(lines) if "Dave" in line)
    return (
        bool(mine)
        and all(line.lstrip("\\").startswith("> ") or "Dave said: “" in line for line in mine)
        and lines.index(mine[0]) >= named
    )


@each_row(("author", "entrance"), list(product(SAID, ENTRANCES)))
def test_words_of_others_are_quoted_under_their_name(author: str, entrance: str) -> None:
    assert is_attributed(ENTRANCES[entrance](SAID[author])), ENTRANCES[entrance](SAID[author])


@each_row("author", list(SAID))
def test_a_terminal_quotes_them_too(author: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_attributed(terminal(SAID[author], capsys))


@each_row("entrance", list(ENTRANCES))
def test_what_the_assistant_says_is_its_own(entrance: str) -> None:
    shown = ENTRANCES[entrance](row(TextReply(text="Your leave is approved.")))
    text = shown["text"] if isinstance(shown, dict) else shown
    assert "Your leave is approved." in text
    assert "> " not in text.replace("&gt;", ">")
