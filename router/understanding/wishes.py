"""Where a message wishes for something else: `请年假下周一，顺便查下天气`.

A message is cut where the lexicon's words say that another wish begins, and at the ends of its
sentences. Whether both sides wish for something is for the reader to say: what it takes, or what
`asks_the_desk`. Nothing is cut within quotes, or where somebody's words or a text follow.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from router.entities.grammar import compiled
from router.entities.utterance import Utterance
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import asks, says_nothing
from router.understanding.slots.free_text import clauses_of
from router.understanding.triggers.classifier import Blocker

LONGEST = 400
"""Characters of a text in which somebody says what they want; what is longer was pasted."""
MAX_PARTS = 40
"""Parts that are looked at, each as if it were a message; the last has whatever follows."""

_ENDS_SENTENCE = "[.!?;。…~]"
_NEXT = rf"{ZH.another_wish}|{ZH.in_passing}|(?:{EN.another_wish}|{EN.in_passing})\b"
_MAY_BE_CUT = compiled(
    rf"{ZH.in_passing}|\b{EN.in_passing}\b|{_ENDS_SENTENCE}.|[,:、](?: |and |but |oh )*(?:{_NEXT})"
)
_OPENS = compiled(rf"^(?:and |but |oh |so | )*(?:{_NEXT})")
_IN_PASSING = compiled(rf"{ZH.in_passing}|\b(?:and |but )?{EN.in_passing}\b")
_SENTENCE = compiled(_ENDS_SENTENCE)
_LEADING = compiled(rf"^(?:{ZH.around_wish}|{EN.around_wish}\b|[,;:.!、 ])*")
_TRAILING = compiled(rf"(?:\b(?:{EN.around_wish})|[,;:、。 ])*$")

_TOLD = compiled(rf"(?:{ZH.told_by}|\b{EN.told_by})[,: ]*$")
_WORKS_ON = compiled(rf"(?:{ZH.works_on}|\b{EN.works_on}\b)[^.!?。]*:[^.!?。]*")
_QUOTED = compiled('[“"「『《‘][^”"」』》’]*[”"」』》’]')
_PASTED = compiled(
    "(?:^|\n) *(?:>|(?:from|to|cc|sent|date|subject|发件人|收件人|抄送|主题|发送时间|日期)[:：])"
    "|-{3}|={3}|[*]{3}|```"
)
_TRANSLATION, _TEXT = Blocker("translation"), Blocker("text")

_ASKS = compiled(
    rf"{ZH.asks_desk}|\b{EN.asks_desk}\b|^(?:{ZH.asks_desk_first}|{EN.asks_desk_first}\b)"
)
_FOR_ANOTHER = compiled(rf"^(?:{ZH.for_another}|{EN.for_another}\b)")
_HOW_OR_WHAT = compiled(str(ZH.blockers["how-or-what"].signs))
_AROUND = rf"{ZH.filler}|{ZH.courtesy}|\b(?:{EN.filler}|{EN.courtesy})\b|[,.!?~ ]"
_GRANTED = compiled(rf"^(?:{_AROUND})*(?:{ZH.granted}|{EN.granted}\b)(?:{_AROUND})*$")


@dataclass(frozen=True)
class Clause:
    """A part of a message, half-open in the normalised text; `opened` by words for another wish."""

    start: int
    end: int
    opened: bool = False


def clauses(utterance: Utterance) -> list[Clause]:
    """The parts that may be wishes of their own, in order; none where there is but one.

    >>> from datetime import UTC, datetime
    >>> said = Utterance.of("请年假下周一，顺便查下天气", datetime(2026, 11, 18, tzinfo=UTC))
    >>> [(said.text[c.start : c.end], c.opened) for c in clauses(said)]
    [('请年假下周一', False), ('查下天气', True)]
    """
    text = utterance.text
    if len(text) > LONGEST or not _MAY_BE_CUT.search(text):
        return []
    if _PASTED.search(utterance.normalised.typed) or _TRANSLATION.stops(text):
        return []
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    cuts = [
        (at, opened)
        for at, opened in _cuts(text)
        if not any(start < at < end for start, end in quoted) and not _others_words(text[:at])
    ]
    bounds = [(0, False), *cuts, (len(text), False)]
    parts = [_trimmed(text, start, end, opened) for (start, opened), (end, _) in pairwise(bounds)]
    said = [part for part in parts if part.start < part.end]
    if len(said) > MAX_PARTS:
        last = replace(said[MAX_PARTS - 1], end=said[-1].end)
        said = [*said[: MAX_PARTS - 1], last]
    return said if len(said) > 1 else []


def _cuts(text: str) -> Iterator[tuple[int, bool]]:
    """Where a part begins, and whether words for another wish begin it."""
    reached = 0
    for clause in clauses_of(text):
        opened = _OPENS.search(clause.value) is not None
        if clause.start and (opened or _SENTENCE.search(text[reached : clause.start])):
            yield clause.start, opened
        for found in _IN_PASSING.finditer(clause.value):
            if _LEADING.sub("", clause.value[: found.start()]):
                yield clause.start + found.start(), True
        reached = clause.end


def _others_words(before: str) -> bool:
    """True where what comes next isn't said to the desk: somebody said it, or it is a text."""
    return bool(_TOLD.search(before) or _WORKS_ON.search(before) or _TEXT.stops(before))


def _trimmed(text: str, start: int, end: int, opened: bool) -> Clause:
    """The part without what stands between wishes, and with the mark of a question."""
    said = text[start:end]
    start += _LEADING.search(said).end() if opened else len(said) - len(said.lstrip(" ,;:.!、"))
    said = text[start:end]
    return Clause(start, max(start, end - len(_TRAILING.search(said).group())), opened)


def asks_the_desk(text: str, *, opened: bool) -> bool:
    """True where a normalised clause asks whoever is spoken to for something, by its own words.

    One that no words for another wish opened has to be a question that says of what.
    """
    said = text.strip(" ,.!;:")
    if _GRANTED.search(said) or says_nothing(said) or _FOR_ANOTHER.search(said):
        return False
    question = said.endswith("?") or asks(said) or _HOW_OR_WHAT.search(said) is not None
    return question or (opened and _ASKS.search(said) is not None)
