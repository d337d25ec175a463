"""Amounts in a sentence about things that were paid for, where `元` is mostly left out.

A figure is an amount where nothing else is near that it could be: a row of them, the only one,
or one right after what it was spent on. A comma that may be a decimal one, `86,5 yuan`, makes
neither of its readings certain: then there is no amount, and it is asked for.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from router.understanding.entities import Thing
from router.understanding.grammar import Found, compiled, cuts_a_word, group_span, only
from router.understanding.money import Money, is_exact
from router.understanding.utterance import Utterance

Spans = Sequence[tuple[int, int]]

_FIGURE = r"\d{1,9}(?:\.\d{1,2})?"
# 58、36、32 is a row of amounts where a count or a choice stands before it.
_ROW = compiled(
    rf"(?:^|[^\d.:/a-z-])(?P<row>{_FIGURE}(?: ?(?:、|,|和|/|;|\+|and|&) ?(?:and )?{_FIGURE})"
    r"{1,19})(?:[^\d%:/.a-z-]|$)"
)
_SPACED_ROW = compiled(
    rf"(?:^|[^\d.,:/a-z-])(?P<row>{_FIGURE}(?: {_FIGURE}){{1,19}})(?:[^\d%:/.,-]|$)"
)
_ONE = compiled(_FIGURE)
# 1,234.50 and 12,000 are an amount each, unless two receipts or more were spoken of.
_GROUPED = compiled(r"^[1-9]\d{0,2}(?:,\d{3}(?:\.\d{1,2})?|(?:,\d{3}){2,3}\.\d{1,2})$")
_DECIMAL_COMMA = compiled(r"^\d{1,9},\d{1,2}$")
_SEVERAL = compiled(
    r"[两二三四五六七八九十2-9] ?[张笔份]|\b(?:two|three|four|five|six|seven|eight|nine|ten|[2-9]) "
    r"(?:[a-z]+ )?(?:receipts|tickets|invoices|bills|items|expenses|fares|rides|trips|meals"
    r"|things)\b"
)
_COUNTED = compiled(
    r"^ ?(?:[张个笔次份条人天日月年号点楼层公米位晚]|km|miles?|people|persons?|guests?|pax"
    r"|nights?|days?"
    r"|tickets?|receipts?|invoices?|items?|trips?|rides?|meals?|times?|taxi|hours?|%)"
)
_NUMBERING = compiled(r"(?:第 ?|item |no\.? ?|number |#)$")
_NEAR = 10
# 打车费36: a figure may stand this far from what it was spent on.
_WITHIN = 3
# A longer bare figure is the number of a document or a telephone.
_LARGEST_BARE = 1_000_000
_REDONE = compiled(
    r"(?:不对|不是|错了?|应该是|改成|no|sorry|i mean|i meant|actually|make (?:it"
    r"|that))[,. ]*(?:是|it'?s|it was)? ?$"
)


def find_amounts(utterance: Utterance, taken: Spans, choices: Spans) -> list[Found[Money]]:
    """The amounts of the sentence, in order.

    `taken` is what stands for something else, the numbers of documents say; `choices` where
    it says what was paid for.
    """
    with_currency = [
        found
        for found in only(Money, utterance.spent)
        if not _overlaps(found, taken) and not _joins_two(utterance, found)
    ]
    others = [(f.start, f.end) for f in utterance.spent if not isinstance(f.value, Decimal)]
    bare = _bare(utterance, _masked(utterance.text, [*taken, *others]), choices, with_currency)
    return sorted([*with_currency, *bare], key=lambda f: f.start)


def _bare(
    utterance: Utterance, text: str, choices: Spans, known: Sequence[Found[Money]]
) -> list[Found[Money]]:
    row = _ROW.search(text) or (_SEVERAL.search(text) and _SPACED_ROW.search(text))
    if row and not _COUNTED.search(text[group_span(row, "row")[1] :][:_NEAR]):
        written = utterance.normalised.as_typed(*group_span(row, "row"))
        if _DECIMAL_COMMA.search(written) and not _SEVERAL.search(text):
            return []
        if known or not _GROUPED.search(written) or _SEVERAL.search(text):
            return [] if known else list(_in_row(row))
    figures = [f for f in only(Decimal, utterance.spent) if _may_be_spent(text, f)]
    alone = len(figures) == 1 and not known
    return [
        Found(f.start, f.end, Money(f.value))
        for f in figures
        if alone or _follows(f, choices) or (not known and _REDONE.search(text[: f.start]))
    ]


def _in_row(row: Any) -> Iterator[Found[Money]]:
    offset, _ = group_span(row, "row")
    for figure in _ONE.finditer(row.group("row")):
        yield Found(offset + figure.start(), offset + figure.end(), Money(Decimal(figure.group())))


def _follows(found: Found[Decimal], choices: Spans) -> bool:
    return any(found.start - _WITHIN <= end <= found.start for _, end in choices)


def _may_be_spent(text: str, figure: Found[Decimal]) -> bool:
    if not text[figure.start : figure.end].strip("\0") or not is_exact(figure.value):
        return False
    counted = _COUNTED.search(text[figure.end :][:_NEAR]) or _NUMBERING.search(text[: figure.start])
    return not counted and not cuts_a_word(text, figure.end) and figure.value < _LARGEST_BARE


def _joins_two(utterance: Utterance, found: Found[Money]) -> bool:
    """True for `58，360元`: people who group thousands don't use the Chinese comma."""
    return "，" in utterance.normalised.as_typed(found.start, found.end)


def _masked(text: str, spans: Spans) -> str:
    """The text with those spans unreadable, at the same places."""
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _overlaps(found: Found[Thing], spans: Spans) -> bool:
    return any(start < found.end and found.start < end for start, end in spans)
