"""What tools find, as people read it in their language where no model words it."""

from collections.abc import Iterable
from datetime import timedelta

from pydantic import JsonValue

from router.domain import text_tables
from router.domain.file_types import FileMention, mentioned
from router.domain.locale import Locale, Localised
from router.domain.records import READ_ON, page_in
from router.domain.visible_text import quoted
from router.flow.prompts.field_names import FIELDS, VALUES
from router.flow.slot_types.slot import plain


def in_own_words(found: Iterable[tuple[JsonValue, str | None]], locale: Locale) -> str:
    """Results, or why there is none, as they are, line by line, for when no model can be asked.

    >>> print(in_own_words([({"summary": "Two requests."}, None), (None, "it is away")], "en"))
    Two requests.
    <BLANKLINE>
    That couldn't be found out: it is away
    """
    return "\n\n".join(
        told(result, locale) if error is None else lost(error, locale) for result, error in found
    )


def lost(error: str, locale: Locale) -> str:
    """That something couldn't be found out, and why."""
    return {"zh": "没查到：", "en": "That couldn't be found out: "}[locale] + error


def told(result: JsonValue, locale: Locale) -> str:
    """What a tool found, where no model words it: its `summary`, if it has one.

    >>> told({"summary": "Two requests.", "items": [1, 2]}, "en"), told([], "en")
    ('Two requests.', 'There is nothing on record.')
    """
    if isinstance(result, dict) and isinstance(said := result.get("summary"), str) and said:
        return said
    if result in (None, [], ""):
        return "没有查到记录。" if locale == "zh" else "There is nothing on record."
    return readable(result, locale)


def remark(decision: JsonValue, locale: Locale) -> str:
    """What an approver said to their decision, as theirs; nothing where they said nothing.

    >>> remark({"name": "Bob", "verdict": "reject", "comment": "too busy"}, "en")
    'Bob said: “too busy”'
    """
    given = decision if isinstance(decision, dict) else {}
    comment, name = plain(given.get("comment")), plain(given.get("name") or given.get("by"))
    if not comment:
        return ""
    said = f"{name} 的审批意见：" if locale == "zh" else f"{name} said: "
    return f"{said}{quoted(comment)}"


def readable(value: JsonValue, locale: Locale) -> str:
    """Any JSON as lines that a person can read; what is empty is left out, and never all of it.

    >>> print(readable({"leave_type": "annual", "days": 12.0}, "en"))
    leave type: annual
    days: 12
    """
    if isinstance(value, dict):
        return _readable_object(value, locale)
    if isinstance(value, list) and (table := _table(value, locale)):
        return table
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
        # A page's text, which of how many it is, and what to call for the next one.
        zh, en = f"第 {page.page} 页，共 {page.pages} 页", f"page {page.page} of {page.pages}"
        if page.read_more is not None:
            following = page.page + 1
            zh += f"；接着读第 {following} 页：{READ_ON}，续读编号 {page.read_more}"
            en += f"; for page {following}: {READ_ON} with the handle {page.read_more}"
        return f"{page.text}\n（{zh}）" if locale == "zh" else f"{page.text}\n({en})"
    lines = (_line(name, inner, locale) for name, inner in value.items())
    said = "\n".join(line for line in lines if line)
    return said or {"zh": "（没有查到内容）", "en": "(nothing was found)"}[locale]


def _table(items: list[JsonValue], locale: Locale) -> str:
    """Several objects with the same few plain fields as a table; empty for any other list."""
    objects = [item for item in items if isinstance(item, dict)]
    fields = dict.fromkeys(name for item in objects for name in item)
    alike = all(item.keys() == objects[0].keys() for item in objects)
    nested = any(isinstance(value, dict | list) for item in objects for value in item.values())
    if len(objects) != len(items) or len(items) < _FEWEST or not alike or nested:
        return ""
    if not 1 < len(fields) <= _MOST_COLUMNS:
        return ""
    head = [_label(name, locale) for name in fields]
    rows = ([_cell(name, item[name], locale) for name in fields] for item in objects)
    return text_tables.written(head, rows)


_FEWEST, _MOST_COLUMNS = 2, 6


def _cell(name: str, value: JsonValue, locale: Locale) -> str:
    return "" if value in (None, "") else readable(_named_all(name, value, locale), locale)


def linked(file: FileMention, locale: Locale) -> str:
    """A file's name, its size and where it is fetched."""
    if locale == "zh":
        return f"{file.name}（{size_of(file.size)}）：{file.url}"
    return f"{file.name} ({size_of(file.size)}): {file.url}"


def size_of(size: int) -> str:
    """Bytes as people say them: `12 KB`."""
    for unit, bytes_ in (("MB", 1024**2), ("KB", 1024)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size} B"


def named(name: str, value: str, locale: Locale) -> str:
    """One of a field's fixed values, in Chinese where it has a word; else as it is."""
    return VALUES.get(name, {}).get(value, value) if locale == "zh" else value


def _line(name: str, value: JsonValue, locale: Locale) -> str:
    if value is None or value == "":
        return ""
    shown, label = readable(_named_all(name, value, locale), locale), _label(name, locale)
    colon, space = ("：", "") if locale == "zh" else (":", " ")
    gap = "\n" if "\n" in shown else space
    return f"{label}{colon}{gap}{shown}"


def _label(name: str, locale: Locale) -> str:
    plain_name = name.replace("_", " ")
    return FIELDS.get(name, plain_name) if locale == "zh" else plain_name


def _named_all(name: str, value: JsonValue, locale: Locale) -> JsonValue:
    if isinstance(value, list):
        return [_named_all(name, inner, locale) for inner in value]
    return named(name, value, locale) if isinstance(value, str) else value


_UNITS = (
    (86400, Localised(zh="{} 天", en="{} d")),
    (3600, Localised(zh="{} 小时", en="{} h")),
    (60, Localised(zh="{} 分钟", en="{} min")),
    (1, Localised(zh="{} 秒", en="{} s")),
)


def span(length: timedelta, locale: Locale) -> str:
    """A length of time, in the largest unit that it is a whole number of.

    >>> span(timedelta(hours=72), "en"), span(timedelta(minutes=90), "zh")
    ('3 d', '90 分钟')
    """
    seconds = int(length.total_seconds())
    size, words = next((each for each in _UNITS if seconds % each[0] == 0), _UNITS[-1])
    return words.within(locale).format(seconds // size)
