"""Flows by their names: `leave request` and `请假` name one, `我要请假` asks for it."""

import re
from collections.abc import Iterator
from typing import Protocol

from router.domain.texts import Localised
from router.flow.model import FlowDefinition
from router.understanding.grammar import compiled
from router.understanding.normalise import normalise

_AROUND = compiled(
    "^[ \"'“”‘’「」《》]*(?:(?:my|the|this|that)\\b|我?的|[这那](?:个|条|份))?[ \"'“‘「《]*"
    "(?P<name>.+?)[ \"'“”‘’」》.,!。]*$"
)
_KIND = re.compile(r"[a-z]+|[\u4e00-\u9fff]+")
_ANY_KIND = ("申请", "流程", "审批", "办理", "费用", "request", "application", "form", "flow")
"""What any of them may be called besides: it tells no kind."""
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


def is_named_in(text: str, flow: FlowDefinition) -> bool:
    """True where a normalised text has a word of the flow's name in it that says what kind it is.

    >>> is_named_in("取消我的请假", leave), is_named_in("取消申请", leave)  # doctest: +SKIP
    (True, False)
    """
    return any(_is_said(word, text) for name in _names_of(flow) for word in _KIND.findall(name))


def _is_said(word: str, text: str) -> bool:
    if not word.isascii():
        telling = _telling(word)
        return any(telling[n : n + 2] in text for n in range(len(telling) - 1))
    return len(word) >= _SHORTEST_WORD and word not in _ANY_KIND and _has_word(word, text)


def _telling(name: str) -> str:
    for word in _ANY_KIND:
        name = name.replace(word, "")
    return name


def _has_word(word: str, text: str) -> bool:
    return f" {word} " in f" {' '.join(_KIND.findall(text))} "


def _names_of(flow: Named) -> Iterator[str]:
    for name in (flow.flow, flow.flow.replace("_", " "), flow.title.zh, flow.title.en):
        yield normalise(name).text


def _names(said: str, name: str) -> bool:
    """True for a whole word of an English name, or any part of a Chinese one."""
    return f" {said} " in f" {name} " if said.isascii() else said in name
