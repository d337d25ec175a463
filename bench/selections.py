"""A split's requests put to the index, and the places of what they are for."""

import numpy as np
from numpy.typing import NDArray
from public_sets import Known, Split

from router.domain.locale import Localised
from router.domain.principals import Capability
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection
from router.retrieval.vector_cache import RememberedEncoder

DEEPEST = 10
NOWHERE = 10**6


def capability(known: Known) -> Capability:
    """What is indexed of it: a tool."""
    return Capability(
        kind="tool",
        name=known.name,
        title=Localised(**known.titles),
        description=Localised(**known.descriptions),
        examples=known.examples,
        parameters=known.parameters,
    )


async def selections(split: Split, encoder: RememberedEncoder) -> list[Selection]:
    """What the index selects for each request, and for each strange message after them."""
    index = CapabilityIndex(encoder)
    await index.update([capability(known) for known in split.known])
    asked = [text for text, _ in split.requests] + list(split.strange)
    await encoder.queries(asked)
    return [await index.select(text, budget=10**9, most=DEEPEST) for text in asked]


def found_ranks(split: Split, answers: list[Selection]) -> NDArray[np.float64]:
    """By request, the place of its label among what was selected, from 0."""
    names = [[candidate.name for candidate in answer.candidates] for answer in answers]
    pairs = zip(names, split.requests, strict=False)
    return np.array([n.index(label) if label in n else NOWHERE for n, (_, label) in pairs], float)


def ranks(split: Split, scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """By request, the place of its label by these scores, from 0; in the middle of its equals."""
    column = {known.name: i for i, known in enumerate(split.known)}
    own = np.array([scores[i, column[name]] for i, (_, name) in enumerate(split.requests)])
    above = (scores[: len(own)] > own[:, None]).sum(axis=1)
    return above + ((scores[: len(own)] == own[:, None]).sum(axis=1) - 1) / 2
