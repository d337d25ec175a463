"""One spelling for everything that is read by rules, with the way back to what was typed.

Rules look for `请假` and `leave`; people type `請 假` and `ＬＥＡＶＥ`. A `Normalised` holds the
one spelling and, for each of its characters, where it came from, so that whatever is found can
be shown in the person's own words.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# A base character with its combining marks: the smallest piece that NFKC may be applied to on
# its own. The number of marks is bounded since sorting a long run of them is quadratic.
_CLUSTER = re.compile(
    "(?s).[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f]{0,8}"
)

_SURROGATES = re.compile("[\ud800-\udfff]")

# One ligature unfolds into eighteen characters; none that matters here into more than these.
_LONGEST_UNFOLDING = 6

# Traditional and simplified, in pairs: the characters of requests, dates, money and amounts.
_PAIRS = (
    "請请報报銷销發发後后兩两點点週周號号個个幫帮這这萬万億亿塊块錢钱費费車车門门飯饭機机醫医時时"
    "間间從从開开結结產产喪丧調调補补審审準准買买張张單单據据項项類类種种"
    "條条歲岁紅红綠绿東东風风電电話话腦脑員员辦办業业務务經经領领導导長长師师國国際际會会議议館馆"
    "樓楼線线實实總总統统計计劃划額额資资訊讯證证轉转賬账帳账戶户與与說说"
    "讓让給给對对錯错確确認认還还沒没無无題题謝谢麼么嗎吗誰谁幾几樣样為为問问處处進进來来過过達达"
    "離离遠远邊边頭头裡里裏里內内關关於于談谈論论讀读寫写聽听見见覺觉學学"
    "習习試试驗验檢检視视藥药體体熱热燒烧傷伤腫肿養养婦妇嬰婴兒儿親亲爺爷媽妈孫孙慶庆節节賀贺歡欢"
    "樂乐遊游覽览遞递擔担負负責责權权幣币圓圆銀银紙纸筆笔書书圖图畫画園园"
    "場场廠厂應应該该須须預预訂订購购貨货運运輸输載载飛飞鐵铁輪轮騎骑駕驾駛驶禮礼貳贰參参陸陆範范"
    "詢询變变譯译規规標标閱阅狀状態态舊旧將将現现當当僅仅約约屬属護护勞劳"
    "動动隻只雙双鐘钟剛刚纔才裝装備备辭辞職职廳厅壽寿聖圣誕诞撥拨複复雜杂償偿憑凭併并餘余"
)
_TO_SIMPLIFIED = str.maketrans(_PAIRS[::2], _PAIRS[1::2])


@dataclass(frozen=True)
class Normalised:
    """A text in the one spelling that rules read, aligned with the text as typed.

    >>> found = normalise("我 要 请 假")
    >>> found.text, found.span(2, 4)
    ('我要请假', (4, 7))
    """

    typed: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]` stands in the text as typed, half-open."""
        if start >= end:
            at = self.starts[start] if start < len(self.starts) else len(self.typed)
            return at, at
        return self.starts[start], self.ends[end - 1]

    def as_typed(self, start: int, end: int) -> str:
        """The person's own writing of `text[start:end]`."""
        first, last = self.span(start, end)
        return self.typed[first:last]


def normalise(typed: str) -> Normalised:
    """Compatibility forms, case, white space, invisible and traditional characters evened out.

    White space runs become one space, and none between Chinese characters; control and
    zero-width characters go. Lone surrogates become U+FFFD, so that the result is always
    encodable.
    """
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gap: tuple[int, int] | None = None
    for character, start, end in _unfolded(typed):
        if character == " ":
            gap = (gap[0] if gap else start, end)
            continue
        if gap and characters and not (_is_han(characters[-1]) and _is_han(character)):
            characters.append(" ")
            starts.append(gap[0])
            ends.append(gap[1])
        gap = None
        characters.append(character)
        starts.append(start)
        ends.append(end)
    return Normalised(typed, "".join(characters), tuple(starts), tuple(ends))


def _unfolded(typed: str) -> Iterator[tuple[str, int, int]]:
    for cluster in _CLUSTER.finditer(typed):
        start, end = cluster.span()
        for character in _fold(cluster.group()):
            yield character, start, end


@lru_cache(maxsize=8192)
def _fold(cluster: str) -> str:
    """The cluster in the one spelling; empty where nobody could see it."""
    encodable = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", cluster)
    unfolded = unicodedata.normalize("NFKC", encodable)
    if len(unfolded) > _LONGEST_UNFOLDING:
        return encodable
    folded = unicodedata.normalize("NFKC", unfolded.casefold()).translate(_TO_SIMPLIFIED)
    return "".join(" " if c.isspace() else c for c in folded if c.isspace() or _is_visible(c))


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf"}


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"
