"""Checks: which of the values that a run has, or would have, don't hold, and what is said of it.

A check is judged once everything that it can't do without is known.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import expressions
from router.flow.model import Check, Slot, SlotValues
from router.flow.paths import at, placed
from router.flow.values import fitted
from router.flow.walk import Walk, rendered


def failing(walk: Walk, slots: SlotValues, changed: Iterable[str]) -> list[tuple[str, Localised]]:
    """The slots whose checks fail now, with what to say; only those that `changed` touches."""
    touched = set(changed)
    found = []
    for name, slot in walk.definition.slots.items():
        if slots.get(name) is None:
            continue
        own = [c for c in slot.check if name in touched or expressions.slots_read(c.that) & touched]
        fields = _fields(slot, name, slots[name]) if name in touched else ()
        within = (_says(walk, field.check, slots, item) for _, field, item in fields)
        say = next(chain(_says(walk, own, slots), chain.from_iterable(within)), None)
        if say is not None:
            found.append((name, say))
    return found


def without_failing_fields(walk: Walk, offered: SlotValues) -> dict[str, Localised]:
    """Take out of `offered` each field of an item whose check fails; by slot, why it does.

    The last field goes first, for of two items that can't both be the former was first. Where
    the item had another value, it keeps that; what an item loses is asked for anew.
    """
    refused: dict[str, list[Localised]] = {}
    for name in offered:
        while failed := list(_failing_fields(walk, offered, name)):
            path, say = failed[-1]
            # In a list given in one piece, places are no longer those of the run's items.
            known = None if name in walk.run.offered else at(walk.run.slots, path)
            without = placed(offered[name], path.split(".")[1:], known)
            offered[name] = fitted(walk.definition.slots[name], without)
            said = refused.setdefault(name, [])
            said += [] if say in said else [say]
    return {
        name: Localised(zh="".join(s.zh for s in said), en=" ".join(s.en for s in said))
        for name, said in refused.items()
    }


def _failing_fields(walk: Walk, offered: SlotValues, name: str) -> Iterator[tuple[str, Localised]]:
    """The paths of what fails and isn't what the run has at that place already."""
    slots = {**walk.run.slots, **offered}
    for path, field, item in _fields(walk.definition.slots[name], name, offered[name]):
        if at(walk.run.slots, path) != at(offered, path):
            yield from ((path, say) for say in _says(walk, field.check, slots, item))


def _fields(slot: Slot, path: str, value: JsonValue) -> Iterator[tuple[str, Slot, JsonValue]]:
    """Every field that has a value, within lists and objects: its path, its slot and its item."""
    if slot.type == "list" and slot.of is not None and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _fields(slot.of, f"{path}.{number}", item)
    elif slot.type == "object" and isinstance(value, dict):
        for name, field in slot.fields.items():
            if value.get(name) is not None:
                yield f"{path}.{name}", field, value


def _says(
    walk: Walk, checks: Iterable[Check], slots: SlotValues, item: JsonValue = None
) -> Iterator[Localised]:
    """What those of the checks say that don't hold, one after the other as they are asked for."""
    says = (_broken(walk, check, slots, item) for check in checks)
    return (say for say in says if say is not None)


def _broken(walk: Walk, check: Check, slots: SlotValues, item: JsonValue) -> Localised | None:
    """What to say where the check doesn't hold; None where it does or can't be judged yet."""
    if any(slots.get(name) is None for name in expressions.slots_needed(check.that)):
        return None
    scope = {"item": item} if item is not None else {}
    fine = walk.evaluate(check.that, slots=slots, **scope)
    if fine is True:
        return None
    return Localised(
        zh=rendered(walk.definition, walk.run, check.say, "zh"),
        en=rendered(walk.definition, walk.run, check.say, "en"),
    )
