"""Whether a message says a value: what a model claims to have read in it, checked.

Texts count as they stand there. Numbers count however they are written (`7778`, `7,778`,
`七千`, `seven thousand`), but not the figures of a date. Yes and no count of what is named.
"""

from collections.abc import Iterator
from datetime import time
from decimal import Decimal

from pydantic import JsonValue

from router.flow.model import Slot
from router.understanding.dates import Days
from router.understanding.durations import Duration
from router.understanding.grammar import Found, compiled, cuts_a_word
from router.understanding.money import Money
from router.understanding.normalise import normalise
from router.understanding.numbers import DIGITS, EN_NUMBER, ZH_NUMBER, parse_number
from router.understanding.utterance import Utterance

_NUMBER = compiled(f"{EN_NUMBER}|{ZH_NUMBER}")
_FIGURES = compiled(f"^{DIGITS}$")
_NUMERIC = frozenset({"number", "integer", "money", "duration"})
_MINUS = compiled("(?:-|负|minus )$")
_SET_TO = r"(?:\b(?:to|as|is)\b|[=:]|[改设]?[为成是])"
_SETS = compiled(rf"(?:{_SET_TO}|\b(?:make|set) it) ?$")
_SETS_YES = compiled(rf"{_SET_TO} ?(?:(?:yes|true|on)\b|[是对真])")
_SETS_NO = compiled(rf"{_SET_TO} ?(?:(?:no|false|off)\b|[否假])")
_DENIES = compiled(r"\b(?:no|not|without|never|don'?t|doesn'?t|isn'?t|needn'?t)\b|[不没非别无]")
_SHORTEST_NAME = 4
"""Letters of a slot's name that say by themselves what is meant."""


def says(utterance: Utterance, name: str, slot: Slot | None, value: JsonValue) -> bool:
    """Whether the message states this value for the slot, which is called `name`.

    >>> says(Utterance.of("make it 7,778", now), "amount", None, 7778)  # doctest: +SKIP
    True
    """
    match value:
        case bool():
            return _says_whether(utterance.text, name, slot, value)
        case int() | float():
            return _says_number(utterance, Decimal(str(value)))
        case str() if value.strip():
            return value.strip() in utterance.normalised.typed or _says_figures(
                utterance, slot, value
            )
        case [_, *_]:
            item = slot.of if slot else None
            return all(says(utterance, name, item, each) for each in value)
    return False


def _says_figures(utterance: Utterance, slot: Slot | None, value: str) -> bool:
    """True for a number that was given as a text, and is written otherwise in the message."""
    if slot is None or slot.type not in _NUMERIC or not _FIGURES.search(value.strip()):
        return False
    number = parse_number(value)
    return number is not None and _says_number(utterance, number)


def _says_number(utterance: Utterance, number: Decimal) -> bool:
    for start, said in _numbers(utterance):
        negative = bool(_MINUS.search(utterance.text[:start]))
        if (-said if negative else said) == number:
            return True
    return False


def _numbers(utterance: Utterance) -> Iterator[tuple[int, Decimal]]:
    """Every number in the message, with where it starts."""
    text = utterance.text
    for thing in utterance.things:
        if (counted := _counted(thing)) is not None:
            yield thing.start, counted
    moments = [thing for thing in utterance.things if isinstance(thing.value, Days | time)]
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        found = Found(start, end, str(match.group()))
        number = None if any(map(found.overlaps, moments)) else parse_number(found.value)
        if number is not None and _is_number(text, found):
            yield found.start, number


def _counted(thing: Found[object]) -> Decimal | None:
    match thing.value:
        case Money(amount=number) | Duration(count=number):
            return number
        case Decimal() as number:
            return number
    return None


def _is_number(text: str, found: Found[str]) -> bool:
    """False within a word, and for the `one` of `this one` and the `一` of `改一下`."""
    if cuts_a_word(text, found.start) or cuts_a_word(text, found.end):
        return False
    return found.value not in {"one", "一"} or bool(_SETS.search(text[: found.start]))


def _says_whether(text: str, name: str, slot: Slot | None, value: bool) -> bool:
    """Yes or no of something named: `make it urgent`, `urgent = no`, `不加急`."""
    if not any(word in text for word in _names(name, slot)):
        return bool((_SETS_YES if value else _SETS_NO).search(text))
    denied = bool(_DENIES.search(text) or _SETS_NO.search(text))
    return denied != value


def _names(name: str, slot: Slot | None) -> Iterator[str]:
    """What people may call the slot, in the spelling that rules read."""
    label = slot.label if slot else None
    for words in (label.zh, label.en) if label else ():
        yield normalise(words).text
    for word in normalise(name).text.replace("_", " ").split():
        if len(word) >= _SHORTEST_NAME or not word.isascii():
            yield word
