"""What a run's input says that is new, and what it is to do: what is refused is refused whole.

The history in it is the conversation's own already. Files are kept like any that is handed in.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    DataSource,
    FileSource,
    PartSource,
    ReasoningMessage,
    ResumeEntry,
    RunAgentInput,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import Message as AguiMessage
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from router.api.approvals import DecisionBody, own_approval
from router.api.dependencies import Services
from router.api.files import FileView, Upload, check_kind, hand_in
from router.api.idempotency import claimed
from router.api.params import Key, check_plain, derived_id, said_text
from router.contracts.conversation import ConversationStatus
from router.documents.strict_json import strict_json
from router.domain.errors import Conflict, FieldProblem, InvalidInput
from router.domain.file_types import is_file_id
from router.domain.messages import (
    LONGEST_QUESTION,
    Action,
    ChooseAction,
    ConfirmAction,
    FormAction,
    FormReply,
    Message,
    ToolResultAction,
)
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.flow.prompts.question import value_of

MAX_NAME = 256
"""Characters of the names that a front end gives threads and runs."""

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]

_KEY: TypeAdapter[str] = TypeAdapter(Key)


class RunInput(RunAgentInput):
    """The protocol's `RunAgentInput`, with names that aren't without end."""

    thread_id: Name
    run_id: Name

    @property
    def message_id(self) -> str:
        """The id of the run's message: the run's own, where a message can be called that."""
        try:
            return _KEY.validate_python(self.run_id)
        except ValidationError:
            return derived_id("ag-ui run", self.run_id)

    @property
    def wants_approvals(self) -> bool:
        """False where the front end has another place for what waits for its user's decision."""
        props = self.forwarded_props
        return not (isinstance(props, dict) and props.get("approvals") is False)


@dataclass(frozen=True)
class Heard:
    """What is new in an input: said, handed over, found out, or answered."""

    text: str = ""
    files: tuple[PartSource, ...] = ()
    results: tuple[ToolMessage, ...] = ()
    answers: tuple[ResumeEntry, ...] = ()


def heard_in(run: RunAgentInput) -> Heard:
    """What came after the agent's last word: the last thing the person said, and results.

    Who says two things before an answer comes has said the first one in a run before.
    """
    fresh = list(_fresh(run.messages))[::-1]
    said = next((m for m in reversed(fresh) if isinstance(m, UserMessage)), None)
    return Heard(
        text=_text_of(said) if said else "",
        files=tuple(_files_of(said)) if said else (),
        results=tuple(m for m in fresh if isinstance(m, ToolMessage)),
        answers=tuple(run.resume or ()),
    )


def _fresh(messages: Sequence[AguiMessage]) -> Iterator[AguiMessage]:
    for message in reversed(messages):
        if isinstance(message, AssistantMessage | ReasoningMessage):
            return
        yield message


def _text_of(message: UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, TextPart))


def _files_of(message: UserMessage) -> Iterator[PartSource]:
    if not isinstance(message.content, str):
        for part in message.content:
            if not isinstance(part, TextPart):
                yield part.source


@dataclass(frozen=True)
class InterruptAnswer:
    """An answer to the question that was open; `message` is what is said by it."""

    message: Message
    abandoned: bool = False


@dataclass(frozen=True)
class Verdict:
    """A word on an approval; `body` is None where it was left alone."""

    approval: str
    body: DecisionBody | None


def read_answers(entry: ResumeEntry, place: int) -> InterruptAnswer | Verdict | None:
    """What the `place`th entry means; None where it answers nothing that was ever asked here.

    Raises `InvalidInput` where the payload isn't what was asked for.
    """
    kind, _, name = entry.interrupt_id.partition("/")
    if kind == "approval":
        return _verdict(entry, name, place)
    if kind not in _ACTIONS or not 1 <= len(name) <= LONGEST_QUESTION:
        return None
    if entry.status == "cancelled":
        return InterruptAnswer(Message(action=_way_out(name)), abandoned=True)
    return InterruptAnswer(_answered(kind, name, entry.payload, f"resume.{place}.payload"))


def _way_out(question: str) -> Action:
    """The button that cancels; whether it was shown or not, it goes with its question alone."""
    return ChooseAction(type="choose", value=value_of("cancel"), question=question)


def _answered(kind: str, question: str, payload: JsonValue, field: str) -> Message:
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


@dataclass
class Attached:
    """The files of a message that can be used, and why the others can't."""

    files: list[FileView] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def attached(
    services: Services, caller: Principal, sources: Sequence[PartSource], message_id: str
) -> Attached:
    """What was sent inline is kept, once however often it is sent; our own ids are looked up.

    A part that can't be used fails no run, as the protocol wants it: it is warned of. Nothing
    is ever fetched from an address.
    """
    found = Attached()
    for number, source in enumerate(sources):
        try:
            key = derived_id("ag-ui file", caller.id, message_id, str(number))
            found.files.append(await _file(services, caller, source, key))
        except InvalidInput as error:
            found.warnings.append(f"part {number} was left out: {error}")
    return found


async def _file(services: Services, caller: Principal, source: PartSource, key: str) -> FileView:
    if isinstance(source, DataSource):
        content = _decoded(source.value)
        check_kind(content)
        return await hand_in(services, caller, Upload("", content), key)
    if isinstance(source, FileSource) and is_file_id(source.value):
        record = await services.store.files.find(caller.tenant, source.value)
        if record is not None and record.owner == caller.id:
            return FileView.of(record)
    raise InvalidInput(
        "nothing is fetched from elsewhere; send it inline, or hand it in by POST /v1/files and "
        'send {"type": "file", "value": its id}'
    )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"it isn't base64: {error}") from error


@dataclass(frozen=True)
class PlannedDecision:
    """A decision that is to be made, once: `key` is the same for every repeat of the run."""

    approval: ApprovalRecord
    body: DecisionBody
    key: str


@dataclass
class RunPlan:
    """Decisions, then messages, in this order; with neither, the run only says how things stand."""

    decisions: list[PlannedDecision] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    answered_calls: frozenset[str] = frozenset()
    left_alone: frozenset[str] = frozenset()
    """Approvals that the person doesn't want to decide now."""
    files: list[FileView] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def remarks(self) -> Iterator[CustomEvent]:
        """What the front end should know of what became of its input."""
        for file in self.files:
            yield CustomEvent(name="file", value=file.model_dump(mode="json"))
        for warning in self.warnings:
            yield CustomEvent(name="warning", value=warning)


async def planned(
    services: Services, caller: Principal, run: RunInput, standing: ConversationStatus
) -> RunPlan:
    """What the input asks for.

    Raises:
        InvalidInput: an answer can't be used, or nothing that was sent can.
        NotFound: it decides on what isn't the caller's to decide.
        Conflict: what it decides on is decided, expired, or not what was shown.
    """
    heard, plan = heard_in(run), RunPlan()
    answer, verdicts = _sorted(heard, plan)
    for verdict in verdicts:
        await _take_verdict(services, caller, run, verdict, plan)
    plan.answered_calls = frozenset(result.tool_call_id for result in heard.results)
    plan.messages += [_result(result) for result in heard.results]
    if answer is not None and not (answer.abandoned and (heard.text or heard.files)):
        plan.messages.append(answer.message)
        if heard.text:
            plan.warnings.append("what was said beside an answer was left out")
        return plan
    await _take_words(services, caller, run, heard, standing, plan)
    return plan


def _sorted(heard: Heard, plan: RunPlan) -> tuple[InterruptAnswer | None, list[Verdict]]:
    read = [read_answers(entry, place) for place, entry in enumerate(heard.answers)]
    for entry, meaning in zip(heard.answers, read, strict=True):
        if meaning is None:
            shown = entry.interrupt_id[:80]
            plan.warnings.append(f"{shown!r} is no interrupt of this desk; its answer was left out")
    given = [one for one in read if isinstance(one, InterruptAnswer)]
    verdicts = [one for one in read if isinstance(one, Verdict)]
    if len(given) > 1:
        raise _unusable_plan("one question is open at a time; answer that one")
    if len({verdict.approval for verdict in verdicts}) < len(verdicts):
        raise _unusable_plan("an approval is decided twice; decide each once")
    return (given[0] if given else None), verdicts


async def _take_verdict(
    services: Services, caller: Principal, run: RunInput, verdict: Verdict, plan: RunPlan
) -> None:
    record = await own_approval(services, caller, verdict.approval)
    if verdict.body is None:
        plan.left_alone |= {record.id}
        return
    key = derived_id("ag-ui decision", run.thread_id, run.run_id, record.id)
    if not await claimed(services, caller, key):
        if record.verdict is not None:
            raise Conflict(f"It is decided already: {record.verdict}.")
        if record.due is not None and record.due <= datetime.now(UTC):
            raise Conflict("This approval has expired; ask again what waits for you.")
        if verdict.body.digest != record.digest:
            raise Conflict(
                "What is to be approved has changed since it was shown; look at it again."
            )
    plan.decisions.append(PlannedDecision(record, verdict.body, key))


def _result(message: ToolMessage) -> Message:
    if isinstance(message.content, str):
        text = message.content
    else:
        text = "".join(part.text for part in message.content if part.type == "text")
    result: JsonValue
    try:
        result = strict_json(text.encode())
    except ValueError:
        result = text
    if message.error is not None:
        result = {"error": message.error}
    action = ToolResultAction(type="tool_result", tool_call_id=message.tool_call_id, result=result)
    return Message(action=action)


async def _take_words(
    services: Services,
    caller: Principal,
    run: RunInput,
    heard: Heard,
    standing: ConversationStatus,
    plan: RunPlan,
) -> None:
    """What was said or handed over: a file that is asked for, or comes alone, is said by its id."""
    found = await attached(services, caller, heard.files, run.message_id)
    plan.files, plan.warnings = found.files, [*plan.warnings, *found.warnings]
    if found.files and (not heard.text or _wants_file(standing)):
        plan.messages.append(Message(text=found.files[0].id))
        if heard.text or len(found.files) > 1:
            plan.warnings.append("one file was asked for: that alone was answered with")
    elif heard.text:
        plan.messages.append(Message(text=said_text(heard.text, "messages")))
    elif heard.files:
        raise _unusable_plan("; ".join(found.warnings), "messages")


def _wants_file(standing: ConversationStatus) -> bool:
    asked = standing.asked
    return isinstance(asked, FormReply) and any(f.type == "file" for f in asked.fields)


def _unusable_plan(why: str, where: str = "resume") -> InvalidInput:
    return InvalidInput(f"{where}: {why}.", [FieldProblem(where, why)])
