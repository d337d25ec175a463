from tests.table import each_row
from tests.unit.documents.types.paper import codes, column, read, values

SHOP = ("华联超市", "收银员:0012|单号:35859871", "日期:2026-11-05 10:23", "品名 数量 单价|小计",
        "牛奶 2 6.50|13.00", "面包 1 8.80|8.80", "合计:|21.80")  # fmt: skip
CASH = ("实收(现金):|50.00", "找零:|28.20", "谢谢惠顾")
AMERICAN = (
    "GREEN LEAF CAFE", "Nov 05, 2026 1:22 PM|#20931", "2 x Espresso|$7.00", "SUBTOTAL|$7.00",
    "TAX 8%|$0.56", "TOTAL|$7.56", "CASH|$20.00", "CHANGE|$12.44", "THANK YOU!",
)  # fmt: skip


def paid(*lines: str) -> tuple[str, bool]:
    document = read(column(*lines))
    assert document.type == "receipt"
    amount = document.fields["amount"]
    assert isinstance(amount.value, dict)
    return str(amount.value["amount"]), amount.is_sure


def test_a_receipt_of_a_shop_is_read() -> None:
    document = read(column(*SHOP, *CASH))
    assert document.type == "receipt"
    assert values(document) == {"date": "2026-11-05", "amount": "21.80"}
    assert all(found.is_sure for found in document.fields.values())
    assert codes(document) == []


def test_an_english_one_is_too() -> None:
    document = read(column(*AMERICAN))
    assert document.type == "receipt"
    assert values(document)["amount"] == {"amount": "7.56", "currency": "USD"}
    assert values(document)["date"] == "2026-11-05"


@each_row(
    ("lines", "amount"),
    [
        ((*SHOP, "优惠:|-1.80", "实付:|20.00"), "20.00"),
        ((*SHOP, "应付金额:|21.80", "微信支付:|21.80"), "21.80"),
        ((*SHOP[:-1], "消费合计|¥21.80", "折扣|-¥2.00", "实付金额|¥19.80"), "19.80"),
        ((*AMERICAN[:6], "Tip|$1.44", "Grand Total|$9.00"), "9.00"),
        ((*AMERICAN[:5], "Total Savings|$3.00", "TOTAL|$7.56"), "7.56"),
        ((*AMERICAN[:5], "TOTAL ITEMS|2", "TOTAL|$7.56"), "7.56"),
    ],
)
def test_what_counts_is_what_was_paid_in_the_end(lines: tuple[str, ...], amount: str) -> None:
    assert paid(*lines) == (amount, True)


def test_cash_less_change_that_is_not_the_total_is_said() -> None:
    assert codes(read(column(*SHOP, "实收(现金):|50.00", "找零:|18.20"))) == ["total"]


def test_an_amount_without_any_label_is_not_sure() -> None:
    assert paid(*SHOP[:-1], "谢谢惠顾 欢迎光临") == ("13.00", False)


def test_a_date_that_the_time_is_glued_to_is_read() -> None:
    lines = [line.replace("05 10:23", "0510:23") for line in SHOP]
    assert values(read(column(*lines)))["date"] == "2026-11-05"


def test_a_date_to_come_is_said() -> None:
    lines = [line.replace("2026-11-05", "2026-12-05") for line in SHOP]
    assert codes(read(column(*lines))) == ["future"]


def test_what_only_speaks_of_invoices_is_none() -> None:
    document = read(column("报销须知", "请提供增值税电子发票，核对发票号码、开票日期和价税合计。"))
    assert (document.type, document.fields) == ("other", {})


def test_what_is_none_of_all_that_is_other() -> None:
    document = read(column("会议纪要", "参加人：王伟、李娜", "下周三再议"))
    assert (document.type, document.fields) == ("other", {})
    assert "会议纪要" in document.text
