"""An approver who left: who is asked in their place, who hears of it, and what is held."""

from typing import Any

from router.flow.engine.events import Nudged, Reassigned, Retried
from tests.table import each_row
from tests.unit.flow.definitions import Driver
from tests.unit.flow.test_approvals import ALL, BOB, IN_TURN, approved, asking

REMIND = {"remind_every": "P1D"}
MANAGER = REMIND | {"by": "manager(requester)"}
UP = {"escalate_after": "P3D", "escalate_to": "manager(approver)"}
HR = {"otherwise": "role('hr')"}
GONE = "gone from the directory, with nobody named instead: {}; have it reassigned"


def left(driver: Driver, *people: str, manager: str | None = None) -> Driver:
    """They leave; alice has another manager then, or none, and who is gone has none."""
    driver.world.left |= set(people)
    driver.world.lookups["manager"] = lambda one: manager if isinstance(one, dict) else None
    return driver


def held(driver: Driver) -> bool:
    listed = driver.run.open_incident is not None
    assert listed == (driver.run.recovery.held is not None)
    return listed


def reassigned(driver: Driver, instead_of: str, to: str) -> Driver:
    event = Reassigned(by="olga", instead_of=instead_of, to=to)
    assert driver.refusal(event) is None
    return driver.take(event)


@each_row("hours", ["calendar", "working"])
def test_with_the_next_reminder_whoever_is_the_manager_by_now_is_asked(hours: str) -> None:
    driver = left(asking(MANAGER | UP | {"hours": hours}), "bob", manager="carol")
    before = driver.run.work.timers["escalate"].due
    driver.fire("remind")
    assert (driver.awaited, driver.told("reminded")) == (["carol"], [])
    assert driver.told("asked") == [["bob"], ["carol"]]
    assert ("approver left", None, "bob ▸ carol") in driver.history
    assert driver.run.work.timers["escalate"].due > before
    assert approved(driver) == ["carol"]


def test_where_there_is_none_those_are_asked_whom_the_file_names_otherwise() -> None:
    driver = left(asking(MANAGER | HR), "bob").fire("remind")
    assert (driver.awaited, held(driver)) == (["dave"], False)
    assert left(asking(MANAGER | UP | HR), "bob").fire("escalate").awaited == ["dave"]


def test_or_to_whom_it_would_go_up_before_an_operator_has_to_see_to_it() -> None:
    up = {"escalate_after": "P3D", "escalate_to": "'zoe'"}
    assert left(asking(MANAGER | up), "bob").fire("remind").awaited == ["zoe"]


@each_row("timer", ["remind", "escalate"])
def test_where_nobody_is_left_it_is_held_and_names_who_is_gone(timer: str) -> None:
    driver = left(asking(MANAGER | UP), "bob").fire(timer)
    assert (driver.run.status, driver.awaited) == ("waiting_approval", ["bob"])
    assert held(driver)
    assert driver.history[-1] == ("held", None, GONE.format("bob"))
    assert driver.told("reminded") == driver.told("escalated") == []
    assert "escalated" not in [event for event, *_ in driver.history]


def test_reassigned_it_is_held_no_longer() -> None:
    driver = left(asking(MANAGER), "bob").fire("remind")
    assert reassigned(driver, "bob", "erin").awaited == ["erin"]
    assert not held(driver)
    assert driver.fire("remind").told("reminded") == [["erin"]]
    assert approved(driver) == ["erin"]


def test_reassigned_to_somebody_who_is_gone_as_well_it_is_held_again() -> None:
    driver = left(asking(MANAGER), "bob", "erin").fire("remind")
    assert held(reassigned(driver, "bob", "erin"))
    assert driver.awaited == ["erin"]


@each_row("by", ["clock", "operator", "requester"])
def test_held_it_goes_on_by_itself_once_somebody_is_named(by: str) -> None:
    driver = left(asking(MANAGER), "bob").fire("remind")
    assert held(driver.fire("remind"))
    left(driver, manager="carol")
    if by == "clock":
        driver.fire("remind")
    else:
        driver.take(Retried(by="olga") if by == "operator" else Nudged(by="alice"))
    assert (driver.awaited, held(driver)) == (["carol"], False)
    assert ["bob"] not in [*driver.told("reminded"), *driver.told("nudged")]


def test_whoever_comes_back_decides() -> None:
    driver = left(asking(MANAGER), "bob").fire("remind")
    driver.world.left.clear()
    assert not held(driver.fire("remind"))
    assert driver.told("reminded") == [["bob"]]


def test_of_several_who_may_decide_the_others_are_enough() -> None:
    driver = left(asking(REMIND | {"by": ["'bob'", "'carol'"]}), "bob").fire("remind")
    assert (driver.awaited, driver.told("reminded"), held(driver)) == (
        ["carol"],
        [["carol"]],
        False,
    )
    assert ("approver left", None, "bob") in driver.history
    assert approved(driver) == ["carol"]


@each_row("ask", [ALL, IN_TURN])
def test_where_all_have_to_decide_it_isnt_passed_without_the_one_who_left(ask: Any) -> None:
    driver = left(asking({**ask, **REMIND}), "bob").fire("remind")
    assert held(driver)
    assert "bob" in driver.awaited
    reassigned(driver, "bob", "erin")
    assert approved_by_all(driver) == ["erin", "carol"]


def approved_by_all(driver: Driver) -> list[str]:
    order = []
    while driver.run.status == "waiting_approval":
        order.append(driver.awaited[0])
        driver.decide(driver.awaited[0])
    return order


def test_decided_by_another_meanwhile_it_stays_held_for_the_one_who_is_gone() -> None:
    driver = left(asking({**ALL, **REMIND}), "bob").fire("remind").decide("carol")
    assert (driver.awaited, held(driver)) == (["bob"], True)


def test_of_one_role_all_who_are_left_have_to_agree() -> None:
    driver = asking(REMIND | {"by": ["slots.reason == 'x' ? [] : ['dave', 'erin']"], "mode": "all"})
    left(driver, "erin").fire("remind")
    assert (driver.awaited, held(driver)) == (["dave"], False)


def test_who_decided_already_stays_decided() -> None:
    driver = asking({**ALL, **REMIND}).decide("bob")
    assert left(driver, "bob").fire("remind").told("reminded") == [["carol"]]
    assert approved(driver) == ["carol"]


def test_whom_somebody_passed_it_on_to_has_it_go_back_to_them() -> None:
    driver = asking(BOB | REMIND).decide("bob", "delegate", to="frank")
    assert left(driver, "frank").fire("remind").awaited == ["bob"]


def test_in_place_of_one_who_was_added_before_others_their_word_is_waited_for() -> None:
    driver = asking(BOB | REMIND | HR).decide("bob", "add", to="frank", position="before")
    assert left(driver, "frank").fire("remind").awaited == ["dave"]
    assert approved(driver) == ["dave", "bob"]


def test_whoever_is_gone_when_it_is_opened_is_never_asked() -> None:
    driver = Driver(asking(BOB | HR).definition)
    driver.world.left = {"bob"}
    whole = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "family"}
    assert driver.begin(**whole).confirm().awaited == ["dave"]


def test_decided_while_it_is_looked_up_nothing_of_that_is_waited_for() -> None:
    driver = asking(MANAGER).fire("remind", answer=False)
    assert [task.name for task in driver.run.work.tasks.values()] == ["stand_ins"]
    assert driver.decide("bob").run.status == "completed"
