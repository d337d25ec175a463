"""Waiting: for a moment, a while, or an event from outside."""

from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar

from router.domain.locale import Localised
from router.flow.definition import FlowDefinition, Next, Outline, State, Wait, register_state_kind
from router.flow.engine import waiting
from router.flow.engine.context import StepContext
from router.flow.prompts.values import span
from router.flow.validation.references import NAME
from router.flow.validation.unchecked import DECISION, ERROR, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


@register_state_kind
class WaitState(State):
    """Waits for a day, a while or an event."""

    kind: ClassVar[str] = "wait"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    may: ClassVar[tuple[str, ...]] = ("late",)
    label: ClassVar[Localised] = Localised(zh="等待", en="waits")
    about: ClassVar[Localised] = Localised(
        zh="等到某个时间，或等外部发生某件事。",
        en="Waits for a moment, or until something has happened outside.",
    )
    outline: ClassVar[Outline] = Outline(mermaid=("([", "])"), radius=1000)

    wait: Wait
    """Waits for a day, a while or an event."""
    next: Next = ()
    """Where it goes on."""
    late: Next = ()
    """Where it goes on when the event hasn't come in time."""

    @property
    def rests(self) -> bool:
        """True for a span: a moment may be past when the state is entered."""
        return self.wait.until is None and self.wait.duration != timedelta()

    def execute(self, context: StepContext) -> bool:
        """Wait, unless it has come already."""
        return waiting.wait(context)

    def complaints_within(self, place: Place, whole: FlowDefinition) -> Iterator[Complaint]:
        """That it ends twice or never, or what is wrong with its event."""
        ends = (self.wait.until is not None) + (self.wait.duration is not None)
        if ends > 1 or (not ends and self.wait.event is None):
            remedy = 'write either until: "…" or for: PT24H'
            yield complaint((*place, "wait"), "a wait has one end", remedy)
        wait, timed = self.wait, bool(ends)
        if self.late and (wait.event is None or not timed):
            remedy = "late is for a wait with an event, and until or for"
            yield complaint((*place, "late"), f"{place[-1]} is never late", remedy)
        if wait.event is not None:
            if timed and not self.late:
                what = f"nothing is said for when {wait.event} comes too late"
                yield complaint(place, what, "add late: <state>")
            yield from _event((*place, "wait"), wait)
            yield from _means_another(whole, (*place, "wait", "event"), wait)
        elif wait.roles or wait.fields:
            what = "roles and fields are an event's"
            yield complaint((*place, "wait"), what, "add event: <name>, or remove them")

    @property
    def shown(self) -> Localised | str:
        """The event, and how long or until when."""
        wait = self.wait
        zh, en = [], []
        if wait.event:
            zh, en = [f"事件 {wait.event}"], [f"for {wait.event} to happen"]
        if wait.duration:
            zh.append(span(wait.duration, "zh"))
            en.append(f"for {span(wait.duration, 'en')}")
        if wait.until:
            zh.append(f"直到 {wait.until}")
            en.append(f"until {wait.until}")
        return Localised(zh="，".join(zh), en=", ".join(en))


def _event(place: Place, wait: Wait) -> Iterator[Complaint]:
    name = wait.event or ""
    if not NAME.match(name) or name in (DECISION, ERROR):
        remedy = "use small letters, digits and _, a letter first, and neither decision nor error"
        yield complaint((*place, "event"), f"{name!r} can't be an event's name", remedy)
    if not wait.roles:
        what = f"nobody may tell that {name} happened"
        yield complaint(place, what, "add roles: [warehouse], say")
    for field, slot in wait.fields.items():
        here = (*place, "fields", field)
        if not NAME.match(field):
            remedy = "use small letters, digits and _, and a letter first"
            yield complaint(here, f"{field!r} can't be a name here", remedy)
        if slot.kind.is_file:
            what = "an event brings no file: it would be nobody's"
            yield complaint(here, what, "have it bring a text")
        for key in ("check", "lookup", "ask"):
            if getattr(slot, key):
                what = f"{key} does nothing in an event's field"
                yield complaint((*here, key), what, "remove it")
        part = slot.kind.made_of
        if part and not getattr(slot, part):
            remedy = f"add {part}: …"
            yield complaint(here, f"a field of type {slot.type} needs {part}", remedy)


def _means_another(whole: FlowDefinition, here: Place, wait: Wait) -> Iterator[Complaint]:
    """That an earlier state waits for an event of this name otherwise, or a result has it."""
    waits = (state.awaits for state in whole.states.values())
    first = next(each for each in waits if each is not None and each.event == wait.event)
    if (first.roles, first.fields) != (wait.roles, wait.fields):
        what = f"another state waits for {wait.event} by others, or with other fields"
        remedy = "write the same roles and fields in both, or give the event another name"
        yield complaint(here, what, remedy)
    if wait.event in {state.saves for state in whole.states.values() if state.saves}:
        what = f"another state saves its result as {wait.event}"
        yield complaint(here, what, "give one of the two another name")
