"""Events from outside: told by whom the file names, once, before or while a run waits for them."""

from datetime import timedelta
from typing import Any

from pydantic import JsonValue

from router.domain.errors import Conflict, InvalidInput, NotFound
from router.flow.engine.events import Arrived, Began, Called, Fired
from router.flow.engine.run_parts.work import MAX_EVENT_KEYS
from router.flow.engine.waiting import LARGEST, refusal
from tests.table import each_row
from tests.unit.flow.definitions import Driver
from tests.unit.flow.wider_flows import DELIVERY

WAREHOUSE = frozenset({"employee", "warehouse"})
TWO_BOXES: dict[str, JsonValue] = {"boxes": 2}


def arrived(value: dict[str, JsonValue] = TWO_BOXES, word: str = "w1") -> Arrived:
    return Arrived(by="wendy", name="arrived", value=value, word=word)


def test_an_event_that_is_waited_for_takes_the_run_on_with_what_it_brought() -> None:
    talk = Driver(DELIVERY).begin()
    assert (talk.run.status, talk.run.state) == ("waiting", "arrival")
    talk.take(arrived())
    assert talk.run.status == "completed"
    assert talk.run.work.results["arrived"] == {"boxes": 2}
    assert ("arrived", "wendy", "arrived") in talk.history


def test_an_event_that_comes_early_is_kept_until_it_is_waited_for() -> None:
    talk = Driver(DELIVERY).take(Began(by="alice"), answer=False)
    assert list(talk.run.work.tasks) == ["order:1"]
    talk.take(arrived(), answer=False)
    assert talk.run.work.early_events == {"arrived": {"boxes": 2}}
    talk.take(Called(task="order:1", value=None))
    assert talk.run.status == "completed"
    assert talk.run.work.early_events == {}


def test_what_does_not_come_in_time_is_late() -> None:
    talk = Driver(DELIVERY).begin()
    begun, (timer,) = talk.now, talk.run.work.timers
    assert talk.fire(timer).now == begun + timedelta(days=7)
    assert (talk.run.status, talk.run.state) == ("rejected", "bad")


def test_no_timer_is_left_once_the_event_is_there() -> None:
    talk = Driver(DELIVERY).begin()
    (timer,) = talk.run.work.timers.values()
    talk.take(arrived({"boxes": 0})).take(Fired(timer=timer.id))
    assert (talk.run.status, talk.run.state) == ("rejected", "bad")
    assert talk.run.work.timers == {}


@each_row("roles", [{"employee"}, {"operator", "hr"}, set()])
def test_for_whoever_the_file_does_not_name_there_is_no_such_event(roles: set[str]) -> None:
    run = Driver(DELIVERY).begin().run
    assert isinstance(refusal(DELIVERY, run, arrived(), roles), NotFound)
    unknown = Arrived(name="departed", value={})
    assert isinstance(refusal(DELIVERY, run, unknown, WAREHOUSE), NotFound)


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("boxes", {}),
    ("boxes", {"boxes": None}),
    ("boxes", {"boxes": "two"}),
    ("boxes", {"boxes": 1.5}),
    ("boxes", {"boxes": True}),
    ("boxes", {"boxes": [2]}),
    ("note", {"boxes": 2, "note": "x" * 21}),
    ("note", {"boxes": 2, "note": {"a": 1}}),
    ("pallets", {"boxes": 2, "pallets": 1}),
    ("", {"boxes": 2, "note": "x" * LARGEST}),
]


@each_row(("field", "value"), HOSTILE)
def test_what_an_event_brings_must_be_what_the_file_says(field: str, value: dict[str, Any]) -> None:
    talk = Driver(DELIVERY).begin()
    refused = refusal(DELIVERY, talk.run, arrived(value), WAREHOUSE)
    assert isinstance(refused, InvalidInput)
    assert [fault.field for fault in refused.problems] == [field]
    assert talk.take(arrived(value)).run.status == "waiting"


def test_the_same_word_is_heard_once_and_another_waits_its_turn() -> None:
    talk = Driver(DELIVERY)
    talk.take(Began(by="alice"), answer=False).take(arrived(), answer=False)
    assert refusal(DELIVERY, talk.run, arrived(), WAREHOUSE) is None
    assert talk.take(arrived({"boxes": 9}), answer=False).run.work.early_events["arrived"] == {
        "boxes": 2
    }
    again = arrived(word="w2")
    assert isinstance(refusal(DELIVERY, talk.run, again, WAREHOUSE), Conflict)
    assert talk.take(again, answer=False).run.work.early_events["arrived"] == {"boxes": 2}


def test_only_so_many_words_are_remembered() -> None:
    talk = Driver(DELIVERY).begin()
    talk.run.work.event_keys = [f"w{n}" for n in range(100, 100 + MAX_EVENT_KEYS)]
    talk.take(arrived())
    assert (len(talk.run.work.event_keys), talk.run.work.event_keys[-1]) == (MAX_EVENT_KEYS, "w1")


def test_an_ended_run_hears_nothing() -> None:
    talk = Driver(DELIVERY).begin().cancel()
    assert talk.run.status == "cancelled"
    assert isinstance(refusal(DELIVERY, talk.run, arrived(), WAREHOUSE), Conflict)
