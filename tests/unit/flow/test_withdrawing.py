"""Taking back a completed run, in the machine: what it did is undone once that is agreed to."""

from typing import Any

import pytest

from router.flow.definition import FlowDefinition
from router.flow.engine import compensation
from router.flow.engine.events import Began, Cancelled, Confirmed, Decided, Fired
from router.flow.engine.run import Run, Verdict
from tests.unit.flow.definitions import ALICE, LEAVE, NOW, Driver, flow, text

WHOLE: dict[str, Any] = {
    "kind": "annual",
    "start": "2026-11-23",
    "end": "2026-11-24",
    "reason": "family",
}
WAY = {"approve": {"by": "'bob'", "title": text("Take back"), "expire_after": "P14D"}}


def decide(driver: Driver, verdict: Verdict) -> Driver:
    approval = driver.run.approval
    assert approval is not None
    (one,) = approval.waiting_for()
    return driver.take(Decided(by=one.person, approval=one.id, verdict=verdict))


def completed() -> Driver:
    states = {**LEAVE["states"], "record": {**LEAVE["states"]["record"], "undo": "unrecord"}}
    driver = Driver(flow(LEAVE, states=states, withdrawal=WAY)).begin(**WHOLE)
    decide(driver.take(Confirmed(by="alice", value=True)), "approve")
    assert compensation.can_be_withdrawn(driver.definition, driver.run)
    return driver


def taking_back(first: Driver) -> Driver:
    driver = Driver(compensation.definition_of(first.definition))
    driver.run = compensation.with_what_it_undoes(
        Run(id="r2", requester=ALICE, locale="en"),
        withdraws=first.run.id,
        done=first.run.done,
        slots=first.run.slots,
        results=first.run.results,
        files={},
        comment="back early",
        now=NOW,
    )
    return driver.take(Began(by="alice"))


def called(driver: Driver) -> list[str]:
    return [name for name, *_ in driver.world.calls]


def test_agreed_to_everything_is_undone_last_things_first() -> None:
    first = completed()
    driver = taking_back(first)
    assert (driver.run.status, called(driver)) == ("waiting_approval", [])
    decide(driver, "approve")
    assert (driver.run.status, called(driver)) == ("completed", ["unrecord", "release"])
    keys = [key for *_, key in driver.world.calls]
    assert keys == [f"{done.key}:undo" for done in reversed(first.run.done)]


@pytest.mark.parametrize(
    ("verdict", "ends"), [("reject", "rejected"), (None, "expired"), ("give up", "cancelled")]
)
def test_not_agreed_to_nothing_is_undone(verdict: Any, ends: str) -> None:
    driver = taking_back(completed())
    if verdict == "reject":
        decide(driver, "reject")
    elif verdict is None:
        driver.take(Fired(timer=driver.run.timers["expire"].id))
    else:
        driver.take(Cancelled(by="alice"))
    assert (driver.run.status, called(driver)) == (ends, [])


def test_where_nobody_can_agree_nothing_is_undone() -> None:
    first = completed()
    source = first.definition.model_dump()
    source["withdrawal"]["approve"]["by"] = ["'alice'"]
    first.definition = FlowDefinition.model_validate(source)
    driver = taking_back(first)
    assert (driver.run.status, called(driver)) == ("failed", [])


def test_begun_twice_it_is_begun_once() -> None:
    driver = taking_back(completed())
    before = driver.run.approval
    assert driver.take(Began(by="alice")).run.approval == before


def test_a_run_that_did_nothing_or_has_no_way_back_can_not_be_taken_back() -> None:
    first = completed()
    for run, definition in (
        (first.run.model_copy(update={"done": []}), first.definition),
        (first.run.model_copy(update={"status": "rejected"}), first.definition),
        (first.run, first.definition.model_copy(update={"withdrawal": None})),
    ):
        assert not compensation.can_be_withdrawn(definition, run)
