"""The parts of a conversation's state are small, and each list and dict in them has a bound."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from router.contracts.bounds import KeepNewest, MadeRoomBy
from router.contracts.conversation_state import (
    ConversationState,
    FrontEnd,
    KnownHandOffs,
    OpenFlows,
    OpenSkill,
    Transcript,
)
from router.domain.value import Value
from tests.table import each_row
from workflows import carrying, front_end_calls, open_flows

PARTS: list[type[BaseModel]] = [
    ConversationState,
    Transcript,
    OpenFlows,
    OpenSkill,
    FrontEnd,
    KnownHandOffs,
]
MAX_FIELDS = 16


def containers(part: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields of a part that may hold any number of items."""
    for name, field in part.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        if {list, dict, tuple, set, frozenset} & {get_origin(kind) or kind for kind in kinds}:
            yield name, field


def test_the_state_consists_of_the_parts_that_are_tested_here() -> None:
    kinds = [field.annotation for field in ConversationState.model_fields.values()]
    named = [next(k for k in (kind, *get_args(kind)) if k in PARTS) for kind in kinds]
    assert set(named) == set(PARTS) - {ConversationState}
    assert ConversationState.model_fields.keys() == carrying.MAX_PART_BYTES.keys()


@each_row("part", PARTS, ids=lambda part: part.__name__)
def test_a_part_has_few_fields_and_every_container_in_it_a_bound(part: type[BaseModel]) -> None:
    assert len(part.model_fields) <= MAX_FIELDS
    unbounded = [
        name
        for name, field in containers(part)
        if not any(isinstance(each, KeepNewest | MadeRoomBy) for each in field.metadata)
    ]
    assert unbounded == []


def test_a_list_without_a_bound_would_be_found() -> None:
    class Careless(Value):
        said: list[str] = []
        known: dict[str, int] | None = None
        bounded: Annotated[list[str], KeepNewest(2)] = []
        word: str = ""

    assert [name for name, _ in containers(Careless)] == ["said", "known", "bounded"]


def test_what_makes_room_is_a_function() -> None:
    fields = [field for part in PARTS for _, field in containers(part)]
    named = {each.by for field in fields for each in field.metadata if isinstance(each, MadeRoomBy)}
    modules = (carrying, front_end_calls, open_flows)
    assert named
    assert all(any(callable(getattr(m, by, None)) for m in modules) for by in named)


@each_row(
    ("items", "kept"),
    [
        ({"said": ["a", "b", "c"]}, ["b", "c"]),
        ({"said": ["a"]}, ["a"]),
        ({"known": {"a": 1, "b": 2, "c": 3}}, {"b": 2, "c": 3}),
        ({"told": ("a", "b", "c")}, ("b", "c")),
    ],
)
def test_beyond_its_bound_a_field_keeps_the_newest(items: Mapping[str, Any], kept: Any) -> None:
    class Bounded(Value):
        said: Annotated[list[str], KeepNewest(2)] = []
        known: Annotated[dict[str, int], KeepNewest(2)] = {}
        told: Annotated[tuple[str, ...], KeepNewest(2)] = ()

    (name,) = items
    assert getattr(Bounded.model_validate(items), name) == kept
    copy = Bounded().replace(**items)
    assert getattr(copy, name) == kept
