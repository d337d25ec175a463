"""What a state does side by side: a call or a flow for each item of a list, or branches.

    each: slots.items     ──▶ one part an item, a few at once, their results a list in order
    flow: other_flow      ──▶ one part: a run of that flow
    parallel: [a, b]      ──▶ one part a branch: a run of this flow that begins at `a`, with what
                              is known here, and ends where it comes to the state `join`

A run that is started has its own id, questions, approvals and timers. It is an errand of this
run, so that cancelling waits for it, and hands over what it did when it ends, so that going
back from here takes that back too. One part that comes to nothing is enough for the way out by
`on_error` or `otherwise`; the others settle first, and what they did is taken back.
"""

import hashlib
from collections.abc import Iterator

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.messages import FlowStatus
from router.flow.definition import FlowDefinition, State
from router.flow.engine import approval
from router.flow.engine.context import StepContext, canonical
from router.flow.engine.events import Finished
from router.flow.engine.run import Agreement, Batch, BatchPart, Run, Task
from router.flow.language.expressions import ExpressionError

MOST_ITEMS = 100
"""Items of a list: each is carried with the run until the state is left."""
AT_ONCE = {"call": 3, "flow": 1}
"""How many items are under way at once where the file doesn't say: runs may ask the requester
something, and are for them one after the other."""
LARGEST = 32 * 1024
"""Bytes of JSON that all parts may come to together, each no more than its share."""
ENDED_BADLY = Localised(
    zh="其中一部分没有办成，所以没法往下办，已经通知管理员。",
    en="A part of it came to nothing, so this can't go on; the administrators were told.",
)


def go_on(walk: StepContext) -> bool:
    """One move in a state that does several things; False where the run waits for them."""
    run = walk.run
    if run.batch is None:
        run.batch = Batch(visit=run.visit, parts=list(_parts(walk)))
    _start(walk, run.batch)
    if run.errands:
        run.status = "running" if walk.state.kind == "call" else "waiting"
        return False
    _conclude(walk, run.batch)
    return True


def _parts(walk: StepContext) -> Iterator[BatchPart]:
    """Everything that is to be done, before anything of it is begun."""
    state = walk.state
    if state.parallel is not None:
        yield from (BatchPart(branch=branch) for branch in state.parallel)
        return
    if state.each is None:
        yield BatchPart(arguments=walk.arguments())
        return
    items = walk.evaluate(state.each)
    if not isinstance(items, list):
        raise ExpressionError(f"{state.each!r} gives {items!r}, which is no list")
    if len(items) > MOST_ITEMS:
        raise ExpressionError(f"{state.each!r} has {len(items)} items; {MOST_ITEMS} are the most")
    for item in items:
        yield BatchPart(arguments=walk.arguments(item=item))


def _start(walk: StepContext, batch: Batch) -> None:
    """Put as many parts under way as may be at once; none any more where it is decided."""
    state, under_way = walk.state, len(batch.those("under_way"))
    most = state.at_once or AT_ONCE.get(state.kind, len(batch.parts))
    for number, part in enumerate(batch.parts):
        if part.status != "waiting" or under_way >= most or _decided(state, batch):
            continue
        batch.parts[number] = part.model_copy(update={"status": "under_way"})
        under_way += 1
        errand = _errand(walk, number, part)
        walk.run.errands[errand.id] = errand
        if errand.kind == "flow":
            walk.note("started", comment=_named(errand))


def _errand(walk: StepContext, number: int, part: BatchPart) -> Task:
    run, state = walk.run, walk.state
    id_ = f"{run.state}:{run.visit}:{number}"
    key = f"{walk.definition.flow}/{run.requester.tenant}/{run.id}:{id_}"
    if state.call is not None:
        return Task(
            id=id_, kind="call", name=state.call, arguments=part.arguments, key=key, part=number
        )
    return Task(
        id=id_,
        kind="flow",
        name=state.flow or walk.definition.flow,
        arguments=part.arguments,
        key=hashlib.sha256(key.encode()).hexdigest()[:24],
        part=number,
        branch=part.branch,
        detached=state.detached,
    )


def _decided(state: State, batch: Batch) -> bool:
    """True where the rest changes nothing any more, and the file doesn't want it finished."""
    if state.rest == "finish":
        return False
    enough = state.wait_for == "any" and bool(batch.those("done"))
    lost = bool(batch.those("failed")) and not (
        state.wait_for == "any" and batch.those("waiting", "under_way")
    )
    return enough or lost


def succeeded(walk: StepContext, errand: Task, value: JsonValue) -> None:
    """A call for an item came back; what it came to is kept where the file saves it."""
    fits = walk.state.save is not None and _fits(walk.run, value)
    _settle(walk, errand, status="done", value=value if fits else None)


def _fits(run: Run, value: JsonValue) -> bool:
    """True where a part's result is no more than its share: all of them are carried together."""
    share = LARGEST // len(run.batch.parts) if run.batch else LARGEST
    return len(canonical({"": value}).encode()) <= share


def failed(walk: StepContext, errand: Task, error: str, kind: str) -> None:
    """A part came to nothing for good."""
    value: JsonValue = {"message": error, "kind": kind, "item": errand.part}
    _settle(walk, errand, status="failed", value=value, ended="failed")


def finished(walk: StepContext, errand: Task, event: Finished) -> None:
    """A run that was started has ended, or has begun where nothing waits for its end.

    A branch that the requester took back is the whole run taken back: people don't tell the two
    apart.
    """
    if not errand.detached:
        walk.note(f"{event.status} there", comment=_named(errand))
    if errand.branch and event.status == "cancelled" and not errand.stopping:
        stop(walk)
        walk.run.ending, walk.run.told_elsewhere = "cancelled", True
        return
    good = event.status == "completed" or errand.detached
    news = _agreed_there(walk, errand, event)
    _settle(
        walk,
        errand,
        status="done" if good else "stopped" if errand.stopping else "failed",
        value=_outcome(walk.run, errand, event),
        ended=event.status,
        results=_added(walk.run, event) if errand.branch else {},
    )
    _tell_branches(walk, news)


def _agreed_there(walk: StepContext, errand: Task, event: Finished) -> list[Agreement]:
    """What was agreed to in a branch, and is news to this run; it knows of it from now on."""
    if not errand.branch:
        return []
    known = walk.run.agreements
    walk.run.agreements = approval.merged(known, event.agreements)
    return approval.unknown(known, event.agreements)


def _tell_branches(walk: StepContext, news: list[Agreement]) -> None:
    """Have the branches that go on be told: they may wait for somebody who has agreed by now."""
    walk.run.errands = {
        id_: errand.model_copy(update={"agreed": (*errand.agreed, *news)})
        if news and errand.branch and not errand.stopping
        else errand
        for id_, errand in walk.run.errands.items()
    }


def _named(errand: Task) -> str:
    return f"{errand.branch or errand.name} {errand.key}"


def _outcome(run: Run, errand: Task, event: Finished) -> dict[str, JsonValue]:
    """What is saved of a run; where that is too much, only what it is and how it ended."""
    about: dict[str, JsonValue] = {"run": errand.key, "status": event.status}
    results = _added(run, event) if errand.branch else event.results
    whole = {**about, "results": results} | ({} if errand.branch else {"slots": event.slots})
    return whole if _fits(run, whole) else about


def _added(run: Run, event: Finished) -> dict[str, JsonValue]:
    """The results of a branch that weren't there when it began."""
    return {name: v for name, v in event.results.items() if run.results.get(name) != v}


def _settle(walk: StepContext, errand: Task, **became: object) -> None:
    batch = walk.run.batch
    if batch is None or errand.part is None:
        return
    part = batch.parts[errand.part]
    batch.parts[errand.part] = part.model_copy(update=became)
    _start(walk, batch)
    if _decided(walk.state, batch):
        stop(walk)


def stop(walk: StepContext) -> None:
    """Have every run that this one started cancelled."""
    run = walk.run
    run.errands = {
        id_: errand.model_copy(update={"stopping": True}) if errand.kind == "flow" else errand
        for id_, errand in run.errands.items()
    }


def _conclude(walk: StepContext, batch: Batch) -> None:
    """Everything has settled: leave by the way that it came to."""
    run, state = walk.run, walk.state
    lost = batch.those("failed")
    for part in [*batch.those("done"), *lost]:
        run.results.update(part.results)
    if state.save is not None and (not lost or state.kind != "call"):
        run.results[state.save] = _saved(state, batch)
    run.batch = None
    if not lost or (state.wait_for == "any" and batch.those("done")):
        walk.leave(_way_on(state))
    else:
        _leave_badly(walk, lost[0])


def _way_on(state: State) -> str:
    if state.parallel is not None:
        return "join"
    return "next" if state.call is not None or state.detached else "completed"


def _saved(state: State, batch: Batch) -> JsonValue:
    if state.parallel is not None:
        return {part.branch: part.value for part in batch.parts}
    values = [part.value for part in batch.parts]
    return values if state.each is not None else values[0]


def _leave_badly(walk: StepContext, lost: BatchPart) -> None:
    """By `on_error` or `otherwise`, once what the others did is taken back; else end as it did."""
    run, state = walk.run, walk.state
    called = state.call is not None
    if called or lost.ended == "failed":
        run.results["error"] = lost.value
    exit_ = "on_error" if called else "otherwise"
    if state.exits().get(exit_):
        run.clearing = run.visit if called or len(state.parallel or ()) or state.each else None
        walk.leave(exit_)
        return
    status: FlowStatus = lost.ended or "failed"
    if status == "failed":
        walk.give_up(ENDED_BADLY, f"{walk.state.kind} in {run.state} came to nothing")
    else:
        run.ending = status


def branch_of(definition: FlowDefinition, state: str, branch: str) -> FlowDefinition:
    """The flow of a branch: it begins there, and is completed where the branches join."""
    join = definition.states[state].join[0].to
    states = {**definition.states, join: State(end="completed")}
    return definition.model_copy(update={"start": branch, "states": states})
