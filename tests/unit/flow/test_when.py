"""Slots with a `when`: asked for where that holds, and taken whenever they are given."""

from typing import Any

from router.domain.messages import ChoicesReply
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Skipped
from router.flow.prompts import question
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text


def lending(**of_note: Any) -> FlowDefinition:
    """A loan: where it is long, a note is asked for."""
    asked = {"label": text("Note"), "ask": text("Which note?"), "when": "slots.days > 2.0"}
    note = {"type": "text", **asked, **of_note}
    slots = {
        "note": note,
        "days": {"type": "number", "label": text("Days"), "ask": text("How long?")},
        "what": {"type": "text", "label": text("What"), "ask": text("What?")},
    }
    states = {
        "details": {"collect": ["note", "days", "what"], "next": "review"},
        "review": {"confirm": text("Fine?"), "confirmed": "good", "declined": "details"},
        "good": {"end": "completed"},
    }
    return flow_of("lending", states, slots)


OFFERED = lending(**{"required": False, "=skippable": True})
NEVER = lending(**{"required": False, "=skippable": True, "when": "false"})


def test_it_is_not_asked_for_before_what_it_depends_on_is_known() -> None:
    assert Driver(lending()).begin().run.question.path == "days"


@each_row(("days", "asked"), [(3.0, "note"), (2.0, "what")])
def test_it_is_asked_for_where_its_condition_holds_alone(days: float, asked: str) -> None:
    assert Driver(lending()).begin(days=days).run.question.path == asked


def test_it_is_asked_for_once_another_answer_makes_it_needed() -> None:
    driver = Driver(lending()).begin(days=1.0, what="a ladder")
    assert driver.run.status == "confirming"
    driver.answer(days=5.0)
    assert (driver.run.status, driver.run.question.path) == ("collecting", "note")


def test_it_is_taken_where_nobody_would_have_asked() -> None:
    driver = Driver(lending()).begin(days=1.0, what="a ladder", note="n1")
    assert (driver.run.status, driver.run.form.slots["note"]) == ("confirming", "n1")


def test_left_empty_it_is_not_asked_for_again() -> None:
    driver = Driver(OFFERED).begin(days=3.0, what="a ladder")
    assert driver.run.question.path == "note"
    driver.take(Skipped(by="alice"))
    assert driver.run.status == "confirming"
    driver.answer(days=4.0)
    assert driver.run.status == "confirming"


@each_row(("flow", "days"), [(OFFERED, 1.0), (NEVER, 9.0)])
def test_whoever_wants_to_supply_it_is_asked_whatever_its_condition_says(
    flow: FlowDefinition, days: float
) -> None:
    driver = Driver(flow).begin(days=days, what="a ladder")
    assert driver.run.status == "confirming"
    driver.answer(change="note")
    assert (driver.run.status, driver.run.question.path) == ("collecting", "note")
    driver.answer(note="n1")
    assert (driver.run.status, driver.run.form.slots["note"]) == ("confirming", "n1")


def test_of_what_to_change_it_is_one_where_it_was_asked_for() -> None:
    for days, known in ((3.0, True), (1.0, False)):
        driver = Driver(OFFERED).begin(days=days, what="a ladder")
        if driver.run.question.path == "note":
            driver.take(Skipped(by="alice"))
        driver.confirm(False)
        asked = question.question(driver.definition, driver.run)
        assert isinstance(asked, ChoicesReply)
        assert ("note" in [option.value for option in asked.options]) is known
