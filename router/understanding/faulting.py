"""Saying that something is wrong without saying what is right: `日期错了`, `the reason`."""

from collections.abc import Iterator

from router.flow.changing import CHANGE
from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.grammar import compiled
from router.understanding.normalise import normalise
from router.understanding.slot_names import words_of

_WRONG = (
    "(?:[写填说弄搞选打]?错(?:了|的)?|不对|不太对|有误|有问题|有错|不是这个|(?:我)?(?:想|要"
    "|需要)?改(?:一?下)?"
    r"|\b(?:wrong|incorrect|not (?:right|correct|ok|okay)|(?:is|are)n'?t (?:right|correct)|mistaken"
    r"|off|change|fix|correct|edit|update)\b)"
)
_AROUND = (
    r"(?:\b(?:no|not|but|please|the|my|is|are|was|were|i|want|need|would|like|to|'d|there'?s|a|in"
    r"|it'?s|that'?s|got|have|has|mistake)\b|不|不是|但是?|我|把|的|是|了|吧|呢|啊|请|想|要|里"
    r"|这个|那个|[ ,.!~])"
)
_IS_WRONG = compiled(f"^(?:{_AROUND}|{_WRONG})*$")
_SAYS_WRONG = compiled(f"^{_AROUND}*{_WRONG}{_AROUND}*$")
_SUPPLIED = (
    "(?:补充|补上|补交|补|加上|添加|添上|加|上传|附上|传|填上|填|提供|有|一个|一份|一张|一下"
    r"|\b(?:add|attach|upload|supply|provide|fill in|give|an?|one|now)\b)"
)
_IS_SUPPLIED = compiled(f"^(?:{_AROUND}|{_WRONG}|{_SUPPLIED})*$")
_DAYS = ("日期", "时间", "dates", "date", "days", "day")


def is_fault(text: str) -> bool:
    """True where a normalised text only says that something is wrong: `写错了`, `is wrong`."""
    return _SAYS_WRONG.search(text) is not None


def faulted(view: FlowView, text: str) -> dict[str, str] | None:
    """The question of what to change, answered: the slot of which the text says nothing else.

    Of one that was left empty it may be said that it is to be supplied: `上传附件`.

    >>> faulted(view, "日期错了")  # doctest: +SKIP
    {'change': 'start'}
    """
    named = {
        name: max(len(word) for word in found)
        for name, words in _changeable(view)
        if (found := [w for w in words if w in text and _about(view, name, _less(text, w))])
    }
    longest = max(named.values(), default=0)
    meant = [name for name, length in named.items() if length == longest]
    return {CHANGE: meant[0]} if len(meant) == 1 else None


def _changeable(view: FlowView) -> Iterator[tuple[str, list[str]]]:
    """The slots that can be changed or supplied, with what people call them.

    Where a list has a single item, nobody has to say whose field is meant.
    """
    for name, slot in view.fillable.items():
        known = view.slots.get(name)
        supplied = slot.skippable and slot.ask is not None
        if not supplied and (known is None or not (slot.ask or slot.of)):
            continue
        yield name, [*words_of(name, slot), *_days(slot)]
        if slot.of is not None and isinstance(known, list) and len(known) == 1:
            fields = slot.of.fields.items()
            yield from ((f"{name}.0.{field}", words_of(field, of)) for field, of in fields)


def _about(view: FlowView, name: str, rest: str) -> bool:
    """True where what is said besides the slot's name is only that it is wrong, or to be given."""
    pattern = _IS_SUPPLIED if view.slots.get(name) is None else _IS_WRONG
    return pattern.search(rest) is not None


def _days(slot: Slot) -> list[str]:
    """What names a range as a whole, which begins anew with its start."""
    return [normalise(word).text for word in _DAYS] if slot.part_of_range == "start" else []


def _less(text: str, word: str) -> str:
    return text.replace(word, " ", 1)
