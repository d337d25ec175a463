"""Amounts of money: `58元`, `￥368.50`, `五十八块五`, `$45`, `1.2k yuan`."""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

from router.entities.grammar import Found, Groups, Rule, RuleSet, compiled, find_all
from router.entities.numbers import (
    DIGITS,
    EN_NUMBER,
    HAN_NUMBER,
    ZH_NUMBER,
    parse_number,
    sign_before,
)
from router.lexicon import BOTH, ZH

DEFAULT_CURRENCY = "CNY"

_SYMBOLS = {
    "CNY": "¥",
    "USD": "us$|$",
    "EUR": "€",
    "GBP": "£",
    "HKD": "hk$",
    "TWD": "nt$",
    "SGD": "s$",
    "AUD": "au$|a$",
    "CAD": "ca$|c$",
    "JPY": "jp¥",
    "KRW": "₩",
    "INR": "₹",
    "THB": "฿",
}
_WORDS = BOTH.currency.values
_CODES = {sign: code for code, signs in _SYMBOLS.items() for sign in signs.split("|")} | _WORDS
_SIGNS = [re.escape(sign) for signs in _SYMBOLS.values() for sign in signs.split("|")]
# The longest first: 20 euros is no 20 eur.
_NAMES = sorted(_WORDS, key=len, reverse=True)
ZH_NAMES = "|".join(name for name in _NAMES if not name.isascii())
BEFORE = "|".join([*_SIGNS, *sorted({code.lower() for code in _WORDS.values()}), "rmb", ZH_NAMES])
"""What may stand before an amount."""
# Twenty pounds may be a weight: that takes a rule of its own.
_EN_NAMES = (re.escape(name) for name in _NAMES if name.isascii() and name != "pound")
AFTER = "|".join([*(f"{name}s?" for name in _EN_NAMES), ZH_NAMES, "€", "£", r"[$](?: ?usd)?"])
"""What may stand after an amount."""


def currency_of(word: str) -> str | None:
    """The ISO code of a symbol, code or name; None where it is none."""
    local = {"元", "块", "圆"}
    return DEFAULT_CURRENCY if word in local else _CODES.get(word) or _CODES.get(word.rstrip("s"))


_CENT = Decimal("0.01")

# Room for every number that is read: the default context refuses cents beyond 28 digits.
_EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)

# 元 and 块 begin other words: 元旦, 元素, 三块蛋糕, 一块去.
_NOT_YUAN = "[旦宵素件老首凶气月店桥论宝]|[一二三]次|方程|里[桥路站]"
_NOT_KUAI = str(ZH.not_money)

# What shows that a digit after 块 begins a new number instead of counting 毛.
_NEW_NUMBER = (
    r"分钟|[\d.百千万十元块张个天号月日年点份人次笔间晚位本件顿盒杯桌台瓶趟周小节课套双只条包箱辆斤公里平米袋"
    r"夜部把支名场样项回桶串家片盘碗排层组队共起趟半成]|[ -]?[a-z]"
)
# 300-500元 isn't an amount, nor is a part of it.
_ONE_OF_TWO = r"\d ?[-~–到至] ?|half "

# 几百块, 上千元: what begins with its unit is part of a number that nobody named.
_ABOUT_SO_MANY = "百千万"

# Pounds of weight.
_WEIGHED = (
    r"(?:weigh(?:s|ed|ing|t)?|lift(?:ed|ing)?|lost|lose|losing|gain(?:ed)?|carry)"
    r"(?: (?:about|around|over|under|up to|almost|nearly|only))? "
)
_OF_WEIGHT = (
    r" (?:of|heavy|heavier|overweight|lighter|in weight|bag|box|parcel|package)\b|-| per square"
)

# Beside one of these a number with 千 or 万 is an amount though 元 is left out.
_MONEY_WORD = (
    f"{ZH.of_money}(?:是|为|了|共|要|大概|大约|约|差不多|一共|总共|只有|才|不超过|有|到|在)?"
)
_COUNTED = (
    " ?(?:[多来几余人个次字米公里份天位件条台页倍步分名家粉吨斤克册套支张本辆]|[-~到至]|以[上下内])"
)


@dataclass(frozen=True)
class Money:
    """An exact amount of a currency."""

    amount: Decimal
    currency: str = DEFAULT_CURRENCY

    def value(self) -> dict[str, str]:
        """The shape that entities and slots have: `{"amount": "58.00", "currency": "CNY"}`."""
        exact = self.amount.quantize(_CENT, context=_EXACT)
        return {"amount": str(exact), "currency": self.currency}


def is_exact(amount: Decimal) -> bool:
    """True where an amount has no more decimals than money has: nobody paid 58.999."""
    return amount == amount.quantize(_CENT, context=_EXACT)


def _prefixed(groups: Groups) -> Money | None:
    number, code = parse_number(groups["n"]), currency_of(groups["currency"])
    return None if number is None or code is None else Money(number, code)


def _suffixed(groups: Groups) -> Money | None:
    number, code = parse_number(groups["n"]), currency_of(groups["unit"])
    if number is None or code is None or groups["n"][0] in _ABOUT_SO_MANY:
        return None
    return Money(number + (Decimal("0.5") if "half" in groups else 0), code)


def _with_small_change(groups: Groups) -> Money | None:
    number = parse_number(groups["n"])
    tenths = parse_number(groups.get("jiao", "0"))
    cents = parse_number(groups.get("fen", "0"))
    if number is None or tenths is None or cents is None:
        return None
    return Money(number + tenths / 10 + cents / 100)


def _european(groups: Groups) -> Money:
    """`1.234,56 €`: the comma before exactly two digits is the decimal one."""
    whole = (groups.get("whole") or groups["spaced"]).replace(".", "").replace(" ", "")
    return Money(Decimal(f"{whole}.{groups.get('cents', 0)}"), "EUR")


def _dollars_and_cents(groups: Groups) -> Money | None:
    whole, cents = parse_number(groups["n"]), parse_number(groups["cents"])
    code = currency_of(groups["unit"])
    hundred = 100
    if whole is None or cents is None or code is None or cents >= hundred:
        return None
    return Money(whole + cents / hundred, code)


_ONE_TO_NINE = "[1-9一二两三四五六七八九壹贰叁肆伍陆柒捌玖]"
_EUROPEAN = r"(?P<whole>\d{1,3}(?:[. ]\d{3})*),(?P<cents>\d\d)"

_RULES = RuleSet(
    Rule(
        rf"(?P<currency>{BEFORE}) ?(?P<n>{DIGITS}(?: ?(?:[百千万]|k\b|m\b|thousand\b|million\b))?)"
        r"(?: ?(?:元|块钱|块|yuan\b))?整?",
        _prefixed,
        unless_after=r"[\d百千万] ?",
        unless_before=r" ?[-~–] ?\d",
    ),
    Rule(
        rf"(?P<currency>{ZH_NAMES}) ?(?P<n>{ZH_NUMBER})整?", _prefixed, unless_after=r"[\d百千万] ?"
    ),
    Rule(
        rf"(?:人民币)?(?P<n>{ZH_NUMBER}) ?(?P<unit>元|块|圆)(?P<half>半)?(?:人民币|钱|整)?",
        _suffixed,
        unless_after=f"[第几好每数上成]|{_ONE_OF_TWO}",
        unless_before=rf"{_NOT_YUAN}|{_NOT_KUAI}",
    ),
    Rule(
        rf"(?P<n>{ZH_NUMBER}) ?(?:元|块)(?P<jiao>{_ONE_TO_NINE})(?:[毛角]"
        rf"(?:(?P<fen>{_ONE_TO_NINE})分?)?)?钱?",
        _with_small_change,
        unless_after=f"[第几好数上成]|{_ONE_OF_TWO}",
        unless_before=_NEW_NUMBER,
    ),
    Rule(
        rf"(?P<n>{ZH_NUMBER}) ?(?:元|块)(?:零?(?P<jiao>{_ONE_TO_NINE})[毛角])?"
        rf"(?:零?(?P<fen>{_ONE_TO_NINE})分)?钱?",
        lambda g: _with_small_change(g) if g.keys() & {"jiao", "fen"} else None,
        unless_before="半|[钟之别摊批次期公]",
    ),
    Rule(rf"(?P<jiao>{_ONE_TO_NINE})毛钱", lambda g: _with_small_change({"n": "0"} | g)),
    Rule(
        rf"{_MONEY_WORD}(?P<it>(?P<n>{DIGITS} ?(?:[千万](?:\d[百千]?)?|[kw]\b)|{HAN_NUMBER}))",
        lambda g: _prefixed({"currency": "cny"} | g),
        unless_before=_COUNTED,
    ),
    Rule(
        rf"(?P<n>{ZH_NUMBER}|{EN_NUMBER}) ?(?P<unit>{AFTER})",
        _suffixed,
        unless_after=_ONE_OF_TWO,
        unless_before=r"[ -](?:question|store|shop|menu)|\d",
    ),
    Rule(
        rf"(?P<n>{EN_NUMBER}) (?P<unit>pound)s?",
        lambda g: _suffixed(g | {"unit": "gbp"}),
        unless_after=rf"{_ONE_OF_TWO}|{_WEIGHED}",
        unless_before=_OF_WEIGHT,
    ),
    Rule(
        rf"(?P<n>{EN_NUMBER}) (?P<unit>dollar|buck|euro)s?,? (?:and )?"
        rf"(?P<cents>{EN_NUMBER}) cents?",
        _dollars_and_cents,
    ),
    *(
        Rule(source, _european)
        for source in (
            rf"(?:€|eur) ?{_EUROPEAN}",
            rf"{_EUROPEAN} ?(?:€|eur\b|euros?)",
            r"(?P<spaced>\d{1,3}(?: \d{3})+) ?€",
        )
    ),
)

# 十块八块 is some money or other.
# 一块 alone is "together" or "a piece"; it is money only where something says so.
_SOME_MONEY = compiled("[一两三五七八十百]块[二两三五六八十]块")
_A_PIECE = frozenset({"一块", "两块", "1块"})


def find_money(text: str) -> list[Found[Money]]:
    """Amounts with their currency; a bare number is none."""
    vague = [match.span() for match in _SOME_MONEY.finditer(text)]
    return [
        _signed(text, f)
        for f in find_all(text, _RULES)
        if not _is_a_piece(text, f) and not any(s <= f.start < e for s, e in vague)
        if is_exact(f.value.amount)
    ]


def _signed(text: str, found: Found[Money]) -> Found[Money]:
    """Below zero where a sign says so: `-5元`, `负五元`; but `打车费-58元` is set off by a dash."""
    sign = sign_before(text, found.start)
    if sign is None:
        return found
    return Found(sign[0], found.end, Money(-found.value.amount, found.value.currency))


def _is_a_piece(text: str, found: Found[Money]) -> bool:
    following = text[found.end : found.end + 1]
    return text[found.start : found.end] in _A_PIECE and bool(following) and following.isalpha()
