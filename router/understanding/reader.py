"""Reading a message: what it means as far as rules can tell, without a model.

Policies are tried in order, the most certain first; the first that knows what is meant decides,
and its name stands in the route. Where none does there is no route, and a model is asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from router.domain import commands
from router.domain.commands import in_order
from router.domain.messages import Message, Option
from router.domain.principals import Capability, TenantScoped
from router.entities.booleans import consent, opening_answer
from router.entities.choices import chosen_option
from router.entities.extraction import entities_of
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.extension import ExtensionConflict
from router.flow.definition import FlowDefinition
from router.flow.engine.changes import CHANGE
from router.flow.paused import Situation, run_meant
from router.flow.slot_types.slot import coerced, read_as
from router.flow.view import FormView
from router.understanding import actions, amendments
from router.understanding import dialogue_acts as acts
from router.understanding import route_reasons as why
from router.understanding.actions import PolicyDecision
from router.understanding.corrections.values import corrected_items, correction, put_right
from router.understanding.heard import Known, ParsedMessage
from router.understanding.memory_wishes import forgotten_by_button, pressed, remembering
from router.understanding.names import FlowNames
from router.understanding.policies import (
    ADDED_STAGES,
    POLICIES,
    AddablePolicy,
    AddedPolicy,
    Policy,
    Stage,
    register_policy,
)
from router.understanding.reading import Reading
from router.understanding.skill_calls import SkillNames
from router.understanding.slots.answers import answer
from router.understanding.slots.attachments import begun_with_files, files_alone
from router.understanding.slots.free_text import documents_of
from router.understanding.slots.mappings import Values
from router.understanding.slots.prefill import prefill, reason_slot
from router.understanding.triggers.patterns import Match, PhraseIndex, ToolPhrases
from router.understanding.wishes import Clause, asks_the_desk, clauses

UNREAD_CHARS = 40
"""Characters of what isn't read of a message that are quoted to its sender."""
MAX_REQUESTS = 12
"""Requests that are taken of one message; its sender is told where the others begin."""
_CALL = "asked_for"
"""The id of a call that a message plainly asks for: it asks for one."""


class Reader(TenantScoped):
    """Reads messages against flows, and sentences for tools; `offered` is named to who asks."""

    def __init__(
        self,
        flows: Iterable[FlowDefinition],
        phrases: Iterable[ToolPhrases] = (),
        offered: Iterable[Capability] = (),
    ) -> None:
        self._known = Known()
        self.replace(flows, phrases, offered)

    def replace(
        self,
        flows: Iterable[FlowDefinition],
        phrases: Iterable[ToolPhrases] = (),
        offered: Iterable[Capability] = (),
    ) -> None:
        """Read against these from the next message on."""
        known = {flow.flow: flow for flow in flows}
        names = {name: FlowNames.of(flow) for name, flow in known.items()}
        started = (name for name, flow in known.items() if flow.triggers.patterns or flow.names)
        sentences = PhraseIndex(phrases, [names[name] for name in started])
        index = self._known.index.following(known.values())
        listed = tuple(offered)
        self._known = Known(known, names, index, sentences, listed, SkillNames(listed))

    def read(
        self, message: Message, situation: Situation, papers: Mapping[str, str] | None = None
    ) -> Reading:
        """What the message means; no route and no commands where rules can't tell.

        `papers` are the types of the documents that its files are, as far as they were read.
        """
        known = self._known
        if situation.handed_off:
            outcome = actions.with_person(message, situation)
            return _reading("", outcome, actions.with_person.__name__)
        if message.action is not None:
            pressed = actions.read_action(message.action, situation, known.flows, known.index)
            return _reading("", pressed, "action")
        if message.files and not message.text and not _is_for_skill(message, situation):
            kinds = [(papers or {}).get(file, "") for file in message.files]
            return _reading(
                "", files_alone(situation, known.flows, message.files, kinds), "files_alone"
            )
        utterance = Utterance.of(message.text or "", situation.now)
        heard = ParsedMessage.of(known, utterance, situation, message.skill or "")
        patterns = [match.hit for match in heard.matches]
        entities = entities_of(utterance.normalised, utterance.things)
        if (called := called_skill(heard)) is not None:
            reading = _reading(heard.text, called, called_skill.__name__)
            return reading.replace(patterns=patterns, entities=entities)
        wishes = [] if heard.skill else _wishes(heard)
        more = [wish.words for wish in wishes[MAX_REQUESTS:]]
        unread = " ".join(more or [utterance.unread])[:UNREAD_CHARS]
        reading = _of_several(heard, wishes[:MAX_REQUESTS]) if wishes else _decided(heard)
        begun = begun_with_files(reading.commands, known.flows, message.files)
        return reading.replace(patterns=patterns, entities=entities, unread=unread, commands=begun)


def _is_for_skill(message: Message, situation: Situation) -> bool:
    """Whether it is addressed to a skill, where no flow asks for anything."""
    return message.skill is not None and actions.asking(situation) is None


def _decided(heard: ParsedMessage, *, beside: bool = False) -> Reading:
    """What rules make of it; of what is said `beside` something else, what it asks for itself."""
    tried: Iterator[tuple[str, PolicyDecision | None]]
    if (view := heard.asking) is not None:
        asked = POLICIES["asked_beside" if beside else "asked"]
        tried = ((policy.__name__, policy(heard, view)) for policy in asked)
    else:
        stage: Stage = "open_beside" if beside else "addressed" if heard.skill else "open"
        tried = ((policy.__name__, policy(heard)) for policy in POLICIES[stage])
    name, outcome = next((one for one in tried if one[1] is not None), ("", None))
    return _reading(heard.text, outcome, name)


def _reading(normalised: str, outcome: PolicyDecision | None, policy: str) -> Reading:
    if outcome is None:
        return Reading(normalised=normalised)
    route, command = outcome
    named = route.replace(policy=policy)
    return Reading(normalised=normalised, route=named, commands=[command])


@dataclass(frozen=True)
class _Wish:
    """A part of a message that may be a wish of its own; the `first` may be an answer as well."""

    whole: ParsedMessage
    clause: Clause
    first: bool

    @cached_property
    def heard(self) -> ParsedMessage:
        return self.whole.part(self.clause.start, self.clause.end)

    @property
    def words(self) -> str:
        return self.heard.utterance.normalised.typed

    @cached_property
    def reading(self) -> Reading:
        return _decided(self.heard, beside=not self.first)

    @property
    def aim(self) -> str | None:
        """What rules take it for; None where they don't, or leave it to the skill that asks."""
        taken = self.reading.route
        if taken is None or any(map(_is_for_asking_skill, self.reading.commands)):
            return None
        return taken.target or taken.kind

    @property
    def asks(self) -> bool:
        """True where it asks for something in its own words, and not of the flow that asks."""
        view = self.heard.asking
        if view is not None and view.flow in self.heard.starting:
            return False
        return asks_the_desk(self.heard.text, opened=self.clause.opened or self.first)

    def with_next(self, other: "_Wish") -> "_Wish":
        """The two as one."""
        return replace(self, clause=replace(self.clause, end=other.clause.end))

    def is_followed_by_another(self, other: "_Wish") -> bool:
        """True where what follows isn't part of this one."""
        if other.aim is None and not other.asks:
            return False
        leads_up = self.aim is None and not self.asks
        if leads_up and not (self.first and self.heard.may_be_answer):
            return False
        if self.aim is not None and self.aim == other.aim:
            return False
        return other.clause.opened or self._stands_beside(other)

    def _stands_beside(self, other: "_Wish") -> bool:
        """True where the two, which only the end of a sentence parts, aren't about one thing."""
        if self.aim is None:
            named = {match.hit.flow for match in self.heard.matches}
            return other.aim is not None and other.aim not in named
        if other.aim is not None:
            return True
        slot = self.heard.slot
        if slot is not None and slot.kind.is_text:
            return False
        # Of a request, no question about it.
        return self.heard.asking is not None or self.with_next(other).aim == self.aim


def _wishes(heard: ParsedMessage) -> list[_Wish]:
    """The wishes of a message that has several, of which rules take some; else none."""
    slot = heard.slot
    if slot is not None and slot.kind.is_text and not heard.names_its_starts:
        return []  # any text may be what a tool's form asks for
    parts = [_Wish(heard, clause, not n) for n, clause in enumerate(clauses(heard.utterance))]
    found = parts[:1]
    for part in parts[1:]:
        if found[-1].is_followed_by_another(part):
            found.append(part)
        else:
            found[-1] = found[-1].with_next(part)
    taken = len(found) > 1 and any(wish.aim for wish in found)
    return found if taken else []


def _of_several(heard: ParsedMessage, wishes: Sequence[_Wish]) -> Reading:
    """What rules make of each; what they take none of is left, or is for the skill that asks."""
    mine = [(wish.words, wish.reading) for wish in wishes if wish.aim]
    rest = " ".join(
        wish.words for wish in wishes if not wish.aim and not acts.says_nothing(wish.heard.text)
    )
    if rest and heard.situation.skill:
        said = ParsedMessage.of(
            heard.known, Utterance.of(rest, heard.situation.now), heard.situation
        )
        for_skill = _reading(said.text, skill_answer(said), skill_answer.__name__)
        mine, rest = [(rest, for_skill), *mine], ""
    first, *others = [reading.route for _, reading in mine if reading.route is not None]
    given = [_of_its_own(c, words) for words, reading in mine for c in reading.commands]
    return Reading(
        normalised=heard.text, route=first, others=others, commands=in_order(given), rest=rest
    )


def _is_for_asking_skill(command: commands.Command) -> bool:
    """Return whether the command answers the skill that has asked something, or leaves it."""
    answers = isinstance(command, commands.RunSkill) and command.addressed_by == "answer"
    return answers or isinstance(command, commands.LeaveSkill)


def _of_its_own(command: commands.Command, words: str) -> commands.Command:
    """The command as one among others: it says which words it is about."""
    if isinstance(command, commands.CallTool):
        return command.replace(id=f"{command.id}_{command.tool}")
    if isinstance(command, commands.Clarify | commands.RunSkill):
        return command.replace(about=words)
    return command


def resume(heard: ParsedMessage, active: FormView | None = None) -> PolicyDecision | None:
    """A flow that was put aside is named, or it is said that none of them is wanted."""
    situation = heard.situation
    paused = [(run, heard.known.names_of(run)) for run in situation.resumable]
    if active is not None and acts.resumes(heard.text, heard.known.names_of(active)):
        return None
    named = [run.run for run, names in paused if names.is_only(heard.text)]
    if active is not None and named and not _answers_by_name(heard, active):
        return actions.resume_run(named[-1], situation, "slot")
    asked = any(run_meant(option.value) is not None for option in situation.offered)
    busy = active is not None or bool(situation.skill)
    run = acts.resumed(heard.text, paused, asked=asked and not busy, busy=busy)
    return None if run is None else actions.resume_run(run, situation, "slot")


def _answers_by_name(heard: ParsedMessage, active: FormView) -> bool:
    """True where what does no more than name a flow may answer what is asked."""
    if heard.slot is None or heard.known.names_of(active).is_only(heard.text):
        return True
    choices = heard.slot.kind.made_of == "choices"
    chosen = choices and read_as(heard.slot, heard.utterance) is not None
    return chosen or _asks_why(active)


def dialogue_act(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """It is about the dialogue with the flow: `skip`, `help`, `say that again`."""
    act = _act(heard, view)
    return actions.outcome_of(act, view, heard.locale) if act else None


def _act(heard: ParsedMessage, view: FormView) -> acts.DialogueAct | None:
    slot, path = heard.slot, view.awaiting[0] if view.awaiting else ""
    if slot is not None and slot.choices and read_as(slot, heard.utterance) in slot.choices:
        return None
    if slot is not None and "." in path and (numbers := documents_of(slot)):
        return "skip" if numbers.are_lacking(heard.text) else acts.act_of(heard.text)
    root = view.fillable.get(path.split(".")[0])
    empty = root is not None and root.skippable and not view.slots.get(path.split(".")[0])
    yes_or_no = slot is not None and slot.kind.takes is bool
    listed = slot is not None and slot.of is not None
    return acts.act_of(heard.text, optional=empty and not yes_or_no, listed=listed)


def cancel(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """The run that asks is given up; not where the message only takes an item from its list."""
    if not heard.cancels(view):
        return None
    if view.amends and not amendments.takes_back(heard.text, heard.known.names_of(view)):
        return why.CONFIRMED.of(view, heard.locale), commands.Confirm(value=False)
    items = corrected_items(view, heard.utterance)
    only_items = items is not None and items.slots
    return None if only_items else (why.CANCELLED.of(view, heard.locale), commands.CancelFlow())


def which_item(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """Several items of a list could be meant, or the only one is to go."""
    items = corrected_items(view, heard.utterance)
    if items is None or items.slots:
        return None
    reason = why.ONLY_ITEM if items.last else why.WHICH_ITEM
    text = why.KEEP_ONLY_ITEM if items.last else why.SAY_WHICH_ITEM
    return reason.of(view, heard.locale), commands.ReplyText(text=text.within(heard.locale))


def confirmation(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """The answer to a confirmation, with what is to be put right before."""
    locale = heard.locale
    if view.status != "confirming":
        return None
    said = consent(heard.text)
    if said is not None:
        return why.CONFIRMED.of(view, locale), commands.Confirm(value=said)
    slots = put_right(view, heard.utterance)
    opening = opening_answer(heard.text)
    if opening is not None and not opening[0]:
        return why.CONFIRMED.of(view, locale), commands.Confirm(value=False, slots=slots or {})
    if slots:
        return why.filled(view, slots, locale), commands.FillSlots(slots=slots)
    return None


def go_on(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """It wants to go on with what is being talked about: the question is asked again."""
    goes_on = acts.resumes(heard.text, heard.known.names_of(view))
    return actions.outcome_of("repeat", view, heard.locale) if goes_on else None


def other_request(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """A request for another flow, or a tool, where it is more than the answer to what is asked."""
    if view.flow in heard.starting and not view.amends:
        return None
    others = {n: m for n, m in heard.starting.items() if n != view.flow or view.amends}
    if others and not _is_plain_answer(heard, view, others):
        return request(heard)
    asks_itself = any(match.hit.flow == view.flow for match in heard.tools)
    return None if asks_itself else tool_request(heard)


def _is_plain_answer(
    heard: ParsedMessage, view: FormView, others: Mapping[str, Sequence[Match]]
) -> bool:
    """True where free text is asked for, and the message asks for nothing itself.

    Only what another flow is called may well be a reason: `出差`.
    """
    slot = heard.slot
    if slot is None or not slot.kind.is_text:
        return False
    if slot.choices and read_as(slot, heard.utterance) in slot.choices:
        return True
    if any(heard.known.names[name].is_only(heard.text) for name in others):
        return _asks_why(view)
    return not acts.says_nothing(
        heard.text[: min(m.start for each in others.values() for m in each)]
    )


def _asks_why(view: FormView) -> bool:
    return view.awaiting == [reason_slot(view.fillable)]


def slot_answer(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """It answers what is asked, or puts right what was said before."""
    slots = _slots_given(heard, view) if view.status != "confirming" else None
    if slots is None:
        return None
    return why.filled(view, slots, heard.locale), commands.FillSlots(slots=slots)


def _slots_given(heard: ParsedMessage, view: FormView) -> Values | None:
    changes = view.awaiting == [CHANGE]
    corrected = (put_right if changes else correction)(view, heard.utterance)
    again = heard.starting.get(view.flow)
    if corrected or not again:
        return corrected or answer(view, heard.utterance)
    empty = {n: s for n, s in view.fillable.items() if view.slots.get(n) is None}
    said, asked = answer(view, heard.utterance) or {}, heard.slot
    given = prefill(empty, heard.utterance, again)
    if not given or asked is None or asked.kind.is_text:
        return given or said
    # What was asked is read as an answer: an end after the start that is known. What asks for the
    # flow once more is nobody's reason.
    asks = [heard.text[match.start : match.end] for match in again]
    new = {n: v for n, v in said.items() if not (isinstance(v, str) and _holds(v, asks))}
    return {**new, **given} | {name: said[name] for name in view.awaiting[:1] if name in said}


def _holds(value: str, words: Iterable[str]) -> bool:
    return any(each in normalise(value).text for each in words)


def offered_beside(heard: ParsedMessage, view: FormView) -> PolicyDecision | None:
    """One of those that were offered beside the question, by its name and nothing else."""
    named = any(
        heard.text in (normalise(option.label).text, option.value)
        for option in heard.situation.offered
        if option.value != view.flow
    )
    choices = heard.slot.choices if heard.slot else {}
    chosen = heard.slot and choices and read_as(heard.slot, heard.utterance) in choices
    return offered(heard) if named and not chosen else None


def offered(heard: ParsedMessage) -> PolicyDecision | None:
    """One of the flows that were offered, in words."""
    situation = heard.situation
    if (forgotten := forgotten_by_button(situation.offered, heard.text, heard.locale)) is not None:
        return forgotten
    listed = [option for option in situation.offered if pressed(option.value) is None]
    option = chosen_option(listed, heard.text)
    if option is not None and (run := run_meant(option.value)) is not None:
        return actions.resume_run(run, situation, "slot")
    if option is not None and (change := amendments.chosen(option.value, situation, "slot")):
        return change
    flow = heard.known.flows.get(str(option.value)) if option else None
    if flow is None or not actions.may_start(flow, situation):
        return None
    start = actions.start_offered(flow, situation, heard.known.index)
    return why.CHOSEN.of(flow, heard.locale), start


def memory(heard: ParsedMessage, _: FormView | None = None) -> PolicyDecision | None:
    """Something is to be remembered or forgotten, or it is asked what is remembered."""
    return remembering(heard.utterance, heard.locale)


def request(heard: ParsedMessage) -> PolicyDecision | None:
    """A request for a flow; for one of several that match, the question which."""
    if len(heard.starting) > 1:
        flows = [heard.known.flows[name] for name in heard.starting]
        options = [Option(label=f.title.within(heard.locale), value=f.flow) for f in flows]
        titles = ("、" if heard.locale == "zh" else ", ").join(option.label for option in options)
        route = why.SEVERAL.route(heard.locale, titles=titles)
        return route, commands.Clarify(text=why.WHICH.within(heard.locale), options=options)
    return next((_begun(heard, name, m) for name, m in heard.starting.items()), None)


def _begun(heard: ParsedMessage, name: str, matches: Sequence[Match]) -> PolicyDecision:
    flow = heard.known.flows[name]
    slots = prefill(flow.slots, heard.utterance, matches)
    words = heard.as_typed(matches[0].start, matches[0].end)
    return why.MATCHED.of(flow, heard.locale, words=words), commands.StartFlow(
        flow=name, slots=slots
    )


def cancel_at_work(heard: ParsedMessage) -> PolicyDecision | None:
    """A run that asks nothing is called off while it is at work, or waits for approval."""
    at_work, handed_in = heard.situation.at_work, heard.situation.handed_in
    if at_work is not None and heard.cancels(at_work):
        return why.CANCELLED.of(at_work, heard.locale), commands.CancelFlow()
    if handed_in and acts.withdraws(heard.text):
        return why.CANCELLED.of(handed_in[-1], heard.locale), commands.Withdraw()
    return None


def amendment(heard: ParsedMessage) -> PolicyDecision | None:
    """What was handed in, and waits for approval, is to be other."""
    waiting = heard.situation.handed_in
    named = [v.id for v in waiting if heard.known.names_of(v).in_text(heard.text)]
    return amendments.read(heard.situation, heard.utterance, named)


def tool_request(heard: ParsedMessage) -> PolicyDecision | None:
    """A tool that the message asks for in one of its sentences; the first of several."""
    for match in heard.tools:
        tool = heard.known.phrases.tools[match.hit.flow]
        arguments = _arguments(heard, tool.tool, match)
        at_once = tool.reads and tool.needs <= arguments.keys()
        if not at_once and tool.tool in heard.known.flows:
            return _begun(heard, tool.tool, [match])
        if at_once:
            words = heard.as_typed(match.start, match.end)
            title = tool.title.within(heard.locale)
            route = why.TOOL.route(heard.locale, tool.tool, title=title, words=words)
            return route, commands.CallTool(id=_CALL, tool=tool.tool, arguments=arguments)
    return None


def _arguments(heard: ParsedMessage, tool: str, match: Match) -> Values:
    """What the groups of the sentence hold, as the tool takes it; a choice that is none is left."""
    form = heard.known.flows.get(tool)
    named: Values = {}
    for name, span in match.groups.items():
        typed = heard.as_typed(*span)
        slot = form.slots.get(name) if form else None
        value = coerced(slot, typed, heard.utterance.now) if slot else typed
        if slot is None or not slot.choices or value in slot.choices:
            named[name] = value
    return named


def called_skill(heard: ParsedMessage) -> PolicyDecision | None:
    """A skill that it calls by name, whatever else stands in it or is asked."""
    skill, situation = heard.known.skills.called_in(heard.text), heard.situation
    if skill is None or not situation.may_use("skill", skill.name, skill.roles):
        return None
    said = heard.as_typed(0, len(heard.text))
    command = commands.RunSkill(skill=skill.name, request=said, addressed_by="name")
    title = skill.title.within(heard.locale)
    return why.SKILL_CALLED.route(heard.locale, skill.name, title=title), command


def skill_answer(heard: ParsedMessage) -> PolicyDecision | None:
    """What a skill asked is answered by whatever no flow takes; the skill can hand it back."""
    skill = heard.situation.skill
    if not skill or heard.skill not in ("", skill):
        return None
    agreed = consent(heard.text) if heard.situation.plan else None
    if agreed is not None:
        return actions.of_plan(heard.situation, agreed=agreed, by="slot")
    if acts.cancels(heard.text):
        return why.SKILL_LEFT.route(heard.locale, skill, skill=skill), commands.LeaveSkill()
    said = heard.as_typed(0, len(heard.text))
    command = commands.RunSkill(skill=skill, request=said, addressed_by="answer")
    return why.SKILL_ANSWERED.route(heard.locale, skill, skill=skill), command


def for_a_person(heard: ParsedMessage) -> PolicyDecision | None:
    """A person is wanted, not the desk."""
    if not acts.asks_for_a_person(heard.text):
        return None
    route = why.FOR_A_PERSON.route(heard.locale)
    told = why.FOR_A_PERSON.told()
    return route, commands.HandOff(reason=route.reason, why=told, asked=True)


def about_the_desk(heard: ParsedMessage) -> PolicyDecision | None:
    """What can be done here, or the last reply again, where no flow asks anything."""
    if acts.asks_what_is_here(heard.text):
        here = why.overview(heard.known.capabilities, heard.situation)
        text = f"{amendments.waiting_in_words(heard.situation)}{here}"
        return why.WHAT_IS_HERE.route(heard.locale), commands.ReplyText(text=text)
    if acts.asks_again(heard.text):
        return why.AGAIN.route(heard.locale), commands.Repeat()
    return None


CORE_POLICIES: Mapping[Stage, Sequence[Policy]] = {
    "asked": (
        *(resume, dialogue_act, memory, cancel, which_item),
        *(confirmation, go_on, offered_beside, other_request, slot_answer),
    ),
    "asked_beside": (memory, other_request),
    "addressed": (resume, offered, skill_answer),
    "open": (
        *(resume, offered, memory, request, cancel_at_work, amendment),
        *(tool_request, for_a_person, skill_answer, about_the_desk),
    ),
    "open_beside": (resume, memory, request, tool_request, skill_answer),
}
"""The policies of the core, in their order."""

for _stage, _policies in CORE_POLICIES.items():
    for _policy in _policies:
        register_policy(_policy, _stage)


def add_policies(policies: Iterable[AddablePolicy], extension: str) -> None:
    """Ask the policies of an extension after those that there are, all of them or none.

    Raises:
        ExtensionConflict: One can't be used, or has the name of another one.
    """
    before = {stage: [*asked] for stage, asked in POLICIES.items()}
    try:
        for policy in policies:
            register_policy(AddedPolicy(policy, extension), *ADDED_STAGES)
    except ExtensionConflict:
        POLICIES.update(before)
        raise
