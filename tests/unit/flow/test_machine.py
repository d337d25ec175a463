from datetime import timedelta
from typing import Any

import pytest

from router.flow.engine.events import (
    Answered,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Failed,
    Fired,
    Nudged,
    Remind,
    Unclear,
)
from router.flow.engine.machine import refusal_of, step
from router.flow.engine.run import Run
from router.flow.prompts.question import view
from tests.unit.flow.definitions import CLAIM, LEAVE, NOW, Driver, flow, text

WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "family"}


def leave(**slots: Any) -> Driver:
    return Driver(flow(LEAVE)).begin(**slots)


def waiting(**slots: Any) -> Driver:
    return leave(**{**WHOLE, **slots}).take(Confirmed(by="alice", value=True))


def decided(driver: Driver, verdict: str, by: str = "bob", **more: str) -> Driver:
    approval = driver.run.approval
    assert approval is not None
    mine = next(a for a in approval.assignees if a.person == by and a.open)
    event = Decided.model_validate(
        {"by": by, "approval": mine.id, "verdict": verdict, "digest": approval.digest, **more}
    )
    assert refusal_of(driver.definition, driver.run, event, driver.now) is None
    return driver.take(event)


def fire(driver: Driver, name: str) -> Driver:
    timer = driver.run.timers[name]
    driver.now = timer.due
    return driver.take(Fired(timer=timer.id))


def test_slots_are_asked_one_by_one_in_the_order_of_the_file() -> None:
    driver = leave()
    asked = []
    for slots in ({"kind": "annual"}, {"start": "2026-11-23"}, {"end": "2026-11-25"}):
        asked.append(driver.run.asked)
        driver.take(Answered(by="alice", slots=slots))
    assert [*asked, driver.run.asked] == ["kind", "start", "end", "reason"]


def test_an_opening_that_names_everything_is_asked_nothing_but_the_confirmation() -> None:
    driver = leave(**WHOLE)
    assert driver.run.status == "confirming"
    assert driver.run.slots["days"] == 3


def test_a_duration_tells_the_last_day_instead_of_asking() -> None:
    driver = leave(kind="annual", start="2026-11-23", reason="x", duration={"days": 2})
    assert driver.run.slots["end"] == "2026-11-24"
    assert driver.run.status == "confirming"


def test_a_new_start_moves_the_end_that_came_from_a_duration() -> None:
    driver = leave(kind="annual", start="2026-11-23", reason="x", duration={"days": 2})
    driver.take(Answered(by="alice", slots={"start": "2026-11-25"}))
    assert driver.run.slots["end"] == "2026-11-26"


def test_a_last_day_that_is_named_overrules_the_duration() -> None:
    driver = leave(kind="annual", start="2026-11-23", reason="x", duration={"days": 2})
    driver.take(Answered(by="alice", slots={"end": "2026-11-27"}))
    assert driver.run.slots["end"] == "2026-11-27"
    assert "duration" not in driver.run.slots
    assert driver.run.slots["days"] == 5


def test_a_value_that_fails_its_check_is_refused_and_asked_again() -> None:
    driver = leave(kind="annual", start="2026-11-23")
    driver.take(Answered(by="alice", slots={"end": "2026-11-20"}))
    assert driver.said == ["The end is too early."]
    assert driver.run.asked == "end"


def test_a_start_after_the_known_end_asks_for_the_end_again() -> None:
    driver = leave(**WHOLE).take(Answered(by="alice", slots={"start": "2026-11-28"}))
    assert driver.run.asked == "end"
    assert driver.run.slots["start"] == "2026-11-28"


@pytest.mark.parametrize(
    "value", ["2026-02-30", "soon", 5, None, [], {"a": 1}, "", True, "2026-11-23T00:00"]
)
def test_a_date_that_is_none_is_refused_and_changes_nothing(value: object) -> None:
    driver = leave(kind="annual")
    driver.take(Answered.model_validate({"by": "alice", "slots": {"start": value}}))
    assert "start" not in driver.run.slots
    assert driver.run.asked == "start"


def test_an_unknown_slot_is_passed_over() -> None:
    driver = leave(kind="annual").take(Answered(by="alice", slots={"salary": 5}))
    assert driver.run.slots == {"kind": "annual"}


def test_an_answer_to_an_earlier_question_is_not_taken_for_the_present_one() -> None:
    driver = leave()
    old = driver.run.question
    driver.take(Answered(by="alice", slots={"kind": "sick"}))
    driver.take(Answered(by="alice", slots={"start": "2026-11-23"}, question=old))
    assert "start" not in driver.run.slots
    assert "changed meanwhile" in driver.said[-1]


def test_a_confirmation_shown_before_a_change_confirms_nothing() -> None:
    driver = leave(**WHOLE)
    old = driver.run.question
    driver.take(Answered(by="alice", slots={"end": "2026-11-27"}))
    driver.take(Confirmed(by="alice", value=True, question=old))
    assert driver.run.status == "confirming"


def test_what_is_not_understood_is_asked_again_with_a_hint() -> None:
    driver = leave(kind="annual").take(Unclear(by="alice"))
    assert driver.run.misses == 1
    assert "such as 1 December" in driver.said[0]


def test_too_small_a_balance_forgets_the_dates_and_asks_again() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.balance = 2
    driver.begin(**WHOLE)
    assert driver.said == ["Only 2 left."]
    assert driver.run.asked == "start"
    assert "days" not in driver.run.slots
    assert driver.run.slots["kind"] == "annual"


def test_declining_without_saying_what_asks_what_to_change() -> None:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=False))
    shown = view(driver.definition, driver.run)
    assert shown.awaiting == ["change"]
    driver.take(Answered(by="alice", slots={"change": "reason"}))
    assert driver.run.asked == "reason"
    driver.take(Answered(by="alice", slots={"reason": "holiday"}))
    assert driver.run.status == "confirming"
    assert driver.run.slots["reason"] == "holiday"


def test_a_correction_at_the_confirmation_asks_nothing_that_is_known() -> None:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=False, slots={"end": "2026-11-24"}))
    assert driver.run.status == "confirming"
    assert driver.run.slots["days"] == 2


def test_the_manager_is_asked_and_told() -> None:
    driver = waiting()
    assert driver.run.status == "waiting_approval"
    assert driver.effects[-1] == Remind(people=["bob"], reason="asked")
    assert driver.said == [
        "This is with Bob for approval now; you'll hear here as soon as it is decided."
    ]


def test_three_days_need_the_manager_alone() -> None:
    driver = decided(waiting(), "approve")
    assert driver.run.status == "completed"
    assert driver.said[-1] == "Recorded."


def test_more_than_three_days_need_the_managers_manager_too() -> None:
    driver = decided(waiting(end="2026-11-27"), "approve")
    assert driver.run.state == "director"
    decided(driver, "approve", by="carol")
    assert driver.run.status == "completed"


def test_a_rejection_ends_it_with_the_comment_kept() -> None:
    driver = decided(waiting(), "reject", comment="too busy")
    assert driver.run.status == "rejected"
    assert driver.run.history[-3].comment == "too busy"


def test_a_return_takes_back_what_was_done_since_and_asks_what_to_change() -> None:
    driver = decided(waiting(), "return", comment="which Friday?")
    assert [name for name, *_ in driver.world.calls] == ["get_balance", "reserve", "release"]
    assert driver.run.asked == "change"
    assert driver.said[-1] == "The approver sent it back: which Friday?"


def test_every_visit_has_a_key_of_its_own() -> None:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=False, slots={"reason": "b"}))
    keys = [key for _, _, key in driver.world.calls]
    assert len(keys) == len(set(keys)) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"by": "carol"}, "NotFound"),
        ({"approval": "nothing"}, "ApprovalClosed"),
        ({"digest": "0" * 32}, "Conflict"),
        ({"verdict": "delegate"}, "Conflict"),
        ({"verdict": "delegate", "to": "alice"}, "Conflict"),
        ({"verdict": "add", "to": "bob"}, "Conflict"),
    ],
)
def test_a_decision_is_bound_to_person_content_and_use(
    change: dict[str, str], expected: str
) -> None:
    driver = waiting()
    approval = driver.run.approval
    assert approval is not None
    fine = {"by": "bob", "approval": approval.assignees[0].id, "verdict": "approve"}
    event = Decided.model_validate({**fine, "digest": approval.digest, **change})
    refused = refusal_of(driver.definition, driver.run, event, NOW)
    assert type(refused).__name__ == expected
    assert driver.take(event).run.status == "waiting_approval"


def test_a_return_keeps_its_comment_where_something_had_to_be_taken_back_first() -> None:
    driver = waiting()
    decided(driver, "return", comment="Which family?")
    returned = next(h for h in driver.run.history if h.event == "returned")
    assert returned.comment == "Which family?"


def test_a_second_decision_is_refused() -> None:
    driver = waiting()
    approval = driver.run.approval
    assert approval is not None
    event = Decided(by="bob", approval=approval.assignees[0].id, verdict="approve")
    driver.take(event)
    assert refusal_of(driver.definition, driver.run, event, NOW) is not None


def test_whoever_it_is_delegated_to_decides_instead() -> None:
    driver = decided(waiting(), "delegate", to="dave")
    assert driver.run.status == "waiting_approval"
    assert decided(driver, "approve", by="dave").run.status == "completed"


def test_an_added_approver_has_to_agree_too() -> None:
    driver = decided(waiting(), "add", to="dave")
    decided(driver, "approve")
    assert driver.run.status == "waiting_approval"
    assert decided(driver, "approve", by="dave").run.status == "completed"


def test_an_approver_who_does_not_answer_is_reminded_every_day() -> None:
    driver = fire(fire(waiting(), "remind"), "remind")
    reasons = [e.reason for e in driver.effects if isinstance(e, Remind)]
    assert reasons == ["asked", "reminded", "reminded"]
    assert driver.now == NOW + timedelta(days=2)


def test_after_three_days_the_approvers_manager_is_asked_instead() -> None:
    driver = fire(waiting(), "escalate")
    approval = driver.run.approval
    assert approval is not None
    assert [a.person for a in approval.waiting_for()] == ["carol"]
    assert decided(driver, "approve", by="carol").run.status == "completed"


def test_after_two_weeks_it_expires() -> None:
    driver = fire(waiting(), "expire")
    assert (driver.run.status, driver.said[-1]) == ("expired", "Too late.")


def test_a_nudge_reminds_whoever_is_waited_for() -> None:
    driver = waiting().take(Nudged(by="alice"))
    assert driver.effects[-1] == Remind(people=["bob"], reason="nudged")


def test_nobody_approves_a_request_of_their_own() -> None:
    source = {**LEAVE["states"]["manager"], "approve": {"by": "'alice'", "title": LEAVE["title"]}}
    driver = Driver(flow(LEAVE, states={**LEAVE["states"], "manager": source})).begin(**WHOLE)
    driver.take(Confirmed(by="alice", value=True))
    assert driver.run.status == "failed"
    assert [name for name, *_ in driver.world.calls][-1] == "release"


def test_without_a_manager_the_file_says_who_is_asked() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.lookups["manager"] = lambda _: None
    driver.begin(**WHOLE).take(Confirmed(by="alice", value=True))
    approval = driver.run.approval
    assert approval is not None
    assert [a.person for a in approval.assignees] == ["dave"]


@pytest.mark.parametrize("slots", [{}, {"kind": "annual"}, WHOLE])
def test_cancelling_works_wherever_it_asks(slots: dict[str, str]) -> None:
    driver = leave(**slots).take(Cancelled(by="alice"))
    assert driver.run.status == "cancelled"
    assert not driver.run.timers


def test_cancelling_takes_back_what_was_done() -> None:
    driver = waiting().take(Cancelled(by="alice"))
    assert [name for name, *_ in driver.world.calls] == ["get_balance", "reserve", "release"]
    assert driver.run.status == "cancelled"


def test_cancelling_during_a_call_waits_for_it_and_takes_it_back() -> None:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=True), answer=False)
    driver.take(Cancelled(by="alice"), answer=False)
    assert list(driver.run.tasks) == ["reserve:4"]
    driver.take(driver.world.answer(driver.run))
    assert [name for name, *_ in driver.world.calls][-1] == "release"
    assert driver.run.status == "cancelled"


@pytest.mark.parametrize(
    ("came_back", "said"),
    [
        ({"value": {"days": 10}}, "All right, that's cancelled."),
        ({"value": 1, "lasts": True}, "get_balance had been done already and can't be taken back"),
        ({"error": "timeout", "kind": "unknown"}, "(get_balance), and it may or may not have been"),
        ({"error": "closed"}, "All right, that's cancelled."),
    ],
)
def test_cancelling_during_a_call_says_what_became_of_it(
    came_back: dict[str, Any], said: str
) -> None:
    driver = Driver(flow(LEAVE))
    driver.begin()
    driver.take(Answered(by="alice", slots=WHOLE), answer=False)
    while "get_balance" not in {task.name for task in driver.run.tasks.values()}:
        driver.take(driver.world.answer(driver.run), answer=False)
    driver.take(Cancelled(by="alice"), answer=False)
    (task,) = driver.run.tasks
    assert driver.said[-1].startswith("All right, cancelling. One step is under way already")
    kind = Failed if "error" in came_back else Called
    driver.take(kind(task=task, **came_back))
    assert driver.run.status == "cancelled"
    assert said in driver.said[-1]


def test_what_is_taken_back_is_not_said_to_last() -> None:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=True), answer=False)
    driver.take(Cancelled(by="alice"), answer=False)
    driver.take(Called(task="reserve:4", value="r1", lasts=True))
    assert [name for name, *_ in driver.world.calls][-1] == "release"
    assert driver.said[-1] == "All right, that's cancelled."


def test_a_failed_call_takes_the_way_for_errors() -> None:
    driver = waiting()
    driver.world.failing["record"] = "the register is closed"
    decided(driver, "approve")
    assert driver.run.status == "failed"
    assert driver.said[-1] == "Failed: the register is closed"


def test_a_failed_lookup_asks_anew_for_what_it_came_from() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.failing["workdays"] = "no calendar for 2099"
    driver.begin(**WHOLE)
    assert "no calendar for 2099" in driver.said[0]
    assert driver.run.asked == "start"


def test_items_are_asked_field_by_field_until_there_are_no_more() -> None:
    driver = Driver(flow(CLAIM)).begin()
    asked = [driver.run.asked]
    for slots in (
        {"items.0.amount": {"amount": "58", "currency": "CNY"}},
        {"items.0.invoice": "A1"},
        {"items.more": True},
        {"items.1.amount": {"amount": "7", "currency": "CNY"}},
        {"items.1.invoice": "A2"},
        {"items.more": False},
    ):
        driver.take(Answered.model_validate({"by": "alice", "slots": slots}))
        asked.append(driver.run.asked)
    assert asked == [
        "items.0.amount",
        "items.0.invoice",
        "items",
        "items.1.amount",
        "items.1.invoice",
        "items",
        "reason",
    ]
    assert driver.run.slots["items"] == [
        {"amount": {"amount": "58.00", "currency": "CNY"}, "invoice": "A1"},
        {"amount": {"amount": "7.00", "currency": "CNY"}, "invoice": "A2"},
    ]


def test_a_list_given_whole_is_not_asked_about_again() -> None:
    driver = Driver(flow(CLAIM)).begin()
    items = [{"amount": {"amount": "5", "currency": "CNY"}, "invoice": "A1"}]
    driver.take(Answered.model_validate({"by": "alice", "slots": {"items": items}}))
    assert driver.run.asked == "reason"


def test_an_item_that_fails_its_check_keeps_what_was_fine_in_it() -> None:
    driver = Driver(flow(CLAIM))
    driver.world.claimed = {"A1"}
    driver.begin()
    money = {"amount": "5", "currency": "CNY"}
    driver.take(Answered.model_validate({"by": "alice", "slots": {"items.0.amount": money}}))
    driver.take(Answered(by="alice", slots={"items.0.invoice": "A1"}))
    assert driver.said == ["Claimed before."]
    assert driver.run.asked == "items.0.invoice"


@pytest.mark.parametrize("broken", ["details", "review"])
def test_a_question_that_cannot_be_worded_ends_the_run_instead_of_standing_in_its_way(
    broken: str,
) -> None:
    words = text("{{ 60 / slots.reason }}")
    review = {**LEAVE["states"]["review"], "confirm": words if broken == "review" else text("Ok?")}
    end = {**LEAVE["slots"]["end"], "ask": words if broken == "details" else text("Until when?")}
    source = {"slots": {**LEAVE["slots"], "end": end}}
    driver = Driver(flow(LEAVE, **source, states={**LEAVE["states"], "review": review}))
    given = WHOLE if broken == "review" else {"kind": "sick", "start": "2026-11-23", "reason": "x"}
    driver.begin(**given)
    assert driver.run.status == "failed"
    assert view(driver.definition, driver.run).replies == []


def test_a_step_changes_neither_the_run_nor_the_definition_it_was_given() -> None:
    definition = flow(LEAVE)
    run = leave(kind="annual").run
    before = run.model_dump_json()
    step(definition, run, Answered(by="alice", slots={"start": "2026-11-23"}), NOW)
    assert run.model_dump_json() == before


def test_a_run_survives_a_round_trip_through_json() -> None:
    run = waiting().run
    assert Run.model_validate_json(run.model_dump_json()) == run


def test_nothing_happens_to_a_run_that_has_ended() -> None:
    driver = leave().take(Cancelled(by="alice"))
    before = driver.run
    assert driver.take(Answered(by="alice", slots={"kind": "sick"})).run == before


CHECKED = flow(
    LEAVE,
    states={
        "details": {"collect": ["kind", "start", "end", "reason"], "next": "allowed"},
        "allowed": {
            "check": "record",
            "with": {"kind": "slots.kind", "start": "slots.start"},
            "next": "review",
            "on_error": [
                {"if": 'results.error.kind == "arguments"', "to": "details"},
                {"to": "refused"},
            ],
        },
        "review": LEAVE["states"]["review"] | {"confirmed": "record"},
        "record": LEAVE["states"]["record"],
        **{name: LEAVE["states"][name] for name in ("tell_yes", "tell_failed")},
        "refused": {"say": LEAVE["states"]["tell_failed"]["say"], "end": "failed"},
    },
)
NOT_THEN = Failed(task="", error="start: nobody may be away then", kind="arguments")


def test_a_check_comes_before_the_confirmation_and_calls_nothing() -> None:
    driver = Driver(CHECKED).begin(**WHOLE)
    before = driver.run.status
    assert driver.world.checks == [("record", {"kind": "annual", "start": "2026-11-23"})]
    assert (before, driver.world.calls) == ("confirming", [])
    driver.take(Confirmed(by="alice", value=True))
    assert driver.run.status == "completed"


def test_where_other_arguments_would_do_a_check_says_so_and_asks_which_to_change() -> None:
    driver = Driver(CHECKED)
    driver.world.refusing["record"] = NOT_THEN
    driver.begin(**WHOLE)
    assert driver.said == ["That can't be done: start: nobody may be away then"]
    assert (driver.run.status, driver.run.state, driver.run.asked) == (
        "collecting",
        "details",
        "change",
    )
    assert driver.run.slots["start"] == "2026-11-23"
    driver.world.refusing.clear()
    driver.take(Answered(by="alice", slots={"start": "2026-11-24"}))
    assert driver.run.status == "confirming"
    assert driver.world.checks[-1][1]["start"] == "2026-11-24"


def test_a_check_that_refuses_for_good_ends_the_run_with_nothing_done() -> None:
    driver = Driver(CHECKED)
    driver.world.refusing["record"] = NOT_THEN.model_copy(update={"kind": "permanent"})
    driver.begin(**WHOLE)
    assert (driver.run.status, driver.world.calls) == ("failed", [])
    assert driver.said == ["Failed: start: nobody may be away then"]
    assert [line.event for line in driver.run.history][-2:] == ["on_error", "failed"]


def test_a_check_without_on_error_says_why_itself_and_ends() -> None:
    states = {name: state.model_dump() for name, state in CHECKED.states.items()}
    states["allowed"] |= {"on_error": ()}
    driver = Driver(flow(LEAVE, states=states))
    driver.world.refusing["record"] = NOT_THEN
    driver.begin(**WHOLE)
    assert (driver.run.status, driver.world.calls) == ("failed", [])
    assert driver.said == ["That can't be done: start: nobody may be away then"]


def test_what_is_corrected_at_the_confirmation_is_checked_anew() -> None:
    driver = Driver(CHECKED).begin(**WHOLE)
    driver.take(Confirmed(by="alice", value=False, slots={"start": "2026-11-24"}))
    assert driver.run.status == "confirming"
    assert [given["start"] for _, given in driver.world.checks] == ["2026-11-23", "2026-11-24"]


def test_cancelling_does_not_wait_for_a_check_and_leaves_nothing_in_doubt() -> None:
    driver = Driver(CHECKED)
    driver.take(Began(by="alice", slots=WHOLE), answer=False)
    while next(iter(driver.run.tasks.values())).kind == "lookup":
        driver.take(driver.world.answer(driver.run), answer=False)
    driver.take(Cancelled(by="alice"))
    assert (driver.run.status, driver.run.tasks) == ("cancelled", {})
    assert driver.said == ["All right, that's cancelled."]
