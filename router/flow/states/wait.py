"""Waiting: for a moment, a while, or an event from outside."""

from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar

from router.documents.document import Place
from router.documents.validation import Complaint
from router.domain.locale import Localised
from router.flow.definition import FlowDefinition, Next, Outline, State, Wait
from router.flow.engine import waiting
from router.flow.engine.context import StepContext
from router.flow.prompts.values import span
from router.flow.validation.draft import DECISION, ERROR, complaint
from router.flow.validation.references import NAME

_UNTIL = Localised(zh="直到 {}", en="until {}")
_FOR = Localised(zh="{}", en="for {}")
_EVENT = Localised(zh="事件 {}", en="for {} to happen")


class WaitState(State):
    """Waits for a day, a while or an event."""

    kind: ClassVar[str] = "wait"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    may: ClassVar[tuple[str, ...]] = ("late",)
    label: ClassVar[Localised] = Localised(zh="等待", en="waits")
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
        yield from self._late(place)
        if self.wait.event is not None:
            yield from _event((*place, "wait"), self.wait)
            yield from _means_another(whole, (*place, "wait", "event"), self.wait)

    def _late(self, place: Place) -> Iterator[Complaint]:
        wait = self.wait
        timed = wait.until is not None or wait.duration is not None
        if wait.event is None or not timed:
            if self.late:
                yield complaint(
                    (*place, "late"),
                    f"{place[-1]} is never late",
                    "late is for a wait with an event, and until or for",
                )
        elif not self.late:
            yield complaint(
                place, f"nothing is said for when {wait.event} comes too late", "add late: <state>"
            )
        if wait.event is None and (wait.roles or wait.fields):
            yield complaint(
                (*place, "wait"),
                "roles and fields are an event's",
                "add event: <name>, or remove them",
            )

    @property
    def shown(self) -> Localised | str:
        """The event, and how long or until when."""
        wait = self.wait
        event = [(_EVENT, wait.event, wait.event)] if wait.event else []
        spans = (
            [(_FOR, span(wait.duration, "zh"), span(wait.duration, "en"))] if wait.duration else []
        )
        until = [(_UNTIL, wait.until, wait.until)] if wait.until else []
        said = [*event, *spans, *until]
        return Localised(
            zh="，".join(words.zh.format(zh) for words, zh, _ in said),
            en=", ".join(words.en.format(en) for words, _, en in said),
        )


def _event(place: Place, wait: Wait) -> Iterator[Complaint]:
    name = wait.event or ""
    if not NAME.match(name) or name in (DECISION, ERROR):
        yield complaint(
            (*place, "event"),
            f"{name!r} can't be an event's name",
            "use small letters, digits and _, a letter first, and neither decision nor error",
        )
    if not wait.roles:
        yield complaint(
            place, f"nobody may tell that {name} happened", "add roles: [warehouse], say"
        )
    for field, slot in wait.fields.items():
        here = (*place, "fields", field)
        if not NAME.match(field):
            remedy = "use small letters, digits and _, and a letter first"
            yield complaint(here, f"{field!r} can't be a name here", remedy)
        if slot.kind.is_file:
            yield complaint(
                here, "an event brings no file: it would be nobody's", "have it bring a text"
            )
        for key in ("check", "lookup", "ask"):
            if getattr(slot, key):
                yield complaint(
                    (*here, key), f"{key} does nothing in an event's field", "remove it"
                )
        part = slot.kind.made_of
        if part and not getattr(slot, part):
            remedy = f"add {part}: …"
            yield complaint(here, f"a field of type {slot.type} needs {part}", remedy)


def _means_another(whole: FlowDefinition, here: Place, wait: Wait) -> Iterator[Complaint]:
    """That an earlier state waits for an event of this name otherwise, or a result has it."""
    waits = (state.awaits for state in whole.states.values())
    first = next(each for each in waits if each is not None and each.event == wait.event)
    if (first.roles, first.fields) != (wait.roles, wait.fields):
        yield complaint(
            here,
            f"another state waits for {wait.event} by others, or with other fields",
            "write the same roles and fields in both, or give the event another name",
        )
    if wait.event in {state.saves for state in whole.states.values() if state.saves}:
        what = f"another state saves its result as {wait.event}"
        yield complaint(here, what, "give one of the two another name")
