"""A document before it is a file, and the names, numbers and prices that such are drawn with.

Nothing of it is anybody's.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

TODAY = date(2026, 11, 25)
Truth = dict[str, object]
Rows = Iterable[tuple[str, str]]

CITIES = [
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
]
STATIONS = [
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
]
FIRMS = [
    "星河科技有限公司",
    "远景餐饮管理有限公司",
    "同创信息技术有限公司",
    "百合酒店管理有限公司",
    "通达物流有限公司",
    "明日办公用品有限公司",
    "云帆咨询有限公司",
    "东湖商贸有限公司",
]
SURNAMES = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"
GIVEN = "伟芳娜敏静强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉萍"
GOODS = ["矿泉水", "面包", "牛奶", "苹果", "洗衣液", "纸巾", "咖啡", "酸奶", "巧克力", "牙膏"]
DISHES = [
    "宫保鸡丁",
    "番茄炒蛋",
    "清蒸鲈鱼",
    "米饭",
    "酸辣土豆丝",
    "紫菜蛋花汤",
    "红烧肉",
    "凉拌黄瓜",
]
EN_FIRMS = [
    "Northwind Supplies Ltd",
    "Bluebird Software Inc.",
    "Harbour Print Co.",
    "Oakfield Catering LLC",
    "Summit Consulting Ltd",
    "Riverside Tools Inc.",
]
EN_NAMES = [
    "Emma Clark",
    "James Wilson",
    "Olivia Brown",
    "Liam Turner",
    "Sophia Evans",
    "Noah Harris",
    "Ava Martin",
    "Lucas White",
]
EN_GOODS = [
    "Espresso",
    "Club Sandwich",
    "Orange Juice",
    "Notebook A5",
    "USB Cable",
    "Salad Bowl",
    "Muffin",
    "Batteries AA",
]
EN_SHOPS = ["CORNER MARKET", "GREEN LEAF CAFE", "CITY BOOKS", "QUICK STOP", "HARVEST KITCHEN"]


@dataclass(frozen=True)
class Text:
    """A piece of text: its left and top edge and its size in points; `right` is its right edge."""

    x: float
    y: float
    text: str
    size: float = 9
    right: bool = False


@dataclass
class Sheet:
    """A document before it is a file; `truth` is what a reader should find on it."""

    kind: str
    locale: str
    truth: Truth
    width: float = 595
    height: float = 842
    layout: str = ""
    texts: list[Text] = field(default_factory=list)
    code: str | None = None
    code_at: tuple[float, float, float] = (30, 20, 70)
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)

    def put(self, x: float, y: float, text: str, size: float = 9, *, right: bool = False) -> None:
        self.texts.append(Text(x, y, text, size, right))

    def box(self, left: float, top: float, right: float, bottom: float) -> None:
        self.rules += [(left, top, right, top), (left, bottom, right, bottom)]
        self.rules += [(left, top, left, bottom), (right, top, right, bottom)]

    def pairs(
        self, rows: Rows, at: tuple[float, float], across: float, down: float, size: float = 9
    ) -> float:
        """Labels with their values so far to the right of them; the last one's top edge."""
        x, y = at
        for number, (head, said) in enumerate(rows):
            self.put(x, y + down * number, head, size)
            self.put(x + across, y + down * number, said, size)
        return y + down * (len(list(rows)) - 1 if isinstance(rows, list | tuple) else 0)

    def slip(self, rows: Rows, y: float, down: float = 17, size: float = 10) -> float:
        """Rows with their values at the right edge; the page ends below the last one."""
        for head, said in rows:
            y += down
            self.put(14, y, head, size)
            if said:
                self.put(self.width - 14, y, said, size, right=True)
        self.height = y + 40
        return y


def money(amount: Decimal, currency: str = "CNY") -> dict[str, str]:
    return {"amount": f"{amount:.2f}", "currency": currency}


def cents(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randint(low * 100, high * 100)) / 100


def past(rng: random.Random) -> date:
    return TODAY - timedelta(days=rng.randint(1, 320))


def clock(rng: random.Random) -> str:
    return f"{rng.randint(10, 22)}:{rng.randint(10, 59)}"


def person(rng: random.Random) -> str:
    return rng.choice(SURNAMES) + "".join(rng.sample(GIVEN, rng.randint(1, 2)))


def firm(rng: random.Random) -> str:
    return rng.choice(CITIES) + rng.choice(FIRMS)


def figures(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("0123456789", k=length))


def zh_day(day: date) -> str:
    return f"{day:%Y年%m月%d日}"


def en_day(day: date) -> str:
    return f"{day:%b} {day.day}, {day.year}"


def capitals(amount: Decimal) -> str:
    """An amount in capital characters, as invoices write it."""
    whole, rest = divmod(int(amount * 100), 100)
    said = ""
    for myriad, name in ((whole // 10_000, "万"), (whole % 10_000, "")):
        if part := _thousands(myriad, filled=bool(said)):
            said += part + name
    digit = "零壹贰叁肆伍陆柒捌玖"
    jiao, fen = divmod(rest, 10)
    tenths = digit[jiao] + "角" if jiao else "零" if fen else ""
    return f"{said}圆{tenths + (digit[fen] + '分' if fen else '') or '整'}"


def _thousands(number: int, *, filled: bool) -> str:
    said, gap = "", False
    for place, unit in enumerate(("仟", "佰", "拾", "")):
        one = number // 10 ** (3 - place) % 10
        if one:
            said += ("零" if gap and (said or filled) else "") + "零壹贰叁肆伍陆柒捌玖"[one] + unit
        gap = not one
    return said


def bought(rng: random.Random, goods: list[str], most: int) -> list[tuple[str, int, Decimal]]:
    """Some goods with their number and price."""
    return [
        (name, rng.randint(1, 3), cents(rng, 2, most))
        for name in rng.sample(goods, rng.randint(2, 5))
    ]


def total(goods: list[tuple[str, int, Decimal]]) -> Decimal:
    return sum((count * price for _, count, price in goods), Decimal(0))
