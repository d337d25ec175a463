from typing import Any

import pytest

from router.tool.implementation import ArgumentSchema

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"$ref": "#/$defs/days"},
        "start": {"type": "string", "format": "date"},
    },
    "required": ["city"],
    "$defs": {"days": {"type": "integer", "minimum": 1}},
}


def problems(arguments: dict[str, Any], schema: dict[str, Any] | None = None) -> list[str]:
    return ArgumentSchema(schema or TRIP).problems(arguments)


def test_arguments_that_fit_have_no_problems() -> None:
    assert problems({"city": "Rome", "days": 3, "start": "2026-11-22"}) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "arguments: 'city' is a required property"),
        ({"city": 3}, "city: 3 is not of type 'string'"),
        ({"city": "Rome", "days": 0}, "days: 0 is less than the minimum of 1"),
        ({"city": "Rome", "days": True}, "days: True is not of type 'integer'"),
        ({"city": "Rome", "start": "tomorrow"}, "start: 'tomorrow' is not a 'date'"),
        ({"city": "Rome", "as": "admin"}, "arguments: 'as' isn't known here"),
    ],
)
def test_each_field_at_fault_is_named(arguments: dict[str, Any], problem: str) -> None:
    assert problems(arguments) == [problem]


def test_a_value_that_is_wrong_at_length_is_not_repeated_at_length() -> None:
    (problem,) = problems({"city": "x" * 5000})
    assert len(problem) < 140


def test_an_open_schema_takes_names_that_it_does_not_declare() -> None:
    assert problems({"any": 1}, {"type": "object", "additionalProperties": True}) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "write type: object"),
        ({"type": "object", "properties": 3}, "it is no JSON Schema"),
        ({"properties": {"a": {"type": "text"}}}, "it is no JSON Schema"),
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ArgumentSchema(schema)


@pytest.mark.parametrize("reference", ["http://127.0.0.1:1/schema.json", "file:///etc/passwd"])
def test_a_reference_to_elsewhere_is_never_fetched(reference: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
    (problem,) = problems({"a": 1}, schema)
    assert problem.startswith("arguments: they can't be checked")


def test_a_reference_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    (problem,) = problems({"a": 1}, schema)
    assert problem.startswith("arguments: they can't be checked")
