"""A second look at the first twenty, by a model of features: what it would gain and lose.

    python bench/second_looks.py

Nothing of it is in the product, as it loses somewhere. A logistic regression over a request's
twenty nearest (D. McFadden, "Conditional logit analysis of qualitative choice behavior", 1974) is
fitted to development rows, every set weighing the same: sum, words, characters, cosines of
passage, details and identifier, and shares of the identifier's words in the request and the other
way round. For development each family of sets is judged by a model of the others, and with it are
looked at again all requests, or only those whose first two are near.
"""

import asyncio
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import public_sets
import tool_sets
from intervals import share, shown
from numpy.typing import NDArray
from public_sets import Part, Split
from routing import KEPT
from selections import capability
from verdicts import by_cards

from router.domain.principals import Capability
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex, card, spoken
from router.retrieval.lexical import LexicalIndex, terms, tokens
from router.retrieval.statistics import encoded_background
from router.retrieval.vector_cache import RememberedEncoder, VectorFile

MOST = 20
SURE = 4.0
NEAR = 1.0
"""Standard deviations between the first two."""
HELD = 100.0
"""How much the weights are held back; 10 does alike."""
STEPS = 400
FAMILIES = {"cloud": "cards|cloud", "leaderboard": "leaderboard", "ToolE": "ToolE", "desk": "desk"}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Looked:
    """One request's nearest, the best first."""

    features: Floats
    """`(candidates, features)`, less the first one's."""
    right: NDArray[np.bool_]
    ahead: float
    """How far the first is ahead of the second."""
    by_words: tuple[float, bool]
    """How far the first by words alone is ahead, and whether it is right."""


def characters(text: str) -> list[str]:
    """Its Chinese characters, and the trigrams of other words."""
    plain = unicodedata.normalize("NFKC", text)
    found = [each for each in plain if "\u4e00" <= each <= "\u9fff"]
    for word in (f"^{w}$" for w in tokens(plain) if not "\u4e00" <= w[0] <= "\u9fff"):
        found += [word[i : i + 3] for i in range(max(len(word) - 2, 1))]
    return found


def scaled(scores: Floats) -> Floats:
    """In standard deviations, by request."""
    deviations = np.maximum(scores.std(axis=1, keepdims=True), 1e-9)
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / deviations)


def matched(asked: list[str], told: list[str], of: Callable[[str], list[str]]) -> list[Floats]:
    """BM25 and coverage of the requests by each of the texts."""
    index = LexicalIndex()
    for slot, text in enumerate(told):
        index.put(slot, of(text))
    found = [index.search(of(text), len(told)) for text in asked]
    return [np.stack([one.scores for one in found]), np.stack([one.covered for one in found])]


async def compared(
    capabilities: list[Capability], asked: list[str], encoder: RememberedEncoder
) -> Floats:
    """The features of every request and capability, `(requests, capabilities, features)`."""
    cards = [card(one) for one in capabilities]
    background = await encoded_background(encoder)
    points = background.points(await encoder.queries(asked))

    async def cosines(texts: list[str]) -> Floats:
        return scaled(points @ background.document_points(await encoder.documents(texts)).T)

    names = [f"{spoken(one.name)} {one.title.within('en')}" for one in capabilities]
    full = [
        " ".join((one.name, *(own.details or own.passages)))
        for one, own in zip(capabilities, cards, strict=True)
    ]
    words, _ = matched(asked, full, terms)
    by_character, _ = matched(asked, full, characters)
    _, covered = matched(asked, names, terms)
    wanted = [set(terms(name)) for name in names]
    inside = [[len(own & set(terms(a))) / max(len(own), 1) for own in wanted] for a in asked]
    return np.stack(
        [
            *(scaled(words), scaled(by_character), covered, np.array(inside)),
            await cosines([one.passages[0] for one in cards]),
            await cosines([(one.details or one.passages)[0] for one in cards]),
            await cosines(names),
        ],
        axis=2,
    )


async def looks(split: Split, encoder: RememberedEncoder) -> list[Looked]:
    """What a second look sees of each request."""
    capabilities = [capability(known) for known in split.known]
    index = CapabilityIndex(encoder)
    await index.update(capabilities)
    every = await compared(capabilities, [text for text, _ in split.requests], encoder)
    place = {known.name: number for number, known in enumerate(split.known)}
    found = []
    for row, (text, label) in zip(every, split.requests, strict=True):
        answer = await index.select(text, budget=None, most=MOST)
        near = [place[one.name] for one in answer.candidates]
        sums = np.log(np.maximum([one.score for one in answer.candidates], 1e-4))
        features = np.column_stack([sums, row[near]])
        right = np.array([one.name == label for one in answer.candidates])
        last, best = np.sort(row[:, 0])[-2:]
        by_words = float(best - last), int(row[:, 0].argmax()) == place[label]
        found.append(Looked(features - features[0], right, answer.signs.margin, by_words))
    return found


def fitted(sets: dict[str, list[Looked]]) -> Floats:
    """What each feature weighs: the most likely, held back, by Nesterov's method."""
    rows = [
        (one, 1 / len(some) / len(sets))
        for some in sets.values()
        for one in some
        if one.right.any() and len(one.right) == MOST
    ]
    features = np.stack([one.features for one, _ in rows])
    spread = features.std(axis=(0, 1)) + 1e-9
    features = features / spread
    right = np.stack([one.right / one.right.sum() for one, _ in rows])
    each = np.array([weight for _, weight in rows])[:, None]
    weights = ahead = np.zeros(len(spread))
    for step in range(STEPS):
        powers = features @ ahead
        chances = np.exp(powers - powers.max(axis=1, keepdims=True))
        wrong = each * (chances / chances.sum(axis=1, keepdims=True) - right)
        slope = np.einsum("nc,ncf->f", wrong, features) + HELD / len(rows) * ahead
        following = ahead - 0.1 * slope
        weights, ahead = following, following + step / (step + 3) * (following - weights)
    return np.asarray(weights / spread)


def judged(title: str, some: list[Looked], weights: Floats, near: float) -> Iterator[str]:
    """A line of what a second look at requests whose first two are so near comes to."""
    before, after = [one.right for one in some], []
    for one in some:
        order = np.argsort(-(one.features @ weights), kind="stable")
        after.append(one.right[order] if one.ahead < near else one.right)
    line = f"  {title:36}"
    for count in (1, 5):
        was, now = (np.array([one[:count].any() for one in rows]) for rows in (before, after))
        line += f"{100 * was.mean():8.1f}{100 * now.mean():8.1f}{shown(now, was):>24}"
    yield line


def family(name: str) -> str:
    """Of sets that have their cards or requests in common."""
    return next(
        key for key, any_of in FAMILIES.items() if any(a in name for a in any_of.split("|"))
    )


async def main() -> int:
    sets, wheels = public_sets.folder(), tool_sets.folder()
    if sets is None or wheels is None:
        print(public_sets.REMEDY, tool_sets.REMEDY, sep="\n", file=sys.stderr)
        return 0
    encoder = RememberedEncoder(EmbeddedEncoder(), VectorFile(KEPT))
    seen = {
        part: await seen_of(sets, wheels, part, encoder) for part in ("development", "measured")
    }
    whole = fitted(seen["development"])
    of_others = {
        one: fitted({k: v for k, v in seen["development"].items() if family(k) != one})
        for one in FAMILIES
    }
    for near, which in ((np.inf, "all"), (NEAR, f"first two within {NEAR}")):
        for part, looked in seen.items():
            print(f"\n{part}, {which}: first before, after; the same among the first five, %")
            for name, some in looked.items():
                weights = of_others[family(name)] if part == "development" else whole
                print(*judged(name, some, weights, near), flush=True)
    for part, looked in seen.items():
        print(f"\n{part}: first by words alone {SURE} standard deviations ahead, of these right, %")
        for name, some in looked.items():
            sure = np.array([right for ahead, right in (a.by_words for a in some) if ahead >= SURE])
            print(f"  {name:36}{100 * len(sure) / len(some):8.1f}{share(sure):>24}")
    return 0


async def seen_of(
    sets: Path, wheels: Path, part: Part, encoder: RememberedEncoder
) -> dict[str, list[Looked]]:
    """What a second look sees of every set of that part."""
    splits = by_cards(sets, wheels, part)
    return {name: await looks(split, encoder) for name, split in splits.items()}


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
