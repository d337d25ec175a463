"""What the sample's own records come to, in a sentence and a table: for chats without a model.

A tool's result carries it as `summary`; the fields beside it are for flows and models.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal

from company.people.records import Balance, Claim, LeaveRecord, MoneyAmount, TripRecord
from company.policies.book import Passage
from router.domain import text_tables
from router.domain.locale import Locale, Localised
from router.flow.prompts.field_names import VALUES
from router.flow.slot_types.dates import day

NOTHING = Localised(zh="没有查到记录。", en="There is nothing on record.")
NO_POLICY = Localised(zh="制度里没有查到这方面的规定。", en="No policy is about that.")
_LEAVE = {
    False: Localised(zh="已登记", en="recorded"),
    True: Localised(zh="已撤回", en="taken back"),
}
"""By whether it was taken back."""
_TRIP = {
    False: Localised(zh="已登记", en="recorded"),
    True: Localised(zh="已取消", en="called off"),
}
"""By whether it was called off."""
_CLAIM = {
    "submitted": Localised(zh="审批中", en="awaiting approval"),
    "settled": Localised(zh="已入账", en="paid"),
    "rejected": Localised(zh="已驳回", en="rejected"),
    "withdrawn": Localised(zh="已撤回", en="withdrawn"),
}


Columns = Mapping[Locale, tuple[str, ...]]
BALANCES: Columns = {"zh": ("假别", "剩余", "已用", "共"), "en": ("Kind", "Left", "Used", "In all")}
LEAVE: Columns = {"zh": ("假别", "日期", "天数", "状态"), "en": ("Kind", "When", "Days", "Status")}
CLAIMS: Columns = {
    "zh": ("日期", "事由", "金额", "状态"),
    "en": ("When", "For", "Amount", "Status"),
}
TRIPS: Columns = {
    "zh": ("目的地", "日期", "预计", "状态"),
    "en": ("Where", "When", "About", "Status"),
}


def balance(of: Balance, locale: Locale) -> str:
    """One kind's, as a sentence.

    >>> of = {"leave_type": "annual", "year": 2026, "entitled": 15, "used": 3, "days": 12}
    >>> balance(Balance.model_validate(of), "en")
    'You have 12 of 15 days of annual leave left in 2026.'
    """
    kind, left, whole, used = kind_of(of.leave_type, locale), of.days, of.entitled, of.used
    if locale == "zh":
        spent = f"（共 {_days(whole)} 天，已用 {_days(used)} 天）"
        return f"你 {of.year} 年的{kind}还剩 {_days(left)} 天{spent}。"
    return f"You have {_days(left)} of {_days(whole)} days of {kind} left in {of.year}."


def balances(of: Sequence[Balance], year: int, locale: Locale) -> str:
    """Those of several kinds, as a table."""
    head = Localised(zh=f"你 {year} 年的假：", en=f"Your leave in {year}:")
    days = ((b, (b.days, b.used, b.entitled)) for b in of)
    rows = [[kind_of(b.leave_type, locale), *map(_days, each)] for b, each in days]
    return listed(head, BALANCES, rows, locale)


def leave(of: Sequence[LeaveRecord], locale: Locale) -> str:
    """Leave on record: which, when, how long, and whether it was taken back."""
    head = Localised(zh=f"共 {len(of)} 条请假记录：", en=f"{len(of)} on record:")
    return listed(head, LEAVE, (_leave(each, locale) for each in of), locale)


def _leave(one: LeaveRecord, locale: Locale) -> list[str]:
    stands = _LEAVE[one.status == "reverted"].within(locale)
    when = _stretch(one.start, one.end, locale)
    return [kind_of(one.leave_type, locale), when, _days(one.days), stands]


def claims(of: Sequence[Claim], locale: Locale) -> str:
    """Claims: what for, how much, and how each stands."""
    head = Localised(zh=f"共 {len(of)} 张报销单：", en=f"{len(of)} on record:")
    return listed(head, CLAIMS, (_claim(each, locale) for each in of), locale)


def _claim(one: Claim, locale: Locale) -> list[str]:
    stands = _CLAIM[one.status].within(locale) if one.status in _CLAIM else str(one.status)
    days = sorted(item.date for item in one.items)
    when = _stretch(days[0], days[-1], locale) if days else ""
    return [when, one.reason, _money(one.total), stands]


def trips(of: Sequence[TripRecord], locale: Locale) -> str:
    """Trips: where, when, about how much, and whether it was called off."""
    head = Localised(zh=f"共 {len(of)} 次出差：", en=f"{len(of)} on record:")
    return listed(head, TRIPS, (_trip(each, locale) for each in of), locale)


def _trip(one: TripRecord, locale: Locale) -> list[str]:
    stands = _TRIP[one.status == "cancelled"].within(locale)
    when = _stretch(one.start, one.end, locale)
    return [one.destination, when, _money(one.estimate), stands]


def policy(question: str, of: Sequence[Passage], locale: Locale) -> str:
    """The passage that fits best, of its tables the rows that are asked about, and what else fits.

    A table's row is a line: `婚假：10 天，领证后一年内休完`.
    """
    if not of:
        return NO_POLICY.within(locale)
    first, *others = of
    lines = [_titled(first, locale), *_of_passage(question, first.text, locale)]
    if others:
        also = [_titled(one, locale) for one in others]
        see_also = f"See also: {'; '.join(also)}"
        lines.append(f"也可以看：{'；'.join(also)}" if locale == "zh" else see_also)
    return "\n".join(lines)


def _titled(one: Passage, locale: Locale) -> str:
    if locale == "zh":
        return f"《{one.policy}》{one.heading}"
    return f"{one.policy}, {one.heading}"


def _of_passage(question: str, text: str, locale: Locale) -> list[str]:
    rows = [_cells(line) for line in text.splitlines() if _ROW.match(line)]
    head, body = rows[:1], [cells for cells in rows[1:] if not _RULE.match(cells[0])]
    named = [cells for cells in body if cells[0] and _names(question, cells[0])]
    colon, comma = ("：", "，") if locale == "zh" else (": ", ", ")
    told = [f"- {cells[0]}{colon}{comma.join(filter(None, cells[1:]))}" for cells in named or body]
    if named:
        return told
    said = [line for line in text.splitlines() if line.strip() and not _ROW.match(line)]
    return [*told, *said] if head else said


_ROW = re.compile(r"\s{0,8}\|")
_RULE = re.compile(r":?-{2,}")
_LEAST_NAME = 2


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _names(question: str, cell: str) -> bool:
    """True where the question names what the row is about: by a word, or two characters."""
    name = re.split(r"[（(]", cell)[0].strip().casefold()
    return len(name) >= _LEAST_NAME and name in question.casefold()


def kind_of(leave_type: str, locale: Locale) -> str:
    """What a kind of leave is called."""
    return VALUES["leave_type"][leave_type] if locale == "zh" else f"{leave_type} leave"


def listed(head: Localised, columns: Columns, rows: Iterable[Sequence[str]], locale: Locale) -> str:
    """A table under what it is of; that there is nothing, where there is nothing."""
    body = list(rows)
    if not body:
        return NOTHING.within(locale)
    return f"{head.within(locale)}\n\n{text_tables.written(columns[locale], body)}"


def _days(count: Decimal) -> str:
    return f"{count.normalize():f}"


def _money(amount: MoneyAmount) -> str:
    return f"{amount.amount:,.2f} {amount.currency}"


def _stretch(start: date, end: date, locale: Locale) -> str:
    between = " 至 " if locale == "zh" else " to "
    first, last = (day(each.isoformat(), locale) for each in (start, end))
    return first if start == end else f"{first}{between}{last}"
