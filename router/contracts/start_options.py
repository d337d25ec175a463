"""What every workflow is started with: search attributes, fairness, patience with workers.

A server refuses an attribute that nobody registered: `dev` does so, and `worker` where it may.
Values are opaque ids and states, never anything about a person: they are stored in the clear.

Temporal deals out the tasks of a queue by fairness keys, by weight, where the server's
`matching.enableFairness` is on; elsewhere they do nothing. What a workflow starts (activities,
sub-agents, branches) has its key without being told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Literal

from temporalio.common import Priority, SearchAttributeKey, TypedSearchAttributes

from router.contracts.limits import make_attributes
from router.domain.principals import Principal

TASK_TIMEOUT = timedelta(seconds=3)
"""For a workflow task: then another worker takes over what a dead one held. With Temporal's own
ten seconds a worker's death held up the turns under way by eleven."""

MAX_TASK_TIMEOUT = timedelta(seconds=10)
LATENESS_FACTOR = 10
"""A workflow task takes several turns of an event loop, each of which is late."""


def task_timeout(lateness_s: float) -> timedelta:
    """Return the time for a workflow task of what is started while the event loop is so late.

    A task that is given up on a busy machine is only begun again there.

    >>> task_timeout(0.0).total_seconds(), task_timeout(0.5).total_seconds()
    (3.0, 8.0)
    >>> task_timeout(60.0).total_seconds()
    10.0
    """
    return min(TASK_TIMEOUT + timedelta(seconds=LATENESS_FACTOR * lateness_s), MAX_TASK_TIMEOUT)


CONTINUE_AFTER = 150
"""Events in a run's history after which a conversation or a flow continues as new, as soon as it
may: twenty turns or so. Whoever comes back to one that is in no worker's memory waits for them to
be replayed, five milliseconds of processor time each, within `TASK_TIMEOUT`; and to continue as
new costs as much as a short turn, while nobody waits."""

ROUTE_KIND = SearchAttributeKey.for_keyword("RouteKind")
ROUTE_TARGET = SearchAttributeKey.for_keyword("RouteTarget")
ROUTE_BY = SearchAttributeKey.for_keyword("RouteBy")
FLOW_NAME = SearchAttributeKey.for_keyword("FlowName")
FLOW_STATE = SearchAttributeKey.for_keyword("FlowState")
FLOW_STATUS = SearchAttributeKey.for_keyword("FlowStatus")
REQUESTER = SearchAttributeKey.for_keyword("Requester")
CONVERSATION_ID = SearchAttributeKey.for_keyword("ConversationId")
TENANT = SearchAttributeKey.for_keyword("Tenant")
ASSIGNEE = SearchAttributeKey.for_keyword_list("Assignee")

SEARCH_ATTRIBUTES = {
    **{
        key.name: "Keyword"
        for key in (
            *(ROUTE_KIND, ROUTE_TARGET, ROUTE_BY, FLOW_NAME, FLOW_STATE, FLOW_STATUS),
            *(REQUESTER, CONVERSATION_ID, TENANT),
        )
    },
    ASSIGNEE.name: "KeywordList",
}
"""Each with its type, as Temporal's command line names it. SQL visibility allows ten a type."""


def of_run(flow: str, requester: Principal, conversation: str | None) -> TypedSearchAttributes:
    """What a run of a flow is found by from its first moment on."""
    values = {
        FLOW_NAME: flow,
        REQUESTER: requester.id,
        CONVERSATION_ID: conversation or "",
        TENANT: requester.tenant,
    }
    return make_attributes(values)


FairTo = Literal["tenant", "person"]
LONGEST_KEY = 64
"""Bytes that Temporal takes."""


@dataclass(frozen=True)
class Fairness:
    """Shares of tenants, or of each person; a tenant of `weights` gets so many times as much."""

    to: FairTo = "tenant"
    weights: Mapping[str, float] = field(default_factory=dict)

    def share(self, tenant: str, person: str) -> Priority:
        """What a workflow is started with for this person."""
        key = tenant if self.to == "tenant" else f"{tenant}/{person}"
        if self.to == "person" or len(tenant.encode()) > LONGEST_KEY:
            # Keys are plain in Temporal's tasks, so a person's says nothing of who it is.
            key = sha256(key.encode()).hexdigest()[:32]
        return Priority(fairness_key=key, fairness_weight=self.weights.get(tenant))
