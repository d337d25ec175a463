"""Reading the pieces of a step: each gives the value, or complains and gives None."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import re2
from pydantic import TypeAdapter, ValidationError

from router.documents.faults import Fault, nearest
from router.documents.yaml_document import Document, Place
from router.story.expressing import compiled, is_expression

LONGEST_TEXT = 8_000
"""Characters, as many as a message may have."""
MOST_TIME = timedelta(days=3660)
YEARS = range(2000, 2100)

_DURATION: TypeAdapter[timedelta] = TypeAdapter(timedelta)


@dataclass
class Reading:
    """A document being read, and everything that was found wrong with it."""

    document: Document
    faults: list[tuple[int, Fault]] = field(default_factory=list)

    def line(self, place: Place) -> int:
        """Where in the file it stands."""
        return self.document.line(place)

    def complain(self, place: Place, what: str, remedy: str) -> None:
        """Note a fault, and go on."""
        self.faults.append((self.line(place), Fault(what, remedy)))

    def keys(self, place: Place, given: Mapping[str, Any], known: Collection[str]) -> None:
        """Complain of every key that isn't known."""
        for key in given:
            if key not in known:
                remedy = nearest(key, known) or f"there are {', '.join(sorted(known))}"
                self.complain((*place, key), f"there is no key {key} here", remedy)

    def one_of(self, place: Place, value: Any, known: Iterable[str], what: str) -> str | None:
        """A name that has to be among those known."""
        names = sorted(known)
        if isinstance(value, str) and value in names:
            return value
        remedy = nearest(str(value), names) or f"there are {', '.join(names) or 'none'}"
        self.complain(place, f"{quoted(value)} is no {what}", remedy)
        return None

    def text(self, place: Place, value: Any, what: str) -> str | None:
        """A text with something in it."""
        if isinstance(value, str) and value.strip() and len(value) <= LONGEST_TEXT:
            return value
        if isinstance(value, str) and value.strip():
            self.complain(place, f"{what} is over {LONGEST_TEXT:,} characters", "shorten it")
        else:
            self.complain(place, f"{what} is {quoted(value)}", "write a text, in quotes")
        return None

    def mapping(self, place: Place, value: Any, example: str) -> dict[str, Any] | None:
        """Keys and values."""
        if isinstance(value, dict):
            return value
        self.complain(place, f"{quoted(value)} are no keys and values", f"write {example}")
        return None

    def duration(self, place: Place, value: Any) -> timedelta | None:
        """ISO 8601, of some length."""
        found = _duration(value)
        if found is not None and timedelta() < found <= MOST_TIME:
            return found
        remedy = "write it like PT24H or P3D, ten years at most"
        self.complain(place, f"{quoted(value)} is no time that can pass", remedy)
        return None

    def moment(self, place: Place, value: Any) -> datetime | None:
        """ISO 8601, with a time zone or in the user's."""
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            found = None
        if found is not None and found.year in YEARS:
            return found
        remedy = "write it like 2026-11-18T10:00+08:00"
        self.complain(place, f"{quoted(value)} is no date and time of this century", remedy)
        return None

    def count(self, place: Place, value: Any) -> int | None:
        """A number of times."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.complain(place, f"{quoted(value)} is no number of times", "write 0, 1, 2, …")
        return None

    def is_true(self, place: Place, value: Any) -> bool:
        """`true`, which is all that such a key can say."""
        if value is not True:
            self.complain(place, f"it is {quoted(value)}", "write true, or leave the step out")
        return value is True

    def patterns(self, place: Place, value: Any) -> tuple[str, ...]:
        """What is to be said: one, or several in order."""
        if isinstance(value, list) and value:
            return tuple(
                found
                for number, each in enumerate(value)
                for found in self._pattern((*place, number), each)
            )
        return tuple(self._pattern(place, value))

    def _pattern(self, place: Place, value: Any) -> Iterator[str]:
        found = self.text(place, value, "what the bot says")
        if found is None:
            return
        if is_expression(found):
            try:
                compiled(found)
            except re2.error as error:
                why = error.args[0] if error.args else error
                said = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
                self.complain(place, f"{found} is no RE2 expression: {said}", "mend it")
                return
        yield found


def _duration(value: Any) -> timedelta | None:
    """What ISO 8601 says; None for anything else, such as a number, which has no unit."""
    if not isinstance(value, str) or not value.startswith("P"):
        return None
    try:
        return _DURATION.validate_python(value)
    except ValidationError:
        return None


def quoted(value: Any) -> str:
    """A value as a complaint names it, however long it is."""
    if value is None:
        return "empty"
    said = repr(value) if isinstance(value, str) else str(value)
    return said if len(said) <= 60 else f"{said[:57]}…"  # noqa: PLR2004
