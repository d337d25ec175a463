"""A file's data into a pydantic model, with every fault of its shape told at its place.

What is wrong with a value, and what would be right, is said where the field is declared, so that
a key's type, its JSON Schema and its words stand in one line:

    retries: Annotated[StrictInt | None, Ge(0), said("write 0 or more, or null for ever")] = 3

A validator of one's own raises `ValueError("what is wrong; what would be right")`. In both texts
`{key}` and `{value}` stand for the faulty ones.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, WrapValidator
from pydantic_core import ErrorDetails, PydanticCustomError

from router.domain.errors import DefinitionError, Fault, FaultyValue, Problem, nearest, reason_of
from router.domain.value import Value
from router.formats.yaml_document import (
    Place,
    Unreadable,
    YamlDocument,
    read_text,
    read_yaml,
)

Model = TypeVar("Model", bound=BaseModel)

_OF_KEYS = "[key]"
"""What pydantic puts behind a key of a mapping that is at fault itself."""
EXTRA = "extra_forbidden"
SAID = "said"
"""The type of an error that says what is wrong, and what would be right."""
ROUNDS = 4
"""A value that is taken out can uncover another fault; more rounds find nothing."""


class Complaint(NamedTuple):
    """A fault and where in the file it is."""

    place: Place
    fault: Fault


class Entry(Value):
    """A piece of a file: closed to keys that mean nothing; the text below a key describes it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


def misfit(what: str, remedy: str) -> PydanticCustomError:
    """What a validator raises against a value, in words of its own."""
    return PydanticCustomError(SAID, "{what}", {"what": what, "remedy": remedy})


def said(remedy: str, what: str = "{key} is {value}") -> WrapValidator:
    """Have whatever pydantic has against a value said once, and so; of what isn't there, that."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValueError:
            wrong = what if value is not None else "there is no {key}"
            raise misfit(wrong, remedy) from None

    return WrapValidator(check)


@dataclass(frozen=True)
class FileWording:
    """How a kind of file speaks of what every kind has."""

    unknown: str = "there is no {key}"
    add: str = 'write "{key}": …'
    """What to do where a key is missing."""
    known: str = "there are: {keys}"
    mapping: str = "{key} is no object"
    write: str = 'write {"name": …}'


JSON_WORDING = FileWording()


@dataclass
class ModelReading(Generic[Model]):
    """What could be made of the data."""

    value: Model | None
    """None where what is left without the faulty values can't be used."""
    complaints: list[Complaint]

    @property
    def is_sound(self) -> bool:
        """True where nothing is wrong."""
        return not self.complaints


def validated(
    model: type[Model],
    data: Any,
    place: Place = (),
    wording: FileWording = JSON_WORDING,
    context: Any = None,
) -> ModelReading[Model]:
    """The model of the data at `place`, less faulty values that may go, and all that is wrong.

    `context` is what validators may ask.
    """
    found: dict[Place, Fault] = {}
    sound = copy.deepcopy(data)
    for _ in range(ROUNDS):
        try:
            value = model.model_validate(sound, context=context)
            return ModelReading(value, [Complaint(*each) for each in found.items()])
        except ValidationError as error:
            # A key that nobody knows explains what else is missing.
            errors = sorted(error.errors(include_url=False), key=lambda each: each["type"] != EXTRA)
        for each in errors:
            at = (*place, *(part for part in each["loc"] if part != _OF_KEYS))
            # Around what was taken out, it is missing: that is said already.
            if not any(known[: len(at)] == at for known in found):
                found[at] = _fault(model, each, at, wording)
        if sum(_taken_out(sound, each) for each in errors) < len(errors):
            break
    return ModelReading(None, [Complaint(*each) for each in found.items()])


def yaml_file(path: Path, largest: int, remedy: str, *, as_written: bool = False) -> YamlDocument:
    """The document of a file of `largest` bytes at most; raises `DefinitionError` where it is none.

    `remedy` is what to do about one that is larger; `as_written` is that of `read_yaml`.
    """
    try:
        return read_yaml(read_text(path, largest, remedy), as_written=as_written)
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None


def problems_in(
    file: str, document: YamlDocument, complaints: Sequence[Complaint]
) -> list[Problem]:
    """The problems of a file: those of reading it, and the complaints, by line and each once."""
    found = [*document.faults, *((document.line(at), fault) for at, fault in complaints)]
    ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
    return [Problem(file, line, *fault) for line, fault in ordered]


def _fault(model: type[BaseModel], error: ErrorDetails, at: Place, wording: FileWording) -> Fault:
    place, kind = error["loc"], error["type"]
    key = str(at[-1])[:60] if at else "it"
    if kind == EXTRA:
        known = list(keys_at(model, place[:-1]))
        remedy = nearest(key, known) or wording.known.replace("{keys}", ", ".join(known))
        return Fault(wording.unknown.replace("{key}", key), remedy)
    if kind in _OF_MAPPINGS or (kind == "missing" and model_at(model, place)):
        return Fault(wording.mapping.replace("{key}", key), wording.write)
    if kind == "missing":
        return Fault(f"there is no {key}", wording.add.replace("{key}", key))
    what, remedy = _own_words(error)
    shown = {"{key}": key, "{value}": f"{error['input']!r:.60}"}
    for hole, text in shown.items():
        what, remedy = what.replace(hole, text), remedy.replace(hole, text)
    return Fault(what, remedy)


_OF_MAPPINGS = ("model_type", "model_attributes_type", "dict_type", "mapping_type")


def _own_words(error: ErrorDetails) -> tuple[str, str]:
    if error["type"] == SAID:
        context: Mapping[str, str] = error["ctx"]
        return context["what"], context["remedy"]
    cause = error.get("ctx", {}).get("error")
    return cause.fault if isinstance(cause, FaultyValue) else _unusable(error)


def _unusable(error: ErrorDetails) -> Fault:
    return Fault("{key} can't be used", reason_of(error))


def _taken_out(data: Any, error: ErrorDetails) -> bool:
    """Whether the faulty value could be left out."""
    *above, last = error["loc"] or ("",)
    for part in above:
        try:
            data = data[part]
        except (LookupError, TypeError):
            break
    if error["type"] == "missing" or not isinstance(data, dict):
        return False
    data.pop(last, None)
    return True


def model_at(model: type[BaseModel], place: Place) -> type[BaseModel] | None:
    """The model that the value at a place is read into; None where it is read into none."""
    found: type[BaseModel] | None = model
    within_container = False
    for part in place:
        if within_container:  # a place in a list, or a name that the file's author gave
            within_container = False
        elif found is not None:
            found, within_container = _field_at(found, part)
    return None if within_container else found


def _field_at(model: type[BaseModel], key: str | int) -> tuple[type[BaseModel] | None, bool]:
    """The model that a field holds, and whether it holds several of them."""
    for name, info in model.model_fields.items():
        if key == (info.alias or name):
            return next(_models_in(info.annotation), None), _is_container(info.annotation)
    return None, False


def _is_container(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return any(map(_is_container, get_args(annotation)))
    return origin in (dict, Mapping, list, tuple, frozenset)


def keys_at(model: type[BaseModel], place: Place) -> Iterator[str]:
    """The keys that a file may have at a place."""
    found = model_at(model, place)
    fields = found.model_fields if found else {}
    yield from (each.alias or name for name, each in fields.items())


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
