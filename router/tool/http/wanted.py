"""What of an answer is wanted: a place in it, or several under names, and of a list how much."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from router.domain.errors import UnusableResult
from router.domain.texts import Localised

_INDEX = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True)
class Wanted:
    """A selection from an answer; everything, where nothing is said."""

    places: str | Mapping[str, str] = ""
    """A JSON pointer (RFC 6901), or one for each name of the result."""
    most: int | None = None
    """How many items of a list."""
    keep: frozenset[str] = field(default_factory=frozenset)
    """Which keys of each item; all of them, where there are none."""

    def of(self, answer: JsonValue) -> JsonValue:
        """The selection.

        Raises `UnusableResult` where there is nothing at the one place; of several places
        one without anything is null.
        """
        if isinstance(self.places, str):
            try:
                return self._shortened(at(answer, self.places))
            except LookupError:
                raise UnusableResult(
                    Localised(
                        zh=f"对方的回答里 {self.places} 处没有内容",
                        en=f"the answer has nothing at {self.places}",
                    )
                ) from None
        return {name: self._found(answer, place) for name, place in self.places.items()}

    def _found(self, answer: JsonValue, place: str) -> JsonValue:
        try:
            return self._shortened(at(answer, place))
        except LookupError:
            return None

    def _shortened(self, value: JsonValue) -> JsonValue:
        if not isinstance(value, list):
            return value
        return [self._kept(item) for item in value[: self.most]]

    def _kept(self, item: JsonValue) -> JsonValue:
        if not self.keep or not isinstance(item, dict):
            return item
        return {name: value for name, value in item.items() if name in self.keep}


def is_pointer(text: str) -> bool:
    """True where it is a JSON pointer."""
    return re.fullmatch(r"(/([^/~]|~[01])*)*", text) is not None


def at(value: JsonValue, pointer: str) -> JsonValue:
    """What a JSON pointer points at; raises `LookupError` where that is nothing.

    >>> at({"days": [{"high": 9}]}, "/days/0/high")
    9
    """
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name):
            value = value[int(name)]
        else:
            raise LookupError(pointer)
    return value
