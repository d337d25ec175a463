from decimal import Decimal

import pytest

from router.entities.numbers import find_numbers, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("58", "58"),
        ("3.5", "3.5"),
        ("1,234.56", "1234.56"),
        ("零", "0"),
        ("十", "10"),
        ("十五", "15"),
        ("二十", "20"),
        ("五十八", "58"),
        ("一百二", "120"),
        ("一百零二", "102"),
        ("两千五", "2500"),
        ("一千零五", "1005"),
        ("一千零五十", "1050"),
        ("一万二", "12000"),
        ("1万2", "12000"),
        ("1.2万", "12000"),
        ("两万三千四百五十六", "23456"),
        ("三点五", "3.5"),
        ("二〇二六", "2026"),
        ("贰仟伍佰", "2500"),
        ("seven", "7"),
        ("twenty-five", "25"),
        ("three hundred and twenty", "320"),
        ("twelve hundred", "1200"),
        ("two thousand five hundred", "2500"),
        ("1.2k", "1200"),
        ("2.5 thousand", "2500"),
        ("1万2千5", "12500"),
        ("2w", "20000"),
        ("俩", "2"),
    ],
)
def test_a_number_has_its_value(text: str, value: str) -> None:
    assert parse_number(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", " ", "年假", "leave", "1.2.3", ".", "三楼", "一 二 leave"])
def test_what_is_no_number_has_none(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    "text", ["version 2.5.1", "五一广场", "第3个", "三楼", "10:30", "50%", "a1b2", "no numbers"]
)
def test_a_sentence_without_numbers_has_none(text: str) -> None:
    assert find_numbers(text) == []


def test_numbers_stand_where_they_are_written() -> None:
    assert [(f.start, f.end, f.value) for f in find_numbers("58 和 二十三")] == [
        (0, 2, Decimal(58)),
        (5, 8, Decimal(23)),
    ]
