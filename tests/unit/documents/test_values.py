from decimal import Decimal

from router.documents.values import amounts, capital_amount, days, folded, long_numbers
from tests.table import each_row


@each_row(
    ("written", "found"),
    [
        ("¥106.00", [("106.00", "CNY")]),
        ("￥１，２３４．５０", [("1234.50", "CNY")]),
        ("1\u2009234.56 元", [("1234.56", "CNY")]),
        ("1'234.50", [("1234.50", None)]),
        ("1.234,56 €", [("1234.56", "EUR")]),
        ("£1,234.5", [("1234.5", "GBP")]),
        ("HK$88.00", [("88.00", "HKD")]),
        ("USD 12.00", [("12.00", "USD")]),
        ("106,00", [("106.00", None)]),
        ("106 .00", [("106.00", None)]),
        ("Y106.00", [("106.00", "CNY")]),
        ("半106.00", [("106.00", "CNY")]),
        ("¥1O6.OO", [("106.00", "CNY")]),
        ("¥l06.00", [("106.00", "CNY")]),
        ("-¥10.00", [("-10.00", "CNY")]),
        ("¥-10.00", [("-10.00", "CNY")]),
        ("1 100.00 6% 6.00", [("1.0", None), ("100.00", None), ("6.00", None)]),
        ("6%", []),
        ("2026-11-05 10:23", []),
        ("13800138000", []),
        ("A12.00", []),
        ("9" * 300, []),
        ("58.999", []),
        ("", []),
    ],
)
def test_amounts_are_read_as_printed(written: str, found: list[tuple[str, str | None]]) -> None:
    read = [(amount.value, amount.currency) for amount in amounts(folded(written))]
    assert read == [(Decimal(value), currency) for value, currency in found]


def test_what_had_to_be_mended_says_so() -> None:
    assert [one.mended for one in amounts("Y106.00 ¥106.00")] == [True, False]
    assert [one.mended for one in amounts("¥1O6.OO")] == [True]


@each_row(
    ("written", "value"),
    [
        ("壹佰零陆圆整", "106"),
        ("⊗壹仟贰佰叁拾肆元伍角陆分", "1234.56"),
        ("人民币伍拾元正", "50"),
        ("壹万零伍拾圆零叁分", "10050.03"),
        ("壹拾圆叁角", "10.3"),
        ("負數)壹佰圆整", "-100"),
        ("壹佰圓整", "100"),
    ],
)
def test_capital_characters_are_read(written: str, value: str) -> None:
    plain = folded(written).replace("負數", "负数")
    assert capital_amount(plain) == Decimal(value)


@each_row("written", ["壹佰圆", "圆整", "合计", "佰圆整", "壹佰零陆"])
def test_what_is_cut_off_is_no_amount(written: str) -> None:
    assert capital_amount(written) is None


@each_row(
    ("written", "iso", "doubtful"),
    [
        ("2026年11月05日", "2026-11-05", False),
        ("2026年1l月O5日", "2026-11-05", False),
        ("2026 年 11 月 5 日", "2026-11-05", False),
        ("２０２６－１１－０５", "2026-11-05", False),
        ("2026/11/0518:30", "2026-11-05", False),
        ("20261105", "2026-11-05", False),
        ("二〇二六年十一月五日", "2026-11-05", False),
        ("05-Nov-2026", "2026-11-05", False),
        ("5th of November 2026", "2026-11-05", False),
        ("Nov 5, 2026", "2026-11-05", False),
        ("Sept. 5, 2026", "2026-09-05", False),
        ("5 Nov 26", "2026-11-05", True),
        ("11/05/2026", "2026-11-05", True),
        ("25/12/2026", "2026-12-25", False),
        ("12/25/2026", "2026-12-25", False),
        ("05/05/2026", "2026-05-05", False),
        ("05.11.2026", "2026-11-05", False),
    ],
)
def test_dates_are_read_as_printed(written: str, iso: str, doubtful: bool) -> None:
    found = days(folded(written))[0]
    assert (found.value.isoformat(), found.doubtful) == (iso, doubtful)


@each_row("written", ["2026-13-05", "2026年02月30日", "11:05", "1.2.3", "12026-11-055"])
def test_what_is_no_day_is_none(written: str) -> None:
    assert days(folded(written)) == []


def test_long_numbers_lose_their_spaces() -> None:
    assert long_numbers("2411 7000 0000 1234 5678") == [("24117000000012345678", False)]
    assert long_numbers("2411700000001234567O") == [("24117000000012345670", True)]
    assert long_numbers("1234") == []


@each_row("written", ["25 Sep 202613:22", "Sep 25, 202613:22", "2026-09-2513:22"])
def test_a_time_may_be_glued_to_a_date(written: str) -> None:
    assert [day.value.isoformat() for day in days(written)] == ["2026-09-25"]
