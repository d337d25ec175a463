"""Who is asked to agree, in a state or to take a completed run back."""

from collections.abc import Iterator

from router.documents.document import Place
from router.documents.validation import Complaint
from router.flow.definition import Approve
from router.flow.validation.draft import Draft, complaint


def complaints(draft: Draft) -> Iterator[Complaint]:
    """What is wrong with how a completed run is taken back."""
    withdrawal = draft.definition.withdrawal
    if withdrawal is None:
        return
    yield from approval_complaints(("withdrawal", "approve"), withdrawal.approve)
    if not any(state.undoes for state in draft.definition.states.values()):
        yield complaint(
            ("withdrawal",), "no call has an undo: nothing is taken back", "add undo: to a call"
        )


def approval_complaints(here: Place, ask: Approve) -> Iterator[Complaint]:
    """What is wrong with who is asked to agree, and with what happens while they don't answer."""
    if not ask.by:
        yield complaint((*here, "by"), "nobody is asked", 'write by: "manager(requester)"')
    if (ask.escalate_after is None) != (ask.escalate_to is None):
        yield complaint(
            here,
            "escalate_after and escalate_to mean nothing without each other",
            "write both, or neither",
        )
    spans = {key: getattr(ask, key) for key in ("remind_every", "escalate_after", "expire_after")}
    for key, span in spans.items():
        if span is not None and span.total_seconds() < 1:
            yield complaint((*here, key), f"{key} is too short", "a second is the least")
    if ask.hours == "working" and not any(spans.values()):
        yield complaint(
            (*here, "hours"), "nothing is counted in hours here", "add remind_every: P1D, say"
        )
