"""How long something takes, in a flow that asks only for its first and last day."""

from datetime import datetime

import pytest

from router.entities.utterance import Utterance
from router.understanding.corrections.values import put_right
from router.understanding.slots.answers import answer
from router.understanding.slots.prefill import prefill
from tests.unit.understanding.flows import TRIP
from tests.unit.understanding.test_answers import asking

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
GOING = asking(TRIP, "end", {"destination": "上海", "start": "2026-11-23"})


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        ("三天", "2026-11-25"),
        ("3 days", "2026-11-25"),
        ("一天", "2026-11-23"),
        ("两周", "2026-12-06"),
    ],
)
def test_a_length_tells_the_last_day_where_a_flow_has_no_slot_for_it(typed: str, end: str) -> None:
    assert answer(GOING, Utterance.of(typed, NOW)) == {"end": end}


@pytest.mark.parametrize("typed", ["半天", "两天半", "3 hours", "99999 days"])
def test_a_part_of_a_day_tells_no_last_day(typed: str) -> None:
    assert answer(GOING, Utterance.of(typed, NOW)) is None


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        ("申请下周一去上海出差三天", "2026-11-25"),
        ("fly to Leeds next Monday for 2 days", "2026-11-24"),
    ],
)
def test_a_request_names_the_last_day_by_how_long_it_takes(typed: str, end: str) -> None:
    assert prefill(TRIP.slots, Utterance.of(typed, NOW))["end"] == end


def test_a_length_at_the_confirmation_moves_the_last_day() -> None:
    known = {"destination": "上海", "start": "2026-11-23", "end": "2026-11-24", "reason": "见客户"}
    view = asking(TRIP, None, known, "confirming")
    assert put_right(view, Utterance.of("改成四天", NOW)) == {"end": "2026-11-26"}
