"""Tools that ask back: what they want to know is collected, and the call made anew with it.

    record ──asked back──▶ record.inquiry ──all is known──▶ record
    (call)                 (collect)                        (call, with the answers)

The state in the middle is in no file. It is added to the definition as long as the run lives,
with the slots that it fills: so they are asked, checked and corrected like any other.
"""

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import choosing
from router.flow.model import Branch, FlowDefinition, State
from router.flow.run import Inquiry, Run
from router.flow.walk import Walk

MOST = 8
"""Times that a state's tool may ask back: one that never has enough is broken."""

WHOLE = ""
"""The field that stands for a question which is answered by yes or no."""

TOO_MANY = Localised(
    zh="对方系统反复追问，没法办下去。",
    en="The system behind it keeps asking back, so this can't go on.",
)


def extended(definition: FlowDefinition, run: Run) -> FlowDefinition:
    """The definition, with what tools of this run have asked back, or would have chosen."""
    definition = choosing.with_options(definition, run)
    if not run.inquiries:
        return definition
    slots, states = dict(definition.slots), dict(definition.states)
    for inquiry in run.inquiries:
        slots.update(inquiry.slots)
        before = states.get(_state_of(inquiry))
        asked = [*((before.collect if before else None) or ()), *inquiry.slots]
        collect = tuple(dict.fromkeys(asked))
        states[_state_of(inquiry)] = State(collect=collect, next=(Branch(to=inquiry.state),))
    return definition.model_copy(update={"slots": slots, "states": states})


def take(walk: Walk, inquiry: Inquiry) -> bool:
    """Have it asked; False where this tool has asked back too often.

    A question that comes again has slots of its own: the tool didn't like the answer.
    """
    run = walk.run
    if sum(earlier.state == inquiry.state for earlier in run.inquiries) >= MOST:
        return False
    run.inquiries.append(inquiry)
    walk.definition = extended(walk.definition, run)
    walk.enter(_state_of(inquiry), "asked_back")
    walk.say(inquiry.say)
    return True


def answers(walk: Walk, state: str) -> dict[str, JsonValue]:
    """What was said to the tool that this state calls, by question."""
    given: dict[str, JsonValue] = {}
    for inquiry in walk.run.inquiries:
        if inquiry.state == state:
            for key, fields in inquiry.fields.items():
                given[key] = _answer(walk, fields)
    return given


def _answer(walk: Walk, fields: dict[str, str]) -> JsonValue:
    slots = walk.run.slots
    if WHOLE in fields:
        return {"action": "accept" if slots.get(fields[WHOLE]) is True else "decline"}
    content: dict[str, JsonValue] = {
        field: walk.evaluate(f"slots.{slot}")
        for field, slot in fields.items()
        if slots.get(slot) is not None
    }
    return {"action": "accept", "content": content}


def _state_of(inquiry: Inquiry) -> str:
    return f"{inquiry.state}.inquiry"
