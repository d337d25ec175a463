"""Examples added to YAML, JSON and `SKILL.md` files: no other character is touched."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from router.domain.errors import InvalidInput
from router.formats.data_edit import EditRefused, InsertValue, SetValue, value_at
from router.formats.yaml_document import Place
from router.formats.yaml_edit import edited, read_editable

_FENCE = "---"
_SKILL_EXAMPLES: Place = ("metadata", "router.examples")


class Unwritable(InvalidInput):
    """Sentences can't be put in there as the file is; says what to do."""


def add_list_items(text: str, place: Place, sentences: Sequence[str]) -> str:
    """Return a YAML or JSON text with the sentences at the end of the list at `place`.

    The list is made if it isn't there, with the mappings around it.

    Raises:
        Unwritable: There is something else at the place, or the text can't be read.
    """
    try:
        there, found = _find(text, place)
        if there == place and isinstance(found, list):
            for number, sentence in enumerate(sentences, start=len(found)):
                text = edited(text, InsertValue(place=place, at=number, value=sentence))
            return text
        if there == place and found is not None:
            raise Unwritable(f"{_written(place)} is no list: write [] there")
        return _set(text, place, there, [*sentences])
    except EditRefused as refused:
        raise Unwritable(str(refused)) from None


def add_skill_examples(text: str, sentences: Sequence[str]) -> str:
    """Return the text of a `SKILL.md` with a line for each sentence in `router.examples`.

    The instructions below the head stay as they are.

    Raises:
        Unwritable: There is no head, it can't be read, or its examples are no text.
    """
    opening, fence, rest = text.partition("\n")
    end = _end_of_head(rest)
    if opening.strip() != _FENCE or end is None:
        raise Unwritable(f"it has no head: write {_FENCE} above and below it")
    head, body = rest[:end], rest[end:]
    try:
        there, found = _find(head, _SKILL_EXAMPLES)
        before = found if there == _SKILL_EXAMPLES else None
        if not isinstance(before, str | None):
            raise Unwritable("router.examples is no text: write a sentence a line below `|`")
        lines = "".join(f"{each}\n" for each in (*(before or "").splitlines(), *sentences))
        return f"{opening}{fence}{_set(head, _SKILL_EXAMPLES, there, lines)}{body}"
    except EditRefused as refused:
        raise Unwritable(str(refused)) from None


def _find(text: str, place: Place) -> tuple[Place, Any]:
    """Return as much of the place as is there, and what stands there."""
    data = read_editable(text).data
    for length in range(len(place), 0, -1):
        with suppress(EditRefused):
            return place[:length], value_at(data, place[:length])
    return (), data


def _set(text: str, place: Place, there: Place, value: Any) -> str:
    """Return the text with the value at the place, of which only `there` is there."""
    for part in reversed(place[len(there) + 1 :]):
        value = {str(part): value}
    return edited(text, SetValue(place=place[: len(there) + 1], value=value))


def _end_of_head(rest: str) -> int | None:
    at = 0
    for line in rest.splitlines(keepends=True):
        if line.strip() == _FENCE:
            return at
        at += len(line)
    return None


def _written(place: Place) -> str:
    return ".".join(map(str, place))
