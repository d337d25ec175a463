"""Invoices: Chinese ones, digital (数电票) and older, and commercial ones in English.

A Chinese invoice says nearly everything twice: its QR code has number, date and amount, its amount
stands in figures and in capital characters, net and tax add up to it, and so do its lines. That is
how a misread figure is found. The QR code is `01,<kind>,<code>,<number>,<amount>,<yyyymmdd>,…`: of
kinds with a code the amount is without tax, of digital ones (31 and above, no code) with it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import islice, pairwise

from pydantic import JsonValue

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
    trusted,
)
from router.documents.page import Material, PageCode
from router.documents.problems import AMOUNT_WORDS, NUMBER, TOTAL, VOID, common
from router.documents.values import (
    PrintedAmount,
    amounts,
    capital_amount,
    days,
    folded,
    long_numbers,
)
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised
from router.entities.money import is_exact
from router.entities.numbers import parse_number

WORDS = {
    "电子发票|数电": 0.45,
    "增值税": 0.4,
    "普通发票|专用发票": 0.3,
    "定额发票|机打发票|统一发票": 0.4,
    "发票号码": 0.3,
    "发票代码": 0.2,
    "价税合计": 0.4,
    "开票日期": 0.25,
    "纳税人识别号|统一社会信用代码": 0.25,
    "购买方|销售方": 0.2,
    r"(?<![a-z])(?:tax |commercial |vat )?invoice(?![a-z])": 0.45,
    r"invoice (?:no|number|date|#)": 0.3,
    r"bill(?:ed)? to|sold to|amount due|total due|due date|payment terms": 0.2,
    "铁路|客票|车次|检票": -0.6,
    r"出租|上车|下车|(?<![a-z])taxi(?![a-z])": -0.7,
    r"guest folio|folio|离店|退房|宾客账单": -0.5,
}
"""What tells of an invoice."""

_NUMBER = label("发票号码", "票据号码", "号码", "发票号", "invoice no", "invoice number", "inv no")
_EN_NUMBER = label(
    "invoice no", "invoice number", "invoice #", "inv no", "inv #", "invoice id", "invoice"
)
_CODE = label("发票代码")
_DATE = label("开票日期", "开具日期", "日期")
_EN_DATE = re.compile(
    r"(?:invoice|issue|billing|bill|tax) date|date of (?:issue|invoice)|date issued|issued on"
    r"|(?<![a-z])(?<!due )(?<!ship )(?<!delivery )date(?! ?due)(?![a-z])"
)
_FIGURES = label("小写", "(小写)", "价税合计小写")
_GROSS = label("价税合计")
_SUM = re.compile("(?<!税)(?<!金额)合计")
_EN_GROSS = re.compile(
    r"(?<![a-z])(?:total (?:amount )?(?:due|payable)|amount (?:due|payable)|balance due"
    r"|grand total|invoice total|total amount|total incl[a-z.]{0,8}(?: (?:vat|tax|gst))?"
    r"|(?<!sub)(?<!sub )(?<!sub-)(?<!net )total"
    r"(?! (?:tax|vat|gst|net|discount|excl|before|items|qty)))(?![a-z])"
)
_EN_NET = label("subtotal", "sub total", "net amount", "net total", "total net", "total excl")
_EN_TAX = re.compile(
    r"(?<![a-z])(?:vat|gst|sales tax|total tax|tax amount|(?<!incl )(?<!before )tax)"
    r"(?! ?(?:id|no|reg|number|invoice|point|date|code|payer))(?![a-z])"
)
_SELLER = re.compile(
    "(?:销售方|销方|销货单位)(?:名称)? ?:|收款单位"
    r"|(?<![a-z])(?:seller|supplier|vendor|sold by|issued by|from)(?![a-z])"
)
_BUYER = re.compile(
    "(?:购买方|购方|购货单位)(?:名称)? ?:|付款单位"
    r"|(?<![a-z])(?:buyer|bill(?:ed)? to|sold to|customer|client|invoice to)(?![a-z])"
)
_NAME = re.compile(
    r"(?<!项目)(?<!服务)(?<!购买方)(?<!销售方)(?<!购方)(?<!销方)(?<!位)(?:名称|^称|^名) ?[:;.]"
)
_TAX_ID = re.compile("识别号|信用代码")
_FIRM = re.compile("公司|[厂店院部行社局校]$|中心|事务所|合作社|经营部")
_DESCRIPTION = label("description", "item description", "details", "service", "item", "product")
_ENDS_A_NAME = re.compile(
    "统一社会|纳税人|信用代码|识别号|地址|电话|开户|账号|密码区|名称 ?:"
    "|销售方|购买方|销方|购方|[销购] ?$"
    r"| (?:tax|vat|address|tel|phone|email|invoice|date|bill|ship)(?![a-z])",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"^[\d\W]{0,200}$|^(?:名称|项目|货物|信息|售方|买方|单位)|:$"
    r"|^(?:due|date|invoice|payment|terms|total|amount|qty|description|page)(?![a-z])"
    r"|^(?:(?:bill(?:ed)?|shipp?(?:ed)?|sold|invoice) to|from|to|customer|client|supplier|seller"
    r"|vendor|buyer|attn)(?![a-z])",
    re.IGNORECASE,
)
_LONGEST_NAME = 60
_COMPANY = re.compile(
    r"(?<![a-z])(?:ltd|limited|inc|llc|gmbh|corp|corporation|company|co|plc|llp|pty|ag|bv|sarl)"
    r"\.?(?![a-z])|有限公司|公司"
)
_ITEM = re.compile(r"[*＊](?P<kind>[^*＊]{1,20})[*＊](?P<name>[^\d¥*＊]{1,40})?")
_EN_CODE = re.compile(r"[A-Z0-9](?:[A-Z0-9/-]{1,24})")
_DIGITAL, _CODED, _CODE_LENGTHS = 20, 8, (10, 12)
_FIRST_DIGITAL = 31
"""The first kind of a QR code that is of digital invoices: their amounts are with tax."""


@document_type
class Invoice(DocumentType):
    """An invoice, by its data, its QR code and what is written on it."""

    name = "invoice"
    label = Localised(zh="发票", en="invoice")
    fields = {
        "number": Localised(zh="发票号码", en="invoice number"),
        "date": Localised(zh="开票日期", en="date"),
        "amount": Localised(zh="价税合计", en="total with tax"),
        "tax": Localised(zh="税额", en="tax"),
        "seller": Localised(zh="销售方", en="seller"),
        "buyer": Localised(zh="购买方", en="buyer"),
        "item": Localised(zh="项目", en="item"),
    }

    def likelihood(self, material: Material) -> float:
        """By its words, its data or the QR code that invoices alone have."""
        form = PageLayout(material)
        told = likelihood(form, WORDS)
        if any(True for _ in _from_data(material)):
            return max(told, 0.95)
        coded = 0.4 if any(_coded(code) for code in material.codes) else 0.0
        return min(1.0, told + coded)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        """Its fields, as far as they are found."""
        del today
        return _Paper(material).fields

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """What doesn't add up, and what no valid invoice looks like."""
        paper = _Paper(material)
        found = list(common(fields, paper.form, today))
        if paper.adds_up is False:
            found.append(TOTAL)
        if paper.words_agree is False:
            found.append(AMOUNT_WORDS)
        if _is_malformed(fields.get("number"), paper.form):
            found.append(NUMBER)
        if paper.is_reversed and VOID not in found:
            found.append(VOID)
        return found


def _is_malformed(number: ReadField | None, form: PageLayout) -> bool:
    if number is None or not isinstance(number.value, str) or not form.is_chinese:
        return False
    lengths = {_DIGITAL, _CODED, *(_CODED + length for length in _CODE_LENGTHS)}
    certain = number.source != "picture" or number.is_sure
    return certain and (not number.value.isdigit() or len(number.value) not in lengths)


_DATA = {
    "number": ("InvoiceNumber", "EIid", "Fphm", "InvoiceNo"),
    "date": ("IssueTime", "RequestTime", "Kprq", "IssueDate"),
    "amount": ("TotalTax-includedAmount", "TotalTaxIncludedAmount", "Jshj"),
    "tax": ("TotalTaxAm", "Hjse", "TaxTotalAmount"),
    "seller": ("SellerName", "Xfmc"),
    "buyer": ("BuyerName", "Gfmc"),
    "item": ("ItemName", "Item"),
}  # fmt: skip
"""The last tag of a path in an invoice's data, by field; the first one that is there counts."""
_OF_DATA = 0.98


def _from_data(material: Material) -> Iterator[tuple[str, Clue]]:
    """What the file's own data say: an XML, or the information of a PDF."""
    by_tag: dict[str, str] = {}
    for path, value in islice(material.data.items(), 2_000):
        by_tag.setdefault(path.rsplit("/", 1)[-1].split("[")[0], value)
    for name, tags in _DATA.items():
        said = next((by_tag[tag] for tag in tags if by_tag.get(tag, "").strip()), None)
        read = None if said is None else _of_data(name, folded(said))
        if read is not None:
            yield name, Clue(read, "text", _OF_DATA, way="data")


def _of_data(name: str, said: str) -> JsonValue:
    if name == "date":
        day = days(said)
        return day[0].value.isoformat() if day else None
    if name in {"amount", "tax"}:
        number = _plain_number(said)
        return None if number is None else PrintedAmount(number).money()
    return said[:_LONGEST_NAME] or None


def _plain_number(said: str) -> Decimal | None:
    sign, bare = (-1, said[1:]) if said.startswith("-") else (1, said)
    number = parse_number(bare) if bare[:1].isdigit() else None
    return sign * number if number is not None and is_exact(number) else None


@dataclass(frozen=True)
class _QrCode:
    """What the QR code of an invoice says."""

    number: str
    amount: Decimal | None
    day: date | None
    with_tax: bool


def _coded(code: PageCode) -> _QrCode | None:
    parts = [part.strip() for part in folded(code.text).split(",")]
    if len(parts) < 6 or parts[0] != "01" or not parts[1].isdigit():  # noqa: PLR2004
        return None
    kind, before, number = int(parts[1][:4]), parts[2], parts[3]
    if not (number.isascii() and number.isdigit()):
        return None
    found = days(parts[5])
    return _QrCode(
        number=(before if before.isdigit() else "") + number,
        amount=_plain_number(parts[4]),
        day=found[0].value if found else None,
        with_tax=not before or kind >= _FIRST_DIGITAL,
    )


class _Paper:
    """One invoice, with everything that was found on it in whatever way."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.form = PageLayout(material)
        self.code = next(((code, read) for code in material.codes if (read := _coded(code))), None)
        self.data = dict(_from_data(material))

    @cached_property
    def fields(self) -> dict[str, ReadField]:
        """What all ways together make of it."""
        readings: dict[str, list[Clue]] = {
            "number": [*self._numbers()],
            "date": [*self._dates()],
            "amount": [*self._amounts()],
            "tax": [*self._taxes()],
            "seller": [*self._names(_SELLER, 1)],
            "buyer": [*self._names(_BUYER, 0)],
            "item": [*self._items()],
        }
        for name, reading in self.data.items():
            readings[name].append(reading)
        found = settled_fields(readings)
        return {name: self._printed(field, readings[name]) for name, field in found.items()}

    def _printed(self, field: ReadField, readings: Iterable[Clue]) -> ReadField:
        """The field at the place where people can read it, if it is that of a code."""
        if field.source != "code":
            return field
        same = [one for one in readings if one.value == field.value and one.source != "code"]
        best = max(same, key=lambda one: one.trust, default=None)
        # Also where its label wasn't read; a number or a day hardly stands anywhere by chance.
        cells = (cell for cell in self.form.cells if _says(cell.text, field.value))
        place = best.place if best is not None else next((one.place for one in cells), None)
        return field.replace(place=place or field.place)

    # Numbers

    def _numbers(self) -> Iterator[Clue]:
        if self.code is not None:
            code, said = self.code
            yield Clue(said.number, "code", 0.97, code.place, "code")
        before = next(iter(self._long(_CODE)), None)
        for found in self._long(_NUMBER):
            number, mended = found.value
            if len(number) == _CODED and before and len(before.value[0]) in _CODE_LENGTHS:
                number = before.value[0] + number
            whole = len(number) in {_DIGITAL, _CODED + 10}
            share = (0.75 if mended else 1.0) * (1.0 if whole else 0.6)
            yield Trust(0.95, 0.86).reading(found, number, share)
        if not self.form.is_chinese:
            for text in self.form.beside(_EN_NUMBER, _codes_of):
                yield Trust(0.93, 0.84).reading(text, text.value)

    def _long(self, words: re.Pattern[str]) -> list[Beside[tuple[str, bool]]]:
        return self.form.beside(words, long_numbers) if self.form.is_chinese else []

    # Dates

    def _dates(self) -> Iterator[Clue]:
        if self.code is not None and self.code[1].day is not None:
            code, said = self.code
            yield Clue(str(said.day), "code", 0.97, code.place, "code")
        words = _DATE if self.form.is_chinese else _EN_DATE
        currency = self.form.currency
        for found in self.form.beside(words, lambda text: days(text, currency)[:1]):
            yield Trust(0.95, 0.87).day(found)

    # Amounts

    @cached_property
    def _gross(self) -> list[Beside[PrintedAmount]]:
        """The totals with tax that stand by their labels."""
        if not self.form.is_chinese:
            return self._english(_EN_GROSS)
        return self.form.beside(_FIGURES, _last_marked) or self.form.beside(_GROSS, _last_marked)

    def _english(self, words: re.Pattern[str]) -> list[Beside[PrintedAmount]]:
        return self.form.beside(words, _last_marked)

    @cached_property
    def _net_and_tax(self) -> tuple[Beside[PrintedAmount] | None, Beside[PrintedAmount] | None]:
        """The sums before tax and of the tax: a row of two in Chinese, two labels in English."""
        if not self.form.is_chinese:
            net, tax = self._english(_EN_NET), self._english(_EN_TAX)
            return (net[0] if net else None), (tax[-1] if tax else None)
        for cell, hit in self.form.hits(_SUM):
            found = [*_marked_in(cell, cell.text[hit.end() :], cell)]
            for other in self.form.right_of(cell):
                found += _marked_in(other, other.text, cell)
            if found:
                return found[0], (found[1] if len(found) > 1 else None)
        return None, None

    @cached_property
    def _in_words(self) -> tuple[Decimal, Spot] | None:
        """The amount in capital characters."""
        found = ((capital_amount(cell.text), cell) for cell in self.form.cells)
        return next(((value, cell) for value, cell in found if value is not None), None)

    @cached_property
    def _summed(self) -> Decimal | None:
        """Net and tax together, where both are there."""
        net, tax = self._net_and_tax
        return None if net is None or tax is None else net.value.value + tax.value.value

    @cached_property
    def _lines(self) -> set[Decimal]:
        """What the lines of items may add up to, by the last and by the last but one figure."""
        last, before = Decimal(0), Decimal(0)
        for cell, _ in self.form.hits(_ITEM):
            row = [a for one in self.form.row(cell) for a in amounts(one.text) if a.cents]
            if not row:
                return set()
            last += row[-1].value
            before += row[-2].value if len(row) > 1 else Decimal(0)
        return {last, before} - {Decimal(0)}

    def _amounts(self) -> Iterator[Clue]:
        if self.code is not None:
            yield from self._coded_amount()
        for found in self._gross:
            yield Trust(0.93, 0.8).money(found, self.form)
        if self._in_words is not None:
            value, cell = self._in_words
            worth = trusted(cell, 0.9, 0.8)
            yield Clue(PrintedAmount(value).money(), cell.source, worth, cell.place, "words")
        net, tax = self._net_and_tax
        if self._summed is not None and net is not None and tax is not None:
            place = self._gross[0].cell.place if self._gross else tax.cell.place
            worth = min(trusted(c, 0.85, 0.75) for c in (net.cell, tax.cell))
            currency = net.value.currency or self.form.currency
            value_of = PrintedAmount(self._summed, currency).money(currency)
            worth *= 1.0 if currency else 0.6
            yield Clue(value_of, net.cell.source, worth, place, "sum")

    def _coded_amount(self) -> Iterator[Clue]:
        assert self.code is not None  # noqa: S101 - asked before
        code, said = self.code
        if said.amount is None:
            return
        if said.with_tax:
            yield Clue(PrintedAmount(said.amount).money(), "code", 0.96, code.place, "code")
            return
        _, tax = self._net_and_tax
        if tax is not None:
            worth = trusted(tax.cell, 0.9, 0.8)
            gross = PrintedAmount(said.amount + tax.value.value)
            yield Clue(gross.money(), "code", worth, code.place, "code")

    def _taxes(self) -> Iterator[Clue]:
        _, tax = self._net_and_tax
        if tax is None:
            return
        yield Trust(0.9, 0.72).money(tax, self.form)
        if self._summed in self._totals:
            yield Trust(0.9, 0.85, "sum").money(tax, self.form)

    @cached_property
    def _totals(self) -> set[Decimal]:
        """The total with tax, by every way that has nothing to do with net and tax."""
        found = {one.value.value for one in self._gross}
        if self._in_words is not None:
            found.add(self._in_words[0])
        if self.code is not None and self.code[1].with_tax and self.code[1].amount is not None:
            found.add(self.code[1].amount)
        return found

    # What contradicts itself

    @cached_property
    def adds_up(self) -> bool | None:
        """Whether net and tax make the total, and the lines the net; None where nobody can tell."""
        if self._data_add_up is not None:
            return self._data_add_up
        net, tax = self._net_and_tax
        if self._summed is None or net is None or tax is None or not self._totals:
            return None
        if not all(_is_clear(one.cell) for one in (net, tax, *self._gross)):
            return None
        if self._summed not in self._totals:
            return False
        # Lines of a picture are too often read in part.
        if net.cell.source == "picture" or not self._lines:
            return True
        return net.value.value in self._lines

    @property
    def _data_add_up(self) -> bool | None:
        said = {
            path.rsplit("/", 1)[-1]: _plain_number(folded(value))
            for path, value in islice(self.material.data.items(), 2_000)
        }
        net, tax = said.get("TotalAmWithoutTax"), said.get("TotalTaxAm")
        gross = said.get("TotalTax-includedAmount")
        if net is None or tax is None or gross is None:
            return None
        return net + tax == gross

    @property
    def words_agree(self) -> bool | None:
        """Whether the amount in capital characters is the one in figures."""
        if self._in_words is None or not self._gross:
            return None
        value, cell = self._in_words
        if not all(_is_clear(one) for one in (cell, *(found.cell for found in self._gross))):
            return None
        return value in {abs(found.value.value) for found in self._gross}

    @property
    def is_reversed(self) -> bool:
        """True for a total below zero: such an invoice takes another one back."""
        coded = self.code[1].amount if self.code is not None else None
        totals = [one.value.value for one in self._gross] + ([] if coded is None else [coded])
        said = self.data.get("amount")
        of_data = said.value if said is not None and isinstance(said.value, dict) else {}
        return any(value < 0 for value in totals) or str(of_data.get("amount")).startswith("-")

    # Names and items

    def _names(self, words: re.Pattern[str], side: int) -> Iterator[Clue]:
        for found in self.form.beside(words, _named, reach=1):
            yield Trust(0.93, 0.83).reading(found, found.value)
            return
        party = self._parties[side]
        if party is not None:
            # Who stands alone may be either; who stands over a tax number has a label not read.
            share = 1.0 if party.word and None not in self._parties else 0.75
            yield Trust(0.92, 0.83, "side").reading(party, party.value, share)
        elif side and not self.form.is_chinese:
            yield from self._letterhead()

    @cached_property
    def _parties(self) -> tuple[Beside[str] | None, Beside[str] | None]:
        """The names of buyer and seller: the buyer stands left of the seller, or above."""
        found = self._named_parties
        if len(found) > 1:
            return found[0], found[1]
        if not found:
            return None, None
        place = found[0].label.place
        # Where the seller stands, right or far below; whose name is the only one that was read.
        is_seller = place.left > 0.45 or place.top > 0.6  # noqa: PLR2004
        return (None, found[0]) if is_seller else (found[0], None)

    @cached_property
    def _named_parties(self) -> list[Beside[str]]:
        """Names behind their labels, or over a tax number where that label wasn't read."""
        found: list[Beside[str]] = []
        for cell, _ in self.form.hits(_NAME):
            ends = [hit.end() for hit in _NAME.finditer(cell.plain)]
            for start, end in pairwise([*ends, len(cell.text)]):
                found += self._name_at(cell, cell.text[start:end], is_last=end == len(cell.text))
        lines = {(one.cell.place.page, one.cell.middle) for one in found}
        for cell, _ in islice(self.form.hits(_TAX_ID), 4):
            over = self.form.above(cell)[:2]
            if not any((other.place.page, other.middle) in lines for other in over):
                found += [one for other in over for one in _firm_at(other, cell)][:1]
        return sorted(found, key=_left_to_right)

    def _name_at(self, cell: Spot, behind: str, *, is_last: bool) -> list[Beside[str]]:
        names = _named(behind)
        if names or not is_last:
            return [Beside(name, cell, cell, "名称") for name in names]
        for other in self.form.right_of(cell)[:1]:
            return [Beside(name, other, cell, "名称") for name in _named(other.text)]
        return []

    def _letterhead(self) -> Iterator[Clue]:
        """A company's name at the top of the page, where nobody says who the seller is."""
        buyers = {found.value for found in self.form.beside(_BUYER, _named, reach=1)}
        for cell in self.form.cells[:8]:
            name = _named(cell.text)
            if name and name[0] not in buyers and _COMPANY.search(cell.plain):
                yield Trust(0.85, 0.78, "top").reading(Beside(name[0], cell, cell, ""), name[0])
                return

    def _items(self) -> Iterator[Clue]:
        for cell, hit in islice(self.form.hits(_ITEM), 1):
            name = cell.text[hit.start() : hit.end()].strip()
            if not hit["name"]:
                name += self._continued(cell)
            yield Trust(0.93, 0.8).reading(Beside(name, cell, cell, ""), name)
        if not self.form.is_chinese:
            for cell, _ in islice(self.form.hits(_DESCRIPTION), 1):
                for under in islice(self.form.below(cell), 1):
                    found = Beside(under.text, under, cell, "")
                    yield Trust(0.85, 0.75).reading(found, under.text[:_LONGEST_NAME])

    def _continued(self, cell: Spot) -> str:
        """The rest of an item's name that was broken into the next line."""
        return next((one.text for one in self.form.below(cell, 1.0) if len(one.text) < 20), "")  # noqa: PLR2004


def _says(text: str, value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    return value in text.replace(" ", "") or any(
        day.value.isoformat() == value for day in days(text)
    )


def _left_to_right(found: Beside[str]) -> tuple[int, float, float]:
    # Rows of a form are farther apart than a twentieth of a page.
    return found.label.place.page, round(found.label.middle * 20), found.label.place.left


def _firm_at(over: Spot, tax_id: Spot) -> list[Beside[str]]:
    """The firm that a line names, behind whatever a label was misread as."""
    name = over.text[max(over.text.rfind(":"), over.text.rfind("称")) + 1 :]
    return [Beside(one, over, tax_id, "") for one in _named(name)] if _FIRM.search(name) else []


_CLEAR = 0.9


def _is_clear(cell: Spot) -> bool:
    return cell.source != "picture" or cell.confidence >= _CLEAR


def _marked_in(cell: Spot, text: str, by: Spot) -> Iterator[Beside[PrintedAmount]]:
    return (Beside(amount, cell, by, "") for amount in amounts(text) if amount.is_marked)


def _last_marked(text: str) -> list[PrintedAmount]:
    return [amount for amount in amounts(text) if amount.is_marked][-1:]


def _codes_of(text: str) -> list[str]:
    """The first word of a text, where it is a number of something: `INV-2026/0012`."""
    found = _EN_CODE.match(text.strip(" :#."))
    return [found[0]] if found and any(c.isdigit() for c in found[0]) and not days(text) else []


def _named(text: str) -> list[str]:
    """The name of a party that a text begins with."""
    bare = text.lstrip(" :;.,-").rstrip()
    end = _ENDS_A_NAME.search(bare)
    name = bare[: end.start() if end else _LONGEST_NAME].rstrip(" ;,")
    shortest = 2
    return [name] if len(name) >= shortest and not _NO_NAME.search(name) else []
