"""What a step costs doesn't depend on how long its run is, nor does it touch what it leaves alone.

Costs are counted, not timed: every function that a step enters, Python's own included.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest

from router.domain.run_history import HistoryEntry
from router.flow.engine.events import Answered, AnyEvent, Began, Cancelled, Unclear
from router.flow.engine.machine import step
from router.flow.engine.run import History, Run
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, NOW, flow_of, text

ROUNDS = 300
ITEMS = [{"number": number, "note": f"item {number}"} for number in range(20)]
ASKED = {"label": text("Slot"), "ask": text("Which?")}
FIELDS = {"number": {**ASKED, "type": "integer"}, "note": {**ASKED, "type": "text"}}
POSITIVE = {"that": "slots.last > 0.0", "say": text("More than that, not {{ shown.last }}.")}
OF_ITEM = {"type": "object", "fields": FIELDS}
AGAIN = flow_of(
    "again",
    slots={
        "items": {"type": "list", "of": OF_ITEM, "max": 20, "label": text("Items")},
        "last": {**ASKED, "type": "number", "check": [POSITIVE]},
    },
    states={
        "first": {"collect": ["items"], "next": "more"},
        "more": {
            "collect": ["last"],
            "next": [{"if": "slots.last > 1000.0", "to": "done"}, {"to": "anew"}],
        },
        "anew": {"say": text("Once more."), "forget": ["last"], "next": "more"},
        "done": {"end": "completed"},
    },
)


def begun() -> Run:
    run, _ = step(AGAIN, Run(id="r1", requester=ALICE), Began(slots={"items": ITEMS}), NOW)
    return run


def after(rounds: int, run: Run) -> Run:
    for number in range(rounds):
        run, _ = step(AGAIN, run, Answered(slots={"last": number + 1}), NOW + timedelta(days=1))
    return run


@contextmanager
def counting() -> Iterator[list[int]]:
    """How many functions are entered meanwhile, but for those of the garbage collector.

    It comes when it is due, whoever's garbage it is, and then calls finalizers and what other
    tests' libraries have it call: Hypothesis times it.
    """
    entered = [0]

    def count(_: FrameType, event: str, __: Any) -> None:
        entered[0] += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(count)
    try:
        yield entered
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()


def work(run: Run, event: AnyEvent) -> int:
    step(AGAIN, run, event, NOW)  # what is remembered for ever is remembered now
    with counting() as entered:
        step(AGAIN, run, event, NOW)
    return entered[0]


@pytest.mark.slow
@each_row(
    "event",
    [*(Answered(slots={"last": n}) for n in (7, -1, 7000)), Unclear(), Cancelled(by="alice")],
    ids=["goes round", "is refused", "ends it", "is unclear", "is cancelled"],
)
def test_a_step_does_as_much_after_hundreds_of_turns_as_after_the_first(event: AnyEvent) -> None:
    young = after(1, begun())
    old = after(ROUNDS, young)
    assert len(old.history) > len(young.history) + ROUNDS
    assert work(old, event) == work(young, event)


@pytest.mark.slow
def test_a_step_shares_the_values_that_it_leaves_alone() -> None:
    young = after(1, begun())
    old = after(ROUNDS, young)
    assert old.form.slots["items"] is young.form.slots["items"]
    assert all(a is b for a, b in zip(young.history, old.history, strict=False))


def test_runs_that_go_on_from_the_same_one_know_nothing_of_each_other() -> None:
    run = after(3, begun())
    lines = list(run.history)
    cancelled, _ = step(AGAIN, run, Cancelled(by="alice"), NOW)
    gone_on = after(1, run)
    assert [line.event for line in cancelled.history[len(lines) :]] == ["withdrawn", "cancelled"]
    assert [line.event for line in gone_on.history[len(lines) :]] == ["next", "next"]
    assert run.history == lines


def line(event: str) -> HistoryEntry:
    return HistoryEntry(at=NOW, state="s", event=event)


def test_a_history_is_a_list_in_json_and_comes_back_from_it() -> None:
    run = after(2, begun())
    kept = Run.model_validate_json(run.model_dump_json())
    assert isinstance(run.model_dump(mode="json")["history"], list)
    assert isinstance(kept.history, History)
    assert kept == run


def test_a_history_is_read_as_the_list_of_its_lines() -> None:
    lines = [line("one"), line("two"), line("three")]
    shorter = History(lines[:2])
    longer = shorter.followed_by(lines[2])
    assert (shorter, longer) == (History(lines[:2]), History(lines))
    assert (shorter[-1], longer[-1], longer[0]) == (lines[1], lines[2], lines[0])
    assert (shorter[1:], longer[1:]) == (lines[1:2], lines[1:])
    assert list(reversed(shorter)) == lines[1::-1]
    assert (len(shorter), line("three") in shorter, line("three") in longer) == (2, False, True)
    with pytest.raises(IndexError):
        shorter[2]


def test_a_history_takes_only_lines() -> None:
    with pytest.raises(ValueError, match="history"):
        Run.model_validate({"id": "r", "requester": ALICE, "history": ["began"]})
