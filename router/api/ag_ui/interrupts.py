"""Questions as interrupts: what a run that stopped to ask is waiting for.

An interrupt's id says by itself which question it is, so that it can be answered at any process,
after any restart: nothing is kept for it.
"""

from typing import Any

from ag_ui.core import Interrupt
from pydantic import JsonValue

from router.api.slot_schema import schema_of_form, schema_of_options
from router.domain.messages import ChoicesReply, ConfirmReply, FormReply, Reply, question_in
from router.domain.records import ApprovalRecord
from router.domain.texts import Locale

NAMESPACE = "intent-router"
APPROVAL = f"{NAMESPACE}:approval"

Question = ChoicesReply | ConfirmReply | FormReply

_APPROVED: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}
_DECISION: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["approve", "reject", "return", "delegate", "add"]},
        "comment": {"type": "string", "maxLength": 2000},
        "to": {"type": "string", "description": "A user id; with delegate and add."},
        "position": {"enum": ["before", "after"]},
    },
    "required": ["decision"],
    "additionalProperties": False,
}


def asked_in(replies: list[Reply]) -> list[Interrupt]:
    """The question that these replies end with, if any: the router asks one thing at a time.

    A question in words alone has no interrupt; it is answered by the next message.

    >>> ask = ConfirmReply(text="Send it?", summary={}, question="review:1")
    >>> [(i.id, i.reason, i.message) for i in asked_in([ask])]
    [('confirm/review:1', 'confirmation', 'Send it?')]
    """
    question = question_in(replies)
    return [of_question(question)] if question else []


def of_question(question: Question) -> Interrupt:
    """The question, with what an answer looks like."""
    shown = question.model_dump(mode="json", exclude={"text", "question"})
    return Interrupt(
        id=f"{question.type}/{question.question}",
        reason="confirmation" if isinstance(question, ConfirmReply) else "input_required",
        message=question.text,
        response_schema=_schema_of(question),
        metadata={NAMESPACE: shown},
    )


def _schema_of(question: Question) -> dict[str, Any]:
    match question:
        case ConfirmReply():
            return _APPROVED
        case FormReply():
            return schema_of_form(question.fields)
        case ChoicesReply():
            value: JsonValue = schema_of_options(question.options)
            return {"type": "object", "properties": {"value": value}, "required": ["value"]}


def of_approval(record: ApprovalRecord, locale: Locale) -> Interrupt:
    """The decision that its person is asked for; its id is bound to exactly what is shown."""
    title = record.title.within(locale)
    summary = record.summary_in(locale)
    lines = [title, *(f"- {label}: {value}" for label, value in summary.items())]
    return Interrupt(
        id=f"approval/{record.id}/{record.digest}",
        reason=APPROVAL,
        message="\n".join(lines),
        response_schema=_DECISION,
        expires_at=record.due.isoformat() if record.due else None,
        metadata={
            NAMESPACE: {
                "type": "approval",
                "id": record.id,
                "flow_run": record.run,
                "flow": record.flow,
                "requester": record.requester,
                "summary": summary,
            }
        },
    )
