"""What a state does side by side: a call or a flow for each item of a list, or branches.

A branch is a run of this flow that ends where it comes to `join`. A run that is started is a task
of this one: cancelling waits for it, and what it did is this one's to take back once it ends. One
part that comes to nothing is enough for `on_error` or `otherwise`, once the others settled.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.messages import FlowStatus
from router.flow.definition import Batching, FlowDefinition, State, may_ask
from router.flow.engine.context import StepContext, canonical
from router.flow.engine.events import Finished
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import MAX_AGREEMENTS
from router.flow.engine.run_parts.work import MAX_BATCH_PARTS, Batch, BatchPart, Ending, Task
from router.flow.language.expressions import ExpressionError

AT_ONCE = {"call": 3, "flow": 1}
"""How many items are under way at once where the file doesn't say: runs may ask the requester
something, and are for them one after the other."""
LARGEST = 32 * 1024
"""Bytes of JSON that all parts may come to together, each no more than its share."""
ENDED_BADLY = Localised(
    zh="其中一部分没有办成，所以没法往下办，已经通知管理员。",
    en="A part of it came to nothing, so this can't go on; the administrators were told.",
)


def go_on(context: StepContext) -> bool:
    """One move in a state that does several things; False where the run waits for them."""
    run = context.run
    if run.work.batch is None:
        run.work.batch = Batch(visit=run.visit, parts=list(_parts(context)))
    _start(context, run.work.batch)
    if run.work.tasks:
        run.status = "running" if _of(context).tool else "waiting"
        return False
    _conclude(context, run.work.batch)
    return True


def _parts(context: StepContext) -> Iterator[BatchPart]:
    """Everything that is to be done, before anything of it is begun."""
    batching = _of(context)
    if batching.branches:
        yield from (BatchPart(branch=branch) for branch in batching.branches)
        return
    if batching.each is None:
        yield BatchPart(arguments=context.arguments())
        return
    each, items = batching.each, context.evaluate(batching.each)
    if not isinstance(items, list):
        raise ExpressionError(f"{each!r} gives {items!r}, which is no list")
    if len(items) > MAX_BATCH_PARTS:
        raise ExpressionError(f"{each!r} has {len(items)} items; {MAX_BATCH_PARTS} are the most")
    yield from (BatchPart(arguments=context.arguments(item=item)) for item in items)


def _start(context: StepContext, batch: Batch) -> None:
    """Put as many parts under way as may be at once; none where it is decided, or held."""
    if context.run.recovery.held is not None:
        return
    batching, under_way = _of(context), len(batch.those("under_way"))
    most = batching.at_once or AT_ONCE.get(context.state.kind, len(batch.parts))
    for number, part in enumerate(batch.parts):
        if part.status != "waiting" or under_way >= most or _decided(batching, batch):
            continue
        batch.parts[number] = part.replace(status="under_way")
        under_way += 1
        task = _task(context, number, part)
        context.run.work.tasks[task.id] = task
        if task.kind == "flow":
            context.note("started", comment=_named(task))


def _of(context: StepContext) -> Batching:
    return context.state.batch or Batching()


def _task(context: StepContext, number: int, part: BatchPart) -> Task:
    run, batching = context.run, _of(context)
    id_ = f"{run.state}:{run.visit}:{number}"
    key = f"{context.definition.flow}/{run.requester.tenant}/{run.id}:{id_}"
    tool, given = batching.tool, part.arguments
    if tool:
        return Task(id=id_, kind="call", name=tool, arguments=given, key=key, part=number)
    return Task(
        id=id_,
        kind="flow",
        name=batching.flow or context.definition.flow,
        arguments=given,
        key=hashlib.sha256(key.encode()).hexdigest()[:24],
        part=number,
        branch=part.branch,
        granted=tuple(run.approvals.granted) if part.branch else (),
        detached=batching.detached,
    )


def _decided(batching: Batching, batch: Batch) -> bool:
    """True where the rest changes nothing any more, and the file doesn't want it finished."""
    if batching.rest == "finish":
        return False
    if batching.wait_for == "any" and (batch.those("done") or batch.those("waiting", "under_way")):
        return bool(batch.those("done"))
    return bool(batch.those("failed"))


def succeeded(context: StepContext, task: Task, value: JsonValue) -> None:
    """A call for an item came back; what it came to is kept where the file saves it."""
    fits = context.state.saves is not None and _fits(context.run, value)
    kept = value if fits else None
    _settle(context, task, lambda part: part.replace(status="done", value=kept))


def _fits(run: Run, value: JsonValue) -> bool:
    """True where a part's result is no more than its share: all of them are carried together."""
    share = LARGEST // len(run.work.batch.parts) if run.work.batch else LARGEST
    return len(canonical({"": value}).encode()) <= share


def put_back(context: StepContext, task: Task) -> None:
    """Have a part wait as if it had never begun; it begins under the same key when it does."""
    batch = context.run.work.batch
    if batch is not None and task.part is not None:
        waiting = batch.parts[task.part].replace(status="waiting")
        batch.parts[task.part] = waiting


def failed(context: StepContext, task: Task, error: str, kind: str) -> None:
    """A part came to nothing for good."""
    value: JsonValue = {"message": error, "kind": kind, "item": task.part}
    _settle(context, task, lambda part: part.replace(status="failed", value=value, ended="failed"))


def finished(context: StepContext, task: Task, event: Finished) -> None:
    """A run that was started is over; a branch that was taken back takes the whole run back."""
    if not task.detached:
        context.note(f"{event.status} there", comment=_named(task))
    if task.branch and event.status == "cancelled" and not task.stopping:
        stop(context)
        context.run.work.pending, context.run.recovery.told_elsewhere = (
            Ending(status="cancelled"),
            True,
        )
        return
    run = context.run
    if task.branch and event.status == "completed":
        # Before others begin, which are to inherit no more than what is in force.
        run.approvals.take_over(task.granted, event.granted)
        run.work.related_runs = list(dict.fromkeys([*run.work.related_runs, *event.related]))
    badly: Literal["stopped", "failed"] = "stopped" if task.stopping else "failed"
    _settle(
        context,
        task,
        lambda part: part.replace(
            status="done" if event.status == "completed" or task.detached else badly,
            value=_outcome(run, task, event),
            ended=event.status,
            declined=event.declined,
            results=_added(run, event) if task.branch else {},
        ),
    )
    if not task.branch:
        return
    # The branches that go on may wait for somebody who has agreed by now.
    if news := run.approvals.merge_agreements(event.agreements):
        for id_, other in run.work.tasks.items():
            if other.branch and not other.stopping:
                agreed = (*other.agreed, *news)[:MAX_AGREEMENTS]
                run.work.tasks[id_] = other.replace(agreed=agreed)


def _named(task: Task) -> str:
    return f"{task.branch or task.name} {task.key}"


def _outcome(run: Run, task: Task, event: Finished) -> dict[str, JsonValue]:
    """What is saved of a run; where that is too much, only what it is and how it ended."""
    about: dict[str, JsonValue] = {"run": task.key, "status": event.status}
    results = _added(run, event) if task.branch else event.results
    whole = {**about, "results": results} | ({} if task.branch else {"slots": event.slots})
    return whole if _fits(run, whole) else about


def _added(run: Run, event: Finished) -> dict[str, JsonValue]:
    """The results of a branch that weren't there when it began."""
    return {name: v for name, v in event.results.items() if run.work.results.get(name) != v}


def _settle(context: StepContext, task: Task, change: Callable[[BatchPart], BatchPart]) -> None:
    batch = context.run.work.batch
    if batch is None or task.part is None:
        return
    batch.parts[task.part] = change(batch.parts[task.part])
    _start(context, batch)
    if _decided(_of(context), batch):
        stop(context)


def stop(context: StepContext, *, changed: bool = False) -> None:
    """Have every run that this one started cancelled; `changed`: to begin anew."""
    for id_, task in context.run.work.tasks.items():
        if task.kind == "flow":
            context.run.work.tasks[id_] = task.replace(stopping=True, changed=changed)


def _conclude(context: StepContext, batch: Batch) -> None:
    """Everything has settled: leave by the way that it came to."""
    run, save, batching = context.run, context.state.saves, _of(context)
    lost = batch.those("failed")
    for part in [*batch.those("done"), *lost]:
        run.work.results.update(part.results)
    if save is not None and not (lost and batching.tool):
        values = [part.value for part in batch.parts]
        run.work.results[save] = values if batching.each is not None else values[0]
        if batching.branches:
            run.work.results[save] = {part.branch: part.value for part in batch.parts}
    run.work.batch = None
    if any(_is_declined(context, part) for part in batch.parts):
        run.approvals.void()
    if not lost or (batching.wait_for == "any" and batch.those("done")):
        way = "next" if batching.tool or batching.detached else "completed"
        context.leave("join" if batching.branches else way)
    else:
        _leave_badly(context, lost[0])


def _is_declined(context: StepContext, part: BatchPart) -> bool:
    """Return whether an approval in this part ended otherwise, or may have been left open."""
    if part.branch and part.status != "done":
        join = context.state.exits()["join"][0].to
        return may_ask(context.definition.states, part.branch, join)
    return part.declined


def _leave_badly(context: StepContext, lost: BatchPart) -> None:
    """By `on_error` or `otherwise`, once what the others did is taken back; else end as it did."""
    run, batching = context.run, _of(context)
    if not batching.tool:
        run.approvals.void()
    if batching.tool or lost.ended == "failed":
        run.work.results["error"] = lost.value
    exit_ = "on_error" if batching.tool else "otherwise"
    if exit_ in context.state.exits():
        context.leave(exit_, clears=bool(batching.branches) or batching.each is not None)
        return
    status: FlowStatus = lost.ended or "failed"
    if status == "failed":
        context.give_up(ENDED_BADLY, f"{context.state.kind} in {run.state} came to nothing")
    else:
        run.work.pending = Ending(status=status)


def begin_run(task: Task, run: Run, workflow_id: str) -> Run:
    """Return the run that a task of this run begins; a branch knows what this run knows."""
    begun = Run(
        id=task.key,
        requester=run.requester,
        conversation=run.conversation,
        locale=run.locale,
        parent=None if task.detached else workflow_id,
    )
    if task.branch:
        begun.form = run.form.for_branch()
        begun.approvals = run.approvals.for_branch()
        begun.work.results = run.work.results
        begun.work.related_runs = [*run.work.related_runs, workflow_id]
    return begun


def branch_of(definition: FlowDefinition, state: str, branch: str) -> FlowDefinition:
    """The flow of a branch: it begins there, and is completed where the branches join."""
    join = definition.states[state].exits()["join"][0].to
    states = {**definition.states, join: State.model_validate({"end": "completed"})}
    return definition.replace(start=branch, states=states)
