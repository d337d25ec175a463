"""Invoices for `document_set.py`: digital Chinese ones, older ones, and commercial ones."""

import random
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from document_sheets import (
    CITIES,
    EN_FIRMS,
    EN_GOODS,
    Sheet,
    Truth,
    capitals,
    cents,
    en_day,
    figures,
    firm,
    money,
    past,
    person,
    zh_day,
)

ITEMS = (
    ("餐饮服务", "餐费"),
    ("住宿服务", "住宿费"),
    ("运输服务", "客运服务费"),
    ("纸制文具及书籍", "复印纸"),
    ("信息技术服务", "技术服务费"),
    ("计算机配套产品", "键盘"),
)
_XS = (35.0, 190.0, 265.0, 345.0, 425.0, 490.0, 560.0)
_HEADS = ["项目名称", "单位", "数量", "单价", "金额", "税率/征收率", "税额"]


@dataclass(frozen=True)
class Bill:
    """Lines of an invoice: name, count, price, net and tax, which add up."""

    lines: list[tuple[str, int, Decimal, Decimal, Decimal]]
    rate: int

    @property
    def net(self) -> Decimal:
        return sum((line[3] for line in self.lines), Decimal(0))

    @property
    def tax(self) -> Decimal:
        return sum((line[4] for line in self.lines), Decimal(0))

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


def bill(rng: random.Random, names: list[str], rate: int, most: int = 900) -> Bill:
    lines = []
    for name in names:
        count, price = rng.randint(1, 5), cents(rng, 8, most)
        net = count * price
        tax = (net * rate / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
        lines.append((name, count, price, net, tax))
    return Bill(lines, rate)


def chinese_bill(rng: random.Random) -> tuple[Bill, Truth]:
    """What any Chinese invoice says."""
    kind, name = rng.choice(ITEMS)
    names = [f"*{kind}*{name}"] + [f"*{kind}*{name}{c}" for c in "BC"[: rng.randint(0, 2)]]
    made = bill(rng, names, rng.choice((1, 3, 6, 9, 13)))
    truth: Truth = {
        "date": past(rng).isoformat(),
        "amount": money(made.gross),
        "tax": money(made.tax),
        "seller": firm(rng),
        "buyer": firm(rng),
        "item": names[0],
    }
    return made, truth


def _table(sheet: Sheet, made: Bill, y: float) -> None:
    rows = [_HEADS]
    for name, count, price, net, tax in made.lines:
        rate = f"{made.rate}%"
        rows.append([name, "项", str(count), f"{price:.2f}", f"{net:.2f}", rate, f"{tax:.2f}"])
    for at, row in enumerate(rows):
        for x, cell in zip(_XS, row, strict=True):
            sheet.put(x, y + 15 * at, cell, right=x > _XS[1])


def _sums(sheet: Sheet, made: Bill, y: float, between: str) -> None:
    sheet.put(60, y, f"合{between}计")
    sheet.put(425, y, f"¥{made.net:.2f}", right=True)
    sheet.put(560, y, f"¥{made.tax:.2f}", right=True)


def digital_invoice(rng: random.Random, layout: int) -> Sheet:
    """数电票: two boxes side by side; in the second layout labels and values stand apart."""
    made, truth = chinese_bill(rng)
    day = date.fromisoformat(str(truth["date"]))
    truth["number"] = f"{day:%y}{rng.choice((11, 31, 32, 33, 44, 51))}" + figures(rng, 16)
    sheet = Sheet("invoice", "zh", truth, 595, 400, f"digital {layout}")
    sheet.put(205, 25, rng.choice(("电子发票（普通发票）", "电子发票（增值税专用发票）")), 16)
    heads = [("发票号码：", str(truth["number"])), ("开票日期：", zh_day(day))]
    if layout:
        sheet.pairs(heads, (400, 28), 75, 18)
    else:
        for at, pair in enumerate(heads):
            sheet.put(400, 28 + 18 * at, "".join(pair))
    sheet.box(20, 80, 575, 345)
    ids = {"seller": "91" + figures(rng, 15) + "X", "buyer": "91" + figures(rng, 16)}
    for x, side, who in ((28, "购买方信息", "buyer"), (305, "销售方信息", "seller")):
        _party(sheet, x, side, str(truth[who]), ids[who], apart=bool(layout))
    _table(sheet, made, 150)
    _sums(sheet, made, 270, " " * (6 if layout else 1))
    sheet.put(40, 295, "价税合计（大写）")
    sheet.put(180, 295, ("⊗" if layout else "") + capitals(made.gross))
    sheet.pairs([("（小写）", f"¥{made.gross:.2f}")], (400, 295), 50, 0)
    sheet.put(30, 320, "备注")
    sheet.put(40, 360, f"开票人：{person(rng)}")
    sheet.code = f"01,32,,{truth['number']},{made.gross:.2f},{day:%Y%m%d},,{figures(rng, 4)}"
    sheet.data = _data(made, truth, ids)
    return sheet


def _party(sheet: Sheet, x: float, side: str, name: str, tax_id: str, *, apart: bool) -> None:
    for number, character in enumerate(side):
        sheet.put(x, 84 + 11 * number, character)
    if apart:
        sheet.pairs([("名称：", name)], (x + 18, 92), 34, 0)
    else:
        sheet.put(x + 18, 92, f"名称：{name}")
    sheet.put(x + 18, 120, f"统一社会信用代码/纳税人识别号：{tax_id}", 8)


def _data(made: Bill, truth: Truth, ids: dict[str, str]) -> dict[str, str]:
    """The fields of a digital invoice's XML, by their path."""
    data, basic = "EInvoice/EInvoiceData", "EInvoice/EInvoiceData/BasicInformation"
    when = f"{truth['date']} 10:12:33"
    return {
        "EInvoice/Header/EIid": str(truth["number"]),
        f"{data}/SellerInformation/SellerIdNum": ids["seller"],
        f"{data}/SellerInformation/SellerName": str(truth["seller"]),
        f"{data}/BuyerInformation/BuyerIdNum": ids["buyer"],
        f"{data}/BuyerInformation/BuyerName": str(truth["buyer"]),
        f"{basic}/TotalAmWithoutTax": f"{made.net:.2f}",
        f"{basic}/TotalTaxAm": f"{made.tax:.2f}",
        f"{basic}/TotalTax-includedAmount": f"{made.gross:.2f}",
        f"{basic}/RequestTime": when,
        f"{data}/IssuItemInformation/ItemName": str(truth["item"]),
        "EInvoice/TaxSupervisionInfo/InvoiceNumber": str(truth["number"]),
        "EInvoice/TaxSupervisionInfo/IssueTime": when,
    }


def older_invoice(rng: random.Random, layout: int) -> Sheet:
    """增值税电子普通发票: code and number, the buyer above and the seller below."""
    made, truth = chinese_bill(rng)
    code, number, day = "0" + figures(rng, 11), figures(rng, 8), str(truth["date"])
    truth["number"] = code + number
    sheet = Sheet("invoice", "zh", truth, 595, 400, f"older {layout}")
    sheet.put(200, 25, f"{rng.choice(CITIES)}增值税电子普通发票", 15)
    check = " ".join(figures(rng, 5) for _ in range(4))
    written = f"{date.fromisoformat(day):%Y 年 %m 月 %d 日}"
    heads = ("发票代码", code), ("发票号码", number), ("开票日期", written), ("校 验 码", check)
    for at, (head, said) in enumerate(heads):
        sheet.put(420, 15 + 13 * at, f"{head}：{said if layout else ''}", 8)
        if not layout:
            sheet.put(470, 15 + 13 * at, said, 8)
    sheet.put(30, 66, "机器编号：" + figures(rng, 12), 8)
    sheet.box(20, 80, 575, 345)
    for y, side, who in ((85, "购买方", "buyer"), (300, "销售方", "seller")):
        for place, character in enumerate(side):
            sheet.put(26, y + 13 * place, character)
        sheet.put(45, y, f"名        称：{truth[who]}")
        sheet.put(45, y + 14, f"纳税人识别号：91{figures(rng, 16)}", 8)
        street = f"{rng.choice(CITIES)}市人民路{rng.randint(1, 300)}号"
        sheet.put(45, y + 27, f"地址、电话：{street} 0{figures(rng, 10)}", 8)
    _table(sheet, made, 140)
    _sums(sheet, made, 250, "   ")
    sheet.put(40, 275, "价税合计（大写）")
    sheet.put(180, 275, capitals(made.gross))
    sheet.put(400, 275, f"（小写）¥{made.gross:.2f}")
    for x, head in ((40, "收款人"), (200, "复核"), (350, "开票人")):
        sheet.put(x, 360, f"{head}：{person(rng)}")
    check, plain = check.replace(" ", ""), day.replace("-", "")
    sheet.code = f"01,10,{code},{number},{made.net:.2f},{plain},{check},{figures(rng, 4)}"
    return sheet


@dataclass(frozen=True)
class _Country:
    """How invoices are written there."""

    sign: str
    currency: str
    rate: int
    tax: str
    title: str
    heads: tuple[str, str, str]
    party: str
    total: str
    day: str
    number: str


_COUNTRIES = (
    _Country("$", "USD", 8, "Sales Tax", "INVOICE", ("Invoice #:", "Invoice Date:", "Due Date:"),
             "Bill To:", "Total Due", "%b {d}, %Y", "INV-{y}-{n:.4}"),
    _Country("£", "GBP", 20, "VAT", "VAT INVOICE", ("Invoice No", "Date", "Due date"),
             "Invoice to", "Total", "{d} %B %Y", "SI{n}"),
    _Country("€", "EUR", 19, "VAT", "Invoice",
             ("Invoice number:", "Date of issue:", "Payment due:"), "Customer:",
             "Amount due", "%d-%b-%Y", "{y}/{n:.5}"),
)  # fmt: skip


def english_invoice(rng: random.Random, layout: int) -> Sheet:
    """A commercial invoice: American, British or of the euro zone."""
    land = _COUNTRIES[layout]
    seller, buyer = rng.sample(EN_FIRMS, 2)
    made = bill(rng, rng.sample(EN_GOODS, rng.randint(1, 3)), land.rate, 400)
    day = past(rng)
    number = land.number.format(y=day.year, n=figures(rng, 6))
    truth: Truth = {
        "number": number,
        "date": day.isoformat(),
        "amount": money(made.gross, land.currency),
        "tax": money(made.tax, land.currency),
        "seller": seller,
        "buyer": buyer,
        "item": made.lines[0][0],
    }
    sheet = Sheet("invoice", "en", truth, layout=f"english {layout}")
    sheet.put(40, 40, seller, 16)
    sheet.put(40, 62, f"{rng.randint(1, 99)} Station Road")
    sheet.put(400, 40, land.title, 20)
    days = (f"{when:{land.day.format(d=when.day)}}" for when in (day, day + timedelta(days=30)))
    sheet.pairs(list(zip(land.heads, (number, *days), strict=True)), (380, 80), 100, 16)
    sheet.put(40, 110, land.party)
    sheet.put(40, 126, buyer)
    sheet.put(40, 140, f"{rng.randint(1, 99)} High Street")
    y = _english_table(sheet, made)
    rows = (
        ("Subtotal", made.net),
        (f"{land.tax} ({land.rate}%)", made.tax),
        (land.total, made.gross),
    )
    for at, (head, amount) in enumerate(rows):
        sheet.put(380, y + 30 + 16 * at, head)
        sheet.put(540, y + 30 + 16 * at, f"{land.sign}{amount:,.2f}", right=True)
    sheet.put(40, y + 110, f"Payment terms: 30 days net, by {en_day(day + timedelta(days=30))}.")
    return sheet


def _english_table(sheet: Sheet, made: Bill) -> float:
    xs, y = (40, 330, 430, 540), 190.0
    rows = [("Description", "Qty", "Unit Price", "Amount")]
    rows += [
        (name, str(n), f"{price:,.2f}", f"{net:,.2f}") for name, n, price, net, _ in made.lines
    ]
    for at, row in enumerate(rows):
        for x, cell in zip(xs, row, strict=True):
            sheet.put(x, y + 18 * at, cell, right=x > 40)
    return y + 18 * (len(rows) - 1)
