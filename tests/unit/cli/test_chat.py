"""What a terminal chat sends and shows, as pure functions; and how the command fails."""

import asyncio
from contextlib import aclosing
from typing import Any, cast

import pytest

from router.cli.options import echo_aligned
from router.cli.rest import Rest
from router.cli.terminal import chat_conversation, screen
from router.cli.terminal.chat_conversation import (
    ChatConversation,
    ConversationNews,
    TurnDisplay,
    body_of,
    form_body,
    question_in,
)
from router.cli.terminal.screen import own
from router.client.responses import ApiEvent
from router.domain import messages
from tests.unit.cli.conftest import Run

KINDS = messages.ChoicesReply(
    text="Which?",
    options=[messages.Option(label=n.title(), value=n) for n in ("annual", "sick")],
    question="q1",
)
CONFIRM = messages.ConfirmReply(text="File it?", summary={"days": "3"}, question="q2")
FORM = messages.FormReply(
    text="When?",
    fields=[messages.FormField(name=n, type="date", label=n.title()) for n in ("start", "end")],
    question="q3",
)


@pytest.mark.parametrize("typed", ["2", " 2 ", "2.", "２"])
def test_a_number_chooses_in_the_question_that_was_shown(typed: str) -> None:
    action = {"type": "choose", "value": "sick", "question": "q1"}
    assert body_of(typed, KINDS) == {"action": action}


@pytest.mark.parametrize(
    ("typed", "value"), [("y", True), ("YES", True), ("确认", True), ("n", False), ("否", False)]
)
def test_yes_and_no_answer_what_is_to_be_confirmed(typed: str, value: bool) -> None:
    action = {"type": "confirm", "value": value, "question": "q2"}
    assert body_of(typed, CONFIRM) == {"action": action}


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        *((typed, KINDS) for typed in ("0", "3", "99999999999999999999", "y")),
        ("²", KINDS.model_copy(update={"options": []})),
        ("1", CONFIRM),
        ("yes, but a day later", CONFIRM),
        ("1", None),
        ("y", FORM),
    ],
)
def test_everything_else_is_said_as_it_is_typed(typed: str, asked: messages.Reply | None) -> None:
    assert body_of(typed, asked) == {"text": typed}


def test_a_form_names_its_question_where_it_has_one() -> None:
    nameless = FORM.model_copy(update={"question": None})
    values = {"start": "tomorrow"}
    assert form_body(FORM, values)["action"] == {"type": "form", "values": values, "question": "q3"}
    assert "question" not in form_body(nameless, values)["action"]


def thinking(status: str, skill: str | None = None) -> ApiEvent:
    data = {"status": status, "skill": skill, "step": 2}
    return ApiEvent(name="thinking", data=data)


async def shown_of(*events: ApiEvent, locale: str, interactive: bool) -> TurnDisplay:
    shown = screen.Screen(interactive=interactive, coloured=False)
    talk = ChatConversation(cast("Rest", None), shown, {"id": "c1", "locale": locale})
    display = TurnDisplay(talk)
    for event in events:
        display.take(event)
    return display


@pytest.mark.parametrize(
    ("locale", "skill", "said"),
    [
        ("zh", None, "… 正在想 · 0 秒"),
        ("en", None, "… thinking · 0 s"),
        ("en", "adviser", "… adviser · step 2 · 0 s"),
    ],
)
async def test_that_a_model_thinks_is_shown_and_for_how_long_until_it_has_thought(
    locale: str,
    skill: str | None,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(chat_conversation, "SOON", 0.0)
    monkeypatch.setattr(chat_conversation, "AGAIN", 0.0)
    display = await shown_of(thinking("started", skill), locale=locale, interactive=True)
    out = ""
    while out.count(said) < 2:
        await asyncio.sleep(0)
        out += capsys.readouterr().out
    display.take(thinking("finished", skill))
    capsys.readouterr()
    await asyncio.sleep(0.001)
    assert capsys.readouterr().out == ""


async def test_a_person_who_helps_speaks_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    shown = screen.Screen(interactive=False, coloured=False)
    talk = ChatConversation(cast("Rest", None), shown, {"id": "c1", "locale": "en"})
    by = {"id": "dave", "name": "Dave\nbob"}
    said = {"type": "text", "text": "We'll pay it.", "author": by}
    ConversationNews(talk, "0").take(ApiEvent(name="reply", data=said, id="7.1"))
    assert "Dave bob:\n> We'll pay it." in capsys.readouterr().out


async def test_nobody_is_told_of_thoughts_where_nobody_sits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chat_conversation, "SOON", 0.0)
    async with aclosing(await shown_of(thinking("started"), locale="en", interactive=False)):
        await asyncio.sleep(0.001)
    assert capsys.readouterr().out == ""


def test_the_last_question_is_the_open_one() -> None:
    assert question_in([KINDS, messages.TextReply(text="and"), CONFIRM]) is CONFIRM
    assert question_in([messages.TextReply(text="done")]) is None


def test_a_number_answers_the_words_that_come_after_an_offer_and_not_the_offer() -> None:
    options = [messages.Option(label="Leave", value="leave_request")]
    named = messages.offer_question(options)
    offer = messages.ChoicesReply(text="Which?", options=options, question=named)
    amount = messages.TextReply(text="How much was it?")
    for found in (question_in, messages.question_in):
        assert found([offer]) is offer
        assert found([offer, amount]) is None


def test_a_form_of_several_fields_says_how_it_is_filled_where_somebody_sits_there() -> None:
    assert "Enter" in screen.said([FORM], "en", interactive=True)
    assert "回车" in screen.said([FORM], "zh", interactive=True)
    assert "Enter" not in screen.said([FORM], "en", interactive=False)


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x08\x08", "\r"])
def test_nothing_that_is_shown_drives_the_terminal(hostile: str) -> None:
    shown = [
        screen.said([messages.TextReply(text=f"a{hostile}b")], "en", interactive=True),
        screen.approvals([approval(title=hostile, summary={hostile: hostile})], "en"),
        screen.why(messages.Route(kind="reply", by="llm", reason=hostile), "en"),
    ]
    assert not set("".join(shown)) & set("\x1b\x07\x9b\x08\r")


def test_entry_2_is_entry_2() -> None:
    reason = "rent\n  2. Leave (requested by bob)\n\u2028     Amount: ¥1\u202e000,084"
    forged = approval(title=f"Pay {reason}", requester="al\u200bice", summary={"Reason": reason})
    listed = screen.approvals([forged, approval(summary={"Amount": "¥480,000"})], "en")
    lines = listed.split("\n")
    assert [line[:5] for line in lines if line[:4].strip()] == ["  1. ", "  2. "]
    assert [line for line in lines if "Amount:" in line and "│" not in line][1:] == [
        "     Amount: ¥480,000"
    ]
    assert not set(listed) & set("\u202e\u2028\u200b")


def test_a_line_of_the_trail_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    echo_aligned([("10:00", "olga", "x\n10:01  bob  run.terminate\u2028\u202e"), ("1", "b", "c")])
    assert capsys.readouterr().out == ("10:00  olga  x ↵ 10:01 bob run.terminate\n1      b     c\n")


def approval(**more: Any) -> dict[str, Any]:
    about = {"title": "Leave", "requester": "alice", "since": "2026-11-22T10:00:00Z"}
    return {**about, "summary": {"Days": "3"}, **more}


def test_an_approval_is_listed_with_all_that_is_decided_on_and_an_empty_list_says_so() -> None:
    assert screen.requests([], "zh") == "没有。"
    listed = screen.approvals([approval(), approval(summary={"Amount": "¥58"})], "en")
    assert listed.startswith("  1. Leave (requested by alice, ")
    for line in ("     Days: 3", "  2. Leave", "     Amount: ¥58"):
        assert line in listed


def test_why_names_the_way_and_what_else_was_near() -> None:
    near = [messages.Candidate(kind="tool", name="get_leave_balance", score=0.71)]
    route = messages.Route(
        kind="flow", target="leave", by="llm", confidence=0.9, reason="asks", candidates=near
    )
    assert screen.why(route, "en") == (
        "flow leave ← llm (0.90)\nasks\ncandidates: get_leave_balance 0.71"
    )


def test_the_history_is_nobody_elses_to_read(tmp_path: Any) -> None:
    file = tmp_path / "deep" / "history"
    file.parent.mkdir()
    file.write_text("said before")
    file.chmod(0o644)
    assert own(file).stat().st_mode & 0o777 == 0o600
    assert file.read_text() == "said before"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--url", "http://"], "--url 'http://' is no URL"),
        (["--url", "http://a:b:c"], "--url 'http://a:b:c' is no URL"),
        (["--user", "张三"], "is no user id"),
        (["--token", "a\nb"], "is no user id, nor a token"),
        (["--new", "--conversation", "c1"], "name one of --conversation and --new"),
    ],
)
def test_mistakes_end_with_2(run: Run, words: list[str], line: str) -> None:
    outcome = run("chat", *words)
    assert outcome.status == 2
    assert line in outcome.first_line
