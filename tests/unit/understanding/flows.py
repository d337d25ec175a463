"""The flows that the project ships, and a third that is in their way."""

from pathlib import Path

from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow

SHIPPED = Path(__file__).parents[3] / "flows"
LEAVE = load_flow(SHIPPED / "leave_request.yaml")
EXPENSE = load_flow(SHIPPED / "reimbursement.yaml")
TRIP = load_flow(SHIPPED / "business_trip.yaml")
KIT = load_flow(SHIPPED / "equipment_request.yaml")
OVERTIME = FlowDefinition.model_validate(
    {
        "flow": "overtime",
        "title": {"zh": "加班申请", "en": "Overtime"},
        "description": {"zh": "申请加班", "en": "Ask for overtime"},
        "triggers": {"patterns": ["加班", "overtime"], "roles": ["manager"]},
        "start": "done",
        "states": {"done": {"end": "completed"}},
    }
)

FLOWS = (LEAVE, EXPENSE, OVERTIME)
EMPLOYEE = frozenset({"employee"})
