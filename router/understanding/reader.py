"""Reading a message: what it means as far as rules can tell, without a model.

Rules are tried in the order in which they are certain: a button; a word that calls off; the
answer to a confirmation; a request for another flow; the answer to what is asked; and, where
no flow asks anything, an offered option, a request, the answer to what a skill asked, or a
word that calls off what is still at work. Acts about the dialogue itself come before answers,
and sentences that ask for a tool after requests.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    Confirm,
    FillSlots,
    LeaveSkill,
    Repeat,
    ReplyText,
    RunSkill,
    StartFlow,
    Withdraw,
)
from router.domain.messages import Message, Option, Route
from router.domain.principals import Capability
from router.entities.booleans import consent, opening_answer
from router.entities.choices import chosen_option
from router.entities.documents import has_no_document
from router.entities.extraction import entities_of
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition, Slot
from router.flow.engine.changes import CHANGE
from router.flow.paused import Situation, run_meant
from router.flow.view import FlowView
from router.understanding import route_reasons
from router.understanding.actions import may_start, outcome_of, read_action, start_offered, take_up
from router.understanding.corrections.values import corrected_items, correction, put_right
from router.understanding.dialogue_acts import (
    Act,
    act_of,
    asks_again,
    asks_what_is_here,
    calls_off,
    kinds_in,
    says_nothing,
    withdraws,
)
from router.understanding.names import (
    PhraseIndex,
    ToolPhrases,
    goes_on_with,
    is_named_in,
    is_only_name,
    meant,
)
from router.understanding.reading import Reading
from router.understanding.route_reasons import overview
from router.understanding.slots.answers import answer
from router.understanding.slots.forms import read_as, slot_at
from router.understanding.slots.free_text import holds_documents
from router.understanding.slots.prefill import prefill, reason_slot
from router.understanding.triggers.patterns import Match, PatternIndex

Outcome = tuple[Route, Command]

_CALL = "asked_for"
"""The id of a call that a message plainly asks for: it asks for one."""


@dataclass(frozen=True)
class _Heard:
    """A message with everything that was found in it before anybody judged it."""

    utterance: Utterance
    situation: Situation
    matches: Sequence[Match]
    wanted: Sequence[Match] = ()
    """Sentences that ask for a tool."""
    skill: str = ""
    """The skill that it is addressed to, if to one."""

    @cached_property
    def starting(self) -> dict[str, list[Match]]:
        """The patterns that no guard overrules, by flow."""
        by_flow: dict[str, list[Match]] = {}
        for match in self.matches:
            if match.hit.blocked_by is None:
                by_flow.setdefault(match.hit.flow, []).append(match)
        return by_flow


class Reader:
    """Reads messages against a set of flows, and of tools that are asked for in plain sentences.

    `offered` are named to whoever asks what can be done here.

    >>> reader = Reader(flows)  # doctest: +SKIP
    >>> reader.read(Message(text="我要请假"), situation).commands  # doctest: +SKIP
    [StartFlow(type='start_flow', flow='leave_request', slots={})]
    """

    def __init__(
        self,
        flows: Iterable[FlowDefinition],
        phrases: Iterable[ToolPhrases] = (),
        offered: Iterable[Capability] = (),
    ) -> None:
        self._index = PatternIndex(())
        self.replace(flows, phrases, offered)

    def replace(
        self,
        flows: Iterable[FlowDefinition],
        phrases: Iterable[ToolPhrases] = (),
        offered: Iterable[Capability] = (),
    ) -> None:
        """Read against these from the next message on."""
        known = {flow.flow: flow for flow in flows}
        self._flows, self._index = known, self._index.following(known.values())
        self._phrases, self._capabilities = PhraseIndex(phrases), tuple(offered)

    def read(self, message: Message, situation: Situation) -> Reading:
        """What the message means; no route and no commands where rules can't tell."""
        if message.action is not None:
            return _reading("", read_action(message.action, situation, self._flows, self._index))
        utterance = Utterance.of(message.text or "", situation.now)
        matches = self._index.find(utterance.normalised, situation.roles)
        wanted = self._phrases.find(utterance.normalised, situation.roles)
        outcome = self._outcome(_Heard(utterance, situation, matches, wanted, message.skill or ""))
        return _reading(utterance.text, outcome).model_copy(
            update={
                "patterns": [match.hit for match in matches],
                "entities": entities_of(utterance.normalised, utterance.things),
            }
        )

    def _outcome(self, heard: _Heard) -> Outcome | None:
        active = heard.situation.active
        taken_up = _taken_up(heard)
        if taken_up is not None:
            return taken_up
        if active is not None and active.asking:
            return self._in_flow(heard, active)
        offered = self._offered(heard)
        if offered is None and heard.skill:
            return _to_skill(heard) if heard.situation.skill == heard.skill else None
        return (
            offered
            or self._requested(heard)
            or self._called_off_at_work(heard)
            or self._wanted(heard)
            or _to_skill(heard)
            or self._about_dialogue(heard)
        )

    def _in_flow(self, heard: _Heard, view: FlowView) -> Outcome | None:
        act = _act(heard.utterance, view)
        if act is not None:
            return outcome_of(act, view, heard.situation.locale)
        if self._calls_off(heard, view):
            return route_reasons.cancelled(view, heard.situation.locale), CancelFlow()
        items = corrected_items(view, heard.utterance)
        if items is not None and not items.slots:
            return route_reasons.no_item(view, heard.situation.locale, only=items.last)
        again = None
        if goes_on_with(heard.utterance.text, view):
            again = outcome_of("repeat", view, heard.situation.locale)
        if view.status == "confirming":
            return self._confirmation(heard, view) or again or self._something_else(heard, view)
        return again or self._something_else(heard, view) or self._answered(heard, view)

    def _calls_off(self, heard: _Heard, view: FlowView) -> bool:
        """True where the message gives up this run, and not one of a kind that it names."""
        text = heard.utterance.text
        if not calls_off(text):
            return withdraws(text)
        flow, kinds = self._flows.get(view.flow), kinds_in(text)
        if flow is None or is_named_in(kinds, flow):
            return True
        others = (other for other in self._flows.values() if other.triggers.patterns)
        return not any(is_named_in(kinds, other) for other in others)

    def _something_else(self, heard: _Heard, view: FlowView) -> Outcome | None:
        """A request for another flow, or a sentence that asks for a tool."""
        another = self._another_flow(heard, view)
        asks_itself = view.flow in heard.starting or any(
            match.hit.flow == view.flow for match in heard.wanted
        )
        return another or (None if asks_itself else self._wanted(heard))

    def _confirmation(self, heard: _Heard, view: FlowView) -> Outcome | None:
        locale = heard.situation.locale
        said = consent(heard.utterance.text)
        if said is not None:
            return route_reasons.confirmed(view, locale), Confirm(value=said)
        slots = put_right(view, heard.utterance)
        opening = opening_answer(heard.utterance.text)
        if opening is not None and not opening[0]:
            return route_reasons.confirmed(view, locale), Confirm(value=False, slots=slots or {})
        if slots:
            return route_reasons.filled(view, slots, locale), FillSlots(slots=slots)
        return None

    def _another_flow(self, heard: _Heard, view: FlowView) -> Outcome | None:
        """A request for something else, where it is more than the answer to what is asked."""
        others = {name: m for name, m in heard.starting.items() if name != view.flow}
        if not others or view.flow in heard.starting or self._is_plain_answer(heard, view, others):
            return None
        return self._requested(heard)

    def _is_plain_answer(
        self, heard: _Heard, view: FlowView, others: Mapping[str, Sequence[Match]]
    ) -> bool:
        """True where free text is asked for, and the message asks for nothing itself.

        It is one of the things to choose from, or doesn't begin with the request, or is only what
        another flow is called, which may well be a reason: `出差`.
        """
        slot = _slot_asked(view)
        if slot is None or slot.type != "text":
            return False
        if slot.choices and read_as(slot, heard.utterance) in slot.choices:
            return True
        text = heard.utterance.text
        if any(is_only_name(text, self._flows[name]) for name in others):
            return _asks_why(view)
        return not says_nothing(text[: min(m.start for each in others.values() for m in each)])

    def _answered(self, heard: _Heard, view: FlowView) -> Outcome | None:
        slots = self._slots_given(heard, view)
        if slots is None:
            return None
        return route_reasons.filled(view, slots, heard.situation.locale), FillSlots(slots=slots)

    def _slots_given(self, heard: _Heard, view: FlowView) -> dict[str, JsonValue] | None:
        changes = view.awaiting == [CHANGE]
        corrected = (put_right if changes else correction)(view, heard.utterance)
        again = heard.starting.get(view.flow)
        if corrected or not again:
            return corrected or answer(view, heard.utterance)
        empty = {n: s for n, s in view.fillable.items() if view.slots.get(n) is None}
        return prefill(empty, heard.utterance, again) or answer(view, heard.utterance) or {}

    def _offered(self, heard: _Heard) -> Outcome | None:
        option = chosen_option(heard.situation.offered, heard.utterance.text)
        if option is not None and (run := run_meant(option.value)) is not None:
            return take_up(run, heard.situation, "slot")
        flow = self._flows.get(str(option.value)) if option else None
        if flow is None or not may_start(flow, heard.situation):
            return None
        start = start_offered(flow, heard.situation, self._index)
        return route_reasons.chosen(flow, heard.situation.locale), start

    def _requested(self, heard: _Heard) -> Outcome | None:
        locale = heard.situation.locale
        if len(heard.starting) > 1:
            flows = [self._flows[name] for name in heard.starting]
            options = [Option(label=f.title.within(locale), value=f.flow) for f in flows]
            route, text = route_reasons.several(flows, locale)
            return route, Clarify(text=text, options=options)
        for name, matches in heard.starting.items():
            return self._begun(heard, name, matches)
        return None

    def _begun(self, heard: _Heard, name: str, matches: Sequence[Match]) -> Outcome:
        flow = self._flows[name]
        slots = prefill(flow.slots, heard.utterance, matches)
        words = heard.utterance.normalised.as_typed(matches[0].start, matches[0].end)
        return route_reasons.matched(flow, words, heard.situation.locale), StartFlow(
            flow=name, slots=slots
        )

    def _wanted(self, heard: _Heard) -> Outcome | None:
        """A tool that the message asks for in one of its sentences; the first of several."""
        for match in heard.wanted:
            tool, locale = self._phrases.tools[match.hit.flow], heard.situation.locale
            if not tool.at_once and tool.tool in self._flows:
                return self._begun(heard, tool.tool, [match])
            if tool.at_once:
                words = heard.utterance.normalised.as_typed(match.start, match.end)
                route = route_reasons.asked_for_tool(tool.tool, tool.title, words, locale)
                named = {
                    name: heard.utterance.normalised.as_typed(*span)
                    for name, span in match.groups.items()
                }
                return route, CallTool(id=_CALL, tool=tool.tool, arguments=dict(named))
        return None

    def _called_off_at_work(self, heard: _Heard) -> Outcome | None:
        """A run that asks nothing can be called off while it is at work.

        One that was handed in can be withdrawn, too, as long as it waits for approval.
        """
        at_work, handed_in = heard.situation.at_work, heard.situation.handed_in
        locale = heard.situation.locale
        if at_work is not None and self._calls_off(heard, at_work):
            return route_reasons.cancelled(at_work, locale), CancelFlow()
        if handed_in is not None and withdraws(heard.utterance.text):
            return route_reasons.cancelled(handed_in, locale), Withdraw()
        return None

    def _about_dialogue(self, heard: _Heard) -> Outcome | None:
        """What can be done here, or the last reply again, where no flow asks anything."""
        text, situation = heard.utterance.text, heard.situation
        if asks_what_is_here(text):
            said = overview(self._capabilities, situation.roles, situation.locale)
            return route_reasons.asked_what_is_here(situation.locale), ReplyText(text=said)
        if asks_again(text):
            return route_reasons.asked_again(situation.locale), Repeat()
        return None


def _act(utterance: Utterance, view: FlowView) -> Act | None:
    """What the message is about the dialogue; None where it is one of the choices asked for."""
    path, slot = view.awaiting[0] if view.awaiting else "", _slot_asked(view)
    if slot is not None and slot.choices and read_as(slot, utterance) in slot.choices:
        return None
    if slot is not None and "." in path and holds_documents(path.rpartition(".")[2], slot):
        return "skip" if has_no_document(utterance.text) else act_of(utterance.text)
    root = view.fillable.get(path.split(".")[0])
    empty = root is not None and root.skippable and not view.slots.get(path.split(".")[0])
    yes_or_no = slot is not None and slot.type == "boolean"
    listed = slot is not None and slot.type == "list"
    return act_of(utterance.text, optional=empty and not yes_or_no, listed=listed)


def _taken_up(heard: _Heard) -> Outcome | None:
    """A flow that was put aside is named, or it is said that none of them is wanted."""
    situation, text = heard.situation, heard.utterance.text
    active = situation.active if situation.active and situation.active.asking else None
    asked = any(run_meant(option.value) is not None for option in situation.offered)
    if active is not None and goes_on_with(text, active):
        return None
    if active is not None and (run := _named_in_between(heard, active)):
        return take_up(run, situation, "slot")
    busy = active is not None or bool(situation.skill)
    run = meant(text, situation.put_aside, asked=asked and not busy, busy=busy)
    return None if run is None else take_up(run, situation, "slot")


def _named_in_between(heard: _Heard, active: FlowView) -> str | None:
    """The run put aside that the message does no more than name, where a name answers nothing."""
    text, slot = heard.utterance.text, _slot_asked(active)
    if slot is None or _asks_why(active) or is_only_name(text, active):
        return None
    if slot.type == "choice" and read_as(slot, heard.utterance) is not None:
        return None
    runs = [one.run for one in heard.situation.put_aside if is_only_name(text, one)]
    return runs[-1] if runs else None


def _slot_asked(view: FlowView) -> Slot | None:
    return slot_at(view.fillable, view.awaiting[0]) if view.awaiting else None


def _asks_why(view: FlowView) -> bool:
    """True where the reason is asked for, which may be called as a flow is."""
    return view.awaiting == [reason_slot(view.fillable)]


def _to_skill(heard: _Heard) -> Outcome | None:
    """What a skill asked is answered by whatever no flow takes; the skill can hand it back."""
    skill, locale = heard.situation.skill, heard.situation.locale
    if not skill:
        return None
    if calls_off(heard.utterance.text):
        return route_reasons.skill_left(skill, locale), LeaveSkill()
    words = heard.utterance.normalised.as_typed(0, len(heard.utterance.text))
    command = RunSkill(skill=skill, request=words)
    return route_reasons.skill_answered(skill, locale), command


def _reading(normalised: str, outcome: Outcome | None) -> Reading:
    if outcome is None:
        return Reading(normalised=normalised)
    route, command = outcome
    return Reading(normalised=normalised, route=route, commands=[command])
