"""What keeps a flow from starting although its words are there.

Someone who asks how leave works, what became of a claim, or wants it called off uses the same
words as someone who wants to begin. These blockers hold for every flow, and stand in the lexicon;
what is peculiar to one flow stands in its file under `unless`. A blocker may have an excuse:
`能帮我请个假吗` is a question in form only.

A flow file may switch one off by its name: `triggers: {without: [question]}`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from router.entities.grammar import compiled
from router.flow.definition import BlockerName
from router.lexicon import EN, ZH, BlockerWords, Words

REASONS: dict[BlockerName, str] = {
    "how-or-what": "asks how or what",
    "question": "asks a question",
    "whether": "asks whether",
    "rules": "asks about the rules",
    "procedure": "asks about the procedure",
    "status": "asks how it stands",
    "change": "takes it back or changes it",
    "negation": "says no to it",
    "past": "tells what has happened",
    "translation": "asks for a translation or a meaning",
    "text": "asks for a text",
    "others": "speaks of someone else",
    "named-person": "names someone else",
    "reference": "refers to a request that is there",
    "topic": "talks about it",
    "quotation": "quotes the words",
}
"""What a message does that is blocked, the first to be told first."""

_NOTHING = BlockerWords()


@dataclass(frozen=True)
class Blocker:
    """One reason not to start a flow: `name` is what flow files call it."""

    name: BlockerName

    @property
    def reason(self) -> str:
        """What the message does."""
        return REASONS[self.name]

    def stops(self, text: str, verbs: tuple[str, ...] = ()) -> bool:
        """True where a normalised text gives this reason, and no excuse.

        What the flow is about is blotted out there, `◆`; `verbs` are what people do who want it.
        """
        signs, excuse = _expressions(self.name, verbs)
        if signs is None or signs.search(text) is None:
            return False
        return excuse is None or excuse.search(text) is None

    def stops_after(self, text: str) -> bool:
        """True where a normalised text, after which a flow's words were found, gives the reason."""
        return self._before is not None and self._before.search(text) is not None

    @cached_property
    def _before(self) -> Any:
        zh, en = _words(self.name)
        both = zh.before + en.before
        return compiled(f"{both}$") if both else None


def _words(name: BlockerName) -> tuple[BlockerWords, BlockerWords]:
    return ZH.blockers.get(name, _NOTHING), EN.blockers.get(name, _NOTHING)


@lru_cache(maxsize=4096)
def _expressions(name: BlockerName, verbs: tuple[str, ...]) -> tuple[Any, Any]:
    """What finds the signs and the excuses, where these verbs mean the flow as well."""
    zh, en = _words(name)
    return _any(zh.signs, en.signs, verbs), _any(zh.excuse, en.excuse, verbs)


def _any(zh: Words, en: Words, verbs: tuple[str, ...]) -> Any:
    """What finds one of them, English words as words of their own."""
    bare = [word for word in en if not word.startswith(("^", "(?:^"))]
    bounded = [rf"(?:\b|◆){Words(bare)}(?:\b|$|◆)"] if bare else []
    done = [verb for verb in verbs if not verb.isascii()]
    meant, does = str(Words(("◆", *done))), str(Words(done or ["◆"]))
    found = [*(word.replace("◆", meant).replace("◇", does) for word in zh), *bounded]
    found += [word for word in en if word not in bare]
    return compiled(str(Words(found))) if found else None


BLOCKERS = tuple(Blocker(name) for name in REASONS)
QUOTATION = Blocker("quotation")
"""What blocks a pattern that stands within quotation marks; nothing to search a message for."""

_QUOTED = compiled('[“"「『《][^”"」』》]{0,60}[”"」』》]')


def blockers_against(text: str, verbs: tuple[str, ...] = ()) -> list[Blocker]:
    """Every blocker that a normalised text runs into, the first to be told first."""
    return [blocker for blocker in BLOCKERS if blocker.stops(text, verbs)]


def blockers_before(text: str) -> list[Blocker]:
    """Every blocker that a normalised text runs into where a flow's words were found after it."""
    return [blocker for blocker in BLOCKERS if blocker.stops_after(text)]


def holding(blockers: Collection[Blocker], without: Collection[BlockerName]) -> str | None:
    """The reason of the first that holds for a flow `without` some; None where none does."""
    return next((each.reason for each in blockers if each.name not in without), None)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where the normalised text stands in quotation marks, half-open."""
    return [match.span() for match in _QUOTED.finditer(text)]
