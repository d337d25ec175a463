"""Schemas of strangers: whatever they are, what is read of them harms nobody who uses it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from router.formats.references import References
from router.formats.schema import SchemaReader
from router.llm.schema import portable, restored
from router.routing.tool_form import askable
from router.tool.implementation import ArgumentSchema
from tests.costly import REFUSED_PATTERNS
from tests.table import each_row

KEYS = st.sampled_from(
    [
        *("type", "properties", "items", "required", "enum", "const", "anyOf", "oneOf", "allOf"),
        *("$ref", "pattern", "minLength", "maximum", "multipleOf", "format", "description"),
        *("additionalProperties", "prefixItems", "title", "x-zh", "x-zh-enum", "nullable", "a"),
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["object", "array", "string", "number", "null", "a", "", "(", "#/a", "#"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
)


def read(schema: dict[str, Any]) -> dict[str, Any]:
    return SchemaReader(References(schema)).read(schema)


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=5), st.dictionaries(KEYS, VALUES, max_size=3))
def test_what_is_read_can_be_used_everywhere(schema: dict[str, Any], given: Any) -> None:
    try:
        sound = ArgumentSchema(read(schema | {"type": "object"}), is_read=True)
    except ValueError:
        return
    Draft202012Validator.check_schema(sound.schema)
    assert portable(sound.schema)
    assert isinstance(restored(given, sound.schema), dict)
    askable(sound.schema)
    sound.problems(given)


def test_it_admits_what_the_stranger_s_does() -> None:
    text = {"type": "string"}
    deep: dict[str, Any] = {"oneOf": [text, {"$ref": "#/$defs/deep"}]}
    assert read({"$ref": "#/$defs/deep", "$defs": {"deep": deep}}) == {"anyOf": [text, {}]}
    assert read({"patternProperties": {"^x": text}, "additionalProperties": False}) == {}
    assert read({"not": text, "if": text, "then": False, "pattern": "(?!x)"}) == {}
    parts = [{"properties": {"a": text}}, {"properties": {"b": text}}]
    assert read({"allOf": parts, "required": ["a"]})["required"] == ["a"]


@each_row("pattern", REFUSED_PATTERNS.values(), ids=REFUSED_PATTERNS)
def test_a_costly_pattern_is_left_to_whoever_wrote_it(pattern: str) -> None:
    assert read({"type": "string", "pattern": pattern}) == {"type": "string"}


def test_of_many_patterns_only_as_many_are_kept_as_cost_little() -> None:
    each = {f"a{n}": {"pattern": f"[^a]{{400}}{n}"} for n in range(1_000)}
    kept = [name for name, one in read({"properties": each})["properties"].items() if one]
    assert kept == [f"a{n}" for n in range(len(kept))]
    assert 0 < len(kept) < 10


def test_what_stands_beside_a_reference_says_it_closer() -> None:
    schema = {"$ref": "#/$defs/it", "description": "here", "$defs": {"it": {"type": "string"}}}
    assert read(schema) == {"type": "string", "description": "here"}
