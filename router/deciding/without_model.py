"""Deciding without a model: honest about what wasn't understood, and what can be done here."""

import re
from collections.abc import Sequence
from typing import Literal

from router.domain.capabilities import Capability
from router.domain.commands import Clarify, Command, HandOff, Misunderstood, ReplyText
from router.domain.messages import Message, Option, Route
from router.domain.texts import Locale, Localised
from router.flow import put_aside
from router.flow.run import HANDED_OFF
from router.flow.situation import Situation
from router.flow.view import FlowView

Verdict = Literal["clear", "several", "none"]
"""How near the nearest capability is, and how alone."""

_ASKS_FOR_A_PERSON = re.compile(
    r"人工|真人|(?:找|跟|和|让)(?:个|一个)?人(?:说|聊|谈|来)|客服"
    r"|\b(?:talk|speak|chat)\b.{0,20}\b(?:human|person|agent|someone)\b"
    r"|\b(?:real|live) (?:human|person|agent)\b|\bhuman (?:agent|operator)\b"
    r"|^(?:human|agent|operator)\W*$",
    re.IGNORECASE,
)
"""A person is asked for by name, and no model is there to tell whether something else is meant."""

MOST_OPTIONS = 6
"""As many as a person reads at a glance."""

LOST = Localised(
    zh="这句我没把握。这里可以办这些，选一个就行：",
    en="I'm not sure what you mean. This is what can be done here; just choose one:",
)
MEANT = Localised(zh="你是想办这个吗？", en="Is it this that you mean?")
FOR_A_PERSON = Localised(zh="想找人工", en="asks for a person")
NEAR_OPTIONS = 3
REASONS: dict[Verdict, Localised] = {
    "clear": Localised(
        zh="有一项很接近，没有模型来判断", en="one capability is near, and no model decided"
    ),
    "several": Localised(
        zh="有几项接近，没有模型来判断", en="several capabilities are near, and no model decided"
    ),
    "none": Localised(
        zh="没有接近的，也没有模型来判断", en="nothing is near, and no model decided"
    ),
}
NO_ANSWER = Localised(
    zh="不像是对流程所问的回答", en="not understood as an answer to what the flow asks"
)
NOTHING_OPEN = Localised(zh="没有对此人开放的事项", en="nothing is open to this person")
NOTHING = Localised(
    zh="这句我没把握，而且目前没有对你开放的流程。请联系管理员。",
    en="I'm not sure what you mean, and nothing is open to you here yet. "
    "Please ask an administrator.",
)


def decide(
    message: Message,
    situation: Situation,
    capabilities: Sequence[Capability],
    verdict: Verdict = "none",
) -> tuple[Route, list[Command]]:
    """A route and its commands for a message that no rule took.

    While a flow asks something the message is taken for an answer that wasn't understood,
    and the flow asks again. Otherwise what the caller may do is offered, nearest first: as
    what was probably meant where `verdict` says that something is near, else as what there
    is; flows are always among it. What is chosen then starts, a tool as its form. Where it
    was asked which open flow to go on with, those come before it all.
    """
    active, locale = situation.active, situation.locale
    if active is not None and active.asking:
        return _misunderstood(active, locale)
    if _ASKS_FOR_A_PERSON.search(message.text or ""):
        reason = FOR_A_PERSON.within(locale)
        return Route(kind="handoff", by="fallback", reason=reason), [HandOff(reason=reason)]
    if not capabilities:
        reason = NOTHING_OPEN.within(locale)
        route = Route(kind="handoff", by="fallback", confidence=0.0, reason=reason)
        return route, [ReplyText(text=NOTHING.within(locale))]
    return _offered(situation, capabilities, verdict)


def _misunderstood(active: FlowView, locale: Locale) -> tuple[Route, list[Command]]:
    # The flow hands off itself, by what it says to one miss too many.
    lost = active.misses + 1 == HANDED_OFF
    route = Route(
        kind="handoff" if lost else "flow",
        target=active.flow,
        by="slot",
        confidence=0.0,
        reason=NO_ANSWER.within(locale),
    )
    return route, [Misunderstood()]


def _offered(
    situation: Situation, capabilities: Sequence[Capability], verdict: Verdict
) -> tuple[Route, list[Command]]:
    """The nearest and the flows to choose from, behind the open ones that were asked about."""
    locale, far = situation.locale, verdict == "none"
    near = list(capabilities[: MOST_OPTIONS if far else NEAR_OPTIONS])
    flows = [c for c in capabilities if c.kind == "flow" and c not in near]
    shown = [*near, *flows][:MOST_OPTIONS]
    options = [
        *(option for option in situation.offered if put_aside.run_meant(option.value)),
        *(Option(label=c.title.within(locale), value=c.name) for c in shown),
    ]
    route = Route(
        kind="clarify",
        target=capabilities[0].name if verdict == "clear" else None,
        by="fallback" if far else "retrieval",
        confidence=0.0 if far else 0.5,
        reason=REASONS[verdict].within(locale),
    )
    return route, [Clarify(text=(LOST if far else MEANT).within(locale), options=options)]
