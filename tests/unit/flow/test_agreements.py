"""Somebody asked in two branches of one run decides once: the other branch hears of it."""

from collections.abc import Sequence
from typing import Any

import pytest

from router.flow.definition import FlowDefinition, SlotValues
from router.flow.engine.events import Agreed, Began, Called, Finished
from router.flow.engine.parallel import branch_of
from router.flow.engine.run_parts.approvals import Agreement
from router.flow.engine.run_parts.work import Task
from tests.unit.flow.definitions import Driver, altered
from tests.unit.flow.wider_flows import SIGN_OFF


def asking(**of_equipment: Any) -> FlowDefinition:
    """The flow with its second branch's approval as these keys have it."""
    approve = SIGN_OFF.states["equipment"].asks
    assert approve is not None
    return altered(SIGN_OFF, equipment={"approve": approve.model_copy(update=of_equipment)})


def branch(
    name: str,
    people: list[str],
    whole: FlowDefinition = SIGN_OFF,
    slots: SlotValues | None = None,
    agreements: Sequence[Agreement] = (),
) -> Driver:
    """A branch that waits for whoever holds the role that it asks."""
    driver = Driver(branch_of(whole, "both", name))
    driver.world.lookups["role"] = lambda _: list(people)
    driver.run.id = name
    driver.run.form.slots = slots or {}
    driver.run.approvals.agreements = list(agreements)
    return driver.begin()


def told(driver: Driver) -> Driver:
    """The branch once it has heard that Erin agreed in the other."""
    other = branch("finance", ["erin"]).decide("erin")
    return driver.take(Agreed(agreements=other.run.approvals.agreements))


def lines(driver: Driver) -> list[str | None]:
    return [by for event, by, _ in driver.history if event == "agreement carried over"]


class TestInABranch:
    def test_one_who_agreed_in_another_has_agreed_here_and_the_history_says_so(self) -> None:
        driver = told(branch("equipment", ["erin"]))
        assert (driver.run.status, lines(driver)) == ("completed", ["erin"])
        assert any("agreed to the same" in line for line in driver.said)

    def test_somebody_else_is_still_asked(self) -> None:
        driver = told(branch("equipment", ["ian"]))
        assert (driver.run.status, lines(driver)) == ("waiting_approval", [])

    def test_of_several_who_all_have_to_agree_the_others_are_still_asked(self) -> None:
        driver = told(branch("equipment", ["erin", "ian"], asking(mode="all")))
        assert driver.awaited == ["ian"]
        assert driver.decide("ian").run.status == "completed"

    def test_where_the_file_asks_everyone_again_they_are(self) -> None:
        driver = told(branch("equipment", ["erin"], asking(skip_same=False)))
        assert driver.run.status == "waiting_approval"

    def test_other_contents_are_asked_about(self) -> None:
        driver = told(branch("equipment", ["erin"], slots={"reason": "more"}))
        assert driver.run.status == "waiting_approval"

    def test_it_counts_once(self) -> None:
        known = told(branch("equipment", ["erin"])).run.approvals.agreements
        again = told(branch("equipment", ["erin"], agreements=known))
        assert again.run.status == "waiting_approval"

    def test_one_who_asked_somebody_first_still_waits_for_them(self) -> None:
        driver = branch("equipment", ["erin"])
        told(driver.decide("erin", "add", to="ian", position="before"))
        assert driver.awaited == ["ian"]

    def test_one_that_begins_later_knows_it_from_the_start(self) -> None:
        known = branch("finance", ["erin"]).decide("erin").run.approvals.agreements
        driver = branch("equipment", ["erin"], agreements=known)
        assert (driver.run.status, lines(driver)) == ("completed", ["erin"])

    def test_what_is_told_after_its_end_changes_nothing(self) -> None:
        driver = branch("equipment", ["erin"]).cancel()
        before = driver.run
        assert told(driver).run == before


def news(driver: Driver, counted: str = "finance") -> Agreement:
    return Agreement(person="erin", contents="c", counted=[counted], at=driver.now)


class TestInTheRun:
    def test_the_branches_that_go_on_are_to_be_told(self) -> None:
        driver = paused()
        other = finished(driver, [news(driver)])
        assert (other.branch, list(other.agreed)) == ("equipment", [news(driver)])
        assert driver.run.approvals.agreements == [news(driver)]

    def test_of_what_they_knew_already_they_are_told_nothing(self) -> None:
        driver = paused()
        known = news(driver, "first")
        driver.run.approvals.agreements = [known]
        assert finished(driver, [known.counting_in("finance")]).agreed == ()
        assert driver.run.approvals.agreements == [known.counting_in("finance")]

    @pytest.mark.parametrize("status", ["rejected", "expired"])
    def test_a_branch_that_is_stopped_needs_no_telling(self, status: Any) -> None:
        driver = paused()
        other = finished(driver, [news(driver)], status)
        assert (other.stopping, other.agreed) == (True, ())


def paused() -> Driver:
    """The run while its two branches are under way."""
    driver = Driver(SIGN_OFF).take(Began(by="alice"), answer=False)
    (reserve,) = driver.run.work.tasks
    return driver.take(Called(task=reserve, value=None), answer=False)


def finished(driver: Driver, agreements: list[Agreement], status: Any = "completed") -> Task:
    """The other branch, once the first has ended."""
    task = next(e for e in driver.run.work.tasks.values() if e.part == 0)
    event = Finished(task=task.id, status=status, agreements=agreements)
    (other,) = driver.take(event, answer=False).run.work.tasks.values()
    return other
