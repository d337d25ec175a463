"""What is kept of an answer: parts by JSON pointer, so many items, and some of their keys. Pure."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import JsonValue

from router.domain.errors import UnusableResult
from router.domain.locale import Localised

_INDEX = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True)
class AnswerSelection:
    """A selection from an answer; everything, where nothing is said."""

    places: str | Mapping[str, str] = ""
    """A JSON pointer (RFC 6901), or one for each name of the result."""
    most: int | None = None
    keep: frozenset[str] = field(default_factory=frozenset)
    """Which keys of each item; all of them, where there are none."""

    def of(self, answer: JsonValue) -> JsonValue:
        """The selection, null for one of several places that is empty; `UnusableResult`."""
        if isinstance(self.places, str):
            try:
                return self._shortened(at(answer, self.places))
            except LookupError:
                zh = f"对方的回答里 {self.places} 处没有内容"
                en = f"the answer has nothing at {self.places}"
                raise UnusableResult(Localised(zh=zh, en=en)) from None
        found: dict[str, JsonValue] = dict.fromkeys(self.places)
        for name, place in self.places.items():
            with suppress(LookupError):
                found[name] = self._shortened(at(answer, place))
        return found

    def _shortened(self, value: JsonValue) -> JsonValue:
        if not isinstance(value, list):
            return value
        shown = value[: self.most]
        if not self.keep:
            return shown
        return [
            {n: v for n, v in item.items() if n in self.keep} if isinstance(item, dict) else item
            for item in shown
        ]


def is_pointer(text: str) -> bool:
    """True where it is a JSON pointer."""
    return re.fullmatch(r"(/([^/~]|~[01])*)*", text) is not None


def at(value: JsonValue, pointer: str) -> JsonValue:
    """What a JSON pointer points at; raises `LookupError` where that is nothing."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name):
            value = value[int(name)]
        else:
            raise LookupError(pointer)
    return value
