"""What a call asks back, and which of several is meant: collected, and the call made anew.

    record (call) ──asked back──▶ record.inquiry (collect) ──all is known──▶ record, with answers

The state in the middle is in no file: the definition has it, with its slots, while the run lives.
"""

from pydantic import JsonValue

from router.domain.errors import ArgumentOffer
from router.domain.locale import Localised
from router.flow.definition import FlowDefinition, State
from router.flow.engine.context import StepContext
from router.flow.engine.run import Run
from router.flow.engine.run_parts.form import MAX_INQUIRIES, Inquiry
from router.flow.language import expressions
from router.flow.slot_types.slot import Choice, Slot


def with_options(definition: FlowDefinition, run: Run) -> FlowDefinition:
    """The definition, with what the requester may choose from where a check left it open."""
    if not run.form.options:
        return definition
    slots = definition.slots
    left = {n: _asked(slots[n], offered) for n, offered in run.form.options.items() if n in slots}
    return definition.replace(slots={**slots, **left})


def offer_choice(context: StepContext, offered: ArgumentOffer) -> bool:
    """Have it asked which is meant; False where nobody here can be asked for that argument."""
    # The one slot that the state's tool is given as this argument, where it can be chosen for.
    argument = offered.argument
    source = context.state.gives.get(argument)
    read = expressions.slots_read(source) if source else frozenset()
    slots = context.definition.slots
    fits = [n for n in read if slots[n].choices or slots[n].kind.is_text]
    name = fits[0] if len(read) == len(fits) == 1 else None
    # Any state but one that collects the slot would check anew.
    ways = context.state.exits().get("on_error", ())
    states = (context.definition.states[branch.to] for branch in ways)
    if name is None or not offered.offers or not any(name in s.collects for s in states):
        return False
    form = context.run.form
    form.options = {**form.options, name: offered}
    form.slots = {slot: value for slot, value in form.slots.items() if slot != name}
    context.definition = with_options(context.definition, context.run)
    return True


def _asked(slot: Slot, offered: ArgumentOffer) -> Slot:
    choices = {one.value: Choice(label=one.label, synonyms=one.synonyms) for one in offered.offers}
    ask = Localised(zh=_plain(offered.ask.zh), en=_plain(offered.ask.en))
    return slot.replace(choices=choices, required=True, ask=ask)


def _plain(words: str) -> str:
    """Words of a tool as a template that gives just these."""
    return words.replace("{", "｛").replace("}", "｝")


WHOLE = ""
"""The field that stands for a question which is answered by yes or no."""
TOO_MANY = Localised(
    zh="对方系统反复追问，没法办下去。",
    en="The system behind it keeps asking back, so this can't go on.",
)


def extended(definition: FlowDefinition, run: Run) -> FlowDefinition:
    """The definition, with what tools of this run have asked back, or would have chosen."""
    definition = with_options(definition, run)
    if not run.form.inquiries:
        return definition
    slots, states = dict(definition.slots), dict(definition.states)
    for inquiry in run.form.inquiries:
        slots.update(inquiry.slots)
        name = _state_of(inquiry)
        asked = [*(states[name].collects if name in states else ()), *inquiry.slots]
        collecting = {"collect": list(dict.fromkeys(asked)), "next": inquiry.state}
        states[name] = State.model_validate(collecting)
    return definition.replace(slots=slots, states=states)


def ask_back(context: StepContext, inquiry: Inquiry) -> bool:
    """Have it asked, by slots of its own; False where this tool has asked back too often."""
    run = context.run
    if sum(earlier.state == inquiry.state for earlier in run.form.inquiries) >= MAX_INQUIRIES:
        return False
    run.form.inquiries.append(inquiry)
    context.definition = extended(context.definition, run)
    context.enter(_state_of(inquiry), "asked_back")
    context.say(inquiry.say)
    return True


def answers(context: StepContext, state: str) -> dict[str, JsonValue]:
    """What was said to the tool that this state calls, by question."""
    inquiries = context.run.form.inquiries
    own = (inquiry.fields.items() for inquiry in inquiries if inquiry.state == state)
    return {key: _answer(context, fields) for questions in own for key, fields in questions}


def _answer(context: StepContext, fields: dict[str, str]) -> JsonValue:
    slots = context.run.form.slots
    if WHOLE in fields:
        return {"action": "accept" if slots.get(fields[WHOLE]) is True else "decline"}
    content: dict[str, JsonValue] = {
        field: context.evaluate(f"slots.{slot}")
        for field, slot in fields.items()
        if slots.get(slot) is not None
    }
    return {"action": "accept", "content": content}


def _state_of(inquiry: Inquiry) -> str:
    return f"{inquiry.state}.inquiry"
