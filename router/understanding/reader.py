"""Reading a message: what it means as far as rules can tell, without a model.

Rules are tried in the order in which they are certain: a button; a word that calls off; the
answer to a confirmation; a request for another flow; the answer to what is asked; and, where
no flow asks anything, an offered option, a request, the answer to what a skill asked, or a
word that calls off what is still at work.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from router.domain.commands import (
    CancelFlow,
    Clarify,
    Command,
    Confirm,
    FillSlots,
    LeaveSkill,
    RunSkill,
    StartFlow,
)
from router.domain.messages import Message, Option, Route
from router.flow.model import FlowDefinition
from router.flow.situation import Situation
from router.flow.view import FlowView
from router.understanding import wording
from router.understanding.actions import read_action
from router.understanding.answers import answer
from router.understanding.booleans import opening_answer, yes_or_no
from router.understanding.calling_off import calls_off
from router.understanding.choices import chosen_option
from router.understanding.corrections import correction
from router.understanding.entities import entities_of
from router.understanding.forms import slot_at
from router.understanding.leftover import says_nothing
from router.understanding.naming import is_only_name
from router.understanding.patterns import Match, PatternIndex
from router.understanding.prefill import prefill, prefill_offered
from router.understanding.reading import Reading
from router.understanding.utterance import Utterance

Outcome = tuple[Route, Command]


@dataclass(frozen=True)
class _Heard:
    """A message with everything that was found in it before anybody judged it."""

    utterance: Utterance
    situation: Situation
    matches: Sequence[Match]

    @cached_property
    def starting(self) -> dict[str, list[Match]]:
        """The patterns that no guard overrules, by flow."""
        by_flow: dict[str, list[Match]] = {}
        for match in self.matches:
            if match.hit.blocked_by is None:
                by_flow.setdefault(match.hit.flow, []).append(match)
        return by_flow


class Reader:
    """Reads messages against a set of flows.

    >>> reader = Reader(flows)  # doctest: +SKIP
    >>> reader.read(Message(text="我要请假"), situation).commands  # doctest: +SKIP
    [StartFlow(type='start_flow', flow='leave_request', slots={})]
    """

    def __init__(self, flows: Iterable[FlowDefinition]) -> None:
        self._index = PatternIndex(())
        self.replace(flows)

    def replace(self, flows: Iterable[FlowDefinition]) -> None:
        """Read against these from the next message on."""
        known = {flow.flow: flow for flow in flows}
        self._flows, self._index = known, self._index.following(known.values())

    def read(self, message: Message, situation: Situation) -> Reading:
        """What the message means; no route and no commands where rules can't tell."""
        if message.action is not None:
            return _reading("", read_action(message.action, situation, self._flows))
        utterance = Utterance.of(message.text or "", situation.now)
        matches = self._index.find(utterance.normalised, situation.roles)
        outcome = self._outcome(_Heard(utterance, situation, matches))
        return _reading(utterance.text, outcome).model_copy(
            update={
                "patterns": [match.hit for match in matches],
                "entities": entities_of(utterance.normalised, utterance.things),
            }
        )

    def _outcome(self, heard: _Heard) -> Outcome | None:
        active = heard.situation.active
        if active is not None and active.asking:
            return self._in_flow(heard, active)
        return (
            self._offered(heard)
            or self._requested(heard)
            or _to_skill(heard)
            or _called_off_at_work(heard)
        )

    def _in_flow(self, heard: _Heard, view: FlowView) -> Outcome | None:
        if calls_off(heard.utterance.text):
            return wording.cancelled(view, heard.situation.locale), CancelFlow()
        if view.status == "confirming":
            return self._confirmation(heard, view) or self._another_flow(heard, view)
        return self._another_flow(heard, view) or self._answered(heard, view)

    def _confirmation(self, heard: _Heard, view: FlowView) -> Outcome | None:
        locale = heard.situation.locale
        said = yes_or_no(heard.utterance.text)
        if said is not None:
            return wording.confirmed(view, locale), Confirm(value=said)
        slots = correction(view, heard.utterance)
        opening = opening_answer(heard.utterance.text)
        if opening is not None and not opening[0]:
            return wording.confirmed(view, locale), Confirm(value=False, slots=slots or {})
        if slots:
            return wording.filled(view, slots, locale), FillSlots(slots=slots)
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

        It doesn't begin with the request, or it is only what another flow is called.
        """
        slot = slot_at(view.fillable, view.awaiting[0]) if view.awaiting else None
        if slot is None or slot.type != "text":
            return False
        text = heard.utterance.text
        if any(is_only_name(text, self._flows[name]) for name in others):
            return True
        return not says_nothing(text[: min(m.start for each in others.values() for m in each)])

    def _answered(self, heard: _Heard, view: FlowView) -> Outcome | None:
        slots = self._slots_given(heard, view)
        if slots is None:
            return None
        return wording.filled(view, slots, heard.situation.locale), FillSlots(slots=slots)

    def _slots_given(self, heard: _Heard, view: FlowView) -> dict[str, JsonValue] | None:
        again = heard.starting.get(view.flow)
        if again:
            empty = {n: s for n, s in view.fillable.items() if view.slots.get(n) is None}
            return prefill(empty, heard.utterance, again) or answer(view, heard.utterance) or {}
        return correction(view, heard.utterance) or answer(view, heard.utterance)

    def _offered(self, heard: _Heard) -> Outcome | None:
        option = chosen_option(heard.situation.offered, heard.utterance.text)
        flow = self._flows.get(str(option.value)) if option else None
        if flow is None or not _may(flow, heard.situation):
            return None
        situation = heard.situation
        slots = prefill_offered(flow.slots, situation.offered_for, situation.now)
        return wording.chosen(flow, situation.locale), StartFlow(flow=flow.flow, slots=slots)

    def _requested(self, heard: _Heard) -> Outcome | None:
        locale = heard.situation.locale
        if len(heard.starting) > 1:
            flows = [self._flows[name] for name in heard.starting]
            options = [Option(label=f.title.within(locale), value=f.flow) for f in flows]
            route, text = wording.several(flows, locale)
            return route, Clarify(text=text, options=options)
        for name, matches in heard.starting.items():
            flow = self._flows[name]
            slots = prefill(flow.slots, heard.utterance, matches)
            words = heard.utterance.normalised.as_typed(matches[0].start, matches[0].end)
            return wording.matched(flow, words, locale), StartFlow(flow=name, slots=slots)
        return None


def _to_skill(heard: _Heard) -> Outcome | None:
    """What a skill asked is answered by whatever no flow takes; the skill can hand it back."""
    skill, locale = heard.situation.skill, heard.situation.locale
    if not skill:
        return None
    if calls_off(heard.utterance.text):
        return wording.skill_left(skill, locale), LeaveSkill()
    words = heard.utterance.normalised.as_typed(0, len(heard.utterance.text))
    command = RunSkill(skill=skill, request=words)
    return wording.skill_answered(skill, locale), command


def _called_off_at_work(heard: _Heard) -> Outcome | None:
    """A run that asks nothing, and was said to be still at work, can be called off."""
    at_work = heard.situation.at_work
    if at_work is None or not calls_off(heard.utterance.text):
        return None
    return wording.cancelled(at_work, heard.situation.locale), CancelFlow()


def _may(flow: FlowDefinition, situation: Situation) -> bool:
    return not flow.triggers.roles or bool(flow.triggers.roles & situation.roles)


def _reading(normalised: str, outcome: Outcome | None) -> Reading:
    if outcome is None:
        return Reading(normalised=normalised)
    route, command = outcome
    return Reading(normalised=normalised, route=route, commands=[command])
