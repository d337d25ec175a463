"""Medical certificates (病假证明, sick notes): who is ill, from when, for how many days.

Nothing of the illness itself is read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import islice, pairwise

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
from router.documents.problems import TOTAL, VOID, common
from router.documents.values import PrintedDate, days
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised
from router.entities.numbers import parse_number

WORDS = {
    "诊断证明|病假证明|病假条|病假单|病情证明|休假证明|疾病证明": 0.6,
    "诊断": 0.2,
    "医师|医生": 0.2,
    "医院|门诊|诊所|卫生院": 0.2,
    "休息|病休|全休|休假": 0.3,
    "患者|病人": 0.15,
    r"medical certificate|sick ?note|doctor'?s (?:note|certificate)|fit note": 0.6,
    r"(?<![a-z])(?:unfit|not fit)(?: for (?:work|duty))?(?![a-z])": 0.4,
    r"(?<![a-z])(?:patient|diagnosis|physician|clinic|hospital|doctor|dr)(?![a-z])": 0.25,
    r"(?:off|absent from|unable to) work|rest for|days? of rest": 0.25,
    "合计|价税合计|收费票据|发票": -0.4,
    r"(?<![a-z])(?:total|invoice)(?![a-z])": -0.3,
}
"""What tells of a medical certificate."""

_NAME = label("患者姓名", "病人姓名", "姓名", "患者", "patient name", "name of patient", "patient",
              "name", "certify that", "employee name")  # fmt: skip
_NO_NAME = re.compile("性别|年龄|科室|科别|门诊|住院|姓名|患者|诊断|证明|因病")
_HAN_NAME = re.compile("[\u3400-\u9fff·]{2,8}")
_TITLE = re.compile(r"(?:mr|mrs|ms|miss|mx|dr)\.? ", re.IGNORECASE)
_EN_NAME = re.compile(r"[A-Z][A-Za-z'-]{1,20}(?: [A-Z][A-Za-z'.-]{0,20}){1,3}")
_ISSUED = re.compile(
    "开具|签发|就诊|出生|日期|复诊"
    "|(?<![a-z])(?:issued|date of issue|birth|dob|seen on|examined|signed|review)"
)
_HAN = "[一二两三四五六七八九十壹贰叁肆伍陆柒捌玖拾]"
_SPAN = re.compile(
    r"(?:休息|病休|全休|休假|休|假期|病假)[^\d一-十壹-拾天周]{0,8}?"
    rf"(?P<n>\d{{1,3}}|{_HAN}{{1,3}}|半) ?"
    r"(?:\([^()]{1,6}\))? ?个?(?P<unit>天|日|周|星期|月)"
    rf"|(?P<again>\d{{1,3}}|{_HAN}{{1,3}}) ?(?P<of>天|周)"
)
_EN_SPAN = re.compile(
    r"(?P<n>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|fourteen) ?(?:\(\w{1,10}\) ?)?"
    r"(?:(?:calendar|working|consecutive|full) )?(?P<unit>days?|weeks?)(?! (?:old|ago))"
)
_LENGTHS = {"天": 1, "日": 1, "周": 7, "星期": 7, "月": 30, "day": 1, "week": 7}
_BEGIN = re.compile(
    "(?:自|从|由|起始|开始日期|起)"
    "|(?<![a-z])(?:from|starting|beginning|effective|commencing|as of|start date)"
)
_END = re.compile(r"(?:至|到|止|~|—|－|-)|(?<![a-z])(?:to|until|till|through|thru|up to)(?![a-z])")
_LONGEST = 366


@document_type
class MedicalCertificate(DocumentType):
    """A doctor's word that somebody is to stay at home."""

    name = "medical_certificate"
    label = Localised(zh="病假证明", en="medical certificate")
    fields = {
        "date": Localised(zh="开始日期", en="first day"),
        "days": Localised(zh="天数", en="days"),
        "name": Localised(zh="姓名", en="name"),
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
                "date": _begins(form),
                "days": _lengths(form),
                "name": _names(form),
            }
        )

    def problems(
        self, fields: Mapping[str, ReadField], material: Material, today: date
    ) -> list[DocumentProblem]:
        """A specimen, and days that aren't those between its dates. Illness may begin tomorrow."""
        del fields
        form = PageLayout(material)
        found = [each for each in common({}, form, today) if each == VOID]
        said, counted = _said(form), _between(form)
        if said and counted and all(_is_clear(one) for one in (said[0], counted[0])):
            sums = {one.value for one in counted}
            if not {one.value for one in said} & sums:
                found.append(TOTAL)
        return found


def _is_clear(found: Beside[Decimal]) -> bool:
    clear = 0.9
    return found.cell.source != "picture" or found.confidence >= clear


def _ranges(form: PageLayout) -> Iterator[tuple[Beside[PrintedDate], Beside[PrintedDate]]]:
    """Pairs of days with `to` between, in one line or two that follow each other."""
    cells = form.cells[:300]
    for number, cell in enumerate(cells):
        following = cells[number + 1] if number + 1 < len(cells) else None
        found = [Beside(day, cell, cell, "") for day in days(cell.text)[:3]]
        if len(found) == 1 and following is not None:
            tail = cell.text[found[0].value.end :]
            if _END.search(tail.lower()[-8:]) or _END.match(following.plain):
                found += [Beside(day, following, cell, "") for day in days(following.text)[:1]]
        for first, last in pairwise(found):
            apart = (last.value.value - first.value.value).days
            if 0 <= apart < _LONGEST and _joined(first, last):
                yield first, last


def _joined(first: Beside[PrintedDate], last: Beside[PrintedDate]) -> bool:
    between = first.cell.plain[first.value.end :]
    if first.cell is last.cell:
        between = first.cell.plain[first.value.end : last.value.end]
    return bool(_END.search(between)) or _END.match(last.cell.plain) is not None


def _begins(form: PageLayout) -> Iterator[Clue]:
    ranges = list(islice(_ranges(form), 2))
    for first, _ in ranges:
        yield Trust(0.94, 0.88, "range").day(first)
    for found in form.beside(_BEGIN, lambda text: days(text)[:1]):
        if not _ISSUED.search(found.label.plain) or "起" in found.label.plain:
            yield Trust(0.85, 0.8, "from").day(found)
    every = [
        Beside(day, cell, cell, "") for cell in form.cells[:300] for day in days(cell.text)[:2]
    ]
    if not ranges and every:
        # A note without a first day is from the day on which it was written, likely.
        yield Trust(0.55, 0.5, "issued").day(every[-1])


def _said(form: PageLayout) -> list[Beside[Decimal]]:
    found = []
    for cell in form.cells[:300]:
        hit = _SPAN.search(cell.plain) or _EN_SPAN.search(cell.plain)
        if hit is None:
            continue
        said = {name: part for name, part in hit.groupdict().items() if part}
        number = (
            Decimal("0.5")
            if said.get("n") == "半"
            else parse_number(said.get("n") or said["again"])
        )
        unit = (said.get("unit") or said["of"]).rstrip("s")
        if number is not None and 0 < number * _LENGTHS[unit] < _LONGEST:
            found.append(Beside(number * _LENGTHS[unit], cell, cell, unit))
    return found


def _between(form: PageLayout) -> list[Beside[Decimal]]:
    return [
        Beside(Decimal((last.value.value - first.value.value).days + 1), first.cell, first.cell, "")
        for first, last in islice(_ranges(form), 2)
        if not (first.value.doubtful or last.value.doubtful)
    ]


def _lengths(form: PageLayout) -> Iterator[Clue]:
    for found in _said(form):
        # A month has no number of days of its own.
        share = 0.6 if found.word == "月" else 1.0
        yield Trust(0.92, 0.86).reading(found, _number(found.value), share)
    for found in _between(form):
        yield Trust(0.85, 0.8, "range").reading(found, _number(found.value))


def _number(value: Decimal) -> str:
    return str(value.normalize()) if value % 1 else str(int(value))


def _names(form: PageLayout) -> Iterator[Clue]:
    for found in form.beside(_NAME, _person)[:2]:
        yield Trust(0.92, 0.83).reading(found, found.value)


def _person(text: str) -> list[str]:
    bare = _TITLE.sub("", text.strip(" :_"), count=1)
    cut = _NO_NAME.search(bare)
    bare = bare[: cut.start()].strip(" :_,") if cut else bare
    han, longest = _HAN_NAME.match(bare), 4
    if han:
        return [han[0]] if len(han[0]) <= longest or "·" in han[0] else []
    english = _EN_NAME.match(bare)
    return [english[0]] if english else []
