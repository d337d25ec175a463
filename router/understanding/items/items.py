"""Several things in one sentence: `昨天打车36块,今天午饭25块`, `三张打车票 58、36、32`.

A row of choices, counts, amounts, dates and numbers of documents is dealt out to items: a new one
begins where a field would come twice. Values of one field in a row make an item each, or go to
those that lack it; a row that fits neither is asked for, and so is a figure that may be something
else than an amount.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from router.entities.ambiguity import is_of_something
from router.entities.choices import find_choices
from router.entities.dates import Days
from router.entities.grammar import Found, Span, compiled, cuts_a_word, group_span, only
from router.entities.money import Money, is_exact
from router.entities.numbers import EN_NUMBER, ZH_COUNT, parse_number
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot
from router.lexicon import EN
from router.understanding.slots.free_text import documents_of
from router.understanding.slots.mappings import Filling

_MEASURE = "[台个部只块套把张件副支份条本架]"
_BEFORE = compiled(
    rf"(?P<n>{ZH_COUNT}) ?(?:{_MEASURE} ?)(?:新的?|办公用?的?|全新的?|大|小)? ?$"
    rf"|(?:[加来要请再和、,及给]|^)(?P<one>{_MEASURE}) ?(?:新的?)? ?$"
    rf"|(?:^|[^\d.])(?P<figure>\d{{1,3}}) ?(?:x|×|\*)? ?$"
    rf"|(?P<en>\b(?:an?|another)\b|{EN_NUMBER}) (?:x )?(?:(?:new|extra|more|additional|big|large"
    r"|small|spare|pieces? of|sets? of|pairs? of) ){0,2}$"
)
_AFTER = compiled(
    rf"^s? ?(?P<each>各|每[种样]|都|一样)? ?(?:要|需要|来|申请)? ?(?P<n>{ZH_COUNT}) ?{_MEASURE}"
    rf"|^s? ?, ?(?P<alone>{ZH_COUNT}) ?{_MEASURE}(?:就[行好够]|够|即可|$|[,.!])"
    r"|^s? ?(?:x|×|\*|:|= ?) ?(?P<figure>\d{1,3})(?:[^\d.]|$)"
)
_LOOK = 24
_ONE_PIECE = frozenset({"a", "an", "another"})


def find_counts(text: str, things: Iterable[Found[Any]]) -> Iterator[Found[int]]:
    """The count of each of the things, in their order: `两台显示器,键盘要3个`; not of all."""
    taken: list[Span] = []
    for thing in things:
        first = max(0, thing.start - _LOOK)
        before = _count(text, _BEFORE.search(text[first : thing.start]), first)
        after = _count(text, _AFTER.search(text[thing.end :][:_LOOK]), thing.end)
        free = next((c for c in (before, after) if c is not None and not c.touches(taken)), None)
        if free is not None:
            taken.append(free.span)
            yield free


def _count(text: str, match: Any, offset: int) -> Found[int] | None:
    if match is None:
        return None
    names = ("n", "one", "alone", "figure", "en")
    name = next(n for n in names if match.groupdict().get(n))
    start, end = (offset + at for at in group_span(match, name))
    written = match.group(name)
    is_one = written in _ONE_PIECE or name == "one"
    value = Decimal(1) if is_one else parse_number(written)
    whole = value is not None and value == value.to_integral_value() and value > 0
    if not whole or cuts_a_word(text, start):
        return None
    return Found(start, end, int(value or 0))


Spans = Sequence[Span]

_FIGURE = r"\d{1,9}(?:\.\d{1,2})?"
# 58、36、32 is a row of amounts where a count or a choice stands before it.
_ROW = compiled(
    rf"(?:^|[^\d.:/a-z-])(?P<row>{_FIGURE}(?: ?(?:、|,|和|/|;|\+|and|&) ?(?:and )?{_FIGURE})"
    r"{1,19})(?:[^\d%:/.a-z-]|$)"
)
_SPACED_ROW = compiled(
    rf"(?:^|[^\d.,:/a-z-])(?P<row>{_FIGURE}(?: {_FIGURE}){{1,19}})(?:[^\d%:/.,-]|$)"
)
_ONE = compiled(_FIGURE)
# 1,234.50 and 12,000 are an amount each, unless two receipts or more were spoken of.
_GROUPED = compiled(r"^[1-9]\d{0,2}(?:,\d{3}(?:\.\d{1,2})?|(?:,\d{3}){2,3}\.\d{1,2})$")
_DECIMAL_COMMA = compiled(r"^\d{1,9},\d{1,2}$")
_NUMBERING = compiled(r"(?:第 ?|item |no\.? ?|number |#)$")
_NEAR = 10
# 打车费36: a figure may stand this far from what it was spent on.
_WITHIN = 3
# A longer bare figure is the number of a document or a telephone.
_LARGEST_BARE = 1_000_000
_SAID_ANEW = compiled(
    r"(?:不对|不是|错了?|应该是|改成|no|sorry|i mean|i meant|actually|make (?:it"
    r"|that))[,. ]*(?:是|it'?s|it was)? ?$"
)


@lru_cache(maxsize=256)
def _counting(names: tuple[str, ...]) -> tuple[Any, Any]:
    """What says that there are several items, and what counts something; items are called so."""
    things = EN.item + names
    several = (
        r"[两二三四五六七八九十2-9] ?[张笔份]|\b(?:two|three|four|five|six|seven|eight|nine|ten"
        rf"|[2-9]) (?:[a-z]+ )?{things}s\b"
    )
    counted = rf"^ ?(?:[张个笔次份条人天日月年号点楼层公米位晚%]|{EN.counted}|{things}s?)"
    return compiled(several), compiled(counted)


def find_amounts(
    utterance: Utterance, taken: Spans, choices: Spans, names: tuple[str, ...] = ()
) -> list[Found[Money]]:
    """The amounts of the sentence, in order.

    `taken` is what stands for something else, the numbers of documents say; `choices` where
    it says what was paid for, `names` what items are called.
    """
    # People who group thousands don't use the Chinese comma: 58，360元.
    with_currency = [
        found
        for found in only(Money, utterance.spent)
        if not found.touches(taken) and "，" not in utterance.normalised.as_typed(*found.span)
    ]
    others = [f.span for f in utterance.spent if not isinstance(f.value, Decimal)]
    masked = utterance.text
    for start, end in [*taken, *others]:
        masked = masked[:start] + "\0" * (end - start) + masked[end:]
    bare = _bare(utterance, masked, choices, with_currency, names)
    return sorted([*with_currency, *bare], key=lambda f: f.start)


def _bare(
    utterance: Utterance,
    text: str,
    choices: Spans,
    known: Sequence[Found[Money]],
    names: tuple[str, ...],
) -> list[Found[Money]]:
    several_of, counted = _counting(names)
    several = several_of.search(text) is not None
    row = _ROW.search(text) or (several and _SPACED_ROW.search(text))
    if row and not counted.search(text[group_span(row, "row")[1] :][:_NEAR]):
        offset, end = group_span(row, "row")
        written = utterance.normalised.as_typed(offset, end)
        if _DECIMAL_COMMA.search(written) and not several:
            return []
        if known:
            return []
        if several or not _GROUPED.search(written):
            return [
                Found(offset + n.start(), offset + n.end(), Money(Decimal(n.group())))
                for n in _ONE.finditer(row.group("row"))
            ]
    figures = [
        f
        for f in only(Decimal, utterance.spent)
        if _may_be_spent(text, f, counted)
        if not is_of_something(text, f) or f.touches((s - _WITHIN, e) for s, e in choices)
    ]
    alone = len(figures) == 1 and not known
    return [
        Found(f.start, f.end, Money(f.value))
        for f in figures
        if alone
        or any(f.start - _WITHIN <= end <= f.start for _, end in choices)
        or (not known and _SAID_ANEW.search(text[: f.start]))
    ]


def _may_be_spent(text: str, figure: Found[Decimal], counts: Any) -> bool:
    if not text[figure.start : figure.end].strip("\0") or not is_exact(figure.value):
        return False
    counted = counts.search(text[figure.end :][:_NEAR]) or _NUMBERING.search(text[: figure.start])
    return not counted and not cuts_a_word(text, figure.end) and figure.value < _LARGEST_BARE


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
class ItemValue:
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

    def give(self, value: ItemValue, *, to_each: bool) -> None:
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


def dealt(found: Iterable[Found[ItemValue]], text: str) -> list[Item]:
    """The items that these values describe; what is said again after `不对` replaces the first."""
    hand, reached, redoing = _Hand(), 0, False
    for row in _rows(_once(found), text):
        gap = text[reached : row[0].start]
        redoing = _REDONE.search(gap) is not None or (redoing and not _CLAUSE.search(gap))
        reached = row[-1].end
        if redoing:
            for item in hand.items[-hand.open :]:
                item[row[-1].value.name] = row[-1].value.value
        elif len(row) > 1:
            hand.give_row(row[0].value.name, [f.value.value for f in row])
        else:
            around = text[max(0, row[0].start - 4) : row[0].start] + text[reached : reached + 8]
            hand.give(row[0].value, to_each=_EACH.search(around) is not None)
    return [item for item in hand.items if item]


def marks_of_correction(found: Iterable[Found[ItemValue]], text: str) -> list[tuple[int, int]]:
    """Where it says that what stands before a value is wrong: `不对`, `no sorry`."""
    marks: list[tuple[int, int]] = []
    reached = 0
    for one in found:
        mark = _REDONE.search(text[reached : one.start]) if reached else None
        if mark is not None:
            marks.append((reached + group_span(mark, "mark")[0], one.start))
        reached = one.end
    return marks


def _once(found: Iterable[Found[ItemValue]]) -> list[Found[ItemValue]]:
    """Less what is said twice in a row, `打车的出租车费`."""
    kept: list[Found[ItemValue]] = []
    for one in found:
        if kept and one.value.shared and kept[-1].value == one.value:
            kept[-1] = Found(kept[-1].start, one.end, one.value)
        else:
            kept.append(one)
    return kept


def _rows(found: Sequence[Found[ItemValue]], text: str) -> list[list[Found[ItemValue]]]:
    """Values of one field with nothing but separators between, together."""
    rows: list[list[Found[ItemValue]]] = []
    for one in found:
        last = rows[-1][-1] if rows else None
        between = text[last.end : one.start] if last else ""
        apart = last is not None and (between.strip() or not last.value.shared)
        alike = last is not None and last.value.name == one.value.name
        if not (alike and apart and _SEPARATOR.search(between)):
            rows.append([])
        rows[-1].append(one)
    return rows


_ALTOGETHER = compiled(r"一共|总共|合计|共计|总计|\b(?:total|altogether|in all)\b")


def fields_of(slot: Slot) -> dict[str, Slot]:
    """What an item of a list consists of."""
    return slot.of.fields if slot.of else {}


def find_items(slot: Slot, utterance: Utterance) -> tuple[list[Item], Filling]:
    """The items that a sentence describes, and where: none by a date alone, or a sum of several."""
    described_, found = described(slot, utterance)
    days = {name for name, part in fields_of(slot).items() if part.kind.takes is Days}
    items = [item for item in described_ if len(item) > 1 or not days.issuperset(item)]
    marks = marks_of_correction(found, utterance.text)
    filling = Filling(used=[*(f.span for f in found), *marks] if items else [])
    if len(items) > 1 and _ALTOGETHER.search(utterance.text):
        return [], filling
    return items, filling


def described(slot: Slot, utterance: Utterance) -> tuple[list[Item], list[Found[ItemValue]]]:
    """Whatever the sentence says of items, even a date alone, and every value in order."""
    fields = fields_of(slot)
    paper = next((name for name, part in fields.items() if part.reference), "")
    numbers = documents_of(fields[paper]) if paper else None
    placed = numbers.of_items(utterance) if numbers else []
    documents: list[Found[str]] = []
    if numbers:
        beside_money = any(isinstance(f.value, Money) for f in utterance.spent)
        elsewhere = [f.span for _, f in placed]
        named = numbers.find(utterance, beside_money=beside_money)
        documents = [f for f in named if not f.touches(elsewhere)]
    taken = [*(f.span for _, f in placed), *(f.span for f in documents)]
    values = [
        *_values(slot, utterance, taken),
        *(Found(f.start, f.end, ItemValue(paper, f.value)) for f in documents),
    ]
    found = sorted(values, key=lambda f: f.start)
    items = _complete(fields, dealt(found, utterance.text), found)
    for place, document in placed:
        if place < len(items):
            items[place][paper] = document.value
            found.append(Found(document.start, document.end, ItemValue(paper, document.value)))
    return items, found


def _values(slot: Slot, utterance: Utterance, taken: Spans) -> Iterator[Found[ItemValue]]:
    """All but the numbers of documents."""
    fields, text = fields_of(slot), utterance.text
    choices = [
        Found(choice.start, choice.end, ItemValue(name, choice.value, shared=True))
        for name, part in fields.items()
        for choice in (find_choices(part.choices, text) if part.choices else ())
        if choice.start < utterance.end and not choice.touches(taken)
    ]
    yield from choices
    numbers = [name for name, part in fields.items() if part.kind.takes is Decimal]
    for count in find_counts(text, choices) if len(numbers) == 1 else ():
        yield Found(count.start, count.end, ItemValue(numbers[0], count.value, nearest=True))
    for name, part in fields.items():
        if part.kind.takes is Money:
            for paid in find_amounts(utterance, taken, [f.span for f in choices], slot.names):
                yield Found(paid.start, paid.end, ItemValue(name, dict(paid.value.value())))
        elif part.kind.takes is Days:
            for found in only(Days, utterance.spent):
                if found.value.first == found.value.last and not found.touches(taken):
                    day = ItemValue(name, found.value.first.isoformat(), shared=True)
                    yield Found(found.start, found.end, day)


def _complete(
    fields: dict[str, Slot], items: list[Item], found: list[Found[ItemValue]]
) -> list[Item]:
    """What was said once for all: the kind of the first, a day before or after everything."""
    names = [f.value.name for f in found if not fields[f.value.name].kind.is_text]
    shared: Item = {}
    for name, part in fields.items():
        values = [item[name] for item in items if name in item]
        if len(values) != 1:
            continue
        frames = names.count(name) == 1 and name in (names[0], names[-1])
        if (part.choices and name in items[0]) or (part.kind.takes is Days and frames):
            shared[name] = values[0]
    return [{**shared, **item} for item in items]
