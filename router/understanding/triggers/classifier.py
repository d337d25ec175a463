"""Whether a message asks for what it names, or only speaks of it.

The blockers stand in the lexicon, with what excuses each, and hold for every flow; a flow's file
switches one off by its name, `triggers: {without: [question]}`. What is left of a sentence when its
topic is blotted out is weighed by a logistic regression over labelled messages (`bench/asking.py`).
"""

import gzip
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import islice
from math import exp, sqrt
from typing import Any

from router.entities.grammar import MOST_FOUND, Span, compiled
from router.flow.definition import BlockerName
from router.lexicon import EN, ZH, BlockerWords, Words
from router.understanding.slots.free_text import without_cause

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
        zh, en = (of.blockers.get(self.name, _NOTHING) for of in (ZH, EN))
        both = zh.before + en.before
        return compiled(f"{both}$") if both else None


@lru_cache(maxsize=4096)
def _expressions(name: BlockerName, verbs: tuple[str, ...]) -> tuple[Any, Any]:
    """What finds the signs and the excuses, where these verbs mean the flow as well."""
    zh, en = (of.blockers.get(name, _NOTHING) for of in (ZH, EN))
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


def holding(blockers: Collection[Blocker], without: Collection[BlockerName]) -> str | None:
    """The reason of the first that holds for a flow `without` some; None where none does."""
    return next((each.reason for each in blockers if each.name not in without), None)


BLOT = "◆"
"""What stands where the topic stood."""

WEIGHTS = "asking.json.gz"

_LONGEST = 400
"""Characters of a message that are looked at: who asks does so before then."""

_TRAILING = re.compile(r"[!.~\s]+$")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(rf"[a-z']+|[{BLOT}^$?]")
_CHARACTERS, _WORDS = 4, 3


def blotted(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A normalised text with the spans blotted out, touching ones as one: `我要◆`."""
    pieces: list[str] = []
    reached = 0
    for start, end in sorted(spans):
        if start > reached or not pieces:
            pieces.append(text[reached:start])
        reached = max(reached, end)
    return BLOT.join([*pieces, text[reached:]])


def pieces(text: str) -> set[str]:
    """Runs of up to four characters and three words of a blotted text, whatever its numbers are."""
    plain = _NUMBER.sub("0", f"^{_TRAILING.sub('', text[:_LONGEST])}$")
    found = {
        plain[at : at + length]
        for length in range(1, _CHARACTERS + 1)
        for at in range(len(plain) - length + 1)
    }
    words = _WORD.findall(plain)
    return found | {
        " ".join(["", *words[at : at + length]])
        for length in range(1, _WORDS + 1)
        for at in range(len(words) - length + 1)
    }


@dataclass(frozen=True)
class RequestClassifier:
    """Weights by piece, and what is added to their sum."""

    weights: Mapping[str, float]
    bias: float

    def likelihood(self, text: str) -> float:
        """How likely a blotted text asks for what is blotted out, from 0 to 1."""
        known = [self.weights[piece] for piece in pieces(text) if piece in self.weights]
        return 1 / (1 + exp(-self.bias - sum(known) / sqrt(len(known) or 1)))


@cache
def learned() -> RequestClassifier:
    """What was learned, read once: some ten milliseconds."""
    packed = files("router.understanding").joinpath(WEIGHTS).read_bytes()
    held = json.loads(gzip.decompress(packed))
    return RequestClassifier(held["weights"], held["bias"])


LIKELY, SURE, UNLIKELY = 0.8, 0.9, 0.2
"""How likely a message must ask for a topic that it names to start its flow; the same where a guard
speaks against it; and what starts nothing, whatever its patterns. All are measured on sentences
that neither patterns nor weights have seen, by `bench/understanding.py`.
"""

UNASKED = "speaks of it without asking for it"
"""The objection to a message that names a topic and is no request."""

_ALWAYS = frozenset({"translation"})
"""Guards that nothing outweighs: what is to be translated is a request of somebody else."""


def objection(text: str) -> str | None:
    """Why a normalised message asks for nothing to be begun; None where no guard says so."""
    said = without_cause(text)
    return holding([each for each in BLOCKERS if each.stops(said)], ())


def spans_of(expressions: Iterable[Any], text: str) -> list[Span]:
    """Where these are found in a text."""
    return [m.span() for each in expressions for m in islice(each.finditer(text), MOST_FOUND)]


@dataclass(frozen=True)
class About:
    """A text with what a flow is about blotted out, and what people do who want it."""

    text: str
    verbs: tuple[str, ...] = ()


class Objections:
    """Of one normalised text; each is found out once, and only where something was found."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quoted = [match.span() for match in _QUOTED.finditer(text)]
        self._found: dict[About, list[Blocker]] = {}

    def asking(self, topics: Iterable[Any]) -> float | None:
        """How likely the text asks for what these expressions name; None where it names none."""
        named = spans_of(topics, self._text)
        return learned().likelihood(blotted(self._text, named)) if named else None

    def to_pattern(
        self, span: Span, without: Collection[BlockerName], asking: float | None, about: About
    ) -> str | None:
        """Why the pattern found there starts nothing; `about` is what is said besides."""
        before = [each for each in BLOCKERS if each.stops_after(self._text[: span[0]])]
        return (
            self._quotation(span, without)
            or holding(self._blockers(about), without)
            or holding(before, without)
            or (UNASKED if asking is not None and asking < UNLIKELY else None)
        )

    def to_topic(
        self, span: Span, without: Collection[BlockerName], asking: float | None, about: About
    ) -> str | None:
        """Why the topic found there starts nothing, in words; None where it does."""
        if asking is None or asking < LIKELY:
            return UNASKED
        blockers = self._blockers(about)
        if asking >= SURE:
            blockers = [each for each in blockers if each.name in _ALWAYS]
        return self._quotation(span, without) or holding(blockers, without)

    def _quotation(self, span: Span, without: Collection[BlockerName]) -> str | None:
        inside = any(first < span[0] and span[1] < last for first, last in self._quoted)
        return holding([QUOTATION], without) if inside else None

    def _blockers(self, about: About) -> list[Blocker]:
        if about not in self._found:
            text = without_cause(about.text)
            self._found[about] = [each for each in BLOCKERS if each.stops(text, about.verbs)]
        return self._found[about]
