"""What is said about the dialogue in the middle of a flow: skip, help, again, from the start."""

from typing import Any

from router.domain.messages import FormReply
from router.flow.engine.events import Puzzled, Skipped, StartedOver, Unclear
from router.flow.prompts.question import view
from router.routing.tool_form import form_of
from tests.forms import form
from tests.table import each_row
from tests.unit.flow.definitions import CLAIM, LEAVE, Driver, flow, flow_of, money, text
from tests.unit.flow.world import sample

WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "family"}
QUIET = {"required": False}
SKIPPABLE = {**QUIET, "=skippable": True}
BADGE = flow_of(
    "badge",
    slots={
        "why": {"type": "text", "label": text("Why"), "ask": text("How was it lost?")},
        "note": {"type": "text", "label": text("Note"), "ask": text("Any note?"), **SKIPPABLE},
        "seen": {"type": "date", "label": text("Day"), "ask": text("When?"), **SKIPPABLE},
        "extra": {"type": "text", **QUIET},
        "days": {
            "type": "number",
            "ask": text("Days?"),
            "lookup": "workdays(slots.seen, slots.seen, '', '')",
            **QUIET,
        },
    },
    states={
        "details": {"collect": ["why", "note", "seen", "extra", "days"], "next": "review"},
        "review": {"confirm": text("Right?"), "confirmed": "done", "declined": "details"},
        "done": {"end": "completed"},
    },
)


def at_note() -> Driver:
    return Driver(BADGE).begin(why="lost")


def skip(driver: Driver, times: int = 1) -> Driver:
    for _ in range(times):
        driver.take(Skipped(by="alice"))
    return driver


def said(driver: Driver, event: Any) -> str:
    """What is said to an event, beside the question."""
    return " ".join(driver.hear(event))


def test_what_is_optional_and_has_a_question_is_asked_once_and_can_be_skipped() -> None:
    driver = at_note()
    (question,) = view(BADGE, driver.run).replies
    assert (driver.run.question.path, question.text) == ("note", "Any note? (You can skip this.)")
    shown = view(BADGE, skip(driver).run)
    (form,) = shown.replies
    assert isinstance(form, FormReply)
    assert (shown.awaiting, form.fields[0].required) == (["seen"], False)
    skip(driver)
    assert (driver.run.status, driver.run.form.slots) == ("confirming", {"why": "lost"})
    assert driver.run.form.skipped_slots == ["note", "seen"]
    assert driver.confirm(False).run.question.path == "change"


def test_it_can_still_be_answered_and_what_was_skipped_be_filled_in_later() -> None:
    driver = at_note().answer(note="hurry")
    assert (driver.run.form.slots["note"], driver.run.question.path) == ("hurry", "seen")
    skip(driver).answer(seen="2026-11-16")
    assert (driver.run.status, driver.run.form.slots["seen"]) == ("confirming", "2026-11-16")


def test_what_was_skipped_is_among_what_can_be_changed_and_is_then_asked_for() -> None:
    driver = skip(at_note(), 2).confirm(False)
    assert list(form(BADGE, driver.run).fillable["change"].choices)[:3] == ["why", "note", "seen"]
    driver.answer(change="note")
    assert (driver.run.question.path, driver.run.form.skipped_slots) == ("note", ["seen"])
    driver.answer(note="hurry")
    assert (driver.run.status, driver.run.form.slots["note"]) == ("confirming", "hurry")


def test_what_is_needed_is_asked_again_without_a_miss() -> None:
    driver = Driver(BADGE).begin()
    assert said(driver, Skipped(by="alice")) == "“Why” is needed: it can't go on without that."
    assert (driver.run.question.path, driver.run.question.no_matches, driver.run.status) == (
        "why",
        0,
        "collecting",
    )


def test_a_skip_of_an_earlier_question_skips_no_later_one() -> None:
    driver = at_note()
    earlier = driver.run.question_id
    driver.answer(note="hurry")
    assert "The question has changed" in said(driver, Skipped(by="alice", question=earlier))
    assert (driver.run.question.path, driver.run.form.skipped_slots) == ("seen", [])


def test_a_definition_from_before_asks_no_more_than_it_did() -> None:
    optional = {**LEAVE["slots"]["reason"], "required": False}
    definition = flow({**LEAVE, "slots": {**LEAVE["slots"], "reason": optional}})
    driver = Driver(definition).begin(kind="annual", start="2026-11-23", end="2026-11-25")
    assert driver.run.status == "confirming"


@each_row("name", ["leave_request", "reimbursement"])
def test_the_shipped_flows_ask_not_everyone_for_what_can_be_skipped(name: str) -> None:
    slots = sample(name).slots.values()
    assert all(slot.when for slot in slots if slot.skippable)


def test_a_tools_form_asks_for_nothing_that_it_does_not_need() -> None:
    from activities.builtin.requests import withdraw_request

    form = form_of(withdraw_request)
    assert form is not None
    assert not form.slots["comment"].required
    assert not any(slot.skippable for slot in form.slots.values())


def test_a_skip_at_any_more_is_no_and_of_an_announced_item_takes_it_back() -> None:
    item = {"amount": money("58.00"), "invoice": "A1"}
    driver = Driver(flow(CLAIM)).begin().answer({"items.0": item})
    assert driver.run.question.path == "items"
    announced = Driver(flow(CLAIM)).begin().answer({"items.0": item}).answer({"items.more": True})
    assert announced.run.question.path == "items.1.amount"
    for run in (skip(driver).run, skip(announced).run):
        assert (run.form.slots["items"], run.form.closed_lists) == ([item], ["items"])


def test_a_confirmation_cannot_be_skipped() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert "Please answer yes or no" in said(driver, Skipped(by="alice"))
    assert (driver.run.status, driver.run.question.no_matches) == ("confirming", 0)


def test_help_says_what_it_is_for_and_how_to_answer_and_is_no_miss() -> None:
    driver = Driver(flow(LEAVE)).begin()
    words = said(driver, Puzzled(by="alice"))
    told = ["“Leave”: Ask for leave", "annual leave, sick leave", "“start over”", "“cancel”"]
    assert [one for one in told if one not in words] == []
    assert "skip" not in words
    assert (driver.run.question.path, driver.run.question.no_matches) == ("kind", 0)


def test_its_examples_are_answers_that_would_be_taken() -> None:
    driver = Driver(flow(LEAVE)).begin(kind="annual", start="2026-12-01")
    assert driver.run.question.path == "end"
    assert "for example: 2 Dec, 1 Dec." in said(driver, Puzzled(by="alice"))


def test_help_says_what_can_be_skipped() -> None:
    assert "“skip” leaves this empty" in said(at_note(), Puzzled(by="alice"))


def test_help_at_a_confirmation_and_at_what_to_change() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert "It waits for your word" in said(driver, Puzzled(by="alice"))
    driver.confirm(False)
    assert "Please choose one of: Kind" in said(driver, Puzzled(by="alice"))


def test_a_repetition_asks_the_same_and_is_no_miss() -> None:
    driver = Driver(flow(LEAVE)).begin()
    question = driver.run.question_id
    assert said(driver, Unclear(by="alice", count=False)) == ""
    assert (driver.run.question_id, driver.run.question.no_matches) == (question, 0)


def test_starting_over_forgets_every_answer() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert driver.run.status == "confirming"
    assert said(driver, StartedOver(by="alice")) == "All right, from the beginning."
    assert (driver.run.form.slots, driver.run.work.results, driver.run.question.path) == (
        {},
        {},
        "kind",
    )
    assert driver.run.history[-1].event == "started_over"
    driver.answer(WHOLE)
    assert driver.run.status == "confirming"


def test_starting_over_takes_back_what_was_done_last_things_first() -> None:
    calls = {
        "one": {"call": "one", "undo": "undo_one", "next": "two"},
        "two": {"call": "two", "undo": "undo_two", "next": "review"},
        "review": {**LEAVE["states"]["review"], "confirmed": "end", "declined": "review"},
        "end": {"end": "completed"},
    }
    ask = {"details": {"collect": ["reason"], "next": "one"}}
    definition = flow({**LEAVE, "states": {**ask, **calls}})
    driver = Driver(definition).begin(reason="family")
    assert driver.run.status == "confirming"
    driver.take(StartedOver(by="alice"))
    assert driver.called[-2:] == ["undo_two", "undo_one"]
    assert (driver.run.recovery.done, driver.run.form.slots, driver.run.question.path) == (
        [],
        {},
        "reason",
    )


def test_a_flow_whose_first_state_calls_something_has_that_taken_back_too() -> None:
    states = {
        "one": {"call": "one", "undo": "undo_one", "next": "details"},
        "details": {"collect": ["reason"], "next": "end"},
        "end": {"end": "completed"},
    }
    driver = Driver(flow({**LEAVE, "start": "one", "states": states})).begin()
    driver.take(StartedOver(by="alice"))
    assert driver.called == ["one", "undo_one", "one"]
    assert len(driver.run.recovery.done) == 1


def test_a_run_that_asks_nothing_does_not_start_over() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE).confirm()
    before = driver.run.form.slots
    driver.take(StartedOver(by="alice"))
    assert (driver.run.status, driver.run.form.slots) == ("waiting_approval", before)
