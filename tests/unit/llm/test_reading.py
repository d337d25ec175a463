"""Answers of every hostile shape; the same without a server in between."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from router.domain.errors import MisconfiguredError
from router.llm.protocols import chat_completions, protocol
from router.llm.stream import Speech
from router.llm.types import ChatAnswer, How
from tests.table import each_row
from tests.unit.llm.asking import question
from tests.unit.llm.test_json_reading import JSON

HOWS: list[How] = ["functions", "json_schema", "json_object", "text"]
ANNUAL = {"leave_type": "annual"}


def test_a_protocol_is_found_by_its_name() -> None:
    assert protocol("chat_completions") is chat_completions
    with pytest.raises(MisconfiguredError, match="no protocol 'gopher'; there are: anthropic, ch"):
        protocol("gopher")


def read(message: Any, how: How = "functions", finish: Any = "stop", **more: Any) -> ChatAnswer:
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    return chat_completions.read(body, question(**more), how, "m")


def call(name: Any, arguments: Any, id_: str = "c") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def balance(arguments: Any, **more: Any) -> ChatAnswer:
    return read({"tool_calls": [call("get_balance", arguments)]}, **more)


@each_row(
    ("arguments", "repaired"),
    [
        ('{"leave_type": "annual"}', False),
        (ANNUAL, False),
        ('{"leave_type": "annual",}', True),
        ("{'leave_type': 'annual'}", True),
        ('{"leave_type": "annual"', True),
        ('"{\\"leave_type\\": \\"annual\\"}"', True),
        ('{"leave_type": "annual", "year": null}', False),
    ],
)
def test_arguments_are_read_where_they_are_certain(arguments: Any, repaired: bool) -> None:
    answer = balance(arguments)
    assert [(one.arguments, one.repaired) for one in answer.calls] == [(ANNUAL, repaired)]
    assert answer.problems == ()


@each_row("arguments", [None, "", "{}", {}, "null", '""', "  "])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert balance(arguments).calls[0].arguments == {}


@each_row("arguments", ["[1]", "3", [1], 3, True, '"x"', '{"leave_type": "ann'])
def test_other_arguments_are_a_problem_that_names_the_call(arguments: Any) -> None:
    answer = balance(arguments)
    assert answer.calls == ()
    assert answer.problems[0].text.startswith("call 1 (get_balance): its arguments can't be read: ")


def test_arguments_cut_by_the_limit_are_not_completed_and_those_before_them_kept() -> None:
    answer = balance('{"leave_type": "annual"', finish="length")
    assert (answer.calls, len(answer.problems)) == ((), 2)
    whole, cut = call("get_balance", ANNUAL), call("get_balance", '{"leave_type": "si', "d")
    answer = read({"tool_calls": [whole, cut]}, finish="length")
    assert [one.arguments for one in answer.calls] == [ANNUAL]


def test_a_million_broken_calls_are_one_problem_more_than_looked_at() -> None:
    assert len(read({"tool_calls": [None] * 100_000}).problems) == 101


def test_a_name_is_not_shortened_to_one_that_was_offered() -> None:
    offered = question().functions[0].model_copy(update={"name": "x" * 64})
    assert not read({"tool_calls": [call("x" * 65, {})]}, functions=(offered,)).calls[0].known


def test_the_same_call_twice_is_one_call() -> None:
    answer = read({"tool_calls": [call("get_balance", ANNUAL)] * 2})
    assert len(answer.calls) == 1
    assert [*map(str, answer.problems)] == ["call 2 (get_balance) repeats the call 'c'"]


@each_row("entry", [None, 3, "x", [], {}, call(None, {}), call("", {}), call([], {})])
def test_a_call_without_a_name_is_named_by_its_place(entry: Any) -> None:
    answer = read({"tool_calls": [entry, call("get_balance", ANNUAL)]})
    assert len(answer.calls) == 1
    assert [*map(str, answer.problems)] == ["call 1 names no function"]


WRITTEN = '{"name": "get_balance", "arguments": {"leave_type": "annual"}}'


@each_row(
    ("text", "hows"),
    [
        (f"<tool_call>{WRITTEN}</tool_call>", HOWS),
        (f"<tool_call>\n{WRITTEN}", HOWS),
        ("<tool_call>" + WRITTEN.replace('"', "'") + "</tool_call>", HOWS),
        ('<function=get_balance>{"leave_type": "annual"}</function>', HOWS),
        (f"[TOOL_CALLS][{WRITTEN}]", HOWS),
        (f"```json\n{WRITTEN.replace('arguments', 'parameters')}\n```", HOWS),
        (f"```\n[{WRITTEN}]\n```", HOWS),
        (WRITTEN, HOWS),
        (f'{{"calls": [{WRITTEN}]}}', HOWS),
        (json.dumps({"function": {"name": "get_balance", "arguments": json.dumps(ANNUAL)}}), HOWS),
        ('get_balance(leave_type="annual")', HOWS),
        ("get_balance(leave_type='annual', year=None)", HOWS),
        (f'<think>{{"x"</think>\n{WRITTEN}', HOWS),
        # Within sentences only where a decision was asked for.
        (f'Sure! {{"calls": [{WRITTEN}]}}', HOWS[1:]),
        (f'Sure:\n```\n{{"calls":[{WRITTEN}]}}\n```\nOk.', HOWS[1:]),
        (f'好的：{{"calls": [{WRITTEN}', HOWS[1:]),
    ],
)
def test_calls_written_as_text_are_calls(text: str, hows: list[How]) -> None:
    for how in hows:
        answer = read({"content": text}, how)
        assert [(one.name, one.arguments) for one in answer.calls] == [("get_balance", ANNUAL)]
        assert (answer.text, answer.problems) == ("", ())


@each_row(
    "text",
    [
        "Call get_balance(leave_type='annual') to see it.",
        'Write it as {"name": "get_balance"}, please.',
        'For example:\n```json\n{"name": "get_balance"}\n```',
        "print(1)",
        "get_balance(annual)",
        'get_balance(leave_type="a b=c")',
        "你好",
        "<3",
        '{"name": "Alice", "arguments": {}}',
    ],
)
def test_text_about_calls_and_json_of_unknown_functions_stay_text(text: str) -> None:
    answer = read({"content": text})
    assert (answer.text, answer.calls) == (text, ())


def test_text_around_marked_calls_is_kept() -> None:
    answer = read({"content": 'One moment.\n<tool_call>{"name": "get_balance"}</tool_call>'})
    assert (answer.text, len(answer.calls)) == ("One moment.", 1)


def test_a_marked_call_that_cannot_be_read_is_named_and_not_shown_to_the_user() -> None:
    answer = read({"content": "<tool_call>{get it}</tool_call>"})
    assert (answer.text, answer.calls) == ("", ())
    assert "<tool_call>{get it}</tool_call>" in answer.problems[0].text


@each_row("how", HOWS[1:])
@each_row("text", ['{"calls": [{"name": "get_bal', "{}", '{"x": 1}', "[1]"])
def test_broken_decisions_are_problems_and_not_text(text: str, how: How) -> None:
    answer = read({"content": text}, how, finish="length")
    assert (answer.text, answer.calls, len(answer.problems)) == ("", (), 2)


def test_json_that_names_an_offered_function_is_calls_even_beside_an_invented_one() -> None:
    text = '[{"name": "get_balance", "arguments": {}}, {"name": "drop", "arguments": {}}]'
    assert [call.known for call in read({"content": text}).calls] == [True, False]


@each_row("how", HOWS[1:])
def test_plain_text_where_json_was_asked_for_is_said(how: How) -> None:
    assert read({"content": "你好"}, how).text == "你好"


@each_row("usage", [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": "7"}, [], 3])
def test_usage_nobody_can_use_is_estimated(usage: Any) -> None:
    body = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
    assert chat_completions.read(body, question(), "functions", "m").usage.estimated


def test_content_in_parts_is_text() -> None:
    assert read({"content": [{"type": "text", "text": "a"}, {"text": "b"}, 3]}).text == "ab"


@pytest.mark.slow
@given(JSON, st.sampled_from(HOWS))
def test_any_json_is_an_answer(body: Any, how: How) -> None:
    assert isinstance(chat_completions.read(body, question(), how, "m"), ChatAnswer)


KEYS = ("content", "refusal", "tool_calls", "function_call", "function", "name", "arguments", "id")
SHAPES = st.recursive(
    JSON | st.sampled_from(["get_balance", "respond_message", "{", '{"leave_type": "annual"}']),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=30,
)


@pytest.mark.slow
@given(SHAPES, JSON, st.sampled_from(HOWS))
def test_any_message_is_an_answer_that_can_be_stored(message: Any, finish: Any, how: How) -> None:
    answer = read(message, how, finish)
    assert ChatAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert len({one.id for one in answer.calls}) == len(answer.calls) <= 8


MARKED = st.lists(
    st.sampled_from(
        [
            *("<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "```", "{", "}"),
            *('"', '"name"', ":", '"get_balance"', "get_balance(", ")", "=", ",", "[", "]"),
            *("[TOOL_CALLS]", "<function=x>", "\n", "年假", "\ud83d", "\x00"),
        ]
    )
).map("".join)


@given(MARKED | st.text(), st.sampled_from(HOWS))
def test_any_text_is_an_answer_that_can_be_stored(text: str, how: How) -> None:
    answer = read({"content": text}, how)
    assert ChatAnswer.model_validate_json(answer.model_dump_json()) == answer


@pytest.mark.slow
@given(st.lists(SHAPES | JSON, max_size=6), st.sampled_from(HOWS))
def test_any_events_make_an_answer(events: list[Any], how: How) -> None:
    answer, speech = (
        chat_completions.partial(),
        Speech(how, ["get_balance"], {"respond_message": "text"}),
    )
    for event in events:
        answer.add({"choices": [{"delta": event}]})
        answer.add(event)
        speech.more(answer).encode()
    assert isinstance(chat_completions.read(answer.body(), question(), how, "m"), ChatAnswer)


@given(MARKED | st.text(), st.integers(1, 5))
@example("\0<think>Hm.</think>", 1)
@example("get_balance()", 1)
@example("get_balance( is what I would call", 4)
def test_what_was_told_early_is_what_was_meant(text: str, step: int) -> None:
    answer, speech = chat_completions.partial(), Speech("functions", ["get_balance"], {})
    told = ""
    for at in range(0, len(text), step):
        answer.add({"choices": [{"delta": {"content": text[at : at + step]}}]})
        told += speech.more(answer)
    whole = read({"content": text}).text
    assert told.strip() == "" or "".join(told.split()) in "".join(whole.split())
