import pytest

from router.entities.money import find_money
from router.entities.normalisation import normalise


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
        ("美元300", "300.00 USD"),
        ("港币五百", "500.00 HKD"),
        ("日元20000", "20000.00 JPY"),
        ("人民币叁佰元整", "300.00 CNY"),
        ("3千5百块", "3500.00 CNY"),
        ("1万2千元", "12000.00 CNY"),
        ("二十块零五毛", "20.50 CNY"),
        ("房间260元一晚", "260.00 CNY"),
        ("30块一份", "30.00 CNY"),
        ("预算1.2万", "12000.00 CNY"),
        ("花了两千五", "2500.00 CNY"),
        ("房租四千", "4000.00 CNY"),
        ("3k元", "3000.00 CNY"),
        ("2w块", "20000.00 CNY"),
        ("forty-five dollars and fifty cents", "45.50 USD"),
        ("2.5 thousand dollars", "2500.00 USD"),
        ("$1.5 million", "1500000.00 USD"),
        ("more than five hundred dollars", "500.00 USD"),
        ("€1.234,56", "1234.56 EUR"),
        ("1 234,56 €", "1234.56 EUR"),
        ("12,50 euros", "12.50 EUR"),
        ("45USD", "45.00 USD"),
        ("50$", "50.00 USD"),
        ("12.40 pounds", "12.40 GBP"),
        ("90 swiss francs", "90.00 CHF"),
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
        "二元一次方程组",
        "三元桥",
        "三块硬盘",
        "十块八块",
        "几百块",
        "上百块",
        "二百来块",
        "七八百块",
        "300-500元",
        "$40-50",
        "1.2万",
        "花了三百公里",
        "报销两千多",
        "预算三千人次",
        "the parcel weighs 12 pounds",
        "3 pounds of coffee",
        "half a million dollars",
        "a million dollar question",
    ],
)
def test_nothing_is_no_money(typed: str) -> None:
    assert amounts(typed) == []


def test_amounts_in_a_row_are_kept_apart() -> None:
    assert amounts("58块36块") == ["58.00 CNY", "36.00 CNY"]
    assert amounts("$45 taxi and $30 lunch") == ["45.00 USD", "30.00 USD"]
