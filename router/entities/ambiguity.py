"""Figures that are part of something larger, of which nobody can be sure: read by halves, they lie.

`50元-100元` is an amount that isn't known yet and no two amounts, `-3天` is no three days, `٫5元`
no five yuan. What is so is `Ambiguous`, whole, where it stands: whoever looks for a value there
finds none, and asks. `5 BTC` is five of something, and so no amount by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from router.entities.durations import Duration
from router.entities.grammar import MAX_MATCHES, Found, Span, compiled, group_span, note_stop
from router.entities.money import AFTER, Money
from router.entities.numbers import HAN_DIGIT, sign_before
from router.lexicon import EN, ZH


@dataclass(frozen=True)
class Ambiguous:
    """That an amount, a length or a number was said, and not which."""


_QUANTITIES = (Money, Duration, Decimal)
_LOOK = 24

# Decimal signs of other scripts, fractions, powers: 5٫5, 5½, 5².
_STRANGE = "[٫٬⁄¼-¾⅐-⅞²³¹⁰-₉]"
_NUMERAL = r"[\d一二两三四五六七八九十百千万]"
_UP_TO = "(?:[-~‐-―−〜]|到|至|to|or|或者?|还是)"
_BEFORE = compiled(
    rf"(?:{_STRANGE}|\p{{Nd}}(?:['’_·/]| ?[*×✕x] ?)?|(?:^|\D)\d{{1,4}}。"
    rf"|(?:^|[^a-z\d])\.|(?:^|[^\pL\pN])·|分之|(?:^|[^周期拜]){_NUMERAL} ?{_UP_TO} ?)$"
)
_AFTER = compiled(rf"^ ?(?:[*x×✕] ?\d|{_UP_TO} ?{_NUMERAL})")
_GLUED = compiled(rf"^(?:{_STRANGE}|['’_·]?\p{{Nd}}|。\d{{1,2}}(?:\D|$))")
# ¥50$60: which sign is of which?
_SIGN_BEFORE = compiled(r"\p{Sc} ?$")
_SIGN_AFTER = compiled(r"^ ?\p{Sc}")
# What no rule for small change has taken: 三块零五, 五十块一毛半, 58块60.
_CHANGE = compiled(
    rf"^(?:零(?:\d|{HAN_DIGIT})|(?:零|\d|{HAN_DIGIT}|半)*(?:[毛角]|分(?:$|[^钟之别摊批次期公]))"
    r"|\d\d(?:[分钱]|$|[ ,;.!?、。]))"
)
_NUMBER = compiled(rf"^{_NUMERAL}[\d.,]* ?(?:{_NUMERAL}|[kw])*$")
_BETWEEN = compiled(rf"^ ?{_UP_TO} ?$")
_CHANGED = compiled(r"(?:\b(?:chang|updat|correct|edit|mov)\w*|改)[^,.]*$")
_THREE_FIGURES = compiled(r"^\d{3}(?:\D|$)")
# 1,2,3 元, 12，345元: several amounts, or thousands.
_ROW = compiled(
    r"(?:^|[^\d.,a-z-])(?P<n>\d{1,4}(?: ?[,、] ?\d+)+(?:\.\d+)?)"
    rf" ?(?:元|块|圆|{AFTER}|天|周|小时|days?|weeks?|hours?)"
)


def ambiguities(text: str, things: Sequence[Found[Any]]) -> list[Found[Ambiguous]]:
    """Where a sentence says how much or how long, and not for sure; `things` are in order."""
    spans = [*_rows(text, things)]
    for thing, after in zip_longest(things, things[1:]):
        if isinstance(thing.value, _QUANTITIES):
            spans += _larger(text, thing, after)
            if after is not None and _are_one(text, thing, after):
                spans.append((thing.start, after.end))
    return [Found(*span, Ambiguous()) for span in _joined(spans)]


def _rows(text: str, things: Sequence[Found[Any]]) -> Iterator[Span]:
    if "," not in text and "、" not in text:
        return
    read = [thing for thing in things if not isinstance(thing.value, Decimal)]
    for number, row in enumerate(_ROW.finditer(text)):
        if number == MAX_MATCHES:
            return note_stop(row.start())
        start, end = group_span(row, "n")[0], row.end()
        if not any(thing.touches([(start, start + 1)]) for thing in read):
            yield start, end


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _larger(text: str, thing: Found[Any], following: Found[Any] | None) -> Iterator[Span]:
    """What the thing is only a part of."""
    before, after = text[max(0, thing.start - _LOOK) : thing.start], text[thing.end :][:_LOOK]
    sign = None if isinstance(thing.value, Money) else sign_before(text, thing.start)
    if sign is not None:
        yield sign[0], thing.end
    if isinstance(thing.value, Decimal) and _SIGN_BEFORE.search(before):
        yield thing.span
    # 预算5万 is money that nobody named, unless it is: 预算5万 BTC.
    unnamed = isinstance(thing.value, Money) and _NUMBER.search(text[thing.start : thing.end])
    if unnamed and is_of_something(text, thing):
        yield thing.span
    if _CHANGED.search(before):
        return
    if _BEFORE.search(before):
        yield thing.span
    part = next((m for part in _parts_after(text, thing) if (m := part.search(after))), None)
    end = thing.end + part.end() if part else thing.end
    is_day = following is not None and not isinstance(following.value, _QUANTITIES)
    if part and not (is_day and following and following.start < end):
        yield thing.start, end


def _parts_after(text: str, thing: Found[Any]) -> Iterator[Any]:
    """What may stand after it of which it is a part, then."""
    yield _AFTER
    if text[thing.end - 1].isdecimal():
        yield _GLUED
        yield _SIGN_AFTER
    elif isinstance(thing.value, Decimal):
        yield _SIGN_AFTER
    elif isinstance(thing.value, Money):
        yield _CHANGE


def _are_one(text: str, one: Found[Any], other: Found[Any]) -> bool:
    """True where both are of one amount, or of a row that nobody can tell from one."""
    both = {type(one.value), type(other.value)} - {Decimal}
    if len(both) > 1 or not isinstance(other.value, _QUANTITIES):
        return False
    between = text[one.end : other.start]
    if _BETWEEN.search(between) or _lie_between(text, one, other):
        return not _CHANGED.search(text[: one.start][-_LOOK:])
    grouped = between == " " and _THREE_FIGURES.search(text[other.start :])
    return bool(grouped) and isinstance(one.value, Decimal) and isinstance(other.value, Money)


def _lie_between(text: str, one: Found[Any], other: Found[Any]) -> bool:
    between = text[one.end : other.start]
    if between == " and ":
        return text[: one.start].endswith("between ")
    return between.strip() in {"和", "与"} and text[other.end :].lstrip().startswith("之间")


# What stands beside a bare number that is counted, or money of its own: 5 BTC, 3 months, 5折.
_WORD_AFTER = compiled(r"^[ -]?(?P<word>[a-z]+)")
_COUNTED = compiled(rf"^ ?(?:个?(?:{ZH.counted}|[^ ,.;!?、。]{{0,3}}币)|[多几余+%‰°℃])")
_OTHER_MONEY = compiled(rf"(?:\b{EN.other_money}|{ZH.other_money}|币)[: ]?$")


def is_of_something(text: str, number: Found[Any]) -> bool:
    """True where a bare number counts something or other, and so is no amount and no days."""
    after = text[number.end :][:_LOOK]
    word = _WORD_AFTER.search(after)
    if word is not None and not _PLAIN.search(word.group("word")):
        return True
    return bool(_COUNTED.search(after) or _OTHER_MONEY.search(text[: number.start][-_LOOK:]))


_PLAIN = compiled(f"^{EN.after_number}$")
