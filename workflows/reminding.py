"""A word after days: where we were, before anything else is said."""

from datetime import datetime, timedelta

from router.contracts.activities import Decided
from router.contracts.conversation import ConversationState
from router.domain.commands import (
    CancelFlow,
    Confirm,
    FillSlots,
    Misunderstood,
    Repeat,
    Skip,
    StartOver,
)
from router.domain.messages import Reply
from router.domain.texts import Locale, Localised
from router.flow.put_aside import known_in_short
from router.flow.view import FlowView
from workflows import notices

AFTER = timedelta(days=1)
"""Without a word for so long, nobody is expected to know what was asked."""

ANSWERS = (CancelFlow, Confirm, FillSlots, Skip, StartOver)


def forgotten(state: ConversationState, now: datetime) -> FlowView | None:
    """The flow whose question has waited so long; None where there is none."""
    view, since = state.active, state.heard_at
    if view is None or not view.asking or since is None:
        return None
    return view if now - since >= AFTER else None


def without_miss(decided: Decided) -> Decided:
    """Who comes back after days hasn't missed a question that they no longer see."""
    again = [Repeat() if isinstance(c, Misunderstood) else c for c in decided.commands]
    kind = "flow" if decided.route.kind == "handoff" else decided.route.kind
    if again == decided.commands:
        return decided
    route = decided.route.model_copy(update={"kind": kind})
    return decided.model_copy(update={"commands": again, "route": route})


def reminder(
    view: FlowView, decided: Decided, active: FlowView | None, replies: list[Reply], locale: Locale
) -> Localised:
    """What the turn begins with: a line where the message answers the flow plainly.

    `active` and `replies` are what came of the message: the question is left to them where they
    ask it anyway, or where something else is asked now.
    """
    if any(isinstance(command, ANSWERS) for command in decided.commands):
        return notices.on_with(view.title)
    asked = view.replies[0].text if view.replies else ""
    still = active is not None and active.id == view.id
    asked_anyway = any(reply.text == asked for reply in replies)
    question = asked if still and not asked_anyway else ""
    return notices.where_we_were(view.title, known_in_short(view, locale), question)
