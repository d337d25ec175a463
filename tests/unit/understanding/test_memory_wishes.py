"""Which messages wish to have something remembered, forgotten or listed, and what of it is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from router.domain import commands
from router.domain.errors import InvalidInput
from router.domain.messages import ChooseAction, Message, Option
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.understanding.memory_wishes import (
    FORGET_ALL,
    KEEP_ALL,
    forgetting,
    memory_signs,
    memory_wish,
    to_remember,
)
from tests.table import each_row
from tests.unit.understanding.dialogue import NOW, asking, read
from tests.unit.understanding.flows import LEAVE

WISHES = Path(__file__).parent / "data" / "memory_wishes.txt"


def rows() -> Iterator[tuple[str, str, str]]:
    for line in WISHES.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, text, *thing = (part.strip() for part in line.split(" | "))
            yield kind, text, thing[0] if thing else ""


def told(text: str) -> tuple[str, str]:
    match memory_wish(Utterance.of(text, NOW)):
        case commands.Remember(text=thing):
            return "remember", thing
        case commands.Forget(all=True):
            return "forget-all", ""
        case commands.Forget(text=thing):
            return "forget", thing
        case commands.ListMemories():
            return "list", ""
    return "-", ""


ROWS = list(rows())


@each_row(("kind", "text", "thing"), ROWS, ids=[text for _, text, _ in ROWS])
def test_a_message_wishes_for_what_it_says(kind: str, text: str, thing: str) -> None:
    assert told(text) == (kind, thing)


def test_the_set_has_as_many_near_misses_as_make_a_figure() -> None:
    kinds = [kind for kind, _, _ in ROWS]
    assert len(kinds) >= 60
    assert kinds.count("-") >= 40


@each_row("length", [1, 40, 4000])
def test_a_book_or_nothing_is_no_wish(length: int) -> None:
    assert told("记住" * length) == ("-", "")


def test_while_a_flow_asks_a_wish_is_heard_and_no_answer() -> None:
    reading = read("记住我吃素", asking(LEAVE, "reason"))
    assert reading.commands == [commands.Remember(text="我吃素")]


def test_a_button_says_itself_what_is_forgotten() -> None:
    for value, wished in (
        (forgetting("abc"), commands.Forget(id="abc")),
        (FORGET_ALL, commands.Forget(all=True, sure=True)),
        (KEEP_ALL, commands.Forget()),
    ):
        pressed = Message(action=ChooseAction(type="choose", value=value))
        assert read(pressed).commands == [wished]


def test_a_buttons_words_do_what_it_does_and_a_request_that_has_them_does_not() -> None:
    undo = [Option(label="撤销", value=forgetting("abc"))]
    assert read("撤销", offered=undo).commands == [commands.Forget(id="abc")]
    assert commands.Forget(id="abc") not in read("撤销我昨天的请假", offered=undo).commands


@each_row(
    ("text", "signs"),
    [
        ("我想请假，另外以后请记得我是素食者", {"remember"}),
        ("please keep in mind I'm vegan and book a trip", {"remember"}),
        ("请假三天", set()),
    ],
    ids=["zh", "en", "none"],
)
def test_a_model_may_keep_only_where_the_message_has_words_for_it(
    text: str, signs: set[str]
) -> None:
    assert memory_signs(normalise(text).text) == signs


@each_row(
    "text",
    [
        "我的密码是 hunter2",
        "my password is correct-horse",
        "api key: sk-abcdefghijklmnop1234",
        "我的身份证号 110101199003071233",
        "card 4111 1111 1111 1111",
        "x" * 501,
        " \t ",
        "!!!",
        "\u202e\u200b",
    ],
    ids=["zh", "en", "key", "id", "card", "long", "blank", "marks", "unseen"],
)
def test_what_cannot_be_remembered_is_refused_in_both_languages(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        to_remember(text)
    assert refused.value.said.zh.startswith("没有记住：")
    assert refused.value.said.en.startswith("Not remembered: ")
    assert text.strip(" \t") == "" or text not in str(refused.value)


def test_what_is_remembered_is_one_line_that_can_be_seen() -> None:
    assert to_remember("我在\n上海\u202e 办公室") == "我在 上海 办公室"
