"""What people did with the answers they got, and what that teaches: nothing is changed by it.

Labels are what people chose when they were asked, what they confirmed that was begun for them, what
they called off with their very next word, and what the desk could do nothing with or handed on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from router.domain.messages import FlowStatus, RouteBy, Turn
from router.domain.records import LogEntry, RecordedTurn
from router.extensions.evaluation.dataset import ChoiceReader
from router.retrieval.index import CapabilityIndex

MOST_SHOWN = 5
"""Sentences of each lesson that are shown."""
FEWEST_MISFIRES = 2
"""A form that is called off once may be a change of mind."""
NEAR = 0.35
"""The cosine from which two wishes are of one topic, of vectors without what is common to all. On
the first half of bench/desk_requests.jsonl (15 things, 225 sentences) 0.35 puts 64 % (zh) and 87 %
(en) of them into groups, 87 and 82 % of whose members want the same; 0.5 puts in half as many."""
_FOUND: frozenset[RouteBy] = frozenset({"llm", "retrieval"})
_AGREED: frozenset[FlowStatus] = frozenset({"waiting_approval", "waiting", "running", "completed"})


@dataclass(frozen=True)
class NewExamples:
    """Sentences that meant `capability`, as those who said them chose or confirmed."""

    capability: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Misfire:
    """A flow that patterns began, and how often the next word called it off."""

    flow: str
    called_off: int
    began: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Confusion:
    """`offered` was thought nearest, `meant` was chosen."""

    offered: str
    meant: str
    times: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """Something that is asked for and nothing serves, by the sentence in its middle."""

    name: str
    times: int
    sentences: tuple[str, ...]


@dataclass
class LogLessons:
    """Takes the log's entries, each conversation oldest first, and keeps what they teach."""

    meant: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By capability the sentences that meant it, and how often."""
    unserved: Counter[str] = field(default_factory=Counter)
    """What was said and came to nothing, and how often."""
    _confused: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    _began: Counter[str] = field(default_factory=Counter)
    _called_off: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _choices: ChoiceReader = field(default_factory=ChoiceReader)
    _conversation: str | None = None
    _said: str | None = None
    _last: tuple[str, Turn] | None = None
    """The last typed message and its turn."""
    _begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the id of a run that no rule began: its flow, and what it was begun with."""

    def take(self, entry: LogEntry) -> None:
        """Learn from one more entry."""
        if entry.conversation != self._conversation:
            self._conversation, self._begun = entry.conversation, {}
            self._said = self._last = None
        choice = self._choices.take(entry)
        if entry.kind == "message" and entry.data.get("role") == "user":
            self._said = str(entry.data.get("text", ""))
        if entry.kind != "turn":
            return
        turn = RecordedTurn.model_validate(entry.data).turn
        if choice is not None:
            self._chose(choice.text, choice.label)
        self._went_on(turn)
        self._last = (self._said, turn) if self._said and turn.route.by != "action" else None
        if self._last is not None:
            self._heard(*self._last)

    def _chose(self, text: str, label: str) -> None:
        self.meant[label][text] += 1
        self.unserved.pop(text, None)
        asked = self._last[1].route if self._last else None
        nearest = asked.candidates[0].name if asked and asked.candidates else None
        if nearest is not None and nearest != label:
            self._confused[nearest, label][text] += 1

    def _went_on(self, turn: Turn) -> None:
        """What the turn says of those before it."""
        if self._last is not None:
            text, before = self._last
            off = turn.route.kind == "cancel" and turn.route.target == before.route.target
            if off and before.route.kind == "flow" and before.route.by == "pattern":
                self._called_off[str(before.route.target)][text] += 1
        if turn.flow is not None and turn.flow.status in _AGREED and turn.flow.id in self._begun:
            flow, text = self._begun.pop(turn.flow.id)
            self.meant[flow][text] += 1

    def _heard(self, text: str, turn: Turn) -> None:
        route = turn.route
        if turn.missed or route.kind == "handoff":
            self.unserved[text] += 1
        if route.kind == "flow" and route.by == "pattern":
            self._began[str(route.target)] += 1
        if route.kind == "flow" and route.by in _FOUND and turn.flow is not None:
            self._begun[turn.flow.id] = (str(route.target), text)

    def examples(self, known: Mapping[str, Iterable[str]]) -> Iterator[NewExamples]:
        """For each capability of `known`, by its examples: sentences that it hasn't; most first."""
        for name in sorted(self.meant.keys() & known.keys()):
            has = {_plain(example) for example in known[name]}
            new = dict.fromkeys(text for text, _ in self.meant[name].most_common())
            sentences = tuple(text for text in new if _plain(text) not in has)
            if sentences:
                yield NewExamples(name, sentences)

    def misfires(self) -> list[Misfire]:
        """The flows that were called off at once, the most often first."""
        found = (
            Misfire(flow, said.total(), self._began[flow], _shown(said))
            for flow, said in self._called_off.items()
            if said.total() >= FEWEST_MISFIRES
        )
        return sorted(found, key=lambda one: (-one.called_off, one.flow))

    def confusions(self) -> list[Confusion]:
        """What was taken for what, the most often first."""
        pairs = self._confused.items()
        found = (Confusion(*pair, said.total(), _shown(said)) for pair, said in pairs)
        return sorted(found, key=lambda one: (-one.times, one.offered, one.meant))


async def unserved_topics(said: Counter[str], index: CapabilityIndex, most: int) -> list[Topic]:
    """What the `most` frequent of these ask for, in topics; each by itself without vectors."""
    frequent = dict(said.most_common(most))
    points = await index.points(list(frequent)) if frequent else None
    if points is None:
        return [Topic(text, times, (text,)) for text, times in frequent.items()]
    return topics(frequent, points)


def topics(said: Mapping[str, int], vectors: NDArray[np.floating]) -> list[Topic]:
    """What is asked for and not served, in groups of what is alike; the largest first.

    `vectors` has a row of length one for each text, in their order.
    """
    texts = list(said)
    found = []
    for members in groups(vectors):
        middle = vectors[members].mean(axis=0)
        nearest = sorted(members, key=lambda n: -float(vectors[n] @ middle))
        sentences = tuple(texts[n] for n in nearest[:MOST_SHOWN])
        found.append(Topic(sentences[0], sum(said[texts[n]] for n in members), sentences))
    return sorted(found, key=lambda topic: (-topic.times, topic.name))


def groups(vectors: NDArray[np.floating], near: float = NEAR) -> list[list[int]]:
    """The rows in groups whose members are `near` on average: average linkage, from the bottom.

    Sokal & Michener, "A statistical method for evaluating systematic relationships" (1958).
    """
    members = [[n] for n in range(len(vectors))]
    sums = [vectors[n].astype(np.float64) for n in range(len(vectors))]
    while len(members) > 1:
        means = np.stack([total / len(group) for total, group in zip(sums, members, strict=True)])
        alike = means @ means.T
        np.fill_diagonal(alike, -np.inf)
        one, other = divmod(int(alike.argmax()), len(members))
        if alike[one, other] < near:
            break
        one, other = sorted((one, other))
        members[one] += members.pop(other)
        sums[one] = sums[one] + sums.pop(other)
    return members


def _plain(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _shown(said: Counter[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in said.most_common(MOST_SHOWN))
