"""Schemas of others, and values checked against them: what takes too long is stopped."""

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from router.formats.check_threads import check_off_loop
from router.formats.schema_check import (
    MAX_SCHEMA_DEPTH,
    MAX_SCHEMA_NODES,
    QUICK,
    CheckBudget,
    CheckTooCostly,
    PatternBudget,
    check_schema,
    find_errors,
    spend_at_most,
    validator_of,
)
from router.routing.response_schema import ResponseSchema
from router.tool.implementation import ArgumentSchema
from tests.costly import MANY, REFUSED_PATTERNS, SLOW_VALUES, object_of
from tests.table import each_row


def deep(levels: int) -> Any:
    inner: Any = True
    for _ in range(levels):
        inner = {"items": inner}
    return inner


DIALECT = Draft202012Validator.META_SCHEMA["$id"]
BACKTRACKING: dict[str, Any] = {"additionalProperties": False, "patternProperties": {"(a+)+$": {}}}

BAD: dict[str, tuple[Any, str]] = {
    "no schema": (3, "it is no JSON Schema: a schema within it is 3"),
    "a schema that is text": ({"items": "x"}, "it is no JSON Schema"),
    "a list that is none": ({"anyOf": {}}, "its anyOf is {}"),
    "an empty list": ({"allOf": []}, "its allOf is []"),
    "properties that are a list": ({"properties": []}, "its properties is []"),
    "an endless number": ({"maximum": float("inf")}, "its maximum is inf"),
    "a divisor of nothing": ({"multipleOf": 0}, "its multipleOf is 0"),
    "a flag for a number": ({"minLength": True}, "its minLength is True"),
    "a type of another language": ({"type": "text"}, "its type is 'text'"),
    "a name twice": ({"required": ["a", "a"]}, "its required is"),
    "too deep": (deep(MAX_SCHEMA_DEPTH + 1), "nested more than"),
    "too many": ({"anyOf": [{}] * MAX_SCHEMA_NODES}, "more than 5000 schemas"),
    "too many patterns": ({"anyOf": [{"pattern": f"{n}"} for n in range(101)]}, "over 100"),
    "patterns too large together": (
        {"anyOf": [{"pattern": f"[^a]{{400}}{n}"} for n in range(20)]},
        "too large together",
    ),
    "names by patterns": ({"patternProperties": {"(a+)+$": {}}}, "name the properties"),
    "names by patterns in an unknown place": (
        {"$ref": "#/x/y", "x": {"y": BACKTRACKING}},
        "name the properties",
    ),
    "names by patterns behind its own id": (
        {"$id": "urn:a", "$ref": "urn:a#/x", "x": BACKTRACKING},
        "name the properties",
    ),
    "names by patterns in a default": (
        object_of(a={"$ref": "#/properties/b/default"}, b={"default": BACKTRACKING}),
        "name the properties",
    ),
    "another dialect within it": (object_of(a={"$schema": DIALECT}), "at the top alone"),
    "a reference beside an id within it": (
        object_of(a={"$id": "urn:b", "$ref": "#/x", "x": BACKTRACKING}),
        "write $id at the top alone",
    ),
    "a reference to an id within it": (
        {"$ref": "urn:b#/x", "$defs": {"b": {"$id": "urn:b", "x": BACKTRACKING}}},
        "write $id at the top alone",
    ),
    "a dynamic reference beside an id within it": (
        object_of(a={"$id": "b", "items": {"$dynamicRef": "#/x"}, "x": BACKTRACKING}),
        "write $id at the top alone",
    ),
    "an id where no schema stands": (
        object_of(a={"$ref": "#/default/b"}) | {"default": {"b": {"$id": "b"}}},
        "write $id at the top alone",
    ),
    "what isn't looked at": ({"unevaluatedProperties": False}, "write additionalProperties"),
} | {
    name: (object_of(a={"pattern": pattern}), "the pattern")
    for name, pattern in REFUSED_PATTERNS.items()
}


@each_row(("schema", "says"), BAD.values(), ids=BAD)
def test_a_bad_or_costly_schema_is_refused_in_a_sentence(schema: Any, says: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the next line says which
        check_schema(schema)
    assert says in str(refused.value)
    assert len(str(refused.value)) < 400


@each_row(
    "schema",
    [
        True,
        {},
        {"enum": [{"patternProperties": {"(": 1}, "type": 5}]},
        object_of(pattern={"type": "string"}, patternProperties={"type": "object"}),
        {"type": ["string", "null"], "minLength": 2.0, "default": None, "x-unknown": [1]},
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"required": ["c"]}}},
        {"$defs": {"a": {"pattern": r"^\p{L}+$"}}, "items": {"$ref": "#/$defs/a"}},
        {"properties": {"$id": {"type": "string"}, "a": {"$ref": "#/properties/$id"}}},
        {"items": {"$id": "urn:item", "type": "string"}},
    ],
)
def test_sound_schemas_are_taken(schema: Any) -> None:
    check_schema(schema)


def test_an_answer_s_schema_keeps_no_names_by_patterns_that_it_refers_to() -> None:
    schema = object_of(a={"$ref": "#/x/y"}) | {"x": {"y": BACKTRACKING}}
    with pytest.raises(ValueError, match="name the properties"):
        ResponseSchema.read(schema)


@each_row("schema", [BACKTRACKING, {"unevaluatedProperties": False}, {"unevaluatedItems": False}])
def test_what_can_t_be_bounded_stops_a_check_in_a_schema_that_nobody_looked_at(
    schema: dict[str, Any],
) -> None:
    with pytest.raises(CheckTooCostly):
        find_errors(validator_of({"allOf": [schema | {"$schema": DIALECT}]}), {"a": 1})


def test_another_dialect_doesn_t_change_what_checks_a_value() -> None:
    theirs = {"$schema": "http://json-schema.org/draft-04/schema#"}  # which knows no const
    schema = object_of(a=theirs | {"const": 1}, b={"$ref": "#"}) | theirs
    assert len(find_errors(validator_of(schema), {"a": 2, "b": {"a": 2}})) == 2


def test_schemas_that_come_together_share_what_their_patterns_may_cost() -> None:
    together = PatternBudget()
    for number in range(6):
        check_schema({"pattern": f"[^a]{{400}}{number}"}, together)
    with pytest.raises(ValueError, match="too large together"):
        check_schema({"pattern": "[^a]{400}x"}, together)
    check_schema({"pattern": "[^a]{400}x"})


@pytest.mark.slow  # a quarter of a second of processor time for each row
@each_row(("schema", "value"), SLOW_VALUES.values(), ids=SLOW_VALUES)
def test_a_value_that_takes_long_is_stopped_and_nobody_says_that_it_fits(
    schema: dict[str, Any], value: Any
) -> None:
    whole = object_of(a=schema)
    assert ArgumentSchema(whole).problems({"a": value})
    assert ResponseSchema(whole).problems({"a": value})


@each_row(("schema", "value"), SLOW_VALUES.values(), ids=SLOW_VALUES)
def test_a_budget_holds_whatever_is_large(schema: dict[str, Any], value: Any) -> None:
    check_schema(schema)
    with spend_at_most(CheckBudget(0.002, 1_000_000)), pytest.raises(CheckTooCostly):
        find_errors(validator_of(schema), value)


VALUES = [
    *(None, True, 1, 1.0, 0, -3, "", "a", "2026-12-01", [], [1, 1.0], [1, True], [[1], [1]]),
    *([{"a": 1}, {"a": 1.0}], {"a": "x"}, {"a": 1, "b": [2]}, {"b": None}),
]
SCHEMAS = [
    *({"type": "integer"}, {"enum": [1, "a"]}, {"const": True}, {"uniqueItems": True}),
    *({"multipleOf": 0.5}, {"pattern": "^a"}, {"format": "date"}, {"minLength": 1}),
    *({"not": {"type": "object"}}, {"contains": {"const": 1}}, {"prefixItems": [{"type": "null"}]}),
    object_of(a={"type": "string"}) | {"additionalProperties": False, "required": ["a"]},
    {"if": {"type": "object"}, "then": {"maxProperties": 1}, "else": {"type": "string"}},
    {"oneOf": [{"type": "number"}, {"minimum": 1}]},
]


@each_row("schema", SCHEMAS)
@each_row("value", VALUES)
def test_what_is_wrong_is_what_the_library_finds(schema: dict[str, Any], value: Any) -> None:
    formats = Draft202012Validator.FORMAT_CHECKER
    theirs = Draft202012Validator(schema, format_checker=formats).iter_errors(value)
    ours = find_errors(validator_of(schema), value)
    assert [e.json_path for e in ours] == [e.json_path for e in theirs]


@pytest.mark.slow
def test_many_items_are_compared_in_time_that_grows_with_them() -> None:
    each: list[Any] = [{"a": [number]} for number in range(MANY)]
    unique = validator_of({"uniqueItems": True})
    assert find_errors(unique, each) == []
    assert find_errors(unique, [*each, {"a": [0]}])


@each_row(
    ("schema", "value"),
    [
        ({"multipleOf": 0.5}, 10**400),
        ({"multipleOf": 1e-320}, 10**308),
        ({"format": "regex"}, "(" * 3_000),
        ({"format": "idn-hostname"}, "é" * 30_000),
        ({"pattern": "a"}, "\ud800"),
    ],
    ids=["a number beyond floats", "a tiny divisor", "a regex", "a host", "half a character"],
)
def test_no_value_breaks_what_checks_it(schema: dict[str, Any], value: Any) -> None:
    assert isinstance(find_errors(validator_of(schema), value), list)


def test_a_message_is_cut_where_it_repeats_the_value() -> None:
    (error,) = find_errors(validator_of({"type": "number"}), "x" * 50_000)
    assert len(error.message) < 300


def test_a_default_that_doesn_t_fit_is_none() -> None:
    schema = object_of(a={"type": "integer", "default": "x"}, b={"default": 2, "minimum": 1})
    assert ArgumentSchema({**schema, "required": ["a", "b"]}).defaults == {"b": 2}


async def test_a_check_that_is_done_soon_is_done_where_it_is_asked_for() -> None:
    assert await check_off_loop(threading.get_ident) == threading.get_ident()


async def test_a_check_that_takes_long_holds_nobody_up() -> None:
    schema = ArgumentSchema(object_of(a={"items": {"allOf": [{"minimum": 0}] * 10}}))
    seen: list[int] = []

    def check() -> list[str]:
        seen.append(threading.get_ident())
        return schema.problems({"a": [1] * 500})

    with spend_at_most(QUICK):
        problems = await check_off_loop(check)
    here, elsewhere = seen
    assert (problems, here) == ([], threading.get_ident())
    assert elsewhere != here


async def test_what_takes_too_long_everywhere_is_said_and_stops() -> None:
    schema, value = SLOW_VALUES["schemas times items"]
    check = partial(ArgumentSchema(object_of(a=schema)).problems, {"a": value})
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    beating = asyncio.create_task(beat())
    (problem,) = await check_off_loop(check)
    beating.cancel()
    assert "too long to check" in problem
    assert beats > 1
