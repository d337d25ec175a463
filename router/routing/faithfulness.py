"""Whether what a model said of findings holds: that it stands in them, or was said by the person.

A model words what tools found, and small ones make up the rest: figures, days, names, deeds. What
can be decided is decided here, by rules; what can't, such as whether a sentence is to the point,
isn't. Where anything doesn't hold the findings' own words are shown instead.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Literal

from pydantic import JsonValue

from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.grammar import compiled
from router.entities.money import Money
from router.flow.prompts.values import readable
from router.routing import facts
from router.routing.claims import deeds, names
from router.routing.excerpt import excerpt
from router.routing.facts import Address, Code, Fact, Figure, Readings, statements

FidelityCheck = Literal[
    "length", "nothing", "mark", "number", "day", "time", "address", "code", "name", "deed"
]


@dataclass(frozen=True)
class Doubt:
    """What doesn't hold: which check says so, and of which words.

    `length` and `nothing` are an answer that was cut, and one without words.
    """

    check: FidelityCheck
    words: str

    def __str__(self) -> str:
        return f"{self.check}: {self.words!r:.80} stands in no result and no question"


def held(
    said: str, results: Sequence[JsonValue], said_before: Sequence[str], now: datetime
) -> Doubt | None:
    """Why what a model said of these results doesn't hold; None where nothing speaks against it.

    `said_before` is what the person said: the question, and what came before it. What failed is no
    result: nothing may be said of it, so nothing of it belongs here.
    """
    return Evidence(results, said_before, now).doubt(said)


MARKS = ("<result", "</", "<message", "<history", "<tool_", "<|", "|>", "[INST]", "[/INST]", "<\\/")
"""What only prompts and templates have in them."""
_TEMPLATE = re.compile(r"<\|[a-z_]{1,30}\|>|</s>|\[/?INST\]")
_TAG = re.compile(r"</?(?:result|message|history|reply|answer)(?: [^<>]{0,80})?>")
_WRAPPED = re.compile(rf"\s*{_TAG.pattern}([^<]*)(?:{_TAG.pattern}\s*)?")


def unmarked(said: str) -> str:
    r"""The text as far as it is one: up to where a template ends it, out of a tag around it all.

    >>> unmarked("<message>You have 15 days.</message>"), unmarked("15 days.<|im_end|>\nuser: hi")
    ('You have 15 days.', '15 days.')
    """
    text = _TEMPLATE.split(said, maxsplit=1)[0]
    wrapped = _WRAPPED.fullmatch(text)
    return (wrapped[1] if wrapped else text).strip()


_READ = 8_000
"""Characters of a result that are read as sentences; values and names are looked up in it all."""


class Evidence:
    """What was found, and what was asked: what may be said."""

    def __init__(
        self, results: Sequence[JsonValue], said_before: Sequence[str], now: datetime
    ) -> None:
        self._now = now
        self._numbers = {Decimal(n) for each in results for n in facts.counts(each)}
        self._places = max(self._numbers, default=Decimal(0))
        self._money: dict[Decimal, set[str]] = {}
        self._days: set[date] = set()
        self._parts = {"day": set[int](), "month": {now.month}, "year": {now.year}}
        self._times: set[time] = set()
        found = [json.dumps(each, ensure_ascii=False) for each in results]
        # A status is told as people read it, in whichever language.
        worded = [readable(each, locale) for each in results for locale in ("zh", "en")]
        self._found = "\n".join([*found, *worded]).casefold()
        asked = "\n".join(said_before)
        self._names = facts.squeezed(f"{self._found}\n{asked}")
        for each in results:
            self._take_result(each)
        for each in said_before:
            self._take_text(each)

    def doubt(self, said: str, *, of_names: bool = True, of_facts: bool = True) -> Doubt | None:
        """What of it doesn't hold first; None where nothing speaks against it.

        Names may be left out: who talks by itself may know some that nobody said. So may facts,
        where it has seen a picture that nothing else has read.
        """
        let_be: set[FidelityCheck] = set() if of_names else {"name"}
        let_be |= set() if of_facts else {"number", "day", "time", "code", "name"}
        return next((each for each in self._doubts(said) if each.check not in let_be), None)

    def doubt_of_value(self, value: str | float | None, *, chosen: bool = False) -> Doubt | None:
        """What speaks against one value by itself, out of an object; None where nothing does.

        A short text is a value, and has to stand there, word for word or at least in half of its
        words; what is `chosen` among given ones is a judgement, and only has to be no untrue deed.
        True and false are judgements too.
        """
        if value is None or isinstance(value, bool):
            return None
        if not isinstance(value, str):
            number = facts.exact(value) or Decimal(0)
            has = chosen or self._has_figure(Figure(number))
            return None if has else Doubt("number", str(value))
        if (moment := facts.moment_of(value)) is not None:
            return None if self._has_moment(moment) else Doubt("time", value)
        doubt = self.doubt(value)
        if chosen:
            return doubt if doubt is not None and doubt.check in {"deed", "mark"} else None
        return doubt or self._doubt_of_words(value)

    def _has_moment(self, said: datetime) -> bool:
        here = said.astimezone(self._now.tzinfo) if said.tzinfo else said
        return here.date() in self._days and self._has_time(here.time().replace(second=0))

    def _doubt_of_words(self, value: str) -> Doubt | None:
        if len(value) > _SHORT or self._is_named(value):
            return None
        rest = value
        for each in statements(value, self._now):
            rest = rest.replace(each.words, " ")
        words = [word for found in _WORDS.findall(rest) for word in _apart(found)]
        standing = sum(self._is_named(word) for word in words)
        return Doubt("name", value) if standing * 2 < len(words) else None

    def _doubts(self, said: str) -> Iterator[Doubt]:
        yield from (Doubt("mark", mark) for mark in MARKS if mark in said)
        for each in statements(said, self._now):
            check = None if _NOW.search(each.words) else self._missing(each.fact)
            if check is not None:
                yield Doubt(check, each.words)
        yield from (Doubt("name", name) for name in names(said) if not self._is_named(name))
        for family, words in deeds(said):
            if not any(stem in self._found for stem in family):
                yield Doubt("deed", words)

    def _take_result(self, result: JsonValue) -> None:
        for each in facts.scalars(result):
            if isinstance(each, str):
                self._take_value(each)
            else:
                self._take_number(facts.exact(each or 0))
        if result in ([], {}, ""):
            self._numbers.add(Decimal(0))
        self._take_money(result)
        # A model sees no more of its sentences either.
        seen = facts.scalars(excerpt(result, _READ).value)
        self._take_text("\n".join(each for each in seen if isinstance(each, str)))

    def _take_money(self, result: JsonValue) -> None:
        if isinstance(result, dict):
            amount, currency = result.get("amount"), result.get("currency")
            if isinstance(amount, str | int | float) and isinstance(currency, str):
                number = facts.exact(amount)
                if number is not None:
                    self._money.setdefault(abs(number), set()).add(currency)
        for each in facts.within(result):
            self._take_money(each)

    def _take_number(self, number: Decimal | None) -> None:
        if number is not None:
            self._numbers.add(abs(number))

    def _take_value(self, text: str) -> None:
        """What a text is as a whole: a number, a moment, a day."""
        if (number := facts.exact(text)) is not None:
            self._take_number(number)
        elif (moment := facts.moment_of(text)) is not None:
            self._take_moment(moment)
        elif (day := facts.day_of(text)) is not None:
            self._take_days([day])

    def _take_text(self, text: str) -> None:
        for each in statements(text, self._now):
            self._take(each.fact)

    def _take_moment(self, moment: datetime) -> None:
        here = moment.astimezone(self._now.tzinfo) if moment.tzinfo else moment
        for each in (moment, here):
            self._take_days([each.date()])
            self._times.add(each.time().replace(second=0, microsecond=0))

    def _take_days(self, days: Iterable[date]) -> None:
        for day in days:
            self._days.add(day)
            for part, numbers in self._parts.items():
                numbers.add(getattr(day, part))

    def _take(self, fact: Fact) -> None:
        match fact:
            case Figure(number=number, kind="day" | "month" | "year"):
                self._parts[fact.kind].add(int(number))
            case Figure(number=number):
                self._take_number(number)
            case Money(amount=amount, currency=currency):
                self._take_number(amount)
                self._money.setdefault(abs(amount), set()).add(currency)
            case Duration():
                self._numbers |= {abs(number) for number in _lengths(fact)}
            case time():
                self._times.add(fact)
            case tuple():
                self._take_days(end for days in fact for end in (days.first, days.last))

    def _missing(self, fact: Fact) -> FidelityCheck | None:
        """The check that this fact doesn't stand."""
        check: FidelityCheck
        match fact:
            case Address(written=written):
                has, check = self._is_named(written), "address"
            case Code(written=written):
                has, check = self._is_named(written), "code"
            case time():
                has, check = self._has_time(fact), "time"
            case tuple():
                has, check = self._has_day(fact), "day"
            case Figure():
                has = self._has_figure(fact)
                check = "day" if fact.kind in self._parts else "number"
            case Duration():
                has, check = any(map(self._has_number, _lengths(fact))), "number"
            case Money():
                has, check = self._has_money(fact), "number"
        return None if has else check

    def _has_money(self, money: Money) -> bool:
        amount, currency = abs(money.amount), money.currency
        # A rate is told for one of a currency.
        fits = currency in self._money.get(amount, {currency})
        return amount == 1 or (fits and self._has_number(amount))

    def _has_figure(self, figure: Figure) -> bool:
        number = figure.number
        if figure.kind in ("day", "month", "year"):
            return number in self._parts[figure.kind]
        if figure.kind == "percent" and self._has_number(number / 100):
            return True
        if figure.kind == "place" and number <= self._places:
            return True
        # `12` may be the month of a day that is told as 12/23, and 2026 its year.
        return self._has_number(number) or (number > _SMALL and int(number) in self._parts["year"])

    def _has_number(self, number: Decimal) -> bool:
        number = abs(number)
        if number in self._numbers:
            return True
        step = Decimal(1).scaleb(int(number.normalize().as_tuple().exponent))
        step = min(step, Decimal(1))
        near = (n for n in self._numbers if n != n.to_integral_value() and abs(n - number) < 1)
        return any(n.quantize(step) == number for n in near)

    def _has_time(self, said: time) -> bool:
        other = said.replace(hour=(said.hour + 12) % 24)
        if said in self._times or (other in self._times and other.hour > said.hour):
            return True
        return not said.minute and Decimal(said.hour) in self._numbers

    def _has_day(self, readings: Readings) -> bool:
        ahead, back = readings[0], readings[-1]
        apart = abs((ahead.first - back.first).days)
        return any(map(self._has_stretch, readings)) or self._has_alike(back, apart)

    def _has_stretch(self, days: Days) -> bool:
        if days.first in self._days and days.last in self._days:
            return True
        # Next week is no claim about its Monday.
        return not days.single and any(days.first <= day <= days.last for day in self._days)

    def _has_alike(self, days: Days, apart: int) -> bool:
        """Whether it is a day of which the week, the month or the year wasn't said."""
        ends = (days.first, days.last)
        if apart == _WEEK:
            return {e.weekday() for e in ends} <= {day.weekday() for day in self._days}
        if apart > _YEAR:
            return {(e.month, e.day) for e in ends} <= {(d.month, d.day) for d in self._days}
        return bool(apart) and {e.day for e in ends} <= {day.day for day in self._days}

    def _is_named(self, name: str) -> bool:
        return facts.squeezed(name) in self._names


_NOW = compiled(r"^(?:today|tonight|this \w+|今[天日晚年]|本[周月年]|这周|这个?星期|当[天日])$")
"""It is known when it is."""
_SHORT = 40
"""Characters up to which a text by itself is a value, and no sentence."""
_WORDS = re.compile(r"[^\W\d_\u4e00-\u9fff]{2,}|[\u4e00-\u9fff]+")


def _apart(found: str) -> Iterator[str]:
    """A word; of what is written without spaces every two characters."""
    if found[0] < "\u4e00" or len(found) <= _PAIR:
        yield found
    else:
        yield from (found[n : n + _PAIR] for n in range(len(found) - 1))


_PAIR = 2
_SMALL = 31
_WEEK, _YEAR = 7, 300


def _lengths(length: Duration) -> Iterator[Decimal]:
    """How a length may be put: 7 days are a week, 90 minutes an hour and a half."""
    yield length.count
    shorter = {"weeks": 7, "days": 24, "hours": 60}[length.unit]
    yield length.count * shorter
    longer = {"weeks": None, "days": 7, "hours": 24}[length.unit]
    if longer is not None and not length.count % longer:
        yield length.count / longer
