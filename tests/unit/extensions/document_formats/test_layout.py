"""Pieces of text become lines as people read them."""

from router.domain.documents import Place
from router.extensions.document_formats.layout import Edges, Piece, Sheet, joined, lines_of, rows


def piece(text: str, left: float, top: float, size: float = 10) -> Piece:
    """Text whose letters are as wide as they are high."""
    return Piece(text, Edges(left, top, left + size * len(text), top + size))


def texts(*pieces: Piece) -> list[str]:
    return [one.text for one in joined(pieces)]


def test_what_stands_close_together_is_one_line_and_what_stands_apart_is_two() -> None:
    assert texts(piece("名称", 0, 0), piece("：甲", 21, 1), piece("金额", 80, 0)) == [
        "名称：甲",
        "金额",
    ]


def test_a_gap_between_words_is_a_space_and_between_chinese_characters_none() -> None:
    assert texts(piece("Total", 0, 0), piece("58", 54, 0)) == ["Total 58"]
    assert texts(piece("合", 0, 0), piece("计", 15, 0)) == ["合计"]
    assert texts(piece("合计", 0, 0), piece("58", 24, 0)) == ["合计58"]


def test_the_order_of_the_file_does_not_matter() -> None:
    last, first = piece("二", 0, 30), piece("一", 0, 0)
    assert texts(last, piece("b", 90, 0), first) == ["一", "b", "二"]


def test_a_row_holds_what_is_a_little_higher_or_lower() -> None:
    found = rows([piece("a", 0, 0), piece("c", 60, 8), piece("b", 30, 3)])
    assert [[one.text for one in row] for row in found] == [["a", "b"], ["c"]]


def test_characters_one_below_the_other_are_one_line() -> None:
    label = [piece(sign, 0, 12 * at) for at, sign in enumerate("购买方")]
    assert texts(*label, piece("名称", 40, 3)) == ["购买方", "名称"]


def test_lines_have_places_in_shares_of_the_page_and_blank_ones_are_left_out() -> None:
    lines = lines_of([piece("ab", 90, 0), piece("  ", 0, 40)], Sheet(2, 100, 50))
    (line,) = lines
    assert (line.text, line.source, line.confidence) == ("ab", "text", 1.0)
    assert line.place == Place(page=2, left=0.9, top=0, right=1, bottom=0.2)
