"""Papers laid out as others print them: what is sure is right, and what can't be known isn't sure.

Each is written as a slip, a line a text and values at the right edge behind `|`.
"""

from router.documents.page import Material
from tests.table import each_row
from tests.unit.documents.types.paper import codes, column, paper, read, values

RIDES = column(
    "滴滴出行-行程单",
    "申请日期：2026-11-20 行程起止日期：2026-11-05 至 2026-11-05",
    "共1笔行程，合计58.30元",
    "序号 车型 上车时间 城市 起点 终点 里程[公里] 金额[元]",
    "1 快车 11-05 09:12 周四 北京市 国贸 首都机场 25.3 58.30",
)
AMERICAN = column(
    "SUPER STORE",
    "BREAD 007225003712|2.88 F",
    "BUTTER 007874237003|3.84 F",
    "SUBTOTAL|6.72",
    "TAX 1 7.000 %|0.47",
    "TOTAL|7.19",
    "VISA TEND|7.19",
    "CHANGE DUE|0.00",
    "# ITEMS SOLD 2",
    "11/05/26  13:22:10",
)
BRITISH = column(
    "CORNER Express",
    "Milk £1.55",
    "Bread £1.10",
    "Sub-total £2.65",
    "Promotions -£0.10",
    "Total to pay £2.55",
    "Visa Contactless £2.55",
    "05/11/2026 14:22",
)
COFFEE = column("咖啡馆", "2026-11-05 09:21:33", "拿铁 1|¥33.00", "合计|¥33.00", "支付宝|¥33.00")
PARKING = column(
    "停车费收据", "车牌：沪A12345", "入场：2026-11-05 09:00", "应收：20.00元", "实收：20.00元"
)
QUOTA = column(
    "上海市通用定额发票", "发票代码 131001720001", "发票号码 12345678", "伍拾元整", "￥50.00"
)
TAXI = column(
    "上海市出租汽车统一发票",
    "车号 沪A-X1234",
    "日期 2026年11月05日",
    "上车 14:05",
    "单价 2.70",
    "里程 8.9",
    "总额 35.00元",
)
STAY = paper(
    (5, 3, "Garden Inn Boston"),
    (5, 6, "Room 1204"),
    (5, 8, "Arrival Date 11/3/2026"),
    (5, 10, "Departure Date 11/5/2026"),
    (5, 14, "11/3/2026 GUEST ROOM"),
    (80, 14, "$199.00"),
    (5, 16, "11/3/2026 STATE TAX"),
    (80, 16, "$11.34"),
    (5, 22, "11/5/2026 VS *1234"),
    (80, 22, "($210.34)"),
    (5, 26, "**BALANCE**"),
    (80, 26, "$0.00"),
)
DESIGN = paper(
    (5, 5, "INVOICE"),
    (70, 5, "#1042"),
    (5, 10, "From"),
    (5, 12, "Jane Doe Design"),
    (40, 10, "Bill to"),
    (40, 12, "Acme Corp"),
    (70, 10, "Invoice date"),
    (70, 12, "Nov 5, 2026"),
    (5, 30, "Logo design"),
    (85, 30, "$500.00"),
    (60, 40, "Total"),
    (85, 40, "$500.00"),
)
FITNESS = column(
    "Statement of Fitness for Work",
    "Patient's name|Mr John Smith",
    "you are not fit for work.",
    "This will be the case for 2 weeks",
    "or from 05/11/2026 to 18/11/2026",
)
USD = "USD"


@each_row(
    ("material", "kind", "sure"),
    [
        (RIDES, "taxi_receipt", {"amount": "58.30"}),
        (BRITISH, "receipt", {"amount": {"amount": "2.55", "currency": "GBP"}}),
        (COFFEE, "receipt", {"amount": "33.00", "date": "2026-11-05"}),
        (PARKING, "receipt", {"amount": "20.00", "date": "2026-11-05"}),
        (QUOTA, "invoice", {"amount": "50.00", "number": "13100172000112345678"}),
        (TAXI, "taxi_receipt", {"amount": "35.00", "date": "2026-11-05"}),
        (
            STAY,
            "hotel_folio",
            {"amount": {"amount": "210.34", "currency": USD}, "seller": "Garden Inn Boston"},
        ),
        (
            DESIGN,
            "invoice",
            {
                "number": "1042",
                "date": "2026-11-05",
                "amount": {"amount": "500.00", "currency": USD},
                "seller": "Jane Doe Design",
                "buyer": "Acme Corp",
            },
        ),
        (FITNESS, "medical_certificate", {"days": "14", "name": "John Smith"}),
    ],
)
def test_what_is_sure_is_right(material: Material, kind: str, sure: dict[str, object]) -> None:
    document = read(material)
    assert document.type == kind
    told = {name: said for name, said in values(document).items() if document.fields[name].is_sure}
    assert {name: told.get(name) for name in sure} == sure
    assert "total" not in codes(document)


def test_a_total_in_no_currency_is_read_and_not_sure() -> None:
    document = read(AMERICAN)
    assert (document.type, values(document)["amount"]) == ("receipt", "7.19")
    assert not document.fields["amount"].is_sure


@each_row("material", [RIDES, AMERICAN, BRITISH, STAY, FITNESS])
def test_dates_that_could_be_others_are_not_sure(material: Material) -> None:
    found = read(material).fields.get("date")
    assert found is None or not found.is_sure
