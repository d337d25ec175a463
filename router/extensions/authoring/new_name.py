"""A state, slot or choice called otherwise: all that names it follows, and so do the stories.

It is done in the plain data of the files, whatever else is wrong with them: a flow is renamed in
while it is written.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from router.domain.errors import Fault
from router.domain.locale import LOCALES
from router.flow.definition import KINDS
from router.flow.language import comparisons
from router.flow.language.comparisons import EACH
from router.flow.language.expressions import TOKEN
from router.flow.validation.references import NAME
from router.formats.data_edit import EditRefused, RenameKey
from router.formats.regex import compiled
from router.formats.yaml_document import Place, Unreadable, read_yaml
from router.formats.yaml_edit import respelt

Sort = Literal["states", "slots"]
_FILLED_IN = compiled(r"(?s)\{\{.*?\}\}|\{%.*?%\}")
_MEMBER = re.compile(r"(?<![\w.])(slots|shown)\.(\w+)")
_CHOICE = re.compile(r"[^\s\\'\"{}%#](?:[^\n\r\\'\"{}%#]{0,62}[^\s\\'\"{}%#])?\Z")
"""What can stand in quotes in an expression and a text, as it is."""
_STORY_SLOTS = frozenset({"slots", "form", "values"})
"""Keys of steps below which values stand by the names of slots."""


@dataclass
class _Spellings:
    """What is written otherwise, by its place."""

    values: dict[Place, str] = field(default_factory=dict)
    keys: dict[Place, str] = field(default_factory=dict)


def renames(edit: RenameKey) -> bool:
    """Whether the edit is about a state, a slot or a choice, which other places name."""
    if len(edit.place) == 2:  # noqa: PLR2004
        return edit.place[0] in {"states", "slots"}
    return _is_choice(edit.place)


def _is_choice(place: Place) -> bool:
    return len(place) > 3 and place[0] == "slots" and place[-2] == "choices"  # noqa: PLR2004


def with_new_name(text: str, stories: str, edit: RenameKey) -> tuple[str, str]:
    """A flow file and its stories with what stands at `edit.place` called `edit.key`.

    A text that a choice is compared with follows it; what a tool is given by it is the tool's.

    Raises:
        EditRefused: nothing is there to be renamed, or the name can't be one; nothing was done.
    """
    sort, old = edit.place[0], edit.place[-1]
    can_be = _CHOICE if _is_choice(edit.place) else NAME
    if not can_be.match(edit.key):
        what = f"{edit.key[:80]!r} can't be a name here"
        raise EditRefused(Fault(what, "use small letters, digits and _, and a letter first"))
    data, said = _read(text), _read(stories)
    found = _Spellings(keys={edit.place: edit.key})
    of_story = _Spellings()
    if _is_choice(edit.place):
        found.values = dict(_choices(data, edit.place, edit.key))
        of_story.values = dict(_story_choices(said, data, edit))
    elif sort == "states":
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


def doubts(text: str, edit: RenameKey) -> Iterator[tuple[Place, Fault]]:
    """What may mean a choice that is called otherwise, and doesn't follow it: somebody has to look.

    It is a text that isn't known to be compared with anything, and whatever reads the slot's value
    as it is, such as what a tool is given.
    """
    if not _is_choice(edit.place):
        return
    slot, old = edit.place[:-2], str(edit.place[-1])
    path = comparisons.path_of(slot)
    data = _read(text)
    for here, value in _written(data):
        if here[: len(edit.place)] == edit.place:
            continue
        of_template = here[-1] in LOCALES
        known = _item(data, here)
        if of_template:
            texts, found = comparisons.texts_in_template(value), comparisons.in_template(value)
        else:
            texts = comparisons.texts_in_expression(value)
            found = comparisons.in_expression(value, known)
        if here[-1] == "lookup":
            found += comparisons.outcomes(value, comparisons.path_of(here[:-1]))
        sure = {each.start for each in found if each.path[0] in _KNOWN}
        if any(each.text == old and each.start not in sure for each in texts):
            sort = "text" if of_template else "expression"
            what = f"{old!r} stands in this {sort}, and may be the choice of {slot[1]}"
            yield here, Fault(what, f"look here: write {edit.key!r} if it is")
        read = [] if of_template else comparisons.handed_on(value, known)
        is_given = "with" in here
        if any(one == path or (is_given and one == path[: len(one)]) for one in read):
            what = f"this expression hands on the choice of {slot[1]} as it is"
            yield here, Fault(what, f"look here: whatever it is given to has to know {edit.key!r}")


_KNOWN = frozenset({"slots", "results", "shown", "requester", "document"})
"""What begins the path of a value of which it is known what it is."""


def with_slots_read_as(data: Any, names: Mapping[str, str]) -> Any:
    """The plain data of a flow where each slot is read by another name; their keys stay.

    >>> data = {"slots": {"a": {"ask": {"en": "{{ shown.a }}?"}}}}
    >>> with_slots_read_as(data, {"a": "b"})
    {'slots': {'a': {'ask': {'en': '{{ shown.b }}?'}}}}
    """
    data = deepcopy(data)
    for old, new in names.items():
        for place, value in [*_slot_names(data, old, new)]:
            holder = data
            for part in place[:-1]:
                holder = holder[part]
            holder[place[-1]] = value
    return data


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
    for place, value in _strings(data, ()):
        after = value
        if place[0] == "triggers" or "find" in place:
            after = value.replace(f"(?P<{old}>", f"(?P<{new}>").replace(f"(?<{old}>", f"(?<{new}>")
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
    def called(found: re.Match[str]) -> str:
        return f"{found[1]}.{new}" if found[2] == old else found[0]

    return _MEMBER.sub(called, text)


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


def _choices(data: Any, place: Place, new: str) -> Iterator[tuple[Place, str]]:
    """What is compared with a choice, in expressions and in texts, and what looks one up."""
    slot, old = place[:-2], str(place[-1])
    path = comparisons.path_of(slot)
    for here, value in _written(data):
        if here[-1] in LOCALES:
            found = comparisons.in_template(value)
        else:
            found = comparisons.in_expression(value, _item(data, here))
            if here == (*slot, "lookup"):
                found += comparisons.outcomes(value, path)
        hits = [each for each in found if (each.path, each.text) == (path, old)]
        if hits:
            yield here, comparisons.replaced(value, hits, new)


def _written(data: Any) -> Iterator[tuple[Place, str]]:
    """Whatever may be an expression, or a text that values are filled into."""
    for here, value in _strings(data, ()):
        if here[0] in {"states", "slots", "withdrawal"} and "find" not in here:
            yield here, value


def _item(data: Any, place: Place) -> Mapping[str, comparisons.MemberPath]:
    if place[0] != "states":
        return comparisons.item_path(place)
    state = data["states"][place[1]]
    each = state.get("each") if isinstance(state, dict) else None
    return comparisons.item_path(place, each) if isinstance(each, str) else {}


def _story_choices(stories: Any, data: Any, edit: RenameKey) -> Iterator[tuple[Place, str]]:
    """The values of a slot in stories, those of lists and objects too, and buttons of it alone."""
    path, old = comparisons.path_of(edit.place[:-2])[1:], edit.place[-1]
    for here, value in _strings(stories, ()):
        starts = [number for number, part in enumerate(here) if part in _STORY_SLOTS]
        below = [here[start + 1 :] for start in starts]
        steps = [tuple(EACH if isinstance(part, int) else part for part in one) for one in below]
        if value == old and path in steps:
            yield here, edit.key
    bearers = [
        place for place, held in _mappings(data) if place[-1:] == ("choices",) and old in held
    ]
    for here, step in _mappings(stories) if len(bearers) == 1 else ():
        if (step.get("type"), step.get("value")) == ("choose", old):
            yield (*here, "value"), edit.key


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
