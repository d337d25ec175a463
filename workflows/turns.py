"""The turns that messages are answered with. Pure."""

from typing import Literal

from router.contracts.activities import Decided
from router.domain.messages import FlowSummary, Route, Turn
from workflows import notices
from workflows.at_hand import AtHand
from workflows.outcome import Outcome


def of(message: AtHand, number: int, decided: Decided, outcome: Outcome) -> Turn:
    """The turn of a message that something was decided for, and came of."""
    stopped = [message.says(notices.STOPPED)] if outcome.stopped else []
    routes = [decided.route, *decided.others, *outcome.routes]
    return Turn(
        message_id=message.id,
        turn=number,
        status="cancelled" if outcome.stopped else "done",
        route=decided.route,
        routes=routes if len(routes) > 1 else None,
        replies=[*outcome.replies, *stopped] or [message.says(notices.DONE)],
        flow=outcome.flow,
        tool_calls=outcome.tool_calls,
        usage=decided.usage + outcome.usage,
    )


def heard_at_work(message: AtHand, number: int, skill: str) -> Turn:
    """The turn of a message that a sub-agent heeded while it was at work."""
    reason = notices.heard_at_work(skill).within(message.locale)
    return Turn(
        message_id=message.id,
        turn=number,
        status="done",
        route=Route(kind="skill", target=skill, by="action", reason=reason),
        replies=[message.says(notices.ANSWERED_ABOVE)],
    )


def ended_early(
    message: AtHand,
    number: int,
    status: Literal["cancelled", "failed"],
    active: FlowSummary | None,
) -> Turn:
    """The turn of a message that nothing came of: it was stopped, or something broke."""
    stopped = status == "cancelled"
    why = notices.WAS_STOPPED if stopped else notices.HAS_FAILED
    return Turn(
        message_id=message.id,
        turn=number,
        status=status,
        route=Route(kind="reply", by="fallback", reason=why.within(message.locale)),
        replies=[message.says(notices.STOPPED if stopped else notices.FAILED)],
        flow=active,
    )
