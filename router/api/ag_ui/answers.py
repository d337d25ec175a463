"""Answers to interrupts, read as what they mean to a conversation, or to an approval."""

from dataclasses import dataclass
from typing import Any

from ag_ui.core import ResumeEntry
from pydantic import JsonValue, ValidationError

from router.api.approving import DecisionBody
from router.api.plain import check_plain, said_text
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.messages import (
    LONGEST_QUESTION,
    Action,
    ChooseAction,
    ConfirmAction,
    FormAction,
    Message,
)
from router.flow.ways_out import value_of


@dataclass(frozen=True)
class Answer:
    """An answer to the question that was open; `message` is what is said by it."""

    message: Message
    abandoned: bool = False


@dataclass(frozen=True)
class Verdict:
    """A word on an approval; `body` is None where it was left alone."""

    approval: str
    body: DecisionBody | None


def read(entry: ResumeEntry, place: int) -> Answer | Verdict | None:
    """What the `place`th entry means; None where it answers nothing that was ever asked here.

    Raises:
        InvalidInput: the payload isn't what was asked for.

    >>> yes = ResumeEntry(interrupt_id="confirm/review:1", status="resolved", payload=True)
    >>> read(yes, 0).message.action
    ConfirmAction(question='review:1', type='confirm', value=True)
    """
    kind, _, name = entry.interrupt_id.partition("/")
    if kind == "approval":
        return _verdict(entry, name, place)
    if kind not in _ACTIONS or not 1 <= len(name) <= LONGEST_QUESTION:
        return None
    if entry.status == "cancelled":
        return Answer(Message(action=_way_out(name)), abandoned=True)
    return Answer(_answered(kind, name, entry.payload, f"resume.{place}.payload"))


def _way_out(question: str) -> Action:
    """The button that cancels; whether it was shown or not, it goes with its question alone."""
    return ChooseAction(type="choose", value=value_of("cancel"), question=question)


def _answered(kind: str, question: str, payload: JsonValue, field: str) -> Message:
    """A string is what the person would have typed; anything else has the schema's shape."""
    if isinstance(payload, str):
        return Message(text=said_text(payload, field))
    try:
        check_plain(payload)
        return Message(action=_ACTIONS[kind](question, payload))
    except ValueError as error:
        raise _unusable(field, str(error)) from error


def _choice(question: str, payload: Any) -> Action:
    match payload:
        case {"value": value, **others} if not others:
            return ChooseAction(type="choose", value=value, question=question)
    raise ValueError('it chooses nothing; send {"value": …} alone, or what the person typed')


def _confirmation(question: str, payload: Any) -> Action:
    match payload:
        case bool(value) | {"approved": bool(value)}:
            return ConfirmAction(type="confirm", value=value, question=question)
    raise ValueError('it is neither yes nor no; send {"approved": true} or false')


def _form(question: str, payload: Any) -> Action:
    match payload:
        case dict(values):
            return FormAction(type="form", values=values, question=question)
    raise ValueError("it is no object; send the form's values by the names of its fields")


_ACTIONS = {"choices": _choice, "confirm": _confirmation, "form": _form}


def _verdict(entry: ResumeEntry, name: str, place: int) -> Verdict | None:
    approval, _, digest = name.partition("/")
    if not approval or not digest:
        return None
    if entry.status == "cancelled":
        return Verdict(approval, None)
    field = f"resume.{place}.payload"
    if not isinstance(entry.payload, dict):
        raise _unusable(field, 'it is no decision; send {"decision": "approve"} or another')
    try:
        return Verdict(approval, DecisionBody.model_validate({**entry.payload, "digest": digest}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([field, *map(str, first["loc"])])
        raise _unusable(where, first["msg"].removeprefix("Value error, ")) from error


def _unusable(field: str, why: str) -> InvalidInput:
    return InvalidInput(f"{field}: {why}.", [FieldProblem(field, why)])
