"""What a pressed button or a sent form means, a start of what was offered; what a person hears."""

from collections.abc import Mapping

from router.domain import commands, messages
from router.domain.hand_offs import BACK
from router.domain.locale import Locale, Localised
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.engine.machine import STALE
from router.flow.paused import ALL, Situation, run_meant
from router.flow.prompts.question import way_of
from router.flow.slot_types.slot import coerced, form_values, slot_at
from router.flow.view import FormView
from router.understanding import amendments, memory_wishes
from router.understanding import dialogue_acts as acts
from router.understanding import route_reasons as why
from router.understanding.dialogue_acts import DialogueAct
from router.understanding.slots.free_text import clauses_of
from router.understanding.slots.prefill import prefill_offered
from router.understanding.triggers.patterns import PatternIndex

PolicyDecision = tuple[messages.Route, commands.Command]
Flows = Mapping[str, FlowDefinition]


def may_start(flow: FlowDefinition, situation: Situation) -> bool:
    """True where the person's tenant has the flow, and they one of the roles that it is for."""
    return situation.may_use(flow.stands_for, flow.flow, flow.triggers.roles)


def start_offered(
    flow: FlowDefinition, situation: Situation, index: PatternIndex
) -> commands.StartFlow:
    """Begin the flow with what the message said that it was offered for.

    Where that asked for several flows, it is the clauses about this one that count.
    """
    said = Utterance.of(situation.offered_for, situation.now)
    found = index.find(said.normalised, situation.roles, situation.entitlement)
    starting = [match for match in found if match.hit.blocked_by is None]
    mine = [match for match in starting if match.hit.flow == flow.flow]
    others = [match.start for match in starting if match.hit.flow != flow.flow]
    if mine and others:
        said = said.part(*_between(mine[0].start, others, said.text))
        again = index.find(said.normalised, situation.roles, situation.entitlement)
        mine = [match for match in again if match.hit.flow == flow.flow]
    return commands.StartFlow(flow=flow.flow, slots=prefill_offered(flow.slots, said, mine))


def _between(mine: int, others: list[int], text: str) -> tuple[int, int]:
    """From the clause of the request, or the text's beginning, to that of the next request."""

    def clause_of(at: int) -> int:
        return max((start for start in clauses if start <= at), default=0)

    clauses = [clause.start for clause in clauses_of(text)]
    begins = clause_of(mine) if min(others) < mine else 0
    after = [at for at in others if clause_of(at) > mine]
    return begins, clause_of(min(after)) if after else len(text)


OUTDATED = "outdated"
"""The name of no question: those of flows have colons in them."""


def read_action(
    action: messages.Action, situation: Situation, flows: Flows, index: PatternIndex
) -> PolicyDecision | None:
    """The route and the command of an action; None where it is for somebody else to judge.

    One that names a question which is no longer open does nothing: the present one is shown.
    A pressed option starts a flow where flows were offered, and fills what is asked where a
    flow asks; `confirm` and `form` are for the flow that asks. Where nothing asks for such an
    action that is said, and nothing else comes of it.
    """
    if isinstance(action, messages.StartAction):
        return _started(action, situation, flows)
    if isinstance(action, messages.ChooseAction) and (own := _of_the_desk(action, situation)):
        return own
    if isinstance(action, messages.Answering) and action.question not in (
        None,
        *open_questions(situation),
    ):
        return _outdated(situation)
    if isinstance(action, messages.ChooseAction):
        return _pressed(action, situation, flows, index)
    if isinstance(action, messages.ConfirmAction | messages.FormAction):
        view = asking(situation)
        return _answered(action, view, situation) if view else _unasked(action, situation)
    return None


def _of_the_desk(action: messages.ChooseAction, situation: Situation) -> PolicyDecision | None:
    """A button that says itself what it does, whatever is asked now."""
    if (run := run_meant(action.value)) is not None:
        return resume_run(run, situation, "action")
    if (wish := memory_wishes.pressed(action.value)) is not None:
        return why.FORGOTTEN.route(situation.locale).replace(by="action"), wish
    return amendments.chosen(action.value, situation, "action")


def _started(action: messages.StartAction, situation: Situation, flows: Flows) -> PolicyDecision:
    flow = flows.get(action.flow)
    if flow is None or not may_start(flow, situation):
        return _told(why.NOT_THERE, why.GONE, situation)
    slots = form_values(flow.slots, action.slots, situation.now)
    return why.PRESSED.of(flow, situation.locale), commands.StartFlow(flow=flow.flow, slots=slots)


def _told(reason: why.Reason, text: Localised, situation: Situation) -> PolicyDecision:
    locale = situation.locale
    return reason.route(locale), commands.ReplyText(text=text.within(locale))


def _pressed(
    action: messages.ChooseAction, situation: Situation, flows: Flows, index: PatternIndex
) -> PolicyDecision | None:
    if any(option.value == action.value for option in situation.offered):
        # A flow that the router itself offered; None where that is something else.
        flow = flows.get(str(action.value))
        if flow is None or not may_start(flow, situation):
            return None
        return why.PRESSED.of(flow, situation.locale), start_offered(flow, situation, index)
    if way := _way_out(action, situation):
        return way
    view = asking(situation)
    if view is None or not view.awaiting:
        return _unasked(action, situation)
    path, value = view.awaiting[0], action.value
    slot = slot_at(view.fillable, path)
    if slot is not None and slot.of is not None and isinstance(value, bool):
        path = f"{path}.more"
    elif slot is not None:
        value = coerced(slot, value, situation.now)
    return why.BY_ACTION.of(view, situation.locale), commands.FillSlots(slots={path: value})


_ACTS: dict[DialogueAct, commands.Command] = {
    "skip": commands.Skip(),
    "help": commands.Explain(),
    "repeat": commands.Repeat(),
    "start_over": commands.StartOver(),
}
"""All but the call for a person, who is said to be wanted in the caller's language."""


def outcome_of(act: DialogueAct, view: FormView, locale: Locale) -> PolicyDecision:
    """What a word about the dialogue with a flow comes to."""
    route = why.ACTED[act].of(view, locale)
    if act == "person":
        told = why.ACTED[act].told(view.title)
        return route, commands.HandOff(reason=route.reason, why=told, asked=True)
    return route, _ACTS[act]


def resume_run(run: str, situation: Situation, by: messages.RouteBy) -> PolicyDecision:
    """Going on with a run that was put aside, or with none; a button may name one that is gone."""
    one = next((one for one in situation.resumable if one.run == run), None)
    if run != ALL and one is None:
        return _told(why.OUTDATED, why.OVER, situation)
    locale = situation.locale
    route = why.RESUMED.of(one, locale) if one else why.RESUME_DECLINED.route(locale)
    command = commands.Resume(run=run) if one else commands.KeepPaused()
    return route.replace(by=by), command


def of_plan(situation: Situation, *, agreed: bool, by: messages.RouteBy) -> PolicyDecision:
    """Having the plan worked on that a sub-agent shows, or not."""
    skill, reason = situation.skill, why.PLAN_AGREED if agreed else why.SKILL_LEFT
    route = reason.route(situation.locale, skill, skill=skill).replace(by=by)
    agrees = commands.RunSkill(skill=skill, request="", agreed=True, addressed_by="answer")
    return route, agrees if agreed else commands.LeaveSkill()


def _way_out(action: messages.ChooseAction, situation: Situation) -> PolicyDecision | None:
    """One of the ways on from a question, shown with it or not; None for an answer."""
    view, way = asking(situation), way_of(action.value)
    if view is None and situation.offered and way == "cancel":
        return _told(why.NONE_WANTED, why.NONE_OF_THEM, situation)
    if view is None or way is None:
        return None
    if way == "cancel" and view.amends:
        return why.BY_ACTION.of(view, situation.locale), commands.Confirm(value=False)
    if way == "cancel":
        return why.CANCELLED.of(view, situation.locale), commands.CancelFlow()
    route, command = outcome_of(way, view, situation.locale)
    return route.replace(by="action"), command


def _answered(
    action: messages.ConfirmAction | messages.FormAction, view: FormView, situation: Situation
) -> PolicyDecision:
    route = why.BY_ACTION.of(view, situation.locale)
    if isinstance(action, messages.ConfirmAction):
        # Who names the question has seen it, whatever else they said before the answer came.
        return route, commands.Confirm(value=action.value, question=view.question)
    path = view.awaiting[0] if view.awaiting else ""
    slot = view.fillable.get(path.split(".")[0])
    given = any(value not in (None, "") for value in action.values.values())
    if slot is not None and slot.skippable and not given:
        return route, commands.Skip()
    return route, commands.FillSlots(slots=form_values(view.fillable, action.values, situation.now))


def open_questions(situation: Situation) -> list[str]:
    """Return the names of the questions that an action may answer now."""
    view = asking(situation)
    asked = [view.shown_question] if view is not None and view.shown_question else []
    offered = [messages.offer_question(situation.offered)] if situation.offered else []
    return [*asked, *offered, *filter(None, [situation.plan])]


def _outdated(situation: Situation) -> PolicyDecision:
    """What an answer to an earlier question comes to."""
    view, locale = asking(situation), situation.locale
    if view is not None:
        # The flow itself says so: it finds that this is no question of its own.
        return why.BY_ACTION.of(view, locale), commands.FillSlots(slots={}, question=OUTDATED)
    if situation.offered:
        route = why.OUTDATED.route(locale).replace(kind="clarify")
        return route, commands.Clarify(text=STALE.within(locale), options=situation.offered)
    return _told(why.OUTDATED, why.ANSWERED_BEFORE, situation)


def _unasked(
    action: messages.ChooseAction | messages.ConfirmAction | messages.FormAction,
    situation: Situation,
) -> PolicyDecision:
    """What an answer to no flow comes to: the question that is open, or that there is none."""
    if asking(situation) is None and situation.plan and isinstance(action, messages.ConfirmAction):
        return of_plan(situation, agreed=action.value, by="action")
    if asking(situation) is not None or situation.offered:
        return _outdated(situation)
    return _told(why.UNASKED, why.NOTHING_ASKED[action.type], situation)


def asking(situation: Situation) -> FormView | None:
    """The run that asks something, if one does."""
    view = situation.active
    return situation.active_form if view is not None and view.asking else None


SAY_BACK = Localised(
    zh="正由同事接待，按钮和表单暂时不起作用。要回到助手，请说“交还”。",
    en="A person has this conversation, so buttons and forms do nothing for now. Say “back to "
    "the desk” to have the desk again.",
)


def with_person(message: messages.Message, situation: Situation) -> PolicyDecision:
    """The conversation is with a person: nothing else is made of what is said, by no model."""
    action, locale = message.action, situation.locale
    if isinstance(action, messages.ChooseAction) and action.value == BACK:
        route = why.BACK_AT_DESK.route(locale).replace(by="action")
        return route, commands.LeavePerson()
    if action is not None:
        text = SAY_BACK.within(locale)
        return why.NOT_MEANWHILE.route(locale), commands.ReplyText(text=text)
    if not message.files and acts.leaves_person(normalise(message.text or "").text):
        return why.BACK_AT_DESK.route(locale), commands.LeavePerson()
    return why.WITH_A_PERSON.route(locale), commands.PassOn()
