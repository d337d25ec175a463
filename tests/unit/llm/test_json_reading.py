import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.llm.json_repair import NotJson, Read, read_json
from tests.table import each_row

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@each_row(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2, ]", [1, 2]),
        ('{"a": {"b": "c"', {"a": {"b": "c"}}),
        ('{"a": [1, 2]', {"a": [1, 2]}),
        ('{"a": true', {"a": True}),
        ('{"a": "b",', {"a": "b"}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}\n}]', {"a": 1}),
        ("{'a': 'b', 'c': True, 'd': None}", {"a": "b", "c": True, "d": None}),
        ('{"a": "x\0y"}', {"a": "xy"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": "x\\u0000y\\ud800"}', {"a": "xy\ufffd"}),
    ],
)
def test_what_is_certain_is_mended(text: str, value: Any) -> None:
    assert read_json(text) == Read(value, repaired=True)


@each_row(
    "text",
    [
        *("", "   ", "hello", '{"a": tr', '{"a":', '{"a"', "{a: 1}", '{"a": "cut in the mid'),
        *('{"days": 12', "{'a': 'b', 'c': [1, 2", '{"a": 1]', '{"a": 1} and more'),
        *("{'a': 'it's'}", "{'a': 'say \"x\"'}", '{"a": "b" "c"}', '{"a": 1}{"a": 2}'),
        *('{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', "9" * 5000),
        *("[" * 100_000, '{"a":' * 60 + "1" + "}" * 60, '"' + "x" * 300_000 + '"'),
    ],
)
def test_what_is_not_certain_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        read_json(text)


def test_nothing_is_closed_where_more_was_cut_off() -> None:
    with pytest.raises(NotJson):
        read_json('{"leave_type": "annual"', cut=True)


def test_the_same_value_twice_contradicts_nothing() -> None:
    assert read_json('{"a": 1, "a": 1}').value == {"a": 1}


@pytest.mark.slow
@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    text = json.dumps(value)
    if "\\u0000" not in text and "\\ud" not in text:
        assert read_json(text) == Read(value)


@pytest.mark.slow
@given(JSON, st.integers(0, 200), st.booleans())
def test_cut_json_is_read_or_refused(value: Any, at: int, cut: bool) -> None:
    try:
        read_json(json.dumps(value, ensure_ascii=False)[:at], cut)
    except NotJson as error:
        assert str(error)  # noqa: PT017


@given(st.text(alphabet="{}[]\"',:\\ aT1\n\0\ud800"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_json(text)
    except NotJson as error:
        assert str(error)  # noqa: PT017
