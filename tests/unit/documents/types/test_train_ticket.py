from tests.table import each_row
from tests.unit.documents.types.paper import Put, codes, paper, read, values

PAPER: tuple[Put, ...] = (
    (4, 4, "Z53F000123"),
    (70, 4, "检票:12B"),
    (5, 14, "北京南站"),
    (42, 14, "G123"),
    (70, 14, "上海虹桥站"),
    (5, 24, "2026年11月05日 08:00开"),
    (55, 24, "05车12A号"),
    (80, 24, "二等座"),
    (5, 34, "¥553.0元"),
    (5, 44, "限乘当日当次车"),
    (5, 54, "1101011990****1234 张三"),
    (5, 64, "12345678901234 北京南售"),
)
ELECTRONIC: tuple[Put, ...] = (
    (30, 4, "电子发票（铁路电子客票）"),
    (4, 12, "发票号码:26111000000012345678"),
    (62, 12, "开票日期:2026年11月09日"),
    *PAPER[2:8],
    (5, 34, "票价:¥553.00"),
    (5, 54, "1101011990****1234"),
    (45, 54, "张三"),
    (5, 60, "电子客票号:123456789012345678901"),
    (5, 64, "购买方名称:北京星河科技有限公司"),
)
JOURNEY = {
    "date": "2026-11-05",
    "amount": "553.00",
    "from": "北京南站",
    "to": "上海虹桥站",
    "passenger": "张三",
}


@each_row(("puts", "number"), [(PAPER, "Z53F000123"), (ELECTRONIC, "26111000000012345678")])
def test_a_ticket_is_read(puts: tuple[Put, ...], number: str) -> None:
    document = read(paper(*puts))
    assert document.type == "train_ticket"
    assert values(document) == JOURNEY | {"number": number}
    assert all(found.is_sure for found in document.fields.values())
    assert codes(document) == []


def test_one_is_read_from_a_picture() -> None:
    document = read(paper(*PAPER, source="picture", confidence=0.99))
    assert values(document) == JOURNEY | {"number": "Z53F000123"}


def test_the_date_is_that_of_the_journey_though_the_day_of_issue_stands_first() -> None:
    assert values(read(paper(*ELECTRONIC)))["date"] == "2026-11-05"


def test_a_day_of_issue_alone_is_not_sure_to_be_that_of_the_journey() -> None:
    puts = [put for put in ELECTRONIC if "开" not in put[2] or "发票" in put[2] or "开票" in put[2]]
    found = read(paper(*puts)).fields.get("date")
    assert found is None or not found.is_sure


def test_a_malformed_number_of_an_electronic_one_is_said() -> None:
    puts = [
        (x, y, text.replace("26111000000012345678", "2611100000001234"))
        for x, y, text in ELECTRONIC
    ]
    document = read(paper(*puts))
    assert not document.fields["number"].is_sure or codes(document) == ["number"]


def test_an_english_one_is_read() -> None:
    rows = {
        "Ticket No": "TK12345678",
        "Passenger": "Emma Clark",
        "From": "London Euston",
        "To": "Manchester Piccadilly",
        "Travel date": "05 Nov 2026",
        "Departs": "09:10",
        "Fare": "£45.50",
    }
    puts: list[Put] = [(30, 3, "RAIL E-TICKET"), (6, 80, "Booked on 01 Nov 2026")]
    for number, (head, said) in enumerate(rows.items()):
        puts += [(6, 12 + 6 * number, head), (40, 12 + 6 * number, said)]
    document = read(paper(*puts))
    assert document.type == "train_ticket"
    assert values(document) == {
        "number": "TK12345678",
        "date": "2026-11-05",
        "amount": {"amount": "45.50", "currency": "GBP"},
        "from": "London Euston",
        "to": "Manchester Piccadilly",
        "passenger": "Emma Clark",
    }
