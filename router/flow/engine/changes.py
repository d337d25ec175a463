"""What to change, asked step by step: which slot, then which item, then which field.

What holds several things is never emptied by naming it: only what is chosen within it is asked
for anew. Choices are paths: `reason`, `items.0`, `items.0.amount`; `items.more` adds an item,
`items.0.-` removes one, and `names.0.=` gives a plain value of a list another.
"""

from collections import Counter
from collections.abc import Iterator

from pydantic import JsonValue

from router.domain.locale import LOCALES, Localised
from router.flow.definition import FlowDefinition
from router.flow.engine.run import Run
from router.flow.engine.slots import LONGEST, at
from router.flow.slot_types.slot import Choice, Slot, label_of, shown

CHANGE = "change"
"""What is asked when someone declines although nothing is missing: which slot to change."""
TAKEN = frozenset({CHANGE, "more"})
"""Words by which questions about slots are asked, and that no slot can be called."""
NOTHING, REMOVED, ANEW, MORE = "-", ".-", ".=", ".more"
"""No slot or field can be called so: to change nothing, and what is done with an item."""

WHICH = Localised(
    zh="要改哪一项？选一项，或者直接说，比如“结束日期改成周五”。",
    en="What should be changed? Choose one, or just say it, such as “change the end to Friday”.",
)
WHICH_ITEM = Localised(
    zh="要改哪一项，还是再加一项？也可以直接说，比如“第 1 项改成……”“删掉第 1 项”。",
    en="Which one should be changed, or shall I add another? You can also just say it, such as "
    "“change item 1 to …” or “remove item 1”.",
)
WHICH_PART = Localised(zh="要改它的什么？", en="What about it should be changed?")
LEAVE_AS_IT_IS = Choice(
    label=Localised(zh="不改了", en="nothing"),
    synonyms=(
        *("不用改", "不改", "不用了", "不需要改", "不用", "没有要改的", "不必了"),
        *("没有", "没什么", "没什么要改的", "就这样", "确认"),
        *("no change", "no changes", "nothing to change", "leave it", "as it is", "confirm"),
        *("nothing else", "no thanks", "it's fine", "all good", "none", "never mind"),
    ),
)
ADD = Choice(
    label=Localised(zh="再加一项", en="add another"),
    synonyms=("加一项", "加", "再加", "添加", "还有", "新增", "add", "add one", "another", "more"),
)
REMOVE = Choice(
    label=Localised(zh="删掉这一项", en="remove it"),
    synonyms=("删掉", "删除", "删", "去掉", "不要了", "remove", "delete", "drop it"),
)
ANOTHER_VALUE = Choice(
    label=Localised(zh="换成别的", en="something else instead"),
    synonyms=("换", "换掉", "改", "重填", "change", "change it", "replace"),
)


def asks(run: Run) -> Localised:
    """The question of what to change, as far as it has come."""
    if not run.question.change_path:
        return WHICH
    value = at(run.form.slots, run.question.change_path)
    return WHICH_PART if isinstance(value, dict | str) else WHICH_ITEM


def changeable(definition: FlowDefinition, run: Run) -> Slot:
    """The question of what to change, as a slot whose choices are what can be."""
    slot = definition.slot_at(run.question.change_path) if run.question.change_path else None
    inside = dict(_within(run, run.question.change_path, slot) if slot else _slots(definition, run))
    return Slot(type="choice", choices={**inside, NOTHING: LEAVE_AS_IT_IS})


def step_into(definition: FlowDefinition, run: Run, path: str) -> bool:
    """True where the path leads to something of which only a part would be changed: ask which."""
    slot, value = definition.slot_at(path), at(run.form.slots, path)
    in_list = path.rpartition(".")[2].isdigit()
    return slot is not None and bool(value) and (bool(slot.of or slot.fields) or in_list)


def offer(definition: FlowDefinition, run: Run, path: str) -> dict[str, JsonValue] | None:
    """What adding or removing an item would offer to the slots; None for another choice."""
    stem = path.removesuffix(MORE)
    if stem != path:
        slot = definition.slot_at(stem)
        return {path: True} if slot is not None and slot.of else None
    above, _, place = path.removesuffix(REMOVED).rpartition(".")
    items = at(run.form.slots, above)
    if not path.endswith(REMOVED) or not isinstance(items, list) or not place.isdigit():
        return None
    return {above: [item for number, item in enumerate(items) if number != int(place)]}


def _slots(definition: FlowDefinition, run: Run) -> Iterator[tuple[str, Choice]]:
    """The slots that were asked for; what was left empty can be supplied then, too."""
    asked = {name for state in definition.states.values() for name in state.collects}
    for name, slot in definition.slots.items():
        supplied = slot.skippable and (slot.when is None or name in run.form.skipped_slots)
        if name in asked and (run.form.slots.get(name) is not None or supplied):
            yield name, Choice(label=label_of(name, slot))


def _within(run: Run, path: str, slot: Slot) -> Iterator[tuple[str, Choice]]:
    """The items of a list, or the fields of an object; a plain value is replaced whole."""
    value = at(run.form.slots, path)
    if slot.of is not None and isinstance(value, list):
        yield from _items(run, path, slot.of, value)
        if len(value) < slot.max:
            yield f"{path}{MORE}", ADD
        return
    if not slot.fields:
        yield f"{path}{ANEW}", ANOTHER_VALUE
    for name, field in slot.fields.items():
        if field.required or at(run.form.slots, f"{path}.{name}") is not None:
            yield f"{path}.{name}", Choice(label=label_of(name, field))
    above, _, place = path.rpartition(".")
    others = at(run.form.slots, above)
    if place.isdigit() and isinstance(others, list) and len(others) > 1:
        yield f"{path}{REMOVED}", REMOVE


def _items(run: Run, path: str, of: Slot, items: list[JsonValue]) -> Iterator[tuple[str, Choice]]:
    """Each item by its number and what it is; by its kind too, where it alone is of that kind."""
    kinds = [tuple(_kinds(of, item)) for item in items]
    times, files = Counter(kind for own in kinds for kind in set(own)), run.form.file_names
    for number, item in enumerate(items):
        own = (kind for kind in kinds[number] if times[kind] == 1)
        said = (" ".join(shown(of, item, locale, files).split()) for locale in LOCALES)
        zh, en = (words[:LONGEST] for words in said)
        label = Localised(zh=f"第 {number + 1} 项：{zh}", en=f"Item {number + 1}: {en}")
        names = (f"第{number + 1}项", f"item {number + 1}", *own)
        yield f"{path}.{number}", Choice(label=label, synonyms=names)


def _kinds(of: Slot, item: JsonValue) -> Iterator[str]:
    for name, field in of.fields.items():
        value = item.get(name) if isinstance(item, dict) else None
        kind = field.choices.get(value) if isinstance(value, str) else None
        if kind is not None:
            yield from (kind.label.zh, kind.label.en, *kind.synonyms)
