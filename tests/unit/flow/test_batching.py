"""Things done side by side: an item each, a run of another flow, branches that join."""

from typing import Any

import pytest
from pydantic import JsonValue

from router.domain.messages import FlowStatus
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Began, Called, Cancelled, Confirmed, Decided, Failed, Finished
from router.flow.engine.machine import step
from router.flow.engine.parallel import LARGEST, MOST_ITEMS, branch_of
from router.flow.engine.run import Done, Run
from tests.unit.flow.definitions import Driver
from tests.unit.flow.wider_flows import BOOKINGS, ITEMS, SIGN_OFF, TRIP, wider

THREE = ["a", "b", "c"]
PAID = Done(visit=7, state="pay", tool="pay", arguments={"n": 1}, key="k-pay", undo="pay_back")


def paused(definition: FlowDefinition, **slots: Any) -> Driver:
    """A run that has done everything but what it started last."""
    driver = Driver(definition)
    return stepped(driver, Began(by="alice", slots=slots))


def stepped(driver: Driver, event: Any) -> Driver:
    """Take an event, and answer what comes of it except calls to `book` and runs."""
    driver.take(event, answer=False)
    while todo := [e for e in driver.run.tasks.values() if e.kind != "flow" and e.name != "book"]:
        (task, *_) = todo
        single = driver.run.model_copy(update={"tasks": {task.id: task}})
        driver.take(driver.world.answer(single), answer=False)
    return driver


def ended(driver: Driver, number: int, status: FlowStatus, **more: Any) -> Driver:
    task = next(e for e in driver.run.tasks.values() if e.part == number)
    return stepped(driver, Finished(task=task.id, status=status, **more))


def test_what_two_runs_did_in_states_of_one_name_is_taken_back_under_two_ids() -> None:
    driver = ended(paused(SIGN_OFF), 0, "completed", done=[PAID])
    other = PAID.model_copy(update={"key": "k-other"})
    ended(driver, 1, "completed", done=[other]).take(Cancelled(by="alice"), answer=False)
    (last,) = driver.run.tasks.values()
    driver.take(Called(task=last.id, value=None), answer=False)
    (first,) = driver.run.tasks.values()
    assert (last.undoes, first.undoes) == ("k-other", "k-pay")
    late = step(SIGN_OFF, driver.run, Called(task=last.id, value=None), driver.now)[0]
    assert late.tasks == driver.run.tasks


class TestEachItem:
    def test_a_call_is_made_once_for_each_and_saved_in_order(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        assert list(driver.run.tasks) == ["book:2:0", "book:2:1"]
        for id_, value in (("book:2:1", "B"), ("book:2:0", "A"), ("book:2:2", "C")):
            stepped(driver, Called(task=id_, value=value))
        assert driver.run.results["booked"] == ["A", "B", "C"]
        assert driver.run.status == "confirming"

    def test_each_has_arguments_and_a_key_of_its_own(self) -> None:
        driver = Driver(BOOKINGS).begin(items=THREE)
        assert [arguments for _, arguments, _ in driver.world.calls] == [
            {"what": item} for item in THREE
        ]
        assert len({key for _, _, key in driver.world.calls}) == len(THREE)

    def test_one_that_fails_takes_the_others_back_in_reverse_once_they_have_settled(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        stepped(driver, Called(task="book:2:0", value="A"))
        stepped(driver, Failed(task="book:2:2", error="none left"))
        assert list(driver.run.tasks) == ["book:2:1"]
        stepped(driver, Called(task="book:2:1", value="B"))
        assert [(name, args) for name, args, _ in driver.world.calls] == [
            ("unbook", {"what": "b"}),
            ("unbook", {"what": "a"}),
        ]
        assert (driver.run.status, driver.run.state) == ("rejected", "bad")
        assert driver.run.results["error"] == {
            "message": "none left",
            "kind": "permanent",
            "item": 2,
        }
        assert "booked" not in driver.run.results

    def test_after_a_failure_nothing_new_is_begun(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        stepped(driver, Failed(task="book:2:0", error="no"))
        stepped(driver, Failed(task="book:2:1", error="no"))
        assert driver.run.state == "bad"

    def test_cancelled_half_way_everything_that_was_done_is_taken_back(self) -> None:
        driver = paused(BOOKINGS, items=THREE)
        stepped(driver, Called(task="book:2:0", value="A"))
        driver.take(Cancelled(by="alice"), answer=False)
        stepped(driver, Called(task="book:2:2", value="C", lasts=True))
        assert driver.run.ending == "cancelled"
        stepped(driver, Called(task="book:2:1", value="B", lasts=True))
        assert driver.run.status == "cancelled"
        assert [args["what"] for _, args, _ in driver.world.calls] == ["b", "c", "a"]
        assert len({key for _, _, key in driver.world.calls}) == len(THREE)

    def test_a_result_larger_than_its_share_is_not_carried(self) -> None:
        driver = paused(BOOKINGS, items=["a", "b"])
        stepped(driver, Called(task="book:2:0", value="x" * (LARGEST // 2 + 1)))
        stepped(driver, Called(task="book:2:1", value="x" * (LARGEST // 2 - 20)))
        booked = driver.run.results["booked"]
        assert isinstance(booked, list)
        assert [value is None for value in booked] == [True, False]

    def test_no_items_need_no_call(self) -> None:
        slots = {"items": {**ITEMS["items"], "min": 0}}
        definition = BOOKINGS.model_copy(
            update={"slots": wider("x", {"a": {"end": "completed"}}, slots).slots}
        )
        driver = Driver(definition).begin(items=[])
        assert driver.world.calls == []
        assert driver.run.results["booked"] == []

    @pytest.mark.parametrize("each", ["results.order", "slots.items.map(i, [1])[0][0]"])
    def test_what_is_no_list_ends_the_run(self, each: str) -> None:
        states = BOOKINGS.states
        book = states["book"].model_copy(update={"each": each})
        definition = BOOKINGS.model_copy(update={"states": {**states, "book": book}})
        driver = Driver(definition).begin(items=["a"])
        assert driver.run.status == "failed"
        assert driver.world.calls == []

    def test_too_many_items_are_not_begun(self) -> None:
        states = BOOKINGS.states
        many = "[" + ", ".join(["'x'"] * (MOST_ITEMS + 1)) + "]"
        book = states["book"].model_copy(update={"each": many})
        definition = BOOKINGS.model_copy(update={"states": {**states, "book": book}})
        assert Driver(definition).begin(items=["a"]).run.status == "failed"


class TestSubFlow:
    def test_it_is_started_with_its_slots_and_waited_for(self) -> None:
        driver = paused(TRIP)
        (task,) = driver.run.tasks.values()
        assert (task.kind, task.name, task.arguments) == ("flow", "hotel", {"city": "Berlin"})
        assert driver.run.status == "waiting"
        assert ("started", f"hotel {task.key}") in [
            (h.event, h.comment) for h in driver.run.history
        ]

    def test_what_it_came_to_is_saved(self) -> None:
        driver = paused(TRIP)
        (task,) = driver.run.tasks.values()
        ended(driver, 0, "completed", slots={"city": "Berlin"}, results={"price": 90})
        assert driver.run.results["hotel"] == {
            "run": task.key,
            "status": "completed",
            "slots": {"city": "Berlin"},
            "results": {"price": 90},
        }
        assert driver.run.status == "confirming"

    def test_what_is_too_much_is_left_with_it(self) -> None:
        driver = ended(paused(TRIP), 0, "completed", slots={"city": "x" * LARGEST})
        saved = driver.run.results["hotel"]
        assert isinstance(saved, dict)
        assert set(saved) == {"run", "status"}

    @pytest.mark.parametrize("status", ["rejected", "cancelled", "failed", "expired"])
    def test_any_other_end_goes_the_other_way(self, status: FlowStatus) -> None:
        driver = ended(paused(TRIP), 0, status)
        assert (driver.run.state, driver.run.status) == ("bad", "rejected")

    @pytest.mark.parametrize("status", ["rejected", "cancelled", "failed", "expired"])
    def test_without_another_way_the_run_ends_as_it_did_and_leaves_nothing(
        self, status: FlowStatus
    ) -> None:
        hotel = TRIP.states["hotel"].model_copy(update={"otherwise": ()})
        definition = TRIP.model_copy(update={"states": {**TRIP.states, "hotel": hotel}})
        driver = ended(paused(definition), 0, status)
        assert driver.run.status == status
        assert [name for name, _, _ in driver.world.calls] == ["reserve", "release"]

    def test_cancelling_stops_it_first_and_then_undoes_what_was_done_before(self) -> None:
        driver = stepped(paused(TRIP), Cancelled(by="alice"))
        (task,) = driver.run.tasks.values()
        assert task.stopping
        assert [name for name, _, _ in driver.world.calls] == ["reserve"]
        ended(driver, 0, "cancelled")
        assert driver.run.status == "cancelled"
        assert [name for name, _, _ in driver.world.calls] == ["reserve", "release"]

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
        (task,) = driver.run.tasks.values()
        stepped(driver, Finished(task=task.id, status="running"))
        assert driver.run.status == "completed"

    def test_one_for_each_item_comes_after_the_other(self) -> None:
        states = {
            "details": {"collect": ["items"], "next": "ask"},
            "ask": {
                "flow": "hotel",
                "each": "slots.items",
                "with": {"city": "item"},
                "save": "hotels",
                "completed": "good",
                "otherwise": "bad",
            },
        }
        driver = paused(wider("tour", states, ITEMS), items=["Bonn", "Ulm"])
        cities = []
        for number in (0, 1):
            (task,) = driver.run.tasks.values()
            cities.append(task.arguments["city"])
            ended(driver, number, "completed")
        assert cities == ["Bonn", "Ulm"]
        assert driver.run.status == "completed"


class TestBranches:
    def test_all_are_under_way_at_once(self) -> None:
        driver = paused(SIGN_OFF)
        assert [e.branch for e in driver.run.tasks.values()] == ["finance", "equipment"]
        ended(driver, 0, "completed")
        assert driver.run.status == "waiting"
        ended(driver, 1, "completed")
        assert (driver.run.state, driver.run.status) == ("review", "confirming")

    def test_what_they_found_is_known_after_them(self) -> None:
        driver = paused(SIGN_OFF)
        ended(driver, 0, "completed", results={"paid": {"id": 1}})
        ended(driver, 1, "completed", results={"decision": {"by": "ian"}})
        assert driver.run.results["paid"] == {"id": 1}
        said = driver.run.results["said"]
        assert isinstance(said, dict)
        assert list(said) == ["finance", "equipment"]

    def test_a_rejection_stops_the_others_and_what_was_done_is_taken_back(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "completed", done=[PAID])
        ended(driver, 1, "rejected", results={"decision": {"comment": "no"}})
        assert driver.run.results["decision"] == {"comment": "no"}
        assert [name for name, _, _ in driver.world.calls] == ["reserve", "pay_back", "release"]
        assert (driver.run.state, driver.run.status) == ("bad", "rejected")

    def test_those_that_are_stopped_are_waited_for(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "rejected")
        (other,) = driver.run.tasks.values()
        assert (other.branch, other.stopping) == ("equipment", True)
        ended(driver, 1, "cancelled")
        assert driver.run.state == "bad"

    def test_the_rest_may_finish_where_the_file_says_so(self) -> None:
        driver = ended(paused(changed(rest="finish")), 0, "rejected")
        (other,) = driver.run.tasks.values()
        assert not other.stopping
        assert ended(driver, 1, "completed").run.state == "bad"

    def test_one_may_be_enough(self) -> None:
        driver = ended(paused(changed(wait_for="any")), 0, "rejected")
        assert driver.run.status == "waiting"
        assert ended(driver, 1, "completed").run.state == "review"

    def test_the_first_of_any_stops_the_others(self) -> None:
        driver = ended(paused(changed(wait_for="any")), 1, "completed")
        (other,) = driver.run.tasks.values()
        assert other.stopping
        assert ended(driver, 0, "cancelled").run.state == "review"

    def test_a_branch_taken_back_is_the_whole_run_taken_back(self) -> None:
        driver = ended(paused(SIGN_OFF), 0, "cancelled")
        (other,) = driver.run.tasks.values()
        assert other.stopping
        ended(driver, 1, "cancelled")
        assert driver.run.status == "cancelled"
        assert [name for name, _, _ in driver.world.calls] == ["reserve", "release"]

    def test_a_branch_is_a_run_that_ends_where_they_join(self) -> None:
        branch = branch_of(SIGN_OFF, "both", "finance")
        driver = Driver(branch)
        driver.world.lookups["role"] = lambda _: ["erin"]
        driver.begin()
        approval = driver.run.approval
        assert approval is not None
        driver.take(Decided(by="erin", approval=approval.assignees[0].id, verdict="approve"))
        assert driver.run.status == "completed"
        assert driver.run.state == "review"
        assert [done.tool for done in driver.run.done] == ["pay"]


def changed(**both: JsonValue) -> FlowDefinition:
    state = SIGN_OFF.states["both"].model_copy(update=both)
    return SIGN_OFF.model_copy(update={"states": {**SIGN_OFF.states, "both": state}})


def test_a_run_in_the_middle_of_it_survives_as_json() -> None:
    for driver in (paused(BOOKINGS, items=THREE), paused(TRIP), paused(SIGN_OFF)):
        again = Run.model_validate_json(driver.run.model_dump_json())
        assert again == driver.run
        event = Confirmed(by="alice", value=True)
        assert step(driver.definition, again, event, driver.now)[0].state == driver.run.state
