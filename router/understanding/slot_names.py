"""What people call a slot when they speak of it: `结束日期`, `the amount`, `invoice number`."""

from functools import lru_cache

from router.flow.model import Slot
from router.understanding.grammar import cuts_a_word
from router.understanding.normalise import normalise

_PARTS = {"start": "开始 起始 start from beginning", "end": "结束 截止 end until return"}
_COMMON = {
    "reason": "原因 理由 事由 reason",
    "amount": "金额 价格 钱数 amount price",
    "date": "日期 date",
    "category": "类别 类型 分类 category type",
    "invoice": "发票 发票号 invoice",
}


def words_of(name: str, slot: Slot) -> list[str]:
    """The words for it in both languages, normalised: its name, its label, what such are called."""
    words = [name.replace("_", " "), *_COMMON.get(name, "").split()]
    words += _PARTS.get(slot.part_of_range or "", "").split()
    if slot.label is not None:
        # What a Chinese noun is comes last: 请假类型 is a 类型.
        words += [slot.label.zh, slot.label.zh[-2:], slot.label.en]
    return [_normalised(word) for word in words]


@lru_cache(maxsize=4096)
def _normalised(word: str) -> str:
    """The word as messages are read; kept, since every message is held against every slot's."""
    return normalise(word).text


def word_in(text: str, words: list[str]) -> str | None:
    """The longest of the words that the text has as a word of its own."""
    for word in sorted(words, key=len, reverse=True):
        start = text.find(word)
        if start >= 0 and not cuts_a_word(text, start) and not cuts_a_word(text, start + len(word)):
            return word
    return None
