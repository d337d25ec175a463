"""Things done side by side: an item each, a run of another flow, branches that join."""

from typing import Any

import pytest

from router.domain.messages import FlowStatus
from router.domain.run_approvals import RunApproval
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Began, Called, Cancelled, Failed, Finished
from router.flow.engine.machine import step
from router.flow.engine.parallel import LARGEST, branch_of
from router.flow.engine.run_parts.recovery import Done
from router.flow.engine.run_parts.work import MAX_BATCH_PARTS
from tests.table import each_row
from tests.unit.flow.definitions import Driver, altered
from tests.unit.flow.wider_flows import BOOKINGS, ITEMS, SIGN_OFF, TRIP, wider

THREE = ["a", "b", "c"]
PAID = Done(visit=7, state="pay", tool="pay", arguments={"n": 1}, key="k-pay", undo="pay_back")


def paused(definition: FlowDefinition, **slots: Any) -> Driver:
    """A run that has done everything but what it started last."""
    return stepped(Driver(definition), Began(by="alice", slots=slots))


def settled(driver: Driver, **values: Any) -> Driver:
    """Calls to `book` come back, by the number of their item."""
    for number, value in values.items():
        stepped(driver, Called(task=f"book:2:{number[1:]}", value=value))
    return driver


def stepped(driver: Driver, event: Any) -> Driver:
    """Take an event, and answer what comes of it except calls to `book` and runs."""
    driver.take(event, answer=False)
    while todo := [
        e for e in driver.run.work.tasks.values() if e.kind != "flow" and e.name != "book"
    ]:
        (task, *_) = todo
        single = driver.run.draft()
        single.work.tasks = {task.id: task}
        driver.take(driver.world.answer(single), answer=False)
    return driver


def ended(driver: Driver, number: int, status: FlowStatus, **more: Any) -> Driver:
    task = next(e for e in driver.run.work.tasks.values() if e.part == number)
    return stepped(driver, Finished(task=task.id, status=status, **more))


def test_what_two_runs_did_in_states_of_one_name_is_taken_back_under_two_ids() -> None:
    driver = ended(paused(SIGN_OFF), 0, "completed", done=[PAID])
    other = PAID.model_copy(update={"key": "k-other"})
    ended(driver, 1, "completed", done=[other]).take(Cancelled(by="alice"), answer=False)
    (last,) = driver.run.work.tasks.values()
    driver.take(Called(task=last.id, value=None), answer=False)
    (first,) = driver.run.work.tasks.values()
    assert (last.undoes, first.undoes) == ("k-other", "k-pay")
    late = step(SIGN_OFF, driver.run, Called(task=last.id, value=None), driver.now)[0]
    assert late.work.tasks == driver.run.work.tasks


class TestEachItem:
    def test_a_call_is_made_once_for_each_and_saved_in_order(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        assert list(driver.run.work.tasks) == ["book:2:0", "book:2:1"]
        settled(driver, _1="B", _0="A", _2="C")
        assert driver.run.work.results["booked"] == ["A", "B", "C"]
        assert driver.run.status == "confirming"

    def test_each_has_arguments_and_a_key_of_its_own(self) -> None:
        calls = Driver(BOOKINGS).begin(items=THREE).world.calls
        assert [arguments for _, arguments, _ in calls] == [{"what": item} for item in THREE]
        assert len({key for *_, key in calls}) == len(THREE)

    def test_one_that_fails_takes_the_others_back_in_reverse_once_they_have_settled(self) -> None:
        driver = settled(paused(BOOKINGS, items=THREE), _0="A")
        stepped(driver, Failed(task="book:2:2", error="none left"))
        assert list(driver.run.work.tasks) == ["book:2:1"]
        settled(driver, _1="B")
        assert [(name, args["what"]) for name, args, _ in driver.world.calls] == [
            *(("unbook", "b"), ("unbook", "a"))
        ]
        assert (driver.run.status, driver.run.state) == ("rejected", "bad")
        error = {"message": "none left", "kind": "permanent", "item": 2}
        assert (driver.run.work.results["error"], "booked" in driver.run.work.results) == (
            error,
            False,
        )

    def test_after_a_failure_nothing_new_is_begun(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        stepped(driver, Failed(task="book:2:0", error="no"))
        stepped(driver, Failed(task="book:2:1", error="no"))
        assert driver.run.state == "bad"

    def test_cancelled_half_way_everything_that_was_done_is_taken_back(self) -> None:
        driver = settled(paused(BOOKINGS, items=THREE), _0="A")
        driver.take(Cancelled(by="alice"), answer=False)
        stepped(driver, Called(task="book:2:2", value="C", lasts=True))
        assert driver.run.work.ending == "cancelled"
        stepped(driver, Called(task="book:2:1", value="B", lasts=True))
        assert driver.run.status == "cancelled"
        assert [args["what"] for _, args, _ in driver.world.calls] == ["b", "c", "a"]
        assert len({key for *_, key in driver.world.calls}) == len(THREE)

    def test_a_result_larger_than_its_share_is_not_carried(self) -> None:
        driver = paused(BOOKINGS, items=["a", "b"])
        settled(driver, _0="x" * (LARGEST // 2 + 1), _1="x" * (LARGEST // 2 - 20))
        booked: Any = driver.run.work.results["booked"]
        assert [value is None for value in booked] == [True, False]

    def test_no_items_need_no_call(self) -> None:
        none = BOOKINGS.slots["items"].model_copy(update={"min": 0})
        driver = Driver(BOOKINGS.model_copy(update={"slots": {"items": none}})).begin(items=[])
        assert (driver.called, driver.run.work.results["booked"]) == ([], [])

    @pytest.mark.parametrize(
        "each",
        ["results.order", "slots.items.map(i, [1])[0][0]", str(["x"] * (MAX_BATCH_PARTS + 1))],
        ids=["not there", "no list", "too many"],
    )
    def test_what_is_no_list_or_too_long_a_one_ends_the_run(self, each: str) -> None:
        driver = Driver(altered(BOOKINGS, book={"each": each})).begin(items=["a"])
        assert (driver.run.status, driver.called) == ("failed", [])


class TestSubFlow:
    def test_it_is_started_with_its_slots_and_waited_for_and_what_it_came_to_is_saved(self) -> None:
        driver = paused(TRIP)
        (task,) = driver.run.work.tasks.values()
        assert (task.kind, task.name, task.arguments) == ("flow", "hotel", {"city": "Berlin"})
        assert driver.run.status == "waiting"
        assert ("started", f"hotel {task.key}") in [line[::2] for line in driver.history]
        came_to: Any = {"slots": {"city": "Berlin"}, "results": {"price": 90}}
        ended(driver, 0, "completed", **came_to)
        saved = {"run": task.key, "status": "completed", **came_to}
        assert (driver.run.status, driver.run.work.results["hotel"]) == ("confirming", saved)

    def test_what_is_too_much_is_left_with_it(self) -> None:
        driver = ended(paused(TRIP), 0, "completed", slots={"city": "x" * LARGEST})
        saved: Any = driver.run.work.results["hotel"]
        assert set(saved) == {"run", "status"}

    @pytest.mark.parametrize("status", ["rejected", "cancelled", "failed", "expired"])
    def test_any_other_end_goes_the_other_way_or_is_the_runs_own(self, status: FlowStatus) -> None:
        driver = ended(paused(TRIP), 0, status)
        assert (driver.run.state, driver.run.status) == ("bad", "rejected")
        driver = ended(paused(altered(TRIP, hotel={"otherwise": ()})), 0, status)
        assert (driver.run.status, driver.called) == (status, ["reserve", "release"])

    def test_cancelling_stops_it_first_and_then_undoes_what_was_done_before(self) -> None:
        driver = stepped(paused(TRIP), Cancelled(by="alice"))
        (task,) = driver.run.work.tasks.values()
        assert task.stopping
        assert driver.called == ["reserve"]
        ended(driver, 0, "cancelled")
        assert driver.run.status == "cancelled"
        assert driver.called == ["reserve", "release"]

    def test_what_it_did_is_undone_by_its_own_undo_when_the_run_is_taken_back(self) -> None:
        driver = ended(paused(TRIP), 0, "completed", done=[PAID])
        stepped(driver, Cancelled(by="alice"))
        assert [(name, key) for name, _, key in driver.world.calls[1:]] == [
            ("pay_back", "k-pay:undo"),
            ("release", f"{driver.world.calls[0][2]}:undo"),
        ]

    def test_a_detached_one_is_not_waited_for(self) -> None:
        states = {"ask": {"flow": "survey", "detached": True, "save": "survey", "next": "good"}}
        driver = paused(wider("after", states))
        (task,) = driver.run.work.tasks.values()
        stepped(driver, Finished(task=task.id, status="running"))
        assert driver.run.status == "completed"

    def test_one_for_each_item_comes_after_the_other(self) -> None:
        ask = {"flow": "hotel", "each": "slots.items", "with": {"city": "item"}, "save": "hotels"}
        ask |= {"completed": "good", "otherwise": "bad"}
        states = {"details": {"collect": ["items"], "next": "ask"}, "ask": ask}
        driver = paused(wider("tour", states, ITEMS), items=["Bonn", "Ulm"])
        cities = []
        for number in (0, 1):
            (task,) = driver.run.work.tasks.values()
            cities.append(task.arguments["city"])
            ended(driver, number, "completed")
        assert cities == ["Bonn", "Ulm"]
        assert driver.run.status == "completed"


class TestBranches:
    def test_all_are_under_way_at_once(self) -> None:
        driver = paused(SIGN_OFF)
        assert [e.branch for e in driver.run.work.tasks.values()] == ["finance", "equipment"]
        ended(driver, 0, "completed")
        assert driver.run.status == "waiting"
        ended(driver, 1, "completed")
        assert (driver.run.state, driver.run.status) == ("review", "confirming")

    def test_what_they_found_is_known_after_them(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "completed", results={"paid": {"id": 1}})
        ended(driver, 1, "completed", results={"decision": {"by": "ian"}})
        results: Any = driver.run.work.results
        assert (results["paid"], list(results["said"])) == ({"id": 1}, ["finance", "equipment"])

    def test_a_rejection_stops_the_others_and_what_was_done_is_taken_back(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "completed", done=[PAID])
        ended(driver, 1, "rejected", results={"decision": {"comment": "no"}})
        assert driver.run.work.results["decision"] == {"comment": "no"}
        assert driver.called == ["reserve", "pay_back", "release"]
        assert (driver.run.state, driver.run.status) == ("bad", "rejected")

    def test_those_that_are_stopped_are_waited_for(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "rejected")
        (other,) = driver.run.work.tasks.values()
        assert (other.branch, other.stopping) == ("equipment", True)
        ended(driver, 1, "cancelled")
        assert driver.run.state == "bad"

    def test_the_rest_may_finish_where_the_file_says_so(self) -> None:
        driver = ended(paused(altered(SIGN_OFF, both={"rest": "finish"})), 0, "rejected")
        (other,) = driver.run.work.tasks.values()
        assert not other.stopping
        assert ended(driver, 1, "completed").run.state == "bad"

    def test_one_may_be_enough(self) -> None:
        driver = ended(paused(altered(SIGN_OFF, both={"wait_for": "any"})), 0, "rejected")
        assert driver.run.status == "waiting"
        assert ended(driver, 1, "completed").run.state == "review"

    def test_the_first_of_any_stops_the_others(self) -> None:
        driver = ended(paused(altered(SIGN_OFF, both={"wait_for": "any"})), 1, "completed")
        (other,) = driver.run.work.tasks.values()
        assert other.stopping
        assert ended(driver, 0, "cancelled").run.state == "review"

    def test_a_branch_taken_back_is_the_whole_run_taken_back(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "cancelled")
        (other,) = driver.run.work.tasks.values()
        assert other.stopping
        ended(driver, 1, "cancelled")
        assert driver.run.status == "cancelled"
        assert driver.called == ["reserve", "release"]

    def test_a_branch_is_a_run_that_ends_where_they_join(self) -> None:
        driver = Driver(branch_of(SIGN_OFF, "both", "finance")).begin().decide("dave")
        assert (driver.run.status, driver.run.state) == ("completed", "review")
        assert [done.tool for done in driver.run.recovery.done] == ["pay"]


def approvals(people: list[str]) -> list[RunApproval]:
    return [RunApproval(digest="d", person=person, state="ask") for person in people]


@each_row(
    ("first", "second", "left"),
    [
        ([], ["boss"], []),
        (["boss"], [], []),
        ([], ["boss", "it"], ["it"]),
        (["boss", "dave"], ["boss", "it"], ["boss", "dave", "it"]),
        (["dave"], ["boss"], ["dave"]),
    ],
)
def test_what_a_branch_voids_of_what_was_approved_before_is_void_when_they_join(
    first: list[str], second: list[str], left: list[str]
) -> None:
    driver = Driver(SIGN_OFF)
    driver.run.approvals.granted = approvals(["boss"])
    stepped(driver, Began(by="alice"))
    ended(driver, 0, "completed", granted=approvals(first))
    ended(driver, 1, "completed", granted=approvals(second))
    assert (driver.run.state, driver.run.approvals.granted) == ("review", approvals(left))
