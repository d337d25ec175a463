"""A small world that answers what a run asks, so that whole flows can be walked in one test."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.engine.events import (
    Answered,
    AnyEvent,
    Began,
    Called,
    Confirmed,
    Decided,
    Failed,
    LookedUp,
    Say,
)
from router.flow.engine.machine import step
from router.flow.engine.run import Run, Task, Verdict

NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
MANAGERS = {"alice": "bob", "bob": "carol", "dave": "carol", "erin": "carol", "frank": "bob"}
ROLES = {"hr": ["dave"], "finance": ["erin"], "director": ["carol"]}


def workdays(start: str, end: str, start_half: str, end_half: str) -> float:
    """Mondays to Fridays, which is enough of a calendar for flows."""
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    counted = float(sum(day.weekday() < 5 for day in days))
    halves = (start_half == "pm" and first.weekday() < 5) + (
        end_half == "am" and last.weekday() < 5
    )
    return counted - 0.5 * halves


def last_workday(start: str, duration: dict[str, float]) -> str:
    """The day on which so many working days from `start` are used up."""
    day, left = date.fromisoformat(start), duration["days"]
    while (left := left - (day.weekday() < 5)) > 0:
        day += timedelta(days=1)
    return day.isoformat()


@dataclass
class World:
    """One run of a flow, its requester, and everything that was said and called."""

    flow: FlowDefinition
    user: str = "alice"
    balance: float | None = 5.0
    claimed: frozenset[str] = frozenset()
    failing: frozenset[str] = frozenset()
    said: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        manager = MANAGERS.get(self.user)
        person = Principal(id=self.user, name=self.user.title(), manager=manager)
        self.run = Run(id="r1", requester=person)

    def begin(self, **slots: Any) -> "World":
        return self.take(Began(slots=slots))

    def answer(self, **slots: Any) -> "World":
        return self.take(Answered(slots={k.replace("__", "."): v for k, v in slots.items()}))

    def confirm(self, value: bool = True) -> "World":
        return self.take(Confirmed(value=value))

    def decide(self, person: str, verdict: Verdict = "approve", comment: str = "") -> "World":
        approval = self.run.approval
        assert approval is not None, self.run.state
        mine = next(a for a in approval.waiting_for() if a.person == person)
        return self.take(
            Decided(approval=mine.id, verdict=verdict, comment=comment or None, by=person)
        )

    @property
    def asked_to_decide(self) -> list[str]:
        return [a.person for a in self.run.approval.waiting_for()] if self.run.approval else []

    def take(self, event: AnyEvent) -> "World":
        self.run, effects = step(self.flow, self.run, event, NOW)
        self.said += [effect.text for effect in effects if isinstance(effect, Say)]
        if self.run.tasks:
            self.take(self._done(next(iter(self.run.tasks.values()))))
        return self

    def _done(self, task: Task) -> AnyEvent:
        if task.kind == "lookup":
            value = self._lookups[task.name](*task.positional)
            return LookedUp(task=task.id, value=value)
        self.calls.append(task.name)
        self.arguments[task.name] = task.arguments
        if task.name in self.failing:
            return Failed(task=task.id, error="no")
        return Called(task=task.id, value=self._results.get(task.name, {}))

    @property
    def _results(self) -> dict[str, Any]:
        return {
            "get_leave_balance": {"leave_type": "annual", "days": self.balance},
            "value_equipment": {"total": {"amount": "12000.00", "currency": "CNY"}},
            "submit_claim": {"claim": "C1", "total": {"amount": "1.00", "currency": "CNY"}},
        }

    @property
    def _lookups(self) -> dict[str, Callable[..., Any]]:
        return {
            "manager": self._manager,
            "names": lambda people: people,
            "stand_ins": lambda people, *_: people,
            "role": lambda role: ROLES.get(role, []),
            "workdays": workdays,
            "last_workday": last_workday,
            "claimed": lambda invoice: invoice in self.claimed,
            "file_name": lambda *_: "scan.pdf",
        }

    def _manager(self, person: Any) -> str | None:
        return MANAGERS.get(person["id"] if isinstance(person, dict) else person)
