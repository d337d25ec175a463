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
NEAR = 3
"""Among so many a sentence's own capability has to be, before it has the sentence. On the desk's
30 things that refuses 92 to 97 % of what is for another, and 20 to 24 % of what is its own and put
unusually; 5 lets twice as much through of the former."""
RANKS = (1, 3, 5)

CapabilityKey = tuple[str, str]
Added = Mapping[CapabilityKey, Sequence[str]]
"""Sentences by a capability's key."""


def key(capability: Capability) -> CapabilityKey:
    """Kind and name, which no two capabilities share."""
    return capability.kind, capability.name


def with_sentences(capability: Capability, sentences: Iterable[str]) -> Capability:
    """The capability with these examples too."""
    examples = tuple(dict.fromkeys((*capability.examples, *sentences)))
    return capability.replace(examples=examples)


@dataclass(frozen=True)
class Neighbourhood:
    """Asks the index about all `capabilities`."""

    index: CapabilityIndex
    capabilities: Sequence[Capability]

    async def neighbours(self, capability: Capability) -> list[Capability]:
        """The nearest others to what the capability says of itself, the nearest first."""
        await self.index.update(self.capabilities)
        title, about = capability.title, capability.description
        told = " ".join(f"{title.within(each)}: {about.within(each)}" for each in LOCALES)
        found = await self._nearest(told, NEIGHBOURS + 1)
        return [one for one in found if key(one) != key(capability)][:NEIGHBOURS]

    async def objection(self, capability: Capability, sentence: str) -> str | None:
        """Why the sentence can't be an example; None where it can.

        It isn't among the nearest as things are, or is nearer to another though it is added: what
        has no examples has itself as its only one then, and would take anything.
        """
        await self.index.update(self.capabilities)
        before = await self._nearest(sentence, NEAR)
        if key(capability) not in map(key, before):
            return f"{capability.name} is far from it, and the {_named(before[0])} is near"
        await self.index.update(self._with({key(capability): [sentence]}))
        nearest = (await self._nearest(sentence, 1))[0]
        return None if key(nearest) == key(capability) else f"it is nearer to the {_named(nearest)}"

    async def _nearest(self, text: str, most: int) -> list[Capability]:
        found = await self.index.select(text, budget=None, most=most)
        return [one.capability for one in found.candidates]

    async def places(
        self, lines: Sequence[tuple[str, str]], added: Added, bare: Iterable[CapabilityKey] = ()
    ) -> list[int]:
        """For each text and label how many others are nearer than the label, up to the last rank.

        With sentences `added` to some, and those that are `bare` without any example.
        """
        without = set(bare)
        indexed = [
            one.replace(examples=()) if key(one) in without else one for one in self._with(added)
        ]
        await self.index.update(indexed)
        most = max(RANKS)
        named = [[one.name for one in await self._nearest(text, most)] for text, _ in lines]
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


def _named(capability: Capability) -> str:
    return f"{capability.kind} {capability.name}"
