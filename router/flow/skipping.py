"""Leaving empty what is asked: what is optional isn't asked again, what is needed is."""

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import showing
from router.flow.changing import CHANGE
from router.flow.deriving import put
from router.flow.model import Slot
from router.flow.paths import root
from router.flow.walk import Walk
from router.flow.wording import label_of


def skip(walk: Walk) -> None:
    """Leave empty what is asked, or say that it can't be; neither is a miss.

    At "any more?" it means that there is no more, and so it does at an item that was announced
    and of which nothing is known.
    """
    run = walk.run
    if run.status == "confirming" or run.asked is None:
        walk.say(showing.what_fits(walk.definition, run))
    elif run.asked == CHANGE:
        run.changing = False
    elif showing.can_skip(walk.definition, run):
        run.skipped = sorted({*run.skipped, root(run.asked)})
    elif not _end_list(walk, run.asked):
        walk.say(_needed(walk, run.asked))


def _end_list(walk: Walk, asked: str) -> bool:
    """Have the list be whole as it is; False where what is asked isn't how a list goes on."""
    name, *rest = asked.split(".")
    slot, items = walk.definition.slots.get(name), walk.run.slots.get(name)
    if slot is None or slot.type != "list" or not isinstance(items, list):
        return False
    whole: list[JsonValue] = [item for item in items if item not in ({}, None)]
    if len(whole) < slot.min or (rest and len(whole) == len(items)):
        return False
    put(walk, {**walk.run.slots, name: whole})
    walk.run.closed = sorted({*walk.run.closed, name})
    return True


def _needed(walk: Walk, asked: str) -> Localised:
    slot = walk.definition.slot_at(asked) or Slot(type="text")
    label = label_of(asked.rsplit(".", maxsplit=1)[-1], slot)
    instead = _instead(walk, asked)
    return Localised(
        zh=f"“{label.zh}”是必填的，没有它办不下去。{instead.zh}",
        en=f"“{label.en}” is needed: it can't go on without that.{instead.en}",
    )


def _instead(walk: Walk, asked: str) -> Localised:
    """What can be done where an item lacks something: leave it out, or come back later."""
    name, *rest = asked.split(".")
    items = walk.run.slots.get(name)
    if len(rest) < len(("0", "field")) or not isinstance(items, list):
        return Localised(zh="", en="")
    later = Localised(
        zh="现在没有就说“取消”，补到了再来。", en=" Say “cancel” if you don't have it yet."
    )
    if len(items) == 1:
        return later
    number = int(rest[0]) + 1
    return Localised(
        zh=f"这一项先不报就说“第{number}项删掉”；{later.zh}",
        en=f" Say “remove item {number}” to go on without this item.{later.en}",
    )
