"""A set of documents with their ground truth, made anew from a fixed seed.

Each is a `Sheet`: texts at places of a page, and what a reader should find. `document_files.py`
writes sheets as PDF, OFD, XML and pictures, and damages those. Nothing of it is anybody's: names,
numbers and prices are drawn from lists below. Of each recipe the even ones are for development, on
which rules and confidences were tuned, and the odd ones are held out.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

SEED = 20_261_125
TODAY = date(2026, 11, 25)
Truth = dict[str, object]

CITIES = (
    "北京",
    "上海",
    "杭州",
    "南京",
    "成都",
    "武汉",
    "西安",
    "深圳",
    "苏州",
    "青岛",
    "长沙",
    "合肥",
)
STATIONS = (
    "北京南",
    "上海虹桥",
    "杭州东",
    "南京南",
    "成都东",
    "武汉",
    "西安北",
    "深圳北",
    "苏州",
    "青岛",
    "长沙南",
    "合肥南",
)
FIRMS = (
    "星河科技有限公司",
    "远景餐饮管理有限公司",
    "同创信息技术有限公司",
    "百合酒店管理有限公司",
    "通达物流有限公司",
    "明日办公用品有限公司",
    "云帆咨询有限公司",
    "东湖商贸有限公司",
)
SURNAMES, GIVEN = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗",
    "伟芳娜敏静强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉萍",
)
ITEMS = (
    ("餐饮服务", "餐费"),
    ("住宿服务", "住宿费"),
    ("运输服务", "客运服务费"),
    ("纸制文具及书籍", "复印纸"),
    ("信息技术服务", "技术服务费"),
    ("计算机配套产品", "键盘"),
)
GOODS = ("矿泉水", "面包", "牛奶", "苹果", "洗衣液", "纸巾", "咖啡", "酸奶", "巧克力", "牙膏")
DISHES = (
    "宫保鸡丁",
    "番茄炒蛋",
    "清蒸鲈鱼",
    "米饭",
    "酸辣土豆丝",
    "紫菜蛋花汤",
    "红烧肉",
    "凉拌黄瓜",
)
EN_FIRMS = (
    "Northwind Supplies Ltd",
    "Bluebird Software Inc.",
    "Harbour Print Co.",
    "Oakfield Catering LLC",
    "Summit Consulting Ltd",
    "Riverside Tools Inc.",
)
EN_NAMES = (
    "Emma Clark",
    "James Wilson",
    "Olivia Brown",
    "Liam Turner",
    "Sophia Evans",
    "Noah Harris",
    "Ava Martin",
    "Lucas White",
)
EN_GOODS = (
    "Espresso",
    "Club Sandwich",
    "Orange Juice",
    "Notebook A5",
    "USB Cable",
    "Salad Bowl",
    "Muffin",
    "Batteries AA",
)
EN_SHOPS = ("CORNER MARKET", "GREEN LEAF CAFE", "CITY BOOKS", "QUICK STOP", "HARVEST KITCHEN")
EN_HOTELS = ("Grand Plaza Hotel", "Seaside Inn", "Parkview Hotel London", "Maple Suites Toronto")
EN_STATIONS = (
    "London Euston",
    "Manchester Piccadilly",
    "Edinburgh",
    "York",
    "Leeds",
    "Bristol Temple Meads",
)
_CENT = Decimal("0.01")


@dataclass(frozen=True)
class Text:
    """A piece of text: its left and top edge and its size in points; `right` aligns its end."""

    x: float
    y: float
    text: str
    size: float = 9
    right: bool = False


@dataclass
class Sheet:
    """A document before it is a file."""

    kind: str
    locale: str
    truth: Truth
    width: float = 595
    height: float = 842
    texts: list[Text] = field(default_factory=list)
    code: str | None = None
    code_at: tuple[float, float, float] = (30, 20, 70)
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    layout: str = ""

    def put(self, x: float, y: float, text: str, size: float = 9, *, right: bool = False) -> None:
        self.texts.append(Text(x, y, text, size, right))

    def box(self, left: float, top: float, right: float, bottom: float) -> None:
        self.rules += [(left, top, right, top), (left, bottom, right, bottom)]
        self.rules += [(left, top, left, bottom), (right, top, right, bottom)]


def money(amount: Decimal, currency: str = "CNY") -> dict[str, str]:
    return {"amount": f"{amount:.2f}", "currency": currency}


def cents(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randint(low * 100, high * 100)) / 100


def past(rng: random.Random) -> date:
    return TODAY - timedelta(days=rng.randint(1, 320))


def person(rng: random.Random) -> str:
    return rng.choice(SURNAMES) + "".join(rng.sample(GIVEN, rng.randint(1, 2)))


def firm(rng: random.Random) -> str:
    return rng.choice(CITIES) + rng.choice(FIRMS)


def figures(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("0123456789", k=length))


def capitals(amount: Decimal) -> str:
    """An amount in capital characters, as invoices write it."""
    digit, units = "零壹贰叁肆伍陆柒捌玖", ("", "拾", "佰", "仟")
    whole, rest = divmod(int(amount * 100), 100)
    sections = []
    for myriad, name in ((whole // 10_000, "万"), (whole % 10_000, "")):
        said, gap = "", False
        for place in (3, 2, 1, 0):
            one = myriad // 10**place % 10
            if one:
                said += ("零" if gap and (said or sections) else "") + digit[one] + units[place]
                gap = False
            else:
                gap = True
        if said:
            sections.append(said + name)
    jiao, fen = divmod(rest, 10)
    small = (digit[jiao] + "角" if jiao else "零" if fen else "") + (
        digit[fen] + "分" if fen else ""
    )
    return "".join(sections) + "圆" + (small or "整")


def zh_day(day: date) -> str:
    return f"{day:%Y年%m月%d日}"


@dataclass
class Bill:
    """Lines of an invoice that add up."""

    lines: list[tuple[str, int, Decimal, Decimal, Decimal]]
    rate: int

    @property
    def net(self) -> Decimal:
        return sum((line[3] for line in self.lines), Decimal(0))

    @property
    def tax(self) -> Decimal:
        return sum((line[4] for line in self.lines), Decimal(0))


def bill(rng: random.Random, names: list[str], rate: int, most: int = 900) -> Bill:
    lines = []
    for name in names:
        count, price = rng.randint(1, 5), cents(rng, 8, most)
        net = count * price
        tax = (net * rate / 100).quantize(_CENT, ROUND_HALF_UP)
        lines.append((name, count, price, net, tax))
    return Bill(lines, rate)


def chinese_invoice(rng: random.Random) -> tuple[Bill, Truth, str, str]:
    """What any Chinese invoice says: its bill, its truth, and the tax numbers of both."""
    kind, name = rng.choice(ITEMS)
    names = [f"*{kind}*{name}"] + [f"*{kind}*{name}{c}" for c in "BC"[: rng.randint(0, 2)]]
    made = bill(rng, names, rng.choice((1, 3, 6, 9, 13)))
    day = past(rng)
    truth: Truth = {
        "date": day.isoformat(),
        "amount": money(made.net + made.tax),
        "tax": money(made.tax),
        "seller": firm(rng),
        "buyer": firm(rng),
        "item": names[0],
    }
    return made, truth, "91" + figures(rng, 15) + "X", "91" + figures(rng, 16)


def _lines(sheet: Sheet, made: Bill, y: float, xs: tuple[float, ...]) -> float:
    heads = ("项目名称", "单位", "数量", "单价", "金额", "税率/征收率", "税额")
    for x, head in zip(xs, heads, strict=True):
        sheet.put(x, y, head, right=x > xs[1])
    for name, count, price, net, tax in made.lines:
        y += 15
        cells = (
            name,
            "项",
            str(count),
            f"{price:.2f}",
            f"{net:.2f}",
            f"{made.rate}%",
            f"{tax:.2f}",
        )
        for x, cell in zip(xs, cells, strict=True):
            sheet.put(x, y, cell, right=x > xs[1])
    return y


_XS = (35.0, 190.0, 265.0, 345.0, 425.0, 490.0, 560.0)


def digital_invoice(rng: random.Random, layout: int) -> Sheet:
    """数电票: two boxes side by side, the sum below; in the second labels and values are apart."""
    made, truth, seller_id, buyer_id = chinese_invoice(rng)
    truth["number"] = f"{str(truth['date'])[2:4]}{rng.choice((11, 31, 32, 33, 44, 51))}" + figures(
        rng, 16
    )
    sheet = Sheet("invoice", "zh", truth, 595, 400, layout=f"digital {layout}")
    day, gross = date.fromisoformat(str(truth["date"])), made.net + made.tax
    sheet.put(205, 25, rng.choice(("电子发票（普通发票）", "电子发票（增值税专用发票）")), 16)
    gap = 75 if layout else 62
    for y, head, said in (
        (28, "发票号码：", str(truth["number"])),
        (46, "开票日期：", zh_day(day)),
    ):
        if layout:
            sheet.put(400, y, head)
            sheet.put(400 + gap, y, said)
        else:
            sheet.put(400, y, head + said)
    sheet.box(20, 80, 575, 345)
    for x, side, name, tax_id in (
        (28, "购买方信息", truth["buyer"], buyer_id),
        (305, "销售方信息", truth["seller"], seller_id),
    ):
        for number, character in enumerate(side):
            sheet.put(x, 84 + 11 * number, character)
        if layout == 1:
            sheet.put(x + 18, 92, "名称：")
            sheet.put(x + 52, 92, str(name))
        else:
            sheet.put(x + 18, 92, f"名称：{name}")
        sheet.put(x + 18, 120, f"统一社会信用代码/纳税人识别号：{tax_id}", 8)
    _lines(sheet, made, 150, _XS)
    sheet.put(60, 270, "合" + " " * (6 if layout else 1) + "计")
    sheet.put(425, 270, f"¥{made.net:.2f}", right=True)
    sheet.put(560, 270, f"¥{made.tax:.2f}", right=True)
    sheet.put(40, 295, "价税合计（大写）")
    sheet.put(180, 295, ("⊗" if layout else "") + capitals(gross))
    sheet.put(400, 295, "（小写）")
    sheet.put(450, 295, f"¥{gross:.2f}")
    sheet.put(30, 320, "备注")
    sheet.put(40, 360, f"开票人：{person(rng)}")
    sheet.code = f"01,32,,{truth['number']},{gross:.2f},{day:%Y%m%d},,{figures(rng, 4)}"
    sheet.data = invoice_data(made, truth, seller_id, buyer_id)
    return sheet


def invoice_data(made: Bill, truth: Truth, seller_id: str, buyer_id: str) -> dict[str, str]:
    """The fields of a digital invoice's XML, by their path."""
    data, basic = "EInvoice/EInvoiceData", "EInvoice/EInvoiceData/BasicInformation"
    item = str(truth["item"])
    return {
        "EInvoice/Header/EIid": str(truth["number"]),
        f"{data}/SellerInformation/SellerIdNum": seller_id,
        f"{data}/SellerInformation/SellerName": str(truth["seller"]),
        f"{data}/BuyerInformation/BuyerIdNum": buyer_id,
        f"{data}/BuyerInformation/BuyerName": str(truth["buyer"]),
        f"{basic}/TotalAmWithoutTax": f"{made.net:.2f}",
        f"{basic}/TotalTaxAm": f"{made.tax:.2f}",
        f"{basic}/TotalTax-includedAmount": f"{made.net + made.tax:.2f}",
        f"{basic}/RequestTime": f"{truth['date']} 10:12:33",
        f"{data}/IssuItemInformation/ItemName": item,
        "EInvoice/TaxSupervisionInfo/InvoiceNumber": str(truth["number"]),
        "EInvoice/TaxSupervisionInfo/IssueTime": f"{truth['date']} 10:12:33",
    }


def older_invoice(rng: random.Random, layout: int) -> Sheet:
    """增值税电子普通发票: code and number, the buyer above and the seller below."""
    made, truth, seller_id, buyer_id = chinese_invoice(rng)
    code, number = "0" + figures(rng, 11), figures(rng, 8)
    truth["number"] = code + number
    sheet = Sheet("invoice", "zh", truth, 595, 400, layout=f"older {layout}")
    day, gross = date.fromisoformat(str(truth["date"])), made.net + made.tax
    sheet.put(200, 25, f"{rng.choice(CITIES)}增值税电子普通发票", 15)
    check = " ".join(figures(rng, 5) for _ in range(4))
    heads = (
        ("发票代码", code),
        ("发票号码", number),
        ("开票日期", f"{day:%Y 年 %m 月 %d 日}"),
        ("校 验 码", check),
    )
    for at, (head, said) in enumerate(heads):
        sheet.put(420, 15 + 13 * at, f"{head}：{said}" if layout else f"{head}：", 8)
        if not layout:
            sheet.put(470, 15 + 13 * at, said, 8)
    sheet.put(30, 66, "机器编号：" + figures(rng, 12), 8)
    sheet.box(20, 80, 575, 345)
    for y, side, name, tax_id in (
        (85, "购买方", truth["buyer"], buyer_id),
        (300, "销售方", truth["seller"], seller_id),
    ):
        for place, character in enumerate(side):
            sheet.put(26, y + 13 * place, character)
        sheet.put(45, y, f"名        称：{name}")
        sheet.put(45, y + 14, f"纳税人识别号：{tax_id}", 8)
        sheet.put(
            45,
            y + 27,
            f"地址、电话：{rng.choice(CITIES)}市人民路{rng.randint(1, 300)}号 0{figures(rng, 10)}",
            8,
        )
    _lines(sheet, made, 140, _XS)
    sheet.put(70, 250, "合   计")
    sheet.put(425, 250, f"¥{made.net:.2f}", right=True)
    sheet.put(560, 250, f"¥{made.tax:.2f}", right=True)
    sheet.put(40, 275, "价税合计（大写）")
    sheet.put(180, 275, capitals(gross))
    sheet.put(400, 275, f"（小写）¥{gross:.2f}")
    sheet.put(40, 360, f"收款人：{person(rng)}")
    sheet.put(200, 360, f"复核：{person(rng)}")
    sheet.put(350, 360, f"开票人：{person(rng)}")
    sheet.code = f"01,10,{code},{number},{made.net:.2f},{day:%Y%m%d},{check.replace(' ', '')},{figures(rng, 4)}"
    return sheet


def english_invoice(rng: random.Random, layout: int) -> Sheet:
    """A commercial invoice: American, British or of the euro zone."""
    sign, currency, rate, tax_word = (
        ("$", "USD", 8, "Sales Tax"),
        ("£", "GBP", 20, "VAT"),
        ("€", "EUR", 19, "VAT"),
    )[layout]
    seller, buyer = rng.sample(EN_FIRMS, 2)
    made = bill(rng, rng.sample(EN_GOODS, rng.randint(1, 3)), rate, 400)
    day = past(rng)
    said = (f"{day:%b} {day.day}, {day.year}", f"{day.day} {day:%B %Y}", f"{day:%d-%b-%Y}")[layout]
    due = day + timedelta(days=30)
    number = (
        f"INV-{day.year}-{figures(rng, 4)}",
        f"SI{figures(rng, 6)}",
        f"{day.year}/{figures(rng, 5)}",
    )[layout]
    gross = made.net + made.tax
    truth: Truth = {
        "number": number,
        "date": day.isoformat(),
        "amount": money(gross, currency),
        "tax": money(made.tax, currency),
        "seller": seller,
        "buyer": buyer,
        "item": made.lines[0][0],
    }
    sheet = Sheet("invoice", "en", truth, layout=f"english {layout}")
    sheet.put(40, 40, seller, 16)
    sheet.put(40, 62, f"{rng.randint(1, 99)} Station Road")
    sheet.put(400, 40, ("INVOICE", "VAT INVOICE", "Invoice")[layout], 20)
    heads = (
        (
            ("Invoice #:", number),
            ("Invoice Date:", said),
            ("Due Date:", f"{due:%b} {due.day}, {due.year}"),
        ),
        (("Invoice No", number), ("Date", said), ("Due date", f"{due.day} {due:%B %Y}")),
        (
            ("Invoice number:", number),
            ("Date of issue:", said),
            ("Payment due:", f"{due:%d-%b-%Y}"),
        ),
    )[layout]
    for at, (head, value) in enumerate(heads):
        sheet.put(380, 80 + 16 * at, head)
        sheet.put(480, 80 + 16 * at, value)
    sheet.put(40, 110, ("Bill To:", "Invoice to", "Customer:")[layout])
    sheet.put(40, 126, buyer)
    sheet.put(40, 140, f"{rng.randint(1, 99)} High Street")
    xs, heads2 = (40, 330, 430, 540), ("Description", "Qty", "Unit Price", "Amount")
    for x, head in zip(xs, heads2, strict=True):
        sheet.put(x, 190, head, right=x > 40)
    y = 190.0
    for name, count, price, net, _ in made.lines:
        y += 18
        for x, cell in zip(xs, (name, str(count), f"{price:,.2f}", f"{net:,.2f}"), strict=True):
            sheet.put(x, y, cell, right=x > 40)
    rows = (
        ("Subtotal", made.net),
        (f"{tax_word} ({rate}%)", made.tax),
        (("Total Due", "Total", "Amount due")[layout], gross),
    )
    for at, (head, amount) in enumerate(rows):
        sheet.put(380, y + 30 + 16 * at, head)
        sheet.put(540, y + 30 + 16 * at, f"{sign}{amount:,.2f}", right=True)
    sheet.put(40, y + 110, "Payment terms: 30 days net. Thank you for your business.")
    return sheet


def train_ticket(rng: random.Random, layout: int) -> Sheet:
    """A blue paper ticket, an electronic one, a British one."""
    if layout == 2:
        return british_ticket(rng)
    start, end = rng.sample(STATIONS, 2)
    day, price, name = past(rng), cents(rng, 20, 900).quantize(Decimal("0.1")), person(rng)
    number = (
        ("Z" + figures(rng, 2) + "F" + figures(rng, 6))
        if layout == 0
        else f"{day:%y}{rng.choice((11, 31, 44))}" + figures(rng, 16)
    )
    truth: Truth = {
        "number": number,
        "date": day.isoformat(),
        "amount": money(price),
        "from": start + "站",
        "to": end + "站",
        "passenger": name,
    }
    sheet = Sheet("train_ticket", "zh", truth, 340, 215, layout=("paper", "electronic")[layout])
    train, clock = (
        f"{rng.choice('GDCZ')}{rng.randint(1, 999)}",
        f"{rng.randint(6, 22):02}:{rng.randint(0, 59):02}",
    )
    hidden = f"{figures(rng, 10)}****{figures(rng, 4)}"
    seat = f"{rng.randint(1, 16):02}车{rng.randint(1, 18):02}{rng.choice('ABCDF')}号"
    top = 30.0
    if layout == 0:
        sheet.put(15, 10, number, 11)
        sheet.put(240, 12, f"检票:{rng.randint(1, 20)}{rng.choice('AB')}", 9)
    else:
        top = 55
        sheet.put(105, 8, "电子发票（铁路电子客票）", 11)
        issued = day + timedelta(days=rng.randint(1, 9))
        sheet.put(12, 32, f"发票号码:{number}", 8)
        sheet.put(215, 32, f"开票日期:{zh_day(issued)}", 8)
        sheet.code, sheet.code_at = (
            f"01,51,,{number},{price:.2f},{issued:%Y%m%d},,{figures(rng, 4)}",
            (270, 130, 55),
        )
    sheet.put(20, top, f"{start}站", 15)
    sheet.put(150, top + 2, train, 13)
    sheet.put(225, top, f"{end}站", 15)
    sheet.put(20, top + 27, f"{zh_day(day)} {clock}开", 10)
    sheet.put(200, top + 27, f"{seat}   {rng.choice(('二等座', '一等座'))}", 10)
    sheet.put(20, top + 47, f"¥{price}元" if layout == 0 else f"票价:¥{price:.2f}", 11)
    if layout == 0:
        sheet.put(20, top + 67, "限乘当日当次车", 9)
    sheet.put(20, top + 88, f"{hidden} {name}" if layout == 0 else hidden, 11)
    if layout:
        sheet.put(160, top + 88, name, 11)
        sheet.put(20, top + 108, f"电子客票号:{figures(rng, 21)}", 8)
        sheet.put(20, top + 124, f"购买方名称:{firm(rng)}", 8)
    else:
        sheet.put(20, top + 120, f"{figures(rng, 14)} {rng.choice(STATIONS)}售", 8)
        sheet.code, sheet.code_at = figures(rng, 60), (270, 130, 55)
    return sheet


def british_ticket(rng: random.Random) -> Sheet:
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
    sheet = Sheet("train_ticket", "en", truth, 360, 260, layout="british")
    sheet.put(110, 14, "RAIL E-TICKET", 14)
    rows = (
        ("Ticket No", number),
        ("Passenger", name),
        ("From", start),
        ("To", end),
        ("Travel date", f"{day:%d %b %Y}"),
        ("Departs", f"{rng.randint(6, 22):02}:{rng.randint(0, 59):02}"),
        ("Coach / Seat", f"{rng.choice('ABCD')} / {rng.randint(1, 70)}"),
        ("Fare", f"£{price:.2f}"),
    )
    for at, (head, said) in enumerate(rows):
        sheet.put(25, 48 + 22 * at, head, 10)
        sheet.put(140, 48 + 22 * at, said, 10)
    issued = day - timedelta(days=rng.randint(1, 20))
    sheet.put(25, 235, f"Booked on {issued:%d %b %Y}", 8)
    return sheet


def taxi_receipt(rng: random.Random, layout: int) -> Sheet:
    """Two slips of Chinese taximeters, one of an English one."""
    day, kilometres = past(rng), Decimal(rng.randint(20, 420)) / 10
    start = rng.randint(6 * 60, 22 * 60)
    ride = (f"{start // 60:02}:{start % 60:02}", f"{(start + 25) // 60:02}:{(start + 25) % 60:02}")
    if layout == 2:
        fare, tip = cents(rng, 8, 80), cents(rng, 1, 9)
        truth: Truth = {"date": day.isoformat(), "amount": money(fare + tip, "USD")}
        sheet = Sheet("taxi_receipt", "en", truth, 200, 300, layout="english")
        sheet.put(45, 14, "CITY TAXI RECEIPT", 11)
        rows = [
            ("Date", f"{day:%b %d, %Y}"),
            ("Medallion", f"{figures(rng, 1)}K{figures(rng, 2)}"),
            ("Pick up", ride[0]),
            ("Drop off", ride[1]),
            ("Distance", f"{kilometres} mi"),
            ("Fare", f"${fare:.2f}"),
            ("Tip", f"${tip:.2f}"),
            ("Total", f"${fare + tip:.2f}"),
        ]
    else:
        price = Decimal(rng.randint(110, 1500)) / 10
        truth = {"date": day.isoformat(), "amount": money(price)}
        city = rng.choice(CITIES)
        sheet = Sheet("taxi_receipt", "zh", truth, 190, 330, layout=("meter", "hailed")[layout])
        sheet.put(
            30, 12, f"{city}市出租汽车专用发票" if layout == 0 else f"{city}出租车机打发票", 11
        )
        heads = (
            ("日期", "上车", "下车", "单价", "里程", "等候", "金额")
            if layout == 0
            else (
                "乘车日期",
                "上车时间",
                "下车时间",
                "单价(元/公里)",
                "里程(公里)",
                "低速等候",
                "实收金额",
            )
        )
        said_day = f"{day:%Y-%m-%d}" if layout == 0 else zh_day(day)
        unit = (
            ("2.30元", f"{kilometres}km", "00:02:11", f"￥{price:.2f}元")
            if layout == 0
            else ("2.50", f"{kilometres}", "00:03:20", f"{price:.2f}元")
        )
        rows = [
            ("发票代码", "1" + figures(rng, 11)),
            ("发票号码", figures(rng, 8)),
            ("车号", f"{rng.choice('京沪浙苏川')}B{rng.choice('TXY')}{figures(rng, 4)}"),
            ("证号", figures(rng, 6)),
            *zip(heads, (said_day, *ride, *unit), strict=True),
        ]
    for at, (head, said) in enumerate(rows):
        sheet.put(18, 42 + 23 * at, head, 10)
        sheet.put(172, 42 + 23 * at, said, 10, right=True)
    return sheet


def hotel_folio(rng: random.Random, layout: int) -> Sheet:
    """A Chinese folio, one in both languages, an English one: with payments and a balance."""
    arrival, nights, rate = past(rng) - timedelta(days=6), rng.randint(1, 5), cents(rng, 150, 900)
    departure = arrival + timedelta(days=nights)
    extra = cents(rng, 10, 120)
    total = rate * nights + extra
    city = rng.choice(CITIES)
    house = f"{city}{rng.choice(('湖滨', '金陵', '云水', '锦江', '如意'))}{rng.choice(('大酒店', '宾馆', '国际饭店', '酒店'))}"
    if layout == 2:
        house = rng.choice(EN_HOTELS)
    currency = "USD" if layout == 2 else "CNY"
    truth: Truth = {
        "date": departure.isoformat(),
        "amount": money(total, currency),
        "seller": house,
    }
    sheet = Sheet(
        "hotel_folio",
        "en" if layout == 2 else "zh",
        truth,
        420,
        560,
        layout=("chinese", "both", "english")[layout],
    )
    sheet.put(110, 20, house, 15)
    guest = rng.choice(EN_NAMES) if layout == 2 else person(rng)
    words = (
        (
            "宾客账单",
            "宾客姓名：",
            "房号：",
            "入住日期：",
            "离店日期：",
            "日期",
            "项目",
            "消费",
            "付款",
            "房费",
            "餐饮",
            "消费合计",
            "余额",
        ),
        (
            "宾客账单 Guest Folio",
            "宾客 Guest:",
            "房号 Room:",
            "到店 Arrival:",
            "离店 Departure:",
            "日期 Date",
            "项目 Item",
            "消费 Charges",
            "付款 Payments",
            "房费 Room charge",
            "餐厅 Restaurant",
            "合计 Total",
            "余额 Balance",
        ),
        (
            "GUEST FOLIO",
            "Guest:",
            "Room:",
            "Arrival:",
            "Departure:",
            "Date",
            "Description",
            "Charges",
            "Credits",
            "Room charge",
            "Minibar",
            "Total charges",
            "Balance",
        ),
    )[layout]
    said = (lambda d: f"{d:%b} {d.day}, {d.year}") if layout == 2 else (lambda d: f"{d:%Y-%m-%d}")
    sheet.put(160, 50, words[0], 12)
    for at, (head, value) in enumerate(
        zip(
            words[1:5],
            (guest, str(rng.randint(301, 2150)), said(arrival), said(departure)),
            strict=True,
        )
    ):
        x = 30 + 195 * (at % 2)
        sheet.put(x, 85 + 20 * (at // 2), head, 10)
        sheet.put(x + (100 if layout else 70), 85 + 20 * (at // 2), value, 10)
    for x, head in zip((30, 130, 300, 390), words[5:9], strict=True):
        sheet.put(x, 145, head, 10, right=x > 200)
    y = 145.0
    sign = "$" if layout == 2 else ""
    for night in range(nights):
        y += 18
        sheet.put(30, y, said(arrival + timedelta(days=night)), 10)
        sheet.put(130, y, words[9], 10)
        sheet.put(300, y, f"{sign}{rate:.2f}", 10, right=True)
    y += 18
    sheet.put(30, y, said(departure), 10)
    sheet.put(130, y, words[10], 10)
    sheet.put(300, y, f"{sign}{extra:.2f}", 10, right=True)
    y += 18
    sheet.put(30, y, said(departure), 10)
    sheet.put(130, y, "Visa ****1234" if layout == 2 else "微信支付", 10)
    sheet.put(390, y, f"{sign}{total:.2f}", 10, right=True)
    sheet.put(130, y + 28, words[11], 11)
    sheet.put(300, y + 28, f"{sign or '¥'}{total:.2f}", 11, right=True)
    sheet.put(130, y + 48, words[12], 11)
    sheet.put(300, y + 48, f"{sign or '¥'}0.00", 11, right=True)
    sheet.put(30, y + 90, "宾客签名：" if layout < 2 else "Guest signature:", 9)
    return sheet


def receipt(rng: random.Random, layout: int) -> Sheet:
    """Receipts: a supermarket's, a restaurant's with a discount, an American and a British shop's."""
    return (_supermarket, _restaurant, _american, _british)[layout](rng)


def _bought(
    rng: random.Random, goods: tuple[str, ...], most: int
) -> list[tuple[str, int, Decimal]]:
    return [
        (name, rng.randint(1, 3), cents(rng, 2, most))
        for name in rng.sample(goods, rng.randint(2, 5))
    ]


def _slip(sheet: Sheet, rows: list[tuple[str, str]], y: float, size: float = 10) -> float:
    for head, said in rows:
        y += 17
        sheet.put(14, y, head, size)
        if said:
            sheet.put(sheet.width - 14, y, said, size, right=True)
    sheet.height = y + 40
    return y


def _supermarket(rng: random.Random) -> Sheet:
    day, bought = past(rng), _bought(rng, GOODS, 45)
    total = sum((count * price for _, count, price in bought), Decimal(0))
    cash = (total / 50).to_integral_value(rounding="ROUND_UP") * 50
    sheet = Sheet(
        "receipt",
        "zh",
        {"date": day.isoformat(), "amount": money(total)},
        220,
        layout="supermarket",
    )
    sheet.put(50, 12, f"{rng.choice(CITIES)}华联超市", 13)
    rows = [
        (f"收银员:{figures(rng, 4)}", f"单号:{figures(rng, 8)}"),
        (f"日期:{day:%Y-%m-%d} 1{rng.randint(0, 9)}:{rng.randint(10, 59)}", ""),
        ("品名 数量 单价", "小计"),
    ]
    rows += [
        (f"{name} {count} {price:.2f}", f"{count * price:.2f}") for name, count, price in bought
    ]
    rows += [
        ("合计:", f"{total:.2f}"),
        ("实收(现金):", f"{cash:.2f}"),
        ("找零:", f"{cash - total:.2f}"),
        ("谢谢惠顾 欢迎再次光临", ""),
    ]
    _slip(sheet, rows, 24)
    return sheet


def _restaurant(rng: random.Random) -> Sheet:
    day, bought = past(rng), _bought(rng, DISHES, 90)
    total = sum((count * price for _, count, price in bought), Decimal(0))
    less = cents(rng, 1, 9)
    sheet = Sheet(
        "receipt",
        "zh",
        {"date": day.isoformat(), "amount": money(total - less)},
        230,
        layout="restaurant",
    )
    sheet.put(55, 12, f"{rng.choice(('老王', '江南', '蜀香', '海底'))}饭庄结账单", 13)
    rows = [
        (f"桌号: A{rng.randint(1, 30):02}  人数: {rng.randint(1, 8)}", ""),
        (f"开台时间: {day:%Y/%m/%d} 18:{rng.randint(10, 59)}", ""),
        ("菜品", "金额"),
    ]
    rows += [(f"{name} x{count}", f"{count * price:.2f}") for name, count, price in bought]
    rows += [
        ("消费合计", f"¥{total:.2f}"),
        ("优惠金额", f"-¥{less:.2f}"),
        ("实付金额", f"¥{total - less:.2f}"),
        ("支付方式: 微信支付", ""),
    ]
    _slip(sheet, rows, 24)
    return sheet


def _american(rng: random.Random) -> Sheet:
    day, bought = past(rng), _bought(rng, EN_GOODS, 20)
    net = sum((count * price for _, count, price in bought), Decimal(0))
    tax = (net * 8 / 100).quantize(_CENT, ROUND_HALF_UP)
    sheet = Sheet(
        "receipt",
        "en",
        {"date": day.isoformat(), "amount": money(net + tax, "USD")},
        230,
        layout="american",
    )
    sheet.put(60, 12, rng.choice(EN_SHOPS), 13)
    cash = ((net + tax) / 20).to_integral_value(rounding="ROUND_UP") * 20
    rows = [
        (f"{day:%b %d, %Y}  {rng.randint(1, 11)}:{rng.randint(10, 59)} PM", f"#{figures(rng, 5)}")
    ]
    rows += [(f"{count} x {name}", f"{count * price:.2f}") for name, count, price in bought]
    rows += [
        ("SUBTOTAL", f"${net:.2f}"),
        ("TAX 8%", f"${tax:.2f}"),
        ("TOTAL", f"${net + tax:.2f}"),
        ("CASH", f"${cash:.2f}"),
        ("CHANGE", f"${cash - net - tax:.2f}"),
        ("THANK YOU! COME AGAIN", ""),
    ]
    _slip(sheet, rows, 24)
    return sheet


def _british(rng: random.Random) -> Sheet:
    day, bought = past(rng), _bought(rng, EN_GOODS, 15)
    total = sum((count * price for _, count, price in bought), Decimal(0))
    sheet = Sheet(
        "receipt",
        "en",
        {"date": day.isoformat(), "amount": money(total, "GBP")},
        230,
        layout="british",
    )
    sheet.put(60, 12, rng.choice(EN_SHOPS), 13)
    rows = [
        (f"Receipt {figures(rng, 5)}", ""),
        (f"Date: {day:%d %b %Y} 12:{rng.randint(10, 59)}", ""),
    ]
    rows += [
        (f"{name} {count} @ {price:.2f}", f"{count * price:.2f}") for name, count, price in bought
    ]
    rows += [
        ("Total to pay", f"£{total:.2f}"),
        ("VISA Debit ****" + figures(rng, 4), f"£{total:.2f}"),
        ("Includes VAT", f"£{total / 6:.2f}"),
        ("Thank you", ""),
    ]
    _slip(sheet, rows, 24)
    return sheet


def medical_certificate(rng: random.Random, layout: int) -> Sheet:
    """Chinese notes with a range and with a length alone from a day on, and two English ones."""
    if layout >= 2:
        return english_note(rng, layout)
    begin, length, name = past(rng), rng.randint(1, 14), person(rng)
    end = begin + timedelta(days=length - 1)
    truth: Truth = {"date": begin.isoformat(), "days": str(length), "name": name}
    sheet = Sheet("medical_certificate", "zh", truth, 420, 300, layout=("range", "from")[layout])
    sheet.put(110, 16, f"{rng.choice(CITIES)}市第{rng.choice('一二三')}人民医院", 14)
    sheet.put(140, 42, ("疾病诊断证明书", "病假证明书")[layout], 13)
    sex, age = rng.choice("男女"), rng.randint(22, 58)
    illness = rng.choice(("上呼吸道感染", "急性肠胃炎", "腰肌劳损", "发热待查"))
    if layout == 0:
        sheet.put(30, 80, f"姓名：{name}", 11)
        sheet.put(160, 80, f"性别：{sex}", 11)
        sheet.put(270, 80, f"年龄：{age}岁", 11)
        sheet.put(30, 110, f"临床诊断：{illness}", 11)
        sheet.put(30, 140, f"处理意见：建议休息{length}天", 11)
        sheet.put(30, 165, f"（{zh_day(begin)}至{zh_day(end)}）", 11)
    else:
        sheet.put(30, 85, f"兹证明患者 {name}，{sex}，{age}岁，因{illness}就诊。", 11)
        said = "零一二三四五六七八九十"[length] if length <= 10 else "十" + "一二三四"[length - 11]
        sheet.put(30, 115, f"建议自{zh_day(begin)}起全休{said}天。", 11)
    sheet.put(230, 215, f"医师签名：{person(rng)}", 11)
    sheet.put(230, 240, f"开具日期：{zh_day(begin)}", 11)
    return sheet


def english_note(rng: random.Random, layout: int) -> Sheet:
    begin, length, name = past(rng), rng.randint(1, 10), rng.choice(EN_NAMES)
    end = begin + timedelta(days=length - 1)
    truth: Truth = {"date": begin.isoformat(), "days": str(length), "name": name}
    sheet = Sheet(
        "medical_certificate", "en", truth, 440, 300, layout=("prose", "form")[layout - 2]
    )
    sheet.put(130, 16, "St. Mary Clinic", 14)
    plural = "s" if length > 1 else ""
    if layout == 2:
        sheet.put(140, 44, "MEDICAL CERTIFICATE", 12)
        sheet.put(30, 85, f"This is to certify that {rng.choice(('Mr', 'Ms'))} {name}", 11)
        sheet.put(30, 107, f"is unfit for work for {length} day{plural}", 11)
        sheet.put(30, 129, f"from {begin.day} {begin:%B %Y} to {end.day} {end:%B %Y}.", 11)
        sheet.put(30, 220, f"Date of issue: {begin.day} {begin:%B %Y}", 10)
    else:
        sheet.put(160, 44, "SICK NOTE", 12)
        rows = (
            ("Patient name:", name),
            ("Diagnosis:", "influenza"),
            ("Unfit for work from:", f"{begin:%d-%b-%Y}"),
            ("Days of rest:", f"{length} day{plural}"),
        )
        for at, (head, said) in enumerate(rows):
            sheet.put(30, 85 + 24 * at, head, 11)
            sheet.put(190, 85 + 24 * at, said, 11)
    sheet.put(270, 245, f"Dr. {rng.choice(EN_NAMES)}", 10)
    return sheet


Recipe = tuple[str, Callable[[random.Random, int], Sheet], int]
"""What it is for, what draws it, and in how many layouts."""
PICTURED: tuple[tuple[Callable[[random.Random, int], Sheet], int, int], ...] = (
    (digital_invoice, 2, 16),
    (older_invoice, 2, 10),
    (english_invoice, 3, 12),
    (train_ticket, 3, 36),
    (taxi_receipt, 3, 30),
    (hotel_folio, 3, 30),
    (receipt, 4, 44),
    (medical_certificate, 4, 32),
)
"""What is drawn as a picture, in how many layouts, and how many of it."""
WRITTEN: tuple[tuple[Callable[[random.Random, int], Sheet], int, tuple[str, ...], int], ...] = (
    (digital_invoice, 2, ("pdf", "ofd", "xml"), 8),
    (older_invoice, 2, ("pdf", "ofd"), 6),
    (english_invoice, 3, ("pdf",), 10),
    (hotel_folio, 3, ("pdf",), 6),
    (train_ticket, 3, ("pdf",), 6),
)
"""What is written as files with text: layouts, formats, and how many of each."""


@dataclass(frozen=True)
class Example:
    """One document of the set."""

    name: str
    sheet: Sheet
    format: str
    damage: str
    seed: int
    held_out: bool


def examples(damages: tuple[str, ...]) -> Iterator[Example]:
    """All of them, in their order; the same whenever and wherever."""
    for draw, layouts, formats, count in WRITTEN:
        for each in formats:
            for number in range(count):
                yield _example(draw, layouts, each, "", number)
    shift = 0
    for draw, layouts, count in PICTURED:
        for number in range(count):
            # Pairs of one kind of damage, so that both halves have each.
            yield _example(
                draw, layouts, "picture", damages[(number // 2 + shift) % len(damages)], number
            )
        shift += 3


def _example(
    draw: Callable[[random.Random, int], Sheet],
    layouts: int,
    written: str,
    damage: str,
    number: int,
) -> Example:
    name = f"{draw.__name__}-{written}-{number:02}"
    seed = random.Random(f"{SEED} {name}").getrandbits(48)
    sheet = draw(random.Random(seed), number // 2 % layouts)
    return Example(name, sheet, written, damage, seed, held_out=bool(number % 2))
