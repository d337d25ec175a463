"""Values as documents print them: amounts, dates, amounts in capital characters, long numbers.

What people say is read by `router.entities`; what machines print and a camera saw needs less of
language and more of patience: `Y106.OO` is an amount, `2026年1l月O5日` a date. Each value tells
whether it had to be mended, so that its reader may believe it less. Every expression here has
bounded loops, and texts are cut before they are read (`LONGEST_LINE`), so that time is linear.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pydantic import JsonValue

from router.entities.dates_en import month_number
from router.entities.money import DEFAULT_CURRENCY, Money, currency_of, is_exact
from router.entities.numbers import parse_number

LONGEST_LINE = 400
"""Characters of a line that are looked at: no form puts a field behind more."""

_UNSEEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b-\x1f]")
_THIN = re.compile("(?<=\\d)[\u00a0\u2007\u2009\u202f'’](?=\\d{3}(?!\\d))")
_SPACES = re.compile(r"[ \t\u3000\n\r\f\v\u00a0\u2000-\u200a\u202f]{1,200}")
_HAN = "\u3400-\u9fff"
_WITHIN_HAN = re.compile(f"(?<=[{_HAN}]) (?=[{_HAN}])")


def folded(text: str) -> str:
    """A line in one spelling: compatibility forms, one space for many, none within Chinese.

    >>> folded("合　 计：￥１２ 345.00")
    '合计:¥12 345.00'
    """
    cut = _THIN.sub(",", _UNSEEN.sub("", text[:LONGEST_LINE]))
    plain = unicodedata.normalize("NFKC", cut)[:LONGEST_LINE].replace("￥", "¥")
    return _WITHIN_HAN.sub("", _SPACES.sub(" ", plain)).strip()


@dataclass(frozen=True)
class PrintedAmount:
    """An amount as it is printed: its currency where one is named, and how it was written."""

    value: Decimal
    currency: str | None = None
    mended: bool = False
    """True where characters had to be taken for others."""
    cents: bool = False
    """True where it is written with decimals."""

    @property
    def is_marked(self) -> bool:
        """True for what can hardly be a number of something: it has a currency, or cents."""
        return self.cents or self.currency is not None

    def money(self, currency: str | None = None) -> dict[str, JsonValue]:
        """The entity value; `currency` is that of the document, for an amount that names none."""
        return {**Money(self.value, self.currency or currency or DEFAULT_CURRENCY).value()}


_CODES = "CNY|RMB|USD|EUR|GBP|HKD|SGD|AUD|CAD|JPY|TWD"
_BEFORE = rf"US\$|HK\$|S\$|A\$|C\$|NT\$|[¥$€£]|(?<![A-Za-z])(?:{_CODES})|人民币"
_MISREAD_YUAN = r"(?<![A-Za-z])[Yy半羊]{1,2}(?=\s?\d)"
"""What readers of pictures make of ¥."""
_WHOLE = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,9}"
_AMOUNT = re.compile(
    rf"(?P<minus>(?<![\w.,/:-])-\s?)?(?:(?P<before>{_BEFORE})|(?P<yuan>{_MISREAD_YUAN}))?\s?"
    r"(?P<sign>(?<![\w.,/:-])-\s?)?"
    rf"(?:(?P<whole>(?<![\d.,:/#*A-Za-z-])(?:{_WHOLE})|(?<![^\s¥$€£]-)(?<=-)(?:{_WHOLE})|(?<=[Yy])(?:{_WHOLE}))"
    r"(?:\s?[.]\s?(?P<cents>\d{1,2})|[,](?P<comma>\d{2}))?"
    r"|(?P<european>\d{1,3}(?:\.\d{3}){1,3}),(?P<hundredths>\d\d))"
    rf"(?![\d%:/年月号#|!-]|[OoQDIlSBZz]{{1,3}}(?![A-Za-z])|\.[\dOo]|,\d)\s?(?P<after>元|圆|块|€|£|(?:{_CODES})(?![A-Za-z]))?",
    re.IGNORECASE,
)
_LIKE_FIGURES = str.maketrans("OoQDIl|!SsBZz", "0000111155822")
_LIKE_AN_AMOUNT = re.compile(r"[\dOoQDIl|!SsBZz.,]{3,20}")
_MOST_AMOUNTS = 12
"""Amounts of one line that are looked at."""


def amounts(text: str) -> list[PrintedAmount]:
    """The amounts of a folded line, in their order; with letters taken for figures if need be."""
    found = list(_amounts(text, mended=False))
    if found or not any(c.isdigit() for c in text):
        return found
    return list(_amounts(_LIKE_AN_AMOUNT.sub(_as_figures, text), mended=True))


def _as_figures(found: re.Match[str]) -> str:
    """A word of which a third are figures is all figures."""
    word = found[0]
    figures = sum(c.isdigit() for c in word)
    letters = sum(c.isalpha() or c in "|!" for c in word)
    return word.translate(_LIKE_FIGURES) if 2 * figures >= max(1, letters) else word


def _amounts(text: str, *, mended: bool) -> Iterator[PrintedAmount]:
    for number, found in enumerate(_AMOUNT.finditer(text)):
        if number == _MOST_AMOUNTS:
            return
        cents = found["cents"] or found["comma"] or found["hundredths"]
        whole = (found["whole"] or found["european"]).replace(",", "").replace(".", "")
        value = Decimal(f"{'-' if found['sign'] or found['minus'] else ''}{whole}.{cents or 0}")
        if not is_exact(value):
            continue
        guessed = mended or bool(found["yuan"] or found["comma"])
        yield PrintedAmount(value, _currency(found), guessed, cents is not None)


def _currency(found: re.Match[str]) -> str | None:
    if found["yuan"]:
        return DEFAULT_CURRENCY
    word = found["before"] or found["after"]
    if not word:
        return None
    return DEFAULT_CURRENCY if word in {"人民币", "圆"} else currency_of(word.lower())


_CAPITALS = "零〇壹贰叁肆伍陆柒捌玖拾佰仟万亿"
_VARIANTS = str.maketrans("壱弐貳參叄陸萬億圓園园元正百千十", "壹贰贰叁叁陆万亿圆圆圆圆整佰仟拾")
_CAPITAL = re.compile(
    f"(?P<minus>负数?\\)?)?(?P<yuan>[{_CAPITALS}]{{1,20}})圆"
    f"(?P<rest>[{_CAPITALS}角分]{{0,6}})(?P<whole>整)?"
)
_JIAO = re.compile(f"(?P<of>[{_CAPITALS}])角")
_FEN = re.compile(f"(?P<of>[{_CAPITALS}])分")


def capital_amount(text: str) -> Decimal | None:
    """The amount that Chinese capital characters say, `壹佰零陆圆伍角整`; None where none does."""
    found = _CAPITAL.search(text.translate(_VARIANTS))
    if found is None or not set(found["yuan"]) & set("壹贰叁肆伍陆柒捌玖零"):
        return None
    value = parse_number(found["yuan"])
    tenths, cents = _JIAO.search(found["rest"]), _FEN.search(found["rest"])
    parts = [parse_number(part["of"]) if part else Decimal(0) for part in (tenths, cents)]
    if value is None or parts[0] is None or parts[1] is None:
        return None
    # What is cut off behind 圆 would be a smaller amount: it ends with 整, 角 or 分.
    if not (found["whole"] or tenths or cents):
        return None
    whole = value + parts[0] / 10 + parts[1] / 100
    return -whole if found["minus"] else whole


@dataclass(frozen=True)
class PrintedDate:
    """A date as it is printed; `doubtful` where it could be another: `11/05/2026`."""

    value: date
    doubtful: bool = False
    mended: bool = False
    end: int = 0
    """Where it ends in the text."""


_D = r"[\dOoQDIl|!SBZ]"
_YEAR_FIRST = re.compile(
    rf"(?<![\dA-Za-z])(?P<year>(?:20|2O|Z0|19){_D}{_D})\s?(?:年|[-./])\s?"
    rf"(?P<month>{_D}{{1,2}})\s?(?:月|[-./])\s?"
    # A reader of pictures leaves out the space before the time: 2026-03-0910:23.
    rf"(?P<day>{_D}{{2}}(?=\d\d[:;]\d)|{_D}{{1,2}}(?!\d))"
)
_COMPACT = re.compile(r"(?<![\dA-Za-z.])(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)(?![\d.])")
_HAN_DAY = re.compile(
    r"(?P<year>[二〇零○O一三四五六七八九]{4})年(?P<month>[一二三四五六七八九十]{1,2})月"
    r"(?P<day>[一二三四五六七八九十]{1,3})日"
)
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY_FIRST = re.compile(
    rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[-. /]?\s?(?P<name>{_MONTHS})"
    r"[.,]?[- /]?\s?(?P<year>20\d\d|\d\d)(?!\d(?!\d[:;]\d))",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"(?<![a-z])(?P<name>{_MONTHS})\.?\s?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s?"
    r"(?P<year>20\d\d)(?!\d(?!\d?[:;]\d))",
    re.IGNORECASE,
)
_FIGURES = re.compile(
    r"(?<![\d./-])(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.]"
    r"(?P<year>20\d\d|\d\d)(?![\d/.-])"
)


def days(text: str, currency: str | None = None) -> list[PrintedDate]:
    """The whole dates of a folded line, in order of how clearly they are written.

    Args:
        text: A folded line.
        currency: That of the document: who counts in dollars puts the month first. It doesn't
            make `11/05/2026` certain.
    """
    found = [*_by_year(text), *_by_name(text), *_by_figures(text, currency)]
    return found or [*_in_characters(text), *_compact(text)]


def _by_year(text: str) -> Iterator[PrintedDate]:
    for found in _YEAR_FIRST.finditer(text):
        plain = [found[part].translate(_LIKE_FIGURES) for part in ("year", "month", "day")]
        mended = plain != [found[part] for part in ("year", "month", "day")]
        yield from _day(*map(int, plain), mended=mended, end=found.end())


def _by_name(text: str) -> Iterator[PrintedDate]:
    for expression in (_DAY_FIRST, _MONTH_FIRST):
        for found in expression.finditer(text):
            month = month_number(found["name"].lower()[:3])
            year = int(found["year"])
            century = 2000 if year < 100 else 0  # noqa: PLR2004
            yield from _day(
                year + century, month, int(found["day"]), doubtful=bool(century), end=found.end()
            )


def _by_figures(text: str, currency: str | None) -> Iterator[PrintedDate]:
    for found in _FIGURES.finditer(text):
        first, second, year = int(found["a"]), int(found["b"]), int(found["year"])
        short = year < 100  # noqa: PLR2004
        year += 2000 if short else 0
        orders = {order for order in ((first, second), (second, first)) if _is_day(year, *order)}
        month_first = currency in {"USD", None} and found["mark"] != "."
        preferred = (first, second) if month_first else (second, first)
        if orders:
            month, day = preferred if preferred in orders else orders.pop()
            doubtful = len({*orders, preferred} & {(first, second), (second, first)}) > 1
            # Nobody who ends with the year and writes full stops puts the month first.
            doubtful = short or (doubtful and found["mark"] != ".")
            yield from _day(year, month, day, doubtful=doubtful, end=found.end())


def _in_characters(text: str) -> Iterator[PrintedDate]:
    for found in _HAN_DAY.finditer(text):
        figures = found["year"].translate(
            str.maketrans("二〇零○O一三四五六七八九", "2000013456789")
        )
        month, day = parse_number(found["month"]), parse_number(found["day"])
        if month and day:
            yield from _day(int(figures), int(month), int(day), end=found.end())


def _compact(text: str) -> Iterator[PrintedDate]:
    for found in _COMPACT.finditer(text):
        parts = (int(found[part]) for part in ("year", "month", "day"))
        yield from _day(*parts, end=found.end())


def _day(
    year: int, month: int, day: int, *, doubtful: bool = False, mended: bool = False, end: int = 0
) -> Iterator[PrintedDate]:
    try:
        yield PrintedDate(date(year, month, day), doubtful, mended, end)
    except ValueError:
        return


def _is_day(year: int, month: int, day: int) -> bool:
    return bool(list(_day(year, month, day)))


_LONG_NUMBER = re.compile(r"(?<![\dA-Za-z])[\dOoIl|][\dOoIl| ]{6,40}(?![\dA-Za-z])")


def long_numbers(text: str) -> list[tuple[str, bool]]:
    """Numbers of eight and more figures, spaces within taken out, and whether they were mended."""
    found = []
    for each in _LONG_NUMBER.findall(text):
        plain = each.translate(_LIKE_FIGURES).replace(" ", "")
        if sum(c.isdigit() for c in each) > len(plain) // 2:
            found.append((plain, plain != each.replace(" ", "")))
    return found
