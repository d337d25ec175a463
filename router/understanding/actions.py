"""What a pressed button or a sent form means, and a start of what was offered."""

from collections.abc import Mapping

from pydantic import JsonValue

from router.domain.commands import (
    CancelFlow,
    Clarify,
    Command,
    Confirm,
    Explain,
    FillSlots,
    HandOff,
    LeaveAside,
    Repeat,
    ReplyText,
    Skip,
    StartFlow,
    StartOver,
    TakeUp,
)
from router.domain.locale import Locale
from router.domain.messages import (
    Action,
    Answering,
    ChooseAction,
    ConfirmAction,
    FormAction,
    Route,
    RouteBy,
    StartAction,
    offer_question,
)
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.engine.machine import STALE
from router.flow.paused import ALL, Situation, run_meant
from router.flow.prompts.question import way_of
from router.flow.slot_types.slot import coerced, form_values, slot_at
from router.flow.view import FlowView
from router.understanding import route_reasons
from router.understanding.dialogue_acts import Act
from router.understanding.slots.free_text import clause_starts
from router.understanding.slots.prefill import prefill_offered
from router.understanding.triggers.patterns import Match, PatternIndex


def may_start(flow: FlowDefinition, situation: Situation) -> bool:
    """True where the person has one of the roles that the flow is for."""
    return not flow.triggers.roles or bool(flow.triggers.roles & situation.roles)


def start_offered(flow: FlowDefinition, situation: Situation, index: PatternIndex) -> StartFlow:
    """Begin the flow with what the message said that it was offered for."""
    slots = prefill_offered(flow.slots, *_said_for(flow, situation, index))
    return StartFlow(flow=flow.flow, slots=slots)


def _said_for(
    flow: FlowDefinition, situation: Situation, index: PatternIndex
) -> tuple[Utterance, list[Match]]:
    """The message, or where it asked for several flows, the clauses about this one.

    With the flow's patterns that were found in it: their groups fill slots.
    """
    whole = Utterance.of(situation.offered_for, situation.now)
    found = index.find(whole.normalised, situation.roles)
    starting = [match for match in found if match.hit.blocked_by is None]
    mine = [match for match in starting if match.hit.flow == flow.flow]
    others = [match.start for match in starting if match.hit.flow != flow.flow]
    if not mine or not others:
        return whole, mine
    begins, ends = _between(mine[0].start, others, whole.text)
    part = whole.part(begins, ends)
    again = index.find(part.normalised, situation.roles)
    return part, [match for match in again if match.hit.flow == flow.flow]


def _between(mine: int, others: list[int], text: str) -> tuple[int, int]:
    """From the clause of the request, or the text's beginning, to that of the next request."""
    clauses = clause_starts(text)
    begins = _clause_of(mine, clauses) if min(others) < mine else 0
    after = [at for at in others if _clause_of(at, clauses) > mine]
    return begins, _clause_of(min(after), clauses) if after else len(text)


def _clause_of(at: int, clauses: list[int]) -> int:
    return max((start for start in clauses if start <= at), default=0)


OUTDATED = "outdated"
"""The name of no question: those of flows have colons in them."""


def read_action(
    action: Action,
    situation: Situation,
    flows: Mapping[str, FlowDefinition],
    index: PatternIndex,
) -> tuple[Route, Command] | None:
    """The route and the command of an action; None where it is for somebody else to judge.

    One that names a question which is no longer open does nothing: the present one is shown.
    A pressed option starts a flow where flows were offered, and fills what is asked where a
    flow asks; `confirm` and `form` are for the flow that asks. Where nothing asks for such an
    action that is said, and nothing else comes of it.
    """
    if isinstance(action, StartAction):
        return _started(action, situation, flows)
    if isinstance(action, ChooseAction) and (run := run_meant(action.value)) is not None:
        return resume_run(run, situation, "action")
    if isinstance(action, Answering) and action.question not in (None, *_open(situation)):
        return _outdated(situation)
    if isinstance(action, ChooseAction):
        return _pressed(action, situation, flows, index)
    if isinstance(action, ConfirmAction | FormAction):
        view = _asking(situation)
        return _answered(action, view, situation) if view else _unasked(action, situation)
    return None


def _pressed(
    action: ChooseAction,
    situation: Situation,
    flows: Mapping[str, FlowDefinition],
    index: PatternIndex,
) -> tuple[Route, Command] | None:
    """A button of a question that is open: a way on from it, something offered, or an answer."""
    if _is_offered(action, situation):
        # A flow that the router itself offered; None where that is something else.
        flow = flows.get(str(action.value))
        if flow is None or not may_start(flow, situation):
            return None
        return route_reasons.pressed(flow, situation.locale), start_offered(flow, situation, index)
    way = _way_out(action, situation)
    return way or _chosen(action, situation) or _unasked(action, situation)


_ACTS: dict[Act, Command] = {
    "skip": Skip(),
    "help": Explain(),
    "repeat": Repeat(),
    "start_over": StartOver(),
}
"""All but the call for a person, who is said to be wanted in the caller's language."""


def outcome_of(act: Act, view: FlowView, locale: Locale) -> tuple[Route, Command]:
    """What a word about the dialogue with a flow comes to."""
    if act == "person":
        route = route_reasons.person_wanted(view, locale)
        return route, HandOff(reason=route.reason)
    return route_reasons.acted(act, view, locale), _ACTS[act]


def resume_run(run: str, situation: Situation, by: RouteBy) -> tuple[Route, Command]:
    """Going on with a run that was put aside, or with none; a button may name one that is gone."""
    locale = situation.locale
    if run == ALL:
        return route_reasons.left_aside(locale, by), LeaveAside()
    one = next((one for one in situation.resumable if one.run == run), None)
    if one is None:
        return route_reasons.outdated("reply", locale), ReplyText(
            text=route_reasons.OVER.within(locale)
        )
    return route_reasons.taken_up(one.flow, one.title, locale, by), TakeUp(run=run)


def _way_out(action: ChooseAction, situation: Situation) -> tuple[Route, Command] | None:
    """One of the ways on from a question, shown with it or not; None for an answer."""
    view, way = _asking(situation), way_of(action.value)
    if view is None and situation.offered and way == "cancel":
        text = route_reasons.NONE_OF_THEM.within(situation.locale)
        return route_reasons.none_of_them(situation.locale), ReplyText(text=text)
    if view is None or way is None:
        return None
    if way == "cancel":
        return route_reasons.cancelled(view, situation.locale), CancelFlow()
    route, command = outcome_of(way, view, situation.locale)
    return route.model_copy(update={"by": "action"}), command


def _answered(
    action: ConfirmAction | FormAction, view: FlowView, situation: Situation
) -> tuple[Route, Command]:
    """A confirmation or a form, for the flow that asks."""
    if isinstance(action, ConfirmAction):
        # Who names the question has seen it, whatever else they said before the answer came.
        seen = view.question if action.question else None
        return route_reasons.by_action(view, situation.locale), Confirm(
            value=action.value, question=seen
        )
    if _is_left_empty(action, view):
        return route_reasons.by_action(view, situation.locale), Skip()
    slots = form_values(view.fillable, action.values, situation.now)
    return route_reasons.by_action(view, situation.locale), FillSlots(slots=slots)


def _is_left_empty(action: FormAction, view: FlowView) -> bool:
    """True for a form without an answer to what need not be answered."""
    path = view.awaiting[0] if view.awaiting else ""
    slot = view.fillable.get(path.split(".")[0])
    given = any(value not in (None, "") for value in action.values.values())
    return slot is not None and slot.skippable and not given


def _started(
    action: StartAction, situation: Situation, flows: Mapping[str, FlowDefinition]
) -> tuple[Route, Command]:
    """A flow that a button names; what isn't there was there when the message was taken in."""
    flow = flows.get(action.flow)
    if flow is None or not may_start(flow, situation):
        locale = situation.locale
        return route_reasons.not_there(locale), ReplyText(text=route_reasons.GONE.within(locale))
    slots = form_values(flow.slots, action.slots, situation.now)
    return route_reasons.pressed(flow, situation.locale), StartFlow(flow=flow.flow, slots=slots)


def _open(situation: Situation) -> list[str]:
    """The names of the questions that can be answered now."""
    view = _asking(situation)
    asked = [view.shown_question] if view is not None and view.shown_question else []
    offered = [offer_question(situation.offered)] if situation.offered else []
    return [*asked, *offered]


def _outdated(situation: Situation) -> tuple[Route, Command]:
    """What an answer to an earlier question comes to."""
    view, locale = _asking(situation), situation.locale
    if view is not None:
        # The flow itself says so: it finds that this is no question of its own.
        return route_reasons.by_action(view, locale), FillSlots(slots={}, question=OUTDATED)
    if situation.offered:
        text = STALE.within(locale)
        return route_reasons.outdated("clarify", locale), Clarify(
            text=text, options=situation.offered
        )
    return route_reasons.outdated("reply", locale), ReplyText(
        text=route_reasons.OVER.within(locale)
    )


def _unasked(
    action: ChooseAction | ConfirmAction | FormAction, situation: Situation
) -> tuple[Route, Command]:
    """What an answer to nothing comes to: the question that is open, or that there is none."""
    if _asking(situation) is not None or situation.offered:
        return _outdated(situation)
    locale = situation.locale
    text = route_reasons.UNASKED[action.type].within(locale)
    return route_reasons.unasked(locale), ReplyText(text=text)


def _is_offered(action: ChooseAction, situation: Situation) -> bool:
    return any(option.value == action.value for option in situation.offered)


def _asking(situation: Situation) -> FlowView | None:
    view = situation.active
    return view if view is not None and view.asking else None


def _chosen(action: ChooseAction, situation: Situation) -> tuple[Route, Command] | None:
    view = _asking(situation)
    if view is None or not view.awaiting:
        return None
    slots = _answer(view, action.value, situation)
    return route_reasons.by_action(view, situation.locale), FillSlots(slots=slots)


def _answer(view: FlowView, value: JsonValue, situation: Situation) -> dict[str, JsonValue]:
    path = view.awaiting[0]
    slot = slot_at(view.fillable, path)
    if slot is None:
        return {path: value}
    if slot.of is not None and isinstance(value, bool):
        return {f"{path}.more": value}
    return {path: coerced(slot, value, situation.now)}
