"""Where a conversation stands: for the API, for the page, and for the Temporal UI."""

from typing import Any

from temporalio.common import SearchAttributeUpdate

from router.contracts import start_options
from router.contracts.conversation import (
    ActiveSkill,
    ConversationStart,
    ConversationStatus,
    PausedFlow,
    WithPerson,
)
from router.contracts.conversation_state import ConversationState
from router.domain import messages
from router.domain.hand_offs import OngoingHandOff
from workflows.transcript import last_turn


def describe_status(state: ConversationState, running: list[str]) -> ConversationStatus:
    """Return where the conversation stands, for people."""
    flows, hand_off = state.flows, state.hand_offs.ongoing
    asked, talked_of = _shown_last(state), flows.active or flows.at_work
    confirmation = next((r for r in asked if isinstance(r, messages.ConfirmReply)), None)
    skill = state.skill
    return ConversationStatus(
        running=running,
        turns=state.transcript.turn_count,
        active_flow=talked_of.summary if talked_of else None,
        paused_flows=[PausedFlow(id=p.id, name=p.flow, state=p.state) for p in flows.paused],
        pending_confirmation=confirmation.model_dump(mode="json") if confirmation else None,
        asked=messages.question_in(asked),
        active_skill=None
        if skill is None or skill.answered
        else ActiveSkill(name=skill.name, title=skill.task.skill.title, asking=skill.asking),
        waiting_calls={call.id: call.tool for call in state.front_end.calls if not call.heard},
        with_person=describe_helper(hand_off) if hand_off else None,
        usage=state.transcript.usage,
    )


def describe_helper(hand_off: OngoingHandOff) -> WithPerson:
    """Return who has the conversation, or will."""
    name = hand_off.agent.name if hand_off.agent else ""
    return WithPerson(hand_off=hand_off.id, name=name, opens_at=hand_off.opens_at)


def _shown_last(state: ConversationState) -> list[messages.Reply]:
    flows = state.flows
    if flows.active is not None:
        return flows.active.replies  # what is offered beside it isn't the last word
    if not flows.offered:
        card = state.skill.plan_shown if state.skill else None
        return [card] if card else []
    named = messages.offer_question(flows.offered)
    shown = last_turn(state.transcript)
    return [r for r in shown.replies if getattr(r, "question", None) == named] if shown else []


def write_details(start: ConversationStart, state: ConversationState, route: messages.Route) -> str:
    """Return the conversation in a few lines of Markdown, for the Temporal UI."""
    target = f" ▸ {route.target}" if route.target else ""
    lines = [
        f"**{start.conversation}** of {start.owner}, {state.transcript.turn_count} turns",
        f"last route: {route.kind}{target} by {route.by}: {route.reason}",
    ]
    active = state.flows.active
    if active is not None:
        lines.append(f"active: {active.flow} {active.id}, {active.status} in `{active.state}`")
        lines += [f"- {name}: {value}" for name, value in active.slots.items()]
    return "\n".join(lines)


def list_attributes(
    start: ConversationStart, route: messages.Route
) -> list[SearchAttributeUpdate[Any]]:
    """Return what the conversation is found by in Temporal's UI after its last route."""
    shown = {
        start_options.REQUESTER: start.owner,
        start_options.CONVERSATION_ID: start.conversation,
        start_options.TENANT: start.tenant,
        start_options.ROUTE_KIND: route.kind,
        start_options.ROUTE_TARGET: route.target or "",
        start_options.ROUTE_BY: route.by,
    }
    return [key.value_set(value) for key, value in shown.items()]
