"""Taxi receipts: slips from a taximeter, and what ride-hailing firms send."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from router.documents.types.receipt import dates
from router.documents.values import PrintedAmount, amounts
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised

WORDS = {
    "出租|的士": 0.6,
    "上车": 0.3,
    "下车": 0.3,
    "里程": 0.25,
    "等候|低速": 0.25,
    "车号|车牌": 0.2,
    "行程单|网约车": 0.3,
    r"(?<![a-z])(?:taxi|cab)(?![a-z])": 0.6,
    r"(?<![a-z])(?:fare|trip|ride)(?![a-z])": 0.25,
    r"(?<![a-z])(?:distance|pick ?up|drop ?off|meter|plate|vehicle)(?![a-z])": 0.25,
    "铁路|车次|检票|价税合计|购买方": -0.6,
    r"folio|(?<![a-z])room(?![a-z])": -0.4,
}
"""What tells of a taxi receipt."""

_PAID = label(
    "实付", "实付金额", "实收金额", "实收", "合计", "合计金额", "总金额", "总计", "总额", "应付"
)
_METER = label("金额", "车费", "费用")
_EN_PAID = re.compile(
    r"(?<![a-z])(?:total (?:fare|paid|due|charged|amount)|amount (?:due|paid|charged)|grand total"
    r"|(?<!sub)(?<!sub )total(?! ?(?:distance|time|km|miles)))(?![a-z])"
)
_EN_METER = label("fare", "meter fare", "amount")
_EXTRA = re.compile("附加|燃油|过路|过桥|(?<![a-z])(?:tip|toll|surcharge|extras?|tax)(?![a-z])")
_DATE = re.compile(
    "(?<!申请)(?<!打印)(?<!有效)(?<!出生)(?<!截止)(?<!到期)(?:日期|时间)|上车"
    r"|(?<![a-z])(?:date|trip date|pick ?up)(?![a-z])"
)


@document_type
class TaxiReceipt(DocumentType):
    """A taxi receipt, by the words of a taximeter."""

    name = "taxi_receipt"
    label = Localised(zh="出租车票", en="taxi receipt")
    fields = {
        "date": Localised(zh="日期", en="date"),
        "amount": Localised(zh="金额", en="amount"),
    }

    def likelihood(self, material: Material) -> float:
        """By its words."""
        return likelihood(PageLayout(material), WORDS)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """When the ride was, and what it cost."""
        form = PageLayout(material)
        return settled_fields(
            {
                "date": dates(form, _DATE, today),
                "amount": _amounts(form),
            }
        )

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """A date to come, and a specimen."""
        return list(common(fields, PageLayout(material), today))


def _amounts(form: PageLayout) -> Iterator[Clue]:
    paid = form.beside(_PAID, _fare) or form.beside(_EN_PAID, _fare)
    metered = form.beside(_METER, _fare) or form.beside(_EN_METER, _fare)
    said = {found.value.value for found in paid}
    yield from (Trust(0.93, 0.85, "paid").money(found, form) for found in paid)
    # Where tolls and tips are added, what the meter shows isn't all, which is no contradiction.
    extra = form.beside(_EXTRA, _fare)
    trust = Trust(0.5, 0.4, "meter") if extra and not paid else Trust(0.9, 0.83, "meter")
    agreeing = [found for found in metered if not said or found.value.value in said]
    yield from (trust.money(found, form) for found in agreeing)
    if metered and extra:
        whole = metered[0].value.value + sum(found.value.value for found in extra)
        summed = replace(metered[0], value=replace(metered[0].value, value=whole))
        yield Trust(0.8, 0.75, "sum").money(summed, form)
    if not paid and not metered:
        yield from _only_one(form)


def _only_one(form: PageLayout) -> Iterator[Clue]:
    """The only amount that isn't a price per kilometre, where no label is legible."""
    marked = [
        Beside(amount, cell, cell, "")
        for cell in form.cells[:200]
        for amount in amounts(cell.text)
        if amount.is_marked and not _PER_UNIT.search(cell.plain)
    ]
    if len({found.value.value for found in marked}) == 1:
        yield Trust(0.7, 0.6).money(marked[0], form)


_PER_UNIT = re.compile("单价|里程|公里|km|/|等候|时间")
_MOST = Decimal(5_000)
"""No ride costs more, in whatever currency this desk sees: it's a number of something else."""


def _fare(text: str) -> list[PrintedAmount]:
    found = [a for a in amounts(text) if 0 < a.value < _MOST]
    return ([a for a in found if a.is_marked] or found)[-1:]
