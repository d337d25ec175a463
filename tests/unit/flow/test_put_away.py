"""A run that its conversation has no room for ends as one that was never answered."""

from router.flow.engine.events import Amended, PutAway
from router.flow.engine.run import Run
from router.flow.prompts.question import view
from tests.table import each_row
from tests.unit.flow.definitions import LEAVE, Driver, flow, flow_of, text
from tests.unit.flow.test_approvals import BOB, asking


def test_it_expires_without_a_word_and_what_it_was_told_is_kept() -> None:
    driver = Driver(flow(LEAVE)).begin(kind="annual", start="2026-11-23")
    said = driver.hear(PutAway())
    seen = view(driver.definition, driver.run)
    assert said == []
    assert (seen.status, seen.kept) == ("expired", {"kind": "annual", "start": "2026-11-23"})
    assert [event for event, *_ in driver.history][-2:] == ["put away", "expired"]
    assert driver.run.work.timers == {}


def test_what_it_had_done_is_taken_back() -> None:
    states = {
        "book": {"call": "book", "undo": "unbook", "next": "ask"},
        "ask": {"confirm": text("Right?"), "confirmed": "good", "declined": "good"},
        "good": {"end": "completed"},
    }
    driver = Driver(flow_of("trip", states)).begin().take(PutAway())
    assert driver.called == ["book", "unbook"]
    assert driver.run.status == "expired"


def test_a_change_that_is_asked_about_is_dropped_and_the_request_still_waits() -> None:
    driver = asking(BOB)
    driver.take(Amended(by="alice", slots={"reason": "wedding"}))
    assert driver.run.approvals.asks_to_amend
    driver.take(PutAway())
    assert (driver.run.approvals.asks_to_amend, driver.awaited) == (False, ["bob"])
    assert driver.run.form.slots["reason"] == "family"


@each_row("answered", [False, True], ids=["approval waits", "it is over"])
def test_a_run_that_asks_nothing_goes_on(answered: bool) -> None:
    driver = asking(BOB)
    if answered:
        driver.decide("bob")
    before: Run = driver.run
    driver.take(PutAway())
    assert driver.run.status == before.status
    assert driver.run.history == before.history
