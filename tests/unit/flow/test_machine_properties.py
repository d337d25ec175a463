"""Whatever happens to a run: no exception, nothing lost, always waiting for something named."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.domain.messages import ENDED, FlowStatus
from router.domain.texts import Localised
from router.flow.loader import load_flow
from router.flow.machine import step
from router.flow.model import FlowDefinition, Slot
from router.flow.run import (
    Answered,
    AnyEvent,
    Arrived,
    AskedBack,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Done,
    Effect,
    Errand,
    Failed,
    FailureKind,
    Finished,
    Fired,
    Inquiry,
    LookedUp,
    Nudged,
    Puzzled,
    Reassigned,
    Retried,
    Run,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.showing import view
from tests.unit.flow.definitions import ALICE, CLAIM, LEAVE, NOW, flow
from tests.unit.flow.wider_flows import WIDER

FLOWS = Path(__file__).parents[3] / "flows"
OPTIONAL = flow(LEAVE).slots["reason"].model_copy(update={"required": False, "skippable": True})
DEFINITIONS = [
    flow(LEAVE),
    flow(CLAIM),
    flow(LEAVE).model_copy(
        update={"flow": "lenient", "slots": {**flow(LEAVE).slots, "reason": OPTIONAL}}
    ),
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
    """What happens next; which errand, timer or approver it concerns is seen when it does."""
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
    return kind, (draw(SLOTS), draw(st.booleans()), draw(st.integers(0, 3)), draw(VALUES))


def event_of(run: Run, move: tuple[str, Any]) -> AnyEvent | None:
    kind, (slots, flag, which, value) = move
    errands = list(run.errands.values())
    errand = errands[which % len(errands)] if errands else None
    timers = list(run.timers.values())
    people = run.approval.assignees if run.approval else []
    verdicts = ("approve", "reject", "return", "add")
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
        return Decided(by=one.person, approval=one.id, verdict=verdicts[which], to="dave")
    if kind == "fired" and timers:
        return Fired(timer=timers[which % len(timers)].id)
    return world(run, errand, (kind, which), value) if errand else None


SEAT = Inquiry(
    state="",
    say=Localised(zh="哪个座位？", en="Which seat?"),
    slots={"seat": Slot(type="text"), "window": Slot(type="boolean", required=False)},
    fields={"q1": {"seat": "seat", "window": "window"}},
)


def world(run: Run, errand: Errand, how: tuple[str, int], value: Any) -> AnyEvent:
    kind, which = how
    if kind == "asks" and errand.kind == "call":
        inquiry = SEAT.model_copy(update={"state": run.state})
        return AskedBack(errand=errand.id, inquiry=inquiry)
    if kind in ("fails", "asks"):
        failure: FailureKind = "unavailable" if which else "permanent"
        return Failed(errand=errand.id, error="out of order", kind=failure)
    if errand.kind == "flow":
        return came_to(errand, which, value)
    return answer_to(errand.kind, errand.id, errand.name, value)


def came_to(errand: Errand, which: int, value: Any) -> AnyEvent:
    """A run that was started ends, somehow, with something that can be taken back."""
    ends: tuple[FlowStatus, ...] = ("completed", "completed", "rejected", "failed")
    status = "cancelled" if errand.stopping or value is None else ends[which]
    done = Done(visit=9, state="there", tool="pay", arguments={}, key=errand.key, undo="pay_back")
    left = [] if status in ("cancelled", "failed") else [done]
    return Finished(errand=errand.id, status=status, results={"paid": value}, done=left)


def answer_to(kind: str, id_: str, name: str, value: Any) -> AnyEvent:
    if kind != "lookup":
        return Called(errand=id_, value={"days": 10.0, "claim": "c1"})
    known = {"manager": "bob", "role": ["dave"], "workdays": 2.0, "claimed": False}
    answer = known.get(name, "2026-11-24" if name == "last_workday" else value)
    return LookedUp(errand=id_, value=answer)


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
        assert loses_nothing_to_an_act(before, run, event)
        assert Run.model_validate_json(run.model_dump_json()) == run


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
        return not run.errands and not run.timers
    if run.errands:
        return True
    if run.status in ("collecting", "confirming"):
        shown = view(definition, run)
        return bool(shown.replies) and (run.status == "confirming" or bool(shown.awaiting))
    if run.status == "waiting_approval":
        return run.approval is not None and bool(run.approval.waiting_for())
    told = definition.states[run.state].wait
    awaited = told is not None and told.event is not None
    timed = "wait" in run.timers or "retry" in run.timers
    return run.status == "waiting" and (timed or awaited or run.held is not None)
