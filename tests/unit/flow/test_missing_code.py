"""A tool or lookup that a run needs and that was removed: the run is held, and nothing is lost."""

from typing import Any

from router.domain.errors import Conflict
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Began, Cancelled, Failed, Retried
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text

FLOOR = {"floor": {"type": "text", "ask": text("Which floor?")}}
GOOD = {"say": text("Good."), "end": "completed"}
BAD = {"say": text("Bad."), "end": "rejected"}
DEAR = [{"if": "fee_of(slots.floor) > 20.0", "to": "bad"}, {"to": "good"}]
BEGAN = Began(by="alice", slots={"floor": "third"})
ASK: dict[str, Any] = {"collect": ["floor"], "next": "work"}
APPROVAL = {"approved": "good", "rejected": "bad", "returned": "ask", "expired": "bad"}


def locker(work: dict[str, Any], floor: dict[str, Any] | None = None, **slots: Any) -> Any:
    """A flow that asks for a floor and then does this work."""
    ends = {"good": GOOD, "bad": BAD}
    asked = {"floor": {**FLOOR["floor"], **(floor or {})}, **slots}
    collect = {"collect": ["floor", *(n for n, s in slots.items() if "ask" in s)], "next": "work"}
    return flow_of("locker", {"ask": collect, "work": work, **ends}, asked)


WORTH = {"that": "fee_of(slots.floor) < 20.0", "say": text("Too dear.")}
WHY = {"type": "text", "ask": text("Why?"), "when": "fee_of(slots.floor) > 20.0"}
PLACES: dict[str, FlowDefinition] = {
    "the lookup of a slot": locker(
        {"confirm": text("{{ shown.fee }}?"), "confirmed": "good", "declined": "bad"},
        fee={"type": "number", "lookup": "fee_of(slots.floor)"},
    ),
    "the check of a slot": locker(GOOD, {"check": [WORTH]}),
    "whether a slot is asked for": locker(GOOD, why=WHY),
    "a branch after a confirmation": locker(
        {"confirm": text("Sure?"), "confirmed": DEAR, "declined": "bad"}
    ),
    "an argument of a call": locker(
        {"call": "rent", "with": {"fee": "fee_of(slots.floor)"}, "next": "good", "on_error": "bad"}
    ),
    "the items of a call": locker(
        {"call": "rent", "each": "[fee_of(slots.floor)]", "with": {"fee": "item"}, "next": "good"}
    ),
    "an argument of a check": locker(
        {"check": "rent", "with": {"fee": "fee_of(slots.floor)"}, "next": "good", "on_error": "ask"}
    ),
    "who is asked": locker(
        {"approve": {"by": "role(string(fee_of(slots.floor)))", "title": text("A locker")}}
        | APPROVAL
    ),
    "a branch after an approval": locker(
        {"approve": {"by": "'bob'", "title": text("A locker")}} | APPROVAL | {"approved": DEAR}
    ),
    "how long is waited": locker(
        {"wait": {"until": "plus_days(day(now), int(fee_of(slots.floor)))"}, "next": "good"}
    ),
    "the tool of a call": locker({"call": "rent", "next": "good", "on_error": "bad"}),
    "the tool of calls for items": locker(
        {"call": "rent", "each": "[1, 2, 3, 4, 5]", "at_once": 2, "next": "good", "on_error": "bad"}
    ),
    "the tool of a check": locker({"check": "rent", "next": "good", "on_error": "ask"}),
}


def drive(definition: FlowDefinition, *missing: str) -> Driver:
    """Answer everything that the flow asks until it has ended or nobody is asked any more."""
    driver = Driver(definition)
    driver.world.lookups["fee_of"] = lambda floor: float(len(floor))
    driver.world.missing |= set(missing)
    return finish(driver.begin(floor="third"))


def finish(driver: Driver) -> Driver:
    for _ in range(5):
        run = driver.run
        if run.recovery.held is not None:
            break
        if run.status == "confirming":
            driver.confirm()
        elif run.status == "waiting_approval":
            driver.decide(driver.awaited[0])
        elif "wait" in run.work.timers:
            driver.fire("wait")
    return driver


def listed_as_held(driver: Driver) -> bool:
    return driver.run.open_incident is not None


def work_of(driver: Driver) -> tuple[Any, ...]:
    return driver.run.status, driver.run.form.slots, driver.world.calls, driver.world.checks


@each_row(("definition", "place"), [(flow, place) for place, flow in PLACES.items()])
def test_a_run_that_lacks_code_is_held_and_goes_on_once_that_is_back(
    definition: FlowDefinition, place: str
) -> None:
    expected = work_of(drive(definition))
    assert expected[0] == "completed"
    driver = drive(definition, "fee_of", "rent")
    missing = "rent" if place.startswith("the tool") else "fee_of"
    assert (driver.run.recovery.held, listed_as_held(driver)) == ("missing", True)
    assert driver.run.status in ("waiting", "waiting_approval")
    assert f"{missing}: no {missing} here" in [comment for *_, comment in driver.history]
    assert driver.world.calls == []
    assert "Bad." not in driver.said
    driver.world.missing.clear()
    assert driver.refusal(Retried(by="olga")) is None
    finish(driver.take(Retried(by="olga")))
    assert work_of(driver) == expected
    assert not listed_as_held(driver)


@each_row(("definition", "place"), [(flow, place) for place, flow in PLACES.items()])
def test_one_that_still_lacks_it_is_held_again(definition: FlowDefinition, place: str) -> None:
    driver = drive(definition, "fee_of", "rent")
    for _ in range(2):
        finish(driver.take(Retried(by="olga")))
        assert (driver.run.recovery.held, listed_as_held(driver)) == ("missing", True), place


@each_row(("definition", "place"), [(flow, place) for place, flow in PLACES.items()])
def test_it_looks_by_itself_whether_the_code_is_back(
    definition: FlowDefinition, place: str
) -> None:
    expected = work_of(drive(definition))
    driver = drive(definition, "fee_of", "rent")
    said = len(driver.said)
    pause = driver.run.work.timers["retry"].due - driver.now
    finish(driver.fire("retry"))
    assert driver.run.work.timers["retry"].due - driver.now == 2 * pause, place
    assert (driver.run.recovery.held, len(driver.said)) == ("missing", said)
    driver.world.missing.clear()
    finish(driver.fire("retry"))
    assert work_of(driver) == expected


def test_after_ten_tries_it_waits_for_an_operator_alone() -> None:
    driver = drive(PLACES["the tool of a call"], "rent")
    for _ in range(10):
        driver.fire("retry")
    assert (driver.run.recovery.held, driver.run.work.timers, listed_as_held(driver)) == (
        "missing",
        {},
        True,
    )
    driver.take(Retried(by="olga"))
    assert "retry" in driver.run.work.timers


@each_row("definition", PLACES.values())
def test_its_requester_can_take_it_back_meanwhile(definition: FlowDefinition) -> None:
    driver = drive(definition, "fee_of", "rent").take(Cancelled(by="alice"))
    assert (driver.run.status, driver.run.recovery.held) == ("cancelled", None)
    assert isinstance(driver.refusal(Retried(by="olga")), Conflict)


def test_what_one_item_has_done_stays_done_and_the_rest_is_done_once() -> None:
    driver = drive(PLACES["the tool of calls for items"])
    keys = sorted(key for *_, key in driver.world.calls)
    assert len(keys) == len(set(keys)) == 5
    other = Driver(PLACES["the tool of calls for items"])
    other.take(BEGAN, answer=False)
    first, second = other.run.work.tasks.values()
    done = other.world.answer(other.run).model_copy(update={"task": first.id})
    other.take(Failed(task=second.id, error="no rent here", kind="missing"), answer=False)
    other.take(done, answer=False)
    assert (other.run.recovery.held, other.run.work.tasks) == ("missing", {})
    other.take(Retried(by="olga"))
    assert other.run.status == "completed"
    assert sorted(key for *_, key in other.world.calls) == keys


def test_an_undo_whose_tool_is_gone_waits_for_an_operator_and_is_made_under_the_same_key() -> None:
    work = {"call": "rent", "undo": "give_back", "next": "sure"}
    sure = {"confirm": text("Sure?"), "confirmed": "good", "declined": "bad"}
    states = {"ask": ASK, "work": work, "sure": sure, "good": GOOD, "bad": BAD}
    expected = Driver(flow_of("locker", states, FLOOR)).begin(floor="third").cancel()
    driver = Driver(flow_of("locker", states, FLOOR)).begin(floor="third")
    driver.world.missing.add("give_back")
    driver.cancel()
    assert (driver.run.recovery.owes, driver.run.work.timers, listed_as_held(driver)) == (
        "operator",
        {},
        True,
    )
    driver.world.missing.clear()
    driver.take(Retried(by="olga"))
    assert driver.run.status == "cancelled"
    assert driver.world.calls == expected.world.calls


@each_row(("attempts", "word"), [(1, None), (2, "unknown")])
def test_a_call_that_a_try_may_have_made_is_not_told_as_undone(
    attempts: int, word: str | None
) -> None:
    driver = Driver(PLACES["the tool of a call"]).take(BEGAN, answer=False)
    (task,) = driver.run.work.tasks.values()
    driver.take(Cancelled(by="alice"), answer=False)
    driver.take(Failed(task=task.id, error="no rent", kind="missing", attempts=attempts))
    assert driver.run.status == "cancelled"
    assert ("unknown" in [event for event, *_ in driver.history]) == (word is not None)
