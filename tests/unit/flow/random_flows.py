"""Flows drawn at random, as the loader would let them pass: `flows()` is a Hypothesis strategy.

Three tables say what is drawn, and are what to add to: `SLOTS` (what a flow may have to know),
`KINDS` (how a state of each kind is written) and `TEXTS`. Which exits a kind has is the
validation's own table. States stand in a row and lead forward; they lead back only from where
a person or time is waited for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from router.domain.messages import ENDED
from router.flow.definition import KINDS as STATES
from router.flow.definition import FlowDefinition
from router.flow.language.expressions import slots_read
from router.flow.validation import Complaint, UncheckedFlow, complaints_about
from router.flow.validation.graph import reached_from
from tests.unit.flow.definitions import flow_of, text

Source = dict[str, Any]


def asked(kind: str, **more: Any) -> Source:
    """A slot of this type that is asked for."""
    return {"type": kind, "label": text(kind), "ask": text(f"Which {kind}?"), **more}


IN_ORDER = {"that": "slots.end >= slots.start", "say": text("The end is too early.")}
UNCLAIMED = {"that": "!claimed(item.invoice)", "say": text("{{ slots.items[0].invoice }} again.")}
OF_CLAIM = {"amount": asked("money"), "invoice": asked("text", check=[UNCLAIMED])}
CHOICES = {"a": {"label": text("first")}, "b": {"label": text("second")}}

SLOTS: dict[str, Source] = {
    "kind": asked("choice", choices=CHOICES),
    "start": asked("date"),
    "end": asked("date", check=[IN_ORDER], lookup="last_workday(slots.start, slots.duration)"),
    "duration": {"type": "duration", "required": False},
    "days": {"type": "number", "label": text("Days"), "lookup": "workdays(slots.start, slots.end)"},
    "sum": asked("number", check=[{"that": "slots.sum < 1000.0", "say": text("Too much.")}]),
    "note": asked("text", required=False, **{"=skippable": True}),
    "agreed": asked("boolean"),
    "paper": asked("file"),
    "items": asked("list", of={"type": "object", "fields": OF_CLAIM}, max=3, ask=None),
    "tags": asked("list", of=asked("text"), min=2, max=3, ask=None),
    "place": asked("object", fields={"town": asked("text"), "room": asked("integer")}),
    "boss": {"type": "text", "required": False, "lookup": "manager(requester)"},
    "rank": asked("choice", choices=CHOICES, lookup="manager(requester)"),
}
"""By name. One that reads others is drawn with those that it reads."""

TEXTS = (
    *("Well.", "{{ shown.SLOT }}", "{% if slots.SLOT %}{{ slots.SLOT }}{% endif %}"),
    "{{ 60 / slots.SLOT }}",
)
"""The last can't be rendered for most slots."""


@dataclass
class Around:
    """What a state being drawn may refer to."""

    draw: st.DrawFn
    slots: list[str]
    collects: dict[str, list[str]] = field(default_factory=dict)

    @property
    def filled(self) -> list[str]:
        """The slots that an expression may count on."""
        collected = {name for names in self.collects.values() for name in names}
        required = {n for n in collected if SLOTS[n].get("required", True)}
        return [n for n in self.slots if n in required or "lookup" in SLOTS[n]]

    def one(self, *of: Any) -> Any:
        return self.draw(st.sampled_from(of))

    def text(self) -> dict[str, str]:
        few = TEXTS[:-1] * 5  # or next to no flow would come to its end
        return text(self.one(*few, TEXTS[-1]).replace("SLOT", self.one(*self.slots)))

    def arguments(self) -> dict[str, str]:
        """At most two arguments, of slots that are filled by then, and of what is looked up."""
        given = [*(f"slots.{name}" for name in self.filled), "manager(requester)", "'x'"]
        few = self.draw(st.lists(st.sampled_from(given), max_size=2, unique=True))
        return dict(zip("ab", few, strict=False))

    def condition(self) -> str:
        """Something that holds or doesn't, perhaps only once it has been looked up."""
        possible = [
            "manager(requester) == 'bob'",
            "requester.name == 'Alice'",
            "size(role('x')) > 1",
        ]
        possible += [f"has(slots.{name})" for name in self.slots]
        possible += ["slots.sum > 3.0"] if "sum" in self.filled else []
        return str(self.one(*possible))


def collect(around: Around, name: str) -> Source:
    return {"collect": around.collects[name]}


def check(around: Around, _: str) -> Source:
    return {"check": "look", "with": around.arguments()}


def call(around: Around, name: str) -> Source:
    source: Source = {"call": f"do_{name}", "with": around.arguments()}
    source |= {"save": "found"} if around.one(False, True) else {}
    source |= {"undo": f"undo_{name}"} if around.one(True, True, False) else {}
    if around.one(False, False, True):
        return each(around, source)
    source |= {"retry": {"attempts": 2, "every": "PT1H"}} if around.one(False, True) else {}
    return source | ({"hold": True} if around.one(False, False, True) else {})


def each(around: Around, source: Source) -> Source:
    """The same for each item of a list, which may be empty."""
    lists = [f"slots.{name}" for name in around.filled if SLOTS[name]["type"] == "list"]
    several = around.one("['a', 'b', 'c']", "[]", "role('hr')", *lists)
    at_once = around.one({}, {"at_once": 2})
    return {**source, "each": several, "with": {**source["with"], "what": "item"}, **at_once}


def start_flow(around: Around, _: str) -> Source:
    source: Source = {"flow": "other", "with": around.arguments()}
    source |= {"save": "other"} if around.one(False, True) else {}
    source |= {"detached": True} if around.one(False, False, True) else {}
    return each(around, source) if around.one(False, True) else source


def parallel(around: Around, name: str) -> Source:
    source: Source = {"parallel": [f"{name}_{side}" for side in ("left", "right")]}
    source |= {"wait_for": around.one("all", "any"), "rest": around.one("stop", "finish")}
    return source | ({"save": "said"} if around.one(False, True) else {})


def confirm(around: Around, _: str) -> Source:
    return {"confirm": around.text()}


PEOPLE = ("manager(requester)", "role('hr')", "'carol'", "['dave', 'erin']", "requester.id")


def approve(around: Around, _: str) -> Source:
    few = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=2, unique=True)
    ask: Source = {"by": around.draw(few), "title": around.text()}
    ask["mode"] = around.one("any", "all", "sequential")
    ask |= {"otherwise": "role('hr')"} if around.one(False, True) else {}
    ask |= {"cc": "'gina'"} if around.one(False, True) else {}
    ask |= {"remind_every": "PT24H"} if around.one(False, True) else {}
    ask |= {"expire_after": "P4D"} if around.one(False, True) else {}
    late = {"escalate_after": "PT48H", "escalate_to": "manager(approver)"}
    ask |= late if around.one(False, True) else {}
    timed = ask.keys() & {"remind_every", "expire_after", "escalate_after"}
    return {"approve": ask | ({"hours": "working"} if timed and around.one(False, True) else {})}


ARRIVAL: Source = {"event": "arrived", "roles": ["x"], "fields": {"boxes": {"type": "integer"}}}


def wait(around: Around, _: str) -> Source:
    until = [{"until": f"slots.{name}"} for name in ("start", "end") if name in around.filled]
    looked_up = {"until": "last_workday(day(now), 2)"}
    time = around.one({"for": "PT1H"}, {"until": "plus_days(now, 2)"}, looked_up, *until)
    return {"wait": around.one(time, ARRIVAL, {**ARRIVAL, **time})}


def say(around: Around, _: str) -> Source:
    collected = sorted({name for names in around.collects.values() for name in names})
    few = st.lists(st.sampled_from(collected), max_size=2, unique=True)
    return {"say": around.text(), "forget": around.draw(few)}


KINDS: dict[str, Callable[[Around, str], Source]] = {
    "collect": collect,
    "check": check,
    "call": call,
    "flow": start_flow,
    "parallel": parallel,
    "confirm": confirm,
    "approve": approve,
    "wait": wait,
    "say": say,
}
"""How the keys of a state are drawn, but for its exits."""


@st.composite
def flows(draw: st.DrawFn) -> FlowDefinition:
    """A flow with at most eight states of any kind besides its ends, which are all there are."""
    slots = draw(slot_names())
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=7))
    row = {f"{kind}_{n}": kind for n, kind in enumerate([*kinds, "collect"])}
    start = draw(st.sampled_from(["collect", next(iter(row))]))
    if start == "collect":
        row = {"collect": "collect", **row}
    around = Around(draw, slots)
    around.collects = collected(around, [name for name, kind in row.items() if kind == "collect"])
    states = {name: KINDS[kind](around, name) for name, kind in row.items()}
    for name in row:
        states[name] |= exits(around, row, name, states[name])
    for name in row:
        states |= branches(around, states[name])
    states |= {status: {"end": status} for status in sorted(ENDED)}
    known, idle = {name: SLOTS[name] for name in slots}, around.one("PT1H", "P3D")
    definition = only_reached(flow_of("drawn", states, known, idle=idle))
    assume(not list(complaints(definition)))
    return definition


@st.composite
def slot_names(draw: st.DrawFn) -> list[str]:
    """Some slots, with those that their lookups and checks read."""
    names = set(draw(st.lists(st.sampled_from(sorted(SLOTS)), min_size=1, max_size=4)))
    asked_for = [name for name in SLOTS if is_asked(name)]
    names.add(draw(st.sampled_from(asked_for)))
    while more := {read for name in names for read in read_by(name)} - names:
        names |= more
    return [name for name in SLOTS if name in names]


def is_asked(name: str) -> bool:
    return "ask" in SLOTS[name]


def read_by(name: str) -> frozenset[str]:
    checks = [one["that"] for one in SLOTS[name].get("check", ())]
    read = [slots_read(source) for source in [*checks, SLOTS[name].get("lookup", "null")]]
    return frozenset[str]().union(*read)


def collected(around: Around, states: list[str]) -> dict[str, list[str]]:
    """What each `collect` asks for: every slot that can be asked is somewhere."""
    askable = [name for name in around.slots if is_asked(name)]
    collects: dict[str, list[str]] = {state: [] for state in states}
    for name in askable:
        collects[around.one(*states)].append(name)
    return {s: names or [around.one(*askable)] for s, names in collects.items()}


def exits(around: Around, row: dict[str, str], name: str, source: Source) -> Source:
    """The exits that the state needs, and some of those that it may have.

    The first leads on to the next in the row at last, so that no state is beyond reach.
    """
    following, (needed, possible) = next_in(row, name), exits_of(row[name], source)
    first, *others = needed
    some = [exit_ for exit_ in possible if around.one(False, True)]
    found = {exit_: way_out(around, ways(row, name, exit_, source)) for exit_ in (*others, *some)}
    if first == "join":
        return found | {first: following}
    return found | {first: way_out(around, ways(row, name, first, source), last=following)}


Exits = tuple[tuple[str, ...], tuple[str, ...]]
"""Those that a state needs, and those that it may have."""


def exits_of(kind: str, source: Source) -> Exits:
    """The kind's exits, where they depend on what else the state says too."""
    if kind == "say" or "detached" in source:
        return ("next",), ()
    if kind == "flow":
        return ("completed",), ("otherwise",)
    if kind == "wait":
        timed_event = "event" in source["wait"] and source["wait"].keys() - ARRIVAL
        return ("next", "late") if timed_event else ("next",), ()
    if kind == "approve" and "expire_after" not in source["approve"]:
        return STATES[kind].needs, ("returned",)
    return STATES[kind].needs, STATES[kind].may


def branches(around: Around, source: Source) -> dict[str, Source]:
    """The states in which the branches of this one stand, from where they come to its join."""
    told: Source = {"say": around.text(), "next": source.get("join")}
    asked_: Source = {"confirm": around.text(), "confirmed": source.get("join")}
    asked_ |= {"declined": around.one(*sorted(ENDED))}
    return {name: around.one(told, asked_) for name in source.get("parallel", ())}


def next_in(row: dict[str, str], name: str) -> str:
    names = [*row, "completed"]
    return names[names.index(name) + 1]


def way_out(around: Around, to: list[str], last: str = "") -> Any:
    """One state, or one of two, as a condition has it."""
    last = last or around.one(*to)
    if around.one(False, False, True):
        return [{"if": around.condition(), "to": around.one(*to)}, {"to": last}]
    return last


def ways(row: dict[str, str], name: str, exit_: str, source: Source) -> list[str]:
    """The states that an exit may lead to: those further on, and where it rests any other."""
    names = list(row)
    place, kind = names.index(name), row[name]
    onward = [*names[place + 1 :], *sorted(ENDED)]
    if kind in ("confirm", "approve", "wait") and "until" not in source.get("wait", {}):
        return [*names[: place + 1], *onward]
    collects = [other for other in names[: place + 1] if row[other] == "collect"]
    return onward + (collects if (kind, exit_) in ASKING_ANEW else [])


ASKING_ANEW = {("check", "on_error"), ("say", "next")}
"""Ways on from a state that waits for nothing, and that may lead back to a `collect`."""


def only_reached(definition: FlowDefinition) -> FlowDefinition:
    """The definition without the ends that no way leads to."""
    steps = {name: state.targets() for name, state in definition.states.items()}
    reached = reached_from(definition.start, steps)
    states = {name: state for name, state in definition.states.items() if name in reached}
    return definition.model_copy(update={"states": states})


def complaints(definition: FlowDefinition) -> Iterator[Complaint]:
    """What the loader would have against it."""
    return complaints_about(
        UncheckedFlow(
            definition=definition,
            name=definition.flow,
            states=frozenset(definition.states),
            slots=frozenset(definition.slots),
        )
    )
