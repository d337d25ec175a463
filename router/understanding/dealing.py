"""Dealing what a sentence names out to the things that it describes.

From left to right: a new item begins where a field would come a second time. Values of one
field in a row, `58、36、32`, make an item each; where items stand there that lack the field, they
get one each: `打车和午餐，30 和 40`. A row that fits neither goes to nobody: it is asked for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from router.understanding.grammar import Found, compiled, group_span

Item = dict[str, JsonValue]

_SEPARATOR = compiled(r"^[ ]?(?:、|,|和|跟|与|及|以及|/|;|\+|and|&)?[ ]?(?:and )?$")
_EACH = compiled(r"各|每|分别|都|\b(?:each|apiece|both|all)\b")
_REDONE = compiled(
    r"(?:^|[,.;。 ])(?P<mark>(?:啊|哦|噢|呃|额|oh|oops|,| )*(?:不对|不是|错了|说错了?"
    r"|写错了?|打错了?"
    r"|更正|纠正|应该是|no\b|sorry\b|wait\b|i mean|i meant|actually|make (?:it|that)|correction"
    r"|scratch that|should be)(?:[,.: ]|应该|是|的|了|no\b|sorry\b|wait\b|i mean|i meant|actually"
    r"|make (?:it|that)|it'?s|it was|that'?s|should be|the|an?\b)*)$"
)
_CLAUSE = compiled("[,;。.]")


@dataclass(frozen=True)
class Value:
    """A value for the field of an item."""

    name: str
    value: JsonValue
    shared: bool = False
    """True for what holds for several things at once: what kind they are, on which day."""
    nearest: bool = False
    """True for what is said of the thing beside it alone: how many of it there are."""


@dataclass
class _Hand:
    """The items so far; the last `open` of them are described together."""

    items: list[Item] = field(default_factory=lambda: [{}])
    open: int = 1
    again: Item = field(default_factory=dict)
    """What was said again of the last item, and so may be the beginning of the next."""

    def give(self, value: Value, *, to_each: bool) -> None:
        """To the items being described, or to a new one where they have such a value."""
        current = self.items[-self.open :]
        if value.shared and current[-1].get(value.name) == value.value:
            self.again[value.name] = value.value
        elif any(value.name in item for item in current):
            self.items.append({**self.again, value.name: value.value})
            self.open, self.again = 1, {}
        elif len(current) == 1 or value.shared or to_each:
            for item in current:
                item[value.name] = value.value
        elif value.nearest:
            current[-1][value.name] = value.value

    def give_row(self, name: str, values: Sequence[JsonValue]) -> None:
        """One each to the items that lack it, or to copies of the only one that does."""
        lacking = [item for item in self.items if name not in item]
        if len(lacking) == len(values):
            for item, value in zip(lacking, values, strict=True):
                item[name] = value
        elif len(lacking) == 1 and lacking[0] is self.items[-1]:
            base = self.items.pop()
            self.items += [{**base, name: value} for value in values]
            self.open = len(values)
        elif not lacking:
            self.items += [{name: value} for value in values]
            self.open = 1

    def put_right(self, value: Value) -> None:
        """In place of what was said before."""
        for item in self.items[-self.open :]:
            item[value.name] = value.value


def dealt(found: Iterable[Found[Value]], text: str) -> list[Item]:
    """The items that these values, in the order of the text, describe.

    A value said again after `不对` or `no, sorry` is said in place of the first.
    """
    hand, reached, redoing = _Hand(), 0, False
    for row in _rows(_once(found), text):
        gap = text[reached : row[0].start]
        redoing = _REDONE.search(gap) is not None or (redoing and not _CLAUSE.search(gap))
        reached = row[-1].end
        if redoing:
            hand.put_right(row[-1].value)
        elif len(row) > 1:
            hand.give_row(row[0].value.name, [f.value.value for f in row])
        else:
            around = text[max(0, row[0].start - 4) : row[0].start] + text[reached : reached + 8]
            hand.give(row[0].value, to_each=_EACH.search(around) is not None)
    return [item for item in hand.items if item]


def marks_of_correction(found: Iterable[Found[Value]], text: str) -> list[tuple[int, int]]:
    """Where it says that what stands before a value is wrong: `不对`, `no sorry`."""
    marks: list[tuple[int, int]] = []
    reached = 0
    for one in found:
        mark = _REDONE.search(text[reached : one.start]) if reached else None
        if mark is not None:
            marks.append((reached + group_span(mark, "mark")[0], one.start))
        reached = one.end
    return marks


def _once(found: Iterable[Found[Value]]) -> list[Found[Value]]:
    """Less what is said twice in a row, `打车的出租车费`."""
    kept: list[Found[Value]] = []
    for one in found:
        if kept and one.value.shared and kept[-1].value == one.value:
            kept[-1] = Found(kept[-1].start, one.end, one.value)
        else:
            kept.append(one)
    return kept


def _rows(found: Sequence[Found[Value]], text: str) -> list[list[Found[Value]]]:
    """Values of one field with nothing but separators between, together."""
    rows: list[list[Found[Value]]] = []
    for one in found:
        if rows and _is_row(rows[-1][-1], one, text):
            rows[-1].append(one)
        else:
            rows.append([one])
    return rows


def _is_row(one: Found[Value], other: Found[Value], text: str) -> bool:
    between = text[one.end : other.start]
    if one.value.name != other.value.name or not (between.strip() or not one.value.shared):
        return False
    return _SEPARATOR.search(between) is not None
