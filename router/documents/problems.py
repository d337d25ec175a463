"""What is wrong with a document, whatever its type: in words for the reader, a code for programs.

Nothing here refuses anything: a problem is said to who handed the document in and who decides.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date

from router.documents.labels import PageLayout
from router.domain.documents import DocumentProblem, ReadField
from router.domain.locale import Localised

TOTAL = DocumentProblem(
    code="total",
    text=Localised(
        zh="金额对不上：各项相加与总额不一致。", en="The amounts don't add up to the total."
    ),
)
AMOUNT_WORDS = DocumentProblem(
    code="amount_words",
    text=Localised(
        zh="大写金额与小写金额不一致。", en="The amount in words isn't the amount in figures."
    ),
)
FUTURE = DocumentProblem(
    code="future",
    text=Localised(zh="日期在今天之后。", en="Its date is after today."),
)
NUMBER = DocumentProblem(
    code="number",
    text=Localised(
        zh="号码的位数或格式不对。", en="Its number doesn't have the form that such numbers have."
    ),
)
VOID = DocumentProblem(
    code="void",
    text=Localised(
        zh="单据上写着作废、红冲或样张，可能无效。",
        en="It is marked as void, reversed or a specimen.",
    ),
)

_VOID = re.compile("作废|红冲|冲红|红字|样张|样票|样本|票样|specimen")
_VOID_ALONE = re.compile(r"[ *#(\[<-]{0,5}(?:sample|void|cancelled|canceled|voided)[ *#)\]>-]{0,5}")


def future(fields: Mapping[str, ReadField], today: date, name: str = "date") -> bool:
    """True where a date that was read for sure is after today."""
    found = fields.get(name)
    if found is None or not found.is_sure or not isinstance(found.value, str):
        return False
    return date.fromisoformat(found.value) > today


def void(form: PageLayout) -> bool:
    """True where a document says of itself that it isn't valid."""
    if _VOID.search(form.plain):
        return True
    return any(_VOID_ALONE.fullmatch(cell.plain[:40]) for cell in form.cells)


def common(
    fields: Mapping[str, ReadField], form: PageLayout, today: date
) -> Iterable[DocumentProblem]:
    """What can be wrong with any document: its date, and what it says of itself."""
    if future(fields, today):
        yield FUTURE
    if void(form):
        yield VOID
