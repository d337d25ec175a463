"""Values as people read them, in their language.

What doesn't have the shape its type promises is shown as it is: wording never fails.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from types import GeneratorType
from typing import Any

from pydantic import JsonValue

from router.domain.file_types import FileMention, mentioned
from router.domain.locale import Locale, Localised
from router.domain.records import READ_ON, ResultPage, page_in
from router.flow.definition import Slot
from router.flow.prompts.field_names import FIELDS, VALUES

WEEKDAYS = {
    "zh": ("一", "二", "三", "四", "五", "六", "日"),
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNITS = {
    "days": {"zh": "天", "en": "day"},
    "weeks": {"zh": "周", "en": "week"},
    "hours": {"zh": "小时", "en": "hour"},
}
SELF_EXPLAINING = frozenset({"choice", "money"})
"""Fields that lead the line of an item; the others follow in brackets."""
NO_FILES: Mapping[str, str] = {}


def shown(slot: Slot, value: JsonValue, locale: Locale, files: Mapping[str, str] = NO_FILES) -> str:
    """The value of a slot as people read it; `files` has the names of files by their ids.

    | type | zh | en |
    | --- | --- | --- |
    | choice | 年假 | annual leave |
    | date | 2026年11月23日（周一） | Mon 23 Nov 2026 |
    | datetime | 2026年11月23日（周一）14:30 | Mon 23 Nov 2026, 14:30 |
    | money | ¥58.00 | CNY 58.00 |
    | duration | 3.5 天 | 3.5 days |
    | number, integer | 3.5 | 3.5 |
    | boolean | 是 | yes |
    | object | 交通 ¥36.00（11月21日，发票 A1） | transport CNY 36.00 (21 Nov 2026, invoice A1) |
    | list | objects numbered, a line each; else 甲、乙 | the same; else a, b |
    | file | its name | |
    | text | as it is; where it was chosen, its label | |
    """
    if value is None:
        return ""
    if files:
        value = _with_names(slot, value, files)
    word = _WORDED.get(slot.type)
    return word(slot, value, locale) if word else plain(value)


def label_of(name: str, slot: Slot) -> Localised:
    """What people call the slot."""
    return slot.label or Localised(zh=name, en=name)


def _with_names(slot: Slot, value: JsonValue, files: Mapping[str, str]) -> JsonValue:
    """The value with its files' names in place of their ids."""
    if slot.type == "file":
        return files.get(str(value), value)
    if slot.type == "list" and slot.of is not None and isinstance(value, list):
        return [_with_names(slot.of, item, files) for item in value]
    if slot.type == "object" and isinstance(value, dict):
        named = {n: f for n, f in slot.fields.items() if n in value}
        return {**value, **{n: _with_names(f, value[n], files) for n, f in named.items()}}
    return value


def plain(value: Any) -> str:
    """A value that nothing is known of: null as nothing, 5.0 as 5, several with commas.

    What isn't data is shown as nothing: its `str` would differ from one process to the next.

    >>> plain([5.0, "a", None])
    '5, a, '
    """
    match value:
        case str():
            return value
        case float():
            return f"{value:.12g}"
        case bool() | int() | dict():
            return str(value)
        case list() | tuple() | GeneratorType():
            return ", ".join(plain(inner) for inner in value)
    return ""


def day(value: JsonValue, locale: Locale) -> str:
    """A date such as `2026-11-23`, or the date of a moment."""
    try:
        found = date.fromisoformat(str(value)[:10])
    except ValueError:
        return plain(value)
    weekday = WEEKDAYS[locale][found.weekday()]
    if locale == "zh":
        return f"{found.year}年{found.month}月{found.day}日（周{weekday}）"
    return f"{weekday} {found.day} {MONTHS[found.month - 1]} {found.year}"


def moment(value: JsonValue, locale: Locale) -> str:
    """A date and time such as `2026-11-23T14:30:00+08:00`, in the zone it is written in."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return plain(value)
    return f"{day(value, locale)}{'' if locale == 'zh' else ', '}{found:%H:%M}"


def money(value: JsonValue, locale: Locale) -> str:
    """Money such as `{"amount": "58.00", "currency": "CNY"}`."""
    if not isinstance(value, dict):
        return plain(value)
    try:
        written = f"{Decimal(str(value.get('amount'))):,.2f}"
    except InvalidOperation:
        return plain(value.get("amount"))
    currency = plain(value.get("currency", "CNY"))
    return f"¥{written}" if (currency, locale) == ("CNY", "zh") else f"{currency} {written}"


def duration(value: JsonValue, locale: Locale) -> str:
    """A duration such as `{"days": 3.5}`."""
    if not isinstance(value, dict):
        return plain(value)
    return " ".join(_of_unit(unit, value[unit], locale) for unit in UNITS if unit in value)


def _of_unit(unit: str, number: JsonValue, locale: Locale) -> str:
    plural = "s" if locale == "en" and number != 1 else ""
    return f"{plain(number)} {UNITS[unit][locale]}{plural}"


def _choice(slot: Slot, value: JsonValue, locale: Locale) -> str:
    found = slot.choices.get(str(value))
    return found.label.within(locale) if found else plain(value)


def _boolean(_: Slot, value: JsonValue, locale: Locale) -> str:
    return {"zh": ("否", "是"), "en": ("no", "yes")}[locale][bool(value)]


def _list(slot: Slot, value: JsonValue, locale: Locale) -> str:
    if not isinstance(value, list):
        return plain(value)
    items = [shown(slot.of, item, locale) if slot.of else plain(item) for item in value]
    if slot.of and slot.of.type == "object":
        return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    return ("、" if locale == "zh" else ", ").join(items)


def _object(slot: Slot, value: JsonValue, locale: Locale) -> str:
    """One line: what explains itself first, the rest in brackets."""
    if not isinstance(value, dict):
        return plain(value)
    given = [(field, value[n]) for n, field in slot.fields.items() if value.get(n) is not None]
    head = [shown(field, v, locale) for field, v in given if field.type in SELF_EXPLAINING]
    rest = [_detail(field, v, locale) for field, v in given if field.type not in SELF_EXPLAINING]
    return _bracketed(" ".join(head), rest, locale)


def _detail(field: Slot, value: JsonValue, locale: Locale) -> str:
    """A field within the brackets: a date without its weekday, anything else with its label."""
    if field.type == "date":
        written = day(value, locale)
        without = written.partition("（")[0] if locale == "zh" else written.partition(" ")[2]
        return without or written
    label = field.label.within(locale) if field.label else ""
    return f"{label} {shown(field, value, locale)}".strip()


def _bracketed(head: str, rest: list[str], locale: Locale) -> str:
    inner = ("，" if locale == "zh" else ", ").join(rest)
    if not head or not inner:
        return head or inner
    return f"{head}（{inner}）" if locale == "zh" else f"{head} ({inner})"


_WORDED: dict[str, Callable[[Slot, JsonValue, Locale], str]] = {
    "choice": _choice,
    "text": _choice,
    "boolean": _boolean,
    "list": _list,
    "object": _object,
    "date": lambda _, value, locale: day(value, locale),
    "datetime": lambda _, value, locale: moment(value, locale),
    "money": lambda _, value, locale: money(value, locale),
    "duration": lambda _, value, locale: duration(value, locale),
}


def told(result: JsonValue, locale: Locale) -> str:
    """What a tool found, as it is told where no model words it.

    One that sums itself up, in a text called `summary`, is that; of nothing it is said that
    there is nothing.

    >>> told({"summary": "Two requests.", "items": [1, 2]}, "en"), told([], "en")
    ('Two requests.', 'There is nothing on record.')
    """
    if isinstance(result, dict) and isinstance(said := result.get("summary"), str) and said:
        return said
    if result in (None, [], ""):
        return "没有查到记录。" if locale == "zh" else "There is nothing on record."
    return readable(result, locale)


def readable(value: JsonValue, locale: Locale) -> str:
    """Any JSON as lines that a person can read; what is empty is left out, and never all of it.

    >>> print(readable({"leave_type": "annual", "days": 12.0}, "en"))
    leave type: annual
    days: 12
    >>> print(readable({"leave_type": "annual", "days": 12.0}, "zh"))
    类型：年假
    天数：12

    A file that a tool made is its name, its size and its link: `a.csv (12 KB): /v1/files/…`.
    A page of a long result is its text, and how to read on.
    """
    if isinstance(value, dict):
        return _readable_object(value, locale)
    if isinstance(value, list) and value:
        comma = "，" if locale == "zh" else ", "
        return "\n".join(f"- {readable(item, locale).replace(chr(10), comma)}" for item in value)
    if isinstance(value, bool):
        return ("是" if value else "否") if locale == "zh" else ("yes" if value else "no")
    if value in (None, [], ""):
        return "（无）" if locale == "zh" else "(none)"
    return plain(value)


def _readable_object(value: dict[str, JsonValue], locale: Locale) -> str:
    if (file := mentioned(value)) is not None:
        return linked(file, locale)
    if (page := page_in(value)) is not None:
        return _leafed(page, locale)
    lines = (_line(name, inner, locale) for name, inner in value.items())
    said = "\n".join(line for line in lines if line)
    return said or {"zh": "（没有查到内容）", "en": "(nothing was found)"}[locale]


def _leafed(page: ResultPage, locale: Locale) -> str:
    """A page's text, which of how many it is, and what to call for the next one."""
    zh, en = f"第 {page.page} 页，共 {page.pages} 页", f"page {page.page} of {page.pages}"
    if page.read_more is not None:
        following = page.page + 1
        zh += f"；接着读第 {following} 页：{READ_ON}，续读编号 {page.read_more}"
        en += f"; for page {following}: {READ_ON} with the handle {page.read_more}"
    return f"{page.text}\n（{zh}）" if locale == "zh" else f"{page.text}\n({en})"


def linked(file: FileMention, locale: Locale) -> str:
    """A file's name, its size and where it is fetched."""
    if locale == "zh":
        return f"{file.name}（{_size(file.size)}）：{file.url}"
    return f"{file.name} ({_size(file.size)}): {file.url}"


def _size(size: int) -> str:
    for unit, bytes_ in (("MB", 1024**2), ("KB", 1024)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size} B"


def named(name: str, value: str, locale: Locale) -> str:
    """One of a field's fixed values, in Chinese where it has a word; else as it is.

    >>> named("leave_type", "annual", "zh"), named("colour", "red", "zh")
    ('年假', 'red')
    """
    return VALUES.get(name, {}).get(value, value) if locale == "zh" else value


def _line(name: str, value: JsonValue, locale: Locale) -> str:
    if value is None or value == "":
        return ""
    shown, label = readable(_named_all(name, value, locale), locale), _label(name, locale)
    colon = "：" if locale == "zh" else ":"
    if "\n" in shown:
        return f"{label}{colon}\n{shown}"
    return f"{label}{colon}{'' if locale == 'zh' else ' '}{shown}"


def _label(name: str, locale: Locale) -> str:
    words = name.replace("_", " ")
    return FIELDS.get(name, words) if locale == "zh" else words


def _named_all(name: str, value: JsonValue, locale: Locale) -> JsonValue:
    if isinstance(value, list):
        return [_named_all(name, inner, locale) for inner in value]
    return named(name, value, locale) if isinstance(value, str) else value
