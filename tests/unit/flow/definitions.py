"""Flows for the machine's tests, and a driver that answers the machine's tasks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from pydantic import JsonValue

from router.domain.locale import Locale
from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.engine.events import (
    Answered,
    AnyEvent,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Effect,
    Failed,
    Fired,
    LookedUp,
    Reassigned,
    Remind,
    Retried,
    Say,
)
from router.flow.engine.machine import refusal_of, step
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Approval, Assignee

ALICE = Principal(id="alice", name="Alice", manager="bob", locale="en")
NOW = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)


def text(words: str) -> dict[str, str]:
    return {"zh": words, "en": words}


def money(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


LEAVE: dict[str, Any] = {
    "flow": "leave",
    "title": text("Leave"),
    "description": text("Ask for leave"),
    "start": "details",
    "slots": {
        "kind": {
            "type": "choice",
            "label": text("Kind"),
            "ask": text("What kind?"),
            "choices": {
                "annual": {"label": text("annual leave")},
                "sick": {"label": text("sick leave")},
            },
        },
        "start": {"type": "date", "label": text("From"), "ask": text("From when?")},
        "end": {
            "type": "date",
            "label": text("To"),
            "ask": text("Until when?"),
            "check": [{"that": "slots.end >= slots.start", "say": text("The end is too early.")}],
            "lookup": "last_workday(slots.start, slots.duration)",
        },
        "duration": {"type": "duration", "required": False},
        "days": {
            "type": "number",
            "label": text("Days"),
            "lookup": "workdays(slots.start, slots.end, '', '')",
        },
        "reason": {"type": "text", "label": text("Reason"), "ask": text("Why?")},
    },
    "states": {
        "details": {"collect": ["kind", "start", "end", "reason"], "next": "balance"},
        "balance": {
            "call": "get_balance",
            "with": {"kind": "slots.kind"},
            "save": "balance",
            "next": [
                {"if": "results.balance.days >= slots.days", "to": "review"},
                {"to": "too_few"},
            ],
        },
        "too_few": {
            "say": text("Only {{ results.balance.days }} left."),
            "forget": ["start", "end", "duration"],
            "next": "details",
        },
        "review": {"confirm": text("File it?"), "confirmed": "reserve", "declined": "details"},
        "reserve": {
            "call": "reserve",
            "with": {"days": "slots.days"},
            "undo": "release",
            "next": "manager",
        },
        "manager": {
            "approve": {
                "by": "manager(requester)",
                "title": text("Leave of {{ requester.name }}"),
                "otherwise": "role('hr')",
                "remind_every": "PT24H",
                "escalate_after": "PT72H",
                "escalate_to": "manager(approver)",
                "expire_after": "P14D",
            },
            "approved": [{"if": "slots.days > 3.0", "to": "director"}, {"to": "record"}],
            "rejected": "tell_no",
            "returned": "details",
            "expired": "tell_late",
        },
        "director": {
            "approve": {"by": "manager(manager(requester))", "title": text("Long leave")},
            "approved": "record",
            "rejected": "tell_no",
        },
        "record": {
            "call": "record",
            "with": {"start": "slots.start", "end": "slots.end"},
            "next": "tell_yes",
            "on_error": "tell_failed",
        },
        "tell_yes": {"say": text("Recorded."), "end": "completed"},
        "tell_no": {"say": text("Rejected."), "end": "rejected"},
        "tell_late": {"say": text("Too late."), "end": "expired"},
        "tell_failed": {"say": text("Failed: {{ results.error.message }}"), "end": "failed"},
    },
}

CLAIM: dict[str, Any] = {
    "flow": "claim",
    "title": text("Claim"),
    "description": text("Claim expenses"),
    "start": "details",
    "slots": {
        "items": {
            "type": "list",
            "label": text("Items"),
            "more": text("Another?"),
            "of": {
                "type": "object",
                "fields": {
                    "amount": {"type": "money", "ask": text("How much?"), "label": text("amount")},
                    "invoice": {
                        "type": "text",
                        "ask": text("Invoice?"),
                        "label": text("invoice"),
                        "check": [
                            {"that": "!claimed(item.invoice)", "say": text("Claimed before.")}
                        ],
                    },
                },
            },
        },
        "reason": {"type": "text", "label": text("Reason"), "ask": text("Why?")},
    },
    "states": {
        "details": {"collect": ["items", "reason"], "next": "done"},
        "done": {"end": "completed"},
    },
}

MANAGERS = {"alice": "bob", "bob": "carol", "carol": None}


def flow(source: dict[str, Any], **changes: Any) -> FlowDefinition:
    return FlowDefinition.model_validate({**source, **changes})


def flow_of(name: str, states: dict[str, Any], slots: Any = None, **more: Any) -> FlowDefinition:
    """A flow that begins in its first state."""
    about = {"flow": name, "title": text(name.title()), "description": text(f"For {name}")}
    return flow(about, start=next(iter(states)), slots=slots or {}, states=states, **more)


def altered(definition: FlowDefinition, **states: dict[str, Any]) -> FlowDefinition:
    """The flow with these keys of its states changed."""
    new = {name: definition.states[name].model_copy(update=more) for name, more in states.items()}
    return definition.model_copy(update={"states": {**definition.states, **new}})


class World:
    """Answers lookups and calls at once, as the tests want them answered."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, JsonValue], str]] = []
        self.balance = 10.0
        self.failing: dict[str, str] = {}
        self.missing: set[str] = set()
        """Tools and lookups that aren't deployed."""
        self.refusing: dict[str, Failed] = {}
        self.checks: list[tuple[str, dict[str, JsonValue]]] = []
        self.claimed: set[str] = set()
        self.away: dict[str, str] = {}
        """Who stands in for whom."""
        self.left: set[str] = set()
        """Who isn't in the directory any more."""
        self.spans: list[tuple[str, str, JsonValue]] = []
        self.lookups: dict[str, Callable[..., JsonValue]] = {
            "manager": lambda p: MANAGERS.get(p["id"] if isinstance(p, dict) else p),
            "names": lambda people: [str(person).capitalize() for person in people],
            "role": lambda _: ["dave"],
            "stand_ins": self._stand_ins,
            "working_time": self._working_time,
            "workdays": lambda start, end, *_: float(int(end[-2:]) - int(start[-2:]) + 1),
            "last_workday": lambda start, d: f"{start[:-2]}{int(start[-2:]) + d['days'] - 1:02d}",
            "claimed": lambda invoice: invoice in self.claimed,
        }
        self.results: dict[str, JsonValue] = {}

    def _stand_ins(self, people: list[str], *_: JsonValue) -> list[JsonValue]:
        return [None if one in self.left else self.away.get(one, one) for one in people]

    def _working_time(self, who: str, start: str, duration: dict[str, float]) -> str:
        """Ten times as long as on the clock."""
        self.spans.append((who, start, dict(duration)))
        return (datetime.fromisoformat(start) + 10 * timedelta(**duration)).isoformat()

    def answer(self, run: Run) -> AnyEvent:
        task = next(iter(run.work.tasks.values()))
        if task.name in self.missing:
            return Failed(task=task.id, error=f"no {task.name} here", kind="missing")
        if task.kind == "check":
            self.checks.append((task.name, task.arguments))
            refused = self.refusing.get(task.name, Called(task="", value=None))
            return refused.model_copy(update={"task": task.id})
        if task.name in self.failing:
            return Failed(task=task.id, error=self.failing[task.name])
        if task.kind == "lookup":
            return LookedUp(task=task.id, value=self.lookups[task.name](*task.positional))
        self.calls.append((task.name, task.arguments, task.key))
        results = {"get_balance": {"days": self.balance}, **self.results}
        return Called(task=task.id, value=results.get(task.name, {"id": "r1"}))


class Driver:
    """Feeds events to the machine, answers tasks, and remembers what was said."""

    def __init__(
        self, definition: FlowDefinition, requester: Principal = ALICE, locale: Locale = "en"
    ) -> None:
        self.definition = definition
        self.world = World()
        self.now = NOW
        self.run = Run(id="r1", requester=requester, locale=locale)
        self.effects: list[Effect] = []

    def begin(self, **slots: Any) -> Self:
        return self.take(Began(by=self.run.requester.id, slots=slots))

    def take(self, event: AnyEvent, *, answer: bool = True) -> Self:
        self.run, effects = step(self.definition, self.run, event, self.now)
        self.effects += effects
        while answer and self.run.work.tasks:
            self.run, effects = step(
                self.definition, self.run, self.world.answer(self.run), self.now
            )
            self.effects += effects
        return self

    def answer(self, slots: dict[str, Any] | None = None, /, **more: Any) -> Self:
        return self.take(Answered(by=self.run.requester.id, slots={**(slots or {}), **more}))

    def confirm(self, value: bool = True, **slots: Any) -> Self:
        return self.take(Confirmed(by=self.run.requester.id, value=value, slots=slots))

    def cancel(self) -> Self:
        return self.take(Cancelled(by=self.run.requester.id))

    def decide(self, person: str, verdict: str = "approve", **more: Any) -> Self:
        """Have somebody decide who may."""
        decision = self.decision(person, verdict, **more)
        assert self.refusal(decision) is None
        return self.take(decision)

    def decision(self, person: str, verdict: str = "approve", **more: Any) -> Decided:
        said = {"by": person, "approval": self.assignee(person).id, "verdict": verdict}
        return Decided.model_validate({**said, "digest": self.approval.digest, **more})

    def refusal(self, event: Decided | Reassigned | Retried) -> Exception | None:
        return refusal_of(self.definition, self.run, event, self.now)

    def after(self, time: timedelta) -> Self:
        self.now += time
        return self

    def fire(self, name: str, *, answer: bool = True) -> Self:
        """Let the time come that a timer waits for."""
        timer = self.run.work.timers[name]
        self.now = timer.due
        return self.take(Fired(timer=timer.id), answer=answer)

    def hear(self, event: AnyEvent) -> list[str]:
        """What is said to an event, beside the question."""
        before = len(self.said)
        return self.take(event).said[before:]

    @property
    def said(self) -> list[str]:
        return [effect.text for effect in self.effects if isinstance(effect, Say)]

    @property
    def called(self) -> list[str]:
        """The tools that were called, in order."""
        return [name for name, *_ in self.world.calls]

    @property
    def history(self) -> list[tuple[str, str | None, str | None]]:
        """What happened, by whom, and what stands beside it."""
        return [(line.event, line.by, line.comment) for line in self.run.history]

    @property
    def approval(self) -> Approval:
        assert self.run.approvals.current is not None, self.history
        return self.run.approvals.current

    @property
    def awaited(self) -> list[str]:
        """Whose decision is waited for."""
        approval = self.run.approvals.current
        return [one.person for one in approval.waiting_for()] if approval else []

    def assignee(self, person: str) -> Assignee:
        return [one for one in self.approval.assignees if one.person == person][-1]

    def told(self, reason: str) -> list[list[str]]:
        """Who was told for a reason, each time."""
        return [e.people for e in self.effects if isinstance(e, Remind) and e.reason == reason]
