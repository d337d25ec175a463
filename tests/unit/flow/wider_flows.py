"""Flows that deal with the world around them: events, lists, other flows, branches."""

from typing import Any

from router.flow.definition import FlowDefinition
from tests.unit.flow.definitions import flow_of, text

ITEMS: dict[str, Any] = {
    "items": {
        "type": "list",
        "label": text("Items"),
        "ask": text("What?"),
        "more": text("Another?"),
        "of": {"type": "text", "ask": text("Which?")},
    }
}


BAD = {"say": text("Bad."), "end": "rejected"}


def wider(name: str, states: dict[str, Any], slots: dict[str, Any] | None = None) -> FlowDefinition:
    ends = {"good": {"say": text("Good."), "end": "completed"}}
    ends |= {"bad": BAD} if "'bad'" in repr(states) else {}
    return flow_of(name, {**states, **ends}, slots)


DELIVERY = wider(
    "delivery",
    {
        "order": {"call": "order", "undo": "call_back", "next": "arrival"},
        "arrival": {
            "wait": {
                "event": "arrived",
                "roles": ["warehouse"],
                "for": "P7D",
                "fields": {
                    "boxes": {"type": "integer"},
                    "note": {"type": "text", "required": False, "max_length": 20},
                },
            },
            "next": [{"if": "results.arrived.boxes > 0", "to": "good"}, {"to": "bad"}],
            "late": "bad",
        },
    },
)

BOOKINGS = wider(
    "bookings",
    {
        "details": {"collect": ["items"], "next": "book"},
        "book": {
            "call": "book",
            "each": "slots.items",
            "with": {"what": "item"},
            "at_once": 2,
            "save": "booked",
            "undo": "unbook",
            "next": "review",
            "on_error": "bad",
        },
        "review": {"confirm": text("Fine?"), "confirmed": "good", "declined": "bad"},
    },
    ITEMS,
)

TRIP = wider(
    "trip",
    {
        "reserve": {"call": "reserve", "undo": "release", "next": "hotel"},
        "hotel": {
            "flow": "hotel",
            "with": {"city": "'Berlin'"},
            "save": "hotel",
            "completed": "review",
            "otherwise": "bad",
        },
        "review": {"confirm": text("Fine?"), "confirmed": "good", "declined": "bad"},
    },
)

SIGN_OFF = wider(
    "sign_off",
    {
        "begin": {"call": "reserve", "undo": "release", "next": "both"},
        "both": {
            "parallel": ["finance", "equipment"],
            "join": "review",
            "save": "said",
            "otherwise": "bad",
        },
        "finance": {
            "approve": {"by": "role('finance')", "title": text("Money?")},
            "approved": "pay",
            "rejected": "refused",
        },
        "pay": {"call": "pay", "undo": "pay_back", "save": "paid", "next": "review"},
        "equipment": {
            "approve": {"by": "role('it')", "title": text("A laptop?")},
            "approved": "review",
            "rejected": "refused",
        },
        "refused": {"say": text("Refused."), "end": "rejected"},
        "review": {"confirm": text("Fine?"), "confirmed": "good", "declined": "bad"},
    },
)

PAYMENT = wider(
    "payment",
    {
        "reserve": {"call": "reserve", "undo": "release", "next": "pay"},
        "pay": {
            "call": "pay",
            "retry": {"attempts": 3, "every": "PT1H"},
            "hold": True,
            "undo": "pay_back",
            "next": "good",
        },
    },
)

WIDER = [DELIVERY, BOOKINGS, TRIP, SIGN_OFF, PAYMENT]
