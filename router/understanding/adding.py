"""Another item where none is asked for: `再加一项`, `add another item`, `还有酒店 300，前天`."""

from pydantic import JsonValue

from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.grammar import compiled
from router.understanding.items import find_items, is_itemised
from router.understanding.utterance import Utterance

_OPENS = compiled(
    "^(?:对了|哦|啊|嗯|等等|等一下|不好意思|抱歉|,| )*"
    "(?:还有|还要|另外|此外|再[加报来添]|加上|加[一个]|新增|补[充一]|漏了|忘了)"
    r"|^(?:oh|wait|sorry|and|no|please|i|'ve|have|forgot|there'?s|[,. ])*"
    r"(?:also|another|plus|add|one more|in addition|there was)\b"
)
_ONE_MORE = compiled(
    "^(?:我|想|要|需要|请|帮我|对了|不|好的?|,| )*(?:再|还要|还想|还得)?(?:加|添|新增|增加|来|补)"
    "(?:上)?(?:别的|其他)?(?:一|几)?[个张笔项条](?:费用|明细|东西|项目)?(?:吧|啊|呗|了|[!.。 ])*$"
    "|^(?:对了|,| )*还有(?:呢|啊|呀|的)?[!.。 ]*$"
    "|^(?:对了|,| )*还有(?:别的|其他的?)?(?:一|几)[个张笔项条](?:费用)?"
    "(?:要[加报])?(?:吧|呢|[!.。 ])*$"
    r"|^(?:no|please|i|want|need|like|would|'d|to|can|could|you|we|let'?s|wait|[,. ])*"
    r"(?:add|include)(?: in)? (?:another|one more|an?|one)(?: more| new)?"
    r"(?: (?:item|one|expense|entry|line|thing))?(?: please)?[.! ]*$"
    r"|^(?:there(?:'s| is) )?(?:another|one more) (?:item|one|expense|entry|line)"
    r"(?: please)?[.! ]*$"
)


def added(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The items that the message adds to a list that is known, by path; None where it adds none.

    `items.more` where it says only that there is another. What doesn't open as people do who
    add something is one only where it says all there is to say of an item.
    """
    for name, slot in view.fillable.items():
        known = view.slots.get(name)
        if not (is_itemised(slot) and isinstance(known, list) and 0 < len(known) < slot.max):
            continue
        if _ONE_MORE.search(utterance.text):
            return {f"{name}.more": True}
        items, _ = find_items(slot, utterance)
        least = 2 if _OPENS.search(utterance.text) else len(_required(slot))
        if items and all(len(item) >= least for item in items):
            return {f"{name}.{len(known) + n}": dict(item) for n, item in enumerate(items)}
    return None


def _required(slot: Slot) -> list[str]:
    """The fields without which an item isn't whole; one alone says too little to be sure."""
    fields = slot.of.fields if slot.of else {}
    return [name for name, field in fields.items() if field.required] or ["", ""]
