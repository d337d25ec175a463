"""Requests of several kinds and days, as they are kept."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import company.tools.leave  # noqa: F401 - what its fields are called in Chinese
from router.domain.locale import Localised
from router.domain.records import RunRecord
from tests.integration.store.test_store import run

NOW = datetime(2026, 11, 25, 10, 0, tzinfo=ZoneInfo("Asia/Shanghai"))
"""A Wednesday."""
CNY = {"amount": "58.00", "currency": "CNY"}
TITLES = {
    "leave_request": Localised(zh="请假申请", en="Leave request"),
    "reimbursement": Localised(zh="费用报销", en="Expense claim"),
    "business_trip": Localised(zh="出差申请", en="Business trip"),
}


def asked(id_: str, flow: str, days_ago: int = 0, **slots: Any) -> RunRecord:
    made = NOW.astimezone(UTC) - timedelta(days=days_ago)
    about: dict[str, Any] = {"title": TITLES[flow], "workflow_id": f"{flow}/default/{id_}"}
    status = slots.pop("status", "waiting_approval")
    return run(id_, flow=flow, slots=slots, status=status, created_at=made, **about)


MONDAY = asked("mon", "leave_request", leave_type="annual", start="2026-11-30", end="2026-11-30")
PAST = asked("past", "leave_request", 9, leave_type="sick", start="2026-11-19", end="2026-11-20")
TRIP = asked(
    "trip",
    "business_trip",
    1,
    destination="上海",
    start="2026-12-14",
    end="2026-12-16",
    estimate={"amount": "8000.00", "currency": "CNY"},
)
OTHER = asked("trip2", "business_trip", start="2026-12-21", end="2026-12-22", destination="北京")
CLAIM = asked("claim", "reimbursement", 2, items=[{"amount": CNY}, {"amount": CNY}])
ALL = (MONDAY, PAST, TRIP, OTHER, CLAIM)
