"""What is told to other systems of runs and approvals, and who wants to hear of it. Pure.

An event has ids and states. What a person filled in is in it for those alone whose entry asks.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from pydantic import JsonValue

from router.domain.messages import FlowStatus
from router.domain.records import ApprovalRecord, LogEntry, Record, RunRecord

WebhookEventName = Literal[
    "flow.started",
    "flow.waiting_approval",
    "flow.completed",
    "flow.rejected",
    "flow.cancelled",
    "flow.expired",
    "flow.failed",
    "approval.requested",
    "approval.decided",
    "handoff.requested",
]
EVENTS: tuple[WebhookEventName, ...] = get_args(WebhookEventName)

_OF_STATUS: Mapping[FlowStatus, WebhookEventName] = {
    "waiting_approval": "flow.waiting_approval",
    "completed": "flow.completed",
    "rejected": "flow.rejected",
    "cancelled": "flow.cancelled",
    "expired": "flow.expired",
    "failed": "flow.failed",
}
_BY_NOBODY = frozenset({"escalated", "changed"})
"""Verdicts of the clock, and of a requester who changed what was asked: nobody has decided."""

TRIED_FOR = timedelta(days=3)
"""How long an event is tried to be delivered."""


@dataclass(frozen=True)
class WebhookEvent:
    """Something that happened, as other systems are told of it."""

    name: WebhookEventName
    key: str
    """The same where the same is told again."""
    at: datetime
    tenant: str
    subject: str
    """What is told of in order: a run by public id, or a conversation."""
    data: Mapping[str, JsonValue]
    flow: str = ""
    """What it is of, or came in the middle of; empty where it is no flow's."""
    slots: Mapping[str, JsonValue] | None = None
    requester: str = ""
    person: str = ""
    """Whose approval it is, if it is one's."""

    def id_for(self, consumer: str) -> str:
        """The `webhook-id` there: the same however often it is sent."""
        told = f"{self.tenant}\n{self.key}\n{consumer}"
        return f"msg_{hashlib.sha256(told.encode()).hexdigest()[:32]}"

    def payload(self, *, slots: bool) -> dict[str, JsonValue]:
        """The body of the request."""
        data: dict[str, Any] = {"tenant": self.tenant, **self.data}
        if slots and self.slots is not None:
            data["slots"] = dict(self.slots)
        return {"type": self.name, "timestamp": self.at.isoformat(), "data": data}


@dataclass(frozen=True)
class WebhookSubscription:
    """Who wants to hear of what: names and patterns such as `purchase_*`; None is every one."""

    url: str
    events: frozenset[str]
    tenants: tuple[str, ...] | None = None
    flows: tuple[str, ...] | None = None
    slots: bool = False

    @property
    def consumer(self) -> str:
        """What it is known by, whatever else of its entry is changed."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def shown_url(self) -> str:
        """The address without its query, in which there may be a secret."""
        return self.url.partition("?")[0]

    def wants(self, event: WebhookEvent) -> bool:
        """True where it is told of the event."""
        return (
            event.name in self.events
            and _among(event.tenant, self.tenants)
            and _among(event.flow, self.flows)
        )


def _among(name: str, patterns: Collection[str] | None) -> bool:
    return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)


WebhookState = Literal["waiting", "dead"]


class WebhookDelivery(Record):
    """One event on its way to one consumer: forgotten once it is there.

    `due` is None while an earlier one of the same run is before it, and when it is given up.
    """

    tenant: str
    id: str
    consumer: str
    url: str
    event: str
    subject: str
    data: dict[str, JsonValue]
    """The body of the request."""
    state: WebhookState
    attempts: int
    created_at: datetime
    due: datetime | None
    until: datetime
    """When it is given up."""
    error: str = ""
    """What the last try came to, where that was nothing."""


class WebhookBacklog(Record):
    """What hasn't reached a consumer."""

    url: str
    waiting: int
    dead: int
    oldest: datetime | None
    """Since when what has waited longest waits."""


@dataclass(frozen=True)
class KnownApproval:
    """How an approval stood when the run was last published."""

    active: bool
    verdict: str | None


def of_run(
    before: RunRecord | None,
    after: RunRecord,
    known: Mapping[str, KnownApproval],
    approvals: Sequence[ApprovalRecord],
    key: str,
) -> list[WebhookEvent]:
    """What a change of a run is told as, in the order in which it happened.

    `known` are those of `approvals` that were published before. A run that is a part of another
    one of its flow starts and ends nothing that anybody knows of: of it approvals alone are told.
    """
    found: list[WebhookEvent] = []
    if not after.is_branch and before is None:
        found.append(_of_flow("flow.started", after, key))
    decided = [one for one in approvals if _is_decided(one, known.get(one.id))]
    found += [_of_approval("approval.decided", after, one) for one in decided]
    stood = (before.status, before.state) if before else None
    name = _OF_STATUS.get(after.status)
    if name and not after.is_branch and stood != (after.status, after.state):
        found.append(_of_flow(name, after, key))
    asked = [one for one in approvals if _is_asked(one, known.get(one.id))]
    return [*found, *(_of_approval("approval.requested", after, one) for one in asked)]


def _is_decided(now: ApprovalRecord, before: KnownApproval | None) -> bool:
    given = now.verdict is not None and now.verdict not in _BY_NOBODY
    return given and (before is None or before.verdict is None)


def _is_asked(now: ApprovalRecord, before: KnownApproval | None) -> bool:
    awaited = now.active and now.verdict is None
    return awaited and (before is None or not before.active or before.verdict is not None)


def _of_flow(name: WebhookEventName, run: RunRecord, key: str) -> WebhookEvent:
    return WebhookEvent(
        name=name,
        key=f"{run.id}:{key}:{name}",
        at=run.updated_at,
        tenant=run.tenant,
        subject=run.id,
        data=_run_data(run),
        flow=run.flow,
        slots=run.slots,
        requester=run.requester,
    )


def _of_approval(name: WebhookEventName, run: RunRecord, asked: ApprovalRecord) -> WebhookEvent:
    is_decided = name == "approval.decided"
    about: dict[str, JsonValue] = {"id": asked.id, "person": asked.person, "digest": asked.digest}
    if is_decided:
        about["verdict"] = asked.verdict
    elif asked.due is not None:
        about["due"] = asked.due.isoformat()
    return WebhookEvent(
        name=name,
        # Who was asked, and is again after others: told anew, by the change that it came with.
        key=f"{asked.id}:{run.events}:{name}",
        at=(asked.decided_at if is_decided else None) or run.updated_at,
        tenant=run.tenant,
        subject=run.id,
        data={**_run_data(run), "approval": about},
        flow=run.flow,
        slots=run.slots,
        requester=run.requester,
        person=asked.person,
    )


def _run_data(run: RunRecord) -> dict[str, JsonValue]:
    return {
        "flow_run": run.id,
        "flow": run.flow,
        "version": run.version,
        "status": run.status,
        "state": run.state,
        "requester": run.requester,
        "conversation": run.conversation,
        "part_of": run.parent.rpartition("/")[2] if run.parent else None,
    }


def of_handoffs(
    tenant: str, entries: Sequence[LogEntry], owners: Mapping[str, str]
) -> Iterator[WebhookEvent]:
    """That somebody is to be helped by a person, of each turn that came to that."""
    for entry in entries:
        if entry.conversation is None or not is_handoff(entry):
            continue
        person = owners.get(entry.conversation, "")
        yield WebhookEvent(
            name="handoff.requested",
            key=f"{entry.key}:handoff",
            at=entry.at,
            tenant=tenant,
            subject=entry.conversation,
            data={
                "conversation": entry.conversation,
                "message_id": entry.message_id,
                "person": person,
            },
            flow=_flow_of(entry),
            requester=person,
        )


def _flow_of(entry: LogEntry) -> str:
    turn: Any = entry.data["turn"]
    flow = turn.get("flow") if isinstance(turn, dict) else None
    return str(flow.get("name", "")) if isinstance(flow, dict) else ""


def is_handoff(entry: LogEntry) -> bool:
    """True of a turn that handed the person on to people."""
    turn: Any = entry.data.get("turn") if entry.kind == "turn" else None
    if not isinstance(turn, dict):
        return False
    routes = [turn.get("route"), *(turn.get("routes") or ())]
    return any(isinstance(route, dict) and route.get("kind") == "handoff" for route in routes)
