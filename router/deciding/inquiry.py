"""What a tool asks back, as slots that a person can fill."""

from collections.abc import Collection, Sequence
from typing import Any

from router.deciding.schema_slot import Unaskable, plain, slot_name, slot_of
from router.domain.elicitation import Elicitation
from router.domain.texts import Localised
from router.flow.inquiring import WHOLE
from router.flow.model import Choice, Slot
from router.flow.run import Inquiry

Form = dict[str, tuple[str, Slot]]
"""By field: the slot's name, and the slot."""

GO_ON = Localised(zh="可以继续吗？", en="Shall it go on?")
DONE_THERE = Localised(zh="在那里办好了吗？", en="Is it done there?")


def inquiry_of(
    asked: Sequence[Elicitation], tool: Localised, state: str, taken: Collection[str]
) -> Inquiry | None:
    """All that the tool called in `state` wants to know; None where no form can ask for it.

    `tool` is what people call it; `taken` are the names that slots of the run have already.
    """
    slots: dict[str, Slot] = {}
    fields: dict[str, dict[str, str]] = {}
    for one in asked:
        names = {*taken, *slots}
        form = _form(one, names) if _properties(one) else _yes_or_no(one, names)
        if form is None:
            return None
        slots |= dict(form.values())
        fields[one.key] = {field: name for field, (name, _) in form.items()}
    if not slots:
        return None
    return Inquiry(state=state, say=_say(asked, tool), slots=slots, fields=fields)


def _say(asked: Sequence[Elicitation], tool: Localised) -> Localised:
    """The questions, as somebody else's: whoever asks isn't the front desk."""
    each = " ".join(f"{one.message} {one.url}" if one.url else one.message for one in asked)
    return Localised(zh=f"“{tool.zh}”想先问你：{each}", en=f"{tool.en} asks you first: {each}")


def _yes_or_no(asked: Elicitation, taken: Collection[str]) -> Form:
    """Nothing to fill in: whether to go on, or whether what the address is for was done."""
    slot = Slot(type="boolean", ask=DONE_THERE if asked.url else GO_ON)
    return {WHOLE: (slot_name("go_on", taken), slot)}


def _form(asked: Elicitation, taken: Collection[str]) -> Form | None:
    """A slot for each field; None where one that has to be filled in can't be."""
    required = asked.schema_.get("required")
    # Where all may be left out, none would ever be asked.
    needed = required if isinstance(required, list) and required else list(_properties(asked))
    form: Form = {}
    for field, schema in _properties(asked).items():
        name = slot_name(field, {*taken, *(name for name, _ in form.values())})
        slot = _slot(name, schema, required=field in needed)
        if slot is not None:
            form[field] = (name, slot)
        elif field in needed:
            return None
    return form


def _properties(asked: Elicitation) -> dict[str, Any]:
    properties = asked.schema_.get("properties")
    return properties if isinstance(properties, dict) else {}


def _slot(name: str, schema: Any, *, required: bool) -> Slot | None:
    """A field as a slot, under its title where it has one."""
    if not isinstance(schema, dict):
        return None
    words = schema.get("title") or schema.get("description") or name
    choices = _choices(schema)
    if not choices:
        try:
            return slot_of(name, {**schema, "description": words}, required=required)
        except Unaskable:
            return None
    label = Localised(zh=plain(str(words)), en=plain(str(words)))
    ask = Localised(zh=f"{label.zh}？", en=f"{label.en}?")
    return Slot(type="choice", choices=choices, label=label, ask=ask, required=required)


def _choices(schema: dict[str, Any]) -> dict[str, Choice]:
    """Values that have titles, in the old way of saying so or the new one."""
    options = schema.get("oneOf")
    if isinstance(options, list):
        titled = [(o.get("const"), o.get("title")) for o in options if isinstance(o, dict)]
    else:
        titled = list(zip(schema.get("enum") or (), schema.get("enumNames") or (), strict=False))
    labels = {str(value): plain(str(title or value)) for value, title in titled}
    return {value: Choice(label=Localised(zh=text, en=text)) for value, text in labels.items()}
