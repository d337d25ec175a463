"""Questions of the desk as forms, and forms as answers."""

from datetime import UTC, datetime
from typing import Any

import mcp_types as types
import pytest

from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    ConfirmReply,
    FlowSummary,
    FormField,
    FormReply,
    Message,
    Option,
    TextReply,
)
from router.domain.records import ApprovalRecord, ChangedField
from router.extensions.mcp_server.questions import (
    OpenQuestion,
    WordsAsked,
    answer_to,
    approval_form,
    asked_by,
    decision_of,
    form_of,
    name_of,
    next_call,
    said_by,
    says_yes,
)
from router.flow.definition import FlowDefinition
from router.formats.yaml_document import read_yaml
from tests.table import each_row

NEWEST, TITLED, PLAIN = "2026-07-28", "2025-11-25", "2025-06-18"

CONFIRM = ConfirmReply(text="好吗？", summary={"从": "12月7日"}, question="review:1::ab")
CHOICES = ChoicesReply(
    text="哪种？",
    options=[Option(label="年假", value="annual"), Option(label="两天", value=2)],
    question="details:1",
)
FORM = FormReply(
    text="哪天？",
    fields=[
        FormField(name="start", type="date", label="开始"),
        FormField(
            name="kind", type="choice", label="种类", required=False, options=CHOICES.options
        ),
    ],
    question="details:2",
)
FLOW = FlowDefinition.model_validate(
    read_yaml("""
flow: parking
title: {zh: 停车, en: Parking}
description: {zh: 停车位, en: A parking space}
slots:
  plate: {type: text, label: {zh: 车牌, en: Plate}}
  days: {type: integer, label: {zh: 天数, en: Days}}
  price: {type: money, label: {zh: 价钱, en: Price}}
  guests: {type: list, of: {type: text}, label: {zh: 客人, en: Guests}}
  paper: {type: file, label: {zh: 证件, en: Paper}}
start: details
states:
  details: {collect: [plate, days, price, guests, paper], next: done}
  done: {say: {zh: 好了, en: Done}, end: completed}
""").data
)


def words(slot: str) -> WordsAsked:
    flow = FlowSummary(
        id="r1", name="parking", status="collecting", state="details", awaiting=[slot]
    )
    asked = asked_by([TextReply(text="多少？")], flow, FLOW)
    assert isinstance(asked, WordsAsked)
    return asked


def fields(asked: Any, revision: str = NEWEST) -> dict[str, Any]:
    return dict(form_of(asked, "zh", revision).requested_schema["properties"])


def test_a_confirmation_is_its_summary_and_yes_or_no() -> None:
    form = form_of(CONFIRM, "en", NEWEST)
    assert form.message == "好吗？\n- 从: 12月7日"
    assert form.requested_schema["properties"] == {
        "confirmed": {"type": "boolean", "title": "Go ahead"}
    }
    told = ConfirmReply(text="12月7日，好吗？", summary={"从": "12月7日"}, told=True)
    assert form_of(told, "zh", NEWEST).message == "12月7日，好吗？"


def test_values_have_titles_in_the_way_of_the_revision() -> None:
    options = [{"const": "annual", "title": "年假"}, {"const": "2", "title": "两天"}]
    for revision in (NEWEST, TITLED):
        assert fields(CHOICES, revision)["choice"]["oneOf"] == options
    before = fields(CHOICES, PLAIN)["choice"]
    assert (before["enum"], before["enumNames"]) == (["annual", "2"], ["年假", "两天"])
    assert "oneOf" not in before


def test_a_form_has_its_fields_and_says_which_are_needed() -> None:
    schema = form_of(FORM, "zh", NEWEST).requested_schema
    assert schema["properties"]["start"] == {"type": "string", "format": "date", "title": "开始"}
    assert schema["required"] == ["start"]


@each_row(
    ("slot", "schema"),
    [
        ("plate", {"type": "string", "title": "车牌"}),
        ("days", {"type": "integer", "title": "天数"}),
        ("price", {"type": "string", "title": "价钱", "maxLength": 8000}),
        ("guests", {"type": "string", "title": "回答", "maxLength": 8000}),
    ],
)
def test_what_is_asked_in_words_has_the_schema_of_its_slot(
    slot: str, schema: dict[str, Any]
) -> None:
    assert fields(words(slot)) == {"answer": schema}


def test_a_file_is_asked_for_by_no_form() -> None:
    flow = FlowSummary(
        id="r1", name="parking", status="collecting", state="details", awaiting=["paper"]
    )
    file = FormField(name="paper", type="file", label="证件")
    assert asked_by([TextReply(text="?")], flow, FLOW) is None
    assert asked_by([FormReply(text="?", fields=[file], question="q")], flow, FLOW) is None


def test_what_asks_nothing_is_no_question() -> None:
    done = FlowSummary(id="r1", name="parking", status="completed", state="done")
    assert asked_by([TextReply(text="好了")], done, FLOW) is None
    assert asked_by([TextReply(text="你好")], None, None) is None


def test_a_question_in_words_has_another_name_once_something_else_is_asked() -> None:
    assert name_of(words("plate")) == name_of(words("plate")) != name_of(words("days"))


def acted(message: Message) -> dict[str, Any]:
    assert message.action is not None
    return message.action.model_dump()


def test_answers_go_to_the_question_that_was_shown() -> None:
    yes = acted(answer_to(CONFIRM, {"confirmed": True}))
    assert yes == {"type": "confirm", "value": True, "question": "review:1::ab"}
    chosen = acted(answer_to(CHOICES, {"choice": "2"}))
    assert chosen == {"type": "choose", "value": 2, "question": "details:1"}
    filled = acted(answer_to(FORM, {"start": "2026-12-07", "kind": None}))
    assert filled == {
        "type": "form",
        "values": {"start": "2026-12-07"},
        "question": "details:2",
    }
    said = acted(answer_to(words("price"), {"answer": "58元"}))
    assert said["values"] == {"price": "58元"}
    assert answer_to(words("guests"), {"answer": "Ann"}) == Message(text="Ann")


@each_row(
    ("asked", "content", "field"),
    [
        (CONFIRM, None, "confirmed"),
        (CONFIRM, {"confirmed": "yes"}, "confirmed"),
        (CONFIRM, {"confirmed": 1}, "confirmed"),
        (CHOICES, {"choice": "sick"}, "choice"),
        (CHOICES, {"choice": 2}, "choice"),
        (FORM, {"start": "2026-12-07", "user": "bob"}, "user"),
        (FORM, {"start": "a\x1b[2J"}, "content"),
        (words("plate"), {"answer": "  "}, "answer"),
        (words("plate"), {"answer": None}, "answer"),
        (words("guests"), {"answer": "a" * 8_001}, "answer"),
    ],
)
def test_what_was_not_asked_for_is_refused(asked: Any, content: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        answer_to(asked, content)
    assert [each.field for each in refused.value.problems] == [field]


def test_to_decline_says_no_to_a_confirmation_alone() -> None:
    no, closed = types.ElicitResult(action="decline"), types.ElicitResult(action="cancel")
    declined = said_by(CONFIRM, no)
    assert declined is not None
    assert acted(declined)["value"] is False
    assert [said_by(each, no) for each in (CHOICES, FORM, words("plate"))] == [None] * 3
    assert said_by(CONFIRM, closed) is None
    assert said_by(CONFIRM, None) is None


def test_a_program_without_forms_is_told_by_which_tool_and_to_which_question() -> None:
    assert next_call(CONFIRM) == {"tool": "confirm", "question": "review:1::ab"}
    assert [next_call(each)["tool"] for each in (CHOICES, FORM)] == ["choose", "fill"]
    assert next_call(words("plate")) == {"tool": "say"}


@each_row(
    ("text", "yes"),
    [
        ("确认", True),
        ("Yes!", True),
        ("好的，没问题", True),
        ("发吧", True),
        ("1", False),
        ("家里有事", False),
        ("no", False),
        ("到12月9日", False),
        ("第二项是确认书", False),
    ],
)
def test_words_that_would_confirm_are_known(text: str, yes: bool) -> None:
    assert says_yes(text) is yes


def test_a_state_is_read_as_it_was_written() -> None:
    asked = OpenQuestion(conversation="c1", question="review:1::ab", round=3)
    assert OpenQuestion.read(asked.written) == asked


APPROVAL = ApprovalRecord(
    id="a1",
    tenant="default",
    run="r1",
    workflow_id="parking/default/r1",
    flow="parking",
    person="bob",
    requester="alice",
    title=Localised(zh="停车\n位", en="Parking"),
    summary={"days": Localised(zh="3 天", en="3 days")},
    labels={"days": Localised(zh="天数", en="Days")},
    digest="d1",
    since=datetime(2026, 12, 1, tzinfo=UTC),
)


def test_an_approval_shows_who_asks_for_what_and_what_is_different() -> None:
    change = ChangedField(label="Days", before="2 days", now="3 days")
    form = approval_form(APPROVAL, "Alice Wang", [change], "en", NEWEST)
    told = ["Requested by: Alice Wang", "Days: 3 days", "2 days → 3 days"]
    assert [each in form.message for each in told] == [True] * 3
    assert form.requested_schema["required"] == ["decision"]
    zh = approval_form(APPROVAL, "Alice Wang", [], "zh", NEWEST).message
    assert "停车\n" not in zh


def test_a_decision_is_on_what_was_shown() -> None:
    body = decision_of("d1", {"decision": "return", "comment": ""})
    assert (body.decision, body.digest, body.comment) == ("return", "d1", None)


@each_row(
    ("content", "field"),
    [
        (None, "decision"),
        ({"decision": "delegate"}, "decision"),
        ({"decision": ["approve"]}, "decision"),
        ({"decision": "approve", "comment": "a" * 2_001}, "comment"),
        ({"decision": "approve", "comment": "\x00"}, "content"),
    ],
)
def test_no_other_decision_is_taken(content: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decision_of("d1", content)
    assert [each.field for each in refused.value.problems] == [field]
