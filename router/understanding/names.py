"""Flows, tools and slots by what people call them, and sentences that ask for one by themselves.

What people call a slot when they speak of it: `结束日期`, `the amount`, `invoice number`.

Flows by their names: `leave request` and `请假` name one, `我要请假` asks for it.

Sentences that ask for a tool by themselves: `我的请假批了吗`, `withdraw my leave request`.

A tool says which they are (`@tool(…, phrases=(…))`). They are RE2, searched in the normalised
message as flows' patterns are, but no guard overrules them: what they mean must be plain from
the whole message.

Going on with what was put aside: `回到报销`, `continue my leave request`, `接着刚才的请假`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from router.domain.locale import Localised
from router.entities.grammar import compiled, cuts_a_word, group_span
from router.entities.normalisation import Normalised, normalise
from router.flow.definition import Slot
from router.flow.paused import ALL, PausedRun
from router.understanding.reading import PatternHit
from router.understanding.triggers.patterns import Match

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


_AROUND = compiled(
    "^[ \"'“”‘’「」《》]*(?:(?:my|the|this|that)\\b|我?的|[这那](?:个|条|份))?[ \"'“‘「《]*"
    "(?P<name>.+?)[ \"'“”‘’」》.,!。]*$"
)
_KIND = re.compile(r"[a-z]+|[\u4e00-\u9fff]+")
_ANY_KIND = ("申请", "流程", "审批", "办理", "费用", "request", "application", "form", "flow")
"""What any of them may be called besides: it tells no kind."""
_ALSO_CALLED = {
    "请假": (
        "假条",
        "假期",
        "年假",
        "病假",
        "事假",
        "婚假",
        "产假",
        "丧假",
        "休假",
        "调休",
        "补休",
    ),
    "报销": ("费用",),
    "出差": ("差旅",),
    "leave": ("vacation", "pto", "time off", "day off", "holiday"),
    "expense": ("claim", "reimbursement"),
    "reimbursement": ("claim", "expense"),
    "trip": ("travel",),
    "equipment": ("hardware",),
}
"""Other words for what a name's word says: they tell the kind as well as that does."""
_SAYS_NO_KIND = compiled(
    "^(?:申请|流程|审批|单子?|我们?|的|了|那|这|个|条|份|笔|次|上|刚才?|刚刚|最近|已经|提交|交|过"
    "|(?:requests?|applications?|forms?|approvals?|flows?|my|our|the|that|this|one|ones|it|i|for"
    "|on|of|from|in|made|submitted|sent|filed|last|latest|pending|open|just)\\b|[ ,.!'_-])+$"
)
_SHORTEST_WORD = 4
"""Letters of a Latin name's beginning that say which is meant; of a Chinese one, two characters."""


class Named(Protocol):
    """What has a name for files and one for people: a flow, or a run that is put aside."""

    @property
    def flow(self) -> str:
        """The flow's name in files."""

    @property
    def title(self) -> Localised:
        """What people call it."""


def is_only_name(text: str, flow: Named) -> bool:
    """True where a normalised text is nothing but what the flow is called, or how that begins.

    >>> is_only_name("my leave request", leave), is_only_name("我要请假", leave)  # doctest: +SKIP
    (True, False)
    """
    match = _AROUND.search(text)
    said = match.group("name") if match else ""
    if len(said) < (_SHORTEST_WORD if said.isascii() else 2):
        return False
    return any(_names(said, name) for name in _names_of(flow))


def is_named_in(text: str, flow: Named) -> bool:
    """True where a normalised text has a word that says that it is about this kind of thing.

    That is a word of its name, or another that people use for it.

    >>> [is_named_in(said, leave) for said in ("取消我的年假", "my pto", "取消申请")]
    ... # doctest: +SKIP
    [True, True, False]
    """
    return any(_is_said(word, text) for name in _names_of(flow) for word in _KIND.findall(name))


def names_no_kind(text: str) -> bool:
    """True where a normalised text says that it is about a request, and not of which kind.

    >>> names_no_kind("我的申请"), names_no_kind("the one from"), names_no_kind("搬家")
    (True, True, False)
    """
    return _SAYS_NO_KIND.search(text) is not None


def _is_said(word: str, text: str) -> bool:
    if not word.isascii():
        telling = _telling(word)
        return (
            any(said in text for said in _words_of(telling))
            or _telling(text).strip() == telling[-1:]
        )
    if len(word) < _SHORTEST_WORD or word in _ANY_KIND:
        return False
    return any(_has_word(each, text) for each in (word, *_ALSO_CALLED.get(word, ())))


def _words_of(telling: str) -> Iterator[str]:
    """Any two characters of a Chinese name that stand together, and its other words."""
    for place in range(len(telling) - 1):
        pair = telling[place : place + 2]
        yield from (pair, *_ALSO_CALLED.get(pair, ()))


def _telling(name: str) -> str:
    for word in _ANY_KIND:
        name = name.replace(word, "")
    return name


def _has_word(word: str, text: str) -> bool:
    """True where the text has the word, in the singular or in the plural."""
    said = f" {' '.join(_KIND.findall(text))} "
    return f" {word} " in said or f" {word}s " in said


def _names_of(flow: Named) -> Iterator[str]:
    for name in (flow.flow, flow.flow.replace("_", " "), flow.title.zh, flow.title.en):
        yield normalise(name).text


def _names(said: str, name: str) -> bool:
    """True for a whole word of an English name, or any part of a Chinese one."""
    return f" {said} " in f" {name} " if said.isascii() else said in name


@dataclass(frozen=True)
class ToolPhrases:
    """The sentences that ask for one tool; `at_once` where it is then called as it is.

    Any other is started as its form, which asks for what it needs and confirms what it writes.
    """

    tool: str
    title: Localised
    phrases: tuple[str, ...]
    roles: frozenset[str] = frozenset()
    at_once: bool = False


class PhraseIndex:
    """The sentences of a set of tools.

    >>> index = PhraseIndex([ToolPhrases("tea", title, ("^(green|black) tea$",))])  # doctest: +SKIP
    >>> [m.hit.flow for m in index.find(normalise("Green tea"), roles)]  # doctest: +SKIP
    ['tea']
    """

    def __init__(self, tools: Iterable[ToolPhrases] = ()) -> None:
        self.tools = {tool.tool: tool for tool in tools if tool.phrases}
        self._entries: list[tuple[ToolPhrases, str, Any]] = [
            (tool, source, compiled(source))
            for tool in self.tools.values()
            for source in tool.phrases
        ]

    def find(self, text: Normalised, roles: frozenset[str]) -> list[Match]:
        """The first sentence found of each tool that these roles may use.

        A hit names the tool where it names the flow else: a tool's form is called as the tool.
        """
        found: dict[str, Match] = {}
        for tool, source, pattern in self._entries:
            if tool.tool in found or (tool.roles and not tool.roles & roles):
                continue
            if (match := pattern.search(text.text)) is not None:
                found[tool.tool] = _match(tool.tool, source, match, text)
        return list(found.values())


def _match(tool: str, source: str, match: Any, text: Normalised) -> Match:
    start, end = match.span()
    held = (name for name, value in match.groupdict().items() if value is not None)
    hit = PatternHit(flow=tool, pattern=source, span=text.span(start, end))
    return Match(hit, start, end, {name: group_span(match, name) for name in held})


_TAKES_UP = compiled(
    "^(?:嗯|好的?|那|就|先|我们?|咱们?|我?想|我?要|请|可以|[,.! ])*"
    "(?:回到|接着|继续)(?:来)?(?:办理?|填写?|弄|做|说|搞|走)?(?P<zh>.*)$"
    "|^(?:ok|okay|well|so|now|then|please|let'?s|let us|i(?:'d like| want) to|can (?:we|i)"
    "|could we|just|[,.! ])*(?:(?:go|get|come) back to|back to|continue(?: with)?|resume|return to"
    "|carry on(?: with)?|go on(?: with)?|pick up(?: with)?|take up|keep going(?: with)?|finish)"
    "\\b(?P<en>.*)$"
)
_AROUND_RESUMED = compiled(
    "^(?:刚才|刚刚|之前|先前|前面|前几天|昨天|上次|上回|原来|没(?:有)?(?:办|填|弄|做)?完|放着|收起来"
    "|那个|这个|那件|那份|我|的|事|办|填|一下|吧|了|个"
    "|(?:my|the|that|this|our|earlier|previous|unfinished|open|last|old|where (?:we|i) (?:were"
    "|was|left off|stopped)|it|from before|before)\\b|[,.! ])*"
    "(?P<name>.*?)(?:的?(?:那件事|那个|那份|的事|单子)|吧|了|please|pls|again|now|[,.!~ ])*$"
)
_NONE = compiled(
    "^(?:都|全)?(?:先)?(?:不用|不了|不要|不办|放着|不管|等等|以后再说|算了|不急)(?:了|吧|先)?$"
    "|^都(?:不|先不)(?:要|办|用|接着办)?(?:了|吧)?$|^都先放着(?:吧)?$"
    "|^(?:none(?: of (?:these|them|those))?(?:[:,]? leave them)?|neither|no|nope|no thanks?"
    "|leave (?:it|them|those)|not now|later)[.! ]*$"
)
_LONGEST = 60


def what_to_take_up(text: str) -> str | None:
    """What a normalised text wants to go on with: a name, or nothing where it says none.

    None where it doesn't want to go on with anything.

    >>> [what_to_take_up(said) for said in ("接着刚才的请假", "continue", "回答问题")]
    ['请假', '', None]
    """
    found = _TAKES_UP.search(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    said = _AROUND_RESUMED.search((found.group("zh") or found.group("en") or "").strip())
    return str(said.group("name")) if said else ""


def meant(text: str, put_aside: Sequence[PausedRun], *, asked: bool, busy: bool) -> str | None:
    """The run that the text takes up, `ALL` where it leaves all of them; None for neither.

    `asked`: which of them was the question. `busy`: a flow or a skill asks something, so that to
    go on with nothing in particular is to go on with that. Of two with one name the latest.
    """
    if asked and _NONE.search(text):
        return ALL
    name = text if asked and what_to_take_up(text) is None else what_to_take_up(text)
    if name is None or (not name and busy):
        return None
    fits = [one.run for one in put_aside if not name or is_only_name(name, one)]
    return fits[-1] if fits else None


def goes_on_with(text: str, active: Named) -> bool:
    """True where the text wants to go on with what is being talked about."""
    name = what_to_take_up(text)
    return name is not None and (not name or is_only_name(name, active))
