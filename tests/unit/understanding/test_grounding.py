from typing import Any

from router.domain.locale import Localised
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot
from router.understanding.grounding import says, with_brackets
from tests.table import each_row
from tests.unit.entities.tables import spread
from tests.unit.understanding.dialogue import NOW

AMOUNT = Slot(type="integer", ask=Localised(zh="多少？", en="How much?"))
URGENT = Slot(
    type="boolean",
    label=Localised(zh="加急", en="urgent"),
    ask=Localised(zh="加急吗？", en="Urgent?"),
)
TAGS = Slot(type="list", of=Slot(type="integer"), ask=Localised(zh="哪些？", en="Which?"))


def stated(text: str, name: str, slot: Slot, value: Any) -> bool:
    return says(Utterance.of(text, NOW), name, slot, value)


@each_row(
    ("value", "text"),
    spread(
        (7778, "please make the amount 7778 instead  make it 7,778  金额应该是７７７８"),
        (7778, "金额改成7778元"),
        (7778.0, "please make the amount 7778 instead"),
        ("7778", "please make the amount 7778 instead  make it 7,778"),
        (7000, "改成七千  seven thousand please"),
        (7500, "make it 7.5k"),
        (-5, "it was -5 degrees"),
        (1, "make it one  改成一"),
        (12.5, "take 12.50"),
        (3, "3 days, I meant"),
    ),
)
def test_a_number_is_said_however_it_is_written(text: str, value: Any) -> None:
    assert stated(text, "amount", AMOUNT, value)


@each_row(
    ("text", "value"),
    [
        ("please change the amount", 7778),
        ("make the amount 7778", 778),
        ("make the amount 7778", 77780),
        ("make the amount 7778", -7778),
        ("room A7778", 7778),
        ("改一下原因", 1),
        ("this one is wrong", 1),
        ("下周二，11月24日", 24),
        ("at 14:30", 14),
        ("", 0),
        ("nan", float("nan")),
        ("inf", float("inf")),
        ("1" * 8000, 1),
        ("万" * 8000, 10_000),
        ("7778", None),
        ("7778", {}),
        ("7778", {"amount": 7778}),
        ("7778", []),
        ("7778", "  "),
    ],
)
def test_what_the_message_does_not_say_is_not_said(text: str, value: Any) -> None:
    assert not stated(text, "amount", AMOUNT, value)


@each_row(
    ("value", "text"),
    spread(
        (True, "and make it urgent please  要加急  set it to yes"),
        (False, "it is not urgent  不加急了  urgent = no  改成否"),
    ),
)
def test_yes_and_no_are_said_of_what_is_named(text: str, value: bool) -> None:
    assert stated(text, "is_urgent", URGENT, value)
    assert not stated(text, "is_urgent", URGENT, not value)


@each_row("text", ["no, make the amount 7778", "金额是7778", "嗯，改成7778", "ok"])
def test_a_yes_or_no_to_something_else_says_nothing_of_it(text: str) -> None:
    assert not stated(text, "is_urgent", URGENT, True)
    assert not stated(text, "is_urgent", URGENT, False)


def test_a_list_is_said_where_each_of_it_is() -> None:
    assert stated("use 12 and 30", "tags", TAGS, [12, 30])
    assert not stated("use 12 and 30", "tags", TAGS, [12, 31])


BRACKETS = {
    "lost": ("1280 + 365.5 * 3 / 4", "请精确计算 (1280 + 365.5) * 3 / 4", "(1280 + 365.5) * 3 / 4"),
    "lost at the end": ("4 * 2+3", "4*(2+3)=?", "4*(2+3)"),
    "of the full width": ("(1+2)*3", "（1+2）*3 等于几", "（1+2）*3"),
    "around all of it": ("2+3", "add up (2+3), please", "(2+3)"),
    "that open nothing": ("2+3", "the list: a) 2+3", "2+3"),
    "that close nothing": ("2+3", "it is 2+3)", "2+3"),
    "crossed": ("2+3", "([2+3)]", "2+3"),
    "of other words": ("2 + 3", "two and three", "2 + 3"),
    "alone": ("()", "( ) and ()", "()"),
    "of nothing": ("", "(2+3)", ""),
}


@each_row(("given", "text", "said"), BRACKETS.values(), ids=BRACKETS)
def test_a_sum_keeps_the_brackets_that_it_was_said_with(given: str, text: str, said: str) -> None:
    assert with_brackets(given, text) == said
