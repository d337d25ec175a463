"""What the index of capabilities says of sentences: whose neighbours are whose, what is gained.

Nothing here is kept: each question puts into the index what it asks about.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from router.domain.locale import LOCALES
from router.domain.principals import Capability
from router.retrieval.index import CapabilityIndex

NEIGHBOURS = 2
"""How many others a model is told to keep apart from."""
RANKS = (1, 3, 5)

Key = tuple[str, str]
Added = Mapping[Key, Sequence[str]]
"""Sentences by a capability's key."""


def key(capability: Capability) -> Key:
    """Kind and name, which no two capabilities share."""
    return capability.kind, capability.name


def with_sentences(capability: Capability, sentences: Iterable[str]) -> Capability:
    """The capability with these examples too."""
    examples = tuple(dict.fromkeys((*capability.examples, *sentences)))
    return capability.model_copy(update={"examples": examples})


@dataclass(frozen=True)
class Nearness:
    """Asks the index about all `capabilities`."""

    index: CapabilityIndex
    capabilities: Sequence[Capability]

    async def neighbours(self, capability: Capability) -> list[Capability]:
        """The nearest others to what the capability says of itself, the nearest first."""
        await self.index.update(self.capabilities)
        title, about = capability.title, capability.description
        told = " ".join(f"{title.within(each)}: {about.within(each)}" for each in LOCALES)
        found = await self.index.select(told, budget=None, most=NEIGHBOURS + 1)
        others = [one.capability for one in found.candidates]
        return [one for one in others if key(one) != key(capability)][:NEIGHBOURS]

    async def objection(self, capability: Capability, sentence: str) -> str | None:
        """Why the sentence can't be an example: it is nearer to another though it is added."""
        await self.index.update(self._with({key(capability): [sentence]}))
        found = await self.index.select(sentence, budget=None, most=1)
        nearest = found.candidates[0].capability
        if key(nearest) == key(capability):
            return None
        return f"it is nearer to the {nearest.kind} {nearest.name}"

    async def places(
        self, lines: Sequence[tuple[str, str]], added: Added, bare: Iterable[Key] = ()
    ) -> list[int]:
        """For each text and label how many others are nearer than the label, up to the last rank.

        With sentences `added` to some, and those that are `bare` without any example.
        """
        without = set(bare)
        indexed = [
            one.model_copy(update={"examples": ()}) if key(one) in without else one
            for one in self._with(added)
        ]
        await self.index.update(indexed)
        most = max(RANKS)
        found = [await self.index.select(text, budget=None, most=most) for text, _ in lines]
        named = [[one.capability.name for one in each.candidates] for each in found]
        return [
            names.index(label) if label in names else most
            for names, (_, label) in zip(named, lines, strict=True)
        ]

    def _with(self, added: Added) -> list[Capability]:
        return [with_sentences(one, added.get(key(one), ())) for one in self.capabilities]


def recalls(places: Sequence[int]) -> list[str]:
    """The share of places within each rank, as a table shows it; a dash where there are none."""
    if not places:
        return ["-"] * len(RANKS)
    hits = (sum(place < rank for place in places) for rank in RANKS)
    return [f"{100 * hit / len(places):.1f}" for hit in hits]
