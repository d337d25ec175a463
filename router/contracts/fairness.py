"""Whose share of the workers a workflow takes: where many wait, each key gets its turn.

Temporal deals out the tasks of a queue by these keys, by weight, where the server's
`matching.enableFairness` is on; elsewhere they do nothing. What a workflow starts (activities,
sub-agents, branches) has its key without being told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from temporalio.common import Priority

FairTo = Literal["tenant", "person"]
LONGEST_KEY = 64
"""Bytes that Temporal takes."""


@dataclass(frozen=True)
class Fairness:
    """Shares of tenants, or of each person; a tenant of `weights` gets so many times as much.

    >>> Fairness(weights={"acme": 3.0}).share("acme", "alice").fairness_weight
    3.0
    """

    to: FairTo = "tenant"
    weights: Mapping[str, float] = field(default_factory=dict)

    def share(self, tenant: str, person: str) -> Priority:
        """What a workflow is started with for this person."""
        return Priority(
            fairness_key=self._key(tenant, person), fairness_weight=self.weights.get(tenant)
        )

    def _key(self, tenant: str, person: str) -> str:
        if self.to == "tenant" and len(tenant.encode()) <= LONGEST_KEY:
            return tenant
        # Keys are plain in Temporal's tasks, so a person's says nothing of who it is.
        whose = tenant if self.to == "tenant" else f"{tenant}/{person}"
        return sha256(whose.encode()).hexdigest()[:32]
