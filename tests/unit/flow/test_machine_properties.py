"""Whatever happens to a run: no exception, nothing lost, always waiting for something named."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.domain.locale import Localised
from router.domain.messages import ASKING, ENDED, FlowStatus
from router.flow.definition import FlowDefinition
from router.flow.engine.events import (
    Answered,
    AnyEvent,
    Arrived,
    AskedBack,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Effect,
    Failed,
    Finished,
    Fired,
    LookedUp,
    Nudged,
    Puzzled,
    Reassigned,
    Retried,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.engine.machine import step
from router.flow.engine.run import Done, FailureKind, Inquiry, Run, Task
from router.flow.loader import load_flow
from router.flow.prompts.question import view
from router.flow.slot_types.slot import Slot
from tests.unit.flow.definitions import ALICE, CLAIM, LEAVE, NOW, flow, text
from tests.unit.flow.wider_flows import ITEMS, WIDER, wider

FLOWS = Path(__file__).parents[3] / "flows"
OPTIONAL = flow(LEAVE).slots["reason"].model_copy(update={"required": False, "skippable": True})
STRICT = {
    **LEAVE["states"]["manager"],
    "approve": {
        **LEAVE["states"]["manager"]["approve"],
        "by": ["'bob'", "'carol'", "'erin'"],
        "mode": "sequential",
        "cc": "'gina'",
        "hours": "working",
    },
}
DEFINITIONS = [
    flow(LEAVE),
    flow(CLAIM),
    flow(LEAVE).model_copy(
        update={"flow": "lenient", "slots": {**flow(LEAVE).slots, "reason": OPTIONAL}}
    ),
    flow(LEAVE, states=LEAVE["states"] | {"manager": STRICT}).model_copy(update={"flow": "strict"}),
    *WIDER,
    *(load_flow(FLOWS / f"{name}.yaml") for name in ("leave_request", "reimbursement")),
]
MONEY = {"amount": "58.00", "currency": "CNY"}
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *("annual", "sick", "transport", "2026-11-23", "2026-11-20", "why not", "A1", "am", ""),
        *(MONEY, {"days": 2}, {"days": 0.5}, [], [{}], [{"amount": MONEY, "invoice": "A1"}]),
        *(["a", "b", "c"], 3, 0.5, True, None, {"amount": "x"}),
    ]
)
PATHS = [
    *("leave_type", "kind", "start", "end", "duration", "start_half", "reason", "change", "days"),
    *("items", "items.0.amount", "items.0.invoice", "items.0.category", "items.0.date"),
    *("seat", "window", "items.more", "items.1", "items.7.amount", "nothing", "items.x.y"),
]
WHOLE: dict[str, Any] = {
    "leave_type": "annual",
    "kind": "annual",
    "start": "2026-11-23",
    "end": "2026-11-24",
    "reason": "family",
    "items": [{"category": "meal", "amount": MONEY, "date": "2026-11-02", "invoice": "A1"}],
}
SLOTS = st.dictionaries(st.sampled_from(PATHS), VALUES, max_size=4)


@st.composite
def moves(draw: st.DrawFn) -> tuple[str, Any]:
    """What happens next; which task, timer or approver it concerns is seen when it does."""
    kind = draw(
        st.sampled_from(
            [
                *("answered", "answered", "confirmed", "confirmed", "unclear", "cancelled"),
                *(
                    "world",
                    "world",
                    "world",
                    "fails",
                    "asks",
                    "decided",
                    "decided",
                    "fired",
                    "nudged",
                ),
                *("skipped", "skipped", "puzzled", "started_over", "arrived"),
                "retried",
                "reassigned",
            ]
        )
    )
    return kind, (draw(SLOTS), draw(st.booleans()), draw(st.integers(0, 4)), draw(VALUES))


def event_of(run: Run, move: tuple[str, Any]) -> AnyEvent | None:
    kind, (slots, flag, which, value) = move
    tasks = list(run.tasks.values())
    task = tasks[which % len(tasks)] if tasks else None
    timers = list(run.timers.values())
    people = run.approval.assignees if run.approval else []
    verdicts = ("approve", "reject", "return", "add", "delegate")
    simple: dict[str, AnyEvent] = {
        "answered": Answered(by="alice", slots=slots),
        "confirmed": Confirmed(by="alice", value=flag, slots=slots if flag else {}),
        "unclear": Unclear(by="alice", count=flag),
        "nudged": Nudged(by="alice"),
        "skipped": Skipped(by="alice", question=None if flag else run.question),
        "puzzled": Puzzled(by="alice"),
        "started_over": StartedOver(by="alice"),
        "retried": Retried(by="olga"),
        "reassigned": Reassigned(by="olga", to="dave", instead_of=("bob", "carol")[which % 2]),
        "arrived": Arrived(by="wendy", name="arrived", value={"boxes": value}, word=f"w{which}"),
    }
    if kind in simple:
        return simple[kind]
    if kind == "cancelled" and which == 3:
        return Cancelled(by="alice")
    if kind == "decided" and people:
        one = people[which % len(people)]
        event = Decided(by=one.person, approval=one.id, verdict=verdicts[which], to="dave")
        position = {True: "before", False: "after"}[flag] if verdicts[which] == "add" else None
        to = event.to if which else f"p{len(people)}"
        return event.model_copy(update={"position": position, "to": to})
    if kind == "fired" and timers:
        return Fired(timer=timers[which % len(timers)].id)
    return world(run, task, (kind, which), value) if task else None


SEAT = Inquiry(
    state="",
    say=Localised(zh="哪个座位？", en="Which seat?"),
    slots={"seat": Slot(type="text"), "window": Slot(type="boolean", required=False)},
    fields={"q1": {"seat": "seat", "window": "window"}},
)


def world(run: Run, task: Task, how: tuple[str, int], value: Any) -> AnyEvent:
    kind, which = how
    if kind == "asks" and task.kind == "call":
        inquiry = SEAT.model_copy(update={"state": run.state})
        return AskedBack(task=task.id, inquiry=inquiry)
    if kind in ("fails", "asks"):
        failure: FailureKind = "unavailable" if which else "permanent"
        return Failed(task=task.id, error="out of order", kind=failure)
    if task.kind == "flow":
        return came_to(task, which, value)
    return answer_to(task.kind, task.id, task.name, value)


def came_to(task: Task, which: int, value: Any) -> AnyEvent:
    """A run that was started ends, somehow, with something that can be taken back."""
    ends: tuple[FlowStatus, ...] = ("completed", "completed", "rejected", "failed")
    status = "cancelled" if task.stopping or value is None else ends[which % len(ends)]
    done = Done(visit=9, state="there", tool="pay", arguments={}, key=task.key, undo="pay_back")
    left = [] if status in ("cancelled", "failed") else [done]
    return Finished(task=task.id, status=status, results={"paid": value}, done=left)


def answer_to(kind: str, id_: str, name: str, value: Any) -> AnyEvent:
    if kind != "lookup":
        return Called(task=id_, value={"days": 10.0, "claim": "c1"})
    known = {"manager": "bob", "role": ["dave"], "workdays": 2.0, "claimed": False}
    answer = known.get(name, "2026-11-24" if name == "last_workday" else value)
    return LookedUp(task=id_, value=answer)


def take(definition: FlowDefinition, run: Run, event: AnyEvent) -> tuple[Run, list[Effect]]:
    after, effects = step(definition, run, event, NOW)
    assert step(definition, run, event, NOW) == (after, effects), "not a function"
    return after, effects


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.flow)
@settings(max_examples=60, deadline=None)
@given(opening=SLOTS | st.just(WHOLE), story=st.lists(moves(), max_size=40))
def test_a_run_never_fails_and_always_waits_for_something_named_or_has_ended(
    definition: FlowDefinition, opening: dict[str, Any], story: list[tuple[str, Any]]
) -> None:
    run, _ = take(
        definition, Run(id="r1", requester=ALICE, locale="en"), Began(by="alice", slots=opening)
    )
    for move in story:
        event = event_of(run, move)
        if event is None:
            continue
        before, (run, _) = run, take(definition, run, event)
        assert waits_for_something(definition, run)
        assert has_a_clock_exactly_while_it_asks(definition, run)
        assert loses_nothing_to_an_act(before, run, event)
        assert Run.model_validate_json(run.model_dump_json()) == run


def has_a_clock_exactly_while_it_asks(definition: FlowDefinition, run: Run) -> bool:
    """One of the two timers, with which silence ends."""
    asks = run.status in ASKING and not run.tasks and definition.idle is not None
    return len({"idle", "lapse"} & set(run.timers)) == asks


KINDS: dict[str, dict[str, Any]] = {
    "collect": {"collect": ["items"], "next": "NEXT"},
    "confirm": {"confirm": text("So?"), "confirmed": "NEXT", "declined": "bad"},
    "call": {"call": "pay", "undo": "pay_back", "next": "NEXT", "on_error": "bad"},
    "retry": {"call": "pay", "retry": {"attempts": 2, "every": "PT1H"}, "next": "NEXT"},
    "hold": {"call": "pay", "hold": True, "undo": "pay_back", "next": "NEXT"},
    "each": {
        "call": "book",
        "each": "['a', 'b', 'c']",
        "with": {"what": "item", "who": "manager(requester)"},
        "undo": "unbook",
        "save": "booked",
        "next": "NEXT",
        "on_error": "bad",
    },
    "flow": {"flow": "other", "save": "other", "completed": "NEXT", "otherwise": "bad"},
    "bare": {"flow": "other", "completed": "NEXT"},
    "flows": {"flow": "other", "each": "[1, 2]", "at_once": 2, "completed": "NEXT"},
    "detached": {"flow": "other", "detached": True, "next": "NEXT"},
    "all": {"parallel": ["left", "right"], "join": "NEXT", "otherwise": "bad"},
    "any": {"parallel": ["left", "right"], "wait_for": "any", "join": "NEXT", "save": "said"},
    "finish": {"parallel": ["left", "right"], "rest": "finish", "join": "NEXT"},
    "event": {"wait": {"event": "arrived", "roles": ["x"]}, "next": "NEXT"},
    "late": {"wait": {"event": "arrived", "roles": ["x"], "for": "P1D"}, "next": "NEXT"},
    "while": {"wait": {"for": "PT1H"}, "next": "NEXT"},
    "approve": {
        "approve": {"by": "manager(requester)", "title": text("So?")},
        "approved": "NEXT",
        "rejected": "bad",
        "returned": "s0",
    },
}


@st.composite
def definitions(draw: st.DrawFn) -> FlowDefinition:
    """A flow of up to six states of any kind, one after the other."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    states: dict[str, Any] = {}
    for number, kind in enumerate(kinds):
        following = f"s{number + 1}" if number + 1 < len(kinds) else "good"
        exits = {k: following if v == "NEXT" else v for k, v in KINDS[kind].items()}
        states[f"s{number}"] = {**exits, **({"late": "bad"} if kind == "late" else {})}
    states["bad"] = {"say": text("Bad."), "end": draw(st.sampled_from(["rejected", "failed"]))}
    return wider("any", states, ITEMS)


@settings(max_examples=100, deadline=None)
@given(definition=definitions(), opening=SLOTS, story=st.lists(moves(), max_size=40))
def test_whatever_a_flow_is_made_of_it_waits_for_something_named_or_has_ended(
    definition: FlowDefinition, opening: dict[str, Any], story: list[tuple[str, Any]]
) -> None:
    run, _ = take(
        definition, Run(id="r1", requester=ALICE, locale="en"), Began(by="alice", slots=opening)
    )
    for move in story:
        event = event_of(run, move)
        if event is None:
            continue
        run, _ = take(definition, run, event)
        assert waits_for_something(definition, run)
        assert Run.model_validate_json(run.model_dump_json()) == run


@settings(max_examples=100, deadline=None)
@given(definition=definitions(), story=st.lists(moves(), max_size=25))
def test_a_run_that_is_cancelled_takes_back_each_thing_that_was_done_once(
    definition: FlowDefinition, story: list[tuple[str, Any]]
) -> None:
    run, _ = take(definition, Run(id="r1", requester=ALICE, locale="en"), Began(by="alice"))
    left: list[str] = []
    for move in [*story, None]:
        event = Cancelled(by="alice") if move is None else event_of(run, move)
        if event is not None:
            run = followed(definition, run, event, left)
    while run.tasks:
        task = next(iter(run.tasks.values()))
        ends = Finished(task=task.id, status="cancelled")
        run = followed(
            definition,
            run,
            ends if task.kind == "flow" else Called(task=task.id, value=None),
            left,
        )
    if run.status == "cancelled":
        assert left == []


def followed(definition: FlowDefinition, run: Run, event: AnyEvent, left: list[str]) -> Run:
    """Take the event, and keep the keys of what was done with an undo and isn't taken back."""
    task = run.tasks.get(getattr(event, "task", ""))
    after, _ = take(definition, run, event)
    kept = {done.key for done in after.done}
    if task is not None and task.kind == "undo" and task.undoes not in kept:
        left.remove(task.undoes)
    new = {done.key for done in after.done} - {done.key for done in run.done}
    left.extend(sorted(new - set(left)))
    return after


def loses_nothing_to_an_act(before: Run, after: Run, event: AnyEvent) -> bool:
    """Being puzzled changes nothing; leaving something empty empties no slot that is filled.

    A skip may send the run on its way, where a state's `forget` does empty slots.
    """
    if isinstance(event, Puzzled):
        return (before.slots, before.state, before.misses) == (
            after.slots,
            after.state,
            after.misses,
        )
    if isinstance(event, Skipped) and after.visit == before.visit:
        return before.slots.keys() <= after.slots.keys()
    return True


def waits_for_something(definition: FlowDefinition, run: Run) -> bool:
    if run.status in ENDED:
        return not run.tasks and not run.timers
    if run.tasks:
        return True
    if run.status in ("collecting", "confirming"):
        shown = view(definition, run)
        return bool(shown.replies) and (run.status == "confirming" or bool(shown.awaiting))
    if run.status == "waiting_approval":
        return run.approval is not None and bool(run.approval.waiting_for())
    told = definition.states[run.state].awaits
    awaited = told is not None and told.event is not None
    timed = "wait" in run.timers or "retry" in run.timers
    operators = run.held is not None or run.owes == "operator"
    return run.status == "waiting" and (timed or awaited or operators)
