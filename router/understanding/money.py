"""Amounts of money: `58元`, `￥368.50`, `五十八块五`, `$45`, `1.2k yuan`."""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

from router.understanding.grammar import Found, Groups, Rule, longest
from router.understanding.numbers import DIGITS, EN_NUMBER, HAN_DIGIT, ZH_NUMBER, parse_number

DEFAULT_CURRENCY = "CNY"
_CENT = Decimal("0.01")

# Room for every number that is read: the default context refuses cents beyond 28 digits.
_EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)

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
}
_WORDS = {
    "CNY": "rmb|cny|yuan|kuai|renminbi|人民币",
    "USD": "usd|us dollar|dollar|buck|美元|美金",
    "EUR": "eur|euro|欧元",
    "GBP": "gbp|pound|quid|英镑",
    "HKD": "hkd|hong kong dollar|港币|港元",
    "JPY": "jpy|yen|日元|日币",
    "TWD": "twd|新台币|台币",
    "SGD": "sgd|singapore dollar|新加坡元|新币",
    "KRW": "krw|韩元|韩币",
    "AUD": "aud|澳元|澳币",
    "CAD": "cad|加元|加币",
}
_CODES = {
    word: code
    for names in (_SYMBOLS, _WORDS)
    for code, words in names.items()
    for word in words.split("|")
}
_SIGNS = [re.escape(sign) for signs in _SYMBOLS.values() for sign in signs.split("|")]
# The longest first: 20 euros is no 20 eur.
_NAMES = sorted((n for names in _WORDS.values() for n in names.split("|")), key=len, reverse=True)
_BEFORE = "|".join([*_SIGNS, *(code.lower() for code in _WORDS), "rmb", "人民币"])
_AFTER = "|".join([*(f"{name}s?" if name.isascii() else name for name in _NAMES), "€", "£"])

# 元 and 块 begin other words: 元旦, 元素, 三块蛋糕, 一块去.
_NOT_YUAN = "[旦宵素件老首凶气月店]"
_NOT_KUAI = (
    "[去来走吃住玩做聊说看蛋面地屏牌肉糖布砖板石表手电玉木巧饼玻]|儿(?:去|来|走|吃|玩|做)?|一起"
)

# What shows that a digit after 块 begins a new number instead of counting 毛.
_NEW_NUMBER = r"[\d.百千万十元块张个天号月日年点份人次笔]"


@dataclass(frozen=True)
class Money:
    """An exact amount of a currency."""

    amount: Decimal
    currency: str = DEFAULT_CURRENCY

    def value(self) -> dict[str, str]:
        """The shape that entities and slots have: `{"amount": "58.00", "currency": "CNY"}`."""
        exact = self.amount.quantize(_CENT, context=_EXACT)
        return {"amount": str(exact), "currency": self.currency}


def currency_of(word: str) -> str | None:
    """The ISO code of a symbol, code or name; None where it is none."""
    local = {"元", "块", "圆"}
    return DEFAULT_CURRENCY if word in local else _CODES.get(word) or _CODES.get(word.rstrip("s"))


def _prefixed(groups: Groups) -> Money | None:
    number, code = parse_number(groups["n"]), currency_of(groups["currency"])
    return None if number is None or code is None else Money(number, code)


def _suffixed(groups: Groups) -> Money | None:
    number, code = parse_number(groups["n"]), currency_of(groups["unit"])
    if number is None or code is None:
        return None
    return Money(number + (Decimal("0.5") if "half" in groups else 0), code)


def _with_small_change(groups: Groups) -> Money | None:
    number = parse_number(groups["n"])
    tenths = _small(groups.get("jiao"))
    cents = _small(groups.get("fen"))
    if number is None or tenths is None or cents is None:
        return None
    return Money(number + tenths / 10 + cents / 100)


def _small(text: str | None) -> Decimal | None:
    return Decimal(0) if text is None else parse_number(text)


_RULES = (
    Rule(
        rf"(?P<currency>{_BEFORE}) ?(?P<n>{DIGITS}(?: ?(?:[百千万]|k\b))?)"
        r"(?: ?(?:元|块钱|块|yuan\b))?整?",
        _prefixed,
    ),
    Rule(
        rf"(?:人民币)?(?P<n>{ZH_NUMBER}) ?(?P<unit>元|块|圆)(?P<half>半)?(?:人民币|钱|整)?",
        _suffixed,
        unless_after="[第几好每]",
        unless_before=rf"{_NOT_YUAN}|{_NOT_KUAI}",
    ),
    Rule(
        rf"(?P<n>{ZH_NUMBER}) ?(?:元|块)(?P<jiao>[1-9]|{HAN_DIGIT})(?:[毛角]"
        rf"(?:(?P<fen>[1-9]|{HAN_DIGIT})分?)?)?钱?",
        _with_small_change,
        unless_after="[第几好]",
        unless_before=_NEW_NUMBER,
    ),
    Rule(rf"(?P<jiao>[1-9]|{HAN_DIGIT})毛钱", lambda g: _with_small_change({"n": "0"} | g)),
    Rule(rf"(?P<n>{ZH_NUMBER}|{EN_NUMBER}) ?(?P<unit>{_AFTER})", _suffixed),
)

# 一块 alone is "together" or "a piece"; it is money only where something says so.
_A_PIECE = frozenset({"一块", "两块", "1块"})


def find_money(text: str) -> list[Found[Money]]:
    """Amounts with their currency; a bare number is none."""
    found = longest(found for rule in _RULES for found in rule.find(text))
    return [f for f in found if not _is_a_piece(text, f)]


def _is_a_piece(text: str, found: Found[Money]) -> bool:
    following = text[found.end : found.end + 1]
    return text[found.start : found.end] in _A_PIECE and bool(following) and following.isalpha()
