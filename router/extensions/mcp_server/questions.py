"""What the desk asks, as a form that an assistant's program shows its person; and back. Pure.

A question is named by a state that goes to the program and comes back with the answer: which
conversation, and which question as it was shown. It opens nothing by itself, for whose the
conversation is, the token of each request says; so nothing is kept between two requests.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import mcp_types as types
from mcp_types.version import is_version_at_least
from pydantic import ConfigDict, Field, JsonValue, ValidationError, model_validator

from router.api.approvals import DecisionBody
from router.api.params import MAX_COMMENT, MAX_TEXT, KeyParameter, check_plain, said_text
from router.domain.errors import InvalidInput, reason_of
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FlowSummary,
    FormAction,
    FormField,
    FormReply,
    Message,
    Option,
    Question,
    Reply,
    digest_of,
    question_in,
    unsaid,
)
from router.domain.records import ApprovalRecord, ChangedField
from router.domain.value import Value
from router.domain.visible_text import isolated, labelled, one_line
from router.entities.booleans import consent
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import SLOT_TYPES, label_of

ASKED = "question"
"""The one key under which a question stands among what is asked, and its answer among answers."""
LONGEST_STATE = 1000
TITLED_SINCE = "2025-11-25"
"""The revision from which the values of a choice have titles of their own."""

ElicitationSchema = dict[str, Any]
ElicitedContent = Mapping[str, Any]

_FLAT = frozenset({"string", "number", "integer", "boolean"})
_KEPT = ("type", "format", "minimum", "maximum", "minLength", "maxLength", "description")
"""What a form's field may say of itself; patterns and parts it can't."""
CONFIRMED = Localised(zh="确认办理", en="Go ahead")
CHOICE = Localised(zh="选择", en="Choice")
ANSWER = Localised(zh="回答", en="Answer")
VERDICT = Localised(zh="决定", en="Decision")
COMMENT = Localised(zh="意见", en="Comment")
REQUESTED_BY = Localised(zh="申请人", en="Requested by")
CHANGED_SINCE = Localised(zh="和上次相比改了：", en="Changed since you were asked before:")
VERDICTS: Mapping[str, Localised] = {
    "approve": Localised(zh="同意", en="Approve"),
    "reject": Localised(zh="拒绝", en="Reject"),
    "return": Localised(zh="退回修改", en="Return for changes"),
}
"""What is decided by a form; whom else to ask is a matter for the desk itself."""


class OpenQuestion(Value):
    """Which question was asked: of a `conversation`, or on an `approval`.

    `question` is its name as it was shown, and another as soon as anything in it is; `round`
    counts the questions of a call, so that each answer is a message of its own.
    """

    model_config = ConfigDict(extra="forbid")

    conversation: KeyParameter | None = None
    approval: KeyParameter | None = None
    question: Question
    round: int = Field(default=0, ge=0, le=10_000)

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.conversation is None) == (self.approval is None):
            raise ValueError("a question is of a conversation, or on an approval")
        return self

    @property
    def written(self) -> str:
        """The state that goes to the program."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def read(cls, state: str) -> "OpenQuestion":
        """What came back; `InvalidInput` where that never went out."""
        why = "isn't what the desk gave; send back what it gave, unchanged, or call anew"
        if len(state) > LONGEST_STATE:
            raise InvalidInput.at("requestState", why)
        try:
            return cls.model_validate_json(state)
        except ValidationError:
            raise InvalidInput.at("requestState", why) from None


@dataclass(frozen=True)
class WordsAsked:
    """A question in words alone, to the slot at this path; `definition` is that of its flow."""

    text: str
    flow: FlowSummary
    definition: FlowDefinition | None

    @property
    def question(self) -> Question:
        """Its name: another one once anything else is asked."""
        return f"words:{digest_of([self.flow.id, self.flow.state, *self.flow.awaiting])}"

    @property
    def path(self) -> str | None:
        """The slot that an answer goes into by its path; None where it has to be said."""
        path = self.flow.awaiting[0]
        slot = self.definition.slot_at(path) if self.definition else None
        return None if slot is None or slot.of is not None or slot.fields else path


McpQuestion = Reply | WordsAsked


def asked_by(
    replies: Sequence[Reply], flow: FlowSummary | None, definition: FlowDefinition | None
) -> McpQuestion | None:
    """What these replies of a turn ask; None where that is nothing, or a file."""
    if question := question_in(replies):
        wants_file = isinstance(question, FormReply) and any(
            field.type == "file" for field in question.fields
        )
        return None if wants_file else question
    if flow is None or flow.status != "collecting" or not flow.awaiting or not replies:
        return None
    words = WordsAsked("\n\n".join(reply.text for reply in replies), flow, definition)
    slot = definition.slot_at(flow.awaiting[0]) if definition else None
    return None if slot is not None and slot.kind.is_file else words


def name_of(asked: McpQuestion) -> Question:
    """What the question is called."""
    return getattr(asked, "question", None) or ""


def form_of(asked: McpQuestion, locale: Locale, revision: str) -> types.ElicitRequestFormParams:
    """The question as a form."""
    match asked:
        case ConfirmReply():
            lines = [f"- {labelled(*field)}" for field in unsaid(asked).items()]
            message = "\n".join([asked.text, *lines])
            properties = {"confirmed": {"type": "boolean", "title": CONFIRMED.within(locale)}}
        case FormReply():
            message = asked.text
            properties = {f.name: _field(f, revision) for f in asked.fields}
        case WordsAsked():
            message, properties = asked.text, {"answer": _answer(asked, locale)}
        case _:
            message = asked.text
            options = getattr(asked, "options", [])
            properties = {"choice": titled(_values(options), CHOICE.within(locale), revision)}
    needed = [f.name for f in asked.fields if f.required] if isinstance(asked, FormReply) else None
    required = list(properties) if needed is None else needed
    schema = {"type": "object", "properties": properties, "required": required}
    return types.ElicitRequestFormParams(message=message, requested_schema=schema)


def titled(values: Mapping[str, str], title: str, revision: str) -> ElicitationSchema:
    """One of these values, each shown under its words."""
    if is_version_at_least(revision, TITLED_SINCE):
        return {
            "type": "string",
            "title": title,
            "oneOf": [{"const": value, "title": words} for value, words in values.items()],
        }
    return {
        "type": "string",
        "title": title,
        "enum": list(values),
        "enumNames": list(values.values()),
    }


def _values(options: Sequence[Option]) -> dict[str, str]:
    return {_spelt(option.value): option.label for option in options}


def _spelt(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(field: FormField, revision: str) -> ElicitationSchema:
    if field.options is not None:
        return titled(_values(field.options), field.label, revision)
    kind = SLOT_TYPES.get(field.type, SLOT_TYPES["text"])
    return _flat(kind.stored, field.label)


def _flat(stored: Mapping[str, Any], title: str) -> ElicitationSchema:
    """The field of a value that is kept like this: of what has parts, its words."""
    if stored.get("type") not in _FLAT:
        return {"type": "string", "title": title, "maxLength": MAX_TEXT}
    return {"title": title, **{key: stored[key] for key in _KEPT if key in stored}}


def _answer(asked: WordsAsked, locale: Locale) -> ElicitationSchema:
    slot = asked.definition.slot_at(asked.path) if asked.definition and asked.path else None
    if slot is None or asked.path is None:
        return {"type": "string", "title": ANSWER.within(locale), "maxLength": MAX_TEXT}
    name = asked.path.rpartition(".")[2]
    return _flat(slot.kind.stored, label_of(name, slot).within(locale))


def answer_to(asked: McpQuestion, content: ElicitedContent | None) -> Message:
    """The message that a filled-in form is; `InvalidInput` where it isn't what was asked for."""
    given = dict(content or {})
    check_content(given)
    match asked:
        case ConfirmReply():
            value = _needed(given, "confirmed", bool)
            return _acted(ConfirmAction(type="confirm", value=value, question=asked.question))
        case FormReply():
            names = {field.name for field in asked.fields}
            if unknown := sorted(given.keys() - names):
                raise InvalidInput.at(unknown[0][:80], "isn't a field of the form")
            filled = {name: value for name, value in given.items() if value is not None}
            return _acted(FormAction(type="form", values=filled, question=asked.question))
        case WordsAsked(path=str(path)):
            value = _needed(given, "answer", (str, int, float, bool))
            return _acted(FormAction(type="form", values={path: value}))
        case WordsAsked():
            return Message(text=said_text(_needed(given, "answer", str), "answer"))
    choice, options = _needed(given, "choice", str), getattr(asked, "options", [])
    for option in options:
        if _spelt(option.value) == choice:
            name = name_of(asked) or None
            return _acted(ChooseAction(type="choose", value=option.value, question=name))
    raise InvalidInput.at("choice", "is none of those that were offered")


def said_by(asked: McpQuestion, answer: types.ElicitResult | None) -> Message | None:
    """The message that the person's answer is; None where they leave the question open.

    To decline what is to be confirmed is to say no to it.
    """
    if answer is not None and answer.action == "accept":
        return answer_to(asked, answer.content)
    if answer is not None and answer.action == "decline" and isinstance(asked, ConfirmReply):
        return _acted(ConfirmAction(type="confirm", value=False, question=asked.question))
    return None


def says_yes(text: str) -> bool:
    """Whether words would confirm what is asked by the time that they are heard."""
    return consent(normalise(text).text) is True


def next_call(asked: McpQuestion) -> dict[str, str]:
    """By which tool a program that shows no forms brings the answer, and to which question."""
    tools = {"confirm": "confirm", "choices": "choose", "form": "fill"}
    if isinstance(asked, WordsAsked):
        return {"tool": "say"}
    return {"tool": tools[asked.type], "question": name_of(asked)}


def check_content(given: ElicitedContent) -> None:
    """Return where nobody's terminal acts on what was filled in; else `InvalidInput`."""
    try:
        check_plain(dict(given))
    except ValueError as error:
        raise InvalidInput.at("content", str(error)) from None


def _acted(action: ChooseAction | ConfirmAction | FormAction) -> Message:
    return Message(action=action)


def _needed(given: ElicitedContent, name: str, kind: Any) -> Any:
    value = given.get(name)
    if not isinstance(value, kind) or (isinstance(value, str) and not value.strip()):
        raise InvalidInput.at(name, "is missing, or of another type than was asked for")
    return value


def approval_form(
    record: ApprovalRecord,
    requester: str,
    changes: Sequence[ChangedField],
    locale: Locale,
    revision: str,
) -> types.ElicitRequestFormParams:
    """What waits for a decision, as its person reads it, and what they may say to it.

    `requester` is what whoever asks for it is called.
    """
    title = isolated(one_line(record.title.within(locale)))
    shown = {REQUESTED_BY.within(locale): requester, **record.summary_in(locale)}
    lines = [title, *(f"- {labelled(*field)}" for field in shown.items())]
    if changes:
        lines += [CHANGED_SINCE.within(locale)]
        lines += [f"- {labelled(each.label, each.worded)}" for each in changes]
    verdicts = {value: words.within(locale) for value, words in VERDICTS.items()}
    comment = {"type": "string", "title": COMMENT.within(locale), "maxLength": MAX_COMMENT}
    properties = {
        "decision": titled(verdicts, VERDICT.within(locale), revision),
        "comment": comment,
    }
    schema = {"type": "object", "properties": properties, "required": ["decision"]}
    return types.ElicitRequestFormParams(message="\n".join(lines), requested_schema=schema)


def decision_of(digest: str, content: ElicitedContent | None) -> DecisionBody:
    """The decision of a filled-in form, on exactly what it showed."""
    given = dict(content or {})
    check_content(given)
    if given.get("decision") not in list(VERDICTS):
        raise InvalidInput.at("decision", f"choose one of {', '.join(VERDICTS)}")
    comment = given.get("comment") or None
    about = {"decision": given["decision"], "comment": comment, "digest": digest}
    try:
        return DecisionBody.model_validate(about)
    except ValidationError as error:
        raise InvalidInput.at("comment", reason_of(error.errors()[0])) from None
