"""Numbers, `1,234`, `1.2万`, `两千五`, `twenty-five`, and places in a row: `第二`, `2nd`."""

import re
from decimal import Decimal

from router.entities.grammar import Found, Rule, RuleSet, Span, compiled, find_all, group_span
from router.lexicon import EN, ZH

DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\.\d{1,6})?"
HAN_DIGIT = "[零〇一二两三四五六七八九壹贰叁肆伍陆柒捌玖]"
_HAN = "[零〇一二两三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟]"

ZH_NUMBER = (
    rf"(?:{DIGITS} ?[百千万亿]{{1,2}}(?:\d[百千]){{0,2}}\d?|{DIGITS}[kw]|{DIGITS}"
    rf"|{_HAN}{{1,12}}(?:点{HAN_DIGIT}{{1,6}})?)"
)
"""A number in a Chinese sentence, in digits, characters or both."""

HAN_NUMBER = (
    "[一二两三四五六七八九][十百千万零一二两三四五六七八九]{0,8}[百千万]"
    "(?:零?[一二三四五六七八九])?"
)
"""A number in characters that has a unit: `两千五`, `三百`, never `五一`."""

_ONE_TO_NINE = "[一二两三四五六七八九]"
ZH_COUNT = (
    rf"(?:{DIGITS}|{_ONE_TO_NINE}?百零?{_ONE_TO_NINE}?十?{_ONE_TO_NINE}?"
    rf"|{_ONE_TO_NINE}?十{_ONE_TO_NINE}?|{_ONE_TO_NINE})"
)
"""A small number that counts something: `两`, `十五`, never digit by digit as in `三三`."""

_VALUES = ZH.number.places
_TEN = 10
_UNITS = {"十": _TEN, "拾": _TEN, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}

_EN_VALUES = EN.number.places | dict(zip(EN.tens, range(20, 100, 10), strict=True))
_EN_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_EN_SCALE = "(?:" + "|".join(_EN_SCALES) + ")"
_EN_WORD = "(?:" + "|".join([*reversed(EN.number), *EN.tens, *_EN_SCALES]) + ")"

EN_NUMBER = (
    rf"(?:{DIGITS} ?(?:k\b|{_EN_SCALE}\b)|{DIGITS}"
    rf"|(?:\ban? )?{_EN_WORD}(?:(?:-| and | ){_EN_WORD}){{0,7}})"
)
"""A number in an English sentence, in digits or words."""

_SCALES = _EN_SCALES | {"k": 1000, "w": 10_000, "m": 1_000_000}

# A longer one is no amount of anything, and beyond exact arithmetic.
_LONGEST = 80
# Only thousands are grouped by commas: 86,5 may be 86.5, or two numbers.
_OTHER_COMMA = re.compile(r"\d,(?!\d{3}(?!\d))(?=\d)")
# 2 3 are two numbers, and 三 五 as well; 1 000 is one, and 5 万.
_APART = re.compile(rf"\d (?!\d{{3}}(?!\d))(?=\d)|{HAN_DIGIT} (?={HAN_DIGIT})")
_PART = re.compile(r"\d+(?:\.\d+)?|.")


def parse_number(text: str) -> Decimal | None:
    """The value of a number in digits, Chinese characters or English words: `1.2万`, `ten`."""
    bare = text.strip().replace(",", "")
    if not bare or len(bare) > _LONGEST or _OTHER_COMMA.search(text) or _APART.search(bare):
        return None
    if bare[0].isascii() and bare[0].isalpha():
        return _from_words(bare)
    digits = bare.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip()
    if digits != bare:
        scale = _SCALES.get(bare[len(digits) :].strip())
        return Decimal(digits) * scale if scale and _is_plain(digits) else None
    return Decimal(bare) if _is_plain(bare) else _from_characters(bare.replace(" ", ""))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace(".", "", 1).isdigit() and text[0] != "."


def _from_characters(text: str) -> Decimal | None:
    whole, point, fraction = text.partition("点")
    if point:
        left, right = _from_characters(whole), _digit_by_digit(fraction)
        return None if left is None or right is None else Decimal(f"{left}.{right}")
    if len(text) > 1 and all(c in _VALUES for c in text):
        digits = _digit_by_digit(text)
        return None if digits is None else Decimal(digits)
    return _composed(text)


def _digit_by_digit(text: str) -> str | None:
    if not text or any(c not in _VALUES for c in text):
        return None
    return "".join(str(_VALUES[c]) for c in text)


def _composed(text: str) -> Decimal | None:
    """Digits and units in turn, `一万二千三百`; the last digit may leave out its unit."""
    total, section, digit, unit = Decimal(0), Decimal(0), None, 1
    for part in _PART.findall(text):
        if part in _UNITS:
            section += (Decimal(1) if digit is None else digit) * _UNITS[part]
            digit, unit = None, _UNITS[part]
        elif part in _MYRIADS:
            total = (total + section + (digit or 0)) * _MYRIADS[part]
            section, digit, unit = Decimal(0), None, _MYRIADS[part]
        elif part in "零〇":
            unit = 1
        elif digit is None and (part in _VALUES or part[0].isdigit()):
            digit = Decimal(_VALUES[part]) if part in _VALUES else Decimal(part)
        else:
            return None
    # 两千五 is 2500 and 一百二 is 120, but 十五 is 15 and 一千零五 is 1005.
    return total + section + (digit or 0) * max(1, unit // 10 if unit != _TEN else 1)


def _from_words(text: str) -> Decimal | None:
    total, section = 0, 0
    for word in re.split(r"[ -]+", text):
        if word in _EN_VALUES:
            section += _EN_VALUES[word]
        elif word == "hundred":
            section = max(section, 1) * 100
        elif word in _EN_SCALES:
            total, section = total + max(section, 1) * _EN_SCALES[word], 0
        elif word not in {"a", "an", "and"}:
            return None
    return Decimal(total + section)


# 6k, 1.2w: a number where the sentence ends or goes on behind it. A 4k monitor is no thousands.
_AFTER_SCALE = (
    r"$|[,.;!?)、]| ?(?:左右|上下|以内|以下|不到|差不多|的样子|吧)"
    r"| (?:or|with|for|including|in|all|total|max|at most|and)\b"
)

_RULES = RuleSet(
    Rule(
        rf"(?P<n>{DIGITS}[kw])",
        lambda g: parse_number(g["n"]),
        unless_after="[第#/:-]|no\\.? |version |v",
        only_before=_AFTER_SCALE,
    ),
    Rule(
        rf"(?P<n>{DIGITS}(?: ?[百千万亿]\d?)?)",
        lambda g: parse_number(g["n"]),
        unless_after="[第#/:-]|no\\.? |version |v",
        unless_before="[%/:年月日号楼层路室栋座]| ?(?:am|pm)\\b",
    ),
    Rule(
        f"(?P<n>{_HAN}{{0,6}}[十百千万亿]{_HAN}{{0,6}}(?:点{HAN_DIGIT}{{1,6}})?)",
        lambda g: parse_number(g["n"]) if len(g["n"]) > 1 else None,
        unless_after="第",
    ),
)


def find_numbers(text: str) -> list[Found[Decimal]]:
    """Numbers in digits, and Chinese ones that are written with a unit: `五十`, not `五一`."""
    return find_all(text, _RULES)


# A dash with a space behind it is a dash; 自负58元 is borne by oneself.
_BELOW_ZERO = compiled(
    r"(?:^|[ ,;:(])(?P<sign>[-‐-―−]|(?:minus|negative) )$|(?:^|[^自担肩抱])(?P<zh>负) ?$"
)


def sign_before(text: str, start: int) -> Span | None:
    """Where what begins at `start` is said to be below zero, `-5元`; not `打车费-58元`."""
    sign = _BELOW_ZERO.search(text[:start])
    return sign and group_span(sign, "sign" if sign.group("sign") else "zh")


ORDINAL = rf"(?:{EN.ordinal}|\d{{1,2}}(?:st|nd|rd|th))"
"""An English ordinal, in words or figures."""


def place_of(ordinal: str) -> int | None:
    """The place from 0 that an ordinal, or the figure of one, names; None for no ordinal."""
    if ordinal in EN.ordinal:
        return EN.ordinal.index(ordinal)
    number = parse_number(ordinal[:-2] if ordinal[-2:] in {"st", "nd", "rd", "th"} else ordinal)
    return int(number) - 1 if number is not None and number >= 1 else None
