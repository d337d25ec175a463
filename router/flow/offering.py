"""Taking what was offered for slots: what fits and holds, and why the rest doesn't.

A value that doesn't fit or fails a check is refused with the reason, and what it was asked for
stays as it was.
"""

from collections.abc import Collection

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import changing
from router.flow.amending import amended
from router.flow.changing import CHANGE
from router.flow.checking import failing, without_failing_fields
from router.flow.deriving import (
    differing,
    forget,
    note_replaced,
    only_means,
    put,
    without_stale,
)
from router.flow.model import Slot, SlotValues
from router.flow.paths import at, emptied, placed, root
from router.flow.run import Run
from router.flow.values import Unfit, files_in, fitted, missing
from router.flow.walk import Walk


def take_offered(walk: Walk) -> None:
    """Take into the slots what was offered and holds; say of the rest why it doesn't.

    Nothing is changed before every check has been evaluated: a check may need a lookup,
    and then this is done again from the start when its answer is there.
    """
    run = walk.run
    offered, refused = fit_offered(walk)
    refused |= without_failing_fields(walk, offered)
    after = without_stale(walk, {**run.slots, **offered}, differing(walk, offered), offered)
    _leave_out_failing(walk, after, offered, refused)
    _close_lists(walk, after)
    change = run.offered.pop(CHANGE, None)
    before, paths, run.offered = run.slots, list(run.offered), {}
    put(walk, after, offered)
    note_replaced(walk, before, offered)
    taken = [name for name, value in offered.items() if run.slots.get(name) == value]
    run.latest = taken or run.latest
    choosing = isinstance(change, str) and _choose(walk, change)
    run.changing = choosing or (run.changing and not offered and change is None)
    for say in [amended(walk.definition, run, before, paths), *refused.values()]:
        if say is not None:
            walk.say(say)
    stays = [path for path in paths if at(before, path) == at(run.slots, path) is not None]
    walk.refused += [path for path in stays if root(path) in refused]
    _count_miss(run, refused)


def _leave_out_failing(
    walk: Walk, after: SlotValues, offered: SlotValues, refused: dict[str, Localised]
) -> None:
    """Have the slots whose checks fail keep what they had; nothing, where that fails now too."""
    had = walk.run.slots
    for name, say in failing(walk, after, differing(walk, offered)):
        refused.setdefault(name, say)
        after.pop(name, None)
        if name in offered and name in had:
            after[name] = had[name]
    restored = {name for name in refused if name in after and name in offered}
    for name, say in failing(walk, after, restored):
        refused.setdefault(name, say)
        after.pop(name, None)


def _count_miss(run: Run, refused: Collection[str]) -> None:
    """What is asked was missed where it was refused itself; answered where nothing was."""
    if root(run.asked or "") in refused:
        run.miss()
    elif not refused:
        run.misses = 0


def fit_offered(walk: Walk) -> tuple[SlotValues, dict[str, Localised]]:
    """The offered values by slot, in the shape that slots keep; and why the others don't fit."""
    taken: SlotValues = {}
    refused: dict[str, Localised] = {}
    for path, value in walk.run.offered.items():
        name = root(path)
        slot = walk.definition.slots.get(name)
        if slot is None or path.endswith(".more"):
            continue
        if not slot.is_fillable:
            refused[name] = _worked_out(name, slot)
            continue
        try:
            whole = placed(taken.get(name, walk.run.slots.get(name)), path.split(".")[1:], value)
            value_of_slot = fitted(slot, whole)
            _check_files(walk, slot, value_of_slot)
            taken[name] = value_of_slot
        except Unfit as unfit:
            refused[name] = unfit.say
    return taken, refused


def _check_files(walk: Walk, slot: Slot, value: JsonValue) -> None:
    """Note what the value's files are called; `Unfit` where one isn't the requester's."""
    run = walk.run
    for file in files_in(slot, value):
        if file in run.files:
            continue
        name = walk.look_up("file_name", run.requester.id, file)
        if not isinstance(name, str):
            raise Unfit(
                Localised(
                    zh="找不到你上传的这个文件，请重新上传。",
                    en="There is no such file of yours; please attach it anew.",
                )
            )
        run.files[file] = name


def _worked_out(name: str, slot: Slot) -> Localised:
    label = slot.label or Localised(zh=name, en=name)
    return Localised(
        zh=f"“{label.zh}”是算出来的，不能自己填。",
        en=f'"{label.en}" is worked out and can\'t be filled in.',
    )


def _close_lists(walk: Walk, slots: SlotValues) -> None:
    """Note which lists are whole: "no more" was said, or the list was given in one piece."""
    run = walk.run
    for path, value in run.offered.items():
        name, _, rest = path.partition(".")
        slot = walk.definition.slots.get(name)
        items = slots.get(name)
        if slot is None or slot.type != "list" or not isinstance(items, list):
            continue
        done = rest == "more" and value is False
        if done or (rest == "" and _is_whole(walk, name, items)):
            run.closed = sorted({*run.closed, name})
            # One that was announced and then thought better of.
            slots[name] = [item for item in items if item is not None]
        elif rest == "more" and value is True and slot.of is not None:
            slots[name] = [*items, {} if slot.of.type == "object" else None]


def _is_whole(walk: Walk, name: str, items: list[JsonValue]) -> bool:
    """True for a list given in one piece; one that got shorter lost an item and may yet grow."""
    known = walk.run.slots.get(name)
    shorter = isinstance(known, list) and len(items) < len(known)
    return not shorter and missing(walk.definition.slots[name], items, name) is None


def _choose(walk: Walk, path: str) -> bool:
    """Take what was named to be changed; True where a part of it has to be named yet."""
    run = walk.run
    run.choosing = ""
    offer = changing.offer(walk.definition, run, path)
    if offer is not None:
        run.offered = offer
        return False
    if changing.step_into(walk.definition, run, path):
        run.choosing = path
        return True
    name, *rest = path.removesuffix(changing.ANEW).split(".")
    if name in walk.definition.slots and rest:
        put(walk, {**run.slots, name: emptied(run.slots.get(name), rest)})
    elif name in walk.definition.slots:
        forget(walk, [name, *only_means(walk, name)])
        run.skipped = [skipped for skipped in run.skipped if skipped != name]
        run.wanted = sorted({*run.wanted, name})
    return False
