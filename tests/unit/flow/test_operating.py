"""Calls that don't work out: tried again later, held, made again by an operator; reassigning."""

from datetime import timedelta

import pytest

from router.domain.errors import Conflict
from router.flow.definition import FlowDefinition
from router.flow.engine.events import (
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Failed,
    Fired,
    Reassigned,
    Retried,
)
from router.flow.engine.machine import refusal_of
from router.flow.engine.run import FailureKind
from tests.unit.flow.definitions import LEAVE, Driver, flow
from tests.unit.flow.wider_flows import PAYMENT

PAY = f"{PAYMENT.flow}/default/r1:pay:2"


def paying(definition: FlowDefinition = PAYMENT) -> Driver:
    driver = Driver(definition)
    driver.take(Began(by="alice"), answer=False)
    return driver.take(Called(task="reserve:1", value=None), answer=False)


def fails(driver: Driver, kind: FailureKind, error: str = "no answer") -> Driver:
    return driver.take(Failed(task="pay:2", error=error, kind=kind), answer=False)


def fires(driver: Driver) -> Driver:
    (timer,) = driver.run.timers.values()
    driver.now = timer.due
    return driver.take(Fired(timer=timer.id), answer=False)


class TestTriedAgainLater:
    @pytest.mark.parametrize("kind", ["unavailable", "unknown"])
    def test_while_its_system_is_out_of_reach_under_the_same_key(self, kind: FailureKind) -> None:
        driver = fails(paying(), kind)
        (timer,) = driver.run.timers.values()
        assert (timer.name, timer.due) == ("retry", driver.now + timedelta(hours=1))
        assert driver.run.status == "waiting"
        fires(driver)
        assert driver.run.tasks["pay:2"].key == PAY
        assert driver.take(Called(task="pay:2", value=None)).run.status == "completed"

    def test_as_often_as_the_file_says_and_said_once(self) -> None:
        driver = paying()
        for _ in range(2):
            fires(fails(driver, "unavailable"))
        fails(driver, "unavailable")
        assert driver.run.timers == {}
        assert driver.run.held == "unavailable"
        assert sum("out of reach" in said for said in driver.said) == 1

    @pytest.mark.parametrize("kind", ["permanent", "arguments"])
    def test_never_where_trying_again_cannot_help(self, kind: FailureKind) -> None:
        driver = fails(paying(), kind)
        assert driver.run.timers == {}
        assert driver.run.held == kind

    def test_an_operator_need_not_wait_for_it(self) -> None:
        driver = fails(paying(), "unavailable").take(Retried(by="olga"), answer=False)
        assert driver.run.timers == {}
        assert list(driver.run.tasks) == ["pay:2"]

    def test_cancelled_meanwhile_nothing_is_called_any_more(self) -> None:
        driver = fails(paying(), "unavailable").take(Cancelled(by="alice"))
        assert (driver.run.status, driver.run.timers) == ("cancelled", {})
        assert [name for name, _, _ in driver.world.calls] == ["release"]


class TestHeld:
    def test_the_run_waits_for_an_operator_and_says_so(self) -> None:
        driver = fails(paying(), "permanent", "account closed")
        assert (driver.run.status, driver.run.state) == ("waiting", "pay")
        assert "administrator" in driver.said[-1]
        events = [(line.event, line.comment) for line in driver.run.history]
        assert ("call failed", "pay: account closed") in events

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
            fails(driver, kind if driver.run.tries == 2 else "unavailable")
            if driver.run.held:
                break
        assert driver.run.held == kind
        driver.take(Retried(by="olga"), answer=False)
        assert driver.run.tasks["pay:2"].key == key
        assert driver.run.held is None

    def test_what_was_done_under_the_new_key_is_taken_back_by_it(self) -> None:
        states = {
            **PAYMENT.states,
            "good": PAYMENT.states["good"].model_copy(update={"end": "failed"}),
        }
        driver = fails(paying(PAYMENT.model_copy(update={"states": states})), "permanent")
        driver.take(Retried(by="olga"))
        assert [key for name, _, key in driver.world.calls if name == "pay_back"] == [
            f"{PAY}:again1:undo"
        ]

    def test_cancelling_ends_it_and_undoes_what_came_before(self) -> None:
        driver = fails(paying(), "permanent").take(Cancelled(by="olga"))
        assert driver.run.status == "cancelled"
        assert [name for name, _, _ in driver.world.calls] == ["release"]

    def test_nothing_is_made_again_that_has_not_failed(self) -> None:
        driver = paying()
        refused = refusal_of(PAYMENT, driver.run, Retried(by="olga"), driver.now)
        assert isinstance(refused, Conflict)
        before = driver.run.tasks
        assert driver.take(Retried(by="olga"), answer=False).run.tasks == before

    def test_wrong_arguments_go_by_on_error_where_there_is_such_a_way(self) -> None:
        pay = PAYMENT.states["pay"].model_copy(
            update={"on_error": PAYMENT.states["pay"].exits()["next"]}
        )
        driver = paying(PAYMENT.model_copy(update={"states": {**PAYMENT.states, "pay": pay}}))
        assert fails(driver, "arguments").run.status == "completed"


def test_errors_of_different_kinds_go_different_ways() -> None:
    ways = [
        {"if": "results.error.kind == 'arguments'", "to": "tell_no"},
        {"if": "results.error.kind == 'unavailable'", "to": "tell_late"},
        {"to": "tell_failed"},
    ]
    record = {**LEAVE["states"]["reserve"], "undo": None, "next": "manager", "on_error": ways}
    states = {**LEAVE["states"], "reserve": record}
    ends = {"arguments": "rejected", "unavailable": "expired", "permanent": "failed"}
    for kind, end in ends.items():
        driver = Driver(flow(LEAVE, states=states))
        refused = Failed(task="", error="no", kind=kind)
        begun = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "x"}
        driver.begin(**begun)
        driver.take(Confirmed(by="alice", value=True), answer=False)
        (task,) = driver.run.tasks.values()
        driver.take(refused.model_copy(update={"task": task.id}))
        assert driver.run.status == end


class TestReassigned:
    def waiting(self) -> Driver:
        driver = Driver(flow(LEAVE))
        driver.begin(kind="annual", start="2026-11-23", end="2026-11-24", reason="x")
        return driver.take(Confirmed(by="alice", value=True))

    def test_someone_else_decides_instead(self) -> None:
        driver = self.waiting()
        driver.take(Reassigned(by="olga", to="dave", instead_of="bob"))
        assert driver.run.approval is not None
        (waiting,) = driver.run.approval.waiting_for()
        assert waiting.person == "dave"
        assert ("reassigned", "olga", "bob ▸ dave") in [
            (line.event, line.by, line.comment) for line in driver.run.history
        ]
        decided = Decided(by="dave", approval=waiting.id, verdict="approve")
        assert driver.take(decided).run.status == "completed"

    @pytest.mark.parametrize(
        ("to", "instead_of"), [("dave", "carol"), ("alice", "bob"), ("bob", "bob")]
    )
    def test_not_in_place_of_whom_nobody_waits_for_nor_by_the_requester(
        self, to: str, instead_of: str
    ) -> None:
        driver = self.waiting()
        event = Reassigned(by="olga", to=to, instead_of=instead_of)
        refused = refusal_of(driver.definition, driver.run, event, driver.now)
        assert isinstance(refused, Conflict)
        before = driver.run.approval
        assert driver.take(event).run.approval == before


class TestLookupsOfApprovals:
    """What can't be looked up for an approval waits for an operator; the run isn't ended."""

    def asking(self, *failing: str) -> Driver:
        driver = Driver(flow(LEAVE))
        driver.world.failing = dict.fromkeys(failing, "no directory")
        driver.begin(kind="annual", start="2026-11-23", end="2026-11-24", reason="x")
        return driver.take(Confirmed(by="alice", value=True))

    def unanswered(self) -> Driver:
        """Bob didn't answer, and nobody can tell who is above him."""
        driver = self.asking()
        driver.world.failing = {"manager": "no directory"}
        timer = driver.run.timers["escalate"]
        driver.now = timer.due
        return driver.take(Fired(timer=timer.id))

    @pytest.mark.parametrize("lookup", ["manager", "names", "stand_ins"])
    def test_made_again_by_an_operator_it_goes_on(self, lookup: str) -> None:
        driver = self.asking(lookup)
        assert (driver.run.status, driver.run.state) == ("waiting", "manager")
        assert driver.said[-1].startswith("This step didn't work out.")
        held = driver.run.history[-1]
        assert (held.event, held.comment) == ("held", f"{lookup}: no directory")
        assert refusal_of(driver.definition, driver.run, Retried(by="olga"), driver.now) is None
        driver.world.failing = {}
        driver.take(Retried(by="olga"))
        assert driver.run.status == "waiting_approval"
        assert driver.said[-1].startswith("This is with Bob")

    def test_tried_again_too_early_it_is_held_once_more(self) -> None:
        driver = self.asking("names").take(Retried(by="olga"))
        assert [h.event for h in driver.run.history][-3:] == ["held", "retried", "held"]
        assert driver.run.status == "waiting"

    def test_cancelled_it_is_undone_like_any(self) -> None:
        driver = self.asking("names").take(Cancelled(by="alice"))
        assert driver.run.status == "cancelled"
        assert "release" in [name for name, _, _ in driver.world.calls]

    def test_it_is_passed_up_once_that_is_known(self) -> None:
        driver = self.unanswered()
        assert (driver.run.status, driver.run.history[-1].event) == ("waiting_approval", "held")
        driver.world.failing = {}
        driver.take(Retried(by="olga"))
        assert driver.run.approval is not None
        assert [one.person for one in driver.run.approval.waiting_for()] == ["carol"]

    def test_meanwhile_whoever_was_asked_may_decide(self) -> None:
        driver = self.unanswered()
        assert driver.run.approval is not None
        (bob,) = driver.run.approval.waiting_for()
        driver.take(Decided(by="bob", approval=bob.id, verdict="approve"))
        assert driver.run.status == "completed"

    def test_meanwhile_it_may_expire(self) -> None:
        driver = self.unanswered()
        timer = driver.run.timers["expire"]
        driver.now = timer.due
        assert driver.take(Fired(timer=timer.id)).run.status == "expired"
