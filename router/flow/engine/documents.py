"""Slots that are filled from what was read of a file: which item it belongs to, and what it says.

    receipt: {type: file, documents: [invoice, taxi_receipt]}    # read when it is handed in
    amount:  {type: money, from: document}                       # its field of that name
    invoice: {type: text, from: document.number}

What was said beats what was read, and a field that isn't sure is asked for. Reading is a lookup,
`document_of(person, file)`: its answer is recorded with the run, so that a replay never differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from router.domain.documents import OTHER, Document
from router.domain.locale import LOCALES, Locale, Localised
from router.flow.definition import FlowDefinition, SlotValues
from router.flow.engine.context import StepContext
from router.flow.engine.run import Run
from router.flow.engine.slots import at, emptied, only_means, placed, root
from router.flow.language.templates import shown
from router.flow.slot_types.slot import Slot, Unfit, coerced, each_part, fitted, label_of, slot_at

LOOKUP = "document_of"
"""The lookup that has a file read."""
TYPE, FILE = "type", "file"
"""What a flow file calls, beside a document's fields, its type, and a number made of its content:
for papers that have none of their own."""


_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""Documents have days as they are, and never ones that depend on today."""


class Handed(NamedTuple):
    """A file that is read, and where it stands: `items.0.receipt` beside the slots of `items.0`."""

    path: str
    file: str
    beside: Mapping[str, Slot]

    @property
    def above(self) -> str:
        """The path of what it stands in; empty for the flow's own slots."""
        return self.path.rpartition(".")[0]

    def read(self) -> Iterator[tuple[str, str, Slot]]:
        """What beside it is filled from it: the name, path and slot of each."""
        for name, slot in self.beside.items():
            if slot.sources:
                yield name, f"{self.above}.{name}" if self.above else name, slot


def handed_in(slots: Mapping[str, Slot], values: SlotValues) -> Iterator[Handed]:
    """Every file among the values that is read."""
    for name, slot in slots.items():
        for path, part, value in each_part(slot, values.get(name), name):
            if part.documents and isinstance(value, str):
                above = path.rpartition(".")[0]
                around = slot_at(slots, above) if above else None
                yield Handed(path, value, around.fields if around is not None else slots)


def offered(slots: Mapping[str, Slot], values: SlotValues) -> list[str]:
    """The files among values that are offered by path, that are read."""
    found = []
    for path, value in values.items():
        slot = slot_at(slots, path)
        for _, part, inner in each_part(slot, value, path) if slot is not None else ():
            if part.documents and isinstance(inner, str):
                found.append(inner)
    return found


def value_for(document: Document, name: str, slot: Slot) -> JsonValue:
    """What the document surely says for a slot of this name, as it is kept; None if nothing."""
    missed = False
    for source in slot.sources:
        field = source.partition(".")[2] or name
        said = None if field == FILE and missed else _said(document, field, slot)
        missed = missed or field in document.lacks or (said is None and field in document.fields)
        if (value := _kept_as(slot, said)) is not None:
            return value
    return None


def _kept_as(slot: Slot, said: JsonValue) -> JsonValue:
    """What a document says as the slot keeps it; None where it can't."""
    try:
        return None if said is None else fitted(slot, coerced(slot, said, _ANY_DAY))
    except Unfit:
        return None


def _said(document: Document, field: str, slot: Slot) -> JsonValue:
    if field in document.fields:
        return document.value(field)
    if field == TYPE:
        kinds = (v for v, choice in slot.choices.items() if document.type in choice.documents)
        return next(kinds, None)
    known = field == FILE and document.type != OTHER and document.content
    return f"FILE-{document.content[:DIGITS].upper()}" if known else None


DIGITS = 12
"""Of a content's digest: 48 bits, of which two among a million files are the same by a chance of 1
in 560."""


def unsure_value(document: Document, name: str, slot: Slot) -> JsonValue:
    """What the document may say for such a slot, where it isn't sure of that; None if nothing."""
    for source in slot.sources:
        found = document.fields.get(source.partition(".")[2] or name)
        if found is None or found.is_sure:
            continue
        if (value := _kept_as(slot, found.value)) is not None:
            return value
    return None


def read(context: StepContext, file: str) -> Document | None:
    """What was read of the requester's file; raises `LookupNeeded` where that isn't known yet."""
    known = context.run.form.documents.get(file)
    if known is not None:
        return known
    answer = context.look_up(LOOKUP, context.run.requester.id, file)
    return Document.model_validate(answer) if isinstance(answer, dict) else None


def placed_by_content(context: StepContext) -> None:
    """Have each file that is offered for a list stand in the item that it is about.

    That is the one of which as much is known as the document says, else the one that is asked
    about and says nothing else, else a new one.
    """
    run, slots = context.run, context.definition.slots
    moved = dict(run.form.offered_values)
    for name in dict.fromkeys(root(path) for path in run.form.offered_values):
        slot = slots.get(name)
        if slot is None or not slot.is_itemised or slot.of is None:
            continue
        field = next((f for f, inner in slot.of.fields.items() if inner.documents), None)
        mine = [path for path in moved if _is_file_of_item(path, name, field)]
        if field is None or not mine:
            continue
        rows = _Rows(context, name, slot.of, field)
        files = [moved.pop(path) for path in mine]
        for path, value in moved.items():
            rows.say(path, value, alone=len(files) == 1)
        moved |= {rows.take(file): file for file in files}
    run.form.offered_values = moved


def _is_file_of_item(path: str, name: str, field: str | None) -> bool:
    above, _, last = path.rpartition(".")
    return last == field and above.partition(".")[0] == name and above.count(".") == 1


class _Rows:
    """The items of a list while files find their places among them."""

    def __init__(self, context: StepContext, name: str, item: Slot, field: str) -> None:
        self._context = context
        self._name, self._item, self._field = name, item, field
        self._whole: JsonValue = context.run.form.slots.get(name)
        self._said: set[str] = set()

    @property
    def _items(self) -> list[JsonValue]:
        return self._whole if isinstance(self._whole, list) else []

    def say(self, path: str, value: JsonValue, *, alone: bool) -> None:
        """Know what the same message says of the items; `alone` where it has but one file."""
        name, *rest = path.split(".")
        if name != self._name or rest[-1:] == ["more"]:
            return
        self._whole = placed(self._whole, rest, value)
        # One file with words about one item is about that, whatever the two say.
        if alone and (rest or len(self._items) == 1):
            self._said.add(rest[0] if rest else "0")

    def take(self, file: JsonValue) -> str:
        """The path at which the file is to stand, which from now on has it."""
        document = read(self._context, file) if isinstance(file, str) else None
        number = self._best(document)
        self._whole = placed(self._whole, [str(number), self._field], file)
        return f"{self._name}.{number}.{self._field}"

    def _best(self, document: Document | None) -> int:
        rated = [
            (score, -number)
            for number, item in enumerate(self._items)
            if (score := self._score(number, item, document)) is not None
        ]
        return -max(rated)[1] if rated else len(self._items)

    def _score(self, number: int, item: JsonValue, document: Document | None) -> int | None:
        """How well the document fits an item; None where it is about something else."""
        known = item if isinstance(item, dict) else {}
        if known.get(self._field) is not None:
            return None
        sources = {n: slot for n, slot in self._item.fields.items() if slot.sources}
        agree, lacks = 0, False
        for name, slot in sources.items():
            has = known.get(name)
            lacks = lacks or has is None
            says = value_for(document, name, slot) if document else None
            if has is None or says is None:
                continue
            if has != says and not slot.choices and str(number) not in self._said:
                return None
            agree += has == says
        asked = (self._context.run.question.path or "").startswith(f"{self._name}.{number}.")
        return 2 * agree + asked if agree or lacks else None


def fill(context: StepContext, taken: SlotValues) -> None:
    """Fill, beside each file that is new, what is empty and what the one before it had said."""
    run, slots = context.run, context.definition.slots
    before = {each.path: each.file for each in handed_in(slots, run.form.slots)}
    after = {**run.form.slots, **taken}
    for handed in handed_in(slots, after):
        if before.get(handed.path) == handed.file or root(handed.path) not in taken:
            continue
        document = read(context, handed.file)
        old = run.form.documents.get(before.get(handed.path, ""))
        for name, path, slot in handed.read() if document else ():
            has, was = at(after, path), old and value_for(old, name, slot)
            says = value_for(document, name, slot) if document else None
            is_said = has != was or path in run.form.offered_values
            if says is None or (has is not None and is_said):
                continue
            if any(at(after, told) is not None for told in _told_by(context, path)):
                continue
            whole = placed(after.get(root(path)), path.split(".")[1:], says)
            after[root(path)] = taken[root(path)] = whole


def _told_by(context: StepContext, path: str) -> list[str]:
    """The slots that this one only serves to look up: how long, where an end is known."""
    slots = context.definition.slots
    return [name for name in slots if path in only_means(context, name)]


def without_read(context: StepContext, whole: JsonValue, path: str, file: JsonValue) -> JsonValue:
    """A list without what was read of the file that stood at `path`, and was refused.

    An item that is new, and of which nothing else is known, goes too.
    """
    name, number, _ = path.split(".")
    slot, known = context.definition.slots[name], context.run.form.slots.get(name)
    document = read(context, file) if isinstance(file, str) else None
    fields = slot.of.fields if slot.of is not None and document is not None else {}
    for beside, inner in fields.items():
        place = f"{name}.{number}.{beside}"
        has, had = at({name: whole}, place), at(context.run.form.slots, place)
        if document and inner.sources and has not in (None, had):
            is_read = has == value_for(document, beside, inner)
            whole = placed(whole, [number, beside], had) if is_read else whole
    items = whole if isinstance(whole, list) else []
    item = items[int(number)] if int(number) < len(items) else None
    is_new = int(number) >= (len(known) if isinstance(known, list) else 0)
    is_bare = not isinstance(item, dict) or all(value is None for value in item.values())
    left = [inner for n, inner in enumerate(items) if n != int(number)]
    return left if is_new and is_bare else whole


def emptied_file(context: StepContext, path: str) -> SlotValues:
    """The run's slots without the file at this path, and without what was read of it."""
    slots = dict(context.run.form.slots)
    gone = [each for each in handed_in(context.definition.slots, slots) if each.path == path]
    for handed in gone:
        document = context.run.form.documents.get(handed.file)
        for name, place, slot in handed.read() if document else ():
            if document and at(slots, place) == value_for(document, name, slot):
                slots[root(place)] = emptied(slots[root(place)], place.split(".")[1:])
    slots[root(path)] = emptied(slots.get(root(path)), path.split(".")[1:])
    return {name: value for name, value in slots.items() if value is not None}


def as_variable(context: StepContext, slot: Slot, file: JsonValue) -> dict[str, JsonValue] | None:
    """What `document` is in a condition of a slot of files: its type, and what is sure of it."""
    document = read(context, file) if slot.documents and isinstance(file, str) else None
    if document is None:
        return {} if slot.documents else None
    known = {name: document.value(name) for name in document.fields}
    return {TYPE: document.type, **{n: value for n, value in known.items() if value is not None}}


def remember(context: StepContext) -> None:
    """Keep with the run what was read of the files that its slots have, and of no others."""
    files = {each.file for each in handed_in(context.definition.slots, context.run.form.slots)}
    known = {file: read(context, file) for file in sorted(files)}
    context.run.form.documents = {file: document for file, document in known.items() if document}


def told(context: StepContext, before: SlotValues) -> Localised | None:
    """What was read of each file that is new in the slots, a line each; None without any."""
    run, definition = context.run, context.definition
    had = {each.file for each in handed_in(definition.slots, before)}
    new = [each for each in handed_in(definition.slots, run.form.slots) if each.file not in had]
    zh, en = ("\n".join(_told(run, each, locale) for each in new) for locale in LOCALES)
    return Localised(zh=zh, en=en) if new else None


def _told(run: Run, handed: Handed, locale: Locale) -> str:
    name = run.form.file_names.get(handed.file, handed.file)
    document = run.form.documents.get(handed.file)
    is_zh = locale == "zh"
    if document is None or not document.readable:
        why = document.problems[0].text.within(locale) if document and document.problems else ""
        said = f"“{name}”附上了，内容没能读出来" if is_zh else f"“{name}” is attached, but not read"
        return f"{said}：{why}" if is_zh and why else f"{said}: {why}" if why else f"{said}."
    got, unsure = [], []
    for field, path, slot in handed.read():
        label, has = label_of(field, slot).within(locale), at(run.form.slots, path)
        if has is not None and has == value_for(document, field, slot):
            got.append(f"{label} {shown(slot, has, locale, run.form.file_names)}")
        elif has is None and (maybe := unsure_value(document, field, slot)) is not None:
            unsure.append(f"{label} {shown(slot, maybe, locale, run.form.file_names)}")
    between = "，" if is_zh else ", "
    parts = [between.join(got)] if got else []
    if unsure:
        parts.append(f"{'看不太清：' if is_zh else 'not sure: '}{between.join(unsure)}")
    if not parts:
        return (
            f"“{name}”附上了，没有读出要用的内容。"
            if is_zh
            else (f"“{name}” is attached; nothing that is needed here was found in it.")
        )
    return f"“{name}”：{'；'.join(parts)}。" if is_zh else f"“{name}”: {'; '.join(parts)}."


def remarks(definition: FlowDefinition, run: Run) -> list[Localised]:
    """What whoever confirms or decides has to know of the files: each names its file."""
    found, form = [], run.form
    for handed in handed_in(definition.slots, form.slots):
        document, name = form.documents.get(handed.file), form.file_names.get(handed.file)
        name = name or handed.file
        told_of = [*_problems(document), *_differences(run, handed, document)]
        texts = [*told_of, *form.remarks.get(handed.file, [])]
        found += [Localised(zh=f"“{name}”：{t.zh}", en=f"“{name}”: {t.en}") for t in texts]
    return found


def _problems(document: Document | None) -> Iterable[Localised]:
    return [problem.text for problem in document.problems] if document else []


def _differences(run: Run, handed: Handed, document: Document | None) -> Iterator[Localised]:
    """Each value that was said and is another in the file."""
    for field, path, slot in handed.read() if document else ():
        has, says = at(run.form.slots, path), value_for(document, field, slot) if document else None
        if slot.choices or has is None or says in (None, has):
            continue
        label = label_of(field, slot)
        ours, its = ([shown(slot, v, locale) for locale in LOCALES] for v in (has, says))
        yield Localised(
            zh=f"{label.zh}填的是 {ours[0]}，上面是 {its[0]}。",
            en=f"the {label.en} given is {ours[1]}; it says {its[1]}.",
        )


def suggestion(definition: FlowDefinition, run: Run, path: str) -> tuple[Slot, JsonValue] | None:
    """What an unsure field may say in answer to the question for this slot; None if nothing."""
    for handed in handed_in(definition.slots, run.form.slots):
        document = run.form.documents.get(handed.file)
        for name, place, slot in handed.read() if document else ():
            if place == path and document:
                value = unsure_value(document, name, slot)
                return None if value is None else (slot, value)
    return None
