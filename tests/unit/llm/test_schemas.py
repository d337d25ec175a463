from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.llm.request import decision_schema, signature
from router.llm.schema import portable, restored
from tests.table import each_row
from tests.unit.llm.asking import BALANCE, REPLY
from tests.unit.llm.test_json_reading import JSON


def of(name: str, schema: Any, **root: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], **root}


def portable_property(schema: Any, **root: Any) -> Any:
    return portable(of("x", schema, **root))["properties"]["x"]


@each_row(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"type": "string", "format": "date", "description": "When", "maxLength": 10},
            {"type": "string", "description": "When (format date, maxLength 10)"},
        ),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", 1, None]}, {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        ({"const": True}, {"type": "boolean", "enum": [True]}),
        ({"type": "array", "items": {"type": "number"}, "minItems": 1},
         {"type": "array", "items": {"type": "number"}, "description": "(minItems 1)"}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}], "default": None},
         {"type": ["string", "null"]}),
        ({"anyOf": [{"type": "string", "format": "date", "description": "Any"}, {"type": "null"}],
          "description": "The day"},
         {"type": ["string", "null"], "description": "The day (format date)"}),
        ({"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
         {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"anyOf": [{"const": "a"}, {"type": "null"}]},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
         {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]}),
        ({"allOf": [{"type": "string"}, {"description": "Why"}]},
         {"type": "string", "description": "Why"}),
        ({"type": "object", "additionalProperties": {"type": "number"}},
         {"type": "string", "description": "(any JSON value, as text)"}),
        ({}, {"type": "string", "description": "(any JSON value, as text)"}),
        (True, {"type": "string", "description": "(any JSON value, as text)"}),
    ],
)  # fmt: skip
def test_each_schema_has_a_portable_form(schema: Any, expected: Any) -> None:
    assert portable_property(schema) == expected


def test_an_optional_property_is_required_and_may_be_null() -> None:
    text, either = {"type": "string"}, [{"type": "string"}, {"type": "number"}]
    properties = {"text": text, "choice": {"enum": ["a"]}, "either": {"anyOf": either}}
    assert portable({"type": "object", "properties": properties}) == {
        "type": "object",
        "properties": {
            "text": {"type": ["string", "null"]},
            "choice": {"type": ["string", "null"], "enum": ["a", None]},
            "either": {"anyOf": [*either, {"type": "null"}]},
        },
        "required": ["text", "choice", "either"],
        "additionalProperties": False,
    }


def test_references_are_inlined() -> None:
    money, cost = of("amount", {"type": "string"}), {"$ref": "#/$defs/Money", "description": "Cost"}
    made = portable_property(cost, **{"$defs": {"Money": money}})
    assert made == {**portable(money), "description": "Cost"}


@each_row(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "https://example.com/schema"},
        of("child", {"$ref": "#"}),
        of("child", {"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
    ],
)
def test_a_schema_that_leads_nowhere_or_to_itself_ends(schema: Any) -> None:
    assert _depth(portable(schema)) <= 6


def test_of_several_alternative_objects_at_the_root_all_properties_are_offered() -> None:
    made = portable({"anyOf": [of(name, {"type": "string"}) for name in "ab"]})
    assert made["properties"] == {name: {"type": ["string", "null"]} for name in "ab"}


@each_row(
    ("schema", "given", "expected"),
    [
        ({"properties": {"a": {"type": "string"}}}, {"a": None}, {}),
        (of("a", {"type": ["string", "null"]}), {"a": None}, {"a": None}),
        (of("a", {"type": "string"}), {"a": None}, {"a": None}),
        ({"properties": {"a": {"enum": ["x", None]}}}, {"a": None}, {"a": None}),
        (of("a", {"type": "object"}), {"a": '{"b": null}'}, {"a": {"b": None}}),
        (of("a", {}), {"a": "plain words"}, {"a": "plain words"}),
        (of("a", {"type": "string"}), {"a": "3"}, {"a": "3"}),
        (of("a", {"type": "array", "items": {"properties": {"b": {"type": "string"}}}}),
         {"a": [{"b": None}, {"b": "x"}]}, {"a": [{}, {"b": "x"}]}),
        (of("a", {"anyOf": [{"properties": {"b": {"type": "string"}}}, {"type": "null"}]}),
         {"a": {"b": None}}, {"a": {}}),
        (of("a", {"type": "string"}), {"invented": None}, {"invented": None}),
    ],
)  # fmt: skip
def test_arguments_come_back_as_the_schema_has_them(
    schema: Any, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert restored(given, schema) == expected


def test_what_lies_too_deep_goes_as_text_and_comes_back_whole() -> None:
    deep: dict[str, Any] = {"type": "string"}
    value: Any = "bottom"
    for level in range(8):
        deep, value = of(f"l{level}", deep), {f"l{level}": value}
    assert _depth(portable(deep)) <= 6
    flat = {"l7": {"l6": {"l5": {"l4": '{"l3":{"l2":{"l1":{"l0":"bottom"}}}}'}}}}
    assert restored(flat, deep) == value


def test_a_decision_has_the_name_and_arguments_of_each_function_and_limits_unless_refused() -> None:
    calls = decision_schema([BALANCE, REPLY], max_calls=2)["properties"]["calls"]
    assert (calls["minItems"], calls["maxItems"]) == (1, 2)
    names = [one["properties"]["name"]["enum"] for one in calls["items"]["anyOf"]]
    assert names == [["get_balance"], ["respond_message"]]
    assert "max" not in str(decision_schema([REPLY], max_calls=2, limits=False))


FORMS = ("type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "required",
         "$ref", "description", "default", "additionalProperties", "a")  # fmt: skip
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["string", "object", "array", "#", "#/properties/a", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FORMS), inner, max_size=5)
    ),
    max_leaves=25,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(FORMS), SCHEMAS), st.dictionaries(st.text(), JSON))
def test_any_schema_gives_a_closed_object_and_any_arguments_come_back(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    made = portable(schema)
    assert made["type"] == "object"
    assert made["required"] == list(made["properties"])
    assert isinstance(restored(arguments, schema), dict)


def _depth(schema: Any) -> int:
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return 1 + max(map(_depth, inner), default=0)


@each_row(
    ("schema", "expected"),
    [
        (of("a", {"type": "string"}), '{"a": string}'),
        (of("a", {"type": "integer", "minimum": 1}), '{"a": integer (minimum 1)}'),
        (of("假", {"enum": ["年", 1], "description": "Which"}), '{"假": "年"|1 (Which)}'),
        (of("a", {"type": "array", "items": {"type": "number"}}), '{"a": [number, …]}'),
        (of("a", of("b", {"type": "boolean"})), '{"a": {"b": boolean}}'),
        (
            of("a", {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}),
            '{"a": string|[string (any JSON value, as text), …]}',
        ),
        ({"properties": {"a": {"type": "string"}}}, '{"a": string|null}'),
        ({}, "{}"),
    ],
)
def test_a_schema_is_told_in_few_words(schema: Any, expected: str) -> None:
    assert signature(portable(schema)) == expected


@pytest.mark.slow
@given(SCHEMAS)
def test_any_portable_schema_can_be_told(schema: Any) -> None:
    assert signature(portable(schema)).startswith("{")
