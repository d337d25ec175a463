import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.messages import Usage
from router.evaluation.figures import LineResult, figures_of
from tests.unit.evaluation.samples import result

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
    assert figures.confusion == {
        "leave_request": {"leave_request": 6, "none": 2},
        "none": {"none": 3, "leave_request": 1},
    }


def test_what_only_came_out_stands_last_and_has_no_recall() -> None:
    figures = figures_of([result("none", "book_room"), result("reply", "clarify")])
    assert [row.label for row in figures.labels] == ["none", "reply", "book_room", "clarify"]
    assert figures.labels[0].precision is None
    assert figures.labels[2].recall is None
    assert figures.labels[2].f1 == 0


def test_calls_tokens_and_ways_of_deciding_are_added_up() -> None:
    usage = Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10)
    figures = figures_of(
        [
            result("none", "none", by="llm", usage=usage, seconds=0.2),
            result("none", "none", by="llm", usage=usage + usage, seconds=0.4),
            result("none", "none", by="fallback", seconds=3.0, unanswered=True),
        ]
    )
    assert figures.by == {"llm": 2, "fallback": 1}
    assert figures.usage == Usage(llm_calls=3, prompt_tokens=300, completion_tokens=30)
    assert figures.unanswered == 1
    assert figures.seconds.total == pytest.approx(3.6)
    assert (figures.seconds.p50, figures.seconds.p95, figures.seconds.longest) == (0.4, 3.0, 3.0)


def test_selection_is_judged_on_the_lines_that_were_searched() -> None:
    found = ("book_room", "get_balance")
    figures = figures_of(
        [
            result("leave_request", "leave_request"),
            result("book_room", "clarify", candidates=found),
            result("get_balance", "clarify", candidates=found),
            result("leave_request", "clarify", candidates=found),
        ]
    )
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
