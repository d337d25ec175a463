"""Vectors of capabilities in memory, and how well each fits a message.

Every capability has a card; some have examples. Cards are compared by cosine, examples by the
Gaussians of `router.retrieval.statistics`. The two don't share a scale, and whoever has no
examples must not lose by it: each kind is measured against how it scores arbitrary messages.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.retrieval.encoders import Floats, Vectors
from router.retrieval.statistics import (
    LEAST_EXAMPLES,
    MOST_WORK,
    Background,
    Clouds,
    Gate,
    Group,
    Scale,
    Usual,
    fitted_clouds,
    fitted_gate,
    left_out_scores,
    refined,
    scale_of_examples,
    scale_of_strangers,
    usual,
)

CARD_SHARE = 0.1
"""Of the card's cosine where there are examples too: a point of recall@3 on ToolE."""
SETTLE_SHARE = 0.05
"""The share of capabilities that may change before everything is fitted anew."""
_SAMPLE = 512
_ROOM = 16


@dataclass(frozen=True)
class Dense:
    """How well the capabilities fit a message."""

    scores: NDArray[np.float32]
    """By slot, in standard deviations from what is usual; what isn't allowed has one too."""
    names: NDArray[np.float32]
    """By slot, how well the identifier fits, on the same scale; 0 where it isn't named."""
    named: NDArray[np.bool_]
    """By slot, whether its identifier is compared."""
    exemplified: NDArray[np.bool_]
    """By slot, whether it has examples."""
    known: float
    """The probability that the message is for any of those allowed, 0 to 1."""
    needs_tool: float
    """The probability that the message takes a tool at all."""


@dataclass(frozen=True)
class _Held:
    cloud: Group
    """Examples first, then passages."""
    count: int
    """Of examples."""

    @property
    def examples(self) -> Floats:
        return self.cloud.vectors[: self.count].astype(np.float64)


@dataclass(frozen=True)
class _Fit:
    """What is fitted to all capabilities at once."""

    clouds: Clouds
    gate: Gate
    usual_logit: Usual
    usual_cosine: Usual
    usual_name: Usual
    by_examples: Scale
    by_card: Scale


class DenseIndex:
    """Capabilities' vectors by slot. Slots are small integers given out by the caller."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._held: dict[int, _Held] = {}
        self._changed = 0
        size = background.queries.shape[1]
        self._cards = np.zeros((_ROOM, size), np.float32)
        self._details = np.zeros((_ROOM, size), np.float32)
        self._names = np.zeros((_ROOM, size), np.float32)
        self._likely = _Rows.of(_ROOM, size)
        self._ranking = self._likely
        self._exemplified = np.zeros(_ROOM, np.bool_)
        self._named = np.zeros(_ROOM, np.bool_)
        self._fit = self._fitted()

    def put(
        self, slot: int, passages: Vectors, details: Vectors, names: Vectors, examples: Vectors
    ) -> None:
        """Let `slot` hold these vectors, rows of unit length, instead of what it held.

        `details` are passages that tell of parameters too, and `names` what it is called; there
        may be none of either. The capability is found at once; what is fitted to all waits for
        `settle`.
        """
        self.make_room(slot + 1)
        own = self._background.points(examples)
        card = self._background.document_points(passages)
        weights = np.concatenate([np.ones(len(own)), np.full(len(card), 1 / max(len(card), 1))])
        vectors = np.concatenate([own, card]).astype(np.float32)
        self._held[slot] = held = _Held(Group(vectors, weights), len(own))
        self._cards[slot] = card.mean(axis=0) if len(card) else 0
        detailed = self._background.document_points(details)
        self._details[slot] = detailed.mean(axis=0) if len(detailed) else self._cards[slot]
        called = self._background.document_points(names)
        self._names[slot] = called.mean(axis=0) if len(called) else 0
        self._named[slot] = len(called) > 0
        self._exemplified[slot] = len(own) > 0
        rows, biases = self._fit.clouds.directions(held.cloud.mean[None])
        for kept in (self._likely, self._ranking):
            kept.rows[slot], kept.biases[slot] = rows[0], biases[0]
        self._changed += 1

    def remove(self, slot: int) -> None:
        """Empty the slot."""
        if self._held.pop(slot, None) is not None:
            self._cards[slot] = self._details[slot] = self._names[slot] = 0
            self._exemplified[slot] = self._named[slot] = False
            self._changed += 1

    @property
    def stale(self) -> bool:
        """Whether enough has changed for `settle` to be worth its time."""
        return self._changed > SETTLE_SHARE * len(self._held)

    def settle(self) -> None:
        """Fit everything that is common to all to what is held now.

        Milliseconds for a few dozen capabilities, a second or two for thousands. May run on
        another thread, beside `search` but not beside `put` and `remove`.
        """
        changed = self._changed
        likely, fit = _Rows.of(len(self._cards), self._cards.shape[1]), self._fitted()
        slots = np.fromiter(self._held, np.intp, len(self._held))
        if len(slots):
            means = np.stack([held.cloud.mean for held in self._held.values()])
            likely.rows[slots], likely.biases[slots] = fit.clouds.directions(means)
        ranking = self._refined(fit.clouds, likely)
        self._fit, self._likely, self._ranking = fit, likely, ranking
        self._changed -= changed

    def points(self, messages: Vectors) -> Floats:
        """Encoded messages, `(n, dimensions)`, about the mean one, whatever their language."""
        return self._background.points(messages)

    def search(self, vector: Vectors, allowed: NDArray[np.bool_]) -> Dense:
        """How well the capabilities fit a message's unit vector, `(dimensions,)`.

        `allowed` says by slot which may be chosen; arrays have its length.
        """
        fit, slots = self._fit, len(allowed)
        exact = self._background.points(vector[None])
        point = exact[0].astype(np.float32)
        cosines = self._nearness(point, slice(slots))
        exemplified = self._exemplified[:slots]
        bare = cosines[allowed & ~exemplified] / max(float(np.linalg.norm(point)), 1e-9)
        known = fit.by_card.probability(bare.max(initial=-np.inf))
        scores = fit.usual_cosine.standardised(cosines, allowed)
        named = self._named[:slots]
        names = np.zeros_like(scores)
        if (called := allowed & named).any():
            names = named * fit.usual_name.standardised(self._names[:slots] @ point, called)
        if (taught := allowed & exemplified).any():
            ranking, familiar = self._logits(exact, slots)
            by_example = fit.usual_logit.standardised(ranking, taught)
            both = CARD_SHARE * scores + (1 - CARD_SHARE) * by_example
            scores = np.where(exemplified, both, scores)
            known = max(known, fit.by_examples.probability(familiar[taught].max()))
        return Dense(scores, names, named, exemplified, known, fit.gate.needs_tool(exact[0], known))

    def _logits(self, exact: Floats, slots: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """By slot, what ranks those with examples, and how familiar the message is to each."""
        clouds, point = self._fit.clouds, exact[0].astype(np.float32)
        wholly = np.float32(clouds.wholly(exact)[0])
        likely = self._likely.logits(point, slots) + wholly
        same = self._ranking is self._likely
        ranking = likely if same else self._ranking.logits(point, slots) + wholly
        return ranking, likely - np.float32(clouds.strange(exact)[0])

    def nearest_example(self, slot: int, vector: Vectors) -> int | None:
        """Which of the slot's examples is nearest to a message; None where it has none."""
        held = self._held.get(slot)
        if held is None or not held.count:
            return None
        point = self._background.points(vector[None])[0]
        return int(np.argmax(held.examples @ point))

    def make_room(self, slots: int) -> None:
        """Let slots up to this number be searched, if only to find nothing in them."""
        if slots <= len(self._cards):
            return
        more = max(slots, 2 * len(self._cards)) - len(self._cards)
        self._cards = np.pad(self._cards, ((0, more), (0, 0)))
        self._details = np.pad(self._details, ((0, more), (0, 0)))
        self._names = np.pad(self._names, ((0, more), (0, 0)))
        self._exemplified = np.pad(self._exemplified, (0, more))
        self._named = np.pad(self._named, (0, more))
        same = self._ranking is self._likely
        self._likely = self._likely.larger(more)
        self._ranking = self._likely if same else self._ranking.larger(more)

    def _fitted(self) -> _Fit:
        every = list(self._held.values())
        own = [held for held in every if held.count]
        size = self._cards.shape[1]
        examples = np.concatenate([np.empty((0, size)), *(held.examples for held in own)])
        clouds = fitted_clouds([held.cloud for held in every], examples, self._background)
        sample = own[:: max(1, len(own) // _SAMPLE)]
        own_examples = [held.examples for held in sample]
        left_out = left_out_scores(clouds, own_examples, [held.cloud for held in sample])
        around = self._background.around.astype(np.float32)
        sampled = list(self._held)[:_SAMPLE]
        cosines = self._nearness(around.T, sampled)
        talk = ~self._background.needs_tool
        lengths = np.linalg.norm(around[talk], axis=1)
        best = cosines[:, talk].max(axis=0) / lengths if cosines.size else np.empty(0)
        return _Fit(
            clouds=clouds,
            gate=fitted_gate(self._background, examples),
            usual_logit=usual(self._background_logits(clouds, sample)),
            usual_cosine=usual(cosines),
            usual_name=usual(self._names[[s for s in sampled if self._named[s]]] @ around.T),
            by_examples=scale_of_examples(left_out, self._familiarity(clouds, own)),
            by_card=scale_of_strangers(best),
        )

    def _nearness(
        self, points: NDArray[np.float32], slots: slice | list[int]
    ) -> NDArray[np.float32]:
        """The cosines of the slots' cards, with parameters or without, whichever is nearer."""
        plain: NDArray[np.float32] = self._cards[slots] @ points
        detailed: NDArray[np.float32] = self._details[slots] @ points
        return np.maximum(plain, detailed, out=plain)

    def _familiarity(self, clouds: Clouds, own: list[_Held]) -> Floats:
        """How familiar each message of small talk is to whatever of these it is nearest to."""
        if not own:
            return np.empty(0)
        rows, biases = clouds.directions(np.stack([held.cloud.mean for held in own]))
        talk = self._background.around[~self._background.needs_tool]
        best = (talk @ rows.T + biases).max(axis=1)
        return np.asarray(best + clouds.wholly(talk) - clouds.strange(talk))

    def _background_logits(self, clouds: Clouds, sample: list[_Held]) -> Floats:
        if not sample:
            return np.empty(0)
        rows, biases = clouds.directions(np.stack([held.cloud.mean for held in sample]))
        around = self._background.around
        return np.asarray(around @ rows.T + biases + clouds.wholly(around)[:, None])

    def _refined(self, clouds: Clouds, likely: "_Rows") -> "_Rows":
        """`likely` itself where there are too few examples to do better, or too much to do."""
        slots = [slot for slot, held in self._held.items() if held.count]
        count = sum(self._held[slot].count for slot in slots)
        few = len(slots) < 2 or count < LEAST_EXAMPLES * len(slots)  # noqa: PLR2004
        if few or count * len(slots) > MOST_WORK:
            return likely
        vectors = [np.vstack([self._held[s].examples, self._cards[s]]) for s in slots]
        owners = np.repeat(np.arange(len(slots)), [len(own) for own in vectors])
        means = np.stack([self._held[slot].cloud.mean for slot in slots])
        better = likely.larger(0)
        better.rows[slots], better.biases[slots] = refined(
            np.concatenate(vectors), owners, *clouds.directions(means)
        )
        return better


@dataclass(frozen=True)
class _Rows:
    """A linear score for each slot."""

    rows: NDArray[np.float32]
    biases: NDArray[np.float32]

    @classmethod
    def of(cls, slots: int, size: int) -> "_Rows":
        return cls(np.zeros((slots, size), np.float32), np.zeros(slots, np.float32))

    def larger(self, more: int) -> "_Rows":
        """A copy with room for `more`."""
        return _Rows(np.pad(self.rows, ((0, more), (0, 0))), np.pad(self.biases, (0, more)))

    def logits(self, point: NDArray[np.float32], slots: int) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = self.rows[:slots] @ point + self.biases[:slots]
        return scores
