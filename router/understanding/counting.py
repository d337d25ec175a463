"""How many of each thing a sentence names: `两台显示器`, `显示器要三个`, `a laptop and 2 monitors`.

A count stands right before what it counts, or right after it with a measure word or a sign that
says so, `monitors x 2`. One that was taken for the thing before isn't also the next one's.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from router.flow.model import Slot
from router.understanding.grammar import Found, compiled, cuts_a_word, group_span
from router.understanding.numbers import EN_NUMBER, ZH_COUNT, parse_number

_MEASURE = "[台个部只块套把张件副支份条本架]"
_BEFORE = compiled(
    rf"(?P<n>{ZH_COUNT}) ?(?:{_MEASURE} ?)(?:新的?|办公用?的?|全新的?|大|小)? ?$"
    rf"|(?:^|[^\d.])(?P<figure>\d{{1,3}}) ?(?:x|×|\*)? ?$"
    rf"|(?P<en>\b(?:an?|another)\b|{EN_NUMBER}) (?:x )?(?:(?:new|extra|more|additional|big|large"
    r"|small|spare|pieces? of|sets? of|pairs? of) ){0,2}$"
)
_AFTER = compiled(
    rf"^s? ?(?P<each>各|每[种样]|都|一样)? ?(?:要|需要|来|申请)? ?(?P<n>{ZH_COUNT}) ?{_MEASURE}"
    r"|^s? ?(?:x|×|\*|:|= ?) ?(?P<figure>\d{1,3})(?:[^\d.]|$)"
)
_LOOK = 24
_ONE = frozenset({"a", "an", "another"})


def count_field(fields: dict[str, Slot]) -> str | None:
    """The field that says how many: the only one that holds a number, where there is one."""
    numbers = [name for name, field in fields.items() if field.type in {"integer", "number"}]
    return numbers[0] if len(numbers) == 1 else None


def find_counts(text: str, things: Iterable[Found[Any]]) -> Iterator[Found[int]]:
    """The count of each of the things, in their order; none for those that have no count.

    >>> text = "两台显示器,键盘要3个"
    >>> [f.value for f in find_counts(text, [Found(2, 5, "monitor"), Found(6, 8, "keyboard")])]
    [2, 3]
    """
    taken: list[Found[int]] = []
    for thing in things:
        counts = (_before(text, thing), _after(text, thing))
        free = next((c for c in counts if c is not None and not _is_taken(c, taken)), None)
        if free is not None:
            taken.append(free)
            yield free


def _is_taken(count: Found[int], taken: Sequence[Found[int]]) -> bool:
    return any(count.overlaps(other) for other in taken)


def _before(text: str, thing: Found[Any]) -> Found[int] | None:
    first = max(0, thing.start - _LOOK)
    return _count(text, _BEFORE.search(text[first : thing.start]), first)


def _after(text: str, thing: Found[Any]) -> Found[int] | None:
    return _count(text, _AFTER.search(text[thing.end :][:_LOOK]), thing.end)


def _count(text: str, match: Any, offset: int) -> Found[int] | None:
    if match is None:
        return None
    name = next(n for n in ("n", "figure", "en") if match.groupdict().get(n))
    start, end = (offset + at for at in group_span(match, name))
    written = match.group(name)
    value = Decimal(1) if written in _ONE else parse_number(written)
    whole = value is not None and value == value.to_integral_value() and value > 0
    if not whole or cuts_a_word(text, start):
        return None
    return Found(start, end, int(value or 0))
