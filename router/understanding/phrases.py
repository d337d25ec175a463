"""Sentences that ask for a tool by themselves: `我的请假批了吗`, `withdraw my leave request`.

A tool says which they are (`@tool(…, phrases=(…))`). They are RE2, searched in the normalised
message as flows' patterns are, but no guard overrules them: what they mean must be plain from
the whole message.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from router.domain.texts import Localised
from router.understanding.grammar import compiled, group_span
from router.understanding.normalise import Normalised
from router.understanding.patterns import Match
from router.understanding.reading import PatternHit


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
