"""Edits of a YAML or JSON text that leave every byte alone which they aren't about.

An edit is spliced in at the marks of the node it is about, so that comments, order, quotes and
blank lines around it survive. Whatever the splice looks like, the text is read again: it is taken
only where it says exactly what the edit, made in the data, would come to. So an edit that can't be
written there is refused, and never half done: one within what stands elsewhere too, by an alias.
JSON is YAML whose keys and texts are in double quotes, and it stays JSON.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode

from router.domain.errors import Fault
from router.formats import yaml_style as style
from router.formats.data_edit import (
    Edit,
    EditRefused,
    InsertValue,
    MoveValue,
    RemoveValue,
    RenameKey,
    SetValue,
    changed,
    is_same,
    value_at,
)
from router.formats.yaml_document import REMEMBERED, Place, Unreadable, YamlDocument, read_yaml
from router.formats.yaml_marks import (
    REPEATED,
    UNWRITABLE,
    MarkedEntry,
    YamlMarks,
    is_json,
    without_tabs,
)

_COMMENT = re.compile(r"[ \t]+#[^\r\n]*")


def edited(text: str, edit: Edit) -> str:
    """The text after the edit; raises `EditRefused`."""
    found = read_editable(text)
    wanted = changed(found.data, edit)
    if is_same(wanted, found.data):
        return text
    unfit: Fault | None = None
    stays_json = is_json(text)
    for written in _attempts(text, found.data, edit):
        try:
            after = _read(written)
        except Unreadable as unreadable:
            unfit = unreadable.fault
            continue
        is_wanted = is_same(after.data, wanted) and len(after.faults) <= len(found.faults)
        if is_wanted and (is_json(written) or not stays_json):
            return written
    raise EditRefused(unfit if unfit is not None else UNWRITABLE)


def respelt(text: str, values: Mapping[Place, str], keys: Mapping[Place, str]) -> str:
    """The text with other texts at places, and keys called otherwise, all of it at once.

    What stands by an alias is written where its anchor is. Raises `EditRefused`, nothing done.
    """
    data = read_editable(text).data
    wanted = data
    for place, value in values.items():
        wanted = changed(wanted, SetValue(place=place, value=value))
    # The innermost first: further out, places have other names by then.
    for place, key in sorted(keys.items(), key=lambda each: -len(each[0])):
        wanted = changed(wanted, RenameKey(place=place, key=key))
    if is_same(wanted, data):
        return text
    found = YamlMarks(text)
    pieces = dict([*_values_at(found, data, values), *_keys_at(found, keys)])
    written = text
    for start, end in sorted(pieces, reverse=True):
        written = written[:start] + pieces[start, end] + written[end:]
    try:
        if is_same(read_yaml(written).data, wanted):
            return written
    except Unreadable as bad:
        raise EditRefused(bad.fault) from None
    raise EditRefused(UNWRITABLE)


Splice = tuple[tuple[int, int], str]
"""What is written instead from one position to another."""


def _values_at(found: YamlMarks, data: Any, values: Mapping[Place, str]) -> Iterator[Splice]:
    for place, value in values.items():
        if (entry := found.own(place)) is None:
            continue
        written = found.text[entry.value : entry.end]
        patched = next(_pieces(written, value_at(data, place), value), None)
        like = found.quote or getattr(entry.node, "style", None)
        yield (entry.value, entry.end), style.scalar(value, like) if patched is None else patched


def _keys_at(found: YamlMarks, keys: Mapping[Place, str]) -> Iterator[Splice]:
    for place, key in keys.items():
        if (entry := found.own(place)) is not None:
            yield found.key_of(entry), style.scalar(key, found.quote)


def read_editable(text: str) -> YamlDocument:
    """Read a YAML or JSON text that can be edited; raises `EditRefused` if it can't be read."""
    try:
        return _read(text)
    except Unreadable as bad:
        raise EditRefused(Fault(f"line {bad.line}: {bad.fault.what}", bad.fault.remedy)) from None


def _read(text: str) -> YamlDocument:
    return read_yaml(without_tabs(text) if is_json(text) else text)


def _attempts(text: str, data: Any, edit: Edit) -> Iterator[str]:
    """Texts that the edit may come to, the one that changes least first."""
    match edit:
        case SetValue():
            written = _set(text, data, edit)
        case InsertValue():
            written = _insert(text, data, edit)
        case RemoveValue():
            written = _remove(text, edit)
        case MoveValue():
            written = _move(text, data, edit)
        case RenameKey():
            written = _rename(text, edit)
    if "\r\n" not in text:
        yield from written
    else:
        yield from (re.sub(r"(?<!\r)\n", "\r\n", each) for each in written)


def _set(text: str, data: Any, edit: SetValue) -> Iterator[str]:
    holder, key = value_at(data, edit.place[:-1]), edit.place[-1]
    if data is None:
        yield from _begun(text, str(key), edit.value)
        return
    if holder is None:
        yield from _set(text, data, SetValue(place=edit.place[:-1], value={str(key): edit.value}))
        return
    if isinstance(holder, dict) and key not in holder:
        insert = InsertValue(place=edit.place[:-1], at=len(holder), key=str(key), value=edit.value)
        yield from _insert(text, data, insert)
        return
    old = holder[key]
    if isinstance(old, str) and isinstance(edit.value, str):
        yield from _patched(text, edit.place, old, edit.value)
    yield from _piecemeal(text, edit, old)
    found = YamlMarks(text)
    way = found.way(edit.place)
    bracketed = any(entry.in_brackets for entry in way[:-1])
    yield from _replaced(found, way, edit.value, bracketed=bracketed)


def _begun(text: str, key: str, value: Any) -> Iterator[str]:
    """The text, which says nothing yet, with its first entry: behind its comments."""
    apart = "\n" if text and not text.endswith("\n") else ""
    yield f"{text}{apart}{style.entry(key, value, 0)}\n"
    found = YamlMarks(text)
    yield from _replaced(found, [found.root], {key: value}, bracketed=False)


MOST_PIECES = 8
"""Changes within a value that are written one by one, so that the rest of it stays as it is."""


def _piecemeal(text: str, edit: SetValue, old: Any) -> Iterator[str]:
    """The text with only those parts of a mapping or list changed that differ."""
    edits = list(_differences(edit.place, old, edit.value))
    if not edits or len(edits) > MOST_PIECES or edits == [edit] or len(text) > REMEMBERED:
        return
    try:
        for each in edits:
            text = edited(text, each)
    except EditRefused:
        return
    yield text


def _differences(place: Place, old: Any, new: Any) -> Iterator[Edit]:
    if is_same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and new:
        kept = [key for key in old if key in new]
        if [key for key in new if key in old] == kept == [*new][: len(kept)]:
            yield from (RemoveValue(place=(*place, key)) for key in old if key not in new)
            for key, value in new.items():
                if key in old:
                    yield from _differences((*place, key), old[key], value)
                else:
                    yield SetValue(place=(*place, key), value=value)
            return
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, value in enumerate(new):
            yield from _differences((*place, number), old[number], value)
        return
    yield SetValue(place=place, value=new)


AROUND = 12
"""Characters beside what changes in a text by which it is found again as it is written."""


def _patched(text: str, place: Place, old: str, new: str) -> Iterator[str]:
    """The text with only that piece of a scalar rewritten which differs: its line breaks stay."""
    entry = YamlMarks(text).way(place)[-1]
    for piece in _pieces(text[entry.value : entry.end], old, new):
        yield text[: entry.value] + piece + text[entry.end :]


def _pieces(written: str, old: str, new: str) -> Iterator[str]:
    """A scalar as it is written, with only that piece of it rewritten which differs."""
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    first = min(len(old), len(new)) if same is None else same
    rest = min(len(old), len(new)) - first
    last = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    for around in (AROUND, AROUND // 2, 2):
        before, after = old[max(first - around, 0) : first], old[len(old) - last :][:around]
        sought = before + old[first : len(old) - last] + after
        if sought and written.count(sought) == 1:
            piece = before + new[first : len(new) - last] + after
            yield written.replace(sought, piece)


def _replaced(
    found: YamlMarks, way: Sequence[MarkedEntry], value: Any, *, bracketed: bool
) -> Iterator[str]:
    """The text with another value in the place of the last entry on the way."""
    entry, text = way[-1], found.text
    in_list = isinstance(entry.key, int)
    column = entry.start - found.line_start(entry.start)
    before = text[entry.colon : entry.value]
    if not bracketed and not style.is_short(value, column, in_list=in_list):
        yield _with_block(found, entry, value, column, in_list=in_list)
    like = entry.node.style if isinstance(entry.node, ScalarNode) and not entry.is_alias else None
    short = style.inline(value, found.quote or (like if isinstance(value, str) else None))
    if "\n" not in before:
        space = "" if before or (bracketed and in_list) or not entry.colon else " "
        yield text[: entry.value] + space + short + text[entry.end :]
    remark = _COMMENT.match(text, entry.colon)
    said = remark[0] if remark else ""
    yield f"{text[: entry.colon]} {short}{said}{text[entry.end :]}"


def _with_block(
    found: YamlMarks, entry: MarkedEntry, value: Any, column: int, *, in_list: bool
) -> str:
    """The value below each other, behind the key or the dash, whose comment stays in its line."""
    text = found.text
    whole = style.item(value, column) if in_list else style.entry("k", value, column)[2:]
    if entry.key == "":
        return text[: entry.start] + style.block(value, 0) + text[entry.end :]
    first, _, below = whole.removeprefix("-").partition("\n")
    is_below = "\n" in text[entry.colon : entry.value]
    behind = entry.colon if is_below else entry.end
    remark = _COMMENT.match(text, behind)
    said = remark[0] if remark else ""
    rest = entry.end if is_below else entry.end + len(said)
    return f"{text[: entry.colon]}{first}{said}\n{below}{text[rest:]}"


def _insert(text: str, data: Any, edit: InsertValue) -> Iterator[str]:
    if data is None and edit.key is not None:
        yield from _begun(text, edit.key, edit.value)
        return
    found = YamlMarks(text)
    way = found.way(edit.place)
    holder = way[-1]
    if holder.is_alias:
        raise EditRefused(REPEATED)
    entries = found.entries(holder)
    bracketed = any(entry.in_brackets for entry in way[:-1])
    if not entries:
        whole = [edit.value] if edit.key is None else {edit.key: edit.value}
        yield from _replaced(found, way, whole, bracketed=bracketed)
    elif bracketed or holder.in_brackets:
        yield from _insert_in_brackets(found, entries, edit)
    else:
        yield from _insert_lines(found, entries, edit)


def _insert_in_brackets(
    found: YamlMarks, entries: Sequence[MarkedEntry], edit: InsertValue
) -> Iterator[str]:
    """The text with an entry more, on a line of its own if the one next to it has one."""
    text, beside = found.text, entries[min(edit.at, len(entries) - 1)]
    like = found.quote or _quote_beside(beside, edit)
    gap, written = ", ", [style.inline(edit.value, like)]
    if found.leads_line(beside.start):
        pad = text[found.line_start(beside.start) : beside.start]
        gap = f",\n{pad}"
        if found.quote:
            written.insert(0, style.json_block(edit.value, pad))
    head = "" if edit.key is None else f"{style.scalar(edit.key, found.quote)}: "
    for each in written:
        if edit.at < len(entries):
            yield f"{text[: beside.start]}{head}{each}{gap}{text[beside.start :]}"
        else:
            yield f"{text[: beside.end]}{gap}{head}{each}{text[beside.end :]}"


def _quote_beside(beside: MarkedEntry, edit: InsertValue) -> str | None:
    """The quote of the item that a new text in a list stands next to."""
    is_text = edit.key is None and isinstance(edit.value, str)
    return getattr(beside.node, "style", None) if is_text else None


def _insert_lines(
    found: YamlMarks, entries: Sequence[MarkedEntry], edit: InsertValue
) -> Iterator[str]:
    text, first = found.text, entries[0].start
    # Its own mark is where its anchor stands, if it has one.
    column = first - found.line_start(first)
    like = _quote_beside(entries[min(edit.at, len(entries) - 1)], edit)
    long = (
        style.item(edit.value, column, like)
        if edit.key is None
        else style.entry(edit.key, edit.value, column)
    )
    short = style.inline(edit.value, like)
    pad = " " * column
    for written in (
        long,
        f"- {short}" if edit.key is None else f"{style.scalar(edit.key)}: {short}",
    ):
        apart = _blank_between(found, entries, edit.at)
        if edit.at == len(entries):
            end = found.line_end(entries[-1].end)
            yield f"{text[:end]}\n{apart}{pad}{written}{text[end:] or chr(10)}"
        elif found.leads_line(entries[edit.at].start):
            start = found.chunk(entries[edit.at])[0]
            yield f"{text[:start]}{pad}{written}\n{apart}{text[start:]}"
        else:
            start = entries[edit.at].start
            yield f"{text[:start]}{written}\n{pad}{text[start:]}"


def _blank_between(found: YamlMarks, entries: Sequence[MarkedEntry], at: int) -> str:
    """A blank line, where those beside the new entry are parted by one."""
    beside = min(max(at, 1), len(entries) - 1)
    if len(entries) == 1:
        return ""
    gap = found.text[entries[beside - 1].end : entries[beside].start]
    return "\n" if re.search(r"\n[ \t\r]*\n", gap) else ""


def _remove(text: str, edit: RemoveValue) -> Iterator[str]:
    found = YamlMarks(text)
    way = found.way(edit.place)
    holder, entry = way[-2:]
    if holder.is_alias:
        raise EditRefused(REPEATED)
    entries = found.entries(holder)
    number = [each.key for each in entries].index(entry.key)
    if len(entries) == 1:
        none: Any = {} if isinstance(holder.node, MappingNode) else []
        if holder.key == "":
            yield f"{text[: holder.start]}{style.inline(none)}{text[holder.end :]}"
        yield from _replaced(found, way[:-1], none, bracketed=True)
    elif any(each.in_brackets for each in way[:-1]):
        if number + 1 < len(entries):
            yield text[: entry.start] + text[entries[number + 1].start :]
        else:
            yield text[: entries[number - 1].end] + text[entry.end :]
    elif found.leads_line(entry.start):
        start, end = found.chunk(entry)
        is_apart = start > 0 and not text[found.line_start(start - 1) : start].strip()
        if is_apart or number == 0:
            end = _past_blank(found, end)
        yield text[:start] + text[end:]
    else:
        yield text[: entry.start] + text[entries[number + 1].start :]


def _past_blank(found: YamlMarks, at: int) -> int:
    """Behind the blank line that begins there, if one does."""
    end = found.next_line(at)
    return end if end > at and not found.text[at:end].strip() else at


def _move(text: str, data: Any, edit: MoveValue) -> Iterator[str]:
    found = YamlMarks(text)
    way = found.way(edit.place)
    holder, entry = way[-2:]
    if holder.is_alias:
        raise EditRefused(REPEATED)
    entries = found.entries(holder)
    number = [each.key for each in entries].index(entry.key)
    bracketed = any(each.in_brackets for each in way[:-1])
    spans = [(each.start, each.end) if bracketed else found.chunk(each) for each in entries]
    if bracketed or all(found.leads_line(each.start) for each in entries):
        yield _permuted(text, spans, number, edit.at)
    key = entry.key if isinstance(entry.key, str) else None
    value = value_at(data, edit.place)
    try:
        without = edited(text, RemoveValue(place=edit.place))
        yield edited(without, InsertValue(place=edit.place[:-1], at=edit.at, key=key, value=value))
    except EditRefused:
        return


def _permuted(text: str, spans: Sequence[tuple[int, int]], which: int, to: int) -> str:
    """The text with one of these pieces elsewhere among them; what is between them stays there."""
    pieces = [text[start:end] for start, end in spans]
    if pieces[-1] and not pieces[-1].endswith("\n") and pieces[0].endswith("\n"):
        pieces[-1] += "\n"
    pieces.insert(to, pieces.pop(which))
    between = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
    joined = "".join(part for pair in zip(pieces, [*between, ""], strict=True) for part in pair)
    return text[: spans[0][0]] + joined + text[spans[-1][1] :]


def _rename(text: str, edit: RenameKey) -> Iterator[str]:
    found = YamlMarks(text)
    holder, entry = found.way(edit.place)[-2:]
    if holder.is_alias:
        raise EditRefused(REPEATED)
    start, end = found.key_of(entry)
    yield text[:start] + style.scalar(edit.key, found.quote) + text[end:]
