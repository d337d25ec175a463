"""What of a model's answer can't be used has a kind, which no words of the answer can change."""

from typing import Any

from router.llm.types import AnswerProblemKind
from router.routing import replies
from tests.table import each_row
from tests.unit.llm.asking import question
from tests.unit.llm.test_reading import ANNUAL, call, read

FINE = call("get_balance", ANNUAL)


@each_row(
    ("message", "kind", "text"),
    [
        ({"tool_calls": [call("get_balance", "[1]")]}, "unreadable", "can't be read"),
        ({"content": "<tool_call>{get it}</tool_call>"}, "unreadable", "can't be read"),
        ({"tool_calls": [call("", {})]}, "nameless", "names no function"),
        ({"tool_calls": [call("make_coffee", {})]}, "unoffered", "'make_coffee'"),
        ({"tool_calls": [call("can't be read", {})]}, "unoffered", "can't be read"),
        ({"tool_calls": [FINE, FINE]}, "repeated", "repeats the call"),
    ],
)
def test_each_has_a_kind_and_a_text_for_the_model(
    message: dict[str, Any], kind: AnswerProblemKind, text: str
) -> None:
    (problem,) = read(message).problems
    assert problem.kind == kind
    assert text in problem.text


def test_only_calls_that_were_not_taken_are_named_to_the_person() -> None:
    name = "x calls are taken at once; left out: y"
    made_up = read({"tool_calls": [call(name, {})]})
    assert replies.left_out(made_up, "en") == ""


def test_calls_beyond_the_limit_are_named_to_the_person() -> None:
    numbers = range(question().max_calls)
    calls = [call("get_balance", {"leave_type": str(n)}, str(n)) for n in numbers]
    answer = read({"tool_calls": [*calls, call("book", {}, "last")]})
    assert [problem.kind for problem in answer.problems] == ["surplus"]
    assert "Not done: book." in replies.left_out(answer, "en")
