"""Flows by their names: `leave request` and `请假` name one, `我要请假` asks for it."""

import re
from collections.abc import Iterator
from typing import Protocol

from router.domain.texts import Localised
from router.understanding.grammar import compiled
from router.understanding.normalise import normalise

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
