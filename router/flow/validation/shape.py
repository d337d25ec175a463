"""The shape of a flow file: which keys, which types. Pydantic finds the faults, this says them.

A file with a fault of shape is mended (the faulty key left out, a missing text filled in), so
that the checks that come after can report what else is wrong with it.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from router.domain.errors import Fault, nearest, reason_of
from router.flow.definition import KINDS, FlowDefinition, keys_of
from router.flow.slot_types.slot import AS_FILE
from router.flow.validation.unchecked import UNSAID
from router.formats import validation
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

ROUNDS = 8
"""Mending can uncover another fault (a state left without its kind); more rounds find nothing."""
OF_STATE = ("states", "name")
"""Where a state stands."""
BOTH_LANGUAGES = {"zh": UNSAID, "en": UNSAID}
STAND_INS: dict[str, Any] = {
    **dict.fromkeys(("zh", "en", "flow", "start"), UNSAID),
    **dict.fromkeys(("title", "description"), BOTH_LANGUAGES),
    "type": "text",
    "end": "completed",
}


@dataclass
class Shape:
    """What could be made of the data; no definition where it can't be mended."""

    definition: FlowDefinition | None
    complaints: list[Complaint] = field(default_factory=list)


def read_shape(data: Mapping[str, Any]) -> Shape:
    """The definition in plain data, with everything that is wrong with its shape."""
    found: dict[Place, Complaint] = {}
    mended = copy.deepcopy(dict(data))
    for _ in range(ROUNDS):
        try:
            definition = FlowDefinition.model_validate(
                mended, by_alias=True, by_name=False, context=AS_FILE
            )
        except ValidationError as error:
            found_here = error.errors(include_url=False)
            faults = [each for fault in found_here for each in _by_key(mended, fault)]
            misspelt = [fault for fault in faults if _meant(mended, fault)]
            for fault in misspelt or faults:
                found.setdefault(fault["loc"], Complaint(fault["loc"], _said(mended, fault)))
            if not _mended(mended, misspelt, faults):
                break
        else:
            return Shape(definition, list(found.values()))
    return Shape(None, list(found.values()))


def _mended(data: dict[str, Any], misspelt: list[ErrorDetails], faults: list[ErrorDetails]) -> bool:
    """Whether anything could be mended: misspelt keys alone at first, then all the rest."""
    for fault in misspelt:
        *above, last = fault["loc"]
        owner, meant = _at(data, above), _meant(data, fault)
        value = owner.pop(last)
        if meant is not None:  # None where another misspelling of the same key came first
            owner[meant] = value
    if misspelt:
        return True
    # Last first, so that the places of a list's earlier items stay what they are.
    return sum(_mend(data, fault) for fault in reversed(faults)) > 0


def _meant(data: dict[str, Any], fault: ErrorDetails) -> str | None:
    """The key that a misspelt one certainly stands for: the nearest, where it isn't there."""
    *above, last = fault["loc"] or ("",)
    if fault["type"] != "extra_forbidden" or _kinds_with(fault["loc"]):
        return None
    near = get_close_matches(str(last), list(keys_at(tuple(above))), n=1)
    return near[0] if near and near[0] not in _at(data, above) else None


def _mend(data: dict[str, Any], fault: ErrorDetails) -> bool:
    """Take the fault out of `data`; False where that can't be done."""
    *above, last = fault["loc"] or ("",)
    owner = _at(data, above)
    stand_in = _stand_in(fault, str(last))
    if stand_in is not None and isinstance(owner, dict):
        owner[last] = stand_in
        return True
    if fault["type"] == "missing":
        *above, last = above or [""]
        owner = _at(data, above)
    if isinstance(owner, list) and isinstance(last, int) and last < len(owner):
        del owner[last]
        return True
    return isinstance(owner, dict) and owner.pop(last, "absent") != "absent"


def _stand_in(fault: ErrorDetails, key: str) -> Any:
    """What may stand for a value that is missing or wrong while the rest is checked."""
    kind = fault["type"]
    if kind == "literal_error":
        near = get_close_matches(str(fault["input"]), _literals(fault), n=1)
        return near[0] if near else STAND_INS.get(key)
    if kind.startswith("time_delta"):
        return "P1D"
    if kind.startswith("model_") and list(keys_at(fault["loc"])) == list(BOTH_LANGUAGES):
        return dict(BOTH_LANGUAGES)
    return copy.deepcopy(STAND_INS.get(key)) if kind == "missing" else None


def _at(data: Any, path: list[str | int]) -> Any:
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _said(data: dict[str, Any], fault: ErrorDetails) -> Fault:
    """Pydantic's error as a sentence for whoever writes flows."""
    place = fault["loc"]
    if fault["type"] == "extra_forbidden" and (kinds := _kinds_with(place)):
        return _foreign_key(place, kinds, _at(data, list(place[:-1])))
    here = ".".join(map(str, place)) or "the file"
    if fault["type"] in _SAID:
        return _SAID[fault["type"]](here, place, fault)
    message = reason_of(fault)
    return Fault(f"{here}: {message[0].lower()}{message[1:]}", "see the other flows for the form")


def _by_key(data: dict[str, Any], fault: ErrorDetails) -> list[ErrorDetails]:
    """What is wrong with a state of no kind: its unknown keys, one of which may be its kind."""
    place = fault["loc"]
    state = _at(data, list(place))
    is_state = place[:1] == OF_STATE[:1] and len(place) == len(OF_STATE)
    if fault["type"] != "value_error" or not is_state or not isinstance(state, dict):
        return [fault]
    unknown = {key: state[key] for key in state if key not in set(keys_at(place))}
    return [
        ErrorDetails(type="extra_forbidden", loc=(*place, key), msg="", input=value)
        for key, value in unknown.items()
    ] or [fault]


def _kinds_with(place: Place) -> list[str]:
    """The kinds of states that have the key at this place of another state; mostly none."""
    if place[:1] != ("states",) or len(place) != len(OF_STATE) + 1:
        return []
    return sorted(kind for kind, model in KINDS.items() if place[-1] in keys_of(model))


def _foreign_key(place: Place, kinds: list[str], mapping: object) -> Fault:
    """What is said of a key that only states of other kinds have."""
    here = next((each for each in KINDS if isinstance(mapping, dict) and each in mapping), "say")
    key, ways = str(place[-1]), {kind: (*KINDS[kind].needs, *KINDS[kind].may) for kind in KINDS}
    if any(key in ways[kind] for kind in kinds):
        remedy = f"a state with {here} leaves by {', '.join(ways[here])}"
        return Fault(f"{place[-2]} never leaves by {key}", remedy)
    remedy = f"move it to a state with {' or '.join(kinds)}"
    return Fault(f"{key} does nothing in a state with {here}", remedy)


def _unknown_key(here: str, place: Place, _: ErrorDetails) -> Fault:
    known = list(keys_at(place[:-1]))
    if set(str(place[-1])) & set("“”‘’"):
        return Fault(f"{here}: the quotes are curly ones", 'write "…", with plain quotes')
    remedy = nearest(str(place[-1]), known) or f"there may be {', '.join(known)}"
    return Fault(f"{here}: there is no such key", remedy)


def _missing(here: str, place: Place, _: ErrorDetails) -> Fault:
    last = place[-1]
    if last in BOTH_LANGUAGES:
        language = {"zh": "Chinese", "en": "English"}[str(last)]
        return Fault(f"{here}: the {language} text is missing", f'add {last}: "…"')
    return Fault(f"{here} is missing", f"add {last}: …")


def _want(what: str, remedy: str) -> Callable[[str, Place, ErrorDetails], Fault]:
    def said(here: str, _: Place, fault: ErrorDetails) -> Fault:
        return Fault(f"{here} should be {what}, and is {_brief(fault['input'])}", remedy)

    return said


def _mapping(here: str, place: Place, fault: ErrorDetails) -> Fault:
    known = list(keys_at(place))
    if known == list(BOTH_LANGUAGES):
        said = _want("a text in both languages", 'write {zh: "…", en: "…"}')
    else:
        said = _want("a mapping", f"write {{{', '.join(known[:3])}, …}}")
    return said(here, place, fault)


def _literal(here: str, _: Place, fault: ErrorDetails) -> Fault:
    known = _literals(fault)
    remedy = nearest(str(fault["input"]), known) or f"it may be {', '.join(known)}"
    return Fault(f"{here}: there is no {_brief(fault['input'])}", remedy)


def _literals(fault: ErrorDetails) -> list[str]:
    """The values that pydantic would have taken, out of its own enumeration of them."""
    expected = str(fault.get("ctx", {}).get("expected", ""))
    return [word.strip("' ") for word in expected.replace(" or ", ", ").split(", ")]


def _brief(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= 40 else f"{written[:39]}…"  # noqa: PLR2004


_SAID: dict[str, Callable[[str, Place, ErrorDetails], Fault]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _literal,
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "dict_type": _want("a mapping", "write {name: …}"),
    "string_type": _want("text", "put it in quotes"),
    "tuple_type": _want("a list", "write [a, b], or one line with - for each"),
    "frozen_set_type": _want("a list", "write [a, b], or one line with - for each"),
    "int_parsing": _want("a whole number", "write it in digits, without quotes"),
    "int_type": _want("a whole number", "write it in digits, without quotes"),
    "int_from_float": _want("a whole number", "write it in digits, without a point"),
    "bool_parsing": _want("true or false", "write true or false"),
    "bool_type": _want("true or false", "write true or false"),
    "time_delta_parsing": _want("a duration", "write PT24H for hours or P14D for days"),
    "time_delta_type": _want("a duration", "write PT24H for hours or P14D for days"),
    "time_delta_too_long": _want("100 years at most", "write P36525D or less, or leave it out"),
    "time_delta_negative": _want("no less than nothing", "write PT24H for hours or P14D for days"),
    "greater_than": _want("more than nothing", "write PT24H for hours or P14D for days"),
}


def keys_at(place: Place) -> Iterator[str]:
    """The keys that a flow file may have at a place.

    >>> list(keys_at(("slots", "end", "check", 0)))
    ['that', 'say']
    """
    inner: Place = place
    models: list[type[BaseModel]] = [FlowDefinition]
    if place[:1] == OF_STATE[:1] and len(place) >= len(OF_STATE):
        inner = place[len(OF_STATE) :]
        models = [kind for kind in KINDS.values() if not inner or inner[0] in keys_of(kind)]
    known = (key for model in models for key in validation.keys_at(model, inner))
    yield from (key for key in dict.fromkeys(known) if not key.startswith("="))
