"""Adaptive Cards within what Teams takes, and nothing in them that acts by itself."""

import json
from typing import Any

import pytest

from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FormField,
    FormReply,
    Option,
    TextReply,
)
from router.domain.text_tables import written
from router.extensions.channels.base import Button, DecisionRequest, Post, Statement
from router.extensions.teams.adaptive_cards import LARGEST, cards_of, size_of, summary_of
from tests.fakes.teams import Body, within
from tests.table import each_row
from tests.unit.extensions.channels.test_blocks import APPROVAL, ASK, said

DECISION = DecisionRequest(APPROVAL, "Alice", "en")


def shown(post: Post) -> list[Body]:
    """All elements of all its cards."""
    return [each for card in cards_of(post) for each in within(card)]


def texts(post: Post) -> list[str]:
    return [each["text"] for each in shown(post) if each.get("type") == "TextRun"]


def actions(post: Post) -> list[Body]:
    return [each for each in shown(post) if str(each.get("type")).startswith("Action.")]


def test_buttons_answer_the_question_that_they_stand_under() -> None:
    confirm, other, cancel = actions(said(ASK))
    assert texts(said(ASK)) == ["File it?", "Days: 3"]
    assert [each["title"] for each in (confirm, other, cancel)] == [
        "Confirm",
        "Not right",
        "Cancel",
    ]
    packed = [confirm["data"]["button"], other["data"]["button"]]
    pressed = [Button.model_validate_json(each).pressed for each in packed]
    assert [one and one.action for one in pressed] == [
        ConfirmAction(type="confirm", value=value, question="q1") for value in (True, False)
    ]
    assert (confirm["type"], confirm["style"]) == ("Action.Submit", "positive")


def test_what_gives_up_is_asked_again_before_it_counts() -> None:
    *_, cancel = actions(said(ASK))
    assert (cancel["type"], "data" in cancel) == ("Action.ShowCard", False)
    (sure,) = cancel["card"]["actions"]
    assert "Really give it up?" in json.dumps(cancel["card"]["body"])
    button = Button.model_validate_json(sure["data"]["button"])
    assert button.pressed is not None
    assert button.pressed.action == ChooseAction(type="choose", value="act:cancel", question="q1")
    assert (sure["type"], sure["style"]) == ("Action.Submit", "destructive")


def test_an_approver_decides_on_what_is_shown_with_a_field_beside_the_buttons() -> None:
    assert texts(DECISION) == [
        "For your approval: Leave",
        "Requested by: Alice",
        "Days: three days",
    ]
    decisions = [Button.model_validate_json(each["data"]["button"]) for each in actions(DECISION)]
    made = [one.decision for one in decisions]
    assert [(d.approval, d.digest, d.verdict) for d in made if d] == [
        ("a1", "d1", verdict) for verdict in ("approve", "reject", "return")
    ]
    assert {each["type"] for each in actions(DECISION)} == {"Action.Execute"}
    (field,) = [each for each in shown(DECISION) if each.get("type") == "Input.Text"]
    assert (field["id"], field["maxLength"]) == ("comment", 1000)


def test_a_decided_card_says_so_and_has_neither_buttons_nor_a_field() -> None:
    decided = DecisionRequest(APPROVAL, "Alice", "en", "✅ approved")
    assert texts(decided)[-1] == "✅ approved"
    assert actions(decided) == []
    assert "Input.Text" not in json.dumps(cards_of(decided))


def test_a_reason_makes_no_field_and_turns_none_round() -> None:
    both = (Localised(zh=text, en=text) for text in ("rent\nAmount: ¥1", "¥480,000 שלום"))
    summary = dict(zip(("reason", "amount"), both, strict=True))
    labels = {name: Localised(zh=name, en=name.title()) for name in summary}
    title = Localised(zh="", en="Pay for rent\nAmount: ¥1\u202e\u2028Requested by: Carol")
    hostile = {"title": title, "summary": summary, "labels": labels}
    request = DecisionRequest(APPROVAL.model_copy(update=hostile), "Ali\u200bce", "en")
    no_break = "\u00a0" * 4
    assert texts(request) == [
        "For your approval: Pay for rent Amount: ¥1 Requested by: Carol",
        "Requested by: Alice",
        "Reason: rent",
        # Blanks that break are one where a card is shown, and at the start of a line none.
        f"{no_break}Amount: ¥1",
        "Amount: \u2068¥480,000 שלום\u2069",
    ]


@each_row(
    "hostile",
    ["[bank](https://evil.test)", "![x](https://evil.test/x)", "**bold**", "<at>Bob</at>", "# H"],
)
def test_nothing_that_is_said_is_markup(hostile: str) -> None:
    options = [Option(label="a", value="a")]
    statement = Statement(
        [TextReply(text=hostile), ChoicesReply(text=hostile, options=options)], "c1", "en"
    )
    for post in (statement, DecisionRequest(APPROVAL, hostile, "en")):
        kinds = {each.get("type") for each in shown(post) if hostile in str(each.get("text"))}
        assert kinds == {"TextRun"}
        assert not {"TextBlock", "FactSet", "Image"} & {each.get("type") for each in shown(post)}
        assert "entities" not in json.dumps(cards_of(post))


def test_a_table_is_one_with_its_amounts_on_the_right() -> None:
    text = f"What is left:\n{written(['kind', 'days'], [['annual', '12'], ['a|b', '3']])}"
    card, *others = cards_of(said(TextReply(text=text)))
    before, table = card["body"]
    assert others == []
    assert before["inlines"][0]["text"] == "What is left:"
    assert table["type"] == "Table"
    assert [column.get("horizontalCellContentAlignment") for column in table["columns"]] == [
        None,
        "Right",
    ]
    rows = [[run["text"] for run in within(row) if "text" in run] for row in table["rows"]]
    assert rows == [["kind", "days"], ["annual", "12"], ["a|b", "3"]]


def test_a_long_table_goes_on_with_its_head_and_one_of_huge_cells_is_told_in_lines() -> None:
    long = written(["n"], [[f"row {n}"] for n in range(45)])
    tables = [each for each in shown(said(TextReply(text=long))) if each.get("type") == "Table"]
    assert [len(each["rows"]) for each in tables] == [21, 21, 6]
    huge = written(["kind", "note"], [["a", "x" * 9000]])
    assert "Table" not in {each.get("type") for each in shown(said(TextReply(text=huge)))}
    assert sum(text.count("x") for text in texts(said(TextReply(text=huge)))) == 9000


@pytest.mark.slow
@each_row("text", ["x" * 60_000, "\n".join("x" * 20_000), "𝔘" * 20_000, "\n" * 9000, '"\\' * 9000])
def test_what_is_too_long_for_a_card_goes_on_in_the_next(text: str) -> None:
    made = cards_of(said(TextReply(text=text)))
    assert all(size_of(card) <= LARGEST for card in made)
    assert "".join(texts(said(TextReply(text=text)))) == text.replace("\n", "")


def test_only_the_last_card_of_a_long_request_has_buttons_and_one_says_what_came_of_it() -> None:
    many = {str(n): Localised(zh="x", en=f"value {n} " + "y" * 1500) for n in range(60)}
    names = {name: Localised(zh="x", en=f"Field {name}") for name in many}
    record = APPROVAL.model_copy(update={"summary": many, "labels": names})
    made = cards_of(DecisionRequest(record, "Alice", "en"))
    assert len(made) > 1
    assert all(size_of(card) <= LARGEST for card in made)
    assert ["ActionSet" in json.dumps(card) for card in made] == [*[False] * (len(made) - 1), True]
    assert "Field 59: value 59" in json.dumps(made)
    decided = DecisionRequest(record, "Alice", "en", "✅ approved")
    assert texts(decided) == ["For your approval: Leave", "✅ approved"]
    assert len(cards_of(decided)) == 1


@each_row("count", [1, 6, 7, 100])
def test_rows_of_buttons_are_as_long_as_they_may_be(count: int) -> None:
    options = [Option(label="x" * 200, value=n) for n in range(count)]
    post = said(ChoicesReply(text="Which?", options=options))
    sets = [each["actions"] for each in shown(post) if each.get("type") == "ActionSet"]
    assert sum(map(len, sets)) == len(actions(post)) == count
    assert all(len(each) <= 6 for each in sets)
    assert all(len(each["title"]) <= 100 for each in actions(post))
    assert all(size_of(card) <= LARGEST for card in cards_of(post))


def test_what_no_button_can_carry_is_said_with_its_number() -> None:
    ask = ChoicesReply(text="Which?", options=[Option(label="long", value="x" * 3000)])
    assert (actions(said(ask)), texts(said(ask))) == ([], ["Which?", "1. long"])


def test_a_form_is_answered_in_words() -> None:
    fields = [FormField(name=n, type="date", label=n.title()) for n in ("start", "end")]
    form = said(FormReply(text="When?", fields=fields))
    assert (actions(form), texts(form)) == ([], ["When?", "- Start (required)", "- End (required)"])


@each_row(
    ("post", "told"),
    [
        (said(TextReply(text="two\nlines")), "two lines"),
        (said(ASK), "File it?"),
        (DECISION, "For your approval: Leave"),
        (said(TextReply(text="x" * 900)), "x" * 199 + "…"),
    ],
)
def test_a_notification_is_one_line(post: Any, told: str) -> None:
    assert summary_of(post).startswith(told)
    assert "\n" not in summary_of(post)


def test_a_question_with_words_of_its_own_has_those_on_its_buttons() -> None:
    own = ConfirmReply(text="Sure?", summary={}, question="q", yes="Go ahead", no="Leave it")
    assert [each["title"] for each in actions(said(own))] == ["Go ahead", "Leave it"]
