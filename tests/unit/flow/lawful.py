"""What holds of every run of every flow, whatever happens to it.

`Life` is a run with its past. It takes events and says, as failed assertions, what shouldn't
have become of it.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from router.domain.messages import ASKING, ENDED
from router.flow.definition import FlowDefinition
from router.flow.engine import events, waiting
from router.flow.engine.changes import CHANGE
from router.flow.engine.elicitation import extended
from router.flow.engine.events import AnyEvent, Effect
from router.flow.engine.incidents import WORTH_ANOTHER_TRY
from router.flow.engine.machine import MOST_MOVES, step
from router.flow.engine.run import Run
from router.flow.engine.run_parts.work import Task
from router.flow.language.expressions import slots_read
from router.flow.prompts import question
from router.flow.slot_types.slot import Slot

MOST_TASKS = 100
"""Tasks in a row after which a flow whose every task is answered has to come to rest."""


class Life:
    """A run of a flow, everything that happened to it, and what it did."""

    def __init__(self, definition: FlowDefinition, first: Run, now: datetime) -> None:
        self.definition = definition
        self.first = self.run = first
        self.now = now
        self.past: list[tuple[AnyEvent, datetime]] = []
        self.effects: list[Effect] = []
        self._settling: list[AnyEvent] = []
        self._tasks: dict[str, Task] = {}
        self._settled: set[str] = set()
        self._left: set[str] = set()
        """Keys of what was done with an undo, and isn't taken back."""

    def take(self, event: AnyEvent) -> None:
        """Let it happen; everything that holds of a step is looked at."""
        before, untouched = self.run, self.run.model_copy(deep=True)
        self.run, effects = step(self.definition, before, event, self.now)
        self.past.append((event, self.now))
        self.effects += effects
        assert before == untouched, "the step changed the run that it was given"
        assert before.status not in ENDED or (self.run, effects) == (before, [])
        assert self.run.history[: len(before.history)] == before.history, "history was rewritten"
        self._loses_nothing(before, event)
        self._owes_each_effect_once(before, event)
        self._takes_back_once(before, event)
        self._is_shown()
        if _settles(before, event):
            self._settling.append(event)

    @property
    def gone(self) -> list[AnyEvent]:
        """Events about what is over by now, the last one first."""
        return [event for event in reversed(self._settling) if not _settles(self.run, event)]

    def take_in_vain(self, event: AnyEvent) -> None:
        """Let something happen that is no longer, or was never, of any concern."""
        before = self.run
        self.take(event)
        was, is_ = _lasting(before), _lasting(self.run)
        changed = [name for name in is_ if is_[name] != was[name]]
        assert not changed, f"{event!r} should have changed nothing, but did {changed}"

    def take_all(self, answer: Callable[[Task], AnyEvent]) -> None:
        """Have every task answered, and those that follow, until nothing is owed."""
        for _ in range(MOST_TASKS):
            if not self.run.work.tasks:
                return
            self.take(answer(next(iter(self.run.work.tasks.values()))))
        raise AssertionError(f"never comes to rest: {list(self.run.work.tasks)}")

    def is_taken_back(self) -> None:
        """Cancelled, with every task answered, nothing is left of what was done."""
        self.take(events.Cancelled(by="alice"))
        self.take_all(_done)
        assert self.run.status != "cancelled" or not self._left, self._left

    def is_carried(self) -> None:
        """Go on from what JSON has kept, as in a new workflow run."""
        kept = Run.model_validate_json(self.run.model_dump_json())
        assert kept == self.run
        definition = FlowDefinition.model_validate_json(self.definition.model_dump_json())
        assert definition == self.definition
        self.run, self.definition = kept, definition

    def replays(self) -> None:
        """The same events give the same run and say the same, wherever it was carried."""
        run, effects = self.first, []
        for event, now in self.past:
            run, said = step(self.definition, run, event, now)
            effects += said
        assert (run, effects) == (self.run, self.effects)

    def waits_for_something(self) -> None:
        """An answer, a task, an approval or a timer; or it has ended and owes nothing."""
        run = self.run
        if run.status in ENDED:
            assert not run.work.tasks, "an ended run owes something"
            assert not run.work.timers, "an ended run has timers"
            assert run.approvals.current is None, "an ended run waits for approval"
            return
        assert run.work.tasks or any(self._awaited()), f"{run.status} in {run.state}, for nothing"

    def has_a_clock_exactly_while_it_asks(self) -> None:
        """One of the two timers, with which silence ends."""
        asks = (
            self.run.status in ASKING
            and not self.run.work.tasks
            and self.definition.idle is not None
        )
        assert len(self.run.work.timers.keys() & set(waiting.NAMES)) == asks

    def _awaited(self) -> Iterator[object]:
        run = self.run
        asked = question.view(self.definition, run)
        yield run.status == "collecting" and asked.replies and asked.awaiting
        yield run.status == "confirming" and asked.replies
        yield (
            run.status == "waiting_approval"
            and run.approvals.current
            and run.approvals.current.waiting_for()
        )
        yield run.status == "waiting" and (
            run.work.timers.keys() & {"wait", "retry"} or run.recovery.held
        )
        yield run.status == "waiting" and run.recovery.owes == "operator"
        told = self.definition.states[run.state].awaits
        yield run.status == "waiting" and told is not None and told.event

    def passed_nothing_over(self) -> None:
        """What a `collect` on the way here needs is known, but for what the file has forgotten."""
        run, definition = self.run, whole(self.definition, self.run)
        if run.status in ENDED or run.work.departs:
            return
        passed = [v.state for v in run.recovery.trail if v.state != run.state]
        needed = {n for s in passed for n in definition.states[s].collects}
        needed = {n for n in needed if definition.slots[n].required}
        forgotten = {n for s in definition.states.values() for n in s.forgets}
        empty = needed - set(run.form.slots) - depending(definition, forgotten)
        offered = bool(run.form.offered_values)
        assert offered or not empty, f"went on to {run.state} without {sorted(empty)}"

    def _loses_nothing(self, before: Run, event: AnyEvent) -> None:
        definition, after = whole(self.definition, self.run), self.run
        if isinstance(event, events.Began | events.StartedOver):
            return
        may = depending(definition, set(_given_up(definition, before, after, event)))
        for name, value in before.form.slots.items():
            kept = after.form.slots.get(name)
            assert name in may or kept == value, f"{event!r} made {name} {kept!r}, not {value!r}"
        if isinstance(event, events.Skipped) and after.visit == before.visit:
            assert before.form.slots.keys() <= after.form.slots.keys()
        if isinstance(event, events.Puzzled):
            assert (after.form.slots, after.state) == (before.form.slots, before.state)
            assert after.question.no_matches == before.question.no_matches

    def _takes_back_once(self, before: Run, event: AnyEvent) -> None:
        task = before.work.tasks.get(getattr(event, "task", ""))
        kept = {done.key for done in self.run.recovery.done}
        if task is not None and task.kind == "undo" and task.undoes not in kept:
            self._left.remove(task.undoes)
        self._left |= kept - {done.key for done in before.recovery.done}

    def _owes_each_effect_once(self, before: Run, event: AnyEvent) -> None:
        if isinstance(event, events.CameBack) and event.task in before.work.tasks:
            done = before.work.tasks[event.task]
            sent_again = isinstance(event, events.Failed) and event.kind in WORTH_ANOTHER_TRY
            over = done.may_change_something and not (done.kind in ("call", "undo") and sent_again)
            self._settled |= {done.key} if over else set()
            again = isinstance(event, events.Failed) and event.task in self.run.work.tasks
            assert not again, f"asks at once for what failed for good: {event.task}"
        for id_, task in self.run.work.tasks.items():
            assert id_ == task.id
            if task.may_change_something:
                assert task.key not in self._settled, f"{task.key} is made a second time"
                begun = task.model_copy(update={"stopping": False})
                assert self._tasks.setdefault(task.key, begun) == begun, task.key

    def _is_shown(self) -> None:
        question.view(self.definition, self.run)
        too_many = f"more than {MOST_MOVES} moves without waiting"
        assert all(happened.comment != too_many for happened in self.run.history[-2:]), too_many


def _done(task: Task) -> AnyEvent:
    if task.kind == "flow":
        return events.Finished(task=task.id, status="cancelled")
    return events.Called(task=task.id, value=None)


def whole(definition: FlowDefinition, run: Run) -> FlowDefinition:
    """The definition with what tools have asked back."""
    return extended(definition, run)


def _settles(before: Run, event: AnyEvent) -> bool:
    if isinstance(event, events.CameBack):
        return event.task in before.work.tasks
    if isinstance(event, events.Fired):
        return any(timer.id == event.timer for timer in before.work.timers.values())
    if isinstance(event, events.Arrived):
        return event.word not in before.work.event_keys
    return isinstance(event, events.Decided) and event.verdict in ("reject", "return", "delegate")


def _given_up(
    definition: FlowDefinition, before: Run, after: Run, event: AnyEvent
) -> Iterator[str]:
    offered = dict(before.form.offered_values) | (
        before.approvals.amendment.slots if before.approvals.amendment else {}
    )
    if isinstance(event, events.Answered | events.Confirmed | events.Amended):
        offered |= event.slots
    yield from (path.split(".")[0] for path in offered)
    yield str(offered.get(CHANGE)).split(".")[0]
    # What a tool asked back is a state until the run starts over.
    entered = (
        h.state for h in after.history[len(before.history) :] if h.state in definition.states
    )
    yield from (name for state in entered for name in definition.states[state].forgets)
    if isinstance(event, events.Skipped) and before.question.path:
        yield before.question.path.split(".")[0]
    if isinstance(event, events.Failed) and event.task in before.work.tasks:
        slot = before.work.tasks[event.task].slot
        yield slot
        yield from sources(definition.slots[slot]) if slot else ()


def sources(slot: Slot) -> frozenset[str]:
    """The slots that the slot's lookup reads."""
    return slots_read(slot.lookup) if slot.lookup else frozenset()


def depending(definition: FlowDefinition, names: set[str]) -> set[str]:
    """These slots with all that is looked up from them, checked by them, or only served them."""
    found = names & set(definition.slots)
    while more := set(_next_to(definition, found)) - found:
        found |= more
    return found


def _next_to(definition: FlowDefinition, names: set[str]) -> Iterator[str]:
    slots = definition.slots
    for name, slot in slots.items():
        checked = (slots_read(check.that) for check in slot.check)
        if sources(slot) & names or any(read & names for read in checked):
            yield name
        if name in names:
            means = (source for source in sources(slot) if source in slots)
            yield from (s for s in means if slots[s].ask is None and slots[s].lookup is None)


def _lasting(run: Run) -> dict[str, Any]:
    without = run.draft()
    without.work.drop_timers(*waiting.NAMES)
    # They belong to its last event.
    without.events, without.question.quiet = 0, False
    return dict(without)
