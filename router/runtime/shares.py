"""What a tenant's documents are for everybody, and what they are for people of shares.

A share costs a reader more, and a search where its flow is told of in other words; whoever has no
share pays nothing for it. With several at once there is one for every choice among them.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations

from activities.capabilities import Capabilities
from router.domain.configuration_documents import (
    DocumentStanding,
    DocumentVersion,
    HeldVersion,
    standing,
)
from router.domain.shares import Shared
from router.retrieval.index import CapabilityIndex
from router.understanding.reader import Reader

DocumentVersions = tuple[DocumentVersion, ...]


@dataclass(frozen=True)
class SharedVersion:
    """A version of a flow that a share of people has."""

    document: DocumentVersion
    share: int


@dataclass(frozen=True)
class TenantDocuments:
    """What holds of one tenant's documents at a moment."""

    whole: DocumentVersions = ()
    """For everybody, or all who aren't of a share."""
    shared: tuple[SharedVersion, ...] = ()
    """For the people of shares, in the place of the document of that name or besides."""


def documents_of(held: Iterable[HeldVersion], now: datetime) -> dict[str, TenantDocuments]:
    """By tenant what holds now, of all that counts."""
    of = defaultdict[tuple[str, str, str], list[HeldVersion]](list)
    for each in held:
        its = each.activation
        of[its.tenant, its.kind, its.name].append(each)
    whole = defaultdict[str, list[DocumentVersion]](list)
    shared = defaultdict[str, list[SharedVersion]](list)
    for (tenant, kind, _), those in sorted(of.items()):
        texts = {each.activation.sequence: each.document for each in those}
        at = standing((each.activation for each in those), now)
        document = texts[at.whole.sequence] if at.whole else None
        whole[tenant] += [document] if document else []
        shared[tenant] += _of_share(at, texts) if kind == "flows" else ()
    tenants = {tenant for tenant in whole if whole[tenant] or shared[tenant]}
    return {t: TenantDocuments(tuple(whole[t]), tuple(shared[t])) for t in tenants}


def _of_share(
    at: DocumentStanding, texts: Mapping[int | None, DocumentVersion | None]
) -> Iterator[SharedVersion]:
    document = None if at.shared is None else texts[at.shared.sequence]
    if at.shared is not None and document is not None:
        yield SharedVersion(document, at.shared.share)


def choices(shared: Iterable[SharedVersion]) -> Iterator[DocumentVersions]:
    """Every choice of some of them: what somebody may have of shares, by whom they are of."""
    documents = [each.document for each in shared]
    for count in range(1, len(documents) + 1):
        yield from combinations(documents, count)


def in_place(whole: DocumentVersions, chosen: DocumentVersions) -> DocumentVersions:
    """The documents with those that were chosen in the place of others of their names."""
    taken = {(each.kind, each.name) for each in chosen}
    return (*(each for each in whole if (each.kind, each.name) not in taken), *chosen)


def every_choice(held: Iterable[HeldVersion], tenant: str, now: datetime) -> list[DocumentVersions]:
    """What somebody of the tenant has, or will have once what is to come begins.

    What everybody has now comes first, who isn't of a share.
    """
    there = list(held)
    coming = (each.activation for each in there if not each.activation.has_begun(now))
    found = dict[tuple[tuple[str, str, int], ...], DocumentVersions]()
    for moment in (now, *sorted({each.moment for each in coming})):
        its = documents_of(there, moment).get(tenant, TenantDocuments())
        for chosen in ((), *choices(its.shared)):
            documents = in_place(its.whole, chosen)
            found.setdefault(tuple((e.kind, e.name, e.version) for e in documents), documents)
    return list(found.values())


def put_back(
    documents: DocumentVersions, before: DocumentVersions, paths: Container[str]
) -> DocumentVersions:
    """The documents, but at these paths those before them, or none where there was none."""
    was = {each.path: each for each in before}
    kept = (was.get(each.path) if each.path in paths else each for each in documents)
    return tuple(each for each in kept if each is not None)


@dataclass(frozen=True)
class Variant:
    """What people have who are of some shares."""

    capabilities: Capabilities
    reader: Reader
    index: CapabilityIndex


@dataclass(frozen=True)
class SharedEditions:
    """What people of one tenant have who are of shares, by the flows that are others for them."""

    shares: Mapping[str, int]
    variants: Mapping[frozenset[str], Variant] = field(default_factory=dict)

    @property
    def capabilities(self) -> Shared[Capabilities]:
        """What can be done by them."""
        return Shared(self.shares, {f: one.capabilities for f, one in self.variants.items()})

    @property
    def readers(self) -> Shared[Reader]:
        """What their messages are read by."""
        return Shared(self.shares, {f: one.reader for f, one in self.variants.items()})

    @property
    def indexes(self) -> Shared[CapabilityIndex]:
        """What they find things by."""
        return Shared(self.shares, {f: one.index for f, one in self.variants.items()})
