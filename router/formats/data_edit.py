"""Edits of plain data by places: what a text that says it has to say after each of them."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from router.domain.errors import Fault
from router.formats.yaml_document import Place


class _OneEdit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SetValue(_OneEdit):
    """A value in the place of what is there, or for a key that the mapping lacks."""

    op: Literal["set"] = "set"
    place: Place = Field(min_length=1)
    value: JsonValue


class RemoveValue(_OneEdit):
    """What stands at the place goes, with its key and the comment right above it."""

    op: Literal["remove"] = "remove"
    place: Place = Field(min_length=1)


class InsertValue(_OneEdit):
    """A new entry of the mapping or list at `place`, before the one with the number `at`."""

    op: Literal["insert"] = "insert"
    place: Place
    at: int = Field(ge=0)
    key: str | None = None
    """Of a mapping: the entry's key."""
    value: JsonValue


class MoveValue(_OneEdit):
    """The entry at the place goes to the number `at` among those beside it."""

    op: Literal["move"] = "move"
    place: Place = Field(min_length=1)
    at: int = Field(ge=0)


class RenameKey(_OneEdit):
    """The key at the place is called otherwise; its value and its rank stay."""

    op: Literal["rename"] = "rename"
    place: Place = Field(min_length=1)
    key: str = Field(min_length=1)


Edit = SetValue | RemoveValue | InsertValue | MoveValue | RenameKey


class EditRefused(Exception):
    """The edit can't be made; the text is as it was."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def changed(data: Any, edit: Edit) -> Any:
    """The data after the edit, the data itself left alone; raises `EditRefused`.

    >>> changed({"a": 1}, SetValue(place=("b",), value=[2]))
    {'a': 1, 'b': [2]}
    """
    copy = deepcopy(data)
    holder_place = edit.place if isinstance(edit, InsertValue) else edit.place[:-1]
    holder = value_at(copy, holder_place)
    if holder is None:
        # `slots:` with nothing below it is a mapping to come.
        holder = {}
        copy = _with(copy, holder_place, holder)
    if isinstance(holder, dict):
        _change_mapping(holder, edit)
    elif isinstance(holder, list):
        _change_list(holder, edit)
    else:
        raise _missing(edit.place)
    return copy


def value_at(data: Any, place: Place) -> Any:
    """What stands at the place; raises `EditRefused` where nothing does."""
    for number, part in enumerate(place):
        is_key = isinstance(data, dict) and isinstance(part, str) and part in data
        if is_key or (isinstance(data, list) and type(part) is int and 0 <= part < len(data)):
            data = data[part]
        else:
            raise _missing(place[: number + 1])
    return data


def _with(data: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    holder: Any = value_at(data, place[:-1])
    holder[place[-1]] = value
    return data


def _missing(place: Place) -> EditRefused:
    named = ".".join(map(str, place))[:80] or "the whole text"
    return EditRefused(
        Fault(f"there is no {named} that this could be done to", "name another place")
    )


def _change_mapping(holder: dict[str, Any], edit: Edit) -> None:
    if isinstance(edit, InsertValue):
        if edit.key is None or edit.key in holder or edit.at > len(holder):
            raise _unfit_insert(edit, len(holder), "in a mapping an entry needs a key of its own")
        _reorder(holder, [*holder][: edit.at], {edit.key: edit.value})
        return
    key = edit.place[-1]
    if not isinstance(key, str) or (key not in holder and not isinstance(edit, SetValue)):
        raise _missing(edit.place)
    if isinstance(edit, SetValue):
        holder[key] = edit.value
    elif isinstance(edit, RemoveValue):
        del holder[key]
    elif isinstance(edit, MoveValue):
        _check_rank(edit, len(holder))
        moved = holder.pop(key)
        _reorder(holder, [*holder][: edit.at], {key: moved})
    else:
        if edit.key != key and edit.key in holder:
            raise EditRefused(Fault(f"there is a {edit.key} already", "choose another name"))
        items = [(edit.key if name == key else name, value) for name, value in holder.items()]
        holder.clear()
        holder.update(items)


def _reorder(holder: dict[str, Any], first: Sequence[str], then: dict[str, Any]) -> None:
    """Put `then` behind those that are `first`, and the rest behind it."""
    rest = {key: value for key, value in holder.items() if key not in first}
    for key in rest:
        del holder[key]
    holder.update({**then, **rest})


def _change_list(holder: list[Any], edit: Edit) -> None:
    if isinstance(edit, InsertValue):
        if edit.key is not None or edit.at > len(holder):
            raise _unfit_insert(edit, len(holder), "an item of a list has no key")
        holder.insert(edit.at, edit.value)
        return
    at = edit.place[-1]
    if not isinstance(at, int) or not 0 <= at < len(holder) or isinstance(edit, RenameKey):
        raise _missing(edit.place)
    if isinstance(edit, SetValue):
        holder[at] = edit.value
    elif isinstance(edit, RemoveValue):
        del holder[at]
    else:
        _check_rank(edit, len(holder))
        holder.insert(edit.at, holder.pop(at))


def _check_rank(edit: MoveValue, count: int) -> None:
    if edit.at >= count:
        raise EditRefused(
            Fault(f"there is no number {edit.at} to move it to", f"{count - 1} is the last")
        )


def _unfit_insert(edit: InsertValue, count: int, otherwise: str) -> EditRefused:
    if edit.at > count:
        what = f"nothing can be put in as number {edit.at} where there are {count}"
        return EditRefused(Fault(what, f"{count} puts it at the end"))
    return EditRefused(Fault(otherwise, "write it so"))


def is_same(one: Any, other: Any) -> bool:
    """True where they are the same in the order of their keys too, and in the types of numbers."""
    return json.dumps(one) == json.dumps(other)
