"""When new messages are refused because those before them wait."""

import pytest

from router.api.intake import (
    FREE_AFTER_S,
    AdmissionRate,
    Intake,
    IntakeLimits,
    IntakeState,
    growth_of,
    retry_after,
)
from router.domain.errors import TooManyRequests
from router.telemetry.loop_stalls import LoopLateness
from tests.fakes.clock import Clock
from tests.table import each_row

LIMITS = IntakeLimits(wait_s=3.0, lateness_s=1.0)


@each_row(
    ("state", "patience", "seconds"),
    [
        # Nobody waits, or only for a moment.
        (IntakeState(), 1.0, None),
        (IntakeState(ages=(0.1,) * 500), 1.0, None),
        # Three conversations are stuck, and say nothing of the others.
        (IntakeState(ages=(60.0, 60.0, 60.0)), 1.0, None),
        (IntakeState(ages=(60.0, 60.0, 60.0, 0.1)), 1.0, None),
        # The oldest have waited too long.
        (IntakeState(ages=(3.2,) * 4), 1.0, 4),
        (IntakeState(ages=(1.5,) * 50), 1.0, None),
        (IntakeState(ages=(500.0,) * 40), 1.0, 30),
        # An answer to a question is taken for longer.
        (IntakeState(ages=(3.5,) * 50), 3.0, None),
        (IntakeState(ages=(9.5,) * 50), 3.0, 10),
        # The fastest quarter of some answers that no model gave took long.
        (IntakeState(open_conversations=9, answers_s=(3.5, 9.0, 3.2, 0.1)), 1.0, 4),
        (IntakeState(open_conversations=9, answers_s=(3.5, 9.0, 2.9, 0.1)), 1.0, None),
        (IntakeState(open_conversations=9, answers_s=(3.5, 9.0, 3.2)), 1.0, None),
        (IntakeState(open_conversations=3, answers_s=(3.5, 9.0, 3.2, 3.1)), 1.0, None),
        # The event loop is late: if nobody waits, it isn't messages that make it so.
        (IntakeState(ages=(0.1,) * 4, lateness_s=1.2), 1.0, 1),
        (IntakeState(ages=(0.1,) * 4, lateness_s=1.2), 3.0, None),
        (IntakeState(ages=(0.1,) * 3, lateness_s=9.0), 1.0, None),
    ],
)
def test_a_new_message_is_refused_if_it_would_wait_too_long(
    state: IntakeState, patience: float, seconds: int | None
) -> None:
    assert retry_after(state, LIMITS, patience) == seconds


def test_messages_wait_until_they_are_taken_in() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for number in range(4):
        intake.begin(number, "m")
    clock.now += LIMITS.wait_s

    with pytest.raises(TooManyRequests) as refused:
        intake.check()
    intake.note_taken(0, "m")
    intake.check()

    assert refused.value.retry_after >= LIMITS.wait_s


def test_messages_are_let_in_more_slowly_than_answered_as_soon_as_they_wait() -> None:
    rate, clock = AdmissionRate(), Clock()

    def let_in_within(seconds: float, growth_per_s: float) -> float:
        number = 0
        for _ in range(int(seconds * 100)):
            number += rate.admit(clock.now, growth_per_s) == 0
            clock.now += 0.01
        return number / seconds

    free = let_in_within(1, growth_of(0.4))
    rate.slow_down(clock.now, answers_per_s=10.0)
    while_slow = let_in_within(5, growth_of(0.9))
    rate.slow_down(clock.now, answers_per_s=10.0)
    still_slow = let_in_within(5, growth_of(0.9))
    later = let_in_within(10, growth_of(0.4))
    clock.now += FREE_AFTER_S

    assert free == let_in_within(1, growth_of(0.0)) == 100
    assert while_slow == still_slow == pytest.approx(8.0, abs=0.3)
    assert 8.5 <= later <= 11


def test_some_messages_are_refused_before_any_waits_for_as_long_as_is_allowed() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for number in range(50):
        intake.begin(number, "m")
    clock.now += 0.6 * LIMITS.wait_s

    outcomes = []
    for _ in range(20):
        try:
            intake.check()
        except TooManyRequests:
            outcomes.append("refused")
        else:
            outcomes.append("let in")

    assert outcomes.count("let in") == 1


def test_the_first_seconds_after_an_idle_time_count_for_what_they_were() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for number in range(40):
        intake.begin(number, "m")
        intake.note_taken(number, "m")
    clock.now += 2
    for number in range(40):
        clock.now += 0.05
        intake.end(number, "m", is_taken=True, is_plain=True)

    assert intake.answers_per_s() == pytest.approx(20, rel=0.1)


def test_several_messages_of_one_conversation_count_once() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for number in range(6):
        intake.begin("stuck", f"m{number}")
    clock.now += 60

    intake.check()


def test_a_message_that_waits_for_an_earlier_one_says_nothing_of_the_machine() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for update in ("m1", "m2", "m3", "m4"):
        intake.begin("busy", update)
        intake.note_taken("busy", update)
    clock.now += 60
    for update in ("m1", "m2", "m3"):
        intake.end("busy", update, is_taken=True, is_plain=True)

    assert intake.state().answers_s == (60.0,)
    assert intake.state().open_conversations == 1


def test_one_long_stall_makes_no_late_loop() -> None:
    lateness = LoopLateness()

    lateness.note(1.0, 1.0)
    after_one = lateness.seconds
    for _ in range(5):
        lateness.note(1.5, 1.5)

    assert after_one < LIMITS.lateness_s < lateness.seconds
