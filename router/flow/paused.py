"""Flows that wait to be taken up again, and the situation that a message is said in.

Paused ones' runs go on; lapsed ones' are over, but what these were told is kept, and another run
begins with it.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.domain.messages import ChoicesReply, Option, offer_question
from router.domain.principals import EVERYTHING, CapabilityKind, Entitlement
from router.domain.value import Value
from router.flow.engine.slots import LONGEST
from router.flow.slot_types.slot import Slot, label_of, shown
from router.flow.view import FlowView, FormView

WHICH = Localised(
    zh="还有几件没办完，接着办哪一件？",
    en="Several things are still open. Which shall we go on with?",
)
LEAVE_THEM = Localised(zh="都先放着", en="None of these: leave them")
ALL = "none"
_PREFIX = "resume:"
MOST_KNOWN = 4
"""Values that are named of a flow to say which it is."""


class PausedRun(Value):
    """One of them. `run` is its id; `known` what it was told, in short."""

    run: str
    flow: str
    title: Localised
    known: str = ""

    @classmethod
    def of(cls, view: FormView, locale: Locale) -> "PausedRun":
        """A run that is put aside."""
        known = known_in_short(view, locale)
        return cls(run=view.id, flow=view.flow, title=view.title, known=known)


def known_in_short(view: FormView, locale: Locale) -> str:
    """What the run was told, as a person reads it, in a line: its first few values."""
    told = [
        " ".join(f"{label_of(name, slot).within(locale)} {words}".split())[:LONGEST]
        for name, slot in view.fillable.items()
        if slot.label is not None and not (slot.kind.is_file or slot.of or slot.fields)
        if (words := shown(slot, view.slots.get(name), locale))
    ]
    return ("，" if locale == "zh" else ", ").join(told[:MOST_KNOWN])


def which(several: Sequence[PausedRun], locale: Locale) -> ChoicesReply:
    """The question which of several to take up; none of them is an answer too."""
    options = [*options_of(several, locale), Option(label=LEAVE_THEM.within(locale), value=value())]
    text = WHICH.within(locale)
    return ChoicesReply(text=text, options=options, question=offer_question(options))


def options_of(several: Sequence[PausedRun], locale: Locale) -> list[Option]:
    """Each by its title, and where two have the same, by what is known of them."""
    times, options = Counter(one.title for one in several), []
    for one in several:
        label = one.title.within(locale)
        if times[one.title] > 1 and one.known:
            label += f"（{one.known}）" if locale == "zh" else f" ({one.known})"
        options.append(Option(label=label, value=value(one.run)))
    return options


def value(run: str = ALL) -> str:
    """What the button for a run is worth; without one, that for none of them."""
    return f"{_PREFIX}{run}"


def run_meant(value: JsonValue) -> str | None:
    """The run that a button stands for, or `ALL`; None where it is another button."""
    if not isinstance(value, str) or not value.startswith(_PREFIX):
        return None
    return value.removeprefix(_PREFIX)


class Situation(Value):
    """Everything besides the message that its meaning may depend on.

    `now` is in the user's time zone. `offered` are the options of a question that the router asked
    last, about a message whose words are `offered_for`; `paused` names the flows that wait for
    `active` to end, the next one last; `resumable` are those that can be taken up by name;
    `handed_in` are those that wait for approval, the latest last. `skill`
    names the sub-agent that asked something, and `plan` that question where it shows its plan;
    `answered` is the one that answered last. `in_play` are the capabilities that the last answer
    came from.
    """

    now: datetime
    locale: Locale
    roles: frozenset[str]
    entitlement: Entitlement = EVERYTHING
    active: FlowView | None = None
    paused: list[str] = []
    resumable: list[PausedRun] = []
    at_work: FlowView | None = None
    handed_in: list[FlowView] = []
    skill: str = ""
    plan: str = ""
    answered: str = ""
    in_play: list[str] = []
    offered: list[Option] = []
    offered_for: str = ""
    handed_off: bool = False
    """True while the conversation is with a person: no model hears what is said."""
    slot_sets: dict[str, dict[str, Slot]] = {}
    """The slots that a person may fill of `active` and of those `handed_in`, each set once."""

    @cached_property
    def active_form(self) -> FormView | None:
        """The run that is talked about, with its slots."""
        return self.active.with_slots(self.slot_sets) if self.active else None

    @cached_property
    def handed_in_forms(self) -> list[FormView]:
        """The runs that wait for approval, with their slots."""
        return [view.with_slots(self.slot_sets) for view in self.handed_in]

    def showing(
        self, active: FormView | None = None, handed_in: Sequence[FormView] = ()
    ) -> "Situation":
        """Return the situation with these runs as the active one and those that are handed in."""
        forms = [*([active] if active else []), *handed_in]
        return self.replace(
            active=active and active.without_slots(),
            handed_in=[view.without_slots() for view in handed_in],
            slot_sets={view.slot_set: view.fillable for view in forms},
        )

    def may_use(self, kind: CapabilityKind, name: str, roles: frozenset[str]) -> bool:
        """True where the person's tenant has it, and they one of the roles that it is for."""
        return self.entitlement.covers(kind, name) and (not roles or bool(roles & self.roles))
