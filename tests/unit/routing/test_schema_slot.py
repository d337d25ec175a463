"""What of a stranger's schema can be asked of a person."""

from typing import Any

import pytest

from router.routing.tool_form import DEEPEST, MOST_FIELDS, Unaskable, askable, slot_of

TEXT: dict[str, Any] = {"type": "string"}
POINT: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "note": TEXT},
    "required": ["x"],
}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (TEXT, "text"),
        ({"type": ["string", "null"]}, "text"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"oneOf": [{"type": "number"}]}, "number"),
        ({"anyOf": [{"type": "number"}, TEXT]}, "number"),
        ({"allOf": [{"$ref": "#/$defs/Day"}]}, "date"),
        ({"$ref": "#/$defs/Day"}, "date"),
        ({"$ref": "#/$defs/Again"}, "date"),
        ({"enum": ["a", "b"]}, "choice"),
        ({"enum": ["a", None]}, "choice"),
        ({"const": "a"}, "choice"),
        ({"type": "integer", "enum": [1, 2]}, "integer"),
        ({"type": "array", "items": TEXT}, "list"),
        ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, "list"),
        (POINT, "object"),
        ({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, "object"),
    ],
)
def test_each_kind_of_value_is_asked_for_as_what_it_is(schema: Any, kind: str) -> None:
    definitions = {
        "Day": {"type": "string", "format": "date"},
        "Again": {"$ref": "#/$defs/Day"},
        "Point": POINT,
    }
    slot = slot_of("what", schema, required=True, within={"$defs": definitions})
    assert slot.type == kind


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = TEXT
    for _ in range(levels):
        inner = {"type": "object", "properties": {"in": inner}, "required": ["in"]}
    return inner


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "any kind of value"),
        (None, "any kind of value"),
        ({"$ref": "#/$defs/Loop"}, "any kind of value"),
        ({"$ref": "https://example.com/schema"}, "any kind of value"),
        ({"anyOf": [TEXT, {"type": "boolean"}]}, "any kind of value"),
        ({"type": ["string", "number"]}, "a value of several kinds"),
        ({"enum": [1, "a"]}, "aren't texts"),
        ({"enum": []}, "aren't texts"),
        ({"type": "object"}, "an object of any fields"),
        ({"type": "object", "additionalProperties": TEXT}, "an object of any fields"),
        ({"type": "object", "properties": {"a.b": TEXT}, "required": ["a.b"]}, "a.b: a name that"),
        ({"type": "object", "properties": {"0": TEXT}, "required": ["0"]}, "0: a name that"),
        ({"type": "object", "properties": {f"f{n}": TEXT for n in range(MOST_FIELDS + 1)}}, "21"),
        ({"type": "array"}, "aren't all of one kind"),
        ({"type": "array", "prefixItems": [TEXT], "items": TEXT}, "aren't all of one kind"),
        ({"type": "array", "items": {"type": "array", "items": TEXT}}, "a list within"),
        ({"type": "array", "items": nested(2)}, "in: an object that is nested too deep"),
        (nested(DEEPEST + 2), "an object that is nested too deep"),
        ({"$ref": "#/$defs/Tree"}, "too deep"),
    ],
)
def test_what_cannot_be_asked_for_says_why(schema: Any, why: str) -> None:
    tree = {"type": "object", "properties": {"of": {"$ref": "#/$defs/Tree"}}, "required": ["of"]}
    within = {"$defs": {"Loop": {"$ref": "#/$defs/Loop"}, "Tree": tree}}
    with pytest.raises(Unaskable, match=why):
        slot_of("what", schema, required=True, within=within)


def test_what_is_not_needed_and_cannot_be_asked_for_is_left_out() -> None:
    schema = {"type": "object", "properties": {"name": TEXT, "extra": {"type": "object"}}}
    assert list(slot_of("what", schema, required=True).fields) == ["name"]


def test_a_list_has_at_least_one_item_and_no_more_than_anybody_would_say() -> None:
    def bounds(**more: int) -> tuple[int, int]:
        slot = slot_of("what", {"type": "array", "items": TEXT, **more}, required=True)
        return slot.min, slot.max

    assert bounds() == (1, 20)
    assert bounds(minItems=2, maxItems=3) == (2, 3)
    assert bounds(minItems=0, maxItems=10_000) == (1, 50)


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("from", "from"),
        ("file-path", "file_path"),
        ("in", "in_"),
        ("null", "null_"),
        ("change", "change_"),
        ("more", "more_"),
        ("a.b", "a_b"),
        ("x ? slots.y : 1 //", "x_slots_y_1"),
        ("1st", "argument1st"),
        ("日期", "argument"),
        ("", "argument"),
    ],
)
def test_a_name_that_no_expression_can_carry_gets_another_and_is_called_by_its_own(
    name: str, alias: str
) -> None:
    found = askable({"properties": {name: TEXT}, "required": [name]})
    assert list(found.slots) == [alias]
    assert found.arguments == {alias: name}


def test_names_that_come_to_the_same_stay_apart() -> None:
    found = askable({"properties": {"a-b": TEXT, "a_b": TEXT, "a.b": TEXT}})
    assert found.arguments == {"a_b_2": "a-b", "a_b": "a_b", "a_b_3": "a.b"}
