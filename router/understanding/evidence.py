"""Whether what a model gave was said at all: by the message, or by what was said before it.

A model fills in what nobody said: an amount out of an example, a day out of thin air, a branch that
there isn't. What isn't held by any words is dropped, and the flow asks for it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property

from pydantic import JsonValue

from router.entities.choices import find_choices
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.money import Money
from router.entities.numbers import parse_number
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot
from router.retrieval.lexical import tokens

LEAST_SHARE = 0.5
"""Of a text's words that were said: it may be put shortly, and inflected otherwise."""
LINES, LENGTH = 8, 2_000
"""What was said before counts as far back as this, and of each so many characters."""
_FIGURES = re.compile(r"\d+(?:[.,]\d+)*%?")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T|$)")
_IN_MONTH = re.compile(r"(?<!\d)(\d{1,2})\s*(?:[号日]|st\b|nd\b|rd\b|th\b)")
_OF_YEAR = re.compile(r"(?<!\d)(\d{1,2})\s*月")
_WHOLE_MONTH = re.compile(r"(?<!\d)(\d{1,2})\s*月(?!\s*(?:\d|[一二三四五六七八九十廿]{1,3}[号日]))")
_NUMERALS = re.compile(r"[一二三四五六七八九十两廿]{1,3}(?=[月号日])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMED_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})[a-z]*\b", re.IGNORECASE)
_ZH_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_ZH_WEEKDAYS = "一二三四五六日"


class SpokenEvidence:
    """What was said: the message, and what came before it, by whomever, the latest last."""

    def __init__(self, text: str, before: Sequence[str], now: datetime) -> None:
        self.message = Utterance.of(text, now)
        self._before = [line[:LENGTH] for line in before[-LINES:]]
        self._now = now

    def part(self, slot: Slot, value: JsonValue) -> JsonValue:
        """What of a value, shaped as its slot keeps it, was said; None where nothing was."""
        if isinstance(value, list):
            own = slot.of or slot
            kept: list[JsonValue] = [
                part for each in value if (part := self.part(own, each)) is not None
            ]
            return kept or None
        if isinstance(value, dict) and slot.fields:
            fields = {n: self.part(slot.fields[n], v) for n, v in value.items() if n in slot.fields}
            return {n: v for n, v in fields.items() if v is not None} or None
        return value if self._holds(slot, value) else None

    def numbers(self, text: str) -> list[str]:
        """The numbers in a text that nobody said, a hundredth for a per cent being said too."""
        return [f for f in _FIGURES.findall(text) if not self._has_number(_number(f))]

    def names(self, text: str) -> list[str]:
        """The ids in a text, such as `your_user_id` or `E1001`, that nobody said."""
        said = {word.casefold() for u in self._said for word in _WORD.findall(u.text)}
        words = (word for word in _WORD.findall(text) if not _is_plain(word))
        return [word for word in words if word.casefold() not in said]

    def _holds(self, slot: Slot, value: JsonValue) -> bool:
        kind = slot.kind
        if value is None:
            return False
        if kind.is_file:
            return any(str(value) in utterance.text for utterance in self._said)
        if kind.made_of == "choices" and not kind.is_text:
            named = (f.value for u in self._said for f in find_choices(slot.choices, u.text))
            return any(value == each for each in named)
        if isinstance(value, str):
            return self._has_text(slot, value)
        # Yes or no goes by the slot's name: it is looked at where that is known.
        plain = value.get("amount") if isinstance(value, dict) else value
        number = _number(str(plain))
        if kind.takes is Money and number is not None:
            return number in self._amounts
        return isinstance(plain, bool) or self._has_number(number)

    def _has_text(self, slot: Slot, value: str) -> bool:
        kind = slot.kind
        if (day := _DAY.match(value)) is not None and not kind.is_text:
            return self._has_day(date(*map(int, day.groups())))
        if kind.takes is Money:
            return all(_number(f) in self._amounts for f in _FIGURES.findall(value))
        if kind.takes in (Decimal, Duration):
            return all(self._has_number(_number(f)) for f in _FIGURES.findall(value))
        return self._has_words(value)

    @cached_property
    def _said(self) -> list[Utterance]:
        return [self.message, *(Utterance.of(line, self._now) for line in reversed(self._before))]

    @cached_property
    def _numbers(self) -> set[Decimal]:
        return {n for utterance in self._said for n in _numbers_of(utterance)}

    @cached_property
    def _amounts(self) -> set[Decimal]:
        """Numbers that may be of money: those of a date aren't."""
        found = set[Decimal]()
        for utterance in self._said:
            days = [one.span for one in utterance.things if isinstance(one.value, Days)]
            rest = "".join(
                " " if any(start <= n < end for start, end in days) else sign
                for n, sign in enumerate(utterance.text)
            )
            amounts = (one.value for one in utterance.things if isinstance(one.value, Money))
            found |= {one.amount for one in amounts} | set(_read(_FIGURES.findall(rest)))
            found |= {v for one in utterance.things if isinstance(v := one.value, Decimal)}
        return found

    @cached_property
    def _words(self) -> set[str]:
        return {t for u in self._said for t in tokens(u.normalised.typed)}

    def _has_number(self, number: Decimal | None) -> bool:
        return number is None or bool({number, number * 100, number / 100} & self._numbers)

    def _has_day(self, day: date) -> bool:
        """Named, within what is named, or sharing its month, its date or its weekday with it."""
        for utterance in self._said:
            days = [one.value for one in utterance.things if isinstance(one.value, Days)]
            if any(one.first <= day <= one.last for one in days):
                return True
            if str(day.month) in _WHOLE_MONTH.findall(utterance.text):
                return True
            if not days and day in _Parts(utterance.text):
                return True
        return False

    def _has_words(self, value: str) -> bool:
        if any(value.strip() in utterance.normalised.typed for utterance in self._said):
            return True
        own = tokens(value)
        held = sum(token in self._words for token in own)
        return not self.numbers(value) and held >= LEAST_SHARE * max(1, len(own))


class _Parts:
    """The parts of dates that a normalised text names, where rules read no day in it."""

    def __init__(self, text: str) -> None:
        spoken = _NUMERALS.sub(lambda m: str(parse_number(m.group()) or m.group()), text)
        self._days = {int(d) for d in _IN_MONTH.findall(spoken)}
        self._months = {int(m) for m in _OF_YEAR.findall(spoken)}
        self._months |= {_MONTHS.index(m.lower()) + 1 for m in _NAMED_MONTH.findall(spoken)}
        self._weekdays = {_WEEKDAYS.index(w.lower()) for w in _NAMED_WEEKDAY.findall(spoken)}
        self._weekdays |= {
            _ZH_WEEKDAYS.index(w.replace("天", "日")) for w in _ZH_WEEKDAY.findall(spoken)
        }

    def __contains__(self, day: date) -> bool:
        return (
            day.month in self._months
            or (day.day in self._days and not self._months)
            or day.weekday() in self._weekdays
        )


def _is_plain(word: str) -> bool:
    """A word, a number or a name such as `New_York`, and no id."""
    is_name = word.istitle() and word.replace("_", "").isalpha()
    return word.isalpha() or word.isdigit() or is_name


def _numbers_of(utterance: Utterance) -> Iterator[Decimal]:
    """Every number in it, also those of dates: more is said than is meant."""
    for thing in utterance.things:
        match thing.value:
            case Money(amount=number) | Duration(count=number) | (Decimal() as number):
                yield number
    yield from _read(_FIGURES.findall(utterance.text))


def _read(figures: Iterable[str]) -> Iterator[Decimal]:
    yield from (number for figure in figures if (number := _number(figure)) is not None)


def _number(figure: str) -> Decimal | None:
    try:
        return Decimal(figure.replace(",", "").rstrip("%"))
    except InvalidOperation:
        return None
