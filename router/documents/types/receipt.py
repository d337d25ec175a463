"""Receipts of shops, restaurants and car parks: when it was, and what was paid in the end.

What was paid is neither what the goods cost before a discount, nor the note that was handed over,
nor the change. Labels have ranks: `实付` beats `合计`, `Grand total` beats `Total`; that cash less
change, or subtotal and tax, give the same makes it sure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import islice

from router.documents.document_type import DocumentType, document_type
from router.documents.labels import (
    Beside,
    Clue,
    LabelPattern,
    PageLayout,
    Trust,
    label,
    likelihood,
    settled_fields,
)
from router.documents.page import Material
from router.documents.problems import TOTAL, common
from router.documents.values import PrintedAmount, PrintedDate, amounts, days
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised

WORDS = {
    "小票|收银|购物|欢迎光临|谢谢惠顾|收据|结账单": 0.4,
    "找零|实收|应收|实付|应付": 0.3,
    "合计|总计|总额|小计|金额": 0.25,
    "单号|桌号|流水号|机号|收款员|店员|数量|单价": 0.2,
    r"(?<![a-z])receipt(?![a-z])": 0.45,
    "支付宝|微信支付|现金|刷卡|银联": 0.2,
    r"sub[ -]?total": 0.3,
    r"(?<![a-z])(?:tax|vat|gst)(?![a-z])": 0.1,
    r"(?<![a-z])total(?![a-z])": 0.25,
    r"(?<![a-z])(?:cash|change|cashier|visa|mastercard|tend(?:ered)?|card)(?![a-z])": 0.2,
    r"thank you|come again|merchant copy|customer copy": 0.2,
    "增值税|价税合计|纳税人识别号|电子发票|开票日期": -0.6,
    r"(?<![a-z])invoice(?![a-z])": -0.3,
    "铁路|车次|出租|上车|下车|检票": -0.5,
    r"(?<![a-z])taxi(?![a-z])|guest folio|departure|check ?out date": -0.4,
    "诊断|医师|休息|病假": -0.6,
    r"sick note|medical certificate|diagnosis|unfit for work": -0.6,
}
"""What tells of a receipt."""

_PAID = label(
    "实付", "实付款", "实付金额", "实际支付", "应付", "应付金额", "应收", "应收金额", "应付款",
    "支付金额", "付款金额", "消费金额", "交易金额", "折后金额", "折后合计",
)  # fmt: skip
_SUM = label("合计", "总计", "总额", "总金额", "合计金额", "共计", "金额合计", "消费合计")
_CASH = label("实收", "现金", "收款", "实收金额", "cash", "cash tendered", "tendered")
_CHANGE = label("找零", "找赎", "找回", "找补", "change", "change due")
_ANY = label("金额", "小计")
_EN_PAID = re.compile(
    r"(?<![a-z])(?:grand total|total (?:due|paid|payable|charged)|amount (?:due|paid|charged)"
    r"|balance due|total amount|total to pay)(?![a-z])"
)
_EN_SUM = re.compile(
    r"(?<![a-z])(?<!sub)(?<!sub )(?<!sub-)(?<!item )(?<!net )total"
    r"(?! ?(?:items?|qty|savings?|saved|tax|vat|gst|discount|points|number|before|excl|net))"
    r"(?![a-z])"
)
_SUBTOTAL = label("subtotal", "sub total")
_ADDED = re.compile(
    r"(?<![a-z])(?:sales tax|vat|gst|hst|tax|tip|gratuity|service charge)"
    r"(?! ?(?:id|no|reg|incl))(?![a-z])"
)
_LESS = re.compile("优惠|折扣|抹零|立减|(?<![a-z])discount(?![a-z])")
_DATE = re.compile(
    "(?<!申请)(?<!打印)(?<!有效)(?<!出生)(?<!截止)(?<!到期)(?<!生产)(?:日期|时间)|开单"
    "|(?<![a-z])(?<!due )(?<!expiry )(?:date|time|issued)(?![a-z])"
)


@document_type
class Receipt(DocumentType):
    """Any receipt, by its words; what is more special is its own type."""

    name = "receipt"
    label = Localised(zh="收据", en="receipt")
    fields = {
        "date": Localised(zh="日期", en="date"),
        "amount": Localised(zh="实付金额", en="amount paid"),
    }

    def likelihood(self, material: Material) -> float:
        """By its words; never so surely that a more special type couldn't beat it."""
        form = PageLayout(material)
        told = likelihood(form, WORDS)
        # A total with its amount beside it tells of a receipt where another word does as well.
        added = 0.2 if told and _Till(form).has_total else 0.0
        return min(0.9, told + added)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """When it was, and what was paid."""
        form = PageLayout(material)
        return settled_fields(
            {
                "date": dates(form, _DATE, today),
                "amount": _Till(form).readings(),
            }
        )

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """A date to come, a specimen, and cash less change that isn't the total."""
        form = PageLayout(material)
        problems = list(common(fields, form, today))
        if _Till(form).adds_up is False:
            problems.append(TOTAL)
        return problems


def dates(form: PageLayout, words: LabelPattern, today: date, share: float = 1.0) -> Iterator[Clue]:
    """The readings of a date: beside such a label, or the only one that stands anywhere.

    Args:
        form: Where to look.
        words: The labels.
        today: A date after it is a misread one more often than not.
        share: How much of the usual trust the labels are worth.
    """

    def first(text: str) -> list[PrintedDate]:
        return days(text, form.currency)[:1]

    labelled = form.beside(words, first)
    for found in labelled:
        late = 0.7 if found.cell.source == "picture" and found.value.value > today else 1.0
        reading = Trust(0.93, 0.88).day(found)
        yield Clue(reading.value, reading.source, reading.trust * share * late, reading.place)
    anywhere = [
        Beside(day, cell, cell, "") for cell in islice(form.cells, 400) for day in first(cell.text)
    ]
    # The only date of a paper is its date, whatever stands before it.
    only = 0.85 if len({found.value.value for found in anywhere}) == 1 else 0.35
    for found in anywhere[:1] if labelled else anywhere[:3]:
        late = 0.7 if found.cell.source == "picture" and found.value.value > today else 1.0
        yield Trust(only, only * 0.95 * late, "anywhere").day(found)


@dataclass
class _Till:
    """What a till adds up."""

    form: PageLayout

    def _by(self, *words: LabelPattern) -> list[Beside[PrintedAmount]]:
        found = []
        for each in words:
            # 7 of `TAX 7 %` is an amount only where there is no better one.
            found += self.form.beside(each, _marked) or self.form.beside(each, _last)
        return found

    @property
    def has_total(self) -> bool:
        """Whether a total stands beside its label."""
        return bool(self._by(_PAID, _EN_PAID, _SUM, _EN_SUM))

    def readings(self) -> Iterator[Clue]:
        """What may have been paid, by every way."""
        paid, total = self._by(_PAID, _EN_PAID), self._by(_SUM, _EN_SUM)
        yield from (Trust(0.93, 0.84, "paid").money(found, self.form) for found in paid)
        said = {found.value.value for found in paid}
        # Goods before a discount add up to more than was paid, which is no contradiction.
        less = any(_LESS.search(cell.plain) for cell in self.form.cells)
        trust = Trust(0.6, 0.5, "total") if less else Trust(0.9, 0.8, "total")
        agreeing = [found for found in total if not said or found.value.value in said]
        yield from (trust.money(found, self.form) for found in agreeing[-2:])
        yield from self._derived()
        if not paid and not total:
            rest = self._by(_ANY, _CASH)
            yield from (Trust(0.6, 0.5, "any").money(found, self.form) for found in rest[-1:])
            yield from self._greatest()

    def _derived(self) -> Iterator[Clue]:
        for way, value, at in self._sums():
            yield Trust(0.75, 0.7, way).money(
                replace(at, value=replace(at.value, value=value)), self.form
            )

    def _sums(self) -> Iterator[tuple[str, Decimal, Beside[PrintedAmount]]]:
        cash, change = self._by(_CASH), self._by(_CHANGE)
        if cash and change:
            yield "change", cash[0].value.value - change[0].value.value, cash[0]
        net, added = self._by(_SUBTOTAL), self._by(_ADDED)
        if net and added:
            rest = sum((found.value.value for found in added), Decimal(0))
            yield "subtotal", net[0].value.value + rest, net[0]
        if cash and not change:
            yield "cash", cash[0].value.value, cash[0]
        total, less = self._by(_SUM), self._by(_LESS)
        if total and less:
            rest = sum((abs(found.value.value) for found in less), Decimal(0))
            yield "discount", total[0].value.value - rest, total[0]

    def _greatest(self) -> Iterator[Clue]:
        """The greatest amount that is marked as one, where no label is legible."""
        marked = [
            Beside(amount, cell, cell, "")
            for cell in islice(self.form.cells, 400)
            for amount in amounts(cell.text)
            if amount.is_marked
        ]
        if marked:
            greatest = max(marked, key=lambda found: found.value.value)
            yield Trust(0.4, 0.35, "greatest").money(greatest, self.form)

    @property
    def adds_up(self) -> bool | None:
        """Whether cash less change is what was paid; None where nobody can tell."""
        cash, change = self._by(_CASH), self._by(_CHANGE)
        paid = self._by(_PAID, _EN_PAID) or self._by(_SUM, _EN_SUM)
        told = [*cash[:1], *change[:1], *paid[:1]]
        clear = 0.9
        if not (cash and change and paid) or any(one.confidence < clear for one in told):
            return None
        if change[0].value.value == 0:
            return None
        possible = {found.value.value for found in paid}
        return cash[0].value.value - change[0].value.value in possible


def _marked(text: str) -> list[PrintedAmount]:
    """The last amount of a text that is marked as one."""
    return [amount for amount in amounts(text) if amount.is_marked][-1:]


def _last(text: str) -> list[PrintedAmount]:
    return amounts(text)[-1:]
