"""What a flow that is being written would do to those there are: sentences that go another way."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from pydantic import BaseModel

from router.api.explanation import Reads
from router.domain.locale import Locale
from router.domain.messages import Message
from router.domain.records import LogEntry
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.paused import Situation
from router.understanding.reading import Reading
from router.understanding.triggers.patterns import PatternIndex

MOST_SENTENCES = 6_000
MOST_LOGGED = 2_000
"""Different sentences of the log, those that were said most often."""
MOST_READ = 20_000
"""Entries of the log that are gone through."""
MOST_CHANGED = 200
PATIENCE = 6.0
"""Seconds after which no more sentences are tried."""

SentenceSource = Literal["example", "evaluation", "log"]
"""Where a sentence is known from: a flow's own examples, a file of labelled lines, people."""


@dataclass(frozen=True)
class KnownSentence:
    """Something that people say, or said."""

    text: str
    source: SentenceSource


class ChangedRoute(BaseModel):
    """A known sentence that would go another way."""

    text: str
    before: str | None
    """What takes it now: the name of a flow or tool, or the kind of the answer; null where no rule
    does, so that a model is asked or the nearest is offered."""
    after: str | None
    source: SentenceSource


class Impact(BaseModel):
    """How many sentences were tried with and without the draft, and those that it changes."""

    checked: int
    known: int
    """How many there are; more than `checked` where the time was up."""
    changed: list[ChangedRoute]


@dataclass(frozen=True)
class BothReaders:
    """The rules as they are, and as they would be."""

    before: Reads
    after: Reads
    versions: tuple[FlowDefinition, ...]
    """The flow as it is, where it is there, and as it would be."""
    roles: frozenset[str]
    """Those of whoever says the sentences: everything that a flow may want."""

    @cached_property
    def _found(self) -> list[PatternIndex]:
        return [PatternIndex([flow]) for flow in self.versions]

    @cached_property
    def _names(self) -> frozenset[str]:
        titles = (text for flow in self.versions for text in (flow.title.zh, flow.title.en))
        names = (name for flow in self.versions for name in (*flow.names, *flow.verbs))
        return frozenset(name.casefold() for name in (*titles, *names))

    def may_differ(self, text: str) -> bool:
        """False where neither version finds anything of its own in the text: it is quickly told."""
        said = normalise(text)
        if any(index.find(said, self.roles) for index in self._found):
            return True
        plain = text.casefold()
        return any(name in plain for name in self._names)

    def routes(self, text: str, now: datetime, locale: Locale) -> tuple[str | None, str | None]:
        """What takes the text now, and what would."""
        situation = Situation(now=now, locale=locale, roles=self.roles)
        message = Message(text=text)
        before, after = (
            _taken_by(each.read(message, situation)) for each in (self.before, self.after)
        )
        return before, after


def _taken_by(reading: Reading) -> str | None:
    route = reading.route
    return None if route is None else route.target or route.kind


def impact_of(
    readers: BothReaders,
    sentences: Sequence[KnownSentence],
    now: datetime,
    locale: Locale,
) -> Impact:
    """Which of the sentences go another way; takes up to `PATIENCE`."""
    if len(set(map(FlowDefinition.model_dump_json, readers.versions))) < len(readers.versions):
        return Impact(checked=len(sentences), known=len(sentences), changed=[])
    until = time.monotonic() + PATIENCE
    checked, changed = 0, list[ChangedRoute]()
    for sentence in sentences:
        if time.monotonic() > until or len(changed) >= MOST_CHANGED:
            break
        checked += 1
        if not readers.may_differ(sentence.text):
            continue
        before, after = readers.routes(sentence.text, now, locale)
        if before != after:
            route = ChangedRoute(
                text=sentence.text, before=before, after=after, source=sentence.source
            )
            changed.append(route)
    return Impact(checked=checked, known=len(sentences), changed=changed)


def sentences_of(
    flows: Iterable[FlowDefinition], labelled: Iterable[str], logged: Iterable[str]
) -> list[KnownSentence]:
    """The sentences to be tried, each once: flows' examples, what people said, labelled lines."""
    found: dict[str, KnownSentence] = {}
    examples = (example for flow in flows for example in flow.triggers.examples)
    sources: dict[SentenceSource, Iterable[str]] = {
        "example": examples,
        "log": logged,
        "evaluation": labelled,
    }
    for source, texts in sources.items():
        for text in texts:
            found.setdefault(text, KnownSentence(text, source))
    return list(found.values())[:MOST_SENTENCES]


async def said_lately(entries: AsyncIterator[LogEntry]) -> Sequence[str]:
    """What people said most often, of the log's entries."""
    said: Counter[str] = Counter()
    read = 0
    async for entry in entries:
        said.update(_words(entry))
        read += 1
        if read >= MOST_READ:
            break
    return [text for text, _ in said.most_common(MOST_LOGGED)]


def _words(entry: LogEntry) -> Iterator[str]:
    if entry.kind == "message" and entry.data.get("role") == "user":
        text = str(entry.data.get("text") or "").strip()
        if text:
            yield text
