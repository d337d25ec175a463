"""Layouts for `document_set.py` that are held out whole: no rule was changed after seeing them."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from document_invoices import bill
from document_sheets import (
    CITIES,
    DISHES,
    EN_FIRMS,
    EN_GOODS,
    EN_NAMES,
    GOODS,
    STATIONS,
    Sheet,
    bought,
    capitals,
    cents,
    clock,
    figures,
    firm,
    money,
    past,
    person,
    total,
    zh_day,
)


def roll_invoice(rng: random.Random) -> Sheet:
    """增值税普通发票（卷票）: a slip with code, number and capitals."""
    price, day = cents(rng, 20, 600), past(rng)
    code, number = "0" + figures(rng, 11), figures(rng, 8)
    truth = {
        "number": code + number,
        "date": day.isoformat(),
        "amount": money(price),
        "seller": firm(rng),
        "buyer": firm(rng),
    }
    sheet = Sheet("invoice", "zh", truth, 260, 400, "unseen: roll")
    sheet.put(60, 12, "增值税普通发票（卷票）", 12)
    rows = [("发票代码", code), ("发票号码", number), ("机打号码", number)]
    rows += [("销售方名称：", str(truth["seller"])), ("开票日期：", f"{day:%Y-%m-%d}")]
    rows += [("购买方名称：", str(truth["buyer"])), ("收款员", person(rng))]
    rows += [("项目", "金额"), (rng.choice(GOODS), f"{price:.2f}")]
    rows += [("合计金额（小写）", f"￥{price:.2f}"), ("合计金额（大写）", capitals(price))]
    sheet.slip(rows, 24, 18, 9)
    return sheet


def tax_invoice(rng: random.Random) -> Sheet:
    """An Australian tax invoice, its labels above their values."""
    seller, buyer = rng.sample(EN_FIRMS, 2)
    made, day = bill(rng, rng.sample(EN_GOODS, 2), 10, 300), past(rng)
    number = "T-" + figures(rng, 5)
    truth = {
        "number": number,
        "date": day.isoformat(),
        "amount": money(made.gross, "AUD"),
        "tax": money(made.tax, "AUD"),
        "seller": seller,
        "buyer": buyer,
    }
    sheet = Sheet("invoice", "en", truth, layout="unseen: labels above")
    sheet.put(40, 40, "TAX INVOICE", 18)
    heads = ("Supplier", seller), ("Sold to", buyer), ("Invoice number", number)
    heads = (*heads, ("Date", f"{day.day} {day:%b} {day.year}"))
    for at, (head, said) in enumerate(heads):
        sheet.put(40 + 140 * at, 90, head, 8)
        sheet.put(40 + 140 * at, 103, said, 9)
    for at, (name, count, _, net, _) in enumerate(made.lines):
        sheet.put(40, 160 + 20 * at, f"{count} x {name}")
        sheet.put(540, 160 + 20 * at, f"{net:,.2f}", right=True)
    sums = ("Subtotal", made.net), ("GST 10%", made.tax), ("Total AUD", made.gross)
    for at, (head, amount) in enumerate(sums):
        sheet.put(380, 230 + 18 * at, head)
        sheet.put(540, 230 + 18 * at, f"A${amount:,.2f}", right=True)
    return sheet


def red_ticket(rng: random.Random) -> Sheet:
    """A red ticket: the train above, the fare at the right."""
    start, end = rng.sample(STATIONS, 2)
    day, price, name = past(rng), cents(rng, 20, 500).quantize(Decimal("0.1")), person(rng)
    truth = {
        "number": "E" + figures(rng, 6),
        "date": day.isoformat(),
        "amount": money(price),
        "from": f"{start}站",
        "to": f"{end}站",
        "passenger": name,
    }
    sheet = Sheet("train_ticket", "zh", truth, 340, 215, "unseen: red")
    sheet.put(14, 10, str(truth["number"]), 12)
    sheet.put(150, 24, f"K{rng.randint(1, 999)}次", 12)
    sheet.put(30, 40, f"{start}站", 14)
    sheet.put(220, 40, f"{end}站", 14)
    sheet.put(30, 72, f"{day.year}年{day:%m}月{day:%d}日{clock(rng)}开", 10)
    sheet.put(210, 72, f"{rng.randint(1, 9):02}车{rng.randint(1, 90):03}号", 10)
    sheet.put(230, 92, f"￥{price}元", 11)
    sheet.put(30, 92, "新空调硬座", 10)
    sheet.put(30, 140, f"{name} {figures(rng, 10)}****{figures(rng, 4)}", 10)
    return sheet


def ride_receipt(rng: random.Random) -> Sheet:
    """What a firm for rides sends: the total first, what it is made of below."""
    fare, toll, day = cents(rng, 8, 60), cents(rng, 1, 6), past(rng)
    truth = {"date": day.isoformat(), "amount": money(fare + toll, "USD")}
    sheet = Sheet("taxi_receipt", "en", truth, 320, 300, "unseen: ride")
    sheet.put(20, 20, f"{day:%B} {day.day}, {day.year}", 9)
    sheet.put(20, 40, f"Thanks for riding, {rng.choice(EN_NAMES).split()[0]}", 13)
    rows = [("Total", f"${fare + toll:.2f}"), ("Trip fare", f"${fare:.2f}")]
    rows += [("Tolls", f"${toll:.2f}"), (f"Visa ****{figures(rng, 4)}", f"${fare + toll:.2f}")]
    rows += [("Distance", "6.2 miles"), ("Pickup", clock(rng)), ("Dropoff", clock(rng))]
    sheet.slip(rows, 60, 22)
    return sheet


def settled_stay(rng: random.Random) -> Sheet:
    """A Chinese hotel's 结账单 with 抵店 and 应收合计, the deposit and what is returned."""
    leave, nights, rate = past(rng), rng.randint(1, 3), cents(rng, 180, 600)
    arrive, whole = leave - timedelta(days=nights), rate * nights
    house = rng.choice(CITIES) + "和平" + rng.choice(("宾馆", "大酒店"))
    truth = {"date": leave.isoformat(), "amount": money(whole), "seller": house}
    sheet = Sheet("hotel_folio", "zh", truth, 320, 400, "unseen: settled")
    sheet.put(90, 14, house, 14)
    rows = [("结账单", ""), ("房号", figures(rng, 4)), ("姓名", person(rng))]
    rows += [
        ("抵店", zh_day(arrive)),
        ("离店", zh_day(leave)),
        (f"房费 {nights}晚", f"{whole:.2f}"),
    ]
    rows += [("应收合计", f"{whole:.2f}元"), ("押金", f"{whole + 500:.2f}元"), ("退款", "500.00元")]
    sheet.slip(rows, 30, 20)
    return sheet


def ordered_drinks(rng: random.Random) -> Sheet:
    """A slip of a tea shop: a coupon, and what was due and paid."""
    goods, less = bought(rng, DISHES, 30), Decimal(3)
    whole, day = total(goods), past(rng)
    truth = {"date": day.isoformat(), "amount": money(whole - less)}
    sheet = Sheet("receipt", "zh", truth, 220, 300, "unseen: coupon")
    sheet.put(60, 12, "茶语时光（购物小票）", 11)
    rows = [(f"流水号 {figures(rng, 10)}", ""), (f"下单时间 {day:%Y-%m-%d} {clock(rng)}", "")]
    rows += [(name, f"{n}x{price:.2f}") for name, n, price in goods]
    rows += [("总计", f"{whole:.2f}"), ("优惠券", "-3.00"), ("实付", f"{whole - less:.2f}")]
    rows += [("支付宝", f"{whole - less:.2f}"), ("欢迎光临", "")]
    sheet.slip(rows, 24)
    return sheet


def tipped_dinner(rng: random.Random) -> Sheet:
    """An American restaurant's slip with a tip by card."""
    goods, day = bought(rng, EN_GOODS, 25), past(rng)
    net, tip = total(goods), cents(rng, 2, 9)
    tax = (net * 7 / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    paid = net + tax + tip
    truth = {"date": day.isoformat(), "amount": money(paid, "USD")}
    sheet = Sheet("receipt", "en", truth, 230, 300, "unseen: tip")
    sheet.put(60, 12, "BLUE DOOR GRILL", 13)
    rows = [("Server: Ann", f"Table {rng.randint(1, 30)}"), (f"{day.day} {day:%b} {day.year}", "")]
    rows += [(name, f"{n * price:.2f}") for name, n, price in goods]
    rows += [("Sub-total", f"${net:.2f}"), ("Tax", f"${tax:.2f}"), ("Tip", f"${tip:.2f}")]
    rows += [("Total", f"${paid:.2f}"), ("Card ending " + figures(rng, 4), f"${paid:.2f}")]
    sheet.slip(rows, 24)
    return sheet


def certified_illness(rng: random.Random) -> Sheet:
    """A Chinese note in prose, its days in capital characters, the range before them."""
    begin, length, name = past(rng), rng.randint(2, 7), person(rng)
    truth = {"date": begin.isoformat(), "days": str(length), "name": name}
    sheet = Sheet("medical_certificate", "zh", truth, 430, 300, "unseen: prose")
    sheet.put(120, 20, "市中心医院诊断证明", 15)
    said = "零壹贰叁肆伍陆柒"[length]
    end: date = begin + timedelta(days=length - 1)
    lines = [f"患者姓名：{name}    科室：内科", "诊断：支气管炎"]
    lines += [f"建议：{begin:%Y-%m-%d} 至 {end:%Y-%m-%d} 休息{said}天", f"医生：{person(rng)}"]
    for number, line in enumerate(lines):
        sheet.put(30, 80 + 30 * number, line, 12)
    return sheet


def excused(rng: random.Random) -> Sheet:
    """An English letter that excuses somebody from work."""
    begin, length, name = past(rng), rng.randint(2, 7), rng.choice(EN_NAMES)
    truth = {"date": begin.isoformat(), "days": str(length), "name": name}
    sheet = Sheet("medical_certificate", "en", truth, 460, 300, "unseen: letter")
    end: date = begin + timedelta(days=length - 1)
    lines = ["Doctor's note", "Hill Road Hospital", f"Patient: {name}"]
    lines += [f"Unable to work from {begin:%d %b %Y} through {end:%d %b %Y}", f"({length} days)"]
    for number, line in enumerate(lines):
        sheet.put(40, 30 + 34 * number, line, 12)
    return sheet


UNSEEN: tuple[Callable[[random.Random], Sheet], ...] = (
    roll_invoice,
    tax_invoice,
    red_ticket,
    ride_receipt,
    settled_stay,
    ordered_drinks,
    tipped_dinner,
    certified_illness,
    excused,
)
