"""A state or a slot called otherwise: everything that names it follows, and so do the stories.

It is done in the plain data of the files, whatever else is wrong with them: a flow is renamed in
while it is written.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from router.domain.errors import Fault
from router.domain.locale import LOCALES
from router.flow.definition import KINDS
from router.flow.language.expressions import TOKEN
from router.flow.validation.references import NAME
from router.formats.data_edit import EditRefused, RenameKey
from router.formats.yaml_document import Place, Unreadable, read_yaml
from router.formats.yaml_edit import respelt

Sort = Literal["states", "slots"]
_FILLED_IN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_STORY_SLOTS = frozenset({"slots", "form", "values"})
"""Keys of steps below which values stand by the names of slots."""


@dataclass
class _Spellings:
    """What is written otherwise, by its place."""

    values: dict[Place, str] = field(default_factory=dict)
    keys: dict[Place, str] = field(default_factory=dict)


def renames(edit: RenameKey) -> bool:
    """Whether the edit is about a state or a slot, which other places name."""
    return len(edit.place) == 2 and edit.place[0] in {"states", "slots"}  # noqa: PLR2004


def with_new_name(text: str, stories: str, edit: RenameKey) -> tuple[str, str]:
    """A flow file and its stories with the state or slot at `edit.place` called `edit.key`.

    Raises:
        EditRefused: nothing is there to be renamed, or the name can't be one; nothing was done.
    """
    sort, old = edit.place
    if not NAME.match(edit.key):
        what = f"{edit.key[:80]!r} can't be a name here"
        raise EditRefused(Fault(what, "use small letters, digits and _, and a letter first"))
    data, said = _read(text), _read(stories)
    found = _Spellings(keys={edit.place: edit.key})
    of_story = _Spellings()
    if sort == "states":
        found.values = dict(_state_names(data, str(old), edit.key))
        of_story.values = {
            (*place, "state"): edit.key
            for place, step in _mappings(said)
            if step.get("state") == old and "expect" in place
        }
    else:
        found.values = dict(_slot_names(data, str(old), edit.key))
        _story_slots(said, str(old), edit.key, of_story)
    return (
        respelt(text, found.values, found.keys),
        respelt(stories, of_story.values, of_story.keys) if stories.strip() else stories,
    )


def _read(text: str) -> Any:
    try:
        return read_yaml(text).data
    except Unreadable as bad:
        raise EditRefused(Fault(f"line {bad.line}: {bad.fault.what}", bad.fault.remedy)) from None


def _state_names(data: Any, old: str, new: str) -> Iterator[tuple[Place, str]]:
    if not isinstance(data, dict):
        return
    if data.get("start") == old:
        yield ("start",), new
    ways = {way for kind in KINDS.values() for way in (*kind.needs, *kind.may)} | {"parallel"}
    states = data.get("states")
    for name, state in states.items() if isinstance(states, dict) else ():
        for way in ways & state.keys() if isinstance(state, dict) else ():
            for place, value in _strings(state[way], ("states", name, way)):
                names_a_state = place[-1] in {way, "to"} or way == "parallel"
                if value == old and names_a_state:
                    yield place, new


def _slot_names(data: Any, old: str, new: str) -> Iterator[tuple[Place, str]]:
    group = re.compile(rf"\(\?P?<{re.escape(old)}>")
    for place, value in _strings(data, ()):
        after = value
        if place[0] == "triggers" or "find" in place:
            after = group.sub(lambda found: found[0].replace(f"<{old}>", f"<{new}>"), value)
        elif place[-1] in LOCALES:
            after = _FILLED_IN.sub(lambda found: _in_template(found[0], old, new), value)
        elif place[:3] == ("slots", old, "from"):
            after = f"document.{old}" if value == "document" else value
        elif place[0] == "states" and len(place) > 3 and place[2] in {"collect", "forget"}:  # noqa: PLR2004
            after = new if value == old else value
        elif place[0] in {"states", "slots", "withdrawal"}:
            after = in_expression(value, old, new)
        if after != value:
            yield place, after


def _in_template(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![\w.])(slots|shown)\.{re.escape(old)}(?!\w)", rf"\1.{new}", text)


def in_expression(source: str, old: str, new: str) -> str:
    """An expression that reads `slots.new` where it read `slots.old`, otherwise as it was.

    >>> in_expression("has(slots.end) && slots.end > slots.ends", "end", "until")
    'has(slots.until) && slots.until > slots.ends'
    """
    tokens = [found for found in TOKEN.finditer(source) if found.lastgroup != "skip"]
    words = ["", *(found[0] for found in tokens)]
    here = [
        found.span()
        for number, found in enumerate(tokens, start=1)
        if words[number] == old
        and words[number - 2 : number] == ["slots", "."]
        and (number < 3 or words[number - 3] != ".")  # noqa: PLR2004
    ]
    for start, end in reversed(here):
        source = source[:start] + new + source[end:]
    return source


def _story_slots(stories: Any, old: str, new: str, found: _Spellings) -> None:
    for place, mapping in _mappings(stories):
        if place and place[-1] in _STORY_SLOTS and old in mapping:
            found.keys[*place, old] = new
    for place, value in _strings(stories, ()):
        first, dot, rest = value.partition(".")
        if "awaiting" in place and first == old:
            found.values[place] = f"{new}{dot}{rest}"


def _strings(data: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(data, str):
        yield place, data
    else:
        for key, value in _below(data):
            yield from _strings(value, (*place, key))


def _mappings(data: Any, place: Place = ()) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    if isinstance(data, dict):
        yield place, data
    for key, value in _below(data):
        yield from _mappings(value, (*place, key))


def _below(data: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(data, dict):
        yield from data.items()
    elif isinstance(data, list):
        yield from enumerate(data)
