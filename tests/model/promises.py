"""What is promised of a run whatever happens, as functions of a world; each names what it keeps."""

import json
from collections import Counter
from collections.abc import Callable

from router.domain.messages import ENDED
from router.flow.engine import events
from tests.model.exploration import BrokenPromise
from tests.model.run import RunWorld
from tests.unit.flow.lawful import Life

ONCE = "no effect twice"
AGREED = "nothing is done that nobody agreed to"
ONE_DECISION = "one decision"
KEPT = "nothing acknowledged is lost"
NAMED = "every run ends or waits for something named"
ONE_TRUTH = "one truth for requester and approver"
CLEAN = "what ends has left nothing half done"
FINAL = "what has ended stays ended"
FORGOTTEN = "what was erased stays erased"


def check(world: RunWorld) -> None:
    """Raise `BrokenPromise` for the first that doesn't hold."""
    for promise, keeps in PROMISES.items():
        if (what := keeps(world)) is not None:
            raise BrokenPromise(promise, what)


def net(world: RunWorld, tool: str) -> int:
    """How often the tool's effect stands out there, without what was taken back."""
    by_key = {key: name for name, key, _, _ in world.out.effects}
    done = sum(name == tool for name, _, _, _ in world.out.effects)
    return done - sum(by_key.get(undoes) == tool for _, _, _, undoes in world.out.effects)


def _no_effect_twice(world: RunWorld) -> str | None:
    keys = Counter(key for _, key, _, _ in world.out.effects)
    twice = [key for key, times in keys.items() if times > 1]
    if twice:
        return f"{twice[0]} was done {keys[twice[0]]} times"
    if world.unsure:
        return None  # a person was told to look, and an operator may have had it made again
    tools = {name for name, _, _, undoes in world.out.effects if not undoes}
    more = [tool for tool in sorted(tools) if net(world, tool) > 1]
    return f"{more[0]} stands {net(world, more[0])} times" if more else None


def _agreed_to(world: RunWorld) -> str | None:
    for tool, _, arguments, _ in world.out.effects:
        if tool != LASTING:
            continue
        wanted = json.loads(arguments)
        known = [(by, json.loads(slots)) for by, slots in world.agreed]
        people = {by for by, slots in known if wanted.items() <= slots.items()}
        if len(people) < world.setting.consents:
            return f"{tool}({arguments}), but agreed was to {known}"
    return None


LASTING = "pay"
"""The tool of the model's flows that is called once people have agreed."""


def _one_decision(world: RunWorld) -> str | None:
    verdicts: dict[str, set[str]] = {}
    for approval, verdict in world.verdicts:
        verdicts.setdefault(approval, set()).add(verdict)
    both = [(approval, said) for approval, said in verdicts.items() if len(said) > 1]
    return f"{both[0][0]} was decided as {sorted(both[0][1])}" if both else None


def _nothing_lost(world: RunWorld) -> str | None:
    if world.cancelled and world.run.status == "completed":
        return "it was cancelled, and is completed"
    told = dict(world.verdicts)
    for approval in (world.run.approvals.last, world.run.approvals.current):
        for one in approval.assignees if approval else ():
            if one.id in told and one.verdict != told[one.id]:
                return f"{one.person} was told {told[one.id]}, and the run has {one.verdict}"
    changed = [
        (name, value) for name, value in world.amended if world.run.form.slots.get(name) != value
    ]
    under_way = world.run.form.offered_values or world.run.work.pending
    if changed and not under_way and world.run.status not in ENDED:
        return f"the change to {changed[0][1]!r} was made, and isn't there"
    return None


def _waits_for_something(world: RunWorld) -> str | None:
    try:
        Life(world.setting.definition, world.run, world.now).waits_for_something()
    except AssertionError as nothing:
        return str(nothing).splitlines()[0]
    return None


def _one_truth(world: RunWorld) -> str | None:
    if world.behind or world.erased or world.lapsed:
        return None  # it is published next, or never will be, or with its next event
    approval = world.run.approvals.current
    waiting = {one.id for one in approval.waiting_for()} if approval else set()
    shown = {row.id for row in world.published.approvals if row.active}
    if world.published.status != world.run.status:
        return f"lists show {world.published.status}, and the run is {world.run.status}"
    if shown != waiting:
        return f"approvers see {sorted(shown)}, and the run waits for {sorted(waiting)}"
    return None


def _clean(world: RunWorld) -> str | None:
    status = world.run.status
    if status not in ENDED or world.unsure:
        return None
    tools = sorted({name for name, _, _, undoes in world.out.effects if not undoes})
    if status == "completed":
        less = [tool for tool in world.setting.does if net(world, tool) != 1]
        return f"completed, but {less[0]} stands {net(world, less[0])} times" if less else None
    left = [tool for tool in tools if tool != LASTING and net(world, tool)]
    return f"{status}, but {left[0]} stands" if left else None


def _stays_ended(world: RunWorld) -> str | None:
    if world.run.status not in ENDED:
        return None
    after = world.take(events.Cancelled(by="alice")).run
    return None if after == world.run else f"{world.run.status} became {after.status}"


def _stays_erased(world: RunWorld) -> str | None:
    if not world.erased or world.published.wordless:
        return None
    return f"its rows have its words again: {world.published.status}"


PROMISES: dict[str, Callable[[RunWorld], str | None]] = {
    ONCE: _no_effect_twice,
    AGREED: _agreed_to,
    ONE_DECISION: _one_decision,
    KEPT: _nothing_lost,
    NAMED: _waits_for_something,
    ONE_TRUTH: _one_truth,
    CLEAN: _clean,
    FINAL: _stays_ended,
    FORGOTTEN: _stays_erased,
}
