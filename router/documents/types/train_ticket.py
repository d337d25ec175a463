"""Train tickets: the blue and red paper ones, and electronic railway tickets (铁路电子客票).

The date is the journey's, which has a time and `开` behind it; an electronic one also has the day
on which it was issued. A station stands before 站; who travels, behind a half hidden ID number.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice

from router.documents.document_type import DocumentType, document_type
from router.documents.labels import (
    Beside,
    Clue,
    PageLayout,
    Spot,
    Trust,
    label,
    likelihood,
    settled_fields,
)
from router.documents.page import Material
from router.documents.problems import NUMBER, common
from router.documents.values import PrintedAmount, PrintedDate, amounts, days, folded, long_numbers
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised

WORDS = {
    "铁路电子客票": 0.9,
    "中国铁路|客票|12306": 0.4,
    "检票|车次": 0.3,
    "限乘当日当次车": 0.4,
    "[二一商]等座|硬座|硬卧|软卧|无座|商务座": 0.35,
    r"(?<![a-z])[gdcztky]\d{1,4}(?!\d)": 0.25,
    "[\u3400-\u9fff]{2,6}站": 0.2,
    r"\d车\d{1,3}[a-f]?号": 0.3,
    r"(?<![a-z])(?:rail|railway|train)(?: e-?ticket| ticket)?(?![a-z])": 0.45,
    r"(?<![a-z])(?:coach|seat|platform|carriage|passenger|standard class)(?![a-z])": 0.2,
    r"(?<![a-z])(?:depart(?:s|ure)?|arriv(?:es|al))(?![a-z])": 0.15,
    r"出租|(?<![a-z])taxi(?![a-z])|folio": -0.6,
}
"""What tells of a train ticket."""

_NUMBER = label("发票号码", "电子客票号", "票号", "ticket no", "ticket number", "booking reference",
                "booking ref", "reference")  # fmt: skip
_INVOICE_NUMBER = label("发票号码")
_PRICE = label("票价", "全价", "金额", "fare", "price", "total", "amount", "total paid")
_FROM = label("出发站", "始发站", "发站", "from", "origin")
_TO = label("到达站", "终到站", "到站", "to", "destination")
_PASSENGER = label(
    "旅客姓名", "乘车人", "姓名", "旅客", "passenger", "passenger name", "traveller", "name"
)
_ISSUED = re.compile("开票|发售|打印|(?<![a-z])(?:issued|booked|printed|purchase)")
_TRAVEL = label("乘车日期", "出发时间", "开车时间", "travel date", "date of travel", "departure",
                "departs", "valid on", "date")  # fmt: skip
_OFF = re.compile(r"^\s{0,3}\d{1,2}[:;.]\d{2}\s?(?:开)?")
_STATION = re.compile("(?P<name>[\u3400-\u9fff]{2,6}?) ?站(?!台|名)")
_NO_STATION = re.compile("到达|出发|始发|终到|车站|进站|出站|本站|网站|[发到]$")
_TRAIN = re.compile(r"(?<![A-Za-z0-9])[GDCZTKSY]\d{1,4}(?![\d-])")
_HIDDEN_ID = re.compile(r"\d{4,10}[*xX×※·]{2,10}\d{2,3}[\dXx]?")
_HAN_NAME = re.compile("[\u3400-\u9fff·]{2,12}")
_RED_NUMBER = re.compile(r"(?<![A-Za-z0-9])[A-Z]\d{0,2}[A-Z]?\d{6,7}(?![A-Za-z0-9])")
_EN_NAME = re.compile(
    r"(?:(?:mr|mrs|ms|miss|dr)\.? )?[a-z][a-z'.-]{1,20}(?: [a-z][a-z'.-]{0,20}){1,3}", re.IGNORECASE
)
_DIGITAL = 20


@document_type
class TrainTicket(DocumentType):
    """A train ticket."""

    name = "train_ticket"
    label = Localised(zh="火车票", en="train ticket")
    fields = {
        "number": Localised(zh="票号", en="ticket number"),
        "date": Localised(zh="乘车日期", en="date of the journey"),
        "amount": Localised(zh="票价", en="fare"),
        "from": Localised(zh="出发站", en="from"),
        "to": Localised(zh="到达站", en="to"),
        "passenger": Localised(zh="乘车人", en="passenger"),
    }

    def likelihood(self, material: Material) -> float:
        """By its words, a train's number and a seat's."""
        return likelihood(PageLayout(material), WORDS)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """Its fields, as far as they are found."""
        del today
        form = PageLayout(material)
        stations = _stations(form)
        return settled_fields(
            {
                "number": _numbers(form, material),
                "date": _dates(form),
                "amount": _amounts(form),
                "from": _ends(form, _FROM, stations[:1]),
                "to": _ends(form, _TO, stations[1:2]),
                "passenger": _passengers(form),
            }
        )

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """A specimen, a malformed number. A journey to come is none: tickets are bought before."""
        form = PageLayout(material)
        found = list(common({}, form, today))
        number = fields.get("number")
        digital = form.first(_INVOICE_NUMBER) is not None
        if digital and number is not None and number.is_sure and len(str(number.value)) != _DIGITAL:
            found.append(NUMBER)
        return found


def _numbers(form: PageLayout, material: Material) -> Iterator[Clue]:
    for code in material.codes[:8]:
        parts = folded(code.text).split(",")
        if parts[0] == "01" and len(parts) > 5 and len(parts[3]) == _DIGITAL:  # noqa: PLR2004
            yield Clue(parts[3], "code", 0.97, code.place, "code")
    if form.is_chinese:
        yield from _chinese_numbers(form)
        return
    for found in form.beside(_NUMBER, _word_of_figures):
        yield Trust(0.92, 0.82).reading(found, found.value)


def _chinese_numbers(form: PageLayout) -> Iterator[Clue]:
    labelled = form.beside(_INVOICE_NUMBER, long_numbers) or form.beside(_NUMBER, long_numbers)
    for found in labelled:
        number, mended = found.value
        share = (0.75 if mended else 1.0) * (1.0 if len(number) == _DIGITAL else 0.7)
        yield Trust(0.95, 0.86).reading(found, number, share)
    if not labelled:
        # A paper ticket has its number in red at the top left, without a label.
        for cell in form.cells[:12]:
            for number in _RED_NUMBER.findall(cell.text)[:1]:
                yield Trust(0.85, 0.8, "red").reading(Beside(number, cell, cell, ""), number)


def _word_of_figures(text: str) -> list[str]:
    word = re.match(r"[A-Z0-9-]{5,24}", text.strip(" :#"))
    return [word[0]] if word and any(c.isdigit() for c in word[0]) else []


def _dates(form: PageLayout) -> Iterator[Clue]:
    """The day of the journey: with a time of departure behind it, or by its label."""
    every = [(cell, day) for cell in islice(form.cells, 400) for day in days(cell.text)[:2]]
    travel = [(cell, day) for cell, day in every if _goes_off(form, cell, day)]
    for cell, day in travel:
        yield Trust(0.95, 0.88, "departure").day(Beside(day, cell, cell, ""))
    for found in form.beside(_TRAVEL, lambda text: days(text)[:1]):
        if not _ISSUED.search(found.label.plain):
            yield Trust(0.9, 0.84).day(found)
    rest = [(cell, day) for cell, day in every if not _is_issue(form, cell)]
    only = len({day.value for _, day in rest}) == 1
    for cell, day in rest[:1]:
        yield Trust(0.7 if only else 0.4, 0.65 if only else 0.35, "only").day(
            Beside(day, cell, cell, "")
        )


def _goes_off(form: PageLayout, cell: Spot, day: PrintedDate) -> bool:
    if _OFF.match(cell.text[day.end :].lstrip("日 ")):
        return True
    return any(_OFF.match(other.text) for other in form.right_of(cell)[:2])


def _is_issue(form: PageLayout, cell: Spot) -> bool:
    """True for a day on which a ticket was issued: it says so before it, or to its left."""
    return any(
        _ISSUED.search(one.plain) for one in form.row(cell) if one.place.left <= cell.place.left
    )


def _amounts(form: PageLayout) -> Iterator[Clue]:
    labelled = form.beside(_PRICE, _price)
    for found in labelled:
        yield Trust(0.93, 0.84).money(found, form)
    marked = [
        Beside(amount, cell, cell, "")
        for cell in form.cells[:200]
        for amount in _price(cell.text)
        if amount.currency is not None
    ]
    only = len({found.value.value for found in marked}) == 1
    for found in marked[:1]:
        yield Trust(0.9 if only else 0.5, 0.84 if only else 0.4, "marked").money(found, form)


def _price(text: str) -> list[PrintedAmount]:
    return [amount for amount in amounts(text) if amount.is_marked and amount.value > 0][:1]


def _stations(form: PageLayout) -> list[Beside[str]]:
    """The stations of the journey: left and right of the train's number, or the first two."""
    for cell in form.cells[:200]:
        if _TRAIN.search(cell.text):
            row = [b for one in form.row(cell) for b in _named_stations(one)]
            if len(row) >= 2:  # noqa: PLR2004
                return row[:2]
    every = [found for cell in form.cells[:60] for found in _named_stations(cell)]
    first = every[0] if every else None
    same = [
        found
        for found in every
        if first is not None and abs(found.cell.middle - first.cell.middle) < 2 * first.cell.height
    ]
    return sorted(same, key=lambda found: found.cell.place.left)[:2] if len(same) > 1 else []


def _named_stations(cell: Spot) -> list[Beside[str]]:
    return [
        Beside(found["name"] + "站", cell, cell, "")
        for found in _STATION.finditer(cell.text)
        if not _NO_STATION.search(found[0][:-1])
    ]


def _ends(form: PageLayout, words: re.Pattern[str], found: list[Beside[str]]) -> Iterator[Clue]:
    for one in found:
        yield Trust(0.92, 0.82, "stations").reading(one, one.value)
    for one in form.beside(words, _place_name)[:1]:
        yield Trust(0.9, 0.8).reading(one, one.value)


def _place_name(text: str) -> list[str]:
    station = _STATION.search(text)
    if station is not None:
        return [station["name"] + "站"]
    word = re.match(r"[A-Z][A-Za-z' .&()-]{2,40}", text.strip(" :"))
    return [word[0].strip(" .-")] if word else []


def _passengers(form: PageLayout) -> Iterator[Clue]:
    for found in form.beside(_PASSENGER, _person)[:1]:
        yield Trust(0.92, 0.82).reading(found, found.value)
    for cell in form.cells[:200]:
        hidden = _HIDDEN_ID.search(cell.text)
        if hidden is None:
            continue
        texts = [(cell, cell.text[hidden.end() :])]
        texts += [(other, other.text) for other in form.right_of(cell)[:1]]
        for where, text in texts:
            name = _HAN_NAME.match(text.strip())
            if name:
                yield Trust(0.92, 0.84, "id").reading(Beside(name[0], where, cell, ""), name[0])
                return


def _person(text: str) -> list[str]:
    bare = text.strip(" :")
    han = _HAN_NAME.match(bare)
    if han:
        return [han[0]] if len(han[0]) <= 6 else []  # noqa: PLR2004
    english = _EN_NAME.match(bare)
    return [english[0]] if english and not any(c.isdigit() for c in english[0]) else []
