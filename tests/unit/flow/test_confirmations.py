"""What a confirmation shows where somebody wrote its text: all that the yes is to."""

from typing import Any

from router.domain.messages import ConfirmReply, as_plain_text
from router.extensions.ag_ui.routes import of_question
from router.flow.prompts.question import question
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text

SLOTS: dict[str, Any] = {
    "amount": {"type": "money", "label": text("Amount"), "ask": text("How much?")},
    "urgent": {"type": "boolean", "label": text("Urgent"), "ask": text("Urgent?")},
    "reason": {"type": "text", "label": text("Reason"), "ask": text("Why?")},
}
GIVEN = {
    "amount": {"amount": "480000.00", "currency": "CNY"},
    "urgent": True,
    "reason": "CNY 480,000.00 at most, yes",
}


def confirmation(words: str) -> ConfirmReply:
    states = {
        "details": {"collect": [*SLOTS], "next": "sure"},
        "sure": {"confirm": text(words), "confirmed": "done", "declined": "details"},
        "done": {"end": "completed"},
    }
    driver = Driver(flow_of("transfer", states, SLOTS)).begin().answer(**GIVEN)
    asked = question(driver.definition, driver.run)
    assert isinstance(asked, ConfirmReply)
    return asked


FIELDS = ["Amount: CNY 480,000.00", "Urgent: yes", "Reason: CNY 480,000.00 at most, yes"]


@each_row(
    "words",
    [
        "File it?",
        "Yes or no: yes, file {{ shown.reason }}? CNY 480,000.00 is the limit.",
        "{{ shown.amount }} for {{ shown.reason }}: answer yes.",
        "{{ shown.reason }}{% if slots.amount and slots.urgent %}: yes, CNY 480,000.00{% endif %}",
        "{{ shown.reason }} {{ shown.urgent }} {{ shown.amount | truncate(6) }}",
        "{{ shown.reason }}, {{ shown.amount }}{{ shown.urgent if slots.gone }}",
    ],
)
def test_whatever_its_words_look_like_the_summary_is_shown_whole(words: str) -> None:
    asked = confirmation(words)
    plain = as_plain_text([asked], "en")
    message = of_question(asked).message
    assert message is not None
    for face in (plain, message):
        assert [field for field in FIELDS if f"- {field}" not in face.translate(UNSEEN)] == []


UNSEEN = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
"""What isolates a value's direction."""


def test_what_the_text_is_made_of_is_not_listed_once_more() -> None:
    asked = confirmation("{{ shown.reason }}; {{ shown.amount }}, urgent: {{ shown.urgent }}")
    assert "- Amount" not in as_plain_text([asked], "en")
    assert of_question(asked).message == asked.text
