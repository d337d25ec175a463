"""How currencies are called: signs, codes, and names in Chinese and English."""

import re

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
_WORDS = {
    "CNY": "rmb|cny|yuan|kuai|renminbi|人民币",
    "USD": "usd|us dollar|u.s. dollar|american dollar|dollar|buck|美元|美金",
    "EUR": "eur|euro|欧元",
    "GBP": "gbp|pound|british pound|pound sterling|pounds sterling|quid|英镑",
    "HKD": "hkd|hong kong dollar|hk dollar|港币|港元",
    "JPY": "jpy|japanese yen|yen|日元|日币|円",
    "TWD": "twd|ntd|nt dollar|new taiwan dollar|taiwan dollar|新台币|台币",
    "SGD": "sgd|singapore dollar|新加坡元|新币",
    "KRW": "krw|korean won|韩元|韩币",
    "AUD": "aud|australian dollar|澳元|澳币",
    "CAD": "cad|canadian dollar|加元|加币",
    "CHF": "chf|swiss franc|瑞士法郎|瑞郎",
    "THB": "thb|baht|泰铢",
    "INR": "inr|rupee|卢比",
    "MYR": "myr|ringgit|马币|林吉特",
    "NZD": "nzd|new zealand dollar|纽币|新西兰元",
    "MOP": "mop|澳门元|澳门币",
    "VND": "vnd|越南盾",
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
ZH_NAMES = "|".join(name for name in _NAMES if not name.isascii())
BEFORE = "|".join([*_SIGNS, *(code.lower() for code in _WORDS), "rmb", ZH_NAMES])
"""What may stand before an amount."""
# Twenty pounds may be a weight: that takes a rule of its own.
_EN_NAMES = (re.escape(name) for name in _NAMES if name.isascii() and name != "pound")
AFTER = "|".join([*(f"{name}s?" for name in _EN_NAMES), ZH_NAMES, "€", "£", r"[$](?: ?usd)?"])
"""What may stand after an amount."""


def currency_of(word: str) -> str | None:
    """The ISO code of a symbol, code or name; None where it is none."""
    local = {"元", "块", "圆"}
    return DEFAULT_CURRENCY if word in local else _CODES.get(word) or _CODES.get(word.rstrip("s"))
