"""Deciding without a model: honest about what wasn't understood, and what can be done here."""

from collections.abc import Sequence

from router.domain.capabilities import Capability
from router.domain.commands import Clarify, Command, Misunderstood, ReplyText
from router.domain.messages import Message, Option, Route
from router.domain.texts import Localised
from router.flow.situation import Situation

MOST_OPTIONS = 6
"""As many as a person reads at a glance."""

LOST = Localised(
    zh="这句我没把握。这里可以办这些，选一个就行：",
    en="I'm not sure what you mean. This is what can be done here; just choose one:",
)
NOTHING = Localised(
    zh="这句我没把握，而且目前没有对你开放的流程。请联系管理员。",
    en="I'm not sure what you mean, and nothing is open to you here yet. "
    "Please ask an administrator.",
)


def decide(
    message: Message, situation: Situation, capabilities: Sequence[Capability]
) -> tuple[Route, list[Command]]:
    """A route and its commands for a message that no rule took.

    While a flow asks something the message is taken for an answer that wasn't understood,
    and the flow asks again. Otherwise the flows that the caller may start are offered.
    """
    del message
    if situation.active is not None and situation.active.asking:
        route = Route(
            kind="flow",
            target=situation.active.flow,
            by="slot",
            confidence=0.0,
            reason="not understood as an answer to what the flow asks",
        )
        return route, [Misunderstood()]
    options = [
        Option(label=c.title.within(situation.locale), value=c.name)
        for c in capabilities
        if c.kind == "flow"
    ][:MOST_OPTIONS]
    if not options:
        route = Route(kind="handoff", by="fallback", confidence=0.0, reason="nothing to offer")
        return route, [ReplyText(text=NOTHING.within(situation.locale))]
    route = Route(
        kind="clarify",
        by="fallback",
        confidence=0.0,
        reason="no pattern matched, and no model is configured",
    )
    return route, [Clarify(text=LOST.within(situation.locale), options=options)]
