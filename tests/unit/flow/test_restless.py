"""Ways round that wait for nothing: what loads never runs out of moves."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Began, Confirmed, Fired
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.validation import UncheckedFlow, complaints_about
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, NOW, flow_of, text

States = dict[str, dict[str, Any]]
SLOTS: dict[str, dict[str, Any]] = {
    **{name: {"type": "text", "ask": text(f"Which {name}?")} for name in ("x", "y", "z")},
    "day": {"type": "date", "ask": text("Which day?")},
}
PAST = "2026-11-01"
END: dict[str, Any] = {"end": "completed"}


def drawn_of(states: States) -> FlowDefinition:
    used = {name for state in states.values() for name in state.get("collect", ())}
    slots = {name: slot for name, slot in SLOTS.items() if name in used}
    return flow_of("drawn", {**states, "end": END}, slots)


def complaints(definition: FlowDefinition) -> list[str]:
    states, slots = frozenset(definition.states), frozenset(definition.slots)
    draft = UncheckedFlow(definition=definition, name="drawn", states=states, slots=slots)
    return [one.fault.what for one in complaints_about(draft)]


def restless(states: States) -> bool:
    return any("without ever waiting" in what for what in complaints(drawn_of(states)))


def collect(*slots: str, to: str) -> dict[str, Any]:
    return {"collect": list(slots), "next": to}


def say(*forget: str, to: str) -> dict[str, Any]:
    on = [{"if": "has(slots.x)", "to": to}, {"to": "end"}]
    return {"say": text("Well."), "forget": list(forget), "next": on}


def wait(to: str, **until: str) -> dict[str, Any]:
    return {"wait": until, "next": to}


def hear(to: str, late: str) -> dict[str, Any]:
    heard = {"event": "came", "roles": ["hr"], "until": "slots.day"}
    return {"wait": heard, "next": to, "late": late}


ALL = collect("x", "y", "day", to="b")


@each_row(
    "states",
    [
        {"a": collect("x", to="b"), "b": collect("y", to="c"), "c": say("x", to="b")},
        {"a": ALL, "b": say(to="c"), "c": say(to="b")},
        {"a": ALL, "b": wait("c", until="slots.day"), "c": say(to="b")},
        {"a": ALL, "b": wait("c", until="last_workday(day(now), 1)"), "c": say(to="b")},
        {"a": ALL, "b": hear(to="end", late="c"), "c": say(to="b")},
        {"a": ALL, "b": hear(to="c", late="c"), "c": say(to="b")},
        {"a": ALL, "b": say(to="b")},
        {"a": ALL, "b": collect("z", to="c"), "c": say("y", to="d"), "d": say("z", to="b")}
        | {"d": say("x", to="c")},
    ],
)
def test_a_way_round_that_asks_for_nothing_it_forgets_is_refused(states: States) -> None:
    assert restless(states)


@each_row(
    "states",
    [
        {"a": ALL, "b": say("x", to="a")},
        {"a": ALL, "b": collect("z", to="c"), "c": say("z", to="b")},
        {"a": ALL, "b": wait("c", **{"for": "PT1H"}), "c": say(to="b")},
        {"a": ALL, "b": hear(to="c", late="end"), "c": say(to="b")},
        {"a": ALL, "b": {"confirm": text("Well?"), "confirmed": "c", "declined": "end"}}
        | {"c": say(to="b")},
    ],
)
def test_one_that_waits_each_time_is_not(states: States) -> None:
    assert not restless(states)


@st.composite
def drawn(draw: st.DrawFn) -> FlowDefinition:
    """A flow whose states lead anywhere, back as well, and that loads."""
    names = [f"s{n}" for n in range(draw(st.integers(2, 5)))]
    to = st.sampled_from([*names, "end"])
    some = st.lists(st.sampled_from(sorted(SLOTS)), min_size=1, max_size=2, unique=True)
    states: States = {"start": collect(*SLOTS, to=names[0])}
    for name in names:
        kind = draw(st.sampled_from(["collect", "say", "say", "wait", "confirm"]))
        if kind == "collect":
            states[name] = collect(*draw(some), to=draw(to))
        elif kind == "say":
            states[name] = say(*draw(some), to=draw(to))
        elif kind == "wait":
            until = draw(st.sampled_from([{"until": "slots.day"}, {"for": "PT1H"}]))
            states[name] = wait(draw(to), **until)
        else:
            states[name] = {"confirm": text("?"), "confirmed": draw(to), "declined": draw(to)}
    definition = drawn_of(states)
    ours = [what for what in complaints(definition) if "without ever waiting" in what]
    assume(not ours)
    return definition


def answered(definition: FlowDefinition, run: Run, yes: bool) -> Run:
    """The run after whatever it waits for."""
    if run.status == "collecting":
        value = PAST if run.question.path == "day" else "x"
        event: Any = Answered(by="alice", slots={run.question.path or "": value})
    elif run.status == "confirming":
        event = Confirmed(by="alice", value=yes)
    else:
        event = Fired(timer=next(iter(run.work.timers.values())).id)
    return step(definition, run, event, NOW)[0]


@pytest.mark.slow
@settings(max_examples=150)
@given(drawn(), st.lists(st.booleans(), min_size=1, max_size=20))
def test_what_loads_never_runs_out_of_moves(definition: FlowDefinition, said: list[bool]) -> None:
    run, _ = step(definition, Run(id="r", requester=ALICE), Began(by="alice"), NOW)
    for yes in said:
        if run.status in ("collecting", "confirming", "waiting"):
            run = answered(definition, run, yes)
    comments = [line.comment or "" for line in run.history]
    assert not [comment for comment in comments if comment.startswith("more than")]
