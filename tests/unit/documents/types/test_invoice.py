from router.documents.page import Material
from router.domain.documents import Place
from tests.table import each_row
from tests.unit.documents.types.paper import Put, codes, paper, read, values

NUMBER = "26112000000012345678"
DIGITAL: tuple[Put, ...] = (
    (35, 3, "电子发票（普通发票）"),
    (68, 3, f"发票号码：{NUMBER}"),
    (68, 6, "开票日期：2026年11月05日"),
    (5, 12, "名称：北京星河科技有限公司"),
    (52, 12, "名称：上海远景餐饮管理有限公司"),
    (5, 15, "统一社会信用代码/纳税人识别号：91110000000000000X"),
    (5, 20, "项目名称"),
    (60, 20, "金额"),
    (88, 20, "税额"),
    (5, 23, "*餐饮服务*餐费"),
    (60, 23, "100.00"),
    (78, 23, "6%"),
    (88, 23, "6.00"),
    (8, 32, "合 计"),
    (60, 32, "¥100.00"),
    (88, 32, "¥6.00"),
    (5, 36, "价税合计（大写）"),
    (28, 36, "壹佰零陆圆整"),
    (65, 36, "（小写）¥106.00"),
)
CODE = f"01,32,,{NUMBER},106.00,20261105,,A1B2"


def changed(old: str, new: str, puts: tuple[Put, ...] = DIGITAL) -> list[Put]:
    return [(x, y, text.replace(old, new)) for x, y, text in puts]


def test_a_digital_invoice_is_read_from_its_text() -> None:
    document = read(paper(*DIGITAL))
    assert document.type == "invoice"
    assert values(document) == {
        "number": NUMBER,
        "date": "2026-11-05",
        "amount": "106.00",
        "tax": "6.00",
        "seller": "上海远景餐饮管理有限公司",
        "buyer": "北京星河科技有限公司",
        "item": "*餐饮服务*餐费",
    }
    assert all(found.is_sure for found in document.fields.values())
    assert codes(document) == []


def test_fields_know_where_they_stand() -> None:
    found = read(paper(*DIGITAL)).fields["seller"]
    assert found.place is not None
    assert (round(found.place.left, 2), round(found.place.top, 2)) == (0.52, 0.12)


def test_the_order_of_the_lines_says_nothing() -> None:
    assert values(read(paper(*reversed(DIGITAL)))) == values(read(paper(*DIGITAL)))


@each_row(
    ("old", "new"),
    [
        ("¥106.00", "￥106.00"),
        ("¥106.00", "Y106.00"),
        ("¥106.00", "半106.00"),
        ("¥106.00", "¥ １０６.００"),
        ("¥106.00", "¥106. 00"),
        ("¥106.00", "¥1O6.OO"),
        ("发票号码：", "发 票 号 码 :"),
        ("2026年11月05日", "2026 年 11 月 5 日"),
        ("2026年11月05日", "2026年1l月O5日"),
        ("壹佰零陆圆整", "⊗ 壹佰零陆元整"),
    ],
)
def test_what_is_written_or_misread_otherwise_is_the_same(old: str, new: str) -> None:
    document = read(paper(*changed(old, new), source="picture", confidence=0.99))
    assert values(document) == values(read(paper(*DIGITAL)))


def test_a_code_beats_what_was_recognised() -> None:
    puts = changed("12345678", "12345673")
    document = read(paper(*puts, code=CODE, source="picture", confidence=0.9))
    number = document.fields["number"]
    assert (number.value, number.source) == (NUMBER, "code")


def test_what_agrees_is_surer_and_what_contradicts_is_not() -> None:
    def sure(*puts: Put) -> float:
        return read(paper(*puts, source="picture", confidence=0.95)).fields["amount"].confidence

    alone = sure(*DIGITAL[:13], (65, 36, "（小写）¥106.00"))
    agreeing = sure(*DIGITAL)
    against = sure(*changed("（小写）¥106", "（小写）¥108"))
    assert against < alone < agreeing


def test_an_older_code_has_the_amount_without_tax() -> None:
    code, number = "011002000111", "12345678"
    puts = [
        *changed(f"发票号码：{NUMBER}", f"发票号码：{number}"),
        (68, 1, f"发票代码：{code}"),
    ]
    document = read(paper(*puts, code=f"01,10,{code},{number},100.00,20261105,1234,AB"))
    assert values(document)["number"] == code + number
    assert values(document)["amount"] == "106.00"
    assert document.fields["amount"].is_sure


def test_data_that_the_file_has_are_enough() -> None:
    basic = "EInvoice/EInvoiceData/BasicInformation"
    data = {
        "EInvoice/Header/EIid": NUMBER,
        "EInvoice/EInvoiceData/SellerInformation/SellerName": "上海远景餐饮管理有限公司",
        "EInvoice/EInvoiceData/BuyerInformation/BuyerName": "北京星河科技有限公司",
        f"{basic}/TotalAmWithoutTax": "100.00",
        f"{basic}/TotalTaxAm": "6.00",
        f"{basic}/TotalTax-includedAmount": "106.00",
        "EInvoice/EInvoiceData/IssuItemInformation/ItemName": "*餐饮服务*餐费",
        "EInvoice/TaxSupervisionInfo/IssueTime": "2026-11-05 10:00:00",
    }
    document = read(Material(data=data))
    assert values(document) == values(read(paper(*DIGITAL)))
    assert codes(read(Material(data=data | {f"{basic}/TotalTaxAm": "7.00"}))) == ["total"]


@each_row(
    ("old", "new", "code"),
    [
        ("¥6.00", "¥7.00", "total"),
        ("100.00", "90.00", "total"),
        ("壹佰零陆", "贰佰零陆", "amount_words"),
        ("2026年11月05日", "2026年12月05日", "future"),
        (NUMBER, NUMBER[:-1], "number"),
        ("电子发票", "样张 电子发票", "void"),
        ("¥106.00", "¥-106.00", "void"),
    ],
)
def test_what_is_wrong_with_it_is_said(old: str, new: str, code: str) -> None:
    assert code in codes(read(paper(*changed(old, new))))


def test_lines_that_do_not_make_the_sum_are_said() -> None:
    puts = [(x, y, "90.00" if text == "100.00" else text) for x, y, text in DIGITAL]
    assert codes(read(paper(*puts))) == ["total"]


def test_a_picture_that_is_hardly_legible_is_no_reason_for_a_reproach() -> None:
    puts = changed("¥6.00", "¥7.00")
    assert codes(read(paper(*puts, source="picture", confidence=0.7))) == []


def english(date: str = "5 November 2026", total: str = "Total Due", sign: str = "£") -> list[Put]:
    return [
        (5, 4, "Harbour Print Co."),
        (65, 4, "INVOICE"),
        (62, 10, "Invoice No:"),
        (80, 10, "INV-2026-0012"),
        (62, 12, "Invoice Date:"),
        (80, 12, date),
        (62, 14, "Due Date:"),
        (80, 14, "5 December 2026"),
        (5, 13, "Bill To:"),
        (5, 16, "Summit Consulting Ltd"),
        (5, 24, "Description"),
        (85, 24, "Amount"),
        (5, 27, "Letterheads"),
        (85, 27, "1,000.00"),
        (60, 34, "Subtotal"),
        (85, 34, f"{sign}1,000.00"),
        (60, 36, "VAT (20%)"),
        (85, 36, f"{sign}200.00"),
        (60, 38, total),
        (85, 38, f"{sign}1,200.00"),
    ]


def test_a_commercial_invoice_is_read() -> None:
    document = read(paper(*english()))
    assert document.type == "invoice"
    assert values(document) == {
        "number": "INV-2026-0012",
        "date": "2026-11-05",
        "amount": {"amount": "1200.00", "currency": "GBP"},
        "tax": {"amount": "200.00", "currency": "GBP"},
        "seller": "Harbour Print Co.",
        "buyer": "Summit Consulting Ltd",
        "item": "Letterheads",
    }
    assert codes(document) == []


@each_row(
    ("written", "iso", "sure"),
    [
        ("05-Nov-2026", "2026-11-05", True),
        ("Nov 5, 2026", "2026-11-05", True),
        ("November 5th 2026", "2026-11-05", True),
        ("25/11/2026", "2026-11-25", True),
        ("11/05/2026", "2026-05-11", False),
        ("2026-11-05", "2026-11-05", True),
        ("05.11.2026", "2026-11-05", True),
    ],
)
def test_a_date_that_could_be_two_is_not_sure(written: str, iso: str, sure: bool) -> None:
    found = read(paper(*english(date=written))).fields["date"]
    assert (found.value, found.is_sure) == (iso, sure)


@each_row("total", ["Total", "TOTAL DUE", "Amount due", "Grand Total", "Balance due"])
def test_totals_have_many_names_and_subtotal_is_none(total: str) -> None:
    amount = read(paper(*english(total=total))).fields["amount"]
    assert amount.value == {"amount": "1200.00", "currency": "GBP"}
    assert amount.is_sure


def test_what_is_in_no_currency_is_not_sure() -> None:
    amount = read(paper(*english(sign=""))).fields["amount"]
    assert amount.value == {"amount": "1200.00", "currency": "CNY"}
    assert not amount.is_sure


def test_what_a_code_says_is_shown_where_it_is_printed() -> None:
    without_label = changed("发票号码：", "")
    for puts in (DIGITAL, without_label):
        fields = read(paper(*puts, code=CODE, source="picture", confidence=0.99)).fields
        assert {fields[name].source for name in ("number", "date", "amount")} == {"code"}
        tops = {name: fields[name].place.top for name in ("number", "date", "amount")}  # type: ignore[union-attr]
        assert tops == {"number": 0.03, "date": 0.06, "amount": 0.36}


def test_what_a_code_alone_says_is_shown_at_the_code() -> None:
    puts = [(x, y, text) for x, y, text in DIGITAL if NUMBER not in text and "106" not in text]
    number = read(paper(*puts, code=CODE)).fields["number"]
    assert (number.source, number.place) == ("code", Place(left=0, top=0, right=0.1, bottom=0.1))
