"""The index of capabilities: which of them may a message be for?

    index = CapabilityIndex(local_encoder("embedded"), VectorFile(folder / "vectors.db"))
    await index.update(capabilities)
    found = await index.select("我还有几天年假", allowed=lambda c: principal.may(c.roles))

Words and vectors are searched side by side and their scores, in standard deviations, added
up. Adding ranks instead (reciprocal rank fusion) throws away how far ahead the first is, and
measured worse.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.domain.capabilities import Capability
from router.domain.errors import RouterError
from router.selection.background import encoded_background
from router.selection.budget import within_budget
from router.selection.cards import Card, card
from router.selection.dense import Dense, DenseIndex
from router.selection.encoder import Encoder, Vectors
from router.selection.lexical import Lexical, LexicalIndex
from router.selection.remembered import Memory, RecentVectors, RememberedEncoder
from router.selection.selected import Candidate, Selection, Signs, Thresholds, verdict
from router.selection.tokens import tokens

LEXICAL_SHARE = 0.15
"""Of the sum, where the index knows all of the query's tokens. On ToolE's development requests
0.1 to 0.2 are equal; 0.3, right for cosines, is too much beside the Gaussians."""

TOKENS, MOST = 2500, 12
"""What a selection may take of a prompt, and how many it may be, unless the caller says."""

LEXICAL_ONLY = "lexical only"

_log = logging.getLogger(__name__)


def anyone(_: Capability) -> bool:
    """The permission filter that lets everything through."""
    return True


@dataclass(frozen=True)
class Changes:
    """What an update came to, in capabilities."""

    added: int
    changed: int
    removed: int


class CapabilityIndex:
    """Flows, skills and tools, searchable. One instance serves one event loop.

    Args:
        encoder: Its failure costs the vectors, never the search.
        memory: Where vectors of cards and examples are kept for the next start. Vectors of
            messages are kept in this process alone, and only the latest.
        thresholds: Where the verdicts part.
    """

    def __init__(
        self,
        encoder: Encoder,
        memory: Memory | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        self._messages = RememberedEncoder(encoder, RecentVectors())
        self._cards = RememberedEncoder(encoder, memory) if memory else encoder
        self._thresholds = thresholds or Thresholds()
        self._lexical = LexicalIndex()
        self._dense: DenseIndex | None = None
        self._shelf = _Shelf()
        self._unencoded: set[int] = set()
        self._updating = asyncio.Lock()

    async def update(self, capabilities: Iterable[Capability]) -> Changes:
        """Let the index hold exactly these.

        Only what is new or reads differently is encoded. Where the encoder fails, words are
        searched alone until an update succeeds; call again to try again.
        """
        async with self._updating:
            wanted = {(c.kind, c.name): c for c in capabilities}
            removed = [slot for key, slot in self._shelf.slots() if key not in wanted]
            for slot in removed:
                self._drop(slot)
            added, changed = self._shelve(wanted.values())
            await self._encode_missing()
            return Changes(added, changed, len(removed))

    async def select(
        self,
        text: str,
        *,
        allowed: Callable[[Capability], bool] = anyone,
        always: Collection[str] = (),
        budget: int = TOKENS,
        most: int = MOST,
    ) -> Selection:
        """The capabilities that `text` may be for, best first.

        Args:
            text: A person's message.
            allowed: What the caller may use; nothing else is searched or counted.
            always: Names of capabilities that are in the result whatever the message says,
                such as the active flow's. They keep their place in the order.
            budget: Tokens of a prompt that the result may take (`router.selection.budget`).
            most: How many it may be, those of `always` included.
        """
        may = self._shelf.allowed(allowed)
        words = self._lexical.search(tokens(text), len(may))
        vectors, notes = await self._dense_search(text, may)
        scores, known, needs_tool = _evidence(words, vectors, may)
        order = np.flatnonzero(may)[np.argsort(-scores[may], kind="stable")]
        signs = _signs(scores[order], known[order], needs_tool)
        ranked = [self._shelf.at(int(slot)) for slot in order[: max(most * 4, 50)]]
        chosen = self._chosen(
            ranked, [c for c in self._shelf.named(always) if allowed(c)], budget, most
        )
        return Selection(
            candidates=tuple(self._candidates(chosen, scores, signs.known)),
            verdict=verdict(signs, self._thresholds),
            signs=signs,
            notes=notes,
        )

    def _candidates(
        self, chosen: Sequence[Capability], scores: NDArray[np.float32], known: float
    ) -> Iterator[Candidate]:
        slots = [self._shelf.slot(capability) for capability in chosen]
        best = max((float(scores[slot]) for slot in slots), default=0.0)
        by_score = sorted(zip(slots, chosen, strict=True), key=lambda pair: -scores[pair[0]])
        for slot, capability in by_score:
            behind = best - float(scores[slot])
            yield Candidate(capability, round(known * float(np.exp(-behind)), 4))

    def _chosen(
        self,
        ranked: Sequence[Capability],
        always: Sequence[Capability],
        budget: int,
        most: int,
    ) -> list[Capability]:
        others = [capability for capability in ranked if capability not in always]
        return within_budget([*always, *others], budget, max(most, len(always)))

    def _shelve(self, wanted: Iterable[Capability]) -> tuple[int, int]:
        added = changed = 0
        for capability in wanted:
            slot, before = self._shelf.put(capability)
            now = card(capability)
            if before is None:
                added += 1
            elif before != now:
                changed += 1
            if before != now:
                self._shelf.cards[slot] = now
                self._lexical.put(slot, now.words)
                self._unencoded.add(slot)
        return added, changed

    def _drop(self, slot: int) -> None:
        self._shelf.drop(slot)
        self._lexical.remove(slot)
        self._unencoded.discard(slot)
        if self._dense is not None:
            self._dense.remove(slot)

    async def _encode_missing(self) -> None:
        try:
            if self._dense is None:
                self._dense = DenseIndex(await encoded_background(self._cards))
            await self._put_vectors(self._dense, sorted(self._unencoded))
        except RouterError as error:
            _log.warning("capabilities can't be encoded, words alone are searched: %s", error)
            return
        self._unencoded.clear()
        if self._dense.stale:
            await asyncio.to_thread(self._dense.settle)

    async def _put_vectors(self, dense: DenseIndex, slots: Sequence[int]) -> None:
        cards = [self._shelf.cards[slot] for slot in slots]
        passages = await self._cards.documents([text for one in cards for text in one.passages])
        examples = await self._cards.queries([text for one in cards for text in one.examples])
        parts = zip(
            slots,
            _parted(passages, [len(one.passages) for one in cards]),
            _parted(examples, [len(one.examples) for one in cards]),
            strict=True,
        )
        for slot, own_passages, own_examples in parts:
            dense.put(slot, own_passages, own_examples)

    async def _dense_search(
        self, text: str, may: NDArray[np.bool_]
    ) -> tuple[Dense | None, tuple[str, ...]]:
        if self._dense is None or self._unencoded:
            return None, (f"{LEXICAL_ONLY}: capabilities aren't encoded",)
        try:
            vector = (await self._messages.queries([text]))[0]
        except RouterError as error:
            _log.warning("a message can't be encoded, words alone are searched: %s", error)
            return None, (f"{LEXICAL_ONLY}: the encoder failed",)
        return self._dense.search(vector, may), ()


def _evidence(
    words: Lexical, vectors: Dense | None, may: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Scores and probabilities by slot, and whether a tool is needed (1.0 where unknown)."""
    lexical = _standardised(words.scores, may)
    if vectors is None:
        return lexical, words.covered, 1.0
    share = np.float32(LEXICAL_SHARE * words.known)
    return share * lexical + (1 - share) * vectors.scores, vectors.known, vectors.needs_tool


def _standardised(scores: NDArray[np.float32], among: NDArray[np.bool_]) -> NDArray[np.float32]:
    if not among.any():
        return scores
    own = scores[among]
    level: NDArray[np.float32] = (scores - own.mean()) / max(float(own.std()), 1e-9)
    return level


def _signs(scores: NDArray[np.float32], known: NDArray[np.float32], needs_tool: float) -> Signs:
    """From scores and probabilities in ranked order."""
    alone = len(scores) < 2  # noqa: PLR2004
    return Signs(
        known=float(known.max()) if len(known) else 0.0,
        needs_tool=needs_tool,
        margin=float("inf") if alone else float(scores[0] - scores[1]),
    )


def _parted(rows: Vectors, counts: Sequence[int]) -> list[Vectors]:
    return np.split(rows, np.cumsum(counts)[:-1]) if counts else []


class _Shelf:
    """Which capability is in which slot. Slots that fall free are given out again."""

    def __init__(self) -> None:
        self.cards: dict[int, Card] = {}
        self._capabilities: list[Capability | None] = []
        self._slots: dict[tuple[str, str], int] = {}
        self._free: list[int] = []

    def put(self, capability: Capability) -> tuple[int, Card | None]:
        """The slot it is in now, and the card that was there."""
        key = (capability.kind, capability.name)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._free.pop() if self._free else len(self._capabilities)
            self._slots[key] = slot
            if slot == len(self._capabilities):
                self._capabilities.append(None)
        self._capabilities[slot] = capability
        return slot, self.cards.get(slot)

    def drop(self, slot: int) -> None:
        capability = self.at(slot)
        del self._slots[(capability.kind, capability.name)], self.cards[slot]
        self._capabilities[slot] = None
        self._free.append(slot)

    def at(self, slot: int) -> Capability:
        found = self._capabilities[slot]
        if found is None:
            raise LookupError(f"slot {slot} is empty")
        return found

    def slot(self, capability: Capability) -> int:
        return self._slots[(capability.kind, capability.name)]

    def slots(self) -> list[tuple[tuple[str, str], int]]:
        return list(self._slots.items())

    def named(self, names: Collection[str]) -> list[Capability]:
        return [self.at(slot) for (_, name), slot in self._slots.items() if name in names]

    def allowed(self, allowed: Callable[[Capability], bool]) -> NDArray[np.bool_]:
        every = self._capabilities
        return np.fromiter((c is not None and allowed(c) for c in every), np.bool_, len(every))
