"""Somebody asked in two branches of one run decides once: the other branch hears of it."""

from typing import Any

import pytest

from router.flow.definition import FlowDefinition
from router.flow.engine.events import Agreed, Began, Called, Cancelled, Decided, Finished
from router.flow.engine.parallel import branch_of
from router.flow.engine.run import Agreement, Run
from tests.unit.flow.definitions import Driver
from tests.unit.flow.wider_flows import SIGN_OFF

EVENT = "agreement carried over"


def asking(**of_equipment: Any) -> FlowDefinition:
    """The flow with its second branch's approval as these keys have it."""
    equipment = SIGN_OFF.states["equipment"]
    assert equipment.asks is not None
    approve = equipment.asks.model_copy(update=of_equipment)
    states = {**SIGN_OFF.states, "equipment": equipment.model_copy(update={"approve": approve})}
    return SIGN_OFF.model_copy(update={"states": states})


def branch(name: str, people: list[str], whole: FlowDefinition = SIGN_OFF, **known: Any) -> Driver:
    """A branch that waits for whoever holds the role that it asks."""
    driver = Driver(branch_of(whole, "both", name))
    driver.world.lookups["role"] = lambda _: list(people)
    driver.run = driver.run.model_copy(update={"id": name, **known})
    return driver.begin()


def agreed(driver: Driver, person: str) -> Driver:
    approval = driver.run.approval
    assert approval is not None
    mine = next(one for one in approval.waiting_for() if one.person == person)
    return driver.take(Decided(by=person, approval=mine.id, verdict="approve"))


def told(driver: Driver, by: Driver) -> Driver:
    return driver.take(Agreed(agreements=by.run.agreements))


def lines(run: Run) -> list[tuple[str, str | None]]:
    return [(line.event, line.by) for line in run.history if line.event == EVENT]


class TestInABranch:
    def test_one_who_agreed_in_another_has_agreed_here_and_the_history_says_so(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["erin"]), other)
        assert driver.run.status == "completed"
        assert lines(driver.run) == [(EVENT, "erin")]
        assert any("agreed to the same" in line or "已经同意过" in line for line in driver.said)

    def test_somebody_else_is_still_asked(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["ian"]), other)
        assert (driver.run.status, lines(driver.run)) == ("waiting_approval", [])

    def test_of_several_who_all_have_to_agree_the_others_are_still_asked(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["erin", "ian"], asking(mode="all")), other)
        assert driver.run.approval is not None
        assert [one.person for one in driver.run.approval.waiting_for()] == ["ian"]
        assert agreed(driver, "ian").run.status == "completed"

    def test_where_the_file_asks_everyone_again_they_are(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["erin"], asking(skip_same=False)), other)
        assert driver.run.status == "waiting_approval"

    def test_other_contents_are_asked_about(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["erin"], slots={"reason": "more"}), other)
        assert driver.run.status == "waiting_approval"

    def test_it_counts_once(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = told(branch("equipment", ["erin"]), other)
        again = branch("equipment", ["erin"], agreements=driver.run.agreements)
        assert told(again, other).run.status == "waiting_approval"

    def test_one_who_asked_somebody_first_still_waits_for_them(self) -> None:
        driver = branch("equipment", ["erin"])
        assert driver.run.approval is not None
        (mine,) = driver.run.approval.assignees
        before = Decided(by="erin", approval=mine.id, verdict="add", to="ian", position="before")
        driver.take(before)
        told(driver, agreed(branch("finance", ["erin"]), "erin"))
        assert driver.run.approval is not None
        assert [one.person for one in driver.run.approval.waiting_for()] == ["ian"]

    def test_one_that_begins_later_knows_it_from_the_start(self) -> None:
        other = agreed(branch("finance", ["erin"]), "erin")
        driver = branch("equipment", ["erin"], agreements=other.run.agreements)
        assert (driver.run.status, lines(driver.run)) == ("completed", [(EVENT, "erin")])

    def test_what_is_told_after_its_end_changes_nothing(self) -> None:
        driver = branch("equipment", ["erin"]).take(Cancelled(by="alice"))
        before = driver.run
        assert told(driver, agreed(branch("finance", ["erin"]), "erin")).run == before


class TestInTheRun:
    def test_the_branches_that_go_on_are_to_be_told(self) -> None:
        driver = paused(SIGN_OFF)
        news = [Agreement(person="erin", contents="c", counted=["finance"], at=driver.now)]
        finished(driver, 0, news)
        (other,) = driver.run.tasks.values()
        assert (other.branch, list(other.agreed)) == ("equipment", news)
        assert driver.run.agreements == news

    def test_of_what_they_knew_already_they_are_told_nothing(self) -> None:
        driver = paused(SIGN_OFF)
        known = [Agreement(person="erin", contents="c", counted=["first"], at=driver.now)]
        driver.run = driver.run.model_copy(update={"agreements": known})
        finished(driver, 0, [known[0].counting_in("finance")])
        (other,) = driver.run.tasks.values()
        assert other.agreed == ()
        assert driver.run.agreements == [known[0].counting_in("finance")]

    @pytest.mark.parametrize("status", ["rejected", "expired"])
    def test_a_branch_that_is_stopped_needs_no_telling(self, status: Any) -> None:
        driver = paused(SIGN_OFF)
        news = [Agreement(person="erin", contents="c", counted=["finance"], at=driver.now)]
        finished(driver, 0, news, status)
        (other,) = driver.run.tasks.values()
        assert (other.stopping, other.agreed) == (True, ())


def paused(definition: FlowDefinition) -> Driver:
    """The run while its two branches are under way."""
    driver = Driver(definition)
    driver.take(Began(by="alice"), answer=False)
    (reserve,) = driver.run.tasks.values()
    return driver.take(Called(task=reserve.id, value=None), answer=False)


def finished(
    driver: Driver, number: int, agreements: list[Agreement], status: Any = "completed"
) -> None:
    task = next(e for e in driver.run.tasks.values() if e.part == number)
    event = Finished(task=task.id, status=status, agreements=agreements)
    driver.take(event, answer=False)
