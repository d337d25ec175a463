"""Starting one of the flows that were offered for a message, with what it said for that one."""

from router.domain.commands import StartFlow
from router.flow.model import FlowDefinition
from router.flow.situation import Situation
from router.understanding.leftover import clause_starts
from router.understanding.patterns import Match, PatternIndex
from router.understanding.prefill import prefill_offered
from router.understanding.utterance import Utterance


def may_start(flow: FlowDefinition, situation: Situation) -> bool:
    """True where the person has one of the roles that the flow is for."""
    return not flow.triggers.roles or bool(flow.triggers.roles & situation.roles)


def start_offered(flow: FlowDefinition, situation: Situation, index: PatternIndex) -> StartFlow:
    """Begin the flow with what the message said that it was offered for."""
    slots = prefill_offered(flow.slots, *_said_for(flow, situation, index))
    return StartFlow(flow=flow.flow, slots=slots)


def _said_for(
    flow: FlowDefinition, situation: Situation, index: PatternIndex
) -> tuple[Utterance, list[Match]]:
    """The message, or where it asked for several flows, the clauses about this one.

    With the flow's patterns that were found in it: their groups fill slots.
    """
    whole = Utterance.of(situation.offered_for, situation.now)
    found = index.find(whole.normalised, situation.roles)
    starting = [match for match in found if match.hit.blocked_by is None]
    mine = [match for match in starting if match.hit.flow == flow.flow]
    others = [match.start for match in starting if match.hit.flow != flow.flow]
    if not mine or not others:
        return whole, mine
    begins, ends = _between(mine[0].start, others, whole.text)
    part = whole.part(begins, ends)
    again = index.find(part.normalised, situation.roles)
    return part, [match for match in again if match.hit.flow == flow.flow]


def _between(mine: int, others: list[int], text: str) -> tuple[int, int]:
    """From the clause of the request, or the text's beginning, to that of the next request."""
    clauses = clause_starts(text)
    begins = _clause_of(mine, clauses) if min(others) < mine else 0
    after = [at for at in others if _clause_of(at, clauses) > mine]
    return begins, _clause_of(min(after), clauses) if after else len(text)


def _clause_of(at: int, clauses: list[int]) -> int:
    return max((start for start in clauses if start <= at), default=0)
