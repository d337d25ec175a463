"""As much of a large result as a model is shown: JSON still, and it says what of it isn't there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from router.domain.locale import Locale

_NOTE = 60
"""Characters that a note of what is left out takes at most."""


@dataclass(frozen=True)
class ExcerptPart:
    """What is shown of a list, an object or a text: the first `shown` of `whole`."""

    of: type
    shown: int
    whole: int

    def told(self, locale: Locale) -> str:
        """The same for the person.

        >>> Part(list, 20, 120).told("en")
        'Shown: the first 20 of 120.'
        """
        if self.of is str:
            zh = f"只看了前 {self.shown} 个字符，共 {self.whole} 个。"
            en = f"Shown: the first {self.shown} of {self.whole} characters."
        else:
            zh = f"只看了前 {self.shown} 条，共 {self.whole} 条。"
            en = f"Shown: the first {self.shown} of {self.whole}."
        return zh if locale == "zh" else en


@dataclass(frozen=True)
class Excerpt:
    """A result as a model reads it, and of what in it only a part is there."""

    text: str
    parts: list[ExcerptPart] = field(default_factory=list)

    @property
    def value(self) -> JsonValue:
        """The part of the result that the text shows."""
        shown: JsonValue = json.loads(self.text)
        return shown


def excerpt(result: JsonValue, longest: int) -> Excerpt:
    """The result as JSON of at most so many characters, cut between the elements it is made of.

    >>> excerpt([1, 2, 3], 100).text, excerpt(["a" * 40] * 9, 200).text[-19:]
    ('[1, 2, 3]', '", "… 6 more of 9"]')
    """
    parts: list[ExcerptPart] = []
    room = longest
    text = _json(result)
    while len(text) > longest and room > _NOTE:
        parts.clear()
        text = _json(_cut(result, room, parts))
        room -= len(text) - longest if len(text) > longest else 0
    if len(text) > longest:  # nested so deep that the notes alone are too many
        parts.clear()
        text = _json(_cut_text(text, longest, parts))
    return Excerpt(text, parts)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(value: JsonValue, room: int, parts: list[ExcerptPart]) -> JsonValue:
    if len(_json(value)) <= room:
        return value
    if isinstance(value, str):
        return _cut_text(value, room, parts)
    if isinstance(value, list):
        return _cut_list(value, room, parts)
    return _cut_object(value, room, parts) if isinstance(value, dict) else value


def _cut_text(text: str, room: int, parts: list[ExcerptPart]) -> str:
    kept = text[: max(0, room - _NOTE)]
    while kept and len(_json(kept)) > room - _NOTE:
        kept = kept[: len(kept) * (room - _NOTE) // (len(_json(kept)) + 1)]
    parts.append(ExcerptPart(str, len(kept), len(text)))
    return f"{kept}… {len(text) - len(kept)} more characters of {len(text)}"


def _cut_list(several: list[JsonValue], room: int, parts: list[ExcerptPart]) -> list[JsonValue]:
    kept, left = [], room - _NOTE
    for each in several:
        left -= len(_json(each)) + 2
        if left < 0:
            break
        kept.append(each)
    inner: list[ExcerptPart] = []
    if not kept and room > 2 * _NOTE:
        kept = [_cut(several[0], room - _NOTE, inner)]
    if len(kept) < len(several):
        parts.append(ExcerptPart(list, len(kept), len(several)))
        kept.append(f"… {len(several) - len(kept)} more of {len(several)}")
    parts += inner
    return kept


def _cut_object(
    value: dict[str, JsonValue], room: int, parts: list[ExcerptPart]
) -> dict[str, JsonValue]:
    """What is small stays whole; what is large shares the rest, in the order that it stands in."""
    names = list(_fitting(value, room - _NOTE))
    left = room - sum(len(_json(name)) + 4 for name in names) - _NOTE
    rooms: dict[str, int] = {}
    by_size = sorted(names, key=lambda name: len(_json(value[name])))
    for place, name in enumerate(by_size):
        rooms[name] = min(len(_json(value[name])), max(0, left) // (len(by_size) - place))
        left -= rooms[name]
    kept = {name: _cut(value[name], rooms[name], parts) for name in names}
    if len(names) < len(value):
        parts.append(ExcerptPart(dict, len(names), len(value)))
        kept["…"] = f"{len(value) - len(names)} more of {len(value)}"
    return kept


_LEAST = 2 * _NOTE
"""Characters that an element of an object gets: with less it isn't told of."""


def _fitting(value: dict[str, JsonValue], room: int) -> Iterator[str]:
    for name, inner in value.items():
        room -= len(_json(name)) + 4 + min(_LEAST, len(_json(inner)))
        if room < 0:
            return
        yield name
