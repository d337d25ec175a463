"""Schemas that callers give: what is kept of them, and what is refused before anything happens."""

import re
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from router.routing.response_schema import MAX_LENGTH, MAX_NODES, ResponseSchema
from tests.table import each_row


class Kind(Enum):
    ANNUAL = "annual"
    SICK = "sick"


class Span(BaseModel):
    start: str
    end: str | None = None


class Leave(BaseModel):
    kind: Kind
    state: Literal["open", "done"]
    spans: list[Span]
    first: Span = Field(description="the first of them")
    named: dict[str, Span]


GOOD: dict[str, Any] = {
    "kind": "annual",
    "state": "open",
    "spans": [{"start": "2026-12-01"}],
    "first": {"start": "2026-12-01", "end": None},
    "named": {"a": {"start": "x"}},
}


def objects(deep: int) -> Any:
    inner: Any = {"type": "string"}
    for _ in range(deep):
        inner = {"type": "object", "properties": {"a": inner}}
    return inner


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


DOUBLING = {
    f"a{n}": of(l={"$ref": f"#/$defs/a{n + 1}"}, r={"$ref": f"#/$defs/a{n + 1}"}) for n in range(40)
}

HOSTILE: dict[str, tuple[Any, str]] = {
    "text": ("object", "it is no object"),
    "null": (None, "it is no object"),
    "list": ([], "it is no object"),
    "flag": (True, "it is no object"),
    "nothing": ({}, "its type is None"),
    "string": ({"type": "string"}, "its type is 'string'"),
    "several": ({"type": ["object", "null"]}, "write type: object"),
    "alternatives": ({"anyOf": [of(), of()]}, "write type: object"),
    "deep": (objects(13), "nested more than 24 levels"),
    "very deep": (objects(100_000), "nested more than 24 levels"),
    "huge": (of(**{f"property_{n}": {"type": "string"} for n in range(2_000)}), "characters"),
    "a million choices": (of(a={"enum": list(range(10**6))}), "characters"),
    "a long name": (of(**{"a" * MAX_LENGTH: {}}), "characters"),
    "many": (of(**{f"a{n}": {} for n in range(MAX_NODES)}), "schemas, written out"),
    "doubling": (of(a={"$ref": "#/$defs/a0"}) | {"$defs": DOUBLING | {"a40": {}}}, "written out"),
    "itself": (of(a={"$ref": "#"}), "refers to itself"),
    "recursive": (
        of(a={"$ref": "#/$defs/node"}) | {"$defs": {"node": of(next={"$ref": "#/$defs/node"})}},
        "write out the levels",
    ),
    "in circles": (
        of(a={"$ref": "#/$defs/a"})
        | {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "refers to itself",
    ),
    "remote": (of(a={"$ref": "https://example.com/schema.json"}), "path within it"),
    "a file": (of(a={"$ref": "file:///etc/passwd"}), "path within it"),
    "by name": (of(a={"$ref": "#node"}), "path within it"),
    "dangling": (of(a={"$ref": "#/$defs/gone"}), "there is no '#/$defs/gone'"),
    "no reference": (of(a={"$ref": 5}), "it is no JSON Schema"),
    "its own id": (of() | {"$id": "https://example.com/"}, "it has $id"),
    "anchor": (of(a={"$anchor": "a"}), "it has $anchor"),
    "dynamic": (of(a={"$dynamicRef": "#a"}), "it has $dynamicRef"),
    "no pattern": (of(a={"pattern": "("}), "isn't RE2: missing )"),
    "backtracking": (of(a={"pattern": r"(a)\1"}), "isn't RE2"),
    "looking ahead": (of(a={"pattern": "(?=a)b"}), "isn't RE2"),
    "patterns of names": (of() | {"patternProperties": {"(a+)+$": {}}}, "patternProperties"),
    "no type": (of(a={"type": "text"}), "it is no JSON Schema"),
    "properties as list": ({"type": "object", "properties": []}, "it is no JSON Schema"),
    "required by word": (of() | {"required": "a"}, "it is no JSON Schema"),
    "negative length": (of(a={"minLength": -1}), "it is no JSON Schema"),
}


@pytest.mark.slow
@each_row(("schema", "says"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_answer_can_be_held_to_is_refused_in_words(schema: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as refused:
        ResponseSchema.read(schema)
    assert len(str(refused.value)) < 1_000


def test_a_pydantic_model_s_schema_is_kept_whole() -> None:
    kept = ResponseSchema.read(Leave.model_json_schema())
    assert kept.names == ["kind", "state", "spans", "first", "named"]
    assert "$ref" not in str(kept.schema)
    assert kept.problems(GOOD) == []
    assert kept.choices == {"annual", "sick", "open", "done"}
    assert kept.all_names == {*kept.names, "start", "end"}


@each_row(
    ("wrong", "place"),
    [
        ({"kind": "annually"}, "kind"),
        ({"state": None}, "state"),
        ({"spans": [{"end": "x"}]}, "spans[0]"),
        ({"first": {"start": 5}}, "first.start"),
        ({"named": {"a": 5}}, "named.a"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_what_does_not_fit_is_told_at_its_place(wrong: dict[str, Any], place: str) -> None:
    kept = ResponseSchema.read(Leave.model_json_schema())
    assert {each.partition(":")[0] for each in kept.problems(GOOD | wrong)} == {place}


def test_what_stands_beside_a_reference_holds_too() -> None:
    definitions = {"short": {"type": "string", "maxLength": 5}}
    schema = of(a={"$ref": "#/$defs/short", "minLength": 3}) | {"$defs": definitions}
    kept = ResponseSchema.read(schema)
    assert [bool(kept.problems({"a": a})) for a in ("ab", "abcd", "abcdef")] == [True, False, True]


def test_a_property_may_be_called_as_a_keyword_is() -> None:
    schema = of(**{"$ref": {"type": "string"}, "enum": {"type": "integer"}})
    kept = ResponseSchema.read(schema)
    assert kept.problems({"$ref": "https://example.com", "enum": 1}) == []
    assert kept.problems({"$ref": 1})


def test_what_is_written_out_reads_the_same_again() -> None:
    kept = ResponseSchema.read(Leave.model_json_schema())
    assert ResponseSchema.read(kept.schema).schema == kept.schema


@each_row(
    ("schema", "is_open"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "title": "Any"}, True),
        (of(a={}), False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "anyOf": [of(a={}), of(b={})]}, False),
    ],
    ids=["bare", "titled", "named", "closed", "alternatives"],
)
def test_one_that_names_nothing_takes_any_object(schema: Any, is_open: bool) -> None:
    assert ResponseSchema.read(schema).is_open is is_open
