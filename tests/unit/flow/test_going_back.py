"""A run that stands further on goes back to where what is put right was asked for."""

from typing import Any

from router.flow.engine.events import Began, Failed, LookedUp
from tests.unit.flow.definitions import LEAVE, Driver, flow, flow_of, text

SHORT = {"that": "slots.nights < slots.most", "say": text("Too long.")}
TOWN = {"type": "text", "label": text("Town"), "ask": text("Where to?")}
SLOTS = {
    "town": TOWN,
    "nights": {"type": "number", "ask": text("How many?"), "check": [SHORT]},
    "most": {"type": "number", "ask": text("At most?")},
}
STATES = {
    "where": {"collect": ["town", "nights"], "next": "hold"},
    "hold": {"call": "hold", "with": {"town": "slots.town"}, "undo": "let_go", "next": "most"},
    "most": {"collect": ["most"], "next": "review"},
    "review": {"confirm": text("Go?"), "confirmed": "done", "declined": "most"},
    "done": {"end": "completed"},
}


def trip(**slots: Any) -> Driver:
    driver = Driver(flow_of("trip", STATES, SLOTS))
    return driver.begin(**{"town": "Wuhan", "nights": 3.0, **slots})


def looked_up(lookup: str, **more: Any) -> Driver:
    """A trip whose town is looked up, standing before that."""
    town = {**TOWN, "lookup": lookup, **more}
    driver = Driver(flow_of("trip", STATES, {**SLOTS, "town": town}))
    return driver.take(Began(by="alice", slots={"nights": 3.0}), answer=False)


def test_what_was_done_with_a_value_is_taken_back_and_done_anew_with_the_right_one() -> None:
    driver = trip()
    assert driver.run.question.path == "most"
    driver.answer(town="Xi'an")
    done = [(tool, arguments["town"]) for tool, arguments, _ in driver.world.calls]
    assert done == [("hold", "Wuhan"), ("let_go", "Wuhan"), ("hold", "Xi'an")]
    assert (driver.run.state, driver.run.question.path) == ("most", "most")


def test_a_value_said_once_more_takes_nothing_back() -> None:
    driver = trip().answer(town="Wuhan", most=7.0)
    assert [tool for tool, _, _ in driver.world.calls] == ["hold"]
    assert driver.run.state == "review"


def test_what_to_change_is_asked_where_it_was_asked_before() -> None:
    driver = trip(most=7.0).confirm(False)
    assert driver.run.question.path == "change"
    driver.answer(change="town")
    assert (driver.run.state, driver.run.question.path) == ("where", "town")


def test_a_value_that_no_longer_passes_its_check_is_asked_for_again() -> None:
    driver = trip().answer(most=2.0)
    assert driver.said[-1] == "Too long."
    assert (driver.run.state, driver.run.question.path) == ("where", "nights")


def test_a_lookup_that_failed_and_came_of_nothing_anyone_said_is_not_made_again() -> None:
    driver = looked_up("manager(requester)")
    (task,) = driver.run.work.tasks.values()
    driver.take(Failed(task=task.id, error="no directory"), answer=False)
    assert driver.run.work.tasks == {}
    assert driver.run.question.path == "town"


def test_a_failed_lookup_asks_anew_for_what_its_sources_were_looked_up_from() -> None:
    days = {"type": "number", "lookup": "workdays(slots.start, slots.end)", "label": text("Days")}
    end = {k: v for k, v in LEAVE["slots"]["end"].items() if k != "ask"}
    duration = {"type": "duration", "label": text("For"), "ask": text("How long?")}
    slots = {**LEAVE["slots"], "end": end, "days": days, "duration": duration}
    states = {
        **LEAVE["states"],
        "details": {"collect": ["kind", "start", "duration", "reason"], "next": "balance"},
    }
    driver = Driver(flow(LEAVE, slots=slots, states=states))
    driver.world.failing["workdays"] = "no calendar"
    driver.begin(kind="annual", start="2026-11-23", duration={"days": 2}, reason="family")
    assert driver.run.question.path == "start"
    assert "duration" not in driver.run.form.slots


def test_an_answer_that_its_slot_cannot_hold_ends_the_run() -> None:
    driver = looked_up("manager(requester)", type="number")
    (task,) = driver.run.work.tasks.values()
    driver.take(LookedUp(task=task.id, value="bob"))
    assert driver.run.status == "failed"
    assert "town can't hold" in str(driver.run.history[-1].comment)


def test_what_was_given_at_the_opening_is_not_blamed_for_a_failed_lookup() -> None:
    driver = Driver(flow(LEAVE, start="manager"))
    driver.world.failing["manager"] = "no directory"
    driver.begin(reason="family")
    assert (driver.run.status, driver.run.state) == ("waiting", "manager")
    assert driver.said[-1].startswith("This step didn't work out.")
