"""Taking back a completed run, in the machine: what it did is undone once that is agreed to."""

from collections.abc import Callable

from router.flow.definition import FlowDefinition
from router.flow.engine import compensation
from router.flow.engine.events import Began, Cancelled
from router.flow.engine.run import Run
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, LEAVE, NOW, Driver, flow, text

WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "family"}
WAY = {"approve": {"by": "'bob'", "title": text("Take back"), "expire_after": "P14D"}}


def completed() -> Driver:
    states = {**LEAVE["states"], "record": {**LEAVE["states"]["record"], "undo": "unrecord"}}
    driver = Driver(flow(LEAVE, states=states, withdrawal=WAY)).begin(**WHOLE)
    driver.confirm().decide("bob")
    assert compensation.can_be_withdrawn(driver.definition, driver.run)
    return driver


def taking_back(first: Driver) -> Driver:
    driver = Driver(compensation.definition_of(first.definition))
    driver.run = compensation.with_what_it_undoes(
        Run(id="r2", requester=ALICE, locale="en"),
        withdraws=first.run.id,
        done=first.run.recovery.done,
        slots=first.run.form.slots,
        results=first.run.work.results,
        files={},
        comment="back early",
        now=NOW,
    )
    return driver.take(Began(by="alice"))


def test_agreed_to_everything_is_undone_last_things_first() -> None:
    first = completed()
    driver = taking_back(first)
    assert (driver.run.status, driver.called) == ("waiting_approval", [])
    driver.decide("bob")
    assert (driver.run.status, driver.called) == ("completed", ["unrecord", "release"])
    keys = [key for *_, key in driver.world.calls]
    assert keys == [f"{done.key}:undo" for done in reversed(first.run.recovery.done)]


@each_row(
    ("otherwise", "ends"),
    [
        (lambda driver: driver.decide("bob", "reject"), "rejected"),
        (lambda driver: driver.fire("expire"), "expired"),
        (Driver.cancel, "cancelled"),
    ],
    ids=["rejected", "not answered", "given up"],
)
def test_not_agreed_to_nothing_is_undone(otherwise: Callable[[Driver], Driver], ends: str) -> None:
    driver = otherwise(taking_back(completed()))
    assert (driver.run.status, driver.called) == (ends, [])


def test_where_nobody_can_agree_nothing_is_undone() -> None:
    first = completed()
    source = first.definition.model_dump()
    source["withdrawal"]["approve"]["by"] = ["'alice'"]
    first.definition = FlowDefinition.model_validate(source)
    driver = taking_back(first)
    assert (driver.run.status, driver.called) == ("failed", [])


def test_begun_twice_it_is_begun_once() -> None:
    driver = taking_back(completed())
    before = driver.run.approvals.current
    assert driver.take(Began(by="alice")).run.approvals.current == before


def test_a_run_that_did_nothing_or_has_no_way_back_can_not_be_taken_back() -> None:
    first = completed()
    idle = first.run.draft()
    idle.recovery.done = []
    for run, definition in (
        (idle, first.definition),
        (first.run.model_copy(update={"status": "rejected"}), first.definition),
        (first.run, first.definition.model_copy(update={"withdrawal": None})),
    ):
        assert not compensation.can_be_withdrawn(definition, run)


LOCKED = {"zh": "钱已经付了。", "en": "It is paid out."}


def paid_out(**cancelled: object) -> Driver:
    """A run that waits in a state which its requester can't leave, and hears this."""
    states = {
        "pay": {"call": "reserve", "save": "paid", "undo": "release", "next": "spending"},
        "spending": {
            "wait": {"event": "repaid", "roles": ["finance"]},
            "locked": LOCKED,
            "next": "done",
        },
        "done": {"say": text("Thank you"), "end": "completed"},
    }
    driver = Driver(flow(LEAVE, start="pay", states=states)).begin()
    assert (driver.run.state, driver.called) == ("spending", ["reserve"])
    return driver.take(Cancelled(**cancelled))


def test_where_it_is_locked_its_requester_is_told_so_and_nothing_is_undone() -> None:
    driver = paid_out(by="alice")
    assert (driver.run.status, driver.run.state) == ("waiting", "spending")
    assert driver.called == ["reserve"]
    assert driver.said[-1] == LOCKED["en"]


@each_row("by", [{"by": "olga", "final": True}, {"by": None}], ids=str)
def test_an_operator_ends_it_all_the_same(by: dict[str, object]) -> None:
    driver = paid_out(**by)
    assert driver.run.status == "cancelled"
    assert driver.called == ["reserve", "release"]
