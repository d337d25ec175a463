"""Who is of a share of people: the same person in every process, and of every larger share too."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

PEOPLE = 100
"""Into as many parts everybody falls: a share is a number of these."""


def part_of(tenant: str, flow: str, person: str) -> int:
    """Which part somebody falls into, 0 to 99: another for each flow, so that none is always first.

    >>> part_of("acme", "overtime", "alice") == part_of("acme", "overtime", "alice")
    True
    """
    # No tenant, flow or person has a line's end in it.
    digest = hashlib.sha256("\n".join((tenant, flow, person)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % PEOPLE


def is_of_share(share: int, tenant: str, flow: str, person: str) -> bool:
    """Whether the person is one of the `share` of a hundred who have a flow's new version first."""
    return part_of(tenant, flow, person) < share


@dataclass(frozen=True)
class Shared(Generic[T]):
    """What people of one tenant have who are of shares."""

    shares: Mapping[str, int]
    """By flow, how many of a hundred people have another version of it."""
    variants: Mapping[frozenset[str], T]
    """By the flows that somebody has another version of, what they have; not by none."""

    def of(self, tenant: str, person: str) -> T | None:
        """What this person has; None: what the others of the tenant have."""
        flows = (f for f, share in self.shares.items() if is_of_share(share, tenant, f, person))
        return self.variants.get(frozenset(flows))
