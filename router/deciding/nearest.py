"""Deciding by nearness alone: which capabilities may a message be for, and how sure is that."""

from collections.abc import Iterable, Sequence

from router.deciding import without_model
from router.domain.capabilities import Capability
from router.domain.commands import Command
from router.domain.messages import Candidate, ChooseAction, Message, Route
from router.flow.situation import Situation
from router.selection.budget import within_budget
from router.selection.index import CapabilityIndex
from router.selection.selected import Selection

EVERYTHING = 4000
"""Tokens that all capabilities may take together to be told of at every message. More than a
selection may: what is always the same is read once and then cached, by servers small and large."""


async def find(
    index: CapabilityIndex, usable: Iterable[Capability], text: str, situation: Situation
) -> Selection:
    """What the text may be for among what the caller may use; the active flow is always there."""
    active = situation.active
    return await index.select(
        text,
        among=[capability.name for capability in usable],
        always=[active.flow] if active else [],
    )


def decide(message: Message, situation: Situation, found: Selection) -> tuple[Route, list[Command]]:
    """A route, with what was considered, and its commands, where no model decides."""
    # A skill is a model's work: without one there is nothing to offer of it.
    listed = [c.capability for c in found.candidates if c.kind != "skill"]
    route, commands = without_model.decide(message, situation, listed, found.verdict)
    return route.model_copy(update={"candidates": shown(found)}), commands


def listed(found: Selection, usable: Sequence[Capability]) -> list[Capability]:
    """What a model is told of: all that is usable where it fits into a prompt, else the nearest.

    All of it reads the same at every message, and what reads the same is in the server's cache.
    """
    everything = within_budget(usable, EVERYTHING, len(usable))
    if len(everything) == len(usable):
        return everything
    return [candidate.capability for candidate in found.candidates]


def shown(found: Selection) -> list[Candidate]:
    """What was considered, as routes show it."""
    return [Candidate(kind=c.kind, name=c.name, score=c.score) for c in found.candidates]


def words_of(message: Message) -> str:
    """What was said; of a pressed option, its value."""
    if isinstance(message.action, ChooseAction):
        return str(message.action.value)
    return message.text or ""
