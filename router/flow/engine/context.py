"""One step through a flow under way: the run being changed, and what it wants done.

`machine.step` makes it around a draft of the run and throws it away at its end, so that the step
is a pure function although the run and its containers are changed in place.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.locale import LOCALES, Locale, Localised
from router.domain.messages import ENDED, FlowStatus
from router.domain.run_history import HistoryEntry
from router.flow.definition import FlowDefinition, State
from router.flow.engine.events import Effect, Say
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import Visit
from router.flow.engine.run_parts.work import Ending, Leaving, Task, Timer, TimerName
from router.flow.language import expressions, templates
from router.flow.language.budgets import StepBudget, turn_budget
from router.flow.language.expressions import LookupNeeded


@dataclass
class StepContext:
    """A run in the middle of a step. `now` is aware."""

    definition: FlowDefinition
    run: Run
    now: datetime
    effects: list[Effect] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Paths that were to be put right in this step, and what was said of them doesn't fit."""
    budget: StepBudget = field(default_factory=turn_budget)
    """The steps that expressions and texts may still take."""

    @property
    def state(self) -> State:
        """The state that the run stands in."""
        return self.definition.states[self.run.state]

    @property
    def ended(self) -> bool:
        """True where nothing can happen any more."""
        return self.run.status in ENDED

    def scope(self, **more: JsonValue) -> dict[str, JsonValue]:
        """What expressions and texts may read; `now` in the requester's time zone."""
        local = self.now.astimezone(ZoneInfo(self.run.requester.timezone))
        return {
            "slots": self.run.form.slots,
            "results": self.run.work.results,
            "requester": expressions.person(self.run.requester),
            "now": local.isoformat(),
            **more,
        }

    def evaluate(self, source: str, **more: JsonValue) -> JsonValue:
        """An expression's value; raises `LookupNeeded` where the world must be asked first."""
        answers = self.run.work.lookup_answers
        return expressions.evaluate(source, self.scope(**more), answers, self.budget)

    def arguments(self, **more: JsonValue) -> dict[str, JsonValue]:
        """What the state gives to what it calls or starts: all that has a value."""
        written = self.state.gives.items()
        given = {name: self.evaluate(source, **more) for name, source in written}
        return {name: value for name, value in given.items() if value is not None}

    def look_up(self, name: str, *arguments: JsonValue) -> JsonValue:
        """What a lookup answers; raises `LookupNeeded` where the world must be asked first."""
        need = LookupNeeded(name, list(arguments))
        answers = self.run.work.lookup_answers
        if need.key not in answers:
            raise need
        return answers[need.key]

    def render(self, text: Localised) -> str:
        """A text of the file, filled in, in the requester's language."""
        return rendered(self.definition, self.run, text, self.run.locale, within=self.budget)

    def say(self, text: Localised) -> None:
        """Tell the requester a plain text, as it is."""
        self.effects.append(Say(text=text.within(self.run.locale)))

    def note(self, event: str, by: str | None = None, comment: str | None = None) -> None:
        """Add a line to the run's history."""
        line = HistoryEntry(at=self.now, state=self.run.state, event=event, by=by, comment=comment)
        self.run.history = self.run.history.followed_by(line)

    def leave(self, exit_: str, by: str | None = None, *, clears: bool = False) -> None:
        """Take this exit next; with `clears` once what was called at this visit is taken back."""
        run = self.run
        run.work.pending = Leaving(exit=exit_, by=by, clears=run.visit if clears else None)
        run.recovery.held = None

    def enter(self, target: str, event: str, by: str | None = None) -> None:
        """Stand in another state, or in this one anew. Anything before it in the trail is kept."""
        run = self.run
        comment = self._why() if event in ("returned", "rejected") else None
        run.state, run.visit = target, run.visit + 1
        run.approvals.close()
        run.question.clear()
        run.work.begin_visit()
        run.recovery.begin_visit(Visit(state=target, visit=run.visit))
        self.note(event, by, comment)

    def _why(self) -> str | None:
        """What the last approver who was against it said; what was taken back since isn't that."""
        against = (h for h in reversed(self.run.history) if h.event in ("return", "reject"))
        return next((happened.comment for happened in against), None)

    def end(self, status: FlowStatus) -> None:
        """End the run here and now."""
        run = self.run
        run.status = status
        run.approvals.close()
        run.work.end()
        run.question.path, run.form.offered_values, run.recovery.held = None, {}, None
        if not self._is_noted(status):
            self.note(status)

    def _is_noted(self, status: FlowStatus) -> bool:
        """True where the end was noted with its reason, before what was done was taken back."""
        here = takewhile(lambda line: line.state == self.run.state, reversed(self.run.history))
        return any(line.event == status for line in here)

    def give_up(self, say: Localised, reason: str) -> None:
        """End as failed, once what was done is taken back; `reason` is for the history."""
        self.note("failed", comment=reason)
        self.say(say)
        run = self.run
        run.approvals.close()
        run.work.pending, run.work.timers = Ending(status="failed"), {}

    def ask_world(self, need: LookupNeeded, slot: str = "") -> None:
        """Owe a lookup; the step goes on from here when its answer comes in."""
        run = self.run
        id_ = f"{run.state}:{run.visit}:{need.key}"
        run.work.tasks[id_] = Task(
            id=id_,
            kind="lookup",
            name=need.name,
            positional=need.arguments,
            key=need.key,
            slot=slot,
        )

    def set_timer(self, name: TimerName, due: datetime) -> None:
        """Have this timer, in place of one of the same name."""
        self.run.work.timers[name] = Timer(name=name, visit=self.run.visit, due=due)


def rendered(
    definition: FlowDefinition,
    run: Run,
    text: Localised,
    locale: Locale,
    within: StepBudget | None = None,
    **more: JsonValue,
) -> str:
    """A text of the file, filled in with what the run knows, and `more` by name."""
    requester = expressions.person(run.requester)
    words = text.within(locale)
    only = templates.shown_in(words)
    form, results = run.form, run.work.results
    scope = templates.text_scope(
        definition.slots, form.slots, results, requester, locale, form.file_names, only=only
    )
    return templates.render(words, scope | more, within)


def in_both_languages(
    definition: FlowDefinition,
    run: Run,
    text: Localised,
    within: StepBudget | None = None,
    **more: JsonValue,
) -> Localised:
    """A text of the file, filled in."""
    zh, en = (rendered(definition, run, text, locale, within, **more) for locale in LOCALES)
    return Localised(zh=zh, en=en)


def canonical(value: Mapping[str, JsonValue]) -> str:
    """JSON in one way only: equal values give equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
