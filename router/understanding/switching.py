"""Turning a yes into a no by naming what it is about: `不要视频了`, `no video after all`."""

from pydantic import JsonValue

from router.flow.view import FlowView
from router.understanding.booleans import leaning
from router.understanding.grammar import compiled, group_span
from router.understanding.slot_names import words_of

_OPENING = compiled(
    r"^(?:(?:不对|不是|错了|哦|那就?|还是|我|actually|sorry|wait|oh|well|no,)[, ]*)*(?P<rest>.+)$"
)
_SET = compiled(r"(?:改成|改为|换成|\bto) ?(?P<rest>[^ ]+)$")
_OFF = compiled(r"(?:去掉|取消|关掉|删掉)吧?$|^(?:remove|drop|skip|without|cancel)\b")


def switched(view: FlowView, text: str) -> dict[str, JsonValue] | None:
    """The one yes-or-no slot that a normalised text names, with what it says of it."""
    named = [
        name
        for name, slot in view.fillable.items()
        if slot.type == "boolean" and any(word in text for word in words_of(name, slot))
    ]
    value = _said(text) if len(named) == 1 else None
    return None if value is None else {named[0]: value}


def _said(text: str) -> bool | None:
    if _OFF.search(text):
        return False
    for pattern in (_SET, _OPENING):
        match = pattern.search(text)
        said = leaning(text[group_span(match, "rest")[0] :]) if match else None
        if said is not None:
            return said
    return None
