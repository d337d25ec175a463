"""When new messages are refused because those before them wait."""

import pytest

from router.api.intake import Intake, IntakeLimits, IntakeState, retry_after
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
        (IntakeState(ages=(0.1,) * 500, taken_per_s=25.0), 1.0, None),
        # Three conversations are stuck, and say nothing of the others.
        (IntakeState(ages=(60.0, 60.0, 60.0), taken_per_s=0.0), 1.0, None),
        (IntakeState(ages=(60.0, 60.0, 60.0, 0.1), taken_per_s=5.0), 1.0, None),
        # The oldest have waited too long, whatever the rate.
        (IntakeState(ages=(3.2,) * 4, taken_per_s=1000.0), 1.0, 4),
        # They haven't yet, but the newest will: fifty wait, and ten a second are taken in.
        (IntakeState(ages=(1.5,) * 50, taken_per_s=10.0), 1.0, 5),
        (IntakeState(ages=(1.5,) * 20, taken_per_s=10.0), 1.0, None),
        # Hardly anything is taken in: that may be since hardly anything came.
        (IntakeState(ages=(1.5,) * 4, taken_per_s=0.2), 1.0, None),
        (IntakeState(ages=(500.0,) * 40, taken_per_s=0.2), 1.0, 30),
        # An answer to a question is taken for longer.
        (IntakeState(ages=(1.5,) * 50, taken_per_s=10.0), 3.0, None),
        (IntakeState(ages=(9.5,) * 50, taken_per_s=10.0), 3.0, 10),
        # The event loop is late: if nobody waits, it isn't messages that make it so.
        (IntakeState(ages=(0.1,) * 4, taken_per_s=10.0, lateness_s=1.2), 1.0, 1),
        (IntakeState(ages=(0.1,) * 4, taken_per_s=10.0, lateness_s=1.2), 3.0, None),
        (IntakeState(ages=(0.1,) * 3, taken_per_s=10.0, lateness_s=9.0), 1.0, None),
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
    intake.end(0, "m")
    intake.check()

    assert refused.value.retry_after >= LIMITS.wait_s
    assert intake.state().taken_per_s > 0


def test_several_messages_of_one_conversation_count_once() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for number in range(6):
        intake.begin("stuck", f"m{number}")
    clock.now += 60

    intake.check()


def test_one_long_stall_makes_no_late_loop() -> None:
    lateness = LoopLateness()

    lateness.note(1.0, 1.0)
    after_one = lateness.seconds
    for _ in range(5):
        lateness.note(1.5, 1.5)

    assert after_one < LIMITS.lateness_s < lateness.seconds
