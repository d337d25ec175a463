"""A small company that answers what a run of a sample flow asks."""

from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from tests.unit.flow.definitions import Driver

NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
MANAGERS = {"alice": "bob", "bob": "carol", "dave": "carol", "erin": "carol", "frank": "bob"}
ROLES: dict[str, list[JsonValue]] = {"hr": ["dave"], "finance": ["erin"], "director": ["carol"]}


@cache
def sample(name: str) -> FlowDefinition:
    """A flow that ships."""
    return load_flow(Path(__file__).parents[3] / "flows" / f"{name}.yaml")


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


class World(Driver):
    """One run of a sample flow, walked by its requester."""

    def __init__(
        self,
        flow: FlowDefinition,
        user: str = "alice",
        balance: float | None = 5.0,
        claimed: str = "",
        failing: str = "",
    ) -> None:
        person = Principal(id=user, name=user.title(), manager=MANAGERS.get(user))
        super().__init__(flow, person, "zh")
        self.now = NOW
        self.world.failing = dict.fromkeys([failing] if failing else [], "no")
        self.world.results = {
            "get_leave_balance": {"leave_type": "annual", "days": balance},
            "value_equipment": {"total": {"amount": "12000.00", "currency": "CNY"}},
            "submit_claim": {"claim": "C1", "total": {"amount": "1.00", "currency": "CNY"}},
        }
        self.world.lookups |= {
            "manager": lambda p: MANAGERS.get(p["id"] if isinstance(p, dict) else p),
            "names": lambda people: people,
            "stand_ins": lambda people, *_: people,
            "role": lambda role: ROLES.get(role, []),
            "workdays": workdays,
            "last_workday": last_workday,
            "claimed": lambda invoice: invoice == claimed,
            "file_name": lambda *_: "scan.pdf",
            "document_of": lambda *_: None,
            "used_before": lambda _: "",
            "is_company": lambda _: True,
        }

    def answer(self, slots: dict[str, Any] | None = None, /, **more: Any) -> "World":
        """Answers by path, a dot in it written as two underscores."""
        return super().answer(slots, **{k.replace("__", "."): v for k, v in more.items()})

    def arguments(self, tool: str) -> dict[str, Any]:
        """What a tool was called with last."""
        return [given for name, given, _ in self.world.calls if name == tool][-1]
