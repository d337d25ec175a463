"""Calls that don't work out: tried again later, held, made again by an operator; reassigning."""

from datetime import timedelta
from typing import Any

import pytest

from router.domain.errors import Conflict
from router.flow.engine.events import (
    Began,
    Called,
    Cancelled,
    Confirmed,
    Failed,
    Reassigned,
    Retried,
)
from router.flow.engine.run_parts.recovery import FailureKind
from tests.table import each_row
from tests.unit.flow.definitions import LEAVE, Driver, altered, flow
from tests.unit.flow.wider_flows import PAYMENT

BEGUN = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "x"}
PAY = f"{PAYMENT.flow}/default/r1:pay:2"


def paying(**states: dict[str, Any]) -> Driver:
    """A payment that is under way, with some states changed."""
    driver = Driver(altered(PAYMENT, **states))
    driver.take(Began(by="alice"), answer=False)
    return driver.take(Called(task="reserve:1", value=None), answer=False)


def fails(driver: Driver, kind: FailureKind, error: str = "no answer") -> Driver:
    return driver.take(Failed(task="pay:2", error=error, kind=kind), answer=False)


def fires(driver: Driver) -> Driver:
    (name,) = driver.run.work.timers
    return driver.fire(name, answer=False)


class TestTriedAgainLater:
    @pytest.mark.parametrize("kind", ["unavailable", "unknown"])
    def test_while_its_system_is_out_of_reach_under_the_same_key(self, kind: FailureKind) -> None:
        driver = fails(paying(), kind)
        (timer,) = driver.run.work.timers.values()
        assert (timer.name, timer.due) == ("retry", driver.now + timedelta(hours=1))
        assert driver.run.status == "waiting"
        fires(driver)
        assert driver.run.work.tasks["pay:2"].key == PAY
        assert driver.take(Called(task="pay:2", value=None)).run.status == "completed"

    def test_as_often_as_the_file_says_and_said_once(self) -> None:
        driver = paying()
        for _ in range(2):
            fires(fails(driver, "unavailable"))
        fails(driver, "unavailable")
        assert driver.run.work.timers == {}
        assert driver.run.recovery.held == "unavailable"
        assert sum("out of reach" in said for said in driver.said) == 1

    @pytest.mark.parametrize("kind", ["permanent", "arguments"])
    def test_never_where_trying_again_cannot_help(self, kind: FailureKind) -> None:
        driver = fails(paying(), kind)
        assert driver.run.work.timers == {}
        assert driver.run.recovery.held == kind

    def test_an_operator_need_not_wait_for_it(self) -> None:
        driver = fails(paying(), "unavailable").take(Retried(by="olga"), answer=False)
        assert driver.run.work.timers == {}
        assert list(driver.run.work.tasks) == ["pay:2"]

    def test_cancelled_meanwhile_nothing_is_called_any_more(self) -> None:
        driver = fails(paying(), "unavailable").cancel()
        assert (driver.run.status, driver.run.work.timers) == ("cancelled", {})
        assert driver.called == ["release"]


class TestHeld:
    def test_the_run_waits_for_an_operator_and_says_so(self) -> None:
        driver = fails(paying(), "permanent", "account closed")
        assert (driver.run.status, driver.run.state) == ("waiting", "pay")
        assert "administrator" in driver.said[-1]
        assert ("call failed", "pay: account closed") in [line[::2] for line in driver.history]

    @pytest.mark.parametrize(
        ("kind", "key"),
        [
            ("permanent", f"{PAY}:again1"),
            ("arguments", f"{PAY}:again1"),
            ("unknown", PAY),
            ("unavailable", PAY),
        ],
    )
    def test_made_again_it_has_another_key_only_where_nothing_was_done(
        self, kind: FailureKind, key: str
    ) -> None:
        driver = fails(paying(), "unavailable")
        for _ in range(2):
            fires(driver)
            fails(driver, kind if driver.run.recovery.tries == 2 else "unavailable")
            if driver.run.recovery.held:
                break
        assert driver.run.recovery.held == kind
        driver.take(Retried(by="olga"), answer=False)
        assert driver.run.work.tasks["pay:2"].key == key
        assert driver.run.recovery.held is None

    def test_what_was_done_under_the_new_key_is_taken_back_by_it(self) -> None:
        driver = fails(paying(good={"end": "failed"}), "permanent").take(Retried(by="olga"))
        keys = [key for name, _, key in driver.world.calls if name == "pay_back"]
        assert keys == [f"{PAY}:again1:undo"]

    def test_cancelling_ends_it_and_undoes_what_came_before(self) -> None:
        driver = fails(paying(), "permanent").take(Cancelled(by="olga"))
        assert driver.run.status == "cancelled"
        assert driver.called == ["release"]

    def test_nothing_is_made_again_that_has_not_failed(self) -> None:
        driver = paying()
        assert isinstance(driver.refusal(Retried(by="olga")), Conflict)
        before = driver.run.work.tasks
        assert driver.take(Retried(by="olga"), answer=False).run.work.tasks == before

    def test_wrong_arguments_go_by_on_error_where_there_is_such_a_way(self) -> None:
        driver = paying(pay={"on_error": PAYMENT.states["pay"].exits()["next"]})
        assert fails(driver, "arguments").run.status == "completed"


@each_row(
    ("kind", "end"),
    [("arguments", "rejected"), ("unavailable", "expired"), ("permanent", "failed")],
)
def test_errors_of_different_kinds_go_different_ways(kind: FailureKind, end: str) -> None:
    ways = [
        {"if": "results.error.kind == 'arguments'", "to": "tell_no"},
        {"if": "results.error.kind == 'unavailable'", "to": "tell_late"},
        {"to": "tell_failed"},
    ]
    reserve = {**LEAVE["states"]["reserve"], "undo": None, "on_error": ways}
    driver = Driver(flow(LEAVE, states={**LEAVE["states"], "reserve": reserve})).begin(**BEGUN)
    driver.take(Confirmed(by="alice", value=True), answer=False)
    (task,) = driver.run.work.tasks
    assert driver.take(Failed(task=task, error="no", kind=kind)).run.status == end


class TestReassigned:
    def test_someone_else_decides_instead(self) -> None:
        driver = Driver(flow(LEAVE)).begin(**BEGUN).confirm()
        driver.take(Reassigned(by="olga", to="dave", instead_of="bob"))
        assert driver.awaited == ["dave"]
        assert ("reassigned", "olga", "bob ▸ dave") in driver.history
        assert driver.decide("dave").run.status == "completed"

    @pytest.mark.parametrize(
        ("to", "instead_of"), [("dave", "carol"), ("alice", "bob"), ("bob", "bob")]
    )
    def test_not_in_place_of_whom_nobody_waits_for_nor_by_the_requester(
        self, to: str, instead_of: str
    ) -> None:
        driver = Driver(flow(LEAVE)).begin(**BEGUN).confirm()
        event = Reassigned(by="olga", to=to, instead_of=instead_of)
        assert isinstance(driver.refusal(event), Conflict)
        before = driver.run.approvals.current
        assert driver.take(event).run.approvals.current == before


class TestLookupsOfApprovals:
    """What can't be looked up for an approval waits for an operator; the run isn't ended."""

    def asking(self, *failing: str) -> Driver:
        driver = Driver(flow(LEAVE))
        driver.world.failing = dict.fromkeys(failing, "no directory")
        return driver.begin(**BEGUN).confirm()

    def unanswered(self) -> Driver:
        """Bob didn't answer, and nobody can tell who is above him."""
        driver = self.asking()
        driver.world.failing = {"manager": "no directory"}
        return driver.fire("escalate")

    @pytest.mark.parametrize("lookup", ["manager", "names", "stand_ins"])
    def test_made_again_by_an_operator_it_goes_on(self, lookup: str) -> None:
        driver = self.asking(lookup)
        assert (driver.run.status, driver.run.state) == ("waiting", "manager")
        assert driver.said[-1].startswith("This step didn't work out.")
        assert driver.history[-1][::2] == ("held", f"{lookup}: no directory")
        assert driver.refusal(Retried(by="olga")) is None
        driver.world.failing = {}
        driver.take(Retried(by="olga"))
        assert driver.run.status == "waiting_approval"
        assert driver.said[-1].startswith("This is with Bob")

    def test_tried_again_too_early_it_is_held_once_more(self) -> None:
        driver = self.asking("names").take(Retried(by="olga"))
        assert [event for event, *_ in driver.history][-3:] == ["held", "retried", "held"]
        assert driver.run.status == "waiting"

    def test_cancelled_it_is_undone_like_any(self) -> None:
        driver = self.asking("names").cancel()
        assert driver.run.status == "cancelled"
        assert "release" in driver.called

    def test_it_is_passed_up_once_that_is_known(self) -> None:
        driver = self.unanswered()
        assert (driver.run.status, driver.run.history[-1].event) == ("waiting_approval", "held")
        driver.world.failing = {}
        assert driver.take(Retried(by="olga")).awaited == ["carol"]

    def test_meanwhile_whoever_was_asked_may_decide_or_it_may_expire(self) -> None:
        assert self.unanswered().decide("bob").run.status == "completed"
        assert self.unanswered().fire("expire").run.status == "expired"
