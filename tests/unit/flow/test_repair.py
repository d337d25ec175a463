"""What went wrong in a dialogue is put right: corrections, misses, silence."""

from datetime import timedelta
from typing import Any

from router.domain.locale import Locale
from router.domain.messages import ChoicesReply
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Confirmed, Fired, Puzzled, Skipped, Unclear
from router.flow.prompts.question import view
from tests.table import each_row
from tests.unit.flow.definitions import CLAIM, LEAVE, Driver, flow, money

IDLE = timedelta(hours=72)
PATIENT = flow(LEAVE, idle="PT72H")
WHOLE: dict[str, Any] = {
    "kind": "annual",
    "start": "2026-11-23",
    "end": "2026-11-25",
    "reason": "family",
}


def leave(locale: Locale = "en", definition: FlowDefinition = PATIENT, **slots: Any) -> Driver:
    return Driver(definition, locale=locale).begin(**slots)


def answered(**slots: Any) -> Answered:
    return Answered(by="alice", slots=slots)


@each_row("given", [{"end": "2026-11-24"}, {"duration": {"days": 2}}])
@each_row(
    ("locale", "words"),
    [("en", "To is Tue 24 Nov 2026 now."), ("zh", "To改为2026年11月24日（周二）。")],
)
def test_a_correction_is_said_back_once(locale: Locale, words: str, given: Any) -> None:
    driver = leave(locale, kind="annual", start="2026-11-23", end="2026-11-25")
    assert driver.run.question.path == "reason"
    assert driver.hear(answered(**given)) == [words]
    assert driver.run.question.path == "reason"
    assert driver.hear(answered(**given)) == []


def test_a_correction_at_the_confirmation_is_said_back_and_asks_nothing_known() -> None:
    driver = leave(**WHOLE)
    assert driver.hear(answered(kind="sick", end="2026-11-24")) == [
        "Kind is sick leave now, To is Tue 24 Nov 2026 now."
    ]
    assert (driver.run.status, driver.run.form.slots["days"]) == ("confirming", 2)
    assert driver.hear(Confirmed(by="alice", value=False, slots={"reason": "a move"})) == [
        "Reason is a move now."
    ]
    assert driver.run.status == "confirming"


def test_a_correction_that_fails_its_check_keeps_the_old_value_and_says_what_would_do() -> None:
    driver = leave(**WHOLE)
    why, stays = driver.hear(answered(end="2026-11-20"))
    assert why == "The end is too early."
    assert stays.startswith("To is still Wed 25 Nov 2026. It could be, for example: ")
    assert "20 Nov" not in stays
    assert (driver.run.status, driver.run.form.slots["end"]) == ("confirming", "2026-11-25")


def test_an_old_value_that_a_correction_makes_wrong_is_asked_for_again() -> None:
    driver = leave(**WHOLE)
    words = driver.hear(answered(start="2026-12-01", end="2026-11-27"))
    assert "The end is too early." in words
    assert (driver.run.question.path, driver.run.form.slots["start"]) == ("end", "2026-12-01")


def test_a_field_of_an_item_is_named_with_its_number() -> None:
    driver = Driver(flow(CLAIM)).begin(items=[{"amount": money("58.00"), "invoice": "A1"}])
    cheaper = Answered(by="alice", slots={"items.0.amount": money("36.00")})
    assert driver.hear(cheaper) == ["amount of item 1 is CNY 36.00 now."]


def missed(driver: Driver, times: int = 1) -> str:
    """What is said to the last of so many misses."""
    return [" ".join(driver.hear(Unclear(by="alice"))) for _ in range(times)][-1]


def test_of_a_day_an_example_is_said_at_the_first_miss() -> None:
    assert "such as 1 December" in missed(leave(kind="annual"))


def test_each_miss_helps_more_and_the_fourth_hands_off_with_the_run_still_open() -> None:
    driver = leave(kind="annual", start="2026-12-01")
    assert "Sorry, I didn't get that." in missed(driver)
    assert "for example: 2 Dec, 1 Dec." in missed(driver)
    assert "just choose one of these" in missed(driver)
    question, ways = view(PATIENT, driver.run).replies
    assert isinstance(ways, ChoicesReply)
    assert [option.value for option in ways.options] == [
        *("act:help", "act:start_over", "act:cancel", "act:person")
    ]
    assert "please ask HR, finance or an administrator" in missed(driver)
    assert driver.run.question.quiet
    assert (driver.run.status, driver.run.question.path) == ("collecting", "end")
    assert [reply.text for reply in view(PATIENT, driver.run).replies] == [question.text]
    assert "Sorry, I didn't get that." in missed(driver)
    assert (driver.run.question.quiet, driver.run.question.no_matches) == (False, 1)


def test_at_the_third_what_can_be_chosen_is_offered_itself() -> None:
    driver = leave()
    missed(driver, 3)
    (asked,) = view(PATIENT, driver.run).replies
    assert isinstance(asked, ChoicesReply)
    assert [option.value for option in asked.options] == ["annual", "sick"]


def test_at_the_third_what_can_be_skipped_may_be() -> None:
    reason = {**LEAVE["slots"]["reason"], "required": False, "=skippable": True}
    definition = flow({**LEAVE, "slots": {**LEAVE["slots"], "reason": reason}})
    driver = leave(definition=definition, kind="annual", start="2026-11-23", end="2026-11-25")
    missed(driver, 3)
    asked, ways = view(definition, driver.run).replies
    assert (asked.type, ways.type) == ("text", "choices")
    assert isinstance(ways, ChoicesReply)
    assert "act:skip" in [option.value for option in ways.options]


def test_at_the_third_a_confirmation_keeps_its_card() -> None:
    driver = leave(**WHOLE)
    missed(driver, 3)
    card, ways = view(PATIENT, driver.run).replies
    assert (card.type, ways.type) == ("confirm", "choices")
    assert isinstance(ways, ChoicesReply)
    assert ways.question == getattr(card, "question", None)


@each_row("act", [Puzzled(by="alice"), Unclear(by="alice", count=False)])
def test_an_act_is_no_miss_and_forgives_none(act: Any) -> None:
    driver = leave()
    missed(driver)
    driver.take(act)
    assert driver.run.question.no_matches == 1


def test_an_answer_forgives_every_miss() -> None:
    driver = leave()
    missed(driver, 2)
    driver.answer(kind="annual")
    assert (driver.run.question.path, driver.run.question.no_matches) == ("start", 0)


def test_an_answer_that_is_refused_is_a_miss_of_its_question_alone() -> None:
    driver = leave(kind="annual", start="2026-12-01")
    assert driver.hear(answered(end="2026-11-20")) == ["The end is too early."]
    assert "for example" in driver.hear(answered(end="2026-11-21"))[-1]
    assert (driver.run.question.path, driver.run.question.no_matches) == ("end", 2)
    driver.answer(kind="nonsense")
    assert driver.run.question.no_matches == 2


def test_silence_is_said_once_and_a_day_later_the_run_expires() -> None:
    driver = leave(kind="annual", start="2026-11-23")
    assert list(driver.run.work.timers) == ["idle"]
    (still,) = driver.fire("idle").said
    assert "“Leave” is still open" in still
    assert (driver.run.status, driver.run.question.path) == ("collecting", "end")
    assert list(driver.run.work.timers) == ["lapse"]
    _, away = driver.fire("lapse").said
    assert "was put away" in away
    assert (driver.run.status, driver.run.work.timers) == ("expired", {})
    assert view(PATIENT, driver.run).kept == {"kind": "annual", "start": "2026-11-23"}
    assert [line.event for line in driver.run.history][-3:] == ["idle", "lapse", "expired"]


@each_row("word", [answered(), Puzzled(by="alice"), Skipped(by="alice"), Unclear(by="alice")])
def test_every_word_winds_the_clock_up_again(word: Any) -> None:
    driver = leave(kind="annual").fire("idle")
    driver.after(timedelta(hours=1)).take(word)
    assert list(driver.run.work.timers) == ["idle"]
    assert driver.run.work.timers["idle"].due == driver.now + IDLE


def test_what_takes_back_nothing_of_the_requesters_says_nothing_to_the_clock() -> None:
    driver = leave(kind="annual")
    due = driver.run.work.timers["idle"].due
    driver.after(timedelta(hours=1)).take(Fired(timer="no such"))
    assert driver.run.work.timers["idle"].due == due


def test_only_what_asks_has_a_clock() -> None:
    driver = leave(**WHOLE)
    assert "idle" in driver.run.work.timers
    driver.confirm()
    assert driver.run.status == "waiting_approval"
    assert not {"idle", "lapse"} & set(driver.run.work.timers)


def test_silence_takes_back_what_was_done() -> None:
    states = {
        "details": {"collect": ["kind"], "next": "reserve"},
        "reserve": {"call": "reserve", "undo": "release", "next": "more"},
        "more": {"collect": ["reason"], "next": "done"},
        "done": {"end": "completed"},
    }
    driver = leave(definition=flow({**LEAVE, "states": states}, idle="PT1H"), kind="annual")
    assert driver.run.question.path == "reason"
    driver.fire("idle").fire("lapse")
    assert driver.called == ["reserve", "release"]
    assert driver.run.status == "expired"


def test_only_what_fell_silent_is_kept_and_nothing_that_is_worked_out() -> None:
    driver = leave(**WHOLE)
    assert "days" in driver.run.form.slots
    driver.fire("idle").fire("lapse")
    assert view(PATIENT, driver.run).kept == WHOLE
    assert view(PATIENT, leave(**WHOLE).cancel().run).kept is None


def test_of_a_length_what_it_moves_is_said_alone_and_by_no_raw_name() -> None:
    driver = leave(kind="annual", start="2026-11-23", end="2026-11-24")
    assert driver.hear(answered(duration={"days": 2})) == []
    (moved,) = driver.hear(answered(duration={"days": 1}))
    assert "duration" not in moved
    assert "23" in moved
