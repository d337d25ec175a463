"""The calls that a conversation waits for its front end to make: what is kept of them till then.

A result may come at any time: after a crash, in a run that continues this one, or days later.
Nothing waits for it meanwhile but the answer that it is for.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from router.contracts.conversation_state import MAX_WAITING_CALLS, FrontEnd, OpenSkill, WaitingCall
from router.contracts.tool_rounds import AwaitedRounds, ToolFinding
from router.domain import messages
from router.domain.sizes import measure_bytes
from router.llm.types import NO_REASONING
from router.routing.excerpt import excerpt

MAX_RESULT_CHARS, MAX_RESULTS_CHARS = 6_000, 16_000
"""Characters of a call's result: as much as a model is shown of one; and of all results that are
kept for one message."""
MAX_ROUNDS_BYTES = 60_000
"""Bytes of all rounds that wait for calls, with what was called before."""
_MIN_RESULT_CHARS = 200
"""Characters that are kept of a result at least."""


def add_calls(
    front_end: FrontEnd, calls: Sequence[WaitingCall], rounds: Sequence[AwaitedRounds] = ()
) -> FrontEnd:
    """Return the front end with more calls to make, and the rounds that continue after them.

    The oldest are given up beyond `MAX_WAITING_CALLS` calls or `MAX_ROUNDS_BYTES`, all of one
    message together; never those that are asked for now: the turn tells the front end to make them.
    """
    newest = {call.group for call in calls}
    waiting, awaited = [*front_end.calls, *calls], [*front_end.rounds, *map(shorten, rounds)]
    older = list(dict.fromkeys(c.group for c in front_end.calls if c.group not in newest))
    while older and (len(waiting) > MAX_WAITING_CALLS or measure_bytes(awaited) > MAX_ROUNDS_BYTES):
        gone = older.pop(0)
        waiting = [call for call in waiting if call.group != gone]
        awaited = [a for a in awaited if gone != (a.message_id, "")]
    return front_end.replace(calls=waiting, rounds=awaited)


def shorten(awaited: AwaitedRounds) -> AwaitedRounds:
    """The rounds, with so much of each result as can be kept of all of them together.

    Where even the shortest are too much, what the model thought before its calls is left out.
    """
    every = sum(len(made.findings) for made in awaited.rounds)
    longest = min(MAX_RESULT_CHARS, MAX_RESULTS_CHARS // every)
    kept = _with_results(awaited, longest)
    while measure_bytes([kept]) > MAX_ROUNDS_BYTES and longest > _MIN_RESULT_CHARS:
        longest //= 2
        kept = _with_results(awaited, longest)
    return kept if measure_bytes([kept]) <= MAX_ROUNDS_BYTES else _without_thoughts(kept)


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
    return excerpt(result, longest).value


def receive_result(front_end: FrontEnd, action: messages.ToolResultAction) -> FrontEnd:
    """Return the front end with the result of a call that it was asked for.

    Of a long result an excerpt is kept, which says how much there is.
    """
    result = _excerpt(action.result, MAX_RESULT_CHARS)
    found = {call.id: call for call in front_end.calls}
    if (call := found.get(action.tool_call_id)) is not None:
        found[call.id] = call.replace(heard=True, result=result, error=action.error)
    return front_end.replace(calls=list(found.values()))


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


def drop_group(front_end: FrontEnd, group: tuple[str, str]) -> FrontEnd:
    """Return the front end without the calls of a group, which are waited for together."""
    return front_end.replace(
        calls=[call for call in front_end.calls if call.group != group],
        rounds=[a for a in front_end.rounds if (a.message_id, "") != group],
    )


def drop_abandoned(front_end: FrontEnd, skill: OpenSkill | None) -> FrontEnd:
    """Return the front end without calls of a skill that no longer waits for them."""
    at_work = skill.at_work if skill else None
    out = at_work.memory.awaited.keys() if at_work else frozenset[str]()
    calls = [call for call in front_end.calls if not call.skill or call.id in out]
    return front_end if len(calls) == len(front_end.calls) else front_end.replace(calls=calls)
