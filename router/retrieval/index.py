"""The index of capabilities: which of them may a message be for?

    index = CapabilityIndex(local_encoder("embedded"), VectorFile(folder / "vectors.db"))
    await index.update(capabilities)
    found = await index.select("我还有几天年假", allowed=principal.may)

Words are matched against everything that a card says at once. Vectors are made of one passage per
language, as a vector of both languages is close to neither, and of one more that tells of
parameters: some requests name what a tool does, others what it is to be done to. What has no
examples and is told of in Chinese alone has one of its identifier too, for requests in English.

Scores, in standard deviations, are added up, which measures better than adding ranks. Words weigh
as much as they can be trusted: less beside examples than beside a card alone, less in English than
in Chinese, and nothing in a language that no card is written in.
"""

import asyncio
import logging
import math
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from router.domain.errors import RouterError
from router.domain.locale import LOCALES
from router.domain.principals import Capability, CapabilityKind, TenantScoped
from router.isolation.text_work import run_on_text
from router.retrieval.dense import Dense, DenseIndex
from router.retrieval.encoders import Encoder, Floats, Vectors
from router.retrieval.lexical import Lexical, LexicalIndex, terms
from router.retrieval.selection import (
    RetrievedCandidate,
    Selection,
    Signs,
    Thresholds,
    verdict,
    within_budget,
)
from router.retrieval.statistics import encoded_background, standardised
from router.retrieval.vector_cache import (
    RecentVectors,
    RememberedEncoder,
    VectorMemory,
    remembering,
)

LONGEST = 1200
"""Characters of a passage: about what the embedded model reads at once (512 tokens)."""
LONGEST_DETAILED = 600
"""Of one that tells of parameters: half the time of the longest, and the first few parameters are
what requests name."""
MOSTLY = 0.5
"""The share of a text that is Chinese, above which it counts as Chinese."""
_DEEPEST = 3
_TEXTS = ("title", "description")
_GAP = re.compile(r"[_\s]+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class CapabilityCard:
    """A capability's searchable texts; two equal cards are found by the same requests."""

    words: tuple[str, ...]
    """Tokens of name, titles, descriptions, examples and parameters."""
    passages: tuple[str, ...]
    """Title and description, once in each language that they differ in."""
    details: tuple[str, ...]
    """The same, followed by parameters; empty where there are none."""
    examples: tuple[str, ...]
    """Requests that are for this capability."""
    names: tuple[str, ...]
    """Its identifier as words, where that alone is in another language than Chinese."""


def card(capability: Capability) -> CapabilityCard:
    """The card of a capability."""
    titles = {locale: capability.title.within(locale) for locale in LOCALES}
    said = (
        f"{title or spoken(capability.name)}: {capability.description.within(locale)}"[:LONGEST]
        for locale, title in titles.items()
    )
    passages = tuple(dict.fromkeys(said))
    parameters = list(_of_schema(capability.parameters))
    told = "; ".join(map(spoken, parameters))
    texts = [capability.name, *passages, *capability.examples, *parameters]
    return CapabilityCard(
        # Ten thousand cards have most of their terms in common.
        words=tuple(sys.intern(term) for text in texts for term in terms(text)),
        passages=passages,
        details=tuple(f"{one} {told}"[:LONGEST_DETAILED] for one in passages if told),
        examples=tuple(dict.fromkeys(capability.examples)),
        names=() if capability.examples else _foreign(spoken(capability.name), passages),
    )


def _foreign(name: str, passages: Sequence[str]) -> tuple[str, ...]:
    chinese = all(chinese_share(text) > MOSTLY for text in passages)
    return (name,) if chinese and chinese_share(name) < MOSTLY else ()


def spoken(name: str) -> str:
    """An identifier as words."""
    return _GAP.sub(" ", name).strip()


def _of_schema(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """Names and descriptions of parameters, nested ones too, and the values to choose from."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield from (text for key in _TEXTS if depth and isinstance(text := schema.get(key), str))
    choices = schema.get("enum")
    yield from (text for text in _listed(choices) if isinstance(text, str))
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield name
        yield from _of_schema(inner, depth + 1)
    for inner in (schema.get("items"), *_listed(schema.get("anyOf"))):
        yield from _of_schema(inner, depth + 1)


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


RoleNames = frozenset[str]

NOBODY = -1
"""In place of a set of roles: the slot is empty."""


class Shelf:
    """Slots are small integers from 0 on; one that falls free is given out again."""

    def __init__(self) -> None:
        self.cards: dict[int, CapabilityCard] = {}
        """By slot, what was last indexed of it."""

        self._capabilities: list[Capability | None] = []
        self._slots: dict[tuple[str, str], int] = {}
        self._free: list[int] = []
        self._roles: dict[RoleNames, int] = {}
        self._role_numbers = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._capabilities)

    def put(self, capability: Capability) -> tuple[int, Capability | None]:
        """The slot it is in now, and the capability that was there under its name."""
        key = (capability.kind, capability.name)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._free.pop() if self._free else len(self._capabilities)
            self._slots[key] = slot
        if slot == len(self._capabilities):
            self._capabilities.append(None)
            if slot == len(self._role_numbers):
                room = np.full(slot + 2, NOBODY, np.int32)
                self._role_numbers = np.concatenate([self._role_numbers, room])
        before, self._capabilities[slot] = self._capabilities[slot], capability
        number = self._roles.setdefault(capability.roles, len(self._roles))
        self._role_numbers[slot] = number
        return slot, before

    def drop(self, slot: int) -> None:
        """Take the capability out of its slot."""
        capability = self.at(slot)
        del self._slots[(capability.kind, capability.name)], self.cards[slot]
        self._capabilities[slot] = None
        self._role_numbers[slot] = NOBODY
        self._free.append(slot)

    def at(self, slot: int) -> Capability:
        """The capability in a slot that isn't empty."""
        found = self._capabilities[slot]
        if found is None:
            raise LookupError(f"slot {slot} is empty")
        return found

    def slot(self, capability: Capability) -> int:
        """The slot that a capability is in."""
        return self._slots[(capability.kind, capability.name)]

    def slots(self) -> list[tuple[tuple[str, str], int]]:
        """Kind and name of every capability, and its slot."""
        return list(self._slots.items())

    def named(self, names: Collection[str]) -> list[int]:
        """The slots of the capabilities of these names, whatever their kind."""
        keys = [(kind, name) for name in dict.fromkeys(names) for kind in get_args(CapabilityKind)]
        return [self._slots[key] for key in keys if key in self._slots]

    def allowed(
        self, allowed: Callable[[RoleNames], bool], among: Collection[str] | None
    ) -> NDArray[np.bool_]:
        """By slot, whether there is a capability of allowed roles and, if given, names.

        Asked once for each set of roles there is: thousands of capabilities have a handful.
        """
        passing = [number for roles, number in self._roles.items() if allowed(roles)]
        may = np.isin(self._role_numbers[: len(self._capabilities)], passing)
        if among is not None:
            named = np.zeros_like(may)
            named[self.named(among)] = True
            may &= named
        return may


BESIDE_EXAMPLES, BESIDE_CARDS = (0.08, 0.12), (0.3, 0.5)
"""What words weigh in the sum where the index knows all of the message: in English, and in Chinese.
By development rows. English: with examples more than 0.1 costs ToolE's first place a point; with
cards alone 0.3 finds 1.5 points more of ToolE's among the first five than 0.15. Chinese: with
examples 0.12 finds 0.7 points more of a desk's among the first five than 0.08, more loses the first
place; with cards alone 0.5 finds one more of a hundred first than 0.3, and as many as 0.6."""
BESIDE_NAMES = 0.25
"""What an identifier's cosine weighs beside that of a card which is in Chinese, where the message
is in English; where it is in Chinese nothing. By development rows: 5.0 points more of English
requests have their tool first, and 1.9 more among the first five; 0.15 and 0.35 do alike."""
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTERS = re.compile(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True)
class Fused:
    """What words and vectors say together."""

    scores: NDArray[np.float32]
    """By slot, in standard deviations from what is usual."""
    known: float
    """The probability that the message is for any of those allowed, 0 to 1."""
    needs_tool: float
    """The probability that it takes a tool; 1 where only words are known."""


def chinese_share(text: str) -> float:
    """How much of a text is Chinese, 0 to 1: of its characters and the words of other scripts.

    >>> chinese_share("查一下 DNS 解析")
    0.8333333333333334
    """
    han, words = len(_HAN.findall(text)), len(_LETTERS.findall(text))
    return han / max(han + words, 1)


def fused(
    text: str,
    words: Lexical,
    vectors: Dense | None,
    may: NDArray[np.bool_],
    encoded: NDArray[np.bool_],
) -> Fused:
    """What is to be thought of the message `text`, given how its words and its vector fit.

    Args:
        text: The message.
        words: How well cards fit by their words.
        vectors: How well they fit by their vectors; None where there are none.
        may: By slot, what may be chosen.
        encoded: By slot, whose vectors can be compared with the message's.
    """
    lexical = standardised(words.scores, may)
    covered = float(words.covered[may & ~encoded].max(initial=0))
    if vectors is None:
        return Fused(lexical, covered, 1.0)
    chinese = chinese_share(text)
    share = np.float32(words.known) * _shares(chinese, vectors.exemplified)
    called = np.where(vectors.named, np.float32(BESIDE_NAMES * (1 - chinese)), np.float32(0))
    near = (1 - called) * vectors.scores + called * vectors.names
    scores = np.where(encoded, share * lexical + (1 - share) * near, lexical)
    return Fused(scores, max(vectors.known, covered), vectors.needs_tool)


def _shares(chinese: float, exemplified: NDArray[np.bool_]) -> NDArray[np.float32]:
    beside_examples, beside_cards = (
        np.float32((1 - chinese) * english + chinese * other)
        for english, other in (BESIDE_EXAMPLES, BESIDE_CARDS)
    )
    return np.where(exemplified, beside_examples, beside_cards)


TOKENS, MOST = 2500, 12
"""What a selection may take of a prompt, and how many it may be, unless the caller says."""
HEAD, TAIL = 600, 400
"""Characters of a long message that are encoded: what is wanted stands first or last, and the
time that a model takes grows with the length."""
LEXICAL_ONLY = "lexical only"

_log = logging.getLogger(__name__)


def everyone_may(_: RoleNames) -> bool:
    """The permission filter that lets everybody use everything."""
    return True


@dataclass(frozen=True)
class IndexChanges:
    """What an update came to, in capabilities."""

    added: int
    changed: int
    removed: int


class CapabilityIndex(TenantScoped):
    """Flows, skills and tools, searchable. One instance serves one event loop.

    The failure of an `encoder` costs the vectors, never the search; without one words alone are
    searched. Vectors of cards and examples are kept in `memory` for the next start, those of
    messages in this process alone, and only the latest. Verdicts part at `thresholds`.
    """

    def __init__(
        self,
        encoder: Encoder | None,
        memory: VectorMemory | None = None,
        thresholds: Thresholds | None = None,
        messages: RememberedEncoder | None = None,
    ) -> None:
        """`messages` is what remembers the latest, where another index has that already."""
        self._encoder = encoder
        remembered = RememberedEncoder(encoder, RecentVectors()) if encoder else None
        self._messages = messages or remembered
        self._cards = remembering(encoder, memory) if encoder else None
        self._memory = memory
        self._thresholds = thresholds or Thresholds()
        self._lexical = LexicalIndex()
        self._dense: DenseIndex | None = None
        self._shelf = Shelf()
        self._unencoded: set[int] = set()
        self._updating = asyncio.Lock()
        self._trouble: str | None = None

    def beside(self) -> "CapabilityIndex":
        """Another that knows nothing yet, and encodes as this one does."""
        return CapabilityIndex(self._encoder, self._memory, self._thresholds, self._messages)

    @property
    def messages(self) -> Encoder | None:
        """What encodes messages, and remembers the latest; None where words alone are searched."""
        return self._messages

    @property
    def trouble(self) -> str | None:
        """Why the encoder failed when it was last asked; None where it didn't."""
        return self._trouble

    async def points(self, texts: Sequence[str]) -> Floats | None:
        """What messages mean, rows of length one, less what all messages have in common.

        Between two of them a dot product says how alike they are. None where they can't be
        encoded just now, or words alone are searched.
        """
        if self._dense is None or self._messages is None:
            return None
        try:
            apart = self._dense.points(await self._messages.queries(texts))
        except RouterError as error:
            _log.warning("messages can't be encoded: %s", error)
            return None
        lengths = np.linalg.norm(apart, axis=1, keepdims=True)
        return np.asarray(apart / np.maximum(lengths, 1e-12))

    async def update(self, capabilities: Iterable[Capability]) -> IndexChanges:
        """Let the index hold exactly these, less those that no model may choose.

        Only what is new or reads differently is encoded. Where the encoder fails, words are
        searched alone until an update succeeds; call again to try again.
        """
        async with self._updating:
            wanted = {(c.kind, c.name): c for c in capabilities if c.by_model}
            removed = [slot for key, slot in self._shelf.slots() if key not in wanted]
            for slot in removed:
                self._shelf.drop(slot)
                self._lexical.remove(slot)
                self._unencoded.discard(slot)
                if self._dense is not None:
                    self._dense.remove(slot)
            added = changed = 0
            for capability in wanted.values():
                slot, before = self._shelf.put(capability)
                if capability == before:
                    continue
                now = card(capability)
                added += before is None
                if now != self._shelf.cards.get(slot):
                    changed += before is not None
                    self._shelf.cards[slot] = now
                    self._lexical.put(slot, now.words)
                    self._unencoded.add(slot)
            if self._dense is not None:
                self._dense.make_room(len(self._shelf))
            await self._encode_missing()
            return IndexChanges(added, changed, len(removed))

    async def select(
        self,
        text: str,
        *,
        allowed: Callable[[RoleNames], bool] = everyone_may,
        among: Collection[str] | None = None,
        always: Collection[str] = (),
        budget: int | None = TOKENS,
        most: int = MOST,
    ) -> Selection:
        """The capabilities that `text` may be for, best first.

        Args:
            text: A person's message.
            allowed: Whether the caller may use what these roles may, such as `Principal.may`;
                nothing else is searched or counted.
            among: Names of the only capabilities to look among, such as a skill's tools.
            always: Names of capabilities that are in the result whatever the message says,
                such as the active flow's. They keep their place in the order.
            budget: Tokens of a prompt that the result may take (`router.retrieval.selection`),
                None without end.
            most: How many it may be, those of `always` included.
        """
        searched = await run_on_text(text, terms, text)
        vector, notes = await self._message_vector(text)
        # From here on nothing waits: an update in between could put another capability, which
        # the caller may not use, where an allowed one was.
        may = self._shelf.allowed(allowed, among)
        words = self._lexical.search(searched, len(may))
        # Whose vectors can be compared with the message's.
        encoded = np.full(len(may), vector is not None)
        encoded[list(self._unencoded)] = False
        vectors = None
        if self._dense is not None and vector is not None:
            vectors = self._dense.search(vector, may & encoded)
        found = fused(text, words, vectors, may, encoded)
        scores, known = found.scores, found.known
        # The slots of the `count` highest scores, the highest first.
        count = max(most * 4, 50)
        slots = np.flatnonzero(may)
        if len(slots) > count:
            slots = slots[np.argpartition(-scores[slots], count)[:count]]
        order = slots[np.argsort(-scores[slots], kind="stable")]
        ahead = scores[order][0] - scores[order][1] if len(order) > 1 else math.inf
        first = int(order[0]) if len(order) else None
        by_card = first is not None and bool(
            encoded[first] and not self._shelf.cards[first].examples
        )
        signs = Signs(known, found.needs_tool, float(ahead), by_card, by_words=vectors is None)
        ranked = [self._shelf.at(int(slot)) for slot in order]
        kept = [self._shelf.at(slot) for slot in self._shelf.named(always) if may[slot]]
        others = [capability for capability in ranked if capability not in kept]
        chosen = within_budget([*kept, *others], budget, max(most, len(kept)))
        scored = [(float(scores[self._shelf.slot(one)]), one) for one in chosen]
        best = max((score for score, _ in scored), default=0.0)
        candidates = tuple(
            RetrievedCandidate(
                one, round(known * math.exp(score - best), 4), self._example(one, vector)
            )
            for score, one in sorted(scored, key=lambda pair: -pair[0])
        )
        judged = verdict(signs, self._thresholds)
        return Selection(candidates, judged, signs, notes, self._thresholds)

    def _example(self, capability: Capability, vector: Vectors | None) -> str:
        slot = self._shelf.slot(capability)
        examples = self._shelf.cards[slot].examples
        nearest = None
        if self._dense is not None and vector is not None and slot not in self._unencoded:
            nearest = self._dense.nearest_example(slot, vector)
        return examples[nearest or 0] if examples else ""

    async def _encode_missing(self) -> None:
        if self._cards is None:
            return
        try:
            if self._dense is None:
                dense = DenseIndex(await encoded_background(self._cards))
                # Before anybody else can search it: what follows waits for a file.
                dense.make_room(len(self._shelf))
                self._dense = dense
                if self._memory is not None:
                    # It is to be there though it may stay empty: by it others see what is learnt.
                    await asyncio.to_thread(self._memory.keep, {})
            slots = sorted(self._unencoded)
            cards = [self._shelf.cards[slot] for slot in slots]
            passages = await _by_card(self._cards.documents, [one.passages for one in cards])
            details = await _by_card(self._cards.documents, [one.details for one in cards])
            names = await _by_card(self._cards.documents, [one.names for one in cards])
            examples = await _by_card(self._cards.queries, [one.examples for one in cards])
            for slot, *own in zip(slots, passages, details, names, examples, strict=True):
                self._dense.put(slot, *own)
        except RouterError as error:
            _log.warning("capabilities can't be encoded, words alone are searched: %s", error)
            self._trouble = str(error)
            return
        self._trouble = None
        self._unencoded.clear()
        if self._dense.stale:
            await asyncio.to_thread(self._dense.settle)

    async def _message_vector(self, text: str) -> tuple[Vectors | None, tuple[str, ...]]:
        if self._dense is None or self._messages is None:
            return None, (f"{LEXICAL_ONLY}: capabilities aren't encoded",)
        try:
            short = text if len(text) <= HEAD + TAIL else f"{text[:HEAD]} … {text[-TAIL:]}"
            vector: Vectors = (await self._messages.queries([short]))[0]
        except RouterError as error:
            _log.warning("a message can't be encoded, words alone are searched: %s", error)
            self._trouble = str(error)
            return None, (f"{LEXICAL_ONLY}: the encoder failed",)
        self._trouble = None
        if not vector.any():  # set aside: nearness to nothing says nothing
            return None, (f"{LEXICAL_ONLY}: the message can't be encoded",)
        waiting = len(self._unencoded)
        return vector, (f"{LEXICAL_ONLY} for {waiting} that aren't encoded yet",) * bool(waiting)


async def _by_card(
    encode: Callable[[Sequence[str]], Awaitable[Vectors]], texts: Sequence[Sequence[str]]
) -> list[Vectors]:
    """The vectors of each card's texts, all encoded at once."""
    rows = await encode([text for own in texts for text in own])
    return np.split(rows, np.cumsum([len(own) for own in texts])[:-1]) if texts else []
