"""Which of several is meant: a check that can't tell has the requester choose.

    check ──several fit──▶ collect: the slot behind the argument, asked with buttons ──▶ check

What may be chosen is part of the run, not of its file, and other words are taken too: the check
judges them anew.
"""

from router.domain.offers import Offered
from router.domain.texts import Localised
from router.flow import expressions
from router.flow.model import Choice, FlowDefinition, Slot
from router.flow.run import Run
from router.flow.walk import Walk

ASKABLE = ("text", "choice")
"""Types of slots that can be chosen for."""


def with_options(definition: FlowDefinition, run: Run) -> FlowDefinition:
    """The definition, with what the requester may choose from where a check left it open."""
    if not run.options:
        return definition
    slots = dict(definition.slots)
    for name, offered in run.options.items():
        if name in slots:
            slots[name] = _asked(slots[name], offered)
    return definition.model_copy(update={"slots": slots})


def take(walk: Walk, offered: Offered) -> bool:
    """Have it asked which is meant; False where nobody here can be asked for that argument."""
    name = _slot_for(walk, offered.argument)
    if name is None or not offered.offers or not _is_asked_for(walk, name):
        return False
    run = walk.run
    run.options = {**run.options, name: offered}
    run.slots = {slot: value for slot, value in run.slots.items() if slot != name}
    walk.definition = with_options(walk.definition, run)
    return True


def _slot_for(walk: Walk, argument: str) -> str | None:
    """The one slot that the state's tool is given as this argument, where it can be chosen for."""
    source = walk.state.arguments.get(argument)
    read = expressions.slots_read(source) if source else frozenset()
    fits = [name for name in read if walk.definition.slots[name].type in ASKABLE]
    return fits[0] if len(read) == len(fits) == 1 else None


def _is_asked_for(walk: Walk, name: str) -> bool:
    """True where a refusal leads to a state that collects the slot: any other would check anew."""
    states = walk.definition.states
    return any(name in (states[branch.to].collect or ()) for branch in walk.state.on_error)


def _asked(slot: Slot, offered: Offered) -> Slot:
    choices = {one.value: Choice(label=one.label, synonyms=one.synonyms) for one in offered.offers}
    ask = Localised(zh=_plain(offered.ask.zh), en=_plain(offered.ask.en))
    return slot.model_copy(update={"choices": choices, "required": True, "ask": ask})


def _plain(words: str) -> str:
    """Words of a tool as a template that gives just these."""
    return words.replace("{", "｛").replace("}", "｝")
