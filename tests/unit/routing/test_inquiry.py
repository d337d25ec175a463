"""What tools ask back, as slots."""

from typing import Any

import pytest

from router.domain.errors import Elicitation
from router.domain.locale import Localised
from router.flow.engine.run import Inquiry
from router.routing.tool_form import inquiry_of

BOOK = Localised(zh="订座", en="Book a seat")


def asked(*fields: dict[str, Any], taken: tuple[str, ...] = (), **about: Any) -> Inquiry | None:
    """One question for each set of fields."""
    each = [
        Elicitation(key=f"k{n}", message="Which seat?", schema_={"properties": one, **about})
        for n, one in enumerate(fields)
    ]
    return inquiry_of(each, BOOK, "call", taken)


def test_it_says_who_asks_what_in_both_languages() -> None:
    inquiry = asked({"seat": {"type": "string"}})
    assert inquiry is not None
    assert inquiry.say == Localised(
        zh="“订座”想先问你：Which seat?", en="Book a seat asks you first: Which seat?"
    )


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "email"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "number"}, "number"),
        ({"type": "integer", "minimum": 1}, "integer"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string", "enum": ["a", "b"]}, "choice"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "choice"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "choice"),
    ],
)
def test_every_plain_field_has_a_slot(schema: dict[str, Any], type_: str) -> None:
    inquiry = asked({"it": {**schema, "title": "The thing"}})
    assert inquiry is not None
    assert inquiry.slots["it"].type == type_
    assert inquiry.slots["it"].label == Localised(zh="The thing", en="The thing")


def test_values_go_by_their_titles() -> None:
    inquiry = asked({"size": {"oneOf": [{"const": "s", "title": "Small {{ x }}"}]}})
    assert inquiry is not None
    assert inquiry.slots["size"].choices["s"].label.en == "Small { { x }}"


def test_names_that_are_taken_or_that_no_expression_carries_are_changed() -> None:
    field = {"type": "string"}
    inquiry = asked({"seat": field, "a-b": field, "in": field}, {"seat": field}, taken=("seat",))
    assert inquiry is not None
    assert inquiry.fields == {
        "k0": {"seat": "seat_2", "a-b": "a_b", "in": "in_"},
        "k1": {"seat": "seat_3"},
    }


@pytest.mark.parametrize("word", ["change", "more"])
def test_a_field_is_not_called_like_the_questions_about_slots(word: str) -> None:
    inquiry = asked({word: {"type": "string"}})
    assert inquiry is not None
    assert inquiry.fields == {"k0": {word: f"{word}_"}}


def test_what_may_be_left_out_is_asked_only_where_nothing_must_be_given() -> None:
    fields = {"seat": {"type": "string"}, "note": {"type": "string"}}
    some, all_ = asked(fields, required=["seat"]), asked(fields)
    assert some is not None
    assert all_ is not None
    assert [slot.required for slot in some.slots.values()] == [True, False]
    assert [slot.required for slot in all_.slots.values()] == [True, True]


@pytest.mark.parametrize("schema", [{"type": "object"}, "string", None, {"type": ["x"]}, 7])
def test_a_field_that_no_form_fits_is_left_out_where_it_may_be(schema: Any) -> None:
    fields = {"seat": {"type": "string"}, "it": schema}
    assert asked(fields, required=["it"]) is None
    left = asked(fields, required=["seat"])
    assert left is not None
    assert list(left.slots) == ["seat"]


def test_an_address_is_shown_and_asked_about() -> None:
    visit = Elicitation(key="k", message="Sign in.", url="https://example.com/in")
    inquiry = inquiry_of([visit], BOOK, "call", ())
    assert inquiry is not None
    assert inquiry.say.en.endswith("Sign in. https://example.com/in")
    assert inquiry.fields == {"k": {"": "go_on"}}
    assert inquiry.slots["go_on"].type == "boolean"
