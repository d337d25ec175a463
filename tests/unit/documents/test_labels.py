import pytest

from router.documents.labels import Clue, PageLayout, label, settled
from router.documents.page import Material, Page, TextLine
from router.domain.documents import ReadField
from tests.unit.documents.types.paper import Put, paper

TOTAL = label("合计", "total")


def found(*puts: Put, below: bool = True) -> list[str]:
    def word(text: str) -> list[str]:
        return [text] if text.startswith("=") else []

    return [one.value for one in PageLayout(paper(*puts)).beside(TOTAL, word, below=below)]


def test_a_value_stands_behind_its_label_or_right_of_it_or_below() -> None:
    assert found((5, 10, "合计：=a")) == ["=a"]
    assert found((5, 10, "合计"), (60, 10, "=a")) == ["=a"]
    assert found((5, 10, "合计"), (5, 13, "=a")) == ["=a"]


def test_what_is_right_of_it_comes_first() -> None:
    assert found((5, 10, "合计"), (5, 13, "=below"), (60, 10, "=right")) == ["=right"]


def test_what_stands_elsewhere_is_none_of_its() -> None:
    assert found((50, 10, "合计"), (5, 10, "=left"), (50, 40, "=far"), (50, 5, "=above")) == []
    assert found((5, 10, "合计"), (5, 13, "=a"), below=False) == []


def test_a_label_may_be_written_apart() -> None:
    assert found((5, 10, "合　　计"), (60, 10, "=a")) == ["=a"]
    assert found((5, 10, "合"), (12, 10, "计"), (60, 10, "=a")) == ["=a"]
    assert found((5, 10, "TOTAL"), (60, 10, "=a")) == ["=a"]


def test_an_english_label_is_a_word_of_its_own() -> None:
    assert found((5, 10, "subtotally"), (60, 10, "=a")) == []


def test_a_traditional_label_is_the_same() -> None:
    assert found((5, 10, "合計"), (60, 10, "=a")) == ["=a"]


def test_a_form_of_endless_lines_is_cut() -> None:
    line = paper((5, 10, "合计")).lines[0]
    form = PageLayout(
        Material((Page(1, 1, tuple(TextLine(str(n), line.place) for n in range(9_000))),))
    )
    assert len(form.cells) == 3_000


def sure(*clues: Clue) -> ReadField:
    field = settled(clues)
    assert field is not None
    return field


def test_nothing_is_settled_from_nothing() -> None:
    assert settled([]) is None


def test_ways_that_agree_are_surer_than_each() -> None:
    one, other = Clue("a", "picture", 0.7, way="x"), Clue("a", "picture", 0.6, way="y")
    assert sure(one, other).confidence == pytest.approx(0.88)
    # The same way twice is the same error twice.
    assert sure(one, Clue("a", "picture", 0.6, way="x")).confidence == pytest.approx(0.7)


def test_the_value_that_most_speaks_for_wins_and_is_less_sure() -> None:
    field = sure(Clue("a", "code", 0.95), Clue("b", "picture", 0.6))
    assert (field.value, field.source) == ("a", "code")
    assert field.confidence < 0.8
