"""Amounts of money: `58元`, `￥368.50`, `五十八块五`, `$45`, `1.2k yuan`."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from router.understanding.grammar import Found, Groups, Rule, longest
from router.understanding.numbers import DIGITS, EN_NUMBER, HAN_DIGIT, ZH_NUMBER, parse_number

DEFAULT_CURRENCY = "CNY"
_CENT = Decimal("0.01")

_NAMES = {
    "CNY": r"¥|rmb|cny|yuan|kuai|renminbi|人民币|元|块钱|块|圆",
    "USD": r"us\$|\$|usd|us dollars?|dollars?|bucks|美元|美金",
    "EUR": r"€|eur|euros?|欧元",
    "GBP": r"£|gbp|pounds?|quid|英镑",
    "HKD": r"hk\$|hkd|hong kong dollars?|港币|港元",
    "JPY": r"jpy|yen|日元|日币",
    "TWD": r"nt\$|twd|台币|新台币",
    "SGD": r"s\$|sgd|singapore dollars?|新加坡元|新币",
    "KRW": r"krw|韩元|韩币",
    "AUD": r"au?\$|aud|澳元|澳币",
    "CAD": r"ca?\$|cad|加元|加币",
}
_CODES = {
    word.replace("\\", "").replace("?", ""): code
    for code, words in _NAMES.items()
    for word in words.split("|")
}
_BEFORE = (
    r"us\$|hk\$|nt\$|s\$|au?\$|ca?\$|\$|¥|€|£|rmb|cny|usd|eur|gbp|hkd|jpy|twd|sgd|aud|cad|人民币"
)
_FOREIGN = (
    "美元|美金|欧元|英镑|港币|港元|日元|日币|新?台币|新加坡元|新币|韩元|韩币|澳元|澳币|加元|加币"
)
_WORDS_AFTER = (
    "yuan|rmb|cny|renminbi|kuai|us dollars?|hong kong dollars?|singapore dollars?|dollars?|bucks"
    "|usd|euros?|eur|pounds?|gbp|quid|hkd|yen|jpy|twd|sgd|aud|cad|krw|€|£"
)

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
        exact = self.amount.quantize(_CENT, rounding=ROUND_HALF_UP)
        return {"amount": str(exact), "currency": self.currency}


def currency_of(word: str) -> str | None:
    """The ISO code of a symbol, code or name; None where it is none."""
    return _CODES.get(word) or _CODES.get(word.rstrip("s"))


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
    Rule(rf"(?P<n>{ZH_NUMBER}) ?(?P<unit>{_FOREIGN})", _suffixed),
    Rule(rf"(?P<n>{EN_NUMBER}) ?(?P<unit>{_WORDS_AFTER})", _suffixed),
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
