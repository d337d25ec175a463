"""A message made ready for reading: its one spelling, what it names, and on which side of today."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from router.entities.dates import Days
from router.entities.days import Calendar
from router.entities.extraction import ReadThings, Thing, find_things
from router.entities.grammar import Found, compiled, only
from router.entities.normalisation import Normalised, normalise
from router.lexicon import BOTH

_TEN_MONTHS = timedelta(days=300)
_OVER = compiled(str(BOTH.afterwards))
# What nobody knows of the better part of a year before.
_UNPLANNED = compiled(str(BOTH.unplanned))


def is_far(day: str, now: datetime) -> bool:
    """True where an ISO date is so far ahead that the same day of last year is the nearer one."""
    return date.fromisoformat(day) - now.date() > _TEN_MONTHS


def is_unplanned(text: str) -> bool:
    """True where a normalised text speaks of illness, which nobody announces for next year."""
    return _UNPLANNED.search(text) is not None


_LONG_AGO = timedelta(days=180)
"""What is filed afterwards isn't filed later than this."""


@dataclass(frozen=True)
class Utterance:
    """A text with everything recognised in it; spans are those of the normalised text."""

    normalised: Normalised
    now: datetime

    @classmethod
    def of(cls, typed: str, now: datetime) -> "Utterance":
        """The text as typed, said at `now` (aware, in the speaker's time zone)."""
        return cls(normalise(typed), now)

    @property
    def text(self) -> str:
        """The normalised text."""
        return self.normalised.text

    @cached_property
    def things(self) -> list[Found[Thing]]:
        """What it names, with incomplete dates read as the next such day."""
        return self._plainly.things

    @property
    def end(self) -> int:
        """Where reading values stops: the end of the text, unless it names too many."""
        return len(self.text) if self._plainly.stopped_at is None else self._plainly.stopped_at

    @property
    def unread(self) -> str:
        """The end of the text, as typed, of which no values are read; "" if it is read whole."""
        length = len(self.text)
        return self.normalised.as_typed(self.end, length) if self.end < length else ""

    @cached_property
    def _plainly(self) -> ReadThings:
        return find_things(self.text, Calendar(self.now.date()))

    @cached_property
    def spent(self) -> list[Found[Thing]]:
        """What it names, with incomplete dates read as the last such day: money was spent then."""
        return self.read(past=True)

    @cached_property
    def meant(self) -> list[Found[Thing]]:
        """What it names, with incomplete dates on the side of today that it speaks of itself.

        For what is planned `this Thursday` is the next one, unless it is said to be over.
        """
        recent = self.now.date() - _LONG_AGO
        over = _OVER.search(self.text) and all(
            f.value.first > recent for f in only(Days, self.spent)
        )
        return self.spent if over else self.read(ahead=True)

    def read(
        self, after: date | None = None, *, past: bool = False, ahead: bool = False
    ) -> list[Found[Thing]]:
        """What it names, with incomplete dates read as the first from `after` on."""
        return find_things(self.text, Calendar(self.now.date(), after, past, ahead)).things

    def part(self, start: int, end: int) -> "Utterance":
        """A part of it, as an utterance of its own."""
        return Utterance.of(self.normalised.as_typed(start, end), self.now)
