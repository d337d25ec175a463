import pytest

from router.understanding.money import find_money
from router.understanding.normalise import normalise


def amounts(typed: str) -> list[str]:
    found = find_money(normalise(typed).text)
    return [f"{f.value.value()['amount']} {f.value.currency}" for f in found]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("打车费58元", "58.00 CNY"),
        ("￥368.50", "368.50 CNY"),
        ("1,234.56 元", "1234.56 CNY"),
        ("三百二十块", "320.00 CNY"),
        ("一千二百元", "1200.00 CNY"),
        ("五十八块五", "58.50 CNY"),
        ("58块5", "58.50 CNY"),
        ("58块5毛2", "58.52 CNY"),
        ("三十六元五角", "36.50 CNY"),
        ("三块半", "3.50 CNY"),
        ("1.2万元", "12000.00 CNY"),
        ("36块钱", "36.00 CNY"),
        ("人民币两千五百元整", "2500.00 CNY"),
        ("5毛钱", "0.50 CNY"),
        ("一百零八块", "108.00 CNY"),
        ("花了一百二十八块八", "128.80 CNY"),
        ("100美元", "100.00 USD"),
        ("五百欧元", "500.00 EUR"),
        ("300港币", "300.00 HKD"),
        ("taxi fare of $45", "45.00 USD"),
        ("US$1.5k", "1500.00 USD"),
        ("HK$300", "300.00 HKD"),
        ("€30", "30.00 EUR"),
        ("£20", "20.00 GBP"),
        ("320 yuan", "320.00 CNY"),
        ("1200 CNY", "1200.00 CNY"),
        ("RMB 120", "120.00 CNY"),
        ("forty-five dollars", "45.00 USD"),
        ("one hundred and twenty yuan", "120.00 CNY"),
        ("1.5k yuan", "1500.00 CNY"),
        ("fifty bucks", "50.00 USD"),
        ("20 euros", "20.00 EUR"),
        ("1 dollar", "1.00 USD"),
        ("A$20", "20.00 AUD"),
        ("100新台币", "100.00 TWD"),
    ],
)
def test_an_amount_has_its_currency_and_two_decimals(typed: str, expected: str) -> None:
    assert amounts(typed) == [expected]


@pytest.mark.parametrize(
    "typed",
    [
        "一块去吃饭",
        "一块儿走",
        "元旦放假",
        "三元素",
        "3块蛋糕",
        "两块屏幕",
        "一元店",
        "三毛流浪记",
        "三角形",
        "第三块",
        "五一广场",
        "version 2.5.1",
        "两千五",
        "call me at 5",
        "the won game",
    ],
)
def test_nothing_is_no_money(typed: str) -> None:
    assert amounts(typed) == []


def test_amounts_in_a_row_are_kept_apart() -> None:
    assert amounts("58块36块") == ["58.00 CNY", "36.00 CNY"]
    assert amounts("$45 taxi and $30 lunch") == ["45.00 USD", "30.00 USD"]
