"""A run continues as new with what fits, whatever has grown in it; or it doesn't, and is held."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from router.contracts.activities import StepFlow
from router.contracts.flow import AmendmentTaken, FlowAnswer, FlowStart
from router.contracts.limits import MAX_CARRIED_BYTES
from router.domain.locale import Localised
from router.domain.messages import TextReply
from router.domain.run_history import HistoryEntry
from router.domain.sizes import measure_bytes
from router.flow.engine import machine
from router.flow.engine.events import Nudged
from router.flow.engine.run import History, Run
from router.flow.prompts.question import view
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, NOW, Driver, flow_of, text
from workflows.flow import fit_start, fit_step

HUGE = "长" * 600_000
STATES = {
    "wait": {"wait": {"for": "PT1H"}, "next": "done"},
    "done": {"say": text("{{ results.read }}"), "end": "completed"},
}
DRIVER = Driver(flow_of("waiting", STATES)).begin()
ANSWER = FlowAnswer(view=view(DRIVER.definition, DRIVER.run), replies=[TextReply(text=HUGE)])
TAKEN = AmendmentTaken(status="waiting", state="wait", why=Localised(zh=HUGE, en=""))
LINE = HistoryEntry(
    at=datetime(2026, 11, 28, tzinfo=UTC), state="wait", event="x", comment="长" * 2_000
)


def start_of(change: Callable[[Run], None] | None = None, **more: Any) -> FlowStart:
    run = DRIVER.run.draft()
    if change is not None:
        change(run)
    return FlowStart(
        definition=DRIVER.definition,
        requester=ALICE,
        conversation="c1",
        locale="en",
        run=run,
        **more,
    )


def with_results(**results: JsonValue) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        run.work.results = dict(results)

    return change


def with_long_history(run: Run) -> None:
    run.history = History([LINE] * 900)


def with_long_slots(run: Run) -> None:
    run.form.slots = {"reason": HUGE}


def with_long_answers(run: Run) -> None:
    run.work.lookup_answers = {"look()": HUGE}


@each_row(
    ("start", "fits"),
    [
        (start_of(told={"u": ANSWER}), True),
        (start_of(decided={"u": TAKEN}), True),
        (start_of(with_results(unread=HUGE)), True),
        (start_of(with_long_history), True),
        (start_of(with_long_answers), True),
        (start_of(with_results(read=HUGE)), False),
        (start_of(with_long_slots), False),
    ],
    ids=["told", "decided", "results unread", "history", "lookups", "results", "slots"],
)
def test_what_is_carried_fits_or_isnt_sent(start: FlowStart, fits: bool) -> None:
    assert measure_bytes(start) > MAX_CARRIED_BYTES
    fitting = fit_start(start)
    assert (fitting is not None) == fits
    if fitting is not None and fitting.run is not None:
        assert measure_bytes(fitting) <= MAX_CARRIED_BYTES
        assert (fitting.run.state, fitting.run.form.slots) == ("wait", {})


@each_row(
    "change",
    [with_long_answers, with_long_history, with_results(read="x")],
    ids=["lookups", "history", "small"],
)
def test_what_an_activity_is_to_step_fits(change: Callable[[Run], None]) -> None:
    run = DRIVER.run.draft()
    change(run)
    step = StepFlow(definition=DRIVER.definition, run=run, event=Nudged(by="alice"), now=NOW)
    fitting = fit_step(step)
    assert measure_bytes(fitting) <= MAX_CARRIED_BYTES
    assert (fitting == step) == (measure_bytes(step) <= MAX_CARRIED_BYTES)
    assert fitting.run.state == "wait"


def test_what_fits_is_carried_as_it_is() -> None:
    start = start_of(with_results(unread="x"), decided={"u": TAKEN.replace(why=None)})
    assert fit_start(start) == start


def test_a_run_that_cant_be_carried_is_held_once() -> None:
    run = DRIVER.run.draft()
    with_long_slots(run)
    held = machine.hold_over_limit(DRIVER.definition, run, MAX_CARRIED_BYTES, NOW)
    again = machine.hold_over_limit(DRIVER.definition, held, MAX_CARRIED_BYTES, NOW)
    over, last = list(held.history)[-2:]
    assert (over.event, last.event, held.recovery.held) == ("over limit", "held", "permanent")
    assert "slots (1,800,014 bytes)" in str(over.comment)
    assert again == held
