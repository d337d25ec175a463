"""What a run's input says that is new, and what it is to do: what is refused is refused whole.

The history in it is the conversation's own already. Files are kept like any that is handed in.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from typing import Annotated, Any

from ag_ui import core
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from router.api.approvals import DecisionBody, already_decided, own_approval, what_changed
from router.api.dependencies import Services
from router.api.files import FileView, Upload, check_kind, hand_in
from router.api.idempotency import claimed
from router.api.params import KeyParameter, check_plain, derived_id, said_text
from router.api.turns import tool_result
from router.contracts.conversation import FilesLeftOut
from router.domain.errors import Conflict, FaultyValue, InvalidInput, reason_of
from router.domain.file_types import MOST_FILES, is_file_id
from router.domain.messages import (
    LONGEST_QUESTION,
    Action,
    ChooseAction,
    ConfirmAction,
    FormAction,
    Message,
)
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.flow.prompts.question import value_of
from router.routing.front_end_tools import FrontEndTool, SentTool, read

MAX_NAME = 256
"""Characters of the names that a front end gives threads and runs."""

AgUiName = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]

_KEY: TypeAdapter[str] = TypeAdapter(KeyParameter)

MOST_ENTRIES = 5_000
"""Messages and their parts: each that is wrong would be a few faults."""


def _few(messages: object) -> object:
    told = messages if isinstance(messages, list) else []
    parts = [part for each in told if isinstance(each, dict) for part in each.values()]
    entries = len(told) + sum(len(part) for part in parts if isinstance(part, list))
    if entries > MOST_ENTRIES:
        raise FaultyValue(f"it has {entries} messages and parts", f"send at most {MOST_ENTRIES}")
    return messages


class RunInput(core.RunAgentInput):
    """The protocol's `RunAgentInput`, with names that aren't without end."""

    thread_id: AgUiName
    run_id: AgUiName
    messages: Annotated[list[core.Message], Field(fail_fast=True), BeforeValidator(_few)]
    tools: Annotated[list[core.Tool], Field(fail_fast=True)] | None = None
    context: Annotated[list[core.Context], Field(fail_fast=True)] | None = None
    resume: Annotated[list[core.ResumeEntry], Field(fail_fast=True)] | None = None

    @property
    def message_id(self) -> str:
        """The id of the run's message: the run's own, where a message can be called that."""
        try:
            return _KEY.validate_python(self.run_id)
        except ValidationError:
            return derived_id("ag-ui run", self.run_id)

    def front_end(self, house: Iterable[str]) -> list[FrontEndTool]:
        """What the front end can be called for; `InvalidInput` where one of it can't be used."""
        sent = [
            SentTool(f"tools.{place}", tool.name, tool.description, tool.parameters)
            for place, tool in enumerate(self.tools or ())
        ]
        return read(sent, house)

    @property
    def wants_approvals(self) -> bool:
        """False where the front end has another place for what waits for its user's decision."""
        props = self.forwarded_props
        return not (isinstance(props, dict) and props.get("approvals") is False)


@dataclass(frozen=True)
class Heard:
    """What is new in an input: said, handed over, found out, or answered."""

    text: str = ""
    files: tuple["SentPart", ...] = ()
    results: tuple[core.ToolMessage, ...] = ()
    answers: tuple[core.ResumeEntry, ...] = ()


def heard_in(run: core.RunAgentInput) -> Heard:
    """What came after the agent's last word: the last thing the person said, and results.

    Who says two things before an answer comes has said the first one in a run before.
    """
    agents = (core.AssistantMessage, core.ReasoningMessage)
    latest_first = list(takewhile(lambda m: not isinstance(m, agents), reversed(run.messages)))
    said = next((m.content for m in latest_first if isinstance(m, core.UserMessage)), "")
    parts = [core.TextPart(text=said)] if isinstance(said, str) else said
    return Heard(
        text="\n".join(part.text for part in parts if isinstance(part, core.TextPart)),
        files=tuple(
            SentPart(part.source, _name_of(part.metadata))
            for part in parts
            if not isinstance(part, core.TextPart)
        ),
        results=tuple(m for m in reversed(latest_first) if isinstance(m, core.ToolMessage)),
        answers=tuple(run.resume or ()),
    )


@dataclass(frozen=True)
class SentPart:
    """A picture or document as it was sent, and what it is called, if that was said."""

    source: core.PartSource
    name: str = ""


def _name_of(metadata: object) -> str:
    """The protocol has no place for a name; front ends put it into the metadata."""
    names = metadata if isinstance(metadata, dict) else {}
    found = (names.get(key) for key in ("filename", "fileName", "name"))
    return next((name for name in found if isinstance(name, str) and name), "")


@dataclass(frozen=True)
class InterruptAnswer:
    """An answer to the question that was open; `message` is what is said by it."""

    message: Message
    abandoned: bool = False


@dataclass(frozen=True)
class DecisionPayload:
    """A word on an approval; `body` is None where it was left alone."""

    approval: str
    body: DecisionBody | None


def read_answers(entry: core.ResumeEntry, place: int) -> InterruptAnswer | DecisionPayload | None:
    """What the `place`th entry means; None where it answers nothing that was ever asked here.

    Raises `InvalidInput` where the payload isn't what was asked for.
    """
    kind, _, name = entry.interrupt_id.partition("/")
    field, payload = f"resume.{place}.payload", entry.payload
    if kind == "approval":
        return _verdict(entry, name, field)
    if kind not in _WANTED or not 1 <= len(name) <= LONGEST_QUESTION:
        return None
    if entry.status == "cancelled":
        # The button that cancels: whether it was shown or not, it goes with its question alone.
        cancelling = ChooseAction(type="choose", value=value_of("cancel"), question=name)
        return InterruptAnswer(Message(action=cancelling), abandoned=True)
    if isinstance(payload, str):
        return InterruptAnswer(Message(text=said_text(payload, field)))
    try:
        check_plain(payload)
        return InterruptAnswer(Message(action=_action(kind, name, payload)))
    except ValueError as error:
        raise InvalidInput.at(field, str(error)) from error


def _action(kind: str, question: str, payload: Any) -> Action:
    match kind, payload:
        case "choices", {"value": value, **others} if not others:
            return ChooseAction(type="choose", value=value, question=question)
        case "confirm", bool(value) | {"approved": bool(value)}:
            return ConfirmAction(type="confirm", value=value, question=question)
        case "form", dict(values):
            return FormAction(type="form", values=values, question=question)
    raise ValueError(_WANTED[kind])


_WANTED = {
    "choices": 'it chooses nothing; send {"value": …} alone, or what the person typed',
    "confirm": 'it is neither yes nor no; send {"approved": true} or false',
    "form": "it is no object; send the form's values by the names of its fields",
}
"""Of each kind of question, what is said of a payload that doesn't answer it."""


def _verdict(entry: core.ResumeEntry, name: str, field: str) -> DecisionPayload | None:
    approval, _, digest = name.partition("/")
    if not approval or not digest:
        return None
    if entry.status == "cancelled":
        return DecisionPayload(approval, None)
    if not isinstance(entry.payload, dict):
        why = 'it is no decision; send {"decision": "approve"} or another'
        raise InvalidInput.at(field, why)
    try:
        return DecisionPayload(
            approval, DecisionBody.model_validate({**entry.payload, "digest": digest})
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([field, *map(str, first["loc"])])
        raise InvalidInput.at(where, reason_of(first)) from error


async def _file(services: Services, caller: Principal, part: SentPart, key: str) -> FileView:
    """What was sent inline is kept, once for one key; our own ids are looked up."""
    source = part.source
    if isinstance(source, core.DataSource):
        try:
            content = base64.b64decode(source.value, validate=True)
        except ValueError as error:
            raise InvalidInput(f"it isn't base64: {error}") from error
        check_kind(content)
        return await hand_in(services, caller, Upload(part.name, content), key)
    if isinstance(source, core.FileSource) and is_file_id(source.value):
        record = await services.store.files.find(caller.tenant, source.value)
        if record is not None and record.owner == caller.id:
            return FileView.model_validate(record)
    raise InvalidInput(
        "nothing is fetched from elsewhere; send it inline, or hand it in by POST /v1/files and "
        'send {"type": "file", "value": its id}'
    )


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

    @property
    def names(self) -> dict[str, str]:
        """What the files that go with a message are called, by their ids."""
        return {file.id: file.name for file in self.files[:MOST_FILES]}

    @property
    def left_out(self) -> FilesLeftOut:
        """The files that are too many for a message: they are only kept."""
        others = {file.id: file.name for file in self.files[MOST_FILES:]}
        return FilesLeftOut().plus([name for id_, name in others.items() if id_ not in self.names])

    def remarks(self) -> Iterator[core.CustomEvent]:
        """What the front end should know of what became of its input."""
        for file in self.files:
            yield core.CustomEvent(name="file", value=file.model_dump(mode="json"))
        for warning in self.warnings:
            yield core.CustomEvent(name="warning", value=warning)


async def planned(services: Services, caller: Principal, run: RunInput) -> RunPlan:
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
    unused = await _take_files(services, caller, run, heard, plan)
    if heard.text or plan.files:
        text = said_text(heard.text, "messages") if heard.text else None
        plan.messages.append(Message(text=text, files=tuple(plan.names)))
    elif heard.files:
        raise InvalidInput.at("messages", "; ".join(unused))
    return plan


def _sorted(heard: Heard, plan: RunPlan) -> tuple[InterruptAnswer | None, list[DecisionPayload]]:
    given: list[InterruptAnswer] = []
    verdicts: list[DecisionPayload] = []
    for place, entry in enumerate(heard.answers):
        match read_answers(entry, place):
            case InterruptAnswer() as answer:
                given.append(answer)
            case DecisionPayload() as verdict:
                verdicts.append(verdict)
            case None:
                shown = repr(entry.interrupt_id[:80])
                why = "is no interrupt of this desk; its answer was left out"
                plan.warnings.append(f"{shown} {why}")
    if len(given) > 1:
        raise InvalidInput.at("resume", "one question is open at a time; answer that one")
    if len({verdict.approval for verdict in verdicts}) < len(verdicts):
        raise InvalidInput.at("resume", "an approval is decided twice; decide each once")
    return (given[0] if given else None), verdicts


async def _take_verdict(
    services: Services, caller: Principal, run: RunInput, verdict: DecisionPayload, plan: RunPlan
) -> None:
    record = await own_approval(services, caller, verdict.approval)
    if verdict.body is None:
        plan.left_alone |= {record.id}
        return
    key = derived_id("ag-ui decision", run.thread_id, run.run_id, record.id)
    if not await claimed(services, caller, key):
        if record.verdict == "changed":
            raise await what_changed(services, record)
        again = record.verdict == verdict.body.decision
        if record.verdict is not None and not again:
            raise already_decided(record, caller)
        if not again and record.due is not None and record.due <= datetime.now(UTC):
            raise Conflict("This approval has expired; ask again what waits for you.")
        if verdict.body.digest != record.digest:
            raise Conflict(
                "What is to be approved has changed since it was shown; look at it again."
            )
    plan.decisions.append(PlannedDecision(record, verdict.body, key))


def _result(message: core.ToolMessage) -> Message:
    content = message.content
    if not isinstance(content, str):
        content = "".join(part.text for part in content if part.type == "text")
    return tool_result(message.tool_call_id, content, "messages", message.error)


async def _take_files(
    services: Services, caller: Principal, run: RunInput, heard: Heard, plan: RunPlan
) -> list[str]:
    """Take in the parts that can be used; why the others can't, which fails no run."""
    unused: list[str] = []
    for number, part in enumerate(heard.files):
        try:
            key = derived_id("ag-ui file", caller.id, run.message_id, str(number))
            plan.files.append(await _file(services, caller, part, key))
        except InvalidInput as error:
            unused.append(f"part {number} was left out: {error}")
    if plan.left_out.count:
        plan.warnings.append(f"{MOST_FILES} files go with a message: the others are only kept")
    plan.warnings += unused
    return unused
