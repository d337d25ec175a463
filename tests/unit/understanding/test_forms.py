from datetime import datetime
from typing import Any

import pytest

from router.flow.slot_types.slot import Slot, form_values
from tests.unit.understanding.flows import EXPENSE, LEAVE

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
FILE = "a2b3c4d5e6f7g2h3i4j5k6m7"
SLOTS = {**LEAVE.slots, **EXPENSE.slots}


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("start", "2026-12-01", "2026-12-01"),
        ("start", "下周一", "2026-11-23"),
        ("start", "soon", "soon"),
        ("leave_type", "annual", "annual"),
        ("leave_type", "年假", "annual"),
        ("leave_type", "bogus", "bogus"),
        ("duration", 2, {"days": 2}),
        ("duration", "三天半", {"days": 3.5}),
        ("duration", {"days": 1}, {"days": 1}),
        ("reason", " 搬家 ", "搬家"),
        ("items.0.amount", "12000", {"amount": "12000.00", "currency": "CNY"}),
        ("items.0.amount", 12.5, {"amount": "12.50", "currency": "CNY"}),
        (
            "items.0.amount",
            {"amount": 58, "currency": "usd"},
            {"amount": "58.00", "currency": "USD"},
        ),
        ("items.0.amount", {"amount": "58"}, {"amount": "58.00", "currency": "CNY"}),
        ("items.0.amount", {"amount": "lots"}, {"amount": "lots"}),
        ("items.0.amount", True, True),
        ("items.0.date", "2026-11-17", "2026-11-17"),
        ("unknown", "x", "x"),
    ],
)
def test_a_field_is_brought_into_its_slots_shape(name: str, given: Any, value: Any) -> None:
    assert form_values(SLOTS, {name: given}, NOW) == {name: value}


def test_a_list_of_objects_is_shaped_field_by_field() -> None:
    given: Any = {"items": [{"category": "交通", "amount": "36", "date": "昨天", "invoice": "A1"}]}
    assert form_values(SLOTS, given, NOW) == {
        "items": [
            {
                "category": "transport",
                "amount": {"amount": "36.00", "currency": "CNY"},
                "date": "2026-11-17",
                "invoice": "A1",
            }
        ]
    }


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (f" {FILE} ", FILE),
        ({"id": FILE, "name": "a.pdf", "type": "application/pdf", "size": 1}, FILE),
        ({"name": "a.pdf"}, {"name": "a.pdf"}),
        ({"id": 7}, 7),
        ("a.pdf", "a.pdf"),
        (7, 7),
    ],
)
def test_a_file_is_its_id_or_what_its_upload_was_answered(given: Any, value: Any) -> None:
    slots = {"receipt": Slot(type="file")}
    assert form_values(slots, {"receipt": given}, NOW) == {"receipt": value}
