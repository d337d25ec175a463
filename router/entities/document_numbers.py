"""Numbers of documents, by what these are called: `发票号 D1`, `receipt no. A-77`.

They are kept as typed: a machine compares them letter by letter. What may as well be an amount,
`发票 58` or `receipt 1200`, is none unless it says that it is a number.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from router.entities.grammar import Found, compiled, cuts_a_word, group_span
from router.entities.numbers import ORDINAL, place_of
from router.entities.utterance import Utterance

_NUMBER_OF = r"的? ?(?:号码?|编号|代码|(?:numbers?|nos?\b\.?|num\b|id\b|#))"
_IS = r"(?: ?(?:分别|依次)?(?:是|为)| (?:is|are|was|were)\b)? ?[::]? ?"
_CODE = r"[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?"
_ONE = compiled(_CODE)
_ALONE = compiled(rf"^(?:inv|fp|rcpt|rec)?[ -]?{_CODE}$|^\d[\d ]{{6,30}}$")
_NUMBERED = compiled(rf"^(?:no\b\.?|number|#|号码?|编号)(?:是|为| is)? ?[:#]? ?(?P<row>{_CODE})$")
_ANSWERED = compiled(rf"(?:^|[^a-z0-9-])(?P<row>{_CODE})(?:$|[^a-z0-9-])")
_BARE = compiled(r"(?:^|, ?)(?P<row>[a-z]{2,6}-\d{3,12})(?:$|[,.;])")
# 2nd, 58k, 3h: a figure with what it counts.
_COUNTS = compiled(r"^\d{1,2}(?:st|nd|rd|th)$|^\d+(?:am|pm|k|km|rmb|cny|usd|yuan|kuai|min|h)$")
_SHORTEST_SURE = 6
_SHORTEST_BESIDE_MONEY = 4


class DocumentNumbers:
    """Documents of one kind by their names; `pattern` is RE2 for a number that is one anywhere."""

    def __init__(self, names: tuple[str, ...], pattern: str | None = None) -> None:
        zh = "|".join(name for name in names if not name.isascii()) or "单据"
        en = "|".join(name for name in names if name.isascii()) or "document"
        paper = rf"(?:电子)?(?:{zh})|\b(?:e-?)?(?:{en})s?\b"
        self._named = compiled(
            rf"(?:{paper})(?P<said>{_NUMBER_OF})?(?:{_IS})#?(?P<row>{_CODE}"
            rf"(?:(?: ?(?:、|,|和|及|/|;|&| and ) ?)(?:and )?{_CODE}){{0,19}})"
        )
        own = pattern and compiled(rf"(?:^|[^a-z0-9-])(?P<row>{pattern})(?:$|[^a-z0-9-])")
        self._of_their_own = [each for each in (own, _BARE) if each]
        self._of_item = compiled(
            rf"(?:第 ?)(?P<zh>[一二三四五六七八九十\d]{{1,2}}) ?[个项笔张条]的?"
            rf"(?:(?:{paper})(?:号码?)?)?{_IS}(?P<code>{_CODE})"
            rf"|\b(?:{paper})(?:{_NUMBER_OF})? (?:of|for|on) (?:the )?(?:(?P<en>{ORDINAL})"
            rf"(?: (?:one|item|entry|{en}))?|(?:item|no\.?|number|#) ?(?P<n>\d{{1,2}}))(?:{_IS})"
            rf"(?P<en_code>{_CODE})"
        )
        self._lacking = compiled(
            "^(?:我|还|都|也|这|那|一|张|个|笔|次|的|了|,| |不好意思|抱歉|暂时|目前)*"
            "(?:没有?|没(?:给|开|拿|要)(?:到|过)?|无|忘(?:了|记)(?:开|要|拿)|不见|找不到|弄?丢|遗失"
            "|不记得|开不(?:了|到|出))"
            rf"(?:有|了|开|拿|要|到|掉|啦|的|电子|纸质|{zh}|票|号码?|呢|啊|呀|啦|[,.!~ ])*$"
            rf"|^(?:{zh})(?:号码?)?(?:我|也|都|被|给|已经)*(?:没有?了?|没(?:给|开|拿|要)(?:到|过)?"
            "|丢|弄丢|掉|不见|找不到|遗失)(?:了|啦|[,.!~ ])*$"
            r"|^(?:不用|不需要)(?:了|啦)?(?:谢谢|,| )*[,.!~ ]*$"
            r"|^(?:sorry,? |well,? )?(?:no|none|nope|nah|no more|nothing(?: else)?|without"
            rf"|no (?:{en})s?(?: (?:number|for (?:it|this|that)(?: one)?))?"
            rf"|there (?:is|was|are)(?: no|n't (?:an?|any)) (?:{en})s?"
            r"|i(?:'ve| have)? ?(?:lost|misplaced|don'?t have|do not have|didn'?t (?:get|keep)"
            r"|can'?t find|have no|got no|threw away)"
            rf"(?: (?:it|one|that|any|(?:(?:an|any|the|my|that) )?(?:{en})s?))?"
            rf"|(?:it|the (?:{en}))(?:'s| is| was| got)? lost)[.! ]*$"
        )

    def find(self, utterance: Utterance, *, beside_money: bool = False) -> list[Found[str]]:
        """The numbers that the sentence names; `beside_money`, a figure after `receipt` is none."""
        found: list[Found[str]] = []
        for match in self._named.finditer(utterance.text):
            certain = match.group("said") is not None
            found += _in_row(utterance, match, certain=certain, beside_money=beside_money)
        for pattern in self._of_their_own:
            for match in pattern.finditer(utterance.text):
                alone = _as_typed(utterance, *group_span(match, "row"))
                found += [] if any(alone.overlaps(f) for f in found) else [alone]
        return sorted(found, key=lambda f: f.start)

    def of_items(self, utterance: Utterance) -> list[tuple[int, Found[str]]]:
        """Numbers with the place of their item: `the invoice of the second one is E2`, (1, E2)."""
        placed: list[tuple[int, Found[str]]] = []
        for match in self._of_item.finditer(utterance.text):
            group = "code" if match.group("code") else "en_code"
            found = _as_typed(utterance, *group_span(match, group))
            place = place_of(match.group("zh") or match.group("en") or match.group("n"))
            mixed = any(c.isdigit() for c in found.value) and _is_whole(utterance.text, found)
            sure = not found.value.isdigit() or len(found.value) >= _SHORTEST_SURE
            if place is not None and mixed and sure:
                placed.append((place, Found(match.start(), found.end, found.value)))
        return placed

    def answered(self, utterance: Utterance) -> str | None:
        """The number in an answer to the question for it; None where it names none, or two."""
        named = self.find(utterance, beside_money=True)
        if named:
            return named[0].value if len({f.value for f in named}) == 1 else None
        text = utterance.text.strip(" .!,;")
        if _ALONE.search(text) and any(c.isdigit() for c in text):
            return utterance.normalised.typed.strip(" .!,;。，！")
        numbered = _NUMBERED.search(text)
        if numbered and any(c.isdigit() for c in numbered.group("row")):
            offset = utterance.text.index(text)
            start, end = group_span(numbered, "row")
            return _as_typed(utterance, offset + start, offset + end).value
        codes = {f.value for f in _codes_in(utterance)}
        return codes.pop() if len(codes) == 1 else None

    def are_lacking(self, text: str) -> bool:
        """True where a normalised answer says that there is none: `没有发票`, `I lost it`."""
        return self._lacking.search(text) is not None


@lru_cache(maxsize=64)
def document_numbers(names: tuple[str, ...], pattern: str | None = None) -> DocumentNumbers:
    """Those of these names; made once."""
    return DocumentNumbers(names, pattern)


def _in_row(
    utterance: Utterance, match: Any, *, certain: bool, beside_money: bool
) -> Iterator[Found[str]]:
    start, _ = group_span(match, "row")
    first = ""
    for code in _ONE.finditer(match.group("row")):
        found = _as_typed(utterance, start + code.start(), start + code.end())
        if not _is_whole(utterance.text, found) or (first and not _is_alike(found.value, first)):
            return
        if not first and not _is_number(found.value, certain=certain, beside_money=beside_money):
            return
        yield found if first else Found(match.start(), found.end, found.value)
        first = found.value


def _is_number(code: str, *, certain: bool, beside_money: bool) -> bool:
    if not any(c.isdigit() for c in code):
        return False
    if certain or not code.isdigit():
        return True
    return len(code) >= (_SHORTEST_BESIDE_MONEY if beside_money else _SHORTEST_SURE)


def _is_alike(code: str, first: str) -> bool:
    """True for another of the same row: `58` after `12345678` is an amount."""
    if first.isdigit():
        return code.isdigit() and len(code) == len(first) >= _SHORTEST_BESIDE_MONEY
    return not code.isdigit() and any(c.isdigit() for c in code)


def _is_whole(text: str, found: Found[str]) -> bool:
    """False for `20` of `20.5`, `58` of `58元`, `3` of `3月` and the like."""
    following = text[found.end : found.end + 1]
    if cuts_a_word(text, found.end) and text[found.end] != ",":
        return False
    return not (found.value.isdigit() and following and following in "元块圆毛年月日号张笔个次%")


def _as_typed(utterance: Utterance, start: int, end: int) -> Found[str]:
    return Found(start, end, utterance.normalised.as_typed(start, end))


def _codes_in(utterance: Utterance) -> Iterator[Found[str]]:
    """What can be nothing but a number among other words: letters with digits, many digits."""
    for match in _ANSWERED.finditer(utterance.text):
        found = _as_typed(utterance, *group_span(match, "row"))
        digits = sum(c.isdigit() for c in found.value)
        sure = digits >= _SHORTEST_SURE or (digits and not found.value.isdigit())
        if sure and _is_whole(utterance.text, found) and not _COUNTS.search(found.value):
            yield found
