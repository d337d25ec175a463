"""Taxi receipts, hotel folios and medical certificates."""

from tests.table import each_row
from tests.unit.documents.types.paper import codes, column, paper, read, values

TAXI = (
    "北京市出租汽车专用发票", "发票代码|111001981001", "发票号码|12345678", "车号|京BT1234",
    "日期|2026-11-05", "上车|09:12", "下车|09:40", "单价|2.30元", "里程|12.3km",
    "等候|00:02:11", "金额|￥45.00元",
)  # fmt: skip
FOLIO = (
    (30, 3, "杭州湖滨大酒店"),
    (38, 7, "宾客账单"),
    (5, 12, "房号："),
    (20, 12, "1208"),
    (5, 15, "入住日期："),
    (22, 15, "2026-11-03"),
    (50, 15, "离店日期："),
    (68, 15, "2026-11-05"),
    (5, 20, "2026-11-03"),
    (30, 20, "房费"),
    (60, 20, "428.00"),
    (5, 23, "2026-11-04"),
    (30, 23, "房费"),
    (60, 23, "428.00"),
    (30, 26, "微信支付"),
    (85, 26, "856.00"),
    (30, 32, "消费合计"),
    (60, 32, "¥856.00"),
    (30, 35, "余额"),
    (60, 35, "¥0.00"),
)
NOTE = ("上海市第一人民医院", "疾病诊断证明书", "姓名：张三 性别：男 年龄：35岁", "临床诊断：发热",
        "建议休息3天", "（2026年11月05日至2026年11月07日）", "医师签名：李四")  # fmt: skip


def test_a_taxi_receipt_is_read() -> None:
    document = read(column(*TAXI))
    assert document.type == "taxi_receipt"
    assert values(document) == {"date": "2026-11-05", "amount": "45.00"}
    assert all(found.is_sure for found in document.fields.values())


def test_a_fare_with_a_toll_is_the_sum_of_both() -> None:
    document = read(column(*TAXI, "过路费|10.00元"))
    assert document.fields["amount"].value != {"amount": "10.00", "currency": "CNY"}
    assert not document.fields["amount"].is_sure


def test_a_tip_is_paid_too() -> None:
    lines = (
        "CITY TAXI RECEIPT",
        "Date|Nov 05, 2026",
        "Distance|12.3 mi",
        "Fare|$20.00",
        "Tip|$4.00",
        "Total|$24.00",
    )
    document = read(column(*lines))
    assert document.type == "taxi_receipt"
    assert document.value("amount") == {"amount": "24.00", "currency": "USD"}


def test_a_hotel_folio_is_read() -> None:
    document = read(paper(*FOLIO))
    assert document.type == "hotel_folio"
    assert values(document) == {
        "date": "2026-11-05",
        "amount": "856.00",
        "seller": "杭州湖滨大酒店",
    }
    assert all(found.is_sure for found in document.fields.values())


def test_a_folio_without_a_day_of_departure_has_no_sure_date() -> None:
    puts = [put for put in FOLIO if "离店" not in put[2]]
    found = read(paper(*puts)).fields.get("date")
    assert found is None or not found.is_sure


def test_a_medical_certificate_is_read() -> None:
    document = read(column(*NOTE))
    assert document.type == "medical_certificate"
    assert values(document) == {"date": "2026-11-05", "days": "3", "name": "张三"}
    assert all(found.is_sure for found in document.fields.values())
    assert codes(document) == []


@each_row(
    ("lines", "days", "begin"),
    [
        (("建议自2026年11月05日起休息两周。",), "14", "2026-11-05"),
        (("自2026年11月05日起全休叁天",), "3", "2026-11-05"),
        (("建议休息半天 2026年11月05日",), "0.5", "2026-11-05"),
        (("病假十二天，自2026-11-05起",), "12", "2026-11-05"),
        (("休息：5天", "起始日期：2026-11-05", "开具日期：2026-11-04"), "5", "2026-11-05"),
    ],
)
def test_days_are_said_in_many_ways(lines: tuple[str, ...], days: str, begin: str) -> None:
    document = read(column("人民医院", "病假证明书", "患者：张三", *lines))
    assert document.type == "medical_certificate"
    assert (document.fields["days"].value, document.fields["date"].value) == (days, begin)


def test_an_english_note_is_read() -> None:
    document = read(
        column(
            "St. Mary Clinic",
            "MEDICAL CERTIFICATE",
            "This is to certify that Mr James Wilson",
            "is unfit for work for 3 days",
            "from 5 November 2026 to 7 November 2026.",
        )
    )
    assert document.type == "medical_certificate"
    assert values(document) == {"date": "2026-11-05", "days": "3", "name": "James Wilson"}


def test_days_that_are_not_those_between_the_dates_are_said() -> None:
    lines = [line.replace("休息3天", "休息5天") for line in NOTE]
    document = read(column(*lines))
    assert codes(document) == ["total"]
    assert not document.fields["days"].is_sure


def test_a_note_without_a_first_day_is_from_its_own_and_not_surely() -> None:
    document = read(
        column("人民医院", "病假证明书", "姓名：张三", "建议休息3天", "开具日期：2026年11月05日")
    )
    found = document.fields["date"]
    assert (found.value, found.is_sure) == ("2026-11-05", False)


def test_illness_may_begin_tomorrow() -> None:
    lines = [line.replace("11月", "12月") for line in NOTE]
    assert codes(read(column(*lines))) == []
