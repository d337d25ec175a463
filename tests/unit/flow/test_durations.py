"""Durations and moments of flow files: bounded when a file is loaded, and when a run waits."""

from collections.abc import Iterator
from decimal import InvalidOperation
from typing import Any

import pytest

from router.cli.schemas import DURATION, flow_schema
from router.domain.durations import MAX_DURATION
from router.flow.engine import waiting as waiting_of_engine
from router.flow.engine.events import Retried
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text
from tests.unit.flow.test_validation import WORD, changed, faults

WITHDRAWAL = (
    f"withdrawal: {{approve: {{by: requester.manager, title: {WORD}, "
    "expire_after: {}}}\nstart: details"
)
PLACES = [
    ("idle", "start: details", "idle: {}\nstart: details"),
    ("expire_after", "expire_after: P14D", "expire_after: {}"),
    ("remind_every", "expire_after: P14D", "expire_after: P14D, remind_every: {}"),
    (
        "escalate_after",
        "expire_after: P14D",
        "expire_after: P14D, escalate_to: requester.manager, escalate_after: {}",
    ),
    ("for", 'until: "slots.start"', "for: {}"),
    ("every", "save: quote,", "save: quote, retry: {attempts: 3, every: {}},"),
    (
        "expire_after",
        "start: details",
        WITHDRAWAL,
    ),
]
"""Every key whose value is a duration, and how a flow has it."""


TOO_LONG = ["P36526D", "P101Y", "P4000000D", "P99999999D", "P9999999999D", "PT876601H"]


@each_row(
    ("key", "old", "new", "span"),
    [
        *((*place, "P36526D") for place in PLACES),
        *((*PLACES[1], span) for span in TOO_LONG),
    ],
)
def test_a_duration_of_more_than_a_hundred_years_is_refused(
    key: str, old: str, new: str, span: str
) -> None:
    (fault,) = faults(changed(old, new.replace("{}", span)))
    assert key in fault.what
    assert f"should be 100 years at most, and is '{span}'" in fault.what
    assert fault.remedy == "write P36525D or less, or leave it out"


@each_row(("key", "old", "new"), PLACES)
def test_a_negative_duration_is_refused(key: str, old: str, new: str) -> None:
    (fault,) = faults(changed(old, new.replace("{}", "-P1D")))
    assert (key in fault.what, fault.remedy) == (True, "write PT24H for hours or P14D for days")
    assert "should be no less than nothing, and is '-P1D'" in fault.what


@each_row(("key", "old", "new"), PLACES)
def test_a_hundred_years_are_taken(key: str, old: str, new: str) -> None:
    del key
    assert faults(changed(old, new.replace("{}", "P36525D"))) == []


@each_row(
    ("span", "is_refused"),
    [("P366D", False), ("P365DT8H", False), ("P367D", True), ("P365DT9H", True), ("P3Y", True)],
)
def test_working_time_is_counted_for_a_year(span: str, *, is_refused: bool) -> None:
    found = faults(changed("expire_after: P14D", f"expire_after: {span}, hours: working"))
    assert [fault.remedy for fault in found] == (
        ["write P366D at most, or hours: calendar"] if is_refused else []
    )


def _keys_of_durations(schema: Any, key: str = "") -> Iterator[str]:
    if isinstance(schema, dict):
        if schema.get("pattern") == DURATION["pattern"]:
            yield key
        for name, part in schema.items():
            yield from _keys_of_durations(part, key if name in {"anyOf", "items"} else name)
    elif isinstance(schema, list):
        for part in schema:
            yield from _keys_of_durations(part, key)


def test_every_duration_of_a_flow_file_is_in_the_table() -> None:
    assert set(_keys_of_durations(flow_schema())) == {key for key, *_ in PLACES}


def waiting(until: str, **more: Any) -> Driver:
    """A run that has ordered something and then waits until this moment."""
    states = {
        "order": {"call": "order", "next": "rest", "save": "order"},
        "rest": {"wait": {"until": until}, "next": "done"},
        "done": {"say": text("Done"), "end": "completed"},
    }
    driver = Driver(flow_of("waits", states))
    driver.world.results = {"order": more}
    return driver.begin()


@each_row(
    ("until", "why"),
    [
        ("'9999-12-31'", "'9999-12-31', which is more than 100 years away"),
        ("'9999-12-31T23:59:59-23:59'", "which is more than 100 years away"),
        ("'9999-12-31T23:59:59+23:59'", "which is more than 100 years away"),
        ("plus_days(day(now), 36600)", "which is more than 100 years away"),
        ("plus_days(day(now), 10000000)", "there is no day"),
        ("plus_days(day(now), 1.0e300)", "there is no day"),
        ("plus_days('9999-12-31', 1)", "there is no day"),
        ("timestamp(now) + duration('2562047h')", "which is more than 100 years away"),
        ("timestamp('9999-12-31T23:00:00Z') + duration('2h')", "has no value"),
        ("timestamp('0001-01-01T00:00:00Z') - duration('2h')", "has no value"),
        ("'10000-01-01'", "which is no date or time"),
        ("'2026-02-30'", "which is no date or time"),
        ("results.order.price", "which is no date or time"),
        ("results.order.nothing", "which is empty"),
        ("1 / 0", "has no value"),
    ],
)
def test_a_moment_that_nothing_can_wait_for_ends_the_run_with_the_reason(
    until: str, why: str
) -> None:
    driver = waiting(until, price=1e308)
    assert (driver.run.status, driver.run.work.timers) == ("failed", {})
    assert any(why in (comment or "") for _, _, comment in driver.history), driver.history


@each_row(
    "until",
    [
        *("'0001-01-01'", "'0001-01-01T00:00:00+23:59'", "'0001-01-01T00:00:00-23:59'"),
        *("plus_days(day(now), -700000)", "timestamp(now) - duration('2562047h')", "day(now)"),
    ],
)
def test_a_moment_that_has_passed_is_not_waited_for(until: str) -> None:
    assert waiting(until).run.status == "completed"


def test_a_hundred_years_can_be_waited_for() -> None:
    driver = waiting("timestamp(now) + duration('876600h')")
    (timer,) = driver.run.work.timers.values()
    assert timer.due - driver.now == MAX_DURATION


def raising(error: Exception) -> Any:
    """A function that does nothing but raise this."""

    def function(*_: object) -> None:
        raise error

    return function


def stuck(error: Exception) -> Driver:
    """A run whose tool has been called, and which an error then keeps from waiting."""
    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(waiting_of_engine, "wait", raising(error))
        return waiting("day(now)")


@each_row(
    "error", [OverflowError("a"), InvalidOperation("a"), ValueError("a"), RecursionError("a")]
)
def test_a_run_that_its_data_stops_is_held_with_the_reason(error: Exception) -> None:
    driver = stuck(error)
    assert (driver.run.status, driver.run.state, driver.run.recovery.held) == (
        "waiting",
        "order",
        "data",
    )
    (failed, _, why), (held, *_) = driver.history[-2:]
    assert (failed, why, held) == ("data failed", f"{type(error).__name__}: a", "held")
    assert "administrator" in driver.said[-1]


def test_an_operator_has_it_continue_once_that_is_put_right() -> None:
    driver = stuck(OverflowError("a")).take(Retried(by="olga"))
    assert (driver.run.status, driver.run.recovery.held) == ("completed", None)
    assert (driver.called, driver.said[-1]) == (["order"], "Done")


def test_a_move_that_fails_again_has_it_held_again(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = stuck(OverflowError("a"))
    monkeypatch.setattr(waiting_of_engine, "wait", raising(OverflowError("b")))
    driver.take(Retried(by="olga"))
    assert (driver.run.recovery.held, driver.called) == ("data", ["order"])
    assert [comment for event, _, comment in driver.history if event == "data failed"] == [
        "OverflowError: a",
        "OverflowError: b",
    ]


def test_its_requester_can_cancel_it() -> None:
    assert stuck(OverflowError("a")).cancel().run.status == "cancelled"


@each_row("error", [AttributeError("a"), KeyError("a"), RuntimeError("a"), TypeError("a")])
def test_a_defect_of_the_engine_is_no_incident(error: Exception) -> None:
    with pytest.raises(type(error)):
        stuck(error)
