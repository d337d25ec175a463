"""Hotel folios: what a stay cost, until when it was, and which house it was in.

The balance is nought once it was paid, and payments stand below zero or in a column of their own:
what a stay cost is the total of its charges.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from router.documents.document_type import DocumentType, document_type
from router.documents.labels import (
    Beside,
    Clue,
    PageLayout,
    Trust,
    label,
    likelihood,
    settled_fields,
)
from router.documents.page import Material
from router.documents.problems import common
from router.documents.values import PrintedAmount, amounts, days
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised

WORDS = {
    "酒店|宾馆|饭店|民宿|客栈": 0.25,
    "房号|房间|房费|房型": 0.3,
    "离店|退房": 0.35,
    "入住|到店|抵店": 0.25,
    "宾客|账单|结账单|水单": 0.25,
    r"(?<![a-z])(?:hotel|inn|resort|suites|lodge)(?![a-z])": 0.25,
    r"(?<![a-z])(?:guest )?folio(?![a-z])": 0.45,
    r"(?<![a-z])(?:room|room charge|nights?)(?![a-z])": 0.2,
    r"(?<![a-z])(?:departure|check ?-?out)(?![a-z])": 0.3,
    r"(?<![a-z])(?:arrival|check ?-?in)(?![a-z])": 0.2,
    "铁路|车次|检票|上车|下车|增值税|价税合计|电子发票": -0.7,
    r"(?<![a-z])(?:train|taxi|coach|seat)(?![a-z])": -0.5,
}
"""What tells of a folio."""

_DEPARTURE = label(
    "离店日期", "离店时间", "离店", "退房日期", "退房时间", "退房", "departure date", "departure",
    "check out", "checkout", "check out date", "departed",
)  # fmt: skip
_STAY = re.compile("入住日期|住宿日期|入离日期|(?<![a-z])(?:stay|dates|period)(?![a-z])")
_TOTAL = label(
    "消费合计", "费用合计", "消费总额", "合计", "总计", "总额", "应收合计", "应付", "消费金额",
    "total charges", "total amount", "grand total", "total due", "charges total",
)  # fmt: skip
_PLAIN_TOTAL = re.compile(
    r"(?<![a-z])(?<!sub)(?<!sub )total"
    r"(?! ?(?:payments?|credits?|nights?|balance|tax|vat|paid|guests))(?![a-z])"
)
_PAID = re.compile(
    "付款|已付|实收|预授权|押金|(?<![a-z])(?:payments?|paid|visa|mastercard|card)(?![a-z])"
)
_SELLER = label("酒店名称", "销售方", "收款单位", "hotel name", "property", "hotel")
_HOUSE = re.compile(
    "[\u3400-\u9fffA-Za-z0-9·()（） ]{2,40}(?:酒店|宾馆|饭店|民宿|客栈|旅馆|大厦|公寓)"
    "(?:[(（][\u3400-\u9fff]{2,12}[)）])?(?:有限公司)?"
)
_EN_HOUSE = re.compile(r"(?<![a-z])(?:hotels?|inn|resort|suites|lodge|hostel)(?![a-z])")
_NOT_A_HOUSE = re.compile(
    "账单|结账单|水单|宾客|感谢|欢迎|folio|thank|welcome|invoice|bill|receipt|address|signature",
    re.IGNORECASE,
)


@document_type
class HotelFolio(DocumentType):
    """A hotel's bill for a stay."""

    name = "hotel_folio"
    label = Localised(zh="酒店账单", en="hotel folio")
    fields = {
        "date": Localised(zh="离店日期", en="date of departure"),
        "amount": Localised(zh="消费合计", en="total of charges"),
        "seller": Localised(zh="酒店", en="hotel"),
    }

    def likelihood(self, material: Material) -> float:
        """By its words."""
        return likelihood(PageLayout(material), WORDS)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """Its fields, as far as they are found."""
        del today
        form = PageLayout(material)
        return settled_fields(
            {
                "date": _dates(form),
                "amount": _amounts(form),
                "seller": _sellers(form),
            }
        )

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """A departure to come, and a specimen."""
        return list(common(fields, PageLayout(material), today))


def _dates(form: PageLayout) -> Iterator[Clue]:
    currency = form.currency
    for found in form.beside(_DEPARTURE, lambda text: days(text, currency)[:1]):
        yield Trust(0.94, 0.87).day(found)
    for found in form.beside(_STAY, lambda text: days(text, currency)[1:2]):
        yield Trust(0.8, 0.75, "stay").day(found)
    if form.first(_DEPARTURE) is None:
        every = [
            Beside(day, cell, cell, "")
            for cell in form.cells[:200]
            for day in days(cell.text, currency)[:2]
        ]
        if every:
            last = max(every, key=lambda found: found.value.value)
            yield Trust(0.45, 0.4, "last").day(last)


def _amounts(form: PageLayout) -> Iterator[Clue]:
    found = [
        each
        for words in (_TOTAL, _PLAIN_TOTAL)
        for each in form.beside(words, _charge)
        if not _PAID.search(each.label.plain)
    ]
    for each in found:
        yield Trust(0.92, 0.83).money(each, form)
    if not found:
        yield from _charges(form)
    charged = {each.value.value for each in found}
    # What was paid in the end is what it cost: that agrees, or it says nothing.
    for cell, _ in form.hits(_PAID):
        for one in form.row(cell):
            for amount in amounts(one.text):
                if abs(amount.value) in charged and one.text not in {e.cell.text for e in found}:
                    positive = PrintedAmount(abs(amount.value), amount.currency, amount.mended)
                    yield Trust(0.6, 0.6, "paid").money(Beside(positive, one, cell, ""), form)


def _charges(form: PageLayout) -> Iterator[Clue]:
    """What was paid, where that is the sum of everything else: a folio without a total."""
    every = [
        Beside(PrintedAmount(abs(amount.value), amount.currency, amount.mended), cell, cell, "")
        for cell in form.cells[:400]
        for amount in amounts(cell.text)
        if amount.is_marked and amount.value
    ]
    if not every:
        return
    greatest = max(every, key=lambda each: each.value.value)
    rest = sum((each.value.value for each in every), Decimal(0)) - greatest.value.value
    if rest == greatest.value.value:
        yield Trust(0.85, 0.8, "sum").money(greatest, form)


def _charge(text: str) -> list[PrintedAmount]:
    """The first amount above nought: charges stand before payments."""
    return [a for a in amounts(text) if a.value > 0 and a.is_marked][:1]


def _sellers(form: PageLayout) -> Iterator[Clue]:
    for found in form.beside(_SELLER, _house)[:1]:
        yield Trust(0.85, 0.75).reading(found, found.value)
    for cell in form.cells[:8]:
        for name in _house(cell.text):
            yield Trust(0.9, 0.82, "top").reading(Beside(name, cell, cell, ""), name)
            return


def _house(text: str) -> list[str]:
    found = _HOUSE.search(text)
    if found is not None:
        return [found[0].strip()]
    shortest, longest = 5, 60
    english = _EN_HOUSE.search(text.lower()) and not _NOT_A_HOUSE.search(text)
    return [text.strip(" :")] if english and shortest <= len(text) <= longest else []
