"""What a change of a run is to people: news for their own streams, as rows of the event log. Pure.

A run's own notices (`asked`, `reminded`…) come from its flow; what is here follows from two
publications alone, and so is made where the second takes the place of the first: once, whatever
is tried again, and for runs that began before there was any news.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from router.domain.records import ApprovalRecord, LogEntry, RunRecord

Closing = Literal["decided", "withdrawn", "expired", "passed_on"]
"""Why a decision is no longer awaited of somebody.

`decided`, by them or by others; `withdrawn`, for its requester or an operator took the request
back or changes it; `expired`; `passed_on`: somebody else decides, or decides first.
"""
_VERDICTS = frozenset({"approve", "reject", "return"})


def of_change(before: RunRecord | None, after: RunRecord, key: str) -> list[LogEntry]:
    """The requester's row, where the run stands elsewhere than before; `key` tells changes apart.

    Of a part of another run there is none: people know the two as one request.
    """
    stood = (before.status, before.state) if before else None
    if stood == (after.status, after.state) or after.is_branch:
        return []
    return [
        LogEntry(
            key=f"{after.id}:{key}:flow",
            kind="flow",
            at=after.updated_at,
            recipient=after.requester,
            data={
                "flow_run": after.id,
                "flow": after.flow,
                "title": after.title.model_dump(),
                "status": after.status,
                "state": after.state,
                "conversation": after.conversation,
            },
        )
    ]


def of_closed(
    before: RunRecord | None,
    after: RunRecord,
    open_before: Sequence[ApprovalRecord],
    approvals: Sequence[ApprovalRecord],
) -> Iterator[LogEntry]:
    """A row for everyone whose decision was awaited, and by these `approvals` no longer is."""
    now = {approval.id: approval for approval in approvals}
    happened = {line.event for line in after.history[len(before.history) if before else 0 :]}
    for was in open_before:
        stands = now.get(was.id)
        if stands is None or not stands.active or stands.verdict is not None:
            reason = _why(stands, happened)
            yield LogEntry(
                key=f"{after.id}:{after.events}:closed:{was.id}",
                kind="approval",
                at=after.updated_at,
                recipient=was.person,
                data={
                    "approval": was.id,
                    "flow_run": after.id,
                    "flow": after.flow,
                    "reason": reason,
                    "title": was.title.model_dump(),
                    "requester": after.requester,
                },
            )


def _why(stands: ApprovalRecord | None, happened: set[str]) -> Closing:
    """`stands` is None where the whole approval is over, by what has `happened` to the run."""
    if stands is not None:
        return "decided" if stands.verdict in _VERDICTS else "passed_on"
    if "withdrawn" in happened:
        return "withdrawn"
    if "expired" in happened:
        return "expired"
    return "decided" if happened & _VERDICTS else "withdrawn"
