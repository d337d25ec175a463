"""What is said about the dialogue in the middle of a flow: skip, help, again, from the start."""

from pathlib import Path
from typing import Any

import pytest

from router.domain.messages import FormReply
from router.flow.definition import FlowDefinition
from router.flow.engine.events import (
    Answered,
    Cancelled,
    Confirmed,
    Puzzled,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.loader import load_flow
from router.flow.prompts.question import view
from router.routing.tool_form import form_of
from tests.unit.flow.definitions import CLAIM, LEAVE, Driver, flow

FLOWS = Path(__file__).parents[3] / "flows"
WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "family"}
BADGE = """
flow: badge
title: {zh: "工牌", en: "Badge"}
description: {zh: "补办工牌。", en: "A new badge."}
slots:
  why: {type: text, label: {zh: "原因", en: "Why"}, ask: {zh: "怎么丢的？", en: "How was it lost?"}}
  note:
    type: text
    required: false
    label: {zh: "备注", en: "Note"}
    ask: {zh: "有备注吗？", en: "Any note?"}
  seen:
    type: date
    required: false
    label: {zh: "日期", en: "Day"}
    ask: {zh: "哪天？", en: "When?"}
  extra: {type: text, required: false}
  days:
    type: number
    required: false
    ask: {zh: "几天？", en: "Days?"}
    lookup: "workdays(slots.seen, slots.seen, '', '')"
start: details
states:
  details: {collect: [why, note, seen, extra, days], next: review}
  review: {confirm: {zh: "对吗？", en: "Right?"}, confirmed: done, declined: details}
  done: {end: completed}
"""


def called(driver: Driver) -> list[str]:
    return [name for name, *_ in driver.world.calls]


@pytest.fixture
def badge(tmp_path: Path) -> FlowDefinition:
    file = tmp_path / "badge.yaml"
    file.write_text(BADGE)
    return load_flow(file)


def at_note(badge: FlowDefinition) -> Driver:
    return Driver(badge).begin(why="lost")


def said(driver: Driver, event: Any) -> str:
    """What is said to an event, beside the question."""
    before = len(driver.said)
    driver.take(event)
    return " ".join(driver.said[before:])


def test_what_is_optional_and_has_a_question_is_asked_once_and_can_be_skipped(
    badge: FlowDefinition,
) -> None:
    driver = at_note(badge)
    (question,) = view(badge, driver.run).replies
    assert (driver.run.asked, question.text) == ("note", "Any note? (You can skip this.)")
    driver.take(Skipped(by="alice"))
    assert driver.run.asked == "seen"
    driver.take(Skipped(by="alice"))
    assert (driver.run.status, driver.run.slots) == ("confirming", {"why": "lost"})
    assert driver.run.skipped == ["note", "seen"]
    driver.take(Confirmed(by="alice", value=False))
    assert driver.run.asked == "change"


def test_a_form_says_that_it_need_not_be_filled_in(badge: FlowDefinition) -> None:
    driver = at_note(badge).take(Skipped(by="alice"))
    shown = view(badge, driver.run)
    (form,) = shown.replies
    assert isinstance(form, FormReply)
    assert (shown.awaiting, form.fields[0].required) == (["seen"], False)


def test_it_can_still_be_answered_and_what_was_skipped_be_filled_in_later(
    badge: FlowDefinition,
) -> None:
    driver = at_note(badge).take(Answered(by="alice", slots={"note": "hurry"}))
    assert (driver.run.slots["note"], driver.run.asked) == ("hurry", "seen")
    driver.take(Skipped(by="alice")).take(Answered(by="alice", slots={"seen": "2026-11-16"}))
    assert (driver.run.status, driver.run.slots["seen"]) == ("confirming", "2026-11-16")


def test_what_was_skipped_is_among_what_can_be_changed_and_is_then_asked_for(
    badge: FlowDefinition,
) -> None:
    driver = at_note(badge).take(Skipped(by="alice")).take(Skipped(by="alice"))
    driver.take(Confirmed(by="alice", value=False))
    assert list(view(badge, driver.run).fillable["change"].choices)[:3] == ["why", "note", "seen"]
    driver.take(Answered(by="alice", slots={"change": "note"}))
    assert (driver.run.asked, driver.run.skipped) == ("note", ["seen"])
    driver.take(Answered(by="alice", slots={"note": "hurry"}))
    assert (driver.run.status, driver.run.slots["note"]) == ("confirming", "hurry")


def test_what_is_needed_is_asked_again_without_a_miss(badge: FlowDefinition) -> None:
    driver = Driver(badge).begin()
    assert said(driver, Skipped(by="alice")) == "“Why” is needed: it can't go on without that."
    assert (driver.run.asked, driver.run.misses, driver.run.status) == ("why", 0, "collecting")


def test_a_skip_of_an_earlier_question_skips_no_later_one(badge: FlowDefinition) -> None:
    driver = at_note(badge)
    earlier = driver.run.question
    driver.take(Answered(by="alice", slots={"note": "hurry"}))
    assert "The question has changed" in said(driver, Skipped(by="alice", question=earlier))
    assert (driver.run.asked, driver.run.skipped) == ("seen", [])


def test_a_definition_from_before_asks_no_more_than_it_did() -> None:
    optional = {**LEAVE["slots"]["reason"], "required": False}
    definition = flow({**LEAVE, "slots": {**LEAVE["slots"], "reason": optional}})
    driver = Driver(definition).begin(kind="annual", start="2026-11-23", end="2026-11-25")
    assert driver.run.status == "confirming"


@pytest.mark.parametrize("name", ["leave_request", "reimbursement"])
def test_the_shipped_flows_ask_not_everyone_for_what_can_be_skipped(name: str) -> None:
    slots = load_flow(FLOWS / f"{name}.yaml").slots.values()
    assert all(slot.when for slot in slots if slot.skippable)


def test_a_tools_form_asks_for_nothing_that_it_does_not_need() -> None:
    from activities.builtin.requests import withdraw_request

    form = form_of(withdraw_request)
    assert form is not None
    assert not form.slots["comment"].required
    assert not any(slot.skippable for slot in form.slots.values())


ITEM = {"category": "transport", "amount": {"amount": "58.00", "currency": "CNY"}, "invoice": "A1"}


def test_a_skip_at_any_more_is_no() -> None:
    definition = flow(CLAIM)
    item = {n: v for n, v in ITEM.items() if n in definition.slots["items"].of.fields}  # type: ignore[union-attr]
    driver = Driver(definition).begin().take(Answered(by="alice", slots={"items.0": item}))
    assert driver.run.asked == "items", driver.run.asked
    driver.take(Skipped(by="alice"))
    assert driver.run.closed == ["items"]


def test_a_skip_of_an_announced_item_takes_it_back() -> None:
    definition = flow(CLAIM)
    item = {n: v for n, v in ITEM.items() if n in definition.slots["items"].of.fields}  # type: ignore[union-attr]
    driver = Driver(definition).begin().take(Answered(by="alice", slots={"items.0": item}))
    driver.take(Answered(by="alice", slots={"items.more": True}))
    assert driver.run.asked is not None
    assert driver.run.asked.startswith("items.1")
    driver.take(Skipped(by="alice"))
    assert (len(driver.run.slots["items"]), driver.run.closed) == (1, ["items"])  # type: ignore[arg-type]


def test_a_confirmation_cannot_be_skipped() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert "Please answer yes or no" in said(driver, Skipped(by="alice"))
    assert (driver.run.status, driver.run.misses) == ("confirming", 0)


def test_help_says_what_it_is_for_and_how_to_answer_and_is_no_miss() -> None:
    driver = Driver(flow(LEAVE)).begin()
    words = said(driver, Puzzled(by="alice"))
    assert "“Leave”: Ask for leave" in words
    assert "annual leave, sick leave" in words
    assert "“start over”" in words
    assert "“cancel”" in words
    assert "skip" not in words
    assert (driver.run.asked, driver.run.misses) == ("kind", 0)


def test_its_examples_are_answers_that_would_be_taken() -> None:
    known = {"kind": "annual", "start": "2026-12-01"}
    driver = Driver(flow(LEAVE)).begin(**known)
    assert driver.run.asked == "end"
    assert "for example: 2 Dec, 1 Dec." in said(driver, Puzzled(by="alice"))


def test_help_says_what_can_be_skipped(badge: FlowDefinition) -> None:
    assert "“skip” leaves this empty" in said(at_note(badge), Puzzled(by="alice"))


def test_help_at_a_confirmation_and_at_what_to_change() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert "It waits for your word" in said(driver, Puzzled(by="alice"))
    driver.take(Confirmed(by="alice", value=False))
    assert "Please choose one of: Kind" in said(driver, Puzzled(by="alice"))


def test_a_repetition_asks_the_same_and_is_no_miss() -> None:
    driver = Driver(flow(LEAVE)).begin()
    question = driver.run.question
    assert said(driver, Unclear(by="alice", count=False)) == ""
    assert (driver.run.question, driver.run.misses) == (question, 0)


def test_starting_over_forgets_every_answer() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE)
    assert driver.run.status == "confirming"
    assert said(driver, StartedOver(by="alice")) == "All right, from the beginning."
    assert (driver.run.slots, driver.run.results, driver.run.asked) == ({}, {}, "kind")
    assert driver.run.history[-1].event == "started_over"
    driver.take(Answered(by="alice", slots=WHOLE))
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
    assert called(driver)[-2:] == ["undo_two", "undo_one"]
    assert (driver.run.done, driver.run.slots, driver.run.asked) == ([], {}, "reason")


def test_a_flow_whose_first_state_calls_something_has_that_taken_back_too() -> None:
    states = {
        "one": {"call": "one", "undo": "undo_one", "next": "details"},
        "details": {"collect": ["reason"], "next": "end"},
        "end": {"end": "completed"},
    }
    driver = Driver(flow({**LEAVE, "start": "one", "states": states})).begin()
    driver.take(StartedOver(by="alice"))
    assert called(driver) == ["one", "undo_one", "one"]
    assert len(driver.run.done) == 1


def test_a_run_that_asks_nothing_does_not_start_over() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE).take(Confirmed(by="alice", value=True))
    before = driver.run.slots
    driver.take(StartedOver(by="alice"))
    assert (driver.run.status, driver.run.slots) == ("waiting_approval", before)


def test_it_can_be_cancelled_while_it_starts_over() -> None:
    driver = Driver(flow(LEAVE)).begin(**WHOLE).take(StartedOver(by="alice"))
    driver.take(Cancelled(by="alice"))
    assert driver.run.status == "cancelled"
