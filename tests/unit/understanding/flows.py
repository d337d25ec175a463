"""The flows that the project ships, and a third that is in their way."""

from pathlib import Path
from typing import Any

from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow

SHIPPED = Path(__file__).parents[3] / "flows"
LEAVE = load_flow(SHIPPED / "leave_request.yaml")
EXPENSE = load_flow(SHIPPED / "reimbursement.yaml")
TRIP = load_flow(SHIPPED / "business_trip.yaml")
KIT = load_flow(SHIPPED / "equipment_request.yaml")


def flow(name: str, triggers: dict[str, Any] | None = None, **keys: Any) -> FlowDefinition:
    """One that ends at once, where its keys don't say otherwise."""
    words = {"zh": name, "en": name}
    plain = {"title": words, "description": words, "states": {"done": {"end": "completed"}}}
    given = {"flow": name, "start": "done", "triggers": triggers or {}}
    return FlowDefinition.model_validate({**given, **plain, **keys})


OVERTIME = flow(
    "overtime",
    {"patterns": ["加班", "overtime"], "roles": ["manager"]},
    title={"zh": "加班申请", "en": "Overtime"},
)
FLOWS = (LEAVE, EXPENSE, OVERTIME)
EMPLOYEE = frozenset({"employee"})
