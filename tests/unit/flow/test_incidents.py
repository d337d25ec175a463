"""Undos that don't work out: nothing stands as taken back before it is."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from router.domain.errors import Conflict
from router.flow.definition import FlowDefinition
from router.flow.engine import compensation
from router.flow.engine.events import AnyEvent, Began, Called, Cancelled, Failed, Retried
from router.flow.engine.incidents import MOST_TRIES
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import FailureKind
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, NOW, Driver, flow_of, text

STATES = {
    "one": {"call": "one", "undo": "undo_one", "next": "two"},
    "two": {"call": "two", "undo": "undo_two", "next": "review"},
    "review": {"confirm": text("Right?"), "confirmed": "good", "declined": "bad"},
    "good": {"end": "completed"},
    "bad": {"say": text("Sorry."), "end": "failed"},
}
WAY = {"approve": {"by": "'bob'", "title": text("Take back")}}
SAGA = flow_of("saga", STATES, withdrawal=WAY)


class Undos:
    """A run that ends, whose undos come to what `failing` says: a kind by the undo's name."""

    def __init__(self, definition: FlowDefinition = SAGA) -> None:
        self.driver = Driver(definition).begin()
        self.keys: list[str] = []
        self.final = False

    @property
    def run(self) -> Run:
        return self.driver.run

    def answered(self, failing: Mapping[str, FailureKind]) -> "Undos":
        while self.run.work.tasks:
            task = next(iter(self.run.work.tasks.values()))
            self.keys.append(task.key)
            came_back: AnyEvent = Called(task=task.id, value=None)
            if kind := failing.get(task.name):
                came_back = Failed(task=task.id, error="http://10.0.0.7 says 403", kind=kind)
                came_back = came_back.model_copy(update={"final": self.final})
            self.driver.take(came_back, answer=False)
        return self

    def _after(self, event: AnyEvent, failing: Mapping[str, FailureKind]) -> "Undos":
        self.driver.take(event, answer=False)
        return self.answered(failing)

    def cancelled(self, **failing: FailureKind) -> "Undos":
        return self._after(Cancelled(by="alice"), failing)

    def retried(self, **failing: FailureKind) -> "Undos":
        return self._after(Retried(by="olga"), failing)

    def terminated(self, **failing: FailureKind) -> "Undos":
        return self._after(Cancelled(by="olga", final=True), failing)

    def pauses(self) -> timedelta:
        """Let the timer come due; how long that was."""
        before, (name,) = self.driver.now, self.run.work.timers
        return self.driver.fire(name, answer=False).now - before

    @property
    def left(self) -> list[str]:
        return [done.state for done in self.run.recovery.done]


@each_row("kind", ["permanent", "arguments"])
def test_refused_for_good_it_is_held_for_an_operator_the_rest_undone(kind: FailureKind) -> None:
    undos = Undos().cancelled(undo_two=kind)
    assert (undos.run.status, undos.run.work.timers, undos.left) == ("waiting", {}, ["two"])
    assert undos.driver.said[-1].startswith("One step couldn't be taken back. An administrator")
    assert not any("10.0.0.7" in said or "undo_two" in said for said in undos.driver.said)


def test_made_again_by_an_operator_it_has_a_key_of_its_own_and_then_the_run_is_over() -> None:
    undos = Undos().cancelled(undo_two="permanent").retried(undo_two="permanent").retried()
    assert (undos.run.status, undos.left) == ("cancelled", [])
    two = [key for key in undos.keys if "two" in key]
    assert two == [two[0], f"{two[0]}:again1", f"{two[0]}:again2"]
    assert undos.driver.said[-2:] == [
        "What couldn't be taken back before now has been.",
        "All right, that's cancelled.",
    ]


def test_it_is_said_to_be_cancelled_when_it_is_and_before_that_to_be_taken_back() -> None:
    undos = Undos()
    undos.driver.take(Cancelled(by="alice"), answer=False)
    assert undos.driver.said[-1] == (
        "All right, what was done already is being taken back; you'll hear when all of it has been."
    )
    assert undos.answered({}).driver.said[-1] == "All right, that's cancelled."


def test_what_an_operator_leaves_as_it_is_is_not_said_to_be_cancelled() -> None:
    undos = Undos().cancelled(undo_two="permanent").terminated()
    assert undos.run.status == "cancelled"
    assert not any("that's cancelled" in said for said in undos.driver.said)


def test_what_was_set_aside_waits_for_an_operator_and_is_not_tried_again_by_itself() -> None:
    undos = Undos()
    undos.final = True
    undos.cancelled(undo_two="unknown")
    assert (undos.run.status, undos.run.work.timers, undos.run.recovery.owes) == (
        "waiting",
        {},
        "operator",
    )
    call = {"call": "pay", "retry": {"every": "PT1M", "attempts": 9}, "hold": True, "next": "good"}
    driver = Driver(flow_of("paying", {"pay": call, "good": {"end": "completed"}}))
    driver.take(Began(by="alice"), answer=False)
    (task,) = driver.run.work.tasks
    set_aside = Failed(task=task, error="it ended processes", kind="unknown", final=True)
    driver.take(set_aside, answer=False)
    assert (driver.run.recovery.held, driver.run.work.timers) == ("unknown", {})


@each_row("kind", ["unavailable", "unknown"])
def test_out_of_reach_it_is_tried_again_under_its_key_after_growing_pauses(
    kind: FailureKind,
) -> None:
    undos = Undos().cancelled(undo_one=kind)
    pauses = []
    while undos.run.work.timers:
        pauses.append(undos.pauses())
        undos.answered({"undo_one": kind})
    assert pauses == [timedelta(minutes=2**n) for n in range(MOST_TRIES - 1)]
    assert len({key for key in undos.keys if "one" in key}) == 1
    assert (undos.run.status, undos.left) == ("waiting", ["one"])
    assert [said[:43] for said in undos.driver.said[1:]] == [
        "One step couldn't be taken back yet. It wil",
        "One step couldn't be taken back. An adminis",
    ]


def test_one_is_tried_again_while_another_waits_for_an_operator() -> None:
    undos = Undos().cancelled(undo_one="unavailable", undo_two="permanent")
    undos.pauses()
    undos.answered({})
    assert (undos.run.status, undos.left) == ("waiting", ["two"])
    assert undos.retried().run.status == "cancelled"


def test_an_operator_need_not_wait_for_the_pause() -> None:
    undos = Undos().cancelled(undo_one="unavailable").retried()
    assert (undos.run.status, undos.run.work.timers) == ("cancelled", {})


def test_its_requester_cannot_end_it_so_but_an_operator_can() -> None:
    undos = Undos().cancelled(undo_two="permanent").cancelled()
    assert (undos.run.status, undos.left) == ("waiting", ["two"])
    assert "being taken back already" in undos.driver.said[-1]
    undos.terminated()
    assert undos.run.status == "cancelled"
    assert ("left undone", "two (undo_two)") in [line[::2] for line in undos.driver.history]


def test_ended_by_an_operator_at_once_everything_is_still_undone_first() -> None:
    undos = Undos().terminated(undo_one="permanent")
    assert (undos.run.status, undos.left) == ("waiting", ["one"])


def test_nothing_is_made_again_that_has_not_failed() -> None:
    driver = Undos().driver.take(Cancelled(by="alice"), answer=False)
    assert isinstance(driver.refusal(Retried(by="olga")), Conflict)


def test_history_names_the_step_that_was_undone_and_the_one_that_was_not() -> None:
    driver = Undos().cancelled(undo_one="permanent").driver
    assert [line[::2] for line in driver.history if "undo" in line[0]] == [
        ("undone", "two (undo_two)"),
        ("undo failed", "one (undo_one): http://10.0.0.7 says 403"),
    ]


class TestEnds:
    def failing(self, end: str, **more: object) -> Driver:
        """A saga whose second step fails, which ends it so."""
        two = {"call": "two", "next": "review", "on_error": "bad"}
        bad = {"say": text("Sorry."), "end": end, **more}
        driver = Driver(flow_of("saga", {**STATES, "two": two, "bad": bad}))
        driver.world.failing["two"] = "403"
        return driver.begin()

    @pytest.mark.parametrize("end", ["rejected", "expired", "failed", "cancelled"])
    def test_other_than_completed_leave_nothing_done(self, end: str) -> None:
        driver = self.failing(end)
        assert (driver.run.status, driver.called) == (end, ["one", "undo_one"])

    @pytest.mark.parametrize("end", ["rejected", "failed"])
    def test_leave_it_where_the_file_says_so(self, end: str) -> None:
        driver = self.failing(end, keep=True)
        assert (driver.run.status, driver.called) == (end, ["one"])


class TestWithdrawal:
    def taking_back(self) -> Undos:
        undos = Undos(compensation.definition_of(SAGA))
        undos.driver.run = compensation.with_what_it_undoes(
            Run(id="r2", requester=ALICE, locale="en"),
            withdraws="r1",
            done=Driver(SAGA).begin().confirm().run.recovery.done,
            slots={},
            results={},
            files={},
            comment=None,
            now=NOW,
        )
        undos.driver.begin()
        undos.driver.take(undos.driver.decision("bob"), answer=False)
        return undos

    def test_it_is_not_completed_before_everything_is_undone_and_then_says_so(self) -> None:
        undos = self.taking_back().answered({"undo_two": "permanent"})
        assert undos.run.status == "waiting"
        assert undos.retried().run.status == "completed"
        assert undos.driver.said[-1].startswith("It is taken back:")

    def test_ended_by_an_operator_it_does_not_stand_as_taken_back(self) -> None:
        undos = self.taking_back().answered({"undo_two": "permanent"}).terminated()
        assert undos.run.status == "cancelled"

    def test_cancelled_while_it_undoes_it_is_completed_all_the_same(self) -> None:
        assert self.taking_back().cancelled().run.status == "completed"
