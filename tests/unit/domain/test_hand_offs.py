"""How a hand-off stands after whatever happens to it: pure, with no clock but what is given."""

from datetime import UTC, datetime, timedelta

import pytest

from router.domain.errors import Conflict, NotFound
from router.domain.hand_offs import (
    LONGEST_REASON,
    MOST_TOLD,
    MOST_WORDS,
    Duty,
    HandOffDesk,
    NamedPerson,
    OngoingHandOff,
    entries,
    the_one,
)
from router.domain.principals import Principal
from tests.table import each_row

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAVE, HILDA = NamedPerson(id="dave", name="Dave"), NamedPerson(id="hilda", name="Hilda")
BOTH = Duty(configured=True, on_duty=[DAVE, HILDA], due=NOW + 4 * HOUR)
LATER = Duty(configured=True, opens_at=NOW + 2 * HOUR, due=NOW + 6 * HOUR)
OF_DAVE = Duty(configured=True, on_duty=[DAVE], due=NOW + 5 * HOUR)


def begun(duty: Duty = BOTH, reason: str = "asked for a person") -> OngoingHandOff:
    hand_off = OngoingHandOff.begun("h1", "asked", reason, duty, NOW)
    assert hand_off is not None
    return hand_off


def test_those_on_duty_are_told_and_have_until_it_is_due() -> None:
    hand_off = begun()
    assert (hand_off.told, hand_off.alarm) == (["dave", "hilda"], BOTH.due)
    assert hand_off.record("t", "c", "alice").state == "open"


@each_row("duty", [Duty(), Duty(configured=True)], ids=["no desk", "nobody"])
def test_where_nobody_takes_any_there_is_none(duty: Duty) -> None:
    assert OngoingHandOff.begun("h1", "asked", "", duty, NOW) is None


def test_where_nobody_is_on_duty_it_waits_for_who_comes_first() -> None:
    hand_off = begun(LATER)
    assert (hand_off.stage, hand_off.alarm, hand_off.told) == ("opens", LATER.opens_at, [])
    told = hand_off.shown_to(OF_DAVE)
    assert (told.stage, told.alarm, told.told) == ("waits", OF_DAVE.due, ["dave"])
    assert told.opens_at is None


def test_of_two_who_take_it_the_second_is_told_who_was_quicker() -> None:
    taken = begun().taken(DAVE, "w1", OF_DAVE, NOW)
    assert taken.record("t", "c", "alice").agent == "dave"
    assert taken.taken(DAVE, "w2", OF_DAVE, NOW) is taken
    with pytest.raises(Conflict, match="Dave"):
        taken.taken(HILDA, "w3", BOTH, NOW)
    with pytest.raises(Conflict, match="Dave"):
        taken.check_with("hilda")
    with pytest.raises(Conflict):
        begun().check_with("dave")


def test_an_answer_ends_the_waiting_and_a_word_begins_it_anew() -> None:
    taken = begun().taken(DAVE, "w1", OF_DAVE, NOW)
    answered = taken.answered("w2", OF_DAVE, "ok")
    assert answered.waiting_since is None
    later = NOW + HOUR
    heard = answered.heard(OF_DAVE, later)
    assert heard.waiting_since == later
    assert heard.heard(OF_DAVE, later + HOUR).waiting_since == later


def test_a_reminder_leaves_as_much_time_again_and_an_answer_sets_it_back() -> None:
    reminded = begun().reminded(OF_DAVE)
    assert (reminded.stage, reminded.alarm, reminded.told) == ("reminded", OF_DAVE.due, ["dave"])
    assert reminded.taken(DAVE, "w", OF_DAVE, NOW).stage == "waits"


def test_every_change_is_a_newer_version() -> None:
    one = begun()
    two = one.taken(DAVE, "w1", OF_DAVE, NOW)
    three = two.answered("w2", OF_DAVE, "ok")
    over = three.ended("t", "c", "alice", "returned", NOW)
    versions = [each.version for each in (one, two, three, over)]
    assert versions == sorted(set(versions))
    assert (over.state, over.due, over.waiting_since) == ("closed", None, None)


def test_what_it_carries_is_bounded() -> None:
    many = [NamedPerson(id=f"p{n}", name="P") for n in range(100)]
    hand_off = begun(Duty(configured=True, on_duty=many, due=NOW), "x" * 5000)
    assert (len(hand_off.reason), len(hand_off.told)) == (LONGEST_REASON, MOST_TOLD)
    taken = hand_off.taken(DAVE, "w", OF_DAVE, NOW)
    for number in range(200):
        taken = taken.answered(f"w{number}", OF_DAVE, "ok")
    assert len(taken.words) == MOST_WORDS


@each_row(
    ("state", "id_", "error"),
    [(None, "", NotFound), (None, "h1", Conflict), (begun(), "h2", Conflict)],
)
def test_another_hand_off_is_none_of_the_conversations(
    state: OngoingHandOff | None, id_: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        the_one(state, id_)
    assert the_one(begun(), "h1").id == "h1"


def test_notices_hold_ids_and_nobodys_words() -> None:
    record = begun(reason="my salary is wrong").record("t", "c", "alice")
    rows = entries(record, "requested", ["dave", "hilda", "dave"], NOW)
    assert [row.recipient for row in rows] == [None, "dave", "hilda"]
    assert len({row.key for row in rows}) == len(rows)
    assert "salary" not in str(rows)
    assert [row.conversation for row in entries(record, "said", ["dave"], NOW)] == [None]


@each_row(
    ("person", "may"),
    [
        (Principal(id="erin", name="Erin"), True),
        (Principal(id="dave", name="Dave", roles=frozenset({"hr", "employee"})), True),
        (Principal(id="alice", name="Alice"), False),
        (Principal(id="olga", name="Olga", roles=frozenset({"operator"})), False),
    ],
)
def test_who_is_named_or_holds_a_role_may_take_it(person: Principal, may: bool) -> None:
    desk = HandOffDesk(roles=frozenset({"hr"}), people=frozenset({"erin"}))
    assert desk.has(person) is may
