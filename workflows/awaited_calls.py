"""The calls that a conversation waits for its front end to make: what is kept of them till then.

A result may come at any time: after a crash, in a run that continues this one, or days later.
Nothing waits for it meanwhile but the answer that it is for.
"""

import json
from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from router.contracts.conversation import ConversationState, WaitingCall
from router.contracts.tool_rounds import AwaitedRounds, ToolFinding
from router.domain import messages
from router.domain.sizes import measure_bytes
from router.llm.types import NO_REASONING
from router.routing.excerpt import excerpt
from workflows.memory import place_of

WAITING = 16
RESULT_LENGTH, RESULTS_LENGTH = 6_000, 16_000
"""Calls that a conversation waits for the front end to make, and characters of a result: as
much as a model is shown of one; and of all that are kept for one message until then."""
AWAITED_BYTES = 60_000
"""Of all that is kept so, with what was called before."""
_SHORTEST = 200
"""Characters that are kept of a result at least."""


def waiting_for(
    state: ConversationState, calls: Sequence[WaitingCall], rounds: Sequence[AwaitedRounds] = ()
) -> ConversationState:
    """The state with more calls out at the front end, and what the router goes on from then.

    The oldest are given up beyond `WAITING` calls or `AWAITED_BYTES`, all of one message together;
    never those that are asked for now: the turn tells the front end to make them.
    """
    newest = {call.group for call in calls}
    waiting, awaited = [*state.waiting, *calls], [*state.awaited, *map(short_enough, rounds)]
    older = list(dict.fromkeys(c.group for c in state.waiting if c.group not in newest))
    while older and (len(waiting) > WAITING or measure_bytes(awaited) > AWAITED_BYTES):
        gone = older.pop(0)
        waiting = [call for call in waiting if call.group != gone]
        awaited = [a for a in awaited if gone != (a.message_id, "")]
    return state.replace(waiting=waiting, awaited=awaited)


def short_enough(awaited: AwaitedRounds) -> AwaitedRounds:
    """The rounds, with so much of each result as can be kept of all of them together.

    Where even the shortest are too much, what the model thought before its calls is left out.
    """
    every = sum(len(made.findings) for made in awaited.rounds)
    longest = min(RESULT_LENGTH, RESULTS_LENGTH // every)
    kept = _with_results(awaited, longest)
    while measure_bytes([kept]) > AWAITED_BYTES and longest > _SHORTEST:
        longest //= 2
        kept = _with_results(awaited, longest)
    return kept if measure_bytes([kept]) <= AWAITED_BYTES else _without_thoughts(kept)


def _with_results(awaited: AwaitedRounds, longest: int) -> AwaitedRounds:
    rounds = [
        made.replace(findings=[_cut_finding(f, longest) for f in made.findings])
        for made in awaited.rounds
    ]
    return awaited.replace(rounds=rounds)


def _without_thoughts(awaited: AwaitedRounds) -> AwaitedRounds:
    rounds = [made.replace(reasoning=NO_REASONING) for made in awaited.rounds]
    return awaited.replace(rounds=rounds)


def _cut_finding(finding: ToolFinding, longest: int) -> ToolFinding:
    return finding.replace(result=_excerpt(finding.result, longest))


def _excerpt(result: JsonValue, longest: int) -> JsonValue:
    """The result, or where it is long so much of it, with how much there is."""
    shown: JsonValue = json.loads(excerpt(result, longest).text)
    return shown


def with_result(state: ConversationState, action: messages.ToolResultAction) -> ConversationState:
    """The state with what the front end found, where that call is out; an excerpt where it is long.

    The excerpt says how much there is.
    """
    result = _excerpt(action.result, RESULT_LENGTH)
    found = {w.id: w for w in state.waiting}
    if (call := found.get(action.tool_call_id)) is not None:
        found[call.id] = call.replace(heard=True, result=result, error=action.error)
    return state.replace(waiting=list(found.values()))


def finding_of(call: WaitingCall) -> ToolFinding:
    """What came of a call that the front end has made; of one that failed a model hears as well."""
    failed = call.error is not None
    return ToolFinding(tool=call.tool, result=call.result, error=call.error, mendable=failed)


def complete(awaited: AwaitedRounds, found: Mapping[str, ToolFinding]) -> AwaitedRounds:
    """The rounds with what the calls of these ids came to."""
    *before, last = awaited.rounds
    for id_, finding in found.items():
        last = last.hearing(id_, finding)
    return awaited.replace(rounds=[*before, last])


def without_group(state: ConversationState, group: tuple[str, str]) -> ConversationState:
    """The state with nothing out any more of those that are waited for together."""
    return state.replace(
        waiting=[w for w in state.waiting if w.group != group],
        awaited=[a for a in state.awaited if (a.message_id, "") != group],
    )


def without_abandoned(state: ConversationState) -> ConversationState:
    """The state without calls of a skill that has gone on without them, or isn't there any more."""
    at_work = state.skill.at_work if state.skill else None
    out = at_work.memory.awaited.keys() if at_work else frozenset[str]()
    waiting = [w for w in state.waiting if not w.skill or w.id in out]
    return state if len(waiting) == len(state.waiting) else state.replace(waiting=waiting)


def before_calls(
    history: Sequence[messages.SpokenLine], calls: Collection[str]
) -> list[messages.SpokenLine]:
    """What was said besides the exchange that led to these calls: it is being answered now."""
    place = place_of(history, calls)
    return [*history] if place is None else [*history[: place - 1], *history[place + 1 :]]
