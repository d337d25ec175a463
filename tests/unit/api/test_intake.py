"""When new messages are refused because those before them wait."""

import heapq
import itertools
import statistics
from random import Random

import pytest

from router.api.intake import (
    Intake,
    IntakeLimits,
    IntakeState,
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


def test_while_messages_wait_as_many_are_open_as_are_answered_in_half_of_the_longest_wait() -> None:
    clock = Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    for tenth in range(70):
        if tenth < 60:
            intake.begin(tenth, "m")
            intake.note_taken(tenth, "m")
        if tenth >= 20:
            intake.end(tenth - 20, "m", is_taken=True, is_plain=True)
        clock.now += 0.1
    wait_s = intake.state().wait_s

    let_in = sum(is_let_in(intake, f"new {number}") for number in range(50))

    assert wait_s >= LIMITS.wait_s / 2
    assert let_in == 5, "10 were open, and 10 a second are answered"


def is_let_in(intake: Intake, message: str) -> bool:
    try:
        intake.check()
    except TooManyRequests:
        return False
    intake.begin(message, "m")
    return True


@each_row("times", [1.5, 3.0, 6.0])
def test_however_many_messages_come_the_workers_are_busy_and_answers_are_soon(
    times: float,
) -> None:
    capacity_per_s, seconds = 12.0, 60.0

    answers = simulate(times * capacity_per_s, capacity_per_s, seconds)

    assert len(answers) >= 0.9 * capacity_per_s * seconds
    assert statistics.median(answers) <= LIMITS.wait_s


def simulate(arrivals_per_s: float, capacity_per_s: float, seconds: float) -> list[float]:
    """Let messages come at random times to four workers; return how long each answer took."""
    chance, clock = Random(1), Clock()
    intake = Intake(LIMITS, clock, LoopLateness())
    free_at = [clock.now] * 4
    waits, ends = list[tuple[float, float]](), list[tuple[float, str]]()
    end = clock.now + seconds
    for number in itertools.count():
        clock.now += chance.expovariate(arrivals_per_s)
        now = clock.now
        while ends and ends[0][0] <= now:
            clock.now, answered = heapq.heappop(ends)
            intake.end(answered, "m", is_taken=True, is_plain=True)
        clock.now = now
        if now > end:
            return [wait for at, wait in waits if at <= end]
        if not is_let_in(intake, f"{number}"):
            continue
        began = max(heapq.heappop(free_at), now)
        ended = began + 4 / capacity_per_s * chance.uniform(0.5, 1.5)
        heapq.heappush(free_at, ended)
        heapq.heappush(ends, (ended, f"{number}"))
        waits.append((ended, ended - now))
    raise AssertionError


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
