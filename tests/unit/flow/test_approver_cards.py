"""What an approver reads: every fact they decide by, in their own language."""

from typing import Any

from router.domain.locale import Locale
from router.flow.definition import FlowDefinition
from router.flow.engine.run_parts.approvals import Approval
from tests.table import each_row
from tests.unit.flow.world import World, sample

SLOTS: dict[str, dict[str, Any]] = {
    "business_trip": {
        "destination": "Oslo",
        "start": "2026-11-30",
        "end": "2026-12-02",
        "transport": "plane",
        "estimate": {"amount": "4000.00", "currency": "CNY"},
        "reason": "talks",
        "companions": "Li",
    },
    "equipment_request": {
        "items": [{"kind": "laptop", "quantity": 2.0}, {"kind": "headset", "quantity": 3.0}],
        "reason": "new team",
        "deliver_by": "2026-12-01",
    },
    "leave_request": {
        "leave_type": "sick",
        "start": "2026-11-23",
        "end": "2026-11-25",
        "reason": "flu",
        "sick_note": "a" * 24,
    },
    "reimbursement": {
        "items": [
            {
                "category": "meal",
                "amount": {"amount": "58.00", "currency": "CNY"},
                "date": "2026-11-17",
                "invoice": "A1",
                "receipt": "b" * 24,
            }
        ],
        "reason": "a guest",
    },
}


def card(flow: str, locale: Locale) -> str:
    """Title and summary of the approval that is asked of alice's manager."""
    slots = SLOTS[flow]
    world = World(sample(flow)).begin(**slots)
    if world.run.status == "collecting":
        world.answer(**slots)
    approval = world.confirm().approval
    lines = [
        f"{approval.labels[name].within(locale)}: {value.within(locale)}"
        for name, value in approval.summary.items()
    ]
    return "\n".join([approval.title.within(locale), *lines])


@each_row(
    ("flow", "locale", "facts"),
    [
        ("business_trip", "zh", "Alice|去Oslo|2026年11月30日|2026年12月2日|飞机|4,000"),
        ("business_trip", "zh", "同行人: Li|事由: talks"),
        ("business_trip", "en", "Alice|to Oslo|30 Nov 2026|2 Dec 2026|plane|4,000"),
        ("business_trip", "en", "Travelling with: Li|Purpose: talks"),
        ("equipment_request", "zh", "Alice|12000.00 元|2026年12月1日|笔记本电脑|耳机|2|3|new team"),
        ("equipment_request", "en", "Alice|12000.00 CNY|1 Dec 2026|laptop|headset|2|3|new team"),
        ("leave_request", "zh", "证明: scan.pdf"),
        ("leave_request", "en", "note: scan.pdf"),
        ("reimbursement", "zh", "票据 scan.pdf"),
        ("reimbursement", "en", "receipt scan.pdf"),
    ],
)
def test_it_says_everything_that_is_decided_by(flow: str, locale: Locale, facts: str) -> None:
    said = card(flow, locale)
    assert [fact for fact in facts.split("|") if fact not in said] == [], said


@each_row("flow", ["business_trip", "equipment_request"])
def test_nothing_on_it_is_in_the_other_language(flow: str) -> None:
    said = card(flow, "en")
    assert not any("\u4e00" <= character <= "\u9fff" for character in said), said


BADGE: dict[str, Any] = {
    "flow": "badge",
    "title": {"zh": "工牌", "en": "Badge"},
    "description": {"zh": "工牌", "en": "Badge"},
    "slots": {
        "why": {"type": "text", "ask": {"zh": "怎么了？", "en": "What happened?"}},
        "floor": {"type": "text", "ask": {"zh": "{{ shown.why }}在几楼？", "en": "Which floor?"}},
        "room": {"type": "text", "label": {"zh": "房间", "en": "Room"}, "required": False},
        "desk": {"type": "text", "label": {"zh": "房间", "en": "Room"}, "required": False},
        "length": {"type": "text", "required": False},
        "end": {"type": "text", "label": {"zh": "到", "en": "Until"}, "lookup": "slots.length"},
    },
    "start": "details",
    "states": {
        "details": {"collect": ["why", "floor"], "next": "boss"},
        "boss": {
            "approve": {"by": "manager(requester)", "title": {"zh": "工牌", "en": "Badge"}},
            "approved": "done",
            "rejected": "done",
        },
        "done": {"end": "completed"},
    },
}
FILLED = {"why": "lost", "floor": "4", "room": "a", "desk": "b", "length": "week"}


def approval_of(**slots: Any) -> Approval:
    world = World(FlowDefinition.model_validate(BADGE)).begin(**FILLED | slots)
    assert world.run.approvals.current is not None
    return world.run.approvals.current


@each_row(
    ("locale", "shown"),
    [
        ("en", "What happened: lost|floor: 4|Room (room): a|Room (desk): b|Until: week"),
        ("zh", "怎么了: lost|floor: 4|房间（room）: a|房间（desk）: b|到: week"),
    ],
)
def test_a_value_without_a_label_is_shown_by_its_question_and_none_hides_another(
    locale: Locale, shown: str
) -> None:
    approval = approval_of()
    lines = (
        f"{approval.labels[n].within(locale)}: {approval.summary[n].within(locale)}"
        for n in approval.summary
    )
    assert "|".join(lines) == shown


@each_row("slot", ["why", "floor", "room", "desk", "length"])
def test_its_digest_is_another_where_anything_on_it_is(slot: str) -> None:
    assert approval_of(**{slot: "other"}).digest != approval_of().digest
