"""Chinese labels of arguments: shown on forms, hidden from models."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from router.llm.schema import portable
from router.routing.tool_form import form_of, slot_of
from router.tool.implementation import ArgumentSchema
from router.tool.labels import LONGEST, ChineseLabel
from router.tool.tool import Tool, tool


@tool(permission="read", description_zh="找一间会议室。")
async def find_room(
    seats: Annotated[int, Field(description="How many come", ge=1), ChineseLabel("人数")],
    size: Annotated[
        Literal["big", "small"] | None, Field(description="How big"), ChineseLabel("大小")
    ] = None,
) -> str:
    """A meeting room."""
    return f"{seats} {size}"


def zh_of(schema: dict[str, Any], name: str = "what") -> tuple[str, str]:
    slot = slot_of(name, schema, required=True)
    assert slot is not None
    assert slot.label is not None
    assert slot.ask is not None
    return slot.label.zh, slot.ask.zh


def test_a_parameter_is_called_what_its_label_says() -> None:
    form = form_of(find_room)
    assert form is not None
    assert [s.label and (s.label.zh, s.label.en) for s in form.slots.values()] == [
        ("人数", "How many come"),
        ("大小", "How big"),
    ]
    assert form.description.zh == find_room.capability.description.zh == "找一间会议室。"


def test_without_a_label_it_has_its_description() -> None:
    assert zh_of({"type": "string", "description": "The city"}) == ("The city", "The city？")


def test_a_schema_may_name_its_choices() -> None:
    schema = {"enum": ["a", "b"], "x-zh": "等级", "x-zh-enum": {"a": "甲"}}
    slot = slot_of("grade_of", schema, required=True)
    assert slot is not None
    assert [choice.label.zh for choice in slot.choices.values()] == ["甲", "b"]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (None, "what"),
        (3, "what"),
        ({"zh": "城市"}, "what"),
        ("", "what"),
        (" \n ", "what"),
        ("\u200b\u202e", "what"),
        ("城\u202e市\n", "城市"),
        ("{{ slots.salary }}", "{ { slots.salary }}"),
        ("长" * 500, "长" * LONGEST),
    ],
)
def test_a_strangers_label_is_shown_only_as_far_as_it_is_one(label: Any, shown: str) -> None:
    assert zh_of({"type": "string", "x-zh": label}) == (shown, f"{shown}？")


@pytest.mark.parametrize("named", [None, 3, "甲", ["甲"], {"a": 1}, {"a": ""}, {"b": "乙"}])
def test_choices_that_are_not_named_stay_as_they_are(named: Any) -> None:
    slot = slot_of("what", {"enum": ["a"], "x-zh-enum": named}, required=True)
    assert slot is not None
    assert slot.choices["a"].label.zh == "a"


def test_models_see_none_of_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-zh": "城市"},
            "size": {"enum": ["a"], "x-zh": "大小", "x-zh-enum": {"a": "甲"}},
            "where": {"type": "object", "properties": {"x": {"type": "string", "x-zh": "横"}}},
        },
    }
    for given in (schema, find_room.parameters):
        assert "x-zh" in json.dumps(given)
        assert "x-zh" not in json.dumps(portable(given))


def test_arguments_are_checked_as_without() -> None:
    labelled = {"city": {"type": "string", "x-zh": "城市", "x-zh-enum": {"a": "甲"}}}
    checked = ArgumentSchema({"properties": labelled, "required": ["city"]})  # type: ignore[dict-item]
    assert checked.problems({"city": "Rome"}) == []
    assert checked.problems({"city": 3}) == ["city: 3 is not of type 'string'"]
    assert find_room.implementation.problems({"seats": 2, "size": "big"}) == []
    assert find_room.implementation.problems({"seats": 0}) != []


def test_a_tool_that_has_only_english_is_listed_with_it() -> None:
    @tool(permission="read")
    async def ping() -> None:
        """Nothing."""

    assert isinstance(ping, Tool)
    assert ping.about.zh == ping.about.en == "Nothing."
