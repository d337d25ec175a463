"""Approvals that name a crowd: who is asked, what is said of them, and where it ends."""

from typing import Any

from router.flow.definition import Approve
from router.flow.engine.events import Retried
from router.flow.engine.run_parts.approvals import MAX_APPROVERS
from router.flow.validation.references import approval_complaints
from tests.table import each_row
from tests.unit.flow.definitions import Driver, text
from tests.unit.flow.test_approvals import WHOLE, ladder

CROWD = {"by": "role('crowd')"}


def asking(number: int, ask: dict[str, Any] = CROWD, **more: Any) -> Driver:
    driver = Driver(ladder({**ask, **more}))
    return named(driver, number).begin(**WHOLE).confirm()


def named(driver: Driver, number: int) -> Driver:
    """Have the directory name so many people for a role."""
    driver.world.lookups["role"] = lambda _: [f"p{n}" for n in range(number)]
    return driver


def held(driver: Driver) -> bool:
    return driver.run.open_incident is not None


def test_all_are_asked_and_a_few_are_named() -> None:
    driver = asking(90)
    assert driver.awaited == [f"p{n}" for n in range(90)]
    assert driver.told("asked") == [driver.awaited]
    assert any(
        said.startswith("This is with P0, P1, P2, P3, P4 and 85 more for approval now")
        for said in driver.said
    )


def test_any_of_a_crowd_may_pass_it_on() -> None:
    driver = asking(MAX_APPROVERS).decide("p499", "delegate", to="zoe")
    assert driver.awaited[-1] == "zoe"
    assert driver.decide("zoe").run.status == "completed"


@each_row(
    "ask",
    [CROWD, {"by": "'bob'", "cc": "role('crowd')"}],
    ids=["asked", "told"],
)
def test_too_many_are_an_operators_to_see_to_until_there_are_fewer(ask: dict[str, Any]) -> None:
    driver = asking(MAX_APPROVERS + 1, ask)
    assert (driver.run.status, driver.run.approvals.current, held(driver)) == (
        "waiting",
        None,
        True,
    )
    assert driver.said[-1].startswith("This step didn't work out. An administrator has to")
    event, _, comment = driver.history[-2]
    assert event == "over limit"
    assert (comment or "").removeprefix("cc: ").startswith("role('crowd') names 501 people")

    driver.take(Retried(by="olga"))
    assert held(driver)

    named(driver, MAX_APPROVERS).take(Retried(by="olga"))
    assert (driver.run.status, held(driver)) == ("waiting_approval", False)


def test_who_is_asked_is_waited_for_while_too_many_would_be_asked_next() -> None:
    driver = asking(3, escalate_after="P1D", escalate_to="role('crowd')", by="'bob'")
    named(driver, MAX_APPROVERS + 1).fire("escalate")
    assert (driver.awaited, held(driver)) == (["bob"], True)

    assert driver.decide("bob").run.status == "completed"


@each_row("key", ["by", "cc"])
def test_a_file_that_names_too_many_isnt_loaded(key: str) -> None:
    people = [f"'p{n}'" for n in range(MAX_APPROVERS + 1)]
    ask = {"by": "'bob'", "title": text("Please"), key: people}
    ((place, fault),) = approval_complaints(("approve",), Approve.model_validate(ask))
    assert place == ("approve", key)
    assert fault.what == f"{MAX_APPROVERS + 1} expressions each name somebody"
