"""Filling slots: what was offered is taken where it fits, the rest is asked for.

A value that doesn't fit or fails a check is refused with the reason, and its slot stays as it was;
one that changes takes with it what was looked up from it. A check is judged once everything that
it can't do without is known.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from pydantic import JsonValue

from router.domain.locale import Localised
from router.flow.definition import SlotValues
from router.flow.engine import changes, documents
from router.flow.engine.changes import CHANGE
from router.flow.engine.context import StepContext, in_both_languages
from router.flow.engine.events import Skipped
from router.flow.engine.list_bounds import (
    Surplus,
    describe_full_list,
    describe_surplus,
    is_full,
    keep_first_items,
)
from router.flow.engine.run_parts.form import Form
from router.flow.engine.slots import (
    at,
    attached,
    differing,
    emptied,
    forget,
    look_up_one,
    note_replaced,
    only_means,
    placed,
    put,
    root,
    said_back,
    without_stale,
)
from router.flow.language import expressions
from router.flow.prompts import question
from router.flow.slot_types.slot import Slot, SlotCheck, Unfit, files_in, fitted, label_of, missing

NO_SUCH_FILE = Localised(
    zh="找不到你上传的这个文件，请重新上传。",
    en="There is no such file of yours; please attach it anew.",
)


def failing(
    context: StepContext, slots: SlotValues, changed: Iterable[str]
) -> list[tuple[str, Localised]]:
    """The slots whose checks fail now, with what to say; only those that `changed` touches."""
    touched = set(changed)
    found = []
    for name, slot in context.definition.slots.items():
        if slots.get(name) is None:
            continue
        own = [c for c in slot.check if name in touched or expressions.slots_read(c.that) & touched]
        fields = _fields(slot, name, slots[name]) if name in touched else ()
        within = (
            _says(context, field.check, slots, item, _document(context, path, field, item))
            for path, field, item in fields
        )
        document = documents.as_variable(context, slot, slots[name])
        said = _says(context, own, slots, document=document)
        say = next(chain(said, chain.from_iterable(within)), None)
        if say is not None:
            found.append((name, say))
    return found


def without_failing_fields(context: StepContext, offered: SlotValues) -> dict[str, Localised]:
    """Take out of `offered` each field of an item whose check fails; by slot, why it does.

    The last field goes first, for of two items that can't both be the former was first. Where
    the item had another value, it keeps that; what an item loses is asked for anew.
    """
    refused: dict[str, list[Localised]] = {}
    for name in offered:
        while failed := list(_failing_fields(context, offered, name)):
            path, say = failed[-1]
            # In a list given in one piece, places are no longer those of the run's items.
            form = context.run.form
            known = None if name in form.offered_values else at(form.slots, path)
            without = placed(offered[name], path.split(".")[1:], known)
            field = context.definition.slot_at(path)
            if field is not None and field.documents:
                file = at(offered, path)
                without = documents.without_read(context, without, path, file)
            offered[name] = fitted(context.definition.slots[name], without)
            said = refused.setdefault(name, [])
            said += [] if say in said else [say]
    return {
        name: Localised(zh="".join(s.zh for s in said), en=" ".join(s.en for s in said))
        for name, said in refused.items()
    }


def _failing_fields(
    context: StepContext, offered: SlotValues, name: str
) -> Iterator[tuple[str, Localised]]:
    """The paths of what fails and isn't what the run has at that place already."""
    slots = {**context.run.form.slots, **offered}
    for path, field, item in _fields(context.definition.slots[name], name, offered[name]):
        if at(context.run.form.slots, path) != at(offered, path):
            document = _document(context, path, field, item)
            said = _says(context, field.check, slots, item, document)
            yield from ((path, say) for say in said)


def _document(
    context: StepContext, path: str, field: Slot, item: JsonValue
) -> dict[str, JsonValue] | None:
    value = item.get(path.rpartition(".")[2]) if isinstance(item, dict) else None
    return documents.as_variable(context, field, value)


def _fields(slot: Slot, path: str, value: JsonValue) -> Iterator[tuple[str, Slot, JsonValue]]:
    """Every field that has a value, within lists and objects: its path, its slot and its item."""
    for key, part, inner in slot.kind.parts(slot, value):
        if slot.of is not None:
            yield from _fields(part, f"{path}.{key}", inner)
        elif inner is not None:
            yield f"{path}.{key}", part, value


def _says(
    context: StepContext,
    checks: Iterable[SlotCheck],
    slots: SlotValues,
    item: JsonValue = None,
    document: dict[str, JsonValue] | None = None,
) -> Iterator[Localised]:
    """What those of the checks say that can be judged and don't hold, as they are asked for."""
    more = {"item": item, "document": document}
    scope = {"slots": slots, **{name: value for name, value in more.items() if value is not None}}
    for check in checks:
        known = all(slots.get(name) is not None for name in expressions.slots_needed(check.that))
        known = known and expressions.needed(check.that, "document") <= (document or {}).keys()
        if known and context.evaluate(check.that, **scope) is not True:
            definition, run, budget = context.definition, context.run, context.budget
            yield in_both_languages(definition, run, check.say, budget, document=document or {})


def skip(context: StepContext, _: Skipped) -> None:
    """Leave empty what is asked, or say that it can't be; neither is a miss.

    At "any more?" it means that there is no more, and so it does at an item that was announced
    and of which nothing is known.
    """
    run, asked = context.run, context.run.question.path
    if run.status == "confirming" or asked is None:
        context.say(question.what_fits(context.definition, run))
    elif asked == CHANGE:
        run.question.asks_what_to_change = False
    elif asked in run.form.wanted_paths and "." in asked:
        run.form.wanted_paths.remove(asked)
    elif question.can_skip(context.definition, run):
        run.form.skip(root(asked))
    elif not _end_list(context, asked):
        context.say(_needed(context, asked))


def _end_list(context: StepContext, asked: str) -> bool:
    """Have the list be whole as it is; False where what is asked isn't how a list goes on."""
    name, *rest = asked.split(".")
    slot, items = context.definition.slots.get(name), context.run.form.slots.get(name)
    if slot is None or slot.of is None or not isinstance(items, list):
        return False
    whole: list[JsonValue] = [item for item in items if item not in ({}, None)]
    if len(whole) < slot.min or (rest and len(whole) == len(items)):
        return False
    put(context, {**context.run.form.slots, name: whole})
    context.run.form.close_list(name)
    return True


def _needed(context: StepContext, asked: str) -> Localised:
    label = label_of(
        asked.rsplit(".", maxsplit=1)[-1], context.definition.slot_at(asked) or Slot(type="text")
    )
    zh = f"“{label.zh}”是必填的，没有它办不下去。"
    en = f"“{label.en}” is needed: it can't go on without that."
    # Where an item lacks something it can be left out, or come back to later.
    name, *rest = asked.split(".")
    items = context.run.form.slots.get(name)
    if len(rest) >= len(("0", "field")) and isinstance(items, list):
        if len(items) > 1:
            number = int(rest[0]) + 1
            zh += f"这一项先不报就说“第{number}项删掉”；"
            en += f" Say “remove item {number}” to go on without this item."
        zh += "现在没有就说“取消”，补到了再来。"
        en += " Say “cancel” if you don't have it yet."
    return Localised(zh=zh, en=en)


def take_offered(context: StepContext) -> dict[str, Localised]:
    """Take into the slots what was offered and holds; say of the rest, which it gives, why not.

    Of a list that is too long the first items are taken.

    Nothing is changed before every check has been evaluated: a check may need a lookup,
    and then this is done again from the start when its answer is there.
    """
    run = context.run
    offered, refused, surplus = fit_offered(context)
    refused |= without_failing_fields(context, offered)
    whole = {**run.form.slots, **offered}
    remarked = _remarked(context, whole)
    after = without_stale(context, whole, differing(context, offered), offered)
    _leave_out_failing(context, after, offered, refused)
    _close_lists(context, after)
    _close_handed_in(context, after)
    change = run.form.offered_values.pop(CHANGE, None)
    before, paths, run.form.offered_values = run.form.slots, list(run.form.offered_values), {}
    put(context, after, offered)
    note_replaced(context, before, offered)
    documents.remember(context)
    run.form.remarks = {file: said for file, said in remarked.items() if file in run.form.documents}
    taken = [name for name, value in offered.items() if run.form.slots.get(name) == value]
    run.form.latest_slots = taken or run.form.latest_slots
    choosing = isinstance(change, str) and _choose(context, change)
    still_asks = run.question.asks_what_to_change and not offered and change is None
    run.question.asks_what_to_change = choosing or still_asks
    changes_of = (context.definition, run, before, paths)
    read = documents.told(context, before)
    left_out = _describe_left_out(context, offered, surplus)
    told = [said_back(*changes_of), read, attached(*changes_of), *left_out.values()]
    for say in [*told, *refused.values()]:
        if say is not None:
            context.say(say)
    stays = [path for path in paths if at(before, path) == at(run.form.slots, path) is not None]
    context.refused += [path for path in stays if root(path) in refused]
    # What is asked was missed where it was refused itself; answered where nothing was.
    if root(run.question.path or "") in refused:
        run.question.count_no_match()
    elif not refused:
        run.question.no_matches = 0
    return {**left_out, **refused}


def _describe_left_out(
    context: StepContext, offered: SlotValues, surplus: Mapping[str, list[Surplus]]
) -> dict[str, Localised]:
    """Say by slot which items a list has no room for, unless none of it was taken at all."""
    slots, files = context.run.form.slots, context.run.form.file_names
    return {
        name: describe_surplus(found, files)
        for name, found in surplus.items()
        if slots.get(name) == offered[name]
    }


def _leave_out_failing(
    context: StepContext, after: SlotValues, offered: SlotValues, refused: dict[str, Localised]
) -> None:
    """Have the slots whose checks fail keep what they had; nothing, where that fails now too."""
    had = context.run.form.slots
    for name, say in failing(context, after, differing(context, offered)):
        refused.setdefault(name, say)
        after.pop(name, None)
        if name in offered and name in had:
            after[name] = had[name]
    restored = {name for name in refused if name in after and name in offered}
    for name, say in failing(context, after, restored):
        refused.setdefault(name, say)
        after.pop(name, None)


class FittedValues(NamedTuple):
    """What fits of the offered values, by slot."""

    taken: SlotValues
    """The values in the shape that slots keep."""
    refused: dict[str, Localised]
    """Why the others don't fit."""
    surplus: dict[str, list[Surplus]]
    """What lists have no room for."""


def fit_offered(context: StepContext) -> FittedValues:
    """Return which of the offered values fit, and what is wrong with the others."""
    taken: SlotValues = {}
    refused: dict[str, Localised] = {}
    surplus: dict[str, list[Surplus]] = {}
    documents.placed_by_content(context)
    for path, value in context.run.form.offered_values.items():
        name = root(path)
        slot, known = context.definition.slots.get(name), context.run.form.slots.get(name)
        if slot is None or path.endswith(".more"):
            if slot is not None and value is True and is_full(slot, known):
                refused[name] = describe_full_list(name, slot)
            continue
        if not slot.is_fillable:
            label = slot.label or Localised(zh=name, en=name)
            refused[name] = Localised(
                zh=f"“{label.zh}”是算出来的，不能自己填。",
                en=f'"{label.en}" is worked out and can\'t be filled in.',
            )
            continue
        try:
            whole = placed(taken.get(name, known), path.split(".")[1:], value)
            kept, left_out = keep_first_items(name, slot, whole)
            fitting = fitted(slot, kept)
            _check_files(context, slot, fitting)
            taken[name] = fitting
            surplus[name] = [*surplus.get(name, []), *left_out]
        except Unfit as unfit:
            refused[name] = unfit.say
    documents.fill(context, taken)
    return FittedValues(taken, refused, {name: found for name, found in surplus.items() if found})


def _remarked(context: StepContext, slots: SlotValues) -> dict[str, list[Localised]]:
    """What the flow has to say of each file that is read, by file."""
    said = dict(context.run.form.remarks)
    for handed in documents.handed_in(context.definition.slots, slots):
        slot = context.definition.slot_at(handed.path)
        if handed.file in said or slot is None:
            continue
        item = at(slots, handed.above) if handed.above else None
        document = documents.as_variable(context, slot, handed.file)
        said[handed.file] = list(_says(context, slot.warn, slots, item, document))
    return said


def _check_files(context: StepContext, slot: Slot, value: JsonValue) -> None:
    """Note what the value's files are called; `Unfit` where one isn't the requester's."""
    run, names = context.run, context.run.form.file_names
    for file in files_in(slot, value):
        if file in names:
            continue
        name = context.look_up("file_name", run.requester.id, file)
        if not isinstance(name, str):
            raise Unfit(NO_SUCH_FILE)
        names[file] = name


def _close_lists(context: StepContext, slots: SlotValues) -> None:
    """Note which lists are whole: "no more" was said, or the list was given in one piece."""
    form = context.run.form
    for path, value in form.offered_values.items():
        name, _, rest = path.partition(".")
        slot, items = context.definition.slots.get(name), slots.get(name)
        if slot is None or slot.of is None or not isinstance(items, list):
            continue
        # One that got shorter lost an item, and may yet grow.
        known = form.slots.get(name)
        shorter = isinstance(known, list) and len(items) < len(known)
        whole = rest == "" and not shorter and missing(slot, items, name) is None
        if whole or (rest == "more" and value is False):
            form.close_list(name)
            # One that was announced and then thought better of.
            slots[name] = [item for item in items if item is not None]
        elif rest == "more" and value is True and len(items) < slot.max:
            slots[name] = [*items, {} if slot.of.fields else None]


def _close_handed_in(context: StepContext, slots: SlotValues) -> None:
    """A list is whole where each of its items came with a paper, and lacks nothing."""
    form, definitions = context.run.form, context.definition.slots
    papers = [each.path for each in documents.handed_in(definitions, slots)]
    for name in dict.fromkeys(root(path) for path in papers):
        items = slots.get(name)
        if not isinstance(items, list) or form.offered_values.get(f"{name}.more") is True:
            continue
        have = sum(root(path) == name for path in papers)
        if have == len(items) and missing(definitions[name], items, name) is None:
            form.close_list(name)


def _choose(context: StepContext, path: str) -> bool:
    """Take what was named to be changed; True where a part of it has to be named yet."""
    run = context.run
    run.question.change_path = ""
    if (offer := changes.offer(context.definition, run, path)) is not None:
        run.form.offered_values = offer
        return False
    if changes.step_into(context.definition, run, path):
        run.question.change_path = path
        return True
    name, *rest = path.removesuffix(changes.ANEW).split(".")
    slot = context.definition.slot_at(".".join([name, *rest]))
    if slot is not None and slot.documents:
        put(context, documents.emptied_file(context, ".".join([name, *rest])))
        run.form.want(".".join([name, *rest]))
    elif name in context.definition.slots and rest:
        put(context, {**run.form.slots, name: emptied(run.form.slots.get(name), rest)})
    elif name in context.definition.slots:
        forget(context, [name, *only_means(context, name)])
    if name in context.definition.slots and not rest:
        run.form.want(name)
    return False


def collect(context: StepContext) -> bool:
    """One move in a `collect` state; False where the run now waits for an answer."""
    run = context.run
    if run.form.offered_values:
        take_offered(context)
        return True
    if look_up_one(context):
        return True
    asked = next_question(context)
    if asked is None:
        run.question.asks_what_to_change, run.question.change_path = False, ""
        context.leave("next")
        return True
    run.question.ask(asked)
    if asked != CHANGE:
        run.question.change_path = ""
    run.status, run.approvals.confirmed_slots = "collecting", None
    return False


def next_question(context: StepContext) -> str | None:
    """The path to ask for next, `items` for "any more?", or None where all is known."""
    form = context.run.form
    for name in context.state.collects:
        slot = context.definition.slots[name]
        value = form.slots.get(name)
        if value is None and not _is_asked(context, name, slot):
            continue
        if gap := _wanted(form, name) or missing(slot, value, name):
            return gap
        if slot.of is not None and name not in form.closed_lists and not is_full(slot, value):
            return name
    return CHANGE if context.run.question.asks_what_to_change else None


def _wanted(form: Form, name: str) -> str | None:
    """The part of a slot that the requester wants to supply, and that nothing is known of yet."""
    parts = (path for path in form.wanted_paths if path.startswith(f"{name}."))
    return next((path for path in parts if at(form.slots, path) is None), None)


def _is_asked(context: StepContext, name: str, slot: Slot) -> bool:
    """True where the empty slot is to be asked for: needed, or offered, and not for nothing."""
    form = context.run.form
    if not slot.required and not (slot.skippable and name not in form.skipped_slots):
        return False
    if slot.when is None or name in form.wanted_paths:
        return True
    needed = expressions.slots_needed(slot.when)
    known = all(form.slots.get(each) is not None for each in needed)
    return known and context.evaluate(slot.when) is True


def lacking(context: StepContext, names: Collection[str]) -> set[str]:
    """Those of the slots that are empty now, and that somebody is asked for."""
    definitions, slots = context.definition.slots, context.run.form.slots
    return {n for n in names if slots.get(n) is None and definitions[n].is_fillable}


def corrected(context: StepContext) -> set[str]:
    """The slots that what is offered would change, of those that have a value."""
    form = context.run.form
    changed = differing(context, fit_offered(context).taken)
    more = {root(path) for path, v in form.offered_values.items() if path.endswith(".more") and v}
    again = {root(p) for p in [form.offered_values.get(CHANGE)] if isinstance(p, str)}
    return {name for name in changed | more | again if form.slots.get(name) is not None}
