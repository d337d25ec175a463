"""The base of a run and its parts, and the bounds of what they hold.

A run lives for months and is carried whole into each new workflow run. So every list and dict in
it declares next to its field how many entries it may have and what happens to more of them, and
every part declares how many bytes of JSON it may have (`router.flow.engine.room` measures them).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from router.domain.value import Value

Overflow = Literal["drop_oldest", "drop_middle", "replace", "refuse", "fail", "hold"]
"""What happens beyond a bound: the oldest entries, or those in the middle, are dropped at the end
of the step; a new entry replaces the old one; a new entry isn't taken, and whoever gave it is told;
the flow fails; an operator is asked before anything else is called."""


@dataclass(frozen=True)
class Bound:
    """How many entries a list or dict of a run may have, and what happens beyond that."""

    max_entries: int
    overflow: Overflow


@dataclass(frozen=True)
class OnePer:
    """A list or dict with at most one entry, or `times`, for each thing that the flow's file names.

    A `value` is an item or a field within a slot: the bytes of all slots bound how many there are.
    """

    thing: Literal["slot", "value", "state", "file", "event", "argument", "result", "question"]
    times: int = 1


class Draftable(Value, frozen=False, extra="forbid"):
    """A value that a step changes in place, after having made a draft of it."""

    max_bytes: ClassVar[int]
    """Bytes of JSON up to which the run calls tools and starts flows."""

    def draft(self) -> Self:
        """Copy the value for a step to change in place; this one then stays as it is.

        Only the containers are new. What is in them is shared, and therefore replaced where it
        has to be different, never changed: so a step costs the same whatever was said before.
        """
        draft = self.model_copy()
        fields = draft.__dict__
        for name in _containers(type(self)):
            if (entries := fields[name]) is not None:
                fields[name] = entries.copy()
        return draft

    def trim(self) -> None:
        """Drop the oldest entries of each list or dict that has more than its bound allows."""
        fields = self.__dict__
        for name, max_entries in _trimmed_fields(type(self)):
            entries = fields[name]
            if len(entries) > max_entries:
                kept = list(entries)[-max_entries:]
                is_dict = isinstance(entries, dict)
                fields[name] = {key: entries[key] for key in kept} if is_dict else kept


@cache
def _containers(kind: type[Draftable]) -> tuple[str, ...]:
    """Return the fields of a class that hold a list or a dict, or perhaps None."""
    return tuple(name for name, field in kind.model_fields.items() if _is_container(field))


def _is_container(field: FieldInfo) -> bool:
    is_union = get_origin(field.annotation) in (Union, UnionType)
    kinds = get_args(field.annotation) if is_union else (field.annotation,)
    return any(get_origin(each) in (list, dict) for each in kinds)


@cache
def _trimmed_fields(kind: type[Draftable]) -> tuple[tuple[str, int], ...]:
    """Return the fields of a class whose oldest entries are dropped, with their bounds."""
    return tuple(
        (name, bound.max_entries)
        for name, bound in declared_bounds(kind)
        if isinstance(bound, Bound) and bound.overflow == "drop_oldest"
    )


def declared_bounds(kind: type[Value]) -> Iterator[tuple[str, Bound | OnePer]]:
    """Yield the fields of a class that declare a bound, each with its bound."""
    for name, field in kind.model_fields.items():
        for bound in field.metadata:
            if isinstance(bound, Bound | OnePer):
                yield name, bound
