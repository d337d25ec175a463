from decimal import Decimal

from router.entities.numbers import find_numbers, parse_number
from tests.table import each_row
from tests.unit.entities.tables import table


@each_row(("text", "value"), table("numbers", "a number has its value"))
def test_a_number_has_its_value(text: str, value: str) -> None:
    assert parse_number(text) == Decimal(value)


@each_row("text", ["", " ", "年假", "leave", "1.2.3", ".", "三楼", "一 二 leave"])
def test_what_is_no_number_has_none(text: str) -> None:
    assert parse_number(text) is None


@each_row("text", table("numbers", "a sentence without numbers has none"))
def test_a_sentence_without_numbers_has_none(text: str) -> None:
    assert find_numbers(text) == []


@each_row(
    ("text", "value"),
    [
        ("flying, around 6k with hotel", 6000),
        ("about 3.5k", 3500),
        ("大概6k", 6000),
        ("1.2w左右", 12000),
        ("3万吧", 30000),
        ("两千五左右", 2500),
    ],
)
def test_thousands_are_read_as_they_are_written_for_short(text: str, value: int) -> None:
    (found,) = find_numbers(text)
    assert found.value == value


@each_row("text", ["a 4k monitor", "4k显示器", "10k run"])
def test_what_is_called_by_its_thousands_is_no_number(text: str) -> None:
    assert find_numbers(text) == []


def test_numbers_stand_where_they_are_written() -> None:
    assert [(f.start, f.end, f.value) for f in find_numbers("58 和 二十三")] == [
        (0, 2, Decimal(58)),
        (5, 8, Decimal(23)),
    ]
