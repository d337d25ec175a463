"""Tickets, receipts, folios and sick notes for `document_set.py`."""

import random
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from document_sheets import (
    CITIES,
    DISHES,
    EN_GOODS,
    EN_NAMES,
    EN_SHOPS,
    GOODS,
    STATIONS,
    Sheet,
    Truth,
    bought,
    cents,
    clock,
    en_day,
    figures,
    firm,
    money,
    past,
    person,
    total,
    zh_day,
)

EN_STATIONS = [
    "London Euston",
    "Manchester Piccadilly",
    "Edinburgh",
    "York",
    "Leeds",
    "Bristol Temple Meads",
]
EN_HOTELS = ["Grand Plaza Hotel", "Seaside Inn", "Parkview Hotel London", "Maple Suites Toronto"]


def train_ticket(rng: random.Random, layout: int) -> Sheet:
    """A blue paper ticket, an electronic one, a British one."""
    if layout == 2:
        return _british_ticket(rng)
    start, end = rng.sample(STATIONS, 2)
    day, price, name = past(rng), cents(rng, 20, 900).quantize(Decimal("0.1")), person(rng)
    truth: Truth = {
        "number": f"Z{figures(rng, 2)}F{figures(rng, 6)}",
        "date": day.isoformat(),
        "amount": money(price),
        "from": f"{start}站",
        "to": f"{end}站",
        "passenger": name,
    }
    if layout:
        truth["number"] = f"{day:%y}{rng.choice((11, 31, 44))}" + figures(rng, 16)
    sheet = Sheet("train_ticket", "zh", truth, 340, 215, ("paper", "electronic")[layout])
    top = 55.0 if layout else 30.0
    seat = f"{rng.randint(1, 16):02}车{rng.randint(1, 18):02}{rng.choice('ABCDF')}号"
    sheet.put(20, top, f"{start}站", 15)
    sheet.put(150, top + 2, f"{rng.choice('GDCZ')}{rng.randint(1, 999)}", 13)
    sheet.put(225, top, f"{end}站", 15)
    sheet.put(20, top + 27, f"{zh_day(day)} {clock(rng)}开", 10)
    sheet.put(200, top + 27, f"{seat}   {rng.choice(('二等座', '一等座'))}", 10)
    hidden = f"{figures(rng, 10)}****{figures(rng, 4)}"
    (_electronic if layout else _on_paper)(sheet, rng, hidden)
    return sheet


def _on_paper(sheet: Sheet, rng: random.Random, hidden: str) -> None:
    amount = str(dict(sheet.truth["amount"])["amount"])  # type: ignore[call-overload]
    sheet.put(15, 10, str(sheet.truth["number"]), 11)
    sheet.put(240, 12, f"检票:{rng.randint(1, 20)}{rng.choice('AB')}", 9)
    sheet.put(20, 77, f"¥{amount[:-1]}元", 11)
    sheet.put(20, 97, "限乘当日当次车", 9)
    sheet.put(20, 118, f"{hidden} {sheet.truth['passenger']}", 11)
    sheet.put(20, 150, f"{figures(rng, 14)} {rng.choice(STATIONS)}售", 8)
    sheet.code, sheet.code_at = figures(rng, 60), (270, 130, 55)


def _electronic(sheet: Sheet, rng: random.Random, hidden: str) -> None:
    number, day = sheet.truth["number"], date.fromisoformat(str(sheet.truth["date"]))
    amount = str(dict(sheet.truth["amount"])["amount"])  # type: ignore[call-overload]
    issued = day + timedelta(days=rng.randint(1, 9))
    sheet.put(105, 8, "电子发票（铁路电子客票）", 11)
    sheet.put(12, 32, f"发票号码:{number}", 8)
    sheet.put(215, 32, f"开票日期:{zh_day(issued)}", 8)
    sheet.put(20, 102, f"票价:¥{amount}", 11)
    sheet.put(20, 143, hidden, 11)
    sheet.put(160, 143, str(sheet.truth["passenger"]), 11)
    sheet.put(20, 163, f"电子客票号:{figures(rng, 21)}", 8)
    sheet.put(20, 179, f"购买方名称:{firm(rng)}", 8)
    sheet.code = f"01,51,,{number},{amount},{issued:%Y%m%d},,{figures(rng, 4)}"
    sheet.code_at = (270, 130, 55)


def _british_ticket(rng: random.Random) -> Sheet:
    start, end = rng.sample(EN_STATIONS, 2)
    day, price, name = past(rng), cents(rng, 10, 200), rng.choice(EN_NAMES)
    number = "TK" + figures(rng, 8)
    truth: Truth = {
        "number": number,
        "date": day.isoformat(),
        "amount": money(price, "GBP"),
        "from": start,
        "to": end,
        "passenger": name,
    }
    sheet = Sheet("train_ticket", "en", truth, 360, 260, "british")
    sheet.put(110, 14, "RAIL E-TICKET", 14)
    rows = [
        ("Ticket No", number),
        ("Passenger", name),
        ("From", start),
        ("To", end),
        ("Travel date", f"{day:%d %b %Y}"),
        ("Departs", clock(rng)),
        ("Coach / Seat", f"{rng.choice('ABCD')} / {rng.randint(1, 70)}"),
        ("Fare", f"£{price:.2f}"),
    ]
    sheet.pairs(rows, (25, 48), 115, 22, 10)
    sheet.put(25, 235, f"Booked on {day - timedelta(days=rng.randint(1, 20)):%d %b %Y}", 8)
    return sheet


def taxi_receipt(rng: random.Random, layout: int) -> Sheet:
    """Two slips of Chinese taximeters, one of an English one."""
    day, far, start = past(rng), f"{rng.randint(20, 420) / 10:.1f}", rng.randint(360, 1300)
    ride = [f"{minute // 60:02}:{minute % 60:02}" for minute in (start, start + 25)]
    if layout == 2:
        return _english_taxi(rng, day, far, ride)
    price = Decimal(rng.randint(110, 1500)) / 10
    city, truth = rng.choice(CITIES), {"date": day.isoformat(), "amount": money(price)}
    sheet = Sheet("taxi_receipt", "zh", truth, 190, 330, ("meter", "hailed")[layout])
    title = ("市出租汽车专用发票", "出租车机打发票")[layout]
    sheet.put(30, 12, city + title, 11)
    heads = (
        "日期 上车 下车 单价 里程 等候 金额",
        "乘车日期 上车时间 下车时间 单价(元/公里) 里程(公里) 低速等候 实收金额",
    )[layout].split()
    said = (
        [f"{day:%Y-%m-%d}", *ride, "2.30元", f"{far}km", "00:02:11", f"￥{price:.2f}元"],
        [zh_day(day), *ride, "2.50", far, "00:03:20", f"{price:.2f}元"],
    )[layout]
    car = f"{rng.choice('京沪浙苏川')}B{rng.choice('TXY')}{figures(rng, 4)}"
    before = [("发票代码", "1" + figures(rng, 11)), ("发票号码", figures(rng, 8)), ("车号", car)]
    sheet.slip([*before, ("证号", figures(rng, 6)), *zip(heads, said, strict=True)], 20, 23)
    return sheet


def _english_taxi(rng: random.Random, day: date, far: str, ride: list[str]) -> Sheet:
    fare, tip = cents(rng, 8, 80), cents(rng, 1, 9)
    truth: Truth = {"date": day.isoformat(), "amount": money(fare + tip, "USD")}
    sheet = Sheet("taxi_receipt", "en", truth, 200, 300, "english")
    sheet.put(45, 14, "CITY TAXI RECEIPT", 11)
    rows = [("Date", f"{day:%b %d, %Y}"), ("Medallion", f"{figures(rng, 1)}K{figures(rng, 2)}")]
    rows += [("Pick up", ride[0]), ("Drop off", ride[1]), ("Distance", f"{far} mi")]
    rows += [("Fare", f"${fare:.2f}"), ("Tip", f"${tip:.2f}"), ("Total", f"${fare + tip:.2f}")]
    sheet.slip(rows, 20, 23)
    return sheet


_FOLIO = (
    "宾客账单|宾客姓名：|房号：|入住日期：|离店日期：|日期|项目|消费|付款|房费|餐饮|微信支付|消费合计|余额",
    (
        "宾客账单 Guest Folio|宾客 Guest:|房号 Room:|到店 Arrival:|离店 Departure:|日期 Date"
        "|项目 Item|消费 Charges|付款 Payments|房费 Room charge|餐厅 Restaurant|微信支付"
        "|合计 Total|余额 Balance"
    ),
    (
        "GUEST FOLIO|Guest:|Room:|Arrival:|Departure:|Date|Description|Charges|Credits|Room charge"
        "|Minibar|Visa ****1234|Total charges|Balance"
    ),
)


def hotel_folio(rng: random.Random, layout: int) -> Sheet:
    """A Chinese folio, one in both languages, an English one: with payments and a balance."""
    arrival, nights, rate = past(rng) - timedelta(days=6), rng.randint(1, 5), cents(rng, 150, 900)
    departure, extra = arrival + timedelta(days=nights), cents(rng, 10, 120)
    spent, english = rate * nights + extra, layout == 2
    kind = rng.choice(["大酒店", "宾馆", "国际饭店", "酒店"])
    house = rng.choice(CITIES) + rng.choice(["湖滨", "金陵", "云水", "锦江", "如意"]) + kind
    house = rng.choice(EN_HOTELS) if english else house
    currency, sign = ("USD", "$") if english else ("CNY", "¥")
    truth: Truth = {
        "date": departure.isoformat(),
        "amount": money(spent, currency),
        "seller": house,
    }
    layouts = ("chinese", "both", "english")
    sheet = Sheet("hotel_folio", "en" if english else "zh", truth, 420, 560, layouts[layout])
    words = _FOLIO[layout].split("|")
    said = en_day if english else date.isoformat
    sheet.put(110, 20, house, 15)
    sheet.put(160, 50, words[0], 12)
    guest = rng.choice(EN_NAMES) if english else person(rng)
    told = (guest, str(rng.randint(301, 2150)), said(arrival), said(departure))
    for at, pair in enumerate(zip(words[1:5], told, strict=True)):
        left, top = 30 + 195 * (at % 2), 85 + 20 * (at // 2)
        sheet.pairs([pair], (left, top), 100 if layout else 70, 0, 10)
    for x, head in zip((30, 130, 300, 390), words[5:9], strict=True):
        sheet.put(x, 145, head, 10, right=x > 200)
    rows = [(said(arrival + timedelta(days=n)), words[9], 300, rate) for n in range(nights)]
    rows += [(said(departure), words[10], 300, extra), (said(departure), words[11], 390, spent)]
    y = _charges(sheet, rows, "$" if english else "")
    for down, head, amount in ((28, words[12], spent), (48, words[13], Decimal(0))):
        sheet.put(130, y + down, head, 11)
        sheet.put(300, y + down, f"{sign}{amount:.2f}", 11, right=True)
    sheet.put(30, y + 90, "Guest signature:" if english else "宾客签名：", 9)
    return sheet


def _charges(sheet: Sheet, rows: list[tuple[str, str, int, Decimal]], sign: str) -> float:
    y = 145.0
    for day, what, x, amount in rows:
        y += 18
        sheet.put(30, y, day, 10)
        sheet.put(130, y, what, 10)
        sheet.put(x, y, f"{sign}{amount:.2f}", 10, right=True)
    return y


def receipt(rng: random.Random, layout: int) -> Sheet:
    """Receipts: a supermarket's, a restaurant's with a discount, an American and a British one."""
    return (_supermarket, _restaurant, _american, _british)[layout](rng)


def _paid(rng: random.Random, kind: str, amount: Decimal, currency: str, title: str) -> Sheet:
    truth: Truth = {"date": past(rng).isoformat(), "amount": money(amount, currency)}
    sheet = Sheet("receipt", "zh" if currency == "CNY" else "en", truth, 230, 300, kind)
    sheet.put(50, 12, title, 13)
    return sheet


def _supermarket(rng: random.Random) -> Sheet:
    goods = bought(rng, GOODS, 45)
    whole = total(goods)
    cash = (whole / 50).to_integral_value(rounding="ROUND_UP") * 50
    sheet = _paid(rng, "supermarket", whole, "CNY", f"{rng.choice(CITIES)}华联超市")
    rows = [(f"收银员:{figures(rng, 4)}", f"单号:{figures(rng, 8)}")]
    rows += [(f"日期:{sheet.truth['date']} {clock(rng)}", ""), ("品名 数量 单价", "小计")]
    rows += [(f"{name} {n} {price:.2f}", f"{n * price:.2f}") for name, n, price in goods]
    rows += [("合计:", f"{whole:.2f}"), ("实收(现金):", f"{cash:.2f}")]
    rows += [("找零:", f"{cash - whole:.2f}"), ("谢谢惠顾 欢迎再次光临", "")]
    sheet.slip(rows, 24)
    return sheet


def _restaurant(rng: random.Random) -> Sheet:
    goods, less = bought(rng, DISHES, 90), cents(rng, 1, 3)
    whole = total(goods)
    title = f"{rng.choice(['老王', '江南', '蜀香', '海底'])}饭庄结账单"
    sheet = _paid(rng, "restaurant", whole - less, "CNY", title)
    day = str(sheet.truth["date"]).replace("-", "/")
    rows = [(f"桌号: A{rng.randint(1, 30):02}  人数: {rng.randint(1, 8)}", "")]
    rows += [(f"开台时间: {day} {clock(rng)}", ""), ("菜品", "金额")]
    rows += [(f"{name} x{n}", f"{n * price:.2f}") for name, n, price in goods]
    rows += [("消费合计", f"¥{whole:.2f}"), ("优惠金额", f"-¥{less:.2f}")]
    rows += [("实付金额", f"¥{whole - less:.2f}"), ("支付方式: 微信支付", "")]
    sheet.slip(rows, 24)
    return sheet


def _american(rng: random.Random) -> Sheet:
    goods = bought(rng, EN_GOODS, 20)
    net = total(goods)
    tax = (net * 8 / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    sheet = _paid(rng, "american", net + tax, "USD", rng.choice(EN_SHOPS))
    day = date.fromisoformat(str(sheet.truth["date"]))
    cash = ((net + tax) / 20).to_integral_value(rounding="ROUND_UP") * 20
    when = f"{day:%b %d, %Y}  {rng.randint(1, 11)}:{rng.randint(10, 59)} PM"
    rows = [(when, f"#{figures(rng, 5)}")]
    rows += [(f"{n} x {name}", f"{n * price:.2f}") for name, n, price in goods]
    rows += [("SUBTOTAL", f"${net:.2f}"), ("TAX 8%", f"${tax:.2f}"), ("TOTAL", f"${net + tax:.2f}")]
    rows += [("CASH", f"${cash:.2f}"), ("CHANGE", f"${cash - net - tax:.2f}"), ("THANK YOU!", "")]
    sheet.slip(rows, 24)
    return sheet


def _british(rng: random.Random) -> Sheet:
    goods = bought(rng, EN_GOODS, 15)
    whole = total(goods)
    sheet = _paid(rng, "british", whole, "GBP", rng.choice(EN_SHOPS))
    day = date.fromisoformat(str(sheet.truth["date"]))
    rows = [(f"Receipt {figures(rng, 5)}", ""), (f"Date: {day:%d %b %Y} {clock(rng)}", "")]
    rows += [(f"{name} {n} @ {price:.2f}", f"{n * price:.2f}") for name, n, price in goods]
    rows += [("Total to pay", f"£{whole:.2f}"), ("VISA ****" + figures(rng, 4), f"£{whole:.2f}")]
    rows += [("Includes VAT", f"£{whole / 6:.2f}"), ("Thank you", "")]
    sheet.slip(rows, 24)
    return sheet


def medical_certificate(rng: random.Random, layout: int) -> Sheet:
    """Chinese notes with a range and with a length from a day on, and two English ones."""
    begin, length = past(rng), rng.randint(1, 14)
    chinese = layout < 2
    name = person(rng) if chinese else rng.choice(EN_NAMES)
    truth: Truth = {"date": begin.isoformat(), "days": str(length), "name": name}
    layouts = ("range", "from", "prose", "form")
    sheet = Sheet(
        "medical_certificate", "zh" if chinese else "en", truth, 430, 300, layouts[layout]
    )
    end = begin + timedelta(days=length - 1)
    if chinese:
        sheet.put(110, 16, f"{rng.choice(CITIES)}市第{rng.choice('一二三')}人民医院", 14)
        sheet.put(140, 42, ("疾病诊断证明书", "病假证明书")[layout], 13)
        sheet.put(230, 215, f"医师签名：{person(rng)}", 11)
        sheet.put(230, 240, f"开具日期：{zh_day(begin)}", 11)
    else:
        sheet.put(130, 16, "St. Mary Clinic", 14)
        sheet.put(270, 245, f"Dr. {rng.choice(EN_NAMES)}", 10)
    lines = (_ranged, _counted, _prose, _form)[layout](rng, name, (begin, end), length)
    for number, line in enumerate(lines):
        for x, part in zip((30, 190), line.split("|"), strict=False):
            sheet.put(x, 85 + 26 * number, part, 11)
    return sheet


_Stay = tuple[date, date]


def _ranged(rng: random.Random, name: str, stay: _Stay, length: int) -> list[str]:
    about = f"性别：{rng.choice('男女')}   年龄：{rng.randint(22, 58)}岁"
    illness = rng.choice(["上呼吸道感染", "急性肠胃炎", "腰肌劳损", "发热待查"])
    span = f"（{zh_day(stay[0])}至{zh_day(stay[1])}）"
    return [f"姓名：{name}|{about}", f"临床诊断：{illness}", f"处理意见：建议休息{length}天", span]


def _counted(rng: random.Random, name: str, stay: _Stay, length: int) -> list[str]:
    said = "零一二三四五六七八九十"[length] if length <= 10 else "十" + "一二三四"[length - 11]
    about = f"{rng.choice('男女')}，{rng.randint(22, 58)}岁，因发热就诊。"
    return [f"兹证明患者 {name}，{about}", f"建议自{zh_day(stay[0])}起全休{said}天。"]


def _prose(rng: random.Random, name: str, stay: _Stay, length: int) -> list[str]:
    first, last = (f"{day.day} {day:%B %Y}" for day in stay)
    return [
        "MEDICAL CERTIFICATE",
        f"This is to certify that {rng.choice(('Mr', 'Ms'))} {name}",
        f"is unfit for work for {length} day{'s' if length > 1 else ''}",
        f"from {first} to {last}.",
    ]


def _form(rng: random.Random, name: str, stay: _Stay, length: int) -> list[str]:
    illness = rng.choice(("influenza", "back pain", "migraine"))
    return [
        "SICK NOTE",
        f"Patient name:|{name}",
        f"Diagnosis:|{illness}",
        f"Unfit for work from:|{stay[0]:%d-%b-%Y}",
        f"Days of rest:|{length} day{'s' if length > 1 else ''}",
    ]
