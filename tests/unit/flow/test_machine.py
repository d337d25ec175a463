from datetime import timedelta
from typing import Any

from router.flow.engine.events import (
    Answered,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Failed,
    Nudged,
    Remind,
)
from router.flow.language.templates import render
from router.flow.prompts.question import view
from tests.table import each_row
from tests.unit.flow.definitions import CLAIM, LEAVE, NOW, Driver, flow, money, text

WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "family"}


def leave(**slots: Any) -> Driver:
    return Driver(flow(LEAVE)).begin(**slots)


def waiting(**slots: Any) -> Driver:
    return leave(**{**WHOLE, **slots}).confirm()


def lasting(days: int) -> Driver:
    """Leave whose end is worked out."""
    return leave(kind="annual", start="2026-11-23", reason="x", duration={"days": days})


def test_slots_are_asked_one_by_one_in_the_order_of_the_file() -> None:
    driver = leave()
    asked = []
    for slots in ({"kind": "annual"}, {"start": "2026-11-23"}, {"end": "2026-11-25"}):
        asked.append(driver.run.question.path)
        driver.answer(slots)
    assert [*asked, driver.run.question.path] == ["kind", "start", "end", "reason"]


def test_an_opening_that_names_everything_is_asked_nothing_but_the_confirmation() -> None:
    run = leave(**WHOLE).run
    assert (run.status, run.form.slots["days"]) == ("confirming", 3)


def test_a_duration_tells_the_last_day_and_moves_with_a_new_start() -> None:
    driver = lasting(2)
    assert (driver.run.status, driver.run.form.slots["end"]) == ("confirming", "2026-11-24")
    assert driver.answer(start="2026-11-25").run.form.slots["end"] == "2026-11-26"


def test_a_last_day_that_is_named_overrules_the_duration() -> None:
    slots = lasting(2).answer(end="2026-11-27").run.form.slots
    assert (slots["end"], slots["days"], "duration" in slots) == ("2026-11-27", 5, False)


def test_a_start_after_the_known_end_asks_for_the_end_again() -> None:
    run = leave(**WHOLE).answer(start="2026-11-28").run
    assert (run.question.path, run.form.slots["start"]) == ("end", "2026-11-28")


@each_row("value", ["2026-02-30", "soon", 5, None, [], {"a": 1}, "", True, "2026-11-23T00:00"])
def test_a_date_that_is_none_is_refused_and_changes_nothing(value: object) -> None:
    run = leave(kind="annual").answer(start=value).run
    assert (run.form.slots, run.question.path) == ({"kind": "annual"}, "start")


def test_an_unknown_slot_is_passed_over() -> None:
    assert leave(kind="annual").answer(salary=5).run.form.slots == {"kind": "annual"}


def test_an_answer_to_an_earlier_question_is_not_taken_for_the_present_one() -> None:
    driver = leave()
    old = driver.run.question_id
    driver.answer(kind="sick")
    (said,) = driver.hear(Answered(by="alice", slots={"start": "2026-11-23"}, question=old))
    assert "changed meanwhile" in said
    assert "start" not in driver.run.form.slots


def test_a_confirmation_shown_before_a_change_confirms_nothing() -> None:
    driver = leave(**WHOLE)
    old = driver.run.question_id
    driver.answer(end="2026-11-27").take(Confirmed(by="alice", value=True, question=old))
    assert driver.run.status == "confirming"


def test_too_small_a_balance_forgets_the_dates_and_asks_again() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.balance = 2
    driver.begin(**WHOLE)
    assert (driver.said, driver.run.question.path) == (["Only 2 left."], "start")
    assert driver.run.form.slots == {"kind": "annual", "reason": "family"}


def test_declining_without_saying_what_asks_what_to_change() -> None:
    driver = leave(**WHOLE).confirm(False)
    assert view(driver.definition, driver.run).awaiting == ["change"]
    assert driver.answer(change="reason").run.question.path == "reason"
    driver.answer(reason="holiday")
    assert (driver.run.status, driver.run.form.slots["reason"]) == ("confirming", "holiday")


def test_the_manager_is_asked_and_told_and_reminded_by_a_nudge() -> None:
    driver = waiting()
    assert driver.run.status == "waiting_approval"
    assert driver.effects[-1] == Remind(people=["bob"], reason="asked")
    assert driver.said == [
        "This is with Bob for approval now; you'll hear here as soon as it is decided."
    ]
    driver.take(Nudged(by="alice"))
    assert driver.effects[-1] == Remind(people=["bob"], reason="nudged")


def test_three_days_need_the_manager_alone_and_more_the_managers_manager_too() -> None:
    driver = waiting().decide("bob")
    assert (driver.run.status, driver.said[-1]) == ("completed", "Recorded.")
    longer = waiting(end="2026-11-27").decide("bob")
    assert longer.run.state == "director"
    assert longer.decide("carol").run.status == "completed"


def test_a_rejection_ends_it_with_the_comment_kept() -> None:
    driver = waiting().decide("bob", "reject", comment="too busy")
    assert (driver.run.status, driver.run.history[-3].comment) == ("rejected", "too busy")


@each_row("name", [None, "Bob\n\u202eThe desk"])
def test_a_comment_is_never_in_the_desks_own_voice(name: str | None) -> None:
    forged = "no.”\n\nIt was paid twice.\u2028\u202e\u200b“ok"
    driver = waiting().decide("bob", "return", comment=forged, name=name)
    called = "Bob The desk" if name else "bob"
    quoted = "“no.’ ↵ It was paid twice. ↵ ‘ok”"
    assert driver.said[-1] == f"{called}, who was to approve it, sent it back: {quoted}"
    said = {"by": "bob", "name": called, "verdict": "return"}
    kept = {**said, "comment": "no.”\n\nIt was paid twice.\n“ok"}
    assert driver.run.work.results["decision"] == kept
    text = "Rejected. {{ results.decision|remark }}"
    assert render(text, {"results": driver.run.work.results, "locale": "en"}) == (
        f"Rejected. {called} said: {quoted}"
    )


def test_a_return_takes_back_what_was_done_since_and_asks_what_to_change() -> None:
    driver = waiting().decide("bob", "return", comment="which Friday?")
    assert driver.called == ["get_balance", "reserve", "release"]
    assert driver.run.question.path == "change"
    assert driver.said[-1] == "bob, who was to approve it, sent it back: “which Friday?”"
    assert ("returned", "which Friday?") in [(event, told) for event, _, told in driver.history]


def test_every_visit_has_a_key_of_its_own() -> None:
    driver = leave(**WHOLE).confirm(False, reason="b")
    keys = [key for _, _, key in driver.world.calls]
    assert len(keys) == len(set(keys)) == 2


@each_row(
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
def test_a_decision_is_of_person_content_and_use(change: dict[str, str], expected: str) -> None:
    driver = waiting()
    decision = driver.decision("bob", **change)
    assert type(driver.refusal(decision)).__name__ == expected
    assert driver.take(decision).run.status == "waiting_approval"


def test_a_second_decision_is_refused() -> None:
    driver = waiting()
    decision = driver.decision("bob")
    assert driver.take(decision).refusal(decision) is not None


def test_an_approver_who_does_not_answer_is_reminded_every_day() -> None:
    driver = waiting().fire("remind").fire("remind")
    assert driver.told("reminded") == [["bob"], ["bob"]]
    assert driver.now == NOW + timedelta(days=2)


def test_after_three_days_the_approvers_manager_is_asked_instead() -> None:
    driver = waiting().fire("escalate")
    assert driver.awaited == ["carol"]
    assert driver.decide("carol").run.status == "completed"


def test_after_two_weeks_it_expires() -> None:
    driver = waiting().fire("expire")
    assert (driver.run.status, driver.said[-1]) == ("expired", "Too late.")


def test_without_a_manager_the_file_says_who_is_asked() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.lookups["manager"] = lambda _: None
    assert driver.begin(**WHOLE).confirm().awaited == ["dave"]


@each_row("slots", [{}, {"kind": "annual"}, WHOLE])
def test_cancelling_works_wherever_it_asks(slots: dict[str, str]) -> None:
    run = leave(**slots).cancel().run
    assert (run.status, run.work.timers) == ("cancelled", {})


def test_cancelling_takes_back_what_was_done() -> None:
    driver = waiting().cancel()
    assert driver.called == ["get_balance", "reserve", "release"]
    assert driver.run.status == "cancelled"


def cancelled_during_a_call() -> Driver:
    driver = leave(**WHOLE).take(Confirmed(by="alice", value=True), answer=False)
    driver.take(Cancelled(by="alice"), answer=False)
    assert list(driver.run.work.tasks) == ["reserve:4"]
    return driver


def test_cancelling_during_a_call_waits_for_it_and_takes_it_back() -> None:
    driver = cancelled_during_a_call()
    driver.take(driver.world.answer(driver.run))
    assert (driver.called[-1], driver.run.status) == ("release", "cancelled")


def test_what_is_taken_back_is_not_said_to_last() -> None:
    driver = cancelled_during_a_call().take(Called(task="reserve:4", value="r1", lasts=True))
    assert (driver.called[-1], driver.said[-1]) == ("release", "All right, that's cancelled.")


@each_row(
    ("came_back", "said"),
    [
        ({"value": {"days": 10}}, "All right, that's cancelled."),
        ({"value": 1, "lasts": True}, "get_balance had been done already and can't be taken back"),
        ({"error": "timeout", "kind": "unknown"}, "(get_balance), and it may or may not have been"),
        (
            {"error": "away", "kind": "unavailable"},
            "(get_balance), and it may or may not have been",
        ),
        ({"error": "closed"}, "All right, that's cancelled."),
    ],
)
def test_cancelling_a_call_says_what_became_of_it(came_back: dict[str, Any], said: str) -> None:
    driver = leave().take(Answered(by="alice", slots=WHOLE), answer=False)
    while "get_balance" not in {task.name for task in driver.run.work.tasks.values()}:
        driver.take(driver.world.answer(driver.run), answer=False)
    driver.take(Cancelled(by="alice"), answer=False)
    (task,) = driver.run.work.tasks
    assert driver.said[-1].startswith("All right, cancelling. One step is under way already")
    kind = Failed if "error" in came_back else Called
    driver.take(kind(task=task, **came_back))
    assert driver.run.status == "cancelled"
    assert said in driver.said[-1]


def test_a_failed_call_takes_the_way_for_errors() -> None:
    driver = waiting()
    driver.world.failing["record"] = "the register is closed"
    driver.decide("bob")
    assert (driver.run.status, driver.said[-1]) == ("failed", "Failed: the register is closed")


def test_a_failed_lookup_asks_anew_for_what_it_came_from() -> None:
    driver = Driver(flow(LEAVE))
    driver.world.failing["workdays"] = "no calendar for 2099"
    driver.begin(**WHOLE)
    assert "no calendar for 2099" in driver.said[0]
    assert driver.run.question.path == "start"


def test_items_are_asked_field_by_field_until_there_are_no_more() -> None:
    driver = Driver(flow(CLAIM)).begin()
    asked = [driver.run.question.path]
    for path, value in (
        ("items.0.amount", money("58")),
        ("items.0.invoice", "A1"),
        ("items.more", True),
        ("items.1.amount", money("7")),
        ("items.1.invoice", "A2"),
        ("items.more", False),
    ):
        asked.append(driver.answer({path: value}).run.question.path)
    assert asked == [
        *("items.0.amount", "items.0.invoice", "items"),
        *("items.1.amount", "items.1.invoice", "items", "reason"),
    ]
    assert driver.run.form.slots["items"] == [
        {"amount": money("58.00"), "invoice": "A1"},
        {"amount": money("7.00"), "invoice": "A2"},
    ]


def test_a_list_given_whole_is_not_asked_about_again() -> None:
    items = [{"amount": money("5"), "invoice": "A1"}]
    assert Driver(flow(CLAIM)).begin().answer(items=items).run.question.path == "reason"


def test_an_item_that_fails_its_check_keeps_what_was_fine_in_it() -> None:
    driver = Driver(flow(CLAIM))
    driver.world.claimed = {"A1"}
    driver.begin().answer({"items.0.amount": money("5")}).answer({"items.0.invoice": "A1"})
    assert (driver.said, driver.run.question.path) == (["Claimed before."], "items.0.invoice")


@each_row("broken", ["details", "review"])
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


def refused(failed: Failed = NOT_THEN, **states: Any) -> Driver:
    """Leave that its check refuses."""
    whole = {name: state.model_dump() for name, state in CHECKED.states.items()}
    changed = {name: whole[name] | changes for name, changes in states.items()}
    driver = Driver(flow(LEAVE, states=whole | changed))
    driver.world.refusing["record"] = failed
    return driver.begin(**WHOLE)


def test_a_check_comes_before_the_confirmation_and_calls_nothing() -> None:
    driver = Driver(CHECKED).begin(**WHOLE)
    assert driver.world.checks == [("record", {"kind": "annual", "start": "2026-11-23"})]
    assert (driver.run.status, driver.called) == ("confirming", [])
    driver.confirm(False, start="2026-11-24")
    assert [given["start"] for _, given in driver.world.checks] == ["2026-11-23", "2026-11-24"]
    assert driver.confirm().run.status == "completed"


def test_where_other_arguments_would_do_a_check_says_so_and_asks_which_to_change() -> None:
    driver = refused()
    assert driver.said == ["That can't be done: start: nobody may be away then"]
    run = driver.run
    assert (run.status, run.state, run.question.path) == ("collecting", "details", "change")
    assert run.form.slots["start"] == "2026-11-23"
    driver.world.refusing.clear()
    driver.answer(start="2026-11-24")
    assert driver.run.status == "confirming"
    assert driver.world.checks[-1][1]["start"] == "2026-11-24"


def test_a_check_that_refuses_for_good_ends_the_run_with_nothing_done() -> None:
    driver = refused(NOT_THEN.model_copy(update={"kind": "permanent"}))
    assert (driver.run.status, driver.called) == ("failed", [])
    assert driver.said == ["Failed: start: nobody may be away then"]
    assert [event for event, *_ in driver.history][-2:] == ["on_error", "failed"]


def test_a_check_without_on_error_says_why_itself_and_ends() -> None:
    driver = refused(allowed={"on_error": ()})
    assert (driver.run.status, driver.called) == ("failed", [])
    assert driver.said == ["That can't be done: start: nobody may be away then"]


def test_cancelling_does_not_wait_for_a_check_and_leaves_nothing_in_doubt() -> None:
    driver = Driver(CHECKED)
    driver.take(Began(by="alice", slots=WHOLE), answer=False)
    while next(iter(driver.run.work.tasks.values())).kind == "lookup":
        driver.take(driver.world.answer(driver.run), answer=False)
    driver.cancel()
    assert (driver.run.status, driver.run.work.tasks) == ("cancelled", {})
    assert driver.said == ["All right, that's cancelled."]
