"""Block Kit within Slack's limits, and nothing in it that acts by itself."""

import json
from datetime import UTC, datetime

from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FormField,
    FormReply,
    Option,
    Reply,
    TextReply,
)
from router.domain.records import ApprovalRecord
from router.extensions.channels.base import Button, DecisionRequest, Statement
from router.extensions.feishu.entrance import card
from router.extensions.slack.entrance import blocks, fallback, plain
from tests.table import each_row

APPROVAL = ApprovalRecord(
    id="a1",
    tenant="t",
    run="r1",
    workflow_id="w",
    flow="leave",
    person="bob",
    requester="alice",
    title=Localised(zh="请假", en="Leave"),
    summary={"days": Localised(zh="三天", en="three days")},
    labels={"days": Localised(zh="天数", en="Days")},
    digest="d1",
    since=datetime(2026, 11, 22, tzinfo=UTC),
)


def said(*replies: Reply) -> Statement:
    return Statement(replies, "c1", "en")


ASK = ConfirmReply(text="File it?", summary={"Days": "3"}, question="q1")


def test_buttons_carry_the_question_that_they_answer_and_are_called_what_they_do() -> None:
    *sections, row = blocks(said(ASK))
    *_, actions = card(said(ASK))["elements"]
    assert [each["text"] for each in sections] == [
        {"type": "plain_text", "text": text, "emoji": False} for text in ("File it?", "Days: 3")
    ]
    assert [each["text"]["text"] for each in row["elements"]] == ["Confirm", "Not right", "Cancel"]
    cancelling = ChooseAction(type="choose", value="act:cancel", question="q1")
    confirming = [ConfirmAction(type="confirm", value=v, question="q1") for v in (True, False)]
    on_slack = [Button.model_validate_json(each["value"]).pressed for each in row["elements"]]
    packed = [each["value"]["button"] for each in actions["actions"]]
    on_feishu = [Button.model_validate_json(each).pressed for each in packed]
    for pressed in (on_slack, on_feishu):
        assert [each and each.action for each in pressed] == [*confirming, cancelling]
    for shown in (row["elements"], actions["actions"]):
        assert ["confirm" in each for each in shown] == [False, False, True]


def test_a_question_with_words_of_its_own_has_those_on_its_buttons_and_no_third() -> None:
    own = ASK.model_copy(update={"yes": "Go ahead", "no": "Leave it"})
    *_, row = blocks(said(own))
    assert [each["text"]["text"] for each in row["elements"]] == ["Go ahead", "Leave it"]


def test_an_approver_decides_on_what_is_shown() -> None:
    *sections, field, row = blocks(DecisionRequest(APPROVAL, "Alice", "en"))
    shown = ["For your approval: Leave", "Requested by: Alice", "Days: three days"]
    assert [each["text"]["text"] for each in sections] == shown
    decisions = [Button.model_validate_json(each["value"]).decision for each in row["elements"]]
    assert [(d.approval, d.digest, d.verdict) for d in decisions if d] == [
        ("a1", "d1", verdict) for verdict in ("approve", "reject", "return")
    ]
    assert (field["type"], field["optional"]) == ("input", True)


def test_a_decided_card_has_no_buttons() -> None:
    decided = DecisionRequest(APPROVAL, "Alice", "en", "✅ approved")
    assert [block["type"] for block in blocks(decided)] == [*["section"] * 3, "context"]
    assert [element["tag"] for element in card(decided)["elements"]] == [*["div"] * 3, "note"]


def test_a_reason_makes_no_field_and_turns_none_round() -> None:
    both = (Localised(zh=text, en=text) for text in ("rent\nAmount: ¥1", "¥480,000 שלום"))
    texts = dict(zip(("reason", "amount"), both, strict=True))
    names = {name: Localised(zh=name, en=name.title()) for name in texts}
    title = Localised(zh="", en="Pay for rent\nAmount: ¥1\u202e\u2028Requested by: Carol")
    hostile = {"title": title, "summary": texts, "labels": names}
    request = DecisionRequest(APPROVAL.model_copy(update=hostile), "Ali\u200bce", "en")
    expected = [
        "For your approval: Pay for rent Amount: ¥1 Requested by: Carol",
        "Requested by: Alice",
        "Reason: rent\n    Amount: ¥1",
        "Amount: \u2068¥480,000 שלום\u2069",
    ]
    on_slack = [each["text"]["text"] for each in blocks(request) if each["type"] == "section"]
    on_feishu = [e["text"]["content"] for e in card(request)["elements"] if e["tag"] == "div"]
    assert on_slack == on_feishu == expected
    ask = ConfirmReply(text="File it?", summary={n: t.en for n, t in texts.items()}, question="q")
    for shown in (blocks(said(ask)), card(said(ask))["elements"]):
        assert str(shown).count("\\n    Amount: ¥1") == 1
        assert str(shown).count("\\nAmount") == 0


def test_a_card_is_cut_in_no_value_and_ends_somewhere() -> None:
    many = {str(n): Localised(zh="x", en=f"value {n}") for n in range(100)}
    names = {name: Localised(zh="x", en=f"Field {name}") for name in many}
    long = {"0": Localised(zh="x", en="\n".join(["line"] * 800))}
    record = APPROVAL.model_copy(update={"summary": many | long, "labels": names})
    made = blocks(DecisionRequest(record, "Alice", "en"))
    texts = [each["text"]["text"] for each in made if each["type"] == "section"]
    assert len(made) <= 50
    assert all(len(text) <= 3000 and not text.endswith("lin") for text in texts)
    assert "Field 99: value 99" in texts[-1].split("\n")


def test_feishu_sends_a_return_with_a_word_alone() -> None:
    *_, row, form = card(DecisionRequest(APPROVAL, "Alice", "en"))["elements"]
    assert [each["text"]["content"] for each in row["actions"]] == ["Approve", "Reject"]
    field, button = form["elements"]
    assert (field["tag"], field["required"]) == ("input", True)
    assert (button["text"]["content"], button["action_type"]) == ("Return", "form_submit")


@each_row("count", [1, 25, 26, 100])
def test_rows_of_buttons_are_as_long_as_they_may_be(count: int) -> None:
    options = [Option(label="x" * 200, value=n) for n in range(count)]
    _, *rows = blocks(said(ChoicesReply(text="Which?", options=options)))
    elements = [each for row in rows for each in row["elements"]]
    assert len(elements) == count
    assert all(len(row["elements"]) <= 25 for row in rows)
    assert all(len(each["text"]["text"]) <= 75 for each in elements)
    assert len({each["action_id"] for each in elements}) == count


def test_what_no_button_can_carry_is_said_with_its_number() -> None:
    ask = ChoicesReply(text="Which?", options=[Option(label="long", value="x" * 3000)])
    (section,) = blocks(said(ask))
    assert section["text"]["text"] == "Which?\n\n1. long"


def test_long_texts_are_cut_into_sections_and_too_long_ones_have_none() -> None:
    assert len(blocks(said(TextReply(text="x" * 7000)))) == 3
    assert blocks(said(*[TextReply(text="x")] * 51)) == []


@each_row("hostile", ["<!channel>", "<@U1>", "<https://evil.test|bank>", "&lt;"])
def test_nothing_that_is_said_is_a_mention_or_a_link(hostile: str) -> None:
    text = fallback(said(TextReply(text=hostile)))
    assert not set(text) & {"<", ">"}
    assert plain(text) == hostile
    assert "mrkdwn" not in json.dumps(blocks(said(TextReply(text=hostile))))
    assert "lark_md" not in json.dumps(card(said(TextReply(text=hostile))))


@each_row(
    ("sent", "meant"),
    [
        ("see <https://wiki.example/a?b=1&amp;c=2>", "see https://wiki.example/a?b=1&c=2"),
        ("<https://wiki.example/a|the wiki> has it", "the wiki (https://wiki.example/a) has it"),
        ("<http://wiki.example|wiki.example>", "http://wiki.example"),
        ("ask <mailto:bob@house.example|bob@house.example>", "ask bob@house.example"),
        ("<tel:+8613800000000|+86 138 0000 0000>", "+86 138 0000 0000"),
        ("<!channel> <!subteam^S1|@finance> in <#C1|general>", "@channel @finance in #general"),
        ("<!date^1392734382^{date}|18 February>", "18 February"),
        ("<@U0DESK> <@U1|bob> is away", "@bob is away"),
        ("R&amp;D, 3 &lt; 5, &lt;https://a.test&gt;", "R&D, 3 < 5, <https://a.test>"),
        ("<> <|> < <https://a.test", "<> <|> < <https://a.test"),
    ],
)
def test_slack_s_markup_is_read_as_whoever_typed_saw_it(sent: str, meant: str) -> None:
    assert plain(sent) == meant


def test_a_form_is_answered_in_words() -> None:
    fields = [FormField(name=n, type="date", label=n.title()) for n in ("start", "end")]
    form = FormReply(text="When?", fields=fields)
    assert [block["type"] for block in blocks(said(form))] == ["section"]
    (element,) = card(said(form))["elements"]
    assert element["text"]["content"] == "When?\n\n- Start (required)\n- End (required)"
