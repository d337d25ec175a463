"""What routing is measured by."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.messages import ChoicesReply, Message, Option, Route, Turn, Usage
from router.domain.records import LogEntry
from router.extensions.evaluation.dataset import ChoiceReader, LabelledChoice, LabelledEntity
from router.extensions.evaluation.figures import LineResult, figures_of, judged, value_at
from router.retrieval.selection import RetrievedCandidate, Selection, Signs
from tests.table import each_row
from tests.unit.extensions.evaluation.test_dataset import result
from tests.unit.retrieval.capabilities import capability

LABELS = st.sampled_from(["leave_request", "book_room", "none", "reply"])


def test_precision_recall_and_f1_are_those_of_the_books() -> None:
    results = [
        *[result("leave_request", "leave_request")] * 6,
        *[result("leave_request", "none")] * 2,
        *[result("none", "leave_request")] * 1,
        *[result("none", "none")] * 3,
    ]
    figures = figures_of(results)
    leave, none = figures.labels
    assert (leave.label, leave.support, leave.got, leave.right) == ("leave_request", 8, 7, 6)
    assert leave.precision == pytest.approx(6 / 7)
    assert leave.recall == pytest.approx(6 / 8)
    assert leave.f1 == pytest.approx(2 * (6 / 7) * (6 / 8) / (6 / 7 + 6 / 8))
    assert (none.precision, none.recall) == (3 / 5, 3 / 4)
    assert figures.accuracy.share == 9 / 12
    of_leave, of_none = {"leave_request": 6, "none": 2}, {"none": 3, "leave_request": 1}
    assert figures.confusion == {"leave_request": of_leave, "none": of_none}


def test_what_only_came_out_stands_last_and_has_no_recall() -> None:
    rows = figures_of([result("none", "book_room"), result("reply", "clarify")]).labels
    assert [row.label for row in rows] == ["none", "reply", "book_room", "clarify"]
    assert (rows[0].precision, rows[2].recall, rows[2].f1) == (None, None, 0)


def test_calls_tokens_and_ways_of_deciding_are_added_up() -> None:
    usage = Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10)
    one = result("none", "none", by="llm", usage=usage, seconds=0.2)
    two = result("none", "none", by="llm", usage=usage + usage, seconds=0.4)
    none = result("none", "none", by="fallback", seconds=3.0, unanswered=True)
    figures = figures_of([one, two, none])
    assert (figures.by, figures.unanswered) == ({"llm": 2, "fallback": 1}, 1)
    assert figures.usage == Usage(llm_calls=3, prompt_tokens=300, completion_tokens=30)
    assert figures.seconds.total == pytest.approx(3.6)
    assert (figures.seconds.p50, figures.seconds.p95, figures.seconds.longest) == (0.4, 3.0, 3.0)


def test_selection_is_judged_on_the_lines_that_were_searched() -> None:
    found = ("book_room", "get_balance")
    searched = [result(one, "clarify", candidates=found) for one in (*found, "leave_request")]
    figures = figures_of([result("leave_request", "leave_request"), *searched])
    assert (figures.nearest.right, figures.nearest.of) == (1, 3)
    assert (figures.preselected.right, figures.preselected.of) == (2, 3)


def test_slots_are_counted_by_label_and_name() -> None:
    right = result("book_room", "book_room", slots={"when": "x"}, values={"when": "x"})
    wrong = result("book_room", "none", slots={"when": "x"})
    figures = figures_of([right, wrong])
    assert {name: tally.share for name, tally in figures.slots.items()} == {"book_room.when": 0.5}


def test_a_line_without_a_label_is_no_part_of_the_accuracy() -> None:
    figures = figures_of([result(None, "clarify", entities=[])])
    assert figures.accuracy.share is None
    assert (figures.labels, figures.confusion) == ([], {})
    assert figures.entities.share == 1


@given(st.lists(st.builds(result, LABELS, LABELS), min_size=1))
def test_every_line_is_in_the_matrix_once(results: list[LineResult]) -> None:
    figures = figures_of(results)
    cells = [count for row in figures.confusion.values() for count in row.values()]
    diagonal = sum(row.get(label, 0) for label, row in figures.confusion.items())
    assert sum(cells) == len(results) == sum(row.support for row in figures.labels)
    assert diagonal == figures.accuracy.right == sum(row.right for row in figures.labels)


SIGNS = Signs(0.9, 0.8, 1.2)


def found(*names: str) -> Selection:
    candidates = (RetrievedCandidate(capability(name), 0.5) for name in names)
    return Selection(tuple(candidates), "several", SIGNS)


@each_row(
    ("label", "candidates", "wanted", "right"),
    [
        ("a", ["a", "b"], True, True),
        ("b", ["a", "b"], True, False),
        ("a", [], True, False),
        ("none", ["a"], False, False),
        ("reply", ["a"], False, False),
    ],
)
def test_a_label_says_whether_anything_was_wanted_and_whether_the_first_was_it(
    label: str, candidates: list[str], wanted: bool, right: bool
) -> None:
    row = judged(label, found(*candidates), {"a", "b"})
    assert (row.signs, row.wanted, row.right) == (SIGNS, wanted, right)


TOMORROW = LabelledEntity(type="date", value="2026-11-19")
TWO = LabelledEntity(type="number", value="2")


def test_a_slot_is_right_where_exactly_its_value_was_understood_and_never_elsewhere() -> None:
    slots = {"start": "2026-11-23", "end": "2026-11-24", "items.0.amount": "5", "reason": None}
    values = {"start": "2026-11-23", "end": "2026-11-25", "items": [{"amount": "5"}]}
    one = result("leave_request", "leave_request", slots=slots, values=values)
    assert one.slots == {"start": True, "end": False, "items.0.amount": True, "reason": True}
    assert result("leave_request", "book_room", slots={"end": None}).slots == {"end": False}


def test_asking_back_with_the_label_among_the_options_is_one_tap_away() -> None:
    assert result("book_room", "clarify", offered=("get_balance", "book_room")).is_one_tap_away
    assert not result("book_room", "clarify", offered=("get_balance",)).is_one_tap_away
    assert not result("clarify", "clarify", offered=("clarify",)).is_one_tap_away


@each_row(
    ("label", "candidates", "rank"),
    [
        ("book_room", ("book_room", "get_balance"), 0),
        ("book_room", ("get_balance", "book_room"), 1),
        ("book_room", ("get_balance",), -1),
        ("book_room", (), None),
        ("none", ("get_balance",), None),
        (None, ("get_balance",), None),
    ],
)
def test_the_rank_is_the_place_of_the_label_among_what_was_found(
    label: str | None, candidates: tuple[str, ...], rank: int | None
) -> None:
    assert result(label, "clarify", candidates=candidates).rank == rank


def test_entities_are_right_where_those_that_count_are_the_same_in_order() -> None:
    nothing = result(None, "clarify", entities=[TOMORROW])
    assert nothing.entities_are_right is False
    assert replace(nothing, entities=[TOMORROW, TWO]).entities_are_right is True
    assert result(None, "clarify").entities_are_right is None


@each_row("path", ["x", "items.1", "items.x", "items.-1", "items.0.amount.more", ""])
def test_where_there_is_nothing_the_value_is_none(path: str) -> None:
    assert value_at({"items": [{"amount": "5"}]}, path) is None


NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)
ASKS = Route(kind="clarify", by="retrieval")
OPTIONS = ["get_balance", "leave_request"]


def said(
    n: int, text: str, route: Route, *, digest: str | None = None, conversation: str = "c1"
) -> list[LogEntry]:
    """The log's rows of a message and its turn, which offers things where it asks."""
    options = [Option(label=f"«{name}»", value=name) for name in OPTIONS]
    replies = [ChoicesReply(text="?", options=options)] if route.kind == "clarify" else []
    turn = Turn(message_id=f"m{n}", turn=n, route=route, replies=list(replies))
    at = NOW + timedelta(minutes=n)
    about: dict[str, Any] = {"at": at, "conversation": conversation, "message_id": f"m{n}"}
    whole = {"digest": digest or Message(text=text).digest, "turn": turn.model_dump(mode="json")}
    return [
        LogEntry(key=f"{n}:user", kind="message", data={"role": "user", "text": text}, **about),
        LogEntry(key=f"{n}:it", kind="message", data={"role": "assistant", "text": "…"}, **about),
        LogEntry(key=f"{n}:turn", kind="turn", data=whole, **about),
    ]


def takes(name: str, by: Any = "action") -> Route:
    return Route(kind="flow", target=name, by=by)


def choices(*turns: list[LogEntry]) -> list[LabelledChoice]:
    reader = ChoiceReader()
    found = [reader.take(entry) for rows in turns for entry in rows]
    return [choice for choice in found if choice is not None]


def test_what_was_chosen_is_the_label_of_the_message_that_was_asked_about() -> None:
    pressed = said(2, "«get_balance»", takes("get_balance"), digest="of a button")
    choice = LabelledChoice("c1", "能休多久", "get_balance", NOW + timedelta(minutes=1))
    assert choices(said(1, "能休多久", ASKS), pressed) == [choice]
    # It may be typed too.
    assert choices(said(1, "休息", ASKS), said(2, "第二个", takes("leave_request", "slot")))


def test_only_the_message_just_before_the_question_is_certain() -> None:
    asked = said(1, "first", ASKS), said(2, "second", ASKS)
    found = choices(*asked, said(3, "…", takes("get_balance")))
    assert [choice.text for choice in found] == ["second"]


def test_what_leaves_it_open_what_was_meant_gives_no_label() -> None:
    chosen = said(3, "…", takes("get_balance"))
    elsewhere = said(2, "…", takes("get_balance"), conversation="c2")
    a_button_was_asked_about = said(1, "«x»", ASKS, digest="of a button")
    assert choices(said(1, "text", ASKS), said(2, "new words", takes("get_balance", "llm"))) == []
    assert choices(said(1, "text", ASKS), said(2, "…", takes("book_room"))) == []
    assert choices(said(1, "text", ASKS), said(2, "no", Route(kind="cancel", by="slot"))) == []
    assert choices(said(1, "text", ASKS), said(2, "x", takes("y", "pattern")), chosen) == []
    assert choices(said(1, "text", ASKS), elsewhere) == []
    assert choices(a_button_was_asked_about, said(2, "…", takes("get_balance"))) == []
    assert choices(chosen) == []
